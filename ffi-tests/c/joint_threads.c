/* Threads that claim on two limiters at once: of each as much as of the other, and never more than the lesser. */

#define _POSIX_C_SOURCE 200809L

#include "ask.h"
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define ROUNDS 60
#define NOW UINT64_C(1000000000)

struct work {
    const ratecell_limiter *first, *second;
    pthread_barrier_t *barrier;
    uint32_t tries;
    uint64_t admitted[ROUNDS];
    uint64_t wrong;
};

/* In each round all claim a unit of a new key of both, till long after one of them has none left. */
static void *claim(void *argument) {
    struct work *work = argument;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        const ratecell_claim claims[] = {
            ask_of(work->first, ask_at(&round, sizeof round, 1, NOW)),
            ask_of(work->second, ask_at(&round, sizeof round, 1, NOW)),
        };
        pthread_barrier_wait(work->barrier);
        for (uint32_t i = 0; i < work->tries; i++) {
            ratecell_decision decisions[2];
            int32_t status = ratecell_decide_all(claims, 2, decisions);
            work->admitted[round] += status == RATECELL_ALLOWED;
            int32_t gravest = decisions[0].outcome > decisions[1].outcome ? decisions[0].outcome : decisions[1].outcome;
            work->wrong += status < 0 || status > RATECELL_DENIED || gravest != status;
        }
    }
    return NULL;
}

static uint64_t charged(const ratecell_limiter *limiter, uint64_t round, uint64_t capacity) {
    ratecell_decision peek;
    CHECK_STATUS(ratecell_limiter_check_at(limiter, &round, sizeof round, 0, NOW, &peek), RATECELL_ALLOWED);
    CHECK(peek.remaining <= capacity);
    return capacity - peek.remaining;
}

struct capacity {
    const char *policy;
    uint32_t capacity;
};

/* Half of the threads, or none of them, name the limiters the other way round. */
static void pair(const struct capacity *a, const struct capacity *b, int crossed) {
    static struct work works[THREADS];
    pthread_t handles[THREADS];
    pthread_barrier_t barrier;
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.max_keys = 4 * ROUNDS;
    ratecell_limiter *first = LIMITER_WITH(a->policy, &config), *second = LIMITER_WITH(b->policy, &config);
    uint64_t least = a->capacity < b->capacity ? a->capacity : b->capacity;
    CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
    memset(works, 0, sizeof works);
    for (int i = 0; i < THREADS; i++) {
        works[i].first = crossed && i % 2 == 1 ? second : first;
        works[i].second = crossed && i % 2 == 1 ? first : second;
        works[i].barrier = &barrier;
        works[i].tries = a->capacity + b->capacity;
        if (pthread_create(&handles[i], NULL, claim, &works[i]) != 0) {
            abort();
        }
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(handles[i], NULL) == 0);
        CHECK_U64(works[i].wrong, 0);
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t admitted = 0;
        check_case("%s and %s%s, round %u", a->policy, b->policy, crossed ? ", crossed" : "", (unsigned)round);
        for (int i = 0; i < THREADS; i++) {
            admitted += works[i].admitted[round];
        }
        uint64_t of_first = charged(first, round, a->capacity), of_second = charged(second, round, b->capacity);
        if (!crossed && a->capacity <= b->capacity) {
            /* What is refused is refused by the first, of which there is nothing to take back. */
            CHECK_U64(admitted, least);
            CHECK_U64(of_first, admitted);
            CHECK_U64(of_second, admitted);
        } else {
            /* A charge on which another came before it could be taken back stays: that may refuse, and never
             * admits. */
            CHECK(admitted <= least);
            CHECK(of_first >= admitted && of_second >= admitted);
            /* Some went, and of what is claimed last only what went is charged. */
            CHECK(admitted > 0);
            if (!crossed) {
                CHECK_U64(of_second, admitted);
            }
            /* All tried longer than both had something left. */
            CHECK(of_first == a->capacity || of_second == b->capacity);
        }
    }
    pthread_barrier_destroy(&barrier);
    ratecell_limiter_free(first);
    ratecell_limiter_free(second);
}

int main(void) {
    static const struct capacity pairs[][2] = {
        { { "60/h", 60 }, { "fixed_window 90/1h", 90 } },
        { { "fixed_window 40/1h", 40 }, { "40/h", 40 } },
        { { "sliding_window 30/1h", 30 }, { "sliding_log 50/1h", 50 } },
        { { "token_bucket 5/1h capacity=60 mode=interval", 60 }, { "80/h & fixed_window 70/1h", 70 } },
    };
    for (size_t i = 0; i < CHECK_COUNT(pairs); i++) {
        pair(&pairs[i][0], &pairs[i][1], 0);
        pair(&pairs[i][1], &pairs[i][0], 0);
        pair(&pairs[i][0], &pairs[i][1], 1);
    }
    return CHECK_END();
}
