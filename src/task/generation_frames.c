/*
 * Messages to objects. An object that leaves with a batch speaks for the messages the batch
 * touches: the tokens of those that end in it, and everything else as the last of them has it.
 */
#include "base/mem.h"
#include "base/utf8.h"
#include "task/generated.h"
#include "task/generation_stream_int.h"
#include "task/results.h"

#include <stdlib.h>

/* ---- messages that wait ---- */

/* A message's numbers alone. */
static struct weir_model_generated numbers_of(const struct weir_model_generated *m)
{
    struct weir_model_generated said = *m;
    said.text = (struct weir_slice){0};
    said.tokens = NULL;
    said.n_tokens = 0;
    said.input_tokens = NULL;
    said.n_input_tokens = 0;
    return said;
}

/* The first object has more to say about the input than the messages it touches. */
static void note_beginning(struct weir_gs *gs, const struct weir_model_generated *m)
{
    if (gs->n_frames == 0) {
        gs->first = numbers_of(m);
    } else if (gs->n_frames == 1 && !gs->has_sent) {
        weir_generated_append_tokens(&gs->second_input, m->input_tokens, m->n_input_tokens);
    }
}

struct weir_gs_frame *weir_gs__frame_new(struct weir_gs *gs, const struct weir_model_generated *m)
{
    struct weir_buf json = {0};
    note_beginning(gs, m);
    weir_generated_append_tokens(&json, m->tokens, m->n_tokens);
    size_t n_tokens_json = json.n;
    weir_generated_append_tokens(&json, m->input_tokens, m->n_input_tokens);
    struct weir_gs_frame *frame = weir_mem_alloc(sizeof *frame + json.n);
    *frame = (struct weir_gs_frame){.said = numbers_of(m),
                                    .n_tokens_json = n_tokens_json,
                                    .n_input_json = json.n - n_tokens_json,
                                    .held_bytes = sizeof *frame + json.n + m->text.n};
    if (json.n != 0) {
        memcpy(frame->json, json.p, json.n);
    }
    weir_buf_dispose(&json);
    gs->held_bytes += frame->held_bytes;
    return frame;
}

void weir_gs__frame_free(struct weir_gs *gs, struct weir_gs_frame *frame)
{
    gs->held_bytes -= frame->held_bytes;
    free(frame);
}

static bool is_second(const struct weir_gs *gs, size_t index)
{
    return weir_textlog_frame(weir_path_log(gs->path), index).number == 1;
}

static struct weir_gs_frame *frame_at(const struct weir_gs *gs, size_t index)
{
    return weir_textlog_frame(weir_path_log(gs->path), index).tag;
}

void weir_gs__free_frames(struct weir_gs *gs)
{
    size_t n = gs->path != NULL ? weir_textlog_n_frames(weir_path_log(gs->path)) : 0;
    for (size_t i = 0; i < n; i++) {
        weir_gs__frame_free(gs, frame_at(gs, i));
    }
    for (size_t i = 0; i < sizeof gs->kept / sizeof gs->kept[0]; i++) {
        if (gs->kept[i] != NULL) {
            weir_gs__frame_free(gs, gs->kept[i]);
            gs->kept[i] = NULL;
        }
    }
}

/* ---- objects ---- */

static void write_output(struct weir_json_write *w, const struct weir_gs_object *o)
{
    weir_json_write_key(w, WEIR_SLICE("output"));
    weir_json_write_begin_array(w);
    for (size_t i = 0; i < o->n_findings; i++) {
        weir_results_write_one(w, WEIR_RESULTS_CLASSIFICATION, o->findings[i]);
    }
    if (o->whole != NULL && o->whole->n_found != 0) {
        weir_json_write_raw(w, weir_buf_slice(&o->whole->results));
    }
    weir_json_write_end_array(w);
}

static void write_object(const struct weir_gs_object *o, struct weir_buf *out)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("generated_text"));
    weir_json_write_string(&w, o->text);
    weir_json_write_key(&w, WEIR_SLICE("token_classification_results"));
    weir_json_write_begin_object(&w);
    if (o->has_output) {
        write_output(&w, o);
    }
    weir_json_write_end_object(&w);
    if (o->said.has_details) {
        weir_generated_write_details(&w, &o->said);
    }
    weir_json_write_key(&w, WEIR_SLICE("input_token_count"));
    weir_json_write_i64(&w, o->said.input_token_count);
    if (o->tokens.n != 0 || o->has_arrays) {
        weir_generated_write_array(&w, WEIR_SLICE("tokens"), o->tokens);
    }
    if (o->input_tokens.n != 0 || o->has_arrays) {
        weir_generated_write_array(&w, WEIR_SLICE("input_tokens"), o->input_tokens);
    }
    weir_json_write_key(&w, WEIR_SLICE("start_index"));
    weir_json_write_u64(&w, o->start_cp);
    weir_json_write_key(&w, WEIR_SLICE("processed_index"));
    weir_json_write_u64(&w, o->end_cp);
    weir_json_write_end_object(&w);
}

void weir_gs__write_message(struct weir_gs *gs, const struct weir_model_generated *m,
                            struct weir_buf *out)
{
    struct weir_buf tokens = {0};
    struct weir_buf input_tokens = {0};
    weir_generated_append_tokens(&tokens, m->tokens, m->n_tokens);
    weir_generated_append_tokens(&input_tokens, m->input_tokens, m->n_input_tokens);
    struct weir_gs_object o = {.text = m->text,
                               .said = numbers_of(m),
                               .tokens = weir_buf_slice(&tokens),
                               .input_tokens = weir_buf_slice(&input_tokens),
                               .start_cp = gs->length_cp,
                               .end_cp = gs->length_cp + weir_utf8_count(m->text)};
    write_object(&o, out);
    gs->last = o.said;
    gs->has_sent = true;
    weir_buf_dispose(&tokens);
    weir_buf_dispose(&input_tokens);
}

/* ---- what a batch's messages say together ---- */

static void append_elements(struct weir_buf *out, struct weir_slice elements)
{
    if (out->n != 0 && elements.n != 0) {
        weir_buf_append_byte(out, ',');
    }
    weir_buf_append(out, elements);
}

/* A message that goes on behind the batch has not finished yet. */
static void touch(struct weir_gs *gs, struct weir_textlog_cut cut, struct weir_gs_object *o,
                  struct weir_buf *tokens)
{
    for (size_t i = 0; i < cut.n_touched; i++) {
        const struct weir_gs_frame *frame = frame_at(gs, i);
        o->said = frame->said;
        if (i >= cut.n_ended) {
            o->said.finish_reason = WEIR_FINISH_NOT_FINISHED;
            continue;
        }
        append_elements(tokens, weir_slice_make(frame->json, frame->n_tokens_json));
        bool has_left = gs->has_sent_second && is_second(gs, i);
        if (frame->n_input_json != 0 && !has_left) {
            o->input_tokens =
                weir_slice_make(frame->json + frame->n_tokens_json, frame->n_input_json);
        }
    }
    o->tokens = weir_buf_slice(tokens);
}

/* The first object has what the first two messages say about the input. */
static void add_beginning(struct weir_gs *gs, struct weir_gs_object *o)
{
    if (gs->has_sent) {
        return;
    }
    gs->has_sent = true;
    if (gs->first.has_details) {
        o->said.seed = gs->first.seed;
    }
    if (gs->first.input_token_count != 0) {
        o->said.input_token_count = gs->first.input_token_count;
    }
    if (gs->second_input.n != 0) {
        o->input_tokens = weir_buf_slice(&gs->second_input);
        gs->has_sent_second = true;
    }
}

static void write_touched(struct weir_gs *gs, struct weir_textlog_cut cut, struct weir_gs_object *o,
                          struct weir_buf *out)
{
    struct weir_buf tokens = {0};
    touch(gs, cut, o, &tokens);
    add_beginning(gs, o);
    write_object(o, out);
    gs->last = o->said;
    for (size_t i = 0; i < cut.n_ended; i++) {
        weir_gs__frame_free(gs, frame_at(gs, i));
    }
    weir_buf_dispose(&tokens);
}

/* ---- told: the messages a batch names ---- */

static struct weir_slice tokens_of(const struct weir_gs_frame *frame)
{
    return weir_slice_make(frame->json, frame->n_tokens_json);
}

static struct weir_slice input_tokens_of(const struct weir_gs_frame *frame)
{
    return weir_slice_make(frame->json + frame->n_tokens_json, frame->n_input_json);
}

/* The messages a batch names, as far as they are still known. */
struct named {
    const struct weir_gs_frame *lowest[2]; /* the first two; NULL: none */
    const struct weir_gs_frame *highest;
    struct weir_buf tokens; /* of all */
};

static void add_named(struct named *named, const struct weir_gs_frame *frame)
{
    if (named->lowest[0] == NULL) {
        named->lowest[0] = frame;
    } else if (named->lowest[1] == NULL) {
        named->lowest[1] = frame;
    }
    named->highest = frame;
    append_elements(&named->tokens, tokens_of(frame));
}

static void find_named(const struct weir_gs *gs, const struct weir_path_told *told,
                       struct named *named)
{
    const struct weir_textlog *log = weir_path_log(gs->path);
    size_t end = weir_textlog_frames_below(log, told->last_frame + 1);
    *named = (struct named){0};
    if (gs->kept[0] != NULL && told->first_frame == 0) {
        add_named(named, gs->kept[0]);
    }
    if (gs->kept[1] != NULL && gs->kept_number >= told->first_frame &&
        gs->kept_number <= told->last_frame) {
        add_named(named, gs->kept[1]);
    }
    for (size_t i = weir_textlog_frames_below(log, told->first_frame); i < end; i++) {
        add_named(named, frame_at(gs, i));
    }
}

/* Everything as the highest has it. A batch that begins with message 0 has what that says about the
 * input, and the next one's input tokens. */
static void speak_for(const struct named *named, bool is_beginning, struct weir_gs_object *o)
{
    o->tokens = weir_buf_slice(&named->tokens);
    if (named->highest == NULL) {
        return;
    }
    o->said = named->highest->said;
    o->input_tokens = input_tokens_of(named->highest);
    if (is_beginning) {
        const struct weir_model_generated *first = &named->lowest[0]->said;
        o->said.seed = first->has_details ? first->seed : o->said.seed;
        o->said.input_token_count = first->input_token_count;
        o->input_tokens =
            named->lowest[1] != NULL ? input_tokens_of(named->lowest[1]) : WEIR_SLICE("");
    }
}

/* The highest one named may be named again; message 0 is by a chunker that names none. */
static void forget_ended(struct weir_gs *gs, size_t n_ended, const struct weir_gs_frame *highest)
{
    for (size_t i = 0; i < n_ended; i++) {
        struct weir_gs_frame *frame = frame_at(gs, i);
        struct weir_gs_frame *gone = frame;
        uint64_t number = weir_textlog_frame(weir_path_log(gs->path), i).number;
        if (number == 0) {
            gone = gs->kept[0];
            gs->kept[0] = frame;
        } else if (frame == highest) {
            gone = gs->kept[1];
            gs->kept[1] = frame;
            gs->kept_number = number;
        }
        if (gone != NULL) {
            weir_gs__frame_free(gs, gone);
        }
    }
}

static void write_told(struct weir_gs *gs, const struct weir_gather_batch *batch,
                       struct weir_gs_object *o, struct weir_buf *out)
{
    struct named named;
    find_named(gs, batch->told, &named);
    speak_for(&named, batch->told->first_frame == 0, o);
    write_object(o, out);
    gs->last = o->said;
    gs->has_sent = true;
    forget_ended(gs, weir_path_n_ended(gs->path, batch), named.highest);
    weir_buf_dispose(&named.tokens);
}

void weir_gs__write_batch(struct weir_gs *gs, const struct weir_gather_batch *batch,
                          struct weir_buf *out)
{
    struct weir_gs_object o = {.text = weir_path_text(gs->path, batch),
                               .has_output = true,
                               .findings = batch->findings,
                               .n_findings = batch->n_findings,
                               .has_arrays = gs->stream.task->env->compat.fills_arrays,
                               .start_cp = batch->start_cp,
                               .end_cp = batch->end_cp};
    if (batch->told != NULL) {
        write_told(gs, batch, &o, out);
    } else {
        write_touched(gs, weir_textlog_cut(weir_path_log(gs->path), batch->end_cp), &o, out);
    }
}

void weir_gs__write_final(struct weir_gs *gs, struct weir_buf *out)
{
    struct weir_gs_object o = {.has_output = true,
                               .whole = gs->whole_found,
                               .said.input_token_count = gs->last.input_token_count,
                               .start_cp = gs->path != NULL ? gs->length_cp : 0,
                               .end_cp = gs->length_cp};
    struct weir_textlog_cut cut = {0, 0};
    if (gs->path != NULL && !weir_path_is_told(gs->path)) { /* messages behind the last batch */
        cut = weir_textlog_cut(weir_path_log(gs->path), gs->length_cp);
    }
    if (gs->has_whole || cut.n_touched != 0) {
        write_touched(gs, cut, &o, out);
    }
    if (cut.n_touched != 0) {
        weir_path_release(gs->path, gs->length_cp);
    }
}
