
/*
 * The variables.  All but $ratecell_status, $ratecell_rule and $ratecell_client
 * are of the limit that decided.
 */


#include "ngx_http_ratecell.h"


typedef u_char *(*ngx_http_ratecell_print_pt)(ratecell_decision *decision,
    u_char *p);

typedef struct {
    ngx_str_t                    name;
    ngx_http_ratecell_print_pt   print;
} ngx_http_ratecell_variable_t;


static ngx_int_t ngx_http_ratecell_status_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_ratecell_zone_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_ratecell_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_ratecell_rule_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_uint_t ngx_http_ratecell_limited(ngx_http_request_t *r,
    ratecell_decision **decision);
static void ngx_http_ratecell_set(ngx_http_variable_value_t *v, u_char *data,
    size_t len);

static u_char *ngx_http_ratecell_print_limit(ratecell_decision *decision,
    u_char *p);
static u_char *ngx_http_ratecell_print_remaining(ratecell_decision *decision,
    u_char *p);
static u_char *ngx_http_ratecell_print_reset(ratecell_decision *decision,
    u_char *p);
static u_char *ngx_http_ratecell_print_retry(ratecell_decision *decision,
    u_char *p);
static u_char *ngx_http_ratecell_print_delay(ratecell_decision *decision,
    u_char *p);


static ngx_str_t  ngx_http_ratecell_statuses[NGX_HTTP_RATECELL_STATUSES] = {
    ngx_null_string,
    ngx_string("PASSED"),
    ngx_string("DELAYED"),
    ngx_string("REJECTED"),
    ngx_string("DELAYED_DRY_RUN"),
    ngx_string("REJECTED_DRY_RUN")
};


/* A printer that prints nothing means that there is no value. */

static ngx_http_ratecell_variable_t  ngx_http_ratecell_printed[] = {
    { ngx_string("ratecell_limit"), ngx_http_ratecell_print_limit },
    { ngx_string("ratecell_remaining"), ngx_http_ratecell_print_remaining },
    { ngx_string("ratecell_reset"), ngx_http_ratecell_print_reset },
    { ngx_string("ratecell_retry_after"), ngx_http_ratecell_print_retry },
    { ngx_string("ratecell_delay"), ngx_http_ratecell_print_delay },
    { ngx_null_string, NULL }
};


ngx_int_t
ngx_http_ratecell_add_variables(ngx_conf_t *cf)
{
    ngx_http_variable_t           *var;
    ngx_http_ratecell_variable_t  *v;

    static ngx_str_t  status = ngx_string("ratecell_status");
    static ngx_str_t  zone = ngx_string("ratecell_zone");
    static ngx_str_t  rule = ngx_string("ratecell_rule");
    static ngx_str_t  client = ngx_string("ratecell_client");

    var = ngx_http_add_variable(cf, &status, NGX_HTTP_VAR_NOCACHEABLE);
    if (var == NULL) {
        return NGX_ERROR;
    }

    var->get_handler = ngx_http_ratecell_status_variable;

    var = ngx_http_add_variable(cf, &zone, NGX_HTTP_VAR_NOCACHEABLE);
    if (var == NULL) {
        return NGX_ERROR;
    }

    var->get_handler = ngx_http_ratecell_zone_variable;

    var = ngx_http_add_variable(cf, &rule, NGX_HTTP_VAR_NOCACHEABLE);
    if (var == NULL) {
        return NGX_ERROR;
    }

    var->get_handler = ngx_http_ratecell_rule_variable;

    /* realip and a redirect to another location change it */

    var = ngx_http_add_variable(cf, &client, NGX_HTTP_VAR_NOCACHEABLE);
    if (var == NULL) {
        return NGX_ERROR;
    }

    var->get_handler = ngx_http_ratecell_client_variable;

    for (v = ngx_http_ratecell_printed; v->name.len; v++) {

        var = ngx_http_add_variable(cf, &v->name, NGX_HTTP_VAR_NOCACHEABLE);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = ngx_http_ratecell_variable;
        var->data = (uintptr_t) v->print;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_ratecell_status_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t          *status;
    ngx_uint_t          n;
    ratecell_decision  *decision;

    n = ngx_http_ratecell_limited(r, &decision);

    if (n == 0) {
        v->not_found = 1;
        return NGX_OK;
    }

    status = &ngx_http_ratecell_statuses[n];
    ngx_http_ratecell_set(v, status->data, status->len);

    return NGX_OK;
}


static ngx_int_t
ngx_http_ratecell_zone_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t                *name;
    ngx_http_ratecell_ctx_t  *ctx;

    ctx = ngx_http_ratecell_get_ctx(r);

    if (ctx == NULL || ctx->status == 0) {
        v->not_found = 1;
        return NGX_OK;
    }

    name = &ctx->deciding->limit->shm_zone->shm.name;
    ngx_http_ratecell_set(v, name->data, name->len);

    return NGX_OK;
}


static ngx_int_t
ngx_http_ratecell_rule_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_http_ratecell_ruled_t  *ruled;

    ruled = ngx_http_ratecell_get_ruled(r);

    if (ruled == NULL || ruled->rule[0] == '\0') {
        v->not_found = 1;
        return NGX_OK;
    }

    ngx_http_ratecell_set(v, (u_char *) ruled->rule, ngx_strlen(ruled->rule));

    return NGX_OK;
}


static ngx_int_t
ngx_http_ratecell_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    u_char                      *p;
    ratecell_decision           *decision;
    ngx_http_ratecell_print_pt   print;

    if (ngx_http_ratecell_limited(r, &decision) == 0 || decision == NULL) {
        v->not_found = 1;
        return NGX_OK;
    }

    p = ngx_pnalloc(r->pool, NGX_INT64_LEN + sizeof(".000") - 1);
    if (p == NULL) {
        return NGX_ERROR;
    }

    print = (ngx_http_ratecell_print_pt) data;
    ngx_http_ratecell_set(v, p, print(decision, p) - p);

    if (v->len == 0) {
        v->not_found = 1;
    }

    return NGX_OK;
}


/*
 * The status, and the decision that is described: that of the limits, or that
 * of the rules where theirs is graver or there are no limits.  What was done to
 * the request is graver than what a dry run would have done.
 */

static ngx_uint_t
ngx_http_ratecell_limited(ngx_http_request_t *r, ratecell_decision **decision)
{
    ngx_http_ratecell_ctx_t    *ctx;
    ngx_http_ratecell_ruled_t  *ruled;

    static const u_char  graveness[NGX_HTTP_RATECELL_STATUSES] = {
        [NGX_HTTP_RATECELL_PASSED] = 1,
        [NGX_HTTP_RATECELL_DELAYED_DRY_RUN] = 2,
        [NGX_HTTP_RATECELL_REJECTED_DRY_RUN] = 3,
        [NGX_HTTP_RATECELL_DELAYED] = 4,
        [NGX_HTTP_RATECELL_REJECTED] = 5
    };

    ctx = ngx_http_ratecell_get_ctx(r);
    ruled = ngx_http_ratecell_get_ruled(r);

    if (ruled && (ctx == NULL
                  || graveness[ruled->status] > graveness[ctx->status]))
    {
        *decision = ruled->rule[0] ? &ruled->decision : NULL;
        return ruled->status;
    }

    if (ctx == NULL || ctx->status == 0) {
        return 0;
    }

    *decision = &ctx->deciding->decision;

    return ctx->status;
}


static void
ngx_http_ratecell_set(ngx_http_variable_value_t *v, u_char *data, size_t len)
{
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;
    v->len = len;
    v->data = data;
}


static uint64_t
ngx_http_ratecell_seconds(uint64_t ns)
{
    return ns / 1000000000 + (ns % 1000000000 != 0);
}


static u_char *
ngx_http_ratecell_print_limit(ratecell_decision *decision, u_char *p)
{
    return ngx_sprintf(p, "%uL", decision->limit);
}


static u_char *
ngx_http_ratecell_print_remaining(ratecell_decision *decision, u_char *p)
{
    return ngx_sprintf(p, "%uL", decision->remaining);
}


static u_char *
ngx_http_ratecell_print_reset(ratecell_decision *decision, u_char *p)
{
    return ngx_sprintf(p, "%uL",
           ngx_http_ratecell_seconds(decision->reset_after_ns));
}


static u_char *
ngx_http_ratecell_print_retry(ratecell_decision *decision, u_char *p)
{
    uint64_t  ns;

    ns = decision->retry_after_ns;

    /* a denial has a wait, which is not known where no one could decide */
    if (decision->outcome != RATECELL_DENIED || ns == UINT64_MAX) {
        return p;
    }

    return ngx_sprintf(p, "%uL", ngx_http_ratecell_seconds(ns));
}


static u_char *
ngx_http_ratecell_print_delay(ratecell_decision *decision, u_char *p)
{
    uint64_t  ms;

    ms = (decision->delay_ns + 999999) / 1000000;

    return ngx_sprintf(p, "%uL.%03uL", ms / 1000, ms % 1000);
}
