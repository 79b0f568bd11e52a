#ifndef WEIR_ROUTE_FAULT_TEXT_H
#define WEIR_ROUTE_FAULT_TEXT_H

#include "client/fault.h"
#include "http/stream.h"

/*
 * A model server's error is text from a model server. On routes that block or redact, their output
 * detectors look at what a caller would be told of it, before it is told:
 *
 *   message        redact: findings replaced; block, or a finding without span: `[removed]`
 *   code, param    a finding: left out
 *   retry-after, x-ratelimit-…   likewise
 *
 * Where only detectors of whole conversations are there, they are shown all of it as one message,
 * and a finding removes it all. When a detector cannot answer, or none can be asked, all of it is
 * left out: the caller still learns the status.
 */
typedef void (*weir_fault_text_fn)(void *ctx, const struct weir_fault *fault);

/* Calls `done` once with the fault as it may be told, in the stream's arena: at once where there is
 * nothing to look at, otherwise later. */
void weir_fault_text_look(struct weir_http_stream *s, const struct weir_fault *fault,
                          weir_fault_text_fn done, void *ctx);

#endif
