
/*
 * The "ratecell_stats" location: what the zones and the tables of rules hold
 * and what has happened, as JSON or as Prometheus text.
 */


#include "ngx_http_ratecell.h"


static ngx_int_t ngx_http_ratecell_stats_handler(ngx_http_request_t *r);
static ngx_uint_t ngx_http_ratecell_wants_prometheus(ngx_http_request_t *r);
static u_char *ngx_http_ratecell_print_json(u_char *p, u_char *last,
    ngx_http_ratecell_main_conf_t *rmcf, uint64_t *values,
    const char **faults);
static u_char *ngx_http_ratecell_print_zone_policy(u_char *p, u_char *last,
    ngx_http_ratecell_zone_t *zone);
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
    const char                    **faults;
    ngx_buf_t                      *b;
    ngx_int_t                       rc;
    ngx_str_t                       type;
    ngx_uint_t                      i;
    ngx_shm_zone_t                **zones;
    ngx_http_ratecell_zone_t       *zone;
    ngx_http_ratecell_rules_t     **rules;
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

    rc = ngx_http_ratecell_show_key(r, &b);

    if (rc == NGX_OK) {
        ngx_str_set(&type, "application/json");
        return ngx_http_ratecell_send(r, b, &type);
    }

    if (rc != NGX_DECLINED) {
        return rc;
    }

    values = ngx_palloc(r->pool,
                        (rmcf->zones.nelts + rmcf->rules.nelts + 1)
                        * sizeof(uint64_t) * NGX_HTTP_RATECELL_METRICS);
    if (values == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    len = sizeof("{\"zones\":[],\"rules\":[]}\n")
          + NGX_HTTP_RATECELL_METRICS * 256;

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

    rules = rmcf->rules.elts;

    faults = ngx_palloc(r->pool, (rmcf->rules.nelts + 1) * sizeof(char *));
    if (faults == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    for (i = 0; i < rmcf->rules.nelts; i++) {

        faults[i] = ngx_http_ratecell_read_rules_metrics(rules[i],
                &values[(rmcf->zones.nelts + i) * NGX_HTTP_RATECELL_METRICS]);

        len += sizeof("{\"rules\":\"\",\"file\":\"\",\"fault\":\"\"},")
               + (faults[i] ? NGX_HTTP_RATECELL_ESCAPED * ngx_strlen(faults[i])
                            : 0)
               + NGX_HTTP_RATECELL_ESCAPED
                 * (rules[i]->path.len + rules[i]->file.len)
               + NGX_HTTP_RATECELL_METRICS
                 * (sizeof("ratecell_rules=\"\"} \n") + 32
                    + NGX_HTTP_RATECELL_ESCAPED * rules[i]->path.len
                    + NGX_INT64_LEN);
    }

    b = ngx_create_temp_buf(r->pool, len);
    if (b == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_ratecell_wants_prometheus(r)) {
        b->last = ngx_http_ratecell_print_prometheus(b->last, b->end,
                                                     rmcf, values);
        ngx_str_set(&type, "text/plain; version=0.0.4");

    } else {
        b->last = ngx_http_ratecell_print_json(b->last, b->end, rmcf,
                                               values, faults);
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
ngx_http_ratecell_print_json(u_char *p, u_char *last,
    ngx_http_ratecell_main_conf_t *rmcf, uint64_t *values,
    const char **faults)
{
    ngx_str_t                    fault;
    ngx_uint_t                   i, k;
    ngx_shm_zone_t             **shm_zones;
    ngx_http_ratecell_zone_t    *zone;
    ngx_http_ratecell_rules_t  **rules;

    shm_zones = rmcf->zones.elts;
    rules = rmcf->rules.elts;

    p = ngx_slprintf(p, last, "{\"zones\":[");

    for (i = 0; i < rmcf->zones.nelts; i++) {

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

    p = ngx_slprintf(p, last, "],\"rules\":[");

    for (i = 0; i < rmcf->rules.nelts; i++) {

        p = ngx_slprintf(p, last, "%s{\"rules\":\"", i ? "," : "");
        p = ngx_http_ratecell_escape(p, last, &rules[i]->path);
        p = ngx_slprintf(p, last, "\",\"file\":\"");
        p = ngx_http_ratecell_escape(p, last, &rules[i]->file);

        if (faults[i]) {
            fault.data = (u_char *) faults[i];
            fault.len = ngx_strlen(faults[i]);
            p = ngx_slprintf(p, last, "\",\"fault\":\"");
            p = ngx_http_ratecell_escape(p, last, &fault);
        }

        p = ngx_slprintf(p, last, "\"");

        for (k = NGX_HTTP_RATECELL_REQUEST_METRICS;
             k < NGX_HTTP_RATECELL_PLAIN_METRICS; k++)
        {
            p = ngx_slprintf(p, last, ",\"%s\":%uL",
                             ngx_http_ratecell_metrics[k].name, values[k]);
        }

        p = ngx_slprintf(p, last, "}");
        values += NGX_HTTP_RATECELL_METRICS;
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
