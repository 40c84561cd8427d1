
/*
 * The configuration before this one.
 */


#include "ngx_http_ratecell.h"


/*
 * The main configuration that is in force until this one is.  It may have been
 * made without this module, and has then no place for it.
 */

ngx_http_ratecell_main_conf_t *
ngx_http_ratecell_earlier_conf(ngx_cycle_t *cycle)
{
    ngx_uint_t    i;
    ngx_cycle_t  *old;

    old = cycle->old_cycle;

    if (old == NULL || ngx_is_init_cycle(old)) {
        return NULL;
    }

    for (i = 0; i < old->modules_n; i++) {
        if (old->modules[i] == &ngx_http_ratecell_module) {
            return ngx_http_cycle_get_module_main_conf(old,
                                                     ngx_http_ratecell_module);
        }
    }

    return NULL;
}
