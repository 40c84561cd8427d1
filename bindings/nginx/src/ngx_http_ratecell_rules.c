
/*
 * The "ratecell_rules" directive: files of rules, each with its tables, and
 * what becomes of tables in memory at a reload.
 */


#include "ngx_http_ratecell.h"


static char *ngx_http_ratecell_rules_parameter(ngx_conf_t *cf,
    ngx_http_ratecell_rules_t *rules, ngx_str_t *value);
static ngx_http_ratecell_rules_t *ngx_http_ratecell_find_rules(
    ngx_http_ratecell_main_conf_t *rmcf, ngx_str_t *path);
static ngx_int_t ngx_http_ratecell_make_rules(ngx_conf_t *cf,
    ngx_http_ratecell_rules_t *rules);
static u_char *ngx_http_ratecell_read_rules(ngx_conf_t *cf, ngx_str_t *path,
    size_t *len);
static ngx_http_ratecell_rules_t *ngx_http_ratecell_earlier_rules(
    ngx_conf_t *cf, ngx_http_ratecell_rules_t *rules);
static void ngx_http_ratecell_free_rules(void *data);


char *
ngx_http_ratecell_rules_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_ratecell_conf_t  *rlcf = conf;

    char                            *rv;
    ngx_str_t                       *value;
    ngx_uint_t                       i;
    ngx_pool_cleanup_t              *cln;
    ngx_http_ratecell_rules_t       *rules, *same, **rulesp;
    ngx_http_ratecell_main_conf_t   *rmcf;

    if (rlcf->rules != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (cf->args->nelts == 2 && ngx_strcmp(value[1].data, "off") == 0) {
        rlcf->rules = NULL;
        return NGX_CONF_OK;
    }

    cln = ngx_pool_cleanup_add(cf->pool, sizeof(ngx_http_ratecell_rules_t));
    if (cln == NULL) {
        return NGX_CONF_ERROR;
    }

    rules = cln->data;
    ngx_memzero(rules, sizeof(ngx_http_ratecell_rules_t));

    cln->handler = ngx_http_ratecell_free_rules;

    rules->path = value[1];

    if (ngx_conf_full_name(cf->cycle, &rules->path, 1) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    for (i = 2; i < cf->args->nelts; i++) {
        rv = ngx_http_ratecell_rules_parameter(cf, rules, &value[i]);
        if (rv != NGX_CONF_OK) {
            return rv;
        }
    }

    if (rules->differing && rules->file.len == 0) {
        return "has \"follow\" or \"change\" without a file of its limits: "
               "expected file=path beside it";
    }

    rmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_ratecell_module);
    same = ngx_http_ratecell_find_rules(rmcf, &rules->path);

    if (same) {

        if (same->max_keys != rules->max_keys
            || same->when_full != rules->when_full
            || same->differing != rules->differing
            || same->file.len != rules->file.len
            || ngx_strncmp(same->file.data, rules->file.data, same->file.len)
               != 0)
        {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "\"%V\" has another \"max_keys\", "
                               "\"when_full\", \"file\", \"follow\" or "
                               "\"change\" than at its first use of file "
                               "\"%V\": expected the same", &cmd->name,
                               &rules->path);
            return NGX_CONF_ERROR;
        }

        rlcf->rules = same;
        return NGX_CONF_OK;
    }

    if (ngx_http_ratecell_make_rules(cf, rules) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    rulesp = ngx_array_push(&rmcf->rules);
    if (rulesp == NULL) {
        return NGX_CONF_ERROR;
    }

    *rulesp = rules;
    rlcf->rules = rules;

    return NGX_CONF_OK;
}


static char *
ngx_http_ratecell_rules_parameter(ngx_conf_t *cf,
    ngx_http_ratecell_rules_t *rules, ngx_str_t *value)
{
    ngx_str_t   text;
    ngx_uint_t  i;

    /* The library says why it refuses "share". */
    static ngx_conf_enum_t  choices[] = {
        { ngx_string("evict"), RATECELL_FULL_EVICT },
        { ngx_string("share"), RATECELL_FULL_SHARE },
        { ngx_string("deny"), RATECELL_FULL_DENY },
        { ngx_string("allow"), RATECELL_FULL_ALLOW },
        { ngx_null_string, 0 }
    };

    if (ngx_http_ratecell_parameter(value, "max_keys=", &text)) {
        return ngx_http_ratecell_units_parameter(cf, value, &text, 1,
                                                 &rules->max_keys, NULL);
    }

    if (ngx_http_ratecell_parameter(value, "when_full=", &text)) {

        for (i = 0; choices[i].name.len; i++) {

            if (ngx_strcmp(text.data, choices[i].name.data) == 0) {
                rules->when_full = choices[i].value;
                return NGX_CONF_OK;
            }
        }
    }

    if (ngx_http_ratecell_parameter(value, "file=", &text) && text.len) {

        rules->file = text;

        return ngx_conf_full_name(cf->cycle, &rules->file, 0) == NGX_OK
               ? NGX_CONF_OK : NGX_CONF_ERROR;
    }

    for (i = 0; i < 2; i++) {

        if (ngx_strcmp(value->data, i ? "change" : "follow") == 0) {

            if (rules->differing) {
                return "has two of \"follow\" and \"change\": expected one";
            }

            rules->differing = i ? RATECELL_CHANGE : RATECELL_FOLLOW;
            return NGX_CONF_OK;
        }
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid parameter \"%V\": expected max_keys=number, "
                       "when_full=evict, deny or allow, file=path, follow or "
                       "change", value);

    return NGX_CONF_ERROR;
}


static ngx_http_ratecell_rules_t *
ngx_http_ratecell_find_rules(ngx_http_ratecell_main_conf_t *rmcf,
    ngx_str_t *path)
{
    ngx_uint_t                   i;
    ngx_http_ratecell_rules_t  **rules;

    rules = rmcf->rules.elts;

    for (i = 0; i < rmcf->rules.nelts; i++) {

        if (rules[i]->path.len == path->len
            && ngx_strncmp(rules[i]->path.data, path->data, path->len) == 0)
        {
            return rules[i];
        }
    }

    return NULL;
}


/*
 * Runs in the master, before it forks: the tables are those of all workers.
 * After a reload the old workers go on with the old file and the same tables.
 */

static ngx_int_t
ngx_http_ratecell_make_rules(ngx_conf_t *cf, ngx_http_ratecell_rules_t *rules)
{
    size_t                      len;
    u_char                     *text;
    int32_t                     rc;
    ngx_http_ratecell_rules_t  *earlier;
    char                        why[NGX_HTTP_RATECELL_WHY_LEN];

    ratecell_config  config = RATECELL_CONFIG_INIT;

    why[0] = '\0';
    config.why = why;
    config.why_len = sizeof(why);

    earlier = ngx_http_ratecell_earlier_rules(cf, rules);

    if (earlier) {
        config.beside = earlier->rules;

    } else {
        config.max_keys = rules->max_keys;
        config.when_full = rules->when_full;
        config.flags = RATECELL_FORKED|RATECELL_RESERVATIONS;
    }

    text = ngx_http_ratecell_read_rules(cf, &rules->path, &len);
    if (text == NULL) {
        return NGX_ERROR;
    }

    if (rules->file.len) {
        rules->text.len = len;
        rules->text.data = ngx_pnalloc(cf->pool, len + 1);

        if (rules->text.data) {
            ngx_memcpy(rules->text.data, text, len);
        }

        ngx_free(text);

        return rules->text.data ? ngx_http_ratecell_open_rules(cf, rules)
                                : NGX_ERROR;
    }

    rc = ratecell_rules_new((char *) text, len, &config, &rules->rules);

    ngx_free(text);

    if (rc < 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid rules \"%V\": %s", &rules->path,
                           ngx_http_ratecell_why(rc, why));
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* The file's text, to be freed. */

static u_char *
ngx_http_ratecell_read_rules(ngx_conf_t *cf, ngx_str_t *path, size_t *len)
{
    u_char           *text;
    ssize_t           n;
    ngx_file_t        file;
    ngx_file_info_t   fi;

    text = NULL;

    ngx_memzero(&file, sizeof(ngx_file_t));

    file.name = *path;
    file.log = cf->log;

    /* do not wait for the writer of a FIFO */

    file.fd = ngx_open_file(path->data, NGX_FILE_RDONLY|NGX_FILE_NONBLOCK,
                            NGX_FILE_OPEN, 0);

    if (file.fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_open_file_n " \"%V\" failed", path);
        return NULL;
    }

    if (ngx_fd_info(file.fd, &fi) == NGX_FILE_ERROR) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_fd_info_n " \"%V\" failed", path);
        goto done;
    }

    if (!ngx_is_file(&fi)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" is not a file: expected a file of rules",
                           path);
        goto done;
    }

    *len = (size_t) ngx_file_size(&fi);

    text = ngx_alloc(*len + 1, cf->log);
    if (text == NULL) {
        goto done;
    }

    n = ngx_read_file(&file, text, *len, 0);

    if (n == NGX_ERROR || (size_t) n != *len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, n == NGX_ERROR ? ngx_errno : 0,
                           "\"%V\" cannot be read: expected %uz bytes, which "
                           "it had when it was opened", path, *len);
        ngx_free(text);
        text = NULL;
    }

done:

    if (ngx_close_file(file.fd) == NGX_FILE_ERROR) {
        ngx_conf_log_error(NGX_LOG_ALERT, cf, ngx_errno,
                           ngx_close_file_n " \"%V\" failed", path);
    }

    return text;
}


/*
 * The same file with the same parameters in the configuration that is in
 * force.
 */

static ngx_http_ratecell_rules_t *
ngx_http_ratecell_earlier_rules(ngx_conf_t *cf,
    ngx_http_ratecell_rules_t *rules)
{
    ngx_http_ratecell_rules_t      *earlier;
    ngx_http_ratecell_main_conf_t  *rmcf;

    rmcf = ngx_http_ratecell_earlier_conf(cf->cycle);

    if (rmcf == NULL) {
        return NULL;
    }

    earlier = ngx_http_ratecell_find_rules(rmcf, &rules->path);

    if (earlier && earlier->file.len == 0
        && earlier->max_keys == rules->max_keys
        && earlier->when_full == rules->when_full)
    {
        return earlier;
    }

    return NULL;
}


static void
ngx_http_ratecell_free_rules(void *data)
{
    ngx_http_ratecell_rules_t  *rules = data;

    ratecell_rules_free(rules->rules);
}
