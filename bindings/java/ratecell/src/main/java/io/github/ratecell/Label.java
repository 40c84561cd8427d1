package io.github.ratecell;

/**
 * The names of a limiter's policy in HTTP fields.
 *
 * <p>Every client that asks reads it: put no address in it.
 *
 * @param name 1 to 256 characters of printable ASCII, or null: then each layer is called by its text
 * @param unit "requests", "content-bytes" or "concurrent-requests", or null for requests
 * @param partition at most 256 bytes that tell apart the clients that the limit is for, or null
 */
public record Label(String name, String unit, byte[] partition) {
    /** Refuses what no field can carry, by an IllegalArgumentException. */
    public Label {
        write(new Message(), name, unit, partition).call(Operation.CHECK_LABEL);
    }

    /** A policy of this name, which counts requests. */
    public static Label named(String name) {
        return new Label(name, null, null);
    }

    void write(Message message) {
        write(message, name, unit, partition);
    }

    private static Message write(Message message, String name, String unit, byte[] partition) {
        return message.maybe(name, Message::text).maybe(unit, Message::text).maybe(partition, Message::bytes);
    }
}
