#ifndef WEIR_ROUTE_REPLY_H
#define WEIR_ROUTE_REPLY_H

#include "base/buf.h"
#include "base/slice.h"
#include "client/fault.h"
#include "http/stream.h"
#include "obs/log.h"
#include "route/problem.h"

/*
 * Answers to callers. This is the one place that knows what an error looks like:
 *
 *   WEIR_REPLY_FMS     {"code":404,"details":"…"}
 *   WEIR_REPLY_OPENAI  {"error":{"message":"…","type":"…","param":null,"code":"…"}}, under /v1
 *   WEIR_REPLY_MESSAGES  {"type":"error","error":{"type":"…","message":"…"},"request_id":"…"},
 * under /v1/messages WEIR_REPLY_DETECTOR  {"code":404,"message":"…"}, where detectors are served
 */
enum weir_reply_shape {
    WEIR_REPLY_FMS,
    WEIR_REPLY_OPENAI,
    WEIR_REPLY_MESSAGES,
    WEIR_REPLY_DETECTOR,
};

/* Which shape a path's errors have. */
enum weir_reply_shape weir_reply_shape_of(struct weir_slice path);

/* Appends the body of an error. `details` may hold anything: it is escaped and cut at 2 KiB. */
void weir_reply_error_body(struct weir_buf *out, enum weir_reply_shape shape, int status,
                           struct weir_slice details);

/*
 * Answers with an error, in the shape of the request's path. A small request body that is still on
 * its way is read to its end first, so that the connection can be used again.
 */
void weir_reply_error(struct weir_http_stream *s, int status, struct weir_slice details);

/* The same with one more header field, which is copied. */
void weir_reply_error_with(struct weir_http_stream *s, int status, struct weir_slice details,
                           struct weir_http_field field);

/* At start: the metric of refusals for want of memory. */
void weir_reply_declare(void);

/* 503 and when to come again: the process, or this connection, holds all the memory it may. */
void weir_reply_full(struct weir_http_stream *s);

/* The same without waiting for the body: its end may be waiting for this answer. */
void weir_reply_error_at_once(struct weir_http_stream *s, int status, struct weir_slice details);

/* printf for the details. */
void weir_reply_errorf(struct weir_http_stream *s, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * What a caller learns of a failed service. Under /api the statuses 400, 404, 422 and 503 are
 * passed on with the service's own words; everything else is a 500 that says nothing, with the
 * cause in the log. With `compat: fms` a chunker that cannot be reached is a 503. On routes:
 * weir_problem_on_route.
 */
struct weir_problem weir_reply_problem_of(struct weir_http_stream *s,
                                          const struct weir_fault *fault);

/* Answers with it, as weir_reply_error does. */
void weir_reply_problem(struct weir_http_stream *s, const struct weir_problem *problem);

/* "invalid_request_error" and the like, as error events of streams under /api have it. */
const char *weir_reply_error_type(int status);

/* Logs a failed service in one line, with the cause that callers do not see: at information where
 * the caller's request was at fault, a warning where the service or we had too much to do. */
void weir_reply_log_fault(const struct weir_fault *fault, int status,
                          const struct weir_log_ctx *log);

/* Answers with what the caller may learn of the fault, and logs it. On routes a model server's
 * words are looked at first (route/fault_text.h). */
void weir_reply_fault(struct weir_http_stream *s, const struct weir_fault *fault);

/* 200 with a JSON body. */
void weir_reply_json(struct weir_http_stream *s, struct weir_slice body);

/* The same for a body in the stream's arena, however large: it is sent as the caller reads it. */
void weir_reply_answer(struct weir_http_stream *s, struct weir_slice body);

/* Likewise with any status and any content type, which may be empty. */
void weir_reply_bytes(struct weir_http_stream *s, int status, struct weir_slice content_type,
                      struct weir_slice body);

/* 200 with a body of another type. */
void weir_reply_text(struct weir_http_stream *s, struct weir_slice type, struct weir_slice body);

/* 204 with Allow, for OPTIONS. */
void weir_reply_allow(struct weir_http_stream *s, struct weir_slice allow);

#endif
