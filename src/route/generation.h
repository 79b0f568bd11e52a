#ifndef WEIR_ROUTE_GENERATION_H
#define WEIR_ROUTE_GENERATION_H

#include "http/stream.h"

/* A (unary) and B of api.md: generation on TGIS or caikit-nlp with detection. */
void weir_generation_begin_classification(void *env, struct weir_http_stream *s);
void weir_generation_begin_detection(void *env, struct weir_http_stream *s);

#endif
