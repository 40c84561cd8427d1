package io.github.ratecell.servlet;

import io.github.ratecell.ClientKeys;
import io.github.ratecell.Field;
import io.github.ratecell.Fields;
import io.github.ratecell.Label;
import io.github.ratecell.Limiter;
import io.github.ratecell.Outcome;
import io.github.ratecell.Request;
import io.github.ratecell.Reservation;
import io.github.ratecell.Rules;
import io.github.ratecell.RulesDecision;
import io.github.ratecell.Style;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * Limits the requests of a servlet container, by a limiter or by rules.
 *
 * <p>A refused request is answered with 429 and {@code Retry-After}; one that can never go, with 413 by a limiter and 403 by
 * rules. What the filter cannot decide, such as a key function that throws, is let through, or answered with 503 if it
 * {@link Builder#failClosed() fails closed}; it is never a 500, and is counted. A request that is decided once is not decided
 * again when the container dispatches it anew. Threads may share it.
 */
public final class RatecellFilter implements Filter {
    /** The attribute of a request that has its decision, a {@code Decision} or a {@code RulesDecision}. */
    public static final String DECISION = "io.github.ratecell.decision";

    private static final System.Logger LOG = System.getLogger(RatecellFilter.class.getName());
    private static final int TOO_MANY = 429;

    private final Decider decider;
    private final List<Style> styles;
    private final int status;
    private final boolean failClosed;
    private final Duration maxDelay;
    private final Counts counts = new Counts();

    private RatecellFilter(Builder of, Decider decider) {
        this.decider = decider;
        this.styles = of.styles;
        this.status = of.status;
        this.failClosed = of.failClosed;
        this.maxDelay = of.maxDelay;
    }

    /** A filter by this limiter, and by the address of each request's peer. */
    public static RatecellFilter of(Limiter limiter) {
        return builder(limiter).build();
    }

    /** Makes filters by this limiter. */
    public static Builder builder(Limiter limiter) {
        return new Builder(Objects.requireNonNull(limiter, "limiter is null: expected a limiter"), null);
    }

    /** Makes filters by these rules; their {@code cost} and keys hold. */
    public static Builder builder(Rules rules) {
        return new Builder(null, Objects.requireNonNull(rules, "rules are null: expected rules"));
    }

    /** What the filter has done. */
    public Counts counts() {
        return counts;
    }

    /** An answer to a request, and what it holds until the request has ended. */
    private record Answer(
            Object decision, boolean isAllowed, int status, String text, List<Field> fields, Duration delay,
            AutoCloseable held) {}

    /** Decides a request; null of one that is not limited. */
    private interface Decider {
        Answer decide(HttpServletRequest request);
    }

    @Override
    public void doFilter(ServletRequest plain, ServletResponse to, FilterChain chain)
            throws IOException, ServletException {
        if (!(plain instanceof HttpServletRequest request)
                || !(to instanceof HttpServletResponse response)
                || request.getDispatcherType() != DispatcherType.REQUEST
                || request.getAttribute(mark()) != null) {
            chain.doFilter(plain, to);
            return;
        }
        Answer answer;
        try {
            answer = decider.decide(request);
        } catch (RuntimeException | InternalError fault) {
            counts.faults.increment();
            LOG.log(System.Logger.Level.WARNING, "a request could not be decided", fault);
            if (failClosed) {
                refuse(response, HttpServletResponse.SC_SERVICE_UNAVAILABLE, "The rate limiter cannot decide", List.of());
            } else {
                chain.doFilter(request, response);
            }
            return;
        }
        request.setAttribute(mark(), Boolean.TRUE);
        if (answer == null) {
            counts.unlimited.increment();
            chain.doFilter(request, response);
            return;
        }
        request.setAttribute(DECISION, answer.decision());
        if (!answer.isAllowed()) {
            counts.denied.increment();
            refuse(response, answer.status(), answer.text(), answer.fields());
            return;
        }
        counts.allowed.increment();
        proceed(request, response, chain, answer);
    }

    private void proceed(HttpServletRequest request, HttpServletResponse response, FilterChain chain, Answer answer)
            throws IOException, ServletException {
        Held held = new Held(answer.held());
        try {
            for (Field field : answer.fields()) {
                response.setHeader(field.name(), field.value());
            }
            hold(answer.delay());
            chain.doFilter(request, response);
        } finally {
            if (request.isAsyncStarted()) {
                request.getAsyncContext().addListener(held);
            } else {
                held.release();
            }
        }
    }

    /** Each filter decides a request once. */
    private String mark() {
        return DECISION + "@" + System.identityHashCode(this);
    }

    private static void hold(Duration delay) {
        long until = System.nanoTime() + delay.toNanos();
        for (long left = delay.toNanos(); left > 0; left = until - System.nanoTime()) {
            LockSupport.parkNanos(left);
            if (Thread.currentThread().isInterrupted()) {
                return;
            }
        }
    }

    private static void refuse(HttpServletResponse response, int status, String text, List<Field> fields)
            throws IOException {
        response.setStatus(status);
        for (Field field : fields) {
            response.setHeader(field.name(), field.value());
        }
        byte[] body = (text + "\n").getBytes(StandardCharsets.UTF_8);
        response.setContentType("text/plain; charset=utf-8");
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }

    /** What a request holds; it is released once, when the request has ended. */
    private final class Held implements AsyncListener {
        private AutoCloseable held;

        Held(AutoCloseable held) {
            this.held = held;
        }

        synchronized void release() {
            AutoCloseable last = held;
            held = null;
            if (last == null) {
                return;
            }
            try {
                last.close();
            } catch (Exception fault) {
                counts.faults.increment();
                LOG.log(System.Logger.Level.WARNING, "a permit could not be released", fault);
            }
        }

        @Override
        public void onComplete(AsyncEvent event) {
            release();
        }

        @Override
        public void onTimeout(AsyncEvent event) {}

        @Override
        public void onError(AsyncEvent event) {}

        @Override
        public void onStartAsync(AsyncEvent event) {
            event.getAsyncContext().addListener(this);
        }
    }

    /** The options of a filter. What no filter can have is refused when it is built. */
    public static final class Builder {
        private final Limiter limiter;
        private final Rules rules;
        private ClientKeys clients;
        private Function<HttpServletRequest, String> key;
        private ToLongFunction<HttpServletRequest> cost = request -> 1;
        private Label label;
        private List<Style> styles = List.of(Style.DRAFT11);
        private int status = TOO_MANY;
        private boolean failClosed;
        private Duration maxDelay = Duration.ofSeconds(30);
        private Map<String, Function<HttpServletRequest, String>> attributes = Map.of();

        private Builder(Limiter limiter, Rules rules) {
            this.limiter = limiter;
            this.rules = rules;
        }

        /** How clients are known; the default takes the peer of the connection, and trusts no proxy. */
        public Builder clients(ClientKeys of) {
            clients = Objects.requireNonNull(of, "clients is null: expected ClientKeys");
            return this;
        }

        /** What a request is limited by, as in {@link Keys}; null limits it not. The default is its client. */
        public Builder key(Function<HttpServletRequest, String> of) {
            key = Objects.requireNonNull(of, "key is null: expected a function of a request");
            return this;
        }

        /** The units that a request costs, 0 to 4,294,967,295; the default is 1. */
        public Builder cost(ToLongFunction<HttpServletRequest> of) {
            cost = Objects.requireNonNull(of, "cost is null: expected a function of a request");
            return this;
        }

        /** The names of the policy in the fields. */
        public Builder label(Label of) {
            label = of;
            return this;
        }

        /** The fields of responses; none for an empty list. The default is {@link Style#DRAFT11}. */
        public Builder styles(List<Style> of) {
            styles = List.copyOf(of);
            return this;
        }

        /** The status of a denial, 400 to 599; the default is 429. */
        public Builder status(int code) {
            status = code;
            return this;
        }

        /** What cannot be decided is answered with 503; the default lets it through. */
        public Builder failClosed() {
            failClosed = true;
            return this;
        }

        /** The longest that a request is held by a {@code leaky_queue}; the default is 30 s. */
        public Builder maxDelay(Duration longest) {
            maxDelay = Objects.requireNonNull(longest, "maxDelay is null: expected a duration");
            return this;
        }

        /** With rules, the attributes that their file lists. */
        public Builder attributes(Map<String, Function<HttpServletRequest, String>> of) {
            attributes = Map.copyOf(of);
            return this;
        }

        /**
         * Makes the filter.
         *
         * @throws IllegalArgumentException for what no filter can have
         */
        public RatecellFilter build() {
            if (status < 400 || status > 599) {
                throw new IllegalArgumentException("status is " + status + ": expected 400 to 599");
            }
            if (maxDelay.isNegative()) {
                throw new IllegalArgumentException("maxDelay is " + maxDelay + ": expected zero or more");
            }
            if (!styles.isEmpty()) {
                Fields.check(styles);
            }
            return new RatecellFilter(this, rules == null ? byLimiter() : byRules());
        }

        private Decider byLimiter() {
            if (!attributes.isEmpty()) {
                throw new IllegalArgumentException("attributes are given with a limiter: expected them with rules alone");
            }
            if (limiter.asksForZone()) {
                throw new IllegalArgumentException("`" + limiter.policy()
                        + "` asks for a zone, and a filter names none: expected another policy");
            }
            boolean holds = limiter.policy().contains("in_flight");
            ClientKeys known = clients == null ? ClientKeys.ofPeers() : clients;
            Function<HttpServletRequest, String> keyOf = key == null ? Keys.client(known) : key;
            Builder by = this;
            return request -> {
                String of = keyOf.apply(request);
                if (of == null) {
                    return null;
                }
                Request asked = Request.of(of).cost(cost.applyAsLong(request)).within(maxDelay).withNext();
                Reservation held = holds ? limiter.reserve(asked) : null;
                var decision = holds ? held.decision() : limiter.decide(asked);
                List<Field> fields = styles.isEmpty()
                        ? List.of()
                        : Fields.of(List.of(new Fields.Answer(limiter, decision, label)), styles, Instant.now());
                Refusal refusal = Refusal.of(decision.outcome(), false, false, decision.retryAfter().orElse(null), by);
                return new Answer(decision, decision.isAllowed(), refusal.status(), refusal.text(), refusal.with(fields),
                        decision.delay(), held);
            };
        }

        private Decider byRules() {
            if (key != null || label != null) {
                throw new IllegalArgumentException("key or label is given with rules: expected neither, the file has them");
            }
            boolean reserving = rules.isReserving();
            // Rules have widths of their own.
            ClientKeys known = clients == null ? ClientKeys.builder().v6Width(128).build() : clients;
            Function<HttpServletRequest, String> clientOf = Keys.client(known);
            Builder by = this;
            return request -> {
                Map<String, String> values = new HashMap<>();
                for (String name : Collections.list(request.getHeaderNames())) {
                    // A field of several lines is one value.
                    String lines = String.join(", ", Collections.list(request.getHeaders(name)));
                    values.put("header:" + name.toLowerCase(Locale.ROOT), lines);
                }
                values.put("method", request.getMethod());
                values.put("path", request.getRequestURI());
                values.put("host", request.getServerName());
                values.put("client", clientOf.apply(request));
                attributes.forEach((name, of) -> {
                    String value = of.apply(request);
                    if (value != null) {
                        values.put(name, value);
                    }
                });
                Rules.Reservation held = reserving ? rules.reserve(values, styles) : null;
                RulesDecision decision = reserving ? held.decision() : rules.decide(values, styles);
                Refusal refusal = Refusal.of(
                        decision.outcome(), true, decision.isUnclearPath(), decision.retryAfter().orElse(null), by);
                return new Answer(decision, decision.isAllowed(), refusal.status(), refusal.text(),
                        refusal.with(decision.fields()), decision.delay(), held);
            };
        }
    }

    /** The answer to a request that is not allowed; its own field is {@code Retry-After}. */
    private record Refusal(int status, String text, String retryAfter) {
        static Refusal of(Outcome outcome, boolean byRules, boolean unclear, Duration retry, Builder by) {
            if (unclear) {
                return new Refusal(400, "The path can be read in several ways", null);
            }
            return switch (outcome) {
                case ALLOWED -> new Refusal(200, "", null);
                case NEVER -> byRules
                        ? new Refusal(403, "The rules never allow it", null)
                        : new Refusal(413, "Too large for the rate limit", null);
                case CLOCK_RANGE, ASKED -> new Refusal(503, "The rate limiter cannot decide", null);
                case DENIED -> {
                    if (retry == null) {
                        yield new Refusal(by.status, "Too many requests", null);
                    }
                    long seconds = retry.plusNanos(TimeUnit.SECONDS.toNanos(1) - 1).toSeconds();
                    yield new Refusal(by.status, "Too many requests: retry after " + seconds + " s", "" + seconds);
                }
            };
        }

        /** The fields of a response, with {@code Retry-After} where no style has it. */
        List<Field> with(List<Field> fields) {
            boolean has = fields.stream().anyMatch(field -> field.name().equals("Retry-After"));
            if (retryAfter == null || has) {
                return fields;
            }
            List<Field> all = new ArrayList<>(fields);
            all.add(new Field("Retry-After", retryAfter));
            return all;
        }
    }
}
