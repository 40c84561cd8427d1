// flags: -std=c++20
// What C++20 adds to the use: designated fields, std::span.

#include "support/check.hpp"

#include <span>
#include <vector>

using namespace std::chrono_literals;
using ratecell::Decision;
using ratecell::Limiter;
using ratecell::Request;

namespace {

void a_config_names_its_fields() {
    const Limiter few("1/d", {.max_keys = 1000, .when_full = ratecell::WhenFull::Deny});
    const Limiter many("1/d", {.max_keys = 100'000});
    CHECK(few.stats()->slots < many.stats()->slots);
}

void a_batch_is_a_part_of_more() {
    const Limiter limiter("10/s");
    const std::vector<Request> requests = {Request("a", 1).at(0s), Request("b", 2).at(0s), Request("c", 3).at(0s),
                                           Request("d", 4).at(0s)};
    std::vector<Decision> decisions(requests.size());
    const auto some = std::span(requests).subspan(1, 2);
    CHECK_EQUAL(limiter.decide_batch(some, std::span(decisions).first(2)), 0);
    CHECK_EQUAL(decisions[0].remaining(), 8u);
    CHECK_EQUAL(decisions[1].remaining(), 7u);
    CHECK_EQUAL(decisions[2].error(), RATECELL_EINVAL);
    CHECK_EQUAL(limiter.stats_at(0s)->live, 2u);
}

} // namespace

int main() {
    a_config_names_its_fields();
    a_batch_is_a_part_of_more();
    return check::end(__FILE__);
}
