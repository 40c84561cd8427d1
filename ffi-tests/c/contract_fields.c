/* The HTTP fields of decisions: what is said in each style, and what is no answer. */

#include "ask.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STYLES (RATECELL_STYLE_KONG * 2 - 1)
#define EVERY_TIME UINT64_C(100000000000)

static ratecell_answer answer_of(const ratecell_limiter *limiter, const ratecell_decision *decision) {
    const ratecell_answer answer = { .limiter = limiter, .decision = decision };
    return answer;
}

static const struct {
    uint32_t styles;
    const char *fields;
} told[] = {
    { RATECELL_STYLE_DRAFT11,
      "RateLimit-Policy: \"api\";q=2;w=60\nRateLimit: \"api\";r=0;t=30\nRetry-After: 30\n" },
    { RATECELL_STYLE_DRAFT07,
      "RateLimit-Policy: 2;w=60\nRateLimit: limit=2, remaining=0, reset=30\nRetry-After: 30\n" },
    { RATECELL_STYLE_DRAFT06,
      "RateLimit-Policy: 2;w=60\nRateLimit-Limit: 2\nRateLimit-Remaining: 0\nRateLimit-Reset: 30\nRetry-After: 30\n" },
    { RATECELL_STYLE_DRAFT03,
      "RateLimit-Limit: 2, 2;w=60\nRateLimit-Remaining: 0\nRateLimit-Reset: 30\nRetry-After: 30\n" },
    { RATECELL_STYLE_X,
      "X-RateLimit-Limit: 2\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 60\nRetry-After: 30\n" },
    { RATECELL_STYLE_X_UNIX,
      "X-RateLimit-Limit: 2\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 160\nRetry-After: 30\n" },
    { RATECELL_STYLE_GITHUB,
      "X-RateLimit-Limit: 2\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 160\nX-RateLimit-Used: 2\nRetry-After: 30\n" },
    { RATECELL_STYLE_TWITTER,
      "X-Rate-Limit-Limit: 2\nX-Rate-Limit-Remaining: 0\nX-Rate-Limit-Reset: 160\nRetry-After: 30\n" },
    { RATECELL_STYLE_KONG,
      "RateLimit-Limit: 2\nRateLimit-Remaining: 0\nRateLimit-Reset: 60\nX-RateLimit-Limit-Minute: 2\n"
      "X-RateLimit-Remaining-Minute: 0\nRetry-After: 30\n" },
    { RATECELL_STYLE_DRAFT11 | RATECELL_STYLE_X,
      "RateLimit-Policy: \"api\";q=2;w=60\nRateLimit: \"api\";r=0;t=30\n"
      "X-RateLimit-Limit: 2\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 60\nRetry-After: 30\n" },
};

static void each_style_has_its_fields(void) {
    ratecell_limiter *limiter = LIMITER("2/m");
    ratecell_decision decision;
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 2, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, &decision), RATECELL_DENIED);
    for (size_t i = 0; i < CHECK_COUNT(told); i++) {
        char text[512] = "";
        ratecell_answer answer = answer_of(limiter, &decision);
        answer.name = "api";
        check_case("styles %lx", (unsigned long)told[i].styles);
        CHECK_STATUS(ratecell_fields(told[i].styles, &answer, 1, EVERY_TIME, text, sizeof text),
                     (int32_t)strlen(told[i].fields));
        CHECK_TEXT(text, told[i].fields);
    }
    ratecell_limiter_free(limiter);
}

/* RATECELL_NEXT says more where a decision alone does not tell it. */
static void next_is_sent(void) {
    ratecell_limiter *limiter = LIMITER("sliding_window 4/1m");
    ratecell_decision decision;
    char with[256] = "", without[256] = "";
    check_case("next");
    CHECK_STATUS(ask_next_at(limiter, "key", 3, 4, 0, &decision), RATECELL_ALLOWED);
    CHECK(decision.next_ns > 0);
    ratecell_answer answer = answer_of(limiter, &decision);
    answer.name = "api";
    CHECK(ratecell_fields(RATECELL_STYLE_DRAFT11, &answer, 1, 0, with, sizeof with) > 0);
    decision.next_ns = 0;
    CHECK(ratecell_fields(RATECELL_STYLE_DRAFT11, &answer, 1, 0, without, sizeof without) > 0);
    CHECK(strcmp(with, without) != 0);
    ratecell_limiter_free(limiter);
}

static void several_answers_are_one_list(void) {
    static const char *const names[] = { "a", "b" };
    ratecell_limiter *limiter = LIMITER("2/m"), *layers = LIMITER("10/s & 15/m");
    ratecell_decision decisions[2];
    ratecell_answer answers[2];
    char text[512] = "";
    check_case("two answers");
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, &decisions[0]), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(layers, "key", 3, 10, 0, &decisions[1]), RATECELL_ALLOWED);
    for (size_t i = 0; i < 2; i++) {
        answers[i] = answer_of(i == 0 ? limiter : layers, &decisions[i]);
        answers[i].name = names[i];
    }
    answers[0].unit = "content-bytes";
    answers[1].partition = "\0\xff";
    answers[1].partition_len = 2;
    CHECK(ratecell_fields(RATECELL_STYLE_DRAFT11, answers, 2, 0, text, sizeof text) > 0);
    CHECK_TEXT(text, "RateLimit-Policy: \"a\";q=2;qu=\"content-bytes\";w=60, \"b-1\";q=10;w=1;pk=:AP8=:, "
                     "\"b-2\";q=15;w=60;pk=:AP8=:\n"
                     "RateLimit: \"a\";r=1;t=30, \"b-1\";r=0;t=40;pk=:AP8=:\n");
    check_case("no answers");
    CHECK_STATUS(ratecell_fields(RATECELL_STYLE_DRAFT11, NULL, 0, 0, text, sizeof text), 0);
    CHECK_TEXT(text, "");
    check_case("64 answers and one more");
    ratecell_answer many[65];
    char *large = malloc(1 << 16);
    if (large == NULL) {
        abort();
    }
    for (size_t i = 0; i < CHECK_COUNT(many); i++) {
        many[i] = answers[0];
    }
    CHECK(ratecell_fields(RATECELL_STYLE_DRAFT11, many, 64, 0, large, 1 << 16) > 0);
    CHECK_STATUS(ratecell_fields(RATECELL_STYLE_DRAFT11, many, 65, 0, large, 1 << 16), RATECELL_ESIZE);
    free(large);
    ratecell_limiter_free(limiter);
    ratecell_limiter_free(layers);
}

static void is_refused(uint32_t styles, const ratecell_answer *answer, int32_t status) {
    char text[512];
    UNTOUCHED(text);
    CHECK_STATUS(ratecell_fields(styles, answer, 1, 0, text, sizeof text), status);
    CHECK_STATUS(ratecell_fields(styles, answer, 1, 0, NULL, 0), status);
    /* Wherever it stands. */
    const ratecell_answer several[] = { *answer, *answer, *answer };
    CHECK_STATUS(ratecell_fields(styles, several, 3, 0, text, sizeof text), status);
    CHECK_UNTOUCHED(text);
}

static void styles_are_known_and_apart(const ratecell_answer *answer) {
    char text[1024];
    check_case("no style");
    is_refused(0, answer, RATECELL_EINVAL);
    for (uint32_t bit = 1; bit != 0; bit <<= 1) {
        check_case("style %lx", (unsigned long)bit);
        if ((bit & STYLES) == 0) {
            is_refused(bit, answer, RATECELL_EINVAL);
            is_refused(bit | RATECELL_STYLE_DRAFT11, answer, RATECELL_EINVAL);
        } else {
            CHECK(ratecell_fields(bit, answer, 1, 0, text, sizeof text) > 0);
        }
    }
    check_case("styles of one field");
    is_refused(RATECELL_STYLE_DRAFT11 | RATECELL_STYLE_DRAFT07, answer, RATECELL_EINVAL);
    is_refused(RATECELL_STYLE_X | RATECELL_STYLE_X_UNIX, answer, RATECELL_EINVAL);
    is_refused(RATECELL_STYLE_X | RATECELL_STYLE_GITHUB, answer, RATECELL_EINVAL);
    is_refused(RATECELL_STYLE_DRAFT03 | RATECELL_STYLE_KONG, answer, RATECELL_EINVAL);
    is_refused(STYLES, answer, RATECELL_EINVAL);
}

static void what_is_no_answer_is_refused(const ratecell_answer *right) {
    static const int32_t no_outcomes[] = { INT32_MIN, RATECELL_EINVAL, -1000, 5, 6, INT32_MAX };
    static const uint64_t reserved[] = { 1, UINT64_C(1) << 63, UINT64_MAX };
    ratecell_answer answer = *right;
    ratecell_decision decision = *right->decision;
    answer.decision = &decision;
    for (size_t i = 0; i < CHECK_COUNT(no_outcomes); i++) {
        check_case("outcome %ld", (long)no_outcomes[i]);
        decision.outcome = no_outcomes[i];
        is_refused(RATECELL_STYLE_X, &answer, RATECELL_EINVAL);
    }
    decision.outcome = RATECELL_ALLOWED;
    for (uint32_t layer = 1; layer != 0; layer <<= 4) {
        check_case("layer %lu", (unsigned long)layer);
        decision.layer = layer;
        is_refused(RATECELL_STYLE_X, &answer, RATECELL_EINVAL);
    }
    decision.layer = 0;
    for (size_t i = 0; i < CHECK_COUNT(reserved); i++) {
        check_case("reserved %llx", (unsigned long long)reserved[i]);
        answer.reserved = reserved[i];
        is_refused(RATECELL_STYLE_X, &answer, RATECELL_EINVAL);
    }
    check_case("pointers");
    answer = *right;
    answer.limiter = NULL;
    is_refused(RATECELL_STYLE_X, &answer, RATECELL_EINVAL);
    answer.limiter = (void *)((char *)(uintptr_t)right->limiter + 1);
    is_refused(RATECELL_STYLE_X, &answer, RATECELL_EALIGN);
    answer = *right;
    answer.decision = NULL;
    is_refused(RATECELL_STYLE_X, &answer, RATECELL_EINVAL);
    answer.decision = (void *)((char *)&decision + 4);
    is_refused(RATECELL_STYLE_X, &answer, RATECELL_EALIGN);
    check_case("partitions");
    answer = *right;
    answer.partition = "p";
    answer.partition_len = SIZE_MAX;
    is_refused(RATECELL_STYLE_X, &answer, RATECELL_ESIZE);
    static const char long_one[300];
    answer.partition = long_one;
    answer.partition_len = 257;
    is_refused(RATECELL_STYLE_X, &answer, RATECELL_ENAME);
    char text[1024];
    for (size_t len = 0; len <= 256; len += 64) {
        answer.partition_len = len;
        CHECK(ratecell_fields(RATECELL_STYLE_DRAFT11, &answer, 1, 0, text, sizeof text) > 0);
    }
}

static void a_name_is_printable_ascii(const ratecell_answer *right) {
    ratecell_answer answer = *right;
    for (int byte = 1; byte < 256; byte++) {
        char name[] = { 'n', (char)byte, '\0' };
        char text[256];
        check_case("a name with byte %d", byte);
        answer.name = name;
        if (byte < ' ' || byte > '~') {
            is_refused(RATECELL_STYLE_DRAFT11, &answer, RATECELL_ENAME);
        } else {
            char expected[64];
            snprintf(expected, sizeof expected, "RateLimit-Policy: \"n%s%c\";q=2;w=60\n",
                     byte == '"' || byte == '\\' ? "\\" : "", byte);
            CHECK(ratecell_fields(RATECELL_STYLE_DRAFT11, &answer, 1, 0, text, sizeof text) > 0);
            CHECK(strncmp(text, expected, strlen(expected)) == 0);
        }
    }
    char name[258];
    memset(name, 'n', sizeof name);
    name[257] = '\0';
    check_case("a name of 257 and 256 characters, and of none");
    answer.name = name;
    is_refused(RATECELL_STYLE_DRAFT11, &answer, RATECELL_ENAME);
    answer.name = name + 1;
    CHECK(ratecell_fields(RATECELL_STYLE_DRAFT11, &answer, 1, 0, NULL, 0) > 512);
    answer.name = "";
    is_refused(RATECELL_STYLE_DRAFT11, &answer, RATECELL_ENAME);
    static const char *const no_units[] = { "", "request", "Requests", "requests ", "tokens", "\xff" };
    answer = *right;
    for (size_t i = 0; i < CHECK_COUNT(no_units); i++) {
        check_case("unit %zu", i);
        answer.unit = no_units[i];
        is_refused(RATECELL_STYLE_DRAFT11, &answer, RATECELL_ENAME);
    }
}

int main(void) {
    ratecell_limiter *limiter = LIMITER("2/m");
    ratecell_decision decision;
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, &decision), RATECELL_ALLOWED);
    const ratecell_answer right = answer_of(limiter, &decision);
    each_style_has_its_fields();
    next_is_sent();
    several_answers_are_one_list();
    styles_are_known_and_apart(&right);
    what_is_no_answer_is_refused(&right);
    a_name_is_printable_ascii(&right);
    ratecell_limiter_free(limiter);
    return CHECK_END();
}
