// What the other unit of two_units.cpp has.

#include <ratecell.hpp>

namespace other {

/// Throws ratecell::Error.
ratecell::Limiter make(const char *policy);

/// One unit at time 0.
ratecell::Decision check(const ratecell::Limiter &limiter, std::string_view key) noexcept;

} // namespace other
