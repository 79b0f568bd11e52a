/*
 * One request to an OpenAI-compatible server. Handlers of the call record, `advance` decides.
 *
 *   OPENING ──200──► EVENTS ──[DONE]──► DRAINING ──► ENDED ──► on_done
 *      │                └── error event, end of the body ──────►│
 *      └─ other ──► REFUSED ── end of the body ────────────────►│
 *
 * A whole answer goes from OPENING to ENDED. Between `[DONE]` and the end of the body lie usually a
 * few bytes and less than a millisecond: they are waited for, a moment and no longer, because a
 * connection whose answer was read to its end can be used again.
 */
#include "model/openai.h"

#include "base/err.h"
#include "base/mem.h"
#include "io/loop.h"
#include "model/openai_answer.h"
#include "wire/json_write.h"

#include <stdlib.h>

enum {
    DRAIN_MS = 100,
    MAX_REFUSAL_BYTES = 64 * 1024,
};

enum phase {
    OPENING,  /* no head yet; a whole answer is gathered by the call */
    EVENTS,   /* status 200: the body is a stream of events */
    REFUSED,  /* another status: the body is gathered for its message */
    DRAINING, /* [DONE] was read: the rest of the body is thrown away */
    ENDED,    /* nothing comes any more; `fault` tells whether it worked */
};

struct run {
    struct weir_model_run base;
    const struct weir_model_events *events;
    void *ctx;
    enum phase phase;
    bool is_stream;
    bool is_over; /* the call has ended: what `rest` and the reader hold is all there is */
    bool is_paused;
    bool is_in_event;
    bool is_reported;
    bool has_bytes; /* of a streamed body */
    bool has_event; /* in them, [DONE] included */
    bool is_freed;  /* from inside an event: destroyed when it has returned */
    struct weir_sse_reader reader;
    struct weir_loop *loop;
    struct weir_call_times *times; /* NULL: nobody asks */
    enum weir_model_op op;
    int status;
    const struct weir_http_field *fields; /* of the answer's head, until the call ends */
    size_t n_fields;
    bool has_callers_key; /* it was the caller's own that went out */
    struct weir_slice model_id;

    struct weir_call *call;       /* NULL: over */
    struct weir_http_field *sent; /* fields of the request */
    size_t n_sent;
    struct weir_buf body; /* of a tokenizer's request; the others' bodies are borrowed */

    struct weir_buf rest; /* what came behind the event that made the owner pause */
    size_t rest_at;
    struct weir_buf refusal;
    struct weir_timer drain_timer;
    struct weir_post post; /* to go on after a resume, outside of it */

    struct weir_arena arena;  /* of the fault */
    struct weir_fault *fault; /* NULL: none */
    int end_err;              /* how the call ended, when is_over */
    const char *end_why;      /* in the arena */
};

static void destroy(struct run *r)
{
    weir_sse_dispose(&r->reader);
    weir_buf_dispose(&r->rest);
    weir_buf_dispose(&r->refusal);
    weir_buf_dispose(&r->body);
    free(r->sent);
    weir_arena_dispose(&r->arena);
    free(r);
}

/* Stops everything that could come back to the run. */
static void stop(struct run *r)
{
    if (r->call != NULL) {
        weir_call_cancel(r->call);
        r->call = NULL;
    }
    weir_loop_cancel(r->loop, &r->drain_timer);
    weir_loop_unpost(&r->post);
}

/* Notes a fault: the rest of the answer is ignored. `why` lives in the arena or is static.
 * `advance` ends the call, not this, because its bytes may still be in use. */
static void fail(struct run *r, int err, const char *why)
{
    r->phase = ENDED;
    r->fault = weir_arena_alloc(&r->arena, sizeof *r->fault);
    *r->fault = (struct weir_fault){.origin = weir_model_origin(r->op),
                                    .id = r->model_id,
                                    .err = err,
                                    .why = weir_slice_cstr(why)};
}

/* In seconds; a date, or longer than anybody waits: 0. */
static uint64_t retry_after_ms(const struct run *r)
{
    enum { MAX_SECONDS = 3600 };
    uint64_t seconds;
    struct weir_slice ms =
        weir_http_field_get(r->fields, r->n_fields, WEIR_SLICE("retry-after-ms"));
    struct weir_slice value =
        weir_http_field_get(r->fields, r->n_fields, WEIR_SLICE("retry-after"));
    if (ms.p != NULL && weir_slice_u64(ms, &seconds) == 0 && seconds <= MAX_SECONDS * 1000) {
        return seconds;
    }
    bool is_number = value.p != NULL && weir_slice_u64(value, &seconds) == 0;
    return is_number && seconds <= MAX_SECONDS ? seconds * 1000 : 0;
}

static void fail_with_status(struct run *r, int status, struct weir_slice body)
{
    fail(r, WEIR_EPEER, weir_arena_printf(&r->arena, "answered status %d", status));
    bool is_absent = status == 404 || status == 405 || status == 501;
    r->fault->status = r->op == WEIR_MODEL_TOKENIZE && is_absent ? 404 : status;
    r->fault->is_key_refused = status == 401 && !r->has_callers_key;
    weir_fault_take_fields(r->fault, &r->arena, r->fields, r->n_fields);
    r->fault->retry_after_ms = retry_after_ms(r);
    weir_openai_answer_message(r->fault, body, &r->arena);
}

static void emit(struct run *r, const struct weir_model_frame *frame)
{
    if (r->times != NULL) {
        r->times->last_ms = weir_loop_now_ms(r->loop);
        r->times->first_ms = r->times->first_ms != 0 ? r->times->first_ms : r->times->last_ms;
    }
    r->is_in_event = true;
    r->events->on_frame(r->ctx, frame);
    r->is_in_event = false;
}

static void report(struct run *r)
{
    r->is_reported = true;
    if (r->times != NULL && r->fault != NULL) {
        r->times->err = r->fault->err;
        r->times->status = r->fault->status;
    }
    r->is_in_event = true;
    r->events->on_done(r->ctx, r->fault);
    r->is_in_event = false;
    if (r->is_freed) {
        destroy(r);
    }
}

/* The last thing every entry does: the run may be gone afterwards. */
static void advance(struct run *r)
{
    if (r->is_freed) {
        destroy(r);
        return;
    }
    if (r->phase == ENDED) {
        stop(r);
    }
    if (r->phase == ENDED && !r->is_paused && !r->is_reported) {
        report(r);
    }
}

static void on_drain_timeout(struct weir_timer *t, void *ctx)
{
    struct run *r = ctx;
    (void)t;
    r->phase = ENDED;
    advance(r);
}

static void begin_draining(struct run *r)
{
    if (r->is_over) {
        r->phase = ENDED;
        return;
    }
    r->phase = DRAINING;
    weir_loop_after(r->loop, &r->drain_timer, DRAIN_MS);
}

/* Messages and Responses say their end in an event of its own, and some servers leave the
 * connection open. */
static bool is_last_event(const struct run *r, const struct weir_sse_event *e)
{
    if (r->is_freed) {
        return false;
    }
    if (r->op == WEIR_MODEL_MESSAGES) {
        return weir_slice_eq(e->name, WEIR_SLICE("message_stop"));
    }
    return r->op == WEIR_MODEL_RESPONSES &&
           (weir_slice_eq(e->name, WEIR_SLICE("response.completed")) ||
            weir_slice_eq(e->name, WEIR_SLICE("response.incomplete")) ||
            weir_slice_eq(e->name, WEIR_SLICE("response.failed")));
}

static void take_event(struct run *r, const struct weir_sse_event *e)
{
    r->has_event = true;
    if (weir_slice_eq_cstr(weir_slice_trim(e->data), "[DONE]")) {
        begin_draining(r);
        return;
    }
    struct weir_model_frame frame = {
        .json = e->data,
        .raw = e->raw,
        .sse_id = e->has_id ? e->id : (struct weir_slice){0},
        .is_error = weir_openai_answer_is_error(e),
    };
    if (frame.is_error) {
        fail(r, WEIR_EPEER, "an error in the stream");
        weir_openai_answer_event(r->fault, e->data, &r->arena);
    }
    emit(r, &frame);
    if (!frame.is_error && is_last_event(r, e)) {
        begin_draining(r);
    }
}

static bool wants_events(const struct run *r)
{
    return r->phase == EVENTS && !r->is_paused && !r->is_freed;
}

static void fail_too_large(struct run *r)
{
    fail(r, WEIR_ELIMIT,
         weir_arena_printf(&r->arena, "an event is larger than %zu bytes",
                           r->reader.max_event_bytes));
}

/* Returns how much was read: all of it, or up to where nobody wants more. */
static size_t read_events(struct run *r, struct weir_slice in)
{
    size_t at = 0;
    while (at < in.n && wants_events(r)) {
        size_t used;
        int rc = weir_sse_feed(&r->reader, weir_slice_sub(in, at, in.n), &used);
        at += used;
        if (rc == 0) {
            take_event(r, &r->reader.event);
        } else if (rc == WEIR_ELIMIT) {
            fail_too_large(r);
        }
    }
    return at;
}

/* Read as a stream, a login page, a compressed body or the answer of a server that does not know
 * `stream` has no events: nothing would have been said, and nobody would know why. */
static void end_events(struct run *r)
{
    if (r->has_bytes && !r->has_event) {
        fail(r, WEIR_EPEER, "the answer is not a stream of events");
    } else {
        r->phase = ENDED;
    }
}

/* The body is complete: an event may still be in the reader. One without its end is dropped, as the
 * format wants it. */
static void read_last_events(struct run *r)
{
    while (wants_events(r)) {
        if (weir_sse_finish(&r->reader) != 0) {
            end_events(r);
            return;
        }
        take_event(r, &r->reader.event);
    }
}

/* What lay behind the event that made the owner pause. */
static void read_rest(struct run *r)
{
    if (r->rest_at < r->rest.n) {
        struct weir_slice rest = weir_buf_slice(&r->rest);
        r->rest_at += read_events(r, weir_slice_sub(rest, r->rest_at, rest.n));
    }
    if (r->rest_at == r->rest.n || r->phase != EVENTS) {
        weir_buf_dispose(&r->rest);
        r->rest_at = 0;
    }
}

/* Reads on as far as the owner lets us. */
static void go_on(struct run *r)
{
    read_rest(r);
    if (r->rest.n != 0 || r->is_freed || r->phase == ENDED) {
        return;
    }
    if (!r->is_over) {
        if (!r->is_paused) {
            weir_call_resume(r->call);
        }
    } else if (r->end_err != 0) {
        fail(r, r->end_err, r->end_why);
    } else {
        read_last_events(r);
    }
}

static void on_resumed(struct weir_post *post)
{
    struct run *r = WEIR_LIST_ENTRY(post, struct run, post);
    if (!r->is_paused) {
        go_on(r);
    }
    advance(r);
}

static void on_head(void *ctx, int status, const struct weir_http_field *fields, size_t n_fields)
{
    struct run *r = ctx;
    r->fields = fields;
    r->n_fields = n_fields;
    r->status = status;
    r->phase = status == 200 ? EVENTS : REFUSED;
}

static void on_body(void *ctx, struct weir_slice bytes)
{
    struct run *r = ctx;
    if (r->phase == EVENTS) {
        r->has_bytes = r->has_bytes || bytes.n != 0;
        size_t at = read_events(r, bytes);
        /* Freed, the bytes may be gone with the call. */
        if (r->phase == EVENTS && !r->is_freed && at < bytes.n) {
            weir_buf_append(&r->rest, weir_slice_sub(bytes, at, bytes.n));
        }
    } else if (r->phase == REFUSED && weir_buf_append(&r->refusal, bytes) != 0) {
        fail_with_status(r, r->status, WEIR_SLICE(""));
    }
    advance(r);
}

static void on_stream_done(void *ctx, const struct weir_call_result *result)
{
    struct run *r = ctx;
    r->call = NULL;
    r->is_over = true;
    r->end_err = result->err;
    r->end_why = "no answer";
    if (r->end_err != 0) {
        r->end_why = weir_arena_dup(&r->arena, weir_slice_cstr(result->why)).p;
    }
    if (r->phase == DRAINING) {
        r->phase = ENDED;
    } else if (r->phase == REFUSED && r->end_err == 0) {
        fail_with_status(r, r->status, weir_buf_slice(&r->refusal));
    } else if (r->phase == EVENTS) {
        go_on(r);
    } else {
        fail(r, r->end_err != 0 ? r->end_err : WEIR_EPEER, r->end_why);
        r->fault->is_unreached = result->is_unreached;
    }
    r->n_fields = 0;
    advance(r);
}

static void read_whole(struct run *r, struct weir_slice body)
{
    struct weir_model_frame frame = {.json = body};
    const char *why = NULL;
    if (r->op == WEIR_MODEL_TOKENIZE) {
        frame.json = (struct weir_slice){0};
        why = weir_openai_answer_count(body, &r->arena, &frame.n_tokens);
    } else {
        why = weir_openai_answer_check(body, &r->arena);
    }
    r->phase = ENDED;
    if (why != NULL) {
        fail(r, WEIR_EPEER, why);
        r->fault->has_begun = true;
    } else {
        emit(r, &frame);
    }
}

/* Compressed, its bytes would mean nothing without a header that does not go on. */
static bool is_encoded(const struct run *r)
{
    struct weir_slice encoding =
        weir_http_field_get(r->fields, r->n_fields, WEIR_SLICE("content-encoding"));
    return encoding.n != 0 && !weir_slice_eq_nocase(encoding, WEIR_SLICE("identity"));
}

/* Any status is an answer, but a 401 for a key that is not the caller's is our own trouble. */
static void forward_whole(struct run *r, int status, struct weir_slice body)
{
    struct weir_model_forwarded forwarded = {
        .status = status,
        .content_type = weir_http_field_get(r->fields, r->n_fields, WEIR_SLICE("content-type")),
        .body = body};
    if (status == 401 && !r->has_callers_key) {
        fail_with_status(r, status, body);
    } else if (is_encoded(r)) {
        fail(r, WEIR_EPEER, "the answer has a `content-encoding` nobody asked for");
        r->fault->has_begun = true;
    } else {
        r->phase = ENDED;
        emit(r, &(struct weir_model_frame){.forwarded = &forwarded});
    }
}

static void on_whole_done(void *ctx, const struct weir_call_result *result)
{
    struct run *r = ctx;
    r->call = NULL;
    if (result->err != 0) {
        fail(r, result->err, weir_arena_dup(&r->arena, weir_slice_cstr(result->why)).p);
        r->fault->is_unreached = result->is_unreached;
        r->fault->has_begun =
            result->has_head && (result->status == 200 || r->op == WEIR_MODEL_FORWARD);
    } else if (r->op == WEIR_MODEL_FORWARD) {
        r->fields = result->fields;
        r->n_fields = result->n_fields;
        forward_whole(r, result->status, result->body);
    } else if (result->status != 200) {
        r->fields = result->fields;
        r->n_fields = result->n_fields;
        fail_with_status(r, result->status, result->body);
    } else {
        read_whole(r, result->body);
    }
    r->n_fields = 0;
    advance(r);
}

static struct weir_slice path_of(enum weir_model_op op)
{
    switch (op) {
    case WEIR_MODEL_COMPLETION:
        return WEIR_SLICE("/v1/completions");
    case WEIR_MODEL_EMBEDDINGS:
        return WEIR_SLICE("/v1/embeddings");
    case WEIR_MODEL_RERANK:
        return WEIR_SLICE("/v1/rerank");
    case WEIR_MODEL_SCORE:
        return WEIR_SLICE("/v1/score");
    case WEIR_MODEL_MESSAGES:
        return WEIR_SLICE("/v1/messages");
    case WEIR_MODEL_COUNT:
        return WEIR_SLICE("/v1/messages/count_tokens");
    case WEIR_MODEL_RESPONSES:
    case WEIR_MODEL_STORED:
        return WEIR_SLICE("/v1/responses");
    case WEIR_MODEL_ITEM_COUNT:
        return WEIR_SLICE("/v1/responses/input_tokens");
    case WEIR_MODEL_MODELS:
        return WEIR_SLICE("/v1/models");
    case WEIR_MODEL_FORWARD:
        return WEIR_SLICE("/v1");
    case WEIR_MODEL_TOKENIZE:
        return WEIR_SLICE("/tokenize");
    default:
        return WEIR_SLICE("/v1/chat/completions");
    }
}

/* A path with its query, and what stands behind it with another: "/v1/responses?a=b", "/id?c=d". */
static struct weir_slice extend_path(struct weir_slice path, struct weir_slice tail,
                                     struct weir_arena *arena)
{
    size_t at = weir_slice_find(path, '?');
    size_t tail_at = weir_slice_find(tail, '?');
    struct weir_buf out = {0};
    weir_buf_append(&out, weir_slice_sub(path, 0, at));
    weir_buf_append(&out, weir_slice_sub(tail, 0, tail_at));
    weir_buf_append(&out, weir_slice_sub(path, at, path.n));
    if (tail_at < tail.n) {
        weir_buf_append_byte(&out, at < path.n ? '&' : '?');
        weir_buf_append(&out, weir_slice_sub(tail, tail_at + 1, tail.n));
    }
    return weir_arena_take_buf(arena, &out);
}

static void write_tokenize(struct run *r, struct weir_slice text)
{
    weir_buf_reserve(&r->body, text.n + r->model_id.n + 64);
    weir_buf_append(&r->body, WEIR_SLICE("{\"model\":"));
    weir_json_write_quoted(&r->body, r->model_id);
    weir_buf_append(&r->body, WEIR_SLICE(",\"prompt\":"));
    weir_json_write_quoted(&r->body, text);
    weir_buf_append(&r->body, WEIR_SLICE("}"));
}

static bool is_stream(const struct weir_model_request *request)
{
    return request->is_stream && weir_model_op_talks(request->op);
}

static void count_on(struct run *r, struct weir_account *account)
{
    r->reader.held.account = account;
    r->reader.joined.account = account;
    r->body.account = account;
    r->rest.account = account;
    r->refusal.account = account;
    r->arena.account = account;
}

/* The target's token wins over what callers send. */
static bool has_callers_key(const struct weir_target *target, const struct weir_model_way *way,
                            const struct weir_call_context *ctx)
{
    struct weir_slice name = WEIR_SLICE("authorization");
    if (way->keeps_credentials_back) {
        return way->has_callers_key;
    }
    return target->api_token.n == 0 && ctx != NULL &&
           weir_http_field_get(ctx->passthrough, ctx->n_passthrough, name).p != NULL;
}

/* A question of the caller's, or one more attempt at it. */
static void note_asked(struct run *r)
{
    struct weir_call_times *t = r->times;
    if (t == NULL) {
        return;
    }
    t->asked_ms = t->asked_ms != 0 ? t->asked_ms : weir_loop_now_ms(r->loop);
    t->is_stream = r->is_stream;
    t->err = 0;
    t->status = 0;
}

static struct run *new_run(const struct weir_model *m, const struct weir_model_env *env,
                           const struct weir_model_request *request)
{
    struct run *r = weir_mem_zalloc(sizeof *r);
    r->base.model = m;
    r->loop = env->loop;
    r->times = env->context != NULL ? env->context->model_times : NULL;
    r->op = request->op;
    r->is_stream = is_stream(request);
    r->model_id = request->model_id;
    r->post.fn = on_resumed;
    r->drain_timer.fn = on_drain_timeout;
    r->drain_timer.ctx = r;
    weir_sse_init(&r->reader, env->max_event_bytes);
    weir_buf_init(&r->refusal, MAX_REFUSAL_BYTES);
    count_on(r, weir_call_account(env->context));
    note_asked(r);
    if (r->op == WEIR_MODEL_TOKENIZE) {
        write_tokenize(r, request->text);
    }
    return r;
}

/* Anthropic's headers say which form of its API the caller speaks. */
static void add_callers(struct run *r, struct weir_slice name, struct weir_slice value)
{
    if (value.n != 0 && weir_http_field_get(r->sent, r->n_sent, name).p == NULL) {
        r->sent[r->n_sent++] = (struct weir_http_field){name, value};
    }
}

/* The request's header: what its way says, what the caller's dialect says, what the body is. */
static void write_head(struct run *r, const struct weir_model_way *way,
                       const struct weir_call_context *context, struct weir_slice content_type)
{
    enum { MAX_OWN = 3 };
    r->sent = weir_mem_alloc((way->n_fields + MAX_OWN) * sizeof *r->sent);
    for (size_t i = 0; i < way->n_fields; i++) {
        r->sent[r->n_sent++] = way->fields[i];
    }
    bool may_be_messages =
        r->op == WEIR_MODEL_MESSAGES || r->op == WEIR_MODEL_COUNT || r->op == WEIR_MODEL_FORWARD;
    if (context != NULL && may_be_messages) {
        add_callers(r, WEIR_SLICE("anthropic-version"), context->anthropic_version);
        add_callers(r, WEIR_SLICE("anthropic-beta"), context->anthropic_beta);
    }
    if (content_type.n != 0) {
        r->sent[r->n_sent++] = (struct weir_http_field){WEIR_SLICE("content-type"), content_type};
    }
}

/* The others' follows from the operation. */
static bool has_own_method(enum weir_model_op op)
{
    return op == WEIR_MODEL_STORED || op == WEIR_MODEL_FORWARD;
}

static struct weir_slice content_type_of(const struct weir_model_request *request, bool has_body)
{
    if (request->op == WEIR_MODEL_FORWARD) {
        return request->content_type;
    }
    return has_body ? WEIR_SLICE("application/json") : WEIR_SLICE("");
}

static struct weir_model_run *start(const struct weir_model *m, const struct weir_model_env *env,
                                    const struct weir_model_request *request,
                                    const struct weir_model_events *events, void *ctx)
{
    static const struct weir_call_events stream_events = {
        .on_head = on_head, .on_body = on_body, .on_done = on_stream_done};
    static const struct weir_call_events whole_events = {.on_done = on_whole_done};
    static const struct weir_model_way usual = {0};
    const struct weir_model_way *way = request->way != NULL ? request->way : &usual;
    struct run *r = new_run(m, env, request);
    r->events = events;
    r->ctx = ctx;
    bool has_body = r->op != WEIR_MODEL_MODELS && r->op != WEIR_MODEL_STORED;
    bool has_own_body = r->op == WEIR_MODEL_TOKENIZE;
    const struct weir_target *target = ((const struct weir_model_openai *)m)->target;
    r->has_callers_key = has_callers_key(target, way, env->context);
    write_head(r, way, env->context, content_type_of(request, has_body));
    weir_model_tell(env, request);
    struct weir_call_request call = {
        .target = target,
        .context = env->context,
        .method = has_body ? WEIR_SLICE("POST") : WEIR_SLICE("GET"),
        .path = way->path.p != NULL ? way->path : path_of(r->op),
        .fields = r->sent,
        .n_fields = r->n_sent,
        .answer = r->is_stream ? WEIR_CALL_STREAM : WEIR_CALL_WHOLE,
        .max_body_bytes = env->max_body_bytes,
        .keeps_status = env->context != NULL && env->context->keeps_model_status,
        .may_retry = !way->is_asked_once,
        .keeps_credentials_back = way->keeps_credentials_back,
        .first_byte_timeout_ms = way->first_byte_timeout_ms,
    };
    if (has_own_method(r->op)) {
        call.method = request->method;
        call.path = extend_path(call.path, request->tail, &r->arena);
    }
    if (has_body) {
        call.body = has_own_body ? weir_buf_slice(&r->body) : request->body;
    }
    r->call = weir_call_start(env->client, &call, r->is_stream ? &stream_events : &whole_events, r);
    return &r->base;
}

static void set_paused(struct weir_model_run *run, bool paused)
{
    struct run *r = (struct run *)run;
    if (!r->is_stream || r->is_paused == paused) {
        return;
    }
    r->is_paused = paused;
    if (!paused) {
        weir_loop_post(r->loop, &r->post);
    } else if (r->call != NULL && (r->phase == OPENING || r->phase == EVENTS)) {
        weir_call_pause(r->call);
    }
}

static void free_run(struct weir_model_run *run)
{
    struct run *r = (struct run *)run;
    stop(r);
    if (r->is_in_event) {
        r->is_freed = true;
    } else {
        destroy(r);
    }
}

static const struct weir_model_ops OPS = {
    .start = start,
    .set_paused = set_paused,
    .free = free_run,
};

void weir_model_openai_init(struct weir_model_openai *m, const struct weir_target *target)
{
    *m = (struct weir_model_openai){.base = {.ops = &OPS}, .target = target};
}
