/* How a limiter is made, by each config there can be, and what it says of itself. */

#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLICY "10/w"
#define SECOND UINT64_C(1000000000)
#define WEEK (7 * 86400 * SECOND)

/* A config of a size of its own: what this library knows, and a tail. */
struct longer {
    ratecell_config known;
    unsigned char tail[8192];
};

/* Makes a limiter of a config that is as long as its size says, to the byte, so that a byte read past it is
 * one that valgrind and the address sanitizer tell. */
static int32_t made_by(const struct longer *config, ratecell_limiter **limiter) {
    size_t size = config->known.size;
    size_t there = size < sizeof(size_t) ? sizeof(size_t) : size > sizeof *config ? sizeof *config : size;
    void *exact = malloc(there);
    int32_t status;
    if (exact == NULL) {
        abort();
    }
    memcpy(exact, config, there);
    status = ratecell_limiter_new(POLICY, exact, limiter);
    free(exact);
    return status;
}

static void is_taken(const struct longer *config) {
    ratecell_limiter *limiter = NULL;
    ratecell_decision decision;
    CHECK_STATUS(made_by(config, &limiter), 0);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 9);
    ratecell_limiter_free(limiter);
}

static void is_refused(const struct longer *config, int32_t expected) {
    ratecell_limiter *limiter;
    UNTOUCHED(limiter);
    CHECK_STATUS(made_by(config, &limiter), expected);
    CHECK_UNTOUCHED(limiter);
}

static void a_size_is_one_of_a_config(void) {
    static const struct {
        size_t size;
        int32_t status;
    } sizes[] = {
        { 0, RATECELL_ESIZE },
        { 1, RATECELL_ESIZE },
        { 8, RATECELL_ESIZE },
        { 16, RATECELL_ESIZE },
        { offsetof(ratecell_config, on_miss) - 1, RATECELL_ESIZE },
        { offsetof(ratecell_config, on_miss), 0 },
        { sizeof(ratecell_config) - 1, 0 },
        { sizeof(ratecell_config), 0 },
        { sizeof(ratecell_config) + 1, 0 },
        { sizeof(ratecell_config) + 8, 0 },
        { 1024, 0 },
        { 4096, 0 },
        { 8192, RATECELL_E2BIG },
        { (size_t)1 << 40, RATECELL_E2BIG },
        { (size_t)PTRDIFF_MAX + 1, RATECELL_E2BIG },
        { SIZE_MAX, RATECELL_E2BIG },
    };
    for (size_t i = 0; i < CHECK_COUNT(sizes); i++) {
        struct longer config;
        check_case("config.size %zu", sizes[i].size);
        memset(&config, 0, sizeof config);
        config.known.size = sizes[i].size;
        if (sizes[i].status == 0) {
            is_taken(&config);
        } else {
            is_refused(&config, sizes[i].status);
        }
    }
}

static void a_tail_that_is_not_zero_is_something_newer(void) {
    static const size_t tails[] = { 1, 8, 17, 4096 - sizeof(ratecell_config) };
    for (size_t i = 0; i < CHECK_COUNT(tails); i++) {
        for (size_t at = 0; at < tails[i]; at += tails[i] < 32 ? 1 : tails[i] - 1) {
            struct longer config;
            check_case("config with byte %zu of a tail of %zu set", at, tails[i]);
            memset(&config, 0, sizeof config);
            config.known.size = sizeof config.known + tails[i];
            config.tail[at] = 1;
            is_refused(&config, RATECELL_E2BIG);
            /* Beyond the size it is not the config's. */
            config.known.size = sizeof config.known + at;
            is_taken(&config);
        }
    }
}

static void a_field_s_value_is_a_known_one(void) {
    static const struct {
        uint64_t max_keys, when_full;
        int32_t status;
    } fields[] = {
        { 1, RATECELL_FULL_EVICT, 0 },
        { 1, RATECELL_FULL_SHARE, 0 },
        { 1, RATECELL_FULL_DENY, 0 },
        { 1, RATECELL_FULL_ALLOW, 0 },
        { 0, 4, RATECELL_ECONFIG },
        { 0, 255, RATECELL_ECONFIG },
        { 0, UINT64_C(1) << 32, RATECELL_ECONFIG },
        { 0, UINT64_MAX, RATECELL_ECONFIG },
        { UINT64_C(1) << 50, 0, RATECELL_ENOMEM },
        { UINT64_C(1) << 63, 0, RATECELL_ENOMEM },
        { UINT64_MAX, 0, RATECELL_ENOMEM },
        { UINT64_MAX, 4, RATECELL_ECONFIG },
    };
    for (size_t i = 0; i < CHECK_COUNT(fields); i++) {
        struct longer config;
        check_case("config.max_keys %llu, when_full %llu", (unsigned long long)fields[i].max_keys,
                   (unsigned long long)fields[i].when_full);
        memset(&config, 0, sizeof config);
        config.known = (ratecell_config)RATECELL_CONFIG_INIT;
        config.known.max_keys = fields[i].max_keys;
        config.known.when_full = fields[i].when_full;
        if (fields[i].status == 0) {
            is_taken(&config);
        } else {
            is_refused(&config, fields[i].status);
        }
    }
}

static void no_memory_is_a_status_of_every_policy(void) {
    static const char *const policies[] = { POLICY, "sliding_log 5/1h", "10/s & sliding_log 5/1h" };
    ratecell_config config = RATECELL_CONFIG_INIT;
    for (size_t i = 0; i < CHECK_COUNT(policies); i++) {
        for (unsigned bits = 50; bits <= 64; bits += 7) {
            ratecell_limiter *limiter;
            config.max_keys = UINT64_MAX >> (64 - bits);
            check_case("%s for %llu keys", policies[i], (unsigned long long)config.max_keys);
            UNTOUCHED(limiter);
            CHECK_STATUS(ratecell_limiter_new(policies[i], &config, &limiter), RATECELL_ENOMEM);
            CHECK_UNTOUCHED(limiter);
        }
    }
}

static uint64_t slots(const ratecell_config *config) {
    ratecell_limiter *limiter = NULL;
    ratecell_stats stats;
    CHECK_STATUS(ratecell_limiter_new(POLICY, config, &limiter), 0);
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, 0, &stats, sizeof stats), 0);
    ratecell_limiter_free(limiter);
    return stats.slots;
}

static void the_defaults_are_100_000_keys(void) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    check_case("defaults");
    CHECK_U64(config.size, sizeof config);
    CHECK_U64(config.max_keys, 0);
    CHECK_U64(config.when_full, RATECELL_FULL_EVICT);
    uint64_t by_default = slots(NULL);
    CHECK(by_default >= 100000);
    CHECK_U64(slots(&config), by_default);
    config.max_keys = 100000;
    CHECK_U64(slots(&config), by_default);
}

static uint64_t system_ns(clockid_t clock) {
    struct timespec time;
    CHECK(clock_gettime(clock, &time) == 0);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static void the_clock_is_monotonic_since_monday(void) {
    check_case("clock");
    uint64_t wall_before = system_ns(CLOCK_REALTIME);
    ratecell_limiter *limiter = LIMITER(POLICY);
    uint64_t wall_after = system_ns(CLOCK_REALTIME);
    uint64_t epoch = 1;
    CHECK_STATUS(ratecell_limiter_epoch(limiter, &epoch), 0);
    /* 1970-01-01 was a Thursday: Mondays are four days after each whole week. */
    CHECK_U64(epoch % WEEK, 4 * 86400 * SECOND);
    CHECK(epoch <= wall_after && wall_before < epoch + WEEK);

    uint64_t last = 0, monotonic_before = 0, monotonic_after = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t now = 0;
        CHECK_STATUS(ratecell_limiter_now(limiter, &now), 0);
        CHECK(now >= last);
        last = now;
    }
    /* Two readings of one clock are as far apart as those of another that encloses them allows, but for what each may
     * be behind: a microsecond, and more on a machine that stops a thread in the midst of a reading. */
    const uint64_t behind = 1000000;
    uint64_t first = 0, second = 0;
    uint64_t outer = system_ns(CLOCK_MONOTONIC);
    CHECK_STATUS(ratecell_limiter_now(limiter, &first), 0);
    monotonic_before = system_ns(CLOCK_MONOTONIC);
    monotonic_after = system_ns(CLOCK_MONOTONIC);
    CHECK_STATUS(ratecell_limiter_now(limiter, &second), 0);
    uint64_t end = system_ns(CLOCK_MONOTONIC);
    CHECK(second - first <= end - outer + behind);
    CHECK(second - first + behind >= monotonic_after - monotonic_before);
    ratecell_limiter_free(limiter);
}

int main(void) {
    a_size_is_one_of_a_config();
    a_tail_that_is_not_zero_is_something_newer();
    a_field_s_value_is_a_known_one();
    no_memory_is_a_status_of_every_policy();
    the_defaults_are_100_000_keys();
    the_clock_is_monotonic_since_monday();
    return CHECK_END();
}
