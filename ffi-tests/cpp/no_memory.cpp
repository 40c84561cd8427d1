// Where there is no memory: nothing is charged, and what makes a limiter throws nothing.

#include "support/check.hpp"

#include <cstdlib>
#include <new>

namespace {

bool none_left = false;
std::uint64_t allocations = 0;

} // namespace

void *operator new(std::size_t size) {
    allocations++;
    void *memory = none_left ? nullptr : std::malloc(size);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

using namespace std::chrono_literals;

namespace {

/// valgrind has an operator new of its own, which always finds memory.
bool is_own() {
    const std::uint64_t before = allocations;
    const std::string text(100, 'k');
    return allocations > before;
}

void a_reservation_without_memory_charges_nothing() {
    ratecell::Config config;
    config.max_keys = 1000;
    config.reservations = true;
    const ratecell::Rules rules("ratecell_rules = 1\n[[rule]]\nname = 'all'\nkey = []\nlimit = '3/1d'\n", config);
    for (int i = 0; i < 4; i++) {
        bool thrown = false;
        none_left = true;
        try {
            static_cast<void>(rules.reserve_at({}, 0ns));
        } catch (const std::bad_alloc &) {
            thrown = true;
        }
        none_left = false;
        CHECK(thrown);
    }
    const auto held = rules.reserve_at({}, 0ns);
    CHECK(held);
    CHECK_EQUAL(held.decision().remaining(), 2u);
}

void a_failure_without_memory_is_its_status() {
    none_left = true;
    const auto refused = ratecell::Limiter::make("fixed_window 10/1m offset=1m");
    const auto made = ratecell::Limiter::make("1/s");
    none_left = false;
    CHECK_EQUAL(refused.error(), RATECELL_EPOLICY_BAD_OFFSET);
    CHECK_EQUAL(refused.error().why(), "");
    CHECK(made);
}

} // namespace

int main() {
    if (is_own()) {
        a_reservation_without_memory_charges_nothing();
        a_failure_without_memory_is_its_status();
    } else {
        CHECK(std::getenv("LD_PRELOAD") != nullptr);
    }
    return check::end(__FILE__);
}
