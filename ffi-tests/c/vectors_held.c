/* Replays the published reservations, permits and changes of a policy, which vectors/held describes, through the C functions.
 *
 *   vectors_held DIR      the last line is "N passed, M failed"
 *
 * What was given back is counted for neighbouring keys together, and in the vectors for each apart: so each key has a
 * limiter of its own, and a change is made to all of them. The files about policies that are refused, and about limiters that
 * count nothing, are left out. */

#define _POSIX_C_SOURCE 200809L

#include "sections.h"

/* More keys than any section has. */
#define KEYS 64

/* More changes than any section has. */
#define CHANGES 256

/* The section at which it is: its line, each of its keys with a limiter, and the changes that were made. */
static struct {
    json_object *line;
    char *keys[KEYS];
    ratecell_limiter *limiters[KEYS];
    size_t count;
    /* Of no key: it has seen every change. */
    ratecell_limiter *changed;
    json_object *changes[CHANGES];
    size_t changes_count;
} section;

/* What was reserved in it, by the numbers of the rows. */
static struct held {
    const ratecell_limiter *limiter;
    ratecell_reservation reservation;
} *held;
static size_t held_count;

/* Whether C cannot say what the file is about. */
static int is_unsaid;

static void end_section(void) {
    for (size_t i = 0; i < section.count; i++) {
        ratecell_limiter_free(section.limiters[i]);
        free(section.keys[i]);
    }
    section.count = 0;
    for (size_t i = 0; i < section.changes_count; i++) {
        json_object_put(section.changes[i]);
    }
    section.changes_count = 0;
    ratecell_limiter_free(section.changed);
    section.changed = NULL;
    json_object_put(section.line);
    section.line = NULL;
    free(held);
    held = NULL;
    held_count = 0;
}

static void begin_section(json_object *line) {
    end_section();
    section.line = json_object_get(line);
    if (make(line, 1, &section.changed) != 0 || !resolved_so(section.changed, NULL, field(line, "resolved"))) {
        die("the policy does not resolve as stated");
    }
}

/* Makes the change of a row. */
static int32_t change(const ratecell_limiter *limiter, json_object *row) {
    char policy[2048] = "", why[1024] = "not written";
    append_policy(policy, sizeof policy, json_object_array_get_idx(row, 2));
    int32_t status = ratecell_limiter_change(limiter, policy, RATECELL_AT, column(row, 1), why, sizeof why);
    if ((status == 0) != (why[0] == '\0') || strcmp(why, "not written") == 0) {
        die("why says nothing of an error, or something of none");
    }
    return status;
}

static const ratecell_limiter *limiter_of(json_object *key) {
    const char *name = json_object_get_string(key);
    for (size_t i = 0; i < section.count; i++) {
        if (strcmp(section.keys[i], name) == 0) {
            return section.limiters[i];
        }
    }
    if (section.line == NULL || section.count == KEYS || make(section.line, 1, &section.limiters[section.count]) != 0) {
        die("no limiter for the key");
    }
    for (size_t i = 0; i < section.changes_count; i++) {
        if (change(section.limiters[section.count], section.changes[i]) != 0) {
            die("a change was made once, and is refused of the same policy");
        }
    }
    section.keys[section.count] = strdup(name);
    return section.limiters[section.count++];
}

static struct held *held_by(uint64_t number) {
    if (number >= held_count) {
        held = realloc(held, (number + 1) * sizeof *held);
        memset(held + held_count, 0, (number + 1 - held_count) * sizeof *held);
        held_count = number + 1;
    }
    return &held[number];
}

/* A request at an instant, whose key and cost stand in the columns from `at` on. */
static ratecell_request request_at(json_object *row, uint64_t now_ns, size_t at) {
    json_object *key = json_object_array_get_idx(row, at);
    ratecell_request request = { .key = json_object_get_string(key), .now_ns = now_ns, .flags = RATECELL_AT };
    request.key_len = (size_t)json_object_get_string_len(key);
    request.cost = (uint32_t)column(row, at + 1);
    return request;
}

/* Decides a request whose answer stands in the columns from `at` on, and the delay behind it. */
static void decided(const ratecell_limiter *limiter, const ratecell_request *request, json_object *row, size_t at,
                    const char *line) {
    ratecell_decision decision;
    memset(&decision, 0xA5, sizeof decision);
    int32_t status = ratecell_limiter_decide(limiter, request, &decision);
    int holds = is_stated(row, at, status, &decision) && decision.delay_ns == column(row, at + 4) &&
                decision.given_back == 0;
    stated_decision(holds, line, status, &decision);
}

typedef int32_t held_function(const ratecell_limiter *, const ratecell_request *, ratecell_decision *);

/* What is done with a reservation; units came back where `back` is a column. */
static void done(held_function *function, json_object *row, uint32_t cost, size_t at, size_t back, const char *line) {
    struct held *reserved = held_by(column(row, 1));
    ratecell_request request = { .cost = cost, .now_ns = column(row, 2), .flags = RATECELL_AT };
    ratecell_decision decision;
    if (reserved->limiter == NULL) {
        die("no such reservation");
    }
    memset(&decision, 0xA5, sizeof decision);
    request.reservation = &reserved->reservation;
    int32_t status = function(reserved->limiter, &request, &decision);
    int holds = is_stated(row, at, status, &decision) && decision.given_back == (back > 0 ? column(row, back) : 0);
    stated_decision(holds, line, status, &decision);
}

/* Whether a policy is one of several layers, of which no text says fewer than two. */
static int is_multi(json_object *policy) {
    json_object *algorithm = field(policy, "algorithm");
    return algorithm != NULL && strcmp(json_object_get_string(algorithm), "multi") == 0;
}

static void changed(json_object *row, const char *line) {
    json_object *policy = json_object_array_get_idx(row, 2), *outcome = json_object_array_get_idx(row, 3);
    json_object *error = field(outcome, "error");
    if (is_multi(policy) && json_object_array_length(field(policy, "layers")) < 2) {
        replay.unsaid += 1;
        return;
    }
    int32_t expected = error == NULL ? 0 : status_of(json_object_get_string(error));
    int32_t status = change(section.changed, row);
    int holds = status == expected;
    for (size_t i = 0; i < section.count; i++) {
        holds = holds && change(section.limiters[i], row) == expected;
    }
    if (status == 0) {
        if (section.changes_count == CHANGES) {
            die("too many changes");
        }
        section.changes[section.changes_count++] = json_object_get(row);
        holds = holds && resolved_so(section.changed, NULL, field(outcome, "resolved"));
    }
    stated(holds, line, ratecell_strerror(status));
}

static void call(const char *name, json_object *row, const char *line) {
    if (strcmp(name, "reserve") == 0 || strcmp(name, "acquire") == 0) {
        const ratecell_limiter *limiter = limiter_of(json_object_array_get_idx(row, 3));
        struct held *reserved = held_by(column(row, 1));
        ratecell_request request = request_at(row, column(row, 2), 3);
        request.flags |= RATECELL_RESERVE;
        request.reservation = &reserved->reservation;
        decided(limiter, &request, row, 5, line);
        reserved->limiter = limiter;
    } else if (strcmp(name, "settle") == 0) {
        done(ratecell_limiter_settle, row, (uint32_t)column(row, 3), 4, 0, line);
    } else if (strcmp(name, "release") == 0) {
        done(ratecell_limiter_release, row, 0, 3, 7, line);
    } else if (strcmp(name, "renew") == 0) {
        done(ratecell_limiter_renew, row, 0, 3, 0, line);
    } else if (strcmp(name, "charge") == 0) {
        ratecell_request request = request_at(row, column(row, 1), 2);
        request.flags |= RATECELL_CHARGE;
        decided(limiter_of(json_object_array_get_idx(row, 2)), &request, row, 4, line);
    } else if (strcmp(name, "change") == 0) {
        changed(row, line);
    } else if (strcmp(name, "forget") == 0) {
        json_object *key = json_object_array_get_idx(row, 2);
        int32_t status = ratecell_limiter_forget(limiter_of(key), json_object_get_string(key),
                                                 (size_t)json_object_get_string_len(key));
        stated(status >= 0, line, ratecell_strerror(status));
    } else {
        die("no such call");
    }
}

static void each_line(json_object *value, const char *line) {
    if (replay.line == 1) {
        const char *kind = json_object_get_string(field(value, "kind"));
        is_unsaid = kind == NULL || (strcmp(kind, "reserve") != 0 && strcmp(kind, "concurrency") != 0 &&
                                     strcmp(kind, "change") != 0 && strcmp(kind, "change_refused") != 0);
    } else if (is_unsaid) {
        replay.unsaid += 1;
    } else if (json_object_is_type(value, json_type_array)) {
        json_object *first = json_object_array_get_idx(value, 0);
        if (json_object_is_type(first, json_type_string)) {
            call(json_object_get_string(first), value, line);
        } else {
            ratecell_request request = request_at(value, column(value, 0), 1);
            decided(limiter_of(json_object_array_get_idx(value, 1)), &request, value, 3, line);
        }
    } else if (field(value, "section") != NULL) {
        begin_section(value);
    } else {
        die("not a line of a section");
    }
}

int main(int argc, char **argv) {
    return replay_folder(argc, argv, each_line, end_section);
}
