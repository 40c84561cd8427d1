package io.github.ratecell;

/** How a request was decided. */
public enum Outcome {
    /** It may go later. */
    DENIED,
    /** It may go. */
    ALLOWED,
    /** Its cost is above the capacity: it can never go. */
    NEVER,
    /** Its time is past the last that the policy can decide. */
    CLOCK_RANGE,
    /** The store of many machines was asked, and the request did not wait for it. */
    ASKED;

    private static final Outcome[] ALL = values();

    static Outcome of(int code) {
        return ALL[code];
    }
}
