/* What a decision says: of every function that decides on one key, and of forget. */

#include "ask.h"
#include "check.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)

/* 5/s burst=10: a unit each 200 ms, 10 at one instant. */
#define POLICY "5/s burst=10"
#define UNIT (SECOND / 5)

/* A key of the two ways to name one. */
enum way { BY_BYTES, BY_HASH };

static int32_t check_at(const ratecell_limiter *limiter, enum way way, uint32_t cost, uint64_t now_ns,
                        ratecell_decision *decision) {
    return way == BY_BYTES ? ratecell_limiter_check_at(limiter, "key", 3, cost, now_ns, decision)
                           : ask_hash_at(limiter, 42, cost, now_ns, decision);
}

/* A request and the whole of its decision; one after the other on one key. */
static const struct {
    uint64_t now_ns;
    uint32_t cost;
    ratecell_decision decision;
} story[] = {
#define TOLD(outcome, remaining, retry, reset) { 10, remaining, retry, reset, 0, outcome, 0, 0, 0, 0 }
    { 0, 0, TOLD(RATECELL_ALLOWED, 10, 0, 0) },
    { 0, 1, TOLD(RATECELL_ALLOWED, 9, 0, UNIT) },
    { 0, 7, TOLD(RATECELL_ALLOWED, 2, 0, 8 * UNIT) },
    { 0, 3, TOLD(RATECELL_DENIED, 2, UNIT, 8 * UNIT) },
    { 0, 11, TOLD(RATECELL_NEVER, 2, UINT64_MAX, 8 * UNIT) },
    { 0, UINT32_MAX, TOLD(RATECELL_NEVER, 2, UINT64_MAX, 8 * UNIT) },
    { 0, 2, TOLD(RATECELL_ALLOWED, 0, 0, 10 * UNIT) },
    { 0, 1, TOLD(RATECELL_DENIED, 0, UNIT, 10 * UNIT) },
    { UNIT - 1, 1, TOLD(RATECELL_DENIED, 0, 1, 9 * UNIT + 1) },
    { UNIT, 1, TOLD(RATECELL_ALLOWED, 0, 0, 10 * UNIT) },
    { UINT64_MAX, 1, TOLD(RATECELL_CLOCK_RANGE, 0, UINT64_MAX, 0) },
    { 11 * UNIT, 0, TOLD(RATECELL_ALLOWED, 10, 0, 0) },
};

static void decisions_are_exact(enum way way) {
    ratecell_limiter *limiter = LIMITER(POLICY);
    for (size_t i = 0; i < CHECK_COUNT(story); i++) {
        ratecell_decision decision;
        check_case("%s, request %zu", way == BY_BYTES ? "by bytes" : "by hash", i);
        UNTOUCHED(decision);
        CHECK_STATUS(check_at(limiter, way, story[i].cost, story[i].now_ns, &decision),
                     story[i].decision.outcome);
        CHECK_DECISION(decision, story[i].decision);
    }
    ratecell_limiter_free(limiter);
}

/* The window ends 2^64 ns after the epoch: a wait of UINT64_MAX, which would read as never, is 1 ns less. */
static void a_wait_that_ends_is_not_never(void) {
    ratecell_limiter *limiter = LIMITER("fixed_window 3/4611686018427387904ns horizon=1s");
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 3, UINT64_C(14000000000000000000), NULL),
                 RATECELL_ALLOWED);
    for (uint64_t now = 0; now < 4; now++) {
        const uint64_t wait = now < 2 ? UINT64_MAX - 1 : UINT64_MAX - now + 1;
        const ratecell_decision told = { 3, 0, wait, wait, 0, RATECELL_DENIED, 0, 0, 0, 0 };
        ratecell_decision decision;
        check_case("at %d ns", (int)now);
        CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, now, &decision), RATECELL_DENIED);
        CHECK_DECISION(decision, told);
    }
    ratecell_limiter_free(limiter);
}

static void no_decision_need_be_written(void) {
    ratecell_limiter *limiter = LIMITER("2/w");
    check_case("no place for a decision");
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 2, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, NULL), RATECELL_DENIED);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 3, 0, NULL), RATECELL_NEVER);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 0, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 0, UINT64_MAX, NULL), RATECELL_CLOCK_RANGE);
    ratecell_limiter_free(limiter);
}

static void an_admitted_request_may_have_to_wait(void) {
    ratecell_limiter *limiter = LIMITER("leaky_queue 10/s queue=2");
    for (uint64_t i = 0; i < 4; i++) {
        ratecell_decision decision;
        int32_t expected = i < 3 ? RATECELL_ALLOWED : RATECELL_DENIED;
        check_case("leaky_queue, request %u", (unsigned)i);
        CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, &decision), expected);
        CHECK_U64(decision.delay_ns, i < 3 ? i * (SECOND / 10) : 0);
        CHECK_U64(decision.limit, 3);
    }
    ratecell_limiter_free(limiter);
}

static void the_layer_is_the_one_with_the_least_left(void) {
    ratecell_limiter *limiter = LIMITER("5/s & sliding_window 8/1h & fixed_window 6/1d");
    ratecell_decision decision;
    for (uint64_t i = 0; i < 5; i++) {
        check_case("layers, request %u", (unsigned)i);
        CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, &decision), RATECELL_ALLOWED);
        CHECK_U64(decision.layer, 0);
        CHECK_U64(decision.limit, 5);
        CHECK_U64(decision.remaining, 4 - i);
    }
    check_case("layers, a second later");
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, SECOND, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.layer, 2);
    CHECK_U64(decision.limit, 6);
    CHECK_U64(decision.remaining, 0);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, SECOND, &decision), RATECELL_DENIED);
    CHECK_U64(decision.layer, 2);
    CHECK_U64(decision.retry_after_ns, 86400 * SECOND - SECOND);
    /* None of the layers is charged by a denial. */
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 2, 86400 * SECOND, &decision),
                 RATECELL_ALLOWED);
    ratecell_limiter_free(limiter);
}

static void a_key_is_its_bytes(void) {
    static const struct {
        const void *key;
        size_t len;
    } keys[] = {
        { NULL, 0 }, { "", 1 }, { "a", 1 }, { "a", 2 }, { "ab", 2 }, { "a\0b", 3 }, { "a\0c", 3 },
        { "\xff\xfe", 2 }, { "b", 1 },
    };
    ratecell_limiter *limiter = LIMITER("1/w");
    for (size_t i = 0; i < CHECK_COUNT(keys); i++) {
        check_case("key %zu", i);
        CHECK_STATUS(ratecell_limiter_check_at(limiter, keys[i].key, keys[i].len, 1, 0, NULL),
                     RATECELL_ALLOWED);
        CHECK_STATUS(ratecell_limiter_check_at(limiter, keys[i].key, keys[i].len, 1, 0, NULL),
                     RATECELL_DENIED);
    }
    check_case("no bytes anywhere");
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "any", 0, 1, 0, NULL), RATECELL_DENIED);
    for (uint64_t hash = 0; hash < 4; hash++) {
        check_case("hash %u", (unsigned)hash);
        CHECK_STATUS(ask_hash_at(limiter, hash, 1, 0, NULL), RATECELL_ALLOWED);
        CHECK_STATUS(ask_hash_at(limiter, hash, 1, 0, NULL), RATECELL_DENIED);
    }
    ratecell_limiter_free(limiter);
}

static void what_reads_the_clock_decides_at_it(void) {
    /* A window that the first charge opens: none closes while a test runs. */
    ratecell_limiter *limiter = LIMITER("fixed_window 8/1w start=first");
    ratecell_decision decision;
    uint64_t now = 0;
    check_case("by the clock");
    CHECK_STATUS(ratecell_limiter_check(limiter, "key", 3, 0, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 8);
    CHECK_STATUS(ratecell_limiter_check(limiter, "key", 3, 3, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 5);
    CHECK_STATUS(ratecell_limiter_now(limiter, &now), 0);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 0, now, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 5);
    CHECK_STATUS(ratecell_limiter_check(limiter, "key", 3, 6, &decision), RATECELL_DENIED);
    CHECK_STATUS(ratecell_limiter_check(limiter, "key", 3, 9, &decision), RATECELL_NEVER);
    CHECK_STATUS(ask_hash(limiter, 1, 8, &decision), RATECELL_ALLOWED);
    CHECK_STATUS(ask_hash(limiter, 1, 1, &decision), RATECELL_DENIED);
    CHECK_STATUS(ratecell_limiter_check(limiter, "key", 3, 0, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 5);
    ratecell_limiter_free(limiter);
}

static void a_forgotten_key_is_new(const char *policy) {
    ratecell_limiter *limiter = LIMITER(policy);
    ratecell_decision decision;
    uint64_t now = 0;
    check_case("forget under %s", policy);
    CHECK_STATUS(ratecell_limiter_now(limiter, &now), 0);
    CHECK_STATUS(ratecell_limiter_forget(limiter, "key", 3), 1);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 2, now, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, NULL, 0, 2, now, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_forget(limiter, "other", 5), 1);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, now, NULL), RATECELL_DENIED);
    CHECK_STATUS(ratecell_limiter_forget(limiter, "key", 3), 0);
    CHECK_STATUS(ratecell_limiter_forget(limiter, "key", 3), 1);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 0, now, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 2);
    CHECK_U64(decision.reset_after_ns, 0);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, NULL, 0, 1, now, NULL), RATECELL_DENIED);
    CHECK_STATUS(ratecell_limiter_forget(limiter, NULL, 0), 0);
    ratecell_limiter_free(limiter);
}

int main(void) {
    decisions_are_exact(BY_BYTES);
    decisions_are_exact(BY_HASH);
    a_wait_that_ends_is_not_never();
    no_decision_need_be_written();
    an_admitted_request_may_have_to_wait();
    the_layer_is_the_one_with_the_least_left();
    a_key_is_its_bytes();
    what_reads_the_clock_decides_at_it();
    a_forgotten_key_is_new("2/w");
    a_forgotten_key_is_new("sliding_log 2/w");
    a_forgotten_key_is_new("2/w & fixed_window 3/w start=first");
    return CHECK_END();
}
