package io.github.ratecell;

import java.lang.ref.Reference;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** The HTTP fields that tell a client its limits. */
public final class Fields {
    private Fields() {}

    /**
     * A decision and the limiter that made it.
     *
     * @param limiter the limiter
     * @param decision its decision, of a request {@link Request#withNext()}
     * @param label the names of its policy, or null
     */
    public record Answer(Limiter limiter, Decision decision, Label label) {}

    /** The fields of one decision. */
    public static List<Field> of(Limiter limiter, Decision decision, Style... styles) {
        return of(List.of(new Answer(limiter, decision, null)), List.of(styles), Instant.now());
    }

    /**
     * The fields of decisions that were made for one request, {@code now}.
     *
     * @throws IllegalArgumentException for styles that write the same field
     */
    public static List<Field> of(Collection<Answer> answers, Collection<Style> styles, Instant now) {
        Message message = new Message();
        writeStyles(message, styles).u64(unixNanos(now));
        List<Handle> handles = new ArrayList<>(answers.size());
        message.several(answers, (to, answer) -> {
            Handle open = answer.limiter().open();
            handles.add(open);
            to.flag(true).u64(open.address());
            to.raw(answer.decision().bytes()).maybe(answer.label(), (names, label) -> label.write(names));
        });
        try {
            return message.call(Operation.FIELDS).several(Field::read);
        } finally {
            Reference.reachabilityFence(handles);
        }
    }

    /** Refuses styles that no response could have together. */
    public static void check(Collection<Style> styles) {
        writeStyles(new Message(), styles).call(Operation.CHECK_STYLES);
    }

    static Message writeStyles(Message message, Collection<Style> styles) {
        return message.several(styles, (to, style) -> to.text(style.styleName()));
    }

    static long unixNanos(Instant instant) {
        return instant.getEpochSecond() * 1_000_000_000L + instant.getNano();
    }
}
