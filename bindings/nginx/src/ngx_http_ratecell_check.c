
/*
 * The handler of a request: its keys, the decision, and what follows from it.
 */


#include "ngx_http_ratecell.h"


static ngx_int_t ngx_http_ratecell_claims(ngx_http_request_t *r,
    ngx_http_ratecell_ctx_t *ctx);
static ngx_inline ngx_int_t ngx_http_ratecell_answer(ngx_http_request_t *r,
    ngx_http_ratecell_ctx_t *ctx);
static void ngx_http_ratecell_cleanup(void *data);
static ngx_int_t ngx_http_ratecell_refuse(ngx_http_request_t *r,
    ngx_http_ratecell_ctx_t *ctx);
static ngx_msec_t ngx_http_ratecell_pass(ngx_http_request_t *r,
    ngx_http_ratecell_ctx_t *ctx);


ngx_http_ratecell_ctx_t *
ngx_http_ratecell_redirected_ctx(ngx_http_request_t *r)
{
    ngx_pool_cleanup_t  *cln;

    for (cln = r->pool->cleanup; cln; cln = cln->next) {
        if (cln->handler == ngx_http_ratecell_cleanup) {
            return cln->data;
        }
    }

    return NULL;
}


static ngx_inline int32_t
ngx_http_ratecell_decide_plain(ngx_http_ratecell_ctx_t *ctx)
{
    int32_t                     rc;
    ngx_http_ratecell_claim_t  *claim;

    claim = &ctx->claims[0];
    ctx->deciding = claim;

    rc = ratecell_limiter_check(claim->limiter, claim->key.data,
                                claim->key.len, claim->cost,
                                &claim->decision);
    if (rc > 0) {
        ctx->excess = ngx_http_ratecell_excess(claim);
    }

    return rc;
}


ngx_int_t
ngx_http_ratecell_handler(ngx_http_request_t *r)
{
    ngx_int_t                   n;
    ngx_http_ratecell_ctx_t    *ctx;
    ngx_http_ratecell_conf_t   *rlcf;
    ngx_http_ratecell_ruled_t  *ruled;

    rlcf = ngx_http_get_module_loc_conf(r, ngx_http_ratecell_module);

    if (rlcf->limits.nelts == 0) {
        return NGX_DECLINED;
    }

    ctx = ngx_http_ratecell_get_ctx(r);

    if (ctx) {

        /* the one that waits for a store is decided here again */

        if (ctx->asker != r) {
            return NGX_DECLINED;
        }

        ctx->asker = NULL;

        return ngx_http_ratecell_answer(r, ctx);
    }

    /* the error page of a request that rules have refused */

    ruled = ngx_http_ratecell_get_ruled(r);

    if (ruled && ngx_http_ratecell_refused(ruled)) {
        return NGX_DECLINED;
    }

    ctx = ngx_palloc(r->pool, sizeof(ngx_http_ratecell_ctx_t)
                              + (rlcf->limits.nelts - 1)
                                * sizeof(ngx_http_ratecell_claim_t));
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ctx->conf = rlcf;
    ctx->status = 0;
    ctx->timer = NULL;
    ctx->asker = NULL;
    ctx->started = ngx_current_msec;
    ctx->nclaims = 0;

    n = ngx_http_ratecell_claims(r, ctx);

    /* without a claim the request was not limited, and still may be */

    if (n == NGX_OK && ctx->nclaims == 0) {
        return NGX_DECLINED;
    }

    ctx->cleanup.handler = ngx_http_ratecell_cleanup;
    ctx->cleanup.data = ctx;
    ctx->cleanup.next = r->pool->cleanup;
    r->pool->cleanup = &ctx->cleanup;

    if (n != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_http_set_ctx(r->main, ctx, ngx_http_ratecell_module);

    return ngx_http_ratecell_answer(r, ctx);
}


static ngx_inline ngx_int_t
ngx_http_ratecell_answer(ngx_http_request_t *r, ngx_http_ratecell_ctx_t *ctx)
{
    int32_t     rc;
    ngx_int_t   n;
    ngx_msec_t  delay;

    rc = ctx->conf->plain ? ngx_http_ratecell_decide_plain(ctx)
                          : ngx_http_ratecell_decide(ctx);

    if (rc == RATECELL_ASKED) {

        n = ngx_http_ratecell_delay(r, &ctx->timer,
                                    NGX_HTTP_RATECELL_ASK_AGAIN);

        if (n == NGX_AGAIN) {
            ctx->asker = r;
        }

        return n;
    }

    if (rc < 0) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "requests cannot be limited: %s",
                      ratecell_strerror(rc));
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (rc != RATECELL_ALLOWED) {
        return ngx_http_ratecell_refuse(r, ctx);
    }

    delay = ngx_http_ratecell_pass(r, ctx);

    return delay ? ngx_http_ratecell_delay(r, &ctx->timer, delay)
                 : NGX_DECLINED;
}


/*
 * The value of one variable is used where it is; but not for a limit that
 * counts responses, which needs its key when the request is over.
 */

static ngx_inline ngx_int_t
ngx_http_ratecell_key(ngx_http_request_t *r, ngx_http_ratecell_limit_t *limit,
    ngx_str_t *key)
{
    ngx_http_ratecell_zone_t   *zone;
    ngx_http_variable_value_t  *vv;

    zone = limit->zone;

    if (zone->key_index == NGX_ERROR || limit->count) {
        return ngx_http_complex_value(r, &zone->key, key);
    }

    vv = ngx_http_get_flushed_variable(r, zone->key_index);

    if (vv == NULL || vv->not_found) {
        key->len = 0;
        return NGX_OK;
    }

    key->data = vv->data;
    key->len = vv->len;

    return NGX_OK;
}


/* What each limit is asked; not those whose key is empty. */

static ngx_int_t
ngx_http_ratecell_claims(ngx_http_request_t *r, ngx_http_ratecell_ctx_t *ctx)
{
    ngx_uint_t                   i;
    ngx_http_ratecell_limit_t   *limit, **limits;
    ngx_http_ratecell_claim_t   *claim;

    limits = ctx->conf->limits.elts;
    claim = ctx->claims;

    for (i = 0; i < ctx->conf->limits.nelts; i++) {

        limit = limits[i];

        if (ngx_http_ratecell_key(r, limit, &claim->key) != NGX_OK) {
            return NGX_ERROR;
        }

        if (claim->key.len == 0) {
            continue;
        }

        claim->limit = limit;
        claim->limiter = limit->limiter;
        claim->tier = NULL;
        claim->charged = 0;
        claim->held = 0;
        claim->reservation = NULL;
        claim->cost = limit->cost;

        if (limit->holds) {
            claim->reservation = ngx_palloc(r->pool,
                                            sizeof(ratecell_reservation));
            if (claim->reservation == NULL) {
                return NGX_ERROR;
            }
        }

        if (limit->varies && ngx_http_ratecell_evaluate(r, claim) != NGX_OK) {
            return NGX_ERROR;
        }

        claim++;
        ctx->nclaims++;
    }

    return NGX_OK;
}


static void
ngx_http_ratecell_cleanup(void *data)
{
    ngx_http_ratecell_ctx_t  *ctx = data;

    ngx_uint_t  i;

    if (!ctx->conf->plain) {
        ngx_http_ratecell_release(ctx);
    }

    for (i = 0; i < ctx->nclaims; i++) {
        if (ctx->claims[i].tier) {
            ngx_http_ratecell_release_tier(ctx->claims[i].tier);
        }
    }

    if (ctx->timer && ctx->timer->timer_set) {
        ngx_del_timer(ctx->timer);
    }
}


void
ngx_http_ratecell_count(ngx_http_ratecell_claim_t *claim, ngx_uint_t status)
{
    ngx_http_ratecell_zone_t      *zone;
    ngx_http_ratecell_counters_t  *counters;

    zone = claim->limit->zone;
    counters = &zone->shm->counters[ngx_worker % NGX_HTTP_RATECELL_COUNTERS];

    (void) __atomic_fetch_add(&counters->requests[status], 1,
                              __ATOMIC_RELAXED);
}


/* The first limit that refuses is logged and counted. */

static ngx_int_t
ngx_http_ratecell_refuse(ngx_http_request_t *r, ngx_http_ratecell_ctx_t *ctx)
{
    uint64_t                   excess;
    ngx_http_ratecell_conf_t  *rlcf;

    rlcf = ctx->conf;
    excess = ctx->excess;

    if (ctx->deciding->decision.notes & RATECELL_UNANSWERED) {
        ngx_log_error(rlcf->limit_log_level, r->connection->log, 0,
                      "limiting requests%s, no answer from store \"%V\" of "
                      "zone \"%V\"", rlcf->dry_run ? ", dry run" : "",
                      &ctx->deciding->limit->zone->store,
                      &ctx->deciding->limit->shm_zone->shm.name);

    } else {
        ngx_log_error(rlcf->limit_log_level, r->connection->log, 0,
                      "limiting requests%s, excess: %uL.%03uL by zone \"%V\"",
                      rlcf->dry_run ? ", dry run" : "",
                      excess / 1000, excess % 1000,
                      &ctx->deciding->limit->shm_zone->shm.name);
    }

    ctx->status = rlcf->dry_run ? NGX_HTTP_RATECELL_REJECTED_DRY_RUN
                                : NGX_HTTP_RATECELL_REJECTED;

    ngx_http_ratecell_count(ctx->deciding, ctx->status);

    return rlcf->dry_run ? NGX_DECLINED : (ngx_int_t) rlcf->status_code;
}


/* Returns the delay, which is the longest that any limit asks for. */

static ngx_msec_t
ngx_http_ratecell_pass(ngx_http_request_t *r, ngx_http_ratecell_ctx_t *ctx)
{
    uint64_t                    delay, excess;
    ngx_uint_t                  i, status;
    ngx_http_ratecell_conf_t   *rlcf;
    ngx_http_ratecell_claim_t  *claim;

    claim = &ctx->claims[0];

    if (ctx->nclaims == 1 && claim->decision.delay_ns == 0) {
        ctx->status = NGX_HTTP_RATECELL_PASSED;
        ngx_http_ratecell_count(claim, NGX_HTTP_RATECELL_PASSED);
        return 0;
    }

    rlcf = ctx->conf;
    delay = 0;

    for (i = 0; i < ctx->nclaims; i++) {

        claim = &ctx->claims[i];

        if (claim->limit->delay == NGX_HTTP_RATECELL_NODELAY) {
            claim->decision.delay_ns = 0;
        }

        if (claim->decision.delay_ns > delay) {
            delay = claim->decision.delay_ns;
            ctx->deciding = claim;
        }
    }

    ctx->status = NGX_HTTP_RATECELL_PASSED;

    if (delay) {
        excess = ngx_http_ratecell_excess(ctx->deciding);

        ngx_log_error(rlcf->delay_log_level, r->connection->log, 0,
                      "delaying request%s, excess: %uL.%03uL, by zone \"%V\"",
                      rlcf->dry_run ? ", dry run" : "",
                      excess / 1000, excess % 1000,
                      &ctx->deciding->limit->shm_zone->shm.name);

        ctx->status = rlcf->dry_run ? NGX_HTTP_RATECELL_DELAYED_DRY_RUN
                                    : NGX_HTTP_RATECELL_DELAYED;
    }

    for (i = 0; i < ctx->nclaims; i++) {

        claim = &ctx->claims[i];

        status = claim->decision.delay_ns ? ctx->status
                                          : NGX_HTTP_RATECELL_PASSED;

        ngx_http_ratecell_count(claim, status);
    }

    if (rlcf->dry_run) {
        return 0;
    }

    return (ngx_msec_t) ((delay + 999999) / 1000000);
}
