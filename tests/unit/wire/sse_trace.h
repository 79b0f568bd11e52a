#ifndef WEIR_TESTS_WIRE_SSE_TRACE_H
#define WEIR_TESTS_WIRE_SSE_TRACE_H

#include "base/assert.h"
#include "base/err.h"
#include "unit/wire/cuts.h"
#include "wire/sse.h"

/*
 * Writes down what an event-stream reader reports, one line for each event:
 *
 *   name=delta data={"a":1} id=7 retry=10 raw=… / comment raw=…
 *   ELIMIT, then the end: closed or partial
 */
struct sse_trace_options {
    size_t max_event_bytes;
    bool wants_all;
};

struct sse_trace {
    struct weir_sse_reader reader;
    bool is_bad;
};

static inline void *sse_trace_begin(const void *options)
{
    const struct sse_trace_options *o = options;
    struct sse_trace *t = weir_mem_zalloc(sizeof *t);
    weir_sse_init(&t->reader, o->max_event_bytes);
    t->reader.wants_all = o->wants_all;
    return t;
}

static inline void sse_trace_event(const struct sse_trace *t, struct weir_buf *out)
{
    const struct weir_sse_event *e = &t->reader.event;
    WEIR_ASSERT(e->raw.n <= t->reader.max_event_bytes && e->data.n < e->raw.n);
    WEIR_ASSERT(e->has_data || t->reader.wants_all);
    WEIR_ASSERT(!e->is_comment || (!e->has_data && !e->has_id && !e->has_retry));
    if (e->name.n != 0) {
        weir_buf_append(out, WEIR_SLICE("name="));
        weir_buf_append(out, e->name);
        weir_buf_append_byte(out, ' ');
    }
    if (e->has_data) {
        weir_buf_append(out, WEIR_SLICE("data="));
        weir_buf_append(out, e->data);
        weir_buf_append_byte(out, ' ');
    }
    if (e->has_id) {
        weir_buf_append(out, WEIR_SLICE("id="));
        weir_buf_append(out, e->id);
        weir_buf_append_byte(out, ' ');
    }
    if (e->has_retry) {
        weir_buf_printf(out, "retry=%llu ", (unsigned long long)e->retry_ms);
    }
    weir_buf_append(out, e->is_comment ? WEIR_SLICE("comment raw=") : WEIR_SLICE("raw="));
    weir_buf_append(out, e->raw);
    weir_buf_append(out, WEIR_SLICE("|\n"));
}

static inline void sse_trace_feed(void *self, struct weir_slice piece, struct weir_buf *out)
{
    struct sse_trace *t = self;
    while (!t->is_bad) {
        size_t used;
        int rc = weir_sse_feed(&t->reader, piece, &used);
        WEIR_ASSERT(used <= piece.n);
        if (rc == WEIR_EAGAIN) {
            WEIR_ASSERT(used == piece.n);
            return;
        }
        if (rc == 0) {
            sse_trace_event(t, out);
        } else {
            weir_buf_printf(out, "%s\n", weir_err_name(rc));
            t->is_bad = true;
        }
        piece = weir_slice_make(piece.p + used, piece.n - used);
    }
}

static inline void sse_trace_finish(void *self, struct weir_buf *out)
{
    struct sse_trace *t = self;
    int rc = weir_sse_finish(&t->reader);
    if (rc == 0) {
        sse_trace_event(t, out);
        rc = weir_sse_finish(&t->reader);
        WEIR_ASSERT(rc == WEIR_ECLOSED);
    }
    weir_buf_append(out, rc == WEIR_EBAD ? WEIR_SLICE("partial\n") : WEIR_SLICE("closed\n"));
    weir_sse_dispose(&t->reader);
    free(t);
}

static const struct cuts_codec sse_trace_codec = {sse_trace_begin, sse_trace_feed,
                                                  sse_trace_finish};

#endif
