/* The HTTP fields of decisions. */

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const names[] = {
    [RATECELL_HEADER_RATELIMIT] = "RateLimit",
    [RATECELL_HEADER_RATELIMIT_POLICY] = "RateLimit-Policy",
    [RATECELL_HEADER_RETRY_AFTER] = "Retry-After",
    [RATECELL_HEADER_X_RATELIMIT_LIMIT] = "X-RateLimit-Limit",
    [RATECELL_HEADER_X_RATELIMIT_REMAINING] = "X-RateLimit-Remaining",
    [RATECELL_HEADER_X_RATELIMIT_RESET] = "X-RateLimit-Reset",
    [RATECELL_HEADER_X_RATELIMIT_RESET_UNIX] = "X-RateLimit-Reset",
};
#define HEADERS ((int32_t)CHECK_COUNT(names))

static const int32_t no_headers[] = { INT32_MIN, -1, HEADERS, HEADERS + 1, INT32_MAX };

static void names_count_up_from_0(void) {
    for (int32_t header = 0; header < HEADERS; header++) {
        check_case("header %d", (int)header);
        CHECK(ratecell_header_name(header) != NULL);
        CHECK_TEXT(ratecell_header_name(header), names[header]);
    }
    for (size_t i = 0; i < CHECK_COUNT(no_headers); i++) {
        check_case("header %ld", (long)no_headers[i]);
        CHECK(ratecell_header_name(no_headers[i]) == NULL);
    }
}

/* Each request, on one key at one instant, and the fields of its decision. RateLimit-Policy is the same of
 * all; the wall clock's field has a check of its own. */
static const struct {
    const char *policy, *name;
    uint32_t costs[3];
    int32_t outcome;
    const char *fields[HEADERS];
} told[] = {
    { "2/m", "api", { 1 }, RATECELL_ALLOWED,
      { "\"api\";r=1;t=30", "\"api\";q=2;w=60", "", "2", "1", "30" } },
    { "2/m", "api", { 2, 1 }, RATECELL_DENIED,
      { "\"api\";r=0;t=30", "\"api\";q=2;w=60", "30", "2", "0", "60" } },
    { "2/m", "api", { 1, 3 }, RATECELL_NEVER,
      { "\"api\";r=1;t=30", "\"api\";q=2;w=60", "", "2", "1", "30" } },
    { "3/s burst=9", NULL, { 9, 1 }, RATECELL_DENIED,
      { "\"3/s burst=9\";r=0;t=1", "\"3/s burst=9\";q=3;w=1;ratecell-burst=9", "1", "9", "0", "3" } },
    { "10/s & 15/m", "a \"b\" \\c", { 10, 5 }, RATECELL_DENIED,
      { "\"a \\\"b\\\" \\\\c-1\";r=0;t=1", "\"a \\\"b\\\" \\\\c-1\";q=10;w=1, \"a \\\"b\\\" \\\\c-2\";q=15;w=60",
        "1", "10", "0", "40" } },
    { "1/ns burst=1", "", { 1 }, RATECELL_ALLOWED,
      { "\"\";r=0;t=1", "\"\";q=1000000000;w=1;ratecell-burst=1", "", "1", "0", "1" } },
};

static void fields_tell_the_decision(void) {
    for (size_t i = 0; i < CHECK_COUNT(told); i++) {
        ratecell_limiter *limiter = LIMITER(told[i].policy);
        ratecell_decision decision;
        int32_t outcome = RATECELL_EINVAL;
        for (size_t j = 0; j < CHECK_COUNT(told[i].costs) && told[i].costs[j] > 0; j++) {
            outcome = ratecell_limiter_check_at(limiter, "key", 3, told[i].costs[j], 0, &decision);
        }
        check_case("decision %zu", i);
        CHECK_STATUS(outcome, told[i].outcome);
        for (int32_t header = 0; header < RATECELL_HEADER_X_RATELIMIT_RESET_UNIX; header++) {
            char value[256];
            check_case("%s of decision %zu", names[header], i);
            CHECK_STATUS(ratecell_limiter_header(limiter, header, told[i].name, &decision, value, sizeof value),
                         (int32_t)strlen(told[i].fields[header]));
            CHECK_TEXT(value, told[i].fields[header]);
        }
        ratecell_limiter_free(limiter);
    }
}

static void a_time_out_of_range_has_no_t(void) {
    ratecell_limiter *limiter = LIMITER("2/m");
    ratecell_decision decision;
    char value[64];
    check_case("clock range");
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, UINT64_MAX, &decision),
                 RATECELL_CLOCK_RANGE);
    CHECK_STATUS(ratecell_limiter_header(limiter, RATECELL_HEADER_RATELIMIT, "api", &decision, value,
                                         sizeof value), 9);
    CHECK_TEXT(value, "\"api\";r=0");
    CHECK_STATUS(ratecell_limiter_header(limiter, RATECELL_HEADER_RETRY_AFTER, "api", &decision, value,
                                         sizeof value), 0);
    ratecell_limiter_free(limiter);
}

static void the_unix_reset_is_by_the_wall_clock(void) {
    ratecell_limiter *limiter = LIMITER("2/m");
    ratecell_decision decision;
    char value[64];
    check_case("X-RateLimit-Reset since 1970");
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 2, 0, &decision), RATECELL_ALLOWED);
    long long before = (long long)time(NULL);
    CHECK(ratecell_limiter_header(limiter, RATECELL_HEADER_X_RATELIMIT_RESET_UNIX, NULL, &decision, value,
                                  sizeof value) > 0);
    long long after = (long long)time(NULL);
    long long reset = atoll(value);
    /* time() is rounded down, the field up; and the kernel's time() may be a tick behind. */
    CHECK(before + 60 <= reset && reset <= after + 62);
    ratecell_limiter_free(limiter);
}

static void what_is_no_decision_is_refused(void) {
    static const int32_t no_outcomes[] = { INT32_MIN, RATECELL_EINVAL, -1000, 4, 5, INT32_MAX };
    ratecell_limiter *limiter = LIMITER("2/m");
    ratecell_decision decision;
    char value[64];
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, &decision), RATECELL_ALLOWED);
    for (int32_t header = 0; header < HEADERS; header++) {
        for (size_t i = 0; i < CHECK_COUNT(no_outcomes); i++) {
            ratecell_decision none = decision;
            none.outcome = no_outcomes[i];
            check_case("%s of outcome %ld", names[header], (long)no_outcomes[i]);
            UNTOUCHED(value);
            CHECK_STATUS(ratecell_limiter_header(limiter, header, "api", &none, value, sizeof value),
                         RATECELL_EINVAL);
            CHECK_UNTOUCHED(value);
        }
        check_case("%s of a layer too far", names[header]);
        ratecell_decision elsewhere = decision;
        elsewhere.layer = 1;
        UNTOUCHED(value);
        CHECK_STATUS(ratecell_limiter_header(limiter, header, "api", &elsewhere, value, sizeof value),
                     RATECELL_EINVAL);
        CHECK_UNTOUCHED(value);
    }
    for (size_t i = 0; i < CHECK_COUNT(no_headers); i++) {
        check_case("header %ld", (long)no_headers[i]);
        UNTOUCHED(value);
        CHECK_STATUS(ratecell_limiter_header(limiter, no_headers[i], "api", &decision, value, sizeof value),
                     RATECELL_EINVAL);
        CHECK_UNTOUCHED(value);
    }
    ratecell_limiter_free(limiter);
}

static void a_name_is_printable_ascii(void) {
    ratecell_limiter *limiter = LIMITER("2/m");
    ratecell_decision decision;
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, &decision), RATECELL_ALLOWED);
    for (int byte = 1; byte < 256; byte++) {
        char name[] = { 'n', (char)byte, '\0' };
        char value[64];
        check_case("a name with byte %d", byte);
        UNTOUCHED(value);
        int32_t written = ratecell_limiter_header(limiter, RATECELL_HEADER_RATELIMIT, name, &decision, value,
                                                  sizeof value);
        if (byte < ' ' || byte > '~') {
            CHECK_STATUS(written, RATECELL_ENAME);
            CHECK_UNTOUCHED(value);
        } else {
            char expected[64];
            snprintf(expected, sizeof expected, "\"n%s%c\";r=1;t=30", byte == '"' || byte == '\\' ? "\\" : "",
                     byte);
            CHECK_STATUS(written, (int32_t)strlen(expected));
            CHECK_TEXT(value, expected);
        }
    }
    ratecell_limiter_free(limiter);
}

int main(void) {
    names_count_up_from_0();
    fields_tell_the_decision();
    a_time_out_of_range_has_no_t();
    the_unix_reset_is_by_the_wall_clock();
    what_is_no_decision_is_refused();
    a_name_is_printable_ascii();
    return CHECK_END();
}
