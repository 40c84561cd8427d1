/* A batch decides as its requests one at a time. */

#include "ask.h"
#include "check.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)
#define MANY 300

/* Requests on few keys, so that most keys occur more than once, of costs from none to more than can ever
 * pass. */
static void fill(ratecell_request *requests, size_t n, uint64_t now_ns) {
    static const char *const keys[] = { "a", "b", "c", "dd", "", "a longer key than the others here", "e" };
    uint32_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        const char *key = keys[(state >> 16) % CHECK_COUNT(keys)];
        requests[i] = ask_at(key[0] == '\0' ? NULL : key, strlen(key), (state >> 8) % 13, now_ns);
        /* Some by their hash, some spent already, some with what only a second look at the key tells. */
        requests[i].hash = state >> 29;
        requests[i].flags |= (state >> 4) % 5 == 0 ? RATECELL_HASHED : 0;
        requests[i].flags |= (state >> 5) % 7 == 0 ? RATECELL_CHARGE : 0;
        requests[i].flags |= (state >> 6) % 3 == 0 ? RATECELL_NEXT : 0;
        if ((state >> 7) % 4 == 0 && !(requests[i].flags & RATECELL_CHARGE)) {
            requests[i].flags |= RATECELL_WITHIN;
            requests[i].max_delay_ns = (state >> 9) % 4 * (SECOND / 4);
        }
    }
}

static void a_batch_is_its_requests(const char *policy, size_t n) {
    static ratecell_request requests[MANY];
    static ratecell_decision decisions[MANY + 1];
    ratecell_limiter *together = LIMITER(policy);
    ratecell_limiter *one_by_one = LIMITER(policy);
    for (uint64_t now = 0; now < 3 * SECOND; now += SECOND / 3) {
        fill(requests, n, now);
        check_case("a batch of %zu under %s at %llu", n, policy, (unsigned long long)now);
        UNTOUCHED(decisions);
        CHECK_STATUS(ratecell_limiter_decide_batch(together, requests, n, decisions), 0);
        for (size_t i = 0; i < n; i++) {
            ratecell_decision single;
            int32_t status = ratecell_limiter_decide(one_by_one, &requests[i], &single);
            CHECK_STATUS(decisions[i].outcome, status);
            CHECK_DECISION(decisions[i], single);
        }
        CHECK_UNTOUCHED(decisions[n]);
    }
    ratecell_limiter_free(together);
    ratecell_limiter_free(one_by_one);
}

static void no_requests_are_no_decisions(void) {
    ratecell_limiter *limiter = LIMITER("10/s");
    const ratecell_request request = ask_at("key", 3, 1, 0);
    ratecell_decision decision;
    check_case("an empty batch");
    UNTOUCHED(decision);
    CHECK_STATUS(ratecell_limiter_decide_batch(limiter, NULL, 0, NULL), 0);
    CHECK_STATUS(ratecell_limiter_decide_batch(limiter, &request, 0, &decision), 0);
    CHECK_UNTOUCHED(decision);
    CHECK_STATUS(ratecell_limiter_decide_batch(NULL, NULL, 0, NULL), RATECELL_EINVAL);
    ratecell_limiter_free(limiter);
}

/* The clock is read once for those without RATECELL_AT; the others keep their times. */
static void a_batch_has_one_now(void) {
    ratecell_limiter *limiter = LIMITER("1000000000/s burst=1000000000");
    ratecell_request requests[MANY];
    ratecell_decision decisions[MANY];
    uint64_t before = 0;
    check_case("one reading of the clock");
    CHECK_STATUS(ratecell_limiter_now(limiter, &before), 0);
    for (size_t i = 0; i < MANY; i++) {
        requests[i] = i % 3 == 2 ? ask_at("past", 4, 1, i) : ask("key", 3, 1);
    }
    CHECK_STATUS(ratecell_limiter_decide_batch(limiter, requests, MANY, decisions), 0);
    /* A unit drains each nanosecond: none does between two requests of one instant. */
    for (uint64_t i = 0, clocked = 0; i < MANY; i++) {
        clocked += i % 3 != 2;
        CHECK_U64(decisions[i].remaining, 1000000000 - (i % 3 == 2 ? 1 : clocked));
    }
    ratecell_decision then;
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 0, before, &then), RATECELL_ALLOWED);
    CHECK(then.remaining <= 1000000000 - 2 * MANY / 3);
    ratecell_limiter_free(limiter);
}

int main(void) {
    static const char *const policies[] = {
        "5/s burst=20", "sliding_window 20/1s", "sliding_log 20/1s", "token_bucket 5/1s capacity=10 mode=interval",
        "leaky_queue 10/s queue=20", "5/s burst=20 & fixed_window 30/1s & sliding_log 25/1s",
    };
    static const size_t lengths[] = { 1, 2, 7, 8, 9, 16, 17, MANY };
    for (size_t i = 0; i < CHECK_COUNT(policies); i++) {
        for (size_t j = 0; j < CHECK_COUNT(lengths); j++) {
            a_batch_is_its_requests(policies[i], lengths[j]);
        }
    }
    no_requests_are_no_decisions();
    a_batch_has_one_now();
    return CHECK_END();
}
