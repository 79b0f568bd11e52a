#include "route/unary.h"

#include "route/decode.h"
#include "route/env.h"
#include "route/headers.h"
#include "route/reply.h"

static void on_json(void *ctx, struct weir_http_stream *s, const struct weir_json *body)
{
    weir_unary_decode_fn decode = *(weir_unary_decode_fn *)ctx;
    decode(s, body);
}

void weir_unary_begin(struct weir_http_stream *s, weir_unary_decode_fn decode)
{
    const struct weir_conf_limits *limits = &weir_request_of(s)->env->conf->limits;
    struct weir_decode_limits decode_limits = {.max_body_bytes = limits->max_body_bytes,
                                               .max_json_depth = limits->max_json_depth,
                                               .max_json_nodes = limits->max_json_nodes};
    weir_unary_decode_fn *fn = weir_arena_alloc(&s->arena, sizeof *fn);
    *fn = decode;
    weir_decode_json_body(s, &decode_limits, on_json, fn);
}

void weir_unary_answer(void *ctx, const struct weir_task_answer *answer)
{
    struct weir_http_stream *s = ctx;
    weir_headers_set_model(s);
    if (answer->fault != NULL) {
        weir_reply_fault(s, answer->fault);
    } else {
        struct weir_buf told = {0};
        struct weir_slice body =
            weir_skips_tell(&weir_request_of(s)->task.skips, answer->body, &told);
        weir_headers_set_action(s);
        weir_reply_answer(s, told.n != 0 ? weir_arena_take_buf(&s->arena, &told) : body);
    }
}

void weir_unary_refuse(struct weir_http_stream *s, const struct weir_fields *f)
{
    weir_reply_error(s, 422, weir_slice_cstr(f->error));
}

void weir_unary_refuse_plan(struct weir_http_stream *s, const struct weir_plan_error *error)
{
    weir_reply_error(s, error->status, weir_slice_cstr(error->details));
}

void weir_unary_require(struct weir_http_stream *s, const char *name)
{
    weir_reply_errorf(s, 422, "`%s` is required", name);
}
