/*
 * The way out. While the downstream is blocked everything that must leave takes its place in a
 * queue, as a copy; otherwise it goes straight to the emit function. What leaves is counted here
 * and nowhere else; a shadow counts and sends nothing.
 */
#include "base/mem.h"
#include "emit/batch_int.h"

#include <stdlib.h>

struct item {
    struct weir_list link;
    enum weir_event_kind kind;
    struct weir_batch__out out; /* data and sse_id point into `bytes` */
    char bytes[];
};

static void count(struct weir_batch *b, const struct weir_batch__out *out)
{
    struct weir_batch_counts *counts = weir_batch__counts(b);
    counts->chunks++;
    counts->flush[out->why]++;
    counts->bytes += out->data.n;
    counts->chars += out->n_cp;
    if (out->n_cp != 0) {
        weir_batch_histogram_add(&counts->chunk_chars, weir_batch_chars_bounds, out->n_cp);
    }
    if (out->is_flush) {
        counts->text_flushes++;
        counts->flush_chars += out->n_cp;
        weir_batch_histogram_add(&counts->hold_ms, weir_batch_hold_bounds_ms,
                                 b->stamp - out->since);
    }
    if (out->n_cp != 0 && !b->is_shadow && !b->stats.has_ttft) {
        b->stats.has_ttft = true;
        b->stats.added_ttft_ms = b->stamp - b->stats.first_text_ms;
    }
}

static void deliver(struct weir_batch *b, enum weir_event_kind kind,
                    const struct weir_batch__out *out)
{
    struct weir_event e = {
        .kind = kind,
        .data = out->data,
        .sse_id = out->sse_id,
        .json = out->json,
        .is_guarded = out->is_guarded,
        .choice = out->choice,
        .n_said = b->n_said,
        .at_ms = b->stamp,
        .held_ms = b->stamp - out->since,
    };
    if (kind == WEIR_EVENT_CHUNK) {
        count(b, out);
    }
    b->emit(b->ctx, out->why, &e);
}

static void enqueue(struct weir_batch *b, enum weir_event_kind kind,
                    const struct weir_batch__out *out)
{
    size_t n = out->data.n + out->sse_id.n;
    struct item *item = weir_mem_alloc(sizeof *item + n);
    item->link = (struct weir_list){0};
    item->kind = kind;
    item->out = *out;
    item->out.json = NULL;
    item->out.data.p = item->bytes;
    item->out.sse_id.p = item->bytes + out->data.n;
    if (out->data.n != 0) {
        memcpy(item->bytes, out->data.p, out->data.n);
    }
    if (out->sse_id.n != 0) {
        memcpy(item->bytes + out->data.n, out->sse_id.p, out->sse_id.n);
    }
    weir_list_append(&b->queue, &item->link);
    size_t none = 0;
    weir_batch__account(b, &none, sizeof *item + n);
}

static struct item *dequeue(struct weir_batch *b)
{
    struct weir_list *link = weir_list_pop(&b->queue);
    if (link == NULL) {
        return NULL;
    }
    struct item *item = WEIR_LIST_ENTRY(link, struct item, link);
    size_t n = sizeof *item + item->out.data.n + item->out.sse_id.n;
    weir_batch__account(b, &n, 0);
    return item;
}

void weir_batch__out(struct weir_batch *b, const struct weir_batch__out *out)
{
    b->n_left++;
    if (b->is_shadow) {
        count(b, out);
    } else if (b->is_blocked) {
        enqueue(b, WEIR_EVENT_CHUNK, out);
    } else {
        deliver(b, WEIR_EVENT_CHUNK, out);
    }
}

void weir_batch__out_event(struct weir_batch *b, const struct weir_event *ev)
{
    struct weir_batch__out out = {
        .why = WEIR_BATCH_PASSTHROUGH,
        .data = ev->data,
        .sse_id = ev->sse_id,
        .json = ev->json,
        .choice = ev->choice,
        .since = b->stamp,
    };
    if (b->is_blocked && !b->is_shadow) {
        enqueue(b, ev->kind, &out);
    } else {
        deliver(b, ev->kind, &out);
    }
}

void weir_batch__out_untouched(struct weir_batch *b, const struct weir_event *ev)
{
    struct weir_event e = *ev;
    e.at_ms = b->now;
    if (ev->kind == WEIR_EVENT_CHUNK) {
        b->stats.live.chunks++;
        b->stats.live.bytes += ev->data.n;
        b->stats.live.flush[WEIR_BATCH_PASSTHROUGH]++;
    }
    b->emit(b->ctx, WEIR_BATCH_PASSTHROUGH, &e);
}

void weir_batch__out_drain(struct weir_batch *b)
{
    while (!b->is_blocked && !weir_list_is_empty(&b->queue)) {
        struct item *item = dequeue(b);
        deliver(b, item->kind, &item->out);
        free(item);
    }
}

void weir_batch__out_discard(struct weir_batch *b)
{
    struct item *item;
    while ((item = dequeue(b)) != NULL) {
        weir_batch__counts(b)->discarded_chars += item->out.n_cp;
        free(item);
    }
}

void weir_batch__account(struct weir_batch *b, size_t *part, size_t now_bytes)
{
    b->n_buffered += now_bytes - *part;
    *part = now_bytes;
    if (b->n_buffered >= b->o.max_stream_buffer_bytes) {
        b->is_full = true;
    } else if (b->n_buffered <= b->o.max_stream_buffer_bytes / 2) {
        b->is_full = false;
    }
    if (b->n_buffered > b->stats.most_buffered_bytes) {
        b->stats.most_buffered_bytes = b->n_buffered;
    }
}
