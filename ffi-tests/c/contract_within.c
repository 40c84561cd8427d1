/* A queue that is entered only where the delay is short enough: RATECELL_WITHIN. */

#include "ask.h"
#include "check.h"

#define MILLISECOND UINT64_C(1000000)

static void what_is_late_is_denied_and_not_charged(void) {
    ratecell_limiter *queue = LIMITER("leaky_queue 10/s queue=3");
    ratecell_decision decision;
    check_case("at the front");
    CHECK_STATUS(ask_within_at(queue, "key", 3, 1, 0, 0, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.delay_ns, 0);
    for (int asked = 0; asked < 5; asked++) {
        check_case("behind, asked %d times", asked);
        CHECK_STATUS(ask_within_at(queue, "key", 3, 1, 30 * MILLISECOND, 0, &decision),
                     RATECELL_DENIED);
        CHECK_U64(decision.retry_after_ns, 70 * MILLISECOND);
        CHECK_U64(decision.remaining, 3);
        /* At once, by the policy alone, and then with this delay. */
        CHECK_U64(decision.delay_ns, 100 * MILLISECOND);
    }
    check_case("a nanosecond before it is due, and then");
    uint64_t due = 70 * MILLISECOND;
    CHECK_STATUS(ask_within_at(queue, "key", 3, 1, 30 * MILLISECOND, due - 1, NULL),
                 RATECELL_DENIED);
    CHECK_STATUS(ask_within_at(queue, "key", 3, 1, 30 * MILLISECOND, due, &decision),
                 RATECELL_ALLOWED);
    CHECK_U64(decision.delay_ns, 30 * MILLISECOND);
    check_case("as long as it takes");
    CHECK_STATUS(ask_within_at(queue, "key", 3, 1, UINT64_MAX, due, &decision),
                 RATECELL_ALLOWED);
    CHECK_U64(decision.delay_ns, 130 * MILLISECOND);
    check_case("what is late by itself");
    CHECK_STATUS(ask_within_at(queue, "fresh", 5, 3, 199 * MILLISECOND, due, &decision),
                 RATECELL_NEVER);
    CHECK_U64(decision.retry_after_ns, UINT64_MAX);
    CHECK_U64(decision.delay_ns, 200 * MILLISECOND);
    CHECK_STATUS(ask_within_at(queue, "fresh", 5, 3, 200 * MILLISECOND, due, &decision),
                 RATECELL_ALLOWED);
    CHECK_U64(decision.delay_ns, 200 * MILLISECOND);
    check_case("more than the queue has");
    CHECK_STATUS(ask_within_at(queue, "key", 3, 5, UINT64_MAX, due, &decision), RATECELL_NEVER);
    CHECK_U64(decision.delay_ns, 0);
    ratecell_limiter_free(queue);
}

static int32_t graver(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* Over many states of queues, costs and delays: a refusal ends after retry_after_ns and not 1 ns earlier, and says
 * when the policy alone admits, and with which delay. */
static void a_refusal_says_when_and_how_long(const char *policy) {
    uint32_t state = 1;
    unsigned seen[3] = { 0 };
    for (int i = 0; i < 2000; i++) {
        ratecell_limiter *limiter = LIMITER(policy);
        ratecell_decision decision, plain;
        state = state * 1664525 + 1013904223;
        uint64_t max_delay = (state >> 20) % 7 * 40 * MILLISECOND, now = 1000 * MILLISECOND;
        uint32_t cost = 1 + (state >> 8) % 6;
        check_case("%s, round %d", policy, i);
        CHECK_STATUS(ask_charge_at(limiter, "key", 3, (state >> 12) % 9, now, NULL), RATECELL_ALLOWED);
        now += (state >> 16) % 13 * 17 * MILLISECOND;
        int32_t status = ask_within_at(limiter, "key", 3, cost, max_delay, now, &decision);
        CHECK_STATUS(decision.outcome, status);
        seen[graver(status, 0) % 3] += 1;
        if (status == RATECELL_ALLOWED) {
            CHECK(decision.delay_ns <= max_delay);
        } else if (status == RATECELL_NEVER) {
            /* Its own units alone are delayed for longer, or are more than there is room for. */
            CHECK_U64(decision.retry_after_ns, UINT64_MAX);
            int32_t fresh = ratecell_limiter_check_at(limiter, "fresh", 5, cost, now, &plain);
            CHECK_STATUS(fresh, decision.delay_ns > 0 ? RATECELL_ALLOWED : RATECELL_NEVER);
            CHECK_U64(fresh == RATECELL_ALLOWED && plain.delay_ns <= max_delay, 0);
        } else {
            uint64_t late = decision.delay_ns > max_delay ? decision.delay_ns - max_delay : 0;
            uint64_t wait = decision.retry_after_ns - late, due = now + decision.retry_after_ns;
            CHECK(decision.retry_after_ns > 0 && decision.retry_after_ns < UINT64_MAX);
            CHECK(late <= decision.retry_after_ns);
            CHECK_STATUS(ask_within_at(limiter, "key", 3, cost, max_delay, due - 1, NULL), RATECELL_DENIED);
            /* By the policy alone: so long, 1 ns earlier not, and with this delay. */
            if (wait > 0) {
                CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, cost, now + wait - 1, NULL), RATECELL_DENIED);
            }
            ratecell_limiter *twin = LIMITER(policy);
            CHECK_STATUS(ask_charge_at(twin, "key", 3, (state >> 12) % 9, 1000 * MILLISECOND, NULL), RATECELL_ALLOWED);
            CHECK_STATUS(ratecell_limiter_check_at(twin, "key", 3, cost, now + wait, &plain), RATECELL_ALLOWED);
            CHECK_U64(plain.delay_ns, decision.delay_ns);
            ratecell_limiter_free(twin);
            CHECK_STATUS(ask_within_at(limiter, "key", 3, cost, max_delay, due, &decision), RATECELL_ALLOWED);
            CHECK(decision.delay_ns <= max_delay);
        }
        ratecell_limiter_free(limiter);
    }
    check_case("%s, all outcomes", policy);
    CHECK(seen[0] > 10 && seen[1] > 10);
}

static void the_rest_of_the_contract(void) {
    ratecell_limiter *limiter = LIMITER("2/w & leaky_queue 1/w queue=3");
    ratecell_decision decision;
    check_case("by the clock, and of several layers");
    CHECK_STATUS(ask_within(limiter, "key", 3, 1, 0, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 1);
    CHECK_STATUS(ask_within(limiter, "key", 3, 1, 0, &decision), RATECELL_DENIED);
    CHECK_U64(decision.remaining, 1);
    CHECK(decision.retry_after_ns > 0);
    CHECK_STATUS(ask_within(limiter, "key", 3, 1, UINT64_MAX, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 0);
    check_case("no algorithm but the queue delays");
    ratecell_limiter *window = LIMITER("fixed_window 2/1w");
    CHECK_STATUS(ask_within(window, NULL, 0, 2, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ask_within(window, NULL, 0, 1, UINT64_MAX, NULL), RATECELL_DENIED);
    ratecell_limiter_free(window);
    ratecell_limiter_free(limiter);
}

int main(void) {
    what_is_late_is_denied_and_not_charged();
    static const char *const policies[] = {
        "leaky_queue 10/s queue=3", "leaky_queue 10/s queue=7", "leaky_queue 3/s queue=4", "leaky_queue 25/s queue=5",
        "leaky_queue 10/s queue=5 & fixed_window 9/1s", "fixed_window 5/1s & leaky_queue 20/s queue=9", "5/s burst=6",
        "leaky_queue 10/s queue=6 & leaky_queue 7/s queue=8",
    };
    for (size_t i = 0; i < CHECK_COUNT(policies); i++) {
        a_refusal_says_when_and_how_long(policies[i]);
    }
    the_rest_of_the_contract();
    return CHECK_END();
}
