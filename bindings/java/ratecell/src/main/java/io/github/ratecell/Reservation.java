package io.github.ratecell;

import java.util.Objects;

/**
 * Units that were charged before their number was known, or a permit of a request in flight.
 *
 * <p>In a try block: {@link #settle(long)} says how many units were used; without it all of them count as used. Leaving the
 * block releases the permit. A refused reservation does neither. Not for several threads at once.
 */
public final class Reservation implements AutoCloseable {
    private final Limiter limiter;
    private final byte[] key;
    private final Decision decision;
    private final Long atNanos;
    private byte[] data;
    private boolean settled;

    Reservation(Limiter limiter, byte[] key, Decision decision, byte[] data, Long atNanos) {
        this.limiter = limiter;
        this.key = key;
        this.decision = decision;
        this.data = data;
        this.atNanos = atNanos;
    }

    /** A reservation from its bytes, of another process that shares the file, for example. */
    public static Reservation fromBytes(Limiter limiter, byte[] data) {
        return fromBytes(limiter, data, null);
    }

    static Reservation fromBytes(Limiter limiter, byte[] data, Long atNanos) {
        new Message().bytes(data).call(Operation.RESERVED);
        return new Reservation(Objects.requireNonNull(limiter), null, null, data.clone(), atNanos);
    }

    /** Whether the request may go: whether anything is held. */
    public boolean isAllowed() {
        return decision == null || decision.isAllowed();
    }

    /** The decision; null of a reservation from bytes. */
    public Decision decision() {
        return decision;
    }

    /** Units that are held: 0 of a refused reservation, and of one that has ended. */
    public long cost() {
        return data == null ? 0 : Integer.toUnsignedLong(new Message().bytes(data).call(Operation.RESERVED).u32());
    }

    /** Its bytes, by which another process can settle it. */
    public byte[] toBytes() {
        return held().clone();
    }

    private byte[] held() {
        if (data == null) {
            throw new IllegalStateException("the reservation was refused, or has ended: expected one that holds something");
        }
        return data;
    }

    /**
     * Of its units, so many were used; the others come back. More than were reserved are charged. A permit stays held.
     *
     * @return what a peek sees afterwards
     */
    public Decision settle(long actual) {
        byte[] bytes = held();
        if (settled) {
            throw new IllegalStateException("the reservation is settled: expected one settlement");
        }
        int units = Arguments.cost(actual);
        boolean givesBack = actual < cost();
        Decision settled =
                limiter.call(Operation.SETTLE, to -> to.bytes(bytes).u32(units).maybe(atNanos, Message::u64)).decision();
        this.settled = true;
        if (givesBack) {
            changed();
        }
        return settled;
    }

    /** Gives the permit back. */
    public Decision release() {
        byte[] bytes = held();
        data = null;
        Decision released =
                limiter.call(Operation.RELEASE, to -> to.bytes(bytes).maybe(atNanos, Message::u64)).decision();
        if (released.givenBack() > 0) {
            changed();
        }
        return released;
    }

    /** Holds the permit for another {@code hold=} from now on. */
    public Decision renew() {
        byte[] bytes = held();
        Reply reply = limiter.call(Operation.RENEW, to -> to.bytes(bytes).maybe(atNanos, Message::u64));
        Decision renewed = reply.decision();
        data = reply.bytes();
        return renewed;
    }

    /** Without the key nobody knows who waits for it. */
    private void changed() {
        if (key != null) {
            limiter.line.changed(key);
        }
    }

    /** Releases what is held, if it is not released. */
    @Override
    public void close() {
        if (data != null) {
            release();
        }
    }
}
