
/*
 * The "ratecell_zone" directive.
 */


#include "ngx_http_ratecell.h"


static ngx_int_t ngx_http_ratecell_key_index(ngx_conf_t *cf, ngx_str_t *key);
static char *ngx_http_ratecell_zone_parameter(ngx_conf_t *cf,
    ngx_http_ratecell_zone_t *zone, ngx_str_t *value);
static char *ngx_http_ratecell_names_parameter(ngx_conf_t *cf,
    ngx_http_ratecell_zone_t *zone, ngx_str_t *value, ngx_str_t *text);
static ngx_int_t ngx_http_ratecell_check_names(ngx_conf_t *cf,
    ngx_http_ratecell_zone_t *zone);
static char *ngx_http_ratecell_zone_size(ngx_conf_t *cf,
    ngx_http_ratecell_zone_t *zone, ngx_str_t *value);
static ngx_int_t ngx_http_ratecell_copy(ngx_pool_t *pool, ngx_str_t *to,
    ngx_str_t *from);


char *
ngx_http_ratecell_zone_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_ratecell_main_conf_t  *rmcf = conf;

    char                              *rv;
    size_t                             size;
    ngx_str_t                         *value, name;
    ngx_uint_t                         i;
    ngx_shm_zone_t                    *shm_zone, **zonep;
    ngx_pool_cleanup_t                *cln;
    ngx_http_ratecell_zone_t          *zone;
    ngx_http_compile_complex_value_t   ccv;

    value = cf->args->elts;

    zone = ngx_pcalloc(cf->pool, sizeof(ngx_http_ratecell_zone_t));
    if (zone == NULL) {
        return NGX_CONF_ERROR;
    }

    if (ngx_array_init(&zone->limits, cf->pool, 4,
                       sizeof(ngx_http_ratecell_limit_t *))
        != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (cln == NULL) {
        return NGX_CONF_ERROR;
    }

    cln->handler = ngx_http_ratecell_free_zone;
    cln->data = zone;

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = &value[1];
    ccv.complex_value = &zone->key;

    if (ngx_http_compile_complex_value(&ccv) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    zone->key_index = ngx_http_ratecell_key_index(cf, &value[1]);

    for (i = 2; i < cf->args->nelts; i++) {

        if (ngx_http_ratecell_join_quoted(cf, "policy=", &i) != NGX_OK) {
            return NGX_CONF_ERROR;
        }

        rv = ngx_http_ratecell_zone_parameter(cf, zone, &value[i]);
        if (rv != NGX_CONF_OK) {
            return rv;
        }
    }

    if (zone->name.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" must have \"zone\" parameter",
                           &cmd->name);
        return NGX_CONF_ERROR;
    }

    if (ngx_http_ratecell_check_names(cf, zone) != NGX_OK
        || ngx_http_ratecell_check_store(cf, zone) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    rv = ngx_http_ratecell_zone_policy(cf, cmd, zone);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    if (zone->file.len
        && ngx_http_ratecell_check_file(cf, zone, &rmcf->zones) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    /* with the table in a file, shared memory holds only the counters */

    size = zone->file.len ? 8 * ngx_pagesize : zone->size;
    name = zone->name;

    shm_zone = ngx_shared_memory_add(cf, &name, size,
                                     &ngx_http_ratecell_module);
    if (shm_zone == NULL) {
        return NGX_CONF_ERROR;
    }

    if (shm_zone->data) {
        zone = shm_zone->data;

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "%V \"%V\" is already bound to key \"%V\"",
                           &cmd->name, &name, &zone->key.value);
        return NGX_CONF_ERROR;
    }

    shm_zone->init = ngx_http_ratecell_init_zone;
    shm_zone->data = zone;

    zonep = ngx_array_push(&rmcf->zones);
    if (zonep == NULL) {
        return NGX_CONF_ERROR;
    }

    *zonep = shm_zone;

    return NGX_CONF_OK;
}


/* NGX_ERROR where the key is not just "$name". */

static ngx_int_t
ngx_http_ratecell_key_index(ngx_conf_t *cf, ngx_str_t *key)
{
    size_t     i;
    u_char     c;
    ngx_str_t  name;

    if (key->len < 2 || key->data[0] != '$') {
        return NGX_ERROR;
    }

    name.data = key->data + 1;
    name.len = key->len - 1;

    for (i = 0; i < name.len; i++) {
        c = name.data[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z')
            && !(i > 0 && c >= '0' && c <= '9') && c != '_')
        {
            return NGX_ERROR;
        }
    }

    return ngx_http_get_variable_index(cf, &name);
}


static char *
ngx_http_ratecell_zone_parameter(ngx_conf_t *cf, ngx_http_ratecell_zone_t *zone,
    ngx_str_t *value)
{
    ngx_int_t  rc;
    ngx_str_t  text;

    if (ngx_http_ratecell_parameter(value, "zone=", &text)) {
        return ngx_http_ratecell_zone_size(cf, zone, value);
    }

    if (ngx_http_ratecell_parameter(value, "rate=", &text)) {
        return ngx_http_ratecell_rate_parameter(cf, value, &text, &zone->rate,
                                                &zone->rate_value);
    }

    if (ngx_http_ratecell_parameter(value, "default_rate=", &text)) {
        return ngx_http_ratecell_rate_parameter(cf, value, &text,
                                                &zone->default_rate, NULL);
    }

    if (ngx_http_ratecell_parameter(value, "policy=", &text) && text.len) {
        return ngx_http_ratecell_copy(cf->pool, &zone->policy, &text) == NGX_OK
               ? NGX_CONF_OK : NGX_CONF_ERROR;
    }

    if (ngx_http_ratecell_parameter(value, "file=", &text) && text.len) {

        if (ngx_conf_full_name(cf->cycle, &text, 0) != NGX_OK) {
            return NGX_CONF_ERROR;
        }

        return ngx_http_ratecell_copy(cf->pool, &zone->file, &text) == NGX_OK
               ? NGX_CONF_OK : NGX_CONF_ERROR;
    }

    if (ngx_http_ratecell_parameter(value, "names=", &text)) {
        return ngx_http_ratecell_names_parameter(cf, zone, value, &text);
    }

    rc = ngx_http_ratecell_store_parameter(cf, zone, value);

    if (rc != NGX_DECLINED) {
        return rc == NGX_OK ? NGX_CONF_OK : NGX_CONF_ERROR;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid parameter \"%V\": expected zone=name:size, "
                       "rate=, default_rate=, policy=, file=, names=, "
                       "store=, wait= or on_failure=", value);

    return NGX_CONF_ERROR;
}


static char *
ngx_http_ratecell_names_parameter(ngx_conf_t *cf,
    ngx_http_ratecell_zone_t *zone, ngx_str_t *value, ngx_str_t *text)
{
    zone->names = ngx_strcmp(text->data, "on") == 0;

    if (zone->names || ngx_strcmp(text->data, "off") == 0) {
        return NGX_CONF_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid parameter \"%V\": expected names=on or "
                       "names=off", value);

    return NGX_CONF_ERROR;
}


/* Names are read from a file; the one of leases is made by its agent. */

static ngx_int_t
ngx_http_ratecell_check_names(ngx_conf_t *cf, ngx_http_ratecell_zone_t *zone)
{
    if (!zone->names || (zone->file.len && zone->store.len == 0)) {
        return NGX_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "zone \"%V\" has \"names\" %s: expected \"file\" "
                       "alone, which \"ratecell top\" reads", &zone->name,
                       zone->file.len ? "and \"store\"" : "without \"file\"");

    return NGX_ERROR;
}


/* What response fields and statistics can name. */

static ngx_uint_t
ngx_http_ratecell_is_name(ngx_str_t *name)
{
    size_t  i;

    for (i = 0; i < name->len; i++) {
        if (name->data[i] < ' ' || name->data[i] > '~') {
            return 0;
        }
    }

    return name->len != 0 && name->len <= NGX_HTTP_RATECELL_NAME_LEN;
}


static char *
ngx_http_ratecell_zone_size(ngx_conf_t *cf, ngx_http_ratecell_zone_t *zone,
    ngx_str_t *value)
{
    u_char     *p;
    ssize_t     size;
    ngx_str_t   name, s;

    name.data = value->data + sizeof("zone=") - 1;

    p = (u_char *) ngx_strchr(name.data, ':');

    name.len = p ? (size_t) (p - name.data)
                 : value->len - (sizeof("zone=") - 1);

    if (!ngx_http_ratecell_is_name(&name)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid zone name \"%V\" in \"%V\": expected "
                           "1 to %d characters of printable ASCII",
                           &name, value, NGX_HTTP_RATECELL_NAME_LEN);
        return NGX_CONF_ERROR;
    }

    /* only a zone with a store has no size, which is checked later */

    if (p == NULL) {
        return ngx_http_ratecell_copy(cf->pool, &zone->name, &name) == NGX_OK
               ? NGX_CONF_OK : NGX_CONF_ERROR;
    }

    s.data = p + 1;
    s.len = value->data + value->len - s.data;

    size = ngx_parse_size(&s);

    if (size == NGX_ERROR) {
        goto invalid;
    }

    if (size < (ssize_t) (8 * ngx_pagesize)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "zone \"%V\" is too small: expected at least %ui "
                           "bytes", value, 8 * ngx_pagesize);
        return NGX_CONF_ERROR;
    }

    zone->size = size;

    return ngx_http_ratecell_copy(cf->pool, &zone->name, &name) == NGX_OK
           ? NGX_CONF_OK : NGX_CONF_ERROR;

invalid:

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid zone size \"%V\": expected zone=name:size",
                       value);

    return NGX_CONF_ERROR;
}


static ngx_int_t
ngx_http_ratecell_copy(ngx_pool_t *pool, ngx_str_t *to, ngx_str_t *from)
{
    to->data = ngx_pnalloc(pool, from->len + 1);
    if (to->data == NULL) {
        return NGX_ERROR;
    }

    (void) ngx_cpystrn(to->data, from->data, from->len + 1);
    to->len = from->len;

    return NGX_OK;
}
