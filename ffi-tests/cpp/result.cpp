// A value or an error: by the names of C++23's std::expected.

#include "support/check.hpp"

#include <string>
#include <type_traits>
#include <utility>

using ratecell::Failure;
using ratecell::Limiter;
using ratecell::Result;
using ratecell::Status;

namespace {

static_assert(std::is_same_v<Result<Limiter, Failure>::value_type, Limiter>);
static_assert(std::is_same_v<Result<Limiter, Failure>::error_type, Failure>);
static_assert(std::is_nothrow_move_constructible_v<Result<Limiter, Failure>>);
static_assert(noexcept(Limiter::make(nullptr)));
static_assert(noexcept(Limiter::init(nullptr, 0, nullptr)));
static_assert(noexcept(Limiter::attach(nullptr, 0, nullptr)));
static_assert(noexcept(Limiter::open(nullptr, nullptr)));
static_assert(noexcept(std::declval<const Limiter &>().with_policy(nullptr)));
static_assert(noexcept(std::declval<const Limiter &>().change(nullptr)));
static_assert(noexcept(ratecell::Rules::make(std::string_view())));
static_assert(noexcept(std::declval<const ratecell::Rules &>().change(std::string_view())));
static_assert(noexcept(std::declval<const ratecell::Rules &>().beside(std::string_view())));

/// The status that the call throws; 0 if it throws nothing.
template <class Call>
std::int32_t thrown(Call call) {
    try {
        call();
        return 0;
    } catch (const ratecell::Error &error) {
        return error.code();
    }
}

void a_value_is_there() {
    Result<Limiter, Failure> made = Limiter::make("2/m");
    CHECK(made.has_value() && made);
    CHECK(made.error().ok());
    CHECK_EQUAL(made.value().check("key").remaining(), 1u);
    CHECK_EQUAL(std::as_const(made).value().check("key").remaining(), 0u);
    const Limiter taken = std::move(made).value();
    CHECK(!taken.check("key"));
    CHECK_EQUAL(Limiter::make("2/m").value().check("key").remaining(), 1u);
    const Result<std::string> text = ratecell::format("2/60s");
    CHECK_EQUAL(text.value(), "2/m");
    CHECK_EQUAL(text.value_or("none"), "2/m");
}

void an_error_is_there() {
    Result<Limiter, Failure> refused = Limiter::make("2/0s");
    CHECK(!refused.has_value() && !refused);
    CHECK_EQUAL(thrown([&] { static_cast<void>(refused.value()); }), RATECELL_EPOLICY_ZERO_PERIOD);
    CHECK_EQUAL(thrown([&] { static_cast<void>(std::as_const(refused).value()); }), RATECELL_EPOLICY_ZERO_PERIOD);
    CHECK_EQUAL(thrown([&] { static_cast<void>(std::move(refused).value()); }), RATECELL_EPOLICY_ZERO_PERIOD);
    // Of a Status, too.
    const Result<std::string> text = ratecell::format("2/0s");
    CHECK_EQUAL(thrown([&] { static_cast<void>(text.value()); }), RATECELL_EPOLICY_ZERO_PERIOD);
    CHECK_EQUAL(text.value_or("none"), "none");
    CHECK_EQUAL(Limiter::make("2/0s").value_or(Limiter("1/m")).policy().value(), "1/m");
}

void what_follows_is_done_with_a_value_alone() {
    int called = 0;
    const auto limits = [&](std::string text) {
        called++;
        return ratecell::explain(text.c_str());
    };
    CHECK_EQUAL(ratecell::format("2/60s").and_then(limits).value(), "");
    CHECK_EQUAL(ratecell::format("2/0s").and_then(limits).error(), RATECELL_EPOLICY_ZERO_PERIOD);
    CHECK_EQUAL(called, 1);
    const auto length = [&](const std::string &text) {
        called++;
        return text.size();
    };
    CHECK_EQUAL(ratecell::format("2/60s").transform(length).value(), 3u);
    CHECK_EQUAL(ratecell::format("2/0s").transform(length).error(), RATECELL_EPOLICY_ZERO_PERIOD);
    CHECK_EQUAL(called, 2);
    // Of a Result that stays where it is.
    Result<Limiter, Failure> made = Limiter::make("2/m");
    const auto left = [](const Limiter &limiter) { return limiter.check("key").remaining(); };
    CHECK_EQUAL(made.transform(left).value(), 1u);
    CHECK_EQUAL(std::as_const(made).transform(left).value(), 0u);
    const auto tier = [](const Limiter &limiter) { return limiter.with_policy("3/m"); };
    CHECK(made.and_then(tier).has_value() && std::as_const(made).and_then(tier).has_value() && made->get() != nullptr);
    const Result<Limiter, Failure> refused = Limiter::make("2/0s");
    CHECK_EQUAL(refused.and_then(tier).error(), RATECELL_EPOLICY_ZERO_PERIOD);
    CHECK_EQUAL(refused.transform(left).error(), RATECELL_EPOLICY_ZERO_PERIOD);
    // What is moved on is whole.
    const auto shared = Limiter::make("2/m").transform([](Limiter limiter) {
        return std::make_shared<const Limiter>(std::move(limiter));
    });
    CHECK_EQUAL((*shared)->check("key").remaining(), 1u);
}

} // namespace

int main() {
    a_value_is_there();
    an_error_is_there();
    what_follows_is_done_with_a_value_alone();
    return check::end(__FILE__);
}
