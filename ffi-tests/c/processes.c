/* Processes on one region: in total what the policy allows, exactly, and never more where some of them are killed. */

#define _DEFAULT_SOURCE

#include "check.h"
#include "region.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 4
#define CAPACITY 3000
#define RACES 60
#define NOW UINT64_C(1000000000)

/* Keys for which there is not room at once, and what each lets pass. */
#define KEYS 64
#define SOME 500
#define ROOM 24

/* What the processes tell each other. */
struct board {
    volatile uint32_t ready;
    volatile uint32_t go;
    volatile uint32_t arrived;
    volatile uint64_t admitted[PROCESSES];
    volatile uint64_t by_key[PROCESSES][KEYS];
    volatile uint64_t wrong[PROCESSES];
};

static struct board *board;
static void *region;
static size_t len;
static char path[128];

static void start_together(void) {
    __atomic_fetch_add(&board->ready, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&board->go, __ATOMIC_SEQ_CST)) {
        sched_yield();
    }
}

/* Starts a process for each number, and lets them go when all are there. */
static void start(pid_t *children, void (*run)(int number)) {
    memset(board, 0, sizeof *board);
    fflush(NULL);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            run(i);
            _exit(EXIT_SUCCESS);
        }
        CHECK(children[i] > 0);
    }
    while (__atomic_load_n(&board->ready, __ATOMIC_SEQ_CST) < PROCESSES) {
        sched_yield();
    }
    __atomic_store_n(&board->go, 1, __ATOMIC_SEQ_CST);
}

static int ended(pid_t child) {
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static uint64_t total(void) {
    uint64_t sum = 0;
    for (int i = 0; i < PROCESSES; i++) {
        sum += board->admitted[i];
    }
    return sum;
}

static const char *policy;
static ratecell_limiter *inherited;

/* How a process comes to its limiter. */
static enum way { INHERITED, ATTACHED_HERE, BY_FILE } way;
static const char *const ways[] = { "inherited", "attached", "by file" };

static void until_denied(int number) {
    ratecell_limiter *limiter = inherited;
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.max_keys = 64;
    if (way == BY_FILE) {
        start_together();
        /* All at once, of a file that nobody has made. */
        board->wrong[number] += ratecell_limiter_open(path, policy, &config, &limiter) != 0;
    } else {
        if (way == ATTACHED_HERE) {
            board->wrong[number] += ratecell_region_attach(region, len, policy, NULL, &limiter) != 0;
        }
        start_together();
    }
    for (int denied = 0; limiter != NULL && denied < 10;) {
        int32_t status = ratecell_limiter_check_at(limiter, "key", 3, 1, NOW, NULL);
        board->admitted[number] += status == RATECELL_ALLOWED;
        board->wrong[number] += status != RATECELL_ALLOWED && status != RATECELL_DENIED;
        denied += status != RATECELL_ALLOWED;
    }
    if (limiter != inherited) {
        ratecell_limiter_free(limiter);
    }
}

static void exactly_the_bound(const char *of, enum way by) {
    pid_t children[PROCESSES];
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.max_keys = 64;
    check_case("%s, %s", of, ways[by]);
    policy = of;
    way = by;
    inherited = NULL;
    len = ratecell_region_size(policy, &config);
    region = region_shared(len);
    if (by != BY_FILE) {
        CHECK_STATUS(ratecell_region_init(region, len, policy, &config, &inherited), 0);
    }
    start(children, until_denied);
    for (int i = 0; i < PROCESSES; i++) {
        int status = ended(children[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
        CHECK_U64(board->wrong[i], 0);
    }
    CHECK_U64(total(), CAPACITY);
    if (by == BY_FILE) {
        ratecell_limiter *limiter = OPENED(path, policy, &config);
        CHECK_U64(region_remaining(limiter, "key", NOW), 0);
        ratecell_limiter_free(limiter);
        CHECK(unlink(path) == 0);
    } else {
        CHECK_U64(region_remaining(inherited, "key", NOW), 0);
    }
    ratecell_limiter_free(inherited);
    CHECK(munmap(region, len) == 0);
}

static void name_of_round(char *name, size_t size, int round) {
    snprintf(name, size, "%s-%d", path, round);
}

/* In each round all open a new file at once, and charge a unit. */
static void race_to_make(int number) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.max_keys = 2000;
    start_together();
    for (int round = 0; round < RACES; round++) {
        ratecell_limiter *limiter = NULL;
        char name[160];
        name_of_round(name, sizeof name, round);
        __atomic_fetch_add(&board->arrived, 1, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&board->arrived, __ATOMIC_SEQ_CST) < PROCESSES * (round + 1u)) {
            sched_yield();
        }
        board->wrong[number] += ratecell_limiter_open(name, "10/w", &config, &limiter) != 0;
        if (limiter != NULL) {
            board->wrong[number] += ratecell_limiter_check_at(limiter, "key", 3, 1, NOW, NULL) != RATECELL_ALLOWED;
            ratecell_limiter_free(limiter);
        }
    }
}

/* A file that was made twice would have forgotten what the first had charged. */
static void a_file_is_made_once(void) {
    pid_t children[PROCESSES];
    start(children, race_to_make);
    for (int i = 0; i < PROCESSES; i++) {
        int status = ended(children[i]);
        check_case("races to make a file");
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
        CHECK_U64(board->wrong[i], 0);
    }
    for (int round = 0; round < RACES; round++) {
        char name[160];
        check_case("race %d to make a file", round);
        name_of_round(name, sizeof name, round);
        ratecell_limiter *limiter = OPENED(name, "10/w", NULL);
        CHECK_U64(region_remaining(limiter, "key", NOW), 10 - PROCESSES);
        ratecell_limiter_free(limiter);
        CHECK(unlink(name) == 0);
    }
}

static void for_ever_on_one_key(int number) {
    start_together();
    for (;;) {
        if (ratecell_limiter_check_at(inherited, "key", 3, 1, NOW, NULL) == RATECELL_ALLOWED) {
            board->admitted[number] += 1;
        }
    }
}

/* Keys in an order of each process's own, so that they fall out with each other over the places. */
static void for_ever_on_many_keys(int number) {
    uint32_t state = 2 * (uint32_t)number + 1;
    start_together();
    for (;;) {
        state = state * 1664525 + 1013904223;
        uint64_t key = (state >> 16) % KEYS;
        if (ratecell_limiter_check_at(inherited, &key, sizeof key, 1, NOW, NULL) == RATECELL_ALLOWED) {
            board->by_key[number][key] += 1;
        }
        if (state >> 26 == 0) {
            ratecell_limiter_forget(inherited, "no key", 6);
        }
    }
}

static uint32_t state = 1;

/* After 0.1 to 1 ms of work, one after the other. */
static void kill_all(const pid_t *children) {
    for (int i = 0; i < PROCESSES; i++) {
        state = state * 1664525 + 1013904223;
        long ns = 100000 + (long)((state >> 8) % 900000);
        const struct timespec while_they_work = { 0, i == 0 ? ns : ns / PROCESSES };
        nanosleep(&while_they_work, NULL);
        CHECK(kill(children[i], SIGKILL) == 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = ended(children[i]);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
}

/* A killed process may have been admitted once and not have told it. */
static uint64_t killed_on_one_key(const char *of, int round) {
    pid_t children[PROCESSES];
    ratecell_config config = RATECELL_CONFIG_INIT;
    uint64_t capacity = 50000000, more = 0;
    config.max_keys = 64;
    check_case("killed under %s, round %d", of, round);
    len = ratecell_region_size(of, &config);
    region = region_shared(len);
    CHECK_STATUS(ratecell_region_init(region, len, of, &config, &inherited), 0);
    start(children, for_ever_on_one_key);
    kill_all(children);
    uint64_t told = total();
    ratecell_limiter_free(inherited);
    ratecell_limiter *limiter = ATTACHED(region, len, of);
    uint64_t left = region_remaining(limiter, "key", NOW);
    CHECK(told <= capacity - left && capacity - left <= told + PROCESSES);
    /* All that is left, and no more. */
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, (uint32_t)left, NOW, NULL), RATECELL_ALLOWED);
    for (int i = 0; i < 10; i++) {
        more += ratecell_limiter_check_at(limiter, "key", 3, 1, NOW, NULL) == RATECELL_ALLOWED;
    }
    CHECK_U64(more, 0);
    ratecell_limiter_free(limiter);
    CHECK(munmap(region, len) == 0);
    return told;
}

/* They are killed while keys come and go: each key decides, and has let through what it may at most. */
static uint64_t killed_on_many_keys(uint64_t when_full, int round) {
    pid_t children[PROCESSES];
    ratecell_config config = { .size = sizeof config, .max_keys = ROOM, .when_full = when_full };
    uint64_t told = 0;
    const char *of = "fixed_window 500/1h start=first";
    check_case("killed among many keys, when full %u, round %d", (unsigned)when_full, round);
    len = ratecell_region_size(of, &config);
    region = region_shared(len);
    CHECK_STATUS(ratecell_region_init(region, len, of, &config, &inherited), 0);
    start(children, for_ever_on_many_keys);
    kill_all(children);
    ratecell_limiter_free(inherited);
    ratecell_limiter *limiter = ATTACHED(region, len, of);
    ratecell_stats stats;
    uint64_t beyond = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        uint64_t passed = 0;
        int32_t status = RATECELL_ALLOWED;
        for (int i = 0; i < PROCESSES; i++) {
            passed += board->by_key[i][key];
        }
        told += passed;
        for (int i = 0; i <= SOME && status == RATECELL_ALLOWED; i++) {
            status = ratecell_limiter_check_at(limiter, &key, sizeof key, 1, NOW, NULL);
            CHECK(status == RATECELL_ALLOWED || status == RATECELL_DENIED);
            passed += status == RATECELL_ALLOWED;
        }
        CHECK_STATUS(status, RATECELL_DENIED);
        beyond += passed > SOME ? passed - SOME : 0;
    }
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, NOW, &stats, sizeof stats), 0);
    CHECK(stats.live <= stats.slots);
    /* Killed between an eviction and its count, a process has forgiven what nobody knows of: at most a key each. */
    CHECK(beyond <= stats.forgiven + (when_full == RATECELL_FULL_EVICT ? PROCESSES * SOME : 0));
    if (when_full != RATECELL_FULL_EVICT) {
        CHECK_U64(beyond, 0);
        CHECK_U64(stats.forgiven, 0);
    }
    /* A window later it is as good as new. */
    uint64_t later = NOW + UINT64_C(7200000000000);
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, later, &stats, sizeof stats), 0);
    CHECK_U64(stats.live, 0);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "new", 3, SOME, later, NULL), RATECELL_ALLOWED);
    ratecell_limiter_free(limiter);
    CHECK(munmap(region, len) == 0);
    return told;
}

int main(void) {
    static const char *const policies[] = {
        "3000/w", "fixed_window 3000/1w", "fixed_window 3000/1h start=first", "sliding_window 3000/1h",
        "token_bucket 5/1h capacity=3000 mode=interval", "3000/w & fixed_window 4000/1w",
    };
    const uint64_t choices[] = { RATECELL_FULL_DENY, RATECELL_FULL_SHARE, RATECELL_FULL_EVICT };
    uint64_t told = 0, among = 0;
    board = region_shared(sizeof *board);
    file_empty(path, sizeof path);
    CHECK(unlink(path) == 0);
    for (size_t i = 0; i < CHECK_COUNT(policies); i++) {
        exactly_the_bound(policies[i], INHERITED);
        exactly_the_bound(policies[i], ATTACHED_HERE);
        exactly_the_bound(policies[i], BY_FILE);
    }
    a_file_is_made_once();
    for (int round = 0; round < 30; round++) {
        told += killed_on_one_key(round % 2 == 0 ? "50000000/w" : "fixed_window 50000000/1w", round);
        among += killed_on_many_keys(choices[round % 3], round);
    }
    /* They were killed at work, not before it. */
    check_case("work of the killed");
    CHECK(told > 1000 && among > 1000);
    printf("killed processes had been admitted %llu units on one key and %llu on many\n",
           (unsigned long long)told, (unsigned long long)among);
    CHECK(munmap(board, sizeof *board) == 0);
    return CHECK_END();
}
