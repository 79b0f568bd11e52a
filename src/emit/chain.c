#include "emit/chain.h"

#include "base/mem.h"

#include <stdlib.h>

struct weir_chain {
    weir_batch_emit_fn emit;
    void *ctx;
    struct weir_dedup *dedup; /* these are NULL where off */
    struct weir_batch *adapter;
    struct weir_batch *business;
    bool can_block_adapter; /* it is the last stage that is on */
    bool is_busy;           /* inside a call: emit may say blocked */
    struct weir_json_tape tape;
    struct weir_chain_counts counts;
};

static void to_caller(struct weir_chain *c, enum weir_batch_reason why, const struct weir_event *e)
{
    if (e->kind == WEIR_EVENT_BLOCK) {
        return; /* it was for the stages */
    }
    if (e->kind == WEIR_EVENT_CHUNK) {
        c->counts.business_chunks++;
        c->counts.business_bytes += e->data.n;
    }
    c->emit(c->ctx, why, e);
}

static void on_business(void *ctx, enum weir_batch_reason why, const struct weir_event *e)
{
    to_caller(ctx, why, e);
}

static void on_adapter(void *ctx, enum weir_batch_reason why, const struct weir_event *e)
{
    struct weir_chain *c = ctx;
    if (e->kind == WEIR_EVENT_CHUNK) {
        c->counts.adapter_chunks++;
        c->counts.adapter_bytes += e->data.n;
    }
    if (c->business != NULL) {
        (void)weir_batch_push(c->business, e->at_ms, e);
    } else {
        to_caller(c, why, e);
    }
}

struct weir_chain *weir_chain_new(const struct weir_chain_options *o, weir_batch_emit_fn emit,
                                  void *ctx)
{
    struct weir_chain *c = weir_mem_zalloc(sizeof *c);
    c->emit = emit;
    c->ctx = ctx;
    if (o->dedup.mode != WEIR_DEDUP_OFF) {
        c->dedup = weir_dedup_new(&o->dedup);
    }
    if (o->adapter.mode != WEIR_BATCH_OFF) {
        c->adapter = weir_batch_new(&o->adapter, on_adapter, c);
    }
    if (o->business.mode != WEIR_BATCH_OFF) {
        c->business = weir_batch_new(&o->business, on_business, c);
    }
    c->can_block_adapter = o->business.mode != WEIR_BATCH_ON;
    return c;
}

void weir_chain_free(struct weir_chain *c)
{
    if (c == NULL) {
        return;
    }
    weir_dedup_free(c->dedup);
    weir_batch_free(c->adapter);
    weir_batch_free(c->business);
    weir_json_tape_dispose(&c->tape);
    free(c);
}

/* Due timers of both stages, in the order of their deadlines: what the adapter sends makes the
 * business stage catch up to that moment first. */
static void tick(struct weir_chain *c, uint64_t now_ms)
{
    if (c->adapter != NULL) {
        weir_batch_tick(c->adapter, now_ms);
    }
    if (c->business != NULL) {
        weir_batch_tick(c->business, now_ms);
    }
}

void weir_chain_tick(struct weir_chain *c, uint64_t now_ms)
{
    c->is_busy = true;
    tick(c, now_ms);
    c->is_busy = false;
}

static void push(struct weir_chain *c, uint64_t now_ms, const struct weir_event *given)
{
    struct weir_event mine = *given;
    struct weir_event *e = &mine;
    struct weir_json parsed;
    bool is_chunk = e->kind == WEIR_EVENT_CHUNK && !e->is_opaque;
    bool is_wanted = c->dedup != NULL || c->adapter != NULL;
    tick(c, now_ms);
    if (is_chunk && is_wanted && e->json == NULL &&
        weir_json_parse_reuse(&parsed, e->data, NULL, &c->tape, NULL) == 0) {
        e->json = &parsed;
    }
    if (c->dedup != NULL && weir_dedup_see(c->dedup, e) == WEIR_DEDUP_DROP) {
        return;
    }
    if (c->adapter != NULL) {
        (void)weir_batch_push(c->adapter, now_ms, e);
    } else {
        e->at_ms = now_ms;
        on_adapter(c, WEIR_BATCH_PASSTHROUGH, e);
    }
}

void weir_chain_push(struct weir_chain *c, uint64_t now_ms, const struct weir_event *e)
{
    if (e->kind == WEIR_EVENT_CHUNK) {
        c->counts.raw_chunks++;
        c->counts.raw_bytes += e->data.n;
    }
    c->is_busy = true;
    push(c, now_ms, e);
    c->is_busy = false;
}

bool weir_chain_next_deadline(const struct weir_chain *c, uint64_t *at_ms)
{
    uint64_t first = 0;
    uint64_t second = 0;
    bool has_first = c->adapter != NULL && weir_batch_next_deadline(c->adapter, &first);
    bool has_second = c->business != NULL && weir_batch_next_deadline(c->business, &second);
    *at_ms = has_first && (!has_second || first < second) ? first : second;
    return has_first || has_second;
}

bool weir_chain_is_full(const struct weir_chain *c)
{
    return (c->adapter != NULL && weir_batch_is_full(c->adapter)) ||
           (c->business != NULL && weir_batch_is_full(c->business));
}

size_t weir_chain_buffered_bytes(const struct weir_chain *c)
{
    size_t n = c->adapter != NULL ? weir_batch_buffered_bytes(c->adapter) : 0;
    return n + (c->business != NULL ? weir_batch_buffered_bytes(c->business) : 0);
}

void weir_chain_blocked(struct weir_chain *c, uint64_t now_ms, bool is_blocked)
{
    /* Only the last stage that changes anything waits; the one before merges into it. */
    struct weir_batch *last = c->can_block_adapter ? c->adapter : c->business;
    if (c->is_busy) {
        if (last != NULL) {
            weir_batch_blocked(last, now_ms, is_blocked);
        }
        return;
    }
    c->is_busy = true;
    tick(c, now_ms);
    if (last != NULL) {
        weir_batch_blocked(last, now_ms, is_blocked);
    }
    c->is_busy = false;
}

const struct weir_batch_stats *weir_chain_stats(const struct weir_chain *c,
                                                enum weir_batch_stage stage)
{
    const struct weir_batch *b = stage == WEIR_BATCH_ADAPTER ? c->adapter : c->business;
    return b != NULL ? weir_batch_stats(b) : NULL;
}

const struct weir_dedup_stats *weir_chain_dedup_stats(const struct weir_chain *c)
{
    return c->dedup != NULL ? weir_dedup_stats(c->dedup) : NULL;
}

struct weir_chain_counts weir_chain_counts(const struct weir_chain *c)
{
    return c->counts;
}

/* What a stage did, or would have done. */
static const struct weir_batch_counts *counts_of(const struct weir_batch *b)
{
    const struct weir_batch_stats *stats = weir_batch_stats(b);
    return stats->would.chunks != 0 ? &stats->would : &stats->live;
}

static double ratio(uint64_t n_before, uint64_t n_after)
{
    return n_after != 0 ? (double)n_before / (double)n_after : 0;
}

/* When the first text left the last stage that held it; where nobody held it, when it came. */
static void find_first_text(const struct weir_chain *c, struct weir_chain_report *out)
{
    const struct weir_batch *stages[] = {c->business, c->adapter};
    for (size_t i = 0; i < 2; i++) {
        const struct weir_batch_stats *s = stages[i] != NULL ? weir_batch_stats(stages[i]) : NULL;
        bool is_left = s != NULL && s->has_ttft;
        if (is_left || (s != NULL && s->has_text && !out->has_first_text)) {
            out->has_first_text = true;
            out->first_text_ms = s->first_text_ms + s->added_ttft_ms;
        }
        if (is_left) {
            return;
        }
    }
}

void weir_chain_report(const struct weir_chain *c, struct weir_chain_report *out,
                       struct weir_buf *flushes)
{
    const struct weir_batch *last = c->business != NULL ? c->business : c->adapter;
    *out = (struct weir_chain_report){.taps = c->counts};
    out->raw_per_chunk = ratio(c->counts.raw_chunks, c->counts.business_chunks);
    out->raw_per_adapter = ratio(c->counts.raw_chunks, c->counts.adapter_chunks);
    out->adapter_per_business = ratio(c->counts.adapter_chunks, c->counts.business_chunks);
    if (c->adapter != NULL) {
        weir_batch_counts_text(counts_of(c->adapter), "adapter", flushes);
    }
    if (c->business != NULL) {
        weir_batch_counts_text(counts_of(c->business), "business", flushes);
    }
    find_first_text(c, out);
    if (last == NULL || counts_of(last)->text_flushes == 0) {
        return;
    }
    const struct weir_batch_counts *counts = counts_of(last);
    out->hold_mean_ms = (double)counts->hold_ms.sum / (double)counts->hold_ms.n;
    out->avg_flush_chars = (double)counts->flush_chars / (double)counts->text_flushes;
    out->hold_p50_ms =
        weir_batch_histogram_quantile(&counts->hold_ms, weir_batch_hold_bounds_ms, 0.5);
    out->hold_p99_ms =
        weir_batch_histogram_quantile(&counts->hold_ms, weir_batch_hold_bounds_ms, 0.99);
}
