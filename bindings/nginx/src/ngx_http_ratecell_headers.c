
/*
 * The header filter: RateLimit, RateLimit-Policy, Retry-After.  A module of
 * its own, because nginx orders handlers and filters by modules.
 */


#include "ngx_http_ratecell.h"


static ngx_int_t ngx_http_ratecell_headers_init(ngx_conf_t *cf);
static ngx_int_t ngx_http_ratecell_header_filter(ngx_http_request_t *r);
static ngx_int_t ngx_http_ratecell_add_header(ngx_http_request_t *r,
    ngx_http_ratecell_ctx_t *ctx, int32_t header);
static void ngx_http_ratecell_clear_header(ngx_http_request_t *r,
    ngx_str_t *name);
static ngx_http_ratecell_claim_t *ngx_http_ratecell_last_to_retry(
    ngx_http_ratecell_ctx_t *ctx);
static int32_t ngx_http_ratecell_print_header(
    ngx_http_ratecell_claim_t *claim, int32_t header, u_char *buf, size_t len);


static ngx_http_output_header_filter_pt  ngx_http_next_header_filter;


static ngx_http_module_t  ngx_http_ratecell_headers_filter_module_ctx = {
    NULL,                                  /* preconfiguration */
    ngx_http_ratecell_headers_init,        /* postconfiguration */

    NULL,                                  /* create main configuration */
    NULL,                                  /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    NULL,                                  /* create location configuration */
    NULL                                   /* merge location configuration */
};


ngx_module_t  ngx_http_ratecell_headers_filter_module = {
    NGX_MODULE_V1,
    &ngx_http_ratecell_headers_filter_module_ctx, /* module context */
    NULL,                                  /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    NULL,                                  /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    NULL,                                  /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


/*
 * Where no configuration asked for fields yet, the filter is left out.  The
 * chain of filters is the process's, not the configuration's: when a new one
 * is refused after it built the chain, the master starts workers with the old
 * configuration and the new chain.  So what was asked for once stays.
 */

static ngx_int_t
ngx_http_ratecell_headers_init(ngx_conf_t *cf)
{
    ngx_http_ratecell_main_conf_t  *rmcf;

    static ngx_uint_t  asked;

    rmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_ratecell_module);
    asked |= rmcf->headers;

    if (!asked) {
        return NGX_OK;
    }

    ngx_http_next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = ngx_http_ratecell_header_filter;

    return NGX_OK;
}


static ngx_int_t
ngx_http_ratecell_header_filter(ngx_http_request_t *r)
{
    ngx_http_ratecell_ctx_t  *ctx;

    if (r != r->main) {
        return ngx_http_next_header_filter(r);
    }

    ctx = ngx_http_ratecell_get_ctx(r);

    if (ctx == NULL || ctx->status == 0 || !ctx->conf->headers) {
        return ngx_http_next_header_filter(r);
    }

    if (ngx_http_ratecell_add_header(r, ctx, RATECELL_HEADER_RATELIMIT_POLICY)
        != NGX_OK
        || ngx_http_ratecell_add_header(r, ctx, RATECELL_HEADER_RATELIMIT)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_http_ratecell_refused(ctx)
        && ngx_http_ratecell_add_header(r, ctx, RATECELL_HEADER_RETRY_AFTER)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_next_header_filter(r);
}


/* Of several limits, RateLimit is a list and Retry-After the longest. */

static ngx_int_t
ngx_http_ratecell_add_header(ngx_http_request_t *r,
    ngx_http_ratecell_ctx_t *ctx, int32_t header)
{
    u_char                     *p;
    size_t                      len;
    int32_t                     n;
    ngx_str_t                   name;
    ngx_uint_t                  i, nclaims;
    ngx_table_elt_t            *h;
    ngx_http_ratecell_claim_t  *claims;

    claims = ctx->claims;
    nclaims = ctx->nclaims;

    if (header == RATECELL_HEADER_RETRY_AFTER) {
        claims = ngx_http_ratecell_last_to_retry(ctx);
        nclaims = 1;
    }

    len = 0;

    for (i = 0; i < nclaims; i++) {
        n = ngx_http_ratecell_print_header(&claims[i], header, NULL, 0);
        len += n > 0 ? n + sizeof(", ") : 0;
    }

    if (len == 0) {
        return NGX_OK;
    }

    name.data = (u_char *) ratecell_header_name(header);
    name.len = ngx_strlen(name.data);

    /* the others are lists; an upstream's error page may have this one */

    if (header == RATECELL_HEADER_RETRY_AFTER) {
        ngx_http_ratecell_clear_header(r, &name);
    }

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    h->hash = 0;

    p = ngx_pnalloc(r->pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    h->value.data = p;

    for (i = 0; i < nclaims; i++) {

        if (p != h->value.data) {
            *p++ = ',';
            *p++ = ' ';
        }

        n = ngx_http_ratecell_print_header(&claims[i], header, p,
                                           h->value.data + len - p);
        if (n > 0) {
            p += n;

        } else if (p != h->value.data) {
            p -= 2;
        }
    }

    h->value.len = p - h->value.data;
    h->key = name;
    h->hash = 1;

#if (nginx_version >= 1023000)
    h->next = NULL;
#endif

    return NGX_OK;
}


static void
ngx_http_ratecell_clear_header(ngx_http_request_t *r, ngx_str_t *name)
{
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    for (part = &r->headers_out.headers.part; part; part = part->next) {

        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (h[i].hash && h[i].key.len == name->len
                && ngx_strncasecmp(h[i].key.data, name->data, name->len) == 0)
            {
                h[i].hash = 0;
            }
        }
    }
}


static ngx_http_ratecell_claim_t *
ngx_http_ratecell_last_to_retry(ngx_http_ratecell_ctx_t *ctx)
{
    ngx_uint_t                  i;
    ngx_http_ratecell_claim_t  *claim, *last;

    last = ctx->deciding;

    for (i = 0; i < ctx->nclaims; i++) {

        claim = &ctx->claims[i];

        if (claim->decision.outcome != RATECELL_ALLOWED
            && claim->decision.retry_after_ns > last->decision.retry_after_ns)
        {
            last = claim;
        }
    }

    return last;
}


static int32_t
ngx_http_ratecell_print_header(ngx_http_ratecell_claim_t *claim,
    int32_t header, u_char *buf, size_t len)
{
    ngx_http_ratecell_zone_t  *zone;

    zone = ngx_http_ratecell_zone(claim->limit);

    return ratecell_limiter_header(claim->limiter, header,
                                   (char *) zone->name.data, &claim->decision,
                                   (char *) buf, len);
}
