#include "task/scratch.h"

#include "base/mem.h"

#include <stdlib.h>

enum { KEEP_NODES = 4096, KEEP_BYTES = 64 * 1024 };

static void trim_tape(struct weir_json_tape *tape)
{
    if (tape->cap > KEEP_NODES) {
        weir_json_tape_dispose(tape);
    }
}

static void trim_buf(struct weir_buf *b)
{
    if (b->cap > KEEP_BYTES) {
        weir_buf_dispose(b);
    }
}

void weir_task_scratch_trim(struct weir_task_scratch *s)
{
    trim_tape(&s->event);
    trim_tape(&s->envelope);
    trim_buf(&s->text);
    trim_buf(&s->out);
    trim_buf(&s->kept);
}

void *weir_task_spares_take(struct weir_task_spares *s, size_t size)
{
    if (s->n == 0) {
        return weir_mem_alloc(size);
    }
    s->n--;
    return weir_list_pop(&s->list);
}

void weir_task_spares_give(struct weir_task_spares *s, void *piece)
{
    if (s->n == WEIR_TASK_MOST_SPARES) {
        free(piece);
        return;
    }
    weir_list_prepend(&s->list, piece);
    s->n++;
}

static void free_spares(struct weir_task_spares *s)
{
    while (s->n != 0) {
        free(weir_task_spares_take(s, 0));
    }
}

void weir_task_scratch_dispose(struct weir_task_scratch *s)
{
    free_spares(&s->cs_items);
    free_spares(&s->row_items);
    free_spares(&s->framed_items);
    weir_json_tape_dispose(&s->event);
    weir_json_tape_dispose(&s->envelope);
    weir_buf_dispose(&s->text);
    weir_buf_dispose(&s->out);
    weir_buf_dispose(&s->kept);
}
