// What rules hold: settled, cancelled, released, and given back by destructors.

#include "support/check.hpp"

#include <utility>

using namespace std::chrono_literals;

namespace {

constexpr std::string_view file = "ratecell_rules = 1\nattributes = ['tokens']\n"
                                  "[[rule]]\nname = 'at-once'\nkey = []\nlimit = 'in_flight 2 hold=1h'\n"
                                  "[[rule]]\nname = 'tokens'\nkey = []\nlimit = 'fixed_window 1000/1d'\n"
                                  "cost = { from = 'tokens', default = 100 }\n";

ratecell::Rules made() {
    ratecell::Config config;
    config.max_keys = 1000;
    config.reservations = true;
    return ratecell::Rules(file, config);
}

std::uint64_t left(const ratecell::Rules &rules) {
    const auto peek = rules.reserve_at({{"tokens", "0"}}, 0ns);
    return peek.decision().claim(1).remaining();
}

void what_is_held_comes_back(const ratecell::Rules &rules) {
    auto first = rules.reserve_at({{"tokens", "300"}}, 0ns);
    CHECK(first && first.decision());
    CHECK(left(rules) == 700);
    auto second = rules.reserve_at({}, 0ns);
    const auto refused = rules.reserve_at({}, 0ns);
    CHECK(!refused && refused.decision().rule() == "at-once");
    CHECK(first.settle_at({{"tokens", "40"}}, 0ns).ok());
    CHECK(!first.settle({{"tokens", "0"}}).ok() && !first.cancel().ok());
    CHECK(second.cancel_at(0ns).ok());
    CHECK(second.release_at(0ns) == 1 && second.release() == 0);
    CHECK(left(rules) == 960);
    auto moved = std::move(first);
    CHECK(static_cast<bool>(moved));
    moved = rules.reserve_at({}, 0ns);
    CHECK(moved.release_at(-1ns) == 0);
}

} // namespace

int main() {
    const ratecell::Rules rules = made();
    what_is_held_comes_back(rules);
    CHECK(left(rules) == 860);
    {
        const auto one = rules.reserve({}), two = rules.reserve({{"tokens", "1"}});
        CHECK(one && two && !rules.reserve({}));
    }
    CHECK(rules.decide({}).error().code() == RATECELL_ERESERVE);
    CHECK(!ratecell::Rules::make(file));
    CHECK(ratecell::RulesReservation().release() == 0);
    return check::end(__FILE__);
}
