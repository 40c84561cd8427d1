/* The config's why: a sentence of each cause, cut off where it does not fit, empty where all is well. */

#define _POSIX_C_SOURCE 200809L

#include "check.h"
#include "region.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLICY "10/w"
#define LONG 512

static char why[LONG];

/* A config that has a place for the sentence; which is filled, so that nothing counts as written that is not. */
static ratecell_config asking(void) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.max_keys = 64;
    config.why = why;
    config.why_len = sizeof why;
    memset(why, 'x', sizeof why - 1);
    why[sizeof why - 1] = '\0';
    return config;
}

static void says(int32_t got, int32_t status, const char *sentence) {
    CHECK_STATUS(got, status);
    if (strstr(why, sentence) == NULL || why[0] == '\0') {
        CHECK_TEXT(why, sentence);
    }
    CHECK(strlen(why) < LONG - 1);
}

static void of_a_policy_and_a_config(void) {
    ratecell_limiter *limiter;
    ratecell_config config = asking();
    UNTOUCHED(limiter);
    check_case("a policy");
    says(ratecell_limiter_new("10/s brust=20", &config, &limiter), RATECELL_EPOLICY_SYNTAX,
         "syntax at column 6: gcra has no option `brust`: expected burst, heal, horizon");
    config = asking();
    says(ratecell_limiter_new("0/s", &config, &limiter), RATECELL_EPOLICY_ZERO_LIMIT, "limit is 0");
    config = asking();
    says(ratecell_limiter_new(NULL, &config, &limiter), RATECELL_EINVAL, "RATECELL_EINVAL");
    check_case("a config");
    config = asking();
    config.when_full = 9;
    says(ratecell_limiter_new(POLICY, &config, &limiter), RATECELL_ECONFIG, "RATECELL_ECONFIG");
    config = asking();
    config.flags = RATECELL_ZEROED;
    says(ratecell_limiter_new(POLICY, &config, &limiter), RATECELL_ECONFIG, "RATECELL_ECONFIG");
    config = asking();
    config.max_keys = UINT64_C(1) << 55;
    says(ratecell_limiter_new(POLICY, &config, &limiter), RATECELL_ENOMEM, "expected a smaller max_keys");
    CHECK_UNTOUCHED(limiter);
    config = asking();
    check_case("nowhere to write the limiter");
    says(ratecell_limiter_new(POLICY, &config, NULL), RATECELL_EINVAL, "RATECELL_EINVAL");
    check_case("a config that cannot be read");
    config = asking();
    config.size = offsetof(ratecell_config, on_miss) - 1;
    CHECK_STATUS(ratecell_limiter_new(POLICY, &config, &limiter), RATECELL_ESIZE);
    CHECK(why[0] == 'x');
}

static void of_a_region(void) {
    ratecell_limiter *limiter = NULL, *other;
    ratecell_config config = asking();
    size_t len = ratecell_region_size(POLICY, &config);
    UNTOUCHED(other);
    check_case("a size");
    CHECK_TEXT(why, "");
    config = asking();
    CHECK_U64(ratecell_region_size("sliding_log 5/s", &config), 0);
    CHECK(strstr(why, "sliding_log") != NULL);
    config = asking();
    CHECK_U64(ratecell_region_size("5/0s", &config), 0);
    CHECK(strstr(why, "column") != NULL);
    void *memory = region_memory(len);
    check_case("a region");
    config = asking();
    says(ratecell_region_init(memory, len - 1, POLICY, &config, &other), RATECELL_EREGION_SMALL, "too few");
    config = asking();
    says(ratecell_region_init(NULL, len, POLICY, &config, &other), RATECELL_EINVAL, "RATECELL_EINVAL");
    config = asking();
    says(ratecell_region_attach(memory, len, POLICY, &config, &other), RATECELL_EREGION_NONE, "not a region");
    config = asking();
    CHECK_STATUS(ratecell_region_init(memory, len, POLICY, &config, &limiter), 0);
    CHECK_TEXT(why, "");
    config = asking();
    says(ratecell_region_attach(memory, len, "fixed_window 10/w", &config, &other), RATECELL_EREGION_WORDS,
         "expected fixed of 1w");
    check_case("another policy");
    config = asking();
    config.max_keys = 0;
    says(ratecell_limiter_with_policy(limiter, "fixed_window 10/w", &config, &other), RATECELL_EREGION_WORDS,
         "expected fixed of 1w");
    config = asking();
    says(ratecell_limiter_with_policy(limiter, POLICY, &config, &other), RATECELL_ECONFIG, "max_keys: expected 0");
    CHECK_UNTOUCHED(other);
    config = asking();
    config.max_keys = 0;
    CHECK_STATUS(ratecell_limiter_with_policy(limiter, "20/w", &config, &other), 0);
    CHECK_TEXT(why, "");
    ratecell_limiter_free(other);
    ratecell_limiter_free(limiter);
    free(memory);
}

static void of_a_file(void) {
    ratecell_limiter *limiter = NULL, *other;
    char path[128];
    ratecell_config config = asking();
    UNTOUCHED(other);
    file_empty(path, sizeof path);
    check_case("a file");
    CHECK_STATUS(ratecell_limiter_open(path, POLICY, &config, &limiter), 0);
    CHECK_TEXT(why, "");
    config = asking();
    says(ratecell_limiter_open(path, "10/w & 1/s", &config, &other), RATECELL_EREGION_LAYERS,
         "layers: 1, of `10/w`; expected 2, of `10/w & 1/s`");
    config = asking();
    says(ratecell_limiter_open("/nowhere/file", POLICY, &config, &other), RATECELL_EFILE, "No such file");
    CHECK_UNTOUCHED(other);
    ratecell_limiter_free(limiter);
    CHECK(unlink(path) == 0);
}

/* Into every size: as much of it as fits beside a NUL, and no byte beyond. */
static void is_cut_off(void) {
    ratecell_limiter *limiter;
    ratecell_config config = asking();
    UNTOUCHED(limiter);
    CHECK_STATUS(ratecell_limiter_new("10/s brust=20", &config, &limiter), RATECELL_EPOLICY_SYNTAX);
    size_t length = strlen(why);
    for (size_t len = 0; len <= length + 9; len++) {
        char *exact = malloc(len == 0 ? 1 : len);
        if (exact == NULL) {
            abort();
        }
        size_t written = len == 0 ? 0 : len <= length ? len - 1 : length;
        check_case("into %zu bytes", len);
        check_fill(exact, len == 0 ? 1 : len);
        config.why = exact;
        config.why_len = len;
        CHECK_STATUS(ratecell_limiter_new("10/s brust=20", &config, &limiter), RATECELL_EPOLICY_SYNTAX);
        if (len == 0) {
            check_filled(exact, 1, "no bytes", __FILE__, __LINE__);
        } else {
            CHECK(memcmp(exact, why, written) == 0 && exact[written] == '\0');
            check_filled(exact + written + 1, len - written - 1, "what follows", __FILE__, __LINE__);
        }
        free(exact);
    }
    CHECK_UNTOUCHED(limiter);
}

static void no_place_for_it(void) {
    ratecell_limiter *limiter = NULL;
    ratecell_config config = RATECELL_CONFIG_INIT;
    check_case("no why");
    CHECK_STATUS(ratecell_limiter_new("10/s brust=20", &config, &limiter), RATECELL_EPOLICY_SYNTAX);
    CHECK_STATUS(ratecell_limiter_new("10/s brust=20", NULL, &limiter), RATECELL_EPOLICY_SYNTAX);
    check_case("NULL with a length");
    config.why_len = 9;
    CHECK_STATUS(ratecell_limiter_new(POLICY, &config, &limiter), RATECELL_EINVAL);
    check_case("a length that no memory has");
    config.why = why;
    config.why_len = SIZE_MAX;
    CHECK_STATUS(ratecell_limiter_new(POLICY, &config, &limiter), RATECELL_ESIZE);
    CHECK(limiter == NULL);
}

int main(void) {
    of_a_policy_and_a_config();
    of_a_region();
    of_a_file();
    is_cut_off();
    no_place_for_it();
    return CHECK_END();
}
