/* Policies with tz=caller: each request names its zone, and a limiter takes none but those of its calendar. */

#include "ask.h"
#include "check.h"

#include <string.h>

#define HOUR UINT64_C(3600000000000)
#define POLICY "calendar_window 3/day tz=caller"

static ratecell_zone *zone_of(const ratecell_limiter *limiter, const char *name) {
    ratecell_zone *zone = NULL;
    CHECK_STATUS(ratecell_zone_new(limiter, name, &zone), 0);
    CHECK(zone != NULL);
    return zone;
}

static ratecell_request ask_in(const ratecell_zone *zone, uint32_t cost, uint64_t now_ns) {
    ratecell_request request = ask_at("key", 3, cost, now_ns);
    request.zone = zone;
    return request;
}

/* A request that is none of this limiter, in every call that takes requests. */
static void refused(const ratecell_limiter *limiter, ratecell_request request) {
    ratecell_decision decision;
    ratecell_claim claim = ask_of(limiter, request);
    UNTOUCHED(decision);
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, &decision), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_limiter_decide_batch(limiter, &request, 1, &decision), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_decide_all(&claim, 1, &decision), RATECELL_EINVAL);
    CHECK_UNTOUCHED(decision);
}

static void each_call_decides_in_the_zone(void) {
    ratecell_limiter *limiter = LIMITER(POLICY);
    ratecell_zone *tokyo = zone_of(limiter, "Asia/Tokyo");
    ratecell_request request = ask_in(tokyo, 1, HOUR);
    ratecell_decision decision;
    ratecell_claim claim = ask_of(limiter, request);
    check_case("Tokyo, where midnight is at 15:00 UTC");
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 2);
    CHECK_U64(decision.reset_after_ns, 14 * HOUR);
    CHECK_U64(decision.notes, 0);
    CHECK_STATUS(ratecell_limiter_decide_batch(limiter, &request, 1, &decision), 0);
    CHECK_U64(decision.remaining, 1);
    CHECK_STATUS(ratecell_decide_all(&claim, 1, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 0);
    request.flags |= RATECELL_NEXT;
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, &decision), RATECELL_DENIED);
    CHECK_U64(decision.retry_after_ns, 14 * HOUR);
    CHECK_U64(decision.next_ns, 14 * HOUR);
    request.now_ns = 15 * HOUR;
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, &decision), RATECELL_ALLOWED);
    ratecell_zone_free(tokyo);
    ratecell_limiter_free(limiter);
}

static void nobody_gets_a_second_quota_by_moving(void) {
    ratecell_limiter *limiter = LIMITER(POLICY);
    ratecell_zone *tokyo = zone_of(limiter, "Asia/Tokyo");
    ratecell_zone *east = zone_of(limiter, "-05:00");
    ratecell_request request = ask_in(tokyo, 3, 13 * HOUR);
    ratecell_decision decision;
    check_case("moved");
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, NULL), RATECELL_ALLOWED);
    request = ask_in(east, 1, 15 * HOUR - 1);
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, &decision), RATECELL_DENIED);
    CHECK_U64(decision.retry_after_ns, 14 * HOUR + 1);
    request.now_ns = 29 * HOUR;
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, NULL), RATECELL_ALLOWED);
    ratecell_zone_free(east);
    ratecell_zone_free(tokyo);
    ratecell_limiter_free(limiter);
}

static void a_zone_outlives_its_limiter(void) {
    ratecell_limiter *limiter = LIMITER(POLICY);
    ratecell_zone *utc = zone_of(limiter, "UTC");
    ratecell_limiter_free(limiter);
    limiter = LIMITER("calendar_window 5/day tz=caller");
    ratecell_request request = ask_in(utc, 1, HOUR);
    ratecell_decision decision;
    check_case("another limiter of the same calendar");
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 4);
    ratecell_zone_free(utc);
    ratecell_limiter_free(limiter);
}

static void a_zone_that_the_limiter_does_not_take_is_refused(void) {
    ratecell_limiter *limiter = LIMITER(POLICY);
    ratecell_limiter *weekly = LIMITER("calendar_window 3/week tz=caller");
    ratecell_limiter *named = LIMITER("calendar_window 3/day tz=UTC");
    ratecell_limiter *plain = LIMITER("3/s");
    ratecell_zone *utc = zone_of(limiter, "UTC");
    ratecell_limiter *others[] = { weekly, named, plain };
    for (size_t i = 0; i < CHECK_COUNT(others); i++) {
        check_case("limiter %zu", i);
        refused(others[i], ask_in(utc, 1, HOUR));
        CHECK_STATUS(ratecell_limiter_forget(others[i], "key", 3), 1);
    }
    check_case("a zone that is not aligned");
    ratecell_request request = ask_in((const ratecell_zone *)((const char *)utc + 1), 1, HOUR);
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, NULL), RATECELL_EALIGN);
    for (size_t i = 0; i < CHECK_COUNT(others); i++) ratecell_limiter_free(others[i]);
    ratecell_zone_free(utc);
    ratecell_limiter_free(limiter);
}

static void without_a_zone_nothing_is_charged(void) {
    ratecell_limiter *limiter = LIMITER(POLICY);
    ratecell_request request = ask_in(NULL, 1, HOUR);
    ratecell_decision decision;
    ratecell_claim claim = ask_of(limiter, request);
    check_case("no zone");
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, &decision), RATECELL_NEVER);
    CHECK_U64(decision.notes, RATECELL_NO_ZONE);
    CHECK_U64(decision.retry_after_ns, UINT64_MAX);
    CHECK_STATUS(ratecell_limiter_check(limiter, "key", 3, 1, &decision), RATECELL_NEVER);
    CHECK_U64(decision.notes, RATECELL_NO_ZONE);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 0, HOUR, &decision), RATECELL_NEVER);
    CHECK_U64(decision.notes, RATECELL_NO_ZONE);
    CHECK_STATUS(ratecell_limiter_decide_batch(limiter, &request, 1, &decision), 0);
    CHECK_STATUS(decision.outcome, RATECELL_NEVER);
    CHECK_STATUS(ratecell_decide_all(&claim, 1, &decision), RATECELL_NEVER);
    CHECK_U64(decision.notes, RATECELL_NO_ZONE);
    CHECK_STATUS(ratecell_limiter_forget(limiter, "key", 3), 1);
    ratecell_limiter_free(limiter);
}

static void reservations_name_zones(void) {
    ratecell_limiter *limiter = LIMITER(POLICY);
    ratecell_zone *utc = zone_of(limiter, "UTC");
    ratecell_request request = ask_in(utc, 3, HOUR);
    ratecell_reservation reservation;
    ratecell_decision decision;
    check_case("a reservation");
    request.flags |= RATECELL_RESERVE;
    request.reservation = &reservation;
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, NULL), RATECELL_ALLOWED);
    request.cost = 1;
    CHECK_STATUS(ratecell_limiter_settle(limiter, &request, &decision), RATECELL_NEVER);
    CHECK_U64(decision.notes, RATECELL_NO_ZONE);
    request = ask_in(utc, 0, HOUR);
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 2);
    ratecell_zone_free(utc);
    ratecell_limiter_free(limiter);
}

static void a_zone_has_a_name(void) {
    static const char *const names[] = { "", "Europe/Atlantis", "caller", "+25:00", "\xff" };
    ratecell_limiter *limiter = LIMITER(POLICY);
    ratecell_limiter *named = LIMITER("calendar_window 3/day tz=UTC");
    ratecell_zone *zone;
    UNTOUCHED(zone);
    for (size_t i = 0; i < CHECK_COUNT(names); i++) {
        check_case("name %zu", i);
        CHECK_STATUS(ratecell_zone_new(limiter, names[i], &zone), RATECELL_EPOLICY_BAD_ZONE);
    }
    check_case("a limiter that names its zone itself");
    CHECK_STATUS(ratecell_zone_new(named, "UTC", &zone), RATECELL_EPOLICY_BAD_ZONE);
    check_case("pointers");
    CHECK_STATUS(ratecell_zone_new(NULL, "UTC", &zone), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_zone_new(limiter, NULL, &zone), RATECELL_EINVAL);
    CHECK_STATUS(ratecell_zone_new(limiter, "UTC", NULL), RATECELL_EINVAL);
    CHECK_UNTOUCHED(zone);
    ratecell_zone_free(NULL);
    ratecell_limiter_free(named);
    ratecell_limiter_free(limiter);
}

int main(void) {
    each_call_decides_in_the_zone();
    nobody_gets_a_second_quota_by_moving();
    a_zone_outlives_its_limiter();
    a_zone_that_the_limiter_does_not_take_is_refused();
    without_a_zone_nothing_is_charged();
    reservations_name_zones();
    a_zone_has_a_name();
    return CHECK_END();
}
