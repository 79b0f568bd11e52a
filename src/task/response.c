/* A response as the life of a request knows it (task/rowed.h). */
#include "task/response.h"

#include "talk/walk.h"
#include "task/response_int.h"

#include <stdlib.h>

static size_t held(const struct weir_rowed *r)
{
    const struct weir_rsp *m = (const struct weir_rsp *)r;
    return m->added.n + m->said.n + m->notes.n + m->parked.n;
}

static void free_parts(struct weir_list *parts)
{
    struct weir_list *link;
    while ((link = weir_list_first(parts)) != NULL) {
        weir_rsp__free_part(WEIR_LIST_ENTRY(link, struct weir_rsp_part, link));
    }
}

static void undo(struct weir_rowed *r)
{
    struct weir_rsp *m = (struct weir_rsp *)r;
    struct weir_buf *bufs[] = {&m->id,      &m->head,   &m->usage,    &m->added, &m->said,
                               &m->notes,   &m->parked, &m->item_id,  &m->shown, &m->content,
                               &m->summary, &m->output, &m->statuses, &m->ending};
    free_parts(&m->parts);
    free_parts(&m->told);
    free(m->repeats);
    for (size_t i = 0; i < sizeof bufs / sizeof bufs[0]; i++) {
        weir_buf_dispose(bufs[i]);
    }
}

static const struct weir_rowed_dialect DIALECT = {
    .op = WEIR_MODEL_RESPONSES,
    .walk = &weir_walk_responses,
    .no_end = "the stream has ended without response.completed",
    .stream_ops = &weir_rsp__ops,
    .unary_ops = &weir_rsp__ops,
    .take_event = weir_rsp__take_event,
    .take_said = weir_rsp__take_said,
    .take_whole = weir_rsp__take_whole,
    .change = weir_rsp__change,
    .go_on = weir_rsp__go_on,
    .say = weir_rsp__say,
    .refuse_stream = weir_rsp__refuse_stream,
    .stop_stream = weir_rsp__stop,
    .answer = weir_rsp__answer,
    .held = held,
    .write_place = weir_rsp__write_place,
    .undo = undo,
};

static struct weir_rsp *new_response(struct weir_task_ctx *task,
                                     const struct weir_task_response *request)
{
    struct weir_rsp *m = weir_arena_zalloc(task->arena, sizeof *m);
    struct weir_account *account = task->arena->account;
    struct weir_buf *held_bufs[] = {&m->added, &m->said, &m->notes, &m->parked};
    struct weir_buf *left_bufs[] = {&m->content, &m->summary, &m->output, &m->shown};
    m->base.dialect = &DIALECT;
    m->asked = request->sent;
    m->ids = request->ids;
    m->server = request->server;
    weir_list_init(&m->parts);
    weir_list_init(&m->told);
    for (size_t i = 0; i < sizeof held_bufs / sizeof held_bufs[0]; i++) {
        weir_buf_init(held_bufs[i], task->env->max_held_bytes);
    }
    for (size_t i = 0; i < sizeof left_bufs / sizeof left_bufs[0]; i++) {
        left_bufs[i]->account = account;
    }
    return m;
}

void weir_task_response_start(struct weir_task_ctx *task, const struct weir_task_response *request,
                              weir_task_done_fn done, void *ctx)
{
    weir_rowed_start_unary(&new_response(task, request)->base, task, &request->completion, done,
                           ctx);
}

void weir_response_stream_start(struct weir_task_ctx *task,
                                const struct weir_task_response *request, struct weir_out *out)
{
    weir_rowed_start_stream(&new_response(task, request)->base, task, &request->completion, out);
}

void weir_task_response_guard(struct weir_task_ctx *task, const struct weir_task_response *request,
                              struct weir_slice answer, weir_task_done_fn done, void *ctx)
{
    weir_rowed_start_given(&new_response(task, request)->base, task, &request->completion, answer,
                           done, ctx);
}
