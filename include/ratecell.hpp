// ratecell.hpp
//
// The rate limiter of ratecell.h for C++17 and later: a Limiter that frees itself, keys as std::string_view, times as
// std::chrono. The contract is that of ratecell.h, function by function. This header adds:
//
// - Errors are values: a Decision, a Status, a Failure or a Result. Only the constructors Limiter(policy, config)
//   and Rules(text, config), and Result::value, throw an Error, where exceptions are enabled. Where there is no memory for
//   a text that is returned, or for what Rules::reserve returns, std::bad_alloc is thrown; whatever makes a limiter or
//   rules without a constructor is noexcept. Without exceptions and without RTTI the rest is the same.
// - The check path is noexcept, allocates nothing and is inlined to the C call.
// - Times are std::chrono::nanoseconds, which end at 2^63 - 1 ns, 292 years. A longer time from C is returned as that
//   one; Decision::raw() has it unclamped. A time below zero is RATECELL_EINVAL. A longer one, such as
//   std::chrono::hours::max(), overflows when the standard library converts it, before this header sees it.
// - Limiters and rules that were moved from, or made without a text, are empty. Their answers are errors.
// - The caller owns the memory of a region and passes it as void * and a length. It must outlive the limiters in it.
// - Threads: any number may call const member functions at once, on one limiter too. Any other member function,
//   and the destructor, needs the limiter for itself.
//
// MIT or Apache-2.0.

#ifndef RATECELL_HPP
#define RATECELL_HPP

#include <ratecell.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__cpp_exceptions)
#include <stdexcept>
#endif

namespace ratecell {

/// The result of a call that does not decide: one of ratecell_status.
class Status {
public:
    constexpr Status(std::int32_t code) noexcept : code_(code) {}

    /// Whether it is no error.
    [[nodiscard]] constexpr bool ok() const noexcept { return code_ >= 0; }
    [[nodiscard]] constexpr std::int32_t code() const noexcept { return code_; }
    /// Says what it is, beginning with its name: static text.
    [[nodiscard]] const char *message() const noexcept { return ratecell_strerror(code_); }

    friend constexpr bool operator==(Status a, Status b) noexcept { return a.code_ == b.code_; }
    friend constexpr bool operator!=(Status a, Status b) noexcept { return a.code_ != b.code_; }

private:
    std::int32_t code_;
};

/// Why there is no limiter: a status, with a sentence about what was wrong and what was expected.
class Failure : public Status {
public:
    Failure(Status status = RATECELL_ALLOWED) noexcept : Status(status) {}
    Failure(std::int32_t code) noexcept : Status(code) {}
    Failure(Status status, std::string why) noexcept : Status(status), why_(std::move(why)) {}

    /// The sentence; empty where there is none beyond message().
    [[nodiscard]] const std::string &why() const noexcept { return why_; }

private:
    std::string why_;
};

#if defined(__cpp_exceptions)
namespace detail {

/// Throws the error of a Result.
template <class E>
[[noreturn]] void raise(const E &error);

} // namespace detail
#endif

/// A value, or the error in place of one. It has the names of C++23's std::expected, and needs C++17. What std::expected
/// leaves undefined is defined: after an error *result is a T(), such as an empty limiter or an empty text.
///
/// const auto limiter = ratecell::Limiter::make("10/s burst=20");
/// if (!limiter) { return limiter.error().why(); }
/// if (limiter->check("user:42")) { ... }
template <class T, class E = Status>
class [[nodiscard]] Result {
public:
    using value_type = T;
    using error_type = E;

    Result(T value) noexcept : value_(std::move(value)) {}
    Result(E error) noexcept : error_(std::move(error)) {}

    [[nodiscard]] bool has_value() const noexcept { return error_.ok(); }
    [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }
    /// ok() where there is a value.
    [[nodiscard]] const E &error() const noexcept { return error_; }

    [[nodiscard]] T &operator*() & noexcept { return value_; }
    [[nodiscard]] const T &operator*() const & noexcept { return value_; }
    [[nodiscard]] T &&operator*() && noexcept { return std::move(value_); }
    [[nodiscard]] T *operator->() noexcept { return &value_; }
    [[nodiscard]] const T *operator->() const noexcept { return &value_; }

#if defined(__cpp_exceptions)
    /// The value, or the error thrown as an Error.
    [[nodiscard]] T &value() & {
        check();
        return value_;
    }
    [[nodiscard]] const T &value() const & {
        check();
        return value_;
    }
    [[nodiscard]] T &&value() && {
        check();
        return std::move(value_);
    }
#endif

    /// The value, or another in place of an error.
    template <class U>
    [[nodiscard]] T value_or(U &&other) const & {
        return has_value() ? value_ : static_cast<T>(std::forward<U>(other));
    }
    template <class U>
    [[nodiscard]] T value_or(U &&other) && {
        return has_value() ? std::move(value_) : static_cast<T>(std::forward<U>(other));
    }

    /// What next(value) returns, a Result with the same E; after an error that error, and nothing is called.
    template <class F>
    auto and_then(F &&next) & {
        using Next = std::invoke_result_t<F, T &>;
        return has_value() ? std::forward<F>(next)(value_) : Next(error_);
    }
    template <class F>
    auto and_then(F &&next) const & {
        using Next = std::invoke_result_t<F, const T &>;
        return has_value() ? std::forward<F>(next)(value_) : Next(error_);
    }
    template <class F>
    auto and_then(F &&next) && {
        using Next = std::invoke_result_t<F, T>;
        return has_value() ? std::forward<F>(next)(std::move(value_)) : Next(std::move(error_));
    }

    /// A Result with what change(value) returns; after an error that error, and nothing is called.
    template <class F>
    auto transform(F &&change) & {
        using Changed = Result<std::decay_t<std::invoke_result_t<F, T &>>, E>;
        return has_value() ? Changed(std::forward<F>(change)(value_)) : Changed(error_);
    }
    template <class F>
    auto transform(F &&change) const & {
        using Changed = Result<std::decay_t<std::invoke_result_t<F, const T &>>, E>;
        return has_value() ? Changed(std::forward<F>(change)(value_)) : Changed(error_);
    }
    template <class F>
    auto transform(F &&change) && {
        using Changed = Result<std::decay_t<std::invoke_result_t<F, T>>, E>;
        return has_value() ? Changed(std::forward<F>(change)(std::move(value_))) : Changed(std::move(error_));
    }

private:
#if defined(__cpp_exceptions)
    void check() const {
        if (!has_value()) {
            detail::raise(error_);
        }
    }
#endif

    T value_{};
    E error_{RATECELL_ALLOWED};
};

/// How a request was decided. A later library may have another answer: only Allowed may go.
enum class Outcome : std::int32_t {
    Allowed = RATECELL_ALLOWED,
    Denied = RATECELL_DENIED,
    Never = RATECELL_NEVER,
    ClockRange = RATECELL_CLOCK_RANGE,
    /// Of Rules alone: the path can be read in several ways, which the file refuses. To be answered with 400.
    UnclearPath = RATECELL_UNCLEAR_PATH,
    /// It was not: Decision::error says why. Nothing was charged.
    Failed = -1,
};

namespace detail {

using nanoseconds = std::chrono::nanoseconds;

constexpr nanoseconds clamped(std::uint64_t ns) noexcept {
    constexpr nanoseconds longest = nanoseconds::max();
    return ns < static_cast<std::uint64_t>(longest.count()) ? nanoseconds(ns) : longest;
}

/// A wait, as an outcome has it: the number alone does not say that there is none.
constexpr std::optional<nanoseconds> wait(std::int32_t outcome, std::uint64_t ns) noexcept {
    const bool may_go = outcome == RATECELL_ALLOWED || outcome == RATECELL_DENIED;
    // Of a denial that nobody could decide it is not known.
    if (!may_go || ns == UINT64_MAX) {
        return std::nullopt;
    }
    return clamped(ns);
}

/// Asks write(buffer, len) for a length, then for a text of that length.
template <class Write>
Result<std::string> text(Write write) {
    std::string text;
    // The text may grow between the two calls, as that of a wall clock may: then both are repeated.
    for (;;) {
        std::int32_t length = write(nullptr, std::size_t{0});
        if (length < 0) {
            return Status(length);
        }
        text.resize(static_cast<std::size_t>(length));
        // The NUL goes where the string's own is.
        length = write(text.data(), text.size() + 1);
        if (length >= 0) {
            text.resize(static_cast<std::size_t>(length));
            return text;
        }
        if (length != RATECELL_ENOSPC) {
            return Status(length);
        }
    }
}

} // namespace detail

/// The answer to one request: a ratecell_decision, or the error of a call that did not decide.
class [[nodiscard]] Decision {
public:
    /// No answer yet: RATECELL_EINVAL, which allows nothing.
    constexpr Decision() noexcept = default;
    explicit constexpr Decision(const ratecell_decision &raw) noexcept : raw_(raw) {}

    /// Whether the request may go.
    [[nodiscard]] explicit constexpr operator bool() const noexcept {
        return raw_.outcome == RATECELL_ALLOWED;
    }
    [[nodiscard]] constexpr Outcome outcome() const noexcept {
        return raw_.outcome < 0 ? Outcome::Failed : static_cast<Outcome>(raw_.outcome);
    }
    /// Why the call failed, or ok().
    [[nodiscard]] constexpr Status error() const noexcept { return raw_.outcome < 0 ? raw_.outcome : 0; }

    /// The most units that can pass at one instant; of several layers, that of layer().
    [[nodiscard]] constexpr std::uint64_t limit() const noexcept { return raw_.limit; }
    /// Units that would be allowed at this same instant, after this decision.
    [[nodiscard]] constexpr std::uint64_t remaining() const noexcept { return raw_.remaining; }
    /// Until the same cost would be allowed, with no other traffic on the key; 1 ns earlier it is still
    /// denied. Zero if it was allowed, nullopt if it never can be, the call failed or the wait is not known.
    [[nodiscard]] constexpr std::optional<std::chrono::nanoseconds> retry_after() const noexcept {
        return detail::wait(raw_.outcome, raw_.retry_after_ns);
    }
    /// Until the key is as good as never used.
    [[nodiscard]] constexpr std::chrono::nanoseconds reset_after() const noexcept {
        return detail::clamped(raw_.reset_after_ns);
    }
    /// How long to hold the allowed request before it goes on: zero except for a leaky_queue. In a refusal of a request
    /// within a delay, the one that it would be given at the first instant at which the policy admits it.
    [[nodiscard]] constexpr std::chrono::nanoseconds delay() const noexcept {
        return detail::clamped(raw_.delay_ns);
    }
    /// Which of the policy's layers has the least remaining, from 0.
    [[nodiscard]] constexpr std::uint32_t layer() const noexcept { return raw_.layer; }
    /// For a request with_next: the time until remaining() + 1 units would be allowed. nullopt where there is no such
    /// time, and for any other request.
    [[nodiscard]] constexpr std::optional<std::chrono::nanoseconds> next_after() const noexcept {
        if (raw_.next_ns == 0) {
            return std::nullopt;
        }
        return detail::clamped(raw_.next_ns);
    }
    /// Whether it was a full table that denied, which had no place for the key, and not the policy.
    [[nodiscard]] constexpr bool no_place() const noexcept { return (raw_.notes & RATECELL_NO_PLACE) != 0; }
    /// Whether the policy has tz=caller, and the request names no zone: then nothing was charged.
    [[nodiscard]] constexpr bool no_zone() const noexcept { return (raw_.notes & RATECELL_NO_ZONE) != 0; }
    /// Units that a release gave back; otherwise 0.
    [[nodiscard]] constexpr std::uint32_t given_back() const noexcept { return raw_.given_back; }
    [[nodiscard]] constexpr const ratecell_decision &raw() const noexcept { return raw_; }

private:
    friend class Limiter;

    ratecell_decision raw_{0, 0, UINT64_MAX, 0, 0, RATECELL_EINVAL, 0, 0, 0, 0};
};

/// A time zone, ready for requests to a limiter whose policy has tz=caller: Limiter::zone makes it. Moved, not copied. Any
/// number of threads may use it.
class Zone {
public:
    /// No zone.
    Zone() noexcept = default;

    /// Takes over what ratecell_zone_new made.
    explicit Zone(ratecell_zone *handle) noexcept : handle_(handle) {}

    /// Whether it is one.
    [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }

    /// For the functions of ratecell.h; still this object's to free.
    [[nodiscard]] const ratecell_zone *get() const noexcept { return handle_.get(); }

private:
    struct Free {
        void operator()(ratecell_zone *handle) const noexcept { ratecell_zone_free(handle); }
    };

    std::unique_ptr<ratecell_zone, Free> handle_{};
};

/// What is asked of a limiter. Its key is not copied: it must live until the request is decided.
///
/// Request("user:42").cost(5).within(0ns) asks for five units, and only without a delay.
class Request {
public:
    /// cost units of a key, now. A cost of 0 is a peek: it charges nothing, and the decision's remaining() is the answer.
    constexpr Request(std::string_view key, std::uint32_t cost = 1) noexcept {
        raw_.key = key.data();
        raw_.key_len = key.size();
        raw_.cost = cost;
    }

    /// One unit of the key with this hash, now. It is not the key by its bytes. Where others choose the keys, the hash
    /// must be one that they cannot predict.
    [[nodiscard]] static constexpr Request hashed(std::uint64_t hash) noexcept {
        Request request{std::string_view()};
        request.raw_.hash = hash;
        request.raw_.flags = RATECELL_HASHED;
        return request;
    }

    /// So many units: all of them or none.
    [[nodiscard]] constexpr Request cost(std::uint32_t cost) const noexcept {
        Request request = *this;
        request.raw_.cost = cost;
        return request;
    }

    /// At a time since any instant, as long as all users of the limiter mean the same.
    [[nodiscard]] constexpr Request at(std::chrono::nanoseconds now) const noexcept {
        Request request = with(now.count() < 0 ? refused : RATECELL_AT);
        request.raw_.now_ns = static_cast<std::uint64_t>(now.count());
        return request;
    }

    /// Allowed only with a delay() of at most max_delay; otherwise denied, and not charged. See
    /// ratecell_request.max_delay_ns.
    [[nodiscard]] constexpr Request within(std::chrono::nanoseconds max_delay) const noexcept {
        Request request = with(max_delay.count() < 0 ? refused : RATECELL_WITHIN);
        request.raw_.max_delay_ns = static_cast<std::uint64_t>(max_delay.count());
        return request;
    }

    /// Charges units that have been spent already: as many as there is room for. The decision is that of a peek
    /// afterwards. Together with within, RATECELL_EINVAL.
    [[nodiscard]] constexpr Request charge() const noexcept { return with(RATECELL_CHARGE); }

    /// Names the zone whose windows decide, for a limiter whose policy has tz=caller. It must live until the request is
    /// decided.
    [[nodiscard]] Request zone(const Zone &zone) const noexcept {
        Request request = *this;
        request.raw_.zone = zone.get();
        return request;
    }
    Request zone(const Zone &&) const = delete;

    /// Asks for the decision's next_after(), too.
    [[nodiscard]] constexpr Request with_next() const noexcept { return with(RATECELL_NEXT); }

    [[nodiscard]] constexpr const ratecell_request &raw() const noexcept { return raw_; }

private:
    /// Flags that mean nothing together: C refuses the request by RATECELL_EINVAL.
    static constexpr std::uint32_t refused = RATECELL_CHARGE | RATECELL_WITHIN;

    [[nodiscard]] constexpr Request with(std::uint32_t flags) const noexcept {
        Request request = *this;
        request.raw_.flags |= flags;
        return request;
    }

    ratecell_request raw_{};
};

// An array of either is handed to C as an array of what it wraps.
static_assert(std::is_standard_layout_v<Decision> && std::is_trivially_copyable_v<Decision>);
static_assert(sizeof(Decision) == 64 && sizeof(Decision) == sizeof(ratecell_decision));
static_assert(alignof(Decision) == alignof(ratecell_decision));
static_assert(std::is_standard_layout_v<Request> && std::is_trivially_copyable_v<Request>);
static_assert(sizeof(Request) == sizeof(ratecell_request) && alignof(Request) == alignof(ratecell_request));

/// Any bytes as a key, such as those of an address.
[[nodiscard]] inline std::string_view bytes(const void *data, std::size_t size) noexcept {
    return {static_cast<const char *>(data), size};
}

/// What becomes of a new key for which there is no room: see ratecell_when_full.
enum class WhenFull : std::int32_t {
    Evict = RATECELL_FULL_EVICT,
    Share = RATECELL_FULL_SHARE,
    Deny = RATECELL_FULL_DENY,
    Allow = RATECELL_FULL_ALLOW,
};

/// How a limiter is made.
struct Config {
    /// Keys that have room at once. 0 is 100,000; in memory that a region is made of, as many as it holds; and
    /// of a region that is there, as many as it has.
    std::uint64_t max_keys = 0;
    /// In a region that is there, Evict is what the region has.
    WhenFull when_full = WhenFull::Evict;
    /// For Limiter::init alone: the memory is all zeros, as fresh pages are, and only its header is written.
    bool zeroed = false;
    /// For Limiter::init and region_size: room for what is given back, so that Limiter::reserve works with every policy. For
    /// Rules: every request is reserved, so that rules may count requests in_flight.
    bool reservations = false;
    /// For Limiter::init, Limiter::open and region_size: keep the names of denied keys, and count denials, for those who look into
    /// the region. It takes 262,144 bytes; whoever can read the region can read those keys, which may be personal data.
    bool names = false;
    /// For Rules alone: this process and all that it forks off later share the tables. Without it each of them goes on with a
    /// copy of its own.
    bool forked = false;
    /// For Rules alone: the path of a file, in which all processes have their limits in common that name it; nullptr for none.
    /// It is not kept. See ratecell_config.
    const char *file = nullptr;
    /// For Limiter::attach and Limiter::open: where the region has another policy, that one holds. For Rules with a file: where
    /// a rule there has another policy.
    bool follow = false;
    /// For the same: where the region has another policy, it is changed for all its limiters; where a rule in the file has,
    /// for all processes.
    bool change = false;
};

namespace detail {

constexpr ratecell_config raw(const Config &config) noexcept {
    ratecell_config raw = RATECELL_CONFIG_INIT;
    raw.max_keys = config.max_keys;
    raw.when_full = static_cast<std::uint64_t>(config.when_full);
    raw.flags = static_cast<std::uint64_t>((config.zeroed ? RATECELL_ZEROED : 0) |
                                           (config.reservations ? RATECELL_RESERVATIONS : 0) |
                                           (config.names ? RATECELL_NAMES : 0) |
                                           (config.forked ? RATECELL_FORKED : 0) |
                                           (config.follow ? RATECELL_FOLLOW : 0) |
                                           (config.change ? RATECELL_CHANGE : 0));
    raw.file = config.file;
    return raw;
}

/// What C has written into why about an error. Where there is no more to say, C says the status; and where there is no memory
/// for the sentence, the status is all there is.
inline Failure failure(Status status, const char *why) noexcept {
    if (std::string_view(why) == status.message()) {
        return status;
    }
#if defined(__cpp_exceptions)
    try {
        return Failure(status, std::string(why));
    } catch (...) {
        return status;
    }
#else
    return Failure(status, std::string(why));
#endif
}

/// What call(&config, &handle) makes, or why it does not.
template <class T, class Handle, class Call>
Result<T, Failure> made(const Config &config, Call call) noexcept {
    char why[1024] = "";
    ratecell_config given = raw(config);
    given.why = why;
    given.why_len = sizeof why;
    Handle *handle = nullptr;
    const Status status = call(&given, &handle);
    if (status.ok()) {
        return T(handle);
    }
    return failure(status, why);
}

} // namespace detail

/// Which HTTP fields tell a client its limits: see ratecell_style. Several are joined by |.
enum class Style : std::uint32_t {
    Draft11 = RATECELL_STYLE_DRAFT11,
    Draft07 = RATECELL_STYLE_DRAFT07,
    Draft06 = RATECELL_STYLE_DRAFT06,
    Draft03 = RATECELL_STYLE_DRAFT03,
    X = RATECELL_STYLE_X,
    XUnix = RATECELL_STYLE_X_UNIX,
    GitHub = RATECELL_STYLE_GITHUB,
    Twitter = RATECELL_STYLE_TWITTER,
    Kong = RATECELL_STYLE_KONG,
};

[[nodiscard]] constexpr Style operator|(Style a, Style b) noexcept {
    return static_cast<Style>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

using Stats = ratecell_stats;

/// The version of the library that runs: major * 1000000 + minor * 1000 + patch.
[[nodiscard]] inline std::uint32_t version() noexcept { return ratecell_version_number(); }

/// A policy as ratecell_policy_format writes it, or which RATECELL_EPOLICY_... it is.
inline Result<std::string> format(const char *policy) {
    return detail::text(
        [=](char *buffer, std::size_t len) { return ratecell_policy_format(policy, buffer, len); });
}

/// What is wrong with a policy, where, and what was expected: a sentence, empty if it is right.
inline Result<std::string> explain(const char *policy) {
    return detail::text(
        [=](char *buffer, std::size_t len) { return ratecell_policy_explain(policy, buffer, len); });
}

/// The bytes of memory that a region of a policy takes for the config's max_keys; 0 where Limiter::init would not make
/// one.
[[nodiscard]] inline std::size_t region_size(const char *policy, const Config &config = {}) noexcept {
    const ratecell_config raw = detail::raw(config);
    return ratecell_region_size(policy, &raw);
}

#if defined(__cpp_exceptions)
/// Why a limiter or rules could not be made. what() begins with the status's name and ends with the Failure's why().
class Error : public std::runtime_error {
public:
    explicit Error(const Failure &failure) : std::runtime_error(describe(failure)), code_(failure.code()) {}

    /// One of ratecell_status, negative.
    [[nodiscard]] std::int32_t code() const noexcept { return code_; }

private:
    static std::string describe(const Failure &failure) {
        return failure.why().empty() ? failure.message() : failure.message() + (": " + failure.why());
    }

    std::int32_t code_;
};

template <class E>
void detail::raise(const E &error) {
    throw Error(Failure(error));
}
#endif

class Reservation;

/// A rate limiter: a policy, a table of keys for each of its layers, a clock. Moved, not copied. It belongs to one
/// process, except that init, attach and open have their tables in memory that processes share.
class Limiter {
public:
    /// An empty limiter.
    Limiter() noexcept = default;

    /// Takes over what ratecell_limiter_new made.
    explicit Limiter(ratecell_limiter *handle) noexcept : handle_(handle) {}

#if defined(__cpp_exceptions)
    /// make, or an Error thrown.
    explicit Limiter(const char *policy, const Config &config = {}) {
        Result<Limiter, Failure> made = make(policy, config);
        if (!made) {
            throw Error(made.error());
        }
        *this = *std::move(made);
    }
#endif

    /// Makes a limiter of a policy, such as "100/s burst=200", with all its memory. Errors: those of
    /// ratecell_limiter_new.
    static Result<Limiter, Failure> make(const char *policy, const Config &config = {}) noexcept {
        return detail::made<Limiter, ratecell_limiter>(config, [&](const ratecell_config *raw, ratecell_limiter **out) {
            return ratecell_limiter_new(policy, raw, out);
        });
    }

    /// Makes a region of memory at a multiple of 64 bytes, and the first limiter in it. The memory's content is lost,
    /// and nobody may be using it. Errors: those of ratecell_region_init.
    static Result<Limiter, Failure> init(void *memory, std::size_t len, const char *policy,
                                         const Config &config = {}) noexcept {
        return detail::made<Limiter, ratecell_limiter>(config, [&](const ratecell_config *raw, ratecell_limiter **out) {
            return ratecell_region_init(memory, len, policy, raw, out);
        });
    }

    /// Makes a limiter in a region that is there, made by any process, at any address. Without a policy, of nullptr, it
    /// follows the region's. One of another rate is refused, unless the config follows or changes it. Errors: those of
    /// ratecell_region_attach.
    static Result<Limiter, Failure> attach(void *memory, std::size_t len, const char *policy,
                                           const Config &config = {}) noexcept {
        return detail::made<Limiter, ratecell_limiter>(config, [&](const ratecell_config *raw, ratecell_limiter **out) {
            return ratecell_region_attach(memory, len, policy, raw, out);
        });
    }

    /// Makes a limiter in the region that is in a file; if the file is absent, empty or all zeros, makes the region for
    /// the config's max_keys. Without a policy, of nullptr, none is made: the limiter follows the file's. One of another
    /// rate is refused, unless the config follows or changes it. Errors: those of ratecell_limiter_open.
    static Result<Limiter, Failure> open(const char *path, const char *policy, const Config &config = {}) noexcept {
        return detail::made<Limiter, ratecell_limiter>(config, [&](const ratecell_config *raw, ratecell_limiter **out) {
            return ratecell_limiter_open(path, policy, raw, out);
        });
    }

    /// Another limiter on the same keys in the same memory, with another policy of the same words, such as a tier. Either
    /// may end first. Errors: those of ratecell_limiter_with_policy.
    Result<Limiter, Failure> with_policy(const char *policy) const noexcept {
        return detail::made<Limiter, ratecell_limiter>({}, [&](const ratecell_config *raw, ratecell_limiter **out) {
            return ratecell_limiter_with_policy(get(), policy, raw, out);
        });
    }

    /// Limits by another policy from now on, here and in every other limiter of the same keys, in all processes, while others
    /// decide: see ratecell_limiter_change. What each key has used stays used. Errors: those of ratecell_limiter_change; then
    /// nothing has changed.
    [[nodiscard]] Failure change(const char *policy) const noexcept { return changed(policy, 0, 0); }

    /// change at a time, as check_at.
    [[nodiscard]] Failure change_at(const char *policy, std::chrono::nanoseconds now) const noexcept {
        if (now.count() < 0) {
            return RATECELL_EINVAL;
        }
        return changed(policy, RATECELL_AT, static_cast<std::uint64_t>(now.count()));
    }

    /// The time zone of this name, for requests to this limiter, whose policy has tz=caller. It outlives the limiter; make
    /// each zone once. Errors: those of ratecell_zone_new.
    Result<Zone> zone(const char *name) const noexcept {
        ratecell_zone *handle = nullptr;
        const Status status = ratecell_zone_new(get(), name, &handle);
        if (!status.ok()) {
            return status;
        }
        return Zone(handle);
    }

    /// Whether it is not empty.
    [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }

    /// For the functions of ratecell.h; still this limiter's to end.
    [[nodiscard]] const ratecell_limiter *get() const noexcept { return handle_.get(); }

    /// Decides cost units of a key now, all of them or none, and charges them if they are allowed. A cost of 0 is a
    /// peek: it charges nothing.
    Decision check(std::string_view key, std::uint32_t cost = 1) const noexcept {
        return decided([&](ratecell_decision *out) {
            return ratecell_limiter_check(get(), key.data(), key.size(), cost, out);
        });
    }

    /// check at a time since any instant, as long as all users of the limiter mean the same.
    Decision check_at(std::string_view key, std::uint32_t cost, std::chrono::nanoseconds now) const noexcept {
        return decided([&](ratecell_decision *out) {
            return at(now, [&](std::uint64_t now_ns) {
                return ratecell_limiter_check_at(get(), key.data(), key.size(), cost, now_ns, out);
            });
        });
    }

    /// Decides a request.
    Decision decide(const Request &request) const noexcept {
        return decided(
            [&](ratecell_decision *out) { return ratecell_limiter_decide(get(), &request.raw(), out); });
    }

    /// Decides a request, and holds what it charges until the Reservation is settled, released or destroyed. Errors: those of
    /// ratecell_limiter_decide, in its decision().
    Reservation reserve(const Request &request) const &noexcept;
    /// A temporary limiter would be gone before it settles.
    Reservation reserve(const Request &) const && = delete;

    /// Decides n requests in their order; the clock is read once for all that have no time. Errors: those of
    /// ratecell_limiter_decide_batch; then nothing was charged and no decision written.
    [[nodiscard]] Status decide_batch(const Request *requests, std::size_t n, Decision *decisions) const noexcept {
        return ratecell_limiter_decide_batch(get(), reinterpret_cast<const ratecell_request *>(requests), n,
                                             reinterpret_cast<ratecell_decision *>(decisions));
    }

    /// decide_batch of anything that std::data and std::size take. RATECELL_ESIZE if there is not one decision for each
    /// request.
    template <class Requests, class Decisions>
    [[nodiscard]] Status decide_batch(const Requests &requests, Decisions &&decisions) const noexcept {
        if (std::size(requests) != std::size(decisions)) {
            return RATECELL_ESIZE;
        }
        return decide_batch(std::data(requests), std::size(requests), std::data(decisions));
    }

    /// Makes a key as if it had never been seen. code() is 0, or 1 if there was nothing to forget.
    Status forget(std::string_view key) const noexcept {
        return ratecell_limiter_forget(get(), key.data(), key.size());
    }

    /// What it holds now and what has happened to it. Among many keys the live ones are estimated, within live_error;
    /// with RATECELL_EXACT they are counted, which reads the whole table.
    Result<Stats> stats(std::uint32_t flags = 0) const noexcept {
        return told<Stats>(
            [&](Stats *out) { return ratecell_limiter_stats(get(), flags, 0, out, sizeof *out); });
    }

    /// stats at a time, as check_at.
    Result<Stats> stats_at(std::chrono::nanoseconds now, std::uint32_t flags = 0) const noexcept {
        return told<Stats>([&](Stats *out) {
            return at(now, [&](std::uint64_t now_ns) {
                return ratecell_limiter_stats(get(), flags | RATECELL_AT, now_ns, out, sizeof *out);
            });
        });
    }

    /// Reads its own clock: the time since its epoch, which the calls that end in _at take.
    Result<std::chrono::nanoseconds> now() const noexcept {
        return time([&](std::uint64_t *out) { return ratecell_limiter_now(get(), out); });
    }

    /// The zero of its own clock: the Monday 00:00 UTC before it was made.
    Result<std::chrono::system_clock::time_point> epoch() const noexcept {
        using std::chrono::system_clock;
        const auto since_1970 = time([&](std::uint64_t *out) { return ratecell_limiter_epoch(get(), out); });
        if (!since_1970) {
            return since_1970.error();
        }
        return system_clock::time_point(std::chrono::duration_cast<system_clock::duration>(*since_1970));
    }

    /// Its policy as text, as format writes it.
    Result<std::string> policy() const {
        return detail::text(
            [this](char *buffer, std::size_t len) { return ratecell_limiter_policy(get(), buffer, len); });
    }

private:
    friend class Reservation;

    struct Free {
        void operator()(ratecell_limiter *handle) const noexcept { ratecell_limiter_free(handle); }
    };

    template <class Call>
    static Decision decided(Call call) noexcept {
        Decision decision;
        const std::int32_t status = call(&decision.raw_);
        // C wrote nothing: the rest is as without an answer.
        if (status < 0) {
            decision.raw_.outcome = status;
        }
        return decision;
    }

    Failure changed(const char *policy, std::uint32_t flags, std::uint64_t now_ns) const noexcept {
        char why[1024] = "";
        const Status status = ratecell_limiter_change(get(), policy, flags, now_ns, why, sizeof why);
        return status.ok() ? Failure() : detail::failure(status, why);
    }

    /// Calls with a time as C has it.
    template <class Call>
    static std::int32_t at(std::chrono::nanoseconds now, Call call) noexcept {
        return now.count() < 0 ? RATECELL_EINVAL : call(static_cast<std::uint64_t>(now.count()));
    }

    /// What call(&value) writes.
    template <class T, class Call>
    static Result<T> told(Call call) noexcept {
        T value{};
        const Status status = call(&value);
        if (!status.ok()) {
            return status;
        }
        return value;
    }

    template <class Call>
    static Result<std::chrono::nanoseconds> time(Call call) noexcept {
        const Result<std::uint64_t> ns = told<std::uint64_t>(call);
        if (!ns) {
            return ns.error();
        }
        return detail::clamped(*ns);
    }

    std::unique_ptr<ratecell_limiter, Free> handle_{};
};

/// What a request has charged: held until it is settled, released or destroyed. Moved, not copied. The limiter must outlive
/// it. One thread at a time uses it.
///
/// auto held = limiter.reserve({"org:7", 4000});
/// if (held) { held.used(work()); }
///
/// Destroyed, it settles the units that used says, and releases its permit of layers in_flight. A request that ends early,
/// as by an exception before used, has used all that it reserved.
class [[nodiscard]] Reservation {
public:
    /// Nothing is held.
    Reservation() noexcept = default;

    /// Takes over what another process, or release_raw, has handed on.
    Reservation(const Limiter &limiter, const ratecell_reservation &raw) noexcept : limiter_(limiter.get()), raw_(raw) {}
    Reservation(const Limiter &&, const ratecell_reservation &) = delete;

    Reservation(Reservation &&other) noexcept { swap(other); }
    Reservation &operator=(Reservation &&other) noexcept {
        Reservation(std::move(other)).swap(*this);
        return *this;
    }
    ~Reservation() {
        if (used_) {
            static_cast<void>(settle(*used_));
        }
        if (!released_) {
            static_cast<void>(release());
        }
    }

    /// Whether something is held: the request was allowed.
    [[nodiscard]] explicit operator bool() const noexcept { return limiter_ != nullptr; }
    /// The answer to the request; without one where the reservation was handed on.
    [[nodiscard]] const Decision &decision() const noexcept { return decision_; }

    /// Says how many units are used, which the destructor settles; 0 is a cancellation.
    void used(std::uint32_t units) noexcept { used_ = units; }

    /// Settles now, once: of what was reserved so many units were used, and the others are given back. See
    /// ratecell_limiter_settle.
    Decision settle(std::uint32_t units) noexcept { return settled(units, std::nullopt); }
    /// settle at a time, as Limiter::check_at.
    Decision settle_at(std::uint32_t units, std::chrono::nanoseconds now) noexcept { return settled(units, now); }

    /// Releases the permit now, once: the decision's given_back() is how many units came back. See ratecell_limiter_release.
    Decision release() noexcept { return released(std::nullopt); }
    /// release at a time, as Limiter::check_at.
    Decision release_at(std::chrono::nanoseconds now) noexcept { return released(now); }

    /// Renews the permit, so that it lives on for at least another hold. See ratecell_limiter_renew.
    Decision renew() noexcept { return call(ratecell_limiter_renew, 0, std::nullopt); }
    /// renew at a time, as Limiter::check_at.
    Decision renew_at(std::chrono::nanoseconds now) noexcept { return call(ratecell_limiter_renew, 0, now); }

    /// The plain data, to hand on: this one holds nothing any more.
    [[nodiscard]] ratecell_reservation release_raw() noexcept {
        Reservation taken(std::move(*this));
        taken.limiter_ = nullptr;
        return taken.raw_;
    }

private:
    friend class Limiter;

    void swap(Reservation &other) noexcept {
        std::swap(limiter_, other.limiter_);
        std::swap(raw_, other.raw_);
        std::swap(decision_, other.decision_);
        std::swap(used_, other.used_);
        std::swap(settled_, other.settled_);
        std::swap(released_, other.released_);
    }

    /// A second time there is nothing to settle: RATECELL_EINVAL.
    Decision settled(std::uint32_t units, std::optional<std::chrono::nanoseconds> now) noexcept {
        used_.reset();
        if (std::exchange(settled_, true)) {
            return Decision();
        }
        return call(ratecell_limiter_settle, units, now);
    }

    Decision released(std::optional<std::chrono::nanoseconds> now) noexcept {
        if (std::exchange(released_, true)) {
            return Decision();
        }
        return call(ratecell_limiter_release, 0, now);
    }

    template <class Function>
    Decision call(Function *function, std::uint32_t cost, std::optional<std::chrono::nanoseconds> now) noexcept {
        if (limiter_ == nullptr || (now && now->count() < 0)) {
            return Decision();
        }
        ratecell_request request{};
        request.cost = cost;
        request.reservation = &raw_;
        if (now) {
            request.now_ns = static_cast<std::uint64_t>(now->count());
            request.flags = RATECELL_AT;
        }
        return Limiter::decided([&](ratecell_decision *out) { return function(limiter_, &request, out); });
    }

    const ratecell_limiter *limiter_ = nullptr;
    ratecell_reservation raw_{};
    Decision decision_{};
    std::optional<std::uint32_t> used_{};
    bool settled_ = false;
    bool released_ = false;
};

inline Reservation Limiter::reserve(const Request &request) const &noexcept {
    Reservation reservation;
    ratecell_request raw = request.raw();
    raw.flags |= RATECELL_RESERVE;
    raw.reservation = &reservation.raw_;
    reservation.decision_ =
        decided([&](ratecell_decision *out) { return ratecell_limiter_decide(get(), &raw, out); });
    if (reservation.decision_) {
        reservation.limiter_ = get();
    }
    return reservation;
}

static_assert(sizeof(Limiter) == sizeof(ratecell_limiter *), "a limiter is its handle");
static_assert(std::is_nothrow_move_constructible_v<Limiter> && !std::is_copy_constructible_v<Limiter>);

/// One of several requests that are allowed together or not at all: a ratecell_claim. Its key is not copied, and its
/// limiter stays where it is: both must live until the claim is decided.
class Claim {
public:
    Claim(const Limiter &limiter, const Request &request) noexcept : raw_{limiter.get(), request.raw()} {}

    /// cost units of a key, now.
    Claim(const Limiter &limiter, std::string_view key, std::uint32_t cost = 1) noexcept
        : Claim(limiter, Request(key, cost)) {}

    /// A temporary limiter would be gone before it decides.
    template <class... Rest>
    Claim(const Limiter &&, Rest &&...) = delete;

    [[nodiscard]] const ratecell_claim &raw() const noexcept { return raw_; }

private:
    ratecell_claim raw_;
};

static_assert(std::is_standard_layout_v<Claim> && std::is_trivially_copyable_v<Claim>);
static_assert(sizeof(Claim) == sizeof(ratecell_claim) && alignof(Claim) == alignof(ratecell_claim));

/// The outcome of claims: the gravest of theirs, or the error of a call that did not decide.
class [[nodiscard]] Verdict {
public:
    explicit constexpr Verdict(std::int32_t code) noexcept : code_(code) {}

    /// Whether all may go; if not, none was charged.
    [[nodiscard]] explicit constexpr operator bool() const noexcept { return code_ == RATECELL_ALLOWED; }
    [[nodiscard]] constexpr Outcome outcome() const noexcept {
        return code_ < 0 ? Outcome::Failed : static_cast<Outcome>(code_);
    }
    /// Why the call failed, or ok().
    [[nodiscard]] constexpr Status error() const noexcept { return code_ < 0 ? code_ : 0; }

private:
    std::int32_t code_;
};

/// Decides n claims, at most 64, of any limiters, as one request: all are charged, or none is. decisions has room
/// for one of each, or is nullptr. Errors: those of ratecell_decide_all.
inline Verdict decide_all(const Claim *claims, std::size_t n, Decision *decisions) noexcept {
    return Verdict(ratecell_decide_all(reinterpret_cast<const ratecell_claim *>(claims), n,
                                      reinterpret_cast<ratecell_decision *>(decisions)));
}

/// decide_all of anything that std::data and std::size take.
template <class Claims>
Verdict decide_all(const Claims &claims) noexcept {
    return decide_all(std::data(claims), std::size(claims), nullptr);
}

/// decide_all with a decision of each claim. RATECELL_ESIZE if there are more or fewer.
template <class Claims, class Decisions>
Verdict decide_all(const Claims &claims, Decisions &&decisions) noexcept {
    if (std::size(claims) != std::size(decisions)) {
        return Verdict(RATECELL_ESIZE);
    }
    return decide_all(std::data(claims), std::size(claims), std::data(decisions));
}

/// decide_all({{limiter, key}, {other, key}}).
inline Verdict decide_all(std::initializer_list<Claim> claims) noexcept {
    return decide_all(claims.begin(), claims.size(), nullptr);
}

/// A limiter's decision for fields: a ratecell_answer. The limiter, the decision and all texts must live until the
/// fields are written.
class Answer {
public:
    Answer(const Limiter &limiter, const Decision &decision) noexcept {
        raw_.limiter = limiter.get();
        raw_.decision = &decision.raw();
    }

    /// The policy's name, 1 to 256 characters of printable ASCII; without one each layer is named by its text.
    [[nodiscard]] Answer named(const char *name) const noexcept {
        Answer answer = *this;
        answer.raw_.name = name;
        return answer;
    }

    /// The unit that is counted: requests, content-bytes or concurrent-requests.
    [[nodiscard]] Answer unit(const char *unit) const noexcept {
        Answer answer = *this;
        answer.raw_.unit = unit;
        return answer;
    }

    /// The partition of the clients that the limit is for, at most 256 bytes: every client that asks reads it.
    [[nodiscard]] Answer partition(std::string_view partition) const noexcept {
        Answer answer = *this;
        answer.raw_.partition = partition.data() == nullptr ? "" : partition.data();
        answer.raw_.partition_len = partition.size();
        return answer;
    }

    [[nodiscard]] const ratecell_answer &raw() const noexcept { return raw_; }

private:
    ratecell_answer raw_{};
};

static_assert(std::is_standard_layout_v<Answer> && std::is_trivially_copyable_v<Answer>);
static_assert(sizeof(Answer) == sizeof(ratecell_answer) && alignof(Answer) == alignof(ratecell_answer));

namespace detail {

/// Calls with nanoseconds since 1970, of which there are none before it.
template <class Call>
std::int32_t since_1970(std::chrono::system_clock::time_point now, Call call) noexcept {
    const auto unix_ns = std::chrono::duration_cast<nanoseconds>(now.time_since_epoch()).count();
    return unix_ns < 0 ? RATECELL_EINVAL : call(static_cast<std::uint64_t>(unix_ns));
}

inline std::int32_t write_fields(Style styles, const Answer *answers, std::size_t n,
                                 std::chrono::system_clock::time_point now, char *buffer, std::size_t len) noexcept {
    return since_1970(now, [&](std::uint64_t unix_ns) {
        return ratecell_fields(static_cast<std::uint32_t>(styles), reinterpret_cast<const ratecell_answer *>(answers), n,
                               unix_ns, buffer, len);
    });
}

/// A text that was written into a buffer, by its length or an error.
inline Result<std::string_view> written(const char *buffer, std::size_t len, std::int32_t length) noexcept {
    if (length < 0) {
        return Status(length);
    }
    // With len 0, C returns the length and writes nothing.
    if (len == 0) {
        return Status(RATECELL_ENOSPC);
    }
    return std::string_view(buffer, static_cast<std::size_t>(length));
}

} // namespace detail

/// The HTTP fields of a response about n answers: for each field a line `Name: value` and a line feed. Errors: those of
/// ratecell_fields.
inline Result<std::string>
fields(Style styles, const Answer *answers, std::size_t n,
       std::chrono::system_clock::time_point now = std::chrono::system_clock::now()) {
    return detail::text([&](char *buffer, std::size_t len) {
        return detail::write_fields(styles, answers, n, now, buffer, len);
    });
}

/// fields of one answer.
inline Result<std::string> fields(Style styles, const Answer &answer,
                                  std::chrono::system_clock::time_point now = std::chrono::system_clock::now()) {
    return fields(styles, &answer, 1, now);
}

/// fields into a buffer with room for the lines and a NUL, without allocation.
inline Result<std::string_view> fields(Style styles, const Answer *answers, std::size_t n,
                                       std::chrono::system_clock::time_point now, char *buffer,
                                       std::size_t len) noexcept {
    return detail::written(buffer, len, detail::write_fields(styles, answers, n, now, buffer, len));
}

/// What is known of a request: a ratecell_attribute. Its texts are not copied. The names are those that a file of rules uses:
/// method, path (as it was sent, still encoded), host, client (the key of Clients), header:NAME in small letters, and those
/// that the file lists. An attribute that is not given is absent; an empty value is there.
class Attribute {
public:
    constexpr Attribute(std::string_view name, std::string_view value) noexcept
        : raw_{name.data(), name.size(), value.data(), value.size()} {}

    [[nodiscard]] constexpr const ratecell_attribute &raw() const noexcept { return raw_; }

private:
    ratecell_attribute raw_;
};

static_assert(std::is_standard_layout_v<Attribute> && std::is_trivially_copyable_v<Attribute>);
static_assert(sizeof(Attribute) == sizeof(ratecell_attribute) && alignof(Attribute) == alignof(ratecell_attribute));

/// The answer of Rules to one request: a ratecell_rules_answer, with its claims and shadows in place. It is 10 KB, of which a
/// copy copies what was written.
class [[nodiscard]] RulesDecision {
public:
    /// How many shadows are kept; a request has no more claims than that.
    static constexpr std::size_t most = 64;

    /// No answer yet: RATECELL_EINVAL, which allows nothing.
    RulesDecision() noexcept { fail(RATECELL_EINVAL); }
    RulesDecision(const RulesDecision &other) noexcept { copy(other); }
    RulesDecision &operator=(const RulesDecision &other) noexcept {
        copy(other);
        return *this;
    }
    ~RulesDecision() = default;

    /// Whether the request may go.
    [[nodiscard]] explicit operator bool() const noexcept { return answer_.outcome == RATECELL_ALLOWED; }
    /// The gravest outcome of the rules that limit the request; Allowed where there is none.
    [[nodiscard]] Outcome outcome() const noexcept {
        return answer_.outcome < 0 ? Outcome::Failed : static_cast<Outcome>(answer_.outcome);
    }
    /// Why the call failed, or ok().
    [[nodiscard]] Status error() const noexcept { return answer_.outcome < 0 ? answer_.outcome : 0; }

    /// The name of the rule that refused; of an allowed request, that of the rule which runs out first. limit(), remaining()
    /// and reset_after() are its. Empty, and they are 0, where no rule limits the request, and where the path is unclear. It
    /// is this decision's text.
    [[nodiscard]] std::string_view rule() const &noexcept { return answer_.rule; }
    std::string_view rule() const && = delete;
    /// The most units that can pass the rule at one instant.
    [[nodiscard]] std::uint64_t limit() const noexcept { return answer_.limit; }
    /// Units that the rule would allow at this same instant, after this decision.
    [[nodiscard]] std::uint64_t remaining() const noexcept { return answer_.remaining; }
    /// Until the same request would be allowed, with no other traffic on its keys. Zero if it was allowed, nullopt if it
    /// never can be or the call failed.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> retry_after() const noexcept {
        return detail::wait(answer_.outcome, answer_.retry_after_ns);
    }
    /// Until the rule's key is as good as never used.
    [[nodiscard]] std::chrono::nanoseconds reset_after() const noexcept {
        return detail::clamped(answer_.reset_after_ns);
    }
    /// How long to hold the allowed request before it goes on: zero unless a leaky_queue limits it.
    [[nodiscard]] std::chrono::nanoseconds delay() const noexcept { return detail::clamped(answer_.delay_ns); }

    /// How many rules limit the request.
    [[nodiscard]] std::size_t claims() const noexcept { return kept(answer_.n_claims); }
    /// The decision of the limit of one of them alone, by a number below claims(); where another refused, that of a peek.
    [[nodiscard]] Decision claim(std::size_t i) const noexcept {
        return i < claims() ? Decision(claims_[i].decision) : Decision();
    }

    /// What a shadow rule would have answered.
    struct Shadow {
        /// Its name: text of the decision, empty of no shadow.
        std::string_view rule{};
        /// What it would have answered by itself.
        Outcome outcome = Outcome::Failed;
    };

    /// How many shadow rules apply, of more than most the first.
    [[nodiscard]] std::size_t shadows() const noexcept { return kept(answer_.n_shadows); }
    /// One of them, by a number below shadows(), in the order of the file.
    [[nodiscard]] Shadow shadow(std::size_t i) const &noexcept {
        return i < shadows() ? Shadow{shadows_[i].rule, static_cast<Outcome>(shadows_[i].outcome)} : Shadow{};
    }
    Shadow shadow(std::size_t) const && = delete;

    [[nodiscard]] const ratecell_rules_answer &raw() const noexcept { return answer_; }
    /// Its claims(), for ratecell_rules_fields.
    [[nodiscard]] const ratecell_rules_claim *raw_claims() const noexcept { return claims_; }

private:
    friend class Rules;

    RulesDecision(const ratecell_rules *rules, const Attribute *attributes, std::size_t n, std::uint32_t flags,
                  std::uint64_t now_ns, ratecell_rules_held *held = nullptr, std::size_t max_held = 0) noexcept {
        ratecell_rules_request request{};
        request.held = held;
        request.max_held = max_held;
        request.attributes = reinterpret_cast<const ratecell_attribute *>(attributes);
        request.n_attributes = n;
        request.now_ns = now_ns;
        request.flags = flags;
        request.claims = claims_;
        request.max_claims = most;
        request.shadows = shadows_;
        request.max_shadows = most;
        const std::int32_t status = ratecell_rules_decide(rules, &request, &answer_);
        if (status < 0) {
            fail(status);
        }
    }

    static std::size_t kept(std::uint32_t n) noexcept { return n < most ? n : most; }

    void fail(std::int32_t status) noexcept {
        answer_ = ratecell_rules_answer{};
        answer_.retry_after_ns = UINT64_MAX;
        answer_.outcome = status;
    }

    void copy(const RulesDecision &other) noexcept {
        answer_ = other.answer_;
        for (std::size_t i = 0; i < claims(); i++) {
            claims_[i] = other.claims_[i];
        }
        for (std::size_t i = 0; i < shadows(); i++) {
            shadows_[i] = other.shadows_[i];
        }
    }

    ratecell_rules_answer answer_{};
    // Not set to zero: of these as many are read as were written.
    ratecell_rules_claim claims_[most];
    ratecell_rules_shadow shadows_[most];
};

/// What a request has charged of each rule that limits it: held until it is settled, released or destroyed. Moved, not copied.
/// The rules must outlive it. One thread at a time uses it.
///
/// auto held = rules.reserve({{"client", client}, {"tokens", "4000"}});
/// if (held) { held.settle({{"tokens", work()}}); }
///
/// Destroyed, it releases the permits of layers in_flight. What nobody settles or cancels stays charged.
class [[nodiscard]] RulesReservation {
public:
    /// Nothing is held.
    RulesReservation() noexcept = default;
    RulesReservation(RulesReservation &&other) noexcept
        : rules_(std::exchange(other.rules_, nullptr)), decision_(other.decision_), held_(std::move(other.held_)),
          settled_(other.settled_), released_(other.released_) {}
    RulesReservation &operator=(RulesReservation &&other) noexcept {
        if (this != &other) {
            static_cast<void>(release());
            rules_ = std::exchange(other.rules_, nullptr);
            decision_ = other.decision_;
            held_ = std::move(other.held_);
            settled_ = other.settled_;
            released_ = other.released_;
        }
        return *this;
    }
    ~RulesReservation() { static_cast<void>(release()); }

    /// Whether the request was allowed.
    [[nodiscard]] explicit operator bool() const noexcept { return rules_ != nullptr; }
    /// The answer to the request.
    [[nodiscard]] const RulesDecision &decision() const noexcept { return decision_; }

    /// Settles now, once, by attributes that are known afterwards. See ratecell_rules_settle.
    Status settle(const Attribute *actual, std::size_t n) noexcept { return settled(actual, n, 0, std::nullopt); }
    /// settle({{"tokens", "1210"}}).
    Status settle(std::initializer_list<Attribute> actual) noexcept { return settle(actual.begin(), actual.size()); }
    /// settle at a time, as Rules::decide_at.
    Status settle_at(std::initializer_list<Attribute> actual, std::chrono::nanoseconds now) noexcept {
        return settled(actual.begin(), actual.size(), 0, now);
    }

    /// Settles each rule at 0: the request has used nothing.
    Status cancel() noexcept { return settled(nullptr, 0, RATECELL_CANCEL, std::nullopt); }
    /// cancel at a time, as Rules::decide_at.
    Status cancel_at(std::chrono::nanoseconds now) noexcept { return settled(nullptr, 0, RATECELL_CANCEL, now); }

    /// Releases the permits now, once, and returns how many units came back. See ratecell_rules_release.
    std::int32_t release() noexcept { return released(std::nullopt); }
    /// release at a time, as Rules::decide_at.
    std::int32_t release_at(std::chrono::nanoseconds now) noexcept { return released(now); }

private:
    friend class Rules;

    /// A second time there is nothing to settle: RATECELL_EINVAL.
    Status settled(const Attribute *actual, std::size_t n, std::uint32_t flags,
                   std::optional<std::chrono::nanoseconds> now) noexcept {
        ratecell_rules_request request{};
        if (rules_ == nullptr || !at(request, now) || std::exchange(settled_, true)) {
            return RATECELL_EINVAL;
        }
        request.attributes = reinterpret_cast<const ratecell_attribute *>(actual);
        request.n_attributes = n;
        request.flags |= flags;
        return ratecell_rules_settle(rules_, &request);
    }

    std::int32_t released(std::optional<std::chrono::nanoseconds> now) noexcept {
        ratecell_rules_request request{};
        if (rules_ == nullptr || !at(request, now) || std::exchange(released_, true)) {
            return 0;
        }
        return ratecell_rules_release(rules_, &request);
    }

    /// What is held, and the time; false of one before 0.
    bool at(ratecell_rules_request &request, std::optional<std::chrono::nanoseconds> now) noexcept {
        request.held = held_.data();
        request.max_held = held_.size();
        if (now) {
            request.flags = RATECELL_AT;
            request.now_ns = static_cast<std::uint64_t>(now->count());
        }
        return !now || now->count() >= 0;
    }

    const ratecell_rules *rules_ = nullptr;
    RulesDecision decision_{};
    std::vector<ratecell_rules_held> held_{};
    bool settled_ = false;
    bool released_ = false;
};

/// Limits by a file of rules, which says which limits apply to which requests: docs/RULES.md describes it. Moved, not copied.
/// Without Config::forked it belongs to one process.
class Rules {
public:
    /// None: its answers are errors.
    Rules() noexcept = default;

    /// Takes over what ratecell_rules_new made.
    explicit Rules(ratecell_rules *handle) noexcept : handle_(handle) {}

#if defined(__cpp_exceptions)
    /// make, or an Error thrown.
    explicit Rules(std::string_view text, const Config &config = {}) {
        Result<Rules, Failure> made = make(text, config);
        if (!made) {
            throw Error(made.error());
        }
        *this = *std::move(made);
    }
#endif

    /// Makes limits by the text of a file, in TOML, with all its memory: one table for all rules,
    /// with room for the config's max_keys. The text is not kept. Errors: those of ratecell_rules_new; of a fault in the
    /// file RATECELL_ERULES, whose why() names the line, the rule, the field, and what was wrong.
    static Result<Rules, Failure> make(std::string_view text, const Config &config = {}) noexcept {
        return detail::made<Rules, ratecell_rules>(config, [&](const ratecell_config *raw, ratecell_rules **out) {
            return ratecell_rules_new(text.data(), text.size(), raw, out);
        });
    }

    /// Limits by the text of another file from now on, while other threads decide. Each request is decided by the old file or
    /// by the new one. What a rule has counted stays as ratecell_rules_change says. Errors: those of ratecell_rules_change; then
    /// the rules in force stay.
    [[nodiscard]] Failure change(std::string_view text) const noexcept { return changed(text, 0, 0); }

    /// change at a time, as decide_at.
    [[nodiscard]] Failure change_at(std::string_view text, std::chrono::nanoseconds now) const noexcept {
        if (now.count() < 0) {
            return Failure(RATECELL_EINVAL);
        }
        return changed(text, RATECELL_AT, static_cast<std::uint64_t>(now.count()));
    }

    /// Makes other limits by the text of another file, in the table of these; the config is
    /// that of these. Both go on, and are destroyed in any order: a rule whose name, key and policy are in both admits exactly
    /// its limit together. For a server that forks its workers anew, see Config::forked. Errors: those of make.
    [[nodiscard]] Result<Rules, Failure> beside(std::string_view text) const noexcept {
        if (!handle_) {
            return Failure(RATECELL_EINVAL);
        }
        return detail::made<Rules, ratecell_rules>(Config{}, [&](const ratecell_config *raw, ratecell_rules **out) {
            ratecell_config config = *raw;
            config.beside = get();
            return ratecell_rules_new(text.data(), text.size(), &config, out);
        });
    }

    /// Whether it is not empty.
    [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }

    /// For the functions of ratecell.h; still this object's to free.
    [[nodiscard]] const ratecell_rules *get() const noexcept { return handle_.get(); }

    /// Decides a request of n attributes now: all limits that apply are charged, or none is. Errors: those of
    /// ratecell_rules_decide.
    RulesDecision decide(const Attribute *attributes, std::size_t n) const noexcept {
        return RulesDecision(get(), attributes, n, 0, 0);
    }

    /// decide of anything that std::data and std::size take.
    template <class Attributes>
    RulesDecision decide(const Attributes &attributes) const noexcept {
        return decide(std::data(attributes), std::size(attributes));
    }

    /// decide({{"method", "GET"}, {"path", "/"}}).
    RulesDecision decide(std::initializer_list<Attribute> attributes) const noexcept {
        return decide(attributes.begin(), attributes.size());
    }

    /// decide at a time since the Monday 00:00 UTC before the rules were made. Where no rule has a calendar_window, it may be
    /// since any instant, as long as all requests have the same.
    RulesDecision decide_at(const Attribute *attributes, std::size_t n, std::chrono::nanoseconds now) const noexcept {
        if (now.count() < 0) {
            return RulesDecision();
        }
        return RulesDecision(get(), attributes, n, RATECELL_AT, static_cast<std::uint64_t>(now.count()));
    }

    /// decide_at of anything that std::data and std::size take.
    template <class Attributes>
    RulesDecision decide_at(const Attributes &attributes, std::chrono::nanoseconds now) const noexcept {
        return decide_at(std::data(attributes), std::size(attributes), now);
    }

    /// decide_at({{"method", "GET"}, {"path", "/"}}, now).
    RulesDecision decide_at(std::initializer_list<Attribute> attributes, std::chrono::nanoseconds now) const noexcept {
        return decide_at(attributes.begin(), attributes.size(), now);
    }

    /// Decides a request as decide does, and holds what was charged, if it is allowed: see RulesReservation. It allocates; where
    /// there is no memory, std::bad_alloc is thrown before anything is charged.
    RulesReservation reserve(const Attribute *attributes, std::size_t n) const & { return reserved(attributes, n, 0, 0); }
    RulesReservation reserve(const Attribute *, std::size_t) const && = delete;

    /// reserve({{"method", "GET"}, {"path", "/"}}).
    RulesReservation reserve(std::initializer_list<Attribute> attributes) const & {
        return reserve(attributes.begin(), attributes.size());
    }
    RulesReservation reserve(std::initializer_list<Attribute>) const && = delete;

    /// reserve at a time, as decide_at.
    RulesReservation reserve_at(std::initializer_list<Attribute> attributes, std::chrono::nanoseconds now) const & {
        if (now.count() < 0) {
            return RulesReservation();
        }
        return reserved(attributes.begin(), attributes.size(), RATECELL_AT, static_cast<std::uint64_t>(now.count()));
    }
    RulesReservation reserve_at(std::initializer_list<Attribute>, std::chrono::nanoseconds) const && = delete;

    /// The HTTP fields of a response about the rules that limited its request, each named by its rule: lines as those of
    /// ratecell::fields. A decision that was made before a change has none. Errors: those of ratecell_rules_fields.
    Result<std::string> fields(Style styles, const RulesDecision &decision,
                               std::chrono::system_clock::time_point now = std::chrono::system_clock::now()) const {
        return detail::text(
            [&](char *buffer, std::size_t len) { return write_fields(styles, decision, now, buffer, len); });
    }

    /// fields into a buffer with room for the lines and a NUL, without allocation.
    Result<std::string_view> fields(Style styles, const RulesDecision &decision,
                                    std::chrono::system_clock::time_point now, char *buffer,
                                    std::size_t len) const noexcept {
        return detail::written(buffer, len, write_fields(styles, decision, now, buffer, len));
    }

    /// What they hold now and what has happened to them. Errors: those of ratecell_rules_stats.
    Result<Stats> stats() const noexcept { return stats_by(0, 0); }

    /// stats at a time, as decide_at.
    Result<Stats> stats_at(std::chrono::nanoseconds now) const noexcept {
        if (now.count() < 0) {
            return Status(RATECELL_EINVAL);
        }
        return stats_by(RATECELL_AT, static_cast<std::uint64_t>(now.count()));
    }

private:
    RulesReservation reserved(const Attribute *attributes, std::size_t n, std::uint32_t flags,
                              std::uint64_t now_ns) const {
        ratecell_rules_held held[RulesDecision::most];
        RulesReservation reservation;
        // Before anything is charged: without this memory nobody could give it back.
        reservation.held_.reserve(RulesDecision::most);
        reservation.decision_ =
            RulesDecision(get(), attributes, n, flags | RATECELL_RESERVE, now_ns, held, RulesDecision::most);
        if (reservation.decision_) {
            reservation.held_.assign(held, held + reservation.decision_.claims());
            reservation.held_.shrink_to_fit();
            reservation.rules_ = get();
        }
        return reservation;
    }

    Result<Stats> stats_by(std::uint32_t flags, std::uint64_t now_ns) const noexcept {
        Stats stats{};
        const Status status = ratecell_rules_stats(get(), flags, now_ns, &stats, sizeof stats);
        if (!status.ok()) {
            return status;
        }
        return stats;
    }

    Failure changed(std::string_view text, std::uint32_t flags, std::uint64_t now_ns) const noexcept {
        char why[1024] = "";
        const Status status =
            ratecell_rules_change(get(), text.data(), text.size(), flags, now_ns, why, sizeof why);
        return status.ok() ? Failure() : detail::failure(status, why);
    }

    struct Free {
        void operator()(ratecell_rules *handle) const noexcept { ratecell_rules_free(handle); }
    };

    std::int32_t write_fields(Style styles, const RulesDecision &decision, std::chrono::system_clock::time_point now,
                              char *buffer, std::size_t len) const noexcept {
        return detail::since_1970(now, [&](std::uint64_t unix_ns) {
            return ratecell_rules_fields(get(), static_cast<std::uint32_t>(styles), decision.raw_claims(),
                                         decision.claims(), unix_ns, buffer, len);
        });
    }

    std::unique_ptr<ratecell_rules, Free> handle_{};
};

static_assert(std::is_nothrow_move_constructible_v<Rules> && !std::is_copy_constructible_v<Rules>);

/// How a field names addresses.
enum class ClientKind : std::int32_t {
    /// Addresses separated by commas, as X-Forwarded-For has them.
    List = RATECELL_CLIENT_LIST,
    /// Forwarded, RFC 7239.
    Forwarded = RATECELL_CLIENT_FORWARDED,
    /// One address, which the proxy overwrites, as X-Real-IP has it.
    Single = RATECELL_CLIENT_SINGLE,
};

/// A line of a request's header: a ratecell_line. Its texts are not copied.
class Line {
public:
    constexpr Line(std::string_view name, std::string_view value) noexcept
        : raw_{name.data(), name.size(), value.data(), value.size()} {}

    [[nodiscard]] constexpr const ratecell_line &raw() const noexcept { return raw_; }

private:
    ratecell_line raw_;
};

static_assert(std::is_standard_layout_v<Line> && sizeof(Line) == sizeof(ratecell_line));

/// The key of a client: at most 43 characters, kept in place.
class ClientKey {
public:
    [[nodiscard]] std::string_view view() const noexcept { return {text_, length_}; }
    operator std::string_view() const noexcept { return view(); }

private:
    friend class Clients;
    char text_[RATECELL_CLIENT_KEY_SIZE] = "";
    std::size_t length_ = 0;
};

/// What knows the clients of requests: one key for each, the same text in every program.
class Clients {
public:
    /// None: its keys are errors.
    Clients() noexcept = default;

    /// Makes it of a configuration that begins with RATECELL_CLIENTS_CONFIG_INIT. Errors: those of
    /// ratecell_clients_new; the config's why says more.
    static Result<Clients> make(const ratecell_clients_config &config = RATECELL_CLIENTS_CONFIG_INIT) noexcept {
        ratecell_clients *handle = nullptr;
        const Status status = ratecell_clients_new(&config, &handle);
        if (!status.ok()) {
            return status;
        }
        Clients clients;
        clients.handle_.reset(handle);
        return clients;
    }

    /// Whether it is not empty.
    [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }

    /// The key of the client of a request, by its peer and n lines of its header, without allocation. Errors: those
    /// of ratecell_client_key.
    Result<ClientKey> key(std::string_view peer, const Line *lines, std::size_t n) const noexcept {
        ClientKey key;
        const std::int32_t length =
            ratecell_client_key(handle_.get(), peer.data(), peer.size(),
                                reinterpret_cast<const ratecell_line *>(lines), n, key.text_, sizeof key.text_);
        if (length < 0) {
            return Status(length);
        }
        key.length_ = static_cast<std::size_t>(length);
        return key;
    }

    /// key(peer, {{"X-Forwarded-For", value}}).
    Result<ClientKey> key(std::string_view peer, std::initializer_list<Line> lines = {}) const noexcept {
        return key(peer, lines.begin(), lines.size());
    }

private:
    struct Free {
        void operator()(ratecell_clients *handle) const noexcept { ratecell_clients_free(handle); }
    };

    std::unique_ptr<ratecell_clients, Free> handle_{};
};

/// When to ask a limiter again, and which waiter is first: a ratecell_waiting, with its driver's loop. Moved, not
/// copied. It needs a lock around it where several threads use it.
class Waiting {
public:
    /// An empty machine, whose answers are errors.
    Waiting() noexcept = default;

    /// Makes a machine without waiters. Errors: those of ratecell_waiting_new.
    static Result<Waiting> make(
        const ratecell_waiting_parameters &parameters = RATECELL_WAITING_PARAMETERS_INIT) noexcept {
        ratecell_waiting *handle = nullptr;
        const Status status = ratecell_waiting_new(&parameters, &handle);
        if (!status.ok()) {
            return status;
        }
        Waiting waiting;
        waiting.handle_.reset(handle);
        return waiting;
    }

    /// Makes a machine for a limiter, with the capacity and the pace of its policy. RATECELL_EINVAL of an empty one.
    static Result<Waiting> make(const Limiter &limiter) noexcept {
        if (limiter.get() == nullptr) {
            return Status(RATECELL_EINVAL);
        }
        ratecell_waiting_parameters parameters = RATECELL_WAITING_PARAMETERS_INIT;
        parameters.limiter = limiter.get();
        return make(parameters);
    }

    /// Takes an event in, and calls perform(const ratecell_wait_action &) of each action, in order. It may hand in
    /// the answer of an ask itself, by this function. Errors: those of ratecell_waiting_event; what follows from an
    /// error of perform is its own affair.
    template <class Perform>
    Status event(const ratecell_wait_event &event, Perform &&perform) {
        const ratecell_wait_event *given = &event;
        for (;;) {
            ratecell_wait_action action;
            const std::int32_t count = ratecell_waiting_event(handle_.get(), given, &action, 1, &next_);
            if (count <= 0) {
                return count;
            }
            perform(static_cast<const ratecell_wait_action &>(action));
            given = nullptr;
        }
    }

    /// The instant at which RATECELL_WAIT_TIMER is to be handed in, by the limiter's own time; nullopt if no event
    /// is due by time.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> next() const noexcept {
        if (next_ == UINT64_MAX) {
            return std::nullopt;
        }
        return detail::clamped(next_);
    }

    /// The machine as C has it, for its own functions; still owned.
    [[nodiscard]] ratecell_waiting *get() const noexcept { return handle_.get(); }

private:
    struct Free {
        void operator()(ratecell_waiting *handle) const noexcept { ratecell_waiting_free(handle); }
    };

    std::unique_ptr<ratecell_waiting, Free> handle_{};
    std::uint64_t next_ = UINT64_MAX;
};

} // namespace ratecell

#endif // RATECELL_HPP
