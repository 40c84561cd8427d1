package io.github.ratecell;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;

/**
 * The answer of a limiter to one request. A denial is an answer, not an exception.
 *
 * <p>Times are relative to the request's, and exact to the nanosecond. A count above {@link Long#MAX_VALUE}, which no usual
 * policy has, is returned as {@link Long#MAX_VALUE}. Decisions are immutable values.
 */
public final class Decision {
    /** Bytes of a decision, as the library has it. */
    static final int LENGTH = 64;

    private static final long NONE = -1;
    private static final int WITHOUT_PLACE = 1;
    private static final int LEASED = 2;
    private static final int UNANSWERED = 4;
    private static final int WITHOUT_ZONE = 8;

    private final long head;
    private final long limit;
    private final long remaining;
    private final long retryNanos;
    private final long resetNanos;
    private final long delayNanos;
    private final long nextNanos;
    private final long tail;

    private Decision(
            long head, long limit, long remaining, long retry, long reset, long delay, long next, long tail) {
        this.head = head;
        this.limit = limit;
        this.remaining = remaining;
        this.retryNanos = retry;
        this.resetNanos = reset;
        this.delayNanos = delay;
        this.nextNanos = next;
        this.tail = tail;
    }

    /** The decision that stands in memory of little endian. */
    static Decision read(ByteBuffer memory, int at) {
        return new Decision(
                memory.getLong(at),
                memory.getLong(at + 8),
                memory.getLong(at + 16),
                memory.getLong(at + 24),
                memory.getLong(at + 32),
                memory.getLong(at + 40),
                memory.getLong(at + 48),
                memory.getLong(at + 56));
    }

    byte[] bytes() {
        ByteBuffer bytes = ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        for (long word : words()) {
            bytes.putLong(word);
        }
        return bytes.array();
    }

    private long[] words() {
        return new long[] {head, limit, remaining, retryNanos, resetNanos, delayNanos, nextNanos, tail};
    }

    /** {@code nanos} of the unsigned range as a duration. */
    static Duration duration(long nanos) {
        long second = 1_000_000_000L;
        return Duration.ofSeconds(Long.divideUnsigned(nanos, second), Long.remainderUnsigned(nanos, second));
    }

    /** A count of the unsigned range, or the greatest long. */
    static long saturated(long count) {
        return count < 0 ? Long.MAX_VALUE : count;
    }

    /** Whether the request may go. */
    public boolean isAllowed() {
        return (int) head == 1;
    }

    /** How the request was decided. */
    public Outcome outcome() {
        return Outcome.of((int) head);
    }

    /** The most units that can pass at one instant; of several layers, that of {@link #layer()}. */
    public long limit() {
        return saturated(limit);
    }

    /** Units that would be allowed at this same instant, after this decision. */
    public long remaining() {
        return saturated(remaining);
    }

    /**
     * The time until the same cost would be allowed, with no other traffic on the key; 1 ns earlier it is still denied.
     * Zero if the request was allowed, empty if it never can be, or if the time is not known.
     */
    public Optional<Duration> retryAfter() {
        return retryNanos == NONE ? Optional.empty() : Optional.of(duration(retryNanos));
    }

    /** The time until the key is as good as never used. */
    public Duration resetAfter() {
        return duration(resetNanos);
    }

    /**
     * The time to hold an allowed request before it goes on: zero except for a {@code leaky_queue}. Of a refusal within a
     * delay, the one that it would be given.
     */
    public Duration delay() {
        return duration(delayNanos);
    }

    /**
     * The time until one unit more than {@link #remaining()} would be allowed. Empty where there is no such time, and where
     * the request did not ask {@link Request#withNext()}.
     */
    public Optional<Duration> nextAfter() {
        return nextNanos == 0 || nextNanos == NONE ? Optional.empty() : Optional.of(duration(nextNanos));
    }

    /** Which layer of the policy has the least {@link #remaining()}, counted from 0. */
    public int layer() {
        return (int) (head >>> 32);
    }

    /** Units that a release gave back; 0 of every other decision. */
    public long givenBack() {
        return tail >>> 32;
    }

    /** Whether a full table denied, which had no place for the key, and not the policy. */
    public boolean isWithoutPlace() {
        return (tail & WITHOUT_PLACE) != 0;
    }

    /** Whether the limiter's units are those of many machines; {@link #remaining()} is then a lower bound. */
    public boolean isLeased() {
        return (tail & LEASED) != 0;
    }

    /** Whether the store of many machines did not answer. */
    public boolean isUnanswered() {
        return (tail & UNANSWERED) != 0;
    }

    /** Whether it was refused, with nothing charged, for it named no zone though the policy has {@code tz=caller}. */
    public boolean isWithoutZone() {
        return (tail & WITHOUT_ZONE) != 0;
    }

    long rawRemaining() {
        return remaining;
    }

    long rawRetryNanos() {
        return retryNanos;
    }

    long rawResetNanos() {
        return resetNanos;
    }

    long rawDelayNanos() {
        return delayNanos;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Decision && Arrays.equals(words(), ((Decision) other).words());
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(words());
    }

    @Override
    public String toString() {
        return "Decision["
                + outcome()
                + ", limit="
                + Long.toUnsignedString(limit)
                + ", remaining="
                + Long.toUnsignedString(remaining)
                + ", retryAfter="
                + retryAfter().map(Duration::toString).orElse("never")
                + ", resetAfter="
                + resetAfter()
                + "]";
    }
}
