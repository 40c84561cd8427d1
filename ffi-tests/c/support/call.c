#define _POSIX_C_SOURCE 200809L

#include "call.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "region.h"

/* One unit in seventeen hours: nothing that is charged drains before it is asked for. */
static char policy[] = "10/w";
static char key[] = "key";
static char name[] = "name";

void call_begin(struct call *call) {
    memset(call, 0, sizeof *call);
    call->limiter = LIMITER(policy);
    CHECK_STATUS(ratecell_limiter_now(call->limiter, &call->now_ns), 0);
    CHECK_STATUS(ratecell_limiter_peek(call->limiter, key, 3, &call->own_decision), RATECELL_ALLOWED);
    call->own_config = (ratecell_config)RATECELL_CONFIG_INIT;
    call->own_config.max_keys = 64;
    for (size_t i = 0; i < CALL_REQUESTS; i++) {
        call->own_requests[i] = (ratecell_request){ key, 3, CALL_COST, 0 };
        call->own_claims[i] = (ratecell_claim){ call->limiter, key, 3, call->now_ns, CALL_COST, 0 };
    }
    call->region = region_new(policy, &call->own_config, &call->region_len);
    file_new(policy, &call->own_config, call->path, sizeof call->path);
    UNTOUCHED(call->out);
    call->with = (struct arguments){
        .limiter = call->limiter, .key = key, .policy = policy, .config = &call->own_config, .name = name,
        .requests = call->own_requests, .claims = call->own_claims, .input = &call->own_decision,
        .memory = call->region, .path = call->path,
        .decision = &call->out.decision, .decisions = call->out.decisions, .stats = &call->out.stats,
        .made = &call->out.made, .now = &call->out.now_ns, .unix_ns = &call->out.unix_ns,
        .buffer = call->out.buffer,
        .key_len = 3, .n = CALL_REQUESTS, .size = sizeof call->out.stats, .len = sizeof call->out.buffer,
        .memory_len = call->region_len,
    };
}

void call_end(struct call *call) {
    ratecell_limiter *none;
    UNTOUCHED(none);
    if (memcmp(&call->out.made, &none, sizeof none) != 0) {
        ratecell_limiter_free(call->out.made);
    }
    ratecell_limiter_free(call->limiter);
    free(call->region);
    CHECK(unlink(call->path) == 0);
}

static int32_t limiter_new(const struct call *call) {
    return ratecell_limiter_new(call->with.policy, call->with.config, call->with.made);
}

static int32_t limiter_policy(const struct call *call) {
    return ratecell_limiter_policy(call->with.limiter, call->with.buffer, call->with.len);
}

static int32_t limiter_now(const struct call *call) {
    return ratecell_limiter_now(call->with.limiter, call->with.now);
}

static int32_t limiter_epoch(const struct call *call) {
    return ratecell_limiter_epoch(call->with.limiter, call->with.unix_ns);
}

static int32_t limiter_check(const struct call *call) {
    return ratecell_limiter_check(call->with.limiter, call->with.key, call->with.key_len, CALL_COST,
                                  call->with.decision);
}

static int32_t limiter_check_at(const struct call *call) {
    return ratecell_limiter_check_at(call->with.limiter, call->with.key, call->with.key_len, CALL_COST,
                                     call->now_ns, call->with.decision);
}

static int32_t limiter_check_hash(const struct call *call) {
    return ratecell_limiter_check_hash(call->with.limiter, 7, CALL_COST, call->with.decision);
}

static int32_t limiter_check_hash_at(const struct call *call) {
    return ratecell_limiter_check_hash_at(call->with.limiter, 7, CALL_COST, call->now_ns,
                                          call->with.decision);
}

static int32_t limiter_peek(const struct call *call) {
    return ratecell_limiter_peek(call->with.limiter, call->with.key, call->with.key_len,
                                 call->with.decision);
}

static int32_t limiter_peek_at(const struct call *call) {
    return ratecell_limiter_peek_at(call->with.limiter, call->with.key, call->with.key_len, call->now_ns,
                                    call->with.decision);
}

static int32_t limiter_forget(const struct call *call) {
    return ratecell_limiter_forget(call->with.limiter, call->with.key, call->with.key_len);
}

static int32_t limiter_check_batch(const struct call *call) {
    return ratecell_limiter_check_batch(call->with.limiter, call->with.requests, call->with.n, call->now_ns,
                                        call->with.decisions);
}

static int32_t limiter_stats(const struct call *call) {
    return ratecell_limiter_stats(call->with.limiter, RATECELL_AT, call->now_ns, call->with.stats,
                                  call->with.size);
}

static int32_t policy_format(const struct call *call) {
    return ratecell_policy_format(call->with.policy, call->with.buffer, call->with.len);
}

static int32_t policy_explain(const struct call *call) {
    return ratecell_policy_explain(call->with.policy, call->with.buffer, call->with.len);
}

static int32_t limiter_header(const struct call *call) {
    return ratecell_limiter_header(call->with.limiter, RATECELL_HEADER_RATELIMIT, call->with.name,
                                   call->with.input, call->with.buffer, call->with.len);
}

static int32_t limiter_charge(const struct call *call) {
    return ratecell_limiter_charge(call->with.limiter, call->with.key, call->with.key_len, CALL_COST,
                                   call->with.decision);
}

static int32_t limiter_charge_at(const struct call *call) {
    return ratecell_limiter_charge_at(call->with.limiter, call->with.key, call->with.key_len, CALL_COST,
                                      call->now_ns, call->with.decision);
}

static int32_t limiter_check_within(const struct call *call) {
    return ratecell_limiter_check_within(call->with.limiter, call->with.key, call->with.key_len, CALL_COST, 0,
                                         call->with.decision);
}

static int32_t limiter_check_within_at(const struct call *call) {
    return ratecell_limiter_check_within_at(call->with.limiter, call->with.key, call->with.key_len, CALL_COST,
                                            0, call->now_ns, call->with.decision);
}

static int32_t check_all(const struct call *call) {
    return ratecell_check_all(call->with.claims, call->with.n, call->with.decisions);
}

static int32_t region_init(const struct call *call) {
    return ratecell_region_init(call->with.memory, call->with.memory_len, call->with.policy,
                                call->with.config, call->with.made);
}

static int32_t region_init_zeroed(const struct call *call) {
    return ratecell_region_init_zeroed(call->with.memory, call->with.memory_len, call->with.policy,
                                       call->with.config, call->with.made);
}

static int32_t region_attach(const struct call *call) {
    return ratecell_region_attach(call->with.memory, call->with.memory_len, call->with.policy,
                                  call->with.config, call->with.made);
}

static int32_t limiter_open(const struct call *call) {
    return ratecell_limiter_open(call->with.path, call->with.policy, call->with.config, call->with.made);
}

static int32_t limiter_with_policy(const struct call *call) {
    return ratecell_limiter_with_policy(call->with.limiter, call->with.policy, call->with.made);
}

static int32_t region_explain(const struct call *call) {
    return ratecell_region_explain(call->with.memory, call->with.memory_len, call->with.policy,
                                   call->with.config, call->with.buffer, call->with.len);
}

static int32_t file_explain(const struct call *call) {
    return ratecell_file_explain(call->with.path, call->with.policy, call->with.config, call->with.buffer,
                                 call->with.len);
}

#define FUNCTION(name) { "ratecell_" #name, name }

const struct function call_functions[] = {
    [LIMITER_NEW] = FUNCTION(limiter_new),
    [LIMITER_POLICY] = FUNCTION(limiter_policy),
    [LIMITER_NOW] = FUNCTION(limiter_now),
    [LIMITER_EPOCH] = FUNCTION(limiter_epoch),
    [LIMITER_CHECK] = FUNCTION(limiter_check),
    [LIMITER_CHECK_AT] = FUNCTION(limiter_check_at),
    [LIMITER_CHECK_HASH] = FUNCTION(limiter_check_hash),
    [LIMITER_CHECK_HASH_AT] = FUNCTION(limiter_check_hash_at),
    [LIMITER_PEEK] = FUNCTION(limiter_peek),
    [LIMITER_PEEK_AT] = FUNCTION(limiter_peek_at),
    [LIMITER_FORGET] = FUNCTION(limiter_forget),
    [LIMITER_CHECK_BATCH] = FUNCTION(limiter_check_batch),
    [LIMITER_STATS] = FUNCTION(limiter_stats),
    [POLICY_FORMAT] = FUNCTION(policy_format),
    [POLICY_EXPLAIN] = FUNCTION(policy_explain),
    [LIMITER_HEADER] = FUNCTION(limiter_header),
    [LIMITER_CHARGE] = FUNCTION(limiter_charge),
    [LIMITER_CHARGE_AT] = FUNCTION(limiter_charge_at),
    [LIMITER_CHECK_WITHIN] = FUNCTION(limiter_check_within),
    [LIMITER_CHECK_WITHIN_AT] = FUNCTION(limiter_check_within_at),
    [CHECK_ALL] = FUNCTION(check_all),
    [REGION_INIT] = FUNCTION(region_init),
    [REGION_INIT_ZEROED] = FUNCTION(region_init_zeroed),
    [REGION_ATTACH] = FUNCTION(region_attach),
    [LIMITER_OPEN] = FUNCTION(limiter_open),
    [LIMITER_WITH_POLICY] = FUNCTION(limiter_with_policy),
    [REGION_EXPLAIN] = FUNCTION(region_explain),
    [FILE_EXPLAIN] = FUNCTION(file_explain),
};
