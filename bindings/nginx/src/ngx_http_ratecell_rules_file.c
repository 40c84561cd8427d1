
/*
 * Rules whose table is in a file, together with those of other programs.
 */


#include "ngx_http_ratecell.h"


static ngx_uint_t ngx_http_ratecell_had_file(
    ngx_http_ratecell_main_conf_t *earlier, ngx_str_t *file);


/*
 * Runs in the master, before it forks.  The configuration may still be refused:
 * a limit that a reload will change is followed until then.  A test does not
 * know whether a start or a reload comes, and takes what the latter takes.
 */

ngx_int_t
ngx_http_ratecell_open_rules(ngx_conf_t *cf, ngx_http_ratecell_rules_t *rules)
{
    int32_t                         rc;
    u_char                         *path;
    ngx_str_t                       opened;
    ratecell_config                 config = RATECELL_CONFIG_INIT;
    ngx_http_ratecell_main_conf_t  *earlier;
    u_char                          name[NGX_HTTP_RATECELL_TEST_LEN];
    char                            why[NGX_MAX_PATH
                                        + NGX_HTTP_RATECELL_WHY_LEN];

    earlier = ngx_http_ratecell_earlier_conf(cf->cycle);
    path = ngx_http_ratecell_path_to_open(&rules->file, name, sizeof(name));

    why[0] = '\0';
    config.why = why;
    config.why_len = sizeof(why);
    config.file = (char *) path;
    config.max_keys = rules->max_keys;
    config.when_full = rules->when_full;
    config.flags = RATECELL_RESERVATIONS;

    if (rules->differing || ngx_test_config
        || ngx_http_ratecell_had_file(earlier, &rules->file))
    {
        config.flags |= RATECELL_FOLLOW;
    }

    rc = ratecell_rules_new((char *) rules->text.data, rules->text.len,
                            &config, &rules->rules);

    if (path == name) {
        (void) ngx_delete_file(path);
    }

    if (rc == 0) {
        return NGX_OK;
    }

    opened.data = path;
    opened.len = ngx_strlen(path);

    if (rc == RATECELL_ERULES) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid rules \"%V\": %s", &rules->path,
                           ngx_http_ratecell_why(rc, why));

    } else {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "rules \"%V\" cannot use the file \"%V\": %s",
                           &rules->path, &rules->file,
                           ngx_http_ratecell_without_path(
                               ngx_http_ratecell_why(rc, why), &opened));
    }

    return NGX_ERROR;
}


static ngx_uint_t
ngx_http_ratecell_had_file(ngx_http_ratecell_main_conf_t *earlier,
    ngx_str_t *file)
{
    ngx_uint_t                   i;
    ngx_http_ratecell_rules_t  **rules;

    if (earlier == NULL) {
        return 0;
    }

    rules = earlier->rules.elts;

    for (i = 0; i < earlier->rules.nelts; i++) {

        if (rules[i]->file.len == file->len
            && ngx_strncmp(rules[i]->file.data, file->data, file->len) == 0)
        {
            return 1;
        }
    }

    return 0;
}


/*
 * Runs when nothing can refuse the configuration any more.  The workers of the
 * old one, and other programs, go on by the new limits of their own rules.
 */

void
ngx_http_ratecell_change_rules(ngx_cycle_t *cycle,
    ngx_http_ratecell_main_conf_t *rmcf,
    ngx_http_ratecell_main_conf_t *earlier)
{
    int32_t                      rc;
    ngx_uint_t                   i;
    ngx_http_ratecell_rules_t   *rules, **rulesp;
    char                         why[NGX_MAX_PATH + NGX_HTTP_RATECELL_WHY_LEN];

    rulesp = rmcf->rules.elts;

    for (i = 0; i < rmcf->rules.nelts; i++) {

        rules = rulesp[i];

        if (rules->file.len == 0 || rules->differing == RATECELL_FOLLOW
            || (rules->differing == 0
                && !ngx_http_ratecell_had_file(earlier, &rules->file)))
        {
            continue;
        }

        why[0] = '\0';

        rc = ratecell_rules_change(rules->rules, (char *) rules->text.data,
                                   rules->text.len, 0, 0, why, sizeof(why));
        if (rc < 0) {
            ngx_log_error(NGX_LOG_ERR, cycle->log, 0,
                          "rules \"%V\" cannot be put in force in the file "
                          "\"%V\", whose limits stay: %s",
                          &rules->path, &rules->file,
                          ngx_http_ratecell_why(rc, why));
        }
    }
}
