// How a limiter is made, and how it is refused, as a value and as an exception.

#include "support/check.hpp"

using ratecell::Config;
using ratecell::Limiter;
using ratecell::Request;
using ratecell::WhenFull;

namespace {

struct Refusal {
    const char *policy;
    std::int32_t status;
};

const Refusal refusals[] = {
    {"", RATECELL_EPOLICY_SYNTAX},
    {"100 a second", RATECELL_EPOLICY_SYNTAX},
    {"\xff/s", RATECELL_EPOLICY_SYNTAX},
    {"0/s", RATECELL_EPOLICY_ZERO_LIMIT},
    {"10/0s", RATECELL_EPOLICY_ZERO_PERIOD},
    {"10/s burst=0", RATECELL_EPOLICY_ZERO_CAPACITY},
    {"fixed_window 10/1m offset=1m", RATECELL_EPOLICY_BAD_OFFSET},
    {"sieve 10/s", RATECELL_EPOLICY_UNKNOWN_ALGORITHM},
    {"1/s & 1/s & 1/s & 1/s & 1/s & 1/s & 1/s & 1/s & 1/s", RATECELL_EPOLICY_BAD_LAYERS},
};

/// The code of the Error that making throws, and its text; 0 if none is thrown.
std::int32_t thrown(const char *policy, const Config &config, std::string &what) {
    try {
        const Limiter limiter(policy, config);
        return 0;
    } catch (const ratecell::Error &error) {
        what = error.what();
        return error.code();
    }
}

void a_policy_is_refused_with_its_reason() {
    for (const Refusal &refusal : refusals) {
        const ratecell::Result<Limiter, ratecell::Failure> made = Limiter::make(refusal.policy);
        CHECK(!made);
        CHECK(!*made);
        CHECK_EQUAL(made.error(), refusal.status);

        std::string what;
        CHECK_EQUAL(thrown(refusal.policy, {}, what), refusal.status);
        const std::string explanation = *ratecell::explain(refusal.policy);
        CHECK(!explanation.empty());
        CHECK_EQUAL(what, ratecell_strerror(refusal.status) + (": " + explanation));
        CHECK_EQUAL(made.error().why(), explanation);
        CHECK_EQUAL(ratecell::format(refusal.policy).error(), refusal.status);
    }
}

void no_policy_is_refused() {
    std::string what;
    CHECK_EQUAL(Limiter::make(nullptr).error(), RATECELL_EINVAL);
    CHECK_EQUAL(thrown(nullptr, {}, what), RATECELL_EINVAL);
    CHECK_EQUAL(what, ratecell_strerror(RATECELL_EINVAL));
    CHECK_EQUAL(Limiter::make(nullptr).error().why(), "");
    CHECK_EQUAL(Limiter::make("1/s").error().why(), "");
    CHECK_EQUAL(ratecell::explain(nullptr).error(), RATECELL_EINVAL);
    CHECK_EQUAL(ratecell::format(nullptr).error(), RATECELL_EINVAL);
}

void a_config_is_refused() {
    const Config unknown{0, static_cast<WhenFull>(4)};
    const Config huge{std::uint64_t{1} << 50, WhenFull::Evict};
    std::string what;
    CHECK_EQUAL(Limiter::make("1/s", unknown).error(), RATECELL_ECONFIG);
    CHECK_EQUAL(thrown("1/s", unknown, what), RATECELL_ECONFIG);
    CHECK_EQUAL(what, ratecell_strerror(RATECELL_ECONFIG));
    CHECK_EQUAL(Limiter::make("1/s", huge).error(), RATECELL_ENOMEM);
    CHECK_EQUAL(thrown("1/s", huge, what), RATECELL_ENOMEM);
    CHECK(what.size() > std::string_view(ratecell_strerror(RATECELL_ENOMEM)).size());
    CHECK_EQUAL(Limiter::make("1/s", {0, WhenFull::Evict, true}).error(), RATECELL_ECONFIG);
}

void a_config_is_heeded() {
    CHECK_EQUAL(Limiter("1/d").stats()->slots, Limiter("1/d", Config{100000}).stats()->slots);
    CHECK(Limiter("1/d", Config{1000}).stats()->slots < Limiter("1/d").stats()->slots);

    const struct {
        WhenFull when_full;
        std::uint64_t ratecell::Stats::*counted;
    } cases[] = {
        {WhenFull::Evict, &ratecell::Stats::evicted},
        {WhenFull::Share, &ratecell::Stats::shared},
        {WhenFull::Deny, &ratecell::Stats::denied_full},
        {WhenFull::Allow, &ratecell::Stats::allowed_full},
    };
    for (const auto &given : cases) {
        const Limiter limiter("1/1d", Config{8, given.when_full});
        for (std::uint64_t hash = 0; hash < 1000; hash++) {
            CHECK_EQUAL(limiter.decide(Request::hashed(hash * 0x9e3779b97f4a7c15u)).error(), 0);
        }
        for (const auto &other : cases) {
            const std::uint64_t count = (*limiter.stats()).*other.counted;
            CHECK_EQUAL(count > 0, other.when_full == given.when_full);
        }
    }
}

} // namespace

int main() {
    a_policy_is_refused_with_its_reason();
    no_policy_is_refused();
    a_config_is_refused();
    a_config_is_heeded();
    return check::end(__FILE__);
}
