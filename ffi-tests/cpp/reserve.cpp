// What a Reservation holds, and what it gives back when it ends.

#include "support/check.hpp"

#include <utility>

using namespace std::literals;
using ratecell::Config;
using ratecell::Limiter;
using ratecell::Outcome;
using ratecell::Request;
using ratecell::Reservation;

namespace {

std::uint64_t remaining(const Limiter &limiter) { return limiter.check("key", 0).remaining(); }

void what_is_used_is_settled_at_the_end() {
    const Limiter limiter("20/w & in_flight 12 hold=1w");
    {
        Reservation held = limiter.reserve({"key", 10});
        CHECK(held);
        CHECK(held.decision());
        CHECK_EQUAL(held.decision().remaining(), 2u);
        held.used(4);
    }
    CHECK_EQUAL(remaining(limiter), 12u);
    CHECK(limiter.check("key", 12));
    CHECK_EQUAL(remaining(limiter), 0u);
}

void without_a_word_all_is_used_and_the_permit_released() {
    const Limiter limiter("20/w & in_flight 15 hold=1w");
    { CHECK(limiter.reserve({"key", 10})); }
    CHECK_EQUAL(remaining(limiter), 10u);
    CHECK_EQUAL(limiter.check("key", 0).layer(), 0u);
}

void each_is_settled_and_released_once() {
    const Limiter limiter("fixed_window 20/1d & in_flight 20 hold=1d");
    CHECK(limiter.check_at("key", 5, 0s));
    Reservation held = limiter.reserve(Request("key", 5).at(0s));
    CHECK_EQUAL(held.settle_at(1, 0s).remaining(), 10u);
    CHECK_EQUAL(held.settle_at(0, 0s).error(), RATECELL_EINVAL);
    CHECK(held.renew_at(0s));
    CHECK_EQUAL(held.release_at(0s).given_back(), 5u);
    CHECK_EQUAL(held.release_at(0s).error(), RATECELL_EINVAL);
    CHECK_EQUAL(limiter.check_at("key", 0, 0s).remaining(), 14u);
    CHECK_EQUAL(held.renew_at(-1ns).error(), RATECELL_EINVAL);
}

void it_moves_and_is_handed_on() {
    const Limiter limiter("20/w");
    Reservation first = limiter.reserve({"key", 10});
    Reservation second = std::move(first);
    CHECK(!first);
    CHECK(second);
    const ratecell_reservation raw = second.release_raw();
    CHECK(!second);
    CHECK_EQUAL(remaining(limiter), 10u);
    Reservation third(limiter, raw);
    third.used(0);
    third = Reservation();
    CHECK_EQUAL(remaining(limiter), 20u);
}

void a_refusal_holds_nothing() {
    const Limiter limiter("20/w");
    Reservation refused = limiter.reserve({"key", 21});
    CHECK(!refused);
    CHECK_EQUAL(refused.decision().outcome(), Outcome::Never);
    CHECK_EQUAL(refused.settle(0).error(), RATECELL_EINVAL);
    CHECK_EQUAL(limiter.reserve(Request("key", 1).charge()).decision().error(), RATECELL_EINVAL);
    const Limiter empty;
    CHECK_EQUAL(empty.reserve({"key", 1}).decision().error(), RATECELL_EINVAL);
    CHECK_EQUAL(remaining(limiter), 20u);
}

void a_region_has_room_for_what_is_given_back() {
    alignas(64) static char memory[65536];
    Config config;
    config.max_keys = 64;
    {
        const auto without = Limiter::init(memory, sizeof memory, "20/w", config);
        CHECK_EQUAL(without->reserve({"key", 1}).decision().error(), RATECELL_ERESERVE);
    }
    config.reservations = true;
    const auto with = Limiter::init(memory, sizeof memory, "20/w", config);
    CHECK(with->reserve({"key", 1}));
}

} // namespace

int main() {
    what_is_used_is_settled_at_the_end();
    without_a_word_all_is_used_and_the_permit_released();
    each_is_settled_and_released_once();
    it_moves_and_is_handed_on();
    a_refusal_holds_nothing();
    a_region_has_room_for_what_is_given_back();
    return check::end(__FILE__);
}
