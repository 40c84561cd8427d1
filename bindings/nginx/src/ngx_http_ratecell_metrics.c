
/*
 * What "ratecell_stats" says of a zone, in the order in which it says it.
 */


#include "ngx_http_ratecell.h"


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
    { "live", "live_keys{", "Keys that have something to remember.", "gauge" },
    { "live_error", "live_keys_error{",
      "How many more or fewer live keys there may be.", "gauge" },
    { "capacity", "capacity_keys{", "Places for keys.", "gauge" },
    { "bytes", "bytes{", "Bytes of the table.", "gauge" },
    { "evicted", "evicted_keys_total{",
      "Keys erased for others before they were idle.", "counter" },
    { "forgiven", "forgiven_units_total{",
      "Units that erased keys still held.", "counter" },
    { "exhausted", "exhausted_total{",
      "Requests answered as by a full table for the number of others at once.",
      "counter" },

    /* of a zone with a store */
    { "leased", "leased_units_total{",
      "Units that the store granted to this machine.", "counter" },
    { "used", "used_units_total{",
      "Units of leases that were used.", "counter" },
    { "passed_unused", "passed_units_total{",
      "Units of leases that passed unused.", "counter" },
    { "given_back", "given_back_units_total{",
      "Units that were given back to the store.", "counter" },
    { "misses", "misses_total{",
      "Questions that no lease answered, each time they were asked.", "counter" },
    { "waits", "waits_total{",
      "Misses that waited for the store in a program's thread.", "counter" },
    { "timeouts", "timeouts_total{",
      "Requests that waited for the store in vain.", "counter" },
    { "operations", "store_operations_total{",
      "Operations that were sent to the store.", "counter" },
    { "swaps_lost", "swaps_lost_total{",
      "Operations that came after another machine's.", "counter" },
    { "lag_ns", "lag_nanoseconds{",
      "How far the agent's time is behind the store's at most.", "gauge" },
    { "healed", "healed_words_total{",
      "Words that the store had forgotten.", "counter" },
    { "board_full", "board_full_total{",
      "Misses that had no room on the machine's board.", "counter" },
    { "opened", "opened_units_total{",
      "Units allowed because the store was away.", "counter" },
    { "local", "local_units_total{",
      "Units that the agent granted because the store was away.", "counter" },
    { "connected", "connected{",
      "Whether an agent is there and the store answers it.", "gauge" }
};


ngx_uint_t
ngx_http_ratecell_has_metric(ngx_http_ratecell_zone_t *zone, ngx_uint_t k)
{
    return k < NGX_HTTP_RATECELL_PLAIN_METRICS || zone->store.len;
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

    *values++ = stats.live;
    *values++ = stats.live_error;
    *values++ = stats.slots;
    *values++ = stats.bytes;
    *values++ = stats.evicted;
    *values++ = stats.forgiven;
    *values++ = stats.exhausted;

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
