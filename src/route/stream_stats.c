/*
 * Three taps and two stages between them:
 *
 *   raw ─► adapter stage ─► adapter ─► business stage ─► business
 *
 * A stage that is off or only counts passes everything, so behind it a tap has what the tap before
 * it has. The engine's numbers of one stream are added to the process's when the stream has ended.
 */
#include "route/stream_stats.h"

#include "obs/metric.h"
#include "route/env.h"

enum {
    TAPS = 3, /* raw, adapter, business */
    STAGES = 2,
};

static const struct weir_slice TAP_NAMES[TAPS] = {{"raw", 3}, {"adapter", 7}, {"business", 8}};
static const struct weir_slice STAGE_NAMES[STAGES] = {{"adapter", 7}, {"business", 8}};

/* ---- families ---- */

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
    .help = "Code points of text in those messages, where a stage is on or counts.",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"tap"},
};
static const struct weir_metric_def DEDUP = {
    .name = "stream_dedup_total",
    .help = "Messages delivered twice, by rule: seen, dropped.",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"rule", "action"},
};
static const struct weir_metric_def WOULD_CHUNKS = {
    .name = "stream_would_chunks_total",
    .help = "Messages a stage in metrics mode would have sent.",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"stage", "model", "route"},
};
static const struct weir_metric_def BUFFERED = {
    .name = "stream_buffered_bytes",
    .help = "Bytes that streams hold back for batching, tool calls and slow callers.",
    .type = WEIR_METRIC_GAUGE,
};

/* Families that there are twice: of what was done, and of what would have been. */
enum { LIVE, WOULD, KINDS };

#define PAIR(variable, metric, what, ...)                                                          \
    static const struct weir_metric_def variable[KINDS] = {                                        \
        [LIVE] = {.name = "stream_" metric, .help = (what), __VA_ARGS__},                          \
        [WOULD] = {.name = "stream_would_" metric, .help = "In metrics mode: " what, __VA_ARGS__}, \
    }

/* The engine's own bounds, widened. Filled before the first family is declared. */
static uint64_t ms_bounds[WEIR_BATCH_BOUNDS];
static uint64_t char_bounds[WEIR_BATCH_BOUNDS];

/* Observed in milliseconds, shown in seconds. */
#define TIMES                                                                                      \
    .type = WEIR_METRIC_HISTOGRAM, .decimals = 3, .buckets = ms_bounds,                            \
    .n_buckets = WEIR_BATCH_BOUNDS

PAIR(FLUSHES, "flushes_total", "Why messages left a stage.", .type = WEIR_METRIC_COUNTER,
     .labels = {"stage", "reason"});
/* Sum and count are all that is wanted of it: one bucket. */
PAIR(FLUSH_CHARS, "flush_chars", "Code points in a flush of text.", .type = WEIR_METRIC_HISTOGRAM,
     .labels = {"stage"});
PAIR(HOLD, "flush_hold_seconds", "Age of the oldest delta in what left.", TIMES,
     .labels = {"stage"});
PAIR(TOOL_GATE, "tool_gate_total", "Tool calls by how they left the gate.",
     .type = WEIR_METRIC_COUNTER, .labels = {"outcome"});
PAIR(TOOL_HOLD, "tool_hold_seconds", "How long tool calls were held.", TIMES);
PAIR(TOOL_ATTEMPTS, "tool_incomplete_attempts_total",
     "Fragments after which a tool call was still open.", .type = WEIR_METRIC_COUNTER);

static const struct weir_metric_def BACKPRESSURE = {
    .name = "stream_backpressure_seconds",
    .help = "Times a caller took no more.",
    TIMES,
};
static const struct weir_metric_def ADDED_TTFT = {
    .name = "stream_added_ttft_seconds",
    .help = "How long the first text waited in all stages.",
    TIMES,
};
static const struct weir_metric_def CHUNK_CHARS = {
    .name = "stream_chunk_chars",
    .help = "Code points in a message with text.",
    .type = WEIR_METRIC_HISTOGRAM,
    .labels = {"tap"},
    .buckets = char_bounds,
    .n_buckets = WEIR_BATCH_BOUNDS,
};

/* Counters without labels: the name and where the number is. */
#define PLAIN_MAP(X)                                                                               \
    X("stream_discarded_chars_total", "Code points a guardrail discarded.", discarded_chars)       \
    X("stream_post_finish_deltas_total", "Deltas after a finish_reason.", post_finish_deltas)      \
    X("stream_opaque_chunks_total", "Messages that could not be read.", opaque_chunks)             \
    X("stream_absorbed_empty_total", "Deltas that said nothing and did not leave.", absorbed_empty)

static struct weir_metric_family *chunks;
static struct weir_metric_family *would_chunks;
static struct weir_metric_family *dedup;
static struct weir_metric_family *tool_gate[KINDS];
static struct weir_metric_counter bytes[TAPS];
static struct weir_metric_counter chars[TAPS];
static struct weir_metric_histogram chunk_chars[TAPS];
static struct weir_metric_counter flushes[KINDS][STAGES][WEIR_BATCH_REASONS];
static struct weir_metric_histogram flush_chars[KINDS][STAGES];
static struct weir_metric_histogram hold[KINDS][STAGES];
static struct weir_metric_histogram tool_hold[KINDS];
static struct weir_metric_counter tool_attempts[KINDS];
static struct weir_metric_histogram backpressure;
static struct weir_metric_histogram added_ttft;
static struct weir_metric_gauge buffered;

#define PLAIN_VARIABLE(name, help, field) static struct weir_metric_counter plain_##field;
PLAIN_MAP(PLAIN_VARIABLE)
#undef PLAIN_VARIABLE

static void declare_by_tap(void)
{
    struct weir_metric_family *f_bytes = weir_metric_declare(&BYTES);
    struct weir_metric_family *f_chars = weir_metric_declare(&CHARS);
    struct weir_metric_family *f_sizes = weir_metric_declare(&CHUNK_CHARS);
    for (size_t i = 0; i < TAPS; i++) {
        struct weir_metric_labels tap = WEIR_METRIC_LABELS(TAP_NAMES[i]);
        bytes[i] = weir_metric_counter(f_bytes, tap);
        chars[i] = weir_metric_counter(f_chars, tap);
        chunk_chars[i] = weir_metric_histogram(f_sizes, tap);
    }
}

static void declare_by_stage(size_t kind)
{
    struct weir_metric_family *f_flushes = weir_metric_declare(&FLUSHES[kind]);
    struct weir_metric_family *f_flush_chars = weir_metric_declare(&FLUSH_CHARS[kind]);
    struct weir_metric_family *f_hold = weir_metric_declare(&HOLD[kind]);
    for (size_t i = 0; i < STAGES; i++) {
        struct weir_slice stage = STAGE_NAMES[i];
        for (size_t why = 0; why < WEIR_BATCH_REASONS; why++) {
            const char *reason = weir_batch_reason_text((enum weir_batch_reason)why);
            flushes[kind][i][why] =
                weir_metric_counter(f_flushes, WEIR_METRIC_LABELS(stage, weir_slice_cstr(reason)));
        }
        flush_chars[kind][i] = weir_metric_histogram(f_flush_chars, WEIR_METRIC_LABELS(stage));
        hold[kind][i] = weir_metric_histogram(f_hold, WEIR_METRIC_LABELS(stage));
    }
}

static void declare_gate(size_t kind)
{
    tool_gate[kind] = weir_metric_declare(&TOOL_GATE[kind]);
    tool_hold[kind] =
        weir_metric_histogram(weir_metric_declare(&TOOL_HOLD[kind]), WEIR_METRIC_NO_LABELS);
    tool_attempts[kind] =
        weir_metric_counter(weir_metric_declare(&TOOL_ATTEMPTS[kind]), WEIR_METRIC_NO_LABELS);
}

void weir_stream_stats_declare(void)
{
    for (size_t i = 0; i < WEIR_BATCH_BOUNDS; i++) {
        ms_bounds[i] = weir_batch_hold_bounds_ms[i];
        char_bounds[i] = weir_batch_chars_bounds[i];
    }
    chunks = weir_metric_declare(&CHUNKS);
    declare_by_tap();
    declare_by_stage(LIVE);
    declare_gate(LIVE);
    added_ttft = weir_metric_histogram(weir_metric_declare(&ADDED_TTFT), WEIR_METRIC_NO_LABELS);
    backpressure = weir_metric_histogram(weir_metric_declare(&BACKPRESSURE), WEIR_METRIC_NO_LABELS);
    buffered = weir_metric_gauge(weir_metric_declare(&BUFFERED), WEIR_METRIC_NO_LABELS);
    dedup = weir_metric_declare(&DEDUP);
#define PLAIN_DECLARE(metric, what, field)                                                         \
    static const struct weir_metric_def def_##field = {                                            \
        .name = (metric), .help = (what), .type = WEIR_METRIC_COUNTER};                            \
    plain_##field = weir_metric_counter(weir_metric_declare(&def_##field), WEIR_METRIC_NO_LABELS);
    PLAIN_MAP(PLAIN_DECLARE)
#undef PLAIN_DECLARE
    would_chunks = weir_metric_declare(&WOULD_CHUNKS);
    declare_by_stage(WOULD);
    declare_gate(WOULD);
}

void weir_stream_stats_buffered(size_t now, size_t before)
{
    if (now != before) {
        weir_metric_gauge_add(buffered, (int64_t)now - (int64_t)before);
    }
}

/* ---- adding one stream ---- */

/* The stages of a stream; NULL where off. */
struct stages {
    const struct weir_batch_stats *stats[STAGES];
    bool is_shadow[STAGES];
};

static void merge(struct weir_metric_histogram h, const struct weir_batch_histogram *from)
{
    weir_metric_merge(h, from->buckets, from->sum);
}

static void add_gate(size_t kind, const struct weir_batch_counts *c)
{
    const struct {
        const char *outcome;
        uint64_t n;
    } outcomes[] = {
        {"complete", c->tool_released},
        {"finish", c->tool_finished},
        {"incomplete", c->tool_incomplete_released},
        {"limit", c->tool_limited},
        {"head", c->tool_heads},
        {"dropped_abort", c->tool_abort_dropped},
        {"dropped_incomplete", c->tool_incomplete_dropped},
        {"discarded", c->tool_discarded},
        {"post_close", c->tool_post_close},
    };
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++) {
        if (outcomes[i].n != 0) {
            struct weir_slice outcome = weir_slice_cstr(outcomes[i].outcome);
            weir_metric_add(weir_metric_counter(tool_gate[kind], WEIR_METRIC_LABELS(outcome)),
                            outcomes[i].n);
        }
    }
    merge(tool_hold[kind], &c->tool_hold_ms);
    weir_metric_add(tool_attempts[kind], c->tool_incomplete_attempts);
}

static void add_counts(size_t kind, size_t stage, const struct weir_batch_counts *c)
{
    for (size_t why = 0; why < WEIR_BATCH_REASONS; why++) {
        weir_metric_add(flushes[kind][stage][why], c->flush[why]);
    }
    weir_metric_merge(flush_chars[kind][stage], &c->text_flushes, c->flush_chars);
    merge(hold[kind][stage], &c->hold_ms);
    add_gate(kind, c);
}

static void add_stage(const struct weir_batching *b, size_t i, const struct weir_batch_stats *stats,
                      bool is_shadow)
{
    add_counts(LIVE, i, &stats->live);
    merge(backpressure, &stats->blocked_ms);
    if (is_shadow) {
        struct weir_metric_labels labels = WEIR_METRIC_LABELS(STAGE_NAMES[i], b->model, b->route);
        add_counts(WOULD, i, &stats->would);
        weir_metric_add(weir_metric_counter(would_chunks, labels), stats->would.chunks);
    }
}

/* What both stages see is counted by the first; what a stage discards it alone had. */
static void add_plain(const struct stages *s)
{
    bool is_first = true;
    for (size_t i = 0; i < STAGES; i++) {
        if (s->stats[i] == NULL) {
            continue;
        }
        const struct weir_batch_counts *c =
            s->is_shadow[i] ? &s->stats[i]->would : &s->stats[i]->live;
        weir_metric_add(plain_discarded_chars, s->stats[i]->live.discarded_chars);
        weir_metric_add(plain_absorbed_empty, s->stats[i]->live.absorbed_empty);
        if (is_first) {
            weir_metric_add(plain_post_finish_deltas, c->post_finish_deltas);
            weir_metric_add(plain_opaque_chunks, c->opaque_chunks);
        }
        is_first = false;
    }
}

/* The first text waited in one stage after the other. */
static void add_ttft(const struct stages *s)
{
    uint64_t waited_ms = 0;
    bool has_any = false;
    for (size_t i = 0; i < STAGES; i++) {
        if (s->stats[i] != NULL && s->stats[i]->has_ttft) {
            has_any = true;
            waited_ms += s->stats[i]->added_ttft_ms;
        }
    }
    if (has_any) {
        weir_metric_observe(added_ttft, waited_ms);
    }
}

/* Code points at each tap; without a stage that reads text nobody knows them. */
static void add_chars(const struct stages *s)
{
    const struct weir_batch_stats *first = s->stats[0] != NULL ? s->stats[0] : s->stats[1];
    if (first == NULL) {
        return;
    }
    const struct weir_batch_histogram *at = &first->in_chars;
    for (size_t tap = 0; tap < TAPS; tap++) {
        if (tap != 0 && s->stats[tap - 1] != NULL && !s->is_shadow[tap - 1]) {
            at = &s->stats[tap - 1]->live.chunk_chars;
        }
        weir_metric_add(chars[tap], at->sum);
        merge(chunk_chars[tap], at);
    }
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

static void add_chain(const struct weir_batching *b, const struct weir_chain *chain)
{
    const struct weir_chain_options *o = &b->chain;
    struct stages s = {
        .stats = {weir_chain_stats(chain, WEIR_BATCH_ADAPTER),
                  weir_chain_stats(chain, WEIR_BATCH_BUSINESS)},
        .is_shadow = {o->adapter.mode == WEIR_BATCH_METRICS,
                      o->business.mode == WEIR_BATCH_METRICS},
    };
    for (size_t i = 0; i < STAGES; i++) {
        if (s.stats[i] != NULL) {
            add_stage(b, i, s.stats[i], s.is_shadow[i]);
            add_dedup_rule("tool_id", "dropped", s.stats[i]->live.tool_dup_dropped);
            add_dedup_rule("tool_id", "seen", s.stats[i]->would.tool_dup_dropped);
        }
    }
    add_plain(&s);
    add_ttft(&s);
    add_chars(&s);
    if (weir_chain_dedup_stats(chain) != NULL) {
        add_dedup(weir_chain_dedup_stats(chain));
    }
}

/* ---- telling of it ---- */

static const char *mode_name(enum weir_batch_mode mode)
{
    static const char *const names[] = {
        [WEIR_BATCH_OFF] = "off", [WEIR_BATCH_METRICS] = "metrics", [WEIR_BATCH_ON] = "on"};
    return names[mode];
}

static const char *end_name(enum weir_stream_out_end how)
{
    static const char *const names[] = {[WEIR_STREAM_OUT_DONE] = "done",
                                        [WEIR_STREAM_OUT_FAILED] = "error",
                                        [WEIR_STREAM_OUT_GONE] = "gone"};
    return names[how];
}

/* How many messages a stage in metrics mode would have sent; 0 for one that is not. */
static uint64_t would_be(const struct weir_stream_out *o, enum weir_batch_stage stage)
{
    const struct weir_batch_stats *stats =
        o->chain != NULL ? weir_chain_stats(o->chain, stage) : NULL;
    return stats != NULL ? stats->would.chunks : 0;
}

static void log_line(const struct weir_stream_out *o, enum weir_stream_out_end how,
                     const struct weir_stream_summary *s, struct weir_slice reasons)
{
    const struct weir_batching *b = o->options.batching;
    const struct weir_chain_report *r = &s->report;
    WEIR_LOG_INFO(
        "stream", &weir_request_of(o->stream)->log, "stream ended",
        weir_log_cstr("end", end_name(how)), weir_log_str("model", b->model),
        weir_log_str("route", b->route), weir_log_u64("raw", r->taps.raw_chunks),
        weir_log_u64("adapter", r->taps.adapter_chunks),
        weir_log_u64("business", r->taps.business_chunks), weir_log_f64("ratio", r->raw_per_chunk),
        weir_log_f64("adapter_ratio", r->raw_per_adapter),
        weir_log_f64("business_ratio", r->adapter_per_business),
        weir_log_u64("would_adapter", would_be(o, WEIR_BATCH_ADAPTER)),
        weir_log_u64("would_business", would_be(o, WEIR_BATCH_BUSINESS)),
        weir_log_u64("raw_avg_bytes", s->avg_bytes[0]),
        weir_log_u64("adapter_avg_bytes", s->avg_bytes[1]),
        weir_log_u64("business_avg_bytes", s->avg_bytes[2]),
        weir_log_f64("avg_chars", r->avg_flush_chars),
        weir_log_f64("hold_mean_ms", r->hold_mean_ms), weir_log_u64("hold_p50_ms", r->hold_p50_ms),
        weir_log_u64("hold_p99_ms", r->hold_p99_ms), weir_log_u64("ttft_ms", s->ttft_ms),
        weir_log_str("flushes", reasons), weir_log_str("profile", s->profile),
        weir_log_str("settings", s->settings),
        weir_log_cstr("batching", mode_name(b->chain.adapter.mode)),
        weir_log_cstr("coalescer", mode_name(b->chain.business.mode)),
        weir_log_u64("min_chars", b->chain.adapter.min_chars_per_emit),
        weir_log_u64("max_latency_ms", b->chain.adapter.max_latency_ms));
}

static uint64_t average(uint64_t sum, uint64_t n)
{
    return n != 0 ? (sum + n / 2) / n : 0;
}

/* Makes the summary from its report. */
static void summarise(const struct weir_stream_out *o, struct weir_stream_summary *s)
{
    const struct weir_chain_counts *taps = &s->report.taps;
    const struct weir_batching *b = o->options.batching;
    uint64_t first_ms = s->report.has_first_text ? s->report.first_text_ms : o->first_event_ms;
    s->avg_bytes[0] = average(taps->raw_bytes, taps->raw_chunks);
    s->avg_bytes[1] = average(taps->adapter_bytes, taps->adapter_chunks);
    s->avg_bytes[2] = average(taps->business_bytes, taps->business_chunks);
    s->profile = b->profile;
    s->settings = b->settings;
    s->has_first = s->report.has_first_text || o->n_events != 0;
    s->ttft_ms = s->has_first ? first_ms - o->stream->started_ms : 0;
}

void weir_stream_stats_report(const struct weir_stream_out *o, enum weir_stream_out_end how)
{
    const struct weir_batching *b = o->options.batching;
    if (b == NULL) {
        return;
    }
    struct weir_stream_summary *s = weir_arena_zalloc(&o->stream->arena, sizeof *s);
    struct weir_chain_report *report = &s->report;
    struct weir_buf reasons = {0};
    if (o->chain == NULL) { /* everything left as it came */
        report->taps = (struct weir_chain_counts){o->n_events, o->n_bytes,  o->n_events,
                                                  o->n_bytes,  o->n_events, o->n_bytes};
        report->raw_per_chunk = report->raw_per_adapter = report->adapter_per_business = 1;
    } else {
        weir_chain_report(o->chain, report, &reasons);
        add_chain(b, o->chain);
    }
    add_taps(b, &report->taps);
    summarise(o, s);
    log_line(o, how, s, weir_slice_trim(weir_buf_slice(&reasons)));
    weir_buf_dispose(&reasons);
    weir_request_of(o->stream)->stream = s;
}
