#ifndef WEIR_ROUTE_GENERATION_H
#define WEIR_ROUTE_GENERATION_H

#include "http/stream.h"
#include "task/gather.h"
#include "task/generation.h"
#include "wire/json.h"

/* Endpoints A (unary) and B (docs/api/endpoints.md): generation on TGIS or caikit-nlp with
 * detection. */
void weir_generation_begin_classification(void *env, struct weir_http_stream *s);
void weir_generation_begin_detection(void *env, struct weir_http_stream *s);

/* What a request of A asks for, unary or streamed. */
struct weir_generation_reading {
    struct weir_task_generation request;
    const struct weir_gather_strategy *strategy;
    /* What is wrong with it, where reading fails. */
    int status;
    const char *details;
    bool is_late; /* the members have the right types, but a value is wrong */
};

/* 0, or WEIR_EINVAL. Everything lives in the stream's arena. */
int weir_generation_read(struct weir_http_stream *s, const struct weir_json *body,
                         struct weir_generation_reading *out);

#endif
