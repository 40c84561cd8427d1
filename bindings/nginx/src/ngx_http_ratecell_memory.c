
/*
 * The memory of a zone: its table and counters, over reloads.
 */


#include "ngx_http_ratecell.h"


static ngx_int_t ngx_http_ratecell_alloc_shm(ngx_shm_zone_t *shm_zone);
static ngx_int_t ngx_http_ratecell_make_table(ngx_shm_zone_t *shm_zone);
static ngx_int_t ngx_http_ratecell_attach_table(ngx_shm_zone_t *shm_zone);
static ngx_int_t ngx_http_ratecell_init_limits(ngx_shm_zone_t *shm_zone);
static uint64_t ngx_http_ratecell_room(ngx_http_ratecell_zone_t *zone);
static ngx_int_t ngx_http_ratecell_check_cost(
    ngx_http_ratecell_limit_t *limit, ngx_log_t *log);
static ngx_int_t ngx_http_ratecell_check_hold(
    ngx_http_ratecell_limit_t *limit, ngx_log_t *log);


/*
 * The pages of a new zone are fresh from the system, and nginx has written to
 * none but its list of them; only one built to find errors in the use of
 * memory fills them.  So a zone takes memory as its keys come.
 */

#if (NGX_DEBUG_MALLOC || NGX_HAVE_DEBUG_MALLOC)
#define NGX_HTTP_RATECELL_PAGES  0
#else
#define NGX_HTTP_RATECELL_PAGES  RATECELL_ZEROED
#endif


void
ngx_http_ratecell_free_zone(void *data)
{
    ngx_http_ratecell_zone_t  *zone = data;

    ratecell_limiter_free(zone->limiter);
    zone->limiter = NULL;
}


/*
 * Runs in the master, before it forks.  On a reload the old workers go on
 * with the same table and their own limiters on it.
 */

ngx_int_t
ngx_http_ratecell_init_zone(ngx_shm_zone_t *shm_zone, void *data)
{
    ngx_http_ratecell_zone_t  *ozone = data;

    ngx_int_t                  rc;
    ngx_uint_t                 fresh;
    ngx_slab_pool_t           *shpool;
    ngx_http_ratecell_zone_t  *zone;

    zone = shm_zone->data;
    shpool = (ngx_slab_pool_t *) shm_zone->shm.addr;

    if (ozone) {

        if (!ngx_http_ratecell_same_key(zone, ozone)) {
            ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                          "ratecell \"%V\" uses the \"%V\" key "
                          "while previously it used the \"%V\" key",
                          &shm_zone->shm.name, &zone->key.value,
                          &ozone->key.value);
            return NGX_ERROR;
        }

        zone->shm = ozone->shm;

    } else if (shm_zone->shm.exists) {
        zone->shm = shpool->data;
    }

    fresh = (zone->shm == NULL);

    if (fresh && ngx_http_ratecell_alloc_shm(shm_zone) != NGX_OK) {
        return NGX_ERROR;
    }

    if (zone->store.len) {
        rc = ngx_http_ratecell_open_store(shm_zone);

    } else if (zone->file.len) {
        rc = ngx_http_ratecell_open_file(shm_zone);

    } else if (fresh) {
        rc = ngx_http_ratecell_make_table(shm_zone);

    } else {
        rc = ngx_http_ratecell_attach_table(shm_zone);
    }

    if (rc != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_ratecell_init_limits(shm_zone);
}


/*
 * All of the zone's pages, in one run.  Nothing is allocated from the zone
 * afterwards, and its mutex is not used.
 */

static ngx_int_t
ngx_http_ratecell_alloc_shm(ngx_shm_zone_t *shm_zone)
{
    size_t                     len;
    ngx_slab_pool_t           *shpool;
    ngx_http_ratecell_zone_t  *zone;

    zone = shm_zone->data;
    shpool = (ngx_slab_pool_t *) shm_zone->shm.addr;

    len = shpool->pfree * ngx_pagesize;

    zone->shm = ngx_slab_alloc(shpool, len);
    if (zone->shm == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(zone->shm, sizeof(ngx_http_ratecell_shm_t));

    zone->shm->table_len = zone->file.len ? 0
                           : len - sizeof(ngx_http_ratecell_shm_t);
    shpool->data = zone->shm;

    return NGX_OK;
}


static ngx_int_t
ngx_http_ratecell_make_table(ngx_shm_zone_t *shm_zone)
{
    int32_t                    rc;
    char                       why[NGX_HTTP_RATECELL_WHY_LEN];
    ratecell_config            config = RATECELL_CONFIG_INIT;
    ngx_http_ratecell_shm_t   *shm;
    ngx_http_ratecell_zone_t  *zone;

    zone = shm_zone->data;
    shm = zone->shm;

    config.flags = NGX_HTTP_RATECELL_PAGES | ngx_http_ratecell_room(zone);
    why[0] = '\0';
    config.why = why;
    config.why_len = sizeof(why);

    rc = ratecell_region_init(ngx_http_ratecell_table(shm), shm->table_len,
                              (char *) zone->policy.data, &config,
                              &zone->limiter);
    if (rc == 0) {
        return NGX_OK;
    }

    ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                  "ratecell zone \"%V\" cannot be made: %s",
                  &shm_zone->shm.name, ngx_http_ratecell_why(rc, why));

    return NGX_ERROR;
}


/* Room for what is given back, if some limit gives back. */

static uint64_t
ngx_http_ratecell_room(ngx_http_ratecell_zone_t *zone)
{
    ngx_uint_t                   i;
    ngx_http_ratecell_limit_t  **limits;

    limits = zone->limits.elts;

    for (i = 0; i < zone->limits.nelts; i++) {
        if (limits[i]->holds) {
            return RATECELL_RESERVATIONS;
        }
    }

    return 0;
}


static ngx_int_t
ngx_http_ratecell_attach_table(ngx_shm_zone_t *shm_zone)
{
    int32_t                    rc;
    char                       why[NGX_HTTP_RATECELL_WHY_LEN];
    ratecell_config            config = RATECELL_CONFIG_INIT;
    ngx_http_ratecell_shm_t   *shm;
    ngx_http_ratecell_zone_t  *zone;

    zone = shm_zone->data;
    shm = zone->shm;

    if (shm->table_len == 0) {
        ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                      "ratecell zone \"%V\" previously had a \"file\": "
                      "expected it, or another size or name",
                      &shm_zone->shm.name);
        return NGX_ERROR;
    }

    why[0] = '\0';
    config.why = why;
    config.why_len = sizeof(why);

    rc = ratecell_region_attach(ngx_http_ratecell_table(shm), shm->table_len,
                                NULL, &config, &zone->limiter);
    if (rc == 0) {
        rc = ngx_http_ratecell_by_own_policy(zone, why, sizeof(why));
    }

    if (rc == 0) {
        return NGX_OK;
    }

    ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                  "ratecell zone \"%V\" cannot be kept: %s",
                  &shm_zone->shm.name, ngx_http_ratecell_why(rc, why));

    return NGX_ERROR;
}


/*
 * The limits of a rate have their own bursts, and so their own limiters.  A
 * policy that is right by itself is refused where it needs another unit of
 * time in the words of the table than the zone's rate.
 */

static ngx_int_t
ngx_http_ratecell_init_limits(ngx_shm_zone_t *shm_zone)
{
    int32_t                      rc;
    u_char                      *policy;
    ngx_uint_t                   i;
    ratecell_config              config = RATECELL_CONFIG_INIT;
    ngx_http_ratecell_zone_t    *zone;
    ngx_http_ratecell_limit_t  **limits;
    char                         why[NGX_HTTP_RATECELL_WHY_LEN];
    u_char                       buf[NGX_HTTP_RATECELL_POLICY_LEN];

    zone = shm_zone->data;
    limits = zone->limits.elts;

    why[0] = '\0';
    config.why = why;
    config.why_len = sizeof(why);

    for (i = 0; i < zone->limits.nelts; i++) {

        if (zone->store.len) {
            if (ngx_http_ratecell_open_limit(limits[i], shm_zone->shm.log)
                != NGX_OK
                || ngx_http_ratecell_check_cost(limits[i], shm_zone->shm.log)
                   != NGX_OK)
            {
                return NGX_ERROR;
            }

            continue;
        }

        policy = ngx_http_ratecell_limit_policy(limits[i], buf);

        rc = ratecell_limiter_with_policy(zone->limiter, (char *) policy,
                                          &config, &limits[i]->limiter);
        if (rc != 0) {
            ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                          "ratecell zone \"%V\" cannot limit by \"%s\", which "
                          "needs a zone of its own: %s in %V:%ui",
                          &shm_zone->shm.name, policy,
                          ngx_http_ratecell_why(rc, why),
                          &limits[i]->conf_file, limits[i]->conf_line);
            return NGX_ERROR;
        }

        if (ngx_http_ratecell_check_cost(limits[i], shm_zone->shm.log)
            != NGX_OK
            || ngx_http_ratecell_check_hold(limits[i], shm_zone->shm.log)
               != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* A cost that nothing could ever pass with is a mistake, if it is constant. */

static ngx_int_t
ngx_http_ratecell_check_cost(ngx_http_ratecell_limit_t *limit, ngx_log_t *log)
{
    ratecell_decision  decision;

    if (limit->cost_value || limit->burst_value) {
        return NGX_OK;
    }

    /* an empty key is not limited, so it has used nothing */

    if (ratecell_limiter_check(limit->limiter, NULL, 0, 0, &decision) < 0
        || limit->cost <= decision.limit)
    {
        return NGX_OK;
    }

    ngx_log_error(NGX_LOG_EMERG, log, 0,
                  "\"cost=%ui\" is more than zone \"%V\" ever lets pass at "
                  "once, so that no request would pass: expected at most %uL "
                  "in %V:%ui", limit->cost, &limit->shm_zone->shm.name,
                  decision.limit, &limit->conf_file, limit->conf_line);

    return NGX_ERROR;
}


/*
 * A zone that a reload keeps may have been made without room for what is given
 * back.  A reservation of nothing charges nothing.
 */

static ngx_int_t
ngx_http_ratecell_check_hold(ngx_http_ratecell_limit_t *limit, ngx_log_t *log)
{
    int32_t               rc;
    ratecell_request      request;
    ratecell_reservation  reservation;

    if (!limit->holds) {
        return NGX_OK;
    }

    ngx_memzero(&request, sizeof(ratecell_request));
    request.flags = RATECELL_RESERVE;
    request.reservation = &reservation;

    rc = ratecell_limiter_decide(limit->limiter, &request, NULL);
    if (rc >= 0) {
        return NGX_OK;
    }

    ngx_log_error(NGX_LOG_EMERG, log, 0,
                  "ratecell zone \"%V\" was made when nothing was given back "
                  "to it, and has no room for that: expected another size or "
                  "name, for \"settle\" or a layer \"in_flight\" in %V:%ui: %s",
                  &limit->shm_zone->shm.name, &limit->conf_file,
                  limit->conf_line, ratecell_strerror(rc));

    return NGX_ERROR;
}
