/* Replays the published traces of waiting, whose format vectors/edges/waiting.md describes, through the C functions.
 *
 *   vectors_waiting DIR      the last line is "N passed, M failed"
 *
 * An answer's code becomes the decision of a request within what the ask allowed. */

#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILURES_SHOWN 20
#define MOST_ACTIONS 4096
/* Above every id of the traces. */
#define IDS 65536

static struct {
    unsigned long line, passed, failed;
} replay;

static uint64_t asked_by[IDS];
static ratecell_wait_action actions[MOST_ACTIONS];

static void die(const char *what) {
    fprintf(stderr, "waiting.jsonl:%lu: %s\n", replay.line, what);
    exit(EXIT_FAILURE);
}

static json_object *at(json_object *array, size_t i) {
    return json_object_array_get_idx(array, i);
}

/* null is no instant. */
static uint64_t number(json_object *value) {
    return value == NULL ? UINT64_MAX : json_object_get_uint64(value);
}

static uint64_t number_of(json_object *object, const char *name) {
    json_object *value = json_object_object_get(object, name);
    return value == NULL ? 0 : json_object_get_uint64(value);
}

static void read_pace(ratecell_waiting_parameters *parameters, json_object *pace) {
    parameters->pace_num = pace == NULL ? 0 : number(at(pace, 0));
    parameters->pace_den = pace == NULL ? 0 : number(at(pace, 1));
}

static ratecell_waiting *machine(json_object *section) {
    json_object *given = json_object_object_get(section, "waiting");
    ratecell_waiting_parameters parameters = RATECELL_WAITING_PARAMETERS_INIT;
    ratecell_waiting *waiting = NULL;
    parameters.max_waiting = number_of(given, "max_waiting");
    parameters.max_total = number_of(given, "max_total");
    parameters.min_pause_ns = number_of(given, "min_pause_ns");
    parameters.max_pause_ns = number_of(given, "max_pause_ns");
    parameters.full_pause_ns = number_of(given, "full_pause_ns");
    parameters.capacity = number_of(given, "capacity");
    read_pace(&parameters, json_object_object_get(given, "pace"));
    if (given == NULL || ratecell_waiting_new(&parameters, &waiting) != 0) {
        die("not a section of waiting");
    }
    return waiting;
}

/* The decision of a request within by_ns - now_ns that is answered so. */
static ratecell_decision decided(uint64_t code, uint64_t retry, uint64_t delay, uint64_t by_ns, uint64_t now_ns) {
    static const int32_t outcomes[] = {
        RATECELL_DENIED, RATECELL_ALLOWED, RATECELL_NEVER, RATECELL_CLOCK_RANGE, RATECELL_DENIED
    };
    uint64_t within = by_ns < now_ns ? 0 : by_ns - now_ns;
    ratecell_decision decision = { 0, 0, 0, 0, delay, 0, 0, 0, 0, 0 };
    if (code >= CHECK_COUNT(outcomes)) {
        die("no code");
    }
    decision.outcome = outcomes[code];
    decision.retry_after_ns = retry;
    if (code == 0 && by_ns != UINT64_MAX && delay > within && delay - within < UINT64_MAX - retry) {
        decision.retry_after_ns += delay - within;
    }
    decision.notes = code == 4 ? RATECELL_NO_PLACE : 0;
    return decision;
}

static int32_t kind_of(const char *name) {
    static const struct {
        const char *name;
        int32_t kind;
    } kinds[] = {
        { "arrive", RATECELL_WAIT_ARRIVE }, { "answer", RATECELL_WAIT_ANSWER }, { "timer", RATECELL_WAIT_TIMER },
        { "cancel", RATECELL_WAIT_CANCEL }, { "changed", RATECELL_WAIT_CHANGED }, { "policy", RATECELL_WAIT_POLICY },
        { "close", RATECELL_WAIT_CLOSE }, { "ask", RATECELL_WAIT_ASK }, { "finish", RATECELL_WAIT_FINISH },
        { "give_back", RATECELL_WAIT_GIVE_BACK },
    };
    for (size_t i = 0; i < CHECK_COUNT(kinds); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return kinds[i].kind;
        }
    }
    die("no such event or action");
    return 0;
}

static uint32_t outcome_of(const char *name) {
    static const char *const names[] = { "go", "late", "never", "clock_range", "busy", "cancelled", "closed" };
    for (uint32_t i = 0; i < CHECK_COUNT(names); i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    die("no such outcome");
    return 0;
}

static int is_action(const ratecell_wait_action *got, json_object *expected) {
    int32_t kind = kind_of(json_object_get_string(at(expected, 0)));
    uint64_t id = number(at(expected, 1));
    uint32_t outcome = 0;
    uint64_t by_ns = UINT64_MAX, at_ns = UINT64_MAX;
    if (kind == RATECELL_WAIT_ASK) {
        by_ns = number(at(expected, 2));
    } else if (kind == RATECELL_WAIT_FINISH) {
        outcome = outcome_of(json_object_get_string(at(expected, 2)));
        at_ns = number(at(expected, 3));
    }
    return got->kind == (uint32_t)kind && got->id == id && got->outcome == outcome && got->by_ns == by_ns &&
           got->at_ns == at_ns;
}

/* Hands an event in with room for so many actions at a time, and takes all of them. */
static size_t actions_of(ratecell_waiting *waiting, const ratecell_wait_event *event, size_t room, uint64_t *next_ns) {
    size_t taken = 0;
    for (;;) {
        int32_t count = ratecell_waiting_event(waiting, event, actions + taken, room, next_ns);
        if (count < 0) {
            die(ratecell_strerror(count));
        }
        if ((size_t)count <= room) {
            return taken + (size_t)count;
        }
        taken += room;
        event = NULL;
        if (taken + room > MOST_ACTIONS) {
            die("more actions than there is room for");
        }
    }
}

static void replay_row(ratecell_waiting *waiting, json_object *row, const char *line, size_t room) {
    ratecell_wait_event event = { 0, 0, 0, 0, NULL, 0, 0, NULL, NULL };
    ratecell_waiting_parameters parameters = RATECELL_WAITING_PARAMETERS_INIT;
    ratecell_decision decision;
    const size_t columns = json_object_array_length(row);
    json_object *expected = at(row, columns - 2), *key = NULL;
    uint64_t next_ns = 0;
    int holds;
    event.kind = (uint32_t)kind_of(json_object_get_string(at(row, 0)));
    event.now_ns = number(at(row, 1));
    event.id = number(at(row, 2));
    switch (event.kind) {
    case RATECELL_WAIT_ARRIVE:
        key = at(row, 3);
        event.cost = (uint32_t)number(at(row, 4));
        event.by_ns = number(at(row, 5));
        break;
    case RATECELL_WAIT_ANSWER:
        event.by_ns = asked_by[event.id % IDS];
        decision = decided(number(at(row, 3)), number(at(row, 4)), number(at(row, 5)), event.by_ns, event.now_ns);
        event.decision = &decision;
        break;
    case RATECELL_WAIT_CHANGED:
        key = at(row, 2);
        break;
    case RATECELL_WAIT_POLICY:
        parameters.capacity = at(row, 2) == NULL ? 0 : number(at(row, 2));
        read_pace(&parameters, at(row, 3));
        event.parameters = &parameters;
        break;
    default:
        break;
    }
    if (key != NULL) {
        event.key = json_object_get_string(key);
        event.key_len = (size_t)json_object_get_string_len(key);
    }
    size_t count = actions_of(waiting, &event, room, &next_ns);
    holds = count == json_object_array_length(expected) && next_ns == number(at(row, columns - 1));
    for (size_t i = 0; i < count; i++) {
        holds = holds && is_action(&actions[i], at(expected, i));
        if (actions[i].kind == RATECELL_WAIT_ASK) {
            asked_by[actions[i].id % IDS] = actions[i].by_ns;
        }
    }
    replay.passed += holds != 0;
    replay.failed += holds == 0;
    if (!holds && replay.failed <= FAILURES_SHOWN) {
        printf("waiting.jsonl:%lu: expected %s, got %zu actions, next %llu\n", replay.line, line, count,
               (unsigned long long)next_ns);
    }
}

static void replay_file(const char *path, size_t room) {
    FILE *file = fopen(path, "r");
    ratecell_waiting *waiting = NULL;
    char *line = NULL;
    size_t size = 0;
    replay.line = 0;
    if (file == NULL) {
        die("cannot be read");
    }
    while (getline(&line, &size, file) > 0) {
        json_object *value = json_tokener_parse(line);
        replay.line += 1;
        if (replay.line == 1) {
            if (number_of(value, "ratecell_vectors") != 3) {
                die("not a file of vectors of its version");
            }
        } else if (json_object_is_type(value, json_type_array)) {
            replay_row(waiting, value, line, room);
        } else {
            ratecell_waiting_free(waiting);
            waiting = machine(value);
        }
        json_object_put(value);
    }
    ratecell_waiting_free(waiting);
    free(line);
    fclose(file);
}

int main(int argc, char **argv) {
    char path[4096];
    if (argc != 2) {
        fprintf(stderr, "usage: vectors_waiting DIR\n");
        return EXIT_FAILURE;
    }
    snprintf(path, sizeof path, "%s/edges/waiting.jsonl", argv[1]);
    replay_file(path, MOST_ACTIONS);
    /* One action at a time: what does not fit comes with the next call. */
    replay_file(path, 1);
    printf("%lu passed, %lu failed\n", replay.passed, replay.failed);
    return replay.passed > 0 && replay.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
