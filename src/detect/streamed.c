#include "detect/streamed.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "detect/answer.h"
#include "detect/protocol_int.h"
#include "detect/remote.h"
#include "io/loop.h"
#include "wire/json_write.h"
#include "wire/ndjson.h"

#include <stdlib.h>

enum {
    LINE_BYTES = 64 * 1024,         /* of text in one line that is sent */
    ANSWER_BYTES = 4 * 1024 * 1024, /* of a line that comes back */
    ERROR_BYTES = 64 * 1024,
    HTTP_TOO_MANY = 429,
    HTTP_BROKEN = 500,
};

static const struct weir_http_field FIELDS[] = {
    {{"content-type", 12}, {"application/x-ndjson", 20}},
    {{"accept", 6}, {"application/x-ndjson", 20}},
};

struct weir_streamed {
    struct weir_streamed_options o;
    struct weir_call *call; /* NULL: not begun, or over */
    struct weir_arena arena;
    struct weir_fault fault;
    struct weir_ndjson_reader lines;
    struct weir_buf kept;  /* the text from mark_cp on */
    struct weir_buf line;  /* being written */
    struct weir_buf error; /* the body of an answer that is not 200 */
    size_t n_bytes;        /* that came back */
    size_t mark_cp;
    size_t sent_cp;
    int status;
    bool is_let_in; /* by the breaker, which waits to hear how it went */
    bool has_begun;
    bool has_end;
    bool is_full;
    bool is_done;
    struct weir_timer idle; /* while it owes an answer */
    struct weir_post post;  /* tells of a failure that was known at once */
};

static const struct weir_detect_streamed *detector_of(const struct weir_streamed *s)
{
    return (const struct weir_detect_streamed *)s->o.detector;
}

/* ---- the end ---- */

static void settle(struct weir_streamed *s, enum weir_breaker_outcome outcome)
{
    struct weir_breaker *b = detector_of(s)->breaker;
    if (s->is_let_in && b != NULL) {
        weir_breaker_settle(b, outcome, weir_loop_now_ms(s->o.env.loop));
    }
    s->is_let_in = false;
}

static void stop(struct weir_streamed *s)
{
    weir_loop_cancel(s->o.env.loop, &s->idle);
    if (s->call != NULL) {
        weir_call_cancel(s->call);
        s->call = NULL;
    }
    s->is_full = false;
}

static void fail(struct weir_streamed *s, int err, const char *why)
{
    stop(s);
    if (s->fault.origin == WEIR_FAULT_NONE) {
        s->fault.origin = WEIR_FAULT_DETECTOR;
        s->fault.id = s->o.detector->id;
        s->fault.err = err;
        s->fault.why = weir_slice_cstr(why);
    }
}

/* ---- answers ---- */

static void watch(struct weir_streamed *s)
{
    uint64_t idle_ms = detector_of(s)->idle_ms;
    bool owes = s->call != NULL && (s->mark_cp < s->sent_cp || s->has_end);
    if (owes && idle_ms != 0) {
        weir_loop_after(s->o.env.loop, &s->idle, idle_ms);
    } else {
        weir_loop_cancel(s->o.env.loop, &s->idle);
    }
}

static void on_idle(struct weir_timer *timer, void *ctx)
{
    struct weir_streamed *s = ctx;
    (void)timer;
    settle(s, WEIR_BREAKER_FAILED);
    fail(s, WEIR_ETIMEOUT, "it owes an answer and is silent");
    s->o.events->on_progress(s->o.ctx);
}

static void move_mark(struct weir_streamed *s, size_t mark_cp)
{
    struct weir_slice text = weir_buf_slice(&s->kept);
    weir_buf_consume(&s->kept, weir_utf8_byte_at(text, mark_cp - s->mark_cp));
    s->mark_cp = mark_cp;
}

/* False: it cannot be believed, or has failed. */
static bool take_line(struct weir_streamed *s, struct weir_slice bytes)
{
    struct weir_slice text = weir_buf_slice(&s->kept);
    struct weir_detect_input input = {.type = WEIR_DETECT_CONTENTS,
                                      .contents = &text,
                                      .n_contents = 1,
                                      .threshold = s->o.threshold};
    struct weir_arena arena = {.account = s->arena.account};
    struct weir_detect_line line = {.from_cp = s->mark_cp, .end_cp = s->sent_cp};
    int rc = weir_detect_answer_line(&line, bytes, &input, s->o.detector->id, &arena);
    if (rc == 0) {
        s->o.events->on_found(s->o.ctx, line.processed_cp, &line.found);
        move_mark(s, line.processed_cp);
    } else {
        bool is_broken = line.status >= HTTP_BROKEN || line.status == HTTP_TOO_MANY;
        settle(s, is_broken ? WEIR_BREAKER_FAILED : WEIR_BREAKER_WORKED);
        fail(s, WEIR_EPEER, weir_arena_dup(&s->arena, weir_slice_cstr(line.why)).p);
        s->fault.status = line.status;
    }
    weir_arena_dispose(&arena);
    return rc == 0;
}

static void on_head(void *ctx, int status, const struct weir_http_field *fields, size_t n_fields)
{
    struct weir_streamed *s = ctx;
    (void)fields;
    (void)n_fields;
    s->status = status;
}

static void on_body(void *ctx, struct weir_slice bytes)
{
    struct weir_streamed *s = ctx;
    int rc = 0;
    if (s->status != 200) {
        size_t room = ERROR_BYTES - s->error.n;
        weir_buf_append(&s->error, weir_slice_sub(bytes, 0, bytes.n < room ? bytes.n : room));
        return;
    }
    size_t before_cp = s->mark_cp;
    s->n_bytes += bytes.n;
    if (s->o.max_bytes != 0 && s->n_bytes > s->o.max_bytes) {
        settle(s, WEIR_BREAKER_WORKED);
        fail(s, WEIR_EPEER, "its answer is too long");
        rc = WEIR_EPEER;
    }
    while (rc == 0) {
        size_t used;
        rc = weir_ndjson_feed(&s->lines, bytes, &used);
        bytes = weir_slice_sub(bytes, used, bytes.n);
        if (rc == 0 && !take_line(s, s->lines.line)) {
            rc = WEIR_EPEER;
        }
    }
    if (rc == WEIR_ELIMIT) {
        settle(s, WEIR_BREAKER_WORKED);
        fail(s, WEIR_EPEER, "a line of its answer is too long");
    }
    if (s->mark_cp != before_cp) { /* who only talks does not get on */
        watch(s);
    }
    s->o.events->on_progress(s->o.ctx);
}

static void on_room(void *ctx)
{
    struct weir_streamed *s = ctx;
    s->is_full = false;
    s->o.events->on_progress(s->o.ctx);
}

static bool is_blank(struct weir_slice text)
{
    while (text.n != 0) {
        size_t n;
        if (!weir_utf8_is_space(weir_utf8_decode(text, &n))) {
            return false;
        }
        text = weir_slice_sub(text, n, text.n);
    }
    return true;
}

/* The answer is complete: has all been looked at? White space at the end may be left out. */
static void finish(struct weir_streamed *s)
{
    static const struct weir_detect_list nothing = {0};
    if (weir_ndjson_finish(&s->lines) == 0 && !take_line(s, s->lines.line)) {
        return;
    }
    settle(s, WEIR_BREAKER_WORKED);
    if (!s->has_end) {
        fail(s, WEIR_EPEER, "ended its answer before the text had ended");
    } else if (s->mark_cp < s->sent_cp && !is_blank(weir_buf_slice(&s->kept))) {
        fail(s, WEIR_EPEER, "ended its answer without having looked at all of the text");
    } else {
        s->is_done = true;
        if (s->mark_cp < s->sent_cp) {
            s->o.events->on_found(s->o.ctx, s->sent_cp, &nothing);
            move_mark(s, s->sent_cp);
        }
    }
}

static void on_done(void *ctx, const struct weir_call_result *result)
{
    struct weir_streamed *s = ctx;
    s->call = NULL;
    weir_loop_cancel(s->o.env.loop, &s->idle);
    if (result->err != 0) {
        bool is_ours = result->err == WEIR_EBUSY || result->err == WEIR_EFULL ||
                       result->err == WEIR_ELIMIT || result->err == WEIR_EINVAL;
        settle(s, is_ours ? WEIR_BREAKER_STOPPED : WEIR_BREAKER_FAILED);
        fail(s, result->err, weir_arena_dup(&s->arena, weir_slice_cstr(result->why)).p);
    } else if (s->status != 200) {
        bool is_broken = s->status >= HTTP_BROKEN || s->status == HTTP_TOO_MANY;
        settle(s, is_broken ? WEIR_BREAKER_FAILED : WEIR_BREAKER_WORKED);
        fail(s, WEIR_EPEER, weir_arena_printf(&s->arena, "answered status %d", s->status));
        weir_detect_answer_error(&s->fault, s->status, weir_buf_slice(&s->error), &s->arena);
    } else {
        finish(s);
    }
    s->is_full = false;
    s->o.events->on_progress(s->o.ctx);
}

static const struct weir_call_events EVENTS = {
    .on_head = on_head, .on_body = on_body, .on_room = on_room, .on_done = on_done};

/* ---- the text ---- */

static void on_post(struct weir_post *post)
{
    struct weir_streamed *s = WEIR_LIST_ENTRY(post, struct weir_streamed, post);
    s->o.events->on_progress(s->o.ctx);
}

static void begin(struct weir_streamed *s)
{
    const struct weir_detect_streamed *d = detector_of(s);
    struct weir_call_request request = {
        .target = d->target,
        .context = s->o.env.context,
        .method = WEIR_SLICE("POST"),
        .path = WEIR_SLICE("/api/v2/text/detection/stream-content"),
        .fields = FIELDS,
        .n_fields = sizeof FIELDS / sizeof FIELDS[0],
        .has_stream_body = true,
        .answer = WEIR_CALL_STREAM,
    };
    s->has_begun = true;
    s->is_let_in = d->breaker == NULL || weir_detect_let_in(d->breaker, &s->o.env);
    if (s->is_let_in) {
        s->call = weir_call_start(s->o.env.client, &request, &EVENTS, s);
    } else {
        fail(s, WEIR_EUNREACHABLE, "it rests after failures");
        weir_loop_post(s->o.env.loop, &s->post);
    }
}

/* Who is asked, and how: in the first line. */
static void write_detectors(struct weir_streamed *s, struct weir_json_write *w)
{
    const struct weir_detect_streamed *d = detector_of(s);
    struct weir_protocol_options options = {.params = d->params};
    struct weir_detect_input input = {.params = s->o.params};
    struct weir_arena arena = {0};
    struct weir_protocol_ask ask = {.options = &options, .input = &input, .arena = &arena};
    struct weir_protocol_body body;
    struct weir_buf params = {0};
    weir_protocol__begin(&body, &ask, &params);
    weir_protocol__key(&body, "threshold");
    weir_json_write_f64(&body.w, s->o.threshold);
    weir_protocol__end(&body);
    weir_json_write_key(w, WEIR_SLICE("detectors"));
    weir_json_write_begin_object(w);
    weir_json_write_key(w, d->name);
    weir_json_write_raw(w, weir_buf_slice(&params));
    weir_json_write_end_object(w);
    weir_json_write_key(w, WEIR_SLICE("aggregation"));
    weir_json_write_string(w, WEIR_SLICE("aligned"));
    weir_buf_dispose(&params);
    weir_arena_dispose(&arena);
}

static void send_line(struct weir_streamed *s, struct weir_slice text)
{
    struct weir_json_write w;
    weir_buf_clear(&s->line);
    weir_json_write_init(&w, &s->line);
    weir_json_write_begin_object(&w);
    if (s->sent_cp == 0) {
        write_detectors(s, &w);
    }
    weir_json_write_key(&w, WEIR_SLICE("content"));
    weir_json_write_string(&w, text);
    weir_json_write_end_object(&w);
    weir_buf_append_byte(&s->line, '\n');
    s->sent_cp += weir_utf8_count(text);
    s->is_full = weir_call_write(s->call, weir_buf_slice(&s->line)) == WEIR_FLOW_FULL;
}

enum weir_flow weir_streamed_push(struct weir_streamed *s, struct weir_slice text)
{
    WEIR_ASSERT(!s->has_end);
    bool owed = s->mark_cp < s->sent_cp;
    if (text.n != 0 && !s->has_begun) {
        begin(s);
    }
    while (text.n != 0 && s->call != NULL) {
        size_t n = text.n > LINE_BYTES ? weir_utf8_floor(text, LINE_BYTES) : text.n;
        weir_buf_append(&s->kept, weir_slice_sub(text, 0, n));
        send_line(s, weir_slice_sub(text, 0, n));
        text = weir_slice_sub(text, n, text.n);
    }
    if (!owed) {
        if (!weir_timer_is_armed(&s->idle)) { /* more text is no answer to what came before */
            watch(s);
        }
    }
    return s->is_full ? WEIR_FLOW_FULL : WEIR_FLOW_OK;
}

void weir_streamed_end(struct weir_streamed *s)
{
    WEIR_ASSERT(!s->has_end);
    s->has_end = true;
    s->is_done = !s->has_begun;
    if (s->call != NULL) {
        weir_call_end_body(s->call);
        watch(s);
    }
}

struct weir_streamed *weir_streamed_open(const struct weir_streamed_options *options)
{
    struct weir_streamed *s = weir_mem_zalloc(sizeof *s);
    struct weir_account *account = weir_call_account(options->env.context);
    s->o = *options;
    s->arena.account = account;
    s->kept.account = account;
    s->line.account = account;
    s->idle = (struct weir_timer){.fn = on_idle, .ctx = s};
    s->post.fn = on_post;
    weir_ndjson_init(&s->lines, ANSWER_BYTES);
    return s;
}

void weir_streamed_free(struct weir_streamed *s)
{
    if (s == NULL) {
        return;
    }
    stop(s);
    settle(s, WEIR_BREAKER_STOPPED);
    weir_loop_unpost(&s->post);
    weir_ndjson_dispose(&s->lines);
    weir_buf_dispose(&s->kept);
    weir_buf_dispose(&s->line);
    weir_buf_dispose(&s->error);
    weir_arena_dispose(&s->arena);
    free(s);
}

bool weir_streamed_is_full(const struct weir_streamed *s)
{
    return s->is_full;
}

bool weir_streamed_is_done(const struct weir_streamed *s)
{
    return s->is_done;
}

const struct weir_fault *weir_streamed_fault(const struct weir_streamed *s)
{
    return s->fault.origin != WEIR_FAULT_NONE ? &s->fault : NULL;
}

/* ---- whole texts ---- */

struct whole_call {
    struct weir_detect_call base;
    struct weir_detect_env env;
    struct weir_detect_input input;
    struct weir_arena arena;
    struct weir_detect_list *lists;
    size_t at;                 /* the text being asked about … */
    struct weir_streamed *one; /* … by this */
    struct weir_buf found;     /* struct weir_detection: of it */
    struct weir_post post;
    struct weir_detect_waiter waiter;
};

static struct weir_slice keep(struct whole_call *c, struct weir_slice s)
{
    return s.n != 0 ? weir_arena_dup(&c->arena, s) : s;
}

static void on_whole_found(void *ctx, size_t mark_cp, const struct weir_detect_list *found)
{
    struct whole_call *c = ctx;
    (void)mark_cp;
    for (size_t i = 0; i < found->n; i++) {
        struct weir_detection d = found->items[i];
        d.text = keep(c, d.text);
        d.detection = keep(c, d.detection);
        d.detection_type = keep(c, d.detection_type);
        d.evidence = keep(c, d.evidence);
        d.metadata = keep(c, d.metadata);
        d.score_raw = keep(c, d.score_raw);
        weir_buf_append(&c->found, weir_slice_make((const char *)&d, sizeof d));
    }
}

static void ask_next(struct whole_call *c);

static void end_whole(struct whole_call *c)
{
    c->base.is_done = true;
    c->waiter.on_done(c->waiter.ctx, &c->base);
}

static void on_whole_progress(void *ctx)
{
    struct whole_call *c = ctx;
    const struct weir_fault *fault = weir_streamed_fault(c->one);
    if (fault != NULL) {
        c->base.fault = weir_fault_dup(&c->arena, fault);
        c->base.lists = NULL;
        c->base.n_lists = 0;
        end_whole(c);
    } else if (weir_streamed_is_done(c->one)) {
        size_t n = c->found.n / sizeof(struct weir_detection);
        if (n != 0) {
            void *items = weir_arena_alloc(&c->arena, c->found.n);
            memcpy(items, c->found.p, c->found.n);
            c->lists[c->at] = (struct weir_detect_list){items, n};
        }
        weir_buf_clear(&c->found);
        weir_streamed_free(c->one);
        c->one = NULL;
        c->at++;
        ask_next(c);
    }
}

static const struct weir_streamed_events WHOLE_EVENTS = {.on_found = on_whole_found,
                                                         .on_progress = on_whole_progress};

static void on_whole_post(struct weir_post *post)
{
    end_whole(WEIR_LIST_ENTRY(post, struct whole_call, post));
}

static void ask_next(struct whole_call *c)
{
    while (c->at < c->input.n_contents && c->input.contents[c->at].n == 0) {
        c->at++;
    }
    if (c->at == c->input.n_contents) { /* told later: this may be inside of start */
        weir_loop_post(c->env.loop, &c->post);
        return;
    }
    c->one = weir_streamed_open(&(struct weir_streamed_options){.detector = c->base.detector,
                                                                .env = c->env,
                                                                .params = c->input.params,
                                                                .threshold = c->input.threshold,
                                                                .max_bytes = c->env.max_body_bytes,
                                                                .events = &WHOLE_EVENTS,
                                                                .ctx = c});
    weir_streamed_push(c->one, c->input.contents[c->at]);
    weir_streamed_end(c->one);
}

static struct weir_detect_call *start(const struct weir_detector *d,
                                      const struct weir_detect_env *env,
                                      const struct weir_detect_input *input,
                                      weir_detect_done_fn on_done_fn, void *ctx)
{
    struct whole_call *c = weir_mem_zalloc(sizeof *c);
    c->base.detector = d;
    c->env = *env;
    c->input = *input;
    c->arena.account = weir_call_account(env->context);
    c->found.account = c->arena.account;
    c->lists = weir_arena_array(&c->arena, input->n_contents, sizeof *c->lists);
    c->base.lists = c->lists;
    c->base.n_lists = input->n_contents;
    c->post.fn = on_whole_post;
    c->waiter = (struct weir_detect_waiter){on_done_fn, ctx};
    ask_next(c);
    return &c->base;
}

static void free_call(struct weir_detect_call *call)
{
    struct whole_call *c = (struct whole_call *)call;
    weir_loop_unpost(&c->post);
    weir_streamed_free(c->one);
    weir_buf_dispose(&c->found);
    weir_arena_dispose(&c->arena);
    free(c);
}

static const struct weir_detect_ops OPS = {.start = start, .free = free_call};

void weir_detect_streamed_init(struct weir_detect_streamed *d, struct weir_slice id,
                               const struct weir_target *target)
{
    *d = (struct weir_detect_streamed){
        .base = {.ops = &OPS, .id = id, .type = WEIR_DETECT_CONTENTS},
        .target = target,
        .name = id,
    };
}

bool weir_streamed_is(const struct weir_detector *d)
{
    return d->ops == &OPS;
}
