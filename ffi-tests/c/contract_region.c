/* Regions in memory: how large, who may attach, whose what is. */

#define _POSIX_C_SOURCE 200809L

#include "ask.h"
#include "check.h"
#include "region.h"

#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)
#define POLICY "10/w"

static ratecell_config keys(uint64_t max_keys) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.max_keys = max_keys;
    return config;
}

static const char *const shared[] = {
    POLICY, "3/s burst=7", "token_bucket 5/10s capacity=10 mode=interval",
    "token_bucket 4/1m capacity=9 mode=interval_first", "leaky_meter 3/s capacity=7",
    "leaky_queue 10/s queue=20",
    "sliding_window 10/1m", "sliding_window 3/1s strict=true", "fixed_window 6/1m offset=17s",
    "fixed_window 5000/1h start=first", "7/1d burst=2 heal=1h",
    "10/s burst=20 & sliding_window 30/1m & fixed_window 40/1d",
};

/* The keys that have room in memory of len bytes: 0 where no region fits. */
static uint64_t room_in(void *memory, size_t len, const char *policy) {
    ratecell_limiter *limiter = NULL;
    ratecell_stats stats;
    int32_t status = ratecell_region_init(memory, len, policy, NULL, &limiter);
    if (status == RATECELL_EREGION_SMALL) {
        return 0;
    }
    CHECK_STATUS(status, 0);
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, 0, &stats, sizeof stats), 0);
    ratecell_limiter_free(limiter);
    return stats.slots / 7 * 5;
}

/* What init needs is what size says, to the byte, and init without max_keys is the other way round. */
static void sizes_agree(const char *policy, uint64_t max_keys) {
    ratecell_config config = keys(max_keys);
    ratecell_limiter *limiter;
    ratecell_stats stats;
    char why[256] = "not written";
    config.why = why;
    config.why_len = sizeof why;
    size_t len = ratecell_region_size(policy, &config);
    CHECK_TEXT(why, "");
    check_case("%llu keys of %s", (unsigned long long)max_keys, policy);
    CHECK(len > REGION_HEADER);
    void *memory = region_memory(len);
    uint64_t room = room_in(memory, len, policy);
    CHECK(room >= max_keys && room < max_keys + 6);
    CHECK(room_in(memory, len - 1, policy) < max_keys);
    ratecell_config all = keys(room);
    CHECK_U64(ratecell_region_size(policy, &all), len);
    memset(memory, 0, len);

    UNTOUCHED(limiter);
    CHECK_STATUS(ratecell_region_init(memory, len - 1, policy, &config, &limiter), RATECELL_EREGION_SMALL);
    CHECK_UNTOUCHED(limiter);
    CHECK(strstr(why, "bytes are too few") != NULL);
    REFUSED(memory, len, policy, &config, RATECELL_EREGION_NONE, "expected memory or a file");
    memset(memory, 0x5A, len);
    CHECK_STATUS(ratecell_region_init(memory, len, policy, &config, &limiter), 0);
    CHECK_TEXT(why, "");
    ratecell_limiter_free(ATTACHED(memory, len, policy));
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, 0, &stats, sizeof stats), 0);
    CHECK_U64(stats.live, 0);
    CHECK_U64(stats.slots, (room + 4) / 5 * 7);
    size_t tables_at = region_tables_at(region_layers(policy));
    CHECK_U64(stats.bytes + tables_at, len);
    ratecell_limiter_free(limiter);

    /* Zeros are not written, but for those before the tables. */
    memset(memory, 0, len);
    memset((char *)memory + tables_at, 0x5A, 1);
    config.flags = RATECELL_ZEROED;
    CHECK_U64(ratecell_region_size(policy, &config), len);
    CHECK_STATUS(ratecell_region_init(memory, len, policy, &config, &limiter), 0);
    CHECK(((const char *)memory)[tables_at] == 0x5A);
    ratecell_limiter_free(limiter);
    ratecell_limiter_free(ATTACHED(memory, len, policy));
    config.flags = 0;
    CHECK_STATUS(ratecell_region_init(memory, len, policy, &config, &limiter), 0);
    CHECK(((const char *)memory)[tables_at] == 0);
    ratecell_limiter_free(limiter);

    /* Without a word, as many as fit; the rest of the memory is not used. */
    CHECK_STATUS(ratecell_region_init(memory, len, policy, NULL, &limiter), 0);
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, 0, &stats, sizeof stats), 0);
    CHECK_U64(stats.slots, (room + 4) / 5 * 7);
    ratecell_limiter_free(limiter);
    free(memory);
}

static void no_size_of_no_region(void) {
    ratecell_config bad = RATECELL_CONFIG_INIT;
    ratecell_limiter *limiter;
    check_case("no region");
    CHECK_U64(ratecell_region_size(NULL, NULL), 0);
    CHECK_U64(ratecell_region_size("0/s", NULL), 0);
    CHECK_U64(ratecell_region_size("sliding_log 5/1h", NULL), 0);
    CHECK_U64(ratecell_region_size("1/s & sliding_log 5/1h", NULL), 0);
    bad.when_full = 4;
    CHECK_U64(ratecell_region_size(POLICY, &bad), 0);
    bad = keys(UINT64_MAX);
    CHECK_U64(ratecell_region_size(POLICY, &bad), 0);
    bad = keys(1);
    bad.size = offsetof(ratecell_config, on_miss) - 1;
    CHECK_U64(ratecell_region_size(POLICY, &bad), 0);
    CHECK_U64(ratecell_region_size(POLICY, (void *)((char *)&bad + 1)), 0);
    bad = keys(100000);
    CHECK_U64(ratecell_region_size(POLICY, NULL), ratecell_region_size(POLICY, &bad));

    void *memory = region_memory(1 << 16);
    CHECK_U64(room_in(memory, 0, POLICY), 0);
    CHECK_U64(room_in(memory, region_tables_at(1), POLICY), 0);
    CHECK(room_in(memory, 1 << 16, POLICY) > 2000);
    UNTOUCHED(limiter);
    int32_t status = ratecell_region_init(memory, 1 << 16, "sliding_log 5/1h", NULL, &limiter);
    CHECK_STATUS(status, RATECELL_EREGION_NO_WORD);
    CHECK_UNTOUCHED(limiter);
    bad = keys(UINT64_MAX);
    CHECK_STATUS(ratecell_region_init(memory, 1 << 16, POLICY, &bad, &limiter), RATECELL_EREGION_SMALL);
    CHECK_UNTOUCHED(limiter);
    free(memory);
}

/* The rate of a policy: what stands before its first option. */
static int is_of_one_rate(const char *one, const char *other) {
    const char *first = strpbrk(one, "0123456789"), *second = strpbrk(other, "0123456789");
    size_t len = strcspn(first, " ");
    return len == strcspn(second, " ") && strncmp(first, second, len) == 0;
}

/* Whether a policy's words are times of arrival, which gcra and the leaky buckets have in common. */
static int is_of_arrival(const char *policy) {
    return (policy[0] >= '0' && policy[0] <= '9') || strncmp(policy, "leaky", 5) == 0;
}

/* Every policy attaches to its own region and to no other's, and both sides of what differs are told. */
static void a_region_is_of_one_kind_of_words(void) {
    for (size_t i = 0; i < CHECK_COUNT(shared); i++) {
        ratecell_config config = keys(25);
        size_t len = 0;
        void *memory = region_new(shared[i], &config, &len);
        for (size_t j = 0; j < CHECK_COUNT(shared); j++) {
            check_case("%s in the region of %s", shared[j], shared[i]);
            if (i == j) {
                ratecell_limiter_free(ATTACHED(memory, len, shared[j]));
            } else if ((strchr(shared[i], '&') == NULL) != (strchr(shared[j], '&') == NULL)) {
                REFUSED(memory, len, shared[j], NULL, RATECELL_EREGION_LAYERS, "number of layers");
            } else if (!is_of_arrival(shared[i]) || !is_of_arrival(shared[j])) {
                REFUSED(memory, len, shared[j], NULL, RATECELL_EREGION_WORDS, "words");
            } else if (!is_of_one_rate(shared[i], shared[j])) {
                REFUSED(memory, len, shared[j], NULL, RATECELL_EREGION_POLICY, "to have the same rate");
            } else {
                ratecell_limiter_free(ATTACHED(memory, len, shared[j]));
            }
        }
        free(memory);
    }
}

static void what_differs_is_told(void) {
    static const struct {
        const char *held, *asked;
        ratecell_config config;
        int32_t status;
        const char *why;
    } cases[] = {
#define CONFIG(keys, full) { .size = sizeof(ratecell_config), .max_keys = keys, .when_full = full }
        { "fixed_window 6/1m", "6/1m", CONFIG(0, 0), RATECELL_EREGION_WORDS, "expected gcra" },
        { "6/1m", "fixed_window 6/1m", CONFIG(0, 0), RATECELL_EREGION_WORDS, "of `6/m`; expected fixed of 1m" },
        { "fixed_window 6/1m", "fixed_window 6/1h", CONFIG(0, 0), RATECELL_EREGION_WORDS, "fixed of 1m, grain 0ns" },
        { "fixed_window 6/1m", "fixed_window 6/1m offset=7s", CONFIG(0, 0), RATECELL_EREGION_WORDS, "grain 53s" },
        { "fixed_window 6/1m", "fixed_window 6/1m start=first", CONFIG(0, 0), RATECELL_EREGION_WORDS, "words" },
        { "sliding_window 6/1m", "sliding_window 6/30s", CONFIG(0, 0), RATECELL_EREGION_WORDS, "expected sliding of 30s" },
        { "6/1m", "6/1m & 7/1h", CONFIG(0, 0), RATECELL_EREGION_LAYERS, "number of layers: 1, of `6/m`; expected 2, of `6/m & 7/h`" },
        { "6/1m & 7/1h", "6/1m", CONFIG(0, 0), RATECELL_EREGION_LAYERS, "number of layers: 2, of `6/m & 7/h`; expected 1, of `6/m`" },
        { "6/1m", "sliding_log 6/1m", CONFIG(0, 0), RATECELL_EREGION_NO_WORD, "sliding_log" },
        { "6/1m", "6/1m", CONFIG(23, 0), RATECELL_EREGION_MAX_KEYS, "max_keys: 60; expected 23" },
        { "6/1m", "6/1m", CONFIG(61, 0), RATECELL_EREGION_MAX_KEYS, "max_keys: 60; expected 61" },
        { "6/1m", "6/1m", CONFIG(0, RATECELL_FULL_SHARE), RATECELL_EREGION_WHEN_FULL, "deny; expected share" },
        { "6/1m", "6/1m", CONFIG(0, RATECELL_FULL_ALLOW), RATECELL_EREGION_WHEN_FULL, "deny; expected allow" },
        { "6/1m", "6/1m", CONFIG(60, RATECELL_FULL_DENY), 0, "" },
        { "6/1m", "6/1m", CONFIG(56, RATECELL_FULL_DENY), 0, "" },
        { "6/1m", "7/1h burst=9", CONFIG(0, 0), RATECELL_EREGION_POLICY, "`6/m` in force; expected `7/h burst=9` to have" },
        { "6/1m", "12/2m burst=9", CONFIG(0, 0), 0, "" },
        { "fixed_window 6/1m", "fixed_window 60000/1m", CONFIG(0, 0), 0, "" },
    };
    for (size_t i = 0; i < CHECK_COUNT(cases); i++) {
        ratecell_config made = CONFIG(60, RATECELL_FULL_DENY);
        size_t len = 0;
        void *memory = region_new(cases[i].held, &made, &len);
        check_case("%s, case %zu, in the region of %s", cases[i].asked, i, cases[i].held);
        if (cases[i].status != 0) {
            REFUSED(memory, len, cases[i].asked, &cases[i].config, cases[i].status, cases[i].why);
        } else {
            ratecell_limiter *limiter = NULL;
            CHECK_STATUS(ratecell_region_attach(memory, len, cases[i].asked, &cases[i].config, &limiter), 0);
            ratecell_limiter_free(limiter);
        }
        free(memory);
    }
}

/* The text of a limiter's policy. */
static void has_policy(const ratecell_limiter *limiter, const char *expected) {
    char text[128];
    CHECK(ratecell_limiter_policy(limiter, text, sizeof text) > 0);
    CHECK_TEXT(text, expected);
}

static ratecell_limiter *attached_with(void *memory, size_t len, const char *policy, uint64_t flags) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    ratecell_limiter *limiter = NULL;
    config.flags = flags;
    CHECK_STATUS(ratecell_region_attach(memory, len, policy, &config, &limiter), 0);
    return limiter;
}

/* Where the region has another policy, that one is followed or changed, if the config says so. */
static void another_policy_is_followed_or_changed(void) {
    ratecell_config config = keys(25);
    size_t len = 0;
    check_case("a region with another policy");
    void *memory = region_new("10/1h", &config, &len);
    ratecell_limiter *first = ATTACHED(memory, len, "10/1h");
    CHECK_STATUS(ratecell_limiter_check(first, "key", 3, 10, NULL), RATECELL_ALLOWED);
    REFUSED(memory, len, "12/1h", NULL, RATECELL_EREGION_POLICY, "policy: `10/h` in force; expected `12/h` to have");
    ratecell_limiter *follower = attached_with(memory, len, "12/1h", RATECELL_FOLLOW);
    has_policy(follower, "10/h");
    ratecell_limiter *without = attached_with(memory, len, NULL, RATECELL_FOLLOW);
    ratecell_limiter *changer = attached_with(memory, len, "12/1h", RATECELL_CHANGE);
    check_case("a policy that was changed by one who came");
    has_policy(first, "12/h");
    has_policy(follower, "12/h");
    has_policy(without, "12/h");
    CHECK_STATUS(ratecell_limiter_check(follower, "key", 3, 2, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check(changer, "key", 3, 1, NULL), RATECELL_DENIED);

    check_case("what cannot follow");
    config = keys(0);
    config.flags = RATECELL_CHANGE;
    ratecell_limiter *none;
    char why[256] = "";
    config.why = why;
    config.why_len = sizeof why;
    UNTOUCHED(none);
    CHECK_STATUS(ratecell_region_attach(memory, len, "fixed_window 9/h", &config, &none), RATECELL_ECHANGE);
    CHECK(strstr(why, "`fixed_window 9/h` cannot follow `12/h`") != NULL);
    CHECK_STATUS(ratecell_region_attach(memory, len, NULL, &config, &none), RATECELL_ECONFIG);
    CHECK_TEXT(why, "RATECELL_CHANGE: expected a policy beside it");
    config.flags |= RATECELL_FOLLOW;
    CHECK_STATUS(ratecell_region_attach(memory, len, "12/h", &config, &none), RATECELL_ECONFIG);
    CHECK_TEXT(why, "RATECELL_FOLLOW, RATECELL_CHANGE: expected one of them, or neither");
    check_case("calls that have no use for the flags");
    for (uint64_t flag = RATECELL_FOLLOW; flag <= RATECELL_CHANGE; flag *= 2) {
        config.flags = flag;
        CHECK_STATUS(ratecell_limiter_new("12/h", &config, &none), RATECELL_ECONFIG);
        CHECK_STATUS(ratecell_region_init(memory, len, "12/h", &config, &none), RATECELL_ECONFIG);
        CHECK_U64(ratecell_region_size("12/h", &config), 0);
        CHECK_STATUS(ratecell_limiter_with_policy(first, "12/h", &config, &none), RATECELL_ECONFIG);
    }
    CHECK_UNTOUCHED(none);
    has_policy(first, "12/h");
    ratecell_limiter_free(changer);
    ratecell_limiter_free(without);
    ratecell_limiter_free(follower);
    ratecell_limiter_free(first);
    free(memory);
}

/* Without a policy a limiter has that of the region's maker, and the same keys. */
static void without_a_policy_the_region_s_is_followed(void) {
    ratecell_config given = keys(25);
    for (size_t i = 0; i < CHECK_COUNT(shared); i++) {
        char ours[512], theirs[512];
        ratecell_decision decision;
        size_t len = 0;
        void *memory = region_new(shared[i], &given, &len);
        check_case("in the region of %s", shared[i]);
        ratecell_limiter *other = ATTACHED(memory, len, shared[i]);
        ratecell_limiter *follower = ATTACHED(memory, len, NULL);
        CHECK(ratecell_policy_format(shared[i], ours, sizeof ours) > 0);
        CHECK(ratecell_limiter_policy(follower, theirs, sizeof theirs) > 0);
        CHECK_TEXT(theirs, ours);
        CHECK_STATUS(ratecell_limiter_check_at(other, "key", 3, 1, 0, &decision), RATECELL_ALLOWED);
        CHECK_U64(region_remaining(follower, "key", 0), decision.remaining);
        ratecell_limiter_free(follower);
        ratecell_limiter_free(other);
        free(memory);
    }

    char why[256] = "";
    ratecell_config config = keys(25);
    ratecell_limiter *limiter;
    size_t len = 0;
    void *memory = region_new(POLICY, &config, &len);
    check_case("no policy, and another max_keys");
    config.max_keys = 60;
    REFUSED(memory, len, NULL, &config, RATECELL_EREGION_MAX_KEYS, "max_keys: 25; expected 60");
    check_case("no policy, and no region");
    memset(memory, 0, len);
    REFUSED(memory, len, NULL, NULL, RATECELL_EREGION_NONE, "not a region");
    check_case("a region without a policy");
    UNTOUCHED(limiter);
    config.why = why;
    config.why_len = sizeof why;
    CHECK_STATUS(ratecell_region_init(memory, len, NULL, &config, &limiter), RATECELL_EINVAL);
    CHECK_TEXT(why, "no policy: expected one, or a region to follow that of");
    CHECK_UNTOUCHED(limiter);
    why[0] = '\0';
    CHECK_U64(ratecell_region_size(NULL, &config), 0);
    CHECK_TEXT(why, "no policy: expected one, or a region to follow that of");
    free(memory);
}

/* Through one all is seen that came through the other; the limits are each one's own. */
static void two_limiters_are_of_one_region(const char *policy, uint64_t now) {
    ratecell_config config = keys(64);
    ratecell_limiter *here = NULL;
    ratecell_decision ours, theirs;
    size_t len = ratecell_region_size(policy, &config);
    void *memory = region_memory(len);
    check_case("two on %s", policy);
    CHECK_STATUS(ratecell_region_init(memory, len, policy, &config, &here), 0);
    ratecell_limiter *there = ATTACHED(memory, len, policy);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(ratecell_limiter_check_at(here, "key", 3, 0, now, &ours), RATECELL_ALLOWED);
        CHECK_STATUS(ratecell_limiter_check_at(there, "key", 3, 0, now, &theirs), RATECELL_ALLOWED);
        CHECK_DECISION(theirs, ours);
        uint64_t left = ours.remaining;
        int32_t expected = left > 0 ? RATECELL_ALLOWED : RATECELL_DENIED;
        CHECK_STATUS(ratecell_limiter_check_at(i % 2 == 0 ? here : there, "key", 3, 1, now, &ours), expected);
        CHECK_U64(ours.remaining, left == 0 ? 0 : left - 1);
        CHECK_STATUS(ratecell_limiter_check_at(there, "key", 3, 0, now, &theirs), RATECELL_ALLOWED);
        CHECK_U64(theirs.remaining, ours.remaining);
    }

    /* One clock, one epoch, one secret. */
    uint64_t first = 0, second = 1;
    CHECK_STATUS(ratecell_limiter_epoch(here, &first), 0);
    CHECK_STATUS(ratecell_limiter_epoch(there, &second), 0);
    CHECK_U64(second, first);
    CHECK_STATUS(ratecell_limiter_now(here, &first), 0);
    CHECK_STATUS(ratecell_limiter_now(there, &second), 0);
    CHECK(second >= first && second - first < 3600 * SECOND);

    /* The region outlives its limiters, and stands where it is copied to, without going on with the other. */
    ratecell_limiter_free(here);
    ratecell_limiter_free(there);
    void *elsewhere = region_memory(len);
    memcpy(elsewhere, memory, len);
    here = ATTACHED(memory, len, policy);
    there = ATTACHED(elsewhere, len, policy);
    CHECK_STATUS(ratecell_limiter_check_at(here, "key", 3, 0, now, &theirs), RATECELL_ALLOWED);
    CHECK_U64(theirs.remaining, ours.remaining);
    CHECK_STATUS(ratecell_limiter_check_at(there, "key", 3, 0, now, &theirs), RATECELL_ALLOWED);
    CHECK_U64(theirs.remaining, ours.remaining);
    CHECK_STATUS(ratecell_limiter_forget(there, "key", 3), 0);
    CHECK_STATUS(ratecell_limiter_check_at(there, "key", 3, 0, now, &theirs), RATECELL_ALLOWED);
    CHECK_U64(theirs.remaining, theirs.limit);
    CHECK_STATUS(ratecell_limiter_check_at(here, "key", 3, 0, now, &theirs), RATECELL_ALLOWED);
    CHECK_U64(theirs.remaining, ours.remaining);
    ratecell_limiter_free(here);
    ratecell_limiter_free(there);

    /* Made anew, it has forgotten. */
    CHECK_STATUS(ratecell_region_init(memory, len, policy, &config, &here), 0);
    CHECK_STATUS(ratecell_limiter_check_at(here, "key", 3, 0, now, &theirs), RATECELL_ALLOWED);
    CHECK_U64(theirs.remaining, theirs.limit);
    ratecell_limiter_free(here);
    free(memory);
    free(elsewhere);
}

/* What of `when_full` and `max_keys` the region has, all have. */
static void a_full_region_is_full_for_all(void) {
    ratecell_config config = keys(5);
    ratecell_stats ours, theirs;
    ratecell_limiter *here = NULL;
    config.when_full = RATECELL_FULL_DENY;
    size_t len = ratecell_region_size(POLICY, &config);
    void *memory = region_memory(len);
    check_case("a full region");
    CHECK_STATUS(ratecell_region_init(memory, len, POLICY, &config, &here), 0);
    ratecell_limiter *there = ATTACHED(memory, len, "10/w burst=20");
    for (uint64_t hash = 0; hash < 100; hash++) {
        const ratecell_limiter *limiter = hash % 2 == 0 ? here : there;
        CHECK_STATUS(ask_hash_at(limiter, hash << 32, 1, 0, NULL),
                     hash < 7 ? RATECELL_ALLOWED : RATECELL_DENIED);
    }
    CHECK_STATUS(ratecell_limiter_stats(here, RATECELL_AT, 0, &ours, sizeof ours), 0);
    CHECK_STATUS(ratecell_limiter_stats(there, RATECELL_AT, 0, &theirs, sizeof theirs), 0);
    CHECK(memcmp(&ours, &theirs, sizeof ours) == 0);
    CHECK_U64(ours.live, 7);
    CHECK_U64(ours.denied_full, 93);
    ratecell_limiter_free(here);
    ratecell_limiter_free(there);
    free(memory);
}

int main(void) {
    static const uint64_t counts[] = { 1, 6, 7, 1000, 4093 };
    for (size_t i = 0; i < CHECK_COUNT(shared); i++) {
        for (size_t j = 0; j < CHECK_COUNT(counts); j++) {
            sizes_agree(shared[i], counts[j]);
        }
        two_limiters_are_of_one_region(shared[i], 0);
        two_limiters_are_of_one_region(shared[i], 86400 * SECOND);
    }
    no_size_of_no_region();
    another_policy_is_followed_or_changed();
    a_region_is_of_one_kind_of_words();
    what_differs_is_told();
    without_a_policy_the_region_s_is_followed();
    a_full_region_is_full_for_all();
    return CHECK_END();
}
