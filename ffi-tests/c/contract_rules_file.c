/* Limits by rules in a file, which processes that name it have in common. */

#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD "ratecell_rules = 1\n"
#define RULE(name, limit) "[[rule]]\nname = '" name "'\nkey = []\nlimit = '" limit "'\n"

static const char text[] = HEAD RULE("site", "fixed_window 10/1d");
static const char more[] = HEAD RULE("site", "fixed_window 14/1d");
static char path[128];
static char why[512];

static ratecell_config config_of(uint64_t flags) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.file = path;
    config.flags = flags;
    config.why = why;
    config.why_len = sizeof why;
    return config;
}

static ratecell_rules *opened(const char *rules_text, uint64_t flags) {
    ratecell_config config = config_of(flags);
    ratecell_rules *rules = NULL;
    CHECK_STATUS(ratecell_rules_new(rules_text, strlen(rules_text), &config, &rules), 0);
    CHECK_TEXT(why, "");
    if (rules == NULL) {
        exit(CHECK_END() + 1);
    }
    return rules;
}

static void refused(const char *rules_text, ratecell_config config, int32_t status, const char *sentence) {
    ratecell_rules *rules = NULL;
    why[0] = '\0';
    CHECK_STATUS(ratecell_rules_new(rules_text, strlen(rules_text), &config, &rules), status);
    if (strstr(why, sentence) == NULL) {
        CHECK_TEXT(why, sentence);
    }
    CHECK(rules == NULL);
}

static uint32_t admitted(const ratecell_rules *rules, uint32_t most) {
    ratecell_rules_request request = { NULL, 0, 0, RATECELL_AT, 0, NULL, 0, NULL, 0, NULL, 0 };
    ratecell_rules_answer answer;
    uint32_t count = 0;
    while (count < most && ratecell_rules_decide(rules, &request, &answer) == RATECELL_ALLOWED) {
        count += 1;
    }
    return count;
}

static void processes_admit_a_limit_together(void) {
    int status = 0;
    ratecell_rules *rules = opened(text, 0);
    CHECK_U64(admitted(rules, 3), 3);
    /* Another program, which has nothing of this one but the name. */
    pid_t child = fork();
    if (child == 0) {
        ratecell_rules_free(rules);
        ratecell_rules *its = opened(text, 0);
        int right = admitted(its, 4) == 4;
        ratecell_rules_free(its);
        _exit(right ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    CHECK_U64(admitted(rules, 100), 3);

    check_case("a change by another process");
    child = fork();
    if (child == 0) {
        ratecell_rules_free(rules);
        ratecell_rules *its = opened(more, RATECELL_CHANGE);
        int right = admitted(its, 1) == 1;
        right &= ratecell_rules_change(its, text, strlen(text), RATECELL_AT, 0, NULL, 0) == 0;
        right &= ratecell_rules_change(its, more, strlen(more), RATECELL_AT, 0, NULL, 0) == 0;
        ratecell_rules_free(its);
        _exit(right ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    CHECK_U64(admitted(rules, 100), 3);
    ratecell_rules_free(rules);
}

static void another_limit_is_refused_or_followed(void) {
    refused(text, config_of(0), RATECELL_EREGION_POLICY,
            "the region's policy: `fixed_window 14/d` of rule site; expected `fixed_window 10/d`");
    ratecell_rules *rules = opened(text, RATECELL_FOLLOW);
    CHECK_U64(admitted(rules, 1), 0);
    ratecell_rules_free(rules);
}

static void what_means_nothing_is_refused(void) {
    ratecell_rules *earlier = opened(more, 0);
    ratecell_limiter *limiter = NULL;
    ratecell_config config = config_of(RATECELL_FOLLOW | RATECELL_CHANGE);
    refused(more, config, RATECELL_ECONFIG, "expected one of them, or neither");
    config = config_of(RATECELL_CHANGE);
    config.file = NULL;
    refused(more, config, RATECELL_ECONFIG, "expected neither without a file");
    config = config_of(RATECELL_FORKED);
    refused(more, config, RATECELL_ECONFIG, "RATECELL_FORKED, beside: expected neither with a file");
    config = config_of(0);
    config.beside = earlier;
    refused(more, config, RATECELL_ECONFIG, "RATECELL_FORKED, beside: expected neither with a file");
    config = config_of(0);
    config.epoch_s = 1;
    refused(more, config, RATECELL_ECONFIG, "epoch: expected none");
    config = config_of(0);
    config.max_keys = 77;
    refused(more, config, RATECELL_EREGION_MAX_KEYS, "max_keys: 100000; expected 77");
    config = config_of(0);
    config.when_full = RATECELL_FULL_DENY;
    refused(more, config, RATECELL_EREGION_WHEN_FULL, "when_full: evict; expected deny");
    refused(HEAD RULE("flight", "in_flight 3 hold=1s"), config_of(0), RATECELL_ERULES, "rule flight: a decision gives no");
    refused(HEAD RULE("log", "sliding_log 3/1h"), config_of(0), RATECELL_ERULES, "rule log: a sliding_log");
    config = config_of(0);
    CHECK_STATUS(ratecell_limiter_new("5/s", &config, &limiter), RATECELL_ECONFIG);
    CHECK_TEXT(why, "file: expected NULL for a limiter that is not by rules");
    config.file = NULL;
    CHECK_STATUS(ratecell_limiter_open(path, "5/s", &config, &limiter), RATECELL_EREGION_POLICY);
    CHECK(limiter == NULL);
    config.file = "/nonexistent/folder/limits";
    refused(more, config, RATECELL_EFILE, "/nonexistent/folder/limits: cannot be opened");
    ratecell_rules_free(earlier);
}

/* Limits that another program put there, and that this one cannot have: its requests are denied, and stats says why. */
static void limits_that_cannot_be_had_deny_with_a_reason(void) {
    const char *held = HEAD RULE("own", "fixed_window 9/1d");
    const char *flight = HEAD RULE("own", "in_flight 3 hold=1m");
    ratecell_rules_request request = { NULL, 0, 0, RATECELL_AT, 0, NULL, 0, NULL, 0, NULL, 0 };
    ratecell_rules_answer answer;
    ratecell_stats stats;
    ratecell_rules *rules = opened(held, 0);
    CHECK_U64(admitted(rules, 1), 1);
    CHECK_STATUS(ratecell_rules_stats(rules, RATECELL_AT, 0, &stats, sizeof stats), 0);
    ratecell_rules *other = opened(flight, RATECELL_CHANGE | RATECELL_RESERVATIONS);
    check_case("a limit that cannot be had");
    CHECK_STATUS(ratecell_rules_decide(rules, &request, &answer), RATECELL_NEVER);
    CHECK_TEXT(answer.rule, "");
    memset(&stats, 0, sizeof stats);
    CHECK_STATUS(ratecell_rules_stats(rules, RATECELL_AT, 0, &stats, sizeof stats), RATECELL_ERULES);
    CHECK(stats.slots > 0);
    CHECK_STATUS(ratecell_rules_stats(other, RATECELL_AT, 0, &stats, sizeof stats), 0);
    CHECK_STATUS(ratecell_rules_change(rules, held, strlen(held), RATECELL_AT, 0, NULL, 0), 0);
    CHECK_STATUS(ratecell_rules_stats(rules, RATECELL_AT, 0, &stats, sizeof stats), 0);
    CHECK_U64(admitted(rules, 1), 1);
    ratecell_rules_free(other);
    ratecell_rules_free(rules);
}

int main(void) {
    char folder[] = "/tmp/ratecell-rules-XXXXXX";
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    (void)snprintf(path, sizeof path, "%s/limits", folder);
    processes_admit_a_limit_together();
    another_limit_is_refused_or_followed();
    what_means_nothing_is_refused();
    limits_that_cannot_be_had_deny_with_a_reason();
    (void)unlink(path);
    (void)rmdir(folder);
    return CHECK_END();
}
