// What a Decision, a Status, a Request and a Result say of what C told.

#include "support/check.hpp"

using namespace std::chrono_literals;
using check::Time;
using ratecell::Decision;
using ratecell::Outcome;

namespace {

constexpr std::uint64_t longest = INT64_MAX;

ratecell_decision with_times(std::uint64_t ns) {
    return {7, 6, ns, ns, ns, RATECELL_DENIED, 2, 0, 0, 0};
}

void fields_are_those_of_c() {
    const ratecell_decision raw{10, 3, 4, 5, 6, RATECELL_DENIED, 2, 0, 0, 0};
    const Decision decision(raw);
    CHECK_EQUAL(decision.limit(), 10u);
    CHECK_EQUAL(decision.remaining(), 3u);
    CHECK_EQUAL(decision.retry_after(), 4ns);
    CHECK_EQUAL(decision.reset_after(), 5ns);
    CHECK_EQUAL(decision.delay(), 6ns);
    CHECK_EQUAL(decision.layer(), 2u);
    CHECK_EQUAL(decision.outcome(), Outcome::Denied);
    CHECK_EQUAL(decision.raw().reset_after_ns, 5u);
}

void only_allowed_may_go() {
    const struct {
        std::int32_t status;
        Outcome outcome;
    } cases[] = {
        {RATECELL_ALLOWED, Outcome::Allowed},
        {RATECELL_DENIED, Outcome::Denied},
        {RATECELL_NEVER, Outcome::Never},
        {RATECELL_CLOCK_RANGE, Outcome::ClockRange},
        {RATECELL_EINVAL, Outcome::Failed},
        {RATECELL_EPANIC, Outcome::Failed},
        {INT32_MIN, Outcome::Failed},
        {4, static_cast<Outcome>(4)},
        {INT32_MAX, static_cast<Outcome>(INT32_MAX)},
    };
    for (const auto &given : cases) {
        ratecell_decision raw = with_times(0);
        raw.outcome = given.status;
        const Decision decision(raw);
        CHECK_EQUAL(static_cast<bool>(decision), given.status == RATECELL_ALLOWED);
        CHECK_EQUAL(decision.outcome(), given.outcome);
        CHECK_EQUAL(decision.error(), given.status < 0 ? given.status : 0);
    }
}

void times_end_where_chrono_ends() {
    for (const std::uint64_t ns : {std::uint64_t{0}, std::uint64_t{1}, longest - 1, longest}) {
        const Decision decision(with_times(ns));
        const Time time(static_cast<Time::rep>(ns));
        CHECK_EQUAL(decision.retry_after(), time);
        CHECK_EQUAL(decision.reset_after(), time);
        CHECK_EQUAL(decision.delay(), time);
    }
    for (const std::uint64_t ns : {longest + 1, UINT64_MAX - 1}) {
        const Decision decision(with_times(ns));
        CHECK_EQUAL(decision.retry_after(), Time::max());
        CHECK_EQUAL(decision.reset_after(), Time::max());
        CHECK_EQUAL(decision.delay(), Time::max());
        CHECK_EQUAL(decision.raw().delay_ns, ns);
    }
    const Decision never(with_times(UINT64_MAX));
    CHECK(!never.retry_after());
    CHECK_EQUAL(never.reset_after(), Time::max());
}

void never_is_an_outcome() {
    for (const std::int32_t outcome : {RATECELL_NEVER, RATECELL_CLOCK_RANGE, RATECELL_UNCLEAR_PATH, RATECELL_EINVAL}) {
        for (const std::uint64_t ns : {std::uint64_t{0}, UINT64_MAX - 1, UINT64_MAX}) {
            ratecell_decision raw = with_times(ns);
            raw.outcome = outcome;
            CHECK(!Decision(raw).retry_after());
        }
    }
}

void no_answer_allows_nothing() {
    constexpr Decision none;
    static_assert(!none && none.outcome() == Outcome::Failed && none.error() == RATECELL_EINVAL);
    CHECK_EQUAL(none.limit(), 0u);
    CHECK_EQUAL(none.remaining(), 0u);
    CHECK(!none.retry_after());
    CHECK_EQUAL(none.reset_after(), 0ns);
    CHECK_EQUAL(none.delay(), 0ns);
}

void requests_are_those_of_c() {
    constexpr std::string_view key("a\0b", 3);
    const ratecell::Request one(key);
    CHECK(one.raw().key == key.data());
    CHECK_EQUAL(one.raw().key_len, 3u);
    CHECK_EQUAL(one.raw().cost, 1u);
    CHECK_EQUAL(one.raw().flags, 0u);
    CHECK(one.raw().zone == nullptr && one.raw().reservation == nullptr);
    CHECK_EQUAL(ratecell::Request(key, 9).raw().cost, 9u);

    const std::uint8_t address[4] = {127, 0, 0, 1};
    CHECK_EQUAL(ratecell::bytes(address, sizeof address), std::string_view("\x7f\0\0\1", 4));
    CHECK_EQUAL(ratecell::bytes(nullptr, 0), std::string_view());
}

void statuses_have_text() {
    CHECK(ratecell::Status(0).ok());
    CHECK(ratecell::Status(1).ok());
    CHECK(!ratecell::Status(-1).ok());
    CHECK(ratecell::Status(RATECELL_EINVAL) != RATECELL_EALIGN);
    CHECK_EQUAL(ratecell::Status(RATECELL_ENOMEM).code(), RATECELL_ENOMEM);
    const std::string_view text = ratecell::Status(RATECELL_ENOMEM).message();
    CHECK_EQUAL(text, ratecell_strerror(RATECELL_ENOMEM));
    CHECK_EQUAL(text.substr(0, 17), "RATECELL_ENOMEM: ");
}

void a_result_is_a_value_or_an_error() {
    ratecell::Result<std::string> text(std::string("so"));
    CHECK(text);
    CHECK(text.error().ok());
    CHECK_EQUAL(*text, "so");
    CHECK_EQUAL(text->size(), 2u);
    CHECK_EQUAL(*std::move(text), "so");

    const ratecell::Result<std::string> none = ratecell::Status(RATECELL_ENAME);
    CHECK(!none);
    CHECK_EQUAL(none.error(), RATECELL_ENAME);
    CHECK(none->empty());
}

} // namespace

int main() {
    fields_are_those_of_c();
    only_allowed_may_go();
    times_end_where_chrono_ends();
    never_is_an_outcome();
    no_answer_allows_nothing();
    requests_are_those_of_c();
    statuses_have_text();
    a_result_is_a_value_or_an_error();
    return check::end(__FILE__);
}
