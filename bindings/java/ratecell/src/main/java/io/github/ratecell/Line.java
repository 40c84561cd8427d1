package io.github.ratecell;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Those who wait for a limiter. The library says who asks when; here is the sleeping, and nothing is decided.
 *
 * <p>The lock is held while the library has the line, so that whom it wakes is always known here. Wakers run without it.
 */
final class Line {
    /** A turn is taken anyway after so long. */
    private static final long LONGEST_SLEEP = TimeUnit.HOURS.toNanos(1);

    private static final long FOREVER = Long.MAX_VALUE / 2;

    private final Limiter limiter;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<Long, Runnable> wakers = new HashMap<>();

    Line(Limiter limiter) {
        this.limiter = limiter;
    }

    /** How a wait ended: the outcome as the published traces name it, and the decision for the caller. */
    record End(String outcome, Decision decision) {}

    /** One who waits. */
    private final class Place {
        final byte[] key;
        final long id;
        private long now;
        private boolean first = true;

        Place(byte[] key, int cost, Long timeoutNanos, Runnable waker) {
            this.key = key;
            // The first turn is at the instant of the arrival: a timeout of 0 leaves no other.
            now = limiter.nowNanos();
            Long deadline = timeoutNanos == null ? null : (Long) (now + Math.min(timeoutNanos, FOREVER));
            Runnable[] woken;
            lock.lock();
            try {
                Reply reply = limiter.call(
                        Operation.WAIT_ARRIVE, to -> to.bytes(key).u32(cost).u64(now).maybe(deadline, Message::u64));
                woken = woken(reply);
                id = reply.u64();
                wakers.put(id, waker);
            } finally {
                lock.unlock();
            }
            run(woken);
        }

        /** Takes a turn: its end, or null, and then {@code sleep} has the nanoseconds to sleep unless it is woken. */
        End turn(long[] sleep) {
            if (!first) {
                now = limiter.nowNanos();
            }
            first = false;
            Runnable[] woken;
            End end = null;
            lock.lock();
            try {
                Reply reply = limiter.call(Operation.WAIT_TURN, to -> to.bytes(key).u64(id).u64(now));
                woken = woken(reply);
                if (reply.flag()) {
                    end = new End(reply.text(), reply.decision());
                    wakers.remove(id);
                } else {
                    Long until = reply.maybe(Reply::u64);
                    sleep[0] = until == null ? LONGEST_SLEEP : Math.min(LONGEST_SLEEP, Math.max(0, until - now));
                }
            } finally {
                lock.unlock();
            }
            run(woken);
            return end;
        }

        /** Gives up; of a limiter that is closed there is no line any more. */
        void leave() {
            Runnable[] woken = {};
            lock.lock();
            try {
                if (wakers.remove(id) != null) {
                    woken = woken(limiter.call(Operation.WAIT_LEAVE, to -> to.u64(id).u64(limiter.nowNanos())));
                }
            } catch (IllegalStateException closed) {
                return;
            } finally {
                lock.unlock();
            }
            run(woken);
        }
    }

    private Runnable[] woken(Reply reply) {
        int count = reply.u32();
        Runnable[] woken = new Runnable[count];
        for (int i = 0; i < count; i++) {
            woken[i] = wakers.getOrDefault(reply.u64(), () -> {});
        }
        return woken;
    }

    private static void run(Runnable[] woken) {
        for (Runnable waker : woken) {
            waker.run();
        }
    }

    /** Units of the key came back, or, of null, the policy has changed. */
    void changed(byte[] key) {
        Runnable[] woken;
        lock.lock();
        try {
            if (wakers.isEmpty()) {
                return;
            }
            woken = woken(limiter.call(Operation.WAIT_CHANGED, to -> to.maybe(key, Message::bytes)));
        } finally {
            lock.unlock();
        }
        run(woken);
    }

    /** The limiter is closed. */
    void wakeAll() {
        Runnable[] woken;
        lock.lock();
        try {
            woken = wakers.values().toArray(new Runnable[0]);
        } finally {
            lock.unlock();
        }
        run(woken);
    }

    /** Waits in this thread; without a timeout, as long as it takes. */
    End acquire(byte[] key, int cost, Long timeoutNanos) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Thread thread = Thread.currentThread();
        Place place = new Place(key, cost, timeoutNanos, () -> LockSupport.unpark(thread));
        long[] sleep = new long[1];
        try {
            for (End end = place.turn(sleep); ; end = place.turn(sleep)) {
                if (end != null) {
                    return end;
                }
                // A turn too early does no harm.
                LockSupport.parkNanos(this, sleep[0]);
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
            }
        } catch (Throwable failed) {
            place.leave();
            throw failed;
        }
    }

    /** The decision of a wait without a timeout, of which what is not allowed is an error. */
    static Decision insist(long cost, End end) {
        Decision decision = end.decision();
        if (end.outcome().equals("go")) {
            return decision;
        }
        throw switch (end.outcome()) {
            case "never" -> new IllegalArgumentException(
                    "cost is " + cost + ": expected at most the capacity, " + decision.limit() + "; more is never allowed");
            case "clock_range" -> new IllegalStateException(
                    "the clock is past what the policy can tell: expected a policy with a longer horizon");
            default -> new IllegalStateException("too many wait for the limiter already (" + end.outcome() + ")");
        };
    }

    /** Waits without a thread. */
    CompletableFuture<Decision> acquireAsync(byte[] key, int cost, long timeoutNanos) {
        return new Waiting(key, cost, timeoutNanos).future;
    }

    /** A wait that has no thread: the timer's takes its turns. */
    private final class Waiting {
        final CompletableFuture<Decision> future = new CompletableFuture<>();
        private final Place place;
        private ScheduledFuture<?> timer;
        private boolean ended;

        Waiting(byte[] key, int cost, long timeoutNanos) {
            place = new Place(key, cost, timeoutNanos, () -> Timer.EXECUTOR.execute(() -> turn()));
            future.whenComplete((decision, failed) -> {
                if (failed != null) {
                    place.leave();
                }
            });
            turn(Runnable::run);
        }

        private void turn() {
            // What follows the future is the caller's, and may block: the timer's thread is for all who wait.
            turn(future.defaultExecutor());
        }

        private synchronized void turn(Executor ends) {
            if (timer != null) {
                timer.cancel(false);
                timer = null;
            }
            if (ended || future.isDone()) {
                return;
            }
            long[] sleep = new long[1];
            End end;
            try {
                end = place.turn(sleep);
            } catch (RuntimeException | Error failed) {
                ended = true;
                ends.execute(() -> future.completeExceptionally(failed));
                return;
            }
            if (end == null) {
                timer = Timer.EXECUTOR.schedule(() -> turn(), sleep[0], TimeUnit.NANOSECONDS);
            } else {
                ended = true;
                // Of one that is cancelled meanwhile the units stay charged, as those of a request that was dropped.
                ends.execute(() -> future.complete(end.decision()));
            }
        }
    }

    /** The thread of those who have none, made for the first of them. */
    private static final class Timer {
        static final ScheduledThreadPoolExecutor EXECUTOR = new ScheduledThreadPoolExecutor(1, run -> {
            Thread thread = new Thread(run, "ratecell-timer");
            thread.setDaemon(true);
            return thread;
        });

        static {
            EXECUTOR.setRemoveOnCancelPolicy(true);
        }

        private Timer() {}
    }
}
