
/*
 * A zone whose units many machines share through a store.  Its file holds
 * leases, and is made by the machine's agent, "ratecell sync".
 */


#include "ngx_http_ratecell.h"


/* NGX_DECLINED where the parameter is another. */

ngx_int_t
ngx_http_ratecell_store_parameter(ngx_conf_t *cf,
    ngx_http_ratecell_zone_t *zone, ngx_str_t *value)
{
    ngx_int_t  wait;
    ngx_str_t  text;

    if (ngx_http_ratecell_parameter(value, "store=", &text) && text.len) {
        zone->store = text;
        return NGX_OK;
    }

    if (ngx_http_ratecell_parameter(value, "wait=", &text)) {

        wait = text.len ? ngx_parse_time(&text, 0) : NGX_ERROR;

        if (wait == NGX_ERROR) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid wait \"%V\": expected a time, such "
                               "as wait=50ms", value);
            return NGX_ERROR;
        }

        zone->wait = wait;
        zone->wait_set = 1;

        return NGX_OK;
    }

    if (ngx_http_ratecell_parameter(value, "on_failure=", &text)) {

        zone->on_failure_set = 1;
        zone->on_failure = RATECELL_FAILURE_CLOSED;

        if (ngx_strcmp(text.data, "closed") == 0) {
            return NGX_OK;
        }

        if (ngx_strcmp(text.data, "open") == 0) {
            zone->on_failure = RATECELL_FAILURE_OPEN;
            return NGX_OK;
        }

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid parameter \"%V\": expected "
                           "on_failure=closed or on_failure=open", value);
        return NGX_ERROR;
    }

    return NGX_DECLINED;
}


/*
 * When all parameters are read.  A constant rate becomes a policy, because
 * the burst is that of the store's policy too.
 */

ngx_int_t
ngx_http_ratecell_check_store(ngx_conf_t *cf, ngx_http_ratecell_zone_t *zone)
{
    u_char  *p;

    if (zone->store.len == 0) {

        if (zone->wait_set || zone->on_failure_set) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "zone \"%V\" has \"%s\" without \"store\": "
                               "expected both", &zone->name,
                               zone->wait_set ? "wait" : "on_failure");
            return NGX_ERROR;
        }

        if (zone->size == 0) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid zone size \"zone=%V\": expected "
                               "zone=name:size", &zone->name);
            return NGX_ERROR;
        }

        return NGX_OK;
    }

    if (zone->file.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "zone \"%V\" has \"store\" without \"file\": "
                           "expected the file that \"ratecell sync\" makes",
                           &zone->name);
        return NGX_ERROR;
    }

    if (zone->rate_value || zone->default_rate.limit) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "zone \"%V\" has \"store\" and a rate that "
                           "varies: expected the rate of the store's policy, "
                           "or none", &zone->name);
        return NGX_ERROR;
    }

    if (!zone->wait_set) {
        zone->wait = 50;
    }

    if (zone->rate.limit && zone->policy.len == 0) {

        p = ngx_pnalloc(cf->pool, NGX_HTTP_RATECELL_POLICY_LEN);
        if (p == NULL) {
            return NGX_ERROR;
        }

        zone->policy.data = p;
        zone->policy.len = ngx_sprintf(p, "%uL/%uLns%Z", zone->rate.limit,
                                       zone->rate.period_ns)
                           - p - 1;
        zone->rate.limit = 0;
    }

    return NGX_OK;
}


/*
 * No policy is given at first, so that no file is made: that is the agent's
 * to do.
 */

ngx_int_t
ngx_http_ratecell_open_store(ngx_shm_zone_t *shm_zone)
{
    int32_t                    rc;
    ratecell_config            config = RATECELL_CONFIG_INIT;
    ngx_http_ratecell_zone_t  *zone;
    char                       why[NGX_MAX_PATH + NGX_HTTP_RATECELL_WHY_LEN];

    zone = shm_zone->data;

    why[0] = '\0';
    config.why = why;
    config.why_len = sizeof(why);

    rc = ratecell_limiter_open((char *) zone->file.data, NULL, &config,
                               &zone->limiter);

    if (rc == 0 && !ngx_http_ratecell_leased(zone->limiter)) {
        ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                      "ratecell zone \"%V\" has \"store=%V\", and the file "
                      "\"%V\" is not one of leases: expected another file, "
                      "run \"ratecell sync FILE STORE --name %V\" first",
                      &zone->name, &zone->store, &zone->file, &zone->store);
        return NGX_ERROR;
    }

    if (rc == 0) {
        return NGX_OK;
    }

    ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                  "ratecell zone \"%V\" cannot use the file \"%V\": %s; run "
                  "\"ratecell sync %V STORE --name %V\" first",
                  &zone->name, &zone->file,
                  ngx_http_ratecell_without_path(
                      ngx_http_ratecell_why(rc, why), &zone->file),
                  &zone->file, &zone->store);

    return NGX_ERROR;
}


/*
 * A limiter of leases takes no other policy, so each limit has one that it
 * opens.  It denies at once what it cannot know: a worker never waits in it.
 */

ngx_int_t
ngx_http_ratecell_open_limit(ngx_http_ratecell_limit_t *limit, ngx_log_t *log)
{
    int32_t                    rc;
    ratecell_config            config = RATECELL_CONFIG_INIT;
    ngx_http_ratecell_zone_t  *zone;
    char                       why[NGX_MAX_PATH + NGX_HTTP_RATECELL_WHY_LEN];

    zone = limit->zone;

    why[0] = '\0';
    config.why = why;
    config.why_len = sizeof(why);
    config.on_miss = RATECELL_MISS_DENY;
    config.on_failure = zone->on_failure;

    rc = ratecell_limiter_open((char *) zone->file.data,
                               (char *) zone->policy.data, &config,
                               &limit->limiter);
    if (rc == 0) {
        return NGX_OK;
    }

    ngx_log_error(NGX_LOG_EMERG, log, 0,
                  "ratecell zone \"%V\" cannot use the file \"%V\": %s",
                  &zone->name, &zone->file,
                  ngx_http_ratecell_without_path(
                      ngx_http_ratecell_why(rc, why), &zone->file));

    return NGX_ERROR;
}
