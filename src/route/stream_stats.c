#include "route/stream_stats.h"

#include "obs/metric.h"
#include "route/env.h"
#include "route/stream_out.h"

/* ---- families ---- */

enum {
    TAPS = 3, /* raw, adapter, business */
    STAGES = 2,
};

static const struct weir_slice TAP_NAMES[TAPS] = {{"raw", 3}, {"adapter", 7}, {"business", 8}};
static const struct weir_slice STAGE_NAMES[STAGES] = {{"adapter", 7}, {"business", 8}};

static const struct weir_metric_def CHUNKS = {
    .name = "stream_chunks_total",
    .help = "Messages of streams as they came (raw) and as they left each stage.",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"tap", "model", "route"},
};
static const struct weir_metric_def BYTES = {
    .name = "stream_bytes_total",
    .help = "Bytes of those messages.",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"tap"},
};
static const struct weir_metric_def CHARS = {
    .name = "stream_chars_total",
    .help = "Code points of text in messages that left a stage.",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"tap"},
};
static const struct weir_metric_def FLUSHES = {
    .name = "stream_flushes_total",
    .help = "Why messages left a stage.",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"stage", "reason"},
};
/* Sum and count are all that is wanted of it: one bucket. */
static const struct weir_metric_def FLUSH_CHARS = {
    .name = "stream_flush_chars",
    .help = "Code points in a flush of text.",
    .type = WEIR_METRIC_HISTOGRAM,
    .labels = {"stage"},
};
static const struct weir_metric_def TOOL_GATE = {
    .name = "stream_tool_gate_total",
    .help = "Tool calls by how they left the gate.",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"outcome"},
};
static const struct weir_metric_def DEDUP = {
    .name = "stream_dedup_total",
    .help = "Messages delivered twice, by rule: seen, dropped.",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"rule", "action"},
};

/* Counters without labels: the name and where the number is. */
#define PLAIN_MAP(X)                                                                               \
    X("stream_tool_incomplete_attempts_total",                                                     \
      "Fragments after which a tool call was still open.", tool_incomplete_attempts)               \
    X("stream_discarded_chars_total", "Code points a guardrail discarded.", discarded_chars)       \
    X("stream_post_finish_deltas_total", "Deltas after a finish_reason.", post_finish_deltas)      \
    X("stream_opaque_chunks_total", "Messages that could not be read.", opaque_chunks)             \
    X("stream_absorbed_empty_total", "Deltas that said nothing.", absorbed_empty)

static struct weir_metric_family *chunks;
static struct weir_metric_counter bytes[TAPS];
static struct weir_metric_counter chars[STAGES];
static struct weir_metric_counter flushes[STAGES][WEIR_BATCH_REASONS];
static struct weir_metric_histogram flush_chars[STAGES];
static struct weir_metric_family *tool_gate;
static struct weir_metric_family *dedup;
static struct weir_metric_histogram hold[STAGES];
static struct weir_metric_histogram chunk_chars[STAGES];
static struct weir_metric_histogram backpressure[STAGES];
static struct weir_metric_histogram added_ttft;
static struct weir_metric_histogram tool_hold;

#define PLAIN_VARIABLE(name, help, field) static struct weir_metric_counter plain_##field;
PLAIN_MAP(PLAIN_VARIABLE)
#undef PLAIN_VARIABLE

/* The engine's own bounds, widened. Filled before the first family is declared. */
static uint64_t ms_bounds[WEIR_BATCH_BOUNDS];
static uint64_t char_bounds[WEIR_BATCH_BOUNDS];

/* Observed in milliseconds, shown in seconds. */
#define TIMES(variable, metric, what, label)                                                       \
    static const struct weir_metric_def variable = {.name = metric,                                \
                                                    .help = what,                                  \
                                                    .type = WEIR_METRIC_HISTOGRAM,                 \
                                                    .decimals = 3,                                 \
                                                    .labels = {label},                             \
                                                    .buckets = ms_bounds,                          \
                                                    .n_buckets = WEIR_BATCH_BOUNDS}

TIMES(HOLD, "stream_flush_hold_seconds", "Age of the oldest delta in what left.", "stage");
TIMES(BACKPRESSURE, "stream_backpressure_seconds", "Times a caller took no more.", "stage");
TIMES(ADDED_TTFT, "stream_added_ttft_seconds", "How long the first text waited.", NULL);
TIMES(TOOL_HOLD, "stream_tool_hold_seconds", "How long tool calls were held.", NULL);

static const struct weir_metric_def CHUNK_CHARS = {
    .name = "stream_chunk_chars",
    .help = "Code points in a message with text.",
    .type = WEIR_METRIC_HISTOGRAM,
    .labels = {"tap"},
    .buckets = char_bounds,
    .n_buckets = WEIR_BATCH_BOUNDS,
};

static void declare_by_stage(void)
{
    struct weir_metric_family *f_flushes = weir_metric_declare(&FLUSHES);
    struct weir_metric_family *f_flush_chars = weir_metric_declare(&FLUSH_CHARS);
    struct weir_metric_family *f_chars = weir_metric_declare(&CHARS);
    struct weir_metric_family *f_hold = weir_metric_declare(&HOLD);
    struct weir_metric_family *f_sizes = weir_metric_declare(&CHUNK_CHARS);
    struct weir_metric_family *f_blocked = weir_metric_declare(&BACKPRESSURE);
    for (size_t i = 0; i < STAGES; i++) {
        struct weir_slice stage = STAGE_NAMES[i];
        for (size_t why = 0; why < WEIR_BATCH_REASONS; why++) {
            const char *reason = weir_batch_reason_text((enum weir_batch_reason)why);
            flushes[i][why] =
                weir_metric_counter(f_flushes, WEIR_METRIC_LABELS(stage, weir_slice_cstr(reason)));
        }
        flush_chars[i] = weir_metric_histogram(f_flush_chars, WEIR_METRIC_LABELS(stage));
        chars[i] = weir_metric_counter(f_chars, WEIR_METRIC_LABELS(stage));
        hold[i] = weir_metric_histogram(f_hold, WEIR_METRIC_LABELS(stage));
        chunk_chars[i] = weir_metric_histogram(f_sizes, WEIR_METRIC_LABELS(stage));
        backpressure[i] = weir_metric_histogram(f_blocked, WEIR_METRIC_LABELS(stage));
    }
}

void weir_stream_stats_declare(void)
{
    for (size_t i = 0; i < WEIR_BATCH_BOUNDS; i++) {
        ms_bounds[i] = weir_batch_hold_bounds_ms[i];
        char_bounds[i] = weir_batch_chars_bounds[i];
    }
    chunks = weir_metric_declare(&CHUNKS);
    struct weir_metric_family *f_bytes = weir_metric_declare(&BYTES);
    for (size_t i = 0; i < TAPS; i++) {
        bytes[i] = weir_metric_counter(f_bytes, WEIR_METRIC_LABELS(TAP_NAMES[i]));
    }
    declare_by_stage();
    added_ttft = weir_metric_histogram(weir_metric_declare(&ADDED_TTFT), WEIR_METRIC_NO_LABELS);
    tool_hold = weir_metric_histogram(weir_metric_declare(&TOOL_HOLD), WEIR_METRIC_NO_LABELS);
    tool_gate = weir_metric_declare(&TOOL_GATE);
    dedup = weir_metric_declare(&DEDUP);
#define PLAIN_DECLARE(metric, what, field)                                                         \
    static const struct weir_metric_def def_##field = {                                            \
        .name = metric, .help = what, .type = WEIR_METRIC_COUNTER};                                \
    plain_##field = weir_metric_counter(weir_metric_declare(&def_##field), WEIR_METRIC_NO_LABELS);
    PLAIN_MAP(PLAIN_DECLARE)
#undef PLAIN_DECLARE
}

/* ---- adding one stream ---- */

static void merge(struct weir_metric_histogram h, const struct weir_batch_histogram *from)
{
    weir_metric_merge(h, from->buckets, from->sum);
}

static void add_gate(const char *outcome, uint64_t n)
{
    if (n != 0) {
        struct weir_metric_labels labels = WEIR_METRIC_LABELS(weir_slice_cstr(outcome));
        weir_metric_add(weir_metric_counter(tool_gate, labels), n);
    }
}

static void add_stage(size_t i, const struct weir_batch_stats *stats)
{
    const struct weir_batch_counts *c = &stats->live;
    for (size_t why = 0; why < WEIR_BATCH_REASONS; why++) {
        weir_metric_add(flushes[i][why], c->flush[why]);
    }
    weir_metric_merge(flush_chars[i], &c->text_flushes, c->flush_chars);
    weir_metric_add(chars[i], c->chars);
    merge(hold[i], &c->hold_ms);
    merge(chunk_chars[i], &c->chunk_chars);
    merge(backpressure[i], &stats->blocked_ms);
    merge(tool_hold, &c->tool_hold_ms);
    if (stats->has_ttft) {
        weir_metric_observe(added_ttft, stats->added_ttft_ms);
    }
#define PLAIN_ADD(name, help, field) weir_metric_add(plain_##field, c->field);
    PLAIN_MAP(PLAIN_ADD)
#undef PLAIN_ADD
    add_gate("complete", c->tool_released);
    add_gate("finish", c->tool_finished);
    add_gate("incomplete", c->tool_incomplete_released);
    add_gate("limit", c->tool_limited);
    add_gate("head", c->tool_heads);
    add_gate("dropped_abort", c->tool_abort_dropped);
    add_gate("dropped_incomplete", c->tool_incomplete_dropped);
    add_gate("post_close", c->tool_post_close);
}

static void add_dedup_rule(const char *rule, const char *action, uint64_t n)
{
    if (n != 0) {
        struct weir_metric_labels labels =
            WEIR_METRIC_LABELS(weir_slice_cstr(rule), weir_slice_cstr(action));
        weir_metric_add(weir_metric_counter(dedup, labels), n);
    }
}

static void add_dedup(const struct weir_dedup_stats *d)
{
    add_dedup_rule("delivery", "seen", d->candidates);
    add_dedup_rule("text", "seen", d->dup_text_seen);
    add_dedup_rule("sse_id", "dropped", d->dropped_sse_id);
    add_dedup_rule("sequence", "dropped", d->dropped_sequence);
    add_dedup_rule("progress", "dropped", d->dropped_progress);
    add_dedup_rule("replay", "dropped", d->dropped_replay);
    add_dedup_rule("text", "dropped", d->dropped_text);
}

static void add_taps(const struct weir_batching *b, const struct weir_chain_counts *n)
{
    const uint64_t n_chunks[TAPS] = {n->raw_chunks, n->adapter_chunks, n->business_chunks};
    const uint64_t n_bytes[TAPS] = {n->raw_bytes, n->adapter_bytes, n->business_bytes};
    for (size_t i = 0; i < TAPS; i++) {
        struct weir_metric_labels labels = WEIR_METRIC_LABELS(TAP_NAMES[i], b->model, b->route);
        weir_metric_add(weir_metric_counter(chunks, labels), n_chunks[i]);
        weir_metric_add(bytes[i], n_bytes[i]);
    }
}

/* ---- telling of it ---- */

static const char *mode_name(enum weir_batch_mode mode)
{
    static const char *const names[] = {
        [WEIR_BATCH_OFF] = "off", [WEIR_BATCH_METRICS] = "metrics", [WEIR_BATCH_ON] = "on"};
    return names[mode];
}

static void log_line(const struct weir_stream_out *o, const struct weir_chain_report *r,
                     struct weir_buf *reasons)
{
    const struct weir_batching *b = o->options.batching;
    WEIR_LOG_INFO(
        "stream", &weir_request_of(o->stream)->log, "stream ended", weir_log_str("model", b->model),
        weir_log_str("route", b->route), weir_log_u64("raw", r->taps.raw_chunks),
        weir_log_u64("adapter", r->taps.adapter_chunks),
        weir_log_u64("business", r->taps.business_chunks), weir_log_f64("ratio", r->raw_per_chunk),
        weir_log_f64("avg_chars", r->avg_flush_chars), weir_log_u64("hold_p50_ms", r->hold_p50_ms),
        weir_log_u64("hold_p99_ms", r->hold_p99_ms),
        weir_log_str("flushes", weir_slice_trim(weir_buf_slice(reasons))),
        weir_log_cstr("batching", mode_name(b->chain.adapter.mode)),
        weir_log_cstr("coalescer", mode_name(b->chain.business.mode)),
        weir_log_u64("min_chars", b->chain.adapter.min_chars_per_emit),
        weir_log_u64("max_latency_ms", b->chain.adapter.max_latency_ms));
}

void weir_stream_stats_report(const struct weir_stream_out *o)
{
    const struct weir_batching *b = o->options.batching;
    if (b == NULL) {
        return;
    }
    struct weir_chain_report report = {0};
    struct weir_buf reasons = {0};
    if (o->chain == NULL) { /* everything left as it came */
        report.taps = (struct weir_chain_counts){o->n_events, o->n_bytes,  o->n_events,
                                                 o->n_bytes,  o->n_events, o->n_bytes};
        report.raw_per_chunk = 1;
    } else {
        weir_chain_report(o->chain, &report, &reasons);
        for (size_t i = 0; i < STAGES; i++) {
            const struct weir_batch_stats *stats =
                weir_chain_stats(o->chain, i == 0 ? WEIR_BATCH_ADAPTER : WEIR_BATCH_BUSINESS);
            if (stats != NULL) {
                add_stage(i, stats);
            }
        }
        const struct weir_dedup_stats *d = weir_chain_dedup_stats(o->chain);
        if (d != NULL) {
            add_dedup(d);
        }
    }
    add_taps(b, &report.taps);
    log_line(o, &report, &reasons);
    weir_buf_dispose(&reasons);
}
