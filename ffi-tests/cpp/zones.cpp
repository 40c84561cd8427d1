// Policies with tz=caller: each request names its zone.

#include "support/check.hpp"

#include <utility>

using namespace std::literals;
using ratecell::Decision;
using ratecell::Limiter;
using ratecell::Outcome;
using ratecell::Request;
using ratecell::Result;
using ratecell::Zone;

namespace {

constexpr const char *policy = "calendar_window 3/day tz=caller";

void a_request_is_decided_in_its_zone() {
    const Limiter limiter(policy);
    const Zone tokyo = *limiter.zone("Asia/Tokyo");
    CHECK(tokyo);
    const Decision allowed = limiter.decide(Request("key", 3).at(13h).zone(tokyo));
    CHECK(allowed);
    CHECK(allowed.reset_after() == 2h);
    const Zone east = *limiter.zone("-05:00");
    const Decision moved = limiter.decide(Request("key").at(14h).zone(east));
    CHECK(moved.outcome() == Outcome::Denied && moved.retry_after() == 15h);
    CHECK(limiter.decide(Request("key").at(15h).zone(tokyo)));
}

void without_a_zone_it_is_refused() {
    const Limiter limiter(policy);
    const Zone none;
    CHECK(!none);
    for (const Decision &refused : {limiter.check("key"), limiter.decide(Request("key").zone(none))}) {
        CHECK(refused.outcome() == Outcome::Never && refused.no_zone());
    }
    const Zone utc = *limiter.zone("UTC");
    CHECK(!limiter.decide(Request("key").zone(utc)).no_zone());
}

void a_zone_that_the_limiter_does_not_take_is_an_error() {
    Zone utc = *Limiter(policy).zone("UTC");
    const Zone moved = std::move(utc);
    const Limiter limiter("3/s");
    const Decision refused = limiter.decide(Request("key").zone(moved));
    CHECK(refused.outcome() == Outcome::Failed && refused.error() == RATECELL_EINVAL);
    const Result<Zone> none = limiter.zone("UTC");
    CHECK(!none && none.error() == RATECELL_EPOLICY_BAD_ZONE && !*none);
    CHECK(Limiter(policy).zone("Europe/Atlantis").error() == RATECELL_EPOLICY_BAD_ZONE);
    CHECK(Limiter().zone("UTC").error() == RATECELL_EINVAL);
}

} // namespace

int main() {
    a_request_is_decided_in_its_zone();
    without_a_zone_it_is_refused();
    a_zone_that_the_limiter_does_not_take_is_an_error();
    return check::end(__FILE__);
}
