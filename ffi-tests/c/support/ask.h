/* Requests in one line each, for what ratecell_limiter_check and _check_at do not ask. */

#ifndef ASK_H
#define ASK_H

#include <ratecell.h>
#include <stddef.h>
#include <stdint.h>

ratecell_request ask(const void *key, size_t key_len, uint32_t cost);
ratecell_request ask_at(const void *key, size_t key_len, uint32_t cost, uint64_t now_ns);
ratecell_claim ask_of(const ratecell_limiter *limiter, ratecell_request request);

/* ratecell_limiter_decide of one such request, with the flags that are named. */
int32_t ask_hash(const ratecell_limiter *limiter, uint64_t hash, uint32_t cost, ratecell_decision *decision);
int32_t ask_hash_at(const ratecell_limiter *limiter, uint64_t hash, uint32_t cost, uint64_t now_ns,
                    ratecell_decision *decision);
int32_t ask_charge(const ratecell_limiter *limiter, const void *key, size_t key_len, uint32_t cost,
                   ratecell_decision *decision);
int32_t ask_charge_at(const ratecell_limiter *limiter, const void *key, size_t key_len, uint32_t cost,
                      uint64_t now_ns, ratecell_decision *decision);
int32_t ask_within(const ratecell_limiter *limiter, const void *key, size_t key_len, uint32_t cost,
                   uint64_t max_delay_ns, ratecell_decision *decision);
int32_t ask_within_at(const ratecell_limiter *limiter, const void *key, size_t key_len, uint32_t cost,
                      uint64_t max_delay_ns, uint64_t now_ns, ratecell_decision *decision);
int32_t ask_next_at(const ratecell_limiter *limiter, const void *key, size_t key_len, uint32_t cost,
                    uint64_t now_ns, ratecell_decision *decision);

/* The same with RATECELL_RESERVE. */
int32_t ask_reserve_at(const ratecell_limiter *limiter, const void *key, size_t key_len, uint32_t cost,
                       uint64_t now_ns, ratecell_reservation *reservation);
/* ratecell_limiter_settle, _release or _renew of a reservation. */
typedef int32_t held_function(const ratecell_limiter *, const ratecell_request *, ratecell_decision *);
int32_t ask_held(held_function *function, const ratecell_limiter *limiter, ratecell_reservation *reservation,
                 uint32_t cost, uint64_t now_ns, ratecell_decision *decision);

#endif
