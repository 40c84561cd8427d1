
/*
 * The attributes of a request that rules look at: those of every request, and
 * those of the "ratecell_attribute" directives.
 */


#include "ngx_http_ratecell.h"


#define NGX_HTTP_RATECELL_ATTRIBUTE_LEN  64


static ngx_int_t ngx_http_ratecell_attribute_name(ngx_conf_t *cf,
    ngx_str_t *name);
static ngx_int_t ngx_http_ratecell_header_attributes(ngx_http_request_t *r,
    ngx_array_t *attributes);
static ngx_int_t ngx_http_ratecell_own_attributes(ngx_http_request_t *r,
    ngx_array_t *attributes);
static ngx_int_t ngx_http_ratecell_push_own(ngx_http_request_t *r,
    ngx_array_t *attributes, ngx_str_t *name,
    ngx_http_complex_value_t *complex_value);
static ngx_int_t ngx_http_ratecell_push_attribute(ngx_array_t *attributes,
    ngx_str_t *name, ngx_str_t *value);


static ngx_str_t  ngx_http_ratecell_method = ngx_string("method");
static ngx_str_t  ngx_http_ratecell_path = ngx_string("path");
static ngx_str_t  ngx_http_ratecell_host = ngx_string("host");
static ngx_str_t  ngx_http_ratecell_client = ngx_string("client");


char *
ngx_http_ratecell_attribute_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_ratecell_conf_t  *rlcf = conf;

    ngx_str_t                         *value, text;
    ngx_uint_t                         i;
    ngx_http_ratecell_attribute_t     *attribute;
    ngx_http_ratecell_main_conf_t     *rmcf;
    ngx_http_compile_complex_value_t   ccv;

    value = cf->args->elts;

    if (ngx_http_ratecell_attribute_name(cf, &value[1]) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    if (rlcf->attributes == NULL) {
        rlcf->attributes = ngx_array_create(cf->pool, 2,
                                       sizeof(ngx_http_ratecell_attribute_t));
        if (rlcf->attributes == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    attribute = rlcf->attributes->elts;

    for (i = 0; i < rlcf->attributes->nelts; i++) {

        if (attribute[i].name.len == value[1].len
            && ngx_strncmp(attribute[i].name.data, value[1].data,
                           value[1].len) == 0)
        {
            return "is duplicate";
        }
    }

    attribute = ngx_array_push(rlcf->attributes);
    if (attribute == NULL) {
        return NGX_CONF_ERROR;
    }

    attribute->name = value[1];
    attribute->settle_value = NULL;

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = &value[2];
    ccv.complex_value = &attribute->value;

    if (ngx_http_compile_complex_value(&ccv) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    if (cf->args->nelts == 3) {
        return NGX_CONF_OK;
    }

    if (!ngx_http_ratecell_parameter(&value[3], "settle=", &text)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid parameter \"%V\": expected settle=value",
                           &value[3]);
        return NGX_CONF_ERROR;
    }

    rmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_ratecell_module);
    rmcf->log = 1;

    attribute->settle_value = ngx_palloc(cf->pool,
                                         sizeof(ngx_http_complex_value_t));
    if (attribute->settle_value == NULL) {
        return NGX_CONF_ERROR;
    }

    ccv.value = &text;
    ccv.complex_value = attribute->settle_value;

    return ngx_http_compile_complex_value(&ccv) == NGX_OK ? NGX_CONF_OK
                                                          : NGX_CONF_ERROR;
}


/* A name that a file of rules can list under "attributes". */

static ngx_int_t
ngx_http_ratecell_attribute_name(ngx_conf_t *cf, ngx_str_t *name)
{
    size_t       i;
    u_char       c, letter;
    ngx_str_t  **taken;

    static ngx_str_t  *filled[] = {
        &ngx_http_ratecell_method, &ngx_http_ratecell_path,
        &ngx_http_ratecell_host, &ngx_http_ratecell_client, NULL
    };

    for (taken = filled; *taken; taken++) {

        if (name->len == (*taken)->len
            && ngx_strncasecmp(name->data, (*taken)->data, name->len) == 0)
        {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "attribute \"%V\" is taken from the request: "
                               "expected one that a file of rules lists under "
                               "\"attributes\"", name);
            return NGX_ERROR;
        }
    }

    for (i = 0; i < name->len; i++) {

        c = name->data[i];
        letter = ngx_tolower(c);

        if ((letter >= 'a' && letter <= 'z') || c == '_') {
            continue;
        }

        if (i && ((c >= '0' && c <= '9') || c == '.' || c == '-')) {
            continue;
        }

        break;
    }

    if (i == 0 || i < name->len || i > NGX_HTTP_RATECELL_ATTRIBUTE_LEN) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid attribute \"%V\": expected 1 to %d of "
                           "A-Z a-z 0-9 _ . -, the first a letter or _",
                           name, NGX_HTTP_RATECELL_ATTRIBUTE_LEN);
        return NGX_ERROR;
    }

    return NGX_OK;
}


/*
 * The path is the request target's as it was sent, not nginx's $uri: the rules
 * read it themselves.  Subrequests and internal redirects have the one of the
 * client.
 */

ngx_int_t
ngx_http_ratecell_attributes(ngx_http_request_t *r, ngx_array_t *attributes)
{
    ngx_str_t            client;
    ngx_http_request_t  *main;

    main = r->main;

    if (ngx_array_init(attributes, r->pool, 32, sizeof(ratecell_attribute))
        != NGX_OK
        || ngx_http_ratecell_client_key(r, 1, &client) != NGX_OK
        || ngx_http_ratecell_push_attribute(attributes,
                                            &ngx_http_ratecell_method,
                                            &main->method_name)
           != NGX_OK
        || ngx_http_ratecell_push_attribute(attributes,
                                            &ngx_http_ratecell_path,
                                            &main->unparsed_uri)
           != NGX_OK
        || ngx_http_ratecell_push_attribute(attributes,
                                            &ngx_http_ratecell_client, &client)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (main->headers_in.server.len
        && ngx_http_ratecell_push_attribute(attributes,
                                            &ngx_http_ratecell_host,
                                            &main->headers_in.server)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_http_ratecell_own_attributes(r, attributes) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_ratecell_header_attributes(main, attributes);
}


static ngx_int_t
ngx_http_ratecell_own_attributes(ngx_http_request_t *r,
    ngx_array_t *attributes)
{
    ngx_uint_t                      i;
    ngx_http_ratecell_conf_t       *rlcf;
    ngx_http_ratecell_attribute_t  *own;

    rlcf = ngx_http_get_module_loc_conf(r, ngx_http_ratecell_module);

    if (rlcf->attributes == NULL) {
        return NGX_OK;
    }

    own = rlcf->attributes->elts;

    for (i = 0; i < rlcf->attributes->nelts; i++) {

        if (ngx_http_ratecell_push_own(r, attributes, &own[i].name,
                                       &own[i].value)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* Those of "ratecell_attribute" that have a value at the end of a request. */

ngx_int_t
ngx_http_ratecell_settle_attributes(ngx_http_request_t *r, ngx_array_t *own,
    ngx_array_t *attributes)
{
    ngx_uint_t                      i;
    ngx_http_ratecell_attribute_t  *attribute;

    if (ngx_array_init(attributes, r->pool, 4, sizeof(ratecell_attribute))
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    attribute = own->elts;

    for (i = 0; i < own->nelts; i++) {

        if (attribute[i].settle_value
            && ngx_http_ratecell_push_own(r, attributes, &attribute[i].name,
                                          attribute[i].settle_value)
               != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* A value that is empty is none: variables have no other way to say so. */

static ngx_int_t
ngx_http_ratecell_push_own(ngx_http_request_t *r, ngx_array_t *attributes,
    ngx_str_t *name, ngx_http_complex_value_t *complex_value)
{
    ngx_str_t  value;

    if (ngx_http_complex_value(r, complex_value, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    if (value.len == 0) {
        return NGX_OK;
    }

    return ngx_http_ratecell_push_attribute(attributes, name, &value);
}


/* One for each line: the library joins those of one name. */

static ngx_int_t
ngx_http_ratecell_header_attributes(ngx_http_request_t *r,
    ngx_array_t *attributes)
{
    size_t            len;
    u_char           *p;
    ngx_str_t         name;
    ngx_uint_t        i, pass;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *header;

    static const u_char  prefix[] = "header:";

    len = 0;
    p = NULL;

    for (pass = 0; pass < 2; pass++) {

        if (pass) {
            p = ngx_pnalloc(r->pool, len + 1);
            if (p == NULL) {
                return NGX_ERROR;
            }
        }

        for (part = &r->headers_in.headers.part; part; part = part->next) {

            header = part->elts;

            for (i = 0; i < part->nelts; i++) {

                /* another module has taken it away */

                if (header[i].hash == 0) {
                    continue;
                }

                if (pass == 0) {
                    len += sizeof(prefix) - 1 + header[i].key.len;
                    continue;
                }

                name.data = p;
                name.len = sizeof(prefix) - 1 + header[i].key.len;

                p = ngx_cpymem(p, prefix, sizeof(prefix) - 1);
                ngx_strlow(p, header[i].key.data, header[i].key.len);
                p += header[i].key.len;

                if (ngx_http_ratecell_push_attribute(attributes, &name,
                                                     &header[i].value)
                    != NGX_OK)
                {
                    return NGX_ERROR;
                }
            }
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_ratecell_push_attribute(ngx_array_t *attributes, ngx_str_t *name,
    ngx_str_t *value)
{
    ratecell_attribute  *attribute;

    attribute = ngx_array_push(attributes);
    if (attribute == NULL) {
        return NGX_ERROR;
    }

    attribute->name = name->data;
    attribute->name_len = name->len;
    attribute->value = value->data;
    attribute->value_len = value->len;

    return NGX_OK;
}
