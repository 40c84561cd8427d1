/* Threads on one key and on many: in total what the policy allows, exactly. */

#define _POSIX_C_SOURCE 200809L

#include "ask.h"
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST 8
#define ROUNDS 100
#define CAPACITY 60

#define KEYS 512
#define PASSES (CAPACITY / 2)

struct work {
    const ratecell_limiter *limiter;
    pthread_barrier_t *barrier;
    uint32_t cost;
    uint64_t admitted[ROUNDS > KEYS ? ROUNDS : KEYS];
    uint64_t wrong;
};

static void run(struct work *works, int threads, void *(*start)(void *)) {
    pthread_t handles[MOST];
    pthread_barrier_t barrier;
    CHECK(pthread_barrier_init(&barrier, NULL, (unsigned)threads) == 0);
    for (int i = 0; i < threads; i++) {
        works[i].barrier = &barrier;
        if (pthread_create(&handles[i], NULL, start, &works[i]) != 0) {
            abort();
        }
    }
    for (int i = 0; i < threads; i++) {
        CHECK(pthread_join(handles[i], NULL) == 0);
    }
    pthread_barrier_destroy(&barrier);
}

/* In each round all check a new key at one instant, each as often as would take all of it. */
static void *on_one_key(void *argument) {
    struct work *work = argument;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(work->barrier);
        for (int i = 0; i < CAPACITY; i++) {
            if (ratecell_limiter_check_at(work->limiter, &round, sizeof round, work->cost, 0, NULL) ==
                RATECELL_ALLOWED) {
                work->admitted[round] += work->cost;
            }
        }
    }
    return NULL;
}

static void one_key(const char *policy, int threads, uint32_t cost) {
    static struct work works[MOST];
    ratecell_config config = RATECELL_CONFIG_INIT;
    ratecell_stats stats;
    config.max_keys = 4 * ROUNDS;
    ratecell_limiter *limiter = LIMITER_WITH(policy, &config);
    memset(works, 0, sizeof works);
    for (int i = 0; i < threads; i++) {
        works[i].limiter = limiter;
        works[i].cost = cost;
    }
    check_case("%d threads at cost %u on %s", threads, (unsigned)cost, policy);
    run(works, threads, on_one_key);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t admitted = 0;
        for (int i = 0; i < threads; i++) {
            admitted += works[i].admitted[round];
        }
        check_case("%d threads at cost %u on %s, round %d", threads, (unsigned)cost, policy, round);
        CHECK_U64(admitted, CAPACITY);
    }
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, 0, &stats, sizeof stats), 0);
    CHECK_U64(stats.live, ROUNDS);
    CHECK_U64(stats.evicted + stats.exhausted, 0);
    ratecell_limiter_free(limiter);
}

/* Every key in turn by one of the two calls that charge, with all that only looks in between, and a limiter
 * of its own made and ended in each pass. */
static void *on_many_keys(void *argument) {
    struct work *work = argument;
    pthread_barrier_wait(work->barrier);
    for (int pass = 0; pass < PASSES; pass++) {
        ratecell_limiter *own = NULL;
        ratecell_config config = RATECELL_CONFIG_INIT;
        ratecell_stats stats;
        char text[64];
        config.max_keys = 16;
        work->wrong += ratecell_limiter_new("1/s", &config, &own) != 0;
        for (uint64_t key = 0; key < KEYS; key++) {
            if ((key + (uint64_t)pass) % 2 == 0) {
                int32_t status = ratecell_limiter_check_at(work->limiter, &key, sizeof key, 1, 0, NULL);
                work->admitted[key] += status == RATECELL_ALLOWED;
                work->wrong += status < 0;
            } else {
                const ratecell_request request = ask_at(&key, sizeof key, 1, 0), requests[] = { request, request };
                ratecell_decision decisions[2];
                work->wrong += ratecell_limiter_decide_batch(work->limiter, requests, 2, decisions) != 0;
                work->admitted[key] += decisions[0].outcome == RATECELL_ALLOWED;
                work->admitted[key] += decisions[1].outcome == RATECELL_ALLOWED;
            }
            ratecell_decision seen;
            work->wrong += ratecell_limiter_check_at(work->limiter, &key, sizeof key, 0, 0, &seen) != 0;
            work->wrong += seen.remaining >= CAPACITY || seen.limit != CAPACITY;
            work->wrong += ratecell_limiter_check(own, &key, sizeof key, 1, NULL) < 0;
        }
        work->wrong += ratecell_limiter_stats(work->limiter, RATECELL_AT, 0, &stats, sizeof stats) != 0;
        work->wrong += ratecell_limiter_policy(work->limiter, text, sizeof text) <= 0;
        ratecell_limiter_free(own);
    }
    return NULL;
}

static void many_keys(const char *policy) {
    static struct work works[MOST];
    int threads = 4;
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.max_keys = 4 * KEYS;
    ratecell_limiter *limiter = LIMITER_WITH(policy, &config);
    memset(works, 0, sizeof works);
    for (int i = 0; i < threads; i++) {
        works[i].limiter = limiter;
    }
    run(works, threads, on_many_keys);
    for (int key = 0; key < KEYS; key++) {
        uint64_t admitted = 0;
        for (int i = 0; i < threads; i++) {
            admitted += works[i].admitted[key];
        }
        check_case("key %d of many on %s", key, policy);
        CHECK_U64(admitted, CAPACITY);
    }
    for (int i = 0; i < threads; i++) {
        CHECK_U64(works[i].wrong, 0);
    }
    ratecell_stats stats;
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, 0, &stats, sizeof stats), 0);
    CHECK_U64(stats.live, KEYS);
    ratecell_limiter_free(limiter);
}

int main(void) {
    /* Of the layers only the first is ever full. One that is full behind another refuses while the other is
     * charged, and what cannot be taken back there may refuse more than a serial order would. It has more left than the
     * first, too, whatever is charged while a look reads one after the other. */
    static const char *const policies[] = {
        "60/h", "fixed_window 60/h", "sliding_window 60/h", "sliding_log 60/h",
        "token_bucket 5/h capacity=60 mode=interval", "60/h & sliding_window 1000/h",
    };
    for (size_t i = 0; i < CHECK_COUNT(policies); i++) {
        for (int threads = 2; threads <= MOST; threads *= 2) {
            one_key(policies[i], threads, 1);
            one_key(policies[i], threads, 3);
        }
        many_keys(policies[i]);
    }
    return CHECK_END();
}
