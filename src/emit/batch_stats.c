#include "emit/batch_stats.h"

#include "base/err.h"

const uint32_t weir_batch_hold_bounds_ms[WEIR_BATCH_BOUNDS] = {5,   10,  25,  50,  100,
                                                               200, 400, 800, 1600};
const uint32_t weir_batch_chars_bounds[WEIR_BATCH_BOUNDS] = {1, 4, 16, 40, 80, 120, 240, 480, 960};

static const char *const reason_texts[] = {
#define REASON_TEXT(name, text) text,
    WEIR_BATCH_REASON_MAP(REASON_TEXT)
#undef REASON_TEXT
};

const char *weir_batch_reason_text(enum weir_batch_reason why)
{
    return why < WEIR_BATCH_REASONS ? reason_texts[why] : "none";
}

void weir_batch_histogram_add(struct weir_batch_histogram *h, const uint32_t *bounds,
                              uint64_t value)
{
    size_t i = 0;
    while (i < WEIR_BATCH_BOUNDS && value > bounds[i]) {
        i++;
    }
    h->buckets[i]++;
    h->sum += value;
    h->n++;
}

uint64_t weir_batch_histogram_quantile(const struct weir_batch_histogram *h, const uint32_t *bounds,
                                       double part)
{
    uint64_t n_below = 0;
    if (h->n == 0) {
        return 0;
    }
    for (size_t i = 0; i < WEIR_BATCH_BOUNDS; i++) {
        n_below += h->buckets[i];
        if ((double)n_below >= part * (double)h->n) {
            return bounds[i];
        }
    }
    return bounds[WEIR_BATCH_BOUNDS - 1];
}

void weir_batch_counts_text(const struct weir_batch_counts *c, const char *prefix,
                            struct weir_buf *out)
{
    for (size_t i = 0; i < WEIR_BATCH_REASONS; i++) {
        if (c->flush[i] != 0) {
            (void)weir_buf_printf(out, " %s.%s=%llu", prefix, reason_texts[i],
                                  (unsigned long long)c->flush[i]);
        }
    }
}

struct count_name {
    const char *name;
    size_t offset;
};

static const struct count_name count_names[] = {
#define COUNT_NAME(field, name) {name, offsetof(struct weir_batch_counts, field)},
    WEIR_BATCH_COUNT_MAP(COUNT_NAME)
#undef COUNT_NAME
};

enum { COUNT_NAMES = sizeof count_names / sizeof count_names[0] };

static int get_flush(const struct weir_batch_counts *c, struct weir_slice reason, uint64_t *out)
{
    for (size_t i = 0; i < WEIR_BATCH_REASONS; i++) {
        if (weir_slice_eq_cstr(reason, reason_texts[i])) {
            *out = c->flush[i];
            return 0;
        }
    }
    return WEIR_ENOTFOUND;
}

static int get_count(const struct weir_batch_counts *c, struct weir_slice name, uint64_t *out)
{
    struct weir_slice flush = WEIR_SLICE("flush.");
    if (weir_slice_starts_with(name, flush)) {
        return get_flush(c, weir_slice_sub(name, flush.n, name.n), out);
    }
    for (size_t i = 0; i < COUNT_NAMES; i++) {
        if (weir_slice_eq_cstr(name, count_names[i].name)) {
            memcpy(out, (const char *)c + count_names[i].offset, sizeof *out);
            return 0;
        }
    }
    return WEIR_ENOTFOUND;
}

int weir_batch_stats_get(const struct weir_batch_stats *s, struct weir_slice name, uint64_t *out)
{
    struct weir_slice would = WEIR_SLICE("would.");
    if (weir_slice_starts_with(name, would)) {
        return get_count(&s->would, weir_slice_sub(name, would.n, name.n), out);
    }
    return get_count(&s->live, name, out);
}
