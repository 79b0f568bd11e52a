#ifndef WEIR_TESTS_WIRE_NDJSON_TRACE_H
#define WEIR_TESTS_WIRE_NDJSON_TRACE_H

#include "base/assert.h"
#include "base/err.h"
#include "unit/wire/cuts.h"
#include "wire/ndjson.h"

/* Writes down what a line reader reports: <line>, or ELIMIT. The options are the limit, a size_t.
 */
struct ndjson_trace {
    struct weir_ndjson_reader reader;
    bool is_bad;
};

static inline void *ndjson_trace_begin(const void *options)
{
    struct ndjson_trace *t = weir_mem_zalloc(sizeof *t);
    weir_ndjson_init(&t->reader, *(const size_t *)options);
    return t;
}

static inline void ndjson_trace_line(const struct ndjson_trace *t, struct weir_buf *out)
{
    WEIR_ASSERT(t->reader.line.n != 0 && t->reader.line.n <= t->reader.max_line_bytes);
    weir_buf_append_byte(out, '<');
    weir_buf_append(out, t->reader.line);
    weir_buf_append_byte(out, '>');
}

static inline void ndjson_trace_feed(void *self, struct weir_slice piece, struct weir_buf *out)
{
    struct ndjson_trace *t = self;
    while (!t->is_bad) {
        size_t used;
        int rc = weir_ndjson_feed(&t->reader, piece, &used);
        WEIR_ASSERT(used <= piece.n);
        if (rc == WEIR_EAGAIN) {
            WEIR_ASSERT(used == piece.n);
            return;
        }
        if (rc == 0) {
            ndjson_trace_line(t, out);
        } else {
            weir_buf_printf(out, "%s", weir_err_name(rc));
            t->is_bad = true;
        }
        piece = weir_slice_make(piece.p + used, piece.n - used);
    }
}

static inline void ndjson_trace_finish(void *self, struct weir_buf *out)
{
    struct ndjson_trace *t = self;
    if (weir_ndjson_finish(&t->reader) == 0) {
        ndjson_trace_line(t, out);
        WEIR_ASSERT(weir_ndjson_finish(&t->reader) == WEIR_ECLOSED);
    }
    weir_ndjson_dispose(&t->reader);
    free(t);
}

static const struct cuts_codec ndjson_trace_codec = {ndjson_trace_begin, ndjson_trace_feed,
                                                     ndjson_trace_finish};

#endif
