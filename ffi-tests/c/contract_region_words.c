/* A region that was changed, in every word before its tables: told for what it is, or a region as before. */

#define _POSIX_C_SOURCE 200809L

#include "check.h"
#include "region.h"

#include <stdlib.h>
#include <string.h>

#define POLICY "10/w & fixed_window 20/w start=first"
#define LAYERS 2
#define WORDS (REGION_HEADER / 8)

/* What stands in the words of the header. The last of them are not used. */
enum word {
    MAGIC = 0, LAYOUT = 1, CLOCK = 48, UNUSED = 61,
    /* Of the copy of the clock that counts, which is the first; the other is not. */
    OFFSET = 49, BOOT = 50, MORE_BOOT = 51, NAMESPACE = 52, OTHER = 53
};

/* Of the policy's section: the digest of the rules by which its calendars were made. */
enum { ZONE_RULES = 10 };

static uint64_t *region;
static size_t len;

static uint64_t *another(void) {
    uint64_t *copy = region_memory(len);
    memcpy(copy, region, len);
    return copy;
}

/* A key is at what was charged in main, and is charged further, by this region alone. */
static void goes_on(uint64_t *copy) {
    ratecell_limiter *limiter = ATTACHED(copy, len, POLICY);
    CHECK_U64(region_remaining(limiter, "key", 0), 7);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 7, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, NULL), RATECELL_DENIED);
    ratecell_limiter_free(limiter);
}

/* Beyond the header: of a policy that never changes, only the first record is read. Since when it holds can be anything:
 * no word is older. */
static int32_t expected_of_section(size_t word) {
    size_t policy = region_policy_at(LAYERS) / 8, record = policy + 16;
    size_t instant = record + 1;
    int is_read = word <= policy || (word >= record && word < record + 256 && word != instant);
    return is_read ? RATECELL_EREGION_DAMAGED : 0;
}

static int32_t expected(size_t word, uint64_t value) {
    int32_t status = RATECELL_EREGION_DAMAGED;
    if (word >= WORDS) {
        return expected_of_section(word);
    }
    if (word == MAGIC) {
        status = RATECELL_EREGION_NONE;
    } else if (word == LAYOUT) {
        status = RATECELL_EREGION_LAYOUT;
    } else if (word == CLOCK) {
        /* The lowest bit says which copy counts, and the other is of no boot. */
        status = value % 2 == 0 ? 0 : RATECELL_EREGION_BOOT;
    } else if (word == BOOT || word == MORE_BOOT) {
        status = RATECELL_EREGION_BOOT;
    } else if (word > CLOCK) {
        /* Another clock is a clock. Another namespace is not one where it tells the time of this one. */
        status = 0;
    }
    return status;
}

static void changed(size_t word, uint64_t value) {
    uint64_t *copy = another();
    copy[word] = value;
    int32_t status = expected(word, value);
    if (status == 0) {
        goes_on(copy);
    } else {
        REFUSED(copy, len, POLICY, NULL, status, "region");
    }
    free(copy);
}

static void every_word(void) {
    for (size_t word = 0; word < WORDS; word++) {
        for (int bit = 0; bit < 64; bit++) {
            check_case("word %zu, bit %d", word, bit);
            changed(word, region[word] ^ UINT64_C(1) << bit);
        }
        const uint64_t values[] = { 0, UINT64_MAX, INT64_MAX, region[word] + 1, region[word] - 1, region[1] };
        for (size_t i = 0; i < CHECK_COUNT(values); i++) {
            if (values[i] != region[word]) {
                check_case("word %zu is %llx", word, (unsigned long long)values[i]);
                changed(word, values[i]);
            }
        }
    }
}

static void every_word_of_the_sections(void) {
    for (size_t word = WORDS; word < region_tables_at(LAYERS) / 8; word++) {
        if (word == region_policy_at(LAYERS) / 8 + ZONE_RULES) {
            continue;
        }
        check_case("word %zu", word);
        changed(word, region[word] ^ UINT64_C(1) << word % 64);
        changed(word, ~region[word]);
    }
}

static void other_zone_rules_are_told(void) {
    uint64_t *copy = another();
    char why[512];
    ratecell_config config = RATECELL_CONFIG_INIT;
    ratecell_limiter *limiter;
    check_case("other rules of the zones");
    copy[region_policy_at(LAYERS) / 8 + ZONE_RULES] = 1;
    config.why = why;
    config.why_len = sizeof why;
    CHECK_STATUS(ratecell_region_attach(copy, len, POLICY, &config, &limiter), 0);
    CHECK(strstr(why, "other rules of the time zones") != NULL);
    ratecell_limiter_free(limiter);
    free(copy);
}

static void told_apart(void) {
    uint64_t *copy = another();
    check_case("another layout");
    copy[LAYOUT] = 1;
    REFUSED(copy, len, POLICY, NULL, RATECELL_EREGION_LAYOUT, "layout: 1; expected 2: open it with the version");
    copy[LAYOUT] = 3;
    REFUSED(copy, len, POLICY, NULL, RATECELL_EREGION_LAYOUT, "layout: 3; expected 2");
    copy[LAYOUT] = 0;
    REFUSED(copy, len, POLICY, NULL, RATECELL_EREGION_LAYOUT, "layout: 0; expected 2");

    check_case("the other byte order");
    copy[LAYOUT] = region[LAYOUT];
    for (size_t i = 0; i < 8; i++) {
        ((char *)copy)[i] = ((const char *)region)[7 - i];
    }
    REFUSED(copy, len, POLICY, NULL, RATECELL_EREGION_LAYOUT, "byte order");

    check_case("another boot");
    memcpy(copy, region, len);
    copy[BOOT] ^= 1;
    REFUSED(copy, len, POLICY, NULL, RATECELL_EREGION_BOOT, "boot");

    /* Its clock tells another time than here. */
    check_case("another time namespace");
    memcpy(copy, region, len);
    copy[NAMESPACE] ^= 1;
    copy[OFFSET] += UINT64_C(3600000000000);
    REFUSED(copy, len, POLICY, NULL, RATECELL_EREGION_TIME_NAMESPACE, "time namespace");
    copy[NAMESPACE] ^= 1;
    goes_on(copy);
    free(copy);
}

/* No word of the header decides what is read of the memory before all of them are judged. */
static void of_any_length(void) {
    for (size_t part = 0; part < len; part += part < REGION_HEADER + 8 ? 1 : 61) {
        void *copy = region_memory(part);
        memcpy(copy, region, part);
        check_case("the first %zu bytes of %zu", part, len);
        REFUSED(copy, part, POLICY, NULL, RATECELL_EREGION_SMALL, "bytes are too few");
        free(copy);
    }
    check_case("one byte less");
    REFUSED(region, len - 1, POLICY, NULL, RATECELL_EREGION_SMALL, "bytes are too few");
}

static void of_no_region(void) {
    uint64_t *memory = region_memory(len);
    uint64_t state = 1;
    check_case("zeros");
    REFUSED(memory, len, POLICY, NULL, RATECELL_EREGION_NONE, "not a region");
    for (int round = 0; round < 50; round++) {
        check_case("random bytes, round %d", round);
        for (size_t i = 0; i < len / 8; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            memory[i] = state ^ state >> 29;
        }
        REFUSED(memory, len, POLICY, NULL, RATECELL_EREGION_NONE, "not a region");
        /* With a header's beginning. */
        memory[MAGIC] = region[MAGIC];
        REFUSED(memory, len, POLICY, NULL, RATECELL_EREGION_LAYOUT, "layout");
        memory[LAYOUT] = region[LAYOUT];
        REFUSED(memory, len, POLICY, NULL, RATECELL_EREGION_DAMAGED, "damaged");
    }
    free(memory);
}

int main(void) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    config.max_keys = 12;
    region = region_new(POLICY, &config, &len);
    ratecell_limiter *limiter = ATTACHED(region, len, POLICY);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 3, 0, NULL), RATECELL_ALLOWED);
    ratecell_limiter_free(limiter);
    every_word();
    every_word_of_the_sections();
    other_zone_rules_are_told();
    told_apart();
    of_any_length();
    of_no_region();
    free(region);
    return CHECK_END();
}
