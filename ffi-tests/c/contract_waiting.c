/* The machine that says when to ask again: what an event is answered by, every bad argument, and a limiter that is
 * driven by it. */

#include "check.h"

#include <string.h>

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define NONE UINT64_MAX
#define ROOM 8

static const ratecell_wait_event blank = { 0, 0, 0, 0, NULL, 0, UINT64_MAX, NULL, NULL };

static ratecell_waiting *machine(const ratecell_waiting_parameters *parameters) {
    ratecell_waiting *waiting = NULL;
    CHECK_STATUS(ratecell_waiting_new(parameters, &waiting), 0);
    CHECK(waiting != NULL);
    return waiting;
}

static ratecell_wait_event event(uint32_t kind, uint64_t now_ns, uint64_t id) {
    ratecell_wait_event event = blank;
    event.kind = kind;
    event.now_ns = now_ns;
    event.id = id;
    return event;
}

static ratecell_wait_event arrival(uint64_t now_ns, uint64_t id, const char *key, uint32_t cost, uint64_t by_ns) {
    ratecell_wait_event arrival = event(RATECELL_WAIT_ARRIVE, now_ns, id);
    arrival.key = key;
    arrival.key_len = strlen(key);
    arrival.cost = cost;
    arrival.by_ns = by_ns;
    return arrival;
}

static void is_ask(const ratecell_wait_action *action, uint64_t id, uint64_t by_ns) {
    CHECK_U64(action->kind, RATECELL_WAIT_ASK);
    CHECK_U64(action->id, id);
    CHECK_U64(action->by_ns, by_ns);
    CHECK_U64(action->at_ns, NONE);
    CHECK_U64(action->outcome, 0);
}

static void is_finish(const ratecell_wait_action *action, uint64_t id, uint32_t outcome, uint64_t at_ns) {
    CHECK_U64(action->kind, RATECELL_WAIT_FINISH);
    CHECK_U64(action->id, id);
    CHECK_U64(action->outcome, outcome);
    CHECK_U64(action->at_ns, at_ns);
    CHECK_U64(action->by_ns, NONE);
}

/* A driver with a limiter: performs the asks of an event at its instant, and counts them. */
struct driver {
    ratecell_limiter *limiter;
    ratecell_waiting *waiting;
    const char *key;
    uint32_t costs[16];
    unsigned asks;
    uint64_t next_ns;
    /* In the order of their ends. */
    ratecell_wait_action finished[16];
    size_t finished_count;
};

/* A request within by_ns - now_ns. */
static ratecell_decision ask(const struct driver *driver, uint32_t cost, uint64_t by_ns, uint64_t now_ns) {
    ratecell_request request = { 0 };
    ratecell_decision decision;
    request.key = driver->key;
    request.key_len = strlen(driver->key);
    request.cost = cost;
    request.now_ns = now_ns;
    request.flags = RATECELL_AT;
    if (by_ns != NONE) {
        request.max_delay_ns = by_ns - now_ns;
        request.flags |= RATECELL_WITHIN;
    }
    CHECK(ratecell_limiter_decide(driver->limiter, &request, &decision) >= 0);
    return decision;
}

static void drive(struct driver *driver, ratecell_wait_event given) {
    ratecell_wait_action action;
    int32_t left = ratecell_waiting_event(driver->waiting, &given, &action, 1, &driver->next_ns);
    while (left > 0) {
        if (action.kind == RATECELL_WAIT_ASK) {
            ratecell_decision decision =
                ask(driver, driver->costs[action.id % CHECK_COUNT(driver->costs)], action.by_ns, given.now_ns);
            ratecell_wait_event answer = event(RATECELL_WAIT_ANSWER, given.now_ns, action.id);
            answer.by_ns = action.by_ns;
            answer.decision = &decision;
            driver->asks += 1;
            left = ratecell_waiting_event(driver->waiting, &answer, &action, 1, &driver->next_ns);
            continue;
        }
        if (action.kind == RATECELL_WAIT_FINISH && driver->finished_count < CHECK_COUNT(driver->finished)) {
            driver->finished[driver->finished_count++] = action;
        }
        left = ratecell_waiting_event(driver->waiting, NULL, &action, 1, &driver->next_ns);
    }
    CHECK_STATUS(left, 0);
}

static void arrive(struct driver *driver, uint64_t now_ns, uint64_t id, uint32_t cost, uint64_t by_ns) {
    driver->costs[id % CHECK_COUNT(driver->costs)] = cost;
    drive(driver, arrival(now_ns, id, driver->key, cost, by_ns));
}

/* Another takes units beside the line, if they are there. */
static void take(const struct driver *driver, uint32_t cost, uint64_t now_ns) {
    CHECK(ratecell_limiter_check_at(driver->limiter, driver->key, strlen(driver->key), cost, now_ns, NULL) >= 0);
}

static struct driver driver_of(const char *policy) {
    struct driver driver = { 0 };
    ratecell_waiting_parameters parameters = RATECELL_WAITING_PARAMETERS_INIT;
    driver.limiter = LIMITER(policy);
    driver.key = "key";
    parameters.limiter = driver.limiter;
    driver.waiting = machine(&parameters);
    return driver;
}

static void end_driver(struct driver *driver) {
    ratecell_waiting_free(driver->waiting);
    ratecell_limiter_free(driver->limiter);
}

/* A large cost stands before small ones that have less time: none passes it, and each is asked for at most twice. */
static void none_passes_the_first(void) {
    struct driver driver = driver_of("10/s burst=10");
    check_case("a large cost and newcomers");
    take(&driver, 10, 0);
    arrive(&driver, 0, 1, 10, NONE);
    CHECK_U64(driver.next_ns, SECOND);
    CHECK_U64(driver.asks, 1);
    for (uint64_t id = 2; id < 8; id++) {
        /* One unit would be there in time, but it is the first one's. */
        arrive(&driver, 100 * MS * id, id, 1, 100 * MS * id + 150 * MS);
    }
    /* Of each it is known at once: 10 units of the first, and then its own. */
    CHECK_U64(driver.asks, 1);
    CHECK_U64(driver.finished_count, 6);
    for (size_t i = 0; i < driver.finished_count; i++) {
        is_finish(&driver.finished[i], i + 2, RATECELL_WAIT_LATE, SECOND + 100 * MS);
    }
    arrive(&driver, 900 * MS, 8, 1, SECOND + 100 * MS);
    drive(&driver, event(RATECELL_WAIT_TIMER, SECOND, 0));
    is_finish(&driver.finished[6], 1, RATECELL_WAIT_GO, NONE);
    CHECK_U64(driver.next_ns, SECOND + 100 * MS);
    drive(&driver, event(RATECELL_WAIT_TIMER, SECOND + 100 * MS, 0));
    is_finish(&driver.finished[7], 8, RATECELL_WAIT_GO, NONE);
    CHECK_U64(driver.asks, 4);
    CHECK_U64(driver.next_ns, NONE);
    end_driver(&driver);
}

/* Others take each unit at the very instant at which the first may have it: it does not spin. */
static void a_beaten_first_pauses(void) {
    struct driver driver = driver_of("1000000/s burst=1");
    check_case("others take the units");
    take(&driver, 1, 0);
    arrive(&driver, 0, 1, 1, 100 * MS);
    while (driver.finished_count == 0) {
        take(&driver, 1, driver.next_ns);
        drive(&driver, event(RATECELL_WAIT_TIMER, driver.next_ns, 0));
    }
    /* 100,000 units were there; a first asks once in min_pause_ns. */
    CHECK(driver.asks >= 90 && driver.asks <= 102);
    CHECK_U64(driver.finished[0].outcome, RATECELL_WAIT_LATE);
    end_driver(&driver);
}

/* A queue: who goes by the deadline is charged at once and held; who goes one nanosecond after it is refused at once. */
static void a_queue_holds(void) {
    struct driver driver = driver_of("leaky_queue 10/s queue=5");
    check_case("a queue");
    arrive(&driver, 0, 1, 1, NONE);
    arrive(&driver, 0, 2, 1, NONE);
    arrive(&driver, 0, 3, 1, 200 * MS);
    arrive(&driver, 0, 4, 1, 300 * MS - 1);
    CHECK_U64(driver.asks, 4);
    CHECK_U64(driver.finished_count, 2);
    is_finish(&driver.finished[0], 1, RATECELL_WAIT_GO, NONE);
    is_finish(&driver.finished[1], 4, RATECELL_WAIT_LATE, 300 * MS);
    while (driver.next_ns != NONE) {
        drive(&driver, event(RATECELL_WAIT_TIMER, driver.next_ns, 0));
    }
    CHECK_U64(driver.finished_count, 4);
    is_finish(&driver.finished[2], 2, RATECELL_WAIT_GO, NONE);
    is_finish(&driver.finished[3], 3, RATECELL_WAIT_GO, NONE);
    CHECK_U64(driver.asks, 4);
    end_driver(&driver);
}

/* A full table that denies says nothing of the policy: the first asks again when a place may come free. */
static void a_full_table_is_asked_again(void) {
    ratecell_waiting *waiting = machine(NULL);
    ratecell_wait_action actions[ROOM];
    ratecell_decision denied = { 1, 0, UINT64_MAX, 0, 0, RATECELL_DENIED, 0, 0, 0, RATECELL_NO_PLACE };
    ratecell_wait_event given = arrival(0, 1, "a", 1, NONE);
    uint64_t next_ns;
    check_case("a full table");
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 1);
    given = event(RATECELL_WAIT_ANSWER, 0, 1);
    given.decision = &denied;
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 0);
    CHECK_U64(next_ns, 100 * MS);
    ratecell_waiting_free(waiting);
}

static void each_kind_is_taken_in(void) {
    ratecell_waiting *waiting = machine(NULL);
    ratecell_wait_action actions[ROOM];
    ratecell_wait_event given = arrival(5, 1, "a", 1, NONE);
    ratecell_decision denied = { 1, 0, 7, 7, 0, RATECELL_DENIED, 0, 0, 0, 0 };
    ratecell_limiter *limiter = LIMITER("1/s burst=2");
    ratecell_waiting_parameters policy = RATECELL_WAITING_PARAMETERS_INIT;
    uint64_t next_ns;
    check_case("each kind of event");
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 1);
    is_ask(&actions[0], 1, NONE);
    CHECK_U64(next_ns, NONE);
    given = event(RATECELL_WAIT_ANSWER, 5, 1);
    given.decision = &denied;
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 0);
    CHECK_U64(next_ns, 12);
    given = arrival(6, 2, "a", 3, NONE);
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, NULL, 0, NULL), 0);
    /* Somebody gave units back: the first is asked for again. */
    given = event(RATECELL_WAIT_CHANGED, 7, 0);
    given.key = "a";
    given.key_len = 1;
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 1);
    is_ask(&actions[0], 1, NONE);
    given = event(RATECELL_WAIT_ANSWER, 7, 1);
    given.decision = &denied;
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, NULL, 0, NULL), 0);
    /* Another policy, which can never admit the second. */
    policy.limiter = limiter;
    given = event(RATECELL_WAIT_POLICY, 8, 0);
    given.parameters = &policy;
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 2);
    is_finish(&actions[0], 2, RATECELL_WAIT_NEVER, NONE);
    is_ask(&actions[1], 1, NONE);
    given = event(RATECELL_WAIT_ANSWER, 8, 1);
    given.decision = &denied;
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 0);
    given = event(RATECELL_WAIT_CANCEL, 9, 1);
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 1);
    is_finish(&actions[0], 1, RATECELL_WAIT_CANCELLED, NONE);
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 0);
    given = event(RATECELL_WAIT_CLOSE, 9, 0);
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 0);
    given = arrival(10, 3, "", 1, NONE);
    given.key = NULL;
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 1);
    is_finish(&actions[0], 3, RATECELL_WAIT_CLOSED, NONE);
    ratecell_waiting_free(waiting);
    ratecell_limiter_free(limiter);
}

/* An answer within what the ask allowed: the time by which the delay is too long is no part of the policy's wait. */
static void a_refusal_within_a_delay(void) {
    ratecell_waiting *waiting = machine(NULL);
    ratecell_wait_action actions[ROOM];
    ratecell_decision denied = { 1, 0, 130, 7, 70, RATECELL_DENIED, 0, 0, 0, 0 };
    ratecell_wait_event given = arrival(1000, 1, "a", 1, 1040);
    uint64_t next_ns;
    check_case("within a delay");
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 1);
    is_ask(&actions[0], 1, 1040);
    given = event(RATECELL_WAIT_ANSWER, 1000, 1);
    given.by_ns = 1040;
    given.decision = &denied;
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 1);
    /* Admitted after 130 - (70 - 40), and then delayed by 70. */
    is_finish(&actions[0], 1, RATECELL_WAIT_LATE, 1170);
    ratecell_waiting_free(waiting);
}

static void what_does_not_fit_is_handed_out_by_the_next_call(void) {
    ratecell_waiting *waiting = machine(NULL);
    ratecell_wait_action actions[3];
    ratecell_wait_event given;
    uint64_t next_ns;
    check_case("little room");
    for (uint64_t id = 1; id <= 3; id++) {
        const char *const keys[] = { "a", "b", "c" };
        given = arrival(0, id, keys[id - 1], 1, NONE);
        CHECK_STATUS(ratecell_waiting_event(waiting, &given, NULL, 0, &next_ns), (int32_t)id);
    }
    UNTOUCHED(actions);
    CHECK_STATUS(ratecell_waiting_event(waiting, NULL, actions, 1, NULL), 3);
    is_ask(&actions[0], 1, NONE);
    CHECK_UNTOUCHED(actions[1]);
    given = arrival(0, 4, "d", 0, NONE);
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, 2, NULL), 3);
    is_ask(&actions[0], 2, NONE);
    is_ask(&actions[1], 3, NONE);
    CHECK_STATUS(ratecell_waiting_event(waiting, NULL, actions, 3, NULL), 1);
    is_finish(&actions[0], 4, RATECELL_WAIT_GO, NONE);
    CHECK_STATUS(ratecell_waiting_event(waiting, NULL, actions, 3, NULL), 0);
    ratecell_waiting_free(waiting);
}

/* A bad event is refused, and changes nothing: the good one after it is answered as if it had not been. */
static void refused(ratecell_waiting *waiting, const char *what, ratecell_wait_event bad, int32_t status) {
    ratecell_wait_action actions[ROOM];
    uint64_t next_ns;
    check_case("%s", what);
    bad.now_ns = NONE;
    UNTOUCHED(actions);
    UNTOUCHED(next_ns);
    CHECK_STATUS(ratecell_waiting_event(waiting, &bad, actions, ROOM, &next_ns), status);
    CHECK_UNTOUCHED(actions);
    CHECK_UNTOUCHED(next_ns);
    CHECK_STATUS(ratecell_waiting_event(waiting, NULL, actions, ROOM, &next_ns), 0);
    CHECK_U64(next_ns, 12);
    ratecell_wait_event good = event(RATECELL_WAIT_TIMER, 11, 0);
    CHECK_STATUS(ratecell_waiting_event(waiting, &good, actions, ROOM, &next_ns), 0);
    CHECK_U64(next_ns, 12);
}

static void a_bad_event_is_refused(void) {
    ratecell_waiting *waiting = machine(NULL);
    ratecell_wait_action actions[ROOM];
    ratecell_decision denied = { 1, 0, 7, 7, 0, RATECELL_DENIED, 0, 0, 0, 0 }, no_outcome = denied, failed = denied;
    ratecell_waiting_parameters parameters = RATECELL_WAITING_PARAMETERS_INIT;
    ratecell_wait_event given = arrival(5, 1, "a", 1, NONE), bad;
    uint64_t next_ns;
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 1);
    given = event(RATECELL_WAIT_ANSWER, 5, 1);
    given.decision = &denied;
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 0);

    refused(waiting, "kind 0", event(0, 0, 1), RATECELL_EINVAL);
    refused(waiting, "kind 8", event(8, 0, 1), RATECELL_EINVAL);
    refused(waiting, "any kind", event(UINT32_MAX, 0, 1), RATECELL_EINVAL);
    refused(waiting, "an id that stands", arrival(0, 1, "b", 1, NONE), RATECELL_EINVAL);
    bad = arrival(0, 2, "a", 1, NONE);
    bad.key = NULL;
    refused(waiting, "key NULL", bad, RATECELL_EINVAL);
    bad = arrival(0, 2, "a", 1, NONE);
    bad.key_len = SIZE_MAX;
    refused(waiting, "key_len", bad, RATECELL_ESIZE);
    bad = event(RATECELL_WAIT_CHANGED, 0, 0);
    bad.key_len = 1;
    refused(waiting, "key NULL of a change", bad, RATECELL_EINVAL);
    bad.key = "a";
    bad.key_len = (size_t)PTRDIFF_MAX + 1;
    refused(waiting, "key_len of a change", bad, RATECELL_ESIZE);

    bad = event(RATECELL_WAIT_ANSWER, 0, 1);
    refused(waiting, "decision NULL", bad, RATECELL_EINVAL);
    bad.decision = &denied;
    refused(waiting, "an answer that was not asked for", bad, RATECELL_EINVAL);
    bad.id = 2;
    refused(waiting, "an answer to nobody", bad, RATECELL_EINVAL);
    bad.decision = (const ratecell_decision *)((const char *)&denied + 1);
    refused(waiting, "decision misaligned", bad, RATECELL_EALIGN);
    no_outcome.outcome = 4;
    bad.decision = &no_outcome;
    refused(waiting, "no outcome", bad, RATECELL_EINVAL);
    failed.outcome = RATECELL_EINVAL;
    bad.decision = &failed;
    refused(waiting, "an error", bad, RATECELL_EINVAL);

    bad = event(RATECELL_WAIT_POLICY, 0, 0);
    refused(waiting, "parameters NULL", bad, RATECELL_EINVAL);
    bad.parameters = (const ratecell_waiting_parameters *)((const char *)&parameters + 1);
    refused(waiting, "parameters misaligned", bad, RATECELL_EALIGN);
    parameters.size = 0;
    bad.parameters = &parameters;
    refused(waiting, "parameters without a size", bad, RATECELL_ESIZE);

    check_case("the call's pointers");
    given = event(RATECELL_WAIT_TIMER, 12, 0);
    const ratecell_wait_event *shifted = (const ratecell_wait_event *)((const char *)&given + 1);
    ratecell_wait_action *places = (ratecell_wait_action *)((char *)actions + 4);
    uint64_t *later = (uint64_t *)((char *)actions + 1);
    CHECK_STATUS(ratecell_waiting_event(NULL, &given, actions, ROOM, &next_ns), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_waiting_event((void *)((char *)waiting + 1), &given, actions, ROOM, &next_ns),
                 RATECELL_EALIGN);
    CHECK_STATUS(ratecell_waiting_event(waiting, shifted, actions, ROOM, &next_ns), RATECELL_EALIGN);
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, NULL, ROOM, &next_ns), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, places, 1, &next_ns), RATECELL_EALIGN);
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, SIZE_MAX, &next_ns), RATECELL_ESIZE);
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, later), RATECELL_EALIGN);
    /* None of them was taken in. */
    CHECK_STATUS(ratecell_waiting_event(waiting, &given, actions, ROOM, &next_ns), 1);
    is_ask(&actions[0], 1, NONE);
    ratecell_waiting_free(waiting);
}

static void made_of(const char *what, const ratecell_waiting_parameters *parameters, int32_t status) {
    ratecell_waiting *waiting;
    check_case("%s", what);
    UNTOUCHED(waiting);
    CHECK_STATUS(ratecell_waiting_new(parameters, &waiting), status);
    if (status == 0) {
        ratecell_waiting_free(waiting);
    } else {
        CHECK_UNTOUCHED(waiting);
    }
}

static void bad_parameters_are_refused(void) {
    const ratecell_waiting_parameters defaults = RATECELL_WAITING_PARAMETERS_INIT;
    struct {
        ratecell_waiting_parameters known;
        char newer[4096];
    } longer = { RATECELL_WAITING_PARAMETERS_INIT, { 0 } };
    ratecell_waiting_parameters given = defaults;
    ratecell_limiter *limiter = LIMITER("1/s");
    ratecell_waiting *waiting;

    made_of("defaults", &defaults, 0);
    made_of("NULL", NULL, 0);
    made_of("misaligned", (const ratecell_waiting_parameters *)((const char *)&defaults + 1), RATECELL_EALIGN);
    given.size = 0;
    made_of("size 0", &given, RATECELL_ESIZE);
    given.size = sizeof given - 1;
    made_of("size below the first version's", &given, RATECELL_ESIZE);
    longer.known.size = sizeof given + 8;
    made_of("a newer one's zeros", &longer.known, 0);
    longer.newer[7] = 1;
    made_of("a newer one's field", &longer.known, RATECELL_E2BIG);
    longer.newer[7] = 0;
    longer.known.size = 4096;
    made_of("the largest", &longer.known, 0);
    longer.known.size = 4097;
    made_of("larger than any", &longer.known, RATECELL_E2BIG);
    longer.known.size = SIZE_MAX;
    made_of("garbage", &longer.known, RATECELL_E2BIG);

    given = defaults;
    given.min_pause_ns = 0;
    made_of("min_pause_ns", &given, RATECELL_EINVAL);
    given = defaults;
    given.max_pause_ns = 0;
    made_of("max_pause_ns", &given, RATECELL_EINVAL);
    given = defaults;
    given.full_pause_ns = 0;
    made_of("full_pause_ns", &given, RATECELL_EINVAL);
    given = defaults;
    given.max_waiting = given.max_total = UINT64_MAX;
    made_of("no limit", &given, 0);
    given = defaults;
    given.limiter = limiter;
    made_of("a limiter", &given, 0);
    given.capacity = 1;
    made_of("a limiter and a capacity", &given, RATECELL_EINVAL);
    given.capacity = 0;
    given.pace_num = 1;
    made_of("a limiter and a pace", &given, RATECELL_EINVAL);
    given.pace_num = 0;
    given.pace_den = 1;
    made_of("a limiter and half a pace", &given, RATECELL_EINVAL);
    given.pace_den = 0;
    given.limiter = (const ratecell_limiter *)((const char *)limiter + 1);
    made_of("limiter misaligned", &given, RATECELL_EALIGN);

    check_case("the output");
    CHECK_STATUS(ratecell_waiting_new(NULL, NULL), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_waiting_new(NULL, (ratecell_waiting **)((char *)&waiting + 1)), RATECELL_EALIGN);
    ratecell_waiting_free(NULL);
    ratecell_waiting_free((ratecell_waiting *)((char *)&waiting + 1));
    ratecell_limiter_free(limiter);
}

int main(void) {
    none_passes_the_first();
    a_beaten_first_pauses();
    a_queue_holds();
    a_full_table_is_asked_again();
    each_kind_is_taken_in();
    a_refusal_within_a_delay();
    what_does_not_fit_is_handed_out_by_the_next_call();
    a_bad_event_is_refused();
    bad_parameters_are_refused();
    return CHECK_END();
}
