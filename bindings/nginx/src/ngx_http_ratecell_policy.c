
/*
 * The policy of a zone, as its rate or its policy says.
 */


#include "ngx_http_ratecell.h"


/*
 * The policy of the zone's table.  A rate has the same table whatever the
 * burst: each limit brings its own.
 */

char *
ngx_http_ratecell_zone_policy(ngx_conf_t *cf, ngx_command_t *cmd,
    ngx_http_ratecell_zone_t *zone)
{
    u_char      *p;
    ngx_uint_t   rated;
    char         why[NGX_HTTP_RATECELL_WHY_LEN];

    ratecell_config  config = RATECELL_CONFIG_INIT;

    rated = zone->rate.limit || zone->rate_value;

    if (zone->store.len && zone->policy.len == 0) {
        zone->layers = NGX_HTTP_RATECELL_POLICY_LAYERS;
        return NGX_CONF_OK;
    }

    if (!rated && zone->policy.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" must have \"rate\" or \"policy\" parameter",
                           &cmd->name);
        return NGX_CONF_ERROR;
    }

    if (zone->policy.len && (rated || zone->default_rate.limit)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "zone \"%V\" has \"policy\" and a rate: expected "
                           "one of them", &zone->name);
        return NGX_CONF_ERROR;
    }

    if (zone->default_rate.limit && zone->rate_value == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "zone \"%V\" has \"default_rate\" without a "
                           "\"rate\" that contains variables: expected both",
                           &zone->name);
        return NGX_CONF_ERROR;
    }

    if (rated) {

        if (zone->rate_value) {
            zone->rate = zone->default_rate;

            if (zone->rate.limit == 0) {
                zone->rate.limit = 1;
                zone->rate.period_ns = 1000000000;
            }
        }

        zone->policy.data = ngx_pnalloc(cf->pool,
                                        NGX_HTTP_RATECELL_POLICY_LEN);
        if (zone->policy.data == NULL) {
            return NGX_CONF_ERROR;
        }

        zone->policy.len = ngx_http_ratecell_print_policy(zone->policy.data,
                                                          &zone->rate, 0, 0)
                           - zone->policy.data - 1;
    }

    why[0] = '\0';
    config.why = why;
    config.why_len = sizeof(why);

    if (ratecell_region_size((char *) zone->policy.data, &config) == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid policy \"%V\" of zone \"%V\": %s",
                           &zone->policy, &zone->name,
                           ngx_http_ratecell_why(RATECELL_EPANIC, why));
        return NGX_CONF_ERROR;
    }

    if (ngx_strstr(zone->policy.data, "tz=caller")) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid policy \"%V\" of zone \"%V\": no request "
                           "names a time zone: expected another \"tz\"",
                           &zone->policy, &zone->name);
        return NGX_CONF_ERROR;
    }

    zone->in_flight = ngx_strstr(zone->policy.data, "in_flight") != NULL;
    zone->layers = 1;

    for (p = zone->policy.data; *p; p++) {
        zone->layers += (*p == '&');
    }

    return NGX_CONF_OK;
}
