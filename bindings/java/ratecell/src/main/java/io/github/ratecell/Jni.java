package io.github.ratecell;

import java.nio.ByteBuffer;

/** The library by JNI. */
final class Jni implements Native {
    @Override
    public native int decide(long limiter, long exchange, int keyLength, int cost, long atNanos, int flags);

    @Override
    public native byte[] call(int operation, byte[] message);

    @Override
    public native long address(ByteBuffer memory);
}
