/* What a request may say: every flag and field that means nothing is refused by every call that takes one, before
 * anything is charged. */

#include "ask.h"
#include "check.h"

#include <string.h>

#define MOST 64
#define KNOWN (RATECELL_HASHED | RATECELL_AT | RATECELL_WITHIN | RATECELL_CHARGE | RATECELL_NEXT)

static ratecell_limiter *limiter;

static void nothing_is_charged(void) {
    ratecell_stats stats;
    CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, 0, &stats, sizeof stats), 0);
    CHECK_U64(stats.live, 0);
}

/* By each call, at every place of a few lengths, among requests that are right. */
static void refused(ratecell_request bad, int32_t status) {
    static const size_t lengths[] = { 1, 2, 33, MOST };
    ratecell_decision decisions[MOST];
    ratecell_request requests[MOST];
    ratecell_claim claims[MOST];
    UNTOUCHED(decisions);
    CHECK_STATUS(ratecell_limiter_decide(limiter, &bad, decisions), status);
    CHECK_STATUS(ratecell_limiter_decide(limiter, &bad, NULL), status);
    for (size_t i = 0; i < CHECK_COUNT(lengths); i++) {
        size_t n = lengths[i];
        const size_t places[] = { 0, n / 2, n - 1 };
        for (size_t j = 0; j < CHECK_COUNT(places); j++) {
            for (size_t k = 0; k < n; k++) {
                requests[k] = k == places[j] ? bad : ask_at("key", 3, 1, 0);
                claims[k] = ask_of(limiter, requests[k]);
            }
            CHECK_STATUS(ratecell_limiter_decide_batch(limiter, requests, n, decisions), status);
            CHECK_STATUS(ratecell_decide_all(claims, n, decisions), status);
            CHECK_STATUS(ratecell_decide_all(claims, n, NULL), status);
        }
    }
    CHECK_UNTOUCHED(decisions);
    nothing_is_charged();
}

static void unknown_flags_are_refused(void) {
    for (uint32_t flag = 1; flag != 0; flag <<= 1) {
        ratecell_request request = ask_at("key", 3, 1, 0);
        if ((flag & (KNOWN | RATECELL_TRY)) == 0) {
            check_case("flag %lx", (unsigned long)flag);
            request.flags |= flag;
            refused(request, RATECELL_EINVAL);
            request.flags = UINT32_MAX;
            refused(request, RATECELL_EINVAL);
        }
    }
}

static void what_means_nothing_is_refused(void) {
    ratecell_request request = ask_at("key", 3, 1, 0);
    check_case("RATECELL_CHARGE with RATECELL_WITHIN");
    request.flags |= RATECELL_CHARGE | RATECELL_WITHIN;
    refused(request, RATECELL_EINVAL);
    request.flags |= RATECELL_NEXT | RATECELL_HASHED;
    refused(request, RATECELL_EINVAL);
    for (size_t i = 0; i < 64; i += 7) {
        static char any[64];
        check_case("a zone");
        request = ask_at("key", 3, 1, 0);
        request.zone = (void *)(any + i);
        refused(request, RATECELL_EINVAL);
        check_case("a reservation");
        request.zone = NULL;
        request.reservation = (void *)(any + i);
        refused(request, RATECELL_EINVAL);
    }
}

static void a_key_is_there(void) {
    static const size_t lengths[] = { SIZE_MAX, (size_t)PTRDIFF_MAX + 1 };
    check_case("no key");
    refused(ask_at(NULL, 1, 1, 0), RATECELL_EINVAL);
    for (size_t i = 0; i < CHECK_COUNT(lengths); i++) {
        check_case("a key of %zu bytes", lengths[i]);
        refused(ask_at("key", lengths[i], 1, 0), RATECELL_ESIZE);
    }
}

/* Each of the others is taken, and a field without its flag is not read. */
static void all_combinations_are_taken(void) {
    for (uint32_t flags = 0; flags <= KNOWN; flags++) {
        const uint32_t both = RATECELL_CHARGE | RATECELL_WITHIN;
        if ((flags & ~(uint32_t)KNOWN) != 0 || (flags & both) == both) {
            continue;
        }
        ratecell_request request = ask("key", 3, 2);
        ratecell_decision decision, batched, joint;
        const uint32_t hashed = flags & RATECELL_HASHED;
        check_case("flags %lx", (unsigned long)flags);
        request.flags = flags;
        request.hash = hashed ? 7 : UINT64_MAX;
        /* Of the key by its hash no byte is read. */
        request.key = hashed ? NULL : "key";
        request.key_len = hashed ? SIZE_MAX : 3;
        request.max_delay_ns = 0;
        request.now_ns = flags & RATECELL_AT ? 5 : UINT64_MAX;
        ratecell_limiter *own = LIMITER("fixed_window 9/4611686018427387903ns start=first");
        const ratecell_claim claim = ask_of(own, request);
        CHECK_STATUS(ratecell_limiter_decide(own, &request, &decision), RATECELL_ALLOWED);
        CHECK_U64(decision.remaining, 7);
        CHECK_STATUS(ratecell_limiter_decide_batch(own, &request, 1, &batched), 0);
        CHECK_U64(batched.remaining, 5);
        CHECK_STATUS(ratecell_decide_all(&claim, 1, &joint), RATECELL_ALLOWED);
        CHECK_U64(joint.remaining, 3);
        CHECK_U64(decision.next_ns > 0, (flags & RATECELL_NEXT) != 0);
        CHECK_U64(batched.next_ns > 0, (flags & RATECELL_NEXT) != 0);
        CHECK_U64(joint.next_ns > 0, (flags & RATECELL_NEXT) != 0);
        CHECK_U64(decision.given_back + decision.notes, 0);
        ratecell_limiter_free(own);
    }
}

int main(void) {
    limiter = LIMITER("1000/w");
    unknown_flags_are_refused();
    what_means_nothing_is_refused();
    a_key_is_there();
    all_combinations_are_taken();
    ratecell_limiter_free(limiter);
    return CHECK_END();
}
