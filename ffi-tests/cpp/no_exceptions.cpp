// flags: -fno-exceptions -fno-rtti
// The header without exceptions and RTTI: errors are values.

#include "support/check.hpp"

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "this program is built without exceptions and RTTI"
#endif

using namespace std::chrono_literals;
using ratecell::Limiter;
using ratecell::Request;

namespace {

static_assert(!std::is_constructible_v<Limiter, const char *>, "a constructor that could not tell an error");

void a_limiter_is_made_or_not() {
    const ratecell::Result<Limiter, ratecell::Failure> made = Limiter::make("2/m");
    CHECK(made);
    CHECK_EQUAL(made.error(), 0);
    CHECK_EQUAL(made->check_at("key", 1, 0s).remaining(), 1u);

    const ratecell::Result<Limiter, ratecell::Failure> refused = Limiter::make("2/0s");
    CHECK(!refused);
    CHECK_EQUAL(refused.error(), RATECELL_EPOLICY_ZERO_PERIOD);
    CHECK_EQUAL(refused->check_at("key", 1, 0s).error(), RATECELL_EINVAL);
}

void several_decide_and_share() {
    const Limiter limiter = *Limiter::make("2/m");
    const Limiter other = *limiter.with_policy("3/m");
    CHECK(ratecell::decide_all({{limiter, Request("key", 2).at(0s)}, {other, Request("other", 3).at(0s)}}));
    CHECK_EQUAL(limiter.decide(Request("key").charge().at(0s)).remaining(), 0u);
    CHECK_EQUAL(Limiter::attach(nullptr, 0, "2/m").error(), RATECELL_EINVAL);
    CHECK_EQUAL(Limiter::open("", "2/m").error(), RATECELL_EFILE);
    CHECK(Limiter::open("", "2/m").error().why().find("No such file") != std::string::npos);
}

void text_is_told() {
    const Limiter limiter = *Limiter::make("2/60s");
    CHECK_EQUAL(*limiter.policy(), "2/m");
    const ratecell::Decision decision = limiter.check_at("key", 2, 0s);
    CHECK_EQUAL(*ratecell::fields(ratecell::Style::Draft11, ratecell::Answer(limiter, decision).named("api")),
                "RateLimit-Policy: \"api\";q=2;w=60\nRateLimit: \"api\";r=0;t=30\n");
    CHECK(ratecell::explain("2/0s")->find("column") != std::string::npos);
}

} // namespace

int main() {
    a_limiter_is_made_or_not();
    several_decide_and_share();
    text_is_told();
    return check::end(__FILE__);
}
