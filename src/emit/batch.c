/*
 * The engine's front: events, timers, ends. All timers of a stream are one: `due` is a time before
 * which none fires; at it the real deadlines are looked up, and what is due leaves in their order.
 */
#include "emit/batch.h"

#include "base/err.h"
#include "base/mem.h"
#include "emit/batch_int.h"

#include <stdlib.h>

struct weir_batch *weir_batch_new(const struct weir_batch_options *options, weir_batch_emit_fn emit,
                                  void *ctx)
{
    struct weir_batch *b = weir_mem_zalloc(sizeof *b);
    b->o = *options;
    b->emit = emit;
    b->ctx = ctx;
    b->is_shadow = options->mode == WEIR_BATCH_METRICS;
    b->stamps.is_shadow = b->is_shadow;
    b->due = UINT64_MAX;
    return b;
}

static void free_choice(struct weir_batch__choice *c)
{
    weir_buf_dispose(&c->role);
    weir_batch__pack_dispose(&c->pack);
    weir_batch__gate_free(c->gate);
    free(c);
}

void weir_batch_free(struct weir_batch *b)
{
    if (b == NULL) {
        return;
    }
    for (size_t i = 0; i < b->n_choices; i++) {
        free_choice(b->choices[i]);
    }
    weir_batch__out_discard(b);
    weir_members_dispose(&b->stamps);
    weir_json_tape_dispose(&b->tape);
    weir_json_tape_dispose(&b->tape_again);
    weir_json_edit_dispose(&b->edit);
    weir_buf_dispose(&b->key);
    weir_buf_dispose(&b->scratch);
    weir_buf_dispose(&b->edited);
    weir_buf_dispose(&b->composed);
    weir_buf_dispose(&b->entries);
    free(b->choices);
    free(b->frags);
    free(b->used);
    free(b);
}

/* What is due first: a pack, or the gate of a choice. */
struct deadline {
    uint64_t at;
    uint64_t seq; /* of the first chunk that waits: decides between equal ones */
    struct weir_batch__choice *choice; /* NULL: nothing waits */
    enum weir_batch_reason why;
    bool is_gate;
};

static void offer(struct deadline *first, const struct deadline *other)
{
    if (first->choice == NULL || other->at < first->at ||
        (other->at == first->at && other->seq < first->seq)) {
        *first = *other;
    }
}

static struct deadline first_deadline(const struct weir_batch *b)
{
    struct deadline first = {.at = UINT64_MAX};
    const struct weir_list *head = &b->open;
    for (struct weir_list *link = head->next; link != NULL && link != head; link = link->next) {
        struct weir_batch__pack *p = WEIR_LIST_ENTRY(link, struct weir_batch__pack, link);
        struct deadline d = {.choice = p->choice, .seq = p->seq};
        if (weir_batch__pack_deadline(b, p, &d.at, &d.why)) {
            offer(&first, &d);
        }
    }
    for (size_t i = 0; i < b->n_choices; i++) {
        struct weir_batch__choice *c = b->choices[i];
        struct deadline d = {.choice = c, .is_gate = true};
        if (c->gate != NULL && weir_batch__gate_deadline(b, c->gate, &d.at)) {
            d.seq = weir_batch__first_held(c->gate)->seq_new;
            offer(&first, &d);
        }
    }
    return first;
}

static void fire(struct weir_batch *b, const struct deadline *d)
{
    b->stamp = d->at;
    if (d->is_gate) {
        weir_batch__gate_expire(b, d->choice);
    } else if (b->is_blocked) {
        d->choice->pack.is_deferred = true;
    } else {
        weir_batch__pack_flush(b, d->choice, d->why);
    }
}

void weir_batch_tick(struct weir_batch *b, uint64_t now_ms)
{
    b->now = now_ms > b->now ? now_ms : b->now;
    if (b->now >= b->due) {
        struct deadline d = first_deadline(b);
        for (; d.choice != NULL && d.at <= b->now; d = first_deadline(b)) {
            fire(b, &d);
        }
        b->due = d.at;
    }
    b->stamp = b->now;
}

bool weir_batch_next_deadline(const struct weir_batch *b, uint64_t *at_ms)
{
    /* Blocked, nothing can leave; a shadow has nothing to send and counts with the next event. */
    if (b->is_blocked || b->is_shadow) {
        return false;
    }
    struct deadline d = first_deadline(b);
    *at_ms = d.at;
    return d.choice != NULL;
}

static void end_text(struct weir_batch *b, enum weir_event_kind how)
{
    if (how == WEIR_EVENT_DISCARD) {
        for (size_t i = 0; i < b->n_choices; i++) {
            weir_batch__pack_drop(b, b->choices[i]);
        }
        weir_batch__out_discard(b);
    } else {
        weir_batch__pack_flush_all(b, how == WEIR_EVENT_ERROR ? WEIR_BATCH_ERROR
                                                              : WEIR_BATCH_STREAM_END);
    }
}

static void end_gate(struct weir_batch *b, struct weir_batch__choice *c, enum weir_event_kind how)
{
    switch (how) {
    case WEIR_EVENT_DONE:
        weir_batch__gate_finish(b, c, WEIR_BATCH_STREAM_END);
        break;
    case WEIR_EVENT_ERROR:
        weir_batch__gate_abort(b, c, WEIR_BATCH_ERROR);
        break;
    case WEIR_EVENT_EOF:
        weir_batch__gate_abort(b, c, WEIR_BATCH_STREAM_END);
        break;
    default:
        weir_batch__gate_abort(b, c, WEIR_BATCH_NO_REASON);
        break;
    }
}

/* The choice whose calls have waited longest, or NULL. */
static struct weir_batch__choice *oldest_gate(const struct weir_batch *b)
{
    struct weir_batch__choice *oldest = NULL;
    uint64_t seq = UINT64_MAX;
    for (size_t i = 0; i < b->n_choices; i++) {
        struct weir_batch__choice *c = b->choices[i];
        const struct weir_batch__tool *tool =
            c->gate != NULL ? weir_batch__first_held(c->gate) : NULL;
        if (tool != NULL && tool->seq_new < seq) {
            oldest = c;
            seq = tool->seq_new;
        }
    }
    return oldest;
}

/* Like texts, calls leave in the order in which they came, whatever their choice. */
static void end_gates(struct weir_batch *b, enum weir_event_kind how)
{
    struct weir_batch__choice *c = oldest_gate(b);
    for (size_t i = 0; c != NULL && i < b->n_choices; i++, c = oldest_gate(b)) {
        end_gate(b, c, how);
    }
}

/* Calls that fill the engine would wait for what is not read until they have left: they leave as
 * they are, the oldest first. While the caller takes no bytes, it is the caller who must read. */
static void make_room(struct weir_batch *b)
{
    struct weir_batch__choice *c;
    while (b->is_full && !b->is_blocked && (c = oldest_gate(b)) != NULL) {
        weir_batch__gate_open(b, c);
    }
}

static void on_event(struct weir_batch *b, const struct weir_event *e)
{
    if (e->kind == WEIR_EVENT_CHUNK) {
        weir_batch__on_chunk(b, e);
        return;
    }
    if (e->kind == WEIR_EVENT_BLOCK) {
        weir_batch__on_block(b, e->choice);
    }
    if (weir_event_is_end(e)) {
        end_text(b, e->kind);
        end_gates(b, e->kind);
    }
    if (!b->is_shadow) {
        weir_batch__out_event(b, e);
    }
}

enum weir_flow weir_batch_push(struct weir_batch *b, uint64_t now_ms, const struct weir_event *e)
{
    weir_batch_tick(b, now_ms);
    b->n_said = e->n_said > b->n_said ? e->n_said : b->n_said;
    if (b->o.mode != WEIR_BATCH_OFF) {
        on_event(b, e);
        make_room(b);
    }
    if (b->o.mode != WEIR_BATCH_ON) {
        weir_batch__out_untouched(b, e);
    }
    return b->is_full ? WEIR_FLOW_FULL : WEIR_FLOW_OK;
}

void weir_batch_end(struct weir_batch *b, uint64_t now_ms, enum weir_event_kind how)
{
    struct weir_event e = {.kind = how};
    (void)weir_batch_push(b, now_ms, &e);
}

/* What met a trigger while blocked, oldest first; what did not keeps its timer. */
static void send_deferred(struct weir_batch *b)
{
    struct weir_list *link = b->open.next;
    while (link != NULL && link != &b->open && !b->is_blocked) {
        struct weir_batch__pack *p = WEIR_LIST_ENTRY(link, struct weir_batch__pack, link);
        link = link->next;
        if (p->is_deferred) {
            weir_batch__pack_flush(b, p->choice, WEIR_BATCH_BACKPRESSURE);
        }
    }
}

void weir_batch_blocked(struct weir_batch *b, uint64_t now_ms, bool is_blocked)
{
    b->now = now_ms > b->now ? now_ms : b->now;
    if (is_blocked == b->is_blocked) {
        return;
    }
    if (is_blocked) {
        b->is_blocked = true;
        b->blocked_since = b->now;
        return;
    }
    weir_batch_tick(b, now_ms);
    b->is_blocked = false;
    weir_batch_histogram_add(&b->stats.blocked_ms, weir_batch_hold_bounds_ms,
                             b->now - b->blocked_since);
    weir_batch__out_drain(b);
    send_deferred(b);
    make_room(b);
    b->due = 0; /* look the deadlines up again: while blocked they were let pass */
}

bool weir_batch_is_full(const struct weir_batch *b)
{
    return b->is_full;
}

size_t weir_batch_buffered_bytes(const struct weir_batch *b)
{
    return b->n_buffered;
}

const struct weir_batch_stats *weir_batch_stats(const struct weir_batch *b)
{
    return &b->stats;
}
