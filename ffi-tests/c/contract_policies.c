/* Another limiter on the keys of one that is there: ratecell_limiter_with_policy. */

#define _POSIX_C_SOURCE 200809L

#include "check.h"
#include "region.h"

#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

static ratecell_limiter *with_policy(const ratecell_limiter *limiter, const char *policy) {
    ratecell_limiter *other = NULL;
    CHECK_STATUS(ratecell_limiter_with_policy(limiter, policy, NULL, &other), 0);
    if (other == NULL) {
        exit(EXIT_FAILURE);
    }
    return other;
}

/* The counts of a window are the same for both; how many are too many is each one's own. */
static void a_limit_is_each_one_s_own(void) {
    static const char *const kinds[] = {
        "fixed_window %d/1h", "sliding_window %d/1h", "fixed_window %d/1h start=first",
    };
    static const char *const limits[] = { "10", "25", "3" };
    for (size_t i = 0; i < CHECK_COUNT(kinds); i++) {
        char policies[3][64];
        ratecell_config config = RATECELL_CONFIG_INIT;
        size_t len = 0;
        for (size_t j = 0; j < 3; j++) {
            size_t head = (size_t)(strchr(kinds[i], '%') - kinds[i]);
            memcpy(policies[j], kinds[i], head);
            strcpy(policies[j] + head, limits[j]);
            strcat(policies[j], kinds[i] + head + 2);
        }
        check_case("%s with %s and %s", policies[0], policies[1], policies[2]);
        config.max_keys = 64;
        /* The counts of a region are as wide as can be; those that start with a key, as its first limit needs. */
        const char *first = i == 2 ? policies[1] : policies[0];
        void *memory = region_new(first, &config, &len);
        ratecell_limiter *region = ATTACHED(memory, len, first);
        ratecell_limiter *plain = with_policy(region, policies[0]);
        ratecell_limiter *more = with_policy(plain, policies[1]);
        ratecell_limiter *less = with_policy(region, policies[2]);
        CHECK_STATUS(ratecell_limiter_check_at(plain, "key", 3, 2, 0, NULL), RATECELL_ALLOWED);
        CHECK_U64(region_remaining(plain, "key", 0), 8);
        CHECK_U64(region_remaining(more, "key", 0), 23);
        CHECK_U64(region_remaining(less, "key", 0), 1);
        CHECK_STATUS(ratecell_limiter_check_at(less, "key", 3, 2, 0, NULL), RATECELL_DENIED);
        CHECK_STATUS(ratecell_limiter_check_at(more, "key", 3, 20, 0, NULL), RATECELL_ALLOWED);
        CHECK_STATUS(ratecell_limiter_check_at(plain, "key", 3, 1, 0, NULL), RATECELL_DENIED);
        CHECK_STATUS(ratecell_limiter_check_at(more, "key", 3, 3, 0, NULL), RATECELL_ALLOWED);
        CHECK_STATUS(ratecell_limiter_check_at(more, "key", 3, 1, 0, NULL), RATECELL_DENIED);
        /* Each ends alone, in any order. */
        ratecell_limiter_free(region);
        ratecell_limiter_free(plain);
        CHECK_U64(region_remaining(more, "key", 0), 0);
        ratecell_limiter_free(less);
        ratecell_limiter_free(more);
        free(memory);
    }
}

/* The arrival is the same for both: a key that is due later by one is that by the other. */
static void a_rate_is_each_one_s_own(const char *held, int in_region) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    ratecell_limiter *limiter;
    void *memory = NULL;
    size_t len = 0;
    char text[64];
    check_case("rates over %s, in %s", held, in_region ? "a region" : "a table");
    config.max_keys = 64;
    if (in_region) {
        memory = region_new(held, &config, &len);
        limiter = ATTACHED(memory, len, held);
    } else {
        limiter = LIMITER_WITH(held, &config);
    }
    ratecell_limiter *faster = with_policy(limiter, "20/s burst=40");
    ratecell_limiter *smaller = with_policy(limiter, "10/s burst=5");
    /* Two seconds' worth by the one, by the other the same two seconds. */
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 10, 0, NULL), RATECELL_ALLOWED);
    CHECK_U64(region_remaining(limiter, "key", 0), 0);
    CHECK_U64(region_remaining(faster, "key", 0), 20);
    CHECK_STATUS(ratecell_limiter_check_at(smaller, "key", 3, 1, 0, NULL), RATECELL_DENIED);
    CHECK_STATUS(ratecell_limiter_check_at(faster, "key", 3, 20, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(faster, "key", 3, 1, 0, NULL), RATECELL_DENIED);
    uint64_t due = SECOND + SECOND / 10;
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, due - 1, NULL), RATECELL_DENIED);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, due, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(faster, "key", 3, 21, due, NULL), RATECELL_DENIED);
    CHECK_U64(region_remaining(faster, "key", due), 20);
    ratecell_limiter_free(limiter);
    CHECK_STATUS(ratecell_limiter_policy(faster, text, sizeof text), 13);
    CHECK_TEXT(text, "20/s burst=40");
    CHECK_STATUS(ratecell_limiter_forget(faster, "key", 3), 0);
    CHECK_U64(region_remaining(smaller, "key", SECOND), 5);
    ratecell_limiter_free(smaller);
    ratecell_limiter_free(faster);
    free(memory);
}

static void another_kind_is_refused(void) {
    static const struct {
        const char *held, *asked;
        int32_t status;
    } cases[] = {
        { "10/s", "fixed_window 10/s", RATECELL_EREGION_WORDS },
        { "fixed_window 10/1m", "fixed_window 10/1h", RATECELL_EREGION_WORDS },
        { "fixed_window 10/1m", "fixed_window 10/1m offset=3s", RATECELL_EREGION_WORDS },
        { "sliding_window 10/1m", "fixed_window 10/1m", RATECELL_EREGION_WORDS },
        { "10/s", "10/s & 20/1m", RATECELL_EREGION_LAYERS },
        { "10/s & 20/1m", "10/s", RATECELL_EREGION_LAYERS },
        { "sliding_log 5/s", "sliding_log 5/s", RATECELL_EREGION_NO_WORD },
        { "sliding_log 5/s", "5/s", RATECELL_EREGION_NO_WORD },
        { "5/s", "sliding_log 5/s", RATECELL_EREGION_NO_WORD },
        { "5/s", "5/0s", RATECELL_EPOLICY_ZERO_PERIOD },
        /* Its counts are as wide as its own limit needs: 3 of 2 bits. */
        { "fixed_window 3/1m", "fixed_window 4/1m", RATECELL_EPOLICY_RANGE },
    };
    for (size_t i = 0; i < CHECK_COUNT(cases); i++) {
        ratecell_limiter *limiter = LIMITER(cases[i].held), *other;
        check_case("%s over %s", cases[i].asked, cases[i].held);
        UNTOUCHED(other);
        CHECK_STATUS(ratecell_limiter_with_policy(limiter, cases[i].asked, NULL, &other), cases[i].status);
        CHECK_UNTOUCHED(other);
        CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, NULL), RATECELL_ALLOWED);
        ratecell_limiter_free(limiter);
    }
}

static void the_clock_is_the_same(void) {
    ratecell_limiter *limiter = LIMITER("10/s");
    ratecell_limiter *other = with_policy(limiter, "7/s");
    uint64_t epoch = 0, same = 1, now = 1, then = 0;
    check_case("clock");
    CHECK_STATUS(ratecell_limiter_epoch(limiter, &epoch), 0);
    CHECK_STATUS(ratecell_limiter_epoch(other, &same), 0);
    CHECK_U64(same, epoch);
    CHECK_STATUS(ratecell_limiter_now(limiter, &now), 0);
    CHECK_STATUS(ratecell_limiter_now(other, &then), 0);
    CHECK(then >= now && then - now < 3600 * SECOND);
    ratecell_limiter_free(other);
    ratecell_limiter_free(limiter);
}

int main(void) {
    a_limit_is_each_one_s_own();
    a_rate_is_each_one_s_own("10/s", 0);
    a_rate_is_each_one_s_own("10/s", 1);
    another_kind_is_refused();
    the_clock_is_the_same();
    return CHECK_END();
}
