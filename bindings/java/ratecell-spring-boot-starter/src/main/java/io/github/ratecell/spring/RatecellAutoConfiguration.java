package io.github.ratecell.spring;

import io.github.ratecell.ClientKeys;
import io.github.ratecell.Limiter;
import io.github.ratecell.Rules;
import io.github.ratecell.Style;
import io.github.ratecell.servlet.Keys;
import io.github.ratecell.servlet.RatecellFilter;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;

/**
 * Limits the requests of the application by {@code ratecell.policy}, {@code ratecell.path} or {@code ratecell.rules}. What is
 * wrong with the properties stops the start.
 */
@AutoConfiguration
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@EnableConfigurationProperties(RatecellProperties.class)
public class RatecellAutoConfiguration {
    /** Runs before the filters of an application, and behind those that make its request what it is. */
    public static final int ORDER = Ordered.HIGHEST_PRECEDENCE + 100;

    private static ClientKeys clients(RatecellProperties properties, int v6Width) {
        ClientKeys.Builder clients = ClientKeys.builder().v6Width(v6Width);
        if (properties.clientField() != null) {
            clients.field(properties.clientField());
        }
        clients.kind(properties.clientKind());
        if (properties.clientHops() != null) {
            clients.hops(properties.clientHops());
        }
        if (properties.clientNetworks() != null) {
            clients.networks(properties.clientNetworks());
        }
        return clients.build();
    }

    private static RatecellFilter finish(RatecellFilter.Builder filter, RatecellProperties properties) {
        filter.status(properties.status()).styles(properties.styles().stream().map(Style::named).toList());
        switch (properties.fail()) {
            case "open" -> { }
            case "closed" -> filter.failClosed();
            default -> throw new IllegalArgumentException(
                    "ratecell.fail is \"" + properties.fail() + "\": expected open or closed");
        }
        return filter.build();
    }

    private static FilterRegistrationBean<RatecellFilter> registered(
            RatecellFilter filter, RatecellProperties properties) {
        FilterRegistrationBean<RatecellFilter> registration = new FilterRegistrationBean<>(filter);
        registration.setUrlPatterns(properties.urlPatterns());
        registration.setOrder(ORDER);
        registration.setAsyncSupported(true);
        return registration;
    }

    /** A limit of the properties. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnProperty(prefix = "ratecell", name = "rules", havingValue = "false", matchIfMissing = true)
    @ConditionalOnLimit
    static class ByPolicy {
        @Bean(destroyMethod = "close")
        @ConditionalOnMissingBean
        Limiter ratecellLimiter(RatecellProperties properties) {
            Limiter.Builder limiter =
                    properties.policy() == null ? Limiter.following() : Limiter.builder(properties.policy());
            if (properties.path() != null) {
                limiter.path(properties.path());
            }
            if (properties.maxKeys() != null) {
                limiter.maxKeys(properties.maxKeys());
            }
            return limiter.build();
        }

        @Bean
        @ConditionalOnMissingBean(name = "ratecellFilter")
        FilterRegistrationBean<RatecellFilter> ratecellFilter(Limiter limiter, RatecellProperties properties) {
            ClientKeys clients = clients(properties, 64);
            RatecellFilter.Builder filter =
                    RatecellFilter.builder(limiter).key(Keys.named(properties.key(), clients));
            return registered(finish(filter, properties), properties);
        }
    }

    /** The rules of a file. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnProperty(prefix = "ratecell", name = "rules")
    static class ByRules {
        @Bean(destroyMethod = "close")
        @ConditionalOnMissingBean
        Rules ratecellRules(RatecellProperties properties) {
            if (properties.policy() != null) {
                throw new IllegalArgumentException("ratecell.policy and ratecell.rules are both given: expected one of them");
            }
            Rules.Builder rules = Rules.builder(properties.rules());
            if (properties.path() != null) {
                rules.shared(properties.path());
            }
            if (properties.maxKeys() != null) {
                rules.maxKeys(properties.maxKeys());
            }
            return rules.build();
        }

        @Bean
        @ConditionalOnMissingBean(name = "ratecellFilter")
        FilterRegistrationBean<RatecellFilter> ratecellFilter(Rules rules, RatecellProperties properties) {
            RatecellFilter.Builder filter = RatecellFilter.builder(rules).clients(clients(properties, 128));
            return registered(finish(filter, properties), properties);
        }
    }
}
