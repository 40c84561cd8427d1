/* What ratecell_stats counts, and how much of it is written. */

#include "check.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)

static ratecell_stats stats_at(const ratecell_limiter *limiter, uint64_t now_ns) {
    ratecell_stats stats, exact;
    UNTOUCHED(stats);
    UNTOUCHED(exact);
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, now_ns, &stats, sizeof stats), 0);
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT | RATECELL_EXACT, now_ns, &exact, sizeof exact), 0);
    /* In a table so small every key is counted. */
    CHECK_U64(exact.live_error, 0);
    CHECK(memcmp(&stats, &exact, sizeof stats) == 0);
    return stats;
}

static void no_event(ratecell_stats stats) {
    CHECK_U64(stats.evicted, 0);
    CHECK_U64(stats.forgiven, 0);
    CHECK_U64(stats.shared, 0);
    CHECK_U64(stats.denied_full, 0);
    CHECK_U64(stats.allowed_full, 0);
    CHECK_U64(stats.exhausted, 0);
}

static void live_keys_are_those_with_something_to_remember(void) {
    ratecell_limiter *limiter = LIMITER("1/s burst=10");
    uint64_t bytes = stats_at(limiter, 0).bytes;
    check_case("live keys");
    CHECK(stats_at(limiter, 0).slots >= 64);
    CHECK(bytes > 0);
    for (uint64_t keys = 0; keys < 10; keys++) {
        char key = (char)('a' + keys);
        CHECK_U64(stats_at(limiter, 0).live, keys);
        CHECK_STATUS(ratecell_limiter_check_at(limiter, &key, 1, 0, 0, NULL), RATECELL_ALLOWED);
        CHECK_U64(stats_at(limiter, 0).live, keys);
        /* The key of number n drains after n + 1 seconds. */
        CHECK_STATUS(ratecell_limiter_check_at(limiter, &key, 1, (uint32_t)keys + 1, 0, NULL),
                     RATECELL_ALLOWED);
    }
    for (uint64_t second = 0; second < 12; second++) {
        uint64_t live = second < 10 ? 10 - second : 0;
        CHECK_U64(stats_at(limiter, second * SECOND).live, live);
        no_event(stats_at(limiter, second * SECOND));
    }
    CHECK_U64(stats_at(limiter, 0).bytes, bytes);
    ratecell_limiter_free(limiter);
}

static void stats_now_are_stats_at_now(void) {
    ratecell_limiter *limiter = LIMITER("10/w & sliding_log 5/w");
    ratecell_stats by_clock, by_time;
    uint64_t now = 0;
    check_case("by the clock");
    CHECK_STATUS(ratecell_limiter_now(limiter, &now), 0);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 3, now, NULL), RATECELL_ALLOWED);
    UNTOUCHED(by_clock);
    CHECK_STATUS(ratecell_limiter_stats(limiter, 0, 7, &by_clock, sizeof by_clock), 0);
    by_time = stats_at(limiter, now);
    CHECK(memcmp(&by_clock, &by_time, sizeof by_clock) == 0);
    CHECK_U64(by_clock.live, 1);
    ratecell_limiter_free(limiter);
}

/* Eight times more keys than there is room for, each of which would hold 5 units for weeks. */
static ratecell_stats overfull(uint64_t when_full, const char *policy, uint64_t *allowed) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.max_keys = 32;
    config.when_full = when_full;
    ratecell_limiter *limiter = LIMITER_WITH(policy, &config);
    uint64_t keys = 8 * stats_at(limiter, 0).slots;
    *allowed = 0;
    for (uint64_t number = 0; number < keys; number++) {
        *allowed += ratecell_limiter_check_at(limiter, &number, sizeof number, 5, 0, NULL) == RATECELL_ALLOWED;
    }
    ratecell_stats stats = stats_at(limiter, 0);
    CHECK(stats.live <= stats.slots);
    ratecell_limiter_free(limiter);
    return stats;
}

static void a_full_table_counts_what_it_does(void) {
    uint64_t allowed;
    ratecell_stats stats;

    check_case("RATECELL_FULL_EVICT");
    stats = overfull(RATECELL_FULL_EVICT, "10/w", &allowed);
    CHECK_U64(allowed, 8 * stats.slots);
    CHECK_U64(stats.live + stats.evicted, 8 * stats.slots);
    CHECK_U64(stats.forgiven, 5 * stats.evicted);
    CHECK_U64(stats.shared + stats.denied_full + stats.allowed_full + stats.exhausted, 0);

    check_case("RATECELL_FULL_SHARE");
    stats = overfull(RATECELL_FULL_SHARE, "10/w", &allowed);
    CHECK(stats.shared > 0);
    CHECK(allowed < 8 * stats.slots);
    CHECK_U64(stats.evicted + stats.forgiven + stats.denied_full + stats.allowed_full + stats.exhausted, 0);

    check_case("RATECELL_FULL_DENY");
    stats = overfull(RATECELL_FULL_DENY, "10/w", &allowed);
    CHECK_U64(allowed, stats.live);
    CHECK_U64(stats.live + stats.denied_full, 8 * stats.slots);
    CHECK_U64(stats.evicted + stats.forgiven + stats.shared + stats.allowed_full + stats.exhausted, 0);

    check_case("RATECELL_FULL_ALLOW");
    stats = overfull(RATECELL_FULL_ALLOW, "10/w", &allowed);
    CHECK_U64(allowed, 8 * stats.slots);
    CHECK_U64(stats.live + stats.allowed_full, 8 * stats.slots);
    CHECK_U64(stats.evicted + stats.forgiven + stats.shared + stats.denied_full + stats.exhausted, 0);
}

/* A million keys' room, of which not all is looked at. */
static void a_large_table_is_estimated(void) {
    ratecell_config million = { .size = sizeof million, .max_keys = 1000000 };
    ratecell_limiter *limiter = NULL;
    ratecell_stats sample, exact, by_clock;
    check_case("an estimate");
    CHECK_STATUS(ratecell_limiter_new("10/w", &million, &limiter), 0);
    for (uint32_t key = 0; key < 300000; key++) {
        CHECK_STATUS(ratecell_limiter_check_at(limiter, &key, sizeof key, 1, 0, NULL), RATECELL_ALLOWED);
    }
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, 0, &sample, sizeof sample), 0);
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT | RATECELL_EXACT, 0, &exact, sizeof exact), 0);
    CHECK_U64(exact.live + exact.evicted, 300000);
    CHECK_U64(exact.live_error, 0);
    CHECK(sample.live_error > 0);
    CHECK(sample.live_error < exact.live / 20);
    CHECK(sample.live <= exact.live + sample.live_error);
    CHECK(exact.live <= sample.live + sample.live_error);
    sample.live = exact.live;
    sample.live_error = 0;
    CHECK(memcmp(&sample, &exact, sizeof sample) == 0);
    /* By the clock, days after its epoch or none: nobody knows how many are live, but all are counted. */
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_EXACT, 0, &by_clock, sizeof by_clock), 0);
    CHECK_U64(by_clock.live_error, 0);
    ratecell_limiter_free(limiter);
}

static void unknown_flags_are_refused(void) {
    ratecell_limiter *limiter = LIMITER("10/w");
    ratecell_stats stats;
    check_case("flags");
    for (uint32_t flag = 4; flag != 0; flag <<= 1) {
        UNTOUCHED(stats);
        CHECK_STATUS(ratecell_limiter_stats(limiter, flag, 0, &stats, sizeof stats), RATECELL_EINVAL);
        CHECK_STATUS(ratecell_limiter_stats(limiter, flag | RATECELL_AT, 0, &stats, sizeof stats),
                     RATECELL_EINVAL);
        check_filled(&stats, sizeof stats, "the stats", __FILE__, __LINE__);
    }
    ratecell_limiter_free(limiter);
}

static void as_many_bytes_are_written_as_asked_for(void) {
    struct {
        ratecell_stats stats;
        unsigned char tail[64];
    } longer;
    ratecell_limiter *limiter = LIMITER("10/w");
    ratecell_stats whole;
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, NULL), RATECELL_ALLOWED);
    whole = stats_at(limiter, 0);
    for (size_t size = 8; size <= sizeof longer; size++) {
        static const unsigned char zeros[sizeof longer.tail];
        size_t known = size < sizeof whole ? size : sizeof whole;
        check_case("stats of %zu bytes", size);
        UNTOUCHED(longer);
        CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, 0, &longer.stats, size), 0);
        CHECK(memcmp(&longer, &whole, known) == 0);
        CHECK(memcmp((char *)&longer + known, zeros, size - known) == 0);
        check_filled((char *)&longer + size, sizeof longer - size, "what follows", __FILE__, __LINE__);
    }
    ratecell_limiter_free(limiter);
}

int main(void) {
    live_keys_are_those_with_something_to_remember();
    stats_now_are_stats_at_now();
    a_full_table_counts_what_it_does();
    a_large_table_is_estimated();
    unknown_flags_are_refused();
    as_many_bytes_are_written_as_asked_for();
    return CHECK_END();
}
