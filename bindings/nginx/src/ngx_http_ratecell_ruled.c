
/*
 * The handler of a request that rules limit: the decision, and what follows
 * from it.
 */


#include "ngx_http_ratecell.h"


static ngx_http_ratecell_ruled_t *ngx_http_ratecell_add_ruled(
    ngx_http_request_t *r, ratecell_rules_answer *answer,
    ratecell_rules_claim *claims, ratecell_rules_held *held);
static void ngx_http_ratecell_log_shadows(ngx_http_request_t *r,
    ratecell_rules_shadow *shadows, ngx_uint_t n);
static ngx_int_t ngx_http_ratecell_refuse_ruled(ngx_http_request_t *r,
    ngx_http_ratecell_ruled_t *ruled, int32_t rc);


ngx_int_t
ngx_http_ratecell_rules_handler(ngx_http_request_t *r)
{
    int32_t                     rc;
    uint64_t                    delay;
    ngx_array_t                 attributes;
    ratecell_rules_held         held[NGX_HTTP_RATECELL_MAX_LAYERS];
    ratecell_rules_claim        claims[NGX_HTTP_RATECELL_MAX_LAYERS];
    ratecell_rules_answer       answer;
    ratecell_rules_shadow       shadows[NGX_HTTP_RATECELL_MAX_SHADOWS];
    ratecell_rules_request      request;
    ngx_http_ratecell_ctx_t    *ctx;
    ngx_http_ratecell_conf_t   *rlcf;
    ngx_http_ratecell_ruled_t  *ruled;

    rlcf = ngx_http_get_module_loc_conf(r, ngx_http_ratecell_module);

    if (rlcf->rules == NULL) {
        return NGX_DECLINED;
    }

    /* a file of which only shadow rules apply has not limited the request */

    ruled = ngx_http_ratecell_get_ruled(r);

    if (ruled
        && (ruled->status
            || (ruled->conf->rules == rlcf->rules
                && ruled->conf->attributes == rlcf->attributes)))
    {
        return NGX_DECLINED;
    }

    /* the error page of a request that limits of zones have refused */

    ctx = ngx_http_ratecell_get_ctx(r);

    if (ctx && ngx_http_ratecell_refused(ctx)) {
        return NGX_DECLINED;
    }

    if (ngx_http_ratecell_attributes(r, &attributes) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_memzero(&request, sizeof(ratecell_rules_request));

    request.attributes = attributes.elts;
    request.n_attributes = attributes.nelts;
    request.flags = RATECELL_RESERVE;
    request.shadows = shadows;
    request.max_shadows = NGX_HTTP_RATECELL_MAX_SHADOWS;
    request.held = held;
    request.max_held = NGX_HTTP_RATECELL_MAX_LAYERS;

    if (rlcf->styles) {
        request.claims = claims;
        request.max_claims = NGX_HTTP_RATECELL_MAX_LAYERS;
    }

    rc = ratecell_rules_decide(rlcf->rules->rules, &request, &answer);

    if (rc < 0) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "requests cannot be limited by rules \"%V\": %s",
                      &rlcf->rules->path, ratecell_strerror(rc));
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /* where no rule applies the request was not limited, and still may be */

    if (rc == RATECELL_ALLOWED && answer.n_claims == 0
        && answer.n_shadows == 0)
    {
        return NGX_DECLINED;
    }

    ruled = ngx_http_ratecell_add_ruled(r, &answer, claims, held);
    if (ruled == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_http_ratecell_log_shadows(r, shadows,
                   ngx_min(answer.n_shadows, NGX_HTTP_RATECELL_MAX_SHADOWS));

    if (rc != RATECELL_ALLOWED) {
        return ngx_http_ratecell_refuse_ruled(r, ruled, rc);
    }

    /* shadow rules alone limit nothing */

    if (answer.n_claims == 0) {
        return NGX_DECLINED;
    }

    ruled->status = NGX_HTTP_RATECELL_PASSED;
    delay = answer.delay_ns;

    if (delay == 0) {
        return NGX_DECLINED;
    }

    ngx_log_error(rlcf->delay_log_level, r->connection->log, 0,
                  "delaying request%s, by rule \"%s\" of \"%V\"",
                  rlcf->dry_run ? ", dry run" : "", ruled->rule,
                  &rlcf->rules->path);

    if (rlcf->dry_run) {
        ruled->status = NGX_HTTP_RATECELL_DELAYED_DRY_RUN;
        return NGX_DECLINED;
    }

    ruled->status = NGX_HTTP_RATECELL_DELAYED;

    /* without the sum that could overflow: 0 is no delay */

    return ngx_http_ratecell_delay(r, &ruled->timer,
                                   (ngx_msec_t) ((delay - 1) / 1000000 + 1));
}


/* NULL where no rules have decided the request. */

ngx_http_ratecell_ruled_t *
ngx_http_ratecell_get_ruled(ngx_http_request_t *r)
{
    ngx_pool_cleanup_t             *cln;
    ngx_http_ratecell_main_conf_t  *rmcf;

    rmcf = ngx_http_get_module_main_conf(r, ngx_http_ratecell_module);

    if (rmcf->rules.nelts == 0) {
        return NULL;
    }

    for (cln = r->pool->cleanup; cln; cln = cln->next) {
        if (cln->handler == ngx_http_ratecell_ruled_cleanup) {
            return cln->data;
        }
    }

    return NULL;
}


static ngx_http_ratecell_ruled_t *
ngx_http_ratecell_add_ruled(ngx_http_request_t *r,
    ratecell_rules_answer *answer, ratecell_rules_claim *claims,
    ratecell_rules_held *held)
{
    ngx_uint_t                  i;
    ngx_pool_cleanup_t         *cln;
    ngx_http_ratecell_conf_t   *rlcf;
    ngx_http_ratecell_ruled_t  *ruled, lost;

    rlcf = ngx_http_get_module_loc_conf(r, ngx_http_ratecell_module);

    ngx_memzero(&lost, sizeof(ngx_http_ratecell_ruled_t));

    lost.conf = rlcf;

    if (answer->outcome == RATECELL_ALLOWED) {
        lost.held = held;
        lost.nheld = answer->n_claims;
    }

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_ratecell_ruled_t));

    if (cln == NULL
        || ngx_http_ratecell_hold_ruled(r, cln->data, &lost) != NGX_OK)
    {
        ngx_http_ratecell_release_ruled(&lost);
        return NULL;
    }

    cln->handler = ngx_http_ratecell_ruled_cleanup;
    ruled = cln->data;

    ruled->decision.limit = answer->limit;
    ruled->decision.remaining = answer->remaining;
    ruled->decision.retry_after_ns = answer->retry_after_ns;
    ruled->decision.reset_after_ns = answer->reset_after_ns;
    ruled->decision.delay_ns = answer->delay_ns;
    ruled->decision.outcome = answer->outcome;
    ngx_memcpy(ruled->rule, answer->rule, sizeof(ruled->rule));

    if (rlcf->styles) {
        ruled->unix_ns = ngx_http_ratecell_unix_ns(rlcf->styles);
        ruled->nclaims = answer->n_claims;
        ruled->claims = ngx_palloc(r->pool, (ruled->nclaims + 1)
                                            * sizeof(ratecell_rules_claim));
        if (ruled->claims == NULL) {
            return NULL;
        }

        ngx_memcpy(ruled->claims, claims,
                   ruled->nclaims * sizeof(ratecell_rules_claim));
    }

    for (i = 0; rlcf->dry_run && i < ruled->nclaims; i++) {
        ngx_http_ratecell_let_pass(&ruled->claims[i].decision);
    }

    return ruled;
}


static void
ngx_http_ratecell_log_shadows(ngx_http_request_t *r,
    ratecell_rules_shadow *shadows, ngx_uint_t n)
{
    ngx_uint_t                 i;
    ngx_http_ratecell_conf_t  *rlcf;

    rlcf = ngx_http_get_module_loc_conf(r, ngx_http_ratecell_module);

    for (i = 0; i < n; i++) {

        if (shadows[i].outcome != RATECELL_ALLOWED) {
            ngx_log_error(rlcf->delay_log_level, r->connection->log, 0,
                          "limiting requests, shadow, by rule \"%s\" of "
                          "\"%V\"", shadows[i].rule, &rlcf->rules->path);
        }
    }
}


static ngx_int_t
ngx_http_ratecell_refuse_ruled(ngx_http_request_t *r,
    ngx_http_ratecell_ruled_t *ruled, int32_t rc)
{
    ngx_http_ratecell_conf_t  *rlcf;

    rlcf = ruled->conf;

    if (rc == RATECELL_UNCLEAR_PATH) {
        ngx_log_error(rlcf->limit_log_level, r->connection->log, 0,
                      "refusing request%s, its path can be read in several "
                      "ways, by \"%V\"", rlcf->dry_run ? ", dry run" : "",
                      &rlcf->rules->path);

    } else {
        ngx_log_error(rlcf->limit_log_level, r->connection->log, 0,
                      "limiting requests%s, by rule \"%s\" of \"%V\"",
                      rlcf->dry_run ? ", dry run" : "", ruled->rule,
                      &rlcf->rules->path);
    }

    if (rlcf->dry_run) {
        ruled->status = NGX_HTTP_RATECELL_REJECTED_DRY_RUN;
        return NGX_DECLINED;
    }

    ruled->status = NGX_HTTP_RATECELL_REJECTED;

    switch (rc) {
    case RATECELL_UNCLEAR_PATH:
        return NGX_HTTP_BAD_REQUEST;
    case RATECELL_NEVER:
        /* clients repeat what was answered 429 or 503 */
        return NGX_HTTP_FORBIDDEN;
    default:
        return (ngx_int_t) rlcf->status_code;
    }
}


/* The fields of all rules that limit the request, in its pool. */

ngx_int_t
ngx_http_ratecell_rules_fields(ngx_http_request_t *r,
    ngx_http_ratecell_ruled_t *ruled, ngx_str_t *text)
{
    int32_t                    n;
    ngx_http_ratecell_conf_t  *rlcf;

    rlcf = ruled->conf;
    text->len = 0;

    n = ratecell_rules_fields(rlcf->rules->rules, rlcf->styles, ruled->claims,
                              ruled->nclaims, ruled->unix_ns, NULL, 0);

    if (n < 0) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "rate limit fields of rules cannot be written: %s",
                      ratecell_strerror(n));
        return NGX_OK;
    }

    text->data = ngx_pnalloc(r->pool, n + 1);
    if (text->data == NULL) {
        return NGX_ERROR;
    }

    (void) ratecell_rules_fields(rlcf->rules->rules, rlcf->styles,
                                 ruled->claims, ruled->nclaims, ruled->unix_ns,
                                 (char *) text->data, n + 1);
    text->len = n;

    return NGX_OK;
}
