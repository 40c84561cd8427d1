
/*
 * Texts in the answers of "ratecell_stats".
 */


#include "ngx_http_ratecell.h"


/*
 * For JSON; and for Prometheus, whose labels are zones' names: of printable
 * ASCII both escape the same.  A byte that is not UTF-8 is written as a number.
 */

u_char *
ngx_http_ratecell_escape(u_char *p, u_char *last, ngx_str_t *text)
{
    u_char  *from, *to, *end;

    if (text->len > (size_t) (last - p) / NGX_HTTP_RATECELL_ESCAPED) {
        return p;
    }

    end = text->data + text->len;

    for (from = text->data; from < end; from = to) {

        to = from;

        if (*from < 0x80) {
            to++;
            p = (u_char *) ngx_escape_json(p, from, 1);

        } else if (ngx_utf8_decode(&to, end - from) <= 0x10ffff) {
            p = ngx_cpymem(p, from, to - from);

        } else {
            to = from + 1;
            p = ngx_sprintf(p, "\\u00%02xd", (ngx_uint_t) *from);
        }
    }

    return p;
}
