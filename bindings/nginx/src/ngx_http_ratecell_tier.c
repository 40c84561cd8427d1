
/*
 * What variables determine of a limit: its cost, its rate and its burst.
 */


#include "ngx_http_ratecell.h"


typedef enum {
    NGX_HTTP_RATECELL_COST = 0,
    NGX_HTTP_RATECELL_RATE,
    NGX_HTTP_RATECELL_BURST,
    NGX_HTTP_RATECELL_RATE_AND_BURST,
    NGX_HTTP_RATECELL_SETTLE
} ngx_http_ratecell_value_e;


static void ngx_http_ratecell_warn(ngx_http_request_t *r,
    ngx_http_ratecell_limit_t *limit, ngx_http_ratecell_value_e kind,
    ngx_str_t *value);
static ngx_http_ratecell_tier_t *ngx_http_ratecell_find_tier(
    ngx_http_ratecell_limit_t *limit, ngx_http_ratecell_rate_t *rate,
    ngx_uint_t burst);
static ngx_http_ratecell_tier_t *ngx_http_ratecell_make_tier(
    ngx_http_request_t *r, ngx_http_ratecell_limit_t *limit,
    ngx_http_ratecell_rate_t *rate, ngx_uint_t burst);
static void ngx_http_ratecell_drop_tier(ngx_http_ratecell_limit_t *limit,
    ngx_http_ratecell_tier_t *tier);


/*
 * An empty value is no value: the configured default holds.  So it does for
 * one that is wrong, of which the first is logged.  A number that is too large
 * is the largest there is, not the default: who chooses a cost would choose it
 * so.
 */

ngx_int_t
ngx_http_ratecell_evaluate(ngx_http_request_t *r,
    ngx_http_ratecell_claim_t *claim)
{
    ngx_str_t                   value;
    ngx_uint_t                  burst, cost;
    ngx_http_ratecell_rate_t    rate;
    ngx_http_ratecell_limit_t  *limit;

    limit = claim->limit;
    rate = limit->rate;
    burst = limit->burst;

    if (limit->cost_value) {

        if (ngx_http_complex_value(r, limit->cost_value, &value) != NGX_OK) {
            return NGX_ERROR;
        }

        if (value.len) {
            if (ngx_http_ratecell_parse_units(&value, &cost) == NGX_OK) {
                claim->cost = ngx_min(cost, NGX_HTTP_RATECELL_MAX_UNITS);

            } else {
                ngx_http_ratecell_warn(r, limit, NGX_HTTP_RATECELL_COST,
                                       &value);
            }
        }
    }

    if (limit->rate_value) {

        if (ngx_http_complex_value(r, limit->rate_value, &value) != NGX_OK) {
            return NGX_ERROR;
        }

        if (value.len
            && ngx_http_ratecell_parse_rate(&value, &rate) != NGX_OK)
        {
            rate = limit->rate;
            ngx_http_ratecell_warn(r, limit, NGX_HTTP_RATECELL_RATE, &value);
        }
    }

    if (limit->burst_value) {

        if (ngx_http_complex_value(r, limit->burst_value, &value) != NGX_OK) {
            return NGX_ERROR;
        }

        if (value.len
            && ngx_http_ratecell_parse_units(&value, &burst) != NGX_OK)
        {
            ngx_http_ratecell_warn(r, limit, NGX_HTTP_RATECELL_BURST, &value);
        }

        burst = ngx_min(burst, NGX_HTTP_RATECELL_MAX_UNITS);
    }

    if (rate.limit == limit->rate.limit
        && rate.period_ns == limit->rate.period_ns && burst == limit->burst)
    {
        return NGX_OK;
    }

    claim->tier = ngx_http_ratecell_find_tier(limit, &rate, burst);

    if (claim->tier == NULL) {
        claim->tier = ngx_http_ratecell_make_tier(r, limit, &rate, burst);
    }

    if (claim->tier) {
        claim->tier->users++;
        claim->limiter = claim->tier->limiter;
    }

    return NGX_OK;
}


/* NGX_DECLINED where it is not known how many units were used. */

ngx_int_t
ngx_http_ratecell_settle_value(ngx_http_request_t *r,
    ngx_http_ratecell_claim_t *claim, uint32_t *units)
{
    ngx_str_t                   value;
    ngx_uint_t                  used;
    ngx_http_ratecell_limit_t  *limit;

    limit = claim->limit;

    if (ngx_http_complex_value(r, limit->settle_value, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    if (value.len == 0) {
        return NGX_DECLINED;
    }

    if (ngx_http_ratecell_parse_units(&value, &used) != NGX_OK) {
        ngx_http_ratecell_warn(r, limit, NGX_HTTP_RATECELL_SETTLE, &value);
        return NGX_DECLINED;
    }

    *units = ngx_min(used, NGX_HTTP_RATECELL_MAX_UNITS);

    return NGX_OK;
}


static void
ngx_http_ratecell_warn(ngx_http_request_t *r, ngx_http_ratecell_limit_t *limit,
    ngx_http_ratecell_value_e kind, ngx_str_t *value)
{
    static char  *names[] = { "cost", "rate", "burst", "rate and burst",
                              "settle" };

    if (limit->warned & (1 << kind)) {
        return;
    }

    limit->warned |= 1 << kind;

    ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                  "invalid %s \"%V\" of a request limited by zone \"%V\", "
                  "the default is used; not logged again for %V:%ui",
                  names[kind], value, &limit->shm_zone->shm.name,
                  &limit->conf_file, limit->conf_line);
}


static ngx_http_ratecell_tier_t *
ngx_http_ratecell_find_tier(ngx_http_ratecell_limit_t *limit,
    ngx_http_ratecell_rate_t *rate, ngx_uint_t burst)
{
    ngx_queue_t               *q;
    ngx_http_ratecell_tier_t  *tier;

    for (q = ngx_queue_head(&limit->tiers);
         q != ngx_queue_sentinel(&limit->tiers);
         q = ngx_queue_next(q))
    {
        tier = ngx_queue_data(q, ngx_http_ratecell_tier_t, queue);

        if (tier->rate.limit == rate->limit
            && tier->rate.period_ns == rate->period_ns
            && tier->burst == burst)
        {
            ngx_queue_remove(q);
            ngx_queue_insert_head(&limit->tiers, q);

            return tier;
        }
    }

    return NULL;
}


/* NULL where no policy has both, or none that the zone can keep. */

static ngx_http_ratecell_tier_t *
ngx_http_ratecell_make_tier(ngx_http_request_t *r,
    ngx_http_ratecell_limit_t *limit, ngx_http_ratecell_rate_t *rate,
    ngx_uint_t burst)
{
    ngx_str_t                  tried;
    ngx_queue_t               *q;
    ngx_http_ratecell_zone_t  *zone;
    ngx_http_ratecell_tier_t  *tier;
    u_char                     policy[NGX_HTTP_RATECELL_POLICY_LEN];

    tier = ngx_calloc(sizeof(ngx_http_ratecell_tier_t), ngx_cycle->log);
    if (tier == NULL) {
        return NULL;
    }

    tier->rate = *rate;
    tier->burst = burst;

    (void) ngx_http_ratecell_print_policy(policy, rate, burst, limit->delay);

    zone = limit->zone;

    if (ratecell_limiter_with_policy(zone->limiter, (char *) policy,
                                     NULL, &tier->limiter)
        != 0)
    {
        ngx_free(tier);

        tried.data = policy;
        tried.len = ngx_strlen(policy);
        ngx_http_ratecell_warn(r, limit, NGX_HTTP_RATECELL_RATE_AND_BURST,
                               &tried);
        return NULL;
    }

    if (limit->ntiers == NGX_HTTP_RATECELL_MAX_TIERS) {
        q = ngx_queue_last(&limit->tiers);
        ngx_http_ratecell_drop_tier(limit,
                           ngx_queue_data(q, ngx_http_ratecell_tier_t, queue));
    }

    ngx_queue_insert_head(&limit->tiers, &tier->queue);
    limit->ntiers++;

    return tier;
}


static void
ngx_http_ratecell_drop_tier(ngx_http_ratecell_limit_t *limit,
    ngx_http_ratecell_tier_t *tier)
{
    ngx_queue_remove(&tier->queue);
    limit->ntiers--;
    tier->dropped = 1;

    if (tier->users == 0) {
        ratecell_limiter_free(tier->limiter);
        ngx_free(tier);
    }
}


void
ngx_http_ratecell_release_tier(ngx_http_ratecell_tier_t *tier)
{
    tier->users--;

    if (tier->users == 0 && tier->dropped) {
        ratecell_limiter_free(tier->limiter);
        ngx_free(tier);
    }
}


void
ngx_http_ratecell_free_limit(void *data)
{
    ngx_http_ratecell_limit_t  *limit = data;

    ngx_queue_t  *q;

    while (!ngx_queue_empty(&limit->tiers)) {
        q = ngx_queue_last(&limit->tiers);
        ngx_http_ratecell_drop_tier(limit,
                           ngx_queue_data(q, ngx_http_ratecell_tier_t, queue));
    }

    ratecell_limiter_free(limit->limiter);
    limit->limiter = NULL;
}
