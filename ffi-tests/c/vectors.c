/* Replays the published decisions, whose format vectors/README.md describes, through the C functions.
 *
 *   vectors DIR      the last line is "N passed, M failed"
 *
 * A policy in JSON becomes text by its fields' names. The text has no words for two policies of
 * construct.jsonl: no layers, and a layer that is layers. Both are no text at all, and so a syntax error
 * here where the vectors say bad_layers. */

#define _POSIX_C_SOURCE 200809L

#include "replay.h"

/* More keys than any section has: a limiter that evicts is not the one that the vectors describe. */
#define MAX_KEYS 4096
static int is_one_of(const char *name, const char *first, const char *second, const char *third) {
    return strcmp(name, first) == 0 || strcmp(name, second) == 0 || strcmp(name, third) == 0;
}

/* One layer as text: `algorithm LIMIT/PERIODns option=value ...`. */
static void append_layer(char *text, size_t size, json_object *layer) {
    const char *algorithm = "", *limit = "", *period = "", *unit = "";
    char options[256] = "";
    size_t used = strlen(text);
    json_object_object_foreach(layer, name, value) {
        /* A day that is written as text stays text. */
        int is_quoted = strcmp(name, "day") == 0 && json_object_is_type(value, json_type_string);
        const char *said = is_quoted ? json_object_to_json_string(value) : json_object_get_string(value);
        size_t length = strlen(name), at = strlen(options);
        int is_time = length > 3 && strcmp(name + length - 3, "_ns") == 0;
        if (strcmp(name, "algorithm") == 0) {
            algorithm = said;
        } else if (is_one_of(name, "limit", "refill", "leak")) {
            limit = said;
        } else if (is_one_of(name, "period_ns", "interval_ns", "window_ns")) {
            period = said;
            unit = "ns";
        } else if (strcmp(name, "period") == 0) {
            period = said;
        } else {
            snprintf(options + at, sizeof options - at, " %.*s=%s%s", (int)(is_time ? length - 3 : length),
                     name, said, is_time ? "ns" : "");
        }
    }
    snprintf(text + used, size - used, "%s%s %s%s%s%s%s", used > 0 ? " & " : "", algorithm, limit,
             *period == '\0' ? "" : "/", period, unit, options);
}

static void append_policy(char *text, size_t size, json_object *policy) {
    json_object *layers = field(policy, "layers");
    if (layers == NULL) {
        append_layer(text, size, policy);
        return;
    }
    for (size_t i = 0; i < json_object_array_length(layers); i++) {
        append_policy(text, size, json_object_array_get_idx(layers, i));
    }
}

/* The seconds since 1970 of an epoch such as 2026-01-05T00:00:00Z; 0 of none. */
static int64_t seconds_of(json_object *epoch) {
    int year, month, day;
    if (epoch == NULL) {
        return 0;
    }
    if (sscanf(json_object_get_string(epoch), "%d-%d-%dT00:00:00Z", &year, &month, &day) != 3) {
        die("not an epoch");
    }
    /* Years from March on: the day that comes in leap years is their last. */
    int64_t y = month > 2 ? year : year - 1;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return (365 * y + y / 4 - y / 100 + y / 400 + of_year - 719468) * 86400;
}

static int32_t make(json_object *object, ratecell_limiter **limiter) {
    char policy[2048] = "";
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.max_keys = MAX_KEYS;
    config.epoch_s = seconds_of(field(object, "epoch"));
    append_policy(policy, sizeof policy, field(object, "policy"));
    return ratecell_limiter_new(policy, &config, limiter);
}

/* How a policy resolved, as far as decisions tell: its capacity, and the last instant it can tell. */
static int resolved_so(const ratecell_limiter *limiter, json_object *resolved) {
    uint64_t last = json_object_get_uint64(field(resolved, "max_now_ns"));
    ratecell_decision decision;
    int so = ratecell_limiter_check_at(limiter, "resolved", 8, 0, last, &decision) == RATECELL_ALLOWED;
    so = so && decision.remaining == json_object_get_uint64(field(resolved, "capacity"));
    return so && (last == UINT64_MAX ||
                  ratecell_limiter_check_at(limiter, "resolved", 8, 0, last + 1,
                                            NULL) == RATECELL_CLOCK_RANGE);
}

static int32_t status_of(const char *error) {
    static const struct {
        const char *error;
        int32_t status;
    } errors[] = {
        { "zero_limit", RATECELL_EPOLICY_ZERO_LIMIT },
        { "zero_period", RATECELL_EPOLICY_ZERO_PERIOD },
        { "zero_capacity", RATECELL_EPOLICY_ZERO_CAPACITY },
        { "bad_type", RATECELL_EPOLICY_MISSING_PARAMETER },
        { "bad_offset", RATECELL_EPOLICY_BAD_OFFSET },
        { "range", RATECELL_EPOLICY_RANGE },
        { "precision", RATECELL_EPOLICY_PRECISION },
        { "unknown_algorithm", RATECELL_EPOLICY_UNKNOWN_ALGORITHM },
        { "bad_layers", RATECELL_EPOLICY_BAD_LAYERS },
        { "bad_zone", RATECELL_EPOLICY_BAD_ZONE },
        { "syntax", RATECELL_EPOLICY_SYNTAX },
    };
    for (size_t i = 0; i < CHECK_COUNT(errors); i++) {
        if (strcmp(errors[i].error, error) == 0) {
            return errors[i].status;
        }
    }
    die("no such error");
    return 0;
}

/* A line of construct.jsonl: a policy, with its error or with how it resolves. */
static void construct(json_object *object, const char *line) {
    ratecell_limiter *limiter = NULL;
    int32_t status = make(object, &limiter);
    json_object *error = field(object, "error");
    char policy[2048] = "";
    append_policy(policy, sizeof policy, field(object, "policy"));
    /* No text at all. */
    int unsaid = *policy == '\0';
    replay.unsaid += (unsigned long)unsaid;
    const char *expected = unsaid ? "syntax" : json_object_get_string(error);
    stated(error == NULL ? status == 0 && resolved_so(limiter, field(object, "resolved"))
                         : status == status_of(expected) && limiter == NULL,
           line, ratecell_strerror(status));
    ratecell_limiter_free(limiter);
}

/* A line of grammar.jsonl: a text, with the policy that it is read as or with its error. */
static void grammar(json_object *object, const char *line) {
    const char *text = json_object_get_string(field(object, "text"));
    json_object *error = field(object, "error");
    char got[1024] = "", meant[1024] = "", policy[2048] = "", expected[1024];
    int32_t status = ratecell_policy_format(text, got, sizeof got);
    if (error != NULL) {
        ratecell_policy_explain(text, got, sizeof got);
        snprintf(expected, sizeof expected, "%s at column %llu: %s", json_object_get_string(error),
                 (unsigned long long)json_object_get_uint64(field(object, "column")),
                 json_object_get_string(field(object, "message")));
        stated(status == status_of(json_object_get_string(error)) && strcmp(got, expected) == 0, line, got);
        return;
    }
    append_policy(policy, sizeof policy, field(object, "policy"));
    ratecell_policy_format(policy, meant, sizeof meant);
    stated(status == (int32_t)strlen(got) && strcmp(got, meant) == 0 &&
               strcmp(got, json_object_get_string(field(object, "canonical"))) == 0,
           line, status < 0 ? ratecell_strerror(status) : got);
}

/* Column `at` of a row; one that is not there is 0, and null is never. */
static uint64_t column(json_object *row, size_t at) {
    json_object *value = json_object_array_get_idx(row, at);
    if (at >= json_object_array_length(row)) {
        return 0;
    }
    return value == NULL ? UINT64_MAX : json_object_get_uint64(value);
}

static void request(const ratecell_limiter *limiter, json_object *row, const char *line) {
    static const int32_t outcomes[] = {
        RATECELL_DENIED, RATECELL_ALLOWED, RATECELL_NEVER, RATECELL_CLOCK_RANGE
    };
    json_object *key = json_object_array_get_idx(row, 1);
    uint64_t code = column(row, 3);
    ratecell_decision decision;
    char got[256];
    if (limiter == NULL || code >= CHECK_COUNT(outcomes) || column(row, 2) > UINT32_MAX) {
        die("not a row of a section");
    }
    memset(&decision, 0xA5, sizeof decision);
    int32_t status = ratecell_limiter_check_at(limiter, json_object_get_string(key),
                                               (size_t)json_object_get_string_len(key),
                                               (uint32_t)column(row, 2), column(row, 0), &decision);
    int holds = status == outcomes[code] && decision.outcome == status &&
                decision.remaining == column(row, 4) && decision.retry_after_ns == column(row, 5) &&
                decision.reset_after_ns == column(row, 6) && decision.delay_ns == column(row, 7) &&
                decision.next_ns == 0 && decision.given_back == 0 && decision.notes == 0;
    snprintf(got, sizeof got, "%s, remaining %llu retry %llu reset %llu delay %llu", ratecell_strerror(status),
             (unsigned long long)decision.remaining, (unsigned long long)decision.retry_after_ns,
             (unsigned long long)decision.reset_after_ns, (unsigned long long)decision.delay_ns);
    stated(holds, line, got);
}

static void end_section(ratecell_limiter *limiter) {
    ratecell_stats stats;
    if (limiter == NULL) {
        return;
    }
    if (ratecell_limiter_stats(limiter, RATECELL_AT, 0, &stats, sizeof stats) != 0 ||
        stats.evicted + stats.shared + stats.denied_full + stats.allowed_full > 0) {
        die("the section that ends here had keys without room");
    }
    ratecell_limiter_free(limiter);
}

static ratecell_limiter *begin_section(json_object *object) {
    ratecell_limiter *limiter = NULL;
    json_object *resolved = field(object, "resolved");
    int32_t status = make(object, &limiter);
    if (status != 0) {
        die(ratecell_strerror(status));
    }
    if (resolved != NULL && !resolved_so(limiter, resolved)) {
        die("the policy does not resolve as stated");
    }
    return limiter;
}

/* The file that is replayed: the section at which it is, and which kind it is of. */
static ratecell_limiter *section;
static int is_grammar;

static void each_line(json_object *value, const char *line) {
    if (replay.line == 1) {
        const char *kind = json_object_get_string(field(value, "kind"));
        is_grammar = kind != NULL && strcmp(kind, "grammar") == 0;
        uint64_t version = json_object_get_uint64(field(value, "ratecell_vectors"));
        if (is_grammar ? version != 3 : version != 1 && version != 2) {
            die("not a file of vectors of its version");
        }
    } else if (is_grammar) {
        grammar(value, line);
    } else if (json_object_is_type(value, json_type_array)) {
        request(section, value, line);
    } else if (field(value, "section") != NULL) {
        end_section(section);
        section = begin_section(value);
    } else {
        construct(value, line);
    }
}

static void end_of_file(void) {
    end_section(section);
    section = NULL;
}

int main(int argc, char **argv) {
    return replay_folder(argc, argv, each_line, end_of_file);
}
