
/*
 * Limits that count responses: what is charged when the response is known.
 */


#include "ngx_http_ratecell.h"


static ngx_uint_t ngx_http_ratecell_counted(ngx_array_t *count,
    ngx_uint_t status);


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

    ctx = ngx_http_ratecell_get_ctx(r);

    if (ctx == NULL || ctx->status == 0 || ngx_http_ratecell_refused(ctx)) {
        return NGX_OK;
    }

    status = r->err_status ? r->err_status : r->headers_out.status;

    for (i = 0; i < ctx->nclaims; i++) {

        claim = &ctx->claims[i];

        if (claim->limit->count == NULL || claim->charged
            || !ngx_http_ratecell_counted(claim->limit->count, status))
        {
            continue;
        }

        rc = ratecell_limiter_charge(claim->limiter, claim->key.data,
                                     claim->key.len, claim->cost, NULL);
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
