package io.github.ratecell;

import java.util.List;

/**
 * The answer of several limiters to one request.
 *
 * @param outcome the gravest outcome; what is not allowed has charged none of them
 * @param decisions that of each limiter by itself, in their order
 */
public record Joint(Outcome outcome, List<Decision> decisions) {
    /** Whether the request may go. */
    public boolean isAllowed() {
        return outcome == Outcome.ALLOWED;
    }
}
