#ifndef WEIR_ROUTE_DETECTION_H
#define WEIR_ROUTE_DETECTION_H

#include "http/stream.h"

/* Endpoints C, E, F and G (docs/api/endpoints.md): detection without a model. */
void weir_detection_begin_content(void *env, struct weir_http_stream *s);
void weir_detection_begin_chat(void *env, struct weir_http_stream *s);
void weir_detection_begin_context(void *env, struct weir_http_stream *s);
void weir_detection_begin_generated(void *env, struct weir_http_stream *s);

#endif
