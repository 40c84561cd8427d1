
/*
 * What a request holds until it ends: a permit of the layers in_flight, and a
 * reservation that is settled by the value of a variable.
 */


#include "ngx_http_ratecell.h"


static int32_t ngx_http_ratecell_reserve_one(ngx_http_ratecell_claim_t *claim);
static void ngx_http_ratecell_held(ngx_http_ratecell_claim_t *claim,
    uint32_t units, ratecell_request *request);
static void ngx_http_ratecell_give_back(ngx_http_ratecell_claim_t *claim);


/*
 * Has each claim that holds something reserve it: all of them, or none.  Each
 * has its decision.
 */

int32_t
ngx_http_ratecell_reserve(ngx_http_ratecell_ctx_t *ctx)
{
    int32_t                     rc, gravest;
    ngx_uint_t                  i;
    ngx_http_ratecell_claim_t  *claim;

    gravest = RATECELL_ALLOWED;

    for (i = 0; i < ctx->nclaims; i++) {

        claim = &ctx->claims[i];

        if (claim->reservation == NULL) {
            continue;
        }

        rc = ngx_http_ratecell_reserve_one(claim);
        if (rc < 0) {
            gravest = rc;
            break;
        }

        claim->held = (rc == RATECELL_ALLOWED);
        gravest = ngx_max(gravest, rc);
    }

    if (gravest != RATECELL_ALLOWED) {
        ngx_http_ratecell_cancel(ctx);
    }

    return gravest;
}


static int32_t
ngx_http_ratecell_reserve_one(ngx_http_ratecell_claim_t *claim)
{
    ratecell_request  request;

    ngx_http_ratecell_held(claim, claim->cost, &request);

    request.key = claim->key.data;
    request.key_len = claim->key.len;
    request.now_ns = claim->now;
    request.flags = claim->flags | RATECELL_RESERVE;

    return ratecell_limiter_decide(claim->limiter, &request, &claim->decision);
}


/* To settle or release: by the limiter's clock, and without the key. */

static void
ngx_http_ratecell_held(ngx_http_ratecell_claim_t *claim, uint32_t units,
    ratecell_request *request)
{
    ngx_memzero(request, sizeof(ratecell_request));

    request->cost = units;
    request->reservation = claim->reservation;
}


/* Another claim was refused: nothing is held, and nothing was used. */

void
ngx_http_ratecell_cancel(ngx_http_ratecell_ctx_t *ctx)
{
    ngx_uint_t                  i;
    ratecell_request            request;
    ngx_http_ratecell_claim_t  *claim;

    for (i = 0; i < ctx->nclaims; i++) {

        claim = &ctx->claims[i];

        if (claim->held) {
            ngx_http_ratecell_held(claim, 0, &request);
            (void) ratecell_limiter_settle(claim->limiter, &request, NULL);
            ngx_http_ratecell_give_back(claim);
        }
    }
}


/* The request ends: of all units that were reserved, the value were used. */

void
ngx_http_ratecell_settle(ngx_http_request_t *r,
    ngx_http_ratecell_claim_t *claim)
{
    int32_t           rc;
    uint32_t          units;
    ratecell_request  request;

    if (ngx_http_ratecell_settle_value(r, claim, &units) != NGX_OK) {
        return;
    }

    ngx_http_ratecell_held(claim, units, &request);

    rc = ratecell_limiter_settle(claim->limiter, &request, NULL);
    if (rc < 0) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "a request cannot be settled by zone \"%V\": %s",
                      &claim->limit->shm_zone->shm.name,
                      ratecell_strerror(rc));
    }
}


/* At the end of a request, however it ends. */

void
ngx_http_ratecell_release(ngx_http_ratecell_ctx_t *ctx)
{
    ngx_uint_t  i;

    for (i = 0; i < ctx->nclaims; i++) {
        if (ctx->claims[i].held) {
            ngx_http_ratecell_give_back(&ctx->claims[i]);
        }
    }
}


/* The decision says what is left: a refusal by another claim shows it. */

static void
ngx_http_ratecell_give_back(ngx_http_ratecell_claim_t *claim)
{
    ratecell_request  request;

    claim->held = 0;

    ngx_http_ratecell_held(claim, 0, &request);
    (void) ratecell_limiter_release(claim->limiter, &request,
                                    &claim->decision);
}
