/* Every function with arguments that can be wrong, called alike: all arguments are right, and the tables of
 * bad ones change one at a time. */

#ifndef CALL_H
#define CALL_H

#include <ratecell.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_REQUESTS 3
#define CALL_COST 2

/* All that a function may write. */
struct outputs {
    ratecell_decision decision;
    ratecell_decision decisions[CALL_REQUESTS];
    ratecell_stats stats;
    ratecell_limiter *made;
    uint64_t now_ns;
    uint64_t unix_ns;
    char buffer[512];
};

/* What a function is given. Arguments with other types in C are cast where they are passed. */
struct call {
    ratecell_limiter *limiter;
    uint64_t now_ns;
    ratecell_config own_config, own_view;
    ratecell_request own_requests[CALL_REQUESTS];
    ratecell_request own_held;
    ratecell_reservation own_reservation;
    ratecell_claim own_claims[CALL_REQUESTS];
    ratecell_answer own_answers[CALL_REQUESTS];
    ratecell_decision own_decision;
    /* A region of the policy, in memory and in a file. */
    void *region;
    size_t region_len;
    char path[64];
    size_t file_len;
    struct outputs out;

    /* The pointers and lengths, which the tables name by their offsets here. */
    struct arguments {
        void *limiter, *key, *policy, *config, *view, *requests, *held, *claims, *answers, *memory, *path;
        void *decision, *decisions, *stats, *made, *now, *unix_ns, *buffer;
        size_t key_len, n, size, len, memory_len;
    } with;
};

typedef int32_t call_function(const struct call *call);

struct function {
    const char *name;
    call_function *call;
};

/* The functions, by their names without ratecell_. */
enum call_name {
    LIMITER_NEW, LIMITER_POLICY, LIMITER_NOW, LIMITER_EPOCH, LIMITER_STATS,
    LIMITER_CHECK, LIMITER_CHECK_AT, LIMITER_DECIDE, LIMITER_DECIDE_BATCH, LIMITER_FORGET, DECIDE_ALL,
    LIMITER_SETTLE, LIMITER_RELEASE, LIMITER_RENEW,
    POLICY_FORMAT, POLICY_EXPLAIN, FIELDS,
    REGION_INIT, REGION_ATTACH, LIMITER_OPEN, LIMITER_WITH_POLICY
};

extern const struct function call_functions[LIMITER_WITH_POLICY + 1];

/* Every argument right, every output untouched, and a limiter on which nothing was charged. */
void call_begin(struct call *call);
/* Ends what a call has made, too. */
void call_end(struct call *call);

#endif
