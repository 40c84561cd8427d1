
/*
 * What a request that rules limit holds until it ends: permits of layers
 * in_flight, and charges that are settled by the values of variables.
 */


#include "ngx_http_ratecell.h"


static void ngx_http_ratecell_settle_one(ngx_http_request_t *r,
    ngx_http_ratecell_ruled_t *ruled);


/* Takes over what was begun, with what it holds in the request's pool. */

ngx_int_t
ngx_http_ratecell_hold_ruled(ngx_http_request_t *r,
    ngx_http_ratecell_ruled_t *ruled, ngx_http_ratecell_ruled_t *begun)
{
    *ruled = *begun;

    if (ruled->nheld == 0) {
        return NGX_OK;
    }

    ruled->held = ngx_palloc(r->pool,
                             ruled->nheld * sizeof(ratecell_rules_held));
    if (ruled->held == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(ruled->held, begun->held,
               ruled->nheld * sizeof(ratecell_rules_held));

    return NGX_OK;
}


/*
 * The request ends: costs that are taken from attributes with "settle" are
 * those of the values that they have by now.
 */

void
ngx_http_ratecell_settle_ruled(ngx_http_request_t *r)
{
    ngx_pool_cleanup_t  *cln;

    for (cln = r->pool->cleanup; cln; cln = cln->next) {
        if (cln->handler == ngx_http_ratecell_ruled_cleanup) {
            ngx_http_ratecell_settle_one(r, cln->data);
        }
    }
}


static void
ngx_http_ratecell_settle_one(ngx_http_request_t *r,
    ngx_http_ratecell_ruled_t *ruled)
{
    int32_t                 rc;
    ngx_array_t             attributes;
    ratecell_rules_request  request;

    if (ruled->nheld == 0 || ruled->conf->attributes == NULL) {
        return;
    }

    if (ngx_http_ratecell_settle_attributes(r, ruled->conf->attributes,
                                            &attributes)
        != NGX_OK
        || attributes.nelts == 0)
    {
        return;
    }

    ngx_memzero(&request, sizeof(ratecell_rules_request));

    request.attributes = attributes.elts;
    request.n_attributes = attributes.nelts;
    request.held = ruled->held;
    request.max_held = ruled->nheld;

    rc = ratecell_rules_settle(ruled->conf->rules->rules, &request);
    if (rc < 0) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "a request cannot be settled by rules \"%V\": %s",
                      &ruled->conf->rules->path, ratecell_strerror(rc));
    }
}


void
ngx_http_ratecell_ruled_cleanup(void *data)
{
    ngx_http_ratecell_ruled_t  *ruled = data;

    if (ruled->timer && ruled->timer->timer_set) {
        ngx_del_timer(ruled->timer);
    }

    ngx_http_ratecell_release_ruled(ruled);
}


/* At the end of a request, however it ends. */

void
ngx_http_ratecell_release_ruled(ngx_http_ratecell_ruled_t *ruled)
{
    ratecell_rules_request  request;

    if (ruled->nheld == 0) {
        return;
    }

    ngx_memzero(&request, sizeof(ratecell_rules_request));

    request.held = ruled->held;
    request.max_held = ruled->nheld;

    (void) ratecell_rules_release(ruled->conf->rules->rules, &request);

    ruled->nheld = 0;
}
