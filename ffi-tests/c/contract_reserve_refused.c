/* What reserves nothing, and what is no reservation: each is refused, and nothing is charged or given back. */

#define _POSIX_C_SOURCE 200809L

#include "ask.h"
#include "check.h"
#include "region.h"

#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

static const char *const policies[] = {
    "20/1h", "7/1d burst=20 heal=1h", "token_bucket 1/1h capacity=20 mode=interval",
    "token_bucket 1/1h capacity=20 mode=interval_first", "leaky_meter 1/1h capacity=20",
    "leaky_queue 1/1h queue=19", "sliding_window 20/1h", "sliding_log 20/1h", "fixed_window 20/1h",
    "calendar_window 20/day tz=UTC", "20/1h & fixed_window 20/1h",
};

static void a_refusal_reserves_nothing(const char *policy) {
    static const unsigned char zeros[sizeof(ratecell_reservation)];
    ratecell_limiter *limiter = LIMITER(policy);
    ratecell_reservation reservation;
    check_case("%s", policy);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 19, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 2, 0, &reservation), RATECELL_DENIED);
    CHECK(memcmp(&reservation, zeros, sizeof zeros) == 0);
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 21, 0, &reservation), RATECELL_NEVER);
    CHECK(memcmp(&reservation, zeros, sizeof zeros) == 0);
    /* A peek is allowed, and can be settled. */
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 0, 0, &reservation), RATECELL_ALLOWED);
    CHECK_STATUS(ask_held(ratecell_limiter_settle, limiter, &reservation, 1, 0, NULL), RATECELL_ALLOWED);
    CHECK_U64(region_remaining(limiter, "key", 0), 0);
    ratecell_limiter_free(limiter);
}

/* The room for what is given back is 8 bytes a bucket, and nothing where no layer needs it. */
static void the_room_is_asked_for(void) {
    ratecell_config with = RATECELL_CONFIG_INIT;
    ratecell_limiter *limiter = NULL;
    char why[256] = "";
    check_case("RATECELL_RESERVATIONS");
    with.max_keys = 4096;
    ratecell_config without = with;
    with.flags = RATECELL_RESERVATIONS;
    CHECK(ratecell_region_size("20/1h", &with) > ratecell_region_size("20/1h", &without));
    CHECK_U64(ratecell_region_size("fixed_window 20/1h", &with), ratecell_region_size("fixed_window 20/1h", &without));
    with.why = why;
    with.why_len = sizeof why;
    CHECK_STATUS(ratecell_limiter_new("20/1h", &with, &limiter), RATECELL_ECONFIG);
    CHECK(limiter == NULL && why[0] != '\0');
}

static void refused(const ratecell_limiter *limiter, const ratecell_request *request, int32_t status) {
    static held_function *const functions[] = {
        ratecell_limiter_settle, ratecell_limiter_release, ratecell_limiter_renew,
    };
    ratecell_decision decision;
    UNTOUCHED(decision);
    for (size_t i = 0; i < CHECK_COUNT(functions); i++) {
        CHECK_STATUS(functions[i](limiter, request, &decision), status);
        CHECK_STATUS(functions[i](limiter, request, NULL), status);
    }
    CHECK_UNTOUCHED(decision);
    CHECK_U64(region_remaining(limiter, "key", 0), 10);
}

static void what_is_no_reservation_is_refused(void) {
    /* The bytes of its head: the layers, and the form. */
    static const struct {
        size_t at;
        unsigned char byte;
    } bad[] = { { 12, 0 }, { 12, 9 }, { 12, 255 }, { 13, 0 }, { 13, 2 }, { 13, 255 } };
    ratecell_limiter *limiter = LIMITER("20/1h");
    ratecell_reservation reservation, twice[2];
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 10, 0, &reservation), RATECELL_ALLOWED);
    ratecell_request request = ask_at("key", 3, 1, 0);
    check_case("no reservation");
    refused(limiter, &request, RATECELL_EINVAL);
    for (size_t i = 1; i < 8; i++) {
        check_case("a reservation + %zu", i);
        request.reservation = (void *)((char *)twice + i);
        refused(limiter, &request, RATECELL_EALIGN);
    }
    ratecell_reservation other;
    request.reservation = &other;
    for (size_t i = 0; i < CHECK_COUNT(bad); i++) {
        check_case("byte %zu is %u", bad[i].at, bad[i].byte);
        other = reservation;
        memcpy((char *)&other + bad[i].at, &bad[i].byte, 1);
        refused(limiter, &request, RATECELL_EINVAL);
    }
    check_case("zeros");
    memset(&other, 0, sizeof other);
    refused(limiter, &request, RATECELL_EINVAL);
    check_case("flags and a zone");
    request.reservation = &reservation;
    request.flags = RATECELL_AT | RATECELL_CHARGE;
    refused(limiter, &request, RATECELL_EINVAL);
    request.flags = RATECELL_AT | UINT32_C(1) << 31;
    refused(limiter, &request, RATECELL_EINVAL);
    request.flags = RATECELL_AT;
    request.zone = (void *)twice;
    refused(limiter, &request, RATECELL_EINVAL);
    ratecell_limiter_free(limiter);
}

static void what_cannot_be_reserved_is_refused(void) {
    ratecell_limiter *limiter = LIMITER("20/1h");
    ratecell_reservation reservation[2];
    ratecell_decision decision;
    UNTOUCHED(decision);
    UNTOUCHED(reservation);
    ratecell_request request = ask_at("key", 3, 1, 0);
    request.flags |= RATECELL_RESERVE;
    check_case("nowhere to write");
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, &decision), RATECELL_EINVAL);
    for (size_t i = 1; i < 8; i++) {
        request.reservation = (void *)((char *)reservation + i);
        CHECK_STATUS(ratecell_limiter_decide(limiter, &request, &decision), RATECELL_EALIGN);
    }
    request.reservation = reservation;
    check_case("RATECELL_CHARGE");
    request.flags |= RATECELL_CHARGE;
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, &decision), RATECELL_EINVAL);
    request.flags &= ~(uint32_t)RATECELL_CHARGE;
    check_case("a batch and a claim");
    const ratecell_claim claim = ask_of(limiter, request);
    CHECK_STATUS(ratecell_limiter_decide_batch(limiter, &request, 1, &decision), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_decide_all(&claim, 1, &decision), RATECELL_EINVAL);
    CHECK_UNTOUCHED(decision);
    CHECK_UNTOUCHED(reservation);
    CHECK_U64(region_remaining(limiter, "key", 0), 20);
    ratecell_limiter_free(limiter);
}

/* Whatever the bytes are, something is answered, and no more remains than there is. */
static void any_bytes_are_answered(const char *policy) {
    ratecell_limiter *limiter = LIMITER(policy);
    ratecell_reservation right, any;
    uint64_t state = 7;
    check_case("%s", policy);
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 10, 50 * SECOND, &right), RATECELL_ALLOWED);
    for (unsigned i = 0; i < 2000; i++) {
        ratecell_decision decision;
        any = right;
        for (size_t word = 0; word < CHECK_COUNT(any.data); word++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
            /* The layers and the form stay. */
            if (word != 1 && state >> 62 == 0) {
                any.data[word] = state << (state >> 56 & 63);
            }
        }
        held_function *const function = i % 3 == 0   ? ratecell_limiter_settle
                                       : i % 3 == 1 ? ratecell_limiter_release
                                                    : ratecell_limiter_renew;
        CHECK(ask_held(function, limiter, &any, (uint32_t)(state >> 40) % 12, state % 100 * SECOND, &decision) >= 0);
        CHECK(decision.remaining <= 20);
    }
    ratecell_limiter_free(limiter);
}

int main(void) {
    for (size_t i = 0; i < CHECK_COUNT(policies); i++) {
        a_refusal_reserves_nothing(policies[i]);
        any_bytes_are_answered(policies[i]);
    }
    any_bytes_are_answered("in_flight 20 hold=60s");
    the_room_is_asked_for();
    what_is_no_reservation_is_refused();
    what_cannot_be_reserved_is_refused();
    return CHECK_END();
}
