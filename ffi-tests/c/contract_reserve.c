/* Reservations: what is charged and remembered as plain data, and what settle, release and renew make of it. */

#define _POSIX_C_SOURCE 200809L

#include "ask.h"
#include "check.h"
#include "region.h"

#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)
/* The bytes of a reservation of so many layers. */
#define BYTES(layers) (24 + 40 * (size_t)(layers))

/* Settles, and has its answer be a peek's. What remains afterwards. */
static uint64_t settled(const ratecell_limiter *limiter, ratecell_reservation *reservation, uint32_t actual, uint64_t now) {
    ratecell_decision decision, peek;
    const ratecell_reservation before = *reservation;
    UNTOUCHED(decision);
    CHECK_STATUS(ask_held(ratecell_limiter_settle, limiter, reservation, actual, now, &decision), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 0, now, &peek), RATECELL_ALLOWED);
    CHECK_DECISION(decision, peek);
    CHECK(memcmp(&before, reservation, sizeof before) == 0);
    return decision.remaining;
}

static uint64_t released(const ratecell_limiter *limiter, ratecell_reservation *permit, uint64_t now) {
    ratecell_decision decision;
    CHECK_STATUS(ask_held(ratecell_limiter_release, limiter, permit, 0, now, &decision), RATECELL_ALLOWED);
    return decision.given_back;
}

static const char *const policies[] = {
    "20/1h", "7/1d burst=20 heal=1h", "token_bucket 1/1h capacity=20 mode=interval",
    "token_bucket 1/1h capacity=20 mode=interval_first", "leaky_meter 1/1h capacity=20",
    "leaky_queue 1/1h queue=19", "sliding_window 20/1h", "sliding_log 20/1h", "fixed_window 20/1h",
    "calendar_window 20/day tz=UTC", "20/1h & fixed_window 20/1h",
};

static void what_was_not_used_comes_back(const char *policy) {
    ratecell_limiter *limiter = LIMITER(policy), *twin = LIMITER(policy);
    ratecell_reservation reservation;
    ratecell_decision ours, theirs;
    check_case("%s", policy);
    /* The decision and the charge are those of the same request alone. */
    ratecell_request request = ask_at("key", 3, 10, 0);
    request.flags |= RATECELL_RESERVE | RATECELL_NEXT;
    request.reservation = &reservation;
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, &ours), RATECELL_ALLOWED);
    CHECK_STATUS(ask_next_at(twin, "key", 3, 10, 0, &theirs), RATECELL_ALLOWED);
    CHECK_DECISION(ours, theirs);
    CHECK_U64(ours.remaining, 10);
    /* The same request again, with the units that were used. */
    request.cost = 4;
    CHECK_STATUS(ratecell_limiter_settle(limiter, &request, &ours), RATECELL_ALLOWED);
    CHECK_U64(ours.remaining, 16);
    CHECK_U64(ours.given_back, 0);
    /* More than reserved is charged, and fills at most. */
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 2, 0, &reservation), RATECELL_ALLOWED);
    CHECK_U64(settled(limiter, &reservation, 5, 0), 11);
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 1, 0, &reservation), RATECELL_ALLOWED);
    CHECK_U64(settled(limiter, &reservation, UINT32_MAX, 0), 0);
    ratecell_limiter_free(limiter);
    ratecell_limiter_free(twin);
}

/* It is all in its first bytes; those behind them are zeros when written, and anything when read. */
static void a_reservation_is_its_first_bytes(const char *policy) {
    static const unsigned char zeros[sizeof(ratecell_reservation)];
    ratecell_limiter *limiter = LIMITER(policy);
    ratecell_reservation reservation, copy;
    const size_t bytes = BYTES(region_layers(policy));
    check_case("%s", policy);
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 10, 0, &reservation), RATECELL_ALLOWED);
    CHECK(memcmp((const char *)&reservation + bytes, zeros, sizeof zeros - bytes) == 0);
    UNTOUCHED(copy);
    memcpy(&copy, &reservation, bytes);
    CHECK_U64(settled(limiter, &copy, 0, 0), 20);
    ratecell_limiter_free(limiter);
}

static void a_forgotten_key_gives_nothing_back(const char *policy) {
    ratecell_limiter *limiter = LIMITER(policy);
    ratecell_reservation reservation;
    check_case("%s", policy);
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 10, 0, &reservation), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_forget(limiter, "key", 3), 0);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 12, 0, NULL), RATECELL_ALLOWED);
    CHECK_U64(settled(limiter, &reservation, 0, 0), 8);
    ratecell_limiter_free(limiter);
}

/* Each limiter of ratecell_limiter_new hashes by a secret of its own. */
static void another_table_gives_nothing_back(const char *policy) {
    ratecell_limiter *limiter = LIMITER(policy), *other = LIMITER(policy);
    ratecell_reservation reservation;
    check_case("%s", policy);
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 10, 0, &reservation), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(other, "key", 3, 10, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ask_held(ratecell_limiter_settle, other, &reservation, 0, 0, NULL), RATECELL_ALLOWED);
    CHECK_U64(region_remaining(other, "key", 0), 10);
    CHECK_U64(settled(limiter, &reservation, 0, 0), 20);
    ratecell_limiter_free(limiter);
    ratecell_limiter_free(other);
}

static void each_reservation_is_settled_once(void) {
    ratecell_limiter *limiter = LIMITER("fixed_window 20/1h");
    ratecell_reservation reservation;
    check_case("settled twice");
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 3, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 2, 0, &reservation), RATECELL_ALLOWED);
    CHECK_U64(settled(limiter, &reservation, 0, 0), 17);
    /* No word tells it from another charge: units of others come back, and no more than there are. */
    CHECK_U64(settled(limiter, &reservation, 0, 0), 19);
    CHECK_U64(settled(limiter, &reservation, 0, 0), 20);
    CHECK_U64(settled(limiter, &reservation, 0, 0), 20);
    ratecell_limiter_free(limiter);
}

static void what_has_drained_is_gone(void) {
    ratecell_limiter *limiter = LIMITER("1/s burst=20");
    ratecell_reservation reservation;
    check_case("drained");
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 10, 0, &reservation), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 10, 0, NULL), RATECELL_ALLOWED);
    CHECK_U64(settled(limiter, &reservation, 0, 4 * SECOND), 4 + 6);
    ratecell_limiter_free(limiter);
}

static void a_permit_is_released_and_renewed(const char *policy) {
    ratecell_limiter *limiter = LIMITER(policy);
    ratecell_reservation first, second, before;
    ratecell_decision decision;
    check_case("%s", policy);
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 1, 0, &first), RATECELL_ALLOWED);
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 1, 0, &second), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, NULL), RATECELL_DENIED);
    /* A settlement gives back none of it. */
    CHECK_STATUS(ask_held(ratecell_limiter_settle, limiter, &first, 0, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 1, 0, NULL), RATECELL_DENIED);
    CHECK_U64(released(limiter, &first, SECOND), 1);
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, 0, SECOND, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 1);
    /* A permit that is renewed at least once each hold is never lost. */
    for (uint64_t now = 60 * SECOND; now < 3600 * SECOND; now += 60 * SECOND) {
        CHECK_STATUS(ask_held(ratecell_limiter_renew, limiter, &second, 0, now, &decision), RATECELL_ALLOWED);
        CHECK_U64(decision.remaining, 1);
    }
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 1, 3590 * SECOND, &first), RATECELL_ALLOWED);
    CHECK_U64(released(limiter, &second, 3590 * SECOND), 1);
    /* One that has passed comes back by itself, and is acquired again if there is room. */
    const uint64_t later = 4000 * SECOND;
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 2, later, &second), RATECELL_ALLOWED);
    CHECK_U64(released(limiter, &first, later), 0);
    before = first;
    UNTOUCHED(decision);
    CHECK_STATUS(ask_held(ratecell_limiter_renew, limiter, &first, 0, later, &decision), RATECELL_DENIED);
    CHECK_STATUS(decision.outcome, RATECELL_DENIED);
    CHECK(decision.retry_after_ns > 0);
    CHECK(memcmp(&before, &first, sizeof first) == 0);
    CHECK_U64(released(limiter, &second, later), 2);
    CHECK_STATUS(ask_held(ratecell_limiter_renew, limiter, &first, 0, later, NULL), RATECELL_ALLOWED);
    CHECK_U64(released(limiter, &first, later), 1);
    /* Of a key that was forgotten nothing stands. */
    CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 1, later, &first), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_forget(limiter, "key", 3), 0);
    CHECK_U64(released(limiter, &first, later), 0);
    ratecell_limiter_free(limiter);
}

/* Two limiters in one region stand for two processes, or for one before and after its restart. */
static void bytes_go_to_another_process(const char *policy, uint64_t flags) {
    ratecell_config config = RATECELL_CONFIG_INIT;
    ratecell_limiter *limiter = NULL;
    ratecell_reservation reservation, copy;
    config.max_keys = 64;
    config.flags = flags;
    check_case("%s, flags %llx", policy, (unsigned long long)flags);
    const size_t len = ratecell_region_size(policy, &config), bytes = BYTES(region_layers(policy));
    void *memory = region_memory(len);
    CHECK_STATUS(ratecell_region_init(memory, len, policy, &config, &limiter), 0);
    if (flags == 0 && (strstr(policy, "_window") == NULL || strchr(policy, '&') != NULL)) {
        ratecell_stats stats;
        UNTOUCHED(copy);
        CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 10, 0, &copy), RATECELL_ERESERVE);
        CHECK_UNTOUCHED(copy);
        CHECK_STATUS(ratecell_limiter_stats(limiter, RATECELL_AT, 0, &stats, sizeof stats), 0);
        CHECK_U64(stats.live, 0);
    } else {
        CHECK_STATUS(ask_reserve_at(limiter, "key", 3, 10, 0, &reservation), RATECELL_ALLOWED);
        ratecell_limiter_free(limiter);
        limiter = ATTACHED(memory, len, policy);
        memset(&copy, 0, sizeof copy);
        memcpy(&copy, &reservation, bytes);
        CHECK_U64(settled(limiter, &copy, 3, 0), 17);
    }
    ratecell_limiter_free(limiter);
    free(memory);
}

static void the_limiter_has_a_clock(void) {
    ratecell_limiter *limiter = LIMITER("20/w & in_flight 5 hold=1h");
    ratecell_reservation reservation;
    ratecell_decision decision;
    ratecell_request request = ask("key", 3, 4);
    check_case("now");
    request.flags = RATECELL_RESERVE | RATECELL_WITHIN;
    request.reservation = &reservation;
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, &decision), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_renew(limiter, &request, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_release(limiter, &request, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.given_back, 4);
    request.cost = 0;
    CHECK_STATUS(ratecell_limiter_settle(limiter, &request, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.remaining, 5);
    CHECK_STATUS(ratecell_limiter_check(limiter, "key", 3, 5, &decision), RATECELL_ALLOWED);
    /* The key by its hash is another key. */
    request.cost = 5;
    request.flags = RATECELL_RESERVE | RATECELL_HASHED;
    CHECK_STATUS(ratecell_limiter_decide(limiter, &request, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_limiter_release(limiter, &request, &decision), RATECELL_ALLOWED);
    CHECK_U64(decision.given_back, 5);
    check_case("out of range");
    CHECK_STATUS(ask_held(ratecell_limiter_settle, limiter, &reservation, 0, UINT64_MAX, NULL), RATECELL_CLOCK_RANGE);
    CHECK_STATUS(ask_held(ratecell_limiter_release, limiter, &reservation, 0, UINT64_MAX, NULL), RATECELL_CLOCK_RANGE);
    CHECK_STATUS(ask_held(ratecell_limiter_renew, limiter, &reservation, 0, UINT64_MAX, NULL), RATECELL_CLOCK_RANGE);
    ratecell_limiter_free(limiter);
}

int main(void) {
    for (size_t i = 0; i < CHECK_COUNT(policies); i++) {
        what_was_not_used_comes_back(policies[i]);
        a_reservation_is_its_first_bytes(policies[i]);
        a_forgotten_key_gives_nothing_back(policies[i]);
        another_table_gives_nothing_back(policies[i]);
        if (strstr(policies[i], "_log") == NULL) {
            bytes_go_to_another_process(policies[i], 0);
            bytes_go_to_another_process(policies[i], RATECELL_RESERVATIONS);
            bytes_go_to_another_process(policies[i], RATECELL_RESERVATIONS | RATECELL_ZEROED);
        }
    }
    each_reservation_is_settled_once();
    what_has_drained_is_gone();
    a_permit_is_released_and_renewed("in_flight 2 hold=60s");
    a_permit_is_released_and_renewed("1000/1s & in_flight 2 hold=60s & in_flight 2 hold=1m");
    the_limiter_has_a_clock();
    return CHECK_END();
}
