package io.github.ratecell.spring;

import java.nio.file.Path;
import java.util.List;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties {@code ratecell.*}.
 *
 * @param policy the limit, such as "100/s burst=200"; with {@code path} alone, that of the file
 * @param rules the file of rules, in place of a policy
 * @param path the file by which processes share the limit
 * @param maxKeys room for so many keys
 * @param key "client", "user", "all" or "header:NAME"
 * @param urlPatterns what is limited; all requests by default
 * @param styles the fields of responses, by their names, such as "draft11"
 * @param status the status of a denial
 * @param fail "open" or "closed": what happens to a request that cannot be decided
 * @param clientField the field in which proxies name the client, such as "X-Forwarded-For"
 * @param clientKind what it holds: "list", "single" or "forwarded"
 * @param clientHops so many proxies add to it
 * @param clientNetworks the networks of one's own proxies
 */
@ConfigurationProperties("ratecell")
public record RatecellProperties(
        String policy,
        Path rules,
        Path path,
        Long maxKeys,
        @DefaultValue("client") String key,
        @DefaultValue("/*") List<String> urlPatterns,
        @DefaultValue("draft11") List<String> styles,
        @DefaultValue("429") int status,
        @DefaultValue("open") String fail,
        String clientField,
        @DefaultValue("list") String clientKind,
        Integer clientHops,
        List<String> clientNetworks) {}
