
/*
 * A zone whose table is in a file.
 */


#include "ngx_http_ratecell.h"


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


ngx_int_t
ngx_http_ratecell_open_file(ngx_shm_zone_t *shm_zone)
{
    int32_t                    rc;
    ngx_err_t                  err;
    char                       why[512];
    ratecell_config            config = RATECELL_CONFIG_INIT;
    ngx_http_ratecell_zone_t  *zone;

    zone = shm_zone->data;

    if (zone->shm == NULL && ngx_http_ratecell_alloc_shm(shm_zone) != NGX_OK) {
        return NGX_ERROR;
    }

    config.max_keys = ratecell_region_max_keys(zone->size,
                                               (char *) zone->policy.data);

    ngx_set_errno(0);

    rc = ratecell_limiter_open((char *) zone->file.data,
                               (char *) zone->policy.data, &config,
                               &zone->limiter);

    /* the size counts when the file is made, here or by another program */

    if (rc == RATECELL_EREGION_MAX_KEYS) {
        config.max_keys = 0;
        rc = ratecell_limiter_open((char *) zone->file.data,
                                   (char *) zone->policy.data, &config,
                                   &zone->limiter);
    }

    err = ngx_errno;

    if (rc == 0) {
        return NGX_OK;
    }

    if (ratecell_file_explain((char *) zone->file.data,
                              (char *) zone->policy.data, &config,
                              why, sizeof(why))
        <= 0)
    {
        (void) ngx_cpystrn((u_char *) why, (u_char *) ratecell_strerror(rc),
                           sizeof(why));
    }

    /*
     * what the system refused: by its number, unless it is said which
     * permission is missing; of a file half made nothing is to be read
     */

    if (rc == RATECELL_EFILE && err && ngx_strstr(why, "; expected") == NULL) {
        ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, err,
                      "ratecell zone \"%V\" cannot use the file \"%V\"",
                      &shm_zone->shm.name, &zone->file);
        return NGX_ERROR;
    }

    ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                  "ratecell zone \"%V\" cannot use the file \"%V\": %s",
                  &shm_zone->shm.name, &zone->file, why);

    return NGX_ERROR;
}
