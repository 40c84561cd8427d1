
/*
 * The directives, and where the module takes part in a request.
 */


#include "ngx_http_ratecell.h"


static void *ngx_http_ratecell_create_main_conf(ngx_conf_t *cf);
static void *ngx_http_ratecell_create_conf(ngx_conf_t *cf);
static char *ngx_http_ratecell_merge_conf(ngx_conf_t *cf, void *parent,
    void *child);
static ngx_int_t ngx_http_ratecell_init(ngx_conf_t *cf);
static ngx_int_t ngx_http_ratecell_add_handler(ngx_conf_t *cf,
    ngx_uint_t phase, ngx_http_handler_pt handler);


static ngx_conf_enum_t  ngx_http_ratecell_log_levels[] = {
    { ngx_string("info"), NGX_LOG_INFO },
    { ngx_string("notice"), NGX_LOG_NOTICE },
    { ngx_string("warn"), NGX_LOG_WARN },
    { ngx_string("error"), NGX_LOG_ERR },
    { ngx_null_string, 0 }
};


static ngx_conf_num_bounds_t  ngx_http_ratecell_status_bounds = {
    ngx_conf_check_num_bounds, 400, 599
};


static ngx_command_t  ngx_http_ratecell_commands[] = {

    { ngx_string("ratecell_zone"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_2MORE,
      ngx_http_ratecell_zone_directive,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("ratecell"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_1MORE,
      ngx_http_ratecell_limit_directive,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("ratecell_rules"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_1MORE,
      ngx_http_ratecell_rules_directive,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("ratecell_attribute"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE23,
      ngx_http_ratecell_attribute_directive,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("ratecell_log_level"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_enum_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_ratecell_conf_t, limit_log_level),
      &ngx_http_ratecell_log_levels },

    { ngx_string("ratecell_status"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_num_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_ratecell_conf_t, status_code),
      &ngx_http_ratecell_status_bounds },

    { ngx_string("ratecell_dry_run"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_ratecell_conf_t, dry_run),
      NULL },

    { ngx_string("ratecell_headers"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_1MORE,
      ngx_http_ratecell_headers_directive,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("ratecell_client"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_1MORE,
      ngx_http_ratecell_client_directive,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("ratecell_stats"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      ngx_http_ratecell_stats_directive,
      0,
      0,
      NULL },

    { ngx_string("ratecell_reset"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      ngx_http_ratecell_reset_directive,
      0,
      0,
      NULL },

      ngx_null_command
};


static ngx_http_module_t  ngx_http_ratecell_module_ctx = {
    ngx_http_ratecell_add_variables,       /* preconfiguration */
    ngx_http_ratecell_init,                /* postconfiguration */

    ngx_http_ratecell_create_main_conf,    /* create main configuration */
    NULL,                                  /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    ngx_http_ratecell_create_conf,         /* create location configuration */
    ngx_http_ratecell_merge_conf           /* merge location configuration */
};


ngx_module_t  ngx_http_ratecell_module = {
    NGX_MODULE_V1,
    &ngx_http_ratecell_module_ctx,         /* module context */
    ngx_http_ratecell_commands,            /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    ngx_http_ratecell_init_module,         /* init module */
    NULL,                                  /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    NULL,                                  /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


static void *
ngx_http_ratecell_create_main_conf(ngx_conf_t *cf)
{
    ngx_http_ratecell_main_conf_t  *conf;

    conf = ngx_pcalloc(cf->pool, sizeof(ngx_http_ratecell_main_conf_t));
    if (conf == NULL) {
        return NULL;
    }

    if (ngx_array_init(&conf->zones, cf->pool, 4, sizeof(ngx_shm_zone_t *))
        != NGX_OK
        || ngx_array_init(&conf->limits, cf->pool, 4,
                          sizeof(ngx_http_ratecell_limit_t *))
           != NGX_OK
        || ngx_array_init(&conf->rules, cf->pool, 1,
                          sizeof(ngx_http_ratecell_rules_t *))
           != NGX_OK)
    {
        return NULL;
    }

    return conf;
}


static void *
ngx_http_ratecell_create_conf(ngx_conf_t *cf)
{
    ngx_http_ratecell_conf_t  *conf;

    conf = ngx_pcalloc(cf->pool, sizeof(ngx_http_ratecell_conf_t));
    if (conf == NULL) {
        return NULL;
    }

    /*
     * set by ngx_pcalloc():
     *
     *     conf->clients = NULL;
     *     conf->attributes = NULL;
     *     conf->limits.elts = NULL;
     */

    conf->rules = NGX_CONF_UNSET_PTR;
    conf->limit_log_level = NGX_CONF_UNSET_UINT;
    conf->status_code = NGX_CONF_UNSET_UINT;
    conf->dry_run = NGX_CONF_UNSET;
    conf->styles = NGX_CONF_UNSET_UINT;

    return conf;
}


static char *
ngx_http_ratecell_merge_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_ratecell_conf_t  *prev = parent;
    ngx_http_ratecell_conf_t  *conf = child;

    ngx_http_ratecell_limit_t      **limits;
    ngx_http_ratecell_main_conf_t   *rmcf;

    if (conf->clients == NULL) {
        conf->clients = prev->clients;
    }

    if (conf->limits.elts == NULL) {
        conf->limits = prev->limits;
    }

    ngx_conf_merge_ptr_value(conf->rules, prev->rules, NULL);

    if (conf->attributes == NULL) {
        conf->attributes = prev->attributes;
    }

    ngx_conf_merge_uint_value(conf->limit_log_level, prev->limit_log_level,
                              NGX_LOG_ERR);

    conf->delay_log_level = (conf->limit_log_level == NGX_LOG_INFO)
                            ? NGX_LOG_INFO : conf->limit_log_level + 1;

    ngx_conf_merge_uint_value(conf->status_code, prev->status_code,
                              NGX_HTTP_SERVICE_UNAVAILABLE);

    ngx_conf_merge_value(conf->dry_run, prev->dry_run, 0);
    ngx_conf_merge_uint_value(conf->styles, prev->styles, 0);

    limits = conf->limits.elts;

    conf->plain = conf->limits.nelts == 1 && limits[0]->count == NULL
                  && !limits[0]->strict && conf->styles == 0
                  && !ngx_http_ratecell_holds(limits[0])
                  && !ngx_http_ratecell_has_store(limits[0]->shm_zone);

    if (conf->styles && (conf->limits.nelts || conf->rules)) {
        rmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_ratecell_module);
        rmcf->headers = 1;
    }

    return NGX_CONF_OK;
}


/* A configuration that has no use for a handler has none. */

static ngx_int_t
ngx_http_ratecell_init(ngx_conf_t *cf)
{
    ngx_http_ratecell_main_conf_t  *rmcf;

    if (ngx_http_ratecell_resolve_limits(cf) != NGX_OK) {
        return NGX_ERROR;
    }

    rmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_ratecell_module);

    rmcf->clients = ngx_http_ratecell_make_clients(cf->pool, NULL);
    if (rmcf->clients == NULL) {
        return NGX_ERROR;
    }

    if (rmcf->limits.nelts
        && ngx_http_ratecell_add_handler(cf, NGX_HTTP_PREACCESS_PHASE,
                                         ngx_http_ratecell_handler)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    /* runs before the handler that is added before it */

    if (rmcf->rules.nelts
        && ngx_http_ratecell_add_handler(cf, NGX_HTTP_PREACCESS_PHASE,
                                         ngx_http_ratecell_rules_handler)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (rmcf->log
        && ngx_http_ratecell_add_handler(cf, NGX_HTTP_LOG_PHASE,
                                         ngx_http_ratecell_log_handler)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_ratecell_add_handler(ngx_conf_t *cf, ngx_uint_t phase,
    ngx_http_handler_pt handler)
{
    ngx_http_handler_pt        *h;
    ngx_http_core_main_conf_t  *cmcf;

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    h = ngx_array_push(&cmcf->phases[phase].handlers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    *h = handler;

    return NGX_OK;
}
