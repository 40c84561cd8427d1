/* A queue that is entered only where the delay is short enough: ratecell_limiter_check_within. */

#include "check.h"

#define MILLISECOND UINT64_C(1000000)

static void what_is_late_is_denied_and_not_charged(void) {
    ratecell_limiter *queue = LIMITER("leaky_queue 10/s queue=3");
    ratecell_decision decision;
    check_case("at the front");
    CHECK_STATUS(ratecell_limiter_check_within_at(queue, "key", 3, 1, 0, 0, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.delay_ns, 0);
    for (int asked = 0; asked < 5; asked++) {
        check_case("behind, asked %d times", asked);
        CHECK_STATUS(ratecell_limiter_check_within_at(queue, "key", 3, 1, 30 * MILLISECOND, 0, &decision),
                     RATECELL_DENIED);
        CHECK_U64(decision.retry_after_ns, 70 * MILLISECOND);
        CHECK_U64(decision.remaining, 3);
        CHECK_U64(decision.delay_ns, 0);
    }
    check_case("a nanosecond before it is due, and then");
    uint64_t due = 70 * MILLISECOND;
    CHECK_STATUS(ratecell_limiter_check_within_at(queue, "key", 3, 1, 30 * MILLISECOND, due - 1, NULL),
                 RATECELL_DENIED);
    CHECK_STATUS(ratecell_limiter_check_within_at(queue, "key", 3, 1, 30 * MILLISECOND, due, &decision),
                 RATECELL_ALLOWED);
    CHECK_U64(decision.delay_ns, 30 * MILLISECOND);
    check_case("as long as it takes");
    CHECK_STATUS(ratecell_limiter_check_within_at(queue, "key", 3, 1, UINT64_MAX, due, &decision),
                 RATECELL_ALLOWED);
    CHECK_U64(decision.delay_ns, 130 * MILLISECOND);
    check_case("what is late by itself");
    CHECK_STATUS(ratecell_limiter_check_within_at(queue, "fresh", 5, 3, 199 * MILLISECOND, due, &decision),
                 RATECELL_NEVER);
    CHECK_U64(decision.retry_after_ns, UINT64_MAX);
    CHECK_STATUS(ratecell_limiter_check_within_at(queue, "fresh", 5, 3, 200 * MILLISECOND, due, &decision),
                 RATECELL_ALLOWED);
    CHECK_U64(decision.delay_ns, 200 * MILLISECOND);
    check_case("more than the queue has");
    CHECK_STATUS(ratecell_limiter_check_within_at(queue, "key", 3, 5, UINT64_MAX, due, NULL), RATECELL_NEVER);
    ratecell_limiter_free(queue);
}

static void the_rest_of_the_contract(void) {
    ratecell_limiter *limiter = LIMITER("2/w & leaky_queue 1/w queue=3");
    ratecell_decision decision;
    check_case("by the clock, and of several layers");
    CHECK_STATUS(ratecell_limiter_check_within(limiter, "key", 3, 1, 0, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 1);
    CHECK_STATUS(ratecell_limiter_check_within(limiter, "key", 3, 1, 0, &decision), RATECELL_DENIED);
    CHECK_U64(decision.remaining, 1);
    CHECK(decision.retry_after_ns > 0);
    CHECK_STATUS(ratecell_limiter_check_within(limiter, "key", 3, 1, UINT64_MAX, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 0);
    check_case("no algorithm but the queue delays");
    ratecell_limiter *window = LIMITER("fixed_window 2/1w");
    CHECK_STATUS(ratecell_limiter_check_within(window, NULL, 0, 2, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_within(window, NULL, 0, 1, UINT64_MAX, NULL), RATECELL_DENIED);
    ratecell_limiter_free(window);
    ratecell_limiter_free(limiter);
}

int main(void) {
    what_is_late_is_denied_and_not_charged();
    the_rest_of_the_contract();
    return CHECK_END();
}
