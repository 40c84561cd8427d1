/* The lines that files of decisions have in common: policies, and what they resolve to or are refused for. For programs
 * that are linked with json-c; they define _POSIX_C_SOURCE.
 *
 * A policy in JSON becomes text by its fields' names. The text has no words for two policies of
 * construct.jsonl: no layers, and a layer that is layers. Both are no text at all, and so a syntax error
 * here where the vectors say bad_layers. */

#ifndef SECTIONS_H
#define SECTIONS_H

#include "replay.h"

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

/* A limiter of the policy and the epoch of a line. */
static int32_t make(json_object *object, uint64_t max_keys, ratecell_limiter **limiter) {
    char policy[2048] = "";
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.max_keys = max_keys;
    config.epoch_s = seconds_of(field(object, "epoch"));
    append_policy(policy, sizeof policy, field(object, "policy"));
    return ratecell_limiter_new(policy, &config, limiter);
}

/* The status of an error as the vectors call it. */
static inline int32_t status_of(const char *error) {
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
        { "different_table", RATECELL_ECHANGE },
        { "clock_range", RATECELL_ECHANGE },
    };
    for (size_t i = 0; i < CHECK_COUNT(errors); i++) {
        if (strcmp(errors[i].error, error) == 0) {
            return errors[i].status;
        }
    }
    die("no such error");
    return 0;
}

/* How a policy resolved, as far as decisions tell, in a zone or in none: its capacity, and the last instant it can tell. */
static int resolved_so(const ratecell_limiter *limiter, const ratecell_zone *zone, json_object *resolved) {
    ratecell_request request = { .key = "resolved", .key_len = 8, .flags = RATECELL_AT, .zone = zone };
    ratecell_decision decision;
    request.now_ns = json_object_get_uint64(field(resolved, "max_now_ns"));
    int so = ratecell_limiter_decide(limiter, &request, &decision) == RATECELL_ALLOWED;
    so = so && decision.remaining == json_object_get_uint64(field(resolved, "capacity"));
    request.now_ns += 1;
    return so && (request.now_ns == 0 ||
                  ratecell_limiter_decide(limiter, &request, NULL) == RATECELL_CLOCK_RANGE);
}

/* Column `at` of a row; one that is not there is 0, and null is never. */
static uint64_t column(json_object *row, size_t at) {
    json_object *value = json_object_array_get_idx(row, at);
    if (at >= json_object_array_length(row)) {
        return 0;
    }
    return value == NULL ? UINT64_MAX : json_object_get_uint64(value);
}

/* Whether a decision is what the columns from `at` on state: a code, remaining, retry and reset. */
static int is_stated(json_object *row, size_t at, int32_t status, const ratecell_decision *decision) {
    static const int32_t outcomes[] = {
        RATECELL_DENIED, RATECELL_ALLOWED, RATECELL_NEVER, RATECELL_CLOCK_RANGE
    };
    uint64_t code = column(row, at);
    if (code >= CHECK_COUNT(outcomes)) {
        die("no such code");
    }
    return status == outcomes[code] && decision->outcome == status && decision->remaining == column(row, at + 1) &&
           decision->retry_after_ns == column(row, at + 2) && decision->reset_after_ns == column(row, at + 3) &&
           decision->next_ns == 0 && decision->notes == 0;
}

static void stated_decision(int holds, const char *line, int32_t status, const ratecell_decision *decision) {
    char got[256];
    snprintf(got, sizeof got, "%s, remaining %llu retry %llu reset %llu delay %llu back %lu",
             ratecell_strerror(status), (unsigned long long)decision->remaining,
             (unsigned long long)decision->retry_after_ns, (unsigned long long)decision->reset_after_ns,
             (unsigned long long)decision->delay_ns, (unsigned long)decision->given_back);
    stated(holds, line, got);
}

#endif
