package io.github.ratecell;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * A policy in code, for those who would rather not write its text. It becomes that text, so whatever the text can say can be
 * added as a layer.
 *
 * <pre>{@code
 * Policy.builder().limit(100, Duration.ofSeconds(1)).burst(200).limit(10_000, Duration.ofDays(1)).build()
 * }</pre>
 */
public final class Policy {
    private final String text;

    private Policy(String text) {
        this.text = text;
    }

    /** A policy by its layers. */
    public static Builder builder() {
        return new Builder();
    }

    /** The policy of this text; {@link Limiter.Builder#build()} refuses what is none. */
    public static Policy of(String text) {
        return new Policy(Objects.requireNonNull(text, "text is null: expected a policy"));
    }

    /** The text of the policy. */
    @Override
    public String toString() {
        return text;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Policy && ((Policy) other).text.equals(text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    /** Adds layers, each of which must allow. Not for several threads at once. */
    public static final class Builder {
        private final List<String> layers = new ArrayList<>();

        private Builder() {}

        /** GCRA: so many units in each period, smoothly, and as many at once unless {@link #burst} says otherwise. */
        public Builder limit(long units, Duration period) {
            return layer(rate(units, period));
        }

        /** So many units at once in the layer before, which is a {@link #limit}. */
        public Builder burst(long units) {
            return option("limit", "burst=" + positive("burst", units), 0);
        }

        /** A bucket that refills so many units in each period, and holds at most {@code capacity}. */
        public Builder tokenBucket(long units, Duration period, long capacity) {
            return layer("token_bucket " + rate(units, period) + " capacity=" + positive("capacity", capacity));
        }

        /** So many units in each window that begins at a multiple of its length in UTC. */
        public Builder fixedWindow(long units, Duration window) {
            return layer("fixed_window " + rate(units, window));
        }

        /** So many units in two weighted windows. */
        public Builder slidingWindow(long units, Duration window) {
            return layer("sliding_window " + rate(units, window));
        }

        /** Exactly so many units in every window; 8 bytes for each unit. */
        public Builder slidingLog(long units, Duration window) {
            return layer("sliding_log " + rate(units, window));
        }

        /** At most so many requests at once, each held for {@code hold} at the longest. */
        public Builder inFlight(long requests, Duration hold) {
            return layer("in_flight " + positive("inFlight", requests) + " hold=" + nanos(hold) + "ns");
        }

        /** A layer in the words of a policy's text. */
        public Builder layer(String text) {
            layers.add(Objects.requireNonNull(text, "layer is null: expected the text of one"));
            return this;
        }

        private Builder option(String before, String option, int algorithm) {
            int last = layers.size() - 1;
            if (last < 0 || !Character.isDigit(layers.get(last).charAt(algorithm)) || layers.get(last).contains(" ")) {
                throw new IllegalStateException(option + " stands alone: expected it once, behind " + before);
            }
            layers.set(last, layers.get(last) + " " + option);
            return this;
        }

        private static String rate(long units, Duration period) {
            return positive("units", units) + "/" + nanos(period) + "ns";
        }

        private static long nanos(Duration period) {
            long nanos = Arguments.nanos("period", period);
            if (nanos == 0) {
                throw new IllegalArgumentException("period is zero: expected 1 ns or more");
            }
            return nanos;
        }

        private static long positive(String name, long number) {
            if (number < 1) {
                throw new IllegalArgumentException(name + " is " + number + ": expected 1 or more");
            }
            return number;
        }

        /** The policy of these layers, of which there is one or more. */
        public Policy build() {
            if (layers.isEmpty()) {
                throw new IllegalStateException("the policy has no layers: expected a limit");
            }
            return new Policy(String.join(" & ", layers));
        }
    }
}
