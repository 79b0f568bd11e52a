#ifndef WEIR_TESTS_WIRE_GRPC_TRACE_H
#define WEIR_TESTS_WIRE_GRPC_TRACE_H

#include "base/assert.h"
#include "base/err.h"
#include "unit/wire/cuts.h"
#include "wire/grpc.h"

/* Writes down what a message reader reports: <message>, an error, and how it ends. The options are
 * the limit, a size_t. */
static inline void *grpc_trace_begin(const void *options)
{
    struct weir_grpc_reader *r = weir_mem_zalloc(sizeof *r);
    weir_grpc_init(r, *(const size_t *)options);
    return r;
}

static inline void grpc_trace_feed(void *self, struct weir_slice piece, struct weir_buf *out)
{
    struct weir_grpc_reader *r = self;
    while (r->bad == 0) {
        size_t used;
        int rc = weir_grpc_feed(r, piece, &used);
        WEIR_ASSERT(used <= piece.n);
        if (rc == WEIR_EAGAIN) {
            WEIR_ASSERT(used == piece.n);
            return;
        }
        if (rc == 0) {
            WEIR_ASSERT(r->message.n <= r->max_message_bytes);
            weir_buf_append_byte(out, '<');
            weir_buf_append(out, r->message);
            weir_buf_append_byte(out, '>');
        } else {
            weir_buf_printf(out, "%s ", weir_err_name(rc));
            WEIR_ASSERT(rc == r->bad && weir_grpc_feed(r, piece, &used) == rc && used == 0);
        }
        piece = weir_slice_make(piece.p + used, piece.n - used);
    }
}

static inline void grpc_trace_finish(void *self, struct weir_buf *out)
{
    struct weir_grpc_reader *r = self;
    int rc = weir_grpc_finish(r);
    weir_buf_printf(out, "%s", weir_err_name(rc));
    WEIR_ASSERT(weir_grpc_finish(r) == rc);
    weir_grpc_dispose(r);
    weir_grpc_dispose(r);
    free(r);
}

static const struct cuts_codec grpc_trace_codec = {grpc_trace_begin, grpc_trace_feed,
                                                   grpc_trace_finish};

#endif
