/* What was spent already: ratecell_limiter_charge fills a key, never beyond the brim, under every algorithm. */

#include "ask.h"
#include "check.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)

static const struct {
    const char *policy;
    uint64_t capacity;
} policies[] = {
    { "5/s burst=20", 20 },
    { "10/w", 10 },
    { "7/1d burst=6 heal=1h", 6 },
    { "token_bucket 5/1s capacity=10 mode=interval", 10 },
    { "token_bucket 4/1m capacity=12 mode=interval_first", 12 },
    { "leaky_meter 3/s capacity=7", 7 },
    { "leaky_queue 10/s queue=20", 21 },
    { "sliding_window 20/1s", 20 },
    { "sliding_window 9/1m strict=true", 9 },
    { "sliding_log 20/1s", 20 },
    { "fixed_window 20/1m offset=17s", 20 },
    { "fixed_window 20/1m start=first", 20 },
};

/* Charges, and has its answer be a peek's. What remains afterwards. */
static uint64_t charged(const ratecell_limiter *limiter, uint32_t cost, uint64_t now) {
    ratecell_decision decision, peek;
    UNTOUCHED(decision);
    int32_t status = ask_charge_at(limiter, "key", 3, cost, now, &decision);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 0, now, &peek), status);
    CHECK_STATUS(decision.outcome, status);
    CHECK_DECISION(decision, peek);
    CHECK_STATUS(status, RATECELL_ALLOWED);
    return decision.remaining;
}

static void charged_units_are_as_checked_ones(const char *policy, uint64_t capacity) {
    static const uint32_t costs[] = { 0, 1, 3, 0, 2, 100, 1, UINT32_MAX, 0 };
    ratecell_limiter *limiter = LIMITER(policy);
    ratecell_limiter *twin = LIMITER(policy);
    uint64_t left = capacity, now = 3 * SECOND;
    check_case("%s", policy);
    CHECK_STATUS(ratecell_limiter_forget(limiter, "key", 3), 1);
    for (size_t i = 0; i < CHECK_COUNT(costs); i++) {
        uint32_t room = (uint32_t)(costs[i] < left ? costs[i] : left);
        ratecell_decision ours, theirs;
        check_case("%s, %u units of which %u have room", policy, (unsigned)costs[i], (unsigned)room);
        /* At a cost that has room, a check of it; else a check of all that is left. */
        CHECK_STATUS(ratecell_limiter_check_at(twin, "key", 3, room, now, NULL), RATECELL_ALLOWED);
        left -= room;
        CHECK_U64(charged(limiter, costs[i], now), left);
        for (uint64_t later = now; later < now + 7200 * SECOND; later += later / 7 + 1) {
            CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 0, later, &ours), RATECELL_ALLOWED);
            CHECK_STATUS(ratecell_limiter_check_at(twin, "key", 3, 0, later, &theirs), RATECELL_ALLOWED);
            CHECK_DECISION(ours, theirs);
        }
    }
    ratecell_decision denied, same;
    check_case("%s, full", policy);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, now, &denied), RATECELL_DENIED);
    CHECK_STATUS(ratecell_limiter_check_at(twin, "key", 3, 1, now, &same), RATECELL_DENIED);
    CHECK_DECISION(denied, same);
    /* Full is no fuller by another charge, so it is allowed when it was said to be. */
    CHECK_U64(charged(limiter, 7, now), 0);
    uint64_t due = now + denied.retry_after_ns;
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, due - 1, NULL), RATECELL_DENIED);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, due, NULL), RATECELL_ALLOWED);
    ratecell_limiter_free(limiter);
    ratecell_limiter_free(twin);
}

/* Each layer is filled to its own brim, as a limiter of that layer alone. */
static void every_layer_is_filled(void) {
    static const char *const layers[] = { "5/s burst=20", "fixed_window 30/1s", "sliding_log 25/1s" };
    static const uint32_t costs[] = { 3, 0, 14, 6, 4, 100, UINT32_MAX, 1 };
    ratecell_limiter *limiter = LIMITER("5/s burst=20 & fixed_window 30/1s & sliding_log 25/1s");
    ratecell_limiter *alone[CHECK_COUNT(layers)];
    for (size_t i = 0; i < CHECK_COUNT(layers); i++) {
        alone[i] = LIMITER(layers[i]);
    }
    for (size_t i = 0; i < CHECK_COUNT(costs); i++) {
        uint64_t now = i * SECOND / 5;
        check_case("layers, charge %zu", i);
        charged(limiter, costs[i], now);
        for (size_t j = 0; j < CHECK_COUNT(layers); j++) {
            charged(alone[j], costs[i], now);
        }
        for (uint64_t later = now; later < now + 10 * SECOND; later += SECOND / 7) {
            ratecell_decision all, one;
            uint64_t least = UINT64_MAX, reset = 0;
            CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 0, later, &all), RATECELL_ALLOWED);
            for (size_t j = 0; j < CHECK_COUNT(layers); j++) {
                CHECK_STATUS(ratecell_limiter_check_at(alone[j], "key", 3, 0, later, &one), RATECELL_ALLOWED);
                least = one.remaining < least ? one.remaining : least;
                reset = one.reset_after_ns > reset ? one.reset_after_ns : reset;
            }
            CHECK_U64(all.remaining, least);
            CHECK_U64(all.reset_after_ns, reset);
        }
    }
    for (size_t i = 0; i < CHECK_COUNT(layers); i++) {
        ratecell_limiter_free(alone[i]);
    }
    ratecell_limiter_free(limiter);
}

/* Between two units a part of one drains, and is filled, too: never more than the whole. */
static void a_part_of_a_unit_is_at_most_filled(void) {
    ratecell_limiter *limiter = LIMITER("10/s burst=4");
    ratecell_decision decision;
    check_case("parts of a unit");
    CHECK_U64(charged(limiter, 4, 0), 0);
    CHECK_U64(charged(limiter, 1, SECOND / 20), 0);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, SECOND / 20, &decision), RATECELL_DENIED);
    CHECK_U64(decision.retry_after_ns, SECOND / 10);
    CHECK_U64(decision.reset_after_ns, 4 * SECOND / 10);
    ratecell_limiter_free(limiter);
}

static void what_cannot_be_decided_is_not_charged(void) {
    ratecell_limiter *limiter = LIMITER("5/s burst=10");
    ratecell_decision decision;
    check_case("past the clock's range");
    CHECK_STATUS(ask_charge_at(limiter, "key", 3, 5, UINT64_MAX, &decision), RATECELL_CLOCK_RANGE);
    CHECK_STATUS(decision.outcome, RATECELL_CLOCK_RANGE);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 0, 0, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 10);
    check_case("after a step back of the clock");
    CHECK_STATUS(ask_charge_at(limiter, "key", 3, 10, 100 * SECOND, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ask_charge_at(limiter, "key", 3, 10, 10 * SECOND, &decision), RATECELL_DENIED);
    CHECK_U64(decision.remaining, 0);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 0, 101 * SECOND, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 5);
    ratecell_limiter_free(limiter);
}

/* By the limiter's own clock, and a key without room. */
static void the_rest_of_the_contract(void) {
    ratecell_limiter *limiter = LIMITER("fixed_window 8/1w start=first");
    ratecell_config config = RATECELL_CONFIG_INIT;
    ratecell_decision decision;
    check_case("by the clock");
    CHECK_STATUS(ask_charge(limiter, "key", 3, 3, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 5);
    CHECK_STATUS(ratecell_limiter_check(limiter, "key", 3, 6, NULL), RATECELL_DENIED);
    CHECK_STATUS(ask_charge(limiter, "key", 3, 6, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check(limiter, "key", 3, 1, &decision), RATECELL_DENIED);
    CHECK_U64(decision.remaining, 0);
    CHECK_STATUS(ask_charge(limiter, NULL, 0, 8, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 0);
    ratecell_limiter_free(limiter);

    config.max_keys = 1;
    for (config.when_full = 0; config.when_full < 4; config.when_full++) {
        check_case("without room, %u", (unsigned)config.when_full);
        limiter = LIMITER_WITH("10/w", &config);
        for (uint64_t key = 0; key < 100; key++) {
            int32_t status = ask_charge_at(limiter, &key, sizeof key, 4, 0, &decision);
            CHECK(status == RATECELL_ALLOWED ||
                  (config.when_full == RATECELL_FULL_DENY && status == RATECELL_DENIED));
            CHECK(decision.remaining <= 10 && decision.limit == 10);
        }
        ratecell_limiter_free(limiter);
    }
}

int main(void) {
    for (size_t i = 0; i < CHECK_COUNT(policies); i++) {
        charged_units_are_as_checked_ones(policies[i].policy, policies[i].capacity);
    }
    every_layer_is_filled();
    a_part_of_a_unit_is_at_most_filled();
    what_cannot_be_decided_is_not_charged();
    the_rest_of_the_contract();
    return CHECK_END();
}
