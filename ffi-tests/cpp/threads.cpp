// Threads that share one const Limiter & let through the capacity, and not one unit more.

#include "support/check.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using ratecell::Decision;
using ratecell::Limiter;
using ratecell::Request;

namespace {

constexpr unsigned threads = 4;
constexpr unsigned attempts = 2000;

/// Runs task(limiter) on every thread at once and sums up what the runs let through.
template <class Task>
std::uint64_t sum_of(const Limiter &limiter, Task task) {
    std::atomic<bool> start{false};
    std::atomic<std::uint64_t> sum{0};
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads; i++) {
        running.emplace_back([&] {
            while (!start) {
                std::this_thread::yield();
            }
            sum += task(limiter);
        });
    }
    start = true;
    for (std::thread &thread : running) {
        thread.join();
    }
    return sum;
}

/// So that each thread is refused in the end: fewer than the attempts of all.
constexpr std::uint64_t capacity = 1000;

const char *const policies[] = {
    "1000/d",
    "token_bucket 1000/d capacity=1000",
    "leaky_queue 1000/d queue=999",
    "sliding_window 1000/d",
    "sliding_log 1000/d",
    "fixed_window 1000/d",
    "2000/d & fixed_window 1000/d",
};

void one_key_is_charged_to_the_last_unit(const Limiter &limiter) {
    CHECK_EQUAL(sum_of(limiter,
                       [](const Limiter &shared) {
                           std::uint64_t allowed = 0;
                           for (unsigned i = 0; i < attempts; i++) {
                               allowed += shared.check_at("key", 1, 0s) ? 1 : 0;
                           }
                           return allowed;
                       }),
                capacity);
    CHECK_EQUAL(limiter.check_at("key", 0, 0s).remaining(), 0u);
}

void batches_are_charged_as_exactly(const Limiter &limiter) {
    static constexpr std::array<Request, 4> requests = {
        {Request("a").at(check::Time(0)), Request("b").at(check::Time(0)), Request("a").at(check::Time(0)), Request("c", 3).at(check::Time(0))}};
    const std::uint64_t sum = sum_of(limiter, [](const Limiter &shared) {
        std::uint64_t allowed = 0;
        std::array<Decision, requests.size()> decisions;
        for (unsigned i = 0; i < attempts; i++) {
            if (!shared.decide_batch(requests, decisions).ok()) {
                return UINT64_MAX;
            }
            for (std::size_t j = 0; j < requests.size(); j++) {
                allowed += decisions[j] ? requests[j].raw().cost : 0;
            }
        }
        return allowed;
    });
    // Of three at a time, one unit stays.
    CHECK_EQUAL(sum, 3 * capacity - 1);
    CHECK_EQUAL(limiter.check_at("c", 0, 0s).remaining(), 1u);
}

} // namespace

int main() {
    for (const char *policy : policies) {
        one_key_is_charged_to_the_last_unit(Limiter(policy, {100, ratecell::WhenFull::Deny}));
        batches_are_charged_as_exactly(Limiter(policy, {100, ratecell::WhenFull::Deny}));
    }
    return check::end(__FILE__);
}
