/* Text into buffers of every size, of every function that writes text. */

#include "check.h"

#include <stdlib.h>
#include <string.h>

#define POLICY "10/s burst=20 & sliding_window 1000/1h & fixed_window 10000/1d"

static ratecell_limiter *limiter;
static ratecell_decision decision;

static int32_t limiter_policy(const char *argument, char *buffer, size_t len) {
    (void)argument;
    return ratecell_limiter_policy(limiter, buffer, len);
}

static int32_t fields(const char *name, char *buffer, size_t len) {
    const ratecell_answer answer = { .limiter = limiter, .decision = &decision, .name = name };
    return ratecell_fields(RATECELL_STYLE_DRAFT11, &answer, 1, 0, buffer, len);
}

static int32_t no_fields(const char *name, char *buffer, size_t len) {
    (void)name;
    return ratecell_fields(RATECELL_STYLE_DRAFT11, NULL, 0, 0, buffer, len);
}

static const struct {
    const char *what;
    int32_t (*write)(const char *argument, char *buffer, size_t len);
    const char *argument;
    const char *expected;
} texts[] = {
    { "limiter_policy", limiter_policy, NULL,
      "10/s burst=20 & sliding_window 1000/h & fixed_window 10000/d" },
    { "policy_format", ratecell_policy_format, "1/1m", "1/m" },
    { "policy_explain", ratecell_policy_explain, "0/s", "zero_limit at column 1: limit is 0: expected 1 to 4294967295" },
    { "policy_explain, nothing wrong", ratecell_policy_explain, "1/s", "" },
    { "fields, unnamed", fields, NULL,
      "RateLimit-Policy: \"10/s burst=20\";q=10;w=1;ratecell-burst=20, \"sliding_window 1000/h\";q=1000;w=3600, "
      "\"fixed_window 10000/d\";q=10000;w=86400\nRateLimit: \"10/s burst=20\";r=19;t=86400\n" },
    { "fields, named", fields, "api",
      "RateLimit-Policy: \"api-1\";q=10;w=1;ratecell-burst=20, \"api-2\";q=1000;w=3600, "
      "\"api-3\";q=10000;w=86400\nRateLimit: \"api-1\";r=19;t=86400\n" },
    { "fields, none", no_fields, "api", "" },
};

static void into_every_size(size_t i) {
    size_t length = strlen(texts[i].expected);
    check_case("%s: the length alone", texts[i].what);
    CHECK_U64((uint64_t)texts[i].write(texts[i].argument, NULL, 0), length);
    for (size_t len = 0; len <= length + 9; len++) {
        /* As long as it is said to be, for valgrind and the address sanitizer to tell a byte past it. */
        char *buffer = malloc(len == 0 ? 1 : len);
        if (buffer == NULL) {
            abort();
        }
        check_case("%s: into %zu bytes", texts[i].what, len);
        check_fill(buffer, len == 0 ? 1 : len);
        int32_t written = texts[i].write(texts[i].argument, buffer, len);
        if (len == 0) {
            CHECK_STATUS(written, (int32_t)length);
            check_filled(buffer, 1, "buffer", __FILE__, __LINE__);
        } else if (len <= length) {
            CHECK_STATUS(written, RATECELL_ENOSPC);
            check_filled(buffer, len, "buffer", __FILE__, __LINE__);
        } else {
            CHECK_STATUS(written, (int32_t)length);
            CHECK_TEXT(buffer, texts[i].expected);
            check_filled(buffer + length + 1, len - length - 1, "what follows", __FILE__, __LINE__);
        }
        free(buffer);
    }
}

int main(void) {
    limiter = LIMITER(POLICY);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, &decision), RATECELL_ALLOWED);
    for (size_t i = 0; i < CHECK_COUNT(texts); i++) {
        into_every_size(i);
    }
    ratecell_limiter_free(limiter);
    return CHECK_END();
}
