/*
 * One question to a detector: its texts in one request or in several, each built once, sent whole,
 * and what comes back is either believed to the last byte or a fault.
 *
 *   start ─► piece ─► POST ─┬─ no answer ──────────► fault: the call's error
 *        ├─ it rests ───────┼────────────────────────► fault: WEIR_EUNREACHABLE, in this turn
 *        │                  ├─ status not 200 ─────► fault: its code and message
 *        │                  ├─ 200 and nonsense ───► fault: WEIR_EPEER, why
 *        └─► piece ─► …     └─ 200 ────────────────► lists
 */
#include "detect/remote.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "io/loop.h"

#include <stdlib.h>

enum { MAX_PIECES_AT_ONCE = 4, HTTP_TOO_MANY = 429, HTTP_BROKEN = 500 };

struct piece {
    struct remote_call *all;
    struct weir_detect_input input; /* some of the call's texts */
    size_t from;                    /* the first of them */
    struct weir_buf body;           /* of the request, as long as it is under way */
    struct weir_http_field fields[1 + WEIR_PROTOCOL_MAX_FIELDS];
    struct weir_call *call; /* NULL: not begun, or over */
};

struct remote_call {
    struct weir_detect_call base;
    struct weir_detect_input input;
    struct weir_detect_env env;
    struct weir_arena arena; /* what the answers become */
    struct weir_detect_list *lists;
    struct piece *pieces;
    size_t n_pieces;
    size_t n_begun;
    size_t n_over;
    struct piece one; /* most calls are one request */
    bool is_let_in;   /* by the breaker, which waits to hear how it went */
    bool has_broken;  /* a request that counts there failed */
    struct weir_post refused;
    weir_detect_done_fn on_done;
    void *ctx;
};

static const struct weir_detect_remote *remote_of(const struct remote_call *c)
{
    return (const struct weir_detect_remote *)c->base.detector;
}

static void fail(struct remote_call *c, int err, const char *why)
{
    c->base.fault.origin = WEIR_FAULT_DETECTOR;
    c->base.fault.id = c->base.detector->id;
    c->base.fault.err = err;
    c->base.fault.why = weir_slice_cstr(why);
    c->base.lists = NULL;
    c->base.n_lists = 0;
}

static struct weir_protocol_ask ask_of(struct piece *p)
{
    struct remote_call *c = p->all;
    return (struct weir_protocol_ask){.options = &remote_of(c)->options,
                                      .input = &p->input,
                                      .id = c->base.detector->id,
                                      .arena = &c->arena};
}

static void read_answer(struct piece *p, struct weir_slice body)
{
    struct remote_call *c = p->all;
    struct weir_detect_answer answer;
    struct weir_protocol_ask ask = ask_of(p);
    int rc = weir_protocol_read(remote_of(c)->protocol, &answer, body, &ask);
    if (rc != 0) {
        fail(c, rc, answer.why);
    } else if (c->n_pieces == 1) {
        c->base.lists = answer.lists;
        c->base.n_lists = answer.n_lists;
    } else {
        WEIR_ASSERT(answer.n_lists == p->input.n_contents);
        memcpy(c->lists + p->from, answer.lists, answer.n_lists * sizeof *answer.lists);
    }
}

static void break_off(struct remote_call *c)
{
    for (size_t i = 0; i < c->n_begun; i++) {
        if (c->pieces[i].call != NULL) {
            weir_call_cancel(c->pieces[i].call);
            c->pieces[i].call = NULL;
        }
        weir_buf_dispose(&c->pieces[i].body);
    }
}

/* ---- the breaker ---- */

bool weir_detect_let_in(struct weir_breaker *b, const struct weir_detect_env *env)
{
    const struct weir_log_ctx *log = env->context != NULL ? env->context->log : NULL;
    uint64_t who = weir_breaker_who(log != NULL ? log->request_id : WEIR_SLICE(""));
    return weir_breaker_is_awake(b, who, weir_loop_now_ms(env->loop)) && weir_breaker_claim(b, who);
}

static bool let_in(struct remote_call *c)
{
    struct weir_breaker *b = remote_of(c)->breaker;
    c->is_let_in = b == NULL || weir_detect_let_in(b, &c->env);
    return c->is_let_in;
}

static void settle(struct remote_call *c, enum weir_breaker_outcome outcome)
{
    struct weir_breaker *b = remote_of(c)->breaker;
    if (c->is_let_in && b != NULL) {
        weir_breaker_settle(b, outcome, weir_loop_now_ms(c->env.loop));
    }
    c->is_let_in = false;
}

/* Limits and queues of our own say nothing about the service, nor do texts that it refuses. */
static bool is_broken(const struct weir_call_result *result)
{
    bool is_ours = result->err == WEIR_EBUSY || result->err == WEIR_EFULL ||
                   result->err == WEIR_ELIMIT || result->err == WEIR_EINVAL;
    return result->err != 0 ? !is_ours
                            : result->status >= HTTP_BROKEN || result->status == HTTP_TOO_MANY;
}

/* ---- requests ---- */

static void begin_pieces(struct remote_call *c);

static void end_call(struct remote_call *c)
{
    break_off(c);
    settle(c, c->has_broken ? WEIR_BREAKER_FAILED : WEIR_BREAKER_WORKED);
    c->base.is_done = true;
    c->on_done(c->ctx, &c->base);
}

static void on_refused(struct weir_post *post)
{
    end_call(WEIR_LIST_ENTRY(post, struct remote_call, refused));
}

static void on_call_done(void *ctx, const struct weir_call_result *result)
{
    struct piece *p = ctx;
    struct remote_call *c = p->all;
    p->call = NULL;
    weir_buf_dispose(&p->body);
    c->n_over++;
    c->has_broken = c->has_broken || is_broken(result);
    if (result->err != 0) {
        struct weir_slice why = weir_slice_cstr(result->why);
        fail(c, result->err, weir_arena_dup(&c->arena, why).p);
    } else if (result->status != 200) {
        fail(c, WEIR_EPEER, weir_arena_printf(&c->arena, "answered status %d", result->status));
        remote_of(c)->protocol->error(&c->base.fault, result->status, result->body, &c->arena);
    } else {
        read_answer(p, result->body);
    }
    bool has_failed = c->base.fault.origin != WEIR_FAULT_NONE;
    if (!has_failed && c->n_over < c->n_pieces) {
        begin_pieces(c);
        return;
    }
    end_call(c);
}

static const struct weir_call_events EVENTS = {.on_done = on_call_done};

static void begin(struct piece *p)
{
    struct remote_call *c = p->all;
    const struct weir_detect_remote *r = remote_of(c);
    struct weir_protocol_ask ask = ask_of(p);
    p->body.account = c->arena.account;
    p->fields[0] =
        (struct weir_http_field){WEIR_SLICE("content-type"), WEIR_SLICE("application/json")};
    size_t n_more = r->protocol->fields != NULL ? r->protocol->fields(&ask, p->fields + 1) : 0;
    r->protocol->write(&ask, &p->body);
    struct weir_call_request request = {
        .target = r->target,
        .context = c->env.context,
        .method = WEIR_SLICE("POST"),
        .path = r->protocol->path(&ask),
        .fields = p->fields,
        .n_fields = 1 + n_more,
        .body = weir_buf_slice(&p->body),
        .answer = WEIR_CALL_WHOLE,
        .max_body_bytes = c->env.max_body_bytes,
        .keeps_credentials_back = r->protocol->is_hosted,
    };
    p->call = weir_call_start(c->env.client, &request, &EVENTS, p);
}

static void begin_pieces(struct remote_call *c)
{
    while (c->n_begun < c->n_pieces && c->n_begun - c->n_over < MAX_PIECES_AT_ONCE) {
        begin(&c->pieces[c->n_begun++]);
    }
}

/* As many texts a request as the service takes. */
static void cut(struct remote_call *c)
{
    size_t n = c->input.n_contents;
    size_t max = remote_of(c)->max_texts;
    bool is_one = c->input.type != WEIR_DETECT_CONTENTS || max == 0 || n <= max;
    c->n_pieces = is_one ? 1 : (n + max - 1) / max;
    c->pieces = is_one ? &c->one : weir_arena_array(&c->arena, c->n_pieces, sizeof *c->pieces);
    c->pieces[0].input = c->input;
    for (size_t i = 0; i < c->n_pieces; i++) {
        c->pieces[i].all = c;
        if (!is_one) {
            struct piece *p = &c->pieces[i];
            p->from = i * max;
            p->input = c->input;
            p->input.contents += p->from;
            p->input.before = c->input.before != NULL ? c->input.before + p->from : NULL;
            p->input.n_contents = n - p->from < max ? n - p->from : max;
        }
    }
    if (!is_one) {
        c->lists = weir_arena_array(&c->arena, n, sizeof *c->lists);
        c->base.lists = c->lists;
        c->base.n_lists = n;
    }
}

static struct weir_detect_call *send_now(const struct weir_detector *d,
                                         const struct weir_detect_env *env,
                                         const struct weir_detect_input *input,
                                         weir_detect_done_fn on_done, void *ctx)
{
    struct remote_call *c = weir_mem_zalloc(sizeof *c);
    c->base.detector = d;
    c->input = *input;
    c->env = *env;
    c->on_done = on_done;
    c->ctx = ctx;
    c->arena.account = weir_call_account(env->context);
    cut(c);
    if (let_in(c)) {
        begin_pieces(c);
    } else {
        fail(c, WEIR_EUNREACHABLE, "it rests after failures");
        c->refused.fn = on_refused;
        weir_loop_post(env->loop, &c->refused);
    }
    return &c->base;
}

static struct weir_detect_call *start(const struct weir_detector *d,
                                      const struct weir_detect_env *env,
                                      const struct weir_detect_input *input,
                                      weir_detect_done_fn on_done, void *ctx)
{
    const struct weir_detect_remote *r = (const struct weir_detect_remote *)d;
    bool is_batched = env->desks != NULL && r->batch.max_items > 1 &&
                      input->type == WEIR_DETECT_CONTENTS && input->n_contents != 0;
    if (is_batched) {
        struct weir_detect_waiter waiter = {on_done, ctx};
        return weir_desk_start(d, &r->batch, env, input, waiter);
    }
    return send_now(d, env, input, on_done, ctx);
}

static void free_call(struct weir_detect_call *call)
{
    struct remote_call *c = (struct remote_call *)call;
    break_off(c);
    settle(c, WEIR_BREAKER_STOPPED);
    weir_loop_unpost(&c->refused);
    weir_arena_dispose(&c->arena);
    free(c);
}

static const struct weir_detect_ops OPS = {.start = start, .free = free_call};

void weir_detect_remote_init(struct weir_detect_remote *r, struct weir_slice id,
                             enum weir_detect_type type, const struct weir_target *target)
{
    *r = (struct weir_detect_remote){
        .base = {.ops = &OPS, .id = id, .type = type, .takes_many = true},
        .target = target,
        .protocol = &weir_protocol_fms,
    };
}

void weir_detect_remote_set(struct weir_detect_remote *r, const struct weir_protocol *protocol,
                            const struct weir_protocol_options *options)
{
    r->protocol = protocol;
    r->options = *options;
    r->max_texts = protocol->max_texts;
}

void weir_detect_remote_batch(struct weir_detect_remote *r, const struct weir_desk_options *batch)
{
    r->batch = *batch;
    r->batch.send = send_now;
    r->max_texts = batch->max_items;
}
