/* Loaded before libc: the time since the machine started runs fast for ten seconds and slow for ten, by SLEW_PPM
 * millionths; where that is below 0, slow and then fast. */

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define TURN (10 * SECOND)

static long long ppm;

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("SLEW_PPM");
    ppm = text ? atoll(text) : 0;
}

int clock_gettime(clockid_t id, struct timespec *time) {
    if (syscall(SYS_clock_gettime, id, time) != 0) return -1;
    if (id == CLOCK_MONOTONIC || id == CLOCK_BOOTTIME) {
        long long ns = time->tv_sec * SECOND + time->tv_nsec;
        long long turn = ns % (2 * TURN);
        ns += (turn < TURN ? turn : 2 * TURN - turn) * ppm / 1000000;
        time->tv_sec = ns / SECOND;
        time->tv_nsec = ns % SECOND;
    }
    return 0;
}
