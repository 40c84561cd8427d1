
#ifndef _NGX_HTTP_RATECELL_H_INCLUDED_
#define _NGX_HTTP_RATECELL_H_INCLUDED_


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

/* Of every zone, and with those of a zone with a store. */
#define NGX_HTTP_RATECELL_PLAIN_METRICS  12
#define NGX_HTTP_RATECELL_METRICS        27

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
} ngx_http_ratecell_clients_t;


typedef struct {
    ngx_http_ratecell_clients_t  *clients;    /* NULL: the main one's */
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


/* A call that ends before it looks at its config writes no sentence. */

#define ngx_http_ratecell_why(rc, why)                                        \
    ((why)[0] ? (const char *) (why) : ratecell_strerror(rc))

#define ngx_http_ratecell_refused(ctx)                                        \
    ((ctx)->status == NGX_HTTP_RATECELL_REJECTED)


static ngx_inline ngx_uint_t
ngx_http_ratecell_same_key(ngx_http_ratecell_zone_t *a,
    ngx_http_ratecell_zone_t *b)
{
    return a->key.value.len == b->key.value.len
           && ngx_strncmp(a->key.value.data, b->key.value.data,
                          a->key.value.len)
              == 0;
}


/* A zone that is used and not defined has no data. */

static ngx_inline ngx_uint_t
ngx_http_ratecell_has_store(ngx_shm_zone_t *shm_zone)
{
    ngx_http_ratecell_zone_t  *zone;

    zone = shm_zone->data;

    return zone && zone->store.len;
}


/* Whether a limit is of something that a request holds until it ends. */

static ngx_inline ngx_uint_t
ngx_http_ratecell_holds(ngx_http_ratecell_limit_t *limit)
{
    ngx_http_ratecell_zone_t  *zone;

    zone = limit->shm_zone->data;

    return limit->settle_value || (zone && zone->in_flight);
}


/* A peek at any key shows what kind of limiter it is. */

static ngx_inline ngx_uint_t
ngx_http_ratecell_leased(ratecell_limiter *limiter)
{
    ratecell_decision  decision;

    return ratecell_limiter_check(limiter, NULL, 0, 0, &decision) >= 0
           && (decision.notes & RATECELL_LEASED);
}


char *ngx_http_ratecell_zone_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_ratecell_limit_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_ratecell_client_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_ratecell_headers_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_ratecell_stats_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

ngx_http_ratecell_clients_t *ngx_http_ratecell_make_clients(ngx_pool_t *pool,
    ratecell_clients_config *config);
ngx_int_t ngx_http_ratecell_client_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);

ngx_int_t ngx_http_ratecell_check_file(ngx_conf_t *cf,
    ngx_http_ratecell_zone_t *zone, ngx_array_t *zones);
ngx_int_t ngx_http_ratecell_open_file(ngx_shm_zone_t *shm_zone);
const char *ngx_http_ratecell_without_path(const char *why, ngx_str_t *path);

ngx_int_t ngx_http_ratecell_store_parameter(ngx_conf_t *cf,
    ngx_http_ratecell_zone_t *zone, ngx_str_t *value);
ngx_int_t ngx_http_ratecell_check_store(ngx_conf_t *cf,
    ngx_http_ratecell_zone_t *zone);
ngx_int_t ngx_http_ratecell_open_store(ngx_shm_zone_t *shm_zone);
ngx_int_t ngx_http_ratecell_open_limit(ngx_http_ratecell_limit_t *limit,
    ngx_log_t *log);

ngx_int_t ngx_http_ratecell_resolve_limits(ngx_conf_t *cf);
ngx_int_t ngx_http_ratecell_init_zone(ngx_shm_zone_t *shm_zone, void *data);
void ngx_http_ratecell_free_zone(void *data);

ngx_uint_t ngx_http_ratecell_parameter(ngx_str_t *value, char *name,
    ngx_str_t *text);
char *ngx_http_ratecell_rate_parameter(ngx_conf_t *cf, ngx_str_t *value,
    ngx_str_t *text, ngx_http_ratecell_rate_t *rate,
    ngx_http_complex_value_t **cv);
char *ngx_http_ratecell_units_parameter(ngx_conf_t *cf, ngx_str_t *value,
    ngx_str_t *text, ngx_uint_t min, ngx_uint_t *units,
    ngx_http_complex_value_t **cv);

char *ngx_http_ratecell_value_parameter(ngx_conf_t *cf, ngx_str_t *value,
    ngx_str_t *text, ngx_http_complex_value_t **cv);
char *ngx_http_ratecell_count_parameter(ngx_conf_t *cf,
    ngx_http_ratecell_limit_t *limit, ngx_str_t *value, ngx_str_t *text);
ngx_int_t ngx_http_ratecell_join_quoted(ngx_conf_t *cf, char *name,
    ngx_uint_t *i);

ngx_int_t ngx_http_ratecell_parse_rate(ngx_str_t *text,
    ngx_http_ratecell_rate_t *rate);
ngx_int_t ngx_http_ratecell_parse_units(ngx_str_t *text, ngx_uint_t *units);
u_char *ngx_http_ratecell_print_policy(u_char *buf,
    ngx_http_ratecell_rate_t *rate, ngx_uint_t burst, ngx_uint_t delay);
uint64_t ngx_http_ratecell_excess(ngx_http_ratecell_claim_t *claim);

ngx_int_t ngx_http_ratecell_evaluate(ngx_http_request_t *r,
    ngx_http_ratecell_claim_t *claim);
ngx_int_t ngx_http_ratecell_settle_value(ngx_http_request_t *r,
    ngx_http_ratecell_claim_t *claim, uint32_t *units);
void ngx_http_ratecell_free_limit(void *data);
void ngx_http_ratecell_release_tier(ngx_http_ratecell_tier_t *tier);

ngx_http_ratecell_ctx_t *ngx_http_ratecell_redirected_ctx(
    ngx_http_request_t *r);
ngx_int_t ngx_http_ratecell_handler(ngx_http_request_t *r);
int32_t ngx_http_ratecell_ask(ngx_http_ratecell_claim_t *claim, uint32_t cost,
    uint32_t flags, ratecell_decision *decision);
int32_t ngx_http_ratecell_reserve(ngx_http_ratecell_ctx_t *ctx);
void ngx_http_ratecell_cancel(ngx_http_ratecell_ctx_t *ctx);
void ngx_http_ratecell_settle(ngx_http_request_t *r,
    ngx_http_ratecell_claim_t *claim);
void ngx_http_ratecell_release(ngx_http_ratecell_ctx_t *ctx);
int32_t ngx_http_ratecell_decide(ngx_http_ratecell_ctx_t *ctx);
void ngx_http_ratecell_count(ngx_http_ratecell_claim_t *claim,
    ngx_uint_t status);
ngx_int_t ngx_http_ratecell_delay(ngx_http_request_t *r,
    ngx_http_ratecell_ctx_t *ctx, ngx_msec_t delay);
ngx_uint_t ngx_http_ratecell_has_metric(ngx_http_ratecell_zone_t *zone,
    ngx_uint_t k);
ngx_int_t ngx_http_ratecell_read_metrics(ngx_http_ratecell_zone_t *zone,
    uint64_t *values);
ngx_int_t ngx_http_ratecell_log_handler(ngx_http_request_t *r);

ngx_int_t ngx_http_ratecell_add_variables(ngx_conf_t *cf);


extern ngx_module_t  ngx_http_ratecell_module;
extern ngx_http_ratecell_metric_t  ngx_http_ratecell_metrics[];


/*
 * Subrequests and internal redirects are parts of the main request, which is
 * limited once.
 */

static ngx_inline ngx_http_ratecell_ctx_t *
ngx_http_ratecell_get_ctx(ngx_http_request_t *r)
{
    ngx_http_ratecell_ctx_t  *ctx;

    r = r->main;
    ctx = ngx_http_get_module_ctx(r, ngx_http_ratecell_module);

    if (ctx == NULL && (r->internal || r->filter_finalize)) {
        return ngx_http_ratecell_redirected_ctx(r);
    }

    return ctx;
}


#endif /* _NGX_HTTP_RATECELL_H_INCLUDED_ */
