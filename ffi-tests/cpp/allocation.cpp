// What decides allocates nothing, and throws nothing.

#include "support/check.hpp"

#include <array>
#include <cstdlib>
#include <new>

namespace {

std::uint64_t allocations = 0;

} // namespace

void *operator new(std::size_t size) {
    allocations++;
    void *memory = std::malloc(size);
    if (memory == nullptr) {
        std::abort();
    }
    return memory;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

using namespace std::chrono_literals;
using ratecell::Answer;
using ratecell::Claim;
using ratecell::Decision;
using ratecell::Limiter;
using ratecell::Request;
using ratecell::Style;

namespace {

using Requests = std::array<Request, 2>;
using Decisions = std::array<Decision, 2>;
using Claims = std::array<Claim, 2>;
using Wall = std::chrono::system_clock::time_point;

template <class T>
T any() noexcept;

// noexcept(...) of a call is of its arguments too: any<T>() throws nothing.
static_assert(noexcept(any<Limiter &>().check(any<std::string_view>())));
static_assert(noexcept(any<Limiter &>().check_at(any<std::string_view>(), 1, any<check::Time>())));
static_assert(noexcept(any<Limiter &>().decide(Request::hashed(1).cost(2).at(any<check::Time>()))));
static_assert(noexcept(any<Limiter &>().decide(Request(any<std::string_view>()).charge().with_next())));
static_assert(noexcept(any<Limiter &>().decide(Request(any<std::string_view>()).within(any<check::Time>()))));
static_assert(noexcept(Claim(any<Limiter &>(), any<std::string_view>())));
static_assert(noexcept(ratecell::decide_all(any<Claims &>(), any<Decisions &>())));
static_assert(noexcept(any<Limiter &>().forget(any<std::string_view>())));
static_assert(noexcept(any<Limiter &>().decide_batch(any<Requests &>(), any<Decisions &>())));
static_assert(noexcept(any<Limiter &>().stats()));
static_assert(noexcept(ratecell::fields(Style::X, any<Answer *>(), 1, any<Wall>(), nullptr, 0)));

/// valgrind has an operator new of its own, so that nothing is counted.
bool by_valgrind() {
    const char *preloaded = std::getenv("LD_PRELOAD");
    return preloaded != nullptr && std::string_view(preloaded).find("vgpreload") != std::string_view::npos;
}

void deciding_takes_no_memory() {
    const Limiter limiter("10/s");
    const std::string key(100, 'k');
    const Requests requests = {{{key}, {"other"}}};
    Decisions decisions;
    // Too long for a std::string without memory of its own.
    const char *const name = "the public interface of this service";
    char buffer[256];

    bool answered = true;
    const std::uint64_t before = allocations;
    const Decision denied = limiter.check_at(key, 11, 0s);
    const Answer answer = Answer(limiter, denied).named(name);
    for (const Decision &decision :
         {limiter.check(key), limiter.check_at(key, 0, 0s), limiter.decide(Request::hashed(1)),
          limiter.decide(Request::hashed(2).at(0s).within(1s)), limiter.decide(Request(key).charge()),
          limiter.decide(Request(key).at(0s).with_next())}) {
        answered = answered && decision.error().ok();
    }
    answered = answered && limiter.forget(key).ok() && limiter.decide_batch(requests, decisions).ok() &&
               limiter.stats() && ratecell::decide_all({{limiter, "one"}, {limiter, "two", 1}}).error().ok() &&
               ratecell::fields(Style::Draft11, &answer, 1, Wall(), buffer, sizeof buffer);
    const std::uint64_t during = allocations - before;

    CHECK(answered);
    CHECK_EQUAL(during, 0u);
    CHECK_EQUAL(*ratecell::fields(Style::Draft11, answer), buffer);
    CHECK(allocations > before || by_valgrind());
}

} // namespace

int main() {
    deciding_takes_no_memory();
    return check::end(__FILE__);
}
