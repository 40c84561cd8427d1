package io.github.ratecell.bench;

import io.github.bucket4j.Bandwidth;
import io.github.bucket4j.Bucket;
import io.github.ratecell.Limiter;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Predicate;

/**
 * A check of ratecell beside Bucket4j's local bucket and Resilience4j's limiter, each of which stands in a map by its key, as
 * their users keep them. All are in one process and interleaved: in each round each case runs once, and the medians are of the
 * rounds behind the first third. Every check is allowed.
 *
 * <p>Arguments: the number of rounds, 30, and of checks in each, 300,000.
 */
public final class Bench {
    private static final long LIMIT = 1_000_000_000L;

    private Bench() {}

    private static Map<String, Predicate<String>> cases(Limiter limiter) {
        Map<String, Bucket> buckets = new ConcurrentHashMap<>();
        Map<String, RateLimiter> limiters = new ConcurrentHashMap<>();
        Bandwidth bandwidth =
                Bandwidth.builder().capacity(LIMIT).refillGreedy(LIMIT, Duration.ofSeconds(1)).build();
        RateLimiterConfig config = RateLimiterConfig.custom()
                .limitForPeriod(Integer.MAX_VALUE / 2)
                .limitRefreshPeriod(Duration.ofSeconds(1))
                .timeoutDuration(Duration.ZERO)
                .build();
        Map<String, Predicate<String>> cases = new LinkedHashMap<>();
        cases.put("ratecell", key -> limiter.check(key).isAllowed());
        cases.put("Bucket4j", key -> buckets
                .computeIfAbsent(key, each -> Bucket.builder().addLimit(bandwidth).withNanosecondPrecision().build())
                .tryConsumeAndReturnRemaining(1)
                .isConsumed());
        cases.put("Resilience4j", key ->
                limiters.computeIfAbsent(key, each -> RateLimiter.of(each, config)).acquirePermission());
        return cases;
    }

    private static double nanos(Predicate<String> check, String[] keys, int checks, int threads) throws Exception {
        CountDownLatch ready = new CountDownLatch(threads);
        CountDownLatch start = new CountDownLatch(1);
        Thread[] running = new Thread[threads];
        for (int thread = 0; thread < threads; thread++) {
            int from = thread * 7919;
            running[thread] = new Thread(() -> {
                ready.countDown();
                try {
                    start.await();
                } catch (InterruptedException interrupted) {
                    throw new IllegalStateException(interrupted);
                }
                int allowed = 0;
                for (int i = 0; i < checks; i++) {
                    allowed += check.test(keys[(int) ((from + i * 0x9E3779B1L & 0xffffffffL) % keys.length)]) ? 1 : 0;
                }
                if (allowed != checks) {
                    throw new IllegalStateException(allowed + " of " + checks + " were allowed");
                }
            });
            running[thread].start();
        }
        ready.await();
        long began = System.nanoTime();
        start.countDown();
        for (Thread thread : running) {
            thread.join();
        }
        return (double) (System.nanoTime() - began) / checks;
    }

    /** Prints the rows of the table. */
    public static void main(String[] arguments) throws Exception {
        int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 30;
        int checks = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 300_000;
        System.out.println("| keys | threads | ratecell | Bucket4j | Resilience4j | of Bucket4j | of Resilience4j |");
        System.out.println("| --- | --- | --- | --- | --- | --- | --- |");
        for (int count : new int[] {1, 100_000}) {
            String[] keys = new String[count];
            for (int i = 0; i < count; i++) {
                keys[i] = "user:" + (1_000_000 + i);
            }
            for (int threads : new int[] {1, 2}) {
                row(keys, threads, rounds, checks);
            }
        }
    }

    private static void row(String[] keys, int threads, int rounds, int checks) throws Exception {
        try (Limiter limiter = Limiter.builder(LIMIT + "/s").maxKeys(2L * keys.length + 100).build()) {
            Map<String, Predicate<String>> cases = cases(limiter);
            double[][] times = new double[cases.size()][rounds];
            for (int round = 0; round < rounds; round++) {
                int at = 0;
                for (Predicate<String> check : cases.values()) {
                    times[at++][round] = nanos(check, keys, checks, threads);
                }
            }
            double[] medians = new double[times.length];
            for (int i = 0; i < times.length; i++) {
                double[] kept = Arrays.copyOfRange(times[i], rounds / 3, rounds);
                Arrays.sort(kept);
                medians[i] = kept[kept.length / 2];
            }
            System.out.printf(
                    "| %,d | %d | %.0f ns | %.0f ns | %.0f ns | %.2f | %.2f |%n",
                    keys.length, threads, medians[0], medians[1], medians[2], medians[0] / medians[1], medians[0] / medians[2]);
        }
    }
}
