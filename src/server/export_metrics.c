#include "server/export_metrics.h"

#include "obs/metric_visit.h"
#include "server/export_attr.h"
#include "wire/proto_write.h"

#include <endian.h>
#include <math.h>
#include <string.h>

enum {
    ENTRY = 2, /* of ScopeMetrics */
    NAME = 1,
    DESCRIPTION = 2,
    UNIT = 3,
    GAUGE = 5,
    SUM = 7,
    HISTOGRAM = 9,
    POINT = 1, /* of each of these three */
    TEMPORALITY = 2,
    IS_MONOTONIC = 3,
    CUMULATIVE = 2,
};

/* Of a point; the first two mean the same in both kinds. */
enum {
    POINT_START = 2,
    POINT_TIME = 3,
    NUMBER_DOUBLE = 4,
    NUMBER_INT = 6,
    NUMBER_ATTR = 7,
    HIST_COUNT = 4,
    HIST_SUM = 5,
    HIST_BUCKETS = 6,
    HIST_BOUNDS = 7,
    HIST_ATTR = 9,
};

static double scaled(double value, unsigned decimals)
{
    double unit = 1;
    for (unsigned i = 0; i < decimals; i++) {
        unit *= 10;
    }
    return value / unit;
}

/* The name says it: that is the convention names follow here. */
static struct weir_slice unit_of(const struct weir_metric_def *def)
{
    struct weir_slice name = weir_slice_cstr(def->name);
    struct weir_slice total = WEIR_SLICE("_total");
    if (def->otlp != NULL) {
        return weir_slice_cstr(def->otlp->unit);
    }
    if (weir_slice_ends_with(name, total)) {
        name = weir_slice_sub(name, 0, name.n - total.n);
    }
    if (weir_slice_ends_with(name, WEIR_SLICE("_seconds"))) {
        return WEIR_SLICE("s");
    }
    return weir_slice_ends_with(name, WEIR_SLICE("_bytes")) ? WEIR_SLICE("By") : WEIR_SLICE("");
}

static uint32_t data_field(enum weir_metric_type type)
{
    switch (type) {
    case WEIR_METRIC_COUNTER:
        return SUM;
    case WEIR_METRIC_HISTOGRAM:
        return HISTOGRAM;
    case WEIR_METRIC_GAUGE:
        break;
    }
    return GAUGE;
}

static void on_family(void *ctx, const struct weir_metric_def *def)
{
    struct weir_export_metrics *m = ctx;
    m->n_points = 0;
    m->family_at = m->entries.n;
    m->metric_mark = weir_proto_write_begin(&m->entries, ENTRY);
    weir_proto_write_bytes(&m->entries, NAME,
                           weir_slice_cstr(def->otlp != NULL ? def->otlp->name : def->name));
    weir_proto_write_bytes(&m->entries, DESCRIPTION, weir_slice_cstr(def->help));
    struct weir_slice unit = unit_of(def);
    if (unit.n != 0) {
        weir_proto_write_bytes(&m->entries, UNIT, unit);
    }
    m->data_mark = weir_proto_write_begin(&m->entries, data_field(def->type));
}

static void hand_out(struct weir_export_metrics *m)
{
    m->take_piece(m->ctx, &m->entries);
    m->entries = (struct weir_buf){0};
}

/* A family nobody has counted in yet is not sent. */
static void on_family_end(void *ctx, const struct weir_metric_def *def)
{
    struct weir_export_metrics *m = ctx;
    if (m->n_points == 0) {
        m->entries.n = m->family_at;
        return;
    }
    if (def->type != WEIR_METRIC_GAUGE) {
        weir_proto_write_u64(&m->entries, TEMPORALITY, CUMULATIVE);
    }
    if (def->type == WEIR_METRIC_COUNTER) {
        weir_proto_write_u64(&m->entries, IS_MONOTONIC, 1);
    }
    weir_proto_write_end(&m->entries, m->data_mark);
    weir_proto_write_end(&m->entries, m->metric_mark);
    if (m->entries.n >= m->max_bytes) {
        hand_out(m);
    }
}

static void write_labels(struct weir_export_metrics *m, uint32_t field,
                         const struct weir_metric_def *def, struct weir_slice labels)
{
    struct weir_slice name;
    for (size_t i = 0; weir_metric_visit_label(&labels, &name, &m->value); i++) {
        if (def->otlp != NULL) {
            name = weir_slice_cstr(def->otlp->labels[i]);
        }
        if (def->otlp == NULL || m->value.n != 0) {
            weir_export_attr_text(&m->entries, field, name, weir_buf_slice(&m->value));
        }
    }
}

static void write_number(struct weir_export_metrics *m, const struct weir_metric_def *def,
                         const struct weir_metric_point *point)
{
    struct weir_buf *out = &m->entries;
    write_labels(m, NUMBER_ATTR, def, point->labels);
    if (point->is_real) {
        weir_proto_write_double(out, NUMBER_DOUBLE, point->real);
    } else if (def->decimals != 0) {
        double value = def->type == WEIR_METRIC_COUNTER ? (double)(uint64_t)point->whole
                                                        : (double)point->whole;
        weir_proto_write_double(out, NUMBER_DOUBLE, scaled(value, def->decimals));
    } else {
        weir_proto_write_fixed64(out, NUMBER_INT, (uint64_t)point->whole);
    }
}

/* Packed: one field with all of them. */
static void write_buckets(struct weir_buf *out, const struct weir_metric_def *def,
                          const struct weir_metric_point *point)
{
    uint64_t values[WEIR_METRIC_MAX_BUCKETS + 1];
    size_t n_bounds = point->n_counts - 1;
    for (size_t i = 0; i < point->n_counts; i++) {
        values[i] = htole64(point->counts[i]);
    }
    weir_proto_write_bytes(out, HIST_BUCKETS,
                           weir_slice_make((const char *)values, point->n_counts * 8));
    for (size_t i = 0; i < n_bounds; i++) {
        double bound = scaled((double)point->bounds[i], def->decimals);
        memcpy(&values[i], &bound, sizeof bound);
        values[i] = htole64(values[i]);
    }
    weir_proto_write_bytes(out, HIST_BOUNDS, weir_slice_make((const char *)values, n_bounds * 8));
}

static void write_histogram(struct weir_export_metrics *m, const struct weir_metric_def *def,
                            const struct weir_metric_point *point)
{
    struct weir_buf *out = &m->entries;
    write_labels(m, HIST_ATTR, def, point->labels);
    weir_proto_write_fixed64(out, HIST_COUNT, point->count);
    weir_proto_write_double(out, HIST_SUM, scaled((double)point->sum, def->decimals));
    write_buckets(out, def, point);
}

static void on_point(void *ctx, const struct weir_metric_def *def,
                     const struct weir_metric_point *point)
{
    struct weir_export_metrics *m = ctx;
    if (point->is_real && !isfinite(point->real)) {
        return; /* what the system does not tell */
    }
    m->n_points++;
    size_t mark = weir_proto_write_begin(&m->entries, POINT);
    if (def->type != WEIR_METRIC_GAUGE) {
        weir_proto_write_fixed64(&m->entries, POINT_START, m->start_ns);
    }
    weir_proto_write_fixed64(&m->entries, POINT_TIME, m->now_ns);
    if (def->type == WEIR_METRIC_HISTOGRAM) {
        write_histogram(m, def, point);
    } else {
        write_number(m, def, point);
    }
    weir_proto_write_end(&m->entries, mark);
}

void weir_export_metrics_write(struct weir_export_metrics *m)
{
    static const struct weir_metric_visitor visitor = {
        .on_family = on_family, .on_point = on_point, .on_family_end = on_family_end};
    weir_metric_visit(&visitor, m);
    if (m->entries.n != 0) {
        hand_out(m);
    }
    weir_buf_dispose(&m->entries);
    weir_buf_dispose(&m->value);
}
