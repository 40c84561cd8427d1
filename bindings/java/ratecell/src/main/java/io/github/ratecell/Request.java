package io.github.ratecell;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Objects;

/**
 * A request to a limiter: units of a key, with options. Immutable.
 *
 * <p>A key is known by its bytes, a string by its UTF-8. A plain request is for one unit now, and is charged only if it is
 * allowed.
 */
public final class Request {
    static final int AT = 1;
    private static final int WITHIN = 2;
    private static final int CHARGE = 4;
    static final int NEXT = 8;
    private static final int WITHOUT_WAITING = 16;

    private final byte[] key;
    private final int cost;
    private final int flags;
    private final long atNanos;
    private final long withinNanos;
    private final Zone zone;

    private Request(byte[] key, int cost, int flags, long atNanos, long withinNanos, Zone zone) {
        this.key = key;
        this.cost = cost;
        this.flags = flags;
        this.atNanos = atNanos;
        this.withinNanos = withinNanos;
        this.zone = zone;
    }

    /** A request for one unit of this key. */
    public static Request of(String key) {
        return new Request(Arguments.key(key), 1, 0, 0, 0, null);
    }

    /** A request for one unit of the key of these bytes, which are copied. */
    public static Request of(byte[] key) {
        return new Request(Objects.requireNonNull(key, "key is null: expected bytes").clone(), 1, 0, 0, 0, null);
    }

    /** For so many units, 0 to 4,294,967,295; 0 is a peek. */
    public Request cost(long units) {
        return new Request(key, Arguments.cost(units), flags, atNanos, withinNanos, zone);
    }

    /**
     * At this time, in nanoseconds since {@link Limiter#epoch()}; unsigned. All users of a limiter use one clock: for tests and
     * replay.
     */
    public Request at(long nanos) {
        return new Request(key, cost, flags | AT, nanos, withinNanos, zone);
    }

    /**
     * What would be allowed with a longer delay than this is denied, and charges nothing: for callers that can hold a request
     * only so long.
     */
    public Request within(Duration delay) {
        return new Request(key, cost, flags | WITHIN, atNanos, Arguments.nanos("within", delay), zone).checked();
    }

    /** The units have been spent already: they are charged as far as there is room, and never refused. */
    public Request charge() {
        return new Request(key, cost, flags | CHARGE, atNanos, withinNanos, zone).checked();
    }

    /** The decision has its {@link Decision#nextAfter()}, too. This costs a second look at the key. */
    public Request withNext() {
        return new Request(key, cost, flags | NEXT, atNanos, withinNanos, zone);
    }

    /** It does not wait for the store that many machines share: where only that can answer, the outcome is ASKED. */
    public Request withoutWaiting() {
        return new Request(key, cost, flags | WITHOUT_WAITING, atNanos, withinNanos, zone);
    }

    /** In this zone, which the limiter made: under a policy with {@code tz=caller}. */
    public Request zone(Zone of) {
        return new Request(key, cost, flags, atNanos, withinNanos, Objects.requireNonNull(of, "zone is null: expected a zone"));
    }

    private Request checked() {
        if ((flags & CHARGE) != 0 && (flags & WITHIN) != 0) {
            throw new IllegalArgumentException(
                    "charge and within are both given: expected one of them, for a charge has no delay");
        }
        return this;
    }

    byte[] key() {
        return key;
    }

    Zone zone() {
        return zone;
    }

    /** Decides it by a limiter, which the caller keeps reachable. */
    Decision decide(long limiter) {
        if (zone == null) {
            return Exchange.decide(limiter, key, cost, atNanos, withinNanos, flags);
        }
        Message message = new Message().u64(limiter).u32(1);
        write(message);
        try {
            return message.call(Operation.DECIDE_MANY).decision();
        } finally {
            Reference.reachabilityFence(zone.handle());
        }
    }

    /** Writes it; whoever calls the library keeps the request reachable until then. */
    void write(Message message) {
        message.bytes(key).u32(cost).u32(flags).u64(atNanos).u64(withinNanos);
        message.u64(zone == null ? 0 : zone.handle().address());
    }
}
