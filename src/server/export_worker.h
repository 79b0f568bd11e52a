#ifndef WEIR_SERVER_EXPORT_WORKER_H
#define WEIR_SERVER_EXPORT_WORKER_H

#include "client/client.h"
#include "http/stream.h"
#include "io/loop.h"
#include "server/export_send.h"

#include <stdint.h>

/*
 * The spans of one worker: packed when they end, handed over when there are enough of them or the
 * oldest has waited send->delay_ms. Belongs to the worker's thread. No timer runs while there are
 * none.
 */
struct weir_export_worker;

/* `loop` is the worker's, `send` what weir_export_traces gave. */
struct weir_export_worker *weir_export_worker_new(struct weir_export_send *send,
                                                  struct weir_loop *loop);

/* The exchange `s` is over; its request has a trace, which is kept if it is sampled. */
void weir_export_worker_request(struct weir_export_worker *w, const struct weir_http_stream *s);

/* A weir_client_span_fn: a call is over. `ctx` is the struct weir_export_worker. */
void weir_export_worker_call(void *ctx, const struct weir_client_span *span);

/* Hands over what there is. */
void weir_export_worker_flush(struct weir_export_worker *w);

/* Not handed over any more: dropped. After the loop; NULL is fine. */
void weir_export_worker_free(struct weir_export_worker *w);

#endif
