package io.github.ratecell;

import java.util.Arrays;
import java.util.stream.Collectors;

/** A set of HTTP fields that tell a client its limits, by the name that every language has for it. */
public enum Style {
    /** {@code RateLimit-Policy} and {@code RateLimit} of the IETF's draft 11. */
    DRAFT11("draft11"),
    /** Those of its draft 7. */
    DRAFT07("draft07"),
    /** {@code RateLimit-Limit}, {@code RateLimit-Remaining} and {@code RateLimit-Reset} of its draft 6. */
    DRAFT06("draft06"),
    /** Those of its draft 3. */
    DRAFT03("draft03"),
    /** {@code X-RateLimit-…} with seconds until the reset. */
    X("x"),
    /** {@code X-RateLimit-…} with the instant of the reset, in seconds since 1970. */
    X_UNIX("x_unix"),
    /** As GitHub writes them. */
    GITHUB("github"),
    /** As Twitter writes them. */
    TWITTER("twitter"),
    /** As Kong writes them. */
    KONG("kong");

    private final String name;

    Style(String name) {
        this.name = name;
    }

    /** The style of this name, as every language of ratecell has it. */
    public static Style named(String name) {
        for (Style style : values()) {
            if (style.name.equals(name)) {
                return style;
            }
        }
        throw new IllegalArgumentException("no style is called \"" + name + "\": expected one of "
                + Arrays.stream(values()).map(Style::styleName).collect(Collectors.joining(", ")));
    }

    /** The name. */
    public String styleName() {
        return name;
    }
}
