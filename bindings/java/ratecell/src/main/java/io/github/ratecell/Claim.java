package io.github.ratecell;

import java.util.Objects;

/**
 * A request to one of several limiters that decide together.
 *
 * @param limiter the limiter
 * @param request what is asked of it
 */
public record Claim(Limiter limiter, Request request) {
    /** Both are there. */
    public Claim {
        Objects.requireNonNull(limiter, "limiter is null: expected a limiter");
        Objects.requireNonNull(request, "request is null: expected a request");
    }
}
