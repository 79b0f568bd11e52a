#ifndef WEIR_OBS_METRIC_H
#define WEIR_OBS_METRIC_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Counters, gauges and histograms, cheap enough for every token.
 *
 *   family  weir_requests_total, declared once      series  {route="a"} ─► slots 17
 *                                                           {route="b"} ─► slots 18
 *
 *   slot          0 … 1023 │ 1024 … 2047 │ …        chunks appear when first touched, never move
 *   thread A     [########]│ [########]  │
 *   thread B     [########]│     –       │          a value is the sum of its slot over all threads
 *
 * A thread writes its own shard only, with plain loads and stores (relaxed atomics), so counting
 * never waits and never bounces a cache line. When a thread ends its shard keeps its counts and
 * waits for the next new thread.
 *
 * Everything counted is an integer, so that sums stay exact. A family has `decimals`: a value is
 * shown divided by 10^decimals. Times are observed in microseconds and shown in seconds (6), which
 * lasts 58 years at 10,000 requests at once; nanoseconds (9) only for what is short and rare.
 *
 * Families live as long as the process, and so do series but for gauges that are forgotten. Handles
 * are small values to be kept by whoever counts; an all-zero handle is valid and counts nowhere.
 * All functions may be called from any thread.
 */
enum {
    WEIR_METRIC_MAX_LABELS = 8,
    WEIR_METRIC_MAX_BUCKETS = 62,
    WEIR_METRIC_MAX_SERIES = 1000, /* of one family, unless it says otherwise */
    WEIR_METRIC_MAX_VALUE_BYTES = 128,
};

enum weir_metric_type {
    WEIR_METRIC_COUNTER,
    WEIR_METRIC_GAUGE,
    WEIR_METRIC_HISTOGRAM,
};

/* A family's names for OpenTelemetry, where a convention has some; as an attribute an empty label
 * is left out. */
struct weir_metric_otlp {
    const char *name;
    const char *unit;
    const char *labels[WEIR_METRIC_MAX_LABELS]; /* in the order of the family's */
};

/* What a part says about a family. The strings and arrays must live as long as the process. */
struct weir_metric_def {
    const char *name; /* a counter's ends in _total */
    const char *help;
    enum weir_metric_type type;
    unsigned decimals;                          /* shown is value / 10^decimals; at most 9 */
    const char *labels[WEIR_METRIC_MAX_LABELS]; /* the rest NULL */
    const uint64_t *buckets;                    /* histogram: upper bounds as observed, rising */
    size_t n_buckets;
    size_t max_series;                   /* 0: WEIR_METRIC_MAX_SERIES */
    const struct weir_metric_otlp *otlp; /* NULL: the names above */
};

struct weir_metric_family;
struct weir_metric_hist; /* a histogram family's bounds, prepared */

/* The values of a family's labels, in the order of its definition; borrowed. */
struct weir_metric_labels {
    const struct weir_slice *v;
    size_t n;
};

#define WEIR_METRIC_LABELS(...)                                                                    \
    ((struct weir_metric_labels){(const struct weir_slice[]){__VA_ARGS__},                         \
                                 sizeof((const struct weir_slice[]){__VA_ARGS__}) /                \
                                     sizeof(struct weir_slice)})
#define WEIR_METRIC_NO_LABELS ((struct weir_metric_labels){NULL, 0})

struct weir_metric_counter {
    uint32_t slot;
};

struct weir_metric_gauge {
    _Atomic int64_t *value;
};

struct weir_metric_histogram {
    const struct weir_metric_hist *hist;
    uint32_t slot;
};

/* Called when the metrics are read, under the registry's lock: it must not use the registry. */
typedef double (*weir_metric_read_fn)(void *ctx);

/*
 * Declares a family. A name that was declared before gives the same family, and must have the same
 * type and labels. Families are shown in the order they were declared.
 */
struct weir_metric_family *weir_metric_declare(const struct weir_metric_def *def);

/*
 * The series with these label values, made when it is new. Values may come from outside: they are
 * cut to WEIR_METRIC_MAX_VALUE_BYTES, bytes that are not UTF-8 and control characters are replaced,
 * and when the family is full the answer is its one series with every label "other".
 */
struct weir_metric_counter weir_metric_counter(struct weir_metric_family *f,
                                               struct weir_metric_labels labels);
struct weir_metric_gauge weir_metric_gauge(struct weir_metric_family *f,
                                           struct weir_metric_labels labels);
struct weir_metric_histogram weir_metric_histogram(struct weir_metric_family *f,
                                                   struct weir_metric_labels labels);

/*
 * A counter or gauge whose value is asked for: shown as `fn` answers, without `decimals`. Replaces
 * what the series had; fn NULL hides it. After return the former `fn` is not running any more.
 */
void weir_metric_callback(struct weir_metric_family *f, struct weir_metric_labels labels,
                          weir_metric_read_fn fn, void *ctx);

/* Takes a gauge away, if it is there. Its handles must not be used any more. */
void weir_metric_forget(struct weir_metric_family *f, struct weir_metric_labels labels);

/* A sum over all threads: for reports, not for hot paths. */
uint64_t weir_metric_counter_value(struct weir_metric_counter c);

/* For tests: likewise, and a single family as text. */
uint64_t weir_metric_histogram_count(struct weir_metric_histogram h);
uint64_t weir_metric_histogram_sum(struct weir_metric_histogram h);
int weir_metric_render_family(const struct weir_metric_family *f, struct weir_buf *out);

/* Appends everything in the Prometheus text format 0.0.4. 0, or WEIR_ELIMIT when `out` is full. */
int weir_metric_render(struct weir_buf *out);

/* What follows is the hot path, in the header to be inlined; names with two underscores are
 * private. */

enum { WEIR_METRIC__CHUNK_SLOTS = 1024, WEIR_METRIC__MAX_CHUNKS = 256 };

struct weir_metric_shard {
    _Atomic(_Atomic uint64_t *) chunks[WEIR_METRIC__MAX_CHUNKS];
    struct weir_metric_shard *next; /* all shards ever made */
    struct weir_metric_shard *next_idle;
};

struct weir_metric_hist {
    uint64_t bounds[WEIR_METRIC_MAX_BUCKETS + 1]; /* the last one used is UINT64_MAX: +Inf */
    uint8_t first[64];                            /* by highest bit: the first bucket to look at */
    uint32_t n_buckets;                           /* with +Inf */
};

/* Never NULL: a thread that has not counted yet sees a shard without chunks. */
extern _Thread_local struct weir_metric_shard *weir_metric__shard;

/* Makes this thread's chunk for `slot`, and its shard before that. */
_Atomic uint64_t *weir_metric__make_chunk(uint32_t slot);

static inline _Atomic uint64_t *weir_metric__slot(uint32_t slot)
{
    _Atomic uint64_t *chunk = atomic_load_explicit(
        &weir_metric__shard->chunks[slot / WEIR_METRIC__CHUNK_SLOTS], memory_order_relaxed);
    if (__builtin_expect(chunk == NULL, 0)) {
        chunk = weir_metric__make_chunk(slot);
    }
    return &chunk[slot % WEIR_METRIC__CHUNK_SLOTS];
}

/* No read-modify-write: this thread is the only writer, others only read. */
static inline void weir_metric__bump(_Atomic uint64_t *slot, uint64_t n)
{
    atomic_store_explicit(slot, atomic_load_explicit(slot, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static inline void weir_metric_add(struct weir_metric_counter c, uint64_t n)
{
    weir_metric__bump(weir_metric__slot(c.slot), n);
}

/* Buckets include their bound. A series' buckets and its sum lie in one chunk, sum last. */
static inline void weir_metric_observe(struct weir_metric_histogram h, uint64_t value)
{
    if (h.hist == NULL) {
        return;
    }
    uint32_t i = h.hist->first[63 - __builtin_clzll(value | 1)];
    while (value > h.hist->bounds[i]) {
        i++;
    }
    _Atomic uint64_t *slots = weir_metric__slot(h.slot);
    weir_metric__bump(&slots[i], 1);
    weir_metric__bump(&slots[h.hist->n_buckets], value);
}

/* Adds a histogram that was kept elsewhere with the same bounds: a count per bucket, +Inf last, and
 * the sum of the values. */
static inline void weir_metric_merge(struct weir_metric_histogram h, const uint64_t *buckets,
                                     uint64_t sum)
{
    if (h.hist == NULL) {
        return;
    }
    _Atomic uint64_t *slots = weir_metric__slot(h.slot);
    for (uint32_t i = 0; i < h.hist->n_buckets; i++) {
        weir_metric__bump(&slots[i], buckets[i]);
    }
    weir_metric__bump(&slots[h.hist->n_buckets], sum);
}

/* Gauges are one value for the process: the last set wins, adds are never lost. */
static inline void weir_metric_set(struct weir_metric_gauge g, int64_t value)
{
    if (g.value != NULL) {
        atomic_store_explicit(g.value, value, memory_order_relaxed);
    }
}

static inline void weir_metric_gauge_add(struct weir_metric_gauge g, int64_t n)
{
    if (g.value != NULL) {
        atomic_fetch_add_explicit(g.value, n, memory_order_relaxed);
    }
}

#endif
