/* Limits by a file of rules: what the header says of each of the functions, and every bad argument. */

#include "check.h"

#include <stdlib.h>
#include <string.h>

#define TOO_LONG ((size_t)PTRDIFF_MAX + 1)
#define HEAD "ratecell_rules = 1\nattributes = ['user']\n"
#define RULE(name, rest) "[[rule]]\nname = '" name "'\n" rest "\n"

static const char file[] = HEAD RULE("health", "match.path = '/health'\nmode = 'skip'")
    RULE("login", "match.path = '/login'\nmatch.method = 'POST'\nkey = ['client']\nlimit = 'fixed_window 2/1h'")
    RULE("site", "key = []\nlimit = 'fixed_window 100/1d'")
    RULE("closed", "match.user = 'mallory'\nkey = []\nlimit = 'blocked'")
    RULE("trial", "key = ['client']\nlimit = 'fixed_window 1/1h'\nmode = 'shadow'");

static ratecell_attribute attribute_of(const char *name, const char *value) {
    ratecell_attribute attribute = { name, strlen(name), value, strlen(value) };
    return attribute;
}

static ratecell_rules *made(const char *text) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    ratecell_rules *rules = NULL;
    config.max_keys = 1000;
    CHECK_STATUS(ratecell_rules_new(text, strlen(text), &config, &rules), 0);
    if (rules == NULL) {
        exit(CHECK_END() + 1);
    }
    return rules;
}

#define MOST 8

/* A request of up to four attributes at time 0, with room for all that is written. */
static struct {
    ratecell_attribute attributes[4];
    ratecell_rules_claim claims[MOST];
    ratecell_rules_shadow shadows[MOST];
    ratecell_rules_answer answer;
    ratecell_rules_request request;
} asked;

static int32_t ask_rules(const ratecell_rules *rules, const char *method, const char *path, const char *client,
                         const char *user) {
    size_t n = 3;
    asked.attributes[0] = attribute_of("method", method);
    asked.attributes[1] = attribute_of("path", path);
    asked.attributes[2] = attribute_of("client", client);
    if (user != NULL) {
        asked.attributes[n++] = attribute_of("user", user);
    }
    ratecell_rules_request request = { asked.attributes, n, 0, RATECELL_AT, 0, asked.claims, MOST, asked.shadows, MOST, NULL, 0 };
    asked.request = request;
    UNTOUCHED(asked.answer);
    return ratecell_rules_decide(rules, &asked.request, &asked.answer);
}

static void the_rules_that_apply_decide(void) {
    ratecell_rules *rules = made(file);
    CHECK_STATUS(ask_rules(rules, "POST", "/login", "10.0.0.1", NULL), RATECELL_ALLOWED);
    CHECK_STATUS(asked.answer.outcome, RATECELL_ALLOWED);
    CHECK_TEXT(asked.answer.rule, "login");
    CHECK_U64(asked.answer.limit, 2);
    CHECK_U64(asked.answer.remaining, 1);
    CHECK_U64(asked.answer.n_claims, 2);
    CHECK_U64(asked.answer.n_shadows, 1);
    CHECK_TEXT(asked.shadows[0].rule, "trial");
    CHECK_STATUS(asked.shadows[0].outcome, RATECELL_ALLOWED);
    CHECK_U64(asked.claims[1].decision.remaining, 99);

    CHECK_STATUS(ask_rules(rules, "POST", "//login?x", "10.0.0.1", NULL), RATECELL_ALLOWED);
    CHECK_STATUS(asked.shadows[0].outcome, RATECELL_DENIED);
    CHECK_STATUS(ask_rules(rules, "POST", "/login", "10.0.0.1", NULL), RATECELL_DENIED);
    CHECK_TEXT(asked.answer.rule, "login");
    CHECK_U64(asked.answer.retry_after_ns, 3600000000000u);
    CHECK_U64(asked.answer.remaining, 0);
    CHECK_U64(asked.answer.reserved, 0);
    /* What was refused has charged no other rule. */
    CHECK_STATUS(ask_rules(rules, "GET", "/", "10.0.0.2", NULL), RATECELL_ALLOWED);
    CHECK_TEXT(asked.answer.rule, "site");
    CHECK_U64(asked.answer.remaining, 97);
    CHECK_STATUS(ask_rules(rules, "GET", "/", "10.0.0.2", "mallory"), RATECELL_NEVER);
    CHECK_TEXT(asked.answer.rule, "closed");
    CHECK_U64(asked.answer.retry_after_ns, UINT64_MAX);
    CHECK_U64(asked.answer.n_claims, 1);
    CHECK_STATUS(ask_rules(rules, "GET", "/health", "10.0.0.2", NULL), RATECELL_ALLOWED);
    CHECK_TEXT(asked.answer.rule, "");
    CHECK_U64(asked.answer.n_claims, 0);
    ratecell_rules_free(rules);
}

static void what_has_no_room_is_counted(void) {
    ratecell_rules *rules = made(file);
    ask_rules(rules, "POST", "/login", "10.0.0.1", NULL);
    asked.request.max_claims = 1;
    asked.request.max_shadows = 0;
    asked.request.shadows = NULL;
    UNTOUCHED(asked.claims[1]);
    UNTOUCHED(asked.shadows[0]);
    CHECK_STATUS(ratecell_rules_decide(rules, &asked.request, &asked.answer), RATECELL_ALLOWED);
    CHECK_U64(asked.answer.n_claims, 2);
    CHECK_U64(asked.answer.n_shadows, 1);
    CHECK_UNTOUCHED(asked.claims[1]);
    CHECK_UNTOUCHED(asked.shadows[0]);
    /* By the limiter's clock, without claims. */
    asked.request.attributes = asked.attributes + 1;
    asked.request.n_attributes = 1;
    asked.request.flags = 0;
    asked.request.max_claims = 0;
    asked.request.claims = NULL;
    CHECK_STATUS(ratecell_rules_decide(rules, &asked.request, &asked.answer), RATECELL_ALLOWED);
    ratecell_rules_free(rules);
}

static void an_unclear_path_has_an_outcome_of_its_own(void) {
    ratecell_rules *rules = made("unclear_path = 'refuse'\n" HEAD RULE("site", "key = []\nlimit = '1/h'"));
    CHECK_STATUS(ask_rules(rules, "GET", "/%61/../b", "10.0.0.1", NULL), RATECELL_UNCLEAR_PATH);
    CHECK_STATUS(asked.answer.outcome, RATECELL_UNCLEAR_PATH);
    CHECK_U64(asked.answer.retry_after_ns, UINT64_MAX);
    CHECK_TEXT(asked.answer.rule, "");
    CHECK_STATUS(ask_rules(rules, "GET", "/b", "10.0.0.1", NULL), RATECELL_ALLOWED);
    ratecell_rules_free(rules);
}

static void the_fields_name_the_rules(void) {
    char fields[256], same[sizeof fields];
    ratecell_rules *rules = made(file);
    ask_rules(rules, "POST", "/login", "10.0.0.1", NULL);
    const int32_t len = ratecell_rules_fields(rules, RATECELL_STYLE_DRAFT11, asked.claims, asked.answer.n_claims, 0,
                                              fields, sizeof fields);
    CHECK_STATUS(len, (int32_t)strlen(fields));
    CHECK_TEXT(fields, "RateLimit-Policy: \"login\";q=2;w=3600, \"site\";q=100;w=86400\n"
                       "RateLimit: \"login\";r=1;t=3600, \"site\";r=99;t=86400\n");
    CHECK_STATUS(ratecell_rules_fields(rules, RATECELL_STYLE_DRAFT11, asked.claims, 2, 0, NULL, 0), len);
    CHECK_STATUS(ratecell_rules_fields(rules, RATECELL_STYLE_DRAFT11, asked.claims, 2, 0, same, (size_t)len),
                 RATECELL_ENOSPC);
    CHECK_STATUS(ratecell_rules_fields(rules, RATECELL_STYLE_X, NULL, 0, 0, same, sizeof same), 0);
    CHECK_TEXT(same, "");

    check_case("bad arguments of the fields");
    CHECK_STATUS(ratecell_rules_fields(NULL, 1, asked.claims, 2, 0, same, sizeof same), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_fields(rules, 0, asked.claims, 2, 0, same, sizeof same), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_fields(rules, 1, NULL, 2, 0, same, sizeof same), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_fields(rules, 1, asked.claims, 65, 0, same, sizeof same), RATECELL_ESIZE);
    CHECK_STATUS(ratecell_rules_fields(rules, 1, asked.claims, 2, 0, NULL, 1), RATECELL_EINVAL);
    ratecell_rules_claim claim = asked.claims[0];
    claim.policy = 3;
    CHECK_STATUS(ratecell_rules_fields(rules, 1, &claim, 1, 0, same, sizeof same), RATECELL_EINVAL);
    claim = asked.claims[0];
    claim.decision.outcome = 17;
    CHECK_STATUS(ratecell_rules_fields(rules, 1, &claim, 1, 0, same, sizeof same), RATECELL_EINVAL);
    claim = asked.claims[0];
    claim.decision.layer = 1;
    CHECK_STATUS(ratecell_rules_fields(rules, 1, &claim, 1, 0, same, sizeof same), RATECELL_EINVAL);

    check_case("after a change there are none");
    CHECK_STATUS(ratecell_rules_change(rules, file, strlen(file), 0, 0, NULL, 0), 0);
    CHECK_STATUS(ratecell_rules_fields(rules, 1, asked.claims, 2, 0, same, sizeof same), 0);
    ratecell_rules_free(rules);
}

static void a_change_keeps_what_stays(void) {
    static const char other[] = HEAD RULE("site", "key = []\nlimit = 'fixed_window 100/1d'\nmatch.path = '/**'")
        RULE("login", "key = ['client']\nlimit = 'fixed_window 3/1h'");
    static const char faulty[] = HEAD RULE("site", "key = []\nlimit = '0/s'");
    char why[128];
    ratecell_rules *rules = made(file);
    ask_rules(rules, "POST", "/login", "10.0.0.1", NULL);
    CHECK_STATUS(ratecell_rules_change(rules, other, strlen(other), 0, 0, why, sizeof why), 0);
    CHECK_TEXT(why, "");
    CHECK_STATUS(ask_rules(rules, "POST", "/login", "10.0.0.1", NULL), RATECELL_ALLOWED);
    CHECK_U64(asked.claims[0].decision.remaining, 98);
    CHECK_U64(asked.claims[1].decision.remaining, 1);

    check_case("a file with a fault changes nothing");
    CHECK_STATUS(ratecell_rules_change(rules, faulty, strlen(faulty), 0, 0, why, sizeof why), RATECELL_ERULES);
    CHECK(strncmp(why, "line 6: rule site, limit: bad_policy: `0/s`: ", 45) == 0);
    CHECK_STATUS(ratecell_rules_change(rules, faulty, strlen(faulty), 0, 0, NULL, 0), RATECELL_ERULES);
    CHECK_STATUS(ratecell_rules_change(NULL, other, strlen(other), 0, 0, why, sizeof why), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_change(rules, NULL, 1, 0, 0, why, sizeof why), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_change(rules, other, TOO_LONG, 0, 0, why, sizeof why), RATECELL_ESIZE);
    CHECK_STATUS(ratecell_rules_change(rules, other, strlen(other), 0, 0, NULL, 1), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_change(rules, other, strlen(other), RATECELL_EXACT, 0, why, sizeof why), RATECELL_EINVAL);
    CHECK_STATUS(ask_rules(rules, "POST", "/login", "10.0.0.1", NULL), RATECELL_ALLOWED);
    CHECK_U64(asked.claims[0].decision.remaining, 97);

    check_case("a change at a time of the caller's");
    static const char higher[] = HEAD RULE("site", "key = []\nlimit = 'fixed_window 110/1d'\nmatch.path = '/**'")
        RULE("login", "key = ['client']\nlimit = 'fixed_window 9/1h'");
    CHECK_STATUS(ratecell_rules_change(rules, higher, strlen(higher), RATECELL_AT, 0, why, sizeof why), 0);
    CHECK_STATUS(ask_rules(rules, "POST", "/elsewhere", "10.0.0.1", NULL), RATECELL_ALLOWED);
    CHECK_U64(asked.claims[0].decision.remaining, 106);
    ratecell_rules_free(rules);

    check_case("a time past the last that the new limit can decide at");
    static const char slow[] = HEAD RULE("site", "key = []\nlimit = '10/1s'");
    static const char fast[] = HEAD RULE("site", "key = []\nlimit = '11/1s'");
    rules = made(slow);
    CHECK_STATUS(ratecell_rules_change(rules, fast, strlen(fast), RATECELL_AT, UINT64_MAX, why, sizeof why),
                 RATECELL_ECHANGE);
    CHECK(strstr(why, "rule site") != NULL);
    CHECK_STATUS(ratecell_rules_change(rules, fast, strlen(fast), RATECELL_AT, 0, why, sizeof why), 0);
    ratecell_rules_free(rules);
}

static void what_cannot_be_made_says_why(void) {
    char why[160];
    ratecell_config config = RATECELL_CONFIG_INIT;
    ratecell_rules *rules = NULL;
    config.why = why;
    config.why_len = sizeof why;
    CHECK_STATUS(ratecell_rules_new("rule = 1", 8, &config, &rules), RATECELL_ERULES);
    CHECK(strncmp(why, "line 1: ratecell_rules: missing_field: ", 39) == 0);
    CHECK_STATUS(ratecell_rules_new(NULL, 0, &config, &rules), RATECELL_ERULES);
    CHECK_STATUS(ratecell_rules_new(NULL, 1, &config, &rules), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_new(file, TOO_LONG, &config, &rules), RATECELL_ESIZE);
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), &config, NULL), RATECELL_EINVAL);
    config.machines = 2;
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), &config, &rules), RATECELL_ECONFIG);
    CHECK(strncmp(why, "on_miss, wait_ns, ", 18) == 0);
    config.machines = 0;
    config.flags = RATECELL_ZEROED;
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), &config, &rules), RATECELL_ECONFIG);
    config.flags = 0;
    config.when_full = 4;
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), &config, &rules), RATECELL_ECONFIG);
    config.when_full = RATECELL_FULL_SHARE;
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), &config, &rules), RATECELL_ECONFIG);
    CHECK(strncmp(why, "when_full: a cell that newcomers share is of one policy", 55) == 0);
    config.when_full = 0;
    config.max_keys = UINT64_MAX / 64;
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), &config, &rules), RATECELL_ENOMEM);
    config.size = 8;
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), &config, &rules), RATECELL_ESIZE);
    CHECK(rules == NULL);
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), NULL, &rules), 0);
    ratecell_rules_free(rules);
    ratecell_rules_free(NULL);
}

/* Each bad argument is refused, and nothing is written or charged. */
static void every_argument_of_a_decision_is_checked(void) {
    ratecell_rules *rules = made(file);
    const ratecell_attribute without_name = { NULL, 1, "x", 1 }, without_value = { "user", 4, NULL, 1 };
    const ratecell_attribute too_long = { "user", TOO_LONG, "x", 1 }, empty = { NULL, 0, NULL, 0 };
    ratecell_attribute odd[2];
    ratecell_rules_request good, bad;
    CHECK_STATUS(ask_rules(rules, "GET", "/", "10.0.0.1", NULL), RATECELL_ALLOWED);
    good = asked.request;
    UNTOUCHED(asked.answer);
    CHECK_STATUS(ratecell_rules_decide(NULL, &good, &asked.answer), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_decide(rules, NULL, &asked.answer), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_decide(rules, &good, NULL), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_decide((const void *)((const char *)rules + 1), &good, &asked.answer),
                 RATECELL_EALIGN);
#define REFUSED_WITH(change, status)                                                                          \
    do {                                                                                                      \
        bad = good;                                                                                           \
        change;                                                                                               \
        CHECK_STATUS(ratecell_rules_decide(rules, &bad, &asked.answer), (status));                            \
    } while (0)
    REFUSED_WITH(bad.flags = RATECELL_CHARGE, RATECELL_EINVAL);
    REFUSED_WITH(bad.reserved = 1, RATECELL_EINVAL);
    REFUSED_WITH(bad.attributes = NULL, RATECELL_EINVAL);
    REFUSED_WITH(bad.n_attributes = TOO_LONG, RATECELL_ESIZE);
    REFUSED_WITH(bad.claims = NULL, RATECELL_EINVAL);
    REFUSED_WITH(bad.max_claims = TOO_LONG, RATECELL_ESIZE);
    REFUSED_WITH(bad.shadows = NULL, RATECELL_EINVAL);
    REFUSED_WITH(bad.max_shadows = TOO_LONG, RATECELL_ESIZE);
    REFUSED_WITH((bad.attributes = &without_name, bad.n_attributes = 1), RATECELL_EINVAL);
    REFUSED_WITH((bad.attributes = &without_value, bad.n_attributes = 1), RATECELL_EINVAL);
    REFUSED_WITH((bad.attributes = &too_long, bad.n_attributes = 1), RATECELL_ESIZE);
    REFUSED_WITH(bad.attributes = (const void *)((const char *)odd + 1), RATECELL_EALIGN);
    CHECK_UNTOUCHED(asked.answer);
    /* An empty name is none that the file uses. */
    bad = good;
    bad.attributes = &empty;
    bad.n_attributes = 1;
    CHECK_STATUS(ratecell_rules_decide(rules, &bad, &asked.answer), RATECELL_ALLOWED);
    CHECK_U64(asked.answer.remaining, 98);
    ratecell_rules_free(rules);
}

static ratecell_stats stats_at(const ratecell_rules *rules, uint64_t now_ns) {
    ratecell_stats stats;
    UNTOUCHED(stats);
    CHECK_STATUS(ratecell_rules_stats(rules, RATECELL_AT, now_ns, &stats, sizeof stats), 0);
    return stats;
}

static void all_rules_are_counted_in_one_table(void) {
    static const char one_rule[] = HEAD RULE("site", "key = []\nlimit = 'fixed_window 100/1d'");
    struct {
        ratecell_stats stats;
        unsigned char tail[16];
    } longer;
    const uint64_t hour = 3600000000000u;
    ratecell_rules *rules = made(file), *fewer = made(one_rule);
    ratecell_stats stats = stats_at(rules, 0), of_one = stats_at(fewer, 0);
    CHECK_U64(stats.live, 0);
    CHECK(of_one.slots >= 1000 && stats.slots == of_one.slots);
    CHECK_U64(stats.bytes, of_one.bytes);
    for (char last = '1'; last <= '3'; last++) {
        char client[] = "10.0.0.0";
        client[7] = last;
        CHECK_STATUS(ask_rules(rules, "POST", "/login", client, NULL), RATECELL_ALLOWED);
    }
    check_case("the site has one live key, and the others have three");
    stats = stats_at(rules, 0);
    CHECK_U64(stats.live, 7);
    CHECK_U64(stats.live_error, 0);
    CHECK_U64(stats.evicted + stats.forgiven + stats.shared + stats.denied_full + stats.allowed_full, 0);
    CHECK_U64(stats.exhausted + stats.leased + stats.misses + stats.operations + stats.connected, 0);
    CHECK_U64(stats_at(rules, hour).live, 1);
    CHECK_U64(stats_at(rules, 24 * hour).live, 0);

    check_case("by the clock");
    CHECK_STATUS(ratecell_rules_stats(fewer, 0, 7, &of_one, sizeof of_one), 0);
    CHECK_U64(of_one.live, 0);
    CHECK_U64(stats.bytes, of_one.bytes);

    check_case("as many bytes as are asked for");
    UNTOUCHED(longer);
    CHECK_STATUS(ratecell_rules_stats(rules, RATECELL_AT, 0, &longer.stats, 2 * sizeof(uint64_t)), 0);
    CHECK(longer.stats.slots == stats.slots && longer.stats.live == 7);
    CHECK_UNTOUCHED(longer.stats.bytes);
    CHECK_STATUS(ratecell_rules_stats(rules, RATECELL_AT, 0, &longer.stats, sizeof longer), 0);
    CHECK(memcmp(&longer.stats, &stats, sizeof stats) == 0);
    CHECK(longer.tail[0] == 0 && memcmp(longer.tail, longer.tail + 1, sizeof longer.tail - 1) == 0);

    check_case("bad arguments of the stats");
    UNTOUCHED(stats);
    for (uint32_t flag = 1; flag != 0; flag <<= 1) {
        if (flag != RATECELL_AT) {
            CHECK_STATUS(ratecell_rules_stats(rules, flag, 0, &stats, sizeof stats), RATECELL_EINVAL);
        }
    }
    CHECK_STATUS(ratecell_rules_stats(NULL, 0, 0, &stats, sizeof stats), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_stats((const void *)((const char *)rules + 1), 0, 0, &stats, sizeof stats),
                 RATECELL_EALIGN);
    CHECK_STATUS(ratecell_rules_stats(rules, 0, 0, NULL, sizeof stats), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_rules_stats(rules, 0, 0, (void *)((char *)&longer + 1), sizeof stats), RATECELL_EALIGN);
    CHECK_STATUS(ratecell_rules_stats(rules, 0, 0, &stats, TOO_LONG), RATECELL_ESIZE);
    CHECK_UNTOUCHED(stats);
    ratecell_rules_free(rules);
    ratecell_rules_free(fewer);
}

int main(void) {
    the_rules_that_apply_decide();
    what_has_no_room_is_counted();
    an_unclear_path_has_an_outcome_of_its_own();
    the_fields_name_the_rules();
    a_change_keeps_what_stays();
    what_cannot_be_made_says_why();
    every_argument_of_a_decision_is_checked();
    all_rules_are_counted_in_one_table();
    return CHECK_END();
}
