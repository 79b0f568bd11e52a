#include "task/beside.h"

#include "base/list.h"
#include "io/loop.h"

/* A frame that is kept, with copies of what it points to. In the arena. */
struct kept {
    struct weir_list link;
    struct weir_model_frame frame;
};

struct beside {
    struct weir_model_run base;
    struct weir_task_ctx *task;
    const struct weir_model_events *events;
    void *ctx;
    struct weir_model_run *run; /* the server's */
    struct weir_list frames;    /* that came and were not told */
    struct weir_post deliver;
    const struct weir_fault *fault; /* of a run that has ended; NULL: it was complete */
    bool is_stream;
    bool has_ended;
    bool has_told_end;
    bool is_released;
    bool is_paused; /* by its owner */
    bool is_freed;
};

/* ---- what comes ---- */

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct beside *b = ctx;
    if (b->is_released && weir_list_is_empty(&b->frames)) {
        b->events->on_frame(b->ctx, frame);
        return;
    }
    struct weir_arena *arena = b->task->arena;
    struct kept *kept = weir_arena_zalloc(arena, sizeof *kept);
    struct weir_slice json = frame->json;
    struct weir_slice raw = frame->raw;
    bool is_inside = raw.n != 0 && json.p >= raw.p && json.p + json.n <= raw.p + raw.n;
    kept->frame = *frame;
    kept->frame.raw = weir_arena_dup(arena, raw);
    /* Who passes an event on as it came finds the JSON in its frame. */
    kept->frame.json = is_inside ? weir_slice_make(kept->frame.raw.p + (json.p - raw.p), json.n)
                                 : weir_arena_dup(arena, json);
    kept->frame.sse_id = weir_arena_dup(arena, frame->sse_id);
    weir_list_append(&b->frames, &kept->link);
    if (b->is_stream) { /* of a whole answer this was all */
        weir_model_pause(b->run);
    }
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct beside *b = ctx;
    b->has_ended = true;
    b->fault = fault != NULL ? weir_fault_keep(b->task->arena, fault) : NULL;
    if (b->is_released && weir_list_is_empty(&b->frames)) {
        b->has_told_end = true;
        b->events->on_done(b->ctx, fault);
    }
}

static const struct weir_model_events EVENTS = {.on_frame = on_frame, .on_done = on_done};

/* ---- telling ---- */

/* Everything that was kept, until its owner wants no more for now. */
static void on_deliver(struct weir_post *post)
{
    struct beside *b = WEIR_LIST_ENTRY(post, struct beside, deliver);
    struct weir_list *link;
    while (!b->is_freed && !b->is_paused && (link = weir_list_first(&b->frames)) != NULL) {
        weir_list_remove(link);
        b->events->on_frame(b->ctx, &WEIR_LIST_ENTRY(link, struct kept, link)->frame);
    }
    if (b->is_freed || b->is_paused || b->has_told_end) {
        return;
    }
    if (b->has_ended) {
        b->has_told_end = true;
        b->events->on_done(b->ctx, b->fault);
    } else if (b->is_stream) {
        weir_model_resume(b->run);
    }
}

void weir_beside_release(struct weir_model_run *run)
{
    struct beside *b = (struct beside *)run;
    b->is_released = true;
    weir_loop_post(b->task->loop, &b->deliver);
}

static void set_paused(struct weir_model_run *run, bool is_paused)
{
    struct beside *b = (struct beside *)run;
    b->is_paused = is_paused;
    if (is_paused && !b->has_ended) {
        weir_model_pause(b->run);
    } else if (!is_paused && b->is_released) {
        weir_loop_post(b->task->loop, &b->deliver);
    }
}

static void free_run(struct weir_model_run *run)
{
    struct beside *b = (struct beside *)run;
    b->is_freed = true;
    weir_loop_unpost(&b->deliver);
    weir_model_free(b->run);
    b->run = NULL;
}

static const struct weir_model_ops OPS = {.set_paused = set_paused, .free = free_run};
static const struct weir_model MODEL = {.ops = &OPS};

struct weir_model_run *weir_beside_start(struct weir_task_ctx *task,
                                         const struct weir_model_request *request,
                                         const struct weir_model_events *events, void *ctx)
{
    struct weir_model_env env = weir_task_model_env(task);
    struct beside *b = weir_arena_zalloc(task->arena, sizeof *b);
    *b = (struct beside){.base = {.model = &MODEL}, .task = task, .events = events, .ctx = ctx};
    b->is_stream = request->is_stream;
    weir_list_init(&b->frames);
    b->deliver.fn = on_deliver;
    b->run = weir_model_start(task->env->openai, &env, request, &EVENTS, b);
    return &b->base;
}
