#include "emit/batch_stats.h"

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
