#ifndef WEIR_TESTS_UNIT_TASK_STAGE_H
#define WEIR_TESTS_UNIT_TASK_STAGE_H

/*
 * A guarded stream without the world around it: fakes on one side, on the other an outlet that
 * writes down what leaves. Nothing happens by itself.
 */
#include "unit/task/fakes_model.h"

/* ---- the outlet ---- */

static inline enum weir_flow stage_line(struct stage *st, struct weir_slice line)
{
    assert_false(st->is_over);
    weir_buf_append(&st->lines, line);
    weir_buf_append_byte(&st->lines, '\n');
    return st->is_full ? WEIR_FLOW_FULL : WEIR_FLOW_OK;
}

static inline enum weir_flow stage_out_event(struct weir_out *o, struct weir_slice json)
{
    return stage_line(WEIR_LIST_ENTRY(o, struct stage, out), json);
}

static inline enum weir_flow stage_out_raw(struct weir_out *o, const struct weir_out_raw *event)
{
    struct stage *st = WEIR_LIST_ENTRY(o, struct stage, out);
    weir_buf_append(&st->lines, WEIR_SLICE("raw "));
    return stage_line(st, event->bytes);
}

static inline void stage_out_end(struct weir_out *o)
{
    struct stage *st = WEIR_LIST_ENTRY(o, struct stage, out);
    stage_line(st, WEIR_SLICE("end"));
    st->is_over = true;
}

static inline void stage_out_fail(struct weir_out *o, const struct weir_fault *fault)
{
    struct stage *st = WEIR_LIST_ENTRY(o, struct stage, out);
    struct weir_buf line = {0};
    weir_buf_printf(&line, "fail %s %.*s %s", weir_fault_origin_name(fault->origin),
                    (int)fault->id.n, fault->id.p, weir_err_name(fault->err));
    stage_line(st, weir_buf_slice(&line));
    weir_buf_dispose(&line);
    st->is_over = true;
}

static const struct weir_out_ops STAGE_OUT_OPS = {
    .event = stage_out_event, .raw = stage_out_raw, .end = stage_out_end, .fail = stage_out_fail};

/* ---- the stage ---- */

static inline void stage_turn(struct stage *st)
{
    uv_run(&st->loop.uv, UV_RUN_NOWAIT);
}

/* Turns until no step of long work is left. */
static inline void stage_settle(struct stage *st)
{
    while (!weir_list_is_empty(&st->loop.steps)) {
        stage_turn(st);
    }
}

/*
 * Chunkers: `dots` and `words` are built in, `far` is remote and told what to answer; detectors: a
 * and b on dots, w on words, f and g on far answer when told; now answers at once on dots; doc,
 * chat and gen look at the whole. s and t on dots answer when told, and are skipped when they fail.
 */
static inline struct stage *stage_new(void)
{
    struct stage *st = weir_mem_zalloc(sizeof *st);
    assert_int_equal(weir_loop_init(&st->loop), 0);
    st->loop.held_ms = 1000; /* the clock is the test's */
    st->input = "";
    st->output = "";
    st->model.ops = &STAGE_MODEL_OPS;
    st->out.ops = &STAGE_OUT_OPS;
    const struct weir_chunker *dots = stage_add_chunker(st, "dots", '.');
    const struct weir_chunker *words = stage_add_chunker(st, "words", ' ');
    const struct weir_chunker *far = stage_add_chunker(st, "far", 0);
    stage_add_detector(st, "a", WEIR_DETECT_CONTENTS, dots, false);
    stage_add_detector(st, "b", WEIR_DETECT_CONTENTS, dots, false);
    stage_add_detector(st, "w", WEIR_DETECT_CONTENTS, words, false);
    stage_add_detector(st, "f", WEIR_DETECT_CONTENTS, far, false);
    stage_add_detector(st, "g", WEIR_DETECT_CONTENTS, far, false);
    stage_add_detector(st, "now", WEIR_DETECT_CONTENTS, dots, true);
    stage_add_detector(st, "doc", WEIR_DETECT_CONTENTS, &weir_chunk_whole, false);
    stage_add_detector(st, "chat", WEIR_DETECT_CHAT, NULL, false);
    stage_add_detector(st, "gen", WEIR_DETECT_GENERATION, NULL, false);
    stage_add_detector(st, "s", WEIR_DETECT_CONTENTS, dots, false);
    stage_add_detector(st, "t", WEIR_DETECT_CONTENTS, dots, false);
    st->detectors[st->n_detectors - 2].skips_errors = true;
    st->detectors[st->n_detectors - 1].skips_errors = true;
    st->env = (struct weir_task_env){.detectors = st->detectors,
                                     .n_detectors = st->n_detectors,
                                     .openai = &st->model,
                                     .generation = &st->model,
                                     .max_detector_calls = 128,
                                     .max_chunker_calls = 128,
                                     .max_service_body_bytes = 1 << 20,
                                     .max_event_bytes = 1 << 16,
                                     .max_held_bytes = 1 << 16,
                                     .max_choices = 4,
                                     .max_remembered_bytes = 1 << 20,
                                     .max_tool_calls = 4,
                                     .strategy = weir_gather_strategy_at(0)};
    st->task = (struct weir_task_ctx){.env = &st->env,
                                      .loop = &st->loop,
                                      .call = st->context,
                                      .arena = &st->arena,
                                      .scratch = &st->work};
    return st;
}

/* The caller goes: whatever was opened is closed in the same turn. */
static inline void stage_drop(struct stage *st)
{
    st->is_over = true; /* nothing may be said any more */
    weir_arena_dispose(&st->arena);
    assert_null(st->chunks);
    assert_null(st->calls);
    assert_null(st->run);
    uint64_t at_ms;
    assert_false(weir_timers_next(&st->loop.timers, &at_ms));
    stage_turn(st);
}

static inline void stage_free(struct stage *st)
{
    stage_drop(st);
    weir_loop_dispose(&st->loop);
    weir_task_scratch_dispose(&st->work);
    weir_buf_dispose(&st->lines);
    weir_buf_dispose(&st->scratch);
    free(st);
}

#endif
