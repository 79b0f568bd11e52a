/*
 * The registry as Prometheus text 0.0.4. Values are integers with a fixed number of decimals, so
 * they are printed exactly, digit by digit; only what a callback answers is a double.
 */
#include "base/err.h"
#include "obs/metric.h"
#include "obs/obs_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBER_BYTES = WEIR_METRIC__NUMBER_BYTES };

/* 1500000 with 6 decimals is 1.5. */
static const char *fixed(char out[NUMBER_BYTES], uint64_t value, unsigned decimals)
{
    uint64_t unit = 1;
    for (unsigned i = 0; i < decimals; i++) {
        unit *= 10;
    }
    int n = snprintf(out, NUMBER_BYTES, "%" PRIu64, value / unit);
    if (value % unit != 0) {
        n +=
            snprintf(out + n, NUMBER_BYTES - (size_t)n, ".%0*" PRIu64, (int)decimals, value % unit);
        while (out[n - 1] == '0') {
            out[--n] = '\0';
        }
    }
    return out;
}

static const char *fixed_signed(char out[NUMBER_BYTES], int64_t value, unsigned decimals)
{
    if (value >= 0) {
        return fixed(out, (uint64_t)value, decimals);
    }
    char digits[NUMBER_BYTES];
    snprintf(out, NUMBER_BYTES, "-%.30s", fixed(digits, -(uint64_t)value, decimals));
    return out;
}

const char *weir_metric__shortest(char out[NUMBER_BYTES], double value)
{
    if (isnan(value)) {
        return "NaN";
    }
    if (isinf(value)) {
        return value > 0 ? "+Inf" : "-Inf";
    }
    if (fabs(value) < 9007199254740992.0 && value == (double)(int64_t)value) {
        snprintf(out, NUMBER_BYTES, "%" PRId64, (int64_t)value);
        return out;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, NUMBER_BYTES, "%.*g", digits, value);
        if (strtod(out, NULL) == value) {
            break;
        }
    }
    return out;
}

/* HELP escapes backslash and line feed only. */
static int render_help(const struct weir_metric_def *def, struct weir_buf *out)
{
    int rc = weir_buf_printf(out, "# HELP %s ", def->name);
    for (const char *p = def->help; rc == 0 && *p != '\0'; p++) {
        if (*p == '\n') {
            rc = weir_buf_append(out, WEIR_SLICE("\\n"));
        } else if (*p == '\\') {
            rc = weir_buf_append(out, WEIR_SLICE("\\\\"));
        } else {
            rc = weir_buf_append_byte(out, *p);
        }
    }
    return rc;
}

static int render_head(const struct weir_metric_def *def, struct weir_buf *out)
{
    static const char *const types[] = {
        [WEIR_METRIC_COUNTER] = "counter",
        [WEIR_METRIC_GAUGE] = "gauge",
        [WEIR_METRIC_HISTOGRAM] = "histogram",
    };
    int rc = render_help(def, out);
    if (rc == 0) {
        rc = weir_buf_printf(out, "\n# TYPE %s %s\n", def->name, types[def->type]);
    }
    return rc;
}

/* name_suffix{labels} value */
static int render_sample(struct weir_buf *out, const char *name, const char *suffix,
                         struct weir_slice labels, const char *value)
{
    const char *open = labels.n != 0 ? "{" : "";
    const char *close = labels.n != 0 ? "}" : "";
    return weir_buf_printf(out, "%s%s%s%.*s%s %s\n", name, suffix, open, (int)labels.n, labels.p,
                           close, value);
}

static int render_bucket(struct weir_buf *out, const char *name, struct weir_slice labels,
                         const char *bound, uint64_t count)
{
    return weir_buf_printf(out, "%s_bucket{%.*s%sle=\"%s\"} %" PRIu64 "\n", name, (int)labels.n,
                           labels.p, labels.n != 0 ? "," : "", bound, count);
}

static int render_histogram(const struct weir_metric_family *f, const struct weir_metric_series *s,
                            struct weir_buf *out)
{
    char number[NUMBER_BYTES];
    const char *name = f->def.name;
    uint32_t n_buckets = f->hist.n_buckets;
    uint64_t sum = weir_metric__sum(s->slot + n_buckets);
    uint64_t count = 0;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < n_buckets; i++) {
        const char *bound =
            i + 1 == n_buckets ? "+Inf" : fixed(number, f->hist.bounds[i], f->def.decimals);
        count += weir_metric__sum(s->slot + i);
        rc = render_bucket(out, name, s->labels, bound, count);
    }
    if (rc == 0) {
        rc = render_sample(out, name, "_sum", s->labels, fixed(number, sum, f->def.decimals));
    }
    if (rc == 0) {
        rc = render_sample(out, name, "_count", s->labels, fixed(number, count, 0));
    }
    return rc;
}

static const char *scalar(char out[NUMBER_BYTES], const struct weir_metric_family *f,
                          const struct weir_metric_series *s)
{
    if (s->read != NULL) {
        return weir_metric__shortest(out, s->read(s->read_ctx));
    }
    if (f->def.type == WEIR_METRIC_COUNTER) {
        return fixed(out, weir_metric__sum(s->slot), f->def.decimals);
    }
    int64_t value = atomic_load_explicit(&s->gauge, memory_order_relaxed);
    return fixed_signed(out, value, f->def.decimals);
}

static int render_series(const struct weir_metric_family *f, const struct weir_metric_series *s,
                         struct weir_buf *out)
{
    if (f->def.type == WEIR_METRIC_HISTOGRAM) {
        return render_histogram(f, s, out);
    }
    char number[NUMBER_BYTES];
    return render_sample(out, f->def.name, "", s->labels, scalar(number, f, s));
}

/* A family nobody has counted in is shown with its head only, so that its name can be found. */
static int render_family(const struct weir_metric_family *f, struct weir_buf *out)
{
    int rc = render_head(&f->def, out);
    struct weir_map_entry *e;
    for (size_t i = 0; rc == 0 && (e = weir_map_next(&f->by_labels, &i)) != NULL;) {
        const struct weir_metric_series *s = e->value;
        if (!s->hidden) {
            rc = render_series(f, s, out);
        }
    }
    return rc;
}

int weir_metric_render_family(const struct weir_metric_family *f, struct weir_buf *out)
{
    weir_metric__lock_shared();
    int rc = render_family(f, out);
    weir_metric__unlock();
    return rc;
}

int weir_metric_render(struct weir_buf *out)
{
    int rc = 0;
    weir_metric__lock_shared();
    for (const struct weir_metric_family *f = weir_metric__families(); rc == 0 && f != NULL;
         f = f->next) {
        rc = render_family(f, out);
    }
    weir_metric__unlock();
    return rc;
}
