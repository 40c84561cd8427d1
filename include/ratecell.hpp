// ratecell.hpp
//
// ratecell.h for C++17 and later: a Limiter that ends itself, keys as std::string_view, times as
// std::chrono. The contract is that of ratecell.h, function by function. What is added here:
//
// - Errors are values: a Decision, a Status or a Result, to be asked. Nothing throws but the constructor
//   Limiter(policy, config), which is there where exceptions are, and std::string for want of memory.
//   Without exceptions and without RTTI the rest is the same.
// - The check path is noexcept, allocates nothing and is inlined to the C call.
// - Times are std::chrono::nanoseconds, which end at 2^63 - 1 ns, 292 years. What C tells beyond is told as
//   that; Decision::raw() has it unclamped. A time below zero is RATECELL_EINVAL. A longer one, such as
//   std::chrono::hours::max(), overflows as the standard library converts it, before it is seen here.
// - A limiter that was moved from, or made without a policy, is empty. Its answers are errors.
// - Memory for a region is the caller's, as void * and a length, and must outlive the limiters in it.
// - Threads: const member functions from any number at once, on one limiter too. Any other member function,
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

#if defined(__cpp_exceptions)
#include <stdexcept>
#endif

namespace ratecell {

/// What a call answers that does not decide: one of ratecell_status.
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

/// A value, or why there is none. In the manner of C++23's std::expected, but total: after an error the
/// value is a T(), such as an empty limiter or an empty text.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) noexcept : value_(std::move(value)) {}
    Result(Status error) noexcept : error_(error) {}

    [[nodiscard]] explicit operator bool() const noexcept { return error_.ok(); }
    /// ok() where there is a value.
    [[nodiscard]] Status error() const noexcept { return error_; }

    [[nodiscard]] T &operator*() & noexcept { return value_; }
    [[nodiscard]] const T &operator*() const & noexcept { return value_; }
    [[nodiscard]] T &&operator*() && noexcept { return std::move(value_); }
    [[nodiscard]] T *operator->() noexcept { return &value_; }
    [[nodiscard]] const T *operator->() const noexcept { return &value_; }

private:
    T value_{};
    Status error_ = RATECELL_ALLOWED;
};

/// How a request was decided. A later library may have another answer: only Allowed may go.
enum class Outcome : std::int32_t {
    Allowed = RATECELL_ALLOWED,
    Denied = RATECELL_DENIED,
    Never = RATECELL_NEVER,
    ClockRange = RATECELL_CLOCK_RANGE,
    /// It was not: Decision::error says why. Nothing was charged.
    Failed = -1,
};

namespace detail {

using nanoseconds = std::chrono::nanoseconds;

constexpr nanoseconds clamped(std::uint64_t ns) noexcept {
    constexpr nanoseconds longest = nanoseconds::max();
    return ns < static_cast<std::uint64_t>(longest.count()) ? nanoseconds(ns) : longest;
}

/// Has write(buffer, len) tell a length, then fill a text of that length.
template <class Write>
Result<std::string> text(Write write) {
    std::string text;
    // What a text tells of, such as a file, may change between the calls: then it is asked for again.
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
    /// denied. Zero if it was allowed, nullopt if it never can be or the call failed.
    [[nodiscard]] constexpr std::optional<std::chrono::nanoseconds> retry_after() const noexcept {
        if (raw_.retry_after_ns == UINT64_MAX) {
            return std::nullopt;
        }
        return detail::clamped(raw_.retry_after_ns);
    }
    /// Until the key is as good as never used.
    [[nodiscard]] constexpr std::chrono::nanoseconds reset_after() const noexcept {
        return detail::clamped(raw_.reset_after_ns);
    }
    /// How long to hold the allowed request before it goes on: zero except for a leaky_queue.
    [[nodiscard]] constexpr std::chrono::nanoseconds delay() const noexcept {
        return detail::clamped(raw_.delay_ns);
    }
    /// Which of the policy's layers has the least remaining, from 0.
    [[nodiscard]] constexpr std::uint32_t layer() const noexcept { return raw_.layer; }
    [[nodiscard]] constexpr const ratecell_decision &raw() const noexcept { return raw_; }

private:
    friend class Limiter;

    ratecell_decision raw_{0, 0, UINT64_MAX, 0, 0, RATECELL_EINVAL, 0, {0, 0}};
};

/// One request of a batch. Its key is not copied: it must live until the batch is decided.
class Request {
public:
    constexpr Request(std::string_view key, std::uint32_t cost = 1) noexcept
        : raw_{key.data(), key.size(), cost, 0} {}

    [[nodiscard]] constexpr const ratecell_request &raw() const noexcept { return raw_; }

private:
    ratecell_request raw_;
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
    /// Of a region that is there, Evict is what it has.
    WhenFull when_full = WhenFull::Evict;
};

namespace detail {

constexpr ratecell_config raw(const Config &config) noexcept {
    ratecell_config raw = RATECELL_CONFIG_INIT;
    raw.max_keys = config.max_keys;
    raw.when_full = static_cast<std::uint64_t>(config.when_full);
    return raw;
}

} // namespace detail

/// An HTTP field about a limit: see ratecell_header.
enum class Field : std::int32_t {
    RateLimit = RATECELL_HEADER_RATELIMIT,
    RateLimitPolicy = RATECELL_HEADER_RATELIMIT_POLICY,
    RetryAfter = RATECELL_HEADER_RETRY_AFTER,
    XRateLimitLimit = RATECELL_HEADER_X_RATELIMIT_LIMIT,
    XRateLimitRemaining = RATECELL_HEADER_X_RATELIMIT_REMAINING,
    XRateLimitReset = RATECELL_HEADER_X_RATELIMIT_RESET,
    XRateLimitResetUnix = RATECELL_HEADER_X_RATELIMIT_RESET_UNIX,
};

using Stats = ratecell_stats;

/// The version of the library that runs: static text.
[[nodiscard]] inline const char *version() noexcept { return ratecell_version_string(); }

/// A field's name, as it is sent: static text, or nullptr for a number that is no field.
[[nodiscard]] inline const char *name(Field field) noexcept {
    return ratecell_header_name(static_cast<std::int32_t>(field));
}

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

/// The bytes of memory that a region of a policy takes for the config's max_keys; 0 where Limiter::init would make
/// none.
[[nodiscard]] inline std::size_t region_size(const char *policy, const Config &config = {}) noexcept {
    const ratecell_config raw = detail::raw(config);
    return ratecell_region_size(policy, &raw);
}

/// The most keys that have room in a region of len bytes of a policy; 0 where none has.
[[nodiscard]] inline std::uint64_t region_max_keys(std::size_t len, const char *policy) noexcept {
    return ratecell_region_max_keys(len, policy);
}

/// Why Limiter::attach would not make a limiter in this memory: a sentence, empty if it would.
inline Result<std::string> region_explain(void *memory, std::size_t len, const char *policy,
                                          const Config &config = {}) {
    const ratecell_config raw = detail::raw(config);
    return detail::text([&](char *buffer, std::size_t buffer_len) {
        return ratecell_region_explain(memory, len, policy, &raw, buffer, buffer_len);
    });
}

/// Why Limiter::open would not make a limiter in this file: a sentence, empty if nothing is wrong with the region
/// in it. The file is not changed, and none is made.
inline Result<std::string> file_explain(const char *path, const char *policy, const Config &config = {}) {
    const ratecell_config raw = detail::raw(config);
    return detail::text([&](char *buffer, std::size_t len) {
        return ratecell_file_explain(path, policy, &raw, buffer, len);
    });
}

#if defined(__cpp_exceptions)
/// Why a limiter could not be made. what() begins with the status's name; of a policy that is wrong, it ends
/// with explain(policy).
class Error : public std::runtime_error {
public:
    Error(Status status, const char *policy)
        : std::runtime_error(describe(status, policy)), code_(status.code()) {}

    /// One of ratecell_status, negative.
    [[nodiscard]] std::int32_t code() const noexcept { return code_; }

private:
    static std::string describe(Status status, const char *policy) {
        const Result<std::string> explanation = explain(policy);
        return explanation->empty() ? status.message() : status.message() + (": " + *explanation);
    }

    std::int32_t code_;
};
#endif

/// A policy, a table of keys for each of its layers, a clock. Moved, not copied. It is one process's, but that
/// the tables of init, attach and open are in memory that processes share.
class Limiter {
public:
    /// An empty limiter.
    Limiter() noexcept = default;

    /// Takes over what ratecell_limiter_new made.
    explicit Limiter(ratecell_limiter *handle) noexcept : handle_(handle) {}

#if defined(__cpp_exceptions)
    /// make, or an Error thrown.
    explicit Limiter(const char *policy, const Config &config = {}) {
        const Status status = make_handle(policy, config);
        if (!status.ok()) {
            throw Error(status, policy);
        }
    }
#endif

    /// Makes a limiter of a policy, such as "100/s burst=200", with all its memory. Errors: those of
    /// ratecell_limiter_new.
    static Result<Limiter> make(const char *policy, const Config &config = {}) noexcept {
        Limiter limiter;
        const Status status = limiter.make_handle(policy, config);
        if (!status.ok()) {
            return status;
        }
        return limiter;
    }

    /// Makes a region of memory at a multiple of 64 bytes, and the limiter that is first in it. What was there is
    /// gone, and nobody may be using it. Errors: those of ratecell_region_init.
    static Result<Limiter> init(void *memory, std::size_t len, const char *policy,
                                const Config &config = {}) noexcept {
        return made(config, [&](const ratecell_config *raw, ratecell_limiter **out) {
            return ratecell_region_init(memory, len, policy, raw, out);
        });
    }

    /// init of memory that is all zeros, as fresh pages are: its pages come into being as keys do. Errors: those of
    /// ratecell_region_init_zeroed.
    static Result<Limiter> init_zeroed(void *memory, std::size_t len, const char *policy,
                                       const Config &config = {}) noexcept {
        return made(config, [&](const ratecell_config *raw, ratecell_limiter **out) {
            return ratecell_region_init_zeroed(memory, len, policy, raw, out);
        });
    }

    /// Makes a limiter in a region that is there, made by any process, at any address. Errors: those of
    /// ratecell_region_attach, of which region_explain says more.
    static Result<Limiter> attach(void *memory, std::size_t len, const char *policy,
                                  const Config &config = {}) noexcept {
        return made(config, [&](const ratecell_config *raw, ratecell_limiter **out) {
            return ratecell_region_attach(memory, len, policy, raw, out);
        });
    }

    /// Makes a limiter in the region that is in a file; made for the config's max_keys, if the file is absent,
    /// empty or all zeros. Errors: those of ratecell_limiter_open, of which file_explain says more.
    static Result<Limiter> open(const char *path, const char *policy, const Config &config = {}) noexcept {
        return made(config, [&](const ratecell_config *raw, ratecell_limiter **out) {
            return ratecell_limiter_open(path, policy, raw, out);
        });
    }

    /// Another limiter on the same keys in the same memory, with another policy of the same words: a tier, a new
    /// rate. Either may end first. Errors: those of ratecell_limiter_with_policy.
    Result<Limiter> with_policy(const char *policy) const noexcept {
        return made({}, [&](const ratecell_config *, ratecell_limiter **out) {
            return ratecell_limiter_with_policy(get(), policy, out);
        });
    }

    /// Whether it is not empty.
    [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }

    /// For the functions of ratecell.h; still this limiter's to end.
    [[nodiscard]] const ratecell_limiter *get() const noexcept { return handle_.get(); }

    /// Decides cost units of a key now, all of them or none, and charges them if they are allowed. A cost
    /// of 0 asks and charges nothing.
    Decision check(std::string_view key, std::uint32_t cost = 1) const noexcept {
        return decide([&](ratecell_decision *out) {
            return ratecell_limiter_check(get(), key.data(), key.size(), cost, out);
        });
    }

    /// check at a time since any instant, as long as all who share the limiter mean the same.
    Decision check_at(std::string_view key, std::uint32_t cost, std::chrono::nanoseconds now) const noexcept {
        return decide_at(now, [&](std::uint64_t now_ns, ratecell_decision *out) {
            return ratecell_limiter_check_at(get(), key.data(), key.size(), cost, now_ns, out);
        });
    }

    /// check of the key with this hash. It is not the key by its bytes; where others choose the keys, the
    /// hash must be one they cannot predict.
    Decision check_hash(std::uint64_t hash, std::uint32_t cost = 1) const noexcept {
        return decide(
            [&](ratecell_decision *out) { return ratecell_limiter_check_hash(get(), hash, cost, out); });
    }

    /// check, but what would be delayed by more than max_delay is denied, and charges nothing: its retry_after() is
    /// when the delay is no longer.
    Decision check_within(std::string_view key, std::uint32_t cost,
                          std::chrono::nanoseconds max_delay) const noexcept {
        return decide_at(max_delay, [&](std::uint64_t max_delay_ns, ratecell_decision *out) {
            return ratecell_limiter_check_within(get(), key.data(), key.size(), cost, max_delay_ns, out);
        });
    }

    /// check_within at a time, as check_at.
    Decision check_within_at(std::string_view key, std::uint32_t cost, std::chrono::nanoseconds max_delay,
                             std::chrono::nanoseconds now) const noexcept {
        return decide_at(now, [&](std::uint64_t now_ns, ratecell_decision *out) {
            return at(max_delay, [&](std::uint64_t max_delay_ns) {
                return ratecell_limiter_check_within_at(get(), key.data(), key.size(), cost, max_delay_ns, now_ns,
                                                        out);
            });
        });
    }

    /// check_hash at a time, as check_at.
    Decision check_hash_at(std::uint64_t hash, std::uint32_t cost,
                           std::chrono::nanoseconds now) const noexcept {
        return decide_at(now, [&](std::uint64_t now_ns, ratecell_decision *out) {
            return ratecell_limiter_check_hash_at(get(), hash, cost, now_ns, out);
        });
    }

    /// What a check of a key would see now; writes nothing to the table. Its remaining() is the answer.
    Decision peek(std::string_view key) const noexcept {
        return decide([&](ratecell_decision *out) {
            return ratecell_limiter_peek(get(), key.data(), key.size(), out);
        });
    }

    /// peek at a time, as check_at.
    Decision peek_at(std::string_view key, std::chrono::nanoseconds now) const noexcept {
        return decide_at(now, [&](std::uint64_t now_ns, ratecell_decision *out) {
            return ratecell_limiter_peek_at(get(), key.data(), key.size(), now_ns, out);
        });
    }

    /// Charges cost units of a key now that were spent already: as many as there is room for. The answer is what a
    /// peek would see afterwards.
    Decision charge(std::string_view key, std::uint32_t cost = 1) const noexcept {
        return decide([&](ratecell_decision *out) {
            return ratecell_limiter_charge(get(), key.data(), key.size(), cost, out);
        });
    }

    /// charge at a time, as check_at.
    Decision charge_at(std::string_view key, std::uint32_t cost, std::chrono::nanoseconds now) const noexcept {
        return decide_at(now, [&](std::uint64_t now_ns, ratecell_decision *out) {
            return ratecell_limiter_charge_at(get(), key.data(), key.size(), cost, now_ns, out);
        });
    }

    /// Makes a key as if it had never been seen. code() is 0, or 1 if there was nothing to forget.
    Status forget(std::string_view key) const noexcept {
        return ratecell_limiter_forget(get(), key.data(), key.size());
    }

    /// Decides n requests now, in their order. Errors: those of ratecell_limiter_check_batch; then nothing
    /// was charged and no decision written.
    [[nodiscard]] Status check_batch(const Request *requests, std::size_t n,
                                     Decision *decisions) const noexcept {
        const Result<std::chrono::nanoseconds> read = now();
        return read ? check_batch_at(requests, n, *read, decisions) : read.error();
    }

    /// check_batch at a time, as check_at.
    [[nodiscard]] Status check_batch_at(const Request *requests, std::size_t n, std::chrono::nanoseconds now,
                                        Decision *decisions) const noexcept {
        return at(now, [&](std::uint64_t now_ns) {
            return ratecell_limiter_check_batch(get(), reinterpret_cast<const ratecell_request *>(requests),
                                                n, now_ns, reinterpret_cast<ratecell_decision *>(decisions));
        });
    }

    /// check_batch of anything that std::data and std::size take. RATECELL_ESIZE if there is not one
    /// decision for each request.
    template <class Requests, class Decisions>
    [[nodiscard]] Status check_batch(const Requests &requests, Decisions &&decisions) const noexcept {
        if (std::size(requests) != std::size(decisions)) {
            return RATECELL_ESIZE;
        }
        return check_batch(std::data(requests), std::size(requests), std::data(decisions));
    }

    /// check_batch_at of anything that std::data and std::size take.
    template <class Requests, class Decisions>
    [[nodiscard]] Status check_batch_at(const Requests &requests, std::chrono::nanoseconds now,
                                        Decisions &&decisions) const noexcept {
        if (std::size(requests) != std::size(decisions)) {
            return RATECELL_ESIZE;
        }
        return check_batch_at(std::data(requests), std::size(requests), now, std::data(decisions));
    }

    /// What it holds now and what has happened to it. Of many keys the live ones are estimated, within live_error;
    /// with RATECELL_EXACT they are counted, which reads the whole table.
    Result<Stats> stats(std::uint32_t flags = 0) const noexcept {
        return tell<Stats>(
            [&](Stats *out) { return ratecell_limiter_stats(get(), flags, 0, out, sizeof *out); });
    }

    /// stats at a time, as check_at.
    Result<Stats> stats_at(std::chrono::nanoseconds now, std::uint32_t flags = 0) const noexcept {
        return tell<Stats>([&](Stats *out) {
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

    /// The value of an HTTP field about one of this limiter's decisions; empty if the field is not to be
    /// sent with it. name, printable ASCII, is the policy's; without one each layer is named by its text.
    Result<std::string> header(Field field, const Decision &decision, const char *name = nullptr) const {
        return detail::text([&](char *buffer, std::size_t len) {
            return write_header(field, decision, name, buffer, len);
        });
    }

    /// header into a buffer with room for the value and a NUL, without allocation.
    Result<std::string_view> header(Field field, const Decision &decision, const char *name, char *buffer,
                                    std::size_t len) const noexcept {
        const std::int32_t length = write_header(field, decision, name, buffer, len);
        if (length < 0) {
            return Status(length);
        }
        // With len 0, C tells the length and writes nothing.
        if (len == 0) {
            return Status(RATECELL_ENOSPC);
        }
        return std::string_view(buffer, static_cast<std::size_t>(length));
    }

private:
    struct Free {
        void operator()(ratecell_limiter *handle) const noexcept { ratecell_limiter_free(handle); }
    };

    /// What call(&config, &handle) makes.
    template <class Call>
    static Result<Limiter> made(const Config &config, Call call) noexcept {
        const ratecell_config raw = detail::raw(config);
        ratecell_limiter *handle = nullptr;
        const Status status = call(&raw, &handle);
        if (!status.ok()) {
            return status;
        }
        return Limiter(handle);
    }

    Status make_handle(const char *policy, const Config &config) noexcept {
        const ratecell_config raw = detail::raw(config);
        ratecell_limiter *handle = nullptr;
        const Status status = ratecell_limiter_new(policy, &raw, &handle);
        handle_.reset(handle);
        return status;
    }

    template <class Call>
    static Decision decide(Call call) noexcept {
        Decision decision;
        const std::int32_t status = call(&decision.raw_);
        // C wrote nothing: the rest is as of no answer.
        if (status < 0) {
            decision.raw_.outcome = status;
        }
        return decision;
    }

    template <class Call>
    static Decision decide_at(std::chrono::nanoseconds now, Call call) noexcept {
        return decide([&](ratecell_decision *out) {
            return at(now, [&](std::uint64_t now_ns) { return call(now_ns, out); });
        });
    }

    /// Calls with a time as C has it.
    template <class Call>
    static std::int32_t at(std::chrono::nanoseconds now, Call call) noexcept {
        return now.count() < 0 ? RATECELL_EINVAL : call(static_cast<std::uint64_t>(now.count()));
    }

    /// What call(&value) tells.
    template <class T, class Call>
    static Result<T> tell(Call call) noexcept {
        T value{};
        const Status status = call(&value);
        if (!status.ok()) {
            return status;
        }
        return value;
    }

    template <class Call>
    static Result<std::chrono::nanoseconds> time(Call call) noexcept {
        const Result<std::uint64_t> ns = tell<std::uint64_t>(call);
        if (!ns) {
            return ns.error();
        }
        return detail::clamped(*ns);
    }

    std::int32_t write_header(Field field, const Decision &decision, const char *name, char *buffer,
                              std::size_t len) const noexcept {
        return ratecell_limiter_header(get(), static_cast<std::int32_t>(field), name, &decision.raw_, buffer,
                                       len);
    }

    std::unique_ptr<ratecell_limiter, Free> handle_{};
};

static_assert(sizeof(Limiter) == sizeof(ratecell_limiter *), "a limiter is its handle");
static_assert(std::is_nothrow_move_constructible_v<Limiter> && !std::is_copy_constructible_v<Limiter>);

/// One of several requests that are to be allowed together or not at all: a ratecell_claim. Its key is not copied,
/// and its limiter stays where it is: both must live until the claim is decided.
class Claim {
public:
    /// At the limiter's own time, which is read here.
    Claim(const Limiter &limiter, std::string_view key, std::uint32_t cost = 1) noexcept
        : Claim(limiter, key, cost, *limiter.now()) {}

    /// At a time, as check_at.
    Claim(const Limiter &limiter, std::string_view key, std::uint32_t cost,
          std::chrono::nanoseconds now) noexcept
        // Of a time below zero, a claim that C refuses by RATECELL_EINVAL.
        : raw_{limiter.get(), key.data(), key.size(), static_cast<std::uint64_t>(now.count()), cost,
               now.count() < 0 ? 1u : 0u} {}

    /// Of a limiter that is gone before it decides.
    template <class... Rest>
    Claim(const Limiter &&, Rest &&...) = delete;

    [[nodiscard]] const ratecell_claim &raw() const noexcept { return raw_; }

private:
    ratecell_claim raw_;
};

static_assert(std::is_standard_layout_v<Claim> && std::is_trivially_copyable_v<Claim>);
static_assert(sizeof(Claim) == sizeof(ratecell_claim) && alignof(Claim) == alignof(ratecell_claim));

/// What came of claims: the gravest of their outcomes, or the error of a call that did not decide.
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
/// for one of each, or is nullptr. Errors: those of ratecell_check_all.
inline Verdict check_all(const Claim *claims, std::size_t n, Decision *decisions) noexcept {
    return Verdict(ratecell_check_all(reinterpret_cast<const ratecell_claim *>(claims), n,
                                      reinterpret_cast<ratecell_decision *>(decisions)));
}

/// check_all of anything that std::data and std::size take.
template <class Claims>
Verdict check_all(const Claims &claims) noexcept {
    return check_all(std::data(claims), std::size(claims), nullptr);
}

/// check_all with a decision of each claim. RATECELL_ESIZE if there are more or fewer.
template <class Claims, class Decisions>
Verdict check_all(const Claims &claims, Decisions &&decisions) noexcept {
    if (std::size(claims) != std::size(decisions)) {
        return Verdict(RATECELL_ESIZE);
    }
    return check_all(std::data(claims), std::size(claims), std::data(decisions));
}

/// check_all({{limiter, key}, {other, key}}).
inline Verdict check_all(std::initializer_list<Claim> claims) noexcept {
    return check_all(claims.begin(), claims.size(), nullptr);
}

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
