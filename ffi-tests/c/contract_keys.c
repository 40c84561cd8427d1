/* A key is its bytes, wherever they are: no byte before or after them is read. */

#include "ask.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST 1000

static ratecell_limiter *limiter;

/* All that takes a key, of one that is at `key` alone. Charges it 4 of 5 units. */
static void used(const void *key, size_t len) {
    const ratecell_request request = ask(key, len, 1), requests[] = { request, request };
    ratecell_decision decisions[2];
    uint64_t now = 0;
    CHECK_STATUS(ratecell_limiter_now(limiter, &now), 0);
    CHECK_STATUS(ratecell_limiter_check(limiter, key, len, 1, decisions), RATECELL_ALLOWED);
    CHECK_U64(decisions[0].remaining, 4);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, key, len, 1, now, decisions), RATECELL_ALLOWED);
    CHECK_U64(decisions[0].remaining, 3);
    CHECK_STATUS(ratecell_limiter_decide_batch(limiter, requests, 2, decisions), 0);
    CHECK_U64(decisions[1].remaining, 1);
    CHECK_STATUS(ratecell_limiter_check(limiter, key, len, 0, decisions), RATECELL_ALLOWED);
    CHECK_U64(decisions[0].remaining, 1);
}

static void remembered(const void *key, size_t len) {
    ratecell_decision decision;
    uint64_t now = 0;
    CHECK_STATUS(ratecell_limiter_now(limiter, &now), 0);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, key, len, 0, now, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 1);
}

static void fresh(const void *key, size_t len) {
    ratecell_decision decision;
    CHECK_STATUS(ratecell_limiter_check(limiter, key, len, 0, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 5);
}

static void a_key_of(size_t len) {
    /* Exactly as long as the key, for valgrind and the address sanitizer to tell a byte read beside it. */
    unsigned char *key = malloc(len);
    unsigned char *other = malloc(len + 16);
    if (key == NULL || other == NULL) {
        abort();
    }
    check_case("a key of %zu bytes", len);
    for (size_t i = 0; i < len; i++) {
        key[i] = (unsigned char)(i * 7 + len);
    }
    used(key, len);
    for (size_t offset = 0; offset < 16; offset += 5) {
        memset(other, (int)offset, len + 16);
        memcpy(other + offset, key, len);
        remembered(other + offset, len);
    }
    /* Each byte counts, and so does the length. */
    for (size_t i = 0; i < len; i += len < 64 ? 1 : 61) {
        memcpy(other, key, len);
        other[i] ^= 1;
        fresh(other, len);
    }
    fresh(key, len - 1);
    CHECK_STATUS(ratecell_limiter_forget(limiter, key, len), 0);
    fresh(key, len);
    free(key);
    free(other);
}

int main(void) {
    /* A window that the first charge opens: earlier times are within it, and none closes while a test runs. */
    limiter = LIMITER("fixed_window 5/w start=first");
    for (size_t len = 1; len <= LONGEST; len += len < 70 ? 1 : 93) {
        a_key_of(len);
    }
    check_case("no bytes");
    used(NULL, 0);
    remembered("", 0);
    ratecell_limiter_free(limiter);
    return CHECK_END();
}
