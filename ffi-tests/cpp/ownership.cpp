// Who ends a limiter, and what an empty one answers.

#include "support/check.hpp"

#include <array>
#include <memory>
#include <utility>

using namespace std::chrono_literals;
using ratecell::Decision;
using ratecell::Limiter;
using ratecell::Request;
using ratecell::Outcome;

namespace {

static_assert(!std::is_copy_constructible_v<Limiter> && !std::is_copy_assignable_v<Limiter>);
static_assert(std::is_nothrow_move_constructible_v<Limiter> && std::is_nothrow_move_assignable_v<Limiter>);
static_assert(std::is_nothrow_default_constructible_v<Limiter>);

void every_call_answers_an_error(const Limiter &empty) {
    CHECK(!empty);
    CHECK(empty.get() == nullptr);
    for (const Decision &decision :
         {empty.check("key"), empty.check_at("key", 1, 0s), empty.decide(Request::hashed(7)),
          empty.decide(Request::hashed(7).at(0s)), empty.check("key", 0), empty.check_at("key", 0, 0s)}) {
        CHECK(!decision);
        CHECK_EQUAL(decision.outcome(), Outcome::Failed);
        CHECK_EQUAL(decision.error(), RATECELL_EINVAL);
        CHECK_EQUAL(decision.remaining(), 0u);
        CHECK(!decision.retry_after());
    }
    CHECK_EQUAL(empty.forget("key"), RATECELL_EINVAL);

    const std::array<ratecell::Request, 1> requests = {{{"key"}}};
    std::array<Decision, 1> decisions;
    CHECK_EQUAL(empty.decide_batch(requests, decisions), RATECELL_EINVAL);
    CHECK_EQUAL(empty.decide_batch(nullptr, 0, nullptr), RATECELL_EINVAL);

    CHECK_EQUAL(empty.stats().error(), RATECELL_EINVAL);
    CHECK_EQUAL(empty.stats_at(0s).error(), RATECELL_EINVAL);
    CHECK_EQUAL(empty.now().error(), RATECELL_EINVAL);
    CHECK_EQUAL(*empty.now(), 0ns);
    CHECK_EQUAL(empty.epoch().error(), RATECELL_EINVAL);
    CHECK_EQUAL(empty.policy().error(), RATECELL_EINVAL);
    CHECK_EQUAL(*empty.policy(), "");
    const Decision allowed = Limiter("1/s").check("key");
    char buffer[64];
    const ratecell::Answer answer(empty, allowed);
    CHECK_EQUAL(ratecell::fields(ratecell::Style::X, answer).error(), RATECELL_EINVAL);
    const auto written = ratecell::fields(ratecell::Style::X, &answer, 1, {}, buffer, sizeof buffer);
    CHECK_EQUAL(written.error(), RATECELL_EINVAL);
}

/// Hides from the compiler that a limiter is moved to itself, which it warns of.
Limiter &same(Limiter &limiter) { return limiter; }

void a_move_takes_all() {
    Limiter from("2/1d");
    const ratecell_limiter *handle = from.get();
    CHECK(from.check("key"));
    Limiter to(std::move(from));
    CHECK(to.get() == handle);
    CHECK_EQUAL(to.check("key").remaining(), 0u);
    every_call_answers_an_error(from);

    from = std::move(to);
    CHECK(from.get() == handle);
    CHECK_EQUAL(from.check("key").outcome(), Outcome::Denied);
    every_call_answers_an_error(to);
}

void a_move_ends_what_was_there() {
    Limiter limiter("2/1d");
    CHECK(limiter.check("key", 2));
    limiter = Limiter("3/1d");
    CHECK_EQUAL(limiter.check("key").remaining(), 2u);
    limiter = Limiter();
    every_call_answers_an_error(limiter);
    limiter = Limiter("3/1d");
    CHECK(limiter.check("key"));
}

void a_limiter_moved_to_itself_stays() {
    Limiter limiter("2/1d");
    CHECK(limiter.check("key", 2));
    limiter = std::move(same(limiter));
    CHECK(limiter);
    CHECK_EQUAL(limiter.check("key").outcome(), Outcome::Denied);

    Limiter empty;
    empty = std::move(same(empty));
    every_call_answers_an_error(empty);
}

void two_change_places() {
    Limiter two("2/1d"), three("3/1d");
    std::swap(two, three);
    CHECK_EQUAL(two.check("key", 0).limit(), 3u);
    CHECK_EQUAL(three.check("key", 0).limit(), 2u);
}

void a_handle_of_c_is_taken_over() {
    ratecell_limiter *handle = nullptr;
    CHECK_EQUAL(ratecell_limiter_new("2/1d", nullptr, &handle), 0);
    const Limiter limiter(handle);
    CHECK(limiter.get() == handle);
    CHECK_EQUAL(limiter.check("key").remaining(), 1u);
    CHECK_EQUAL(ratecell_limiter_check(limiter.get(), "key", 3, 1, nullptr), RATECELL_ALLOWED);
    CHECK_EQUAL(limiter.check("key").outcome(), Outcome::Denied);
}

void a_result_gives_its_limiter_away() {
    ratecell::Result<Limiter, ratecell::Failure> made = Limiter::make("2/1d");
    const auto shared = std::make_shared<const Limiter>(*std::move(made));
    CHECK_EQUAL(shared->check("key").remaining(), 1u);
    every_call_answers_an_error(*made);
}

} // namespace

int main() {
    every_call_answers_an_error(Limiter());
    a_move_takes_all();
    a_move_ends_what_was_there();
    a_limiter_moved_to_itself_stays();
    two_change_places();
    a_handle_of_c_is_taken_over();
    a_result_gives_its_limiter_away();
    return check::end(__FILE__);
}
