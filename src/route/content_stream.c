#include "route/content_stream.h"

#include "base/err.h"
#include "route/accept.h"
#include "route/aggregation.h"
#include "route/decode.h"
#include "route/env.h"
#include "route/fields.h"
#include "route/reply.h"
#include "route/stream_out.h"
#include "task/content_stream.h"
#include "wire/ndjson.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Of the room to read a line, for the next one. */
enum { KEEP_NODES = 1024, KEEP_BYTES = 16 * 1024 };

/* A request whose body is being read. */
struct reader {
    struct weir_http_stream *s;
    struct weir_stream_out *out;
    struct weir_content_stream *content; /* NULL before the first line */
    struct weir_plan plan;
    struct weir_ndjson_reader lines;
    struct weir_json_tape tape;
    struct weir_buf text;
    uint64_t n_lines;
};

/* What is complete has been sent; the error follows it. */
static void refuse(struct reader *r, int status, const char *details)
{
    if (r->content != NULL) {
        weir_content_stream_stop(r->content);
    }
    weir_stream_out_refuse(r->out, status, weir_slice_cstr(details));
}

static void refuse_json(struct reader *r, const struct weir_json_error *error)
{
    refuse(r, 422,
           weir_arena_printf(&r->s->arena, "line %llu is not JSON: %s at column %zu",
                             (unsigned long long)r->n_lines, error->what, error->column));
}

static struct weir_json_limits json_limits(const struct reader *r)
{
    const struct weir_conf_limits *limits = &weir_request_of(r->s)->env->conf->limits;
    return (struct weir_json_limits){.max_depth = limits->max_json_depth,
                                     .max_nodes = limits->max_json_nodes};
}

/* ---- lines ---- */

enum { DETECTORS, CONTENT, AGGREGATION, N_MEMBERS };

static int read_members(struct weir_fields *f, uint32_t *at)
{
    static const struct weir_fields_spec specs[] = {
        [DETECTORS] = {"detectors", WEIR_FIELDS_OBJECT, false},
        [CONTENT] = {"content", WEIR_FIELDS_STRING, true},
        [AGGREGATION] = {"aggregation", WEIR_FIELDS_STRING, false},
    };
    f->has_no_paths = true;
    return weir_fields_read(f, 0, "", specs, COUNT(specs), at);
}

static void set_paused(void *ctx, bool is_paused)
{
    struct reader *r = ctx;
    if (is_paused) {
        weir_http_stream_pause_body(r->s);
    } else {
        weir_http_stream_resume_body(r->s);
    }
}

/* NULL, or what is wrong with the first line. */
static const char *first_error(const struct weir_json *json, const uint32_t *at)
{
    if (at[DETECTORS] == WEIR_JSON_NONE) {
        return "`detectors` is required for the first message";
    }
    if (json->nodes[at[DETECTORS]].n == 0) {
        return "`detectors` must not be empty";
    }
    return json->nodes[at[CONTENT]].n == 0 ? "`content` cannot be empty" : NULL;
}

static void open_content(struct reader *r, const struct weir_json *json, const uint32_t *at,
                         const struct weir_gather_strategy *strategy)
{
    struct weir_task_ctx *task = &weir_request_of(r->s)->task;
    struct weir_plan_error error;
    if (weir_plan_read(&r->plan, task, json, at[DETECTORS], WEIR_PLAN_TYPE(WEIR_DETECT_CONTENTS),
                       &error) != 0 ||
        weir_plan_check_chunked(&r->plan, task, &error) != 0) {
        refuse(r, error.status, error.details);
        return;
    }
    r->content = weir_content_stream_new(
        task, &(struct weir_content_stream_options){.plan = &r->plan,
                                                    .strategy = strategy,
                                                    .out = &r->out->base,
                                                    .set_paused = set_paused,
                                                    .ctx = r});
}

/* It outlives the others: the plan borrows from it. */
static void take_first(struct reader *r, struct weir_slice line)
{
    struct weir_arena *arena = &r->s->arena;
    struct weir_json *json = weir_arena_alloc(arena, sizeof *json);
    struct weir_json_limits limits = json_limits(r);
    struct weir_json_error error;
    if (weir_json_parse(json, weir_arena_dup(arena, line), &limits, arena, &error) != 0) {
        refuse_json(r, &error);
        return;
    }
    struct weir_fields f = {.json = json, .arena = arena};
    const struct weir_gather_strategy *strategy = weir_request_of(r->s)->env->tasks.strategy;
    uint32_t at[N_MEMBERS];
    if (read_members(&f, at) != 0 ||
        weir_aggregation_read(&f, at[AGGREGATION], "aggregation", &strategy) != 0) {
        refuse(r, 422, f.error);
        return;
    }
    const char *why = first_error(json, at);
    if (why != NULL) {
        refuse(r, 422, why);
        return;
    }
    open_content(r, json, at, strategy);
    if (r->content != NULL) {
        weir_content_stream_push(r->content, weir_fields_string(&f, at[CONTENT]), line.n);
    }
}

/* NULL, or what is wrong with a line after the first. */
static const char *later_error(const struct reader *r, const struct weir_json *json,
                               const uint32_t *at)
{
    bool is_fms = weir_request_of(r->s)->env->tasks.compat.is_fms;
    if (at[DETECTORS] != WEIR_JSON_NONE && !is_fms) {
        return "`detectors` is only allowed in the first message";
    }
    if (at[AGGREGATION] != WEIR_JSON_NONE) {
        return "`aggregation` is only allowed in the first message";
    }
    return json->nodes[at[CONTENT]].n == 0 ? "`content` cannot be empty" : NULL;
}

static void take_later(struct reader *r, struct weir_slice line)
{
    struct weir_json_limits limits = json_limits(r);
    struct weir_json_error error;
    struct weir_arena scratch = {0};
    struct weir_json json;
    uint32_t at[N_MEMBERS];
    if (weir_json_parse_reuse(&json, line, &limits, &r->tape, &error) != 0) {
        refuse_json(r, &error);
        return;
    }
    struct weir_fields f = {.json = &json, .arena = &scratch};
    const char *why = read_members(&f, at) != 0 ? f.error : later_error(r, &json, at);
    if (why != NULL) {
        refuse(r, 422, why);
    } else {
        weir_buf_clear(&r->text);
        weir_json_string_append(&json, at[CONTENT], &r->text);
        weir_content_stream_push(r->content, weir_buf_slice(&r->text), line.n);
    }
    weir_arena_dispose(&scratch);
}

/* Gives back what one large line has made large. */
static void trim(struct reader *r)
{
    if (r->tape.cap > KEEP_NODES) {
        weir_json_tape_dispose(&r->tape);
    }
    if (r->text.cap > KEEP_BYTES) {
        weir_buf_dispose(&r->text);
    }
}

static void take_line(struct reader *r, struct weir_slice line)
{
    r->n_lines++;
    if (r->n_lines == 1) {
        take_first(r, line);
    } else {
        take_later(r, line);
    }
    trim(r);
}

/* ---- the body ---- */

static void on_body(struct weir_http_stream *s, struct weir_slice bytes)
{
    struct reader *r = s->ctx;
    int rc = 0;
    while (rc == 0 && !r->out->is_over) {
        size_t used;
        rc = weir_ndjson_feed(&r->lines, bytes, &used);
        bytes = weir_slice_sub(bytes, used, bytes.n);
        if (rc == 0) {
            take_line(r, r->lines.line);
        }
    }
    if (rc == WEIR_ELIMIT) {
        refuse(r, 413,
               weir_arena_printf(&s->arena,
                                 "line %llu is larger than %zu bytes: limits.max_event_bytes",
                                 (unsigned long long)r->n_lines + 1, r->lines.max_line_bytes));
    }
}

static void on_body_end(struct weir_http_stream *s)
{
    struct reader *r = s->ctx;
    if (!r->out->is_over && weir_ndjson_finish(&r->lines) == 0) {
        take_line(r, r->lines.line);
    }
    if (r->n_lines == 0) {
        refuse(r, 422, "`detectors` is required for the first message");
    } else if (!r->out->is_over && r->content != NULL) {
        weir_content_stream_end(r->content);
    }
}

static void on_resume(struct weir_http_stream *s)
{
    struct reader *r = s->ctx;
    weir_stream_out_resumed(r->out);
}

/* The answer has begun, or it is the first thing said: an error event, or 408. */
static void on_late(struct weir_http_stream *s)
{
    refuse(s->ctx, 408, "no more of the request body came in time: limits.idle_timeout");
}

static void on_gone(struct weir_http_stream *s, int err)
{
    struct reader *r = s->ctx;
    (void)err;
    weir_stream_out_gone(r->out);
}

static const struct weir_http_handler HANDLER = {
    .on_body = on_body,
    .on_body_end = on_body_end,
    .on_resume = on_resume,
    .on_late = on_late,
    .on_gone = on_gone,
};

/* ---- beginning ---- */

static void undo(void *ctx)
{
    struct reader *r = ctx;
    weir_ndjson_dispose(&r->lines);
    weir_json_tape_dispose(&r->tape);
    weir_buf_dispose(&r->text);
}

static bool wants_ndjson(const struct weir_http_stream *s, bool is_fms)
{
    bool is_ndjson = is_fms;
    weir_accept_chooses(&s->req, WEIR_SLICE("text/event-stream"),
                        WEIR_SLICE("application/x-ndjson"), &is_ndjson);
    return is_ndjson;
}

void weir_content_stream_begin(void *ctx, struct weir_http_stream *s)
{
    const struct weir_env *env = ctx;
    if (weir_decode_refuses_type(s, WEIR_SLICE("application/x-ndjson"))) {
        return;
    }
    struct weir_stream_out_options options = {
        .is_ndjson = wants_ndjson(s, env->tasks.compat.is_fms),
        .is_fms = env->tasks.compat.is_fms,
        .is_duplex = true,
        .heartbeat_ms = env->conf->streaming.heartbeat_ms,
    };
    struct reader *r = weir_arena_zalloc(&s->arena, sizeof *r);
    r->s = s;
    r->out = weir_stream_out_new(s, &options);
    weir_ndjson_init(&r->lines, env->tasks.max_event_bytes);
    r->lines.held.account = s->arena.account;
    r->text.account = s->arena.account;
    s->body_timeout_ms = 0; /* it lasts as long as the conversation */
    weir_arena_defer(&s->arena, undo, r);
    s->ctx = r;
    s->handler = &HANDLER;
}
