/* RATECELL_NEXT under every algorithm: one unit more than remaining passes after next_ns, and not 1 ns earlier. And
 * RATECELL_NO_PLACE. */

#include "ask.h"
#include "check.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)

static const char *const policies[] = {
    "5/s burst=20", "10/w", "7/1d burst=6 heal=1h", "3/s burst=7", "1/3s",
    "token_bucket 5/1s capacity=10", "token_bucket 5/1s capacity=10 mode=interval",
    "token_bucket 4/1m capacity=12 mode=interval_first", "leaky_meter 3/s capacity=7", "leaky_queue 10/s queue=20",
    "sliding_window 20/1s", "sliding_window 9/1m strict=true", "sliding_log 20/1s", "fixed_window 20/1m offset=17s",
    "fixed_window 20/1m start=first", "5/s burst=20 & fixed_window 30/1s & sliding_log 25/1s",
};

/* What a check of `cost` would say at an instant of a key as it is now. */
static int32_t would_be(const ratecell_limiter *limiter, uint32_t cost, uint64_t now_ns) {
    ratecell_decision peek;
    int32_t status = ratecell_limiter_check_at(limiter, "key", 3, 0, now_ns, &peek);
    if (status != RATECELL_ALLOWED) {
        return status;
    }
    return cost <= peek.remaining ? RATECELL_ALLOWED : RATECELL_DENIED;
}

static void one_more_passes_then_and_not_before(const char *policy) {
    ratecell_limiter *limiter = LIMITER(policy);
    uint64_t now = 100 * SECOND;
    uint32_t state = 1, some = 0, none = 0;
    for (int i = 0; i < 300; i++) {
        ratecell_decision decision, plain;
        state = state * 1664525 + 1013904223;
        uint32_t cost = (state >> 8) % 4;
        check_case("%s, request %d", policy, i);
        now += (state >> 12) % 5 * SECOND / 7 + (state >> 20) % 3;
        int32_t status = ask_next_at(limiter, "key", 3, cost, now, &decision);
        CHECK(status >= RATECELL_ALLOWED && status <= RATECELL_NEVER);
        /* The rest is as without the flag. */
        CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 0, now, &plain), RATECELL_ALLOWED);
        CHECK_U64(plain.next_ns, 0);
        CHECK_U64(decision.remaining, plain.remaining);
        CHECK_U64(decision.limit, plain.limit);
        CHECK_U64(decision.reset_after_ns, plain.reset_after_ns);
        if (decision.next_ns == 0) {
            /* The key is full of what it can have. */
            none += 1;
            CHECK(would_be(limiter, (uint32_t)decision.remaining + 1, now + 1000000 * SECOND) == RATECELL_DENIED);
            continue;
        }
        some += 1;
        uint32_t more = (uint32_t)decision.remaining + 1;
        CHECK_STATUS(would_be(limiter, more, now + decision.next_ns), RATECELL_ALLOWED);
        CHECK_STATUS(would_be(limiter, more, now + decision.next_ns - 1), RATECELL_DENIED);
    }
    check_case("%s: both occur", policy);
    CHECK(some > 0);
    (void)none;
    ratecell_limiter_free(limiter);
}

static void a_key_as_new_has_no_next(const char *policy) {
    ratecell_limiter *limiter = LIMITER(policy);
    ratecell_decision decision;
    check_case("%s, as new", policy);
    CHECK_STATUS(ask_next_at(limiter, "key", 3, 0, 100 * SECOND, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.next_ns, 0);
    CHECK(ask_next_at(limiter, "key", 3, 0, UINT64_MAX, &decision) >= 0);
    CHECK_U64(decision.next_ns, 0);
    ratecell_limiter_free(limiter);
}

static void a_full_table_has_no_place(uint64_t when_full) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    ratecell_stats stats;
    uint64_t noted = 0;
    config.max_keys = 1;
    config.when_full = when_full;
    ratecell_limiter *limiter = LIMITER_WITH("10/w", &config);
    check_case("a full table, %u", (unsigned)when_full);
    for (uint64_t key = 0; key < 100; key++) {
        ratecell_decision decision;
        CHECK(ratecell_limiter_check_at(limiter, &key, sizeof key, 4, 0, &decision) >= 0);
        CHECK((decision.notes & ~(uint32_t)RATECELL_NO_PLACE) == 0);
        if (decision.notes != 0) {
            noted += 1;
            CHECK_STATUS(decision.outcome, RATECELL_DENIED);
        }
    }
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, 0, &stats, sizeof stats), 0);
    CHECK_U64(noted, stats.denied_full);
    CHECK_U64(noted > 0, when_full == RATECELL_FULL_DENY);
    check_case("a denial by the policy, %u", (unsigned)when_full);
    for (uint64_t key = 0; key < 100 && when_full == RATECELL_FULL_DENY; key++) {
        ratecell_decision peek, decision;
        CHECK_STATUS(ratecell_limiter_check_at(limiter, &key, sizeof key, 0, 0, &peek), RATECELL_ALLOWED);
        CHECK_STATUS(ratecell_limiter_check_at(limiter, &key, sizeof key, 8, 0, &decision), RATECELL_DENIED);
        CHECK_U64(decision.notes, peek.remaining == 10 ? RATECELL_NO_PLACE : 0);
    }
    ratecell_limiter_free(limiter);
}

int main(void) {
    for (size_t i = 0; i < CHECK_COUNT(policies); i++) {
        one_more_passes_then_and_not_before(policies[i]);
        a_key_as_new_has_no_next(policies[i]);
    }
    for (uint64_t when_full = 0; when_full < 4; when_full++) {
        a_full_table_has_no_place(when_full);
    }
    return CHECK_END();
}
