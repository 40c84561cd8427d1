package io.github.ratecell;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.function.BiConsumer;

/** A message to the library: numbers in little endian, bytes behind their length, what may be absent behind 0 or 1. */
final class Message {
    private ByteBuffer buffer = ByteBuffer.allocate(128).order(ByteOrder.LITTLE_ENDIAN);

    /** Runs an operation on this message. */
    Reply call(Operation operation) {
        byte[] bytes = new byte[buffer.position()];
        buffer.get(0, bytes);
        return Reply.of(Holder.LIBRARY.call(operation.ordinal(), bytes));
    }

    private ByteBuffer room(int bytes) {
        if (buffer.remaining() < bytes) {
            int capacity = Math.max(Math.addExact(buffer.position(), bytes), (int) Math.min(Integer.MAX_VALUE - 8, 2L * buffer.capacity()));
            ByteBuffer larger = ByteBuffer.allocate(capacity).order(ByteOrder.LITTLE_ENDIAN);
            larger.put(buffer.flip());
            buffer = larger;
        }
        return buffer;
    }

    Message flag(boolean value) {
        return number(value ? 1 : 0, 1);
    }

    Message u8(int value) {
        return number(value, 1);
    }

    Message u32(int value) {
        room(4).putInt(value);
        return this;
    }

    Message u64(long value) {
        room(8).putLong(value);
        return this;
    }

    private Message number(int value, int bytes) {
        room(bytes).put((byte) value);
        return this;
    }

    Message bytes(byte[] value) {
        u32(value.length);
        room(value.length).put(value);
        return this;
    }

    Message raw(byte[] value) {
        room(value.length).put(value);
        return this;
    }

    Message text(String value) {
        return bytes(value.getBytes(StandardCharsets.UTF_8));
    }

    /** What {@code write} writes, unless the value is null. */
    <T> Message maybe(T value, BiConsumer<Message, T> write) {
        flag(value != null);
        if (value != null) {
            write.accept(this, value);
        }
        return this;
    }

    <T> Message several(Collection<? extends T> values, BiConsumer<Message, T> write) {
        u32(values.size());
        for (T value : values) {
            write.accept(this, value);
        }
        return this;
    }

    /** The library, loaded by the first who needs it. */
    static final class Holder {
        static final Native LIBRARY = Library.load();

        private Holder() {}
    }
}
