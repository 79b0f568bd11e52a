/* A message as the life of a request knows it (task/rowed.h). */
#include "task/message.h"

#include "talk/walk.h"
#include "task/message_int.h"

static size_t held(const struct weir_rowed *r)
{
    const struct weir_msg *m = (const struct weir_msg *)r;
    return m->args.n + m->block.n + m->thought.n;
}

static void say(struct weir_rowed *r, struct weir_slice text)
{
    weir_row_add(r->row, ((struct weir_msg *)r)->place, text);
}

static void undo(struct weir_rowed *r)
{
    struct weir_msg *m = (struct weir_msg *)r;
    struct weir_buf *bufs[] = {&m->block, &m->thought, &m->args, &m->texts,     &m->usage, &m->head,
                               &m->shown, &m->content, &m->text, &m->citations, &m->stop};
    for (size_t i = 0; i < sizeof bufs / sizeof bufs[0]; i++) {
        weir_buf_dispose(bufs[i]);
    }
}

static const struct weir_rowed_dialect DIALECT = {
    .op = WEIR_MODEL_MESSAGES,
    .walk = &weir_walk_messages,
    .no_end = "the stream has ended without message_stop",
    .stream_ops = &weir_msg__stream_ops,
    .unary_ops = &weir_msg__unary_ops,
    .take_event = weir_msg__take_event,
    .take_said = weir_msg__take_said,
    .take_whole = weir_msg__take_whole,
    .go_on = weir_msg__go_on,
    .say = say,
    .refuse_stream = weir_msg__refuse_stream,
    .stop_stream = weir_msg__stop,
    .answer = weir_msg__answer,
    .held = held,
    .write_place = weir_msg__write_place,
    .undo = undo,
};

static struct weir_msg *new_message(struct weir_task_ctx *task)
{
    struct weir_msg *m = weir_arena_zalloc(task->arena, sizeof *m);
    m->base.dialect = &DIALECT;
    weir_buf_init(&m->args, task->env->max_held_bytes);
    weir_buf_init(&m->thought, task->env->max_held_bytes);
    weir_buf_init(&m->block, task->env->max_held_bytes);
    return m;
}

void weir_task_message_start(struct weir_task_ctx *task, const struct weir_task_completion *request,
                             weir_task_done_fn done, void *ctx)
{
    weir_rowed_start_unary(&new_message(task)->base, task, request, done, ctx);
}

void weir_message_stream_start(struct weir_task_ctx *task,
                               const struct weir_task_completion *request, struct weir_out *out)
{
    weir_rowed_start_stream(&new_message(task)->base, task, request, out);
}
