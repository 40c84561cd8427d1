/* What a request by rules holds: what the header says of reserving, settling and releasing, and every bad argument. */

#include "check.h"

#include <stdlib.h>
#include <string.h>

#define TOO_LONG ((size_t)PTRDIFF_MAX + 1)
#define HEAD "ratecell_rules = 1\nattributes = ['tokens']\n"
#define RULE(name, limit, rest) "[[rule]]\nname = '" name "'\nkey = []\nlimit = '" limit "'\n" rest "\n"
#define TOKENS "cost = { from = 'tokens', default = 100 }"

static const char file[] = HEAD RULE("at-once", "in_flight 2 hold=1h", "") RULE("tokens", "fixed_window 1000/1d", TOKENS)
    RULE("trial", "fixed_window 1/1d", "mode = 'shadow'");

static ratecell_rules *made(const char *text, uint64_t flags) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    ratecell_rules *rules = NULL;
    config.max_keys = 1000;
    config.flags = flags;
    CHECK_STATUS(ratecell_rules_new(text, strlen(text), &config, &rules), 0);
    if (rules == NULL) {
        exit(CHECK_END() + 1);
    }
    return rules;
}

#define MOST 4

/* A request at time 0, and what it holds. */
struct asked {
    ratecell_attribute tokens;
    ratecell_rules_held held[MOST];
    ratecell_rules_answer answer;
    ratecell_rules_request request;
};

static struct asked asked_for(const char *tokens) {
    struct asked asked;
    memset(&asked, 0, sizeof asked);
    asked.tokens.name = "tokens";
    asked.tokens.name_len = 6;
    asked.tokens.value = tokens;
    asked.tokens.value_len = tokens == NULL ? 0 : strlen(tokens);
    asked.request.n_attributes = tokens != NULL;
    asked.request.flags = RATECELL_AT | RATECELL_RESERVE;
    return asked;
}

/* With the pointers into it, which a copy lacks. */
static ratecell_rules_request *request_of(struct asked *asked) {
    asked->request.attributes = &asked->tokens;
    asked->request.held = asked->held;
    asked->request.max_held = MOST;
    return &asked->request;
}

static int32_t reserve(const ratecell_rules *rules, const char *tokens, struct asked *asked) {
    *asked = asked_for(tokens);
    return ratecell_rules_decide(rules, request_of(asked), &asked->answer);
}

static int32_t settle(const ratecell_rules *rules, const char *tokens, const struct asked *asked) {
    struct asked settled = asked_for(tokens);
    memcpy(settled.held, asked->held, sizeof settled.held);
    return ratecell_rules_settle(rules, request_of(&settled));
}

/* How many tokens are left, while there is a permit. */
static uint64_t left(const ratecell_rules *rules) {
    struct asked peek = asked_for("0");
    ratecell_rules_claim claims[MOST];
    uint64_t tokens = 0;
    request_of(&peek)->claims = claims;
    peek.request.max_claims = MOST;
    if (ratecell_rules_decide(rules, &peek.request, &peek.answer) == RATECELL_ALLOWED) {
        tokens = claims[peek.answer.n_claims - 1].decision.remaining;
        CHECK_STATUS(ratecell_rules_release(rules, &peek.request), 1);
    }
    return tokens;
}

static void what_is_held_is_given_back(void) {
    static const char other[] = HEAD RULE("tokens", "fixed_window 2000/1d", TOKENS) RULE("at-once", "in_flight 1 hold=1h", "");
    static const char without[] = HEAD RULE("tokens", "fixed_window 2000/1d", TOKENS);
    ratecell_rules *rules = made(file, RATECELL_RESERVATIONS);
    struct asked first, second, third, none;
    memset(&none, 0, sizeof none);
    CHECK_STATUS(reserve(rules, NULL, &first), RATECELL_ALLOWED);
    CHECK_U64(first.answer.n_claims, 2);
    CHECK(memcmp(first.held + 2, none.held, 2 * sizeof none.held[0]) == 0);
    CHECK_U64(left(rules), 900);
    CHECK_STATUS(reserve(rules, "300", &second), RATECELL_ALLOWED);
    CHECK_STATUS(reserve(rules, "1", &third), RATECELL_DENIED);
    CHECK_TEXT(third.answer.rule, "at-once");
    CHECK(memcmp(third.held, none.held, sizeof none.held) == 0);

    check_case("what is refused holds nothing, whatever stood in its place");
    third = second;
    CHECK_STATUS(ratecell_rules_decide(rules, request_of(&third), &third.answer), RATECELL_DENIED);
    CHECK(memcmp(third.held, none.held, sizeof none.held) == 0);

    check_case("what holds nothing has nothing to release");
    CHECK_STATUS(ratecell_rules_release(rules, request_of(&third)), 0);

    check_case("settled, and released by the request that reserved");
    CHECK_STATUS(settle(rules, "40", &first), 0);
    CHECK_STATUS(ratecell_rules_release(rules, request_of(&first)), 1);
    CHECK_U64(left(rules), 1000 - 40 - 300);

    check_case("another file, and a copy");
    CHECK_STATUS(ratecell_rules_change(rules, other, strlen(other), RATECELL_AT, 0, NULL, 0), 0);
    third = second;
    request_of(&third)->flags = RATECELL_AT | RATECELL_CANCEL;
    third.request.n_attributes = 0;
    CHECK_STATUS(ratecell_rules_settle(rules, &third.request), 0);
    CHECK_STATUS(ratecell_rules_release(rules, request_of(&second)), 1);

    check_case("a rule that went away");
    CHECK_STATUS(reserve(rules, "7", &first), RATECELL_ALLOWED);
    CHECK_U64(first.answer.n_claims, 2);
    CHECK_STATUS(ratecell_rules_change(rules, without, strlen(without), RATECELL_AT, 0, NULL, 0), 0);
    CHECK_STATUS(ratecell_rules_release(rules, request_of(&first)), 0);
    CHECK_STATUS(reserve(rules, "0", &third), RATECELL_ALLOWED);
    CHECK_U64(third.answer.remaining, 2000 - 40 - 7);
    ratecell_rules_free(rules);
}

static void rules_that_reserve_have_the_flag(void) {
    static const char plain[] = HEAD RULE("tokens", "fixed_window 1000/1d", TOKENS);
    ratecell_config config = RATECELL_CONFIG_INIT;
    ratecell_rules *rules = NULL;
    char why[200] = "";
    struct asked asked;
    config.why = why;
    config.why_len = sizeof why;
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), &config, &rules), RATECELL_ERULES);
    CHECK(strstr(why, "rule at-once") != NULL && strstr(why, "in_flight") != NULL);
    rules = made(file, RATECELL_RESERVATIONS | RATECELL_FORKED);
    asked = asked_for(NULL);
    UNTOUCHED(asked.answer);
    asked.request.flags = RATECELL_AT;
    CHECK_STATUS(ratecell_rules_decide(rules, &asked.request, &asked.answer), RATECELL_ERESERVE);
    CHECK_UNTOUCHED(asked.answer);
    ratecell_rules_free(rules);

    check_case("any rules reserve");
    rules = made(plain, 0);
    CHECK_STATUS(reserve(rules, "300", &asked), RATECELL_ALLOWED);
    CHECK_STATUS(settle(rules, "20", &asked), 0);
    asked = asked_for(NULL);
    asked.request.flags = RATECELL_AT;
    CHECK_STATUS(ratecell_rules_decide(rules, &asked.request, &asked.answer), RATECELL_ALLOWED);
    CHECK_U64(asked.answer.remaining, 880);
    ratecell_rules_free(rules);
}

/* Each bad argument is refused, and nothing is written, charged or given back. */
static void every_argument_is_checked(void) {
    ratecell_rules *rules = made(file, RATECELL_RESERVATIONS);
    struct asked good, bad;
    const ratecell_attribute without_name = { NULL, 1, "x", 1 };
    CHECK_STATUS(reserve(rules, "100", &good), RATECELL_ALLOWED);
#define REFUSED(call, change, status)                                                                         \
    do {                                                                                                      \
        bad = good;                                                                                           \
        request_of(&bad);                                                                                     \
        UNTOUCHED(bad.answer);                                                                                \
        change;                                                                                               \
        CHECK_STATUS(call, (status));                                                                         \
        CHECK_UNTOUCHED(bad.answer);                                                                          \
    } while (0)
#define DECIDE ratecell_rules_decide(rules, &bad.request, &bad.answer)
#define SETTLE ratecell_rules_settle(rules, &bad.request)
#define RELEASE ratecell_rules_release(rules, &bad.request)
    REFUSED(DECIDE, bad.request.held = NULL, RATECELL_EINVAL);
    REFUSED(DECIDE, bad.request.held = (void *)((char *)bad.held + 1), RATECELL_EALIGN);
    REFUSED(DECIDE, bad.request.max_held = TOO_LONG, RATECELL_ESIZE);
    REFUSED(DECIDE, bad.request.max_held = 1, RATECELL_ENOSPC);
    REFUSED(DECIDE, bad.request.flags = RATECELL_RESERVE | RATECELL_CANCEL, RATECELL_EINVAL);
    REFUSED(DECIDE, bad.request.flags = RATECELL_AT, RATECELL_EINVAL);
    REFUSED(SETTLE, bad.request.held = NULL, RATECELL_EINVAL);
    REFUSED(SETTLE, bad.request.held = (void *)((char *)bad.held + 1), RATECELL_EALIGN);
    REFUSED(SETTLE, bad.request.max_held = TOO_LONG, RATECELL_ESIZE);
    REFUSED(SETTLE, bad.request.flags = RATECELL_CHARGE, RATECELL_EINVAL);
    REFUSED(SETTLE, bad.request.flags = RATECELL_CANCEL, RATECELL_EINVAL);
    REFUSED(SETTLE, bad.request.reserved = 1, RATECELL_EINVAL);
    REFUSED(SETTLE, bad.request.attributes = NULL, RATECELL_EINVAL);
    REFUSED(SETTLE, bad.request.attributes = &without_name, RATECELL_EINVAL);
    REFUSED(SETTLE, bad.request.n_attributes = TOO_LONG, RATECELL_ESIZE);
    REFUSED(SETTLE, memset(&bad.held[1], 0xa5, sizeof bad.held[1]), RATECELL_EINVAL);
    REFUSED(RELEASE, bad.request.held = NULL, RATECELL_EINVAL);
    REFUSED(RELEASE, bad.request.held = (void *)((char *)bad.held + 1), RATECELL_EALIGN);
    REFUSED(RELEASE, bad.request.max_held = TOO_LONG, RATECELL_ESIZE);
    REFUSED(RELEASE, bad.request.flags = RATECELL_CANCEL, RATECELL_EINVAL);
    REFUSED(RELEASE, bad.request.reserved = 1, RATECELL_EINVAL);
    REFUSED(RELEASE, memset(&bad.held[1], 0xa5, sizeof bad.held[1]), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_settle(NULL, request_of(&good)), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_settle(rules, NULL), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_release(NULL, &good.request), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_release(rules, NULL), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_settle((const void *)((const char *)rules + 1), &good.request), RATECELL_EALIGN);
    CHECK_STATUS(ratecell_rules_release((const void *)((const char *)rules + 1), &good.request), RATECELL_EALIGN);
    CHECK_U64(left(rules), 900);
    CHECK_STATUS(ratecell_rules_release(rules, &good.request), 1);
    ratecell_rules_free(rules);
}

int main(void) {
    what_is_held_is_given_back();
    rules_that_reserve_have_the_flag();
    every_argument_is_checked();
    return CHECK_END();
}
