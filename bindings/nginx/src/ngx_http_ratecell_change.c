
/*
 * What a reload changes in the tables of zones: the policy in force, over the
 * keys that are there.  The old workers follow by themselves.
 */


#include "ngx_http_ratecell.h"


/* No table has a policy with a longer text. */
#define NGX_HTTP_RATECELL_TEXT_LEN  2048


static ngx_http_ratecell_zone_t *ngx_http_ratecell_sole_zone(
    ngx_http_ratecell_main_conf_t *rmcf, ngx_http_ratecell_zone_t *zone);
static ngx_uint_t ngx_http_ratecell_has_one_rate(
    ngx_http_ratecell_zone_t *zone);
static void ngx_http_ratecell_change_zone(ngx_http_ratecell_zone_t *zone,
    ngx_http_ratecell_zone_t *ozone, ngx_log_t *log);
static int32_t ngx_http_ratecell_policy_in_force(
    ngx_http_ratecell_zone_t *zone, char *text);
static void ngx_http_ratecell_renew_limiters(ngx_http_ratecell_zone_t *zone);
static void ngx_http_ratecell_renew_limiter(ngx_http_ratecell_zone_t *zone,
    ratecell_limiter **limiter, u_char *policy);


/*
 * Runs in the master.  The sockets are open, so that nothing can refuse the
 * configuration any more, and the old one is not freed yet.
 */

ngx_int_t
ngx_http_ratecell_init_module(ngx_cycle_t *cycle)
{
    ngx_uint_t                      i;
    ngx_shm_zone_t                **shm_zone;
    ngx_http_ratecell_zone_t       *zone, *ozone;
    ngx_http_ratecell_main_conf_t  *rmcf, *earlier;

    rmcf = ngx_http_cycle_get_module_main_conf(cycle,
                                               ngx_http_ratecell_module);
    earlier = ngx_http_ratecell_earlier_conf(cycle);

    if (ngx_test_config || rmcf == NULL) {
        return NGX_OK;
    }

    ngx_http_ratecell_change_rules(cycle, rmcf, earlier);

    if (earlier == NULL) {
        return NGX_OK;
    }

    shm_zone = rmcf->zones.elts;

    for (i = 0; i < rmcf->zones.nelts; i++) {

        zone = ngx_http_ratecell_sole_zone(rmcf, shm_zone[i]->data);
        ozone = zone ? ngx_http_ratecell_sole_zone(earlier, zone) : NULL;

        if (ozone && zone->store.len == 0 && ozone->store.len == 0
            && ngx_http_ratecell_has_one_rate(zone)
            && ngx_http_ratecell_has_one_rate(ozone))
        {
            ngx_http_ratecell_change_zone(zone, ozone, cycle->log);
        }
    }

    return NGX_OK;
}


/*
 * The zone of a configuration whose table is the one of "zone"; NULL if there
 * is none, or if several zones have the table's file.
 */

static ngx_http_ratecell_zone_t *
ngx_http_ratecell_sole_zone(ngx_http_ratecell_main_conf_t *rmcf,
    ngx_http_ratecell_zone_t *zone)
{
    ngx_uint_t                  i;
    ngx_shm_zone_t            **shm_zone;
    ngx_http_ratecell_zone_t   *other, *sole;

    sole = NULL;
    shm_zone = rmcf->zones.elts;

    for (i = 0; i < rmcf->zones.nelts; i++) {

        other = shm_zone[i]->data;

        if (other->file.len != zone->file.len
            || (zone->file.len
                ? ngx_strcmp(other->file.data, zone->file.data) != 0
                : other->shm != zone->shm))
        {
            continue;
        }

        if (sole) {
            return NULL;
        }

        sole = other;
    }

    return sole;
}


/*
 * Whether all that limits by the zone does so at its rate.  What a key has used
 * at another rate is in the same words, where a change would take it for units
 * of the zone's.  And an old worker would make a limiter for a burst from
 * variables at the rate of its own configuration.
 */

static ngx_uint_t
ngx_http_ratecell_has_one_rate(ngx_http_ratecell_zone_t *zone)
{
    ngx_uint_t                   i;
    ngx_http_ratecell_limit_t  **limits;

    limits = zone->limits.elts;

    for (i = 0; i < zone->limits.nelts; i++) {

        if (limits[i]->rate_value || limits[i]->burst_value
            || (unsigned __int128) limits[i]->rate.limit * zone->rate.period_ns
               != (unsigned __int128) zone->rate.limit
                  * limits[i]->rate.period_ns)
        {
            return 0;
        }
    }

    return 1;
}


/*
 * Where the old workers limit by another policy than the one in force, as after
 * a start with another one over a file, their keys' words are not in its units:
 * nothing is changed.
 */

static void
ngx_http_ratecell_change_zone(ngx_http_ratecell_zone_t *zone,
    ngx_http_ratecell_zone_t *ozone, ngx_log_t *log)
{
    int32_t  rc;
    char     why[NGX_HTTP_RATECELL_WHY_LEN];
    char     held[NGX_HTTP_RATECELL_TEXT_LEN];
    char     old[NGX_HTTP_RATECELL_TEXT_LEN];

    why[0] = '\0';

    rc = ngx_http_ratecell_policy_in_force(zone, held);

    if (rc >= 0) {
        rc = ratecell_limiter_policy(ozone->limiter, old, sizeof(old));
    }

    if (rc >= 0) {

        if (ngx_strcmp(held, old) != 0) {
            ngx_log_error(NGX_LOG_NOTICE, log, 0,
                          "ratecell zone \"%V\" has policy \"%s\" in force, and "
                          "the configuration before had \"%s\": its keys keep "
                          "their times",
                          &zone->name, held, old);
            return;
        }

        rc = ratecell_limiter_change(zone->limiter, (char *) zone->policy.data,
                                     0, 0, why, sizeof(why));
    }

    if (rc >= 0) {
        rc = ratecell_limiter_policy(zone->limiter, old, sizeof(old));
    }

    if (rc >= 0) {

        if (ngx_strcmp(held, old) != 0) {
            ngx_log_error(NGX_LOG_NOTICE, log, 0,
                          "ratecell zone \"%V\" has policy \"%s\" in force, "
                          "after \"%s\"",
                          &zone->name, old, held);
        }

        ngx_http_ratecell_renew_limiters(zone);
        return;
    }

    ngx_log_error(NGX_LOG_ERR, log, 0,
                  "ratecell zone \"%V\" cannot put policy \"%V\" in force "
                  "over live keys, so that they keep their times, and its old "
                  "workers the policy before: %s",
                  &zone->name, &zone->policy, ngx_http_ratecell_why(rc, why));
}


/* A limiter without a policy of its own has the one in force. */

static int32_t
ngx_http_ratecell_policy_in_force(ngx_http_ratecell_zone_t *zone, char *text)
{
    int32_t            rc;
    ratecell_limiter  *limiter;

    if (zone->file.len) {
        rc = ratecell_limiter_open((char *) zone->file.data, NULL, NULL,
                                   &limiter);
    } else {
        rc = ratecell_region_attach(ngx_http_ratecell_table(zone->shm),
                                    zone->shm->table_len, NULL, NULL,
                                    &limiter);
    }

    if (rc < 0) {
        return rc;
    }

    rc = ratecell_limiter_policy(limiter, text, NGX_HTTP_RATECELL_TEXT_LEN);

    ratecell_limiter_free(limiter);

    return rc;
}


/*
 * A limiter that was made while another policy was in force takes each number
 * of its own that was another then for one that stays over later changes.
 */

static void
ngx_http_ratecell_renew_limiters(ngx_http_ratecell_zone_t *zone)
{
    ngx_uint_t                   i;
    ngx_http_ratecell_limit_t  **limits;
    u_char                       buf[NGX_HTTP_RATECELL_POLICY_LEN];

    ngx_http_ratecell_renew_limiter(zone, &zone->limiter, zone->policy.data);

    limits = zone->limits.elts;

    for (i = 0; i < zone->limits.nelts; i++) {
        ngx_http_ratecell_renew_limiter(zone, &limits[i]->limiter,
                              ngx_http_ratecell_limit_policy(limits[i], buf));
    }
}


/* Without memory for another, the limiter that is there decides alike. */

static void
ngx_http_ratecell_renew_limiter(ngx_http_ratecell_zone_t *zone,
    ratecell_limiter **limiter, u_char *policy)
{
    ratecell_limiter  *renewed;

    if (ratecell_limiter_with_policy(zone->limiter, (char *) policy, NULL,
                                     &renewed)
        == 0)
    {
        ratecell_limiter_free(*limiter);
        *limiter = renewed;
    }
}
