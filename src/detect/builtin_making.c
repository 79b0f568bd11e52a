/*
 * Parameters of a request become settings on another thread: a list of 20,000 terms or a schema
 * takes many milliseconds, and a loop has others to serve.
 *
 *   await ─┬─ being made already ──────────────► waits with the others
 *          └─ start (copies) ─► work: make ─► on_done: keep ─► a step per waiting call
 *
 * Who asks for the same parameters meanwhile (the next chunks of a stream) waits for the same work.
 * The calls go on one by one, in steps of long work: each of them looks at its text. When the last
 * one leaves, the work is given up and frees itself.
 */
#include "base/mem.h"
#include "detect/builtin_int.h"

#include <stdlib.h>

struct weir_builtin_making {
    struct weir_list link; /* of this thread's, until it is made */
    struct weir_offload offload;
    struct weir_loop *loop;
    const struct weir_builtin_kind *kind;
    uint64_t serial;
    struct weir_slice params;     /* as asked */
    struct weir_slice configured; /* that stand where nothing is asked */
    struct weir_arena arena;      /* of the copies */
    struct weir_list waits;
    struct weir_builtin_made *made; /* NULL in the end: why says */
    struct weir_buf why;
    struct weir_post step;
    bool is_over;
    bool is_telling; /* inside a waiting call's function */
};

static _Thread_local struct weir_list under_way;

static void destroy(void *ctx)
{
    struct weir_builtin_making *m = ctx;
    weir_builtin__unref(m->made);
    weir_buf_dispose(&m->why);
    weir_arena_dispose(&m->arena);
    free(m);
}

static void work(void *ctx)
{
    struct weir_builtin_making *m = ctx;
    struct weir_builtin b = {.kind = m->kind, .params = m->configured};
    struct weir_slice merged = weir_builtin__merge(&b, m->params, &m->arena);
    m->made = weir_builtin__make(m->kind, merged, &m->why);
}

/* Of those that wait one goes on; it may free itself and others. */
static void on_step(struct weir_post *post)
{
    struct weir_builtin_making *m = WEIR_LIST_ENTRY(post, struct weir_builtin_making, step);
    struct weir_builtin_wait *wait =
        WEIR_LIST_ENTRY(weir_list_pop(&m->waits), struct weir_builtin_wait, link);
    wait->making = NULL;
    m->is_telling = true;
    wait->fn(wait->ctx, m->made, weir_buf_slice(&m->why));
    m->is_telling = false;
    if (weir_list_is_empty(&m->waits)) {
        destroy(m);
    } else {
        weir_loop_step(m->loop, &m->step);
    }
}

static void on_done(void *ctx)
{
    struct weir_builtin_making *m = ctx;
    m->is_over = true;
    weir_list_remove(&m->link);
    if (m->made != NULL) {
        weir_builtin__keep(m->serial, m->params, m->made);
    }
    weir_loop_step(m->loop, &m->step);
}

static struct weir_builtin_making *find(uint64_t serial, struct weir_slice params)
{
    for (struct weir_list *at = under_way.next; at != NULL && at != &under_way; at = at->next) {
        struct weir_builtin_making *m = WEIR_LIST_ENTRY(at, struct weir_builtin_making, link);
        if (m->serial == serial && weir_slice_eq(m->params, params)) {
            return m;
        }
    }
    return NULL;
}

static struct weir_builtin_making *start(const struct weir_builtin *b, struct weir_slice params,
                                         struct weir_loop *loop)
{
    struct weir_builtin_making *m = weir_mem_zalloc(sizeof *m);
    m->loop = loop;
    m->kind = b->kind;
    m->serial = b->serial;
    m->params = weir_arena_dup(&m->arena, params);
    m->configured = weir_arena_dup(&m->arena, b->params);
    m->step.fn = on_step;
    m->offload = (struct weir_offload){.work = work, .done = on_done, .dropped = destroy, .ctx = m};
    weir_list_append(&under_way, &m->link);
    weir_offload(loop, &m->offload);
    return m;
}

void weir_builtin__await(const struct weir_builtin *b, struct weir_slice params,
                         struct weir_loop *loop, struct weir_builtin_wait *wait)
{
    struct weir_builtin_making *m = find(b->serial, params);
    m = m != NULL ? m : start(b, params, loop);
    wait->making = m;
    weir_list_append(&m->waits, &wait->link);
}

void weir_builtin__leave(struct weir_builtin_wait *wait)
{
    struct weir_builtin_making *m = wait->making;
    if (m == NULL) {
        return;
    }
    wait->making = NULL;
    weir_list_remove(&wait->link);
    if (!weir_list_is_empty(&m->waits) || m->is_telling) {
        return;
    }
    if (m->is_over) {
        weir_loop_unpost(&m->step);
        destroy(m);
    } else {
        weir_list_remove(&m->link);
        weir_offload_cancel(&m->offload);
    }
}
