package io.github.ratecell.servlet;

import java.util.concurrent.atomic.LongAdder;

/** What a filter has done since it was made. Threads may share it. */
public final class Counts {
    final LongAdder allowed = new LongAdder();
    final LongAdder denied = new LongAdder();
    final LongAdder unlimited = new LongAdder();
    final LongAdder faults = new LongAdder();

    Counts() {}

    /** Requests that were let through within the limit. */
    public long allowed() {
        return allowed.sum();
    }

    /** Requests that were refused by the limit. */
    public long denied() {
        return denied.sum();
    }

    /** Requests without a key, which were let through. */
    public long unlimited() {
        return unlimited.sum();
    }

    /** Requests that could not be decided: a key function threw, or the limiter was closed. */
    public long faults() {
        return faults.sum();
    }
}
