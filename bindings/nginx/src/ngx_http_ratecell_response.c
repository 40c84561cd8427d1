
/*
 * Limits that count responses: which, and what is charged when the response
 * is known.  Then, too, what was reserved is settled.
 */


#include "ngx_http_ratecell.h"


static ngx_int_t ngx_http_ratecell_parse_codes(u_char *p, u_char *last,
    ngx_http_ratecell_codes_t *codes);
static ngx_uint_t ngx_http_ratecell_counted(ngx_array_t *count,
    ngx_uint_t status);


/* count=response, or count=response:401,403,500-504,4xx */

char *
ngx_http_ratecell_count_parameter(ngx_conf_t *cf,
    ngx_http_ratecell_limit_t *limit, ngx_str_t *value, ngx_str_t *text)
{
    u_char                     *p, *last, *comma;
    ngx_http_ratecell_codes_t  *codes;

    p = text->data;
    last = p + text->len;

    if (text->len < 8 || ngx_strncmp(p, "response", 8) != 0) {
        goto invalid;
    }

    limit->count = ngx_array_create(cf->pool, 1,
                                    sizeof(ngx_http_ratecell_codes_t));
    if (limit->count == NULL) {
        return NGX_CONF_ERROR;
    }

    p += 8;

    if (p == last) {

        codes = ngx_array_push(limit->count);
        if (codes == NULL) {
            return NGX_CONF_ERROR;
        }

        codes->first = 0;
        codes->last = 999;

        return NGX_CONF_OK;
    }

    if (*p != ':') {
        goto invalid;
    }

    do {
        p++;

        comma = ngx_strlchr(p, last, ',');
        if (comma == NULL) {
            comma = last;
        }

        codes = ngx_array_push(limit->count);
        if (codes == NULL) {
            return NGX_CONF_ERROR;
        }

        if (ngx_http_ratecell_parse_codes(p, comma, codes) != NGX_OK) {
            goto invalid;
        }

        p = comma;

    } while (p < last);

    return NGX_CONF_OK;

invalid:

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid count value \"%V\": expected count=response, "
                       "or with codes, such as count=response:401,403,5xx",
                       value);

    return NGX_CONF_ERROR;
}


/* 401, 4xx or 500-504 */

static ngx_int_t
ngx_http_ratecell_parse_codes(u_char *p, u_char *last,
    ngx_http_ratecell_codes_t *codes)
{
    ngx_int_t  first, final;

    if (last - p == 3 && p[0] >= '1' && p[0] <= '5' && p[1] == 'x'
        && p[2] == 'x')
    {
        codes->first = (p[0] - '0') * 100;
        codes->last = codes->first + 99;
        return NGX_OK;
    }

    if (last - p != 3 && !(last - p == 7 && p[3] == '-')) {
        return NGX_ERROR;
    }

    first = ngx_atoi(p, 3);
    final = ngx_atoi(last - 3, 3);

    if (first < 100 || final < first || final > 599) {
        return NGX_ERROR;
    }

    codes->first = first;
    codes->last = final;

    return NGX_OK;
}


ngx_int_t
ngx_http_ratecell_log_handler(ngx_http_request_t *r)
{
    int32_t                     rc;
    ngx_uint_t                  i, status;
    ngx_http_ratecell_ctx_t    *ctx;
    ngx_http_ratecell_claim_t  *claim;

    if (r != r->main) {
        return NGX_OK;
    }

    ngx_http_ratecell_settle_ruled(r);

    ctx = ngx_http_ratecell_get_ctx(r);

    if (ctx == NULL || ctx->status == 0 || ngx_http_ratecell_refused(ctx)) {
        return NGX_OK;
    }

    status = r->err_status ? r->err_status : r->headers_out.status;

    for (i = 0; i < ctx->nclaims; i++) {

        claim = &ctx->claims[i];

        if (claim->held && claim->limit->settle_value) {
            ngx_http_ratecell_settle(r, claim);
            continue;
        }

        if (claim->limit->count == NULL || claim->charged
            || !ngx_http_ratecell_counted(claim->limit->count, status))
        {
            continue;
        }

        rc = ngx_http_ratecell_ask(claim, claim->cost, RATECELL_CHARGE, NULL);
        if (rc < 0) {
            ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                          "a response cannot be counted by zone \"%V\": %s",
                          &claim->limit->shm_zone->shm.name,
                          ratecell_strerror(rc));
        }
    }

    return NGX_OK;
}


static ngx_uint_t
ngx_http_ratecell_counted(ngx_array_t *count, ngx_uint_t status)
{
    ngx_uint_t                  i;
    ngx_http_ratecell_codes_t  *codes;

    codes = count->elts;

    for (i = 0; i < count->nelts; i++) {
        if (status >= codes[i].first && status <= codes[i].last) {
            return 1;
        }
    }

    return 0;
}
