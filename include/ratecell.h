/* ratecell.h
 *
 * ratecell is a rate limiter that runs inside your process. Its decisions are exact, cost about one
 * cache-line fetch, and use a fixed amount of memory.
 *
 * What holds for every function here:
 *
 * - Names. Functions and types begin with ratecell_, constants with RATECELL_. Times are whole
 *   nanoseconds and end in _ns. Keys are bytes with a length; they are read during the call and not kept.
 * - Status. A negative int32_t is an error, listed in ratecell_status: nothing was charged and no output
 *   was written, except a config's why. 0 is success, or allowed; a positive status is any other outcome.
 *   Lengths of text are returned as positive numbers. New statuses may be added; none changes its meaning.
 * - NULL. Every pointer is checked. A NULL where none is allowed returns RATECELL_EINVAL, and a pointer that
 *   is not aligned for its type RATECELL_EALIGN. Each function says what may be NULL. The library cannot
 *   verify that memory is valid for its length; that is the caller's responsibility.
 * - Requests. A ratecell_request says all that a decision depends on: the key or its hash, the units, the
 *   time, the longest delay. Variants are flags and fields of it, so one function decides them all;
 *   ratecell_limiter_check and _check_at are shorthands for the plain request. Unknown flags are refused.
 * - Reservations. A request with RATECELL_RESERVE also writes a ratecell_reservation: plain data that says
 *   what was charged. Nothing is kept in the library for it, and it needs no end. ratecell_limiter_settle gives
 *   back what was not used, ratecell_limiter_release gives back a permit of the layers in_flight, and
 *   ratecell_limiter_renew keeps one. What a request by rules holds is a row of them, one for each rule, that
 *   only the rules can find the tables of: so ratecell_rules_settle and ratecell_rules_release are functions of
 *   their own.
 * - Zones. A limiter whose policy has tz=caller decides by the windows of the zone that each request names. A
 *   ratecell_zone is that zone made ready, so that a check computes no window.
 * - Threads. A function that takes a const pointer to a limiter may be called from any number of
 *   threads at once, on one limiter too, and from a signal handler, unless it says otherwise. There are
 *   no callbacks, no errno, no last error, no thread and no timer.
 * - Ownership. ratecell_limiter_free frees a limiter, once, when no call on it is under way. After fork(),
 *   parent and child each limit on their own with a limiter of ratecell_limiter_new or ratecell_rules_new; with
 *   RATECELL_FORKED the latter has tables that they share. Limiters of
 *   ratecell_region_init, ratecell_region_attach and ratecell_limiter_open have their tables in memory that
 *   processes share: parent and child both go on with the same tables, each with its own copy of the limiter.
 * - Regions. Memory that processes share holds tables and a header that describes them, and no pointers: it
 *   may be mapped at any address. A process that stops or dies, at any instruction of a check, blocks no
 *   other process and leaves nothing to repair. The region fixes what the words of its tables mean
 *   (algorithm, windows, number of layers, max_keys, when_full); rate, burst, capacity and limit belong to
 *   each limiter, until ratecell_limiter_change changes those of the region.
 * - Memory. A table is allocated as a whole when it is made, or RATECELL_ENOMEM is returned. A check
 *   allocates nothing, blocks nowhere, and makes no system call except to read the clock. There are four
 *   exceptions. A sliding_log policy allocates a key's log and locks briefly, so it must not be used in a
 *   signal handler. ratecell_rules_decide allocates in the first decisions of a thread, so it must not be
 *   used there either. After a ratecell_limiter_change the next call on each limiter, and the first of each
 *   thread, allocates and locks, so a limiter whose policy changes must not be used there. And where the few
 *   hundred bytes beside a table cannot be allocated, the process aborts, as Rust programs do.
 * - Versions. A program works with every later library of the same soname. ratecell_request,
 *   ratecell_decision, ratecell_claim, ratecell_answer, ratecell_reservation and other structs that are
 *   frozen, as they say, never change. ratecell_config and ratecell_stats may grow at their ends; their
 *   sizes say how far they go. Before 1.0 each minor version has a soname of its own.
 *
 * Generated from src/ffi; MIT or Apache-2.0.
 */

#ifndef RATECELL_H
#define RATECELL_H

#include <stddef.h>
#include <stdint.h>
#define RATECELL_VERSION_MAJOR 0
#define RATECELL_VERSION_MINOR 2
#define RATECELL_VERSION_PATCH 0
#define RATECELL_VERSION_NUMBER \
  (RATECELL_VERSION_MAJOR * 1000000 + RATECELL_VERSION_MINOR * 1000 + RATECELL_VERSION_PATCH)
#define RATECELL_VERSION_STRING "0.2.0"

#if defined(__GNUC__) || defined(__clang__)
#define RATECELL_MUST_CHECK __attribute__((warn_unused_result))
#else
#define RATECELL_MUST_CHECK
#endif

/** What a ratecell_config begins with: its size, and the default of each field. */
#define RATECELL_CONFIG_INIT { sizeof(ratecell_config), 0, 0, 0, NULL, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 0, NULL }

/** What a ratecell_clients_config begins with: its size, and the default of each field. */
#define RATECELL_CLIENTS_CONFIG_INIT { sizeof(ratecell_clients_config), 0, 0, NULL, 0, 0, NULL, 0, NULL, 0 }

/** What a ratecell_waiting_parameters begins with: its size, and the default of each field. */
#define RATECELL_WAITING_PARAMETERS_INIT \
  { sizeof(ratecell_waiting_parameters), 1000, 100000, 1000000, 10000000000u, 100000000, NULL, 0, 0, 0 }


/**
 * In a ratecell_request, for stats and for a change: at now_ns, instead of now by the limiter's clock.
 */
#define RATECELL_AT 1

/**
 * For ratecell_limiter_stats: count every key.
 */
#define RATECELL_EXACT 2

/**
 * In a ratecell_request: the key is given by its hash, which the caller computed.
 */
#define RATECELL_HASHED 4

/**
 * In a ratecell_request: allow it only with a delay_ns of at most max_delay_ns.
 */
#define RATECELL_WITHIN 8

/**
 * In a ratecell_request: the units have been spent already. Charge as many as there is room for.
 */
#define RATECELL_CHARGE 16

/**
 * In a ratecell_request: compute the decision's next_ns.
 */
#define RATECELL_NEXT 32

/**
 * In a ratecell_config, for ratecell_region_init: the memory is all zeros, so only its header is written.
 */
#define RATECELL_ZEROED 64

/**
 * In a ratecell_request: do not wait for the store that many machines share. If only that can answer, it is asked, and the
 * call returns RATECELL_ASKED. With RATECELL_CHARGE, only what this machine holds is charged.
 */
#define RATECELL_TRY 128

/**
 * In a ratecell_request of ratecell_limiter_decide: if it is allowed, write to its reservation what was charged, to be
 * settled, released or renewed. In a ratecell_rules_request of ratecell_rules_decide: write it to its held.
 */
#define RATECELL_RESERVE 256

/**
 * In a ratecell_config, for ratecell_region_init and ratecell_region_size: make room for what is given back, 8 bytes for each
 * 5 keys and layer, so that RATECELL_RESERVE works with every policy. For ratecell_rules_new: every request has
 * RATECELL_RESERVE, so that rules may count requests in_flight.
 */
#define RATECELL_RESERVATIONS 512

/**
 * In a ratecell_config, for ratecell_rules_new: the tables are shared with the processes that are forked off later, which
 * admit together exactly what the rules allow. Without it each goes on with a copy of its own.
 */
#define RATECELL_FORKED 1024

/**
 * In a ratecell_rules_request of ratecell_rules_settle: the request has used nothing.
 */
#define RATECELL_CANCEL 2048

/**
 * In a ratecell_config, for ratecell_region_init, ratecell_region_size and ratecell_limiter_open: keep the names of denied keys, and count
 * denials, for `ratecell top` and those who read a file as it does. It takes 262,144 bytes. Whoever can read the region can read those keys,
 * which may be personal data.
 */
#define RATECELL_NAMES 4096

/**
 * In a ratecell_config, for ratecell_region_attach and ratecell_limiter_open: where the region has another policy, that one
 * holds. With a file, for ratecell_rules_new: where a rule in the file has another policy, that one holds.
 */
#define RATECELL_FOLLOW 8192

/**
 * In a ratecell_config, for ratecell_region_attach and ratecell_limiter_open: where the region has another policy, it is
 * changed for all limiters of the region, as by ratecell_limiter_change. With a file, for ratecell_rules_new: where a rule in
 * the file has another policy, it is changed for all processes, as by ratecell_rules_change.
 */
#define RATECELL_CHANGE 16384

/**
 * A note in a decision: the policy did not deny, but the full table, which had no place for the key.
 */
#define RATECELL_NO_PLACE 1

/**
 * A note in a decision: the limiter's units are those of many machines. remaining is a lower bound, and reset_after_ns the
 * end of what this machine holds.
 */
#define RATECELL_LEASED 2

/**
 * A note in a decision: the store of many machines did not answer, so the config's on_failure or on_miss decided. The
 * retry_after_ns of a denial is then UINT64_MAX: it is not known.
 */
#define RATECELL_UNANSWERED 4

/**
 * A note in a decision: the policy has tz=caller, and the request names no zone. Nothing was charged.
 */
#define RATECELL_NO_ZONE 8

/**
 * The bytes that every key of a client fits in, with its NUL.
 */
#define RATECELL_CLIENT_KEY_SIZE 44

/**
 * The bytes that have room for the name of every rule, with its NUL.
 */
#define RATECELL_RULE_NAME_SIZE 72

/**
 * What a function returns. Negative: an error; nothing was charged, nothing was written.
 */
enum ratecell_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The request may go; its cost was charged. For a function that does not decide: success.
   */
  RATECELL_ALLOWED = 0,
  /**
   * Not now; retry_after_ns says when. Nothing was charged.
   */
  RATECELL_DENIED = 1,
  /**
   * The cost exceeds the capacity: the request can never go. Nothing was charged.
   */
  RATECELL_NEVER = 2,
  /**
   * now_ns is past the last instant that the policy's state can hold. Nothing was charged.
   */
  RATECELL_CLOCK_RANGE = 3,
  /**
   * Not known yet: the store that machines share was asked, and the request does not wait. Nothing was charged.
   */
  RATECELL_ASKED = 4,
  /**
   * The path can be read in several ways, which the file of rules refuses: to be answered with 400. Nothing was charged.
   */
  RATECELL_UNCLEAR_PATH = 5,
  /**
   * A pointer is NULL that must not be, a flag or number is unknown, flags contradict each other, or a reserved field
   * is not 0.
   */
  RATECELL_EINVAL = -1,
  /**
   * A pointer is not aligned for what it points to.
   */
  RATECELL_EALIGN = -2,
  /**
   * A length or count is larger than memory can be, or a struct's size is smaller than in the first version.
   */
  RATECELL_ESIZE = -3,
  /**
   * A config is longer than this library knows and not all zero there, so it asks for something newer; or it is
   * longer than 4096.
   */
  RATECELL_E2BIG = -4,
  /**
   * A field of the config has a value that this library does not know.
   */
  RATECELL_ECONFIG = -5,
  /**
   * A name for fields is not 1 to 256 characters of printable ASCII, no unit has that name, or a partition is too
   * long.
   */
  RATECELL_ENAME = -6,
  /**
   * The text does not fit the buffer.
   */
  RATECELL_ENOSPC = -7,
  /**
   * The limiter reserves nothing: it is in memory of which ratecell_region_init made a region without
   * RATECELL_RESERVATIONS, which its policy needs, or its units are those of many machines. Or rules reserve each request,
   * and this one has no RATECELL_RESERVE.
   */
  RATECELL_ERESERVE = -8,
  /**
   * The policy's text does not follow the grammar; ratecell_policy_explain says where.
   */
  RATECELL_EPOLICY_SYNTAX = -10,
  /**
   * The policy's limit (refill, leak) is 0.
   */
  RATECELL_EPOLICY_ZERO_LIMIT = -11,
  /**
   * The policy's period (window, interval) is 0.
   */
  RATECELL_EPOLICY_ZERO_PERIOD = -12,
  /**
   * The policy's capacity (burst) is 0.
   */
  RATECELL_EPOLICY_ZERO_CAPACITY = -13,
  /**
   * A parameter that the policy's algorithm needs is absent.
   */
  RATECELL_EPOLICY_MISSING_PARAMETER = -14,
  /**
   * The offset of a fixed window is not below the window; or the at, week or day of a calendar_window does not exist, or is
   * of another period.
   */
  RATECELL_EPOLICY_BAD_OFFSET = -15,
  /**
   * A number of the policy is out of range, or its state does not fit one word for its horizon.
   */
  RATECELL_EPOLICY_RANGE = -16,
  /**
   * The policy's rate is too fine to be kept within a thousandth of itself.
   */
  RATECELL_EPOLICY_PRECISION = -17,
  /**
   * No algorithm has the name in the policy.
   */
  RATECELL_EPOLICY_UNKNOWN_ALGORITHM = -18,
  /**
   * The policy has more than eight layers.
   */
  RATECELL_EPOLICY_BAD_LAYERS = -19,
  /**
   * No time zone has the name in the policy.
   */
  RATECELL_EPOLICY_BAD_ZONE = -23,
  /**
   * The system did not give the memory of the table.
   */
  RATECELL_ENOMEM = -20,
  /**
   * The system did not give random bytes for the secret of the key hash.
   */
  RATECELL_ENORANDOM = -21,
  /**
   * The processor has no instruction that exchanges 16 bytes at once, as a table must: it is neither aarch64 nor x86-64
   * with cmpxchg16b.
   */
  RATECELL_EPROCESSOR = -22,
  /**
   * The memory is too small for the region, or the file has been cut short.
   */
  RATECELL_EREGION_SMALL = -40,
  /**
   * The memory or file is not a region.
   */
  RATECELL_EREGION_NONE = -41,
  /**
   * The region's header is not one that was ever written.
   */
  RATECELL_EREGION_DAMAGED = -42,
  /**
   * The region is of another version of the library that lays it out otherwise, or of another byte order.
   */
  RATECELL_EREGION_LAYOUT = -43,
  /**
   * The region is of a policy with more or fewer layers.
   */
  RATECELL_EREGION_LAYERS = -44,
  /**
   * The region's words mean something else: another algorithm, window or offset.
   */
  RATECELL_EREGION_WORDS = -45,
  /**
   * The config's max_keys are not those of the region.
   */
  RATECELL_EREGION_MAX_KEYS = -46,
  /**
   * The config's when_full is not that of the region.
   */
  RATECELL_EREGION_WHEN_FULL = -47,
  /**
   * The region is of another run of the machine. A file is taken over by ratecell_limiter_open.
   */
  RATECELL_EREGION_BOOT = -48,
  /**
   * The region is of another time namespace, whose clock is another.
   */
  RATECELL_EREGION_TIME_NAMESPACE = -49,
  /**
   * A sliding_log cannot be shared.
   */
  RATECELL_EREGION_NO_WORD = -50,
  /**
   * The system refuses to open, lock, read, enlarge or map the file; the config's why has its words.
   * On a system other than Linux: no memory and no file can be shared.
   */
  RATECELL_EFILE = -51,
  /**
   * The limiter's units are, or are to be, those of many machines, and its store, the store's name or its policy is another;
   * or the store cannot be used. The config's why says which.
   */
  RATECELL_ESTORE = -52,
  /**
   * The region is of another policy: the config's why names both, and of rules the first that differs. The config can say
   * RATECELL_FOLLOW or RATECELL_CHANGE.
   */
  RATECELL_EREGION_POLICY = -53,
  /**
   * The file of rules has a fault; why says where and which.
   */
  RATECELL_ERULES = -60,
  /**
   * The policy cannot follow the one in force.
   */
  RATECELL_ECHANGE = -61,
  /**
   * A bug in ratecell: it stopped half way. The process can go on.
   */
  RATECELL_EPANIC = -90,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum ratecell_status ratecell_status;
#else
typedef int32_t ratecell_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What happens to a new key when all places for it are in use, by keys that still have something to
 * remember.
 */
enum ratecell_when_full
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Evict the key that holds the fewest used units. These units are forgiven, and counted in ratecell_stats. More
   * may pass than the policy allows, but no more than that count.
   */
  RATECELL_FULL_EVICT = 0,
  /**
   * Charge the newcomer to a state that all newcomers of its bucket share, until it has drained. It may deny too
   * much, and never allows too much.
   */
  RATECELL_FULL_SHARE = 1,
  /**
   * Deny the newcomer; retry_after_ns is the time until a place may come free. With several layers, the first one
   * without a place denies. If the policy itself denies (after a clock step back), retry_after_ns is the policy's.
   */
  RATECELL_FULL_DENY = 2,
  /**
   * Allow the newcomer without a charge, and count it in ratecell_stats.
   */
  RATECELL_FULL_ALLOW = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum ratecell_when_full ratecell_when_full;
#else
typedef int32_t ratecell_when_full;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What happens to a request that nothing of this machine's answers, where machines share units.
 */
enum ratecell_on_miss
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It waits for the store, at most wait_ns, and is then denied.
   */
  RATECELL_MISS_WAIT = 0,
  /**
   * It is denied at once, and the store is asked for those that follow.
   */
  RATECELL_MISS_DENY = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum ratecell_on_miss ratecell_on_miss;
#else
typedef int32_t ratecell_on_miss;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What happens to such a request if the store does not answer, or no agent is there.
 */
enum ratecell_on_failure
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It is denied.
   */
  RATECELL_FAILURE_CLOSED = 0,
  /**
   * It is allowed, uncharged, and counted in ratecell_stats.
   */
  RATECELL_FAILURE_OPEN = 1,
  /**
   * The agent decides it by the part of the policy of one of so many machines. Without an agent it is denied.
   */
  RATECELL_FAILURE_LOCAL = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum ratecell_on_failure ratecell_on_failure;
#else
typedef int32_t ratecell_on_failure;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The HTTP fields that tell a client its limits: a bit each, so that several can be written at once.
 */
enum ratecell_style
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * RateLimit-Policy: "name";q=100;w=60 and RateLimit: "name";r=50;t=30
   * (draft-ietf-httpapi-ratelimit-headers-11).
   */
  RATECELL_STYLE_DRAFT11 = 1,
  /**
   * The same fields by draft -07.
   */
  RATECELL_STYLE_DRAFT07 = 2,
  /**
   * RateLimit-Policy, RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset by draft -06.
   */
  RATECELL_STYLE_DRAFT06 = 4,
  /**
   * RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset by the drafts -03 to -05.
   */
  RATECELL_STYLE_DRAFT03 = 8,
  /**
   * X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset, in seconds from now.
   */
  RATECELL_STYLE_X = 16,
  /**
   * The same fields, X-RateLimit-Reset in seconds since 1970.
   */
  RATECELL_STYLE_X_UNIX = 32,
  /**
   * As RATECELL_STYLE_X_UNIX, and X-RateLimit-Used.
   */
  RATECELL_STYLE_GITHUB = 64,
  /**
   * X-Rate-Limit-Limit, X-Rate-Limit-Remaining and X-Rate-Limit-Reset, in seconds since 1970.
   */
  RATECELL_STYLE_TWITTER = 128,
  /**
   * RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset, and the first two as X-RateLimit-Limit-Minute and so
   * on.
   */
  RATECELL_STYLE_KONG = 256,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum ratecell_style ratecell_style;
#else
typedef int32_t ratecell_style;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * How a field names addresses.
 */
enum ratecell_client_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Addresses separated by commas, as X-Forwarded-For has them: each proxy adds one at the end.
   */
  RATECELL_CLIENT_LIST = 0,
  /**
   * Forwarded, RFC 7239: as a list, each address the `for` of its element.
   */
  RATECELL_CLIENT_FORWARDED = 1,
  /**
   * One address, which the proxy overwrites, as X-Real-IP and CF-Connecting-IP have it.
   */
  RATECELL_CLIENT_SINGLE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum ratecell_client_kind ratecell_client_kind;
#else
typedef int32_t ratecell_client_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The kinds of a ratecell_wait_event.
 */
enum ratecell_wait_event_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * A new waiter: id, key, cost and by_ns. Its id is of no other that stands.
   */
  RATECELL_WAIT_ARRIVE = 1,
  /**
   * The limiter's decision on the last RATECELL_WAIT_ASK: id, decision, and by_ns as the action had it.
   */
  RATECELL_WAIT_ANSWER = 2,
  /**
   * Some time has passed. Too early and too late are both allowed.
   */
  RATECELL_WAIT_TIMER = 3,
  /**
   * The waiter id gives up. Of one that is finished already nothing happens.
   */
  RATECELL_WAIT_CANCEL = 4,
  /**
   * This process gave units of the key back, or forgot it.
   */
  RATECELL_WAIT_CHANGED = 5,
  /**
   * This process has another policy: parameters, of which limiter, capacity and pace count.
   */
  RATECELL_WAIT_POLICY = 6,
  /**
   * The limiter is to be ended: all waiters are finished.
   */
  RATECELL_WAIT_CLOSE = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum ratecell_wait_event_kind ratecell_wait_event_kind;
#else
typedef uint32_t ratecell_wait_event_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The kinds of a ratecell_wait_action.
 */
enum ratecell_wait_action_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Ask the limiter for the waiter's cost with RATECELL_AT, at the event's now_ns, and RATECELL_WITHIN, of
   * by_ns - now_ns; without RATECELL_WITHIN if by_ns is UINT64_MAX. Hand its decision in as a RATECELL_WAIT_ANSWER of
   * the same now_ns.
   */
  RATECELL_WAIT_ASK = 1,
  /**
   * The end of this waiter, with its outcome: nothing more is said of it.
   */
  RATECELL_WAIT_FINISH = 2,
  /**
   * The waiter was charged and does not go: give its units back, where the policy can.
   */
  RATECELL_WAIT_GIVE_BACK = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum ratecell_wait_action_kind ratecell_wait_action_kind;
#else
typedef uint32_t ratecell_wait_action_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * How a waiter ends. Nothing but RATECELL_WAIT_GO is charged, and one that was held when it ended, as far as its
 * units were not given back.
 */
enum ratecell_wait_outcome
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It goes.
   */
  RATECELL_WAIT_GO = 0,
  /**
   * It cannot go by its deadline; at_ns is an instant before which it could not, UINT64_MAX where none is known.
   */
  RATECELL_WAIT_LATE = 1,
  /**
   * Its cost is above the capacity.
   */
  RATECELL_WAIT_NEVER = 2,
  /**
   * The clock is past the range of the policy's state.
   */
  RATECELL_WAIT_CLOCK_RANGE = 3,
  /**
   * Too many wait already.
   */
  RATECELL_WAIT_BUSY = 4,
  /**
   * It gave up.
   */
  RATECELL_WAIT_CANCELLED = 5,
  /**
   * The limiter is to be ended.
   */
  RATECELL_WAIT_CLOSED = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum ratecell_wait_outcome ratecell_wait_outcome;
#else
typedef uint32_t ratecell_wait_outcome;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What knows the clients of requests: a width, and the proxies that are trusted to name them.
 */
typedef struct ratecell_clients ratecell_clients;

/**
 * A limiter: a policy, a table of keys for each of its layers, a clock.
 */
typedef struct ratecell_limiter ratecell_limiter;

/**
 * A limiter whose limits are those of a file of rules.
 */
typedef struct ratecell_rules ratecell_rules;

/**
 * A machine that says when to ask a limiter again, and which waiter is first. It has no clock, no thread and no
 * lock, and calls no limiter: its driver does, which is the caller.
 */
typedef struct ratecell_waiting ratecell_waiting;

/**
 * A time zone, ready for requests to a limiter whose policy has tz=caller.
 */
typedef struct ratecell_zone ratecell_zone;

/**
 * How a limiter is made. Begin with RATECELL_CONFIG_INIT; a field of 0 has its default.
 *
 * Later versions may append fields. A program that was compiled with fewer has the defaults of the others;
 * one that was compiled with more can use them where the library knows them, and gets RATECELL_E2BIG where
 * it does not and they are not 0, or the size is above 4096.
 */
typedef struct ratecell_config {
  /**
   * sizeof(ratecell_config), which RATECELL_CONFIG_INIT sets.
   */
  size_t size;
  /**
   * Keys that have room at once; at exactly this many, about 6 in 100,000 find none. The memory is about 26
   * bytes a key and layer; a sliding_log about 100, and 8 for each unit it has room for. 0 is 100,000; for
   * ratecell_region_init, as many as the memory holds; for an existing region, as many as it has.
   */
  uint64_t max_keys;
  /**
   * What happens to a new key for which there is no room: one of ratecell_when_full. For an
   * existing region, 0 is what it has.
   */
  uint64_t when_full;
  /**
   * RATECELL_ZEROED, RATECELL_RESERVATIONS, RATECELL_NAMES, RATECELL_FORKED, RATECELL_FOLLOW and RATECELL_CHANGE, or 0. A
   * flag that the library does not know, or that the call has no use for, is RATECELL_ECONFIG.
   */
  uint64_t flags;
  /**
   * Where the call writes in a sentence what was wrong and what was expected, and a NUL; on success, an empty
   * text, or a warning that a region was made with other rules of the time zones in its policy. A text that does not
   * fit is cut off. NULL, with a why_len of 0, for no sentence. Not written where the config itself cannot be read.
   */
  char *why;
  /**
   * The bytes at why.
   */
  size_t why_len;
  /**
   * For a limiter whose units are those of many machines, which is one of a file that `ratecell sync` made, or that has a
   * store: what happens to a request that nothing of this machine's answers; one of ratecell_on_miss. For any other
   * limiter, this and the fields below are 0; otherwise RATECELL_ECONFIG.
   */
  uint64_t on_miss;
  /**
   * With RATECELL_MISS_WAIT: the longest wait in nanoseconds; 0 is 50,000,000.
   */
  uint64_t wait_ns;
  /**
   * What happens to such a request if the store does not answer either: one of ratecell_on_failure.
   */
  uint64_t on_failure;
  /**
   * With RATECELL_FAILURE_LOCAL: the number of machines that share the limit, at least 1.
   */
  uint64_t machines;
  /**
   * The store's address, such as "redis://10.0.0.5:6379", for an agent in this process; NULL for none. A library that was
   * built without the feature store, as the usual one is, has no client of a store: RATECELL_ECONFIG.
   */
  const char *store;
  /**
   * The name of the limit at the store, 1 to 64 of A-Z a-z 0-9 _ . : -; NULL without a store.
   */
  const char *store_name;
  /**
   * For ratecell_limiter_new and ratecell_rules_new: the zero of the limiter's times, in seconds since 1970, and below 0
   * before it; 0 is the Monday 00:00 UTC before it is made. It is for callers who give every request its time, such as
   * that of a record in a log: a calendar_window is counted from it, and aligned windows are aligned to it. For any other
   * call it is 0; otherwise RATECELL_ECONFIG.
   */
  int64_t epoch_s;
  /**
   * For ratecell_rules_new: an earlier limiter by rules, whose table the new one uses. Both go
   * on, each by its own file: a rule whose name, key and policy are in both admits exactly its limit together. max_keys,
   * when_full, epoch_s and RATECELL_FORKED are then those of the earlier one, and 0 here. It may be freed before the new
   * one, and must not be freed during the call. NULL for none, and for any other call; otherwise RATECELL_ECONFIG.
   */
  const struct ratecell_rules *beside;
  /**
   * With a store: the operator's number of the policy. Where it is greater than that of the store's policy, the policy is
   * changed for all machines, as ratecell_limiter_change does; otherwise the store's is in force. Without a store it is 0;
   * otherwise RATECELL_ECONFIG.
   */
  uint64_t policy_version;
  /**
   * For ratecell_rules_new: the path of a file in which the limits are that all processes have in common that name it; NULL
   * for none, and for any other call; otherwise RATECELL_ECONFIG. If it is absent, empty or all zeros, it is made. max_keys
   * and when_full are as for an existing region. RATECELL_FORKED, epoch_s and beside are 0. It is not kept.
   */
  const char *file;
} ratecell_config;

/**
 * The answer to one request: 64 bytes on 64-bit machines, the same in every version.
 */
typedef struct ratecell_decision {
  /**
   * The most units that can pass at one instant; with several layers, the limit of the field layer's.
   */
  uint64_t limit;
  /**
   * Units that would be allowed at this same instant, after this decision.
   */
  uint64_t remaining;
  /**
   * Until the same cost would be allowed, with no other traffic on the key; 1 ns earlier, by the limiter's
   * clock, it is still denied. 0 if it was allowed, UINT64_MAX if it never can be. A longer time than
   * UINT64_MAX - 1 is returned as that.
   */
  uint64_t retry_after_ns;
  /**
   * Until the key is as good as never used.
   */
  uint64_t reset_after_ns;
  /**
   * How long to hold the allowed request before it goes on: 0 except for a leaky_queue. In a refusal with
   * RATECELL_WITHIN, the delay that the request would be given at the first instant at which the policy admits it.
   */
  uint64_t delay_ns;
  /**
   * RATECELL_ALLOWED, RATECELL_DENIED, RATECELL_NEVER, RATECELL_CLOCK_RANGE or RATECELL_ASKED: what the call returned.
   */
  int32_t outcome;
  /**
   * The layer with the least remaining, counted from 0: the one to name in a refusal.
   */
  uint32_t layer;
  /**
   * With RATECELL_NEXT: the time until remaining + 1 units would be allowed, with no other traffic on the key; with
   * RATECELL_NO_PLACE, until there may be a place. 0 where there is no such time, and without the flag.
   */
  uint64_t next_ns;
  /**
   * Units that a release gave back; otherwise 0.
   */
  uint32_t given_back;
  /**
   * RATECELL_NO_PLACE, RATECELL_LEASED, RATECELL_UNANSWERED, RATECELL_NO_ZONE, or 0.
   */
  uint32_t notes;
} ratecell_decision;

/**
 * What a request with RATECELL_RESERVE has charged: 344 bytes of plain data, the same in every version. All zeros are no
 * reservation.
 *
 * Its first 24 + 40 * n bytes are all of it, for the n layers of the limiter's policy. They may be kept and copied, also to
 * another process that shares the table, and there to the beginning of a ratecell_reservation that is all zeros, as the
 * bytes behind them are. They are in the byte order of the machine.
 *
 * Settle each reservation once, and release it once: a second time may give back units of other requests of the key.
 */
typedef struct ratecell_reservation {
  /**
   * The library's own.
   */
  uint64_t data[43];
} ratecell_reservation;

/**
 * A request: 64 bytes on 64-bit machines, the same in every version. With only key, key_len and cost set, and all
 * else 0, it is a plain check by the limiter's clock.
 */
typedef struct ratecell_request {
  /**
   * The key's bytes; may be NULL if key_len is 0, or with RATECELL_HASHED. The empty key is valid.
   */
  const void *key;
  /**
   * The bytes at key.
   */
  size_t key_len;
  /**
   * With RATECELL_HASHED, instead of the key. Distinct hashes can be one key: a key is identified by its bucket,
   * of which there are max_keys / 5, and by 40 bits. Among n = max_keys keys two agree in both with a probability of
   * about 2.5 n / 2^40. A key by its hash is not the key by its bytes. Where others choose the keys, the hash must be
   * one they cannot predict.
   */
  uint64_t hash;
  /**
   * With RATECELL_AT: nanoseconds since any instant, as long as all users of the limiter mean the same.
   */
  uint64_t now_ns;
  /**
   * With RATECELL_WITHIN: the longest delay with which the request is allowed. Otherwise it is denied, and not charged:
   * retry_after_ns is the time until this same request is allowed, and delay_ns the delay that it would be given at the
   * first instant at which the policy alone admits it, so the policy's own wait is
   * retry_after_ns - max(0, delay_ns - max_delay_ns). Where its own units alone are delayed for longer, as those of a
   * cost above the burst of a leaky_queue are, it can never go: RATECELL_NEVER, with a delay_ns above 0.
   */
  uint64_t max_delay_ns;
  /**
   * Units, all or none. 0 is a peek: it charges nothing, and the decision's remaining is the answer.
   *
   * With RATECELL_CHARGE, units that have been spent already, whether or not they would be allowed: as many as there is
   * room for are charged, so that the key is at most full; each of several layers is filled on its own. The decision is
   * that of a peek afterwards. A new key for which a full table has no room is not charged under
   * RATECELL_FULL_DENY and RATECELL_FULL_ALLOW; under RATECELL_FULL_DENY the decision says so, and no peek does.
   */
  uint32_t cost;
  /**
   * RATECELL_HASHED, RATECELL_AT, RATECELL_WITHIN, RATECELL_CHARGE, RATECELL_NEXT, RATECELL_TRY, RATECELL_RESERVE. Any
   * other bit is RATECELL_EINVAL, and so is RATECELL_CHARGE with RATECELL_WITHIN or RATECELL_RESERVE, and RATECELL_RESERVE
   * in a batch and in a claim.
   */
  uint32_t flags;
  /**
   * For a limiter whose policy has tz=caller: the zone whose windows decide, made by ratecell_zone_new for that limiter, or
   * for one of the same calendar. Without one the answer is RATECELL_NEVER, with RATECELL_NO_ZONE in the decision's notes.
   * For every other limiter it must be NULL.
   */
  const struct ratecell_zone *zone;
  /**
   * With RATECELL_RESERVE, where the reservation is written; for ratecell_limiter_settle, _release and _renew, where it
   * stands. Otherwise it must be NULL.
   */
  struct ratecell_reservation *reservation;
} ratecell_request;

/**
 * One of several requests that are allowed together or not at all.
 */
typedef struct ratecell_claim {
  /**
   * The limiter that decides it.
   */
  const struct ratecell_limiter *limiter;
  /**
   * Its request.
   */
  struct ratecell_request request;
} ratecell_claim;

/**
 * The contents of a limiter, and the counts of its events. With several layers, events and bytes are summed, and
 * slots and live keys are those of the layer with the most.
 *
 * Later versions may append fields.
 */
typedef struct ratecell_stats {
  /**
   * Places for keys. The table is advertised for five sevenths of them.
   */
  uint64_t slots;
  /**
   * Live keys: keys that, at the given time, are not as good as never used.
   */
  uint64_t live;
  /**
   * Bytes of memory, fixed when the limiter was made. The entries of a sliding_log are not counted.
   */
  uint64_t bytes;
  /**
   * Live keys that were erased for newcomers.
   */
  uint64_t evicted;
  /**
   * Units that erased keys still held, rounded up for each key: the most that may have passed beyond the policy.
   */
  uint64_t forgiven;
  /**
   * Requests decided on a state shared by newcomers without room.
   */
  uint64_t shared;
  /**
   * Newcomers denied for want of room.
   */
  uint64_t denied_full;
  /**
   * Newcomers allowed uncharged for want of room.
   */
  uint64_t allowed_full;
  /**
   * Requests that met so many others at the same time that they were answered as by a full table.
   */
  uint64_t exhausted;
  /**
   * The bound on the error of live, up or down. 0 if every key was counted, which is exact while nothing else runs.
   * For a sample it is four standard errors, which bounds the error of all but 1 of 10,000 limiters.
   */
  uint64_t live_error;
  /**
   * Of a limiter whose units are those of many machines, and of all on its file, since that was made; otherwise 0: this
   * and all below. Units that the store granted to this machine.
   */
  uint64_t leased;
  /**
   * Units of them that were used. A lease is counted when it is replaced.
   */
  uint64_t used;
  /**
   * Units of them that passed unused.
   */
  uint64_t passed;
  /**
   * Units that were given back to the store.
   */
  uint64_t given_back;
  /**
   * Requests that nothing of this machine's could answer.
   */
  uint64_t misses;
  /**
   * Misses that waited for the store.
   */
  uint64_t waits;
  /**
   * Misses that waited in vain.
   */
  uint64_t timeouts;
  /**
   * Operations that were sent to the store.
   */
  uint64_t operations;
  /**
   * Operations that came after another machine's, and were repeated.
   */
  uint64_t swaps_lost;
  /**
   * How far the machine's idea of the store's clock is behind at most, in nanoseconds.
   */
  uint64_t lag_ns;
  /**
   * Words at the store below what this machine had charged: above 0, the store has forgotten what it was told.
   */
  uint64_t healed;
  /**
   * Misses that had no room on the machine's board.
   */
  uint64_t board_full;
  /**
   * Units that were allowed uncharged, because the store was away.
   */
  uint64_t opened;
  /**
   * Units that the agent granted by its part of the policy, because the store was away.
   */
  uint64_t local;
  /**
   * 1 if an agent is there and the store answers it; otherwise 0.
   */
  uint64_t connected;
} ratecell_stats;

/**
 * A limiter's decision, with the names of its policy: 56 bytes on 64-bit machines, the same in every version.
 */
typedef struct ratecell_answer {
  /**
   * The limiter that decided.
   */
  const struct ratecell_limiter *limiter;
  /**
   * Its decision; of a request with RATECELL_NEXT where the fields are to be as exact as they can be.
   */
  const struct ratecell_decision *decision;
  /**
   * The policy's name, 1 to 256 characters of printable ASCII, in RateLimit and RateLimit-Policy; of several layers,
   * name-1, name-2 and so on. NULL: each layer is named by its own text.
   */
  const char *name;
  /**
   * The unit that is counted: requests, content-bytes or concurrent-requests. NULL for requests.
   */
  const char *unit;
  /**
   * The partition of the clients that the limit is for, 0 to 256 bytes; NULL for none. Every client that asks reads
   * it: put no address in it, nor a hash of one without a key.
   */
  const void *partition;
  /**
   * The bytes of the partition.
   */
  size_t partition_len;
  /**
   * 0.
   */
  uint64_t reserved;
} ratecell_answer;

/**
 * How clients are known. Begin with RATECELL_CLIENTS_CONFIG_INIT; a field of 0 or NULL has its default.
 *
 * Where field, kind, hops and networks all are 0 or NULL, the peer of a connection is the client. Otherwise
 * field is needed, and one of hops and networks. Later versions may append fields, as of ratecell_config.
 */
typedef struct ratecell_clients_config {
  /**
   * sizeof(ratecell_clients_config), which RATECELL_CLIENTS_CONFIG_INIT sets.
   */
  size_t size;
  /**
   * The bits of an IPv4 address that are the client, 8 to 32. 0 is 32.
   */
  uint32_t v4_width;
  /**
   * The bits of an IPv6 address that are the client, 32 to 128. 0 is 64.
   */
  uint32_t v6_width;
  /**
   * The name of the field in which proxies name the client, a token of 1 to 128 characters.
   */
  const char *field;
  /**
   * How it names addresses: one of ratecell_client_kind.
   */
  int32_t kind;
  /**
   * How many proxies of one's own stand before the program, 1 to 16; 1 for a field of one address. It is
   * right only if every request passes every proxy.
   */
  uint32_t hops;
  /**
   * Or the networks that one's own proxies are in, n_networks of them, 1 to 256: each text is an address, or an
   * address, "/" and a length, or "unix" for all Unix sockets.
   */
  const char *const *networks;
  /**
   * How many networks there are.
   */
  size_t n_networks;
  /**
   * Where the call writes in a sentence what is wrong with the configuration, beginning with one of bad_width,
   * bad_field, bad_trust, bad_hops and bad_network, and a NUL: an empty text where it makes what it was asked for.
   * What does not fit is cut off. NULL, with a why_len of 0, for no sentence.
   */
  char *why;
  /**
   * The bytes that why has.
   */
  size_t why_len;
} ratecell_clients_config;

/**
 * A line of a request's header: bytes, without what separates the name from the value. Frozen, 32 bytes.
 */
typedef struct ratecell_line {
  /**
   * The field's name.
   */
  const void *name;
  /**
   * Its length.
   */
  size_t name_len;
  /**
   * What stands behind the colon. White space around it makes no difference.
   */
  const void *value;
  /**
   * Its length.
   */
  size_t value_len;
} ratecell_line;

/**
 * An attribute of a request: bytes. Frozen, 32 bytes on 64-bit machines.
 */
typedef struct ratecell_attribute {
  /**
   * Its name in the file: method, path, host, client, header:NAME with NAME in small letters, or one that the file lists
   * under attributes. One that the file does not use is passed over.
   */
  const void *name;
  /**
   * Its length.
   */
  size_t name_len;
  /**
   * Its value. That of a path is the request target's as it was sent, still encoded; that of a client is the key of
   * ratecell_client_key for the widths 32 and 128.
   */
  const void *value;
  /**
   * Its length; an empty value is one, too.
   */
  size_t value_len;
} ratecell_attribute;

/**
 * The decision on one rule that limits a request, for ratecell_rules_fields. Frozen, 80 bytes.
 */
typedef struct ratecell_rules_claim {
  /**
   * The decision of the rule's limit alone; where another one refused, that of a peek.
   */
  struct ratecell_decision decision;
  /**
   * Which of the limiter's files it was decided by.
   */
  uint64_t file;
  /**
   * Which of that file's policies decided.
   */
  uint64_t policy;
} ratecell_rules_claim;

/**
 * What a shadow rule would have answered. Frozen, 80 bytes.
 */
typedef struct ratecell_rules_shadow {
  /**
   * RATECELL_ALLOWED, RATECELL_DENIED, RATECELL_NEVER or RATECELL_CLOCK_RANGE.
   */
  int32_t outcome;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * The rule's name, and a NUL.
   */
  char rule[RATECELL_RULE_NAME_SIZE];
} ratecell_rules_shadow;

/**
 * What a request with RATECELL_RESERVE has charged of one rule that limits it. Frozen, 360 bytes of plain data. All zeros
 * are none.
 *
 * It may be kept and copied, also to a process that shares the tables by RATECELL_FORKED. It is in the byte order of the
 * machine. Settle it once, and release it once: a second time may give back units of other requests.
 */
typedef struct ratecell_rules_held {
  /**
   * The library's own: which rule's cells.
   */
  uint64_t cells;
  /**
   * The library's own: how the rule makes the cost.
   */
  uint64_t cost;
  /**
   * What was charged to the cell.
   */
  struct ratecell_reservation reservation;
} ratecell_rules_held;

/**
 * A request that is decided by rules, or settled, or released. Frozen, 80 bytes on 64-bit machines.
 */
typedef struct ratecell_rules_request {
  /**
   * Its attributes, in any order. A name that is there several times is a header's, one for each of its lines, which are
   * joined by ", "; of any other name the first counts.
   */
  const struct ratecell_attribute *attributes;
  /**
   * How many there are.
   */
  size_t n_attributes;
  /**
   * With RATECELL_AT: when it is decided, in nanoseconds since any instant, as long as all users of the limiter mean the
   * same; with a calendar_window since the config's epoch_s.
   */
  uint64_t now_ns;
  /**
   * RATECELL_AT; RATECELL_RESERVE, only for ratecell_rules_decide; RATECELL_CANCEL, only for ratecell_rules_settle. Any
   * other bit is RATECELL_EINVAL.
   */
  uint32_t flags;
  /**
   * Must be 0.
   */
  uint32_t reserved;
  /**
   * Where the decisions on the rules that limit it are written, for ratecell_rules_fields; NULL, with a max_claims of 0,
   * for none. There are never more than 64.
   */
  struct ratecell_rules_claim *claims;
  /**
   * How many have room there; others are not written.
   */
  size_t max_claims;
  /**
   * Where the outcomes of shadow rules are written, in the order of the file; NULL, with a max_shadows of 0, for none.
   */
  struct ratecell_rules_shadow *shadows;
  /**
   * How many have room there; others are not written.
   */
  size_t max_shadows;
  /**
   * With RATECELL_RESERVE: where what was charged is written, of each rule that limits the request, in the order of the
   * claims; as many as the answer's n_claims. For ratecell_rules_settle and ratecell_rules_release: where it stands.
   * Otherwise NULL, with a max_held of 0.
   */
  struct ratecell_rules_held *held;
  /**
   * With RATECELL_RESERVE: how many have room there; with 64 all have. If there are not enough, the request is
   * RATECELL_ENOSPC, and nothing is charged. To settle and release: how many there are; those that are all zeros are passed
   * over.
   */
  size_t max_held;
} ratecell_rules_request;

/**
 * The answer to a request by rules. Frozen, 128 bytes.
 */
typedef struct ratecell_rules_answer {
  /**
   * Until the same request would be allowed, with no other traffic on its keys. 0 if it was allowed, UINT64_MAX if it
   * never can be.
   */
  uint64_t retry_after_ns;
  /**
   * How long to hold the allowed request before it goes on: 0 unless a leaky_queue limits it.
   */
  uint64_t delay_ns;
  /**
   * The most units that can pass the rule's limit at one instant; 0 where there is no rule.
   */
  uint64_t limit;
  /**
   * Units that the rule would allow at this same instant, after this decision.
   */
  uint64_t remaining;
  /**
   * Until the rule's key is as good as never used.
   */
  uint64_t reset_after_ns;
  /**
   * What the call returned.
   */
  int32_t outcome;
  /**
   * How many decisions on rules that limit the request there are. If max_claims is less, the first were written.
   */
  uint32_t n_claims;
  /**
   * How many shadow rules apply. If max_shadows is less, the first were written.
   */
  uint32_t n_shadows;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * The name of the rule that refused; of an allowed request, that of the rule which runs out first; empty where no rule
   * limits it, and where the path is unclear. With a NUL.
   */
  char rule[RATECELL_RULE_NAME_SIZE];
} ratecell_rules_answer;

/**
 * How a machine waits. Begin with RATECELL_WAITING_PARAMETERS_INIT, which has the defaults.
 *
 * Later versions may append fields, of which 0 is the default; sizes are read as those of ratecell_config.
 */
typedef struct ratecell_waiting_parameters {
  /**
   * sizeof(ratecell_waiting_parameters), which RATECELL_WAITING_PARAMETERS_INIT sets.
   */
  size_t size;
  /**
   * The most waiters of one key, those that are held included; 1000. With 0 nobody waits: each is one try.
   */
  uint64_t max_waiting;
  /**
   * The most waiters of all keys; 100,000.
   */
  uint64_t max_total;
  /**
   * At least 1: between the asks of a first waiter whose units others have taken; 1 ms.
   */
  uint64_t min_pause_ns;
  /**
   * At least 1: after so long a first waiter asks again, however long it was to wait; 10 s.
   */
  uint64_t max_pause_ns;
  /**
   * At least 1: between asks while the table is full and does not say until when; 100 ms.
   */
  uint64_t full_pause_ns;
  /**
   * Whose policy has the three numbers below, which are then 0. NULL: they are given. It is read during the call
   * and not kept.
   */
  const struct ratecell_limiter *limiter;
  /**
   * The largest cost that the policy admits; 0: not known.
   */
  uint64_t capacity;
  /**
   * One unit takes pace_num / pace_den nanoseconds. Policies of gcra, token_bucket, leaky_meter and leaky_queue
   * have a pace, but for mode=interval; of several layers it is the least.
   */
  uint64_t pace_num;
  /**
   * 0: the policy has no pace.
   */
  uint64_t pace_den;
} ratecell_waiting_parameters;

/**
 * Something that has happened: 64 bytes on 64-bit machines, the same in every version. What its kind does not
 * name is not looked at.
 */
typedef struct ratecell_wait_event {
  /**
   * One of ratecell_wait_event_kind.
   */
  uint32_t kind;
  /**
   * Units. A waiter for 0 goes at once.
   */
  uint32_t cost;
  /**
   * When, by the limiter's own time. Of an answer, the instant of its request.
   */
  uint64_t now_ns;
  /**
   * The driver's name for a waiter.
   */
  uint64_t id;
  /**
   * The key's bytes; may be NULL if key_len is 0. They are copied.
   */
  const void *key;
  /**
   * How many.
   */
  size_t key_len;
  /**
   * The last instant at which the waiter may go; UINT64_MAX: there is none. now_ns is one try.
   */
  uint64_t by_ns;
  /**
   * What the limiter decided.
   */
  const struct ratecell_decision *decision;
  /**
   * The policy's.
   */
  const struct ratecell_waiting_parameters *parameters;
} ratecell_wait_event;

/**
 * Something that the driver is to do: 32 bytes, the same in every version.
 */
typedef struct ratecell_wait_action {
  /**
   * One of ratecell_wait_action_kind.
   */
  uint32_t kind;
  /**
   * Of RATECELL_WAIT_FINISH one of ratecell_wait_outcome, otherwise 0.
   */
  uint32_t outcome;
  /**
   * The waiter.
   */
  uint64_t id;
  /**
   * Of RATECELL_WAIT_ASK the instant by which the request must be able to go, otherwise UINT64_MAX: any.
   */
  uint64_t by_ns;
  /**
   * Of RATECELL_WAIT_LATE, as there; otherwise UINT64_MAX.
   */
  uint64_t at_ns;
} ratecell_wait_action;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Return the version of the library that runs; RATECELL_VERSION_NUMBER is that of the header.
 *
 * Returns major * 1000000 + minor * 1000 + patch.
 * Errors: none.
 * NULL: nothing to be.
 * Threads: any.
 * Since: 0.1
 */
uint32_t ratecell_version_number(void);

/**
 * Say what a status is, beginning with its name.
 *
 * Returns static text, never NULL; of a number that is no status, that it is unknown.
 * Errors: none.
 * NULL: nothing to be.
 * Threads: any.
 * Since: 0.1
 */
const char *ratecell_strerror(int32_t status);

/**
 * Make a limiter of a policy, with all its memory.
 *
 * The policy is text, such as "100/s burst=200"; ratecell_policy_format has its grammar.
 *
 * Returns 0; free *limiter with ratecell_limiter_free.
 * Errors: RATECELL_EINVAL and RATECELL_EALIGN (policy, limiter, config), RATECELL_ESIZE and RATECELL_E2BIG
 * (config's size), RATECELL_ECONFIG, RATECELL_EPOLICY_..., RATECELL_ENOMEM,
 * RATECELL_ENORANDOM, RATECELL_EPROCESSOR, RATECELL_EPANIC. *limiter is then as it was, and the config's why says more.
 * NULL: config may be, for the defaults.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_limiter_new(const char *policy,
                             const struct ratecell_config *config,
                             struct ratecell_limiter **limiter);

/**
 * Free a limiter and its memory.
 *
 * It must come from this library and not be freed yet, and no call on it may be under way.
 *
 * Returns nothing.
 * Errors: none.
 * NULL: limiter may be; nothing happens.
 * Threads: one, after all others are done with it. Not from a signal handler.
 * Since: 0.1
 */
void ratecell_limiter_free(struct ratecell_limiter *limiter);

/**
 * Write a limiter's policy as ratecell_policy_format does, and a NUL.
 *
 * Returns the length without the NUL. With len 0 only the length is returned.
 * Errors: RATECELL_EINVAL and RATECELL_EALIGN (limiter, buffer), RATECELL_ESIZE (len), RATECELL_ENOSPC,
 * RATECELL_EPANIC.
 * NULL: buffer may be, if len is 0.
 * Threads: any.
 * Since: 0.1
 */
int32_t ratecell_limiter_policy(const struct ratecell_limiter *limiter,
                                char *buffer,
                                size_t len);

/**
 * Read a limiter's own clock: nanoseconds since its epoch, by CLOCK_MONOTONIC. It may be about a microsecond behind
 * that clock, and is not ahead of it, except by up to 30 us while chronyd slews it by more than 0.17 %.
 *
 * Returns 0 and writes *now_ns, a time for ratecell_limiter_check_at and for requests with RATECELL_AT.
 * Errors: RATECELL_EINVAL and RATECELL_EALIGN (limiter, now_ns).
 * NULL: neither.
 * Threads: any.
 * Since: 0.1
 */
int32_t ratecell_limiter_now(const struct ratecell_limiter *limiter,
                             uint64_t *now_ns);

/**
 * Return the zero of a limiter's own clock: the Monday 00:00 UTC before it was made, or the config's epoch_s, to which
 * aligned windows are aligned; 0 for one before 1970.
 *
 * Returns 0 and writes *unix_ns, nanoseconds since 1970.
 * Errors: RATECELL_EINVAL and RATECELL_EALIGN (limiter, unix_ns), RATECELL_EPANIC.
 * NULL: neither.
 * Threads: any.
 * Since: 0.1
 */
int32_t ratecell_limiter_epoch(const struct ratecell_limiter *limiter,
                               uint64_t *unix_ns);

/**
 * Decide cost units of a key now, all of them or none, and charge them if they are allowed.
 *
 * The empty key is valid. A cost of 0 is a peek: it charges nothing and changes no key's state, and the decision's
 * remaining is the answer. A peek does not see whether a full table has room for a new key: under RATECELL_FULL_DENY a
 * key may have units remaining and be denied all the same.
 *
 * Under a policy with tz=caller the answer is RATECELL_NEVER, with RATECELL_NO_ZONE in the decision's notes: only
 * a ratecell_request names a zone.
 *
 * Returns RATECELL_ALLOWED, RATECELL_DENIED, RATECELL_NEVER or RATECELL_CLOCK_RANGE, and writes *decision. A peek is
 * allowed, unless the clock is out of range or has stepped back to before the key's state.
 * Errors: RATECELL_EINVAL (limiter, key), RATECELL_EALIGN (limiter, decision), RATECELL_ESIZE (key_len).
 * NULL: decision may be; key, if key_len is 0.
 * Threads: any.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_limiter_check(const struct ratecell_limiter *limiter,
                               const void *key,
                               size_t key_len,
                               uint32_t cost,
                               struct ratecell_decision *decision);

/**
 * ratecell_limiter_check at now_ns, nanoseconds since any instant, as long as all users of the limiter
 * mean the same.
 *
 * Returns, errors, NULL and threads: as ratecell_limiter_check.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_limiter_check_at(const struct ratecell_limiter *limiter,
                                  const void *key,
                                  size_t key_len,
                                  uint32_t cost,
                                  uint64_t now_ns,
                                  struct ratecell_decision *decision);

/**
 * Decide a request: of a key or a hash, now or at an instant, within a delay, or of units that have been spent
 * already.
 *
 * With RATECELL_RESERVE, what was charged is written to the request's reservation: the outcome and the charge are those of
 * the same request without it. If the request is refused, the reservation is all zeros, which is none. If a full table allows
 * the request uncharged, it is a reservation of nothing. A cost of 0 is a peek that can be settled. If the policy
 * has layers in_flight, the reservation is their permit.
 *
 * Returns RATECELL_ALLOWED, RATECELL_DENIED, RATECELL_NEVER or RATECELL_CLOCK_RANGE, and writes *decision.
 * Errors: RATECELL_EINVAL (limiter, request, its key, flags, zone or reservation), RATECELL_EALIGN (limiter,
 * request, decision, reservation), RATECELL_ESIZE (the key's length), RATECELL_ERESERVE (the limiter, with
 * RATECELL_RESERVE). Then nothing was charged.
 * NULL: decision may be.
 * Threads: any.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_limiter_decide(const struct ratecell_limiter *limiter,
                                const struct ratecell_request *request,
                                struct ratecell_decision *decision);

/**
 * Make a key as if it had never been seen.
 *
 * What it was charged on a state shared under RATECELL_FULL_SHARE stays.
 *
 * Returns 0, or 1 if there was nothing to forget.
 * Errors: RATECELL_EINVAL (limiter, key), RATECELL_EALIGN (limiter), RATECELL_ESIZE (key_len).
 * NULL: key may be, if key_len is 0.
 * Threads: any.
 * Since: 0.1
 */
int32_t ratecell_limiter_forget(const struct ratecell_limiter *limiter,
                                const void *key,
                                size_t key_len);

/**
 * Settle the request's reservation: its cost is how many units were used, so the others that were reserved are given back,
 * and a cost of 0 is a cancellation. If more were used than were reserved, the difference is charged as with
 * RATECELL_CHARGE. Layers in_flight stay as they are.
 *
 * Each layer gives back as much as it can without forgiving what others were charged. Windows and logs give back all, as long
 * as their units still count. A rate or a bucket gives back what has not drained yet. A leaky_queue gives back the last
 * place alone. Nothing comes back if the key was forgotten or evicted meanwhile, or if the reservation is of another table.
 *
 * A reservation has no zone. Under a policy with tz=caller units come back as ever. But the answer is RATECELL_NEVER with
 * RATECELL_NO_ZONE, and units beyond those reserved are not charged: charge them by a request with RATECELL_CHARGE and
 * its zone.
 *
 * The request may be the one that reserved, with another cost. Besides cost and reservation, now_ns is read with
 * RATECELL_AT; the key, its hash and the other flags are not. Settle each reservation once.
 *
 * Returns what a peek afterwards returns, and writes its decision to *decision: RATECELL_ALLOWED, or RATECELL_DENIED if the
 * clock has stepped back to before the key's state. After RATECELL_CLOCK_RANGE nothing was given back.
 * Errors: RATECELL_EINVAL (limiter, request, its flags, zone or reservation), RATECELL_EALIGN (limiter, request,
 * reservation, decision), RATECELL_ERESERVE (limiter). Then nothing was charged, and nothing given back.
 * NULL: decision may be.
 * Threads: any.
 * Since: 0.1
 */
int32_t ratecell_limiter_settle(const struct ratecell_limiter *limiter,
                                const struct ratecell_request *request,
                                struct ratecell_decision *decision);

/**
 * Give back the permit of the layers in_flight that the request's reservation is; all other layers stay as they are.
 * Nothing comes back of a permit that has passed by itself, whose key was forgotten or evicted meanwhile, or that is of
 * another table.
 *
 * The request may be the one that reserved. Besides the reservation, now_ns is read with RATECELL_AT; the key, its hash, the
 * cost and the other flags are not. Release each permit once.
 *
 * Returns and writes what ratecell_limiter_settle does. The decision's given_back is how many units came back: of several
 * such layers the least.
 * Errors: as ratecell_limiter_settle.
 * NULL: decision may be.
 * Threads: any.
 * Since: 0.1
 */
int32_t ratecell_limiter_release(const struct ratecell_limiter *limiter,
                                 const struct ratecell_request *request,
                                 struct ratecell_decision *decision);

/**
 * Renew the permit of the layers in_flight that the request's reservation is, so that it lives on for at least another hold,
 * and write it back to the reservation. What was forgotten or has passed is acquired again. All such layers are renewed, or
 * none; a permit that is renewed at least once each hold is never refused.
 *
 * The request is read as by ratecell_limiter_release. Nobody else may use the reservation during the call.
 *
 * Returns RATECELL_ALLOWED, and writes the decision of a peek afterwards to *decision; or RATECELL_DENIED, RATECELL_NEVER or
 * RATECELL_CLOCK_RANGE, and writes the refusal: then the permit is what it was.
 * Errors: as ratecell_limiter_settle.
 * NULL: decision may be.
 * Threads: any.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_limiter_renew(const struct ratecell_limiter *limiter,
                               const struct ratecell_request *request,
                               struct ratecell_decision *decision);

/**
 * Decide n requests in their order, while memory is fetched for those to come. The decisions are those of as many
 * ratecell_limiter_decide; a key may occur more than once. The clock is read once for all requests without
 * RATECELL_AT. There is one decision for each request.
 *
 * Returns 0 and writes all decisions, whose outcomes are the answers.
 * Errors: RATECELL_EINVAL (limiter, requests, decisions, any request's key, flags, zone or reservation),
 * RATECELL_EALIGN (limiter, requests, decisions), RATECELL_ESIZE (n, any request's key_len). Then no
 * request was decided.
 * NULL: requests and decisions may be, if n is 0.
 * Threads: any.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_limiter_decide_batch(const struct ratecell_limiter *limiter,
                                      const struct ratecell_request *requests,
                                      size_t n,
                                      struct ratecell_decision *decisions);

/**
 * Decide n claims as one request: all are charged, or none is. Their policies have at most 64 layers in all, for
 * which 64 KB of stack are enough.
 *
 * There is one decision for each claim: that of its limiter alone. Where a claim would be allowed and another is
 * refused, its decision is that of a peek. No number of callers can make any limiter allow more than its policy: a claim
 * that another caller overtakes is refused. The charges made for it are then taken back, except where the key's
 * cell has changed since, or is one that newcomers share: such a charge stays. Two claims on one key of one limiter are decided one after the other;
 * if their sum is above its capacity, they are denied each time, with a retry_after_ns that does not help: give one claim
 * with the sum.
 *
 * Returns the gravest outcome: RATECELL_ALLOWED if all are, RATECELL_DENIED, RATECELL_NEVER or
 * RATECELL_CLOCK_RANGE; and writes all decisions.
 * Errors: RATECELL_EINVAL (claims, decisions, any claim's limiter or request), RATECELL_EALIGN (claims, decisions,
 * any claim's limiter), RATECELL_ESIZE (n, the layers, any request's key_len). Then nothing was charged.
 * NULL: claims, if n is 0; decisions may be.
 * Threads: any.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_decide_all(const struct ratecell_claim *claims,
                            size_t n,
                            struct ratecell_decision *decisions);

/**
 * Limit by another policy from now on, here and in every other limiter of the same keys, in all processes, while others decide.
 *
 * What each key has used stays used, in units: a raised limit lets those go on who were exhausted, a lowered one forgives
 * nothing, and changing forth and back gives nobody a unit more. Rate, burst, capacity, limit and, of a calendar, the zone
 * may change; the number of layers, their algorithms and the lengths of windows may not. gcra, leaky_meter, leaky_queue and a
 * continuous token_bucket may follow each other. A policy that decides as the one in force does changes nothing.
 *
 * A limiter that attached with another policy, or was made by ratecell_limiter_with_policy, keeps its own burst, capacity or
 * limit where that was another than the region's, and takes the rate of the new policy.
 *
 * The policy of a limiter that shares its units with other machines changes for all of them, if its agent runs in this process:
 * the call waits for the store, at most 5 s for each answer. Otherwise, and where another machine's change came before, or
 * the store refuses or does not answer, it is RATECELL_ESTORE; why says whether the change may still come.
 *
 * flags is 0, or RATECELL_AT: then the change is at now_ns, for callers that give every request its time. Every third change
 * reads and writes the whole table. Processes that share a file change its policy one after the other; of processes that
 * share memory without a file, one may call this.
 *
 * Returns 0, and writes an empty text to why.
 * Errors: RATECELL_ECHANGE (the policy cannot follow the one in force), RATECELL_EPOLICY_..., RATECELL_ESTORE (of
 * many machines, as above), RATECELL_EFILE, RATECELL_EREGION_DAMAGED, RATECELL_EINVAL (limiter, policy, flags,
 * why), RATECELL_EALIGN, RATECELL_ESIZE, RATECELL_EPANIC. Then nothing has changed, but for what why says of RATECELL_ESTORE.
 * NULL: why may be, if why_len is 0.
 * Threads: any; one change comes after the other. Not from a signal handler. A process that is forked off meanwhile must make
 * limiters of its own.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_limiter_change(const struct ratecell_limiter *limiter,
                                const char *policy,
                                uint32_t flags,
                                uint64_t now_ns,
                                char *why,
                                size_t why_len);

/**
 * Make a time zone ready for requests to a limiter whose policy has tz=caller. It has the instants at which that policy's
 * windows begin in the zone, so that a check computes none. This takes up to a millisecond, and about 40 KB for days:
 * make each zone once. The name is one of the time zone database such as "Asia/Tokyo", "UTC", or an offset such as
 * "+05:30".
 *
 * It may be used for every limiter of the same period, at, week, day, epoch and horizon, and outlives the limiter.
 *
 * Returns 0; free *zone with ratecell_zone_free.
 * Errors: RATECELL_EINVAL and RATECELL_EALIGN (limiter, name, zone), RATECELL_EPOLICY_BAD_ZONE (there is no such zone, or
 * the limiter's policy names its zone itself), RATECELL_EPOLICY_RANGE, RATECELL_EPANIC. *zone is then as it was.
 * NULL: none.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_zone_new(const struct ratecell_limiter *limiter,
                          const char *name,
                          struct ratecell_zone **zone);

/**
 * Free a zone.
 *
 * It must come from this library and not be freed yet, and no call with a request that names it may be under way.
 *
 * Returns nothing.
 * Errors: none.
 * NULL: zone may be; nothing happens.
 * Threads: one, after all others are done with it. Not from a signal handler.
 * Since: 0.1
 */
void ratecell_zone_free(struct ratecell_zone *zone);

/**
 * Return how many bytes of memory a region of a policy takes for the config's max_keys.
 *
 * Returns the bytes, or 0 where ratecell_region_init would not make one: for a bad policy or config, a
 * sliding_log, or more keys than memory holds. The config's why says which.
 * Errors: 0.
 * NULL: config may be, for the defaults.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
size_t ratecell_region_size(const char *policy,
                            const struct ratecell_config *config);

/**
 * Make a region of memory, and the first limiter in it.
 *
 * The memory starts at a multiple of 64 bytes. All of its len bytes must stay until every limiter in it is freed, in
 * this process. Its content is lost: nobody may be using it. With max_keys 0 there is room for as many keys as it
 * holds: five sevenths of the slots that ratecell_limiter_stats reports.
 *
 * RATECELL_ZEROED in the config says that the memory is all zeros, as fresh pages are. Then only what stands before the
 * tables is written, and the system provides the pages as keys come. If it is not all zeros, keys may be found in it that were
 * never checked.
 *
 * RATECELL_RESERVATIONS makes room for what is given back to the keys, as RATECELL_RESERVE needs under a rate or an interval
 * bucket. RATECELL_NAMES makes room for the names of denied keys: then all limiters of the region name them.
 *
 * Returns 0; free *limiter with ratecell_limiter_free, which does not touch the memory.
 * Errors: RATECELL_EINVAL (memory, policy, limiter), RATECELL_EALIGN (memory, config, limiter), RATECELL_ESIZE
 * (len, config's size), RATECELL_E2BIG, RATECELL_ECONFIG, RATECELL_EPOLICY_..., RATECELL_EREGION_SMALL,
 * RATECELL_EREGION_NO_WORD, RATECELL_ENORANDOM, RATECELL_EPROCESSOR, RATECELL_EPANIC. *limiter is then as it was, and
 * the config's why says more.
 * NULL: config may be, for the defaults.
 * Threads: one, before any other uses the memory. Not from a signal handler.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_region_init(void *memory,
                             size_t len,
                             const char *policy,
                             const struct ratecell_config *config,
                             struct ratecell_limiter **limiter);

/**
 * Make a limiter in an existing region, made by any process, at any address.
 *
 * The memory is as for ratecell_region_init. The policy has the algorithm and the windows that the region was
 * made with; its burst, capacity and limit of a window may be others, and are this limiter's alone. Another rate than the one
 * in force is RATECELL_EREGION_POLICY, and why has both policies. With RATECELL_FOLLOW in the config the region's policy
 * holds where it is another; with RATECELL_CHANGE it is changed for all limiters of the region, as by
 * ratecell_limiter_change. ratecell_limiter_with_policy makes a limiter with a rate of its own. Without a policy the
 * limiter follows the one in force.
 *
 * Returns 0; free *limiter with ratecell_limiter_free, which does not touch the memory.
 * Errors: as ratecell_region_init, RATECELL_EREGION_..., and with RATECELL_CHANGE those of ratecell_limiter_change.
 * NULL: policy may be, for the region's; config, for what the region has.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_region_attach(void *memory,
                               size_t len,
                               const char *policy,
                               const struct ratecell_config *config,
                               struct ratecell_limiter **limiter);

/**
 * Make a limiter in the region in a file. If the file is absent, empty or all zeros, a region for the config's
 * max_keys is made in it. Without a policy no region is made: the limiter follows the policy of the one that is there.
 * Where that has another policy, it is as with ratecell_region_attach, and so are RATECELL_FOLLOW and RATECELL_CHANGE.
 *
 * A new file has room for what is given back, as with RATECELL_RESERVATIONS, and names denied keys if the config has
 * RATECELL_NAMES; an existing one that was made without is then RATECELL_ECONFIG. It can be read and written by its owner alone; one that is there keeps its owner and mode. It outlives
 * the processes and a restart of the machine. Nobody may shorten it while it is used. Where the file is blank or of
 * another run of the machine it is locked while it is made; this waits up to 10 s for another process that makes it,
 * then gives RATECELL_EFILE.
 *
 * Returns 0; free *limiter with ratecell_limiter_free, which leaves the file as it is.
 * Errors: as ratecell_region_attach, RATECELL_EFILE and RATECELL_ENOMEM; the config's why says more.
 * NULL: policy may be, for the file's; config, for the defaults, or for what the file has.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_limiter_open(const char *path,
                              const char *policy,
                              const struct ratecell_config *config,
                              struct ratecell_limiter **limiter);

/**
 * Make another limiter on the keys and in the memory of an existing one, with another policy: a tier, a
 * location, a new rate. The policy has the algorithm and the windows of the existing one's; its rate, burst, capacity and
 * limit may be others, and are this limiter's alone until ratecell_limiter_change, which takes its rate away.
 *
 * Returns 0; free *other with ratecell_limiter_free, before or after limiter.
 * Errors: RATECELL_EINVAL and RATECELL_EALIGN (limiter, policy, config, other), RATECELL_ESIZE and RATECELL_E2BIG
 * (config's size), RATECELL_ECONFIG (a field but size, why and why_len: expected 0), RATECELL_EPOLICY_...,
 * RATECELL_EREGION_LAYERS, RATECELL_EREGION_WORDS, RATECELL_EREGION_NO_WORD, RATECELL_EPANIC. *other is then as
 * it was, and the config's why says more.
 * NULL: config may be.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_limiter_with_policy(const struct ratecell_limiter *limiter,
                                     const char *policy,
                                     const struct ratecell_config *config,
                                     struct ratecell_limiter **other);

/**
 * Report the contents of a limiter and the counts of its events: now, or with RATECELL_AT at now_ns, which is not
 * read otherwise.
 *
 * Above 163,840 keys, live is estimated from 4 MiB of each layer, and live_error bounds its error; no other memory is read.
 * A sliding_log is always counted. With RATECELL_EXACT every key is counted: this takes tens of milliseconds for ten
 * million keys, and all memory of a region becomes resident.
 *
 * size is sizeof(ratecell_stats): this many bytes are written. Bytes that this library does not know are 0.
 *
 * Returns 0 and writes *stats.
 * Errors: RATECELL_EINVAL (limiter, flags, stats), RATECELL_EALIGN (limiter, stats), RATECELL_ESIZE (size).
 * NULL: neither.
 * Threads: any.
 * Since: 0.1
 */
int32_t ratecell_limiter_stats(const struct ratecell_limiter *limiter,
                               uint32_t flags,
                               uint64_t now_ns,
                               struct ratecell_stats *stats,
                               size_t size);

/**
 * Check a policy and write it in its canonical form, and a NUL: one space between its words, the shortest
 * periods, and its options in one order. "100 per minute" is written as "100/m".
 *
 * The grammar, in which square brackets enclose an optional part. An example is
 * "10/s burst=20 & fixed_window 1000/d".
 *
 * ```text
 * policy    1 to 8 layers, joined by &; a request is charged to all of them or to none
 * layer     [algorithm] LIMIT/PERIOD [option=value]...
 * LIMIT     a whole number, which may have underscores; in gcra, the leaky ones and a continuous token_bucket
 *           also a decimal: 0.5/s is 1/2s. "10 per s" and "10r/s" are 10/s
 * PERIOD    [whole number] unit; a duration is a whole number and a unit
 * unit      ns us ms s m h d w, or an English name such as sec, minutes, hour or days
 *
 * algorithm            options, with their defaults
 * gcra, or none        burst=LIMIT: units at one instant
 * token_bucket         capacity=LIMIT mode=continuous, or interval (refilled at multiples of PERIOD),
 *                      or interval_first (refilled at PERIODs after the request that found it full)
 * leaky_meter          capacity=N, which is needed
 * leaky_queue          queue=N, which is needed; burst=1: units without a delay
 * sliding_window       strict=false: two weighted windows; true: the estimate never above LIMIT
 * sliding_log          no options: every unit is kept
 * fixed_window         start=aligned, to the epoch, or first: opened by a request; offset=0s, below PERIOD
 * calendar_window      tz=ZONE, which is needed: a name such as Europe/Berlin, UTC or +05:30; at=00:00: the time at which
 *                      windows begin; week=monday; day=1, of months, quarters and years. Its PERIOD is day, week,
 *                      month, quarter or year
 * in_flight            hold=DURATION, which is needed; its quota is LIMIT alone. What is admitted comes back by itself, after
 *                      more than a hold and at most two
 * all of them          heal=DURATION: a state from further in the future than this is forgotten; none by default
 *                      horizon=DURATION: how long after the epoch the state must serve; nine years by default
 * ```
 *
 * Options may stand in any order, each once. Ranges and errors are in vectors/README.md.
 *
 * Returns the length without the NUL. With len 0 only the length is returned.
 * Errors: RATECELL_EINVAL (policy, buffer), RATECELL_EPOLICY_..., RATECELL_ESIZE (len), RATECELL_ENOSPC,
 * RATECELL_EPANIC.
 * NULL: buffer may be, if len is 0.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
int32_t ratecell_policy_format(const char *policy,
                               char *buffer,
                               size_t len);

/**
 * Say in a sentence what is wrong with a policy, where, and what was expected, and write a NUL.
 *
 * Returns the length without the NUL: 0, and an empty text, for a policy that is right. With len 0 only
 * the length is returned.
 * Errors: RATECELL_EINVAL (policy, buffer), RATECELL_ESIZE (len), RATECELL_ENOSPC, RATECELL_EPANIC.
 * NULL: buffer may be, if len is 0.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
int32_t ratecell_policy_explain(const char *policy,
                                char *buffer,
                                size_t len);

/**
 * Write the HTTP fields of a response about the decisions of one or more limiters, and a NUL, without allocation: for
 * each field a line `Name: value` and a line feed.
 *
 * styles is one or more of ratecell_style; no two may write a field of the same name. n is at most 64. now_unix_ns, the
 * wall clock in nanoseconds since 1970, is read by the styles that give an instant. Times are whole seconds, rounded
 * up. RateLimit-Policy, RateLimit and the limits of the older drafts are lists: a field that is there already is added
 * to. Retry-After is the last; of two the greater is right.
 *
 * Returns the length without the NUL: 0, and an empty text, if no field is to be sent. With len 0 only the length is
 * returned.
 * Errors: RATECELL_EINVAL (answers, buffer, styles, an answer's limiter, decision or reserved, or the decision's outcome
 * or layer is none of the limiter's), RATECELL_EALIGN (answers, an answer's limiter or decision), RATECELL_ENAME (an
 * answer's name, unit or partition), RATECELL_ESIZE (n, len), RATECELL_ENOSPC, RATECELL_EPANIC.
 * NULL: answers may be, if n is 0; buffer, if len is 0.
 * Threads: any.
 * Since: 0.1
 */
int32_t ratecell_fields(uint32_t styles,
                        const struct ratecell_answer *answers,
                        size_t n,
                        uint64_t now_unix_ns,
                        char *buffer,
                        size_t len);

/**
 * Make what knows the clients of requests by a configuration: one key for each, the same text in every program.
 *
 * A key is an IPv4 address (203.0.113.7), an IPv6 network (2001:db8:1:2::/64), "unix" or "unknown". The client is
 * looked for from the right: the peer, then the addresses in the field from its end, each read as long as the one
 * before it is trusted. vectors/edges/client_keys.md defines it.
 *
 * Returns 0; *clients is then to be ended by ratecell_clients_free.
 * Errors: RATECELL_EINVAL and RATECELL_EALIGN (config, its networks and why, clients), RATECELL_ESIZE and
 * RATECELL_E2BIG (config's size; n_networks, why_len), RATECELL_ECONFIG (why says more), RATECELL_EPANIC. *clients is
 * then as it was, and nothing but why is written.
 * NULL: config may be, for the defaults; in it field, networks where n_networks is 0, why where why_len is 0.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_clients_new(const struct ratecell_clients_config *config,
                             struct ratecell_clients **clients);

/**
 * Write the key of a request's client and a NUL, without allocation.
 *
 * peer is the address of the connection's other end as text, with a port or without. It is a Unix socket's where it
 * is empty or begins with "@", "/" or "unix:"; other text that is no address has the key "unknown". lines are the
 * lines of the request's header, in their order; those of other fields are passed over, so they may be left out.
 * There is always a key, and RATECELL_CLIENT_KEY_SIZE bytes have room for each.
 *
 * Returns the length without the NUL. With len 0 only the length is returned.
 * Errors: RATECELL_EINVAL (clients, peer, lines, a name or value, buffer), RATECELL_EALIGN (clients, lines),
 * RATECELL_ESIZE (peer_len, n, a line's lengths, len), RATECELL_ENOSPC, RATECELL_EPANIC.
 * NULL: peer may be, if peer_len is 0; lines, if n is 0; a name or value, if its length is 0; buffer, if len is 0.
 * Threads: any.
 * Since: 0.1
 */
int32_t ratecell_client_key(const struct ratecell_clients *clients,
                            const void *peer,
                            size_t peer_len,
                            const struct ratecell_line *lines,
                            size_t n,
                            char *buffer,
                            size_t len);

/**
 * End what knows clients and give its memory back.
 *
 * It must come from this library, not be ended yet, and no call on it be under way.
 *
 * Returns nothing.
 * Errors: none.
 * NULL: clients may be; nothing happens.
 * Threads: one, after all others are done with it. Not from a signal handler.
 * Since: 0.1
 */
void ratecell_clients_free(struct ratecell_clients *clients);

/**
 * Make a limiter by a file of rules, with all its memory.
 *
 * text is the file's, TOML of len bytes; it is not kept. All rules have one table. The config's max_keys is the room of all
 * of them together: a key counts once for each layer of the policy that it is limited by. when_full, epoch_s and
 * RATECELL_FORKED are the table's; RATECELL_FULL_SHARE is refused, because a shared cell is of one policy. With
 * RATECELL_RESERVATIONS every request has RATECELL_RESERVE, and rules may count requests in_flight. With beside, an earlier
 * limiter by rules, all of them are 0: its own hold.
 *
 * With file, the table is in that file: all processes that name it admit together exactly what the rules allow. The file knows
 * each limit by the name of its rule and tier; to which requests it applies, its key and cost are those of each process's
 * own text. Rules of other names are added to what the file has. Where a rule of the same name has another policy in it, the
 * call is refused, or that one holds with RATECELL_FOLLOW, or is changed for all with RATECELL_CHANGE. No name is ever taken
 * away: all rules that the file has seen have 4,094 layers together at most.
 *
 * Returns 0; free *rules with ratecell_rules_free.
 * Errors: RATECELL_ERULES (the config's why names the line, the rule, the field, and what was wrong),
 * RATECELL_EINVAL and RATECELL_EALIGN (text, config, rules), RATECELL_ESIZE and RATECELL_E2BIG (len, config's size),
 * RATECELL_ECONFIG (also a field that has no use here), RATECELL_EPOLICY_RANGE (a calendar does not fit from the epoch),
 * RATECELL_ENOMEM, RATECELL_ENORANDOM, RATECELL_EPROCESSOR, RATECELL_EPANIC. *rules is then as it was. A rule with in_flight
 * without RATECELL_RESERVATIONS, and one with a sliding_log with RATECELL_FORKED or a file, is RATECELL_ERULES, too. Of a file
 * also RATECELL_EREGION_POLICY (why names the first rule that differs, and both policies), the others of
 * ratecell_limiter_open, and RATECELL_ECHANGE.
 * NULL: config may be, for the defaults.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_rules_new(const char *text,
                           size_t len,
                           const struct ratecell_config *config,
                           struct ratecell_rules **rules);

/**
 * Limit by another file of rules from now on, while other threads decide. Each request is decided by the old file or by
 * the new one. A rule goes on with what it has counted if its name and its key stay. Where the numbers of its limit change,
 * what each key has used stays used, in units, as by ratecell_limiter_change; with another algorithm, another window or
 * another number of layers it begins anew. So does a rule whose limit changes at all with RATECELL_FORKED, or while there is
 * another limiter beside it. In a file the limits change for all processes that have it open: each has the new policies of the
 * rules in its own text from the next request on, and rules that are not in this text stay as they are.
 *
 * flags is 0, or RATECELL_AT: then the change is at now_ns, for callers that give every request its time. Requests that were
 * given a later time, and are decided by the rules before, count as before the change.
 *
 * Returns 0, and writes an empty text to why.
 * Errors: those of ratecell_rules_new, of text, len, rules, why and why_len; RATECELL_EINVAL (also of flags);
 * RATECELL_ECHANGE (the time is past the last that a new limit can decide at); RATECELL_EFILE and RATECELL_EREGION_DAMAGED of a
 * file that cannot be locked or read, or has no room for more rules. Then why says what was wrong, and the rules in
 * force stay.
 * NULL: why may be, if why_len is 0.
 * Threads: any; of several changes each is made. Not from a signal handler.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_rules_change(const struct ratecell_rules *rules,
                              const char *text,
                              size_t len,
                              uint32_t flags,
                              uint64_t now_ns,
                              char *why,
                              size_t why_len);

/**
 * Decide a request by rules: all limits that apply are charged, or none is.
 *
 * Shadow rules are decided after the others, each by itself, and charged if the request is allowed. It allocates until its
 * thread has seen the longest keys of the file, and where it asks by a rule for the first time after a change of limits.
 *
 * With RATECELL_RESERVE what was charged of each rule is written to the request's held, to be settled or released;
 * nothing of shadow rules is held. Such a call allocates.
 *
 * Returns the gravest outcome: RATECELL_ALLOWED if all allow it or none applies, RATECELL_DENIED, RATECELL_NEVER (also of a
 * rule with "blocked", and where the rules have more than 64 layers together) or RATECELL_CLOCK_RANGE;
 * RATECELL_UNCLEAR_PATH where the file refuses a path that can be read in several ways, which is to be answered with 400.
 * Writes *answer, and the request's claims, shadows and held; of a request that is not allowed nothing is held.
 * Errors: RATECELL_EINVAL (rules, request, its attributes, flags, reserved, claims, shadows or held, answer, an attribute's
 * name or value), RATECELL_EALIGN, RATECELL_ESIZE (a length or count), RATECELL_ERESERVE (a limiter of
 * RATECELL_RESERVATIONS, and no RATECELL_RESERVE), RATECELL_ENOSPC (max_held), RATECELL_EPANIC. Then nothing was charged or
 * written, but for RATECELL_EPANIC.
 * NULL: attributes, claims, shadows and held may be, if there are none; a name or value, if its length is 0.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_rules_decide(const struct ratecell_rules *rules,
                              const struct ratecell_rules_request *request,
                              struct ratecell_rules_answer *answer);

/**
 * Write the HTTP fields of a response about the rules that limited a request, each named by its rule, and a NUL, without
 * allocation: lines as those of ratecell_fields.
 *
 * claims are those that ratecell_rules_decide wrote. If the rules were changed since, there are no fields. styles and
 * now_unix_ns are those of ratecell_fields.
 *
 * Returns the length without the NUL: 0, and an empty text, if no field is to be sent. With len 0 only the length is
 * returned.
 * Errors: RATECELL_EINVAL (rules, claims, buffer, styles, or a claim is none that was written), RATECELL_EALIGN (rules,
 * claims), RATECELL_ESIZE (n, len), RATECELL_ENOSPC, RATECELL_EPANIC.
 * NULL: claims may be, if n is 0; buffer, if len is 0.
 * Threads: any.
 * Since: 0.1
 */
int32_t ratecell_rules_fields(const struct ratecell_rules *rules,
                              uint32_t styles,
                              const struct ratecell_rules_claim *claims,
                              size_t n,
                              uint64_t now_unix_ns,
                              char *buffer,
                              size_t len);

/**
 * Report the contents of a limiter by rules and the counts of their events: now, or with RATECELL_AT at
 * now_ns, which is not read otherwise.
 *
 * All rules have one table, but each sliding_log has its own, and a file of more than 4,094 layers has more. Events and
 * bytes are summed over them. Slots, live keys and live_error are those of the table with the most. Live
 * keys are estimated as in ratecell_limiter_stats without RATECELL_EXACT. The counts of a table go when a change of the file
 * takes it away. Fields about many machines are 0. A table of up to 163,840 keys is read as a whole, and all of its memory
 * becomes resident.
 *
 * size is sizeof(ratecell_stats): this many bytes are written. Bytes that this library does not know are 0.
 *
 * In a file, another process may have put limits in force that cannot be read, or that this limiter cannot have. Then each
 * request is RATECELL_NEVER, by no rule, until they are changed again, and this function says why: it writes *stats, and
 * returns RATECELL_EREGION_DAMAGED, or RATECELL_ERULES of a limit that it cannot have.
 *
 * Returns 0 and writes *stats.
 * Errors: RATECELL_EINVAL (rules, stats, or flags is neither RATECELL_AT nor 0), RATECELL_EALIGN (rules, stats),
 * RATECELL_ESIZE (size), RATECELL_EPANIC; and those above, with which *stats is written.
 * NULL: neither.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
int32_t ratecell_rules_stats(const struct ratecell_rules *rules,
                             uint32_t flags,
                             uint64_t now_ns,
                             struct ratecell_stats *stats,
                             size_t size);

/**
 * Free a limiter by rules and its memory.
 *
 * It must come from this library and not be freed yet, and no call on it may be under way.
 *
 * Returns nothing.
 * Errors: none.
 * NULL: rules may be; nothing happens.
 * Threads: one, after all others are done with it. Not from a signal handler.
 * Since: 0.1
 */
void ratecell_rules_free(struct ratecell_rules *rules);

/**
 * Settle what a request holds by attributes that are known afterwards, such as the tokens that it has used: each rule whose
 * cost is taken from one of them, with from or by, is settled at the cost that they make, as ratecell_limiter_settle does.
 * All others stay as they are: those of a fixed cost, those whose attribute is not given, those whose cost is taken from
 * the path, and layers in_flight. With RATECELL_CANCEL each rule is settled at 0, and attributes are none.
 *
 * The request may be the one that reserved, with other attributes, and with the answer's n_claims for max_held. Its claims
 * and shadows are not read. A rule stays as it is that is not in the file in force any more, makes its cost in another way
 * than when it was charged, or has begun anew. After a change of the numbers of its limit, units of windows come back, and
 * those of a rate or a bucket stay charged. Settle each request once.
 *
 * Returns 0.
 * Errors: RATECELL_EINVAL (rules, request, its attributes, flags, reserved or held, an attribute's name or value),
 * RATECELL_EALIGN, RATECELL_ESIZE (a length or count), RATECELL_EPANIC. Then nothing was charged, and nothing given back, but
 * for RATECELL_EPANIC.
 * NULL: attributes and held may be, if there are none; a name or value, if its length is 0.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
int32_t ratecell_rules_settle(const struct ratecell_rules *rules,
                              const struct ratecell_rules_request *request);

/**
 * Give back the permits of the layers in_flight that a request holds, of all rules; all other layers stay as they are. Nothing
 * comes back of a permit that has passed by itself, whose key was evicted, or whose rule is not in the file in force any
 * more or has begun anew.
 *
 * The request may be the one that reserved, with the answer's n_claims for max_held. Besides held, now_ns is read with
 * RATECELL_AT. Release each request once.
 *
 * Returns how many units came back: of several rules with such layers the least, and at most INT32_MAX.
 * Errors: RATECELL_EINVAL (rules, request, its flags, reserved or held), RATECELL_EALIGN, RATECELL_ESIZE (a count),
 * RATECELL_EPANIC. Then nothing was given back, but for RATECELL_EPANIC.
 * NULL: held may be, if there is none.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
int32_t ratecell_rules_release(const struct ratecell_rules *rules,
                               const struct ratecell_rules_request *request);

/**
 * Make a machine without waiters, for one limiter.
 *
 * Returns 0; *waiting is then to be ended by ratecell_waiting_free.
 * Errors: RATECELL_EINVAL (parameters: a pause is 0, or capacity or pace is given beside limiter) and
 * RATECELL_EALIGN (parameters, its limiter, waiting), RATECELL_ESIZE and RATECELL_E2BIG (parameters' size),
 * RATECELL_EPANIC. *waiting is then as it was.
 * NULL: parameters may be, for the defaults.
 * Threads: any. Not from a signal handler.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_waiting_new(const struct ratecell_waiting_parameters *parameters,
                             struct ratecell_waiting **waiting);

/**
 * Take an event in, and write up to max of the actions that are to be performed, in their order.
 *
 * What does not fit max is handed out by the next call, before what follows from its own event. An ask that follows
 * from an event is made at that event's now_ns, and its answer handed in with it. A now_ns before that of an earlier
 * event counts as that one. *next_ns is the instant at which RATECELL_WAIT_TIMER is to be handed in; one that has
 * passed means at once, UINT64_MAX that no event is due by time.
 *
 * Returns how many actions there were: as many of them as max are written, and the others are left.
 * Errors: RATECELL_EINVAL (waiting, actions, event's kind, key, decision, parameters; an arrival whose id stands, an
 * answer that was not asked for), RATECELL_EALIGN (waiting, event, actions, next_ns, event's pointers but key),
 * RATECELL_ESIZE (max, event's key_len, parameters' size), RATECELL_E2BIG (parameters' size), RATECELL_EPANIC.
 * Nothing has changed then.
 * NULL: event may be, to take what is left; actions, if max is 0; next_ns, where it is not asked for.
 * Threads: one at a time. Not from a signal handler.
 * Since: 0.1
 */
RATECELL_MUST_CHECK
int32_t ratecell_waiting_event(struct ratecell_waiting *waiting,
                               const struct ratecell_wait_event *event,
                               struct ratecell_wait_action *actions,
                               size_t max,
                               uint64_t *next_ns);

/**
 * End a machine and give its memory back. Its waiters are gone; nothing is said of them.
 *
 * It must come from this library, not be ended yet, and no call on it be under way.
 *
 * Returns nothing.
 * Errors: none.
 * NULL: waiting may be; nothing happens.
 * Threads: one, after all others are done with it. Not from a signal handler.
 * Since: 0.1
 */
void ratecell_waiting_free(struct ratecell_waiting *waiting);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* RATECELL_H */
