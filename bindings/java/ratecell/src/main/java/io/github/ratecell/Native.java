package io.github.ratecell;

import java.nio.ByteBuffer;

/** What the library offers. JNI implements it; nothing else in the package knows how the library is called. */
interface Native {
    /**
     * Decides the request that stands in the exchange at this address, and writes the decision there.
     *
     * @return 0; anything else is a fault of the library
     */
    int decide(long limiter, long exchange, int keyLength, int cost, long atNanos, int flags);

    /** Runs an operation on its message, and returns the reply. */
    byte[] call(int operation, byte[] message);

    /** The address of a direct buffer, for as long as it is reachable. */
    long address(ByteBuffer memory);
}
