/* Checks from a signal handler, on the key that the interrupted code checks: not one unit too many. */

#define _XOPEN_SOURCE 700

#include "ask.h"
#include "check.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>

/* So many units of each key, at one instant. */
#define CAPACITY 5000
/* Enough of the handler's checks to have met the interrupted code in every place. */
#define ENOUGH 300

static ratecell_limiter *limiter;
static volatile uint64_t key;
static volatile uint64_t admitted_by_handler;
static volatile uint64_t wrong_in_handler;
static volatile sig_atomic_t interrupts;

static int32_t check(uint32_t cost, ratecell_decision *decision) {
    uint64_t own = key;
    return ratecell_limiter_check_at(limiter, &own, sizeof own, cost, 0, decision);
}

/* Calls each function that may be called here. */
static void on_alarm(int number) {
    uint64_t own = key, now = 0;
    const ratecell_request requests[] = { ask_at(&own, sizeof own, 1, 0), ask_at(&own, sizeof own, 2, 0) };
    const ratecell_claim peek = ask_of(limiter, ask_at(&own, sizeof own, 0, 0));
    ratecell_decision decision, decisions[2];
    ratecell_stats stats;
    const ratecell_answer answer = { .limiter = limiter, .decision = &decision };
    char text[128];
    (void)number;
    interrupts += 1;
    admitted_by_handler += check(1, &decision) == RATECELL_ALLOWED;
    wrong_in_handler += ratecell_limiter_decide_batch(limiter, requests, 2, decisions) != 0;
    admitted_by_handler += decisions[0].outcome == RATECELL_ALLOWED ? 1 : 0;
    admitted_by_handler += decisions[1].outcome == RATECELL_ALLOWED ? 2 : 0;
    wrong_in_handler += ratecell_limiter_check_at(limiter, &own, sizeof own, 0, 0, NULL) != RATECELL_ALLOWED;
    wrong_in_handler += ask_hash_at(limiter, own, 0, 0, NULL) != RATECELL_ALLOWED;
    wrong_in_handler += ratecell_limiter_now(limiter, &now) != 0;
    wrong_in_handler += ratecell_limiter_check(limiter, "of the handler", 14, 0, NULL) != RATECELL_ALLOWED;
    wrong_in_handler += ratecell_limiter_forget(limiter, "of the handler", 14) < 0;
    wrong_in_handler += ratecell_limiter_stats(limiter, RATECELL_AT, 0, &stats, sizeof stats) != 0;
    wrong_in_handler += ratecell_limiter_policy(limiter, text, sizeof text) <= 0;
    wrong_in_handler += ratecell_decide_all(&peek, 1, NULL) != RATECELL_ALLOWED;
    wrong_in_handler += ratecell_fields(RATECELL_STYLE_X, &answer, 1, 0, text, sizeof text) <= 0;
}

/* One alarm soon, or with 0 none. Each is asked for when the one before has come: a timer that repeats could
 * leave a slow machine nothing but its handler to run. */
static void alarm_in(suseconds_t microseconds) {
    struct itimerval timer;
    memset(&timer, 0, sizeof timer);
    timer.it_value.tv_usec = microseconds;
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void alarms(int how) {
    sigset_t set;
    CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGALRM) == 0 && sigprocmask(how, &set, NULL) == 0);
}

/* Admits all that is left of a key, while alarms come. None comes outside: one that is late waits. */
static uint64_t admitted_while_interrupted(void) {
    uint64_t admitted = 0;
    sig_atomic_t seen = interrupts;
    alarms(SIG_UNBLOCK);
    alarm_in(1);
    while (check(1, NULL) == RATECELL_ALLOWED) {
        admitted += 1;
        if (interrupts != seen) {
            seen = interrupts;
            alarm_in(1 + seen % 31);
        }
    }
    alarms(SIG_BLOCK);
    alarm_in(0);
    return admitted;
}

static void rounds(const char *policy) {
    struct sigaction action;
    limiter = LIMITER(policy);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    alarms(SIG_BLOCK);
    CHECK(sigemptyset(&action.sa_mask) == 0 && sigaction(SIGALRM, &action, NULL) == 0);
    interrupts = 0;
    while (interrupts < ENOUGH) {
        uint64_t own = key;
        admitted_by_handler = 0;
        check_case("round %llu of %s", (unsigned long long)own, policy);
        uint64_t admitted = admitted_while_interrupted();
        CHECK_U64(admitted + admitted_by_handler, CAPACITY);
        CHECK_STATUS(ratecell_limiter_forget(limiter, &own, sizeof own), 0);
        key = own + 1;
    }
    CHECK_U64(wrong_in_handler, 0);
    ratecell_limiter_free(limiter);
}

int main(void) {
    rounds("5000/w");
    rounds("fixed_window 5000/w");
    rounds("6000/w & sliding_window 5000/w");
    return CHECK_END();
}
