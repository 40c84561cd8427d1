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
using ratecell::Claim;
using ratecell::Decision;
using ratecell::Field;
using ratecell::Limiter;
using ratecell::Request;

namespace {

using Requests = std::array<Request, 2>;
using Decisions = std::array<Decision, 2>;
using Claims = std::array<Claim, 2>;

template <class T>
T any() noexcept;

// noexcept(...) of a call is of its arguments too: any<T>() throws nothing.
static_assert(noexcept(Limiter::make("1/s")));
static_assert(noexcept(any<Limiter &>().check(any<std::string_view>())));
static_assert(noexcept(any<Limiter &>().check_at(any<std::string_view>(), 1, any<check::Time>())));
static_assert(noexcept(any<Limiter &>().check_hash(1)));
static_assert(noexcept(any<Limiter &>().check_hash_at(1, 1, any<check::Time>())));
static_assert(noexcept(any<Limiter &>().peek(any<std::string_view>())));
static_assert(noexcept(any<Limiter &>().peek_at(any<std::string_view>(), any<check::Time>())));
static_assert(noexcept(any<Limiter &>().charge(any<std::string_view>())));
static_assert(noexcept(any<Limiter &>().charge_at(any<std::string_view>(), 1, any<check::Time>())));
static_assert(noexcept(Claim(any<Limiter &>(), any<std::string_view>())));
static_assert(noexcept(ratecell::check_all(any<Claims &>(), any<Decisions &>())));
static_assert(noexcept(Limiter::attach(nullptr, 0, nullptr)) && noexcept(Limiter::open(nullptr, nullptr)));
static_assert(noexcept(any<Limiter &>().forget(any<std::string_view>())));
static_assert(noexcept(any<Limiter &>().check_batch(any<Requests &>(), any<Decisions &>())));
static_assert(
    noexcept(any<Limiter &>().check_batch_at(any<Requests &>(), any<check::Time>(), any<Decisions &>())));
static_assert(noexcept(any<Limiter &>().stats()));
static_assert(noexcept(any<Limiter &>().header(Field::RetryAfter, any<Decision &>(), nullptr, nullptr, 0)));

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
    char buffer[64];

    bool answered = true;
    const std::uint64_t before = allocations;
    const Decision denied = limiter.check_at(key, 11, 0s);
    for (const Decision &decision :
         {limiter.check(key), limiter.check_hash(1), limiter.check_hash_at(2, 1, 0s), limiter.peek(key),
          limiter.peek_at(key, 0s), limiter.charge(key), limiter.charge_at(key, 1, 0s)}) {
        answered = answered && decision.error().ok();
    }
    answered = answered && limiter.forget(key).ok() && limiter.check_batch(requests, decisions).ok() &&
               limiter.check_batch_at(requests, 0s, decisions).ok() && limiter.stats() &&
               ratecell::check_all({{limiter, "one"}, {limiter, "two", 1, 0s}}).error().ok() &&
               limiter.header(Field::RateLimitPolicy, denied, name, buffer, sizeof buffer);
    const std::uint64_t during = allocations - before;

    CHECK(answered);
    CHECK_EQUAL(during, 0u);
    CHECK_EQUAL(*limiter.header(Field::RateLimitPolicy, denied, name), buffer);
    CHECK(allocations > before || by_valgrind());
}

} // namespace

int main() {
    deciding_takes_no_memory();
    return check::end(__FILE__);
}
