
/*
 * The "ratecell_client" directive and $ratecell_client: the key of a request's
 * client, the same text in every program that limits by ratecell.
 */


#include "ngx_http_ratecell.h"


/* The widths and the hops are below this, and C refuses it. */
#define NGX_HTTP_RATECELL_CLIENT_MAX_NUMBER  999


static char *ngx_http_ratecell_client_parameter(ngx_conf_t *cf,
    ratecell_clients_config *config, ngx_array_t *networks, ngx_str_t *value);
static char *ngx_http_ratecell_client_kind(ngx_conf_t *cf, ngx_str_t *value,
    ngx_str_t *text, int32_t *kind);
static char *ngx_http_ratecell_client_number(ngx_conf_t *cf, ngx_str_t *value,
    ngx_str_t *text, uint32_t *number);
static void ngx_http_ratecell_free_clients(void *data);
static ratecell_line *ngx_http_ratecell_client_lines(ngx_http_request_t *r,
    ngx_str_t *field, size_t *n);


char *
ngx_http_ratecell_client_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_ratecell_conf_t  *rlcf = conf;

    char                     *rv, why[256];
    ngx_str_t                *value;
    ngx_uint_t                i;
    ngx_array_t               networks;
    ratecell_clients_config   config = RATECELL_CLIENTS_CONFIG_INIT;

    if (rlcf->clients) {
        return "is duplicate";
    }

    if (ngx_array_init(&networks, cf->temp_pool, 4, sizeof(char *)) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    value = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {
        rv = ngx_http_ratecell_client_parameter(cf, &config, &networks,
                                                &value[i]);
        if (rv != NGX_CONF_OK) {
            return rv;
        }
    }

    if (networks.nelts) {
        config.networks = networks.elts;
        config.n_networks = networks.nelts;
    }

    why[0] = '\0';
    config.why = why;
    config.why_len = sizeof(why);

    rlcf->clients = ngx_http_ratecell_make_clients(cf->pool, &config);

    if (rlcf->clients == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid \"%V\": %s",
                           &cmd->name, why);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_ratecell_client_parameter(ngx_conf_t *cf,
    ratecell_clients_config *config, ngx_array_t *networks, ngx_str_t *value)
{
    char       **network;
    ngx_str_t    text;

    /* a value ends in a NUL, and so does what follows a name in it */

    if (ngx_http_ratecell_parameter(value, "field=", &text)) {
        config->field = (char *) text.data;
        return NGX_CONF_OK;
    }

    if (ngx_http_ratecell_parameter(value, "kind=", &text)) {
        return ngx_http_ratecell_client_kind(cf, value, &text, &config->kind);
    }

    if (ngx_http_ratecell_parameter(value, "hops=", &text)) {
        return ngx_http_ratecell_client_number(cf, value, &text,
                                               &config->hops);
    }

    if (ngx_http_ratecell_parameter(value, "v4_width=", &text)) {
        return ngx_http_ratecell_client_number(cf, value, &text,
                                               &config->v4_width);
    }

    if (ngx_http_ratecell_parameter(value, "v6_width=", &text)) {
        return ngx_http_ratecell_client_number(cf, value, &text,
                                               &config->v6_width);
    }

    if (ngx_http_ratecell_parameter(value, "network=", &text)) {

        network = ngx_array_push(networks);
        if (network == NULL) {
            return NGX_CONF_ERROR;
        }

        *network = (char *) text.data;

        return NGX_CONF_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid parameter \"%V\": expected field=, kind=, "
                       "hops=, network=, v4_width= or v6_width=", value);

    return NGX_CONF_ERROR;
}


static char *
ngx_http_ratecell_client_kind(ngx_conf_t *cf, ngx_str_t *value,
    ngx_str_t *text, int32_t *kind)
{
    ngx_uint_t  i;

    static ngx_conf_enum_t  kinds[] = {
        { ngx_string("list"), RATECELL_CLIENT_LIST },
        { ngx_string("forwarded"), RATECELL_CLIENT_FORWARDED },
        { ngx_string("single"), RATECELL_CLIENT_SINGLE },
        { ngx_null_string, 0 }
    };

    for (i = 0; kinds[i].name.len; i++) {

        if (text->len == kinds[i].name.len
            && ngx_strncmp(text->data, kinds[i].name.data, text->len) == 0)
        {
            *kind = kinds[i].value;
            return NGX_CONF_OK;
        }
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid kind \"%V\": expected list, forwarded or "
                       "single", value);

    return NGX_CONF_ERROR;
}


/* 0 would be a number that is not given. */

static char *
ngx_http_ratecell_client_number(ngx_conf_t *cf, ngx_str_t *value,
    ngx_str_t *text, uint32_t *number)
{
    ngx_int_t  n;

    n = ngx_atoi(text->data, text->len);

    if (n <= 0 || n > NGX_HTTP_RATECELL_CLIENT_MAX_NUMBER) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid number \"%V\": expected 1 to 16 hops, a "
                           "v4_width of 8 to 32 or a v6_width of 32 to 128",
                           value);
        return NGX_CONF_ERROR;
    }

    *number = (uint32_t) n;

    return NGX_CONF_OK;
}


/* With a configuration of NULL, the peer is the client. */

ngx_http_ratecell_clients_t *
ngx_http_ratecell_make_clients(ngx_pool_t *pool,
    ratecell_clients_config *config)
{
    ngx_pool_cleanup_t           *cln;
    ratecell_clients_config       whole;
    ngx_http_ratecell_clients_t  *clients;

    static const ratecell_clients_config  empty = RATECELL_CLIENTS_CONFIG_INIT;

    cln = ngx_pool_cleanup_add(pool, sizeof(ngx_http_ratecell_clients_t));
    if (cln == NULL) {
        return NULL;
    }

    clients = cln->data;
    ngx_memzero(clients, sizeof(ngx_http_ratecell_clients_t));

    if (config && config->field) {
        clients->field.data = (u_char *) config->field;
        clients->field.len = ngx_strlen(config->field);
    }

    cln->handler = ngx_http_ratecell_free_clients;

    if (ratecell_clients_new(config, &clients->clients) < 0) {
        return NULL;
    }

    whole = config ? *config : empty;
    whole.v4_width = 32;
    whole.v6_width = 128;

    return ratecell_clients_new(&whole, &clients->whole) < 0 ? NULL : clients;
}


static void
ngx_http_ratecell_free_clients(void *data)
{
    ngx_http_ratecell_clients_t  *clients = data;

    ratecell_clients_free(clients->clients);
    ratecell_clients_free(clients->whole);
}


ngx_int_t
ngx_http_ratecell_client_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t  key;

    if (ngx_http_ratecell_client_key(r, 0, &key) != NGX_OK) {
        return NGX_ERROR;
    }

    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;
    v->len = key.len;
    v->data = key.data;

    return NGX_OK;
}


/* Of the widths that are configured, or of the whole address. */

ngx_int_t
ngx_http_ratecell_client_key(ngx_http_request_t *r, ngx_uint_t whole,
    ngx_str_t *text)
{
    size_t                            n;
    int32_t                           len;
    u_char                           *key;
    ngx_str_t                        *peer;
    ratecell_line                    *lines;
    ngx_http_ratecell_conf_t         *conf;
    ngx_http_ratecell_clients_t      *clients;
    ngx_http_ratecell_main_conf_t    *rmcf;

    conf = ngx_http_get_module_loc_conf(r, ngx_http_ratecell_module);
    clients = conf->clients;

    if (clients == NULL) {
        rmcf = ngx_http_get_module_main_conf(r, ngx_http_ratecell_module);
        clients = rmcf->clients;
    }

    lines = NULL;
    n = 0;

    if (clients->field.len) {
        lines = ngx_http_ratecell_client_lines(r, &clients->field, &n);
        if (lines == NULL) {
            return NGX_ERROR;
        }
    }

    key = ngx_pnalloc(r->pool, RATECELL_CLIENT_KEY_SIZE);
    if (key == NULL) {
        return NGX_ERROR;
    }

    peer = &r->connection->addr_text;

    len = ratecell_client_key(whole ? clients->whole : clients->clients,
                              peer->data, peer->len, lines, n, (char *) key,
                              RATECELL_CLIENT_KEY_SIZE);
    if (len < 0) {
        ngx_log_error(NGX_LOG_ALERT, r->connection->log, 0,
                      "ratecell_client_key() failed: %s",
                      ratecell_strerror(len));
        return NGX_ERROR;
    }

    text->len = len;
    text->data = key;

    return NGX_OK;
}


/* The lines of the field, in their order. */

static ratecell_line *
ngx_http_ratecell_client_lines(ngx_http_request_t *r, ngx_str_t *field,
    size_t *n)
{
    ngx_uint_t        i;
    ngx_array_t       lines;
    ratecell_line    *line;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *header;

    if (ngx_array_init(&lines, r->pool, 2, sizeof(ratecell_line)) != NGX_OK) {
        return NULL;
    }

    for (part = &r->headers_in.headers.part; part; part = part->next) {

        header = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (header[i].key.len != field->len
                || ngx_strncasecmp(header[i].key.data, field->data, field->len)
                   != 0)
            {
                continue;
            }

            line = ngx_array_push(&lines);
            if (line == NULL) {
                return NULL;
            }

            line->name = header[i].key.data;
            line->name_len = header[i].key.len;
            line->value = header[i].value.data;
            line->value_len = header[i].value.len;
        }
    }

    *n = lines.nelts;

    return lines.elts;
}
