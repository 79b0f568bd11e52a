#include "obs/metric_visit.h"

#include "obs/obs_int.h"

static void visit_histogram(const struct weir_metric_visitor *visitor, void *ctx,
                            const struct weir_metric_family *f, const struct weir_metric_series *s)
{
    uint64_t counts[WEIR_METRIC_MAX_BUCKETS + 1];
    struct weir_metric_point point = {
        .labels = s->labels,
        .counts = counts,
        .bounds = f->hist.bounds,
        .n_counts = f->hist.n_buckets,
        .sum = weir_metric__sum(s->slot + f->hist.n_buckets),
    };
    for (uint32_t i = 0; i < f->hist.n_buckets; i++) {
        counts[i] = weir_metric__sum(s->slot + i);
        point.count += counts[i];
    }
    visitor->on_point(ctx, &f->def, &point);
}

static void visit_series(const struct weir_metric_visitor *visitor, void *ctx,
                         const struct weir_metric_family *f, const struct weir_metric_series *s)
{
    struct weir_metric_point point = {.labels = s->labels};
    if (f->def.type == WEIR_METRIC_HISTOGRAM) {
        visit_histogram(visitor, ctx, f, s);
        return;
    }
    if (s->read != NULL) {
        point.is_real = true;
        point.real = s->read(s->read_ctx);
    } else if (f->def.type == WEIR_METRIC_COUNTER) {
        point.whole = (int64_t)weir_metric__sum(s->slot);
    } else {
        point.whole = atomic_load_explicit(&s->gauge, memory_order_relaxed);
    }
    visitor->on_point(ctx, &f->def, &point);
}

static void visit_family(const struct weir_metric_visitor *visitor, void *ctx,
                         const struct weir_metric_family *f)
{
    struct weir_map_entry *e;
    visitor->on_family(ctx, &f->def);
    for (size_t i = 0; (e = weir_map_next(&f->by_labels, &i)) != NULL;) {
        const struct weir_metric_series *s = e->value;
        if (!s->hidden) {
            visit_series(visitor, ctx, f, s);
        }
    }
    visitor->on_family_end(ctx, &f->def);
}

void weir_metric_visit(const struct weir_metric_visitor *visitor, void *ctx)
{
    weir_metric__lock_shared();
    for (const struct weir_metric_family *f = weir_metric__families(); f != NULL; f = f->next) {
        visit_family(visitor, ctx, f);
    }
    weir_metric__unlock();
}

/* The text is our own, a="x",b="y", with three escapes in the values. */
bool weir_metric_visit_label(struct weir_slice *labels, struct weir_slice *name,
                             struct weir_buf *value)
{
    struct weir_slice s = *labels;
    if (s.n == 0) {
        return false;
    }
    size_t at = weir_slice_find(s, '=');
    *name = weir_slice_sub(s, 0, at);
    weir_buf_clear(value);
    for (at += 2; at < s.n && s.p[at] != '"'; at++) {
        bool is_escape = s.p[at] == '\\';
        at += is_escape;
        weir_buf_append_byte(value, (char)(is_escape && s.p[at] == 'n' ? '\n' : s.p[at]));
    }
    at++; /* the quote; a comma may follow */
    *labels = at < s.n ? weir_slice_sub(s, at + 1, s.n) : (struct weir_slice){0};
    return true;
}
