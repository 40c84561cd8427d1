/* Another policy over live keys: ratecell_limiter_change. */

#define _POSIX_C_SOURCE 200809L

#include "check.h"
#include "region.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define LONG 512

static char why[LONG];

/* A change of which why is written. */
static int32_t change(const ratecell_limiter *limiter, const char *policy, uint32_t flags, uint64_t now_ns) {
    memset(why, 'x', sizeof why - 1);
    why[sizeof why - 1] = '\0';
    return ratecell_limiter_change(limiter, policy, flags, now_ns, why, sizeof why);
}

static void changed(const ratecell_limiter *limiter, const char *policy, uint64_t now_ns) {
    CHECK_STATUS(change(limiter, policy, RATECELL_AT, now_ns), 0);
    CHECK_TEXT(why, "");
}

static void check_policy(const ratecell_limiter *limiter, const char *expected) {
    char text[256];
    CHECK_STATUS(ratecell_limiter_policy(limiter, text, sizeof text), (int32_t)strlen(expected));
    CHECK_TEXT(text, expected);
}

static void what_is_used_stays_used(void) {
    ratecell_limiter *limiter = LIMITER("1/s burst=10");
    ratecell_decision decision;
    check_case("a rate that is raised");
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 10, 0, NULL), RATECELL_ALLOWED);
    changed(limiter, "10/s burst=10", SECOND);
    check_policy(limiter, "10/s burst=10");
    CHECK_U64(region_remaining(limiter, "key", SECOND), 1);
    CHECK_U64(region_remaining(limiter, "key", SECOND * 19 / 10), 10);
    check_case("and lowered again");
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 10, SECOND * 2, NULL), RATECELL_ALLOWED);
    changed(limiter, "1/m burst=10", SECOND * 2);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, SECOND * 2, &decision), RATECELL_DENIED);
    CHECK_U64(decision.retry_after_ns, 60 * SECOND);
    check_case("nothing to change");
    changed(limiter, "gcra 1/60s burst=10", SECOND * 2);
    check_policy(limiter, "1/m burst=10");
    check_case("the limiter's own clock");
    CHECK_STATUS(change(limiter, "leaky_meter 2/m capacity=10", 0, UINT64_MAX), 0);
    CHECK_TEXT(why, "");
    check_policy(limiter, "leaky_meter 2/m capacity=10");
    ratecell_limiter_free(limiter);
}

static void a_change_is_for_every_limiter_of_the_keys(const char *path, void *memory, size_t len) {
    ratecell_limiter *limiters[2], *view = NULL;
    for (size_t i = 0; i < 2; i++) {
        limiters[i] = path != NULL ? OPENED(path, "10/s burst=10", NULL) : ATTACHED(memory, len, "10/s burst=10");
    }
    CHECK_STATUS(ratecell_limiter_with_policy(limiters[1], "10/s burst=40", NULL, &view), 0);
    CHECK_STATUS(ratecell_limiter_check_at(limiters[0], "key", 3, 10, 0, NULL), RATECELL_ALLOWED);
    changed(limiters[0], "20/s burst=15", 0);
    for (size_t i = 0; i < 2; i++) {
        check_policy(limiters[i], "20/s burst=15");
        CHECK_U64(region_remaining(limiters[i], "key", 0), 5);
        CHECK_U64(region_remaining(limiters[i], "new", 0), 15);
        CHECK_U64(region_remaining(limiters[i], "key", SECOND / 4), 10);
    }
    check_case("a view keeps its burst");
    check_policy(view, "20/s burst=40");
    CHECK_U64(region_remaining(view, "key", 0), 30);
    CHECK_U64(region_remaining(view, "key", SECOND / 4), 35);
    check_case("a view changes the policy of all");
    changed(view, "5/s burst=15", 0);
    check_policy(limiters[0], "5/s burst=15");
    check_policy(limiters[1], "5/s burst=15");
    check_policy(view, "5/s burst=40");
    CHECK_U64(region_remaining(limiters[0], "key", 0), 5);
    check_case("more changes than have records");
    for (int i = 0; i < 9; i++) {
        changed(limiters[i % 2], i % 2 == 0 ? "7/s burst=15" : "5/s burst=15", 0);
    }
    CHECK_U64(region_remaining(limiters[1], "key", 0), 5);
    CHECK_U64(region_remaining(view, "key", 0), 30);
    check_case("who comes later");
    ratecell_limiter *late =
        path != NULL ? OPENED(path, "7/s burst=15", NULL) : ATTACHED(memory, len, "7/s burst=15");
    check_policy(late, "7/s burst=15");
    CHECK_U64(region_remaining(late, "key", 0), 5);
    ratecell_limiter_free(late);
    ratecell_limiter_free(view);
    ratecell_limiter_free(limiters[0]);
    ratecell_limiter_free(limiters[1]);
}

static void in_a_file_and_in_memory(void) {
    char path[256];
    ratecell_config config = RATECELL_CONFIG_INIT;
    size_t len = 0;
    config.max_keys = 64;
    check_case("two limiters of a file");
    file_new("10/s burst=10", &config, path, sizeof path);
    a_change_is_for_every_limiter_of_the_keys(path, NULL, 0);
    CHECK(unlink(path) == 0);
    check_case("two limiters of a region");
    void *memory = region_new("10/s burst=10", &config, &len);
    a_change_is_for_every_limiter_of_the_keys(NULL, memory, len);
    free(memory);
}

static void what_cannot_follow_is_refused(void) {
    static const struct {
        const char *held, *asked;
        uint64_t now_ns;
        int32_t status;
        const char *word;
    } cases[] = {
        { "10/s", "fixed_window 10/s", 0, RATECELL_ECHANGE, "`fixed_window 10/s` cannot follow `10/s`" },
        { "10/s", "10/s & 20/m", 0, RATECELL_ECHANGE, "expected as many layers" },
        { "fixed_window 10/m", "fixed_window 10/h", 0, RATECELL_ECHANGE, "the same window" },
        { "sliding_log 5/m", "sliding_log 5/s", 0, RATECELL_ECHANGE, "the same window" },
        { "in_flight 5 hold=1m", "in_flight 5 hold=1s", 0, RATECELL_ECHANGE, "cannot follow" },
        { "10/s", "9/s", UINT64_MAX, RATECELL_ECHANGE, "a change at 18446744073709551615ns: expected at most" },
        { "10/s", "0/s", 0, RATECELL_EPOLICY_ZERO_LIMIT, "limit is 0" },
        { "10/s", "10/0s", 0, RATECELL_EPOLICY_ZERO_PERIOD, "column" },
        { "10/s", "10 a second", 0, RATECELL_EPOLICY_SYNTAX, "syntax at column" },
        { "10/s", "nope 10/s", 0, RATECELL_EPOLICY_UNKNOWN_ALGORITHM, "nope" },
        { "10/s", "\xff/s", 0, RATECELL_EPOLICY_SYNTAX, "not UTF-8" },
        /* Alone it fits a word; beside a burst of a million it does not. */
        { "1000000/s", "1/d", 0, RATECELL_EPOLICY_RANGE, "does not fit the words in use" },
    };
    for (size_t i = 0; i < CHECK_COUNT(cases); i++) {
        ratecell_limiter *limiter = LIMITER(cases[i].held);
        check_case("%s after %s", cases[i].asked, cases[i].held);
        CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 3, 0, NULL), RATECELL_ALLOWED);
        uint64_t remaining = region_remaining(limiter, "key", 0);
        CHECK_STATUS(change(limiter, cases[i].asked, RATECELL_AT, cases[i].now_ns), cases[i].status);
        if (strstr(why, cases[i].word) == NULL) {
            CHECK_TEXT(why, cases[i].word);
        }
        check_policy(limiter, cases[i].held);
        CHECK_U64(region_remaining(limiter, "key", 0), remaining);
        ratecell_limiter_free(limiter);
    }
    check_case("the status");
    CHECK(strncmp(ratecell_strerror(RATECELL_ECHANGE), "RATECELL_ECHANGE: the policy cannot follow the one in force: ", 61) == 0);
}

static void a_bad_argument_is_refused(void) {
    ratecell_limiter *limiter = LIMITER("10/s");
    const ratecell_limiter *misaligned = (const ratecell_limiter *)(const void *)((const char *)limiter + 1);
    check_case("limiter");
    CHECK_STATUS(change(NULL, "5/s", 0, 0), RATECELL_EINVAL);
    CHECK_TEXT(why, ratecell_strerror(RATECELL_EINVAL));
    CHECK_STATUS(change(misaligned, "5/s", 0, 0), RATECELL_EALIGN);
    CHECK_TEXT(why, ratecell_strerror(RATECELL_EALIGN));
    check_case("policy");
    CHECK_STATUS(change(limiter, NULL, 0, 0), RATECELL_EINVAL);
    CHECK_TEXT(why, ratecell_strerror(RATECELL_EINVAL));
    for (uint32_t bit = 0; bit < 32; bit++) {
        uint32_t flags = UINT32_C(1) << bit;
        if (flags != RATECELL_AT) {
            check_case("flags %#lx", (unsigned long)flags);
            CHECK_STATUS(change(limiter, "5/s", flags, 0), RATECELL_EINVAL);
            CHECK_STATUS(change(limiter, "5/s", flags | RATECELL_AT, 0), RATECELL_EINVAL);
        }
    }
    check_case("why");
    CHECK_STATUS(ratecell_limiter_change(limiter, "5/s", RATECELL_AT, 0, NULL, 1), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_limiter_change(limiter, "5/s", RATECELL_AT, 0, why, (size_t)-1), RATECELL_ESIZE);
    check_policy(limiter, "10/s");
    check_case("a why that is cut off, and none");
    memset(why, 'x', sizeof why);
    CHECK_STATUS(ratecell_limiter_change(limiter, "0/s", RATECELL_AT, 0, why, 6), RATECELL_EPOLICY_ZERO_LIMIT);
    CHECK_TEXT(why, "zero_");
    CHECK(why[6] == 'x');
    CHECK_STATUS(ratecell_limiter_change(limiter, "0/s", RATECELL_AT, 0, NULL, 0), RATECELL_EPOLICY_ZERO_LIMIT);
    CHECK_STATUS(ratecell_limiter_change(limiter, "0/s", RATECELL_AT, 0, why, 0), RATECELL_EPOLICY_ZERO_LIMIT);
    CHECK_STATUS(ratecell_limiter_change(limiter, "5/s", RATECELL_AT, 0, NULL, 0), 0);
    check_policy(limiter, "5/s");
    ratecell_limiter_free(limiter);
}

static void a_damaged_region_is_refused(void) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    size_t len = 0;
    config.max_keys = 64;
    void *memory = region_new("10/s", &config, &len);
    ratecell_limiter *one = ATTACHED(memory, len, "10/s"), *other = ATTACHED(memory, len, "10/s");
    check_case("records of policies that nobody wrote");
    changed(one, "5/s", 0);
    memset((char *)memory + region_policy_at(1), 0xFF, REGION_POLICY);
    CHECK_STATUS(change(other, "4/s", RATECELL_AT, 0), RATECELL_EREGION_DAMAGED);
    CHECK(strlen(why) > 0 && why[0] != 'x');
    ratecell_limiter_free(one);
    ratecell_limiter_free(other);
    free(memory);
}

int main(void) {
    what_is_used_stays_used();
    in_a_file_and_in_memory();
    what_cannot_follow_is_refused();
    a_bad_argument_is_refused();
    a_damaged_region_is_refused();
    return CHECK_END();
}
