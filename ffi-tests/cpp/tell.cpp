// What a Limiter tells: its policy, its clock, its numbers, and the HTTP fields of a decision.

#include "support/check.hpp"

#include <algorithm>

using namespace std::chrono_literals;
using ratecell::Decision;
using ratecell::Answer;
using ratecell::Limiter;
using ratecell::Style;

namespace {

using Wall = std::chrono::system_clock::time_point;

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
    CHECK_EQUAL(ratecell::version(), static_cast<std::uint32_t>(RATECELL_VERSION_NUMBER));
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

void fields_are_lines() {
    const Limiter limiter("2/m");
    const Decision allowed = limiter.check_at("key", 2, 0s);
    const Decision denied = limiter.check_at("key", 1, 0s);
    CHECK_EQUAL(*ratecell::fields(Style::Draft11, Answer(limiter, denied)),
                "RateLimit-Policy: \"2/m\";q=2;w=60\nRateLimit: \"2/m\";r=0;t=30\nRetry-After: 30\n");
    CHECK_EQUAL(*ratecell::fields(Style::Draft11, Answer(limiter, allowed).named("api").unit("content-bytes")),
                "RateLimit-Policy: \"api\";q=2;qu=\"content-bytes\";w=60\nRateLimit: \"api\";r=0;t=30\n");
    CHECK_EQUAL(*ratecell::fields(Style::X, Answer(limiter, denied)),
                "X-RateLimit-Limit: 2\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 60\nRetry-After: 30\n");
    CHECK_EQUAL(*ratecell::fields(Style::GitHub, Answer(limiter, denied), Wall(100s)),
                "X-RateLimit-Limit: 2\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 160\nX-RateLimit-Used: 2\n"
                "Retry-After: 30\n");
    CHECK(ratecell::fields(Style::Draft11 | Style::X, Answer(limiter, denied))->find("\nX-RateLimit-Limit: 2\n") !=
          std::string::npos);
    const Answer answers[] = {Answer(limiter, allowed).named("a"), Answer(limiter, denied).named("b").partition("\1")};
    CHECK_EQUAL(*ratecell::fields(Style::Draft11, answers, 2),
                "RateLimit-Policy: \"a\";q=2;w=60, \"b\";q=2;w=60;pk=:AQ==:\n"
                "RateLimit: \"a\";r=0;t=30, \"b\";r=0;t=30;pk=:AQ==:\nRetry-After: 30\n");
    CHECK_EQUAL(*ratecell::fields(Style::Draft11, nullptr, 0), "");
}

void an_answer_is_refused() {
    const Limiter limiter("2/m");
    const Decision allowed = limiter.check_at("key", 2, 0s), none;
    const Answer answer(limiter, allowed);
    CHECK_EQUAL(ratecell::fields(Style::X, Answer(limiter, none)).error(), RATECELL_EINVAL);
    CHECK_EQUAL(ratecell::fields(Style::X, Answer(Limiter(), allowed)).error(), RATECELL_EINVAL);
    CHECK_EQUAL(ratecell::fields(static_cast<Style>(0), answer).error(), RATECELL_EINVAL);
    CHECK_EQUAL(ratecell::fields(static_cast<Style>(512), answer).error(), RATECELL_EINVAL);
    CHECK_EQUAL(ratecell::fields(Style::X | Style::XUnix, answer).error(), RATECELL_EINVAL);
    CHECK_EQUAL(ratecell::fields(Style::X, answer, Wall(-1s)).error(), RATECELL_EINVAL);
    CHECK_EQUAL(ratecell::fields(Style::X, answer.named("\n")).error(), RATECELL_ENAME);
    CHECK_EQUAL(ratecell::fields(Style::X, answer.unit("tokens")).error(), RATECELL_ENAME);
    CHECK_EQUAL(ratecell::fields(Style::X, answer.partition(std::string(257, 'a'))).error(), RATECELL_ENAME);
    CHECK(ratecell::fields(Style::X, answer.partition({})));
}

void fields_fit_their_buffer_or_are_not_written() {
    const Limiter limiter("2/m");
    const Decision denied = limiter.check_at("key", 3, 0s);
    const Answer answer(limiter, denied);
    const std::string_view value = "X-RateLimit-Limit: 2\nX-RateLimit-Remaining: 2\nX-RateLimit-Reset: 0\n";
    char buffer[128];
    for (std::size_t len = 0; len <= sizeof buffer; len++) {
        std::fill_n(buffer, sizeof buffer, '?');
        const auto written = ratecell::fields(Style::X, &answer, 1, Wall(), buffer, len);
        if (len > value.size()) {
            CHECK_EQUAL(*written, value);
            CHECK(written->data() == buffer);
            CHECK_EQUAL(buffer[value.size()], '\0');
        } else {
            CHECK_EQUAL(written.error(), RATECELL_ENOSPC);
            CHECK_EQUAL(std::string_view(buffer, sizeof buffer), std::string(sizeof buffer, '?'));
        }
    }
    CHECK_EQUAL(*ratecell::fields(Style::X, nullptr, 0, Wall(), buffer, 1), "");
    CHECK_EQUAL(ratecell::fields(Style::X, &answer, 1, Wall(), nullptr, 9).error(), RATECELL_EINVAL);
}

} // namespace

int main() {
    policies_have_one_text();
    a_text_may_grow_while_it_is_asked_for();
    the_library_is_the_header_s();
    the_clock_runs_from_a_monday();
    numbers_are_those_of_c();
    fields_are_lines();
    an_answer_is_refused();
    fields_fit_their_buffer_or_are_not_written();
    return check::end(__FILE__);
}
