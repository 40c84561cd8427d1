/* A limiter that was made before fork() is two after it. */

#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t admitted(const ratecell_limiter *limiter, const char *key, uint64_t now_ns) {
    uint32_t count = 0;
    while (count < 100 && ratecell_limiter_check_at(limiter, key, 1, 1, now_ns, NULL) == RATECELL_ALLOWED) {
        count += 1;
    }
    return count;
}

static uint64_t live(const ratecell_limiter *limiter, uint64_t now_ns) {
    ratecell_stats stats;
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, now_ns, &stats, sizeof stats), 0);
    return stats.live;
}

static void each_limits_on_its_own(const char *policy) {
    ratecell_limiter *limiter = LIMITER(policy);
    uint64_t now = 0;
    int status = 0;
    check_case("%s", policy);
    CHECK_STATUS(ratecell_limiter_now(limiter, &now), 0);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "a", 1, 4, now, NULL), RATECELL_ALLOWED);

    pid_t child = fork();
    if (child == 0) {
        /* What was charged before is known to both; the clock goes on from the same epoch. */
        uint64_t then = 0;
        int right = admitted(limiter, "a", now) == 6 && admitted(limiter, "b", now) == 10;
        right = right && ratecell_limiter_now(limiter, &then) == 0 && then >= now;
        right = right && live(limiter, now) == 2;
        ratecell_limiter_free(limiter);
        _exit(right ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    CHECK_U64(live(limiter, now), 1);
    CHECK_U64(admitted(limiter, "a", now), 6);
    CHECK_U64(admitted(limiter, "b", now), 10);
    ratecell_limiter_free(limiter);
}

int main(void) {
    each_limits_on_its_own("10/w");
    each_limits_on_its_own("sliding_log 10/w");
    each_limits_on_its_own("10/w & fixed_window 20/w start=first");
    return CHECK_END();
}
