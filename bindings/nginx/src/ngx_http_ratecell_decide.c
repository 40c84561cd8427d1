
/*
 * The decision over all claims of a request: each is charged, or none.
 */


#include "ngx_http_ratecell.h"


/* The styles of fields that give an instant. */
#define NGX_HTTP_RATECELL_INSTANTS                                            \
    (RATECELL_STYLE_X_UNIX|RATECELL_STYLE_GITHUB|RATECELL_STYLE_TWITTER)


static ngx_inline void ngx_http_ratecell_request(
    ngx_http_ratecell_claim_t *claim, uint32_t cost, uint32_t flags,
    ratecell_request *request);
static int32_t ngx_http_ratecell_decide_one(ngx_http_ratecell_claim_t *claim,
    uint32_t cost);
static int32_t ngx_http_ratecell_decide_responses(
    ngx_http_ratecell_ctx_t *ctx);
static int32_t ngx_http_ratecell_decide_held(ngx_http_ratecell_ctx_t *ctx);
static int32_t ngx_http_ratecell_decide_all(ngx_http_ratecell_ctx_t *ctx);
static void ngx_http_ratecell_peek_others(ngx_http_ratecell_ctx_t *ctx,
    ngx_uint_t held);
static void ngx_http_ratecell_choose(ngx_http_ratecell_ctx_t *ctx, int32_t rc);
static void ngx_http_ratecell_charge_refused(ngx_http_ratecell_ctx_t *ctx);


static ngx_inline void
ngx_http_ratecell_request(ngx_http_ratecell_claim_t *claim, uint32_t cost,
    uint32_t flags, ratecell_request *request)
{
    request->key = claim->key.data;
    request->key_len = claim->key.len;
    request->hash = 0;
    request->now_ns = claim->now;
    request->max_delay_ns = 0;
    request->cost = cost;
    request->flags = flags;
    request->zone = NULL;
    request->reservation = NULL;
}


/* The claim's time is read with RATECELL_AT alone. */

int32_t
ngx_http_ratecell_ask(ngx_http_ratecell_claim_t *claim, uint32_t cost,
    uint32_t flags, ratecell_decision *decision)
{
    ratecell_request  request;

    ngx_http_ratecell_request(claim, cost, flags, &request);

    return ratecell_limiter_decide(claim->limiter, &request, decision);
}


/*
 * Returns what ratecell_limiter_check() does, or RATECELL_ASKED: not known
 * yet, nothing charged, to be asked again.  The deciding claim is the one to
 * report: the first that refuses, or the one with the least left.  A zone's
 * store is asked without waiting until the zone's "wait" has passed.
 */

int32_t
ngx_http_ratecell_decide(ngx_http_ratecell_ctx_t *ctx)
{
    int32_t                    rc;
    uint32_t                   flags;
    ngx_uint_t                 i;
    ngx_msec_t                 elapsed;
    ngx_http_ratecell_zone_t  *zone;

    elapsed = ngx_current_msec - ctx->started;
    ctx->deciding = &ctx->claims[0];
    flags = RATECELL_AT | (ctx->conf->styles ? RATECELL_NEXT : 0);

    for (i = 0; i < ctx->nclaims; i++) {
        rc = ratecell_limiter_now(ctx->claims[i].limiter, &ctx->claims[i].now);
        if (rc < 0) {
            return rc;
        }

        zone = ctx->claims[i].limit->zone;
        ctx->claims[i].flags = flags;

        if (zone->store.len && elapsed < zone->wait) {
            ctx->claims[i].flags |= RATECELL_TRY;
        }
    }

    rc = ngx_http_ratecell_decide_responses(ctx);

    if (rc == RATECELL_ALLOWED) {
        rc = ngx_http_ratecell_decide_held(ctx);
    }

    if (rc < 0 || rc == RATECELL_ASKED) {
        return rc;
    }

    ngx_http_ratecell_choose(ctx, rc);

    if (rc > 0) {
        ctx->excess = ngx_http_ratecell_excess(ctx->deciding);
        ngx_http_ratecell_charge_refused(ctx);
    }

    ctx->unix_ns = ngx_http_ratecell_unix_ns(ctx->conf->styles);

    return rc;
}


/*
 * Read after the decision, and not of nginx's clock, which may be behind: an
 * instant counts from the decision, and is not to be too early.  0 where no
 * style has an instant.
 */

uint64_t
ngx_http_ratecell_unix_ns(ngx_uint_t styles)
{
    struct timespec  now;

    if (!(styles & NGX_HTTP_RATECELL_INSTANTS)) {
        return 0;
    }

    (void) clock_gettime(CLOCK_REALTIME, &now);

    return (uint64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}


/* Without fields, which need the next unit's time, the check costs less. */

static int32_t
ngx_http_ratecell_decide_one(ngx_http_ratecell_claim_t *claim, uint32_t cost)
{
    if (claim->flags == RATECELL_AT) {
        return ratecell_limiter_check_at(claim->limiter, claim->key.data,
                                         claim->key.len, cost, claim->now,
                                         &claim->decision);
    }

    return ngx_http_ratecell_ask(claim, cost, claim->flags, &claim->decision);
}


/*
 * A limit that counts responses lets a request go while there is room for it,
 * and charges it when its response is known.
 */

static int32_t
ngx_http_ratecell_decide_responses(ngx_http_ratecell_ctx_t *ctx)
{
    int32_t                     rc, gravest;
    ngx_uint_t                  i;
    ngx_http_ratecell_claim_t  *claim;

    gravest = RATECELL_ALLOWED;

    for (i = 0; i < ctx->nclaims; i++) {

        claim = &ctx->claims[i];

        if (claim->limit->count == NULL || claim->charged) {
            continue;
        }

        rc = ngx_http_ratecell_decide_one(claim, 0);
        if (rc < 0) {
            return rc;
        }

        if (rc == RATECELL_ALLOWED
            && claim->decision.remaining < claim->cost)
        {
            /* for the time to retry; by a race it may yet be charged */

            rc = ngx_http_ratecell_decide_one(claim, claim->cost);
            if (rc < 0) {
                return rc;
            }

            claim->charged = (rc == RATECELL_ALLOWED);
        }

        gravest = ngx_max(gravest, rc);
    }

    if (gravest > 0) {
        ngx_http_ratecell_peek_others(ctx, 1);
    }

    return gravest;
}


/*
 * What a request holds comes first, for it can be taken back as if it had not
 * been asked for; what it is charged for good is charged at once, or not at
 * all.
 */

static int32_t
ngx_http_ratecell_decide_held(ngx_http_ratecell_ctx_t *ctx)
{
    int32_t  rc;

    rc = ngx_http_ratecell_reserve(ctx);

    if (rc > 0) {
        ngx_http_ratecell_peek_others(ctx, 0);
    }

    if (rc != RATECELL_ALLOWED) {
        return rc;
    }

    rc = ngx_http_ratecell_decide_all(ctx);

    if (rc != RATECELL_ALLOWED) {
        ngx_http_ratecell_cancel(ctx);
    }

    return rc;
}


/* Those that do not count responses; with or without those that hold. */

static void
ngx_http_ratecell_peek_others(ngx_http_ratecell_ctx_t *ctx, ngx_uint_t held)
{
    ngx_uint_t                  i;
    ngx_http_ratecell_claim_t  *claim;

    for (i = 0; i < ctx->nclaims; i++) {

        claim = &ctx->claims[i];

        if (claim->limit->count == NULL && (held || !claim->reservation)) {
            (void) ngx_http_ratecell_decide_one(claim, 0);
        }
    }
}


static int32_t
ngx_http_ratecell_decide_all(ngx_http_ratecell_ctx_t *ctx)
{
    int32_t                     rc;
    ngx_uint_t                  i, n;
    ngx_http_ratecell_claim_t  *claim, *asked[NGX_HTTP_RATECELL_MAX_LAYERS];
    ratecell_claim              claims[NGX_HTTP_RATECELL_MAX_LAYERS];
    ratecell_decision           decisions[NGX_HTTP_RATECELL_MAX_LAYERS];

    n = 0;

    for (i = 0; i < ctx->nclaims; i++) {

        claim = &ctx->claims[i];

        if (claim->limit->count || claim->reservation) {
            continue;
        }

        claims[n].limiter = claim->limiter;
        ngx_http_ratecell_request(claim, claim->cost, claim->flags,
                                  &claims[n].request);
        asked[n++] = claim;
    }

    if (n == 0) {
        return RATECELL_ALLOWED;
    }

    if (n == 1) {
        return ngx_http_ratecell_decide_one(asked[0], asked[0]->cost);
    }

    rc = ratecell_decide_all(claims, n, decisions);

    if (rc >= 0) {
        for (i = 0; i < n; i++) {
            asked[i]->decision = decisions[i];
        }
    }

    return rc;
}


static void
ngx_http_ratecell_choose(ngx_http_ratecell_ctx_t *ctx, int32_t rc)
{
    ngx_uint_t                  i;
    ngx_http_ratecell_claim_t  *claim;

    for (i = 0; i < ctx->nclaims; i++) {

        claim = &ctx->claims[i];

        if (rc > 0 && claim->decision.outcome != RATECELL_ALLOWED
            && claim->decision.outcome != RATECELL_ASKED)
        {
            ctx->deciding = claim;
            return;
        }

        if (claim->decision.remaining < ctx->deciding->decision.remaining) {
            ctx->deciding = claim;
        }
    }
}


/*
 * What a refused request is charged where refusals count.  The second check
 * finds the time to retry from there; at the same instant it changes nothing.
 */

static void
ngx_http_ratecell_charge_refused(ngx_http_ratecell_ctx_t *ctx)
{
    ngx_uint_t                  i;
    ngx_http_ratecell_claim_t  *claim;

    for (i = 0; i < ctx->nclaims; i++) {

        claim = &ctx->claims[i];

        if (!claim->limit->strict || claim->charged || claim->cost == 0) {
            continue;
        }

        claim->charged = 1;

        if (claim->decision.outcome == RATECELL_ALLOWED) {
            (void) ngx_http_ratecell_ask(claim, claim->cost,
                                         claim->flags | RATECELL_CHARGE,
                                         &claim->decision);
            continue;
        }

        (void) ngx_http_ratecell_ask(claim, claim->cost,
                                     claim->flags | RATECELL_CHARGE, NULL);
        (void) ngx_http_ratecell_decide_one(claim, claim->cost);
    }
}
