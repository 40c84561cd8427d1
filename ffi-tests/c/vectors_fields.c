/* Replays the published HTTP fields, whose format vectors/edges/fields.md describes, through ratecell_fields.
 *
 *   vectors_fields DIR      the last line is "N passed, M failed"
 *
 * Three things C cannot say. A policy's layers are numbers and a text here, and a limiter's in C: a section is left out
 * where no policy has those numbers and, if it is unnamed, that text. A name with a NUL in it is no C string. And a
 * time to the next unit cannot be unknown where one layer lets it be known from the decision. */

#define _POSIX_C_SOURCE 200809L

#include "replay.h"

#define MOST 64

static struct {
    ratecell_limiter *limiters[MOST];
    ratecell_answer answers[MOST];
    unsigned char *partitions[MOST];
    char *names[MOST];
    /* Whether the time to the next unit follows from a decision. */
    int is_next_known[MOST];
    ratecell_decision decisions[MOST];
    size_t count;
    int is_said, is_read;
} section;

static int begins_with(const char *text, const char *begin) {
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* The text of a policy with the layers: their own, or one that is made of their numbers where the text is not sent. */
static int append_layer(char *text, size_t size, json_object *layer, int is_real, int is_named) {
    char own[256], canonical[256];
    const char *given = json_object_get_string(field(layer, "text"));
    size_t used = strlen(text);
    const char *chosen = given;
    if (!is_real) {
        snprintf(own, sizeof own, "%s/%sns burst=%s", json_object_get_string(field(layer, "limit")),
                 json_object_get_string(field(layer, "period_ns")), json_object_get_string(field(layer, "capacity")));
        if (ratecell_policy_format(own, canonical, sizeof canonical) < 0) {
            return 0;
        }
        if (!is_named && strcmp(canonical, given) != 0) {
            return 0;
        }
        chosen = own;
    }
    snprintf(text + used, size - used, "%s%s", used > 0 ? " & " : "", chosen);
    return 1;
}

/* The bytes of a partition in hexadecimal. */
static unsigned char *bytes_of(const char *hex, size_t *len) {
    *len = strlen(hex) / 2;
    unsigned char *bytes = malloc(*len + 1);
    if (bytes == NULL) {
        die("no memory");
    }
    for (size_t i = 0; i < *len; i++) {
        unsigned byte = 0;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1) {
            die("a partition is not hexadecimal");
        }
        bytes[i] = (unsigned char)byte;
    }
    return bytes;
}

/* Whether C can say the text; NULL is none. */
static int is_c_string(json_object *text) {
    return text == NULL || strlen(json_object_get_string(text)) == (size_t)json_object_get_string_len(text);
}

static char *copy_of(json_object *text) {
    return text == NULL ? NULL : strdup(json_object_get_string(text));
}

static int begin_policy(json_object *policy, int is_real) {
    size_t at = section.count++;
    ratecell_answer *answer = &section.answers[at];
    json_object *layers = field(policy, "layers"), *name = field(policy, "name"), *unit = field(policy, "unit");
    json_object *partition = field(policy, "partition");
    ratecell_config few = { .size = sizeof few, .max_keys = 16 };
    char text[4096] = "";
    if (at >= MOST) {
        die("too many policies");
    }
    memset(answer, 0, sizeof *answer);
    for (size_t i = 0; i < json_object_array_length(layers); i++) {
        json_object *layer = json_object_array_get_idx(layers, i);
        if (!append_layer(text, sizeof text, layer, is_real, name != NULL)) {
            return 0;
        }
    }
    if (!is_c_string(name) || !is_c_string(unit) || ratecell_limiter_new(text, &few, &section.limiters[at]) != 0) {
        return 0;
    }
    section.is_next_known[at] = json_object_array_length(layers) == 1 && !begins_with(text, "sliding");
    answer->limiter = section.limiters[at];
    answer->decision = &section.decisions[at];
    answer->name = section.names[at] = copy_of(name);
    answer->unit = unit == NULL ? NULL : json_object_get_string(unit);
    if (partition != NULL) {
        answer->partition = section.partitions[at] =
            bytes_of(json_object_get_string(partition), &answer->partition_len);
    }
    return 1;
}

/* The units' names are of no section's line, but static. */
static void keep_unit(ratecell_answer *answer) {
    static const char *const units[] = { "requests", "content-bytes", "concurrent-requests" };
    for (size_t i = 0; answer->unit != NULL && i < CHECK_COUNT(units); i++) {
        if (strcmp(units[i], answer->unit) == 0) {
            answer->unit = units[i];
            return;
        }
    }
}

static void end_section(void) {
    for (size_t i = 0; i < section.count && i < MOST; i++) {
        ratecell_limiter_free(section.limiters[i]);
        free(section.partitions[i]);
        free(section.names[i]);
    }
    memset(&section, 0, sizeof section);
}

static void begin_section(json_object *object) {
    const char *name = json_object_get_string(field(object, "section"));
    int is_real = begins_with(name, "decided/") || begins_with(name, "several/");
    json_object *policies = field(object, "policies");
    end_section();
    section.is_read = section.is_said = 1;
    for (size_t i = 0; i < json_object_array_length(policies); i++) {
        section.is_said = begin_policy(json_object_array_get_idx(policies, i), is_real) && section.is_said;
        keep_unit(&section.answers[i]);
    }
}

static uint64_t number(json_object *object, const char *name, uint64_t none) {
    json_object *value = field(object, name);
    return value == NULL ? none : json_object_get_uint64(value);
}

static ratecell_decision decision_of(json_object *object) {
    static const char *const outcomes[] = { "allowed", "denied", "never", "clock_range" };
    const char *outcome = json_object_get_string(field(object, "outcome"));
    ratecell_decision decision;
    memset(&decision, 0, sizeof decision);
    while (strcmp(outcomes[decision.outcome], outcome) != 0) {
        decision.outcome += 1;
        if ((size_t)decision.outcome == CHECK_COUNT(outcomes)) {
            die("no such outcome");
        }
    }
    decision.limit = number(object, "limit", 0);
    decision.remaining = number(object, "remaining", 0);
    decision.retry_after_ns = number(object, "retry_ns", UINT64_MAX);
    decision.reset_after_ns = number(object, "reset_ns", 0);
    decision.next_ns = number(object, "next_ns", 0);
    decision.delay_ns = number(object, "delay_ns", 0);
    decision.layer = (uint32_t)number(object, "layer", 0);
    return decision;
}

static uint32_t style_of(const char *name) {
    static const char *const styles[] = {
        "draft11", "draft07", "draft06", "draft03", "x", "x_unix", "github", "twitter", "kong"
    };
    for (uint32_t i = 0; i < CHECK_COUNT(styles); i++) {
        if (strcmp(styles[i], name) == 0) {
            return UINT32_C(1) << i;
        }
    }
    die("no such style");
    return 0;
}

/* Whether the line leaves open what C knows. */
static int is_next_open(const ratecell_decision *decision, int is_next_known) {
    return is_next_known && decision->next_ns == 0 && decision->remaining < decision->limit &&
           decision->outcome != RATECELL_CLOCK_RANGE;
}

/* A line of fields.jsonl or fields_several.jsonl. */
static void written(json_object *object, const char *line) {
    static char got[1 << 16], expected[1 << 16];
    json_object *several = field(object, "decisions"), *lines = field(object, "fields");
    size_t n = several == NULL ? 1 : json_object_array_length(several), used = 0;
    int is_open = 0;
    if (n != section.count) {
        die("not as many decisions as policies");
    }
    for (size_t i = 0; i < n; i++) {
        section.decisions[i] =
            decision_of(several == NULL ? field(object, "decision") : json_object_array_get_idx(several, i));
        is_open = is_open || is_next_open(&section.decisions[i], section.is_next_known[i]);
    }
    /* The styles before the drafts do not have that time. */
    uint32_t style = style_of(json_object_get_string(field(object, "style")));
    if (is_open && style < RATECELL_STYLE_X) {
        replay.unsaid += 1;
        return;
    }
    expected[0] = '\0';
    for (size_t i = 0; i < json_object_array_length(lines); i++) {
        json_object *pair = json_object_array_get_idx(lines, i);
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%s: %s\n",
                                 json_object_get_string(json_object_array_get_idx(pair, 0)),
                                 json_object_get_string(json_object_array_get_idx(pair, 1)));
    }
    int32_t length = ratecell_fields(style, section.answers, n, number(object, "now_unix_ns", 0), got, sizeof got);
    stated(length >= 0 && (size_t)length == used && strcmp(got, expected) == 0, line,
           length < 0 ? ratecell_strerror(length) : got);
}

/* A line of fields_construct.jsonl: a policy, and whether its names are ones. */
static void construct(json_object *object, const char *line) {
    char got[8192];
    end_section();
    section.is_said = begin_policy(field(object, "policy"), 1);
    if (!section.is_said) {
        replay.unsaid += 1;
    } else {
        int32_t expected = field(object, "error") == NULL ? 0 : RATECELL_ENAME;
        if (ratecell_limiter_check_at(section.limiters[0], "key", 3, 1, 0, section.decisions) != RATECELL_ALLOWED) {
            die("a new key is denied");
        }
        int32_t length = ratecell_fields(RATECELL_STYLE_DRAFT11, section.answers, 1, 0, got, sizeof got);
        stated(expected == 0 ? length > 0 : length == expected, line, length < 0 ? ratecell_strerror(length) : got);
    }
    end_section();
}

static void each_line(json_object *value, const char *line) {
    if (replay.line == 1) {
        section.is_read = begins_with(json_object_get_string(field(value, "kind")), "fields");
    } else if (field(value, "section") != NULL && field(value, "policies") != NULL) {
        begin_section(value);
    } else if (field(value, "fields") != NULL && section.is_said) {
        written(value, line);
    } else if (field(value, "fields") != NULL) {
        replay.unsaid += 1;
    } else if (section.is_read && field(value, "policy") != NULL) {
        int is_read = section.is_read;
        construct(value, line);
        section.is_read = is_read;
    }
}

int main(int argc, char **argv) {
    return replay_folder(argc, argv, each_line, end_section);
}
