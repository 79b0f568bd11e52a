#ifndef WEIR_ROUTE_PROBLEM_H
#define WEIR_ROUTE_PROBLEM_H

#include "base/buf.h"
#include "client/fault.h"
#include "http/stream.h"

/*
 * What a caller learns of something that went wrong, and OpenAI's way to say it:
 *
 *   {"error":{"message":"…","type":"upstream_error","param":null,"code":"upstream_timeout"}}
 *
 * `type` says whose fault it is: `upstream_error`, `guardrail_error` (ours, our detectors'),
 * `invalid_request_error` and `authentication_error` (the caller's). `code` is the model server's
 * own, or a name of ours: docs/policies.md has the table.
 */
struct weir_problem {
    int status;
    struct weir_slice details; /* in the stream's arena */
    const char *type;          /* NULL: by the status */
    struct weir_slice code;    /* JSON; empty: by the status */
    struct weir_slice param;   /* JSON; empty: null */
    const struct weir_http_field *fields;
    size_t n_fields;
};

/* A fault on a route. */
struct weir_problem weir_problem_on_route(struct weir_http_stream *s,
                                          const struct weir_fault *fault);

/* Appends {"error":{…}}. The details may hold anything: they are escaped and cut at 2 KiB. */
void weir_problem_write(struct weir_buf *out, const struct weir_problem *problem);

/* Appends Anthropic's way to say it: {"type":"error","error":{"type":…,"message":…}}, and
 * `request_id` where there is one. */
void weir_problem_write_messages(struct weir_buf *out, const struct weir_problem *problem,
                                 struct weir_slice request_id);

#endif
