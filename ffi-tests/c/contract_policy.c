/* Policies as text: their shortest form, and each way to be wrong with its status and its explanation. */

#include "check.h"

#include <string.h>

/* A policy as it may be written, and in its shortest form. */
static const struct {
    const char *written, *shortest;
} right[] = {
    { "100/s", "100/s" },
    { "100/1s", "100/s" },
    { "  100/1000ms  ", "100/s" },
    { "gcra 100/s", "100/s" },
    { "gcra 100/s\tburst=7\n", "100/s burst=7" },
    { "100 per minute", "100/m" },
    { "10r/s", "10/s" },
    { "1_000 / sec", "1000/s" },
    { "0.5/s", "1/2s" },
    { "7/60s", "7/m" },
    { "7/90s", "7/90s" },
    { "7/7d", "7/w" },
    { "token_bucket 5/10s capacity=10 mode=interval", "token_bucket 5/10s capacity=10 mode=interval" },
    { "token_bucket 5/10s mode=interval_first capacity=10",
      "token_bucket 5/10s capacity=10 mode=interval_first" },
    { "leaky_meter 5/s capacity=10", "leaky_meter 5/s capacity=10" },
    { "leaky_queue 10/s burst=2 queue=20", "leaky_queue 10/s queue=20 burst=2" },
    { "sliding_window 1000/1m", "sliding_window 1000/m" },
    { "sliding_window 1000/1m strict=true", "sliding_window 1000/m strict=true" },
    { "sliding_log 5/1h", "sliding_log 5/h" },
    { "fixed_window 5000/1h offset=30m", "fixed_window 5000/h offset=30m" },
    { "fixed_window 5000/1h start=first", "fixed_window 5000/h start=first" },
    { "100/s heal=1m horizon=52w", "100/s heal=1m horizon=52w" },
    { "10/s burst=20&sliding_window 1000/1h  &  fixed_window 10000/1d",
      "10/s burst=20 & sliding_window 1000/h & fixed_window 10000/d" },
    { "1/s&2/s&3/s&4/s&5/s&6/s&7/s&8/s", "1/s & 2/s & 3/s & 4/s & 5/s & 6/s & 7/s & 8/s" },
};

/* A policy that is refused, the status, and how the explanation begins: the kind and the place. */
static const struct {
    const char *written;
    int32_t status;
    const char *explained;
} wrong[] = {
    { "", RATECELL_EPOLICY_SYNTAX, "syntax at column 1: " },
    { " ", RATECELL_EPOLICY_SYNTAX, "syntax at column 1: " },
    { "100", RATECELL_EPOLICY_SYNTAX, "syntax at column 1: " },
    { "/s", RATECELL_EPOLICY_SYNTAX, "syntax at column 1: " },
    { "-1/s", RATECELL_EPOLICY_SYNTAX, "syntax at column 1: " },
    { "1.5.5/s", RATECELL_EPOLICY_SYNTAX, "syntax at column 1: " },
    { "1k/s", RATECELL_EPOLICY_SYNTAX, "syntax at column 1: limit is `1k`: write 1000" },
    { "5/S", RATECELL_EPOLICY_SYNTAX, "syntax at column 3: period is `S`: write s" },
    { "fixed_window 1.5/s", RATECELL_EPOLICY_SYNTAX, "syntax at column 14: " },
    { "4294967295.5/s", RATECELL_EPOLICY_RANGE, "range at column 1: " },
    { "100/", RATECELL_EPOLICY_SYNTAX, "syntax at column 5: " },
    { "100/1", RATECELL_EPOLICY_SYNTAX, "syntax at column 5: " },
    { "100/fortnight", RATECELL_EPOLICY_SYNTAX, "syntax at column 5: " },
    { "gcra", RATECELL_EPOLICY_SYNTAX, "syntax at column 5: " },
    { "100/s burst", RATECELL_EPOLICY_SYNTAX, "syntax at column 7: " },
    { "100/s burst=", RATECELL_EPOLICY_SYNTAX, "syntax at column 13: " },
    { "100/s burst=many", RATECELL_EPOLICY_SYNTAX, "syntax at column 13: " },
    { "100/s queue=5", RATECELL_EPOLICY_SYNTAX, "syntax at column 7: " },
    { "100/s burst=5 burst=5", RATECELL_EPOLICY_SYNTAX, "syntax at column 15: " },
    { "sliding_window 5/s strict=perhaps", RATECELL_EPOLICY_SYNTAX, "syntax at column 27: " },
    { "100/s &", RATECELL_EPOLICY_SYNTAX, "syntax at column 8: " },
    { "100/s && 5/s", RATECELL_EPOLICY_SYNTAX, "syntax at column 8: " },
    { "100/s \xc3\xa9", RATECELL_EPOLICY_SYNTAX, "syntax at column 7: " },
    { "100/s \xff", RATECELL_EPOLICY_SYNTAX, "syntax at column 7: not UTF-8" },
    { "0/s", RATECELL_EPOLICY_ZERO_LIMIT, "zero_limit at column 1: " },
    { "token_bucket 0/s capacity=1", RATECELL_EPOLICY_ZERO_LIMIT, "zero_limit at column 14: " },
    { "5/s & sliding_log 0/s", RATECELL_EPOLICY_ZERO_LIMIT, "zero_limit at column 19: " },
    { "1/0s", RATECELL_EPOLICY_ZERO_PERIOD, "zero_period at column 3: " },
    { "sliding_window 1/0d", RATECELL_EPOLICY_ZERO_PERIOD, "zero_period at column 18: " },
    { "1/s burst=0", RATECELL_EPOLICY_ZERO_CAPACITY, "zero_capacity at column 11: " },
    { "leaky_meter 1/s capacity=0", RATECELL_EPOLICY_ZERO_CAPACITY, "zero_capacity at column 26: " },
    { "token_bucket 1/s", RATECELL_EPOLICY_MISSING_PARAMETER, "bad_type at column 1: " },
    { "leaky_queue 1/s", RATECELL_EPOLICY_MISSING_PARAMETER, "bad_type at column 1: " },
    { "fixed_window 1/s offset=1s", RATECELL_EPOLICY_BAD_OFFSET, "bad_offset at column 25: " },
    { "4294967296/s burst=1", RATECELL_EPOLICY_RANGE, "range at column 1: " },
    { "18446744073709551616/s", RATECELL_EPOLICY_RANGE, "range at column 1: " },
    { "1/18446744073709551615w", RATECELL_EPOLICY_RANGE, "range at column 3: " },
    { "sliding_log 65537/s", RATECELL_EPOLICY_RANGE, "range at column 13: " },
    { "1/s horizon=0ns", RATECELL_EPOLICY_RANGE, "range at column 13: " },
    { "999999937/s burst=1", RATECELL_EPOLICY_PRECISION, "precision at column 1: " },
    { "nope 1/s", RATECELL_EPOLICY_UNKNOWN_ALGORITHM, "unknown_algorithm at column 1: " },
    { "GCRA 1/s", RATECELL_EPOLICY_UNKNOWN_ALGORITHM, "unknown_algorithm at column 1: " },
    { "fixed_window 1/s start=noon", RATECELL_EPOLICY_UNKNOWN_ALGORITHM, "unknown_algorithm at column 24: " },
    { "1/s&2/s&3/s&4/s&5/s&6/s&7/s&8/s&9/s", RATECELL_EPOLICY_BAD_LAYERS, "bad_layers: " },
    { "calendar_window 5/day tz=Europe/Atlantis", RATECELL_EPOLICY_BAD_ZONE, "bad_zone at column 26: " },
};

static void a_right_policy_has_one_shortest_form(void) {
    for (size_t i = 0; i < CHECK_COUNT(right); i++) {
        char text[256];
        int32_t length = (int32_t)strlen(right[i].shortest);
        check_case("\"%s\"", right[i].written);
        CHECK_STATUS(ratecell_policy_format(right[i].written, text, sizeof text), length);
        CHECK_TEXT(text, right[i].shortest);
        CHECK_STATUS(ratecell_policy_format(right[i].shortest, text, sizeof text), length);
        CHECK_TEXT(text, right[i].shortest);
        CHECK_STATUS(ratecell_policy_explain(right[i].written, text, sizeof text), 0);
        CHECK_TEXT(text, "");
        ratecell_limiter *limiter = LIMITER(right[i].written);
        CHECK_STATUS(ratecell_limiter_policy(limiter, text, sizeof text), length);
        CHECK_TEXT(text, right[i].shortest);
        ratecell_limiter_free(limiter);
    }
}

static void a_wrong_policy_is_explained(void) {
    for (size_t i = 0; i < CHECK_COUNT(wrong); i++) {
        char text[512];
        ratecell_limiter *limiter;
        check_case("\"%s\"", wrong[i].written);
        UNTOUCHED(limiter);
        CHECK_STATUS(ratecell_limiter_new(wrong[i].written, NULL, &limiter), wrong[i].status);
        CHECK_UNTOUCHED(limiter);
        UNTOUCHED(text);
        CHECK_STATUS(ratecell_policy_format(wrong[i].written, NULL, 0), wrong[i].status);
        CHECK_STATUS(ratecell_policy_format(wrong[i].written, text, sizeof text), wrong[i].status);
        CHECK_UNTOUCHED(text);
        size_t begin = strlen(wrong[i].explained);
        int32_t length = ratecell_policy_explain(wrong[i].written, text, sizeof text);
        CHECK_STATUS(length, ratecell_policy_explain(wrong[i].written, NULL, 0));
        CHECK(length >= (int32_t)begin && strlen(text) == (size_t)length);
        text[begin] = '\0';
        CHECK_TEXT(text, wrong[i].explained);
    }
}

int main(void) {
    a_right_policy_has_one_shortest_form();
    a_wrong_policy_is_explained();
    return CHECK_END();
}
