/* Limiters by rules that have tables together: beside an earlier one, and in processes that are forked off. */

#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD "ratecell_rules = 1\n"
#define RULE(name, limit) "[[rule]]\nname = '" name "'\nkey = []\nlimit = '" limit "'\n"

static const char file[] = HEAD RULE("site", "fixed_window 10/1d");
static const char newer[] = HEAD RULE("other", "fixed_window 99/1d") RULE("site", "fixed_window 10/1d");
static const char log_file[] = HEAD RULE("log", "sliding_log 2/1h");

static ratecell_rules *made(const char *text, const ratecell_config *config) {
    ratecell_rules *rules = NULL;
    CHECK_STATUS(ratecell_rules_new(text, strlen(text), config, &rules), 0);
    if (rules == NULL) {
        exit(CHECK_END() + 1);
    }
    return rules;
}

static ratecell_rules *made_with(uint64_t flags) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.max_keys = 1000;
    config.flags = flags;
    return made(file, &config);
}

static ratecell_rules *made_beside(const ratecell_rules *earlier) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.beside = earlier;
    return made(newer, &config);
}

static int32_t decide(const ratecell_rules *rules, ratecell_rules_claim *claim) {
    ratecell_rules_request request = { NULL, 0, 0, RATECELL_AT, 0, claim, 1, NULL, 0, NULL, 0 };
    ratecell_rules_answer answer;
    return ratecell_rules_decide(rules, &request, &answer);
}

static uint32_t admitted(const ratecell_rules *rules, uint32_t most) {
    ratecell_rules_claim claim;
    uint32_t count = 0;
    while (count < most && decide(rules, &claim) == RATECELL_ALLOWED) {
        count += 1;
    }
    return count;
}

static void limiters_beside_each_other_share_what_stays(void) {
    ratecell_rules_claim claim;
    char fields[256];
    ratecell_rules *old = made_with(0), *new = made_beside(old);
    CHECK_STATUS(decide(old, &claim), RATECELL_ALLOWED);
    CHECK_U64(claim.decision.remaining, 9);
    CHECK(ratecell_rules_fields(old, RATECELL_STYLE_X, &claim, 1, 0, fields, sizeof fields) > 0);
    CHECK_U64(admitted(new, 4), 4);
    CHECK_U64(admitted(old, 100), 5);

    check_case("what one decided is not taken for what the other did");
    CHECK_STATUS(ratecell_rules_fields(new, RATECELL_STYLE_X, &claim, 1, 0, fields, sizeof fields), 0);
    ratecell_rules_free(old);
    CHECK_STATUS(decide(new, &claim), RATECELL_DENIED);
    ratecell_rules_free(new);
}

/* The limit is that of parent and child together, or of each, by the flag. */
static void what_is_forked_off_shares_the_tables(uint64_t flags, uint32_t of_child, uint32_t of_parent) {
    int status = 0;
    ratecell_rules *rules = made_with(flags), *new = NULL;
    check_case("flags %d", (int)flags);
    CHECK_U64(admitted(rules, 3), 3);
    pid_t child = fork();
    if (child == 0) {
        int right = admitted(rules, 4) == 4;
        ratecell_rules_free(rules);
        _exit(right ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);

    check_case("a new file, while processes of the old one are there");
    new = made_beside(rules);
    child = fork();
    if (child == 0) {
        int right = admitted(new, 2) == 2 && admitted(rules, 100) == of_child;
        ratecell_rules_free(new);
        ratecell_rules_free(rules);
        _exit(right ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    CHECK_U64(admitted(new, 100), of_parent);
    ratecell_rules_free(rules);
    ratecell_rules_free(new);
}

static void what_cannot_be_made_says_why(void) {
    char why[256];
    ratecell_config config = RATECELL_CONFIG_INIT;
    ratecell_rules *rules = NULL, *earlier = made_with(RATECELL_FORKED);
    ratecell_limiter *limiter = NULL;
    config.why = why;
    config.why_len = sizeof why;
    config.flags = RATECELL_FORKED;
    CHECK_STATUS(ratecell_rules_new(log_file, strlen(log_file), &config, &rules), RATECELL_ERULES);
    CHECK(strncmp(why, "rule log: a sliding_log keeps its entries in one process", 56) == 0);
    CHECK_STATUS(ratecell_limiter_new("5/s", &config, &limiter), RATECELL_ECONFIG);
    config.beside = earlier;
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), &config, &rules), RATECELL_ECONFIG);
    CHECK(strncmp(why, "max_keys, when_full, flags, epoch_s: expected 0", 47) == 0);
    config.flags = 0;
    CHECK_STATUS(ratecell_rules_new(log_file, strlen(log_file), &config, &rules), RATECELL_ERULES);
    CHECK_STATUS(ratecell_limiter_new("5/s", &config, &limiter), RATECELL_ECONFIG);
    CHECK(strncmp(why, "beside: expected NULL", 21) == 0);
    config.max_keys = 1000;
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), &config, &rules), RATECELL_ECONFIG);
    config.max_keys = 0;
    config.when_full = RATECELL_FULL_DENY;
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), &config, &rules), RATECELL_ECONFIG);
    config.when_full = 0;
    config.epoch_s = -1;
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), &config, &rules), RATECELL_ECONFIG);
    config.epoch_s = 0;
    config.machines = 1;
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), &config, &rules), RATECELL_ECONFIG);
    config.machines = 0;
    config.beside = (const void *)((const char *)earlier + 1);
    CHECK_STATUS(ratecell_rules_new(file, strlen(file), &config, &rules), RATECELL_EALIGN);
    CHECK(rules == NULL && limiter == NULL);
    ratecell_rules_free(earlier);
}

/* The lines of a header are each an attribute, in any place among the others. */
static void the_lines_of_a_header_are_joined(void) {
    static const char joined[] = HEAD "[[rule]]\nname = 'lines'\nmatch.'header:x-a' = '1, , 2'\nkey = []\nlimit = '1/1h'\n"
        "[[rule]]\nname = 'path'\nmatch.path = '/first'\nkey = []\nlimit = '1/1h'\n";
    const ratecell_attribute attributes[] = { { "header:x-a", 10, "1", 1 }, { "path", 4, "/first", 6 },
        { "header:x-a", 10, "", 0 }, { "path", 4, "/second", 7 }, { "header:x-a", 10, "2", 1 } };
    ratecell_rules_request request = { attributes, 5, 0, RATECELL_AT, 0, NULL, 0, NULL, 0, NULL, 0 };
    ratecell_rules_answer answer;
    ratecell_rules *rules = made(joined, NULL);
    CHECK_STATUS(ratecell_rules_decide(rules, &request, &answer), RATECELL_ALLOWED);
    CHECK_U64(answer.n_claims, 2);
    request.n_attributes = 4;
    CHECK_STATUS(ratecell_rules_decide(rules, &request, &answer), RATECELL_DENIED);
    CHECK_U64(answer.n_claims, 1);
    CHECK_TEXT(answer.rule, "path");
    ratecell_rules_free(rules);
}

int main(void) {
    limiters_beside_each_other_share_what_stays();
    what_is_forked_off_shares_the_tables(RATECELL_FORKED, 1, 0);
    what_is_forked_off_shares_the_tables(0, 5, 7);
    what_cannot_be_made_says_why();
    the_lines_of_a_header_are_joined();
    return CHECK_END();
}
