
/*
 * A zone whose table is in a file.
 */


#include "ngx_http_ratecell.h"


static int32_t ngx_http_ratecell_open_table(ngx_http_ratecell_zone_t *zone,
    char *path, char *why, size_t len);
static uint64_t ngx_http_ratecell_keys_in(ngx_http_ratecell_zone_t *zone);


/*
 * A file knows keys by their values alone: where two variables happen to have
 * one value, they would share its state.
 */

ngx_int_t
ngx_http_ratecell_check_file(ngx_conf_t *cf, ngx_http_ratecell_zone_t *zone,
    ngx_array_t *zones)
{
    ngx_uint_t                  i;
    ngx_shm_zone_t            **shm_zone;
    ngx_http_ratecell_zone_t   *other;

    shm_zone = zones->elts;

    for (i = 0; i < zones->nelts; i++) {

        other = shm_zone[i]->data;

        if (other->file.len == zone->file.len
            && ngx_strcmp(other->file.data, zone->file.data) == 0
            && !ngx_http_ratecell_same_key(other, zone))
        {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "zones \"%V\" and \"%V\" have the file \"%V\" "
                               "and different keys, \"%V\" and \"%V\": "
                               "expected one key, or another file",
                               &other->name, &zone->name, &zone->file,
                               &other->key.value, &zone->key.value);
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/*
 * A test of the configuration leaves no file behind: its table would keep the
 * policy that was tested, and refuse another.  A file beside it, which the
 * caller removes at once, shows what the system refuses: then "name" is
 * returned.
 */

u_char *
ngx_http_ratecell_path_to_open(ngx_str_t *file, u_char *name, size_t len)
{
    ngx_file_info_t  fi;

    if (!ngx_test_config || ngx_file_info(file->data, &fi) != NGX_FILE_ERROR
        || ngx_errno != NGX_ENOENT)
    {
        return file->data;
    }

    (void) ngx_slprintf(name, name + len - 1, "%V.test.%P%Z", file, ngx_pid);
    name[len - 1] = '\0';

    return name;
}


ngx_int_t
ngx_http_ratecell_open_file(ngx_shm_zone_t *shm_zone)
{
    int32_t                    rc;
    u_char                    *path;
    ngx_str_t                  opened;
    ngx_http_ratecell_zone_t  *zone;
    u_char                     name[NGX_HTTP_RATECELL_TEST_LEN];
    char                       why[NGX_MAX_PATH + NGX_HTTP_RATECELL_WHY_LEN];

    zone = shm_zone->data;
    path = ngx_http_ratecell_path_to_open(&zone->file, name, sizeof(name));

    why[0] = '\0';

    rc = ngx_http_ratecell_open_table(zone, (char *) path, why, sizeof(why));

    if (path == name) {
        (void) ngx_delete_file(path);
    }

    if (rc == RATECELL_ESTORE
        || (rc == 0 && ngx_http_ratecell_leased(zone->limiter)))
    {
        ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                      "ratecell zone \"%V\" cannot use the file \"%V\": it "
                      "is one of leases, whose units many machines share; "
                      "expected \"store=NAME\" beside \"file\"",
                      &shm_zone->shm.name, &zone->file);
        return NGX_ERROR;
    }

    if (rc == 0) {
        return NGX_OK;
    }

    opened.data = path;
    opened.len = ngx_strlen(path);

    ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                  "ratecell zone \"%V\" cannot use the file \"%V\": %s",
                  &shm_zone->shm.name, &zone->file,
                  ngx_http_ratecell_without_path(
                      ngx_http_ratecell_why(rc, why), &opened));

    return NGX_ERROR;
}


/* The size counts when the file is made, here or by another program. */

static int32_t
ngx_http_ratecell_open_table(ngx_http_ratecell_zone_t *zone, char *path,
    char *why, size_t len)
{
    int32_t          rc;
    ratecell_config  config = RATECELL_CONFIG_INIT;

    config.max_keys = ngx_http_ratecell_keys_in(zone);
    config.flags = RATECELL_FOLLOW | (zone->names ? RATECELL_NAMES : 0);
    config.why = why;
    config.why_len = len;

    rc = ratecell_limiter_open(path, (char *) zone->policy.data, &config,
                               &zone->limiter);

    if (rc == RATECELL_EREGION_MAX_KEYS) {
        config.max_keys = 0;
        rc = ratecell_limiter_open(path, (char *) zone->policy.data, &config,
                                   &zone->limiter);
    }

    return rc == 0 ? ngx_http_ratecell_by_own_policy(zone, why, len) : rc;
}


/*
 * The zone's policy over the words of the one in force, which a reload changes
 * only when nothing refuses the configuration any more.
 */

int32_t
ngx_http_ratecell_by_own_policy(ngx_http_ratecell_zone_t *zone, char *why,
    size_t len)
{
    int32_t            rc;
    ratecell_config    config = RATECELL_CONFIG_INIT;
    ratecell_limiter  *own;

    config.why = why;
    config.why_len = len;

    rc = ratecell_limiter_with_policy(zone->limiter,
                                      (char *) zone->policy.data, &config,
                                      &own);
    ratecell_limiter_free(zone->limiter);
    zone->limiter = rc == 0 ? own : NULL;

    return rc;
}


/* The most keys whose table is no larger than the zone; at least one. */

static uint64_t
ngx_http_ratecell_keys_in(ngx_http_ratecell_zone_t *zone)
{
    size_t           size;
    uint64_t         fit, over;
    ratecell_config  config = RATECELL_CONFIG_INIT;

    /* a file has room for what is given back */

    config.flags = RATECELL_RESERVATIONS
                   | (zone->names ? RATECELL_NAMES : 0);

    fit = 1;
    over = zone->size;

    while (over - fit > 1) {

        config.max_keys = fit + (over - fit) / 2;
        size = ratecell_region_size((char *) zone->policy.data, &config);

        if (size != 0 && size <= zone->size) {
            fit = config.max_keys;

        } else {
            over = config.max_keys;
        }
    }

    return fit;
}


/* The library names the file that it was given, which may be the one beside. */

const char *
ngx_http_ratecell_without_path(const char *why, ngx_str_t *path)
{
    return (ngx_strncmp(why, path->data, path->len) == 0
            && ngx_strncmp(why + path->len, ": ", 2) == 0)
           ? why + path->len + 2 : why;
}
