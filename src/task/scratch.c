#include "task/scratch.h"

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

void weir_task_scratch_dispose(struct weir_task_scratch *s)
{
    struct weir_list *link;
    while (s->n_spare_items != 0 && (link = weir_list_pop(&s->spare_items)) != NULL) {
        free(link); /* the first member of each */
        s->n_spare_items--;
    }
    weir_json_tape_dispose(&s->event);
    weir_json_tape_dispose(&s->envelope);
    weir_buf_dispose(&s->text);
    weir_buf_dispose(&s->out);
    weir_buf_dispose(&s->kept);
}
