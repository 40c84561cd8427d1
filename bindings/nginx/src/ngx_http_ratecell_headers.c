
/*
 * The directive "ratecell_headers", and the header filter that writes the
 * fields.  A module of its own, because nginx orders handlers and filters by
 * modules.
 */


#include "ngx_http_ratecell.h"


/* Enough for a few limits; what is longer is written into the pool. */
#define NGX_HTTP_RATECELL_FIELDS_LEN  1024


#define ngx_http_ratecell_is(str, text)                                       \
    ((str)->len == sizeof(text) - 1                                           \
     && ngx_strncmp((str)->data, text, sizeof(text) - 1) == 0)


static ngx_int_t ngx_http_ratecell_headers_init(ngx_conf_t *cf);
static ngx_int_t ngx_http_ratecell_header_filter(ngx_http_request_t *r);
static ngx_int_t ngx_http_ratecell_fields(ngx_http_request_t *r,
    ngx_http_ratecell_ctx_t *ctx, ngx_str_t *text);
static ngx_int_t ngx_http_ratecell_add_fields(ngx_http_request_t *r,
    ngx_str_t *text);
static ngx_uint_t ngx_http_ratecell_replace(ngx_http_request_t *r,
    ngx_str_t *name, ngx_str_t *value);


/* off, on, or styles: on is the newest draft. */

static ngx_conf_bitmask_t  ngx_http_ratecell_styles[] = {
    { ngx_string("off"), 0 },
    { ngx_string("on"), RATECELL_STYLE_DRAFT11 },
    { ngx_string("draft11"), RATECELL_STYLE_DRAFT11 },
    { ngx_string("draft07"), RATECELL_STYLE_DRAFT07 },
    { ngx_string("draft06"), RATECELL_STYLE_DRAFT06 },
    { ngx_string("draft03"), RATECELL_STYLE_DRAFT03 },
    { ngx_string("x"), RATECELL_STYLE_X },
    { ngx_string("x_unix"), RATECELL_STYLE_X_UNIX },
    { ngx_string("github"), RATECELL_STYLE_GITHUB },
    { ngx_string("twitter"), RATECELL_STYLE_TWITTER },
    { ngx_string("kong"), RATECELL_STYLE_KONG },
    { ngx_null_string, 0 }
};


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
    ngx_str_t                   text;
    ngx_http_ratecell_ctx_t    *ctx;
    ngx_http_ratecell_ruled_t  *ruled;

    if (r != r->main) {
        return ngx_http_next_header_filter(r);
    }

    ruled = ngx_http_ratecell_get_ruled(r);

    if (ruled && ruled->nclaims
        && (ngx_http_ratecell_rules_fields(r, ruled, &text) != NGX_OK
            || ngx_http_ratecell_add_fields(r, &text) != NGX_OK))
    {
        return NGX_ERROR;
    }

    ctx = ngx_http_ratecell_get_ctx(r);

    if (ctx == NULL || ctx->status == 0 || ctx->conf->styles == 0) {
        return ngx_http_next_header_filter(r);
    }

    if (ngx_http_ratecell_fields(r, ctx, &text) != NGX_OK
        || ngx_http_ratecell_add_fields(r, &text) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_next_header_filter(r);
}


/* The fields of all limits as lines, in the request's pool. */

static ngx_int_t
ngx_http_ratecell_fields(ngx_http_request_t *r, ngx_http_ratecell_ctx_t *ctx,
    ngx_str_t *text)
{
    int32_t                     n;
    ngx_uint_t                  i;
    ratecell_answer             answers[NGX_HTTP_RATECELL_MAX_LAYERS];
    ratecell_decision           decisions[NGX_HTTP_RATECELL_MAX_LAYERS];
    ngx_http_ratecell_zone_t   *zone;
    ngx_http_ratecell_claim_t  *claim;
    char                        buf[NGX_HTTP_RATECELL_FIELDS_LEN];

    for (i = 0; i < ctx->nclaims; i++) {

        claim = &ctx->claims[i];
        zone = claim->limit->zone;

        ngx_memzero(&answers[i], sizeof(ratecell_answer));

        answers[i].limiter = claim->limiter;
        answers[i].decision = &claim->decision;
        answers[i].name = (char *) zone->name.data;

        if (ctx->conf->dry_run) {
            decisions[i] = claim->decision;
            ngx_http_ratecell_let_pass(&decisions[i]);
            answers[i].decision = &decisions[i];
        }
    }

    n = ratecell_fields(ctx->conf->styles, answers, ctx->nclaims, ctx->unix_ns,
                        buf, sizeof(buf));

    if (n == RATECELL_ENOSPC) {
        n = ratecell_fields(ctx->conf->styles, answers, ctx->nclaims,
                            ctx->unix_ns, NULL, 0);
    }

    if (n < 0) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "rate limit fields cannot be written: %s",
                      ratecell_strerror(n));
        text->len = 0;
        return NGX_OK;
    }

    text->len = n;
    text->data = ngx_pnalloc(r->pool, n + 1);
    if (text->data == NULL) {
        return NGX_ERROR;
    }

    if ((size_t) n < sizeof(buf)) {
        ngx_memcpy(text->data, buf, n);

    } else {
        (void) ratecell_fields(ctx->conf->styles, answers, ctx->nclaims,
                               ctx->unix_ns, (char *) text->data, n + 1);
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_ratecell_add_fields(ngx_http_request_t *r, ngx_str_t *text)
{
    u_char           *p, *last, *colon, *end;
    ngx_str_t         name, value;
    ngx_table_elt_t  *h;

    last = text->data + text->len;

    for (p = text->data; p < last; p = end + 1) {

        colon = ngx_strlchr(p, last, ':');
        end = ngx_strlchr(p, last, '\n');

        if (colon == NULL || end == NULL) {
            break;
        }

        name.data = p;
        name.len = colon - p;
        value.data = colon + 2;
        value.len = end - value.data;

        if (!ngx_http_ratecell_replace(r, &name, &value)) {
            continue;
        }

        h = ngx_list_push(&r->headers_out.headers);
        if (h == NULL) {
            return NGX_ERROR;
        }

        h->hash = 1;
        h->key = name;
        h->value = value;

#if (nginx_version >= 1023000)
        h->next = NULL;
#endif
    }

    return NGX_OK;
}


/*
 * Removes a field that another rate limiter, behind this one, has written.
 * RateLimit and RateLimit-Policy are lists, and stay.  Of two times to retry
 * the greater is right: returns 0 if the one that is there stays.
 */

static ngx_uint_t
ngx_http_ratecell_replace(ngx_http_request_t *r, ngx_str_t *name,
    ngx_str_t *value)
{
    ngx_uint_t        i, retry;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    if (ngx_http_ratecell_is(name, "RateLimit")
        || ngx_http_ratecell_is(name, "RateLimit-Policy"))
    {
        return 1;
    }

    retry = ngx_http_ratecell_is(name, "Retry-After");

    for (part = &r->headers_out.headers.part; part; part = part->next) {

        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (h[i].hash == 0 || h[i].key.len != name->len
                || ngx_strncasecmp(h[i].key.data, name->data, name->len) != 0)
            {
                continue;
            }

            /* a date is no number, and the client's clock may differ */

            if (retry && ngx_atotm(h[i].value.data, h[i].value.len)
                         > ngx_atotm(value->data, value->len))
            {
                return 0;
            }

            h[i].hash = 0;
        }
    }

    return 1;
}


char *
ngx_http_ratecell_headers_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_ratecell_conf_t  *rlcf = conf;

    ngx_str_t           *value;
    ngx_uint_t           i;
    ngx_conf_bitmask_t  *style;

    if (rlcf->styles != NGX_CONF_UNSET_UINT) {
        return "is duplicate";
    }

    value = cf->args->elts;
    rlcf->styles = 0;

    for (i = 1; i < cf->args->nelts; i++) {

        for (style = ngx_http_ratecell_styles; style->name.len; style++) {
            if (ngx_strcasecmp(style->name.data, value[i].data) == 0) {
                break;
            }
        }

        if (style->name.len == 0
            || (style - ngx_http_ratecell_styles < 2 && cf->args->nelts > 2))
        {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid value \"%V\" in \"%V\" directive: "
                               "expected \"on\", \"off\", or styles among "
                               "draft11, draft07, draft06, draft03, x, x_unix, "
                               "github, twitter and kong",
                               &value[i], &cmd->name);
            return NGX_CONF_ERROR;
        }

        rlcf->styles |= style->mask;

        if (rlcf->styles
            && ratecell_fields(rlcf->styles, NULL, 0, 0, NULL, 0) != 0)
        {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "style \"%V\" in \"%V\" directive writes a "
                               "field that a style before it writes: expected "
                               "one of them", &value[i], &cmd->name);
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}
