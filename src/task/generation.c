/*
 *   input detectors ──findings──► tokenize ─► answer without a text        (A)
 *          └─none─► generate ─► output detectors ─► answer
 */
#include "task/generation.h"

#include "base/err.h"
#include "task/generated.h"
#include "task/results.h"
#include "task/stream.h"

struct generation {
    struct weir_stream stream;
    struct weir_task_generation request;
    struct weir_scan_group *input_found;
    struct weir_scan_group *output_found;
    struct weir_model_generated generated; /* slices in the arena */
    bool has_generated;
    uint64_t n_tokens;
};

static const struct weir_stream_ops STREAM_OPS = {0}; /* the answer comes whole */

/* ---- the answer ---- */

static void write_tokens(struct weir_json_write *w, struct weir_slice name,
                         const struct weir_model_token *tokens, size_t n)
{
    struct weir_buf elements = {0};
    if (n != 0) {
        weir_generated_append_tokens(&elements, tokens, n);
        weir_generated_write_array(w, name, weir_buf_slice(&elements));
    }
    weir_buf_dispose(&elements);
}

static void write_classification(struct weir_json_write *w, const struct generation *g)
{
    const struct weir_model_generated *m = &g->generated;
    bool has_found = g->output_found != NULL && g->output_found->n_found != 0;
    weir_json_write_key(w, WEIR_SLICE("generated_text"));
    weir_json_write_string(w, m->text);
    weir_json_write_key(w, WEIR_SLICE("token_classification_results"));
    weir_json_write_begin_object(w);
    if (has_found) {
        weir_json_write_key(w, WEIR_SLICE("output"));
        weir_scan_write_results(w, g->output_found);
    }
    weir_json_write_end_object(w);
    if (m->has_details) {
        weir_generated_write_details(w, m);
    }
    weir_json_write_key(w, WEIR_SLICE("input_token_count"));
    weir_json_write_i64(w, m->input_token_count);
    if (has_found) {
        weir_json_write_key(w, WEIR_SLICE("warnings"));
        weir_json_write_begin_array(w);
        weir_results_write_warning(w, WEIR_SLICE("id"), WEIR_WARN_UNSUITABLE_OUTPUT);
        weir_json_write_end_array(w);
    }
    write_tokens(w, WEIR_SLICE("tokens"), m->tokens, m->n_tokens);
    write_tokens(w, WEIR_SLICE("input_tokens"), m->input_tokens, m->n_input_tokens);
}

static void write_generation(struct weir_json_write *w, const struct generation *g)
{
    weir_json_write_key(w, WEIR_SLICE("generated_text"));
    weir_json_write_string(w, g->generated.text);
    weir_json_write_key(w, WEIR_SLICE("detections"));
    weir_scan_write_results(w, g->output_found);
    weir_json_write_key(w, WEIR_SLICE("input_token_count"));
    weir_json_write_i64(w, g->generated.input_token_count);
}

static void finish(struct generation *g)
{
    struct weir_buf out = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    weir_json_write_begin_object(&w);
    if (g->request.is_classification) {
        write_classification(&w, g);
    } else {
        write_generation(&w, g);
    }
    weir_json_write_end_object(&w);
    weir_stream_finish(&g->stream, weir_arena_take_buf(g->stream.task->arena, &out));
}

/* ---- output ---- */

static void on_output_scanned(void *ctx, struct weir_scan *scan)
{
    struct generation *g = ctx;
    const struct weir_fault *fault = weir_scan_fault(scan);
    if (fault != NULL) {
        weir_stream_fail(&g->stream, fault);
    } else {
        finish(g);
    }
}

static void check_output(struct generation *g)
{
    struct weir_scan *scan = weir_scan_new(g->stream.task, on_output_scanned, g);
    g->output_found = weir_scan_add_group(
        scan, g->request.is_classification ? WEIR_RESULTS_CLASSIFICATION : WEIR_RESULTS_WHOLE);
    if (g->request.is_classification) {
        weir_scan_add_text(g->output_found, &g->request.output, g->generated.text);
    } else {
        struct weir_detect_input input = {.prompt = g->request.inputs,
                                          .generated_text = g->generated.text};
        for (size_t i = 0; i < g->request.output.n; i++) {
            weir_scan_add_whole(g->output_found, &g->request.output.uses[i], &input);
        }
    }
    weir_scan_start(scan);
}

/* ---- the model ---- */

static const struct weir_model_token *keep_tokens(struct weir_arena *arena,
                                                  const struct weir_model_token *tokens, size_t n)
{
    struct weir_model_token *kept = weir_arena_array(arena, n, sizeof *kept);
    for (size_t i = 0; i < n; i++) {
        kept[i] = tokens[i];
        kept[i].text = weir_arena_dup(arena, tokens[i].text);
    }
    return kept;
}

static void on_generated(void *ctx, const struct weir_model_frame *frame)
{
    struct generation *g = ctx;
    struct weir_arena *arena = g->stream.task->arena;
    struct weir_model_generated *m = &g->generated;
    *m = *frame->generated;
    m->text = weir_arena_dup(arena, m->text);
    m->tokens = keep_tokens(arena, m->tokens, m->n_tokens);
    m->input_tokens = keep_tokens(arena, m->input_tokens, m->n_input_tokens);
    g->has_generated = true;
}

static void on_generate_done(void *ctx, const struct weir_fault *fault)
{
    struct generation *g = ctx;
    struct weir_fault nothing = {.origin = WEIR_FAULT_GENERATE,
                                 .id = g->request.model_id,
                                 .err = WEIR_EPEER,
                                 .why = WEIR_SLICE("there is no answer")};
    if (fault != NULL) {
        weir_stream_fail(&g->stream, fault);
    } else if (!g->has_generated) {
        weir_stream_fail(&g->stream, &nothing);
    } else if (g->request.output.n == 0) {
        finish(g);
    } else {
        check_output(g);
    }
}

static const struct weir_model_events GENERATE_EVENTS = {
    .on_frame = on_generated,
    .on_done = on_generate_done,
};

static void call_model(struct generation *g)
{
    g->stream.model_request = (struct weir_model_request){.op = WEIR_MODEL_GENERATE,
                                                          .model_id = g->request.model_id,
                                                          .text = g->request.inputs,
                                                          .params = g->request.params};
    weir_stream_ask(&g->stream, g->stream.task->env->generation, &GENERATE_EVENTS, g);
}

static void on_tokens(void *ctx, const struct weir_model_frame *frame)
{
    struct generation *g = ctx;
    g->n_tokens = frame->n_tokens;
}

static void on_tokenized(void *ctx, const struct weir_fault *fault)
{
    struct generation *g = ctx;
    if (fault != NULL) {
        weir_stream_fail(&g->stream, fault);
        return;
    }
    weir_stream_finish(&g->stream, weir_generated_unsuitable_input(g->stream.task->arena,
                                                                   g->input_found, g->n_tokens));
}

static const struct weir_model_events TOKENIZE_EVENTS = {
    .on_frame = on_tokens,
    .on_done = on_tokenized,
};

static void on_input_scanned(void *ctx, struct weir_scan *scan)
{
    struct generation *g = ctx;
    const struct weir_fault *fault = weir_scan_fault(scan);
    if (fault != NULL) {
        weir_stream_fail(&g->stream, fault);
    } else if (g->input_found->n_found == 0) {
        call_model(g);
    } else {
        g->stream.model_request = (struct weir_model_request){
            .op = WEIR_MODEL_TOKENIZE, .model_id = g->request.model_id, .text = g->request.inputs};
        weir_stream_ask(&g->stream, g->stream.task->env->generation, &TOKENIZE_EVENTS, g);
    }
}

static void undo(void *ctx)
{
    struct generation *g = ctx;
    weir_stream_dispose(&g->stream);
}

void weir_task_generation_start(struct weir_task_ctx *task,
                                const struct weir_task_generation *request, weir_task_done_fn done,
                                void *ctx)
{
    struct generation *g = weir_arena_zalloc(task->arena, sizeof *g);
    g->request = *request;
    weir_stream_init_whole(&g->stream, task, &STREAM_OPS, done, ctx);
    weir_arena_defer(task->arena, undo, g);
    if (g->request.input.n == 0) {
        call_model(g);
        return;
    }
    struct weir_scan *scan = weir_scan_new(task, on_input_scanned, g);
    g->input_found = weir_scan_add_group(scan, WEIR_RESULTS_CLASSIFICATION);
    weir_scan_add_masked(g->input_found, &g->request.input, request->inputs, request->masks,
                         request->n_masks);
    weir_scan_start(scan);
}
