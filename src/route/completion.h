#ifndef WEIR_ROUTE_COMPLETION_H
#define WEIR_ROUTE_COMPLETION_H

#include "http/stream.h"

/* H and I of api.md: completions whose callers choose the detectors. */
void weir_completion_begin_chat(void *env, struct weir_http_stream *s);
void weir_completion_begin_text(void *env, struct weir_http_stream *s);

/* Declares the counter of requests that pass unguarded (compat fms). Once, before any request. */
void weir_completion_declare(void);

#endif
