package io.github.ratecell;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The published vectors, as JSON; a policy in JSON becomes text by its fields' names. */
final class Vectors {
    static final Path FOLDER = Path.of(System.getProperty("ratecell.sources"), "vectors");
    private static final List<String> RATES = List.of("limit", "refill", "leak");
    private static final List<String> PERIODS = List.of("period_ns", "interval_ns", "window_ns");
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final Outcome[] OUTCOMES = {Outcome.DENIED, Outcome.ALLOWED, Outcome.NEVER, Outcome.CLOCK_RANGE};

    private Vectors() {}

    /** The lines of a file; the first is its header. */
    static List<JsonNode> lines(Path file) throws IOException {
        List<JsonNode> lines = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            lines.add(MAPPER.readTree(line));
        }
        return lines;
    }

    /** A number of the unsigned range. */
    static long u64(JsonNode number) {
        return number.bigIntegerValue().longValue();
    }

    static Outcome outcome(JsonNode code) {
        return OUTCOMES[code.asInt()];
    }

    /** A retry, of which null is none. */
    static long retry(JsonNode stated) {
        return stated.isNull() ? -1 : u64(stated);
    }

    static Instant epoch(JsonNode line) {
        return line.has("epoch") ? Instant.parse(line.get("epoch").asText()) : null;
    }

    /** The layers of a policy, however they are nested. */
    static List<JsonNode> layers(JsonNode policy) {
        List<JsonNode> layers = new ArrayList<>();
        if (policy.has("layers")) {
            policy.get("layers").forEach(layer -> layers.addAll(layers(layer)));
        } else {
            layers.add(policy);
        }
        return layers;
    }

    static String text(JsonNode policy) {
        List<String> texts = new ArrayList<>();
        for (JsonNode layer : layers(policy)) {
            texts.add(layerText(layer));
        }
        return String.join(" & ", texts);
    }

    private static String layerText(JsonNode layer) {
        String algorithm = "";
        String limit = "";
        String period = "";
        StringBuilder options = new StringBuilder();
        for (Map.Entry<String, JsonNode> field : layer.properties()) {
            String name = field.getKey();
            String said = field.getValue().asText();
            if (name.equals("algorithm")) {
                algorithm = said;
            } else if (RATES.contains(name)) {
                limit = said;
            } else if (PERIODS.contains(name)) {
                period = "/" + said + "ns";
            } else if (name.equals("period")) {
                period = "/" + said;
            } else if (name.equals("day") && field.getValue().isTextual()) {
                options.append(" day=\"").append(said).append('"');
            } else if (name.endsWith("_ns")) {
                options.append(' ').append(name, 0, name.length() - 3).append('=').append(said).append("ns");
            } else {
                options.append(' ').append(name).append('=').append(said);
            }
        }
        return algorithm + " " + limit + period + options;
    }

    /** Whether the numbers of the policy are such as its text can have. */
    static boolean isSayable(JsonNode policy) {
        for (JsonNode layer : layers(policy)) {
            for (Map.Entry<String, JsonNode> field : layer.properties()) {
                boolean counts = RATES.contains(field.getKey()) || field.getKey().endsWith("_ns");
                if (counts && !(field.getValue().isIntegralNumber() && field.getValue().bigIntegerValue().signum() >= 0)) {
                    return false;
                }
            }
        }
        return true;
    }
}
