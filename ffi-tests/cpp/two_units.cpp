// with: support/other.cpp
// The header in two units of one program, and twice in one.

#include "support/check.hpp"
#include "support/other.hpp"

#include <ratecell.h>
#include <ratecell.hpp>

using namespace std::chrono_literals;

int main() {
    const ratecell::Limiter limiter = other::make("3/1h");
    CHECK_EQUAL(limiter.check_at("key", 1, 0s).remaining(), 2u);
    CHECK_EQUAL(other::check(limiter, "key").remaining(), 1u);
    CHECK_EQUAL(other::check(limiter, "key").outcome(), ratecell::Outcome::Allowed);
    CHECK_EQUAL(limiter.check_at("key", 1, 0s).outcome(), ratecell::Outcome::Denied);
    try {
        CHECK(!other::make("3/0h"));
    } catch (const ratecell::Error &error) {
        CHECK_EQUAL(error.code(), RATECELL_EPOLICY_ZERO_PERIOD);
    }
    return check::end(__FILE__);
}
