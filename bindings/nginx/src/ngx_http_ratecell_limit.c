
/*
 * The "ratecell" directive.
 */


#include "ngx_http_ratecell.h"


static ngx_int_t ngx_http_ratecell_add_limit(ngx_conf_t *cf,
    ngx_http_ratecell_conf_t *rlcf, ngx_http_ratecell_limit_t *limit);
static char *ngx_http_ratecell_limit_parameter(ngx_conf_t *cf,
    ngx_http_ratecell_limit_t *limit, ngx_str_t *value);
static ngx_int_t ngx_http_ratecell_resolve_limit(ngx_conf_t *cf,
    ngx_http_ratecell_limit_t *limit);


char *
ngx_http_ratecell_limit_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_ratecell_conf_t  *rlcf = conf;

    char                        *rv;
    ngx_str_t                   *value;
    ngx_uint_t                   i;
    ngx_http_ratecell_limit_t   *limit, **limits;

    value = cf->args->elts;

    limit = ngx_pcalloc(cf->pool, sizeof(ngx_http_ratecell_limit_t));
    if (limit == NULL) {
        return NGX_CONF_ERROR;
    }

    limit->conf = rlcf;
    limit->cost = 1;
    limit->conf_file = cf->conf_file->file.name;
    limit->conf_line = cf->conf_file->line;

    ngx_queue_init(&limit->tiers);

    for (i = 1; i < cf->args->nelts; i++) {
        rv = ngx_http_ratecell_limit_parameter(cf, limit, &value[i]);
        if (rv != NGX_CONF_OK) {
            return rv;
        }
    }

    if (limit->shm_zone == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" must have \"zone\" parameter",
                           &cmd->name);
        return NGX_CONF_ERROR;
    }

    if (limit->default_burst_set && limit->burst_value == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" has \"default_burst\" without a \"burst\" "
                           "that contains variables: expected both",
                           &cmd->name);
        return NGX_CONF_ERROR;
    }

    if (limit->count && limit->delay_set
        && limit->delay != NGX_HTTP_RATECELL_NODELAY)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" has \"delay\" and \"count\": a request "
                           "that is counted by its response is not delayed",
                           &cmd->name);
        return NGX_CONF_ERROR;
    }

    if (limit->count && limit->settle_value) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" has \"settle\" and \"count\": expected one "
                           "of them", &cmd->name);
        return NGX_CONF_ERROR;
    }

    if (limit->count) {
        limit->delay = NGX_HTTP_RATECELL_NODELAY;
    }

    limits = rlcf->limits.elts;

    for (i = 0; i < rlcf->limits.nelts; i++) {
        if (limit->shm_zone == limits[i]->shm_zone) {
            return "is duplicate";
        }
    }

    return ngx_http_ratecell_add_limit(cf, rlcf, limit) == NGX_OK
           ? NGX_CONF_OK : NGX_CONF_ERROR;
}


static ngx_int_t
ngx_http_ratecell_add_limit(ngx_conf_t *cf, ngx_http_ratecell_conf_t *rlcf,
    ngx_http_ratecell_limit_t *limit)
{
    ngx_pool_cleanup_t              *cln;
    ngx_http_ratecell_limit_t      **limitp;
    ngx_http_ratecell_main_conf_t   *rmcf;

    cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (cln == NULL) {
        return NGX_ERROR;
    }

    cln->handler = ngx_http_ratecell_free_limit;
    cln->data = limit;

    if (rlcf->limits.elts == NULL
        && ngx_array_init(&rlcf->limits, cf->pool, 1,
                          sizeof(ngx_http_ratecell_limit_t *))
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    limitp = ngx_array_push(&rlcf->limits);
    if (limitp == NULL) {
        return NGX_ERROR;
    }

    *limitp = limit;

    rmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_ratecell_module);

    limitp = ngx_array_push(&rmcf->limits);
    if (limitp == NULL) {
        return NGX_ERROR;
    }

    *limitp = limit;

    if (limit->count || limit->settle_value) {
        rmcf->log = 1;
    }

    return NGX_OK;
}


static char *
ngx_http_ratecell_limit_parameter(ngx_conf_t *cf,
    ngx_http_ratecell_limit_t *limit, ngx_str_t *value)
{
    ngx_str_t  text;

    if (ngx_http_ratecell_parameter(value, "zone=", &text) && text.len) {

        /* the directive that defines it may follow */

        limit->shm_zone = ngx_shared_memory_add(cf, &text, 0,
                                                &ngx_http_ratecell_module);

        return limit->shm_zone ? NGX_CONF_OK : NGX_CONF_ERROR;
    }

    if (ngx_http_ratecell_parameter(value, "rate=", &text)) {
        return ngx_http_ratecell_rate_parameter(cf, value, &text, &limit->rate,
                                                &limit->rate_value);
    }

    if (ngx_http_ratecell_parameter(value, "burst=", &text)) {
        limit->burst_set = 1;
        return ngx_http_ratecell_units_parameter(cf, value, &text, 1,
                                                 &limit->burst,
                                                 &limit->burst_value);
    }

    if (ngx_http_ratecell_parameter(value, "default_burst=", &text)) {
        limit->default_burst_set = 1;
        return ngx_http_ratecell_units_parameter(cf, value, &text, 0,
                                                 &limit->default_burst, NULL);
    }

    if (ngx_http_ratecell_parameter(value, "delay=", &text)) {
        limit->delay_set = 1;
        return ngx_http_ratecell_units_parameter(cf, value, &text, 1,
                                                 &limit->delay, NULL);
    }

    if (ngx_strcmp(value->data, "nodelay") == 0) {
        limit->delay_set = 1;
        limit->delay = NGX_HTTP_RATECELL_NODELAY;
        return NGX_CONF_OK;
    }

    if (ngx_http_ratecell_parameter(value, "cost=", &text)) {
        return ngx_http_ratecell_units_parameter(cf, value, &text, 0,
                                                 &limit->cost,
                                                 &limit->cost_value);
    }

    if (ngx_strcmp(value->data, "strict") == 0) {
        limit->strict = 1;
        return NGX_CONF_OK;
    }

    if (ngx_http_ratecell_parameter(value, "count=", &text)) {
        return ngx_http_ratecell_count_parameter(cf, limit, value, &text);
    }

    if (ngx_http_ratecell_parameter(value, "settle=", &text)) {
        return ngx_http_ratecell_value_parameter(cf, value, &text,
                                                 &limit->settle_value);
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid parameter \"%V\": expected zone=, rate=, "
                       "burst=, default_burst=, delay=, nodelay, cost=, "
                       "strict, count= or settle=", value);

    return NGX_CONF_ERROR;
}


/* When all of the configuration is read: what each limit has from its zone. */

ngx_int_t
ngx_http_ratecell_resolve_limits(ngx_conf_t *cf)
{
    ngx_uint_t                       i;
    ngx_http_ratecell_limit_t      **limits;
    ngx_http_ratecell_main_conf_t   *rmcf;

    rmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_ratecell_module);
    limits = rmcf->limits.elts;

    for (i = 0; i < rmcf->limits.nelts; i++) {
        if (ngx_http_ratecell_resolve_limit(cf, limits[i]) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_ratecell_resolve_limit(ngx_conf_t *cf,
    ngx_http_ratecell_limit_t *limit)
{
    ngx_http_ratecell_zone_t    *zone;
    ngx_http_ratecell_limit_t  **limitp;
    char                         why[NGX_HTTP_RATECELL_WHY_LEN];
    u_char                       policy[NGX_HTTP_RATECELL_POLICY_LEN];

    zone = limit->shm_zone->data;

    if (zone == NULL) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "unknown ratecell_zone \"%V\" in %V:%ui",
                      &limit->shm_zone->shm.name, &limit->conf_file,
                      limit->conf_line);
        return NGX_ERROR;
    }

    limit->zone = zone;

    limitp = ngx_array_push(&zone->limits);
    if (limitp == NULL) {
        return NGX_ERROR;
    }

    *limitp = limit;

    limit->conf->layers += zone->layers;

    if (limit->conf->layers > NGX_HTTP_RATECELL_MAX_LAYERS) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "too many limits in one place: expected policies with "
                      "at most %d layers in all, and \"ratecell zone=%V\" "
                      "makes them %ui in %V:%ui", NGX_HTTP_RATECELL_MAX_LAYERS,
                      &zone->name, limit->conf->layers, &limit->conf_file,
                      limit->conf_line);
        return NGX_ERROR;
    }

    if (limit->rate.limit == 0 && limit->rate_value == NULL) {
        limit->rate_value = zone->rate_value;
    }

    limit->varies = limit->rate_value || limit->burst_value
                    || limit->cost_value;

    limit->holds = ngx_http_ratecell_holds(limit);

    if (zone->in_flight && limit->count) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "\"count\" needs a zone without a layer \"in_flight\": "
                      "ratecell_zone \"%V\" has one in %V:%ui", &zone->name,
                      &limit->conf_file, limit->conf_line);
        return NGX_ERROR;
    }

    if (zone->store.len && (limit->strict || limit->count
                            || limit->settle_value))
    {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "\"%s\" needs a zone without \"store\": ratecell_zone "
                      "\"%V\" has one in %V:%ui",
                      limit->strict ? "strict"
                      : limit->count ? "count" : "settle", &zone->name,
                      &limit->conf_file, limit->conf_line);
        return NGX_ERROR;
    }

    if (zone->rate.limit == 0) {

        if (limit->rate.limit || limit->rate_value || limit->burst_set
            || (limit->delay_set && limit->delay != NGX_HTTP_RATECELL_NODELAY))
        {
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "\"rate\", \"burst\" and \"delay\" need a zone with "
                          "\"rate\": ratecell_zone \"%V\" has \"%s\" "
                          "in %V:%ui", &zone->name,
                          zone->store.len ? "store" : "policy",
                          &limit->conf_file, limit->conf_line);
            return NGX_ERROR;
        }

        return NGX_OK;
    }

    if (limit->rate.limit == 0) {
        limit->rate = zone->rate;
    }

    if (limit->burst_value) {
        limit->burst = limit->default_burst;
    }

    (void) ngx_http_ratecell_print_policy(policy, &limit->rate, limit->burst,
                                          limit->delay);

    if (ratecell_policy_explain((char *) policy, why, sizeof(why)) != 0) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "invalid rate and burst of zone \"%V\": %s in %V:%ui",
                      &zone->name, why, &limit->conf_file, limit->conf_line);
        return NGX_ERROR;
    }

    return NGX_OK;
}
