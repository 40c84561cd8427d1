package io.github.ratecell;

import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Limits by a file of rules, which says which limits apply to which requests.
 *
 * <p>Threads may share it. Closing it is as closing a {@link Limiter}.
 */
public final class Rules implements AutoCloseable {
    private volatile Handle handle;

    private Rules(Handle handle) {
        this.handle = handle;
    }

    /** Rules of this text, with the default options. */
    public static Rules of(String text) {
        return builder(text).build();
    }

    /** Makes rules of this text. */
    public static Builder builder(String text) {
        return new Builder(text, null);
    }

    /** Makes rules of this file, which is read once. */
    public static Builder builder(Path file) {
        return new Builder("", file);
    }

    /**
     * Decides a request with these attributes: all limits that apply to it are charged, or none is.
     *
     * <p>They are the values by the names that the file uses: "method", "path" as it was sent, "host", "client",
     * "header:x-api-key" in small letters, and those that the file lists. One that is not there is absent.
     *
     * @throws IllegalArgumentException where the rules were made with {@link Builder#reserving()}
     */
    public RulesDecision decide(Map<String, String> attributes) {
        return decide(attributes, List.of());
    }

    /** As {@link #decide(Map)}; the decision has the fields of the response in these styles. */
    public RulesDecision decide(Map<String, String> attributes, List<Style> styles) {
        return decide(attributes, null, styles);
    }

    RulesDecision decide(Map<String, String> attributes, Long atNanos, List<Style> styles) {
        return new RulesDecision(call(Operation.RULES_DECIDE, message -> write(message, attributes, atNanos, styles)));
    }

    private static void write(Message message, Map<String, String> attributes, Long atNanos, List<Style> styles) {
        writeAttributes(message, attributes);
        message.maybe(atNanos, Message::u64);
        message.maybe(styles.isEmpty() ? null : styles, (to, all) ->
                Fields.writeStyles(to, all).u64(Fields.unixNanos(Instant.now())));
    }

    private static Message writeAttributes(Message message, Map<String, String> attributes) {
        return message.several(attributes.entrySet(), (to, each) ->
                to.text(each.getKey()).bytes(each.getValue().getBytes(StandardCharsets.UTF_8)));
    }

    /** Decides and charges as {@link #decide(Map)}, and holds what is to be settled and released. Use it in a try block. */
    public Reservation reserve(Map<String, String> attributes, List<Style> styles) {
        Reply reply = call(Operation.RULES_RESERVE, message -> write(message, attributes, null, styles));
        RulesDecision decision = new RulesDecision(reply);
        return new Reservation(decision, reply.maybe(Reply::bytes));
    }

    /**
     * Limits by another text from now on, while other threads decide. A rule goes on with what it has counted if its name and
     * its key stay.
     *
     * @throws RulesException if the text is refused
     * @throws PolicyException if a new limit cannot decide; in both cases the rules in force stay
     */
    public void change(String text) {
        call(Operation.RULES_CHANGE, message -> message.text(text).flag(false).flag(false));
    }

    /** Limits by another file from now on. */
    public void change(Path file) {
        call(Operation.RULES_CHANGE, message -> message.text("").maybe(file.toString(), Message::text).flag(false));
    }

    /** What the rules hold, and what has happened. */
    public Stats stats() {
        return Stats.read(call(Operation.RULES_STATS, message -> message.flag(false)));
    }

    /** The names of the rules in force, in their order. */
    public List<String> names() {
        Reply about = call(Operation.RULES_ABOUT, message -> {});
        about.flag();
        about.instant();
        return about.several(Reply::text);
    }

    /** Whether every request is to be reserved. */
    public boolean isReserving() {
        return call(Operation.RULES_ABOUT, message -> {}).flag();
    }

    private Reply call(Operation operation, Consumer<Message> write) {
        Handle open = handle;
        if (open == null) {
            throw new IllegalStateException("the rules are closed: expected open ones");
        }
        try {
            Message message = new Message().u64(open.address());
            write.accept(message);
            return message.call(operation);
        } finally {
            Reference.reachabilityFence(open);
        }
    }

    @Override
    public void close() {
        handle = null;
    }

    /** What rules hold for a request. Not for several threads at once. */
    public final class Reservation implements AutoCloseable {
        private final RulesDecision decision;
        private byte[] data;

        private Reservation(RulesDecision decision, byte[] data) {
            this.decision = decision;
            this.data = data;
        }

        /** The decision. */
        public RulesDecision decision() {
            return decision;
        }

        /** Whether the request may go. */
        public boolean isAllowed() {
            return decision.isAllowed();
        }

        /** Settles by attributes that are known afterwards, such as a cost, once. */
        public void settle(Map<String, String> actual) {
            byte[] held = data;
            if (held == null) {
                throw new IllegalStateException("the reservation was refused, or has ended: expected one that holds something");
            }
            call(Operation.RULES_SETTLE, message -> {
                writeAttributes(message.bytes(held).flag(true), actual);
                message.flag(false);
            });
        }

        /** Gives the permits back. */
        @Override
        public void close() {
            byte[] held = data;
            if (held != null) {
                data = null;
                call(Operation.RULES_RELEASE, message -> message.bytes(held).flag(false));
            }
        }
    }

    /** The options of rules. Not for several threads at once. */
    public static final class Builder {
        private final String text;
        private final Path source;
        private Long maxKeys;
        private WhenFull whenFull;
        private Long epochSeconds;
        private boolean reserving;
        private boolean follow;
        private boolean change;
        private Path file;

        private Builder(String text, Path source) {
            this.text = text;
            this.source = source;
        }

        /** Room for so many keys, from 1 on; a key counts once for each layer that limits it. The default is 100,000. */
        public Builder maxKeys(long keys) {
            if (keys < 1) {
                throw new IllegalArgumentException("maxKeys is " + keys + ": expected 1 or more");
            }
            maxKeys = keys;
            return this;
        }

        /** What happens to a new key when the table is full; not {@link WhenFull#SHARE}. */
        public Builder whenFull(WhenFull answer) {
            whenFull = answer;
            return this;
        }

        /** The zero of the clock, in whole seconds: for tests and replay. */
        public Builder epoch(Instant epoch) {
            epochSeconds = epoch.getEpochSecond();
            return this;
        }

        /** Every request is reserved, and rules may count requests {@code in_flight}. */
        public Builder reserving() {
            reserving = true;
            return this;
        }

        /** With the limits in this file: all processes that open it limit together. */
        public Builder shared(Path limits) {
            file = limits;
            return this;
        }

        /** With {@link #shared}: where the file has another policy of a rule, that holds. */
        public Builder follow() {
            follow = true;
            return this;
        }

        /** With {@link #shared}: where the file has another policy of a rule, this one holds, for all. */
        public Builder change() {
            change = true;
            return this;
        }

        /**
         * Makes the rules.
         *
         * @throws RulesException if the text is refused
         * @throws IllegalArgumentException for options that do not go together
         * @throws java.io.UncheckedIOException for a file that cannot be read or used
         */
        public Rules build() {
            if (file == null && (follow || change)) {
                throw new IllegalArgumentException("follow, change: expected neither without a shared file");
            }
            if (follow && change) {
                throw new IllegalArgumentException("follow, change: expected one of them, or neither");
            }
            Message message = new Message().text(text).maybe(source, (to, path) -> to.text(path.toString()));
            message.maybe(maxKeys, Message::u64).maybe(whenFull, (to, full) -> to.u8(full.ordinal()));
            message.maybe(epochSeconds, Message::u64).flag(reserving).flag(follow).flag(change);
            message.maybe(file, (to, path) -> to.text(path.toString()));
            return new Rules(new Handle(message.call(Operation.RULES_MAKE).u64(), Operation.RULES_FREE));
        }
    }
}
