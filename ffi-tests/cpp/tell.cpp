// What a Limiter tells: its policy, its clock, its numbers, and the HTTP fields of a decision.

#include "support/check.hpp"

#include <algorithm>

using namespace std::chrono_literals;
using ratecell::Decision;
using ratecell::Field;
using ratecell::Limiter;

namespace {

const std::string_view absent;

std::string_view name_of(Field field) {
    const char *name = ratecell::name(field);
    return name == nullptr ? absent : name;
}

void policies_have_one_text() {
    CHECK_EQUAL(*ratecell::format("gcra  10/1000ms"), "10/s");
    CHECK_EQUAL(*Limiter("gcra  10/1000ms").policy(), "10/s");
    CHECK_EQUAL(*ratecell::format("10/s & fixed_window 100/60s"), "10/s & fixed_window 100/m");
    const ratecell::Result<std::string> right = ratecell::explain("10/s");
    CHECK(right);
    CHECK(right->empty());
    CHECK(ratecell::explain("10 / x")->find("column") != std::string::npos);
}

void a_text_may_grow_while_it_is_asked_for() {
    int calls = 0;
    const ratecell::Result<std::string> told = ratecell::detail::text([&](char *buffer, std::size_t len) {
        const std::string_view text = ++calls == 1 ? "short" : "longer than before";
        if (len != 0) {
            if (len <= text.size()) {
                return std::int32_t{RATECELL_ENOSPC};
            }
            text.copy(buffer, len);
        }
        return static_cast<std::int32_t>(text.size());
    });
    CHECK(told);
    CHECK_EQUAL(*told, "longer than before");
    CHECK_EQUAL(calls, 4);
}

void the_library_is_the_header_s() {
    CHECK_EQUAL(std::string_view(ratecell::version()), RATECELL_VERSION_STRING);
}

void the_clock_runs_from_a_monday() {
    const Limiter limiter("10/s");
    const auto epoch = *limiter.epoch();
    const auto since_1970 = epoch.time_since_epoch();
    const auto days = std::chrono::duration_cast<std::chrono::hours>(since_1970).count() / 24;
    CHECK(since_1970 == days * 24h);
    // 1 January 1970 was a Thursday.
    CHECK_EQUAL(days % 7, 4);

    const auto first = *limiter.now();
    const auto second = *limiter.now();
    CHECK(first <= second);
    CHECK(epoch + std::chrono::duration_cast<std::chrono::system_clock::duration>(first) <=
          std::chrono::system_clock::now());
    CHECK(first < 7 * 24h);
}

void numbers_are_those_of_c() {
    const Limiter limiter("10/1d", {1000, ratecell::WhenFull::Evict});
    CHECK(limiter.check_at("a", 1, 0s));
    CHECK(limiter.check_at("b", 1, 0s));
    ratecell_stats stats;
    CHECK_EQUAL(ratecell_limiter_stats(limiter.get(), RATECELL_AT, 0, &stats, sizeof stats), 0);
    const ratecell::Stats told = *limiter.stats_at(0s);
    CHECK_EQUAL(told.live, 2u);
    CHECK_EQUAL(told.slots, stats.slots);
    CHECK_EQUAL(told.bytes, stats.bytes);
    CHECK_EQUAL(limiter.stats_at(0s, RATECELL_EXACT)->live, stats.live);
    CHECK_EQUAL(limiter.stats(RATECELL_EXACT)->live_error, 0u);
    CHECK_EQUAL(limiter.stats_at(30 * 24h)->live, 0u);
    CHECK_EQUAL(limiter.stats()->slots, stats.slots);
}

void fields_have_names() {
    CHECK_EQUAL(name_of(Field::RateLimit), "RateLimit");
    CHECK_EQUAL(name_of(Field::RateLimitPolicy), "RateLimit-Policy");
    CHECK_EQUAL(name_of(Field::RetryAfter), "Retry-After");
    CHECK_EQUAL(name_of(Field::XRateLimitLimit), "X-RateLimit-Limit");
    CHECK_EQUAL(name_of(Field::XRateLimitRemaining), "X-RateLimit-Remaining");
    CHECK_EQUAL(name_of(Field::XRateLimitReset), "X-RateLimit-Reset");
    CHECK_EQUAL(name_of(Field::XRateLimitResetUnix), "X-RateLimit-Reset");
    CHECK_EQUAL(name_of(static_cast<Field>(7)), absent);
    CHECK_EQUAL(name_of(static_cast<Field>(-1)), absent);
}

void fields_have_values() {
    const Limiter limiter("2/m");
    const Decision allowed = limiter.check_at("key", 2, 0s);
    const Decision denied = limiter.check_at("key", 1, 0s);
    CHECK_EQUAL(*limiter.header(Field::RateLimit, denied), "\"2/m\";r=0;t=30");
    CHECK_EQUAL(*limiter.header(Field::RateLimit, denied, "api"), "\"api\";r=0;t=30");
    CHECK_EQUAL(*limiter.header(Field::RateLimitPolicy, denied, "api"), "\"api\";q=2;w=60");
    CHECK_EQUAL(*limiter.header(Field::RetryAfter, denied), "30");
    CHECK_EQUAL(*limiter.header(Field::XRateLimitLimit, denied), "2");
    CHECK_EQUAL(*limiter.header(Field::XRateLimitRemaining, denied), "0");
    CHECK_EQUAL(*limiter.header(Field::XRateLimitReset, denied), "60");
    CHECK_EQUAL(limiter.header(Field::XRateLimitResetUnix, denied)->size(), 10u);

    const ratecell::Result<std::string> none = limiter.header(Field::RetryAfter, allowed);
    CHECK(none);
    CHECK(none->empty());
}

void a_field_is_refused() {
    const Limiter limiter("2/m");
    const Decision allowed = limiter.check_at("key", 2, 0s);
    CHECK_EQUAL(limiter.header(Field::RateLimit, Decision()).error(), RATECELL_EINVAL);
    CHECK_EQUAL(limiter.header(static_cast<Field>(7), allowed).error(), RATECELL_EINVAL);
    CHECK_EQUAL(limiter.header(Field::RateLimit, allowed, "\n").error(), RATECELL_ENAME);
}

void a_field_fits_its_buffer_or_is_not_written() {
    const Limiter limiter("2/m");
    const Decision denied = limiter.check_at("key", 3, 0s);
    const std::string_view value = "\"api\";q=2;w=60";
    char buffer[32];
    for (std::size_t len = 0; len <= sizeof buffer; len++) {
        std::fill_n(buffer, sizeof buffer, '?');
        const auto written = limiter.header(Field::RateLimitPolicy, denied, "api", buffer, len);
        if (len > value.size()) {
            CHECK_EQUAL(*written, value);
            CHECK(written->data() == buffer);
            CHECK_EQUAL(buffer[value.size()], '\0');
        } else {
            CHECK_EQUAL(written.error(), RATECELL_ENOSPC);
            CHECK_EQUAL(std::string_view(buffer, sizeof buffer), std::string(sizeof buffer, '?'));
        }
    }
    CHECK_EQUAL(*limiter.header(Field::RetryAfter, denied, nullptr, buffer, 1), "");
    CHECK_EQUAL(limiter.header(Field::RetryAfter, denied, nullptr, nullptr, 0).error(), RATECELL_ENOSPC);
    CHECK_EQUAL(limiter.header(Field::RateLimit, denied, nullptr, nullptr, 9).error(), RATECELL_EINVAL);
}

} // namespace

int main() {
    policies_have_one_text();
    a_text_may_grow_while_it_is_asked_for();
    the_library_is_the_header_s();
    the_clock_runs_from_a_monday();
    numbers_are_those_of_c();
    fields_have_names();
    fields_have_values();
    a_field_is_refused();
    a_field_fits_its_buffer_or_is_not_written();
    return check::end(__FILE__);
}
