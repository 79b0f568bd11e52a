#include "route/stream_trace.h"

#include "route/env.h"
#include "wire/json_write.h"

#include <time.h>

struct stream_trace {
    struct weir_task_trace base; /* first */
    struct weir_stream_out *out;
    uint64_t started_us;
};

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

static const char *kind_name(enum weir_task_step_kind kind)
{
    static const char *const names[] = {
        [WEIR_TASK_STEP_RAW] = "raw",         [WEIR_TASK_STEP_CHUNK] = "chunk",
        [WEIR_TASK_STEP_VERDICT] = "verdict", [WEIR_TASK_STEP_BATCH] = "batch",
        [WEIR_TASK_STEP_TOKEN] = "token",
    };
    return names[kind];
}

static void write_ms(struct weir_json_write *w, const char *name, uint64_t us)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_f64(w, (double)us / 1000);
}

static void write_step(struct weir_json_write *w, const struct weir_task_step *step, uint64_t us)
{
    bool is_verdict = step->kind == WEIR_TASK_STEP_VERDICT;
    bool is_token = step->kind == WEIR_TASK_STEP_TOKEN;
    weir_json_write_begin_object(w);
    write_ms(w, "t_ms", us);
    weir_json_write_key(w, WEIR_SLICE("kind"));
    weir_json_write_string(w, weir_slice_cstr(kind_name(step->kind)));
    weir_json_write_key(w, is_token ? WEIR_SLICE("message") : WEIR_SLICE("choice"));
    weir_json_write_u64(w, is_token ? step->message : step->choice);
    if (step->channel != WEIR_CHANNEL_CONTENT) {
        weir_json_write_key(w, WEIR_SLICE("channel"));
        weir_json_write_string(w, weir_slice_cstr(weir_channel_name(step->channel)));
    }
    if (is_verdict) {
        weir_json_write_key(w, WEIR_SLICE("detector"));
        weir_json_write_string(w, step->detector);
    }
    weir_json_write_key(w, WEIR_SLICE("start"));
    weir_json_write_u64(w, step->start_cp);
    weir_json_write_key(w, WEIR_SLICE("end"));
    weir_json_write_u64(w, step->end_cp);
    if (is_verdict) {
        write_ms(w, "ms", step->took_us);
    }
    if (is_token) {
        weir_json_write_key(w, WEIR_SLICE("token"));
        weir_json_write_string(w, step->token);
    }
    weir_json_write_end_object(w);
}

static void note(const struct weir_task_trace *base, const struct weir_task_step *step)
{
    const struct stream_trace *t = (const struct stream_trace *)base;
    uint64_t at_us = now_us();
    struct weir_buf json = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &json);
    write_step(&w, step, at_us > t->started_us ? at_us - t->started_us : 0);
    weir_json_write_finish(&w);
    weir_stream_out_aside(t->out, WEIR_SLICE("weir-trace"), weir_buf_slice(&json));
    weir_buf_dispose(&json);
}

const struct weir_task_trace *weir_stream_trace_open(struct weir_http_stream *s,
                                                     struct weir_stream_out *out)
{
    bool is_allowed = weir_request_of(s)->env->conf->playground && !out->options.is_ndjson;
    struct weir_slice asked = weir_http_request_get(&s->req, WEIR_SLICE("x-weir-trace"));
    if (!is_allowed || !weir_slice_eq(asked, WEIR_SLICE("1"))) {
        return NULL;
    }
    struct stream_trace *t = weir_arena_zalloc(&s->arena, sizeof *t);
    *t = (struct stream_trace){
        .base = {.now_us = now_us, .note = note}, .out = out, .started_us = s->started_ms * 1000};
    return &t->base;
}
