#include "ask.h"

#include <string.h>

ratecell_request ask(const void *key, size_t key_len, uint32_t cost) {
    ratecell_request request;
    memset(&request, 0, sizeof request);
    request.key = key;
    request.key_len = key_len;
    request.cost = cost;
    return request;
}

ratecell_request ask_at(const void *key, size_t key_len, uint32_t cost, uint64_t now_ns) {
    ratecell_request request = ask(key, key_len, cost);
    request.now_ns = now_ns;
    request.flags = RATECELL_AT;
    return request;
}

ratecell_claim ask_of(const ratecell_limiter *limiter, ratecell_request request) {
    ratecell_claim claim = { limiter, request };
    return claim;
}

int32_t ask_hash(const ratecell_limiter *limiter, uint64_t hash, uint32_t cost, ratecell_decision *decision) {
    ratecell_request request = ask(NULL, 0, cost);
    request.hash = hash;
    request.flags = RATECELL_HASHED;
    return ratecell_limiter_decide(limiter, &request, decision);
}

int32_t ask_hash_at(const ratecell_limiter *limiter, uint64_t hash, uint32_t cost, uint64_t now_ns,
                    ratecell_decision *decision) {
    ratecell_request request = ask_at(NULL, 0, cost, now_ns);
    request.hash = hash;
    request.flags |= RATECELL_HASHED;
    return ratecell_limiter_decide(limiter, &request, decision);
}

static int32_t flagged(const ratecell_limiter *limiter, ratecell_request request, uint32_t flags,
                       ratecell_decision *decision) {
    request.flags |= flags;
    return ratecell_limiter_decide(limiter, &request, decision);
}

int32_t ask_charge(const ratecell_limiter *limiter, const void *key, size_t key_len, uint32_t cost,
                   ratecell_decision *decision) {
    return flagged(limiter, ask(key, key_len, cost), RATECELL_CHARGE, decision);
}

int32_t ask_charge_at(const ratecell_limiter *limiter, const void *key, size_t key_len, uint32_t cost,
                      uint64_t now_ns, ratecell_decision *decision) {
    return flagged(limiter, ask_at(key, key_len, cost, now_ns), RATECELL_CHARGE, decision);
}

int32_t ask_within(const ratecell_limiter *limiter, const void *key, size_t key_len, uint32_t cost,
                   uint64_t max_delay_ns, ratecell_decision *decision) {
    ratecell_request request = ask(key, key_len, cost);
    request.max_delay_ns = max_delay_ns;
    return flagged(limiter, request, RATECELL_WITHIN, decision);
}

int32_t ask_within_at(const ratecell_limiter *limiter, const void *key, size_t key_len, uint32_t cost,
                      uint64_t max_delay_ns, uint64_t now_ns, ratecell_decision *decision) {
    ratecell_request request = ask_at(key, key_len, cost, now_ns);
    request.max_delay_ns = max_delay_ns;
    return flagged(limiter, request, RATECELL_WITHIN, decision);
}

int32_t ask_next_at(const ratecell_limiter *limiter, const void *key, size_t key_len, uint32_t cost,
                    uint64_t now_ns, ratecell_decision *decision) {
    return flagged(limiter, ask_at(key, key_len, cost, now_ns), RATECELL_NEXT, decision);
}

int32_t ask_reserve_at(const ratecell_limiter *limiter, const void *key, size_t key_len, uint32_t cost,
                       uint64_t now_ns, ratecell_reservation *reservation) {
    ratecell_request request = ask_at(key, key_len, cost, now_ns);
    request.flags |= RATECELL_RESERVE;
    request.reservation = reservation;
    return ratecell_limiter_decide(limiter, &request, NULL);
}

int32_t ask_held(held_function *function, const ratecell_limiter *limiter, ratecell_reservation *reservation,
                 uint32_t cost, uint64_t now_ns, ratecell_decision *decision) {
    ratecell_request request = ask_at(NULL, 0, cost, now_ns);
    request.reservation = reservation;
    return function(limiter, &request, decision);
}
