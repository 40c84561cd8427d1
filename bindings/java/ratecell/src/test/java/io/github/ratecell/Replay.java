package io.github.ratecell;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** What was stated so far, and whether it held. */
final class Replay {
    private static final int SHOWN = 10;

    private final String name;
    private long passed;
    private long failed;
    private final List<String> failures = new ArrayList<>();

    Replay(String name) {
        this.name = name;
    }

    void judge(Object got, Object expected, JsonNode line) {
        if (got.equals(expected)) {
            passed++;
            return;
        }
        failed++;
        if (failures.size() < SHOWN) {
            failures.add(name + ": expected " + line + ", got " + got);
        }
    }

    /** Prints the counts, which ci/java.sh reads. */
    void end() {
        failures.forEach(System.out::println);
        System.out.println(name + ": " + passed + " passed, " + failed + " failed");
        assertTrue(failed == 0 && passed > 0, () -> name + ": " + failures);
    }

    /** What a caller can tell of a decision, as numbers. */
    static List<Object> figures(Decision decision) {
        return List.of(
                decision.outcome(),
                decision.rawRemaining(),
                decision.rawRetryNanos(),
                decision.rawResetNanos(),
                decision.rawDelayNanos(),
                decision.givenBack());
    }

    /** The same as a row states it, from the code on. */
    static List<Object> stated(JsonNode row, int code, int end, long back) {
        return List.of(
                Vectors.outcome(row.get(code)),
                Vectors.u64(row.get(code + 1)),
                Vectors.retry(row.get(code + 2)),
                Vectors.u64(row.get(code + 3)),
                code + 4 < end ? Vectors.u64(row.get(code + 4)) : 0L,
                back);
    }
}
