/* The ABI of a 64-bit machine, at compile time: every size, every offset and every number. What changes here
 * breaks programs that were built before. */

#include <ratecell.h>
/* Twice, as in a program of many headers. */
#include <ratecell.h>

#include <stdalign.h>

#define SIZE(type, size, align)                                                                               \
    _Static_assert(sizeof(type) == (size), #type " has another size");                                        \
    _Static_assert(alignof(type) == (align), #type " has another alignment")
#define FIELD(type, field, offset, of)                                                                        \
    _Static_assert(offsetof(type, field) == (offset), #type "." #field " has another offset");                \
    _Static_assert(_Generic(((type *)0)->field, of : 1, default : 0), #type "." #field " has another type")
#define VALUE(name, value) _Static_assert(name == (value), #name " has another value")
#define FUNCTION(name, type) _Static_assert(_Generic(&name, type : 1, default : 0), #name " has another type")

SIZE(ratecell_config, 128, 8);
FIELD(ratecell_config, size, 0, size_t);
FIELD(ratecell_config, max_keys, 8, uint64_t);
FIELD(ratecell_config, when_full, 16, uint64_t);
FIELD(ratecell_config, flags, 24, uint64_t);
FIELD(ratecell_config, why, 32, char *);
FIELD(ratecell_config, why_len, 40, size_t);
FIELD(ratecell_config, on_miss, 48, uint64_t);
FIELD(ratecell_config, wait_ns, 56, uint64_t);
FIELD(ratecell_config, on_failure, 64, uint64_t);
FIELD(ratecell_config, machines, 72, uint64_t);
FIELD(ratecell_config, store, 80, const char *);
FIELD(ratecell_config, store_name, 88, const char *);
FIELD(ratecell_config, epoch_s, 96, int64_t);
FIELD(ratecell_config, beside, 104, const ratecell_rules *);
FIELD(ratecell_config, policy_version, 112, uint64_t);
FIELD(ratecell_config, file, 120, const char *);

SIZE(ratecell_decision, 64, 8);
FIELD(ratecell_decision, limit, 0, uint64_t);
FIELD(ratecell_decision, remaining, 8, uint64_t);
FIELD(ratecell_decision, retry_after_ns, 16, uint64_t);
FIELD(ratecell_decision, reset_after_ns, 24, uint64_t);
FIELD(ratecell_decision, delay_ns, 32, uint64_t);
FIELD(ratecell_decision, outcome, 40, int32_t);
FIELD(ratecell_decision, layer, 44, uint32_t);
FIELD(ratecell_decision, next_ns, 48, uint64_t);
FIELD(ratecell_decision, given_back, 56, uint32_t);
FIELD(ratecell_decision, notes, 60, uint32_t);

SIZE(ratecell_request, 64, 8);
FIELD(ratecell_request, key, 0, const void *);
FIELD(ratecell_request, key_len, 8, size_t);
FIELD(ratecell_request, hash, 16, uint64_t);
FIELD(ratecell_request, now_ns, 24, uint64_t);
FIELD(ratecell_request, max_delay_ns, 32, uint64_t);
FIELD(ratecell_request, cost, 40, uint32_t);
FIELD(ratecell_request, flags, 44, uint32_t);
FIELD(ratecell_request, zone, 48, const ratecell_zone *);
FIELD(ratecell_request, reservation, 56, ratecell_reservation *);

SIZE(ratecell_reservation, 344, 8);

SIZE(ratecell_claim, 72, 8);
FIELD(ratecell_claim, limiter, 0, const ratecell_limiter *);
FIELD(ratecell_claim, request, 8, ratecell_request);

SIZE(ratecell_answer, 56, 8);
FIELD(ratecell_answer, limiter, 0, const ratecell_limiter *);
FIELD(ratecell_answer, decision, 8, const ratecell_decision *);
FIELD(ratecell_answer, name, 16, const char *);
FIELD(ratecell_answer, unit, 24, const char *);
FIELD(ratecell_answer, partition, 32, const void *);
FIELD(ratecell_answer, partition_len, 40, size_t);
FIELD(ratecell_answer, reserved, 48, uint64_t);

SIZE(ratecell_stats, 200, 8);
FIELD(ratecell_stats, slots, 0, uint64_t);
FIELD(ratecell_stats, live, 8, uint64_t);
FIELD(ratecell_stats, bytes, 16, uint64_t);
FIELD(ratecell_stats, evicted, 24, uint64_t);
FIELD(ratecell_stats, forgiven, 32, uint64_t);
FIELD(ratecell_stats, shared, 40, uint64_t);
FIELD(ratecell_stats, denied_full, 48, uint64_t);
FIELD(ratecell_stats, allowed_full, 56, uint64_t);
FIELD(ratecell_stats, exhausted, 64, uint64_t);
FIELD(ratecell_stats, live_error, 72, uint64_t);
FIELD(ratecell_stats, leased, 80, uint64_t);
FIELD(ratecell_stats, used, 88, uint64_t);
FIELD(ratecell_stats, passed, 96, uint64_t);
FIELD(ratecell_stats, given_back, 104, uint64_t);
FIELD(ratecell_stats, misses, 112, uint64_t);
FIELD(ratecell_stats, waits, 120, uint64_t);
FIELD(ratecell_stats, timeouts, 128, uint64_t);
FIELD(ratecell_stats, operations, 136, uint64_t);
FIELD(ratecell_stats, swaps_lost, 144, uint64_t);
FIELD(ratecell_stats, lag_ns, 152, uint64_t);
FIELD(ratecell_stats, healed, 160, uint64_t);
FIELD(ratecell_stats, board_full, 168, uint64_t);
FIELD(ratecell_stats, opened, 176, uint64_t);
FIELD(ratecell_stats, local, 184, uint64_t);
FIELD(ratecell_stats, connected, 192, uint64_t);

SIZE(ratecell_clients_config, 64, 8);
FIELD(ratecell_clients_config, size, 0, size_t);
FIELD(ratecell_clients_config, v4_width, 8, uint32_t);
FIELD(ratecell_clients_config, v6_width, 12, uint32_t);
FIELD(ratecell_clients_config, field, 16, const char *);
FIELD(ratecell_clients_config, kind, 24, int32_t);
FIELD(ratecell_clients_config, hops, 28, uint32_t);
FIELD(ratecell_clients_config, networks, 32, const char *const *);
FIELD(ratecell_clients_config, n_networks, 40, size_t);
FIELD(ratecell_clients_config, why, 48, char *);
FIELD(ratecell_clients_config, why_len, 56, size_t);

SIZE(ratecell_line, 32, 8);
FIELD(ratecell_line, name, 0, const void *);
FIELD(ratecell_line, name_len, 8, size_t);
FIELD(ratecell_line, value, 16, const void *);
FIELD(ratecell_line, value_len, 24, size_t);

SIZE(ratecell_attribute, 32, 8);
FIELD(ratecell_attribute, name, 0, const void *);
FIELD(ratecell_attribute, name_len, 8, size_t);
FIELD(ratecell_attribute, value, 16, const void *);
FIELD(ratecell_attribute, value_len, 24, size_t);

SIZE(ratecell_rules_claim, 80, 8);
FIELD(ratecell_rules_claim, decision, 0, ratecell_decision);
FIELD(ratecell_rules_claim, file, 64, uint64_t);
FIELD(ratecell_rules_claim, policy, 72, uint64_t);

SIZE(ratecell_rules_shadow, 80, 4);
FIELD(ratecell_rules_shadow, outcome, 0, int32_t);
FIELD(ratecell_rules_shadow, reserved, 4, uint32_t);
FIELD(ratecell_rules_shadow, rule, 8, char *);

SIZE(ratecell_rules_held, 360, 8);
FIELD(ratecell_rules_held, cells, 0, uint64_t);
FIELD(ratecell_rules_held, cost, 8, uint64_t);
FIELD(ratecell_rules_held, reservation, 16, ratecell_reservation);

SIZE(ratecell_rules_request, 80, 8);
FIELD(ratecell_rules_request, attributes, 0, const ratecell_attribute *);
FIELD(ratecell_rules_request, n_attributes, 8, size_t);
FIELD(ratecell_rules_request, now_ns, 16, uint64_t);
FIELD(ratecell_rules_request, flags, 24, uint32_t);
FIELD(ratecell_rules_request, reserved, 28, uint32_t);
FIELD(ratecell_rules_request, claims, 32, ratecell_rules_claim *);
FIELD(ratecell_rules_request, max_claims, 40, size_t);
FIELD(ratecell_rules_request, shadows, 48, ratecell_rules_shadow *);
FIELD(ratecell_rules_request, max_shadows, 56, size_t);
FIELD(ratecell_rules_request, held, 64, ratecell_rules_held *);
FIELD(ratecell_rules_request, max_held, 72, size_t);

SIZE(ratecell_rules_answer, 128, 8);
FIELD(ratecell_rules_answer, retry_after_ns, 0, uint64_t);
FIELD(ratecell_rules_answer, delay_ns, 8, uint64_t);
FIELD(ratecell_rules_answer, limit, 16, uint64_t);
FIELD(ratecell_rules_answer, remaining, 24, uint64_t);
FIELD(ratecell_rules_answer, reset_after_ns, 32, uint64_t);
FIELD(ratecell_rules_answer, outcome, 40, int32_t);
FIELD(ratecell_rules_answer, n_claims, 44, uint32_t);
FIELD(ratecell_rules_answer, n_shadows, 48, uint32_t);
FIELD(ratecell_rules_answer, reserved, 52, uint32_t);
FIELD(ratecell_rules_answer, rule, 56, char *);

SIZE(ratecell_client_kind, 4, 4);
SIZE(ratecell_waiting_parameters, 80, 8);
FIELD(ratecell_waiting_parameters, size, 0, size_t);
FIELD(ratecell_waiting_parameters, max_waiting, 8, uint64_t);
FIELD(ratecell_waiting_parameters, max_total, 16, uint64_t);
FIELD(ratecell_waiting_parameters, min_pause_ns, 24, uint64_t);
FIELD(ratecell_waiting_parameters, max_pause_ns, 32, uint64_t);
FIELD(ratecell_waiting_parameters, full_pause_ns, 40, uint64_t);
FIELD(ratecell_waiting_parameters, limiter, 48, const ratecell_limiter *);
FIELD(ratecell_waiting_parameters, capacity, 56, uint64_t);
FIELD(ratecell_waiting_parameters, pace_num, 64, uint64_t);
FIELD(ratecell_waiting_parameters, pace_den, 72, uint64_t);

SIZE(ratecell_wait_event, 64, 8);
FIELD(ratecell_wait_event, kind, 0, uint32_t);
FIELD(ratecell_wait_event, cost, 4, uint32_t);
FIELD(ratecell_wait_event, now_ns, 8, uint64_t);
FIELD(ratecell_wait_event, id, 16, uint64_t);
FIELD(ratecell_wait_event, key, 24, const void *);
FIELD(ratecell_wait_event, key_len, 32, size_t);
FIELD(ratecell_wait_event, by_ns, 40, uint64_t);
FIELD(ratecell_wait_event, decision, 48, const ratecell_decision *);
FIELD(ratecell_wait_event, parameters, 56, const ratecell_waiting_parameters *);

SIZE(ratecell_wait_action, 32, 8);
FIELD(ratecell_wait_action, kind, 0, uint32_t);
FIELD(ratecell_wait_action, outcome, 4, uint32_t);
FIELD(ratecell_wait_action, id, 8, uint64_t);
FIELD(ratecell_wait_action, by_ns, 16, uint64_t);
FIELD(ratecell_wait_action, at_ns, 24, uint64_t);

SIZE(ratecell_status, 4, 4);
SIZE(ratecell_when_full, 4, 4);
SIZE(ratecell_style, 4, 4);
SIZE(ratecell_wait_event_kind, 4, 4);
SIZE(ratecell_wait_action_kind, 4, 4);
SIZE(ratecell_wait_outcome, 4, 4);

VALUE(RATECELL_ALLOWED, 0);
VALUE(RATECELL_DENIED, 1);
VALUE(RATECELL_NEVER, 2);
VALUE(RATECELL_CLOCK_RANGE, 3);
VALUE(RATECELL_ASKED, 4);
VALUE(RATECELL_UNCLEAR_PATH, 5);
VALUE(RATECELL_EINVAL, -1);
VALUE(RATECELL_EALIGN, -2);
VALUE(RATECELL_ESIZE, -3);
VALUE(RATECELL_E2BIG, -4);
VALUE(RATECELL_ECONFIG, -5);
VALUE(RATECELL_ENAME, -6);
VALUE(RATECELL_ENOSPC, -7);
VALUE(RATECELL_ERESERVE, -8);
VALUE(RATECELL_EPOLICY_SYNTAX, -10);
VALUE(RATECELL_EPOLICY_ZERO_LIMIT, -11);
VALUE(RATECELL_EPOLICY_ZERO_PERIOD, -12);
VALUE(RATECELL_EPOLICY_ZERO_CAPACITY, -13);
VALUE(RATECELL_EPOLICY_MISSING_PARAMETER, -14);
VALUE(RATECELL_EPOLICY_BAD_OFFSET, -15);
VALUE(RATECELL_EPOLICY_RANGE, -16);
VALUE(RATECELL_EPOLICY_PRECISION, -17);
VALUE(RATECELL_EPOLICY_UNKNOWN_ALGORITHM, -18);
VALUE(RATECELL_EPOLICY_BAD_LAYERS, -19);
VALUE(RATECELL_EPOLICY_BAD_ZONE, -23);
VALUE(RATECELL_ENOMEM, -20);
VALUE(RATECELL_ENORANDOM, -21);
VALUE(RATECELL_EPROCESSOR, -22);
VALUE(RATECELL_EREGION_SMALL, -40);
VALUE(RATECELL_EREGION_NONE, -41);
VALUE(RATECELL_EREGION_DAMAGED, -42);
VALUE(RATECELL_EREGION_LAYOUT, -43);
VALUE(RATECELL_EREGION_LAYERS, -44);
VALUE(RATECELL_EREGION_WORDS, -45);
VALUE(RATECELL_EREGION_MAX_KEYS, -46);
VALUE(RATECELL_EREGION_WHEN_FULL, -47);
VALUE(RATECELL_EREGION_BOOT, -48);
VALUE(RATECELL_EREGION_TIME_NAMESPACE, -49);
VALUE(RATECELL_EREGION_NO_WORD, -50);
VALUE(RATECELL_EFILE, -51);
VALUE(RATECELL_ESTORE, -52);
VALUE(RATECELL_EREGION_POLICY, -53);
VALUE(RATECELL_ERULES, -60);
VALUE(RATECELL_ECHANGE, -61);
VALUE(RATECELL_EPANIC, -90);

VALUE(RATECELL_FULL_EVICT, 0);
VALUE(RATECELL_FULL_SHARE, 1);
VALUE(RATECELL_FULL_DENY, 2);
VALUE(RATECELL_FULL_ALLOW, 3);

VALUE(RATECELL_AT, 1);
VALUE(RATECELL_EXACT, 2);
VALUE(RATECELL_HASHED, 4);
VALUE(RATECELL_WITHIN, 8);
VALUE(RATECELL_CHARGE, 16);
VALUE(RATECELL_NEXT, 32);
VALUE(RATECELL_ZEROED, 64);
VALUE(RATECELL_TRY, 128);
VALUE(RATECELL_RESERVE, 256);
VALUE(RATECELL_RESERVATIONS, 512);
VALUE(RATECELL_CANCEL, 2048);
VALUE(RATECELL_NAMES, 4096);
VALUE(RATECELL_FOLLOW, 8192);
VALUE(RATECELL_CHANGE, 16384);
VALUE(RATECELL_NO_PLACE, 1);
VALUE(RATECELL_NO_ZONE, 8);

VALUE(RATECELL_STYLE_DRAFT11, 1);
VALUE(RATECELL_STYLE_DRAFT07, 2);
VALUE(RATECELL_STYLE_DRAFT06, 4);
VALUE(RATECELL_STYLE_DRAFT03, 8);
VALUE(RATECELL_STYLE_X, 16);
VALUE(RATECELL_STYLE_X_UNIX, 32);
VALUE(RATECELL_STYLE_GITHUB, 64);
VALUE(RATECELL_STYLE_TWITTER, 128);
VALUE(RATECELL_STYLE_KONG, 256);

VALUE(RATECELL_CLIENT_LIST, 0);
VALUE(RATECELL_CLIENT_FORWARDED, 1);
VALUE(RATECELL_CLIENT_SINGLE, 2);
VALUE(RATECELL_CLIENT_KEY_SIZE, 44);
VALUE(RATECELL_RULE_NAME_SIZE, 72);
VALUE(RATECELL_WAIT_ARRIVE, 1);
VALUE(RATECELL_WAIT_ANSWER, 2);
VALUE(RATECELL_WAIT_TIMER, 3);
VALUE(RATECELL_WAIT_CANCEL, 4);
VALUE(RATECELL_WAIT_CHANGED, 5);
VALUE(RATECELL_WAIT_POLICY, 6);
VALUE(RATECELL_WAIT_CLOSE, 7);
VALUE(RATECELL_WAIT_ASK, 1);
VALUE(RATECELL_WAIT_FINISH, 2);
VALUE(RATECELL_WAIT_GIVE_BACK, 3);
VALUE(RATECELL_WAIT_GO, 0);
VALUE(RATECELL_WAIT_LATE, 1);
VALUE(RATECELL_WAIT_NEVER, 2);
VALUE(RATECELL_WAIT_CLOCK_RANGE, 3);
VALUE(RATECELL_WAIT_BUSY, 4);
VALUE(RATECELL_WAIT_CANCELLED, 5);
VALUE(RATECELL_WAIT_CLOSED, 6);

VALUE(RATECELL_VERSION_NUMBER,
      RATECELL_VERSION_MAJOR * 1000000 + RATECELL_VERSION_MINOR * 1000 + RATECELL_VERSION_PATCH);
_Static_assert(sizeof RATECELL_VERSION_STRING >= sizeof "0.0.0", "RATECELL_VERSION_STRING is no version");
_Static_assert(sizeof (ratecell_config)RATECELL_CONFIG_INIT == sizeof(ratecell_config),
               "RATECELL_CONFIG_INIT is no ratecell_config");
_Static_assert(sizeof (ratecell_clients_config)RATECELL_CLIENTS_CONFIG_INIT == sizeof(ratecell_clients_config),
               "RATECELL_CLIENTS_CONFIG_INIT is no ratecell_clients_config");
_Static_assert(sizeof (ratecell_waiting_parameters)RATECELL_WAITING_PARAMETERS_INIT ==
                   sizeof(ratecell_waiting_parameters),
               "RATECELL_WAITING_PARAMETERS_INIT is no ratecell_waiting_parameters");

FUNCTION(ratecell_version_number, uint32_t (*)(void));
FUNCTION(ratecell_strerror, const char *(*)(int32_t));
FUNCTION(ratecell_limiter_new, int32_t (*)(const char *, const ratecell_config *, ratecell_limiter **));
FUNCTION(ratecell_limiter_free, void (*)(ratecell_limiter *));
FUNCTION(ratecell_limiter_policy, int32_t (*)(const ratecell_limiter *, char *, size_t));
FUNCTION(ratecell_limiter_now, int32_t (*)(const ratecell_limiter *, uint64_t *));
FUNCTION(ratecell_limiter_epoch, int32_t (*)(const ratecell_limiter *, uint64_t *));
FUNCTION(ratecell_limiter_check,
         int32_t (*)(const ratecell_limiter *, const void *, size_t, uint32_t, ratecell_decision *));
FUNCTION(ratecell_limiter_check_at,
         int32_t (*)(const ratecell_limiter *, const void *, size_t, uint32_t, uint64_t, ratecell_decision *));
FUNCTION(ratecell_limiter_decide,
         int32_t (*)(const ratecell_limiter *, const ratecell_request *, ratecell_decision *));
FUNCTION(ratecell_limiter_settle,
         int32_t (*)(const ratecell_limiter *, const ratecell_request *, ratecell_decision *));
FUNCTION(ratecell_limiter_release,
         int32_t (*)(const ratecell_limiter *, const ratecell_request *, ratecell_decision *));
FUNCTION(ratecell_limiter_renew,
         int32_t (*)(const ratecell_limiter *, const ratecell_request *, ratecell_decision *));
FUNCTION(ratecell_limiter_decide_batch,
         int32_t (*)(const ratecell_limiter *, const ratecell_request *, size_t, ratecell_decision *));
FUNCTION(ratecell_decide_all, int32_t (*)(const ratecell_claim *, size_t, ratecell_decision *));
FUNCTION(ratecell_limiter_forget, int32_t (*)(const ratecell_limiter *, const void *, size_t));
FUNCTION(ratecell_region_size, size_t (*)(const char *, const ratecell_config *));
FUNCTION(ratecell_region_init,
         int32_t (*)(void *, size_t, const char *, const ratecell_config *, ratecell_limiter **));
FUNCTION(ratecell_region_attach,
         int32_t (*)(void *, size_t, const char *, const ratecell_config *, ratecell_limiter **));
FUNCTION(ratecell_limiter_open,
         int32_t (*)(const char *, const char *, const ratecell_config *, ratecell_limiter **));
FUNCTION(ratecell_limiter_with_policy,
         int32_t (*)(const ratecell_limiter *, const char *, const ratecell_config *, ratecell_limiter **));
FUNCTION(ratecell_limiter_stats,
         int32_t (*)(const ratecell_limiter *, uint32_t, uint64_t, ratecell_stats *, size_t));
FUNCTION(ratecell_policy_format, int32_t (*)(const char *, char *, size_t));
FUNCTION(ratecell_policy_explain, int32_t (*)(const char *, char *, size_t));
FUNCTION(ratecell_fields,
         int32_t (*)(uint32_t, const ratecell_answer *, size_t, uint64_t, char *, size_t));
FUNCTION(ratecell_clients_new, int32_t (*)(const ratecell_clients_config *, ratecell_clients **));
FUNCTION(ratecell_client_key,
         int32_t (*)(const ratecell_clients *, const void *, size_t, const ratecell_line *, size_t, char *, size_t));
FUNCTION(ratecell_clients_free, void (*)(ratecell_clients *));
FUNCTION(ratecell_waiting_new, int32_t (*)(const ratecell_waiting_parameters *, ratecell_waiting **));
FUNCTION(ratecell_waiting_event,
         int32_t (*)(ratecell_waiting *, const ratecell_wait_event *, ratecell_wait_action *, size_t, uint64_t *));
FUNCTION(ratecell_waiting_free, void (*)(ratecell_waiting *));
FUNCTION(ratecell_zone_new, int32_t (*)(const ratecell_limiter *, const char *, ratecell_zone **));
FUNCTION(ratecell_zone_free, void (*)(ratecell_zone *));
FUNCTION(ratecell_rules_new, int32_t (*)(const char *, size_t, const ratecell_config *, ratecell_rules **));
FUNCTION(ratecell_rules_change, int32_t (*)(const ratecell_rules *, const char *, size_t, uint32_t, uint64_t, char *, size_t));
FUNCTION(ratecell_rules_decide,
         int32_t (*)(const ratecell_rules *, const ratecell_rules_request *, ratecell_rules_answer *));
FUNCTION(ratecell_rules_settle, int32_t (*)(const ratecell_rules *, const ratecell_rules_request *));
FUNCTION(ratecell_rules_release, int32_t (*)(const ratecell_rules *, const ratecell_rules_request *));
FUNCTION(ratecell_rules_fields,
         int32_t (*)(const ratecell_rules *, uint32_t, const ratecell_rules_claim *, size_t, uint64_t, char *, size_t));
FUNCTION(ratecell_rules_stats,
         int32_t (*)(const ratecell_rules *, uint32_t, uint64_t, ratecell_stats *, size_t));
FUNCTION(ratecell_rules_free, void (*)(ratecell_rules *));
