package io.github.ratecell;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/**
 * Replays the published reservations, permits and changes.
 *
 * <p>What comes back is counted for neighbouring keys together, and the vectors have it for each apart: so each key has a
 * limiter, and a change is made to all of them.
 */
class HeldVectorsTest {
    private record Change(String policy, long now) {}

    private record Held(Limiter limiter, byte[] data) {}

    private final Map<String, Limiter> limiters = new HashMap<>();
    private final Map<Long, Held> reservations = new HashMap<>();
    private final List<Change> changes = new ArrayList<>();
    private Limiter changed;
    private String policy;
    private Instant epoch;

    @Test
    void reserve() throws IOException {
        replay("reserve");
    }

    @Test
    void concurrency() throws IOException {
        replay("concurrency");
    }

    @Test
    void change() throws IOException {
        replay("change");
    }

    @Test
    void changeRefused() throws IOException {
        replay("change_refused");
    }

    private void replay(String name) throws IOException {
        Replay replay = new Replay(name + ".jsonl");
        List<JsonNode> lines = Vectors.lines(Vectors.FOLDER.resolve("held/" + name + ".jsonl"));
        for (JsonNode line : lines.subList(1, lines.size())) {
            if (line.isObject()) {
                limiters.clear();
                reservations.clear();
                changes.clear();
                policy = Vectors.text(line.get("policy"));
                epoch = Vectors.epoch(line);
                changed = make();
            } else if (line.get(0).asText().equals("change")) {
                judgeChange(replay, line);
            } else {
                judge(replay, line);
            }
        }
        replay.end();
    }

    private Limiter make() {
        Limiter.Builder builder = Limiter.builder(policy).maxKeys(1);
        return epoch == null ? builder.build() : builder.epoch(epoch).build();
    }

    private Limiter of(String key) {
        return limiters.computeIfAbsent(key, each -> {
            Limiter limiter = make();
            changes.forEach(change -> limiter.change(change.policy, change.now));
            return limiter;
        });
    }

    private void judgeChange(Replay replay, JsonNode line) {
        JsonNode to = line.get(2);
        if (to.get("algorithm").asText().equals("multi") && to.path("layers").size() < 2) {
            return; // no text says one layer of several, or none
        }
        Change change = new Change(Vectors.text(to), Vectors.u64(line.get(1)));
        String code = refused(changed, change);
        limiters.values().forEach(limiter -> assertEquals(code, refused(limiter, change)));
        JsonNode stated = line.get(3);
        if (code != null) {
            replay.judge(code, stated.path("error").asText(), line);
            return;
        }
        changes.add(change);
        JsonNode resolved = stated.get("resolved");
        List<Long> expected = List.of(Vectors.u64(resolved.get("capacity")), Vectors.u64(resolved.get("max_now_ns")));
        replay.judge(List.of(changed.numbers()[0], changed.numbers()[1]), expected, line);
    }

    private static String refused(Limiter limiter, Change change) {
        try {
            limiter.change(change.policy, change.now);
            return null;
        } catch (PolicyException refused) {
            return refused.code();
        }
    }

    private void judge(Replay replay, JsonNode row) {
        if (!row.get(0).isTextual()) {
            Decision decision = of(row.get(1).asText()).checkAt(row.get(1).asText(), row.get(2).asLong(), Vectors.u64(row.get(0)));
            replay.judge(Replay.figures(decision), Replay.stated(row, 3, row.size(), 0), row);
            return;
        }
        String call = row.get(0).asText();
        switch (call) {
            case "forget" -> {
                of(row.get(2).asText()).forget(row.get(2).asText());
                replay.judge(call, "forget", row);
            }
            case "charge" -> {
                Request request = Request.of(row.get(2).asText()).cost(row.get(3).asLong()).at(Vectors.u64(row.get(1)));
                Decision decision = of(row.get(2).asText()).decide(request.charge());
                replay.judge(Replay.figures(decision), Replay.stated(row, 4, row.size(), 0), row);
            }
            case "reserve", "acquire" -> {
                String key = row.get(3).asText();
                Request request = Request.of(key).cost(row.get(4).asLong()).at(Vectors.u64(row.get(2)));
                Reservation reservation = of(key).reserve(request);
                if (reservation.isAllowed()) {
                    assertEquals(row.get(4).asLong(), reservation.cost());
                    reservations.put(row.get(1).asLong(), new Held(of(key), reservation.toBytes()));
                }
                replay.judge(Replay.figures(reservation.decision()), Replay.stated(row, 5, row.size(), 0), row);
            }
            default -> judgeHeld(replay, row, call);
        }
    }

    private void judgeHeld(Replay replay, JsonNode row, String call) {
        long number = row.get(1).asLong();
        Held held = Objects.requireNonNull(reservations.get(number));
        Reservation reservation = Reservation.fromBytes(held.limiter, held.data, Vectors.u64(row.get(2)));
        switch (call) {
            case "settle" -> replay.judge(
                    Replay.figures(reservation.settle(row.get(3).asLong())),
                    Replay.stated(row, 4, row.size(), 0),
                    row);
            case "release" -> {
                int last = row.size() - 1;
                replay.judge(
                        Replay.figures(reservation.release()),
                        Replay.stated(row, 3, last, row.get(last).asLong()),
                        row);
            }
            case "renew" -> {
                Decision renewed = reservation.renew();
                reservations.put(number, new Held(held.limiter, reservation.toBytes()));
                replay.judge(Replay.figures(renewed), Replay.stated(row, 3, row.size(), 0), row);
            }
            default -> throw new AssertionError("the call is " + call);
        }
    }
}
