/* A batch decides as its requests one at a time, and not at all if one of them is bad. */

#include "check.h"

#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)
#define MANY 300

/* Requests on few keys, so that most keys occur more than once, of costs from none to more than can ever
 * pass. */
static void fill(ratecell_request *requests, size_t n) {
    static const char *const keys[] = { "a", "b", "c", "dd", "", "a longer key than the others here", "e" };
    uint32_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        const char *key = keys[(state >> 16) % CHECK_COUNT(keys)];
        requests[i].key = key[0] == '\0' ? NULL : key;
        requests[i].key_len = strlen(key);
        requests[i].cost = (state >> 8) % 13;
        requests[i].reserved = 0;
    }
}

static void a_batch_is_its_requests(const char *policy, size_t n) {
    static ratecell_request requests[MANY];
    static ratecell_decision decisions[MANY + 1];
    ratecell_limiter *together = LIMITER(policy);
    ratecell_limiter *one_by_one = LIMITER(policy);
    fill(requests, n);
    for (uint64_t now = 0; now < 3 * SECOND; now += SECOND / 3) {
        check_case("a batch of %zu under %s at %llu", n, policy, (unsigned long long)now);
        UNTOUCHED(decisions);
        CHECK_STATUS(ratecell_limiter_check_batch(together, requests, n, now, decisions), 0);
        for (size_t i = 0; i < n; i++) {
            ratecell_decision single;
            int32_t status = ratecell_limiter_check_at(one_by_one, requests[i].key, requests[i].key_len,
                                                       requests[i].cost, now, &single);
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
    ratecell_request request = { "key", 3, 1, 0 };
    ratecell_decision decision;
    check_case("an empty batch");
    UNTOUCHED(decision);
    CHECK_STATUS(ratecell_limiter_check_batch(limiter, NULL, 0, 0, NULL), 0);
    CHECK_STATUS(ratecell_limiter_check_batch(limiter, &request, 0, 0, &decision), 0);
    CHECK_UNTOUCHED(decision);
    CHECK_STATUS(ratecell_limiter_check_batch(NULL, NULL, 0, 0, NULL), RATECELL_EINVAL);
    ratecell_limiter_free(limiter);
}

static void one_bad_request_is_a_bad_batch(void) {
    static const struct {
        const char *what;
        ratecell_request request;
        int32_t status;
    } bad[] = {
        { "key NULL", { NULL, 1, 1, 0 }, RATECELL_EINVAL },
        { "reserved 1", { "key", 3, 1, 1 }, RATECELL_EINVAL },
        { "reserved 2^32-1", { "key", 3, 1, UINT32_MAX }, RATECELL_EINVAL },
        { "key_len SIZE_MAX", { "key", SIZE_MAX, 1, 0 }, RATECELL_ESIZE },
        { "key_len PTRDIFF_MAX+1", { "key", (size_t)PTRDIFF_MAX + 1, 1, 0 }, RATECELL_ESIZE },
    };
    static const size_t lengths[] = { 1, 2, 3, 31, MANY };
    static ratecell_request requests[MANY];
    static ratecell_decision decisions[MANY];
    ratecell_limiter *limiter = LIMITER("10/w");
    for (size_t i = 0; i < CHECK_COUNT(bad); i++) {
        for (size_t j = 0; j < CHECK_COUNT(lengths); j++) {
            size_t n = lengths[j];
            const size_t places[] = { 0, n / 2, n - 1 };
            for (size_t k = 0; k < CHECK_COUNT(places); k++) {
                ratecell_stats stats;
                check_case("%s in request %zu of %zu", bad[i].what, places[k], n);
                fill(requests, n);
                requests[places[k]] = bad[i].request;
                UNTOUCHED(decisions);
                CHECK_STATUS(ratecell_limiter_check_batch(limiter, requests, n, 0, decisions),
                             bad[i].status);
                CHECK_UNTOUCHED(decisions);
                CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, 0, &stats, sizeof stats), 0);
                CHECK_U64(stats.live, 0);
            }
        }
    }
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
    one_bad_request_is_a_bad_batch();
    return CHECK_END();
}
