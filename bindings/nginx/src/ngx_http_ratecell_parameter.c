
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

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid rate \"%V\": expected a number and a period, "
                       "such as 10r/s, 30r/m or 10r/5s", value);

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

        if (rc == NGX_OK && *units < min) {
            rc = NGX_ERROR;
        }
    }

    if (rc == NGX_OK) {
        return NGX_CONF_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid %*s value \"%V\": expected a number of at "
                       "least %ui", text->data - value->data - 1, value->data,
                       value, min);

    return NGX_CONF_ERROR;
}
