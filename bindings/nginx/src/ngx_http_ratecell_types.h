
/*
 * What the parts of the module hold: of the configuration, of a zone, of a
 * request.
 */

#ifndef _NGX_HTTP_RATECELL_TYPES_H_INCLUDED_
#define _NGX_HTTP_RATECELL_TYPES_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <ratecell.h>


/* The layers that ratecell_decide_all() takes: a limit has one or more. */
#define NGX_HTTP_RATECELL_MAX_LAYERS   64

#define NGX_HTTP_RATECELL_LINE         64

/* Sets of counters in a zone, among which the workers are spread. */
#define NGX_HTTP_RATECELL_COUNTERS     8

/* Tiers of one directive that a worker remembers. */
#define NGX_HTTP_RATECELL_MAX_TIERS    64

/* A cost, a burst or a delay: of a burst, one more passes at once. */
#define NGX_HTTP_RATECELL_MAX_UNITS    (NGX_MAX_UINT32_VALUE - 1)

/* The most that a byte becomes in JSON: \u00ff. */
#define NGX_HTTP_RATECELL_ESCAPED      6

#define NGX_HTTP_RATECELL_POLICY_MAX   1024

/* Of zones alone; then those of every table; then of a zone with a store. */
#define NGX_HTTP_RATECELL_REQUEST_METRICS  5
#define NGX_HTTP_RATECELL_PLAIN_METRICS  15
#define NGX_HTTP_RATECELL_METRICS        30

/* The layers that a policy has at most. */
#define NGX_HTTP_RATECELL_POLICY_LAYERS  8

/* Between two questions of a request, in milliseconds. */
#define NGX_HTTP_RATECELL_ASK_AGAIN    1

#define NGX_HTTP_RATECELL_NODELAY      NGX_MAX_UINT32_VALUE

/* "leaky_queue N/NNNns queue=N burst=N" with the largest numbers. */
#define NGX_HTTP_RATECELL_POLICY_LEN                                          \
    (sizeof("leaky_queue /ns queue= burst=") + 4 * NGX_INT64_LEN)

/* A sentence of the library's about what is wrong. */
#define NGX_HTTP_RATECELL_WHY_LEN      512

/* A path that a test of the configuration opens in place of another. */
#define NGX_HTTP_RATECELL_TEST_LEN     (NGX_MAX_PATH + NGX_INT64_LEN + 8)

/* Shadow rules of a request that are logged. */
#define NGX_HTTP_RATECELL_MAX_SHADOWS  8

/* The longest name that a response field takes. */
#define NGX_HTTP_RATECELL_NAME_LEN     256


/* The values of $ratecell_status; 0 where no limit was applied. */
#define NGX_HTTP_RATECELL_PASSED            1
#define NGX_HTTP_RATECELL_DELAYED           2
#define NGX_HTTP_RATECELL_REJECTED          3
#define NGX_HTTP_RATECELL_DELAYED_DRY_RUN   4
#define NGX_HTTP_RATECELL_REJECTED_DRY_RUN  5
#define NGX_HTTP_RATECELL_STATUSES          6


typedef struct {
    uint64_t                      limit;      /* 0: there is none */
    uint64_t                      period_ns;
} ngx_http_ratecell_rate_t;


/* What some of the workers counted: a cache line. */

typedef struct {
    uint64_t                      requests[NGX_HTTP_RATECELL_STATUSES];
    u_char                        padding[NGX_HTTP_RATECELL_LINE
                                          - NGX_HTTP_RATECELL_STATUSES * 8];
} ngx_http_ratecell_counters_t;


/*
 * A zone's memory: this, and the table right behind it.  Only counters change
 * after it was made, each by one atomic addition, so a process may die at any
 * instruction, and old workers count beside new ones.  Whole cache lines, so
 * that the table begins on one.
 */

typedef struct {
    ngx_http_ratecell_counters_t  counters[NGX_HTTP_RATECELL_COUNTERS];
    size_t                        table_len;  /* 0: the table is in a file */
    u_char                        padding[NGX_HTTP_RATECELL_LINE
                                          - sizeof(size_t)];
} ngx_http_ratecell_shm_t;


#define ngx_http_ratecell_table(shm)  ((void *) ((shm) + 1))


typedef struct {
    ngx_str_t                     name;       /* and a NUL */
    ngx_http_complex_value_t      key;
    ngx_int_t                     key_index;  /* of a key of one variable */

    ngx_http_ratecell_rate_t      rate;       /* none: the policy is given */
    ngx_http_ratecell_rate_t      default_rate;
    ngx_http_complex_value_t     *rate_value;

    ngx_str_t                     policy;     /* and a NUL */
    ngx_str_t                     file;       /* and a NUL */
    ngx_uint_t                    layers;     /* of the policy */
    ngx_uint_t                    in_flight;  /* whether a layer is */
    size_t                        size;
    ngx_uint_t                    names;      /* whether it names the denied */

    ngx_str_t                     store;      /* none: not of leases */
    ngx_msec_t                    wait;       /* for the store's answer */
    ngx_uint_t                    on_failure; /* ratecell_on_failure */
    unsigned                      wait_set:1;
    unsigned                      on_failure_set:1;

    ngx_array_t                   limits;     /* ngx_http_ratecell_limit_t * */

    ngx_http_ratecell_shm_t      *shm;
    ratecell_limiter             *limiter;
} ngx_http_ratecell_zone_t;


typedef struct {
    ngx_uint_t                    first;
    ngx_uint_t                    last;
} ngx_http_ratecell_codes_t;


/* What "ratecell_client" tells. */

typedef struct {
    ngx_str_t                     field;      /* none: the peer is the client */
    ratecell_clients             *clients;
    ratecell_clients             *whole;      /* the same, whole addresses */
} ngx_http_ratecell_clients_t;


/*
 * A file of rules.  Its tables are in memory that the master shares with all
 * workers, and over a reload with those of the next configuration; or they are
 * in a file that other programs have open, too.
 */

typedef struct {
    ngx_str_t                     path;       /* and a NUL */
    ngx_uint_t                    max_keys;   /* 0: the library's */
    ngx_uint_t                    when_full;  /* ratecell_when_full */
    ngx_str_t                     file;       /* and a NUL; none: in memory */
    ngx_uint_t                    differing;  /* RATECELL_FOLLOW, _CHANGE, 0 */
    ngx_str_t                     text;       /* of rules in a file */
    ratecell_rules               *rules;
} ngx_http_ratecell_rules_t;


/* One "ratecell_attribute" directive. */

typedef struct {
    ngx_str_t                     name;
    ngx_http_complex_value_t      value;
    ngx_http_complex_value_t     *settle_value;  /* at the end, or NULL */
} ngx_http_ratecell_attribute_t;


typedef struct {
    ngx_http_ratecell_clients_t  *clients;    /* NULL: the main one's */
    ngx_http_ratecell_rules_t    *rules;      /* NULL: none */
    ngx_array_t                  *attributes; /* _attribute_t, or NULL */
    ngx_array_t                   limits;     /* ngx_http_ratecell_limit_t * */
    ngx_uint_t                    layers;     /* of the limits given here */
    ngx_uint_t                    limit_log_level;
    ngx_uint_t                    delay_log_level;
    ngx_uint_t                    status_code;
    ngx_flag_t                    dry_run;
    ngx_uint_t                    styles;     /* of fields, a bit each */

    /* one limit, to be charged at once or not at all, and no fields */
    ngx_uint_t                    plain;
} ngx_http_ratecell_conf_t;


/* What "ratecell_stats" says of a zone. */

typedef struct {
    char                         *name;
    char                         *metric;     /* and its labels but the zone */
    char                         *help;       /* none: as of the one before */
    char                         *type;
} ngx_http_ratecell_metric_t;


/* One "ratecell" directive. */

typedef struct {
    ngx_http_ratecell_conf_t     *conf;       /* where it is given */
    ngx_shm_zone_t               *shm_zone;
    ngx_http_ratecell_zone_t     *zone;

    ngx_http_ratecell_rate_t      rate;       /* none: the zone's */
    ngx_http_complex_value_t     *rate_value;

    ngx_uint_t                    burst;
    ngx_uint_t                    default_burst;
    ngx_http_complex_value_t     *burst_value;

    /* units above the first that are not delayed */
    ngx_uint_t                    delay;

    ngx_uint_t                    cost;
    ngx_http_complex_value_t     *cost_value;

    ngx_array_t                  *count;      /* ngx_http_ratecell_codes_t */
    ngx_http_complex_value_t     *settle_value;

    ratecell_limiter             *limiter;

    /* what follows is each worker's own */
    ngx_queue_t                   tiers;
    ngx_uint_t                    ntiers;

    unsigned                      burst_set:1;
    unsigned                      default_burst_set:1;
    unsigned                      delay_set:1;
    unsigned                      strict:1;
    unsigned                      varies:1;   /* with values of variables */
    unsigned                      holds:1;    /* until a request ends */
    unsigned                      warned:5;   /* a bit for each kind of value */

    ngx_str_t                     conf_file;
    ngx_uint_t                    conf_line;
} ngx_http_ratecell_limit_t;


/* A limiter of one limit at a rate and burst from variables. */

typedef struct {
    ngx_queue_t                   queue;      /* most recently used first */
    ngx_http_ratecell_rate_t      rate;
    ngx_uint_t                    burst;
    ratecell_limiter             *limiter;
    ngx_uint_t                    users;      /* requests that hold it */
    unsigned                      dropped:1;
} ngx_http_ratecell_tier_t;


/* One limit as it is applied to one request. */

typedef struct {
    ngx_http_ratecell_limit_t    *limit;
    const ratecell_limiter       *limiter;
    ngx_http_ratecell_tier_t     *tier;
    ngx_str_t                     key;
    uint64_t                      now;
    uint32_t                      cost;
    uint32_t                      flags;      /* of all that it asks */
    unsigned                      charged:1;
    unsigned                      held:1;
    ratecell_reservation         *reservation;  /* NULL: holds nothing */
    ratecell_decision             decision;
} ngx_http_ratecell_claim_t;


typedef struct {
    ngx_http_ratecell_clients_t  *clients;    /* without "ratecell_client" */
    ngx_array_t                   rules;      /* ngx_http_ratecell_rules_t * */
    ngx_array_t                   zones;      /* ngx_shm_zone_t * */
    ngx_array_t                   limits;     /* ngx_http_ratecell_limit_t * */

    /* what some limit or location needs of all requests */
    unsigned                      log:1;
    unsigned                      headers:1;
} ngx_http_ratecell_main_conf_t;


/*
 * Of a main request, for all its subrequests and internal redirects.  The
 * latter clear r->ctx, but not the pool's cleanups, of which this is one.
 */

typedef struct {
    ngx_pool_cleanup_t            cleanup;
    ngx_http_ratecell_conf_t     *conf;
    ngx_uint_t                    status;
    ngx_http_ratecell_claim_t    *deciding;
    uint64_t                      excess;     /* of a refusal, for the log */
    uint64_t                      unix_ns;    /* of the decision, for fields */
    ngx_event_t                  *timer;
    ngx_http_request_t           *asker;      /* waits for a store's answer */
    ngx_msec_t                    started;
    ngx_uint_t                    nclaims;
    ngx_http_ratecell_claim_t     claims[1];
} ngx_http_ratecell_ctx_t;


/*
 * What a file of rules has decided of a main request, for all its subrequests
 * and internal redirects: the data of a cleanup of its pool.
 */

typedef struct {
    ngx_http_ratecell_conf_t     *conf;
    ngx_uint_t                    status;
    ratecell_decision             decision;   /* of the rule */
    char                          rule[RATECELL_RULE_NAME_SIZE];  /* or none */
    uint64_t                      unix_ns;    /* of the decision, for fields */
    ngx_event_t                  *timer;
    ngx_uint_t                    nclaims;
    ratecell_rules_claim         *claims;     /* with fields alone */
    size_t                        nheld;
    ratecell_rules_held          *held;
} ngx_http_ratecell_ruled_t;


#endif /* _NGX_HTTP_RATECELL_TYPES_H_INCLUDED_ */
