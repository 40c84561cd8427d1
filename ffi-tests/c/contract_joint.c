/* Several limiters at once, all or nothing: what ratecell_decide_all decides, and that it is what single calls say. */

#include "ask.h"
#include "check.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)
#define MOST 64
#define LIMITERS 5

static const char *const policies[LIMITERS] = {
    "5/s burst=20", "sliding_window 25/1m", "fixed_window 15/1m",
    "5/s burst=30 & fixed_window 22/1h", "sliding_log 18/1s",
};

static const char *const keys[] = { "a", "bb", "", "a longer key than the others here", "e" };

/* Two of each: the one decides claims together, the other one at a time. */
static ratecell_limiter *joint[LIMITERS], *single[LIMITERS];

static void begin(void) {
    for (size_t i = 0; i < LIMITERS; i++) {
        joint[i] = LIMITER(policies[i]);
        single[i] = LIMITER(policies[i]);
    }
}

static void end(void) {
    for (size_t i = 0; i < LIMITERS; i++) {
        ratecell_limiter_free(joint[i]);
        ratecell_limiter_free(single[i]);
    }
}

static ratecell_claim claim(const ratecell_limiter *limiter, const char *key, uint64_t now_ns, uint32_t cost) {
    return ask_of(limiter, ask_at(key[0] == '\0' ? NULL : key, strlen(key), cost, now_ns));
}

static int32_t graver(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* What a claim would be answered by itself on a limiter; nothing is charged. */
static int32_t would_be(const ratecell_limiter *limiter, const ratecell_claim *claim) {
    ratecell_decision peek;
    int32_t status = ratecell_limiter_check_at(limiter, claim->request.key, claim->request.key_len, 0, claim->request.now_ns, &peek);
    if (status != RATECELL_ALLOWED || claim->request.cost <= peek.remaining) {
        return status;
    }
    return RATECELL_DENIED;
}

/* Claims on keys of their own, each limiter once: decided as singly, if all are allowed; else refusals are as
 * singly, and the others say what they have. */
static void as_single_calls(void) {
    uint32_t state = 1;
    unsigned seen[4] = { 0 };
    begin();
    for (int round = 0; round < 2000; round++) {
        ratecell_claim claims[LIMITERS];
        ratecell_decision decisions[LIMITERS + 1];
        /* Each limiter has a time of its own, as limiters of other epochs have. */
        size_t n = 1 + (state >> 13) % LIMITERS;
        int32_t gravest = RATECELL_ALLOWED, all = RATECELL_ALLOWED;
        int32_t own[LIMITERS];
        check_case("round %d of %zu claims", round, n);
        for (size_t i = 0; i < n; i++) {
            state = state * 1664525 + 1013904223;
            uint64_t now = i * 3600 * SECOND + (uint64_t)round * SECOND / 3;
            uint32_t cost = (state >> 20) % 64 == 0 ? 40 : (state >> 8) % 8;
            now = (state >> 12) % 128 == 0 ? UINT64_MAX : now;
            claims[i] = claim(joint[i], keys[(state >> 16) % CHECK_COUNT(keys)], now, cost);
            own[i] = would_be(single[i], &claims[i]);
            all = graver(all, own[i]);
        }
        UNTOUCHED(decisions);
        int32_t status = ratecell_decide_all(claims, n, decisions);
        CHECK((status == RATECELL_ALLOWED) == (all == RATECELL_ALLOWED));
        for (size_t i = 0; i < n; i++) {
            const ratecell_claim *c = &claims[i];
            ratecell_decision expected, decision = decisions[i];
            int charge = all == RATECELL_ALLOWED || own[i] != RATECELL_ALLOWED;
            ratecell_request own_request = c->request;
            own_request.cost = charge ? own_request.cost : 0;
            int32_t outcome = ratecell_limiter_decide(single[i], &own_request, &expected);
            CHECK_DECISION(decision, expected);
            gravest = graver(gravest, outcome);
        }
        CHECK_STATUS(status, gravest);
        CHECK_UNTOUCHED(decisions[n]);
        seen[gravest & 3] += 1;
        /* Nothing but what both charged is charged. */
        for (size_t i = 0; i < n && claims[i].request.now_ns != UINT64_MAX; i++) {
            ratecell_decision ours, theirs;
            ratecell_request peek = claims[i].request;
            peek.cost = 0;
            CHECK_STATUS(ratecell_limiter_decide(joint[i], &peek, &ours),
                         ratecell_limiter_decide(single[i], &peek, &theirs));
            CHECK_DECISION(ours, theirs);
        }
    }
    check_case("all outcomes");
    CHECK(seen[0] > 100 && seen[1] > 100 && seen[2] > 10 && seen[3] > 10);
    end();
}

static uint64_t remaining(const ratecell_limiter *limiter, const char *key, uint64_t now_ns) {
    ratecell_decision peek;
    CHECK_STATUS(ratecell_limiter_check_at(limiter, key, strlen(key), 0, now_ns, &peek), RATECELL_ALLOWED);
    return peek.remaining;
}

/* One key claimed several times is charged the sum, or nothing. */
static void one_key_several_times(const char *policy, size_t n) {
    ratecell_limiter *limiter = LIMITER(policy);
    ratecell_claim claims[MOST];
    ratecell_decision decisions[MOST];
    check_case("%zu claims on one key of %s", n, policy);
    for (size_t i = 0; i < n; i++) {
        claims[i] = claim(limiter, "key", SECOND, 2);
    }
    CHECK_STATUS(ratecell_decide_all(claims, n, decisions), RATECELL_ALLOWED);
    for (size_t i = 0; i < n; i++) {
        CHECK_STATUS(decisions[i].outcome, RATECELL_ALLOWED);
        CHECK_U64(decisions[i].remaining, 200 - 2 * (i + 1));
    }
    CHECK_U64(remaining(limiter, "key", SECOND), 200 - 2 * n);
    /* One unit is missing for all. */
    uint32_t rest = (uint32_t)(200 - 2 * n - (2 * n - 1));
    CHECK_STATUS(ratecell_limiter_check_at(limiter, "key", 3, rest, SECOND, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_decide_all(claims, n, decisions), RATECELL_DENIED);
    CHECK_U64(remaining(limiter, "key", SECOND), 2 * n - 1);
    CHECK_STATUS(decisions[n - 1].outcome, RATECELL_DENIED);
    CHECK(decisions[n - 1].retry_after_ns > 0 && decisions[n - 1].retry_after_ns < UINT64_MAX);
    CHECK_STATUS(ratecell_decide_all(claims, n, NULL), RATECELL_DENIED);
    CHECK_U64(remaining(limiter, "key", SECOND), 2 * n - 1);
    ratecell_limiter_free(limiter);
}

/* Wherever the one stands that refuses, none of the others is charged. */
static void one_refusal_is_all_s(size_t n) {
    static const struct {
        uint64_t now;
        uint32_t cost;
        int32_t status;
    } refusals[] = {
        { SECOND, 6, RATECELL_DENIED },
        { SECOND, 11, RATECELL_NEVER },
        { UINT64_MAX, 1, RATECELL_CLOCK_RANGE },
    };
    for (size_t at = 0; at < n; at += n > 8 && at < n - 2 ? 7 : 1) {
        for (size_t how = 0; how < CHECK_COUNT(refusals); how++) {
            /* Room for all of the keys, wherever they fall. */
            ratecell_config roomy = { .size = sizeof roomy, .max_keys = 10000 };
            ratecell_limiter *many = LIMITER_WITH("100/w", &roomy), *few = LIMITER("10/w");
            ratecell_claim claims[MOST];
            ratecell_decision decisions[MOST];
            char names[MOST][2];
            check_case("%zu claims, number %zu refuses by %d", n, at, (int)refusals[how].status);
            CHECK_STATUS(ratecell_limiter_check_at(few, "key", 3, 5, SECOND, NULL), RATECELL_ALLOWED);
            for (size_t i = 0; i < n; i++) {
                names[i][0] = (char)('!' + i);
                names[i][1] = '\0';
                claims[i] = claim(many, names[i], SECOND, 3);
            }
            claims[at] = claim(few, "key", refusals[how].now, refusals[how].cost);
            CHECK_STATUS(ratecell_decide_all(claims, n, decisions), refusals[how].status);
            for (size_t i = 0; i < n; i++) {
                CHECK_STATUS(decisions[i].outcome, i == at ? refusals[how].status : RATECELL_ALLOWED);
                if (i != at) {
                    CHECK_U64(decisions[i].remaining, 100);
                    CHECK_U64(remaining(many, names[i], SECOND), 100);
                }
            }
            CHECK_U64(remaining(few, "key", SECOND), 5);
            /* With a cost that it has, all go. */
            claims[at] = claim(few, "key", SECOND, 5);
            CHECK_STATUS(ratecell_decide_all(claims, n, NULL), RATECELL_ALLOWED);
            for (size_t i = 0; i < n; i++) {
                if (i != at) {
                    CHECK_U64(remaining(many, names[i], SECOND), 97);
                }
            }
            CHECK_U64(remaining(few, "key", SECOND), 0);
            /* A cost of 0 asks, and is allowed by a full key. */
            claims[at].request.cost = 0;
            CHECK_STATUS(ratecell_decide_all(claims, n, decisions), RATECELL_ALLOWED);
            CHECK_U64(decisions[at].remaining, 0);
            ratecell_limiter_free(many);
            ratecell_limiter_free(few);
        }
    }
}

static void a_bad_claim_is_a_bad_call(void) {
    ratecell_limiter *limiter = LIMITER("100/w");
    ratecell_claim good = claim(limiter, "key", SECOND, 3);
    const ratecell_request request = good.request;
    const struct {
        const char *what;
        ratecell_claim claim;
        int32_t status;
    } bad[] = {
        { "limiter NULL", { NULL, request }, RATECELL_EINVAL },
        { "limiter misaligned", { (void *)((char *)limiter + 1), request }, RATECELL_EALIGN },
        { "limiter misaligned", { (void *)((char *)limiter + 4), request }, RATECELL_EALIGN },
        { "key NULL", { limiter, ask(NULL, 1, 1) }, RATECELL_EINVAL },
        { "key_len", { limiter, ask("key", SIZE_MAX, 1) }, RATECELL_ESIZE },
        { "key_len", { limiter, ask("key", (size_t)PTRDIFF_MAX + 1, 1) }, RATECELL_ESIZE },
    };
    static const size_t lengths[] = { 1, 2, 3, MOST };
    for (size_t i = 0; i < CHECK_COUNT(bad); i++) {
        for (size_t j = 0; j < CHECK_COUNT(lengths); j++) {
            const size_t places[] = { 0, lengths[j] / 2, lengths[j] - 1 };
            for (size_t k = 0; k < CHECK_COUNT(places); k++) {
                ratecell_claim claims[MOST];
                ratecell_decision decisions[MOST];
                check_case("%s in claim %zu of %zu", bad[i].what, places[k], lengths[j]);
                for (size_t c = 0; c < lengths[j]; c++) {
                    claims[c] = good;
                }
                claims[places[k]] = bad[i].claim;
                UNTOUCHED(decisions);
                CHECK_STATUS(ratecell_decide_all(claims, lengths[j], decisions), bad[i].status);
                CHECK_UNTOUCHED(decisions);
                CHECK_U64(remaining(limiter, "key", SECOND), 100);
            }
        }
    }
    check_case("no claim");
    CHECK_STATUS(ratecell_decide_all(NULL, 0, NULL), RATECELL_ALLOWED);
    CHECK_STATUS(ratecell_decide_all(&good, 0, NULL), RATECELL_ALLOWED);
    CHECK_U64(remaining(limiter, "key", SECOND), 100);
    ratecell_limiter_free(limiter);
}

/* 64 layers in all, and no more. */
static void layers_are_counted(void) {
    static const char *const policies[] = { "9/w & 9/w", "9/w & 9/w & 9/w & 9/w & 9/w & 9/w & 9/w & 9/w" };
    static const size_t most[] = { MOST / 2, MOST / 8 };
    for (size_t i = 0; i < CHECK_COUNT(policies); i++) {
        ratecell_limiter *limiter = LIMITER(policies[i]);
        ratecell_claim claims[MOST];
        check_case("%zu claims of %s", most[i], policies[i]);
        for (size_t c = 0; c < MOST; c++) {
            claims[c] = claim(limiter, "key", SECOND, c == 0);
        }
        CHECK_STATUS(ratecell_decide_all(claims, most[i] + 1, NULL), RATECELL_ESIZE);
        CHECK_U64(remaining(limiter, "key", SECOND), 9);
        CHECK_STATUS(ratecell_decide_all(claims, most[i], NULL), RATECELL_ALLOWED);
        CHECK_U64(remaining(limiter, "key", SECOND), 8);
        ratecell_limiter_free(limiter);
    }
}

int main(void) {
    static const char *const alike[] = {
        "200/w", "fixed_window 200/1h", "sliding_window 200/1h", "sliding_log 200/1h",
        "200/w & fixed_window 300/1h", "fixed_window 300/1h & 200/w",
    };
    as_single_calls();
    for (size_t i = 0; i < CHECK_COUNT(alike); i++) {
        one_key_several_times(alike[i], 1);
        one_key_several_times(alike[i], 2);
        one_key_several_times(alike[i], strchr(alike[i], '&') ? 32 : 50);
    }
    one_refusal_is_all_s(1);
    one_refusal_is_all_s(2);
    one_refusal_is_all_s(MOST);
    a_bad_claim_is_a_bad_call();
    layers_are_counted();
    return CHECK_END();
}
