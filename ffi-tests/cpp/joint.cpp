// Several limiters at once, all or nothing.

#include "support/check.hpp"

#include <array>
#include <vector>

using namespace std::chrono_literals;
using ratecell::decide_all;
using ratecell::Claim;
using ratecell::Decision;
using ratecell::Limiter;
using ratecell::Outcome;
using ratecell::Request;
using ratecell::Verdict;

namespace {

static_assert(!std::is_constructible_v<Claim, Limiter, const char *>, "a claim on what is gone");
static_assert(std::is_constructible_v<Claim, const Limiter &, const char *>);
static_assert(!std::is_convertible_v<Verdict, bool> && !std::is_convertible_v<bool, Verdict>);

void all_or_nothing() {
    const Limiter user("5/h"), tenant("fixed_window 8/h");
    std::vector<Decision> decisions(2);
    const std::vector<Claim> claims = {{user, Request("anna", 2).at(0s)}, {tenant, Request("acme", 3).at(0s)}};
    const Verdict first = decide_all(claims, decisions);
    CHECK(first);
    CHECK_EQUAL(first.outcome(), Outcome::Allowed);
    CHECK_EQUAL(first.error(), 0);
    CHECK_EQUAL(decisions[0].remaining(), 3u);
    CHECK_EQUAL(decisions[1].remaining(), 5u);
    CHECK(decide_all(claims));

    // The user has one left, the tenant two.
    const Verdict refused = decide_all(claims, decisions);
    CHECK(!refused);
    CHECK_EQUAL(refused.outcome(), Outcome::Denied);
    CHECK_EQUAL(refused.error(), 0);
    CHECK_EQUAL(decisions[0].outcome(), Outcome::Denied);
    CHECK_EQUAL(decisions[0].retry_after(), 12min);
    CHECK_EQUAL(decisions[1].outcome(), Outcome::Denied);
    const std::array<Claim, 2> other = {{{user, Request("ben", 2).at(0s)}, {tenant, Request("acme", 3).at(0s)}}};
    CHECK(!decide_all(other, decisions));
    CHECK_EQUAL(decisions[0].outcome(), Outcome::Allowed);
    CHECK_EQUAL(decisions[0].remaining(), 5u);
    CHECK_EQUAL(user.check_at("ben", 0, 0s).remaining(), 5u);
    CHECK_EQUAL(tenant.check_at("acme", 0, 0s).remaining(), 2u);
    CHECK_EQUAL(decide_all({{user, Request("ben", 6).at(0s)}}).outcome(), Outcome::Never);
    CHECK_EQUAL(decide_all({{user, Request("ben", 1).at(0s)}, {tenant, Request("acme", 9).at(0s)}}).outcome(), Outcome::Never);
    CHECK_EQUAL(user.check_at("ben", 0, 0s).remaining(), 5u);
}

void a_claim_goes_by_its_limiter_s_clock() {
    const Limiter user("5/h"), tenant("fixed_window 8/w start=first");
    CHECK(decide_all({{user, "anna"}, {tenant, "acme", 3}}));
    CHECK_EQUAL(user.check("anna", 0).remaining(), 4u);
    CHECK_EQUAL(tenant.check("acme", 0).remaining(), 5u);
    const Claim claim(user, "anna", 3);
    CHECK(claim.raw().limiter == user.get());
    CHECK_EQUAL(claim.raw().request.cost, 3u);
    CHECK_EQUAL(claim.raw().request.flags, 0u);
}

void what_is_wrong_is_an_error() {
    const Limiter user("5/h");
    const Limiter empty;
    std::array<Decision, 3> decisions;
    const std::array<Claim, 2> claims = {{{user, Request("a", 1).at(0s)}, {user, Request("b", 1).at(0s)}}};
    CHECK_EQUAL(decide_all(claims, decisions).error(), RATECELL_ESIZE);
    CHECK_EQUAL(decide_all(claims, decisions).outcome(), Outcome::Failed);
    CHECK_EQUAL(decide_all({{user, "a"}, {empty, "b"}}).error(), RATECELL_EINVAL);
    CHECK_EQUAL(decide_all({{user, Request("a", 1).at(-1ns)}}).error(), RATECELL_EINVAL);
    CHECK_EQUAL(decide_all({{user, std::string_view("a", SIZE_MAX)}}).error(), RATECELL_ESIZE);
    CHECK_EQUAL(decide_all(std::vector<Claim>(65, claims[0])).error(), RATECELL_ESIZE);
    CHECK_EQUAL(decide_all(nullptr, 1, nullptr).error(), RATECELL_EINVAL);
    CHECK(!decide_all(nullptr, 1, nullptr));
    CHECK(decide_all(std::vector<Claim>()));
    CHECK_EQUAL(user.stats_at(0s)->live, 0u);
    CHECK_EQUAL(decide_all(std::vector<Claim>(64, claims[0])).outcome(), Outcome::Denied);
    CHECK_EQUAL(user.check_at("a", 0, 0s).remaining(), 5u);
    CHECK_EQUAL(decide_all(claims.data(), 2, decisions.data()).outcome(), Outcome::Allowed);
    CHECK_EQUAL(decisions[1].remaining(), 4u);
    CHECK_EQUAL(decisions[2].error(), RATECELL_EINVAL);
}

} // namespace

int main() {
    all_or_nothing();
    a_claim_goes_by_its_limiter_s_clock();
    what_is_wrong_is_an_error();
    return check::end(__FILE__);
}
