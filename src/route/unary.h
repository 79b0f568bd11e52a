#ifndef WEIR_ROUTE_UNARY_H
#define WEIR_ROUTE_UNARY_H

#include "http/stream.h"
#include "route/fields.h"
#include "task/plan.h"
#include "task/task.h"
#include "wire/json.h"

/*
 * What the endpoints with one JSON body and one JSON answer have in common.
 */

/* Reads the body and calls `decode`; env is the request's environment. */
typedef void (*weir_unary_decode_fn)(struct weir_http_stream *s, const struct weir_json *body);
void weir_unary_begin(struct weir_http_stream *s, weir_unary_decode_fn decode);

/* A weir_task_done_fn whose ctx is the stream: answers with the task's body or its fault. */
void weir_unary_answer(void *ctx, const struct weir_task_answer *answer);

/* 422 with what the fields complain about. */
void weir_unary_refuse(struct weir_http_stream *s, const struct weir_fields *f);

/* Answers a plan's error. */
void weir_unary_refuse_plan(struct weir_http_stream *s, const struct weir_plan_error *error);

/* "`NAME` is required", where a required field is there but empty. */
void weir_unary_require(struct weir_http_stream *s, const char *name);

#endif
