#define _POSIX_C_SOURCE 200809L

#include "call.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "check.h"
#include "region.h"

/* One unit in seventeen hours: nothing that is charged drains before it is asked for. */
static char policy[] = "10/w";
static char key[] = "key";

void call_begin(struct call *call) {
    memset(call, 0, sizeof *call);
    call->limiter = LIMITER(policy);
    CHECK_STATUS(ratecell_limiter_now(call->limiter, &call->now_ns), 0);
    CHECK_STATUS(ratecell_limiter_check(call->limiter, key, 3, 0, &call->own_decision), RATECELL_ALLOWED);
    call->own_config = (ratecell_config)RATECELL_CONFIG_INIT;
    call->own_config.max_keys = 64;
    call->own_view = (ratecell_config)RATECELL_CONFIG_INIT;
    for (size_t i = 0; i < CALL_REQUESTS; i++) {
        call->own_requests[i] = ask_at(key, 3, CALL_COST, call->now_ns);
        call->own_claims[i] = ask_of(call->limiter, call->own_requests[i]);
        call->own_answers[i].limiter = call->limiter;
        call->own_answers[i].decision = &call->own_decision;
    }
    /* Of no units: nothing is charged for it. */
    CHECK_STATUS(ask_reserve_at(call->limiter, key, 3, 0, call->now_ns, &call->own_reservation), RATECELL_ALLOWED);
    call->own_held = ask_at(key, 3, 0, call->now_ns);
    call->own_held.reservation = &call->own_reservation;
    call->region = region_new(policy, &call->own_config, &call->region_len);
    file_new(policy, &call->own_config, call->path, sizeof call->path);
    free(file_read(call->path, &call->file_len));
    UNTOUCHED(call->out);
    call->with = (struct arguments){
        .limiter = call->limiter, .key = key, .policy = policy, .config = &call->own_config,
        .view = &call->own_view, .requests = call->own_requests, .held = &call->own_held, .claims = call->own_claims,
        .answers = call->own_answers, .memory = call->region, .path = call->path,
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

static int32_t limiter_forget(const struct call *call) {
    return ratecell_limiter_forget(call->with.limiter, call->with.key, call->with.key_len);
}

static int32_t limiter_decide(const struct call *call) {
    return ratecell_limiter_decide(call->with.limiter, call->with.requests, call->with.decision);
}

static int32_t limiter_decide_batch(const struct call *call) {
    return ratecell_limiter_decide_batch(call->with.limiter, call->with.requests, call->with.n,
                                         call->with.decisions);
}

static int32_t limiter_settle(const struct call *call) {
    return ratecell_limiter_settle(call->with.limiter, call->with.held, call->with.decision);
}

static int32_t limiter_release(const struct call *call) {
    return ratecell_limiter_release(call->with.limiter, call->with.held, call->with.decision);
}

static int32_t limiter_renew(const struct call *call) {
    return ratecell_limiter_renew(call->with.limiter, call->with.held, call->with.decision);
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

static int32_t fields(const struct call *call) {
    return ratecell_fields(RATECELL_STYLE_X, call->with.answers, call->with.n, 0, call->with.buffer,
                           call->with.len);
}

static int32_t decide_all(const struct call *call) {
    return ratecell_decide_all(call->with.claims, call->with.n, call->with.decisions);
}

static int32_t region_init(const struct call *call) {
    return ratecell_region_init(call->with.memory, call->with.memory_len, call->with.policy,
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
    return ratecell_limiter_with_policy(call->with.limiter, call->with.policy, call->with.view, call->with.made);
}

#define FUNCTION(name) { "ratecell_" #name, name }

const struct function call_functions[] = {
    [LIMITER_NEW] = FUNCTION(limiter_new),
    [LIMITER_POLICY] = FUNCTION(limiter_policy),
    [LIMITER_NOW] = FUNCTION(limiter_now),
    [LIMITER_EPOCH] = FUNCTION(limiter_epoch),
    [LIMITER_CHECK] = FUNCTION(limiter_check),
    [LIMITER_CHECK_AT] = FUNCTION(limiter_check_at),
    [LIMITER_DECIDE] = FUNCTION(limiter_decide),
    [LIMITER_FORGET] = FUNCTION(limiter_forget),
    [LIMITER_DECIDE_BATCH] = FUNCTION(limiter_decide_batch),
    [LIMITER_SETTLE] = FUNCTION(limiter_settle),
    [LIMITER_RELEASE] = FUNCTION(limiter_release),
    [LIMITER_RENEW] = FUNCTION(limiter_renew),
    [LIMITER_STATS] = FUNCTION(limiter_stats),
    [POLICY_FORMAT] = FUNCTION(policy_format),
    [POLICY_EXPLAIN] = FUNCTION(policy_explain),
    [FIELDS] = FUNCTION(fields),
    [DECIDE_ALL] = FUNCTION(decide_all),
    [REGION_INIT] = FUNCTION(region_init),
    [REGION_ATTACH] = FUNCTION(region_attach),
    [LIMITER_OPEN] = FUNCTION(limiter_open),
    [LIMITER_WITH_POLICY] = FUNCTION(limiter_with_policy),
};
