
/*
 * The "ratecell_stats" location: what the zones hold and what has happened, as
 * JSON or as Prometheus text.
 */


#include "ngx_http_ratecell.h"


/* The most that a byte becomes: \u00ff. */
#define NGX_HTTP_RATECELL_ESCAPED     6

#define NGX_HTTP_RATECELL_POLICY_MAX  1024


static ngx_int_t ngx_http_ratecell_stats_handler(ngx_http_request_t *r);
static ngx_uint_t ngx_http_ratecell_wants_prometheus(ngx_http_request_t *r);
static u_char *ngx_http_ratecell_print_json(u_char *p, u_char *last,
    ngx_array_t *zones, uint64_t *values);
static u_char *ngx_http_ratecell_print_zone_policy(u_char *p, u_char *last,
    ngx_http_ratecell_zone_t *zone);
static u_char *ngx_http_ratecell_print_prometheus(u_char *p, u_char *last,
    ngx_array_t *zones, uint64_t *values);
static u_char *ngx_http_ratecell_print_value(u_char *p, u_char *last,
    ngx_http_ratecell_metric_t *metric, uint64_t value);
static u_char *ngx_http_ratecell_escape(u_char *p, u_char *last,
    ngx_str_t *text);
static ngx_int_t ngx_http_ratecell_send(ngx_http_request_t *r, ngx_buf_t *b,
    ngx_str_t *type);


char *
ngx_http_ratecell_stats_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    clcf->handler = ngx_http_ratecell_stats_handler;

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_ratecell_stats_handler(ngx_http_request_t *r)
{
    size_t                          len;
    uint64_t                       *values;
    ngx_buf_t                      *b;
    ngx_int_t                       rc;
    ngx_str_t                       type;
    ngx_uint_t                      i;
    ngx_shm_zone_t                **zones;
    ngx_http_ratecell_zone_t       *zone;
    ngx_http_ratecell_main_conf_t  *rmcf;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return NGX_HTTP_NOT_ALLOWED;
    }

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    rmcf = ngx_http_get_module_main_conf(r, ngx_http_ratecell_module);
    zones = rmcf->zones.elts;

    values = ngx_palloc(r->pool, (rmcf->zones.nelts + 1) * sizeof(uint64_t)
                                 * NGX_HTTP_RATECELL_METRICS);
    if (values == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    len = sizeof("{\"zones\":[]}\n") + NGX_HTTP_RATECELL_METRICS * 256;

    for (i = 0; i < rmcf->zones.nelts; i++) {

        zone = zones[i]->data;

        if (ngx_http_ratecell_read_metrics(zone,
                                     &values[i * NGX_HTTP_RATECELL_METRICS])
            != NGX_OK)
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        len += sizeof("{\"zone\":\"\",\"key\":\"\",\"policy\":\"\"},")
               + NGX_HTTP_RATECELL_ESCAPED
                 * (zone->name.len + zone->key.value.len)
               + NGX_HTTP_RATECELL_POLICY_MAX
               + NGX_HTTP_RATECELL_METRICS
                 * (sizeof("ratecell_requests_total{status=\"\",zone=\"\"} \n")
                    + 32 + NGX_HTTP_RATECELL_ESCAPED * zone->name.len
                    + NGX_INT64_LEN);
    }

    b = ngx_create_temp_buf(r->pool, len);
    if (b == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_ratecell_wants_prometheus(r)) {
        b->last = ngx_http_ratecell_print_prometheus(b->last, b->end,
                                                     &rmcf->zones, values);
        ngx_str_set(&type, "text/plain; version=0.0.4");

    } else {
        b->last = ngx_http_ratecell_print_json(b->last, b->end, &rmcf->zones,
                                               values);
        ngx_str_set(&type, "application/json");
    }

    return ngx_http_ratecell_send(r, b, &type);
}


/*
 * By ?format=prometheus, otherwise by Accept: Prometheus asks for its types,
 * and not for JSON.
 */

static ngx_uint_t
ngx_http_ratecell_wants_prometheus(ngx_http_request_t *r)
{
    ngx_str_t         value;
    ngx_uint_t        i, wants;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    if (ngx_http_arg(r, (u_char *) "format", 6, &value) == NGX_OK) {
        return value.len == 10
               && ngx_strncmp(value.data, "prometheus", 10) == 0;
    }

    wants = 0;

    for (part = &r->headers_in.headers.part; part; part = part->next) {

        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (h[i].key.len != 6
                || ngx_strncasecmp(h[i].key.data, (u_char *) "Accept", 6) != 0)
            {
                continue;
            }

            if (ngx_strcasestrn(h[i].value.data, "application/json", 15)) {
                return 0;
            }

            if (ngx_strcasestrn(h[i].value.data, "text/plain", 9)
                || ngx_strcasestrn(h[i].value.data, "openmetrics", 10))
            {
                wants = 1;
            }
        }
    }

    return wants;
}


static u_char *
ngx_http_ratecell_print_json(u_char *p, u_char *last, ngx_array_t *zones,
    uint64_t *values)
{
    ngx_uint_t                 i, k;
    ngx_shm_zone_t           **shm_zones;
    ngx_http_ratecell_zone_t  *zone;

    shm_zones = zones->elts;

    p = ngx_slprintf(p, last, "{\"zones\":[");

    for (i = 0; i < zones->nelts; i++) {

        zone = shm_zones[i]->data;

        p = ngx_slprintf(p, last, "%s{\"zone\":\"", i ? "," : "");
        p = ngx_http_ratecell_escape(p, last, &zone->name);
        p = ngx_slprintf(p, last, "\",\"key\":\"");
        p = ngx_http_ratecell_escape(p, last, &zone->key.value);

        p = ngx_slprintf(p, last, "\",\"policy\":\"");
        p = ngx_http_ratecell_print_zone_policy(p, last, zone);
        p = ngx_slprintf(p, last, "\"");

        for (k = 0; k < NGX_HTTP_RATECELL_METRICS; k++, values++) {
            if (ngx_http_ratecell_has_metric(zone, k)) {
                p = ngx_slprintf(p, last, ",\"%s\":%uL",
                                 ngx_http_ratecell_metrics[k].name, *values);
            }
        }

        p = ngx_slprintf(p, last, "}");
    }

    return ngx_slprintf(p, last, "]}\n");
}


/* A zone with a rate has no burst: its limits have. */

static u_char *
ngx_http_ratecell_print_zone_policy(u_char *p, u_char *last,
    ngx_http_ratecell_zone_t *zone)
{
    int32_t  n;
    char     rate[NGX_HTTP_RATECELL_POLICY_LEN];

    if (zone->rate.limit) {
        (void) ngx_sprintf((u_char *) rate, "%uL/%uLns%Z", zone->rate.limit,
                           zone->rate.period_ns);
        n = ratecell_policy_format(rate, (char *) p, last - p);

    } else {
        n = ratecell_limiter_policy(zone->limiter, (char *) p, last - p);
    }

    return n > 0 ? p + n : p;
}


static u_char *
ngx_http_ratecell_print_prometheus(u_char *p, u_char *last, ngx_array_t *zones,
    uint64_t *values)
{
    size_t                        len;
    ngx_uint_t                    i, k, shown;
    ngx_shm_zone_t              **shm_zones;
    ngx_http_ratecell_zone_t     *zone;
    ngx_http_ratecell_metric_t   *metric;

    shm_zones = zones->elts;

    for (k = 0; k < NGX_HTTP_RATECELL_METRICS; k++) {

        metric = &ngx_http_ratecell_metrics[k];
        shown = (k < NGX_HTTP_RATECELL_PLAIN_METRICS);

        for (i = 0; i < zones->nelts && !shown; i++) {
            shown = ngx_http_ratecell_has_metric(shm_zones[i]->data, k);
        }

        if (shown && metric->help) {
            len = ngx_strchr(metric->metric, '{') - metric->metric;

            p = ngx_slprintf(p, last, "# HELP ratecell_%*s %s\n"
                             "# TYPE ratecell_%*s %s\n",
                             len, metric->metric, metric->help,
                             len, metric->metric, metric->type);
        }

        for (i = 0; i < zones->nelts; i++) {

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


/*
 * For JSON; and for Prometheus, whose labels are zones' names: of printable
 * ASCII both escape the same.  A byte that is not UTF-8 is written as a number.
 */

static u_char *
ngx_http_ratecell_escape(u_char *p, u_char *last, ngx_str_t *text)
{
    u_char  *from, *to, *end;

    if (text->len > (size_t) (last - p) / NGX_HTTP_RATECELL_ESCAPED) {
        return p;
    }

    end = text->data + text->len;

    for (from = text->data; from < end; from = to) {

        to = from;

        if (*from < 0x80) {
            to++;
            p = (u_char *) ngx_escape_json(p, from, 1);

        } else if (ngx_utf8_decode(&to, end - from) <= 0x10ffff) {
            p = ngx_cpymem(p, from, to - from);

        } else {
            to = from + 1;
            p = ngx_sprintf(p, "\\u00%02xd", (ngx_uint_t) *from);
        }
    }

    return p;
}


static ngx_int_t
ngx_http_ratecell_send(ngx_http_request_t *r, ngx_buf_t *b, ngx_str_t *type)
{
    ngx_int_t    rc;
    ngx_chain_t  out;

    r->headers_out.status = NGX_HTTP_OK;
    r->headers_out.content_length_n = b->last - b->pos;
    r->headers_out.content_type = *type;
    r->headers_out.content_type_len = type->len;
    r->headers_out.content_type_lowcase = NULL;

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    b->last_buf = (r == r->main);
    b->last_in_chain = 1;

    out.buf = b;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}
