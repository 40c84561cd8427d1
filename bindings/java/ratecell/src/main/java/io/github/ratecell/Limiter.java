package io.github.ratecell;

import java.lang.ref.Reference;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A rate limiter: decides whether a key may do something now.
 *
 * <p>Threads may share it, platform and virtual ones. A check takes no lock and allocates the decision alone. Keys are known
 * by their bytes, a string by its UTF-8, and are not kept.
 *
 * <p>{@link #close()} refuses every later call; a call that runs meanwhile ends as it would. The memory is freed once no call
 * runs and the garbage collector has seen that. A limiter that is forgotten without it is freed likewise.
 */
public final class Limiter implements AutoCloseable {
    private volatile Handle handle;
    final Line line = new Line(this);

    Limiter(Handle handle) {
        this.handle = handle;
    }

    /**
     * A limiter of this policy with the default options, which are those of {@link Builder}.
     *
     * @throws PolicyException if the policy is refused
     */
    public static Limiter of(String policy) {
        return builder(policy).build();
    }

    /** A limiter of this policy with the default options. */
    public static Limiter of(Policy policy) {
        return of(policy.toString());
    }

    /** Makes limiters of this policy. */
    public static Builder builder(String policy) {
        return new Builder(Objects.requireNonNull(policy, "policy is null: expected a text, or Limiter.following()"));
    }

    /** Makes limiters of this policy. */
    public static Builder builder(Policy policy) {
        return builder(policy.toString());
    }

    /** Makes limiters that limit by the policy in their file, {@link Builder#path}. */
    public static Builder following() {
        return new Builder(null);
    }

    /** The address of an open limiter: whoever passes it to the library keeps the limiter reachable, and open. */
    Handle open() {
        Handle open = handle;
        if (open == null) {
            throw new IllegalStateException("the limiter is closed: expected an open one");
        }
        return open;
    }

    /** Decides one unit of the key: the clock is the limiter's, CLOCK_MONOTONIC. */
    public Decision check(String key) {
        return decide(Arguments.key(key), 1, 0, 0);
    }

    /** Decides so many units of the key, all of them or none: 0 to 4,294,967,295; 0 is a peek. */
    public Decision check(String key, long cost) {
        return decide(Arguments.key(key), Arguments.cost(cost), 0, 0);
    }

    /** Decides one unit of the key of these bytes. */
    public Decision check(byte[] key) {
        return decide(Objects.requireNonNull(key, "key is null: expected bytes"), 1, 0, 0);
    }

    /** Decides at this time, in unsigned nanoseconds since {@link #epoch()}: for tests and replay. */
    public Decision checkAt(String key, long cost, long nanos) {
        return decide(Arguments.key(key), Arguments.cost(cost), nanos, Request.AT);
    }

    /** What a check of the key would see, without charging it. */
    public Decision peek(String key) {
        return decide(Arguments.key(key), 0, 0, 0);
    }

    private Decision decide(byte[] key, int cost, long atNanos, int flags) {
        Handle open = open();
        try {
            return Exchange.decide(open.address(), key, cost, atNanos, 0, flags);
        } finally {
            Reference.reachabilityFence(open);
        }
    }

    /**
     * Decides a request.
     *
     * @throws IllegalArgumentException if it names a zone that is not one of this limiter's calendar
     */
    public Decision decide(Request request) {
        Handle open = open();
        try {
            return request.decide(open.address());
        } finally {
            Reference.reachabilityFence(open);
        }
    }

    /** Decides requests in their order, at one instant where they name none. */
    public List<Decision> decideMany(List<Request> requests) {
        List<Decision> decisions = new ArrayList<>(requests.size());
        Reply reply = call(Operation.DECIDE_MANY, message -> message.several(requests, (to, request) -> request.write(to)));
        for (int i = 0; i < requests.size(); i++) {
            decisions.add(reply.decision());
        }
        Reference.reachabilityFence(requests);
        return decisions;
    }

    /**
     * Decides requests to several limiters as one: all are charged, or none is.
     *
     * @throws IllegalArgumentException for more than 64 layers in all
     */
    public static Joint decideAll(List<Claim> claims) {
        Message message = new Message();
        List<Handle> handles = new ArrayList<>(claims.size());
        message.several(claims, (to, claim) -> {
            Handle open = claim.limiter().open();
            handles.add(open);
            claim.request().write(to.u64(open.address()));
        });
        try {
            Reply reply = message.call(Operation.DECIDE_ALL);
            Outcome outcome = Outcome.of(reply.u32());
            List<Decision> decisions = new ArrayList<>(claims.size());
            for (int i = 0; i < claims.size(); i++) {
                decisions.add(reply.decision());
            }
            return new Joint(outcome, List.copyOf(decisions));
        } finally {
            Reference.reachabilityFence(handles);
            Reference.reachabilityFence(claims);
        }
    }

    /** Makes the key as if never seen; returns whether there was anything to forget. */
    public boolean forget(String key) {
        byte[] bytes = Arguments.key(key);
        boolean held = call(Operation.LIMITER_FORGET, message -> message.bytes(bytes)).flag();
        line.changed(bytes);
        return held;
    }

    /**
     * Limits by another policy from now on, in every process that shares the table, while others decide. What each key has
     * used stays used, in units. Rate, burst, capacity and limit may change; algorithms and lengths of windows may not.
     *
     * @throws PolicyException if the policy is refused, or cannot follow the one in force; then nothing changes
     */
    public void change(String policy) {
        change(policy, null);
    }

    void change(String policy, Long atNanos) {
        call(Operation.LIMITER_CHANGE, message -> message.text(policy).maybe(atNanos, Message::u64));
        line.changed(null);
    }

    /**
     * Charges the cost of a request that is known only afterwards, or takes its permit under a policy {@code in_flight}. Use it
     * in a try block: leaving it settles and releases.
     */
    public Reservation reserve(Request request) {
        Reply reply = call(Operation.RESERVE, request::write);
        Decision decision = reply.decision();
        Reference.reachabilityFence(request);
        return new Reservation(this, request.key(), decision, reply.maybe(Reply::bytes), null);
    }

    /** Reserves so many units of the key. */
    public Reservation reserve(String key, long cost) {
        return reserve(Request.of(key).cost(cost));
    }

    /**
     * Waits until the key has a unit, and takes it. Those who wait for one key go in the order in which they came. A virtual
     * thread that waits holds no carrier.
     *
     * @throws InterruptedException if the thread is interrupted; nothing is charged then
     * @throws IllegalStateException if too many wait already
     */
    public Decision acquire(String key) throws InterruptedException {
        return acquire(key, 1);
    }

    /**
     * Waits until the key has so many units, and takes them.
     *
     * @throws IllegalArgumentException if the cost is above the capacity
     */
    public Decision acquire(String key, long cost) throws InterruptedException {
        return Line.insist(cost, line.acquire(Arguments.key(key), Arguments.cost(cost), null));
    }

    /** As {@link #acquire(String, long)} for so long at the most: a wait that cannot end in time is denied at once. */
    public Decision acquire(String key, long cost, Duration timeout) throws InterruptedException {
        return line.acquire(Arguments.key(key), Arguments.cost(cost), Arguments.nanos("timeout", timeout)).decision();
    }

    /**
     * As {@link #acquire(String, long, Duration)}, without a thread that waits. A future that is cancelled leaves the line.
     */
    public CompletableFuture<Decision> acquireAsync(String key, long cost, Duration timeout) {
        return line.acquireAsync(Arguments.key(key), Arguments.cost(cost), Arguments.nanos("timeout", timeout));
    }

    /** What the limiter holds, and what has happened to it. Above 163,840 keys the number of live ones is estimated. */
    public Stats stats() {
        return stats(null, false);
    }

    /** The same with all live keys counted: tens of milliseconds for ten million. */
    public Stats statsExact() {
        return stats(null, true);
    }

    Stats stats(Long atNanos, boolean exact) {
        return Stats.read(call(Operation.LIMITER_STATS, message -> message.maybe(atNanos, Message::u64).flag(exact)));
    }

    /**
     * The time zone of this name, for requests to this limiter, whose policy has {@code tz=caller}.
     *
     * @throws PolicyException where there is no such zone, and where the policy names its zone itself
     */
    public Zone zone(String name) {
        Reply reply = call(Operation.ZONE_MAKE, message -> message.text(name));
        return new Zone(new Handle(reply.u64(), Operation.ZONE_FREE), reply.text());
    }

    /** Another limiter of the same keys with another policy, for example that of a better plan; each keeps its own burst. */
    public Limiter withPolicy(String policy) {
        Reply reply = call(Operation.LIMITER_MAKE_BESIDE, message -> message.text(policy));
        return new Limiter(new Handle(reply.u64(), Operation.LIMITER_FREE));
    }

    /** The policy, as text that makes the same one. */
    public String policy() {
        return about().text();
    }

    /** The most units that can pass at one instant: the least capacity of the layers. */
    public long capacity() {
        Reply about = about();
        about.text();
        return Decision.saturated(about.u64());
    }

    /** Nanoseconds since {@link #epoch()}, by the limiter's clock; unsigned. */
    public long nowNanos() {
        return call(Operation.LIMITER_NOW, message -> {}).u64();
    }

    /** The zero of the limiter's clock: the Monday 00:00 UTC before it was made, unless it was given. */
    public Instant epoch() {
        Reply about = about();
        about.text();
        about.u64();
        about.u64();
        about.u64();
        about.flag();
        about.flag();
        about.text();
        return about.instant();
    }

    /** Whether each request names a zone: the policy has {@code tz=caller}. */
    public boolean asksForZone() {
        Reply about = about();
        about.text();
        about.u64();
        about.u64();
        about.u64();
        about.flag();
        return about.flag();
    }

    long[] numbers() {
        Reply about = about();
        about.text();
        return new long[] {about.u64(), about.u64()};
    }

    private Reply about() {
        return call(Operation.LIMITER_ABOUT, message -> {});
    }

    /** Runs an operation on a message that begins with this limiter. */
    Reply call(Operation operation, Consumer<Message> write) {
        Handle open = open();
        try {
            Message message = new Message().u64(open.address());
            write.accept(message);
            return message.call(operation);
        } finally {
            Reference.reachabilityFence(open);
        }
    }

    /** Refuses every later call, and lets the memory go. Whoever waits ends with an IllegalStateException. */
    @Override
    public void close() {
        handle = null;
        line.wakeAll();
    }

    @Override
    public String toString() {
        return handle == null ? "Limiter[closed]" : "Limiter[" + policy() + "]";
    }

    /** The options of a limiter. Not for several threads at once. */
    public static final class Builder {
        private final String policy;
        private Long maxKeys;
        private WhenFull whenFull;
        private Path path;
        private Long waitNanos;
        private boolean failOpen;
        private Long epochSeconds;
        private boolean names;

        private Builder(String policy) {
            this.policy = policy;
        }

        /** Room for so many keys, from 1 on: about 26 bytes each, taken when the limiter is made. The default is 100,000. */
        public Builder maxKeys(long keys) {
            if (keys < 1) {
                throw new IllegalArgumentException("maxKeys is " + keys + ": expected 1 or more");
            }
            maxKeys = keys;
            return this;
        }

        /** What happens to a new key when the table is full; the default is {@link WhenFull#EVICT}. */
        public Builder whenFull(WhenFull answer) {
            whenFull = Objects.requireNonNull(answer, "whenFull is null: expected one of WhenFull");
            return this;
        }

        /**
         * In this file, which is made if it is absent or empty: all processes that open it, in any language, limit together.
         */
        public Builder path(Path file) {
            path = Objects.requireNonNull(file, "path is null: expected a file");
            return this;
        }

        /**
         * In a file of leases of many machines, how long a request waits for the store where no lease answers; zero denies at
         * once. A virtual thread holds its carrier meanwhile.
         */
        public Builder onMissWait(Duration wait) {
            waitNanos = Arguments.nanos("wait", wait);
            return this;
        }

        /** In a file of leases of many machines, what the store does not answer is allowed; the default denies it. */
        public Builder onFailureOpen() {
            failOpen = true;
            return this;
        }

        /** The zero of the limiter's clock, in whole seconds: for tests and replay. */
        public Builder epoch(Instant epoch) {
            epochSeconds = epoch.getEpochSecond();
            return this;
        }

        /** Keeps the names of denied keys for those who look into the file, as {@code ratecell top} does. */
        public Builder names() {
            names = true;
            return this;
        }

        /**
         * Makes the limiter.
         *
         * @throws PolicyException if the policy is refused
         * @throws IllegalArgumentException if other options are refused, or the file has another policy
         * @throws java.io.UncheckedIOException if the file cannot be used
         * @throws OutOfMemoryError if there is too little for {@code maxKeys}
         */
        public Limiter build() {
            if (policy == null && path == null) {
                throw new IllegalStateException("path is missing: expected that of a file that has a policy");
            }
            Message message = new Message()
                    .maybe(policy, Message::text)
                    .maybe(maxKeys, Message::u64)
                    .maybe(whenFull, (to, full) -> to.u8(full.ordinal()))
                    .maybe(waitNanos, Message::u64)
                    .flag(failOpen)
                    .maybe(epochSeconds, Message::u64)
                    .flag(names)
                    .maybe(path, (to, file) -> to.text(file.toString()));
            return new Limiter(new Handle(message.call(Operation.LIMITER_MAKE).u64(), Operation.LIMITER_FREE));
        }
    }
}
