
/*
 * The parameters of directives: "name=value", where a value may be constant or
 * hold variables.
 */


#include "ngx_http_ratecell.h"


/* If the value begins with the name, the text is what follows. */

ngx_uint_t
ngx_http_ratecell_parameter(ngx_str_t *value, char *name, ngx_str_t *text)
{
    size_t  len;

    len = ngx_strlen(name);

    if (value->len < len || ngx_strncmp(value->data, name, len) != 0) {
        return 0;
    }

    text->data = value->data + len;
    text->len = value->len - len;

    return 1;
}


/* NGX_DECLINED if the text is constant. */

static ngx_int_t
ngx_http_ratecell_compile(ngx_conf_t *cf, ngx_str_t *text,
    ngx_http_complex_value_t **cv)
{
    ngx_http_compile_complex_value_t  ccv;

    if (ngx_http_script_variables_count(text) == 0) {
        return NGX_DECLINED;
    }

    *cv = ngx_palloc(cf->pool, sizeof(ngx_http_complex_value_t));
    if (*cv == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = text;
    ccv.complex_value = *cv;

    return ngx_http_compile_complex_value(&ccv);
}


char *
ngx_http_ratecell_rate_parameter(ngx_conf_t *cf, ngx_str_t *value,
    ngx_str_t *text, ngx_http_ratecell_rate_t *rate,
    ngx_http_complex_value_t **cv)
{
    ngx_int_t  rc;

    rc = cv ? ngx_http_ratecell_compile(cf, text, cv) : NGX_DECLINED;

    if (rc == NGX_DECLINED) {
        rc = ngx_http_ratecell_parse_rate(text, rate);
    }

    if (rc == NGX_OK) {
        return NGX_CONF_OK;
    }

    /* 15250 weeks are the most that 63 bits of nanoseconds hold */

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid rate \"%V\": expected %s", value,
                       rc == NGX_DECLINED
                       ? "1 to 4294967295 requests in a period of 1ms to "
                         "15250w"
                       : "a number and a period, such as 10r/s, 30r/m or "
                         "10r/5s");

    return NGX_CONF_ERROR;
}


char *
ngx_http_ratecell_units_parameter(ngx_conf_t *cf, ngx_str_t *value,
    ngx_str_t *text, ngx_uint_t min, ngx_uint_t *units,
    ngx_http_complex_value_t **cv)
{
    ngx_int_t  rc;

    rc = cv ? ngx_http_ratecell_compile(cf, text, cv) : NGX_DECLINED;

    if (rc == NGX_DECLINED) {
        rc = ngx_http_ratecell_parse_units(text, units);

        if (rc == NGX_OK
            && (*units < min || *units > NGX_HTTP_RATECELL_MAX_UNITS))
        {
            rc = NGX_ERROR;
        }
    }

    if (rc == NGX_OK) {
        return NGX_CONF_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid %*s value \"%V\": expected a number from "
                       "%ui to %ui", text->data - value->data - 1,
                       value->data, value, min,
                       (ngx_uint_t) NGX_HTTP_RATECELL_MAX_UNITS);

    return NGX_CONF_ERROR;
}


/* A value that is known when the request ends. */

char *
ngx_http_ratecell_value_parameter(ngx_conf_t *cf, ngx_str_t *value,
    ngx_str_t *text, ngx_http_complex_value_t **cv)
{
    ngx_int_t  rc;

    rc = ngx_http_ratecell_compile(cf, text, cv);

    if (rc == NGX_DECLINED) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid %*s value \"%V\": expected one that "
                           "contains variables",
                           text->data - value->data - 1, value->data, value);
    }

    return rc == NGX_OK ? NGX_CONF_OK : NGX_CONF_ERROR;
}


/*
 * nginx knows quotes only around a whole parameter, "policy=5/s burst=9", and
 * splits policy="5/s burst=9".  These words are put together again.
 */

ngx_int_t
ngx_http_ratecell_join_quoted(ngx_conf_t *cf, char *name, ngx_uint_t *i)
{
    u_char      quote, *p;
    size_t      len, skip;
    ngx_str_t  *value, text;
    ngx_uint_t  first, last, n;

    value = cf->args->elts;
    first = *i;

    if (!ngx_http_ratecell_parameter(&value[first], name, &text)
        || text.len == 0 || (text.data[0] != '"' && text.data[0] != '\''))
    {
        return NGX_OK;
    }

    quote = text.data[0];
    skip = ngx_strlen(name);
    len = skip + 1;

    for (last = first; /* void */ ; last++) {

        if (last == cf->args->nelts) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid parameter \"%V\": expected %c at "
                               "the end", &value[first], (int) quote);
            return NGX_ERROR;
        }

        len += value[last].len + 1;

        if (value[last].len
            && value[last].data[value[last].len - 1] == quote
            && (last != first || text.len > 1))
        {
            break;
        }
    }

    p = ngx_pnalloc(cf->pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    text.data = p;
    p = ngx_cpymem(p, name, skip);

    /* the quote at the beginning */

    skip++;

    for (n = first; n <= last; n++) {

        if (n != first) {
            *p++ = ' ';
        }

        p = ngx_cpymem(p, value[n].data + skip, value[n].len - skip);
        skip = 0;
    }

    /* and the one at the end */

    *--p = '\0';

    text.len = p - text.data;
    value[last] = text;
    *i = last;

    return NGX_OK;
}
