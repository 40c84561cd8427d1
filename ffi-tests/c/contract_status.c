/* Statuses, their texts, and which library this is. */

#include "check.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define STATUS(name) { name, #name }

static const struct {
    int32_t status;
    const char *name;
} statuses[] = {
    STATUS(RATECELL_ALLOWED), STATUS(RATECELL_DENIED), STATUS(RATECELL_NEVER), STATUS(RATECELL_CLOCK_RANGE),
    STATUS(RATECELL_ASKED), STATUS(RATECELL_UNCLEAR_PATH),
    STATUS(RATECELL_EINVAL), STATUS(RATECELL_EALIGN), STATUS(RATECELL_ESIZE), STATUS(RATECELL_E2BIG),
    STATUS(RATECELL_ECONFIG), STATUS(RATECELL_ENAME), STATUS(RATECELL_ENOSPC),
    STATUS(RATECELL_ERESERVE),
    STATUS(RATECELL_EPOLICY_SYNTAX), STATUS(RATECELL_EPOLICY_ZERO_LIMIT),
    STATUS(RATECELL_EPOLICY_ZERO_PERIOD), STATUS(RATECELL_EPOLICY_ZERO_CAPACITY),
    STATUS(RATECELL_EPOLICY_MISSING_PARAMETER), STATUS(RATECELL_EPOLICY_BAD_OFFSET), STATUS(RATECELL_EPOLICY_RANGE),
    STATUS(RATECELL_EPOLICY_PRECISION), STATUS(RATECELL_EPOLICY_UNKNOWN_ALGORITHM),
    STATUS(RATECELL_EPOLICY_BAD_LAYERS), STATUS(RATECELL_EPOLICY_BAD_ZONE), STATUS(RATECELL_ENOMEM), STATUS(RATECELL_ENORANDOM),
    STATUS(RATECELL_EPROCESSOR),
    STATUS(RATECELL_EREGION_SMALL), STATUS(RATECELL_EREGION_NONE), STATUS(RATECELL_EREGION_DAMAGED),
    STATUS(RATECELL_EREGION_LAYOUT), STATUS(RATECELL_EREGION_LAYERS), STATUS(RATECELL_EREGION_WORDS),
    STATUS(RATECELL_EREGION_MAX_KEYS), STATUS(RATECELL_EREGION_WHEN_FULL), STATUS(RATECELL_EREGION_BOOT),
    STATUS(RATECELL_EREGION_TIME_NAMESPACE), STATUS(RATECELL_EREGION_NO_WORD), STATUS(RATECELL_EFILE),
    STATUS(RATECELL_ESTORE), STATUS(RATECELL_EREGION_POLICY), STATUS(RATECELL_ERULES), STATUS(RATECELL_ECHANGE),
    STATUS(RATECELL_EPANIC),
};

static const char *const unknown = "unknown ratecell status";

static int is_status(int32_t number) {
    for (size_t i = 0; i < CHECK_COUNT(statuses); i++) {
        if (statuses[i].status == number) {
            return 1;
        }
    }
    return 0;
}

static void each_status_is_told_by_its_name(void) {
    for (size_t i = 0; i < CHECK_COUNT(statuses); i++) {
        const char *text = ratecell_strerror(statuses[i].status);
        size_t length = strlen(statuses[i].name);
        check_case("%s", statuses[i].name);
        CHECK(strncmp(text, statuses[i].name, length) == 0);
        CHECK(strncmp(text + length, ": ", 2) == 0 && strlen(text) > length + 2);
        CHECK(ratecell_strerror(statuses[i].status) == text);
    }
}

static void every_other_number_is_unknown(void) {
    static const int32_t far[] = { INT32_MIN, INT32_MIN + 1, -1000000, 1000000, INT32_MAX };
    for (size_t i = 0; i < CHECK_COUNT(far); i++) {
        check_case("status %ld", (long)far[i]);
        CHECK_TEXT(ratecell_strerror(far[i]), unknown);
    }
    for (int32_t number = -300; number <= 300; number++) {
        if (!is_status(number)) {
            check_case("status %ld", (long)number);
            CHECK_TEXT(ratecell_strerror(number), unknown);
        }
    }
}

static void the_library_is_the_header_s(void) {
    char string[64];
    check_case("version");
    CHECK_U64(ratecell_version_number(), RATECELL_VERSION_NUMBER);
    snprintf(string, sizeof string, "%d.%d.%d", RATECELL_VERSION_MAJOR, RATECELL_VERSION_MINOR,
             RATECELL_VERSION_PATCH);
    CHECK_TEXT(RATECELL_VERSION_STRING, string);
}

int main(void) {
    each_status_is_told_by_its_name();
    every_other_number_is_unknown();
    the_library_is_the_header_s();
    return CHECK_END();
}
