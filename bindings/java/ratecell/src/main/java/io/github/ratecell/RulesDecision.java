package io.github.ratecell;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** The answer of rules to one request. Its figures are those of {@link #rule()}. Immutable. */
public final class RulesDecision {
    private final Outcome outcome;
    private final boolean unclearPath;
    private final String rule;
    private final long retryNanos;
    private final long delayNanos;
    private final long limit;
    private final long remaining;
    private final long resetNanos;
    private final List<Shadow> shadows;
    private final List<Field> fields;

    /**
     * What a shadow rule would have said.
     *
     * @param rule its name
     * @param outcome its outcome
     */
    public record Shadow(String rule, Outcome outcome) {
        private static Shadow read(Reply reply) {
            String rule = reply.text();
            return new Shadow(rule, Outcome.of(reply.u32()));
        }
    }

    RulesDecision(Reply reply) {
        outcome = Outcome.of(reply.u32());
        unclearPath = reply.flag();
        rule = reply.maybe(Reply::text);
        retryNanos = reply.u64();
        delayNanos = reply.u64();
        limit = reply.u64();
        remaining = reply.u64();
        resetNanos = reply.u64();
        shadows = reply.several(Shadow::read);
        fields = reply.several(Field::read);
    }

    /** Whether the request may go. */
    public boolean isAllowed() {
        return outcome == Outcome.ALLOWED && !unclearPath;
    }

    /** The gravest outcome of the rules that limit the request; ALLOWED if there is none. */
    public Outcome outcome() {
        return outcome;
    }

    /**
     * The name of the rule that refused; of an allowed request, that of the rule which runs out first. Empty if no rule limits
     * the request, or its path is unclear.
     */
    public Optional<String> rule() {
        return Optional.ofNullable(rule);
    }

    /** Whether the path can be read in several ways, which the file refuses. Nothing was charged; the answer is 400. */
    public boolean isUnclearPath() {
        return unclearPath;
    }

    /** The time until the same request would be allowed; zero if it was allowed, empty if it never can be. */
    public Optional<Duration> retryAfter() {
        return retryNanos == -1 ? Optional.empty() : Optional.of(Decision.duration(retryNanos));
    }

    /** The time to hold the allowed request before it goes on. */
    public Duration delay() {
        return Decision.duration(delayNanos);
    }

    /** The most units that can pass the rule at one instant. */
    public long limit() {
        return Decision.saturated(limit);
    }

    /** Units that the rule would allow at this same instant, after this decision. */
    public long remaining() {
        return Decision.saturated(remaining);
    }

    /** The time until the rule's key is as good as never used. */
    public Duration resetAfter() {
        return Decision.duration(resetNanos);
    }

    /** The outcome of each shadow rule that applies, in the order of the file. */
    public List<Shadow> shadows() {
        return shadows;
    }

    /** The fields of the response in the styles that the request asked for. */
    public List<Field> fields() {
        return fields;
    }

    long[] raw() {
        return new long[] {retryNanos, delayNanos, limit, remaining, resetNanos};
    }

    @Override
    public String toString() {
        return "RulesDecision[" + (unclearPath ? "unclear path" : outcome) + rule().map(name -> ", rule=" + name).orElse("") + "]";
    }
}
