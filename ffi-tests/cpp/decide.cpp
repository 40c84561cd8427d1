// What each call of a Limiter decides.

#include "support/check.hpp"

#include <array>
#include <vector>

using namespace std::literals;
using check::Time;
using ratecell::Decision;
using ratecell::Limiter;
using ratecell::Outcome;
using ratecell::Request;

namespace {

void a_check_says_all_there_is() {
    const Limiter limiter("10/s");
    const Decision first = limiter.check_at("key", 4, 0s);
    CHECK(first);
    CHECK_EQUAL(first.outcome(), Outcome::Allowed);
    CHECK_EQUAL(first.error(), 0);
    CHECK_EQUAL(first.limit(), 10u);
    CHECK_EQUAL(first.remaining(), 6u);
    CHECK_EQUAL(first.retry_after(), 0ns);
    CHECK_EQUAL(first.reset_after(), 400ms);
    CHECK_EQUAL(first.delay(), 0ns);
    CHECK_EQUAL(first.layer(), 0u);

    const Decision denied = limiter.check_at("key", 7, 0s);
    CHECK_EQUAL(denied.outcome(), Outcome::Denied);
    CHECK_EQUAL(denied.retry_after(), 100ms);
    CHECK_EQUAL(limiter.check_at("key", 7, 100ms - 1ns).retry_after(), 1ns);
    CHECK(limiter.check_at("key", 7, 100ms));
}

void a_cost_above_the_capacity_never_goes() {
    const Decision never = Limiter("10/s").check_at("key", 11, 0s);
    CHECK_EQUAL(never.outcome(), Outcome::Never);
    CHECK(!never.retry_after());
    CHECK_EQUAL(never.error(), 0);
}

void a_leaky_queue_delays() {
    const Limiter queue("leaky_queue 10/s queue=20");
    CHECK_EQUAL(queue.check_at("key", 1, 0s).delay(), 0ns);
    CHECK_EQUAL(queue.check_at("key", 1, 0s).delay(), 100ms);
}

void the_layer_is_the_tightest() {
    const Limiter layers("10/s & fixed_window 2/1h");
    const Decision decision = layers.check_at("key", 1, 0s);
    CHECK_EQUAL(decision.layer(), 1u);
    CHECK_EQUAL(decision.limit(), 2u);
}

void the_own_clock_decides_as_well() {
    const Limiter limiter("2/1d");
    CHECK_EQUAL(limiter.check("key").remaining(), 1u);
    CHECK_EQUAL(limiter.check("key", 0).remaining(), 1u);
    CHECK_EQUAL(limiter.check("key", 0).remaining(), 1u);
    CHECK_EQUAL(limiter.check("other", 2).remaining(), 0u);
    CHECK_EQUAL(limiter.check("key", 2).outcome(), Outcome::Denied);
    CHECK_EQUAL(limiter.decide(Request::hashed(7).cost(2)).remaining(), 0u);
    CHECK_EQUAL(limiter.decide(Request::hashed(7)).outcome(), Outcome::Denied);
}

void keys_are_bytes() {
    const Limiter limiter("1/s");
    for (const std::string_view key : {""sv, "\0"sv, "\0\0"sv, "a\0b"sv, "a\0c"sv}) {
        CHECK(limiter.check_at(key, 1, 0s));
        CHECK(!limiter.check_at(key, 1, 0s));
    }
    const std::string text = "user:42";
    const std::vector<unsigned char> same(text.begin(), text.end());
    CHECK(limiter.check_at(text, 1, 0s));
    CHECK(!limiter.check_at(ratecell::bytes(same.data(), same.size()), 1, 0s));
}

void a_hash_is_a_key_of_its_own() {
    const Limiter limiter("1/s");
    for (const std::uint64_t hash : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX}) {
        CHECK(limiter.decide(Request::hashed(hash).at(0s)));
        CHECK_EQUAL(limiter.decide(Request::hashed(hash).at(0s)).retry_after(), 1s);
        CHECK_EQUAL(limiter.decide(Request::hashed(hash).cost(2).at(0s)).outcome(), Outcome::Never);
    }
}

void peek_and_forget() {
    const Limiter limiter("10/s");
    CHECK_EQUAL(limiter.check_at("key", 0, 0s).remaining(), 10u);
    CHECK_EQUAL(limiter.forget("key"), 1);
    CHECK_EQUAL(limiter.check_at("key", 10, 0s).remaining(), 0u);
    CHECK_EQUAL(limiter.check_at("key", 0, 300ms).remaining(), 3u);
    CHECK_EQUAL(limiter.forget("key"), 0);
    CHECK_EQUAL(limiter.check_at("key", 0, 0s).remaining(), 10u);
}

void a_batch_is_as_many_checks() {
    const Limiter one("10/s"), other("10/s");
    const std::vector<Request> requests = {Request("a", 7).at(5s), Request("b").at(5s),  Request("a", 4).at(5s),
                                           Request("a", 3).at(5s), Request("", 11).at(5s), Request("a", 0).at(5s)};
    std::vector<Decision> decisions(requests.size());
    CHECK_EQUAL(one.decide_batch(requests, decisions), 0);
    for (std::size_t i = 0; i < requests.size(); i++) {
        const ratecell_request &raw = requests[i].raw();
        const Decision single = other.check_at(ratecell::bytes(raw.key, raw.key_len), raw.cost, 5s);
        CHECK_EQUAL(decisions[i].outcome(), single.outcome());
        CHECK_EQUAL(decisions[i].remaining(), single.remaining());
        CHECK_EQUAL(decisions[i].retry_after(), single.retry_after());
        CHECK_EQUAL(decisions[i].reset_after(), single.reset_after());
    }
}

void a_batch_takes_any_sequence() {
    const Limiter limiter("5/1d");
    const Request pair[2] = {{"key", 2}, {"key", 2}};
    std::array<Decision, 2> array;
    CHECK_EQUAL(limiter.decide_batch(pair, array), 0);
    CHECK_EQUAL(array[1].remaining(), 1u);
    Decision decisions[2];
    CHECK_EQUAL(limiter.decide_batch(pair, 1, decisions), 0);
    CHECK_EQUAL(decisions[0].outcome(), Outcome::Denied);
    CHECK_EQUAL(decisions[1].error(), RATECELL_EINVAL);
    CHECK_EQUAL(limiter.decide_batch(nullptr, 0, nullptr), 0);
    const Request later[2] = {Request("key", 2).at(30 * 24h), Request("key", 2).at(30 * 24h)};
    CHECK_EQUAL(limiter.decide_batch(later, 2, decisions), 0);
    CHECK_EQUAL(decisions[1].remaining(), 1u);
}

void a_batch_goes_by_the_own_clock() {
    const Limiter limiter("2/1d");
    const std::array<Request, 1> requests = {{{"key"}}};
    std::array<Decision, 1> decisions;
    const Time before = *limiter.now();
    CHECK_EQUAL(limiter.decide_batch(requests, decisions), 0);
    // Had it been charged earlier, it would be reset earlier.
    CHECK(limiter.check_at("key", 0, before).reset_after() >= 12h);
}

void a_wrong_batch_charges_nothing() {
    const Limiter limiter("5/1d");
    const std::array<Request, 2> requests = {{{"key"}, {"key"}}};
    std::array<Decision, 2> decisions;
    std::array<Decision, 1> few;
    CHECK_EQUAL(limiter.decide_batch(requests, few), RATECELL_ESIZE);
    CHECK_EQUAL(limiter.decide_batch(nullptr, 1, decisions.data()), RATECELL_EINVAL);
    CHECK_EQUAL(limiter.decide_batch(requests.data(), 1, nullptr), RATECELL_EINVAL);
    CHECK_EQUAL(limiter.decide_batch(requests.data(), SIZE_MAX, decisions.data()), RATECELL_ESIZE);
    const std::array<Request, 2> early = {{{"key"}, Request("key").at(-1ns)}};
    CHECK_EQUAL(limiter.decide_batch(early, decisions), RATECELL_EINVAL);
    CHECK_EQUAL(decisions[0].error(), RATECELL_EINVAL);
    CHECK_EQUAL(limiter.check("key", 0).remaining(), 5u);
}

void a_key_that_no_memory_holds_is_refused() {
    const Limiter limiter("1/s");
    const std::string_view endless("key", SIZE_MAX);
    CHECK_EQUAL(limiter.check(endless).error(), RATECELL_ESIZE);
    CHECK_EQUAL(limiter.check_at(endless, 1, 0s).error(), RATECELL_ESIZE);
    CHECK_EQUAL(limiter.check(endless, 0).error(), RATECELL_ESIZE);
    CHECK_EQUAL(limiter.check_at(endless, 0, 0s).error(), RATECELL_ESIZE);
    CHECK_EQUAL(limiter.forget(endless), RATECELL_ESIZE);
    CHECK_EQUAL(limiter.check(ratecell::bytes(nullptr, 3)).error(), RATECELL_EINVAL);
}

void no_time_is_below_zero() {
    const Limiter limiter("1/s");
    for (const Time now : {-1ns, Time::min()}) {
        CHECK_EQUAL(limiter.check_at("key", 1, now).error(), RATECELL_EINVAL);
        CHECK_EQUAL(limiter.decide(Request::hashed(7).at(now)).error(), RATECELL_EINVAL);
        CHECK_EQUAL(limiter.decide(Request("key").at(now)).error(), RATECELL_EINVAL);
        CHECK_EQUAL(limiter.decide(Request("key").within(now)).error(), RATECELL_EINVAL);
        // Whatever else is said of it, before or afterwards.
        CHECK_EQUAL(limiter.decide(Request("key").charge().with_next().at(now).cost(0)).error(), RATECELL_EINVAL);
        CHECK_EQUAL(limiter.decide(Request::hashed(7).at(now).at(0s).within(0s)).error(), RATECELL_EINVAL);
        CHECK_EQUAL(limiter.stats_at(now).error(), RATECELL_EINVAL);
    }
    CHECK_EQUAL(limiter.check_at("key", 0, 0s).remaining(), 1u);
    const Decision late = Limiter("3/1us").check_at("key", 1, Time::max());
    CHECK_EQUAL(late.outcome(), Outcome::ClockRange);
    CHECK(!late.retry_after());
}

void a_request_says_what_is_next() {
    const Limiter limiter("10/s");
    const Request request = Request("key", 4).at(0s).with_next();
    CHECK(!limiter.decide(request.cost(0)).next_after());
    CHECK_EQUAL(limiter.decide(request).next_after(), 100ms);
    CHECK(!limiter.check_at("key", 1, 0s).next_after());
    CHECK_EQUAL(limiter.decide(request.cost(6)).next_after(), 100ms);
    CHECK_EQUAL(limiter.decide(request.cost(6)).remaining(), 5u);
}

void a_full_table_says_so() {
    const Limiter limiter("1/h", {1, ratecell::WhenFull::Deny});
    int without = 0;
    for (std::uint64_t hash = 0; hash < 100; hash++) {
        const Decision decision = limiter.decide(Request::hashed(hash).at(0s));
        CHECK_EQUAL(decision.no_place(), !decision);
        without += decision.no_place();
    }
    CHECK_EQUAL(without, 93);
    CHECK(!limiter.decide(Request::hashed(0).at(0s)).no_place());
}

void a_request_is_one_value() {
    constexpr Request request = Request("key").cost(5).at(7ns).within(3ns).with_next();
    static_assert(request.raw().cost == 5 && request.raw().now_ns == 7 && request.raw().max_delay_ns == 3);
    static_assert(request.raw().flags == (RATECELL_AT | RATECELL_WITHIN | RATECELL_NEXT));
    static_assert(Request::hashed(9).charge().raw().flags == (RATECELL_HASHED | RATECELL_CHARGE));
    CHECK_EQUAL(Request::hashed(9).raw().hash, 9u);
    const Limiter limiter("10/s");
    CHECK_EQUAL(limiter.decide(Request("key").charge().within(0s)).error(), RATECELL_EINVAL);
}

} // namespace

int main() {
    a_request_says_what_is_next();
    a_full_table_says_so();
    a_request_is_one_value();
    a_check_says_all_there_is();
    a_cost_above_the_capacity_never_goes();
    a_leaky_queue_delays();
    the_layer_is_the_tightest();
    the_own_clock_decides_as_well();
    keys_are_bytes();
    a_hash_is_a_key_of_its_own();
    peek_and_forget();
    a_batch_is_as_many_checks();
    a_batch_takes_any_sequence();
    a_batch_goes_by_the_own_clock();
    a_wrong_batch_charges_nothing();
    a_key_that_no_memory_holds_is_refused();
    no_time_is_below_zero();
    return check::end(__FILE__);
}
