/*
 * One exchange with a detector: the body is built once, sent whole, and what comes back is
 * either believed to the last byte or a fault.
 *
 *   start ─► POST ─┬─ no answer ──────────► fault: the call's error
 *                  ├─ status not 200 ─────► fault: its code and message
 *                  ├─ 200 and nonsense ───► fault: WEIR_EPEER, why
 *                  └─ 200 ────────────────► lists
 */
#include "detect/remote.h"

#include "base/err.h"
#include "base/mem.h"
#include "detect/answer.h"
#include "detect/request.h"

#include <stdlib.h>

enum { N_FIELDS = 3 };

struct remote_call {
    struct weir_detect_call base;
    struct weir_detect_input input;
    struct weir_arena arena; /* what the answer becomes */
    struct weir_buf body;    /* of the request, as long as it is under way */
    struct weir_http_field fields[N_FIELDS];
    struct weir_call *call; /* NULL: over */
    weir_detect_done_fn on_done;
    void *ctx;
};

static void fail(struct remote_call *c, int err, const char *why)
{
    c->base.fault.origin = WEIR_FAULT_DETECTOR;
    c->base.fault.id = c->base.detector->id;
    c->base.fault.err = err;
    c->base.fault.why = weir_slice_cstr(why);
}

static void read_answer(struct remote_call *c, struct weir_slice body)
{
    struct weir_detect_answer answer;
    int rc = weir_detect_answer_read(&answer, body, &c->input, c->base.detector->id, &c->arena);
    c->base.lists = answer.lists;
    c->base.n_lists = answer.n_lists;
    if (rc != 0) {
        fail(c, rc, answer.why);
    }
}

static void on_call_done(void *ctx, const struct weir_call_result *result)
{
    struct remote_call *c = ctx;
    c->call = NULL;
    weir_buf_dispose(&c->body);
    if (result->err != 0) {
        struct weir_slice why = weir_slice_cstr(result->why);
        fail(c, result->err, weir_arena_dup(&c->arena, why).p);
    } else if (result->status != 200) {
        fail(c, WEIR_EPEER, weir_arena_printf(&c->arena, "answered status %d", result->status));
        weir_detect_answer_error(&c->base.fault, result->status, result->body, &c->arena);
    } else {
        read_answer(c, result->body);
    }
    c->base.is_done = true;
    c->on_done(c->ctx, &c->base);
}

static const struct weir_call_events EVENTS = {.on_done = on_call_done};

static void fill_fields(struct remote_call *c)
{
    struct weir_slice id = c->base.detector->id;
    c->fields[0] =
        (struct weir_http_field){WEIR_SLICE("content-type"), WEIR_SLICE("application/json")};
    c->fields[1] = (struct weir_http_field){WEIR_SLICE("detector-id"), id};
    c->fields[2] = (struct weir_http_field){WEIR_SLICE("x-model-name"), id};
}

static struct weir_detect_call *start(const struct weir_detector *d,
                                      const struct weir_detect_env *env,
                                      const struct weir_detect_input *input,
                                      weir_detect_done_fn on_done, void *ctx)
{
    const struct weir_detect_remote *r = (const struct weir_detect_remote *)d;
    struct remote_call *c = weir_mem_zalloc(sizeof *c);
    c->base.detector = d;
    c->input = *input;
    c->on_done = on_done;
    c->ctx = ctx;
    c->arena.account = weir_call_account(env->context);
    c->body.account = c->arena.account;
    fill_fields(c);
    weir_detect_request_write(input, &c->body);
    struct weir_call_request request = {
        .target = r->target,
        .context = env->context,
        .method = WEIR_SLICE("POST"),
        .path = weir_detect_request_path(input->type),
        .fields = c->fields,
        .n_fields = N_FIELDS,
        .body = weir_buf_slice(&c->body),
        .answer = WEIR_CALL_WHOLE,
        .max_body_bytes = env->max_body_bytes,
    };
    c->call = weir_call_start(env->client, &request, &EVENTS, c);
    return &c->base;
}

static void free_call(struct weir_detect_call *call)
{
    struct remote_call *c = (struct remote_call *)call;
    if (c->call != NULL) {
        weir_call_cancel(c->call);
    }
    weir_buf_dispose(&c->body);
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
    };
}
