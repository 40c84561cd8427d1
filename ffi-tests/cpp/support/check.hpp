// What the programs here check with: each check is counted, and one that fails is told and makes the program
// fail. From one thread only.

#ifndef CHECK_HPP
#define CHECK_HPP

#include <ratecell.hpp>

#include <iostream>

#define CHECK(condition) check::that(static_cast<bool>(condition), #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(got, expected) check::equal((got), (expected), #got, __FILE__, __LINE__)

namespace check {

using Time = std::chrono::nanoseconds;

inline int checks = 0;
inline int failures = 0;

template <class T>
void tell(const T &value) {
    std::cerr << value;
}
inline void tell(Time value) { std::cerr << value.count() << " ns"; }
inline void tell(const std::optional<Time> &value) { value ? tell(*value) : tell("never"); }
inline void tell(ratecell::Status value) { std::cerr << value.message(); }
inline void tell(const ratecell::Failure &value) { std::cerr << value.message() << ": " << value.why(); }
inline void tell(ratecell::Outcome value) { std::cerr << "outcome " << static_cast<std::int32_t>(value); }

inline void that(bool holds, const char *what, const char *file, int line) {
    checks++;
    if (!holds) {
        failures++;
        std::cerr << file << ':' << line << ": not so: " << what << '\n';
    }
}

/// expected is made a Got first, so that literals need no type.
template <class Got>
void equal(const Got &got, const std::common_type_t<Got> &expected, const char *what, const char *file,
           int line) {
    checks++;
    if (got != expected) {
        failures++;
        std::cerr << file << ':' << line << ": " << what << ": expected ";
        tell(expected);
        std::cerr << ", got ";
        tell(got);
        std::cerr << '\n';
    }
}

/// Ends a program: prints its name and the count, and is what main returns.
inline int end(std::string_view file) {
    const std::string_view name = file.substr(file.find_last_of('/') + 1);
    std::cout << name.substr(0, name.find('.')) << ": " << checks << " checks";
    if (failures > 0) {
        std::cout << ", " << failures << " failed";
    }
    std::cout << '\n';
    return checks > 0 && failures == 0 ? 0 : 1;
}

} // namespace check

#endif
