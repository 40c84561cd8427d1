package io.github.ratecell;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Memory that both sides see: a request goes in, its decision comes out, and nothing is copied by the virtual machine.
 *
 * <p>Exchanges are kept in a ring of places. A thread takes the one at its place, or makes one where that is taken, and puts
 * it back afterwards: so virtual threads have none of their own, and no thread waits for another.
 */
final class Exchange {
    /** Where the longest delay stands, behind the decision; the key stands behind it. */
    private static final int WITHIN = Decision.LENGTH;

    private static final int KEY = WITHIN + 8;

    /** The longest key of an exchange that is put back. */
    private static final int KEPT_KEY = 512 - KEY;

    private static final int PLACES = Integer.highestOneBit(Math.max(4, Runtime.getRuntime().availableProcessors()) * 4);

    /** So far apart two references are in two cache lines. */
    private static final int APART = 32;

    private static final AtomicReferenceArray<Exchange> RING = new AtomicReferenceArray<>(PLACES * APART);

    private final ByteBuffer memory;
    private final long address;

    private Exchange(int keyLength) {
        // Direct memory is aligned for longs.
        memory = ByteBuffer.allocateDirect(KEY + keyLength).order(ByteOrder.LITTLE_ENDIAN);
        address = Message.Holder.LIBRARY.address(memory);
    }

    /** Decides a request to the limiter, which the caller keeps reachable. */
    static Decision decide(long limiter, byte[] key, int cost, long atNanos, long withinNanos, int flags) {
        if (key.length > KEPT_KEY) {
            return new Exchange(key.length).run(limiter, key, cost, atNanos, withinNanos, flags);
        }
        long thread = Thread.currentThread().getId();
        int place = ((int) thread & (PLACES - 1)) * APART;
        Exchange exchange = RING.getAndSet(place, null);
        if (exchange == null) {
            exchange = new Exchange(KEPT_KEY);
        }
        Decision decision = exchange.run(limiter, key, cost, atNanos, withinNanos, flags);
        RING.setRelease(place, exchange);
        return decision;
    }

    private Decision run(long limiter, byte[] key, int cost, long atNanos, long withinNanos, int flags) {
        memory.putLong(WITHIN, withinNanos);
        memory.put(KEY, key);
        if (Message.Holder.LIBRARY.decide(limiter, address, key.length, cost, atNanos, flags) != 0) {
            throw new InternalError("the library panicked");
        }
        return Decision.read(memory, 0);
    }
}
