#ifndef WEIR_ROUTE_ROWED_H
#define WEIR_ROUTE_ROWED_H

#include "http/stream.h"
#include "model/model.h"
#include "route/batching.h"
#include "route/env.h"
#include "route/fields.h"
#include "talk/walk.h"
#include "task/completion.h"

/*
 * Questions on a route whose answers are a row (task/rowed.h): Anthropic's Messages and OpenAI's
 * Responses are read alike.
 */
struct weir_rowed_kind {
    enum weir_model_op op;
    const struct weir_walk_dialect *walk;
    const struct weir_stream_dialect *stream;
    struct weir_fields_spec asked; /* the member that has the question, which is not empty */
    const char *max_tokens;        /* the member that limits the answer, where none is there */
    bool (*asks_json)(const struct weir_json *json);
};

struct weir_rowed_ask {
    struct weir_http_stream *s;
    const struct weir_guarded *guarded;
    struct weir_fields f;
    struct weir_task_completion request;
    struct weir_batching_request batching;
    bool is_stream;
};

/* NULL: refused, and answered. In the stream's arena. */
struct weir_rowed_ask *weir_rowed_ask_read(struct weir_http_stream *s, const struct weir_json *sent,
                                           const struct weir_rowed_kind *kind);

#endif
