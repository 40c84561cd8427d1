package io.github.ratecell;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;

/** Arguments, each with the message that says what was wrong with it. */
final class Arguments {
    static final long MAX_COST = 0xffff_ffffL;

    private Arguments() {}

    static byte[] key(String key) {
        return Objects.requireNonNull(key, "key is null: expected a string").getBytes(StandardCharsets.UTF_8);
    }

    static int cost(long cost) {
        if (cost < 0 || cost > MAX_COST) {
            throw new IllegalArgumentException("cost is " + cost + ": expected 0 to " + MAX_COST);
        }
        return (int) cost;
    }

    /** Nanoseconds of a duration, at most those of the unsigned range. */
    static long nanos(String name, Duration duration) {
        Objects.requireNonNull(duration, name + " is null: expected a duration");
        if (duration.isNegative()) {
            throw new IllegalArgumentException(name + " is " + duration + ": expected zero or more");
        }
        try {
            return duration.toNanos();
        } catch (ArithmeticException tooLong) {
            return Long.MAX_VALUE;
        }
    }
}
