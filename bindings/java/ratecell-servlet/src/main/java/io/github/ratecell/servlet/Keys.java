package io.github.ratecell.servlet;

import io.github.ratecell.ClientKeys;
import jakarta.servlet.http.HttpServletRequest;
import java.security.Principal;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;

/** What a request is limited by: functions that return its key, or null for a request that is not limited. */
public final class Keys {
    private Keys() {}

    /** By the address of its client. */
    public static Function<HttpServletRequest, String> client(ClientKeys clients) {
        return request -> {
            List<String> lines =
                    clients.field() == null ? List.of() : Collections.list(request.getHeaders(clients.field()));
            return clients.key(request.getRemoteAddr(), lines);
        };
    }

    /** By a field of its header; a request without it is not limited. */
    public static Function<HttpServletRequest, String> header(String name) {
        if (!name.matches("[!#$%&'*+.^_`|~0-9A-Za-z-]+")) {
            throw new IllegalArgumentException("header is \"" + name + "\": expected the name of a field of HTTP");
        }
        return request -> request.getHeader(name);
    }

    /** By the name of its user; one without a user is not limited. */
    public static Function<HttpServletRequest, String> user() {
        return request -> {
            Principal user = request.getUserPrincipal();
            return user == null ? null : user.getName();
        };
    }

    /**
     * By a word of a configuration: "client", "user", "header:NAME", or "all", one key for all requests.
     *
     * @throws IllegalArgumentException for any other
     */
    public static Function<HttpServletRequest, String> named(String word, ClientKeys clients) {
        if (word.startsWith("header:")) {
            return header(word.substring("header:".length()));
        }
        return switch (word) {
            case "client" -> client(clients);
            case "user" -> user();
            case "all" -> request -> "all";
            default -> throw new IllegalArgumentException(
                    "key is \"" + word + "\": expected client, user, all or header:NAME");
        };
    }
}
