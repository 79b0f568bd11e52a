#ifndef WEIR_ROUTE_GENERATION_H
#define WEIR_ROUTE_GENERATION_H

#include "http/stream.h"

/* Endpoints A, whole and streamed (server-sent events, without [DONE]), and B: generation on TGIS
 * or caikit-nlp with detection (docs/api/endpoints.md). */
void weir_generation_begin_classification(void *env, struct weir_http_stream *s);
void weir_generation_begin_stream(void *env, struct weir_http_stream *s);
void weir_generation_begin_detection(void *env, struct weir_http_stream *s);

#endif
