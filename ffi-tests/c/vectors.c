/* Replays the published decisions, whose format vectors/README.md describes, through the C functions.
 *
 *   vectors DIR      the last line is "N passed, M failed" */

#define _POSIX_C_SOURCE 200809L

#include "sections.h"

/* More keys than any section has: a limiter that evicts is not the one that the vectors describe. */
#define MAX_KEYS 4096

/* A line of construct.jsonl: a policy, with its error or with how it resolves. */
static void construct(json_object *object, const char *line) {
    ratecell_limiter *limiter = NULL;
    int32_t status = make(object, 1, &limiter);
    json_object *error = field(object, "error");
    char policy[2048] = "";
    append_policy(policy, sizeof policy, field(object, "policy"));
    /* No text at all. */
    int unsaid = *policy == '\0';
    replay.unsaid += (unsigned long)unsaid;
    const char *expected = unsaid ? "syntax" : json_object_get_string(error);
    stated(error == NULL ? status == 0 && resolved_so(limiter, NULL, field(object, "resolved"))
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

static void request(const ratecell_limiter *limiter, json_object *row, const char *line) {
    json_object *key = json_object_array_get_idx(row, 1);
    ratecell_decision decision;
    if (limiter == NULL || column(row, 2) > UINT32_MAX) {
        die("not a row of a section");
    }
    memset(&decision, 0xA5, sizeof decision);
    int32_t status = ratecell_limiter_check_at(limiter, json_object_get_string(key),
                                               (size_t)json_object_get_string_len(key),
                                               (uint32_t)column(row, 2), column(row, 0), &decision);
    int holds = is_stated(row, 3, status, &decision) && decision.delay_ns == column(row, 7) &&
                decision.given_back == 0;
    stated_decision(holds, line, status, &decision);
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
    int32_t status = make(object, MAX_KEYS, &limiter);
    if (status != 0) {
        die(ratecell_strerror(status));
    }
    if (resolved != NULL && !resolved_so(limiter, NULL, resolved)) {
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
