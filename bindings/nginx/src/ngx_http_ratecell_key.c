
/*
 * One key of a zone: what "ratecell_stats" says of it, and "ratecell_reset",
 * which forgets it.
 */


#include "ngx_http_ratecell.h"


static ngx_int_t ngx_http_ratecell_reset_handler(ngx_http_request_t *r);
static ngx_http_ratecell_zone_t *ngx_http_ratecell_zone_asked(
    ngx_http_request_t *r);
static ngx_int_t ngx_http_ratecell_argument(ngx_http_request_t *r, char *name,
    ngx_str_t *value);
static u_char *ngx_http_ratecell_print_state(u_char *p, u_char *last,
    ratecell_limiter *limiter, ngx_str_t *key);


char *
ngx_http_ratecell_reset_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    clcf->handler = ngx_http_ratecell_reset_handler;

    return NGX_CONF_OK;
}


/* Of several limits of a zone all have the key's units in common. */

static ngx_int_t
ngx_http_ratecell_reset_handler(ngx_http_request_t *r)
{
    ngx_int_t                  rc;
    ngx_str_t                  key;
    ngx_http_ratecell_zone_t  *zone;

    if (!(r->method & (NGX_HTTP_POST|NGX_HTTP_DELETE))) {
        return NGX_HTTP_NOT_ALLOWED;
    }

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    rc = ngx_http_ratecell_argument(r, "key", &key);
    if (rc != NGX_OK) {
        return rc == NGX_DECLINED ? NGX_HTTP_BAD_REQUEST
                                  : NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    zone = ngx_http_ratecell_zone_asked(r);
    if (zone == NULL) {
        return NGX_HTTP_NOT_FOUND;
    }

    if (zone->store.len) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "ratecell zone \"%V\" has a store, for which a worker "
                      "would wait: expected that the key is forgotten by "
                      "\"ratecell key --forget\"", &zone->name);
        return NGX_HTTP_CONFLICT;
    }

    if (ratecell_limiter_forget(zone->limiter, key.data, key.len) < 0) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_log_error(NGX_LOG_NOTICE, r->connection->log, 0,
                  "ratecell zone \"%V\" has forgotten a key", &zone->name);

    r->headers_out.status = NGX_HTTP_NO_CONTENT;
    r->headers_out.content_length_n = 0;
    r->header_only = 1;

    return ngx_http_send_header(r);
}


/*
 * Writes what the limits of the zone in the request's arguments say of the key
 * there: NGX_DECLINED without such arguments.
 */

ngx_int_t
ngx_http_ratecell_show_key(ngx_http_request_t *r, ngx_buf_t **out)
{
    size_t                       len;
    ngx_buf_t                   *b;
    ngx_int_t                    rc;
    ngx_str_t                    key, name;
    ngx_uint_t                   i;
    ngx_http_ratecell_zone_t    *zone;
    ngx_http_ratecell_limit_t  **limits;

    rc = ngx_http_ratecell_argument(r, "key", &key);

    if (rc == NGX_DECLINED) {
        return ngx_http_ratecell_argument(r, "zone", &name) == NGX_OK
               ? NGX_HTTP_BAD_REQUEST : NGX_DECLINED;
    }

    if (rc != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    zone = ngx_http_ratecell_zone_asked(r);
    if (zone == NULL) {
        return NGX_HTTP_NOT_FOUND;
    }

    len = sizeof("{\"zone\":\"\",\"key\":\"\",\"limits\":[]}\n")
          + NGX_HTTP_RATECELL_ESCAPED * (zone->name.len + key.len)
          + (zone->limits.nelts + 1)
            * (NGX_HTTP_RATECELL_POLICY_MAX + 256);

    b = ngx_create_temp_buf(r->pool, len);
    if (b == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    b->last = ngx_slprintf(b->last, b->end, "{\"zone\":\"");
    b->last = ngx_http_ratecell_escape(b->last, b->end, &zone->name);
    b->last = ngx_slprintf(b->last, b->end, "\",\"key\":\"");
    b->last = ngx_http_ratecell_escape(b->last, b->end, &key);
    b->last = ngx_slprintf(b->last, b->end, "\",\"limits\":[");

    limits = zone->limits.elts;

    for (i = 0; i < zone->limits.nelts; i++) {
        b->last = ngx_slprintf(b->last, b->end, i ? "," : "");
        b->last = ngx_http_ratecell_print_state(b->last, b->end,
                                                limits[i]->limiter, &key);
    }

    if (zone->limits.nelts == 0) {
        b->last = ngx_http_ratecell_print_state(b->last, b->end, zone->limiter,
                                                &key);
    }

    b->last = ngx_slprintf(b->last, b->end, "]}\n");
    *out = b;

    return NGX_OK;
}


/* A peek, which charges nothing. */

static u_char *
ngx_http_ratecell_print_state(u_char *p, u_char *last,
    ratecell_limiter *limiter, ngx_str_t *key)
{
    int32_t            n;
    ratecell_request   request;
    ratecell_decision  decision;

    p = ngx_slprintf(p, last, "{\"policy\":\"");

    n = ratecell_limiter_policy(limiter, (char *) p,
                                ngx_min(last - p,
                                        NGX_HTTP_RATECELL_POLICY_MAX));
    p += n > 0 ? n : 0;

    ngx_memzero(&request, sizeof(ratecell_request));
    request.key = key->data;
    request.key_len = key->len;
    request.flags = RATECELL_NEXT | RATECELL_TRY;

    if (ratecell_limiter_decide(limiter, &request, &decision) < 0) {
        return ngx_slprintf(p, last, "\"}");
    }

    return ngx_slprintf(p, last,
                        "\",\"limit\":%uL,\"remaining\":%uL,"
                        "\"next_ns\":%uL,\"reset_after_ns\":%uL}",
                        decision.limit, decision.remaining, decision.next_ns,
                        decision.reset_after_ns);
}


static ngx_http_ratecell_zone_t *
ngx_http_ratecell_zone_asked(ngx_http_request_t *r)
{
    ngx_str_t                       name;
    ngx_uint_t                      i;
    ngx_shm_zone_t                **shm_zone;
    ngx_http_ratecell_zone_t       *zone;
    ngx_http_ratecell_main_conf_t  *rmcf;

    if (ngx_http_ratecell_argument(r, "zone", &name) != NGX_OK) {
        return NULL;
    }

    rmcf = ngx_http_get_module_main_conf(r, ngx_http_ratecell_module);
    shm_zone = rmcf->zones.elts;

    for (i = 0; i < rmcf->zones.nelts; i++) {

        zone = shm_zone[i]->data;

        if (zone->name.len == name.len
            && ngx_strncmp(zone->name.data, name.data, name.len) == 0)
        {
            return zone;
        }
    }

    return NULL;
}


/* Decoded: a key may be any bytes. */

static ngx_int_t
ngx_http_ratecell_argument(ngx_http_request_t *r, char *name,
    ngx_str_t *value)
{
    u_char     *from, *to;
    ngx_str_t   given;

    if (ngx_http_arg(r, (u_char *) name, ngx_strlen(name), &given) != NGX_OK) {
        return NGX_DECLINED;
    }

    to = ngx_pnalloc(r->pool, given.len + 1);
    if (to == NULL) {
        return NGX_ERROR;
    }

    from = given.data;
    value->data = to;

    ngx_unescape_uri(&to, &from, given.len, 0);

    value->len = to - value->data;

    return NGX_OK;
}
