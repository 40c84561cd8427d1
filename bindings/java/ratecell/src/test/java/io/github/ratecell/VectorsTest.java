package io.github.ratecell;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Replays the published decisions, policies and texts. */
class VectorsTest {
    /** More keys than any section has. */
    private static final long MAX_KEYS = 4096;

    private long zoned;

    @Test
    void decisions() throws IOException {
        Replay replay = new Replay("decisions");
        for (Path file : files()) {
            List<JsonNode> lines = Vectors.lines(file);
            String kind = lines.get(0).get("kind").asText();
            if (!kind.equals("grammar")) {
                replay(replay, lines.subList(1, lines.size()));
            }
        }
        System.out.println("decisions: " + zoned + " of them name their zone");
        replay.end();
    }

    private static List<Path> files() throws IOException {
        List<Path> files = new ArrayList<>();
        for (Path folder : List.of(Vectors.FOLDER, Vectors.FOLDER.resolve("callers"))) {
            try (Stream<Path> all = Files.list(folder)) {
                files.addAll(all.filter(path -> path.toString().endsWith(".jsonl")).sorted().collect(Collectors.toList()));
            }
        }
        files.add(Vectors.FOLDER.resolve("held/concurrency_construct.jsonl"));
        return files;
    }

    private void replay(Replay replay, List<JsonNode> lines) {
        Limiter limiter = null;
        Map<String, Zone> zones = new HashMap<>();
        for (JsonNode line : lines) {
            if (line.isArray()) {
                int from = line.get(0).isTextual() ? 2 : 0;
                long now = Vectors.u64(line.get(from));
                String key = line.get(from + 1).asText();
                long cost = line.get(from + 2).asLong();
                Decision decision;
                if (from == 0) {
                    decision = limiter.checkAt(key, cost, now);
                } else {
                    zoned++;
                    Zone zone = zones.computeIfAbsent(line.get(1).asText(), limiter::zone);
                    decision = limiter.decide(Request.of(key).cost(cost).at(now).zone(zone));
                }
                replay.judge(Replay.figures(decision), Replay.stated(line, from + 3, line.size(), 0), line);
            } else if (line.has("section")) {
                end(limiter);
                limiter = make(line);
                zones.clear();
                if (line.has("resolved")) {
                    assertEquals(resolved(line), List.of(limiter.numbers()[0], limiter.numbers()[1]));
                }
            } else {
                construct(replay, line);
            }
        }
        end(limiter);
    }

    private static Limiter make(JsonNode line) {
        Limiter.Builder builder = Limiter.builder(Vectors.text(line.get("policy"))).maxKeys(MAX_KEYS);
        if (Vectors.epoch(line) != null) {
            builder.epoch(Vectors.epoch(line));
        }
        return builder.build();
    }

    private static List<Object> resolved(JsonNode line) {
        JsonNode resolved = line.get("resolved");
        return List.of(Vectors.u64(resolved.get("capacity")), Vectors.u64(resolved.get("max_now_ns")));
    }

    /** A limiter that evicts is not the one that the vectors describe. */
    private static void end(Limiter limiter) {
        if (limiter != null) {
            Stats stats = limiter.stats(0L, false);
            assertEquals(0, stats.evicted() + stats.shared() + stats.deniedFull() + stats.allowedFull());
            limiter.close();
        }
    }

    /** The text has no words for no layers, nor for a layer that is layers, nor for numbers below 0. */
    private static void construct(Replay replay, JsonNode line) {
        JsonNode policy = line.get("policy");
        boolean sayable = !Vectors.layers(policy).isEmpty() && Vectors.isSayable(policy);
        Object expected = line.hasNonNull("error") || !sayable
                ? (sayable ? line.get("error").asText() : "syntax")
                : resolved(line);
        Object got;
        try (Limiter limiter = make(line)) {
            long[] numbers = limiter.numbers();
            got = List.of(numbers[0], numbers[1]);
        } catch (PolicyException refused) {
            got = refused.code();
        }
        replay.judge(got, expected, line);
    }

    @Test
    void grammar() throws IOException {
        Replay replay = new Replay("grammar.jsonl");
        List<JsonNode> lines = Vectors.lines(Vectors.FOLDER.resolve("grammar.jsonl"));
        for (JsonNode line : lines.subList(1, lines.size())) {
            if (line.hasNonNull("error")) {
                List<Object> expected = List.of(
                        line.get("error").asText(),
                        line.hasNonNull("column") ? line.get("column").asInt() : 0,
                        line.get("error").asText() + " at column " + line.get("column").asText() + ": "
                                + line.get("message").asText());
                Object got;
                try (Limiter limiter = Limiter.of(line.get("text").asText())) {
                    got = limiter.policy();
                } catch (PolicyException refused) {
                    got = List.of(refused.code(), refused.column().orElse(0), refused.getMessage());
                }
                replay.judge(got, expected, line);
            } else {
                String canonical = line.get("canonical").asText();
                String meant = line.has("policy") ? canonical(Vectors.text(line.get("policy"))) : canonical;
                List<Object> expected = List.of(canonical, canonical);
                replay.judge(List.of(canonical(line.get("text").asText()), meant), expected, line);
            }
        }
        replay.end();
    }

    private static String canonical(String text) {
        try (Limiter limiter = Limiter.builder(text).maxKeys(1).build()) {
            return limiter.policy();
        }
    }
}
