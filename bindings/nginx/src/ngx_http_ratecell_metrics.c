
/*
 * What "ratecell_stats" says of a zone and of rules, in the order in which it
 * says it.
 */


#include "ngx_http_ratecell.h"


static uint64_t *ngx_http_ratecell_table_metrics(ratecell_stats *stats,
    uint64_t *values);


ngx_http_ratecell_metric_t
    ngx_http_ratecell_metrics[NGX_HTTP_RATECELL_METRICS] =
{
    { "passed", "requests_total{status=\"passed\",",
      "Requests by what the limit decided.", "counter" },
    { "delayed", "requests_total{status=\"delayed\",", NULL, NULL },
    { "rejected", "requests_total{status=\"rejected\",", NULL, NULL },
    { "delayed_dry_run", "requests_total{status=\"delayed_dry_run\",",
      NULL, NULL },
    { "rejected_dry_run", "requests_total{status=\"rejected_dry_run\",",
      NULL, NULL },
    { "live", "live_keys{",
      "Keys that hold used units.", "gauge" },
    { "live_error", "live_keys_error{",
      "How many more or fewer live keys there may be; 0 where all were "
      "counted.", "gauge" },
    { "slots", "slots{",
      "Places for keys; the table is made for five sevenths of them.",
      "gauge" },
    { "bytes", "table_bytes{",
      "Bytes of memory of the table.", "gauge" },
    { "evicted", "evicted_keys_total{",
      "Live keys that were erased for new ones.", "counter" },
    { "forgiven", "forgiven_units_total{",
      "Units that erased keys still held: the most that passed beyond the "
      "policy.", "counter" },
    { "shared", "shared_requests_total{",
      "Requests decided on the cell that new keys without a place share.",
      "counter" },
    { "denied_full", "denied_full_requests_total{",
      "Requests of new keys that were denied because the table was full.",
      "counter" },
    { "allowed_full", "allowed_full_requests_total{",
      "Requests of new keys that were allowed uncharged because the table "
      "was full.", "counter" },
    { "exhausted", "exhausted_requests_total{",
      "Requests answered as by a full table because too many others came "
      "at once.", "counter" },

    /* of a zone with a store */
    { "leased", "leased_units_total{",
      "Units that the store granted to this machine.", "counter" },
    { "used", "used_units_total{",
      "Units of leases that were used; a lease is counted when it is "
      "replaced.", "counter" },
    { "passed_unused", "passed_units_total{",
      "Units of leases that passed unused.", "counter" },
    { "given_back", "given_back_units_total{",
      "Units that were given back to the store.", "counter" },
    { "misses", "misses_total{",
      "Requests that no lease could answer.", "counter" },
    { "waits", "waits_total{",
      "Misses that waited for the store.", "counter" },
    { "timeouts", "timeouts_total{",
      "Misses that waited for the store in vain.", "counter" },
    { "operations", "store_operations_total{",
      "Operations that were sent to the store.", "counter" },
    { "swaps_lost", "swaps_lost_total{",
      "Operations that came after another machine's, and were repeated.",
      "counter" },
    { "lag_ns", "lag_seconds{",
      "How far the agent's time is behind the store's at most, in "
      "seconds.", "gauge" },
    { "healed", "healed_words_total{",
      "Words at the store below what this machine had charged: above 0, "
      "the store has forgotten.", "counter" },
    { "board_full", "board_full_total{",
      "Misses that had no room on the machine's board.", "counter" },
    { "opened", "opened_units_total{",
      "Units that were allowed uncharged because the store was away.",
      "counter" },
    { "local", "local_units_total{",
      "Units that the agent granted by its part of the policy because the "
      "store was away.", "counter" },
    { "connected", "connected{",
      "1 if an agent is there and the store answers it.", "gauge" }
};


ngx_uint_t
ngx_http_ratecell_has_metric(ngx_http_ratecell_zone_t *zone, ngx_uint_t k)
{
    return k < NGX_HTTP_RATECELL_PLAIN_METRICS || zone->store.len;
}


/*
 * The counts of a table of rules, at their places; those of requests are 0.
 * Returns why the rules deny every request, or NULL.
 */

const char *
ngx_http_ratecell_read_rules_metrics(ngx_http_ratecell_rules_t *rules,
    uint64_t *values)
{
    int32_t         rc;
    ratecell_stats  stats;

    ngx_memzero(&stats, sizeof(ratecell_stats));
    ngx_memzero(values, NGX_HTTP_RATECELL_METRICS * sizeof(uint64_t));

    rc = ratecell_rules_stats(rules->rules, 0, 0, &stats, sizeof(stats));

    (void) ngx_http_ratecell_table_metrics(&stats,
                                   values + NGX_HTTP_RATECELL_REQUEST_METRICS);

    return rc < 0 ? ratecell_strerror(rc) : NULL;
}


static uint64_t *
ngx_http_ratecell_table_metrics(ratecell_stats *stats, uint64_t *values)
{
    *values++ = stats->live;
    *values++ = stats->live_error;
    *values++ = stats->slots;
    *values++ = stats->bytes;
    *values++ = stats->evicted;
    *values++ = stats->forgiven;
    *values++ = stats->shared;
    *values++ = stats->denied_full;
    *values++ = stats->allowed_full;
    *values++ = stats->exhausted;

    return values;
}


ngx_int_t
ngx_http_ratecell_read_metrics(ngx_http_ratecell_zone_t *zone,
    uint64_t *values)
{
    ngx_uint_t      i, k;
    ratecell_stats  stats;

    if (ratecell_limiter_stats(zone->limiter, 0, 0, &stats, sizeof(stats))) {
        return NGX_ERROR;
    }

    for (i = NGX_HTTP_RATECELL_PASSED; i < NGX_HTTP_RATECELL_STATUSES; i++) {

        *values = 0;

        for (k = 0; k < NGX_HTTP_RATECELL_COUNTERS; k++) {
            *values += __atomic_load_n(&zone->shm->counters[k].requests[i],
                                       __ATOMIC_RELAXED);
        }

        values++;
    }

    values = ngx_http_ratecell_table_metrics(&stats, values);

    *values++ = stats.leased;
    *values++ = stats.used;
    *values++ = stats.passed;
    *values++ = stats.given_back;
    *values++ = stats.misses;
    *values++ = stats.waits;
    *values++ = stats.timeouts;
    *values++ = stats.operations;
    *values++ = stats.swaps_lost;
    *values++ = stats.lag_ns;
    *values++ = stats.healed;
    *values++ = stats.board_full;
    *values++ = stats.opened;
    *values++ = stats.local;
    *values++ = stats.connected;

    return NGX_OK;
}
