#include "route/render.h"

#include "base/err.h"
#include "obs/metric.h"
#include "route/batching.h"
#include "route/env.h"
#include "route/fields.h"
#include "route/reply.h"
#include "route/unary.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum {
    MAX_TIMES = 10000,         /* in one report: more pieces than a screen can show */
    MAX_TIME_MS = 3600 * 1000, /* longer is not a rendering */
    MAX_ID_BYTES = 128,
};

static const struct weir_slice BEFORE = {"/api/v1/streams/", 16};
static const struct weir_slice BEHIND = {"/render", 7};

static struct weir_metric_family *times;

void weir_render_declare(void)
{
    /* Observed in microseconds. */
    static const uint64_t bounds[] = {500,   1000,   2000,   4000,   8000,   16000,  33000,
                                      66000, 100000, 200000, 400000, 800000, 1600000};
    static const struct weir_metric_def def = {
        .name = "weir_ui_render_seconds",
        .help = "How long user interfaces took to show a piece of a stream, as they report it.",
        .type = WEIR_METRIC_HISTOGRAM,
        .decimals = 6,
        .labels = {"model", "settings"},
        .buckets = bounds,
        .n_buckets = COUNT(bounds),
    };
    times = weir_metric_declare(&def);
}

/* Empty: it is not such a path. */
static struct weir_slice id_of(struct weir_slice path)
{
    if (path.n <= BEFORE.n + BEHIND.n || !weir_slice_starts_with(path, BEFORE)) {
        return (struct weir_slice){0};
    }
    struct weir_slice id = weir_slice_sub(path, BEFORE.n, path.n - BEHIND.n);
    bool is_one = weir_slice_eq(weir_slice_sub(path, path.n - BEHIND.n, path.n), BEHIND) &&
                  id.n <= MAX_ID_BYTES && weir_slice_find(id, '/') == id.n;
    return is_one ? id : (struct weir_slice){0};
}

bool weir_render_is_path(struct weir_slice path)
{
    return id_of(path).n != 0;
}

struct report {
    struct weir_fields f;
    uint32_t ms;
    struct weir_slice model;
    struct weir_slice settings;
};

static int check_times(struct report *r)
{
    const struct weir_json *j = r->f.json;
    size_t i = 0;
    if (j->nodes[r->ms].n > MAX_TIMES) {
        return weir_fields_fail(&r->f, "ms", "more than %d times in one report", MAX_TIMES);
    }
    for (uint32_t at = weir_json_first(j, r->ms); at != WEIR_JSON_NONE;
         at = weir_json_after(j, r->ms, at), i++) {
        double ms;
        bool is_time = weir_json_type(j, at) == WEIR_JSON_NUMBER &&
                       weir_json_f64(j, at, &ms) == 0 && ms >= 0 && ms <= MAX_TIME_MS;
        if (!is_time) {
            return weir_fields_fail(&r->f, weir_arena_printf(r->f.arena, "ms[%zu]", i),
                                    "expected milliseconds from 0 to %d", MAX_TIME_MS);
        }
    }
    return 0;
}

static int read_report(struct report *r)
{
    enum { MS, MODEL, SETTINGS };
    static const struct weir_fields_spec specs[] = {
        [MS] = {"ms", WEIR_FIELDS_ARRAY, true},
        [MODEL] = {"model", WEIR_FIELDS_STRING, true},
        [SETTINGS] = {"settings", WEIR_FIELDS_STRING, true},
    };
    uint32_t at[COUNT(specs)];
    if (weir_fields_read(&r->f, 0, "", specs, COUNT(specs), at) != 0) {
        return WEIR_EINVAL;
    }
    r->ms = at[MS];
    r->model = weir_fields_string(&r->f, at[MODEL]);
    r->settings = weir_fields_string(&r->f, at[SETTINGS]);
    return check_times(r);
}

static void count(struct weir_http_stream *s, const struct report *r)
{
    const struct weir_json *j = r->f.json;
    struct weir_slice other = WEIR_SLICE("other");
    struct weir_batching_known known =
        weir_batching_known(weir_request_of(s)->env->conf, r->model, r->settings, &s->arena);
    struct weir_slice model = known.is_profile ? r->model : other;
    struct weir_slice settings = known.is_settings ? r->settings : other;
    struct weir_metric_histogram h =
        weir_metric_histogram(times, WEIR_METRIC_LABELS(model, settings));
    double sum_ms = 0;
    double most_ms = 0;
    for (uint32_t at = weir_json_first(j, r->ms); at != WEIR_JSON_NONE;
         at = weir_json_after(j, r->ms, at)) {
        double ms = 0;
        (void)weir_json_f64(j, at, &ms);
        weir_metric_observe(h, (uint64_t)llround(ms * 1000));
        sum_ms += ms;
        most_ms = ms > most_ms ? ms : most_ms;
    }
    size_t n = j->nodes[r->ms].n;
    WEIR_LOG_INFO("stream", &weir_request_of(s)->log, "rendered",
                  weir_log_str("stream", id_of(s->req.path)), weir_log_u64("pieces", n),
                  weir_log_f64("mean_ms", n != 0 ? sum_ms / (double)n : 0),
                  weir_log_f64("longest_ms", most_ms), weir_log_str("model", model),
                  weir_log_str("settings", settings));
}

static void decode(struct weir_http_stream *s, const struct weir_json *body)
{
    struct report r = {.f = {.json = body, .arena = &s->arena}};
    if (read_report(&r) != 0) {
        weir_unary_refuse(s, &r.f);
        return;
    }
    count(s, &r);
    weir_http_stream_reply(s, 204, NULL, 0, WEIR_SLICE(""));
}

void weir_render_begin(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode);
}
