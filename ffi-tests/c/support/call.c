#include "call.h"

#include <string.h>

#include "check.h"

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
    }
    UNTOUCHED(call->out);
    call->with = (struct arguments){
        .limiter = call->limiter, .key = key, .policy = policy, .config = &call->own_config, .name = name,
        .requests = call->own_requests, .input = &call->own_decision,
        .decision = &call->out.decision, .decisions = call->out.decisions, .stats = &call->out.stats,
        .made = &call->out.made, .now = &call->out.now_ns, .unix_ns = &call->out.unix_ns,
        .buffer = call->out.buffer,
        .key_len = 3, .n = CALL_REQUESTS, .size = sizeof call->out.stats, .len = sizeof call->out.buffer,
    };
}

void call_end(struct call *call) {
    ratecell_limiter_free(call->limiter);
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
    return ratecell_limiter_stats(call->with.limiter, call->with.stats, call->with.size);
}

static int32_t limiter_stats_at(const struct call *call) {
    return ratecell_limiter_stats_at(call->with.limiter, call->now_ns, call->with.stats, call->with.size);
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
    [LIMITER_STATS_AT] = FUNCTION(limiter_stats_at),
    [POLICY_FORMAT] = FUNCTION(policy_format),
    [POLICY_EXPLAIN] = FUNCTION(policy_explain),
    [LIMITER_HEADER] = FUNCTION(limiter_header),
};
