package io.github.ratecell;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Replays the published keys of clients, HTTP fields, and decisions by rules. */
class EdgeVectorsTest {
    private static List<JsonNode> lines(String path) throws IOException {
        List<JsonNode> lines = Vectors.lines(Vectors.FOLDER.resolve(path));
        return lines.subList(1, lines.size());
    }

    @Test
    void clientKeys() throws IOException {
        Replay replay = new Replay("client keys");
        for (String file : List.of("client_keys", "rfc7239")) {
            ClientKeys clients = null;
            for (JsonNode line : lines("edges/" + file + ".jsonl")) {
                if (line.isObject()) {
                    clients = clients(line).build();
                    continue;
                }
                List<Field> fields = new ArrayList<>();
                line.get(1).forEach(field -> fields.add(new Field(field.get(0).asText(), field.get(1).asText())));
                ClientKeys.Found found = clients.search(line.get(0).asText(), fields);
                replay.judge(List.of(found.key(), found.end()), List.of(line.get(2).asText(), line.get(3).asText()), line);
            }
        }
        for (JsonNode line : lines("edges/client_keys_construct.jsonl")) {
            String got = "null";
            try {
                clients(line).build();
            } catch (IllegalArgumentException refused) {
                got = refused.getMessage().replaceFirst(":.*", "");
            }
            replay.judge(got, line.get("error").asText(), line);
        }
        ClientKeys whole = ClientKeys.builder().v6Width(128).build();
        ClientKeys network = ClientKeys.builder().v6Width(64).build();
        for (String file : List.of("client_keys_addresses", "rfc5952")) {
            for (JsonNode line : lines("edges/" + file + ".jsonl")) {
                String text = line.get(0).asText();
                List<String> got = List.of(known(whole, text), known(network, text));
                replay.judge(got, List.of(line.get(1).asText(), line.get(2).asText()), line);
            }
        }
        replay.end();
    }

    /** A text that is no address has no key of its own. */
    private static String known(ClientKeys clients, String text) {
        String key = clients.key(text, List.of());
        return key.equals("unknown") || key.equals("unix") ? "null" : key;
    }

    private static ClientKeys.Builder clients(JsonNode line) {
        JsonNode trust = line.get("trust");
        ClientKeys.Builder clients = ClientKeys.builder();
        clients.v4Width(line.get("width").get("v4").asInt()).v6Width(line.get("width").get("v6").asInt());
        if (trust.has("field")) {
            clients.field(trust.get("field").asText());
        }
        if (trust.has("kind")) {
            clients.kind(trust.get("kind").asText());
        }
        if (trust.hasNonNull("hops")) {
            clients.hops(trust.get("hops").asInt());
        }
        if (trust.hasNonNull("networks")) {
            List<String> networks = new ArrayList<>();
            trust.get("networks").forEach(network -> networks.add(network.asText()));
            clients.networks(networks);
        }
        return clients;
    }

    @Test
    void fields() throws IOException {
        Replay replay = new Replay("fields");
        for (String file : List.of("drafts", "fields", "fields_several")) {
            List<JsonNode> policies = new ArrayList<>();
            for (JsonNode line : lines("edges/" + file + ".jsonl")) {
                if (line.has("section")) {
                    policies.clear();
                    line.get("policies").forEach(policies::add);
                    continue;
                }
                List<JsonNode> decisions = new ArrayList<>();
                if (line.has("decisions")) {
                    line.get("decisions").forEach(decisions::add);
                } else {
                    decisions.add(line.get("decision"));
                }
                List<Field> expected = new ArrayList<>();
                line.get("fields").forEach(field -> expected.add(new Field(field.get(0).asText(), field.get(1).asText())));
                replay.judge(written(policies, decisions, line), expected, line);
            }
        }
        for (JsonNode line : lines("edges/fields_construct.jsonl")) {
            String got = "null";
            try {
                label(line.get("policy"));
            } catch (IllegalArgumentException refused) {
                got = refused.getMessage().replaceFirst("(?s):.*", "");
            }
            replay.judge(got, line.get("error").asText(), line);
        }
        replay.end();
    }

    private static Label label(JsonNode policy) {
        return new Label(
                policy.get("name").isNull() ? null : policy.get("name").asText(),
                policy.get("unit").isNull() ? null : policy.get("unit").asText(),
                policy.get("partition").isNull() ? null : HexFormat.of().parseHex(policy.get("partition").asText()));
    }

    /** The fields of decisions by policies that stand as the numbers of their layers. */
    private static List<Field> written(List<JsonNode> policies, List<JsonNode> decisions, JsonNode line) {
        Message message = Fields.writeStyles(new Message(), List.of(Style.named(line.get("style").asText())));
        message.u64(Vectors.u64(line.get("now_unix_ns"))).u32(policies.size());
        for (int i = 0; i < policies.size(); i++) {
            List<JsonNode> layers = new ArrayList<>();
            policies.get(i).get("layers").forEach(layers::add);
            message.flag(false).several(layers, (to, layer) -> to.text(layer.get("text").asText())
                    .u64(Vectors.u64(layer.get("limit")))
                    .u64(layer.get("period_ns").isNull() ? 0 : Vectors.u64(layer.get("period_ns")))
                    .u64(Vectors.u64(layer.get("capacity"))));
            message.raw(decision(decisions.get(i)).bytes());
            message.maybe(label(policies.get(i)), (to, label) -> label.write(to));
        }
        return message.call(Operation.FIELDS).several(Field::read);
    }

    private static Decision decision(JsonNode stated) {
        ByteBuffer bytes = ByteBuffer.allocate(Decision.LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putInt(Outcome.valueOf(stated.get("outcome").asText().toUpperCase(Locale.ROOT)).ordinal());
        bytes.putInt(stated.get("layer").asInt());
        bytes.putLong(Vectors.u64(stated.get("limit"))).putLong(Vectors.u64(stated.get("remaining")));
        bytes.putLong(Vectors.retry(stated.get("retry_ns"))).putLong(Vectors.u64(stated.get("reset_ns")));
        bytes.putLong(Vectors.u64(stated.get("delay_ns")));
        bytes.putLong(stated.get("next_ns").isNull() ? 0 : Vectors.u64(stated.get("next_ns")));
        return Decision.read(bytes, 0);
    }

    @Test
    void rules() throws IOException {
        Replay replay = new Replay("rules_decide.jsonl");
        Rules rules = null;
        for (JsonNode line : lines("rules/rules_decide.jsonl")) {
            if (line.isObject()) {
                rules = Rules.builder(line.get("rules").asText()).maxKeys(4096).build();
                continue;
            }
            Map<String, String> attributes = new LinkedHashMap<>();
            line.get(2).properties().forEach(field -> attributes.put(field.getKey(), field.getValue().asText()));
            RulesDecision decision = rules.decide(attributes, Vectors.u64(line.get(1)), List.of());
            if (line.get(3).isTextual()) {
                replay.judge(decision.isUnclearPath(), line.get(3).asText().equals("unclear_path"), line);
                continue;
            }
            String rule = line.get(4).isNull() ? line.get(7).asText() : line.get(4).asText();
            List<Object> expected = List.of(
                    Vectors.outcome(line.get(3)),
                    rule,
                    Vectors.retry(line.get(5)),
                    Vectors.u64(line.get(6)),
                    Vectors.u64(line.get(8)),
                    Vectors.u64(line.get(9)),
                    Vectors.u64(line.get(10)),
                    shadows(line));
            long[] raw = decision.raw();
            replay.judge(
                    List.of(
                            decision.outcome(),
                            decision.rule().orElse("null"),
                            raw[0],
                            raw[1],
                            raw[2],
                            raw[3],
                            raw[4],
                            decision.shadows()),
                    expected,
                    line);
        }
        replay.end();
    }

    private static List<RulesDecision.Shadow> shadows(JsonNode line) {
        List<RulesDecision.Shadow> shadows = new ArrayList<>();
        line.get(11).forEach(each ->
                shadows.add(new RulesDecision.Shadow(each.get(0).asText(), Vectors.outcome(each.get(1)))));
        return shadows;
    }
}
