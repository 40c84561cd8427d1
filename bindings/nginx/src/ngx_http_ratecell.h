
/*
 * What the parts of the module do for each other.
 */

#ifndef _NGX_HTTP_RATECELL_H_INCLUDED_
#define _NGX_HTTP_RATECELL_H_INCLUDED_


#include "ngx_http_ratecell_types.h"


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


/* A dry run lets a denied request pass, and its fields say so. */

static ngx_inline void
ngx_http_ratecell_let_pass(ratecell_decision *decision)
{
    if (decision->outcome == RATECELL_DENIED) {
        decision->outcome = RATECELL_ALLOWED;
        decision->retry_after_ns = 0;
    }
}


char *ngx_http_ratecell_zone_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_ratecell_zone_policy(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_ratecell_zone_t *zone);
char *ngx_http_ratecell_limit_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_ratecell_rules_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_ratecell_attribute_directive(ngx_conf_t *cf,
    ngx_command_t *cmd, void *conf);
char *ngx_http_ratecell_client_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_ratecell_headers_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_ratecell_stats_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

ngx_http_ratecell_clients_t *ngx_http_ratecell_make_clients(ngx_pool_t *pool,
    ratecell_clients_config *config);
ngx_int_t ngx_http_ratecell_client_key(ngx_http_request_t *r,
    ngx_uint_t whole, ngx_str_t *text);
ngx_int_t ngx_http_ratecell_client_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);

ngx_int_t ngx_http_ratecell_check_file(ngx_conf_t *cf,
    ngx_http_ratecell_zone_t *zone, ngx_array_t *zones);
ngx_int_t ngx_http_ratecell_open_file(ngx_shm_zone_t *shm_zone);
int32_t ngx_http_ratecell_by_own_policy(ngx_http_ratecell_zone_t *zone,
    char *why, size_t len);
u_char *ngx_http_ratecell_path_to_open(ngx_str_t *file, u_char *name,
    size_t len);
const char *ngx_http_ratecell_without_path(const char *why, ngx_str_t *path);

ngx_int_t ngx_http_ratecell_open_rules(ngx_conf_t *cf,
    ngx_http_ratecell_rules_t *rules);
void ngx_http_ratecell_change_rules(ngx_cycle_t *cycle,
    ngx_http_ratecell_main_conf_t *rmcf,
    ngx_http_ratecell_main_conf_t *earlier);

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

ngx_http_ratecell_main_conf_t *ngx_http_ratecell_earlier_conf(
    ngx_cycle_t *cycle);
ngx_int_t ngx_http_ratecell_init_module(ngx_cycle_t *cycle);

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
u_char *ngx_http_ratecell_limit_policy(ngx_http_ratecell_limit_t *limit,
    u_char *buf);
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
uint64_t ngx_http_ratecell_unix_ns(ngx_uint_t styles);
ngx_int_t ngx_http_ratecell_delay(ngx_http_request_t *r, ngx_event_t **timer,
    ngx_msec_t delay);

ngx_int_t ngx_http_ratecell_attributes(ngx_http_request_t *r,
    ngx_array_t *attributes);
ngx_int_t ngx_http_ratecell_settle_attributes(ngx_http_request_t *r,
    ngx_array_t *own, ngx_array_t *attributes);
ngx_int_t ngx_http_ratecell_rules_handler(ngx_http_request_t *r);
ngx_http_ratecell_ruled_t *ngx_http_ratecell_get_ruled(ngx_http_request_t *r);
void ngx_http_ratecell_ruled_cleanup(void *data);
ngx_int_t ngx_http_ratecell_hold_ruled(ngx_http_request_t *r,
    ngx_http_ratecell_ruled_t *ruled, ngx_http_ratecell_ruled_t *begun);
void ngx_http_ratecell_settle_ruled(ngx_http_request_t *r);
void ngx_http_ratecell_release_ruled(ngx_http_ratecell_ruled_t *ruled);
ngx_int_t ngx_http_ratecell_rules_fields(ngx_http_request_t *r,
    ngx_http_ratecell_ruled_t *ruled, ngx_str_t *text);

char *ngx_http_ratecell_reset_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
ngx_int_t ngx_http_ratecell_show_key(ngx_http_request_t *r, ngx_buf_t **out);
u_char *ngx_http_ratecell_escape(u_char *p, u_char *last, ngx_str_t *text);
u_char *ngx_http_ratecell_print_prometheus(u_char *p, u_char *last,
    ngx_http_ratecell_main_conf_t *rmcf, uint64_t *values);

const char *ngx_http_ratecell_read_rules_metrics(
    ngx_http_ratecell_rules_t *rules, uint64_t *values);
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
