#ifndef WEIR_TESTS_WIRE_HTTP1_TRACE_H
#define WEIR_TESTS_WIRE_HTTP1_TRACE_H

#include "base/assert.h"
#include "base/err.h"
#include "unit/wire/cuts.h"
#include "wire/http1.h"

/*
 * Writes down what an HTTP/1 reader reports, one line for each event:
 *
 *   GET /x 1.1 host=a keep length=3 | Host=a | Content-Length=3
 *   data abc
 *   end
 *   EBAD 400 / ELIMIT 413 / …, then eof: closed, cut or end
 */
struct http1_trace_options {
    enum weir_http1_role role;
    struct weir_http1_limits limits;
    bool is_no_body_expected;
};

struct http1_trace {
    struct weir_http1_reader reader;
    bool is_in_data;
    bool is_bad;
};

static inline void *http1_trace_begin(const void *options)
{
    const struct http1_trace_options *o = options;
    struct http1_trace *t = weir_mem_zalloc(sizeof *t);
    weir_http1_init(&t->reader, o->role, &o->limits);
    if (o->is_no_body_expected) {
        weir_http1_expect_no_body(&t->reader);
    }
    return t;
}

static inline void http1_trace_head(const struct weir_http1_reader *r, struct weir_buf *out)
{
    const struct weir_http1_head *h = &r->head;
    if (r->role == WEIR_HTTP1_REQUESTS) {
        weir_buf_printf(out, "%.*s %.*s 1.%d host=%.*s", (int)h->method.n, h->method.p,
                        (int)h->target.n, h->target.p, h->minor, (int)h->host.n,
                        h->host.n != 0 ? h->host.p : "");
    } else {
        weir_buf_printf(out, "%d 1.%d", h->status, h->minor);
    }
    weir_buf_printf(out, "%s%s%s%s", h->keep_alive ? " keep" : " close",
                    h->is_chunked ? " chunked" : "", h->expect_continue ? " expect" : "",
                    h->is_upgrade ? " upgrade" : "");
    if (h->has_length) {
        weir_buf_printf(out, " length=%llu", (unsigned long long)h->length);
    }
    for (size_t i = 0; i < h->n_headers; i++) {
        weir_buf_append(out, WEIR_SLICE(" | "));
        weir_buf_append(out, h->headers[i].name);
        weir_buf_append_byte(out, '=');
        weir_buf_append(out, h->headers[i].value);
    }
    weir_buf_append_byte(out, '\n');
}

static inline void http1_trace_event(struct http1_trace *t, int rc, enum weir_http1_event event,
                                     struct weir_buf *out)
{
    bool is_data = rc == 0 && event == WEIR_HTTP1_DATA;
    if (is_data) {
        WEIR_ASSERT(t->reader.data.n != 0);
        weir_buf_append(out, t->is_in_data ? WEIR_SLICE("") : WEIR_SLICE("data "));
        weir_buf_append(out, t->reader.data);
        t->is_in_data = true;
        return;
    }
    if (t->is_in_data) {
        weir_buf_append_byte(out, '\n');
        t->is_in_data = false;
    }
    if (rc != 0) {
        weir_buf_printf(out, "%s %d\n", weir_err_name(rc), t->reader.bad_status);
        WEIR_ASSERT(t->reader.bad_what != NULL && t->reader.bad_status >= 400);
        t->is_bad = true;
    } else if (event == WEIR_HTTP1_HEAD) {
        http1_trace_head(&t->reader, out);
    } else {
        weir_buf_append(out, WEIR_SLICE("end\n"));
    }
}

static inline void http1_trace_feed(void *self, struct weir_slice piece, struct weir_buf *out)
{
    struct http1_trace *t = self;
    while (!t->is_bad) {
        size_t used;
        enum weir_http1_event event;
        int rc = weir_http1_feed(&t->reader, piece, &used, &event);
        WEIR_ASSERT(used <= piece.n);
        if (rc == WEIR_EAGAIN) {
            WEIR_ASSERT(used == piece.n);
            return;
        }
        http1_trace_event(t, rc, event, out);
        piece = weir_slice_make(piece.p + used, piece.n - used);
    }
}

static inline void http1_trace_finish(void *self, struct weir_buf *out)
{
    struct http1_trace *t = self;
    if (!t->is_bad) {
        int rc = weir_http1_eof(&t->reader);
        if (rc == 0) {
            http1_trace_feed(t, WEIR_SLICE(""), out);
        } else if (t->is_in_data) {
            weir_buf_append_byte(out, '\n');
        }
        weir_buf_append(out, rc == WEIR_EBAD ? WEIR_SLICE("cut\n") : WEIR_SLICE("closed\n"));
    }
    weir_http1_dispose(&t->reader);
    free(t);
}

static const struct cuts_codec http1_trace_codec = {http1_trace_begin, http1_trace_feed,
                                                    http1_trace_finish};

#endif
