package io.github.ratecell;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Threads and processes that share a limiter. */
class TogetherTest {
    /** Virtual threads where this Java has them, otherwise platform ones. */
    private static ExecutorService threads() {
        try {
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (ReflectiveOperationException older) {
            return Executors.newCachedThreadPool();
        }
    }

    private static <T> List<T> all(int count, Callable<T> task) throws Exception {
        ExecutorService threads = threads();
        try {
            List<Future<T>> futures = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                futures.add(threads.submit(task));
            }
            List<T> results = new ArrayList<>();
            for (Future<T> future : futures) {
                results.add(future.get());
            }
            return results;
        } finally {
            threads.shutdown();
        }
    }

    @Test
    void threadsAdmitExactlyTheLimit() throws Exception {
        try (Limiter limiter = Limiter.of("fixed_window 10000/1d start=first")) {
            AtomicLong admitted = new AtomicLong();
            all(100, () -> {
                for (int i = 0; i < 300; i++) {
                    if (limiter.check("key").isAllowed()) {
                        admitted.incrementAndGet();
                    }
                }
                return null;
            });
            assertEquals(10_000, admitted.get());
        }
    }

    /** What a process of the test below does. */
    public static void main(String[] arguments) {
        try (Limiter limiter = Limiter.builder("fixed_window 20000/1d start=first").path(Path.of(arguments[0])).build()) {
            int admitted = 0;
            for (int i = 0; i < 15_000; i++) {
                admitted += limiter.check("key").isAllowed() ? 1 : 0;
            }
            System.out.println(admitted);
        }
    }

    @Test
    void processesAdmitExactlyTheLimit(@TempDir Path folder) throws Exception {
        List<Process> processes = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            List<String> command = new ArrayList<>(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-Xshare:auto",
                    "-XX:TieredStopAtLevel=1",
                    "-cp",
                    System.getProperty("java.class.path")));
            command.addAll(List.of(TogetherTest.class.getName(), folder.resolve("limits").toString()));
            processes.add(new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
        }
        int admitted = 0;
        for (Process process : processes) {
            admitted += Integer.parseInt(new String(process.getInputStream().readAllBytes()).trim());
            assertEquals(0, process.waitFor());
        }
        assertEquals(20_000, admitted);
        System.out.println("3 processes admitted " + admitted + " of 20000");
    }

    @Test
    void closingDuringCallsIsSafe() throws Exception {
        for (int round = 0; round < 20; round++) {
            Limiter limiter = Limiter.builder("1000000/s").maxKeys(1000).build();
            CountDownLatch started = new CountDownLatch(4);
            ExecutorService threads = threads();
            List<Future<?>> calls = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                calls.add(threads.submit(() -> {
                    limiter.check("key");
                    started.countDown();
                    assertThrows(IllegalStateException.class, () -> {
                        while (true) {
                            limiter.check("key");
                            limiter.decideMany(List.of(Request.of("a")));
                            limiter.reserve("b", 1).settle(0);
                        }
                    });
                }));
            }
            started.await();
            limiter.close();
            System.gc();
            for (Future<?> call : calls) {
                call.get(30, TimeUnit.SECONDS);
            }
            threads.shutdown();
            assertThrows(IllegalStateException.class, () -> limiter.peek("key"));
        }
    }

    @Test
    void waitersGoWhenTheirUnitsAreThere() throws Exception {
        try (Limiter limiter = Limiter.of("1000/s burst=1")) {
            long from = limiter.nowNanos();
            List<Decision> decisions = all(50, () -> limiter.acquire("key"));
            assertTrue(decisions.stream().allMatch(Decision::isAllowed));
            assertTrue(limiter.nowNanos() - from >= 49_000_000);
            assertThrows(IllegalArgumentException.class, () -> limiter.acquire("key", 2));
        }
        try (Limiter slow = Limiter.of("1/h")) {
            assertTrue(slow.acquire("key").isAllowed());
            assertFalse(slow.acquire("key", 1, Duration.ofSeconds(1)).isAllowed());
            assertFalse(slow.acquireAsync("key", 1, Duration.ofSeconds(1)).get().isAllowed());
        }
    }

    @Test
    void waitersAreWoken() throws Exception {
        try (Limiter jobs = Limiter.of("in_flight 1 hold=1h")) {
            Reservation first = jobs.reserve("key", 1);
            CompletableFuture<Decision> cancelled = jobs.acquireAsync("key", 1, Duration.ofHours(2));
            CompletableFuture<Decision> waiting = jobs.acquireAsync("key", 1, Duration.ofHours(2));
            assertTrue(cancelled.cancel(false));
            assertFalse(waiting.isDone());
            first.release();
            assertTrue(waiting.get(30, TimeUnit.SECONDS).isAllowed());
        }
        Limiter closing = Limiter.of("1/h");
        closing.check("key");
        CompletableFuture<Decision> waiting = closing.acquireAsync("key", 1, Duration.ofHours(2));
        closing.close();
        ExecutionException ended =
                assertThrows(ExecutionException.class, () -> waiting.get(30, TimeUnit.SECONDS));
        assertTrue(ended.getCause() instanceof IllegalStateException);
    }

    @Test
    void whatFollowsAWaitMayWait() throws Exception {
        try (Limiter limiter = Limiter.of("100/s burst=1")) {
            limiter.check("key");
            CompletableFuture<Decision> both = limiter.acquireAsync("key", 1, Duration.ofSeconds(9))
                    .thenApply(first -> limiter.acquireAsync("key", 1, Duration.ofSeconds(9)).join());
            assertTrue(both.get(30, TimeUnit.SECONDS).isAllowed());
        }
    }

    @Test
    void anInterruptedWaiterTookNothing() throws Exception {
        try (Limiter limiter = Limiter.of("1/h")) {
            limiter.check("key");
            CompletableFuture<Throwable> thrown = new CompletableFuture<>();
            Thread waiter = new Thread(() -> {
                try {
                    limiter.acquire("key");
                    thrown.complete(null);
                } catch (Throwable interrupted) {
                    thrown.complete(interrupted);
                }
            });
            waiter.start();
            waiter.interrupt();
            assertTrue(thrown.get(30, TimeUnit.SECONDS) instanceof InterruptedException);
            assertTrue(limiter.forget("key"));
            assertEquals(1, limiter.peek("key").remaining());
        }
    }
}
