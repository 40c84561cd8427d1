/* Every bad argument of every function: its status, that no output is written and that nothing is charged. */

#include "call.h"
#include "check.h"
#include "region.h"

#include <stdlib.h>
#include <string.h>

#define AT(argument) offsetof(struct arguments, argument), #argument

/* A pointer argument. An alignment of 1 is none that can be missed. */
struct pointer {
    enum call_name function;
    size_t at;
    const char *argument;
    size_t alignment;
    /* What NULL gives: at least 0 where the header allows it. */
    int32_t null;
};

/* Every pair of a function and a pointer that it takes, but of ratecell_limiter_free. */
static const struct pointer pointers[] = {
    { LIMITER_NEW, AT(policy), 1, RATECELL_EINVAL },
    { LIMITER_NEW, AT(config), 8, 0 },
    { LIMITER_NEW, AT(made), 8, RATECELL_EINVAL },
    { LIMITER_POLICY, AT(limiter), 8, RATECELL_EINVAL },
    { LIMITER_POLICY, AT(buffer), 1, RATECELL_EINVAL },
    { LIMITER_NOW, AT(limiter), 8, RATECELL_EINVAL },
    { LIMITER_NOW, AT(now), 8, RATECELL_EINVAL },
    { LIMITER_EPOCH, AT(limiter), 8, RATECELL_EINVAL },
    { LIMITER_EPOCH, AT(unix_ns), 8, RATECELL_EINVAL },
    { LIMITER_CHECK, AT(limiter), 8, RATECELL_EINVAL },
    { LIMITER_CHECK, AT(key), 1, RATECELL_EINVAL },
    { LIMITER_CHECK, AT(decision), 8, 0 },
    { LIMITER_CHECK_AT, AT(limiter), 8, RATECELL_EINVAL },
    { LIMITER_CHECK_AT, AT(key), 1, RATECELL_EINVAL },
    { LIMITER_CHECK_AT, AT(decision), 8, 0 },
    { LIMITER_FORGET, AT(limiter), 8, RATECELL_EINVAL },
    { LIMITER_FORGET, AT(key), 1, RATECELL_EINVAL },
    { LIMITER_DECIDE_BATCH, AT(limiter), 8, RATECELL_EINVAL },
    { LIMITER_DECIDE_BATCH, AT(requests), 8, RATECELL_EINVAL },
    { LIMITER_DECIDE_BATCH, AT(decisions), 8, RATECELL_EINVAL },
    { LIMITER_DECIDE, AT(limiter), 8, RATECELL_EINVAL },
    { LIMITER_DECIDE, AT(requests), 8, RATECELL_EINVAL },
    { LIMITER_DECIDE, AT(decision), 8, 0 },
    { LIMITER_SETTLE, AT(limiter), 8, RATECELL_EINVAL },
    { LIMITER_SETTLE, AT(held), 8, RATECELL_EINVAL },
    { LIMITER_SETTLE, AT(decision), 8, 0 },
    { LIMITER_RELEASE, AT(limiter), 8, RATECELL_EINVAL },
    { LIMITER_RELEASE, AT(held), 8, RATECELL_EINVAL },
    { LIMITER_RELEASE, AT(decision), 8, 0 },
    { LIMITER_RENEW, AT(limiter), 8, RATECELL_EINVAL },
    { LIMITER_RENEW, AT(held), 8, RATECELL_EINVAL },
    { LIMITER_RENEW, AT(decision), 8, 0 },
    { FIELDS, AT(answers), 8, RATECELL_EINVAL },
    { FIELDS, AT(buffer), 1, RATECELL_EINVAL },
    { LIMITER_STATS, AT(limiter), 8, RATECELL_EINVAL },
    { LIMITER_STATS, AT(stats), 8, RATECELL_EINVAL },
    { POLICY_FORMAT, AT(policy), 1, RATECELL_EINVAL },
    { POLICY_FORMAT, AT(buffer), 1, RATECELL_EINVAL },
    { POLICY_EXPLAIN, AT(policy), 1, RATECELL_EINVAL },
    { POLICY_EXPLAIN, AT(buffer), 1, RATECELL_EINVAL },
    { DECIDE_ALL, AT(claims), 8, RATECELL_EINVAL },
    { DECIDE_ALL, AT(decisions), 8, 0 },
    { REGION_INIT, AT(memory), 64, RATECELL_EINVAL },
    { REGION_INIT, AT(policy), 1, RATECELL_EINVAL },
    { REGION_INIT, AT(config), 8, 0 },
    { REGION_INIT, AT(made), 8, RATECELL_EINVAL },
    { REGION_ATTACH, AT(memory), 64, RATECELL_EINVAL },
    { REGION_ATTACH, AT(policy), 1, 0 },
    { REGION_ATTACH, AT(config), 8, 0 },
    { REGION_ATTACH, AT(made), 8, RATECELL_EINVAL },
    { LIMITER_OPEN, AT(path), 1, RATECELL_EINVAL },
    { LIMITER_OPEN, AT(policy), 1, 0 },
    { LIMITER_OPEN, AT(config), 8, 0 },
    { LIMITER_OPEN, AT(made), 8, RATECELL_EINVAL },
    { LIMITER_WITH_POLICY, AT(limiter), 8, RATECELL_EINVAL },
    { LIMITER_WITH_POLICY, AT(policy), 1, RATECELL_EINVAL },
    { LIMITER_WITH_POLICY, AT(view), 8, 0 },
    { LIMITER_WITH_POLICY, AT(made), 8, RATECELL_EINVAL },
};

/* No object is larger than PTRDIFF_MAX bytes. */
#define TOO_MANY(type) ((size_t)PTRDIFF_MAX / sizeof(type) + 1)

static const struct {
    enum call_name function;
    size_t at;
    const char *argument;
    size_t length;
    int32_t status;
} lengths[] = {
    { LIMITER_CHECK, AT(key_len), SIZE_MAX, RATECELL_ESIZE },
    { LIMITER_CHECK, AT(key_len), TOO_MANY(char), RATECELL_ESIZE },
    { LIMITER_CHECK_AT, AT(key_len), SIZE_MAX, RATECELL_ESIZE },
    { LIMITER_CHECK_AT, AT(key_len), TOO_MANY(char), RATECELL_ESIZE },
    { LIMITER_FORGET, AT(key_len), SIZE_MAX, RATECELL_ESIZE },
    { LIMITER_FORGET, AT(key_len), TOO_MANY(char), RATECELL_ESIZE },
    { LIMITER_DECIDE_BATCH, AT(n), SIZE_MAX, RATECELL_ESIZE },
    { LIMITER_DECIDE_BATCH, AT(n), TOO_MANY(ratecell_request), RATECELL_ESIZE },
    { LIMITER_DECIDE_BATCH, AT(n), TOO_MANY(ratecell_decision), RATECELL_ESIZE },
    /* The least that wraps to a small number of bytes. */
    { LIMITER_DECIDE_BATCH, AT(n), SIZE_MAX / sizeof(ratecell_request) + 1, RATECELL_ESIZE },
    { LIMITER_DECIDE_BATCH, AT(n), SIZE_MAX / sizeof(ratecell_decision) + 1, RATECELL_ESIZE },
    { LIMITER_STATS, AT(size), SIZE_MAX, RATECELL_ESIZE },
    { LIMITER_STATS, AT(size), TOO_MANY(char), RATECELL_ESIZE },
    { LIMITER_POLICY, AT(len), SIZE_MAX, RATECELL_ESIZE },
    { LIMITER_POLICY, AT(len), TOO_MANY(char), RATECELL_ESIZE },
    { POLICY_FORMAT, AT(len), SIZE_MAX, RATECELL_ESIZE },
    { POLICY_FORMAT, AT(len), TOO_MANY(char), RATECELL_ESIZE },
    { POLICY_EXPLAIN, AT(len), SIZE_MAX, RATECELL_ESIZE },
    { POLICY_EXPLAIN, AT(len), TOO_MANY(char), RATECELL_ESIZE },
    { FIELDS, AT(n), 65, RATECELL_ESIZE },
    { FIELDS, AT(n), SIZE_MAX, RATECELL_ESIZE },
    { FIELDS, AT(len), SIZE_MAX, RATECELL_ESIZE },
    { FIELDS, AT(len), TOO_MANY(char), RATECELL_ESIZE },
    { DECIDE_ALL, AT(n), 65, RATECELL_ESIZE },
    { DECIDE_ALL, AT(n), SIZE_MAX, RATECELL_ESIZE },
    { DECIDE_ALL, AT(n), TOO_MANY(ratecell_claim), RATECELL_ESIZE },
    { DECIDE_ALL, AT(n), SIZE_MAX / sizeof(ratecell_claim) + 1, RATECELL_ESIZE },
    { DECIDE_ALL, AT(n), SIZE_MAX / sizeof(ratecell_decision) + 1, RATECELL_ESIZE },
    { REGION_INIT, AT(memory_len), 0, RATECELL_EREGION_SMALL },
    { REGION_INIT, AT(memory_len), 1, RATECELL_EREGION_SMALL },
    { REGION_INIT, AT(memory_len), REGION_HEADER - 1, RATECELL_EREGION_SMALL },
    { REGION_INIT, AT(memory_len), REGION_HEADER, RATECELL_EREGION_SMALL },
    { REGION_INIT, AT(memory_len), TOO_MANY(char), RATECELL_ESIZE },
    { REGION_INIT, AT(memory_len), SIZE_MAX, RATECELL_ESIZE },
    { REGION_ATTACH, AT(memory_len), 0, RATECELL_EREGION_SMALL },
    { REGION_ATTACH, AT(memory_len), 1, RATECELL_EREGION_SMALL },
    { REGION_ATTACH, AT(memory_len), REGION_HEADER - 1, RATECELL_EREGION_SMALL },
    { REGION_ATTACH, AT(memory_len), REGION_HEADER, RATECELL_EREGION_SMALL },
    { REGION_ATTACH, AT(memory_len), TOO_MANY(char), RATECELL_ESIZE },
    { REGION_ATTACH, AT(memory_len), SIZE_MAX, RATECELL_ESIZE },
};

static void set_pointer(struct call *call, size_t at, void *pointer) {
    memcpy((char *)&call->with + at, &pointer, sizeof pointer);
}

static char *get_pointer(const struct call *call, size_t at) {
    char *pointer;
    memcpy(&pointer, (const char *)&call->with + at, sizeof pointer);
    return pointer;
}

static void nothing_is_charged(const struct call *call) {
    ratecell_stats stats;
    ratecell_decision decision;
    CHECK_STATUS(ratecell_limiter_stats(call->limiter, RATECELL_AT, call->now_ns, &stats, sizeof stats), 0);
    CHECK_U64(stats.live, 0);
    CHECK_STATUS(ratecell_limiter_check_at(call->limiter, "key", 3, 0, call->now_ns, &decision),
                 RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, decision.limit);
}

static void refused(struct call *call, enum call_name function, int32_t expected) {
    void *before = region_memory(call->region_len);
    size_t len = 0;
    memcpy(before, call->region, call->region_len);
    CHECK_STATUS(call_functions[function].call(call), expected);
    CHECK_UNTOUCHED(call->out);
    nothing_is_charged(call);
    CHECK(memcmp(before, call->region, call->region_len) == 0);
    unsigned char *file = file_read(call->path, &len);
    CHECK_U64(len, call->file_len);
    free(file);
    free(before);
    call_end(call);
}

static void right_arguments_are_taken(void) {
    for (size_t i = 0; i < CHECK_COUNT(call_functions); i++) {
        struct call call;
        check_case("%s", call_functions[i].name);
        call_begin(&call);
        CHECK(call_functions[i].call(&call) >= 0);
        call_end(&call);
    }
}

static void null(const struct pointer *pointer) {
    struct call call;
    check_case("%s(%s NULL)", call_functions[pointer->function].name, pointer->argument);
    call_begin(&call);
    set_pointer(&call, pointer->at, NULL);
    if (pointer->null < 0) {
        refused(&call, pointer->function, pointer->null);
        return;
    }
    CHECK(call_functions[pointer->function].call(&call) >= 0);
    call_end(&call);
}

static void every_pointer_is_checked(void) {
    for (size_t i = 0; i < CHECK_COUNT(pointers); i++) {
        const struct pointer *pointer = &pointers[i];
        null(pointer);
        for (size_t offset = 1; offset < pointer->alignment; offset++) {
            struct call call;
            check_case("%s(%s + %zu)", call_functions[pointer->function].name, pointer->argument, offset);
            call_begin(&call);
            set_pointer(&call, pointer->at, get_pointer(&call, pointer->at) + offset);
            refused(&call, pointer->function, RATECELL_EALIGN);
        }
    }
}

static void every_length_is_checked(void) {
    for (size_t i = 0; i < CHECK_COUNT(lengths); i++) {
        struct call call;
        check_case("%s(%s %zu)", call_functions[lengths[i].function].name, lengths[i].argument,
                   lengths[i].length);
        call_begin(&call);
        memcpy((char *)&call.with + lengths[i].at, &lengths[i].length, sizeof lengths[i].length);
        refused(&call, lengths[i].function, lengths[i].status);
    }
}

/* Where the length is 0 there is nothing to point to. */
static void a_pointer_to_nothing_may_be_null(void) {
    static const struct {
        enum call_name function;
        size_t pointer, length;
    } empty[] = {
        { LIMITER_CHECK, offsetof(struct arguments, key), offsetof(struct arguments, key_len) },
        { LIMITER_CHECK_AT, offsetof(struct arguments, key), offsetof(struct arguments, key_len) },
        { LIMITER_FORGET, offsetof(struct arguments, key), offsetof(struct arguments, key_len) },
        { LIMITER_DECIDE_BATCH, offsetof(struct arguments, requests), offsetof(struct arguments, n) },
        { LIMITER_DECIDE_BATCH, offsetof(struct arguments, decisions), offsetof(struct arguments, n) },
        { LIMITER_POLICY, offsetof(struct arguments, buffer), offsetof(struct arguments, len) },
        { POLICY_FORMAT, offsetof(struct arguments, buffer), offsetof(struct arguments, len) },
        { POLICY_EXPLAIN, offsetof(struct arguments, buffer), offsetof(struct arguments, len) },
        { FIELDS, offsetof(struct arguments, answers), offsetof(struct arguments, n) },
        { FIELDS, offsetof(struct arguments, buffer), offsetof(struct arguments, len) },
        { DECIDE_ALL, offsetof(struct arguments, claims), offsetof(struct arguments, n) },
    };
    for (size_t i = 0; i < CHECK_COUNT(empty); i++) {
        struct call call;
        size_t none = 0;
        check_case("%s(nothing at NULL)", call_functions[empty[i].function].name);
        call_begin(&call);
        set_pointer(&call, empty[i].pointer, NULL);
        memcpy((char *)&call.with + empty[i].length, &none, sizeof none);
        CHECK(call_functions[empty[i].function].call(&call) >= 0);
        call_end(&call);
    }
}

/* Whatever makes a limiter of a policy and a config. */
static const enum call_name makers[] = { LIMITER_NEW, REGION_INIT, REGION_ATTACH, LIMITER_OPEN, LIMITER_WITH_POLICY };

static void every_policy_is_checked(void) {
    static const struct {
        const char *policy;
        int32_t status;
    } bad[] = {
        { "", RATECELL_EPOLICY_SYNTAX },
        { "10/w &", RATECELL_EPOLICY_SYNTAX },
        { "\xff", RATECELL_EPOLICY_SYNTAX },
        { "0/w", RATECELL_EPOLICY_ZERO_LIMIT },
        { "10/0s", RATECELL_EPOLICY_ZERO_PERIOD },
        { "10/w burst=0", RATECELL_EPOLICY_ZERO_CAPACITY },
        { "fixed_window 10/1m offset=1m", RATECELL_EPOLICY_BAD_OFFSET },
        { "sieve 10/w", RATECELL_EPOLICY_UNKNOWN_ALGORITHM },
        { "1/s & 1/s & 1/s & 1/s & 1/s & 1/s & 1/s & 1/s & 1/s", RATECELL_EPOLICY_BAD_LAYERS },
    };
    for (size_t i = 0; i < CHECK_COUNT(makers); i++) {
        for (size_t j = 0; j < CHECK_COUNT(bad); j++) {
            struct call call;
            check_case("%s(\"%s\")", call_functions[makers[i]].name, bad[j].policy);
            call_begin(&call);
            call.with.policy = (void *)(uintptr_t)bad[j].policy;
            refused(&call, makers[i], bad[j].status);
        }
    }
}

static void every_config_is_checked(void) {
    const size_t right = sizeof(ratecell_config);
    const struct {
        ratecell_config config;
        int32_t status;
    } bad[] = {
        { { .size = 0 }, RATECELL_ESIZE },
        /* The first version's has no on_miss. */
        { { .size = offsetof(ratecell_config, on_miss) - 1 }, RATECELL_ESIZE },
        { { .size = 8192 }, RATECELL_E2BIG },
        { { .size = SIZE_MAX }, RATECELL_E2BIG },
        { { .size = right, .when_full = RATECELL_FULL_ALLOW + 1 }, RATECELL_ECONFIG },
        { { .size = right, .when_full = UINT64_MAX }, RATECELL_ECONFIG },
        { { .size = right, .flags = 1 }, RATECELL_ECONFIG },
        { { .size = right, .flags = RATECELL_ZEROED << 1 }, RATECELL_ECONFIG },
        { { .size = right, .flags = UINT64_C(1) << 63 | RATECELL_ZEROED }, RATECELL_ECONFIG },
        { { .size = right, .policy_version = 1 }, RATECELL_ECONFIG },
        { { .size = right, .file = "limits" }, RATECELL_ECONFIG },
        { { .size = right, .flags = RATECELL_FOLLOW | RATECELL_CHANGE }, RATECELL_ECONFIG },
        { { .size = right, .why_len = 1 }, RATECELL_EINVAL },
    };
    for (size_t i = 0; i < CHECK_COUNT(makers); i++) {
        for (size_t j = 0; j < CHECK_COUNT(bad); j++) {
            struct call call;
            check_case("%s(config %zu)", call_functions[makers[i]].name, j);
            call_begin(&call);
            call.own_config = call.own_view = bad[j].config;
            refused(&call, makers[i], bad[j].status);
        }
    }
}

/* Only memory that a region is made of is said to be zeros, or gets more room than it would have. */
static void a_flag_without_a_use_is_refused(void) {
    for (size_t i = 0; i < CHECK_COUNT(makers); i++) {
        struct call call;
        check_case("%s(RATECELL_ZEROED)", call_functions[makers[i]].name);
        call_begin(&call);
        call.own_config.flags = call.own_view.flags = RATECELL_ZEROED;
        if (makers[i] == REGION_INIT) {
            CHECK_STATUS(call_functions[makers[i]].call(&call), 0);
            call_end(&call);
        } else {
            refused(&call, makers[i], RATECELL_ECONFIG);
        }
        check_case("%s(RATECELL_RESERVATIONS)", call_functions[makers[i]].name);
        call_begin(&call);
        call.own_config.flags = call.own_view.flags = RATECELL_RESERVATIONS;
        if (makers[i] == REGION_INIT) {
            call.own_config.max_keys = 1;
            CHECK_STATUS(call_functions[makers[i]].call(&call), 0);
            call_end(&call);
        } else {
            refused(&call, makers[i], RATECELL_ECONFIG);
        }
        if (makers[i] != REGION_INIT && makers[i] != LIMITER_OPEN) {
            check_case("%s(RATECELL_NAMES)", call_functions[makers[i]].name);
            call_begin(&call);
            call.own_config.flags = call.own_view.flags = RATECELL_NAMES;
            refused(&call, makers[i], RATECELL_ECONFIG);
        }
        if (makers[i] != REGION_ATTACH && makers[i] != LIMITER_OPEN) {
            check_case("%s(RATECELL_FOLLOW)", call_functions[makers[i]].name);
            call_begin(&call);
            call.own_config.flags = call.own_view.flags = RATECELL_FOLLOW;
            refused(&call, makers[i], RATECELL_ECONFIG);
        }
    }
}

/* Another limiter on a table has its keys, its when_full, its clock and its store. */
static void a_view_has_no_table_of_its_own(void) {
    static const char earlier;
    const ratecell_config configs[] = {
        { .size = sizeof(ratecell_config), .max_keys = 64 },
        { .size = sizeof(ratecell_config), .when_full = RATECELL_FULL_DENY },
        { .size = sizeof(ratecell_config), .on_miss = RATECELL_MISS_DENY },
        { .size = sizeof(ratecell_config), .wait_ns = 1 },
        { .size = sizeof(ratecell_config), .on_failure = RATECELL_FAILURE_OPEN },
        { .size = sizeof(ratecell_config), .machines = 1 },
        { .size = sizeof(ratecell_config), .store = "redis://127.0.0.1:6379" },
        { .size = sizeof(ratecell_config), .store_name = "limit" },
        { .size = sizeof(ratecell_config), .epoch_s = -1 },
        { .size = sizeof(ratecell_config), .beside = (const ratecell_rules *)(const void *)&earlier },
        { .size = sizeof(ratecell_config), .policy_version = 1 },
        { .size = sizeof(ratecell_config), .file = "limits" },
    };
    for (size_t i = 0; i < CHECK_COUNT(configs); i++) {
        struct call call;
        check_case("ratecell_limiter_with_policy(config %zu)", i);
        call_begin(&call);
        call.own_view = configs[i];
        refused(&call, LIMITER_WITH_POLICY, RATECELL_ECONFIG);
    }
}

static void to_free_nothing_is_nothing(void) {
    check_case("ratecell_limiter_free(NULL)");
    ratecell_limiter_free(NULL);
}

int main(void) {
    right_arguments_are_taken();
    every_pointer_is_checked();
    every_length_is_checked();
    a_pointer_to_nothing_may_be_null();
    every_policy_is_checked();
    every_config_is_checked();
    a_flag_without_a_use_is_refused();
    a_view_has_no_table_of_its_own();
    to_free_nothing_is_nothing();
    return CHECK_END();
}
