/*
 * One request to the demonstration model. All of it hangs on one timer: a whole answer comes when
 * it first fires, a stream one round each time. Only the timer calls the owner, so nothing comes
 * from inside start or resume.
 */
#include "model/demo.h"

#include "base/err.h"
#include "base/mem.h"
#include "io/loop.h"
#include "model/demo_play.h"

#include <stdlib.h>
#include <time.h>

static const struct weir_slice SSE_HEAD = {"data: ", 6};
static const struct weir_slice SSE_TAIL = {"\n\n", 2};

struct run {
    struct weir_model_run base;
    const struct weir_model_events *events;
    void *ctx;
    struct weir_loop *loop;
    const struct weir_model_request *request;
    size_t max_body_bytes;
    struct weir_timer timer;
    uint64_t due_ms;         /* of the next round */
    struct weir_arena arena; /* of the ask, the play and the fault */
    struct weir_demo_ask ask;
    struct weir_demo_play play;
    struct weir_buf json;
    struct weir_buf out;
    struct weir_fault fault;
    bool is_stream;
    bool is_paused;
    bool is_over;     /* on_done is on its way, or was */
    bool is_in_event; /* the owner is being called */
    bool is_freed;    /* from inside an event: destroyed when it has returned */
};

static void destroy(struct run *r)
{
    weir_loop_cancel(r->loop, &r->timer);
    weir_buf_dispose(&r->json);
    weir_buf_dispose(&r->out);
    weir_arena_dispose(&r->arena);
    free(r);
}

static void fail(struct run *r, int err, int status, const char *message)
{
    r->fault = (struct weir_fault){.origin = weir_model_origin(r->request->op),
                                   .id = r->request->model_id,
                                   .err = err,
                                   .status = status,
                                   .message = weir_slice_cstr(status != 0 ? message : NULL),
                                   .why = weir_slice_cstr(message)};
}

static void emit(struct run *r, const struct weir_model_frame *frame)
{
    r->is_in_event = true;
    r->events->on_frame(r->ctx, frame);
    r->is_in_event = false;
}

static void report(struct run *r)
{
    r->is_over = true;
    weir_loop_cancel(r->loop, &r->timer); /* armed where the owner paused and resumed in an event */
    r->is_in_event = true;
    r->events->on_done(r->ctx, r->fault.origin != WEIR_FAULT_NONE ? &r->fault : NULL);
    r->is_in_event = false;
}

static void arm(struct run *r)
{
    uint64_t now_ms = weir_loop_now_ms(r->loop);
    weir_loop_after(r->loop, &r->timer, r->due_ms > now_ms ? r->due_ms - now_ms : 0);
}

/* Events of Messages and Responses begin with their type, which is their name, too. */
static void put_name(struct run *r, struct weir_slice json)
{
    struct weir_slice before = WEIR_SLICE("{\"type\":\"");
    bool has_names = r->ask.is_messages || r->ask.is_responses;
    if (has_names && weir_slice_starts_with(json, before)) {
        struct weir_slice rest = weir_slice_sub(json, before.n, json.n);
        weir_buf_append(&r->out, WEIR_SLICE("event: "));
        weir_buf_append(&r->out, weir_slice_cut(&rest, '"'));
        weir_buf_append_byte(&r->out, '\n');
    }
}

/* One event, framed as a server would have sent it. */
static enum weir_demo_next play_event(struct run *r)
{
    weir_buf_clear(&r->json);
    weir_buf_clear(&r->out);
    enum weir_demo_next next = weir_demo_play_next(&r->play, &r->json);
    if (next == WEIR_DEMO_EVENT) {
        put_name(r, weir_buf_slice(&r->json));
        weir_buf_append(&r->out, SSE_HEAD);
        size_t from = r->out.n;
        weir_buf_append(&r->out, weir_buf_slice(&r->json));
        weir_buf_append(&r->out, SSE_TAIL);
        struct weir_slice raw = weir_buf_slice(&r->out);
        struct weir_model_frame frame = {.json = weir_slice_sub(raw, from, raw.n - SSE_TAIL.n),
                                         .raw = raw};
        emit(r, &frame);
    }
    return next;
}

/* What is due: the rest of the round, unless the owner wants no more. */
static void play_round(struct run *r)
{
    while (!r->is_paused && !r->is_freed) {
        switch (play_event(r)) {
        case WEIR_DEMO_EVENT:
            break;
        case WEIR_DEMO_ROUND:
            r->due_ms = weir_loop_now_ms(r->loop) + WEIR_DEMO_TOKEN_MS;
            arm(r);
            return;
        case WEIR_DEMO_END:
            report(r);
            return;
        }
    }
}

static int write_whole(struct run *r)
{
    switch (r->request->op) {
    case WEIR_MODEL_CHAT:
    case WEIR_MODEL_COMPLETION:
    case WEIR_MODEL_MESSAGES:
    case WEIR_MODEL_RESPONSES:
        return weir_demo_play_whole(&r->play, &r->out);
    case WEIR_MODEL_MODELS:
        weir_demo_play_models(&r->out);
        return 0;
    default:
        return 0; /* TOKENIZE: the frame has a number only */
    }
}

static void answer_whole(struct run *r)
{
    weir_buf_init(&r->out, r->max_body_bytes);
    if (write_whole(r) != 0) {
        fail(r, WEIR_ELIMIT, 0, "the answer is larger than limits.max_service_body_bytes");
        report(r);
        return;
    }
    struct weir_model_frame frame = {.json = weir_buf_slice(&r->out)};
    if (r->request->op == WEIR_MODEL_TOKENIZE) {
        frame.n_tokens = weir_demo_answer_count(r->request->text);
    }
    emit(r, &frame);
    if (!r->is_freed) {
        report(r);
    }
}

static void on_timer(struct weir_timer *t, void *ctx)
{
    struct run *r = ctx;
    (void)t;
    if (r->fault.origin != WEIR_FAULT_NONE) {
        report(r);
    } else if (r->is_stream) {
        play_round(r);
    } else {
        answer_whole(r);
    }
    if (r->is_freed) {
        destroy(r);
    }
}

static void prepare(struct run *r)
{
    const char *why;
    switch (r->request->op) {
    case WEIR_MODEL_CHAT:
    case WEIR_MODEL_COMPLETION:
    case WEIR_MODEL_MESSAGES:
    case WEIR_MODEL_RESPONSES:
        r->is_stream = r->request->is_stream;
        if (weir_demo_ask_read(&r->ask, r->request, &r->arena, &why) != 0) {
            fail(r, WEIR_EPEER, 400, why);
            return;
        }
        weir_demo_play_init(&r->play, &r->ask, &r->arena, (int64_t)time(NULL));
        return;
    case WEIR_MODEL_MODELS:
    case WEIR_MODEL_TOKENIZE:
        return;
    case WEIR_MODEL_COUNT:
    case WEIR_MODEL_ITEM_COUNT:
        fail(r, WEIR_EUNSUPPORTED, 404, "the demonstration model does not speak this dialect");
        return;
    case WEIR_MODEL_STORED:
        fail(r, WEIR_EUNSUPPORTED, 404, "the demonstration model keeps no responses");
        return;
    case WEIR_MODEL_FORWARD:
        fail(r, WEIR_EUNSUPPORTED, 404, "the demonstration model has no other paths");
        return;
    case WEIR_MODEL_EMBEDDINGS:
    case WEIR_MODEL_RERANK:
    case WEIR_MODEL_SCORE:
        fail(r, WEIR_EUNSUPPORTED, 404, "the demonstration model has no vectors");
        return;
    case WEIR_MODEL_GENERATE:
    default:
        fail(r, WEIR_EUNSUPPORTED, 0, "the demonstration model speaks OpenAI's API only");
    }
}

static struct weir_model_run *start(const struct weir_model *m, const struct weir_model_env *env,
                                    const struct weir_model_request *request,
                                    const struct weir_model_events *events, void *ctx)
{
    struct run *r = weir_mem_zalloc(sizeof *r);
    r->base.model = m;
    r->events = events;
    r->ctx = ctx;
    r->loop = env->loop;
    r->request = request;
    r->max_body_bytes = env->max_body_bytes;
    r->timer.fn = on_timer;
    r->timer.ctx = r;
    weir_model_tell(env, request);
    prepare(r);
    arm(r);
    return &r->base;
}

static void set_paused(struct weir_model_run *run, bool paused)
{
    struct run *r = (struct run *)run;
    if (!r->is_stream || r->is_paused == paused) {
        return;
    }
    r->is_paused = paused;
    if (paused) {
        weir_loop_cancel(r->loop, &r->timer);
    } else if (!r->is_over) {
        arm(r);
    }
}

static void free_run(struct weir_model_run *run)
{
    struct run *r = (struct run *)run;
    if (r->is_in_event) {
        r->is_freed = true;
    } else {
        destroy(r);
    }
}

void weir_model_demo_init(struct weir_model_demo *m)
{
    static const struct weir_model_ops ops = {
        .start = start, .set_paused = set_paused, .free = free_run};
    m->base.ops = &ops;
}
