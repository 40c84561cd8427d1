#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A byte that no output of ratecell is made of. */
#define FILL 0xA5

static unsigned long checks;
static unsigned long failures;
static char current[256];

void check_case(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(current, sizeof current, format, arguments);
    va_end(arguments);
}

/* Counts a check; of one that fails, begins the line that tells it. */
static int counted(int holds, const char *what, const char *file, int line) {
    checks += 1;
    if (holds) {
        return 1;
    }
    failures += 1;
    fprintf(stderr, "%s:%d: %s%s%s: ", file, line, current, current[0] == '\0' ? "" : ": ", what);
    return 0;
}

void check_that(int holds, const char *what, const char *file, int line) {
    if (!counted(holds, what, file, line)) {
        fprintf(stderr, "expected to hold\n");
    }
}

void check_status(int32_t got, int32_t expected, const char *what, const char *file, int line) {
    if (!counted(got == expected, what, file, line)) {
        fprintf(stderr, "expected %d, got %d%s%s\n", (int)expected, (int)got, got < 0 ? ", " : "",
                got < 0 ? ratecell_strerror(got) : "");
    }
}

void check_u64(uint64_t got, uint64_t expected, const char *what, const char *file, int line) {
    if (!counted(got == expected, what, file, line)) {
        fprintf(stderr, "expected %llu, got %llu\n", (unsigned long long)expected, (unsigned long long)got);
    }
}

void check_text(const char *got, const char *expected, const char *what, const char *file, int line) {
    if (!counted(strcmp(got, expected) == 0, what, file, line)) {
        fprintf(stderr, "expected \"%s\", got \"%s\"\n", expected, got);
    }
}

static void tell(const char *word, const ratecell_decision *decision) {
    fprintf(stderr, "%s outcome %d limit %llu remaining %llu retry %llu reset %llu delay %llu layer %u", word,
            (int)decision->outcome, (unsigned long long)decision->limit,
            (unsigned long long)decision->remaining, (unsigned long long)decision->retry_after_ns,
            (unsigned long long)decision->reset_after_ns, (unsigned long long)decision->delay_ns,
            (unsigned)decision->layer);
}

void check_decision(const ratecell_decision *got, const ratecell_decision *expected, const char *what,
                    const char *file, int line) {
    /* 64 bytes without padding: equal decisions are equal bytes. */
    if (!counted(memcmp(got, expected, sizeof *got) == 0, what, file, line)) {
        tell("expected", expected);
        tell(", got", got);
        fprintf(stderr, "\n");
    }
}

void check_fill(void *memory, size_t size) {
    memset(memory, FILL, size);
}

void check_filled(const void *memory, size_t size, const char *what, const char *file, int line) {
    const unsigned char *bytes = memory;
    size_t at = 0;
    while (at < size && bytes[at] == FILL) {
        at += 1;
    }
    if (!counted(at == size, what, file, line)) {
        fprintf(stderr, "expected to be untouched, got byte %zu written\n", at);
    }
}

ratecell_limiter *check_limiter(const char *policy, const ratecell_config *config, const char *file,
                                int line) {
    ratecell_config few = RATECELL_CONFIG_INIT;
    few.max_keys = 64;
    ratecell_limiter *limiter = NULL;
    int32_t status = ratecell_limiter_new(policy, config == NULL ? &few : config, &limiter);
    check_status(status, 0, policy, file, line);
    if (status != 0) {
        exit(EXIT_FAILURE);
    }
    return limiter;
}

int check_end(const char *file) {
    const char *slash = strrchr(file, '/');
    const char *name = slash == NULL ? file : slash + 1;
    printf("%.*s: %lu checks", (int)strcspn(name, "."), name, checks);
    if (failures > 0) {
        printf(", %lu failed", failures);
    }
    printf("\n");
    return checks > 0 && failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
