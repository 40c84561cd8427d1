/* What the programs here check with: each check is counted, and one that fails is told and makes the
 * program fail. From one thread only. */

#ifndef CHECK_H
#define CHECK_H

#include <ratecell.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CHECK_FORMAT __attribute__((format(printf, 1, 2)))
#else
#define CHECK_FORMAT
#endif

/* Names the case that the checks from here on are of. */
void check_case(const char *format, ...) CHECK_FORMAT;

/* A condition, with no more to tell than itself. */
#define CHECK(condition) check_that((condition) != 0, #condition, __FILE__, __LINE__)
#define CHECK_STATUS(got, expected) check_status((got), (expected), #got, __FILE__, __LINE__)
#define CHECK_U64(got, expected) check_u64((got), (expected), #got, __FILE__, __LINE__)
#define CHECK_TEXT(got, expected) check_text((got), (expected), #got, __FILE__, __LINE__)
#define CHECK_DECISION(got, expected) check_decision(&(got), &(expected), #got, __FILE__, __LINE__)
/* That memory is as UNTOUCHED was written to it. */
#define CHECK_UNTOUCHED(object) check_filled(&(object), sizeof(object), #object, __FILE__, __LINE__)
#define UNTOUCHED(object) check_fill(&(object), sizeof(object))

/* A limiter of a policy with room for a few keys. Without one no program can go on. */
#define LIMITER(policy) check_limiter((policy), NULL, __FILE__, __LINE__)
#define LIMITER_WITH(policy, config) check_limiter((policy), (config), __FILE__, __LINE__)

/* Ends a program: prints its name and the count, and is what main returns. */
#define CHECK_END() check_end(__FILE__)

#define CHECK_COUNT(array) (sizeof(array) / sizeof((array)[0]))

void check_that(int holds, const char *what, const char *file, int line);
void check_status(int32_t got, int32_t expected, const char *what, const char *file, int line);
void check_u64(uint64_t got, uint64_t expected, const char *what, const char *file, int line);
void check_text(const char *got, const char *expected, const char *what, const char *file, int line);
void check_decision(const ratecell_decision *got, const ratecell_decision *expected, const char *what,
                    const char *file, int line);
void check_fill(void *memory, size_t size);
void check_filled(const void *memory, size_t size, const char *what, const char *file, int line);
ratecell_limiter *check_limiter(const char *policy, const ratecell_config *config, const char *file,
                                int line);
int check_end(const char *file);

#endif
