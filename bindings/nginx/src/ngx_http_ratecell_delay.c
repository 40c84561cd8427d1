
/*
 * A delayed request.  It has a timer of its own, so that the connection, which
 * it may share with a main request or other subrequests, goes on.
 */


#include "ngx_http_ratecell.h"


static void ngx_http_ratecell_wait(ngx_http_request_t *r);
static void ngx_http_ratecell_resume(ngx_event_t *ev);


ngx_int_t
ngx_http_ratecell_delay(ngx_http_request_t *r, ngx_event_t **timerp,
    ngx_msec_t delay)
{
    ngx_event_t       *timer;
    ngx_connection_t  *c;

    c = r->connection;

    timer = *timerp;

    if (timer == NULL) {
        timer = ngx_pcalloc(r->pool, sizeof(ngx_event_t));
        if (timer == NULL) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    timer->handler = ngx_http_ratecell_resume;
    timer->data = r;
    timer->log = c->log;

    *timerp = timer;

    /* a client that has gone ends the request */

    if (c->read->ready) {
        ngx_post_event(c->read, &ngx_posted_events);

    } else if (ngx_handle_read_event(c->read, 0) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->read_event_handler = ngx_http_test_reading;
    r->write_event_handler = ngx_http_ratecell_wait;

    ngx_add_timer(timer, delay);

    return NGX_AGAIN;
}


static void
ngx_http_ratecell_wait(ngx_http_request_t *r)
{
    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "ratecell delay");

    if (ngx_handle_write_event(r->connection->write, 0) != NGX_OK) {
        ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
}


static void
ngx_http_ratecell_resume(ngx_event_t *ev)
{
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    r = ev->data;
    c = r->connection;

    ngx_http_set_log_request(c->log, r);

    if (ngx_handle_read_event(c->read, 0) != NGX_OK) {
        ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);

    } else {
        r->read_event_handler = ngx_http_block_reading;
        r->write_event_handler = ngx_http_core_run_phases;

        ngx_http_core_run_phases(r);
    }

    ngx_http_run_posted_requests(c);
}
