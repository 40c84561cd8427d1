
/*
 * The text of "ratecell_stats" for Prometheus.
 */


#include "ngx_http_ratecell.h"


static u_char *ngx_http_ratecell_print_value(u_char *p, u_char *last,
    ngx_http_ratecell_metric_t *metric, uint64_t value);


u_char *
ngx_http_ratecell_print_prometheus(u_char *p, u_char *last,
    ngx_http_ratecell_main_conf_t *rmcf, uint64_t *values)
{
    size_t                        len;
    ngx_uint_t                    i, k, n, shown;
    ngx_shm_zone_t              **shm_zones;
    ngx_http_ratecell_zone_t     *zone;
    ngx_http_ratecell_rules_t   **rules;
    ngx_http_ratecell_metric_t   *metric;

    shm_zones = rmcf->zones.elts;
    rules = rmcf->rules.elts;
    n = rmcf->zones.nelts;

    for (k = 0; k < NGX_HTTP_RATECELL_METRICS; k++) {

        metric = &ngx_http_ratecell_metrics[k];
        shown = (k < NGX_HTTP_RATECELL_PLAIN_METRICS);

        for (i = 0; i < n && !shown; i++) {
            shown = ngx_http_ratecell_has_metric(shm_zones[i]->data, k);
        }

        if (shown && metric->help) {
            len = ngx_strchr(metric->metric, '{') - metric->metric;

            p = ngx_slprintf(p, last, "# HELP ratecell_%*s %s\n"
                             "# TYPE ratecell_%*s %s\n",
                             len, metric->metric, metric->help,
                             len, metric->metric, metric->type);
        }

        for (i = 0; i < n; i++) {

            zone = shm_zones[i]->data;

            if (!ngx_http_ratecell_has_metric(zone, k)) {
                continue;
            }

            p = ngx_slprintf(p, last, "ratecell_%szone=\"", metric->metric);
            p = ngx_http_ratecell_escape(p, last, &zone->name);
            p = ngx_slprintf(p, last, "\"} ");
            p = ngx_http_ratecell_print_value(p, last, metric,
                                      values[i * NGX_HTTP_RATECELL_METRICS + k]);
        }

        if (k < NGX_HTTP_RATECELL_REQUEST_METRICS
            || k >= NGX_HTTP_RATECELL_PLAIN_METRICS)
        {
            continue;
        }

        for (i = 0; i < rmcf->rules.nelts; i++) {
            p = ngx_slprintf(p, last, "ratecell_%srules=\"", metric->metric);
            p = ngx_http_ratecell_escape(p, last, &rules[i]->path);
            p = ngx_slprintf(p, last, "\"} ");
            p = ngx_http_ratecell_print_value(p, last, metric,
                                values[(n + i) * NGX_HTTP_RATECELL_METRICS + k]);
        }
    }

    return p;
}


/* Prometheus has its times in seconds. */

static u_char *
ngx_http_ratecell_print_value(u_char *p, u_char *last,
    ngx_http_ratecell_metric_t *metric, uint64_t value)
{
    size_t  len;

    len = ngx_strlen(metric->name);

    if (len > 3 && ngx_strcmp(&metric->name[len - 3], "_ns") == 0) {
        return ngx_slprintf(p, last, "%uL.%09uL\n", value / 1000000000,
                            value % 1000000000);
    }

    return ngx_slprintf(p, last, "%uL\n", value);
}
