
/*
 * Between the words of the configuration and a ratecell policy.
 */


#include "ngx_http_ratecell.h"


static ngx_int_t ngx_http_ratecell_parse_period(u_char *p, u_char *last,
    uint64_t *ns);


/*
 * N, Nr/s and Nr/m as in limit_req; and Nr/PERIOD, where PERIOD is a unit
 * (ms, s, m, h, d, w) with an optional number before it: 10r/5s.  Of what is
 * a rate by its form, but with a number that is none, NGX_DECLINED.
 */

ngx_int_t
ngx_http_ratecell_parse_rate(ngx_str_t *text, ngx_http_ratecell_rate_t *rate)
{
    u_char     *p, *last;
    ngx_int_t   n, rc;

    last = text->data + text->len;

    for (p = text->data; p < last && *p >= '0' && *p <= '9'; p++) { /* void */ }

    if (p == text->data) {
        return NGX_ERROR;
    }

    n = ngx_atoi(text->data, p - text->data);

    rc = NGX_OK;
    rate->period_ns = 1000000000;

    if (p < last) {

        if (*p == 'r') {
            p++;
        }

        if (p == last || *p++ != '/') {
            return NGX_ERROR;
        }

        rc = ngx_http_ratecell_parse_period(p, last, &rate->period_ns);
    }

    if (rc == NGX_OK && (n <= 0 || (uint64_t) n > NGX_MAX_UINT32_VALUE)) {
        rc = NGX_DECLINED;
    }

    rate->limit = n;

    return rc;
}


static ngx_int_t
ngx_http_ratecell_parse_period(u_char *p, u_char *last, uint64_t *ns)
{
    u_char      *start;
    uint64_t     unit;
    ngx_int_t    n;

    start = p;
    while (p < last && *p >= '0' && *p <= '9') {
        p++;
    }

    n = (p == start) ? 1 : ngx_atoi(start, p - start);

    if (last - p == 2 && p[0] == 'm' && p[1] == 's') {
        unit = 1000000;

    } else if (last - p == 1) {

        switch (*p) {
        case 's':
            unit = 1000000000;
            break;
        case 'm':
            unit = 60000000000;
            break;
        case 'h':
            unit = 3600000000000;
            break;
        case 'd':
            unit = 86400000000000;
            break;
        case 'w':
            unit = 604800000000000;
            break;
        default:
            return NGX_ERROR;
        }

    } else {
        return NGX_ERROR;
    }

    if (n <= 0 || (uint64_t) n > INT64_MAX / unit) {
        return NGX_DECLINED;
    }

    *ns = n * unit;

    return NGX_OK;
}


/* A number above NGX_HTTP_RATECELL_MAX_UNITS is NGX_MAX_UINT32_VALUE. */

ngx_int_t
ngx_http_ratecell_parse_units(ngx_str_t *text, ngx_uint_t *units)
{
    u_char    *p, *last;
    uint64_t   n;

    if (text->len == 0) {
        return NGX_ERROR;
    }

    n = 0;
    last = text->data + text->len;

    for (p = text->data; p < last; p++) {

        if (*p < '0' || *p > '9') {
            return NGX_ERROR;
        }

        n = ngx_min(n * 10 + (*p - '0'), NGX_MAX_UINT32_VALUE);
    }

    *units = n;

    return NGX_OK;
}


/*
 * The first request of an idle key has no excess, so "burst" is one less than
 * what passes at once; of the burst, "delay" passes without a delay.
 */

u_char *
ngx_http_ratecell_print_policy(u_char *buf, ngx_http_ratecell_rate_t *rate,
    ngx_uint_t burst, ngx_uint_t delay)
{
    if (delay >= burst) {
        return ngx_sprintf(buf, "gcra %uL/%uLns burst=%uL%Z",
                           rate->limit, rate->period_ns, (uint64_t) burst + 1);
    }

    return ngx_sprintf(buf, "leaky_queue %uL/%uLns queue=%uL burst=%uL%Z",
                       rate->limit, rate->period_ns, (uint64_t) burst - delay,
                       (uint64_t) delay + 1);
}


/* The policy of a limit, with the defaults of what varies; "buf" may hold it. */

u_char *
ngx_http_ratecell_limit_policy(ngx_http_ratecell_limit_t *limit, u_char *buf)
{
    if (limit->zone->rate.limit == 0) {
        return limit->zone->policy.data;
    }

    (void) ngx_http_ratecell_print_policy(buf, &limit->rate, limit->burst,
                                          limit->delay);

    return buf;
}


/*
 * What is in use beyond the first unit, in thousandths, this request included
 * even if it was refused.  Of a rate that is the time until the key is idle
 * again by the time of one unit; of other policies it is counted.
 */

uint64_t
ngx_http_ratecell_excess(ngx_http_ratecell_claim_t *claim)
{
    uint64_t                    used, cost;
    ratecell_decision          *d;
    ngx_http_ratecell_rate_t   *rate;
    ngx_http_ratecell_zone_t   *zone;

    d = &claim->decision;
    zone = claim->limit->zone;

    if (zone->rate.limit) {
        rate = claim->tier ? &claim->tier->rate : &claim->limit->rate;

        used = (unsigned __int128) d->reset_after_ns * rate->limit * 1000
               / rate->period_ns;
    } else {
        used = (d->limit - d->remaining) * 1000;
    }

    cost = (d->outcome == RATECELL_ALLOWED) ? 0 : (uint64_t) claim->cost * 1000;

    return (used + cost > 1000) ? used + cost - 1000 : 0;
}
