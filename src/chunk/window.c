/*
 * Windows that have begun wait in the queue. Each is closed (what it answers for, and the last
 * frame of that) when the next one begins, and ready when all it sees has come:
 *
 *   queue    ready … ready | closed … closed | the newest
 */
#include "chunk/window.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "chunk/queue.h"

#include <stdlib.h>

enum { MAX_CP = 65536, DEFAULT_SIZE_CP = 400, DEFAULT_OVERLAP_CP = 64 };

struct stream {
    struct weir_chunk_stream base;
    struct weir_chunk_queue queue;
    size_t end_cp;     /* of the text so far */
    size_t begin_cp;   /* where the next window begins */
    size_t waiting_cp; /* where the oldest window that is not ready begins */
    uint64_t frame;    /* of the last code point */
    bool has_ended;
};

static const struct weir_chunk_window *chunker_of(const struct stream *s)
{
    return (const struct weir_chunk_window *)s->base.chunker;
}

static size_t step_of(const struct stream *s)
{
    return chunker_of(s)->size_cp - chunker_of(s)->overlap_cp;
}

static struct weir_chunk_stream *window_open(const struct weir_chunker *c,
                                             const struct weir_chunk_env *env,
                                             const struct weir_chunk_options *options,
                                             weir_chunk_ready_fn on_ready, void *ctx)
{
    struct stream *s = weir_mem_zalloc(sizeof *s);
    (void)env;
    (void)on_ready; /* what is ready is ready when push returns */
    (void)ctx;
    s->base.chunker = c;
    s->queue.start_cp = options->start_cp;
    s->end_cp = options->start_cp;
    s->begin_cp = options->start_cp;
    s->waiting_cp = options->start_cp;
    return &s->base;
}

static void close_newest(struct stream *s, size_t end_cp, uint64_t last_frame)
{
    if (s->queue.n > s->queue.n_ready) {
        struct weir_chunk_queue_item *newest = weir_chunk_queue_at(&s->queue, s->queue.n - 1);
        newest->end_cp = end_cp;
        newest->last_frame = last_frame;
    }
}

/* The windows that begin in the text of this frame, which ends at `end_cp`. */
static void begin_windows(struct stream *s, uint64_t frame, size_t end_cp)
{
    while (s->begin_cp < end_cp) {
        close_newest(s, s->begin_cp, s->begin_cp > s->end_cp ? frame : s->frame);
        struct weir_chunk_queue_item item = {.first_frame = frame};
        weir_chunk_queue_add(&s->queue, &item);
        s->begin_cp += step_of(s);
    }
}

static void tell_complete(struct stream *s)
{
    struct weir_chunk_queue *q = &s->queue;
    size_t size_cp = chunker_of(s)->size_cp;
    while (q->n_ready < q->n && s->end_cp - s->waiting_cp >= size_cp) {
        struct weir_chunk_queue_item *item = weir_chunk_queue_at(q, q->n_ready);
        item->seen_end_cp = s->waiting_cp + size_cp;
        if (q->n_ready + 1 == q->n) { /* without overlap: the next has not begun */
            close_newest(s, s->end_cp, s->frame);
        }
        s->waiting_cp += step_of(s);
        q->n_ready++;
    }
}

static enum weir_flow window_push(struct weir_chunk_stream *base, uint64_t frame,
                                  struct weir_slice text)
{
    struct stream *s = (struct stream *)base;
    if (text.n == 0) {
        return WEIR_FLOW_OK;
    }
    size_t end_cp = s->end_cp + weir_utf8_count(text);
    begin_windows(s, frame, end_cp);
    s->end_cp = end_cp;
    s->frame = frame;
    tell_complete(s);
    return WEIR_FLOW_OK;
}

static void window_cut(struct weir_chunk_stream *base)
{
    struct stream *s = (struct stream *)base;
    struct weir_chunk_queue *q = &s->queue;
    close_newest(s, s->end_cp, s->frame);
    for (; q->n_ready < q->n; q->n_ready++) {
        weir_chunk_queue_at(q, q->n_ready)->seen_end_cp = s->end_cp;
    }
    s->begin_cp = s->end_cp;
    s->waiting_cp = s->end_cp;
}

static void window_end(struct weir_chunk_stream *base)
{
    window_cut(base);
    ((struct stream *)base)->has_ended = true;
}

static int window_next(struct weir_chunk_stream *base, struct weir_chunk *out)
{
    struct stream *s = (struct stream *)base;
    int rc = weir_chunk_queue_take(&s->queue, out);
    return rc == WEIR_EAGAIN && s->has_ended ? WEIR_ECLOSED : rc;
}

static void window_close(struct weir_chunk_stream *base)
{
    weir_chunk_queue_dispose(&((struct stream *)base)->queue);
    free(base);
}

static const struct weir_chunk_ops OPS = {
    .open = window_open,
    .push = window_push,
    .cut = window_cut,
    .end = window_end,
    .next = window_next,
    .close = window_close,
};

void weir_chunk_window_init(struct weir_chunk_window *c, struct weir_slice id, size_t size_cp,
                            size_t overlap_cp)
{
    WEIR_ASSERT(overlap_cp < size_cp);
    *c = (struct weir_chunk_window){
        .base = {.ops = &OPS, .id = id, .is_immediate = true, .before_cp = overlap_cp},
        .size_cp = size_cp,
        .overlap_cp = overlap_cp};
}

static int init_kind(struct weir_chunker *c, struct weir_slice id, const struct weir_json *params,
                     struct weir_buf *why)
{
    static const struct weir_chunk_number size = {"size", 2, MAX_CP};
    static const struct weir_chunk_number overlap = {"overlap", 0, MAX_CP - 1};
    size_t size_cp = DEFAULT_SIZE_CP;
    size_t overlap_cp = DEFAULT_OVERLAP_CP;
    int rc = weir_chunk_read_number(params, &size, &size_cp, why);
    rc = rc == 0 ? weir_chunk_read_number(params, &overlap, &overlap_cp, why) : rc;
    if (rc == 0 && overlap_cp >= size_cp) {
        weir_buf_printf(why, "`overlap` (%zu) must be less than `size` (%zu)", overlap_cp, size_cp);
        rc = WEIR_EINVAL;
    }
    if (rc == 0) {
        weir_chunk_window_init((struct weir_chunk_window *)c, id, size_cp, overlap_cp);
    }
    return rc;
}

const struct weir_chunk_kind weir_chunk_window_kind = {
    .name = "window",
    .members = (const char *const[]){"size", "overlap", NULL},
    .n_bytes = sizeof(struct weir_chunk_window),
    .init = init_kind,
};
