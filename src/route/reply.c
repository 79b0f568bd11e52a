#include "route/reply.h"

#include "base/err.h"
#include "base/utf8.h"
#include "obs/metric.h"
#include "route/env.h"
#include "route/fault_text.h"
#include "route/headers.h"
#include "wire/json_write.h"

#include <stdarg.h>
#include <stdio.h>

/* A body up to this long is read and thrown away rather than paid for with a new connection. */
enum { MAX_DISCARD_BYTES = 64 * 1024, MAX_DETAILS_BYTES = 2048 };

/* Of a path below a route, from `v1/` on. */
static enum weir_reply_shape shape_below(struct weir_slice below)
{
    bool is_messages = weir_slice_starts_with(below, WEIR_SLICE("v1/messages"));
    return is_messages ? WEIR_REPLY_MESSAGES : WEIR_REPLY_OPENAI;
}

enum weir_reply_shape weir_reply_shape_of(struct weir_slice path)
{
    if (weir_slice_starts_with(path, WEIR_SLICE("/v1/"))) {
        return shape_below(weir_slice_sub(path, 1, path.n));
    }
    if (weir_slice_eq(path, WEIR_SLICE("/api/v1/text/contents"))) {
        return WEIR_REPLY_DETECTOR;
    }
    if (path.n == 0 || path.p[0] != '/' || weir_slice_starts_with(path, WEIR_SLICE("/api/"))) {
        return WEIR_REPLY_FMS;
    }
    struct weir_slice rest = weir_slice_sub(path, 1, path.n);
    weir_slice_cut(&rest, '/');
    bool is_v1 = rest.p != NULL && weir_slice_starts_with(rest, WEIR_SLICE("v1/"));
    return is_v1 ? shape_below(rest) : WEIR_REPLY_FMS;
}

const char *weir_reply_error_type(int status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 429:
        return "rate_limit_error";
    default:
        return status < 500 ? "invalid_request_error" : "server_error";
    }
}

/* `request_id` may be empty: not known. */
static void write_body(struct weir_buf *out, enum weir_reply_shape shape,
                       const struct weir_problem *p, struct weir_slice request_id)
{
    if (shape == WEIR_REPLY_OPENAI) {
        weir_problem_write(out, p);
        return;
    }
    if (shape == WEIR_REPLY_MESSAGES) {
        weir_problem_write_messages(out, p, request_id);
        return;
    }
    struct weir_json_write w;
    struct weir_slice details =
        weir_slice_sub(p->details, 0, weir_utf8_floor(p->details, MAX_DETAILS_BYTES));
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("code"));
    weir_json_write_i64(&w, p->status);
    bool is_fms = shape == WEIR_REPLY_FMS;
    weir_json_write_key(&w, is_fms ? WEIR_SLICE("details") : WEIR_SLICE("message"));
    weir_json_write_string(&w, details);
    weir_json_write_end_object(&w);
}

void weir_reply_error_body(struct weir_buf *out, enum weir_reply_shape shape, int status,
                           struct weir_slice details)
{
    write_body(out, shape, &(struct weir_problem){.status = status, .details = details},
               WEIR_SLICE(""));
}

/* An answer that waits for the end of a body nobody wants. */
struct late_reply {
    int status;
    struct weir_slice body;
    struct weir_http_field *fields;
    size_t n_fields;
};

static void send_late(struct weir_http_stream *s)
{
    const struct late_reply *late = s->ctx;
    weir_http_stream_reply(s, late->status, late->fields, late->n_fields, late->body);
}

static void discard(struct weir_http_stream *s, struct weir_slice bytes)
{
    (void)bytes;
    if (s->body_bytes > MAX_DISCARD_BYTES) {
        send_late(s);
    }
}

static const struct weir_http_handler LATE_HANDLER = {
    .on_body = discard,
    .on_body_end = send_late,
};

static bool is_worth_waiting(const struct weir_http_stream *s)
{
    if (s->body_ended || weir_http_request_get(&s->req, WEIR_SLICE("expect")).p != NULL) {
        return false;
    }
    uint64_t known = s->req.has_length ? s->req.length - s->body_bytes : s->body_bytes;
    return known <= MAX_DISCARD_BYTES;
}

static void add_field(struct late_reply *late, struct weir_arena *arena,
                      const struct weir_http_field *field)
{
    late->fields[late->n_fields].name = weir_arena_dup(arena, field->name);
    late->fields[late->n_fields++].value = weir_arena_dup(arena, field->value);
}

static struct late_reply *make_error(struct weir_http_stream *s, const struct weir_problem *p)
{
    static const struct weir_http_field json = {{"content-type", 12}, {"application/json", 16}};
    struct weir_buf body = {0};
    write_body(&body, weir_reply_shape_of(s->req.path), p, weir_headers_said_id(s));
    struct late_reply *late = weir_arena_zalloc(&s->arena, sizeof *late);
    late->status = p->status;
    late->body = weir_arena_dup(&s->arena, weir_buf_slice(&body));
    late->fields = weir_arena_array(&s->arena, p->n_fields + 1, sizeof *late->fields);
    add_field(late, &s->arena, &json);
    for (size_t i = 0; i < p->n_fields; i++) {
        add_field(late, &s->arena, &p->fields[i]);
    }
    weir_buf_dispose(&body);
    return late;
}

void weir_reply_problem(struct weir_http_stream *s, const struct weir_problem *problem)
{
    struct late_reply *late = make_error(s, problem);
    s->ctx = late;
    if (is_worth_waiting(s)) {
        s->handler = &LATE_HANDLER;
        weir_http_stream_resume_body(s);
    } else {
        s->handler = NULL;
        send_late(s);
    }
}

void weir_reply_error_with(struct weir_http_stream *s, int status, struct weir_slice details,
                           struct weir_http_field field)
{
    weir_reply_problem(s, &(struct weir_problem){.status = status,
                                                 .details = details,
                                                 .fields = &field,
                                                 .n_fields = field.name.n != 0 ? 1 : 0});
}

static struct weir_metric_counter refused;

void weir_reply_declare(void)
{
    static const struct weir_metric_def REFUSED = {
        .name = "weir_held_refused_total",
        .help = "Requests answered 503 because of limits.max_held_bytes_total.",
        .type = WEIR_METRIC_COUNTER,
    };
    refused = weir_metric_counter(weir_metric_declare(&REFUSED), WEIR_METRIC_NO_LABELS);
}

void weir_reply_full(struct weir_http_stream *s)
{
    weir_metric_add(refused, 1);
    struct weir_http_field later = {WEIR_SLICE("retry-after"), WEIR_SLICE("1")};
    const char *why = weir_account_full_words(s->arena.account);
    weir_reply_error_with(s, 503, weir_slice_cstr(why), later);
}

void weir_reply_error_at_once(struct weir_http_stream *s, int status, struct weir_slice details)
{
    s->ctx = make_error(s, &(struct weir_problem){.status = status, .details = details});
    s->handler = NULL;
    send_late(s);
}

void weir_reply_error(struct weir_http_stream *s, int status, struct weir_slice details)
{
    weir_reply_error_with(s, status, details, (struct weir_http_field){{0}, {0}});
}

void weir_reply_errorf(struct weir_http_stream *s, int status, const char *fmt, ...)
{
    char text[MAX_DETAILS_BYTES + 8];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    weir_reply_error(s, status, weir_slice_cstr(text));
}

/* What the service answered, and one thing that the public orchestrator says for it. */
static int status_of(const struct weir_http_stream *s, const struct weir_fault *fault)
{
    bool is_lost_chunker = fault->origin == WEIR_FAULT_CHUNKER && fault->is_unreached;
    return is_lost_chunker && weir_request_of(s)->env->tasks.compat.is_fms ? 503 : fault->status;
}

static struct weir_problem problem_under_api(struct weir_http_stream *s,
                                             const struct weir_fault *fault)
{
    static const struct weir_http_field later = {{"retry-after", 11}, {"1", 1}};
    if (fault->origin == WEIR_FAULT_LIMIT || fault->origin == WEIR_FAULT_REQUEST) {
        return (struct weir_problem){.status = fault->status,
                                     .details = weir_arena_dup(&s->arena, fault->message)};
    }
    if (fault->err == WEIR_EFULL) {
        return (struct weir_problem){.status = 503,
                                     .details = weir_slice_cstr(weir_account_full_words(NULL)),
                                     .fields = &later,
                                     .n_fields = 1};
    }
    int status = status_of(s, fault);
    if (status != 400 && status != 404 && status != 422 && status != 503) {
        return (struct weir_problem){
            .status = 500,
            .details = WEIR_SLICE("unexpected error occurred while processing request")};
    }
    struct weir_slice words = fault->message;
    if (words.n == 0) {
        words = weir_slice_cstr(weir_http_reason(status));
    }
    const char *details = weir_arena_printf(&s->arena, "%s request failed for `%.*s`: %.*s",
                                            weir_fault_origin_name(fault->origin), (int)fault->id.n,
                                            fault->id.p, (int)words.n, words.p);
    return (struct weir_problem){.status = status, .details = weir_slice_cstr(details)};
}

struct weir_problem weir_reply_problem_of(struct weir_http_stream *s,
                                          const struct weir_fault *fault)
{
    bool is_route = weir_request_of(s)->guarded != NULL;
    return is_route ? weir_problem_on_route(s, fault) : problem_under_api(s, fault);
}

/* Who reads the log looks for what is broken: a caller's mistake is not. */
static enum weir_log_level level_of(const struct weir_fault *fault, int status)
{
    if (fault->err == WEIR_EFULL || fault->err == WEIR_EBUSY || fault->status == 429) {
        return WEIR_LOG_LEVEL_WARN;
    }
    bool is_callers = fault->status == status && status < 500;
    return is_callers ? WEIR_LOG_LEVEL_INFO : WEIR_LOG_LEVEL_ERROR;
}

void weir_reply_log_fault(const struct weir_fault *fault, int status,
                          const struct weir_log_ctx *log)
{
    WEIR_LOG(level_of(fault, status), "route", log, "service failed",
             weir_log_cstr("kind", weir_fault_origin_name(fault->origin)),
             weir_log_str("id", fault->id), weir_log_err("error", fault->err),
             weir_log_i64("service_status", fault->status), weir_log_str("why", fault->why),
             weir_log_i64("status", status));
}

static void tell_fault(void *ctx, const struct weir_fault *fault)
{
    struct weir_http_stream *s = ctx;
    struct weir_problem problem = weir_reply_problem_of(s, fault);
    weir_headers_set_model(s);
    if (fault->origin != WEIR_FAULT_REQUEST) { /* a caller's mistake is no failure of ours */
        weir_reply_log_fault(fault, problem.status, &weir_request_of(s)->log);
    }
    weir_metric_add(refused, fault->err == WEIR_EFULL);
    weir_reply_problem(s, &problem);
}

void weir_reply_fault(struct weir_http_stream *s, const struct weir_fault *fault)
{
    weir_fault_text_look(s, fault, tell_fault, s);
}

void weir_reply_text(struct weir_http_stream *s, struct weir_slice type, struct weir_slice body)
{
    struct weir_http_field field = {WEIR_SLICE("content-type"), type};
    weir_http_stream_reply(s, 200, &field, 1, body);
}

void weir_reply_json(struct weir_http_stream *s, struct weir_slice body)
{
    weir_reply_text(s, WEIR_SLICE("application/json"), body);
}

/* ---- large answers ---- */

enum { PIECE_BYTES = 64 * 1024 };

struct large_reply {
    struct weir_http_stream *s;
    struct weir_slice rest;
    struct weir_post step; /* begins to send: what made the answer has used this turn */
};

static void send_more(struct weir_http_stream *s)
{
    struct weir_slice *rest = &((struct large_reply *)s->ctx)->rest;
    enum weir_flow flow = WEIR_FLOW_OK;
    while (rest->n != 0 && flow == WEIR_FLOW_OK) {
        size_t n = rest->n < PIECE_BYTES ? rest->n : PIECE_BYTES;
        flow = weir_http_stream_write(s, weir_slice_sub(*rest, 0, n));
        *rest = weir_slice_sub(*rest, n, rest->n);
    }
    if (rest->n == 0) {
        weir_http_stream_end(s);
    }
}

static const struct weir_http_handler LARGE_HANDLER = {.on_resume = send_more};

static void on_step(struct weir_post *step)
{
    send_more(WEIR_LIST_ENTRY(step, struct large_reply, step)->s);
}

static void unpost(void *ctx)
{
    weir_loop_unpost(ctx);
}

void weir_reply_bytes(struct weir_http_stream *s, int status, struct weir_slice content_type,
                      struct weir_slice body)
{
    struct weir_http_field type = {WEIR_SLICE("content-type"), content_type};
    struct weir_http_response head = {.status = status,
                                      .fields = &type,
                                      .n_fields = content_type.n != 0,
                                      .body = WEIR_HTTP_BODY_LENGTH,
                                      .length = body.n};
    if (body.n <= PIECE_BYTES) {
        weir_http_stream_reply(s, status, &type, head.n_fields, body);
        return;
    }
    struct large_reply *large = weir_arena_zalloc(&s->arena, sizeof *large);
    *large = (struct large_reply){.s = s, .rest = body, .step.fn = on_step};
    weir_arena_defer(&s->arena, unpost, &large->step);
    s->ctx = large;
    s->handler = &LARGE_HANDLER;
    weir_http_stream_respond(s, &head);
    weir_loop_step(s->loop, &large->step);
}

void weir_reply_answer(struct weir_http_stream *s, struct weir_slice body)
{
    weir_reply_bytes(s, 200, WEIR_SLICE("application/json"), body);
}

void weir_reply_allow(struct weir_http_stream *s, struct weir_slice allow)
{
    struct weir_http_field field = {WEIR_SLICE("allow"), allow};
    weir_http_stream_reply(s, 204, &field, 1, WEIR_SLICE(""));
}
