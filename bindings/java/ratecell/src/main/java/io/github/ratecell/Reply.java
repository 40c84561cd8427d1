package io.github.ratecell;

import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** A reply of the library. */
final class Reply {
    private static final int ENOENT = 2;
    private static final int EACCES = 13;

    private final ByteBuffer buffer;

    private Reply(ByteBuffer buffer) {
        this.buffer = buffer;
    }

    /** The reply in these bytes; of a fault, the exception that it is. */
    static Reply of(byte[] bytes) {
        Reply reply = new Reply(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN));
        int kind = reply.u8();
        if (kind != 0) {
            throw reply.fault(kind);
        }
        return reply;
    }

    private RuntimeException fault(int kind) {
        String text = text();
        String code = text();
        int column = u32();
        int line = u32();
        String rule = text();
        String field = text();
        String path = text();
        int number = u32();
        switch (kind) {
            case 1:
                return new IllegalArgumentException(text);
            case 2:
                return new PolicyException(text, code, column);
            case 3:
                return new RulesException(text, code, line, rule, field);
            case 4:
                FileSystemException error =
                        switch (number) {
                            case ENOENT -> new NoSuchFileException(path, null, text);
                            case EACCES -> new AccessDeniedException(path, null, text);
                            default -> new FileSystemException(path, null, text);
                        };
                return new UncheckedIOException(path + ": " + text, error);
            case 5:
                throw new OutOfMemoryError(text);
            case 6:
                return new IllegalStateException(text);
            default:
                throw new InternalError(text);
        }
    }

    int u8() {
        return buffer.get() & 0xff;
    }

    boolean flag() {
        return buffer.get() != 0;
    }

    int u32() {
        return buffer.getInt();
    }

    long u64() {
        return buffer.getLong();
    }

    byte[] bytes() {
        byte[] bytes = new byte[u32()];
        buffer.get(bytes);
        return bytes;
    }

    String text() {
        return new String(bytes(), StandardCharsets.UTF_8);
    }

    /** What {@code read} reads, or null. */
    <T> T maybe(Function<Reply, T> read) {
        return flag() ? read.apply(this) : null;
    }

    <T> List<T> several(Function<Reply, T> read) {
        int count = u32();
        List<T> items = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            items.add(read.apply(this));
        }
        return List.copyOf(items);
    }

    Instant instant() {
        long seconds = u64();
        return Instant.ofEpochSecond(seconds, u32());
    }

    Decision decision() {
        Decision decision = Decision.read(buffer, buffer.position());
        buffer.position(buffer.position() + Decision.LENGTH);
        return decision;
    }
}
