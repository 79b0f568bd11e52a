#ifndef WEIR_TESTS_UNIT_TASK_FAKES_H
#define WEIR_TESTS_UNIT_TASK_FAKES_H

/*
 * Chunkers, detectors and a model server that do what a test tells them. Findings are occurrences
 * of the word "bad". What is open is linked, so that a test can see that all of it was closed.
 */
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "chunk/whole.h"
#include "io/loop.h"
#include "task/env.h"
#include "task/gather.h"
#include "task/out.h"
#include "task/plan.h"
#include "task/scratch.h"
#include "unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGE_DETECTORS = 11, STAGE_CHUNKERS = 4, STAGE_FOUND = 24, STAGE_RANGES = 64 };

struct stage;

/* ---- chunkers ---- */

struct stage_chunker {
    struct weir_chunker base;
    struct stage *stage;
    char mark; /* built in: a chunk ends behind it; 0: ranges are told by the script */
};

struct stage_range {
    size_t start_cp, end_cp, back_cp;
    uint64_t first_frame, last_frame;
    char *text; /* the chunker's own, or NULL */
};

struct stage_chunks {
    struct weir_chunk_stream base;
    struct weir_fault fault;
    struct stage_chunks *next; /* of those open */
    struct stage *stage;
    weir_chunk_ready_fn on_ready;
    void *ctx;
    struct weir_chunk_options options;
    struct weir_buf text;
    size_t given_byte, given_cp, cut_byte;
    bool has_ended;
    struct stage_range ranges[STAGE_RANGES]; /* told */
    size_t n_ranges, at_range;
    int outcome; /* told: WEIR_EAGAIN, WEIR_ECLOSED, or an error */
};

/* ---- detectors ---- */

struct stage_detector {
    struct weir_detector base;
    struct stage *stage;
    bool is_immediate;
};

struct stage_call {
    struct weir_detect_call base;
    struct stage_call *next; /* of those open */
    struct stage *stage;
    weir_detect_done_fn on_done;
    void *ctx;
    struct weir_buf content; /* several with a `|` between them */
    struct weir_detection found[STAGE_FOUND];
    size_t n_found;
    struct weir_detect_list lists[STAGE_FOUND];
};

/* ---- the model server ---- */

struct stage_run {
    struct weir_model_run base;
    struct stage *stage;
    const struct weir_model_events *events;
    void *ctx;
    enum weir_model_op op;
    struct weir_slice body; /* what it was asked */
    bool is_paused;
};

struct stage {
    struct weir_loop loop;
    struct weir_arena arena;
    struct weir_task_env env;
    struct weir_task_ctx task;
    struct weir_task_scratch work;
    struct weir_call_context context;
    struct stage_chunker chunkers[STAGE_CHUNKERS];
    size_t n_chunkers;
    struct stage_detector fakes[STAGE_DETECTORS];
    struct weir_task_detector detectors[STAGE_DETECTORS];
    size_t n_detectors;
    struct weir_model model;
    struct stage_chunks *chunks; /* open, newest first */
    struct stage_call *calls;    /* open, oldest first */
    struct stage_run *run;
    size_t n_calls;    /* ever made */
    const char *input; /* ids of the detectors asked for */
    const char *output;
    void *subject; /* of the test */
    struct weir_out out;
    bool is_full;                   /* the outlet answers FULL */
    struct weir_slice full_chunker; /* the one whose streams do, by id; empty: none */
    bool is_over;                   /* end or fail was said */
    bool is_body_paused;            /* D */
    struct weir_buf lines;          /* what left, one line each */
    size_t seen;                    /* bytes of it that were expected already */
    struct weir_buf scratch;
};

/* ---- fakes: chunkers ---- */

static inline struct weir_chunk_stream *stage_chunk_open(const struct weir_chunker *c,
                                                         const struct weir_chunk_env *env,
                                                         const struct weir_chunk_options *options,
                                                         weir_chunk_ready_fn on_ready, void *ctx)
{
    struct stage_chunks *s = weir_mem_zalloc(sizeof *s);
    struct stage *st = ((const struct stage_chunker *)c)->stage;
    (void)env;
    *s = (struct stage_chunks){.base = {.chunker = c},
                               .next = st->chunks,
                               .stage = st,
                               .on_ready = on_ready,
                               .ctx = ctx,
                               .options = *options,
                               .given_cp = options->start_cp,
                               .outcome = WEIR_EAGAIN};
    st->chunks = s;
    return &s->base;
}

static inline enum weir_flow stage_chunk_push(struct weir_chunk_stream *base, uint64_t frame,
                                              struct weir_slice text)
{
    struct stage_chunks *s = (struct stage_chunks *)base;
    (void)frame;
    assert_false(s->has_ended);
    weir_buf_append(&s->text, text);
    base->is_full = base->is_full || weir_slice_eq(base->chunker->id, s->stage->full_chunker);
    return base->is_full ? WEIR_FLOW_FULL : WEIR_FLOW_OK;
}

static inline void stage_chunk_cut(struct weir_chunk_stream *base)
{
    struct stage_chunks *s = (struct stage_chunks *)base;
    s->cut_byte = s->text.n;
}

static inline void stage_chunk_end(struct weir_chunk_stream *base)
{
    struct stage_chunks *s = (struct stage_chunks *)base;
    assert_false(s->has_ended);
    s->has_ended = true;
    s->cut_byte = s->text.n;
}

static inline int stage_chunk_next_marked(struct stage_chunks *s, char mark, struct weir_chunk *out)
{
    struct weir_slice rest = weir_slice_sub(weir_buf_slice(&s->text), s->given_byte, s->text.n);
    size_t at = weir_slice_find(rest, mark);
    size_t end = at < rest.n ? s->given_byte + at + 1 : 0;
    end = end != 0 && (end <= s->cut_byte || s->cut_byte <= s->given_byte) ? end : s->cut_byte;
    if (end <= s->given_byte) {
        return s->has_ended ? WEIR_ECLOSED : WEIR_EAGAIN;
    }
    size_t start_cp = s->given_cp;
    s->given_cp += weir_utf8_count(weir_slice_sub(rest, 0, end - s->given_byte));
    s->given_byte = end;
    *out = (struct weir_chunk){
        .start_cp = start_cp, .end_cp = s->given_cp, .seen_end_cp = s->given_cp};
    return 0;
}

static inline int stage_chunk_next(struct weir_chunk_stream *base, struct weir_chunk *out)
{
    struct stage_chunks *s = (struct stage_chunks *)base;
    char mark = ((const struct stage_chunker *)base->chunker)->mark;
    if (mark != 0) {
        return stage_chunk_next_marked(s, mark, out);
    }
    if (s->at_range == s->n_ranges) {
        return s->outcome;
    }
    const struct stage_range *r = &s->ranges[s->at_range++];
    *out = (struct weir_chunk){.start_cp = r->start_cp,
                               .end_cp = r->end_cp,
                               .seen_end_cp = r->end_cp,
                               .back_cp = r->back_cp,
                               .first_frame = r->first_frame,
                               .last_frame = r->last_frame,
                               .text = weir_slice_cstr(r->text)};
    return 0;
}

static inline void stage_chunk_close(struct weir_chunk_stream *base)
{
    struct stage_chunks *s = (struct stage_chunks *)base;
    struct stage_chunks **at = &s->stage->chunks;
    while (*at != s) {
        at = &(*at)->next;
    }
    *at = s->next;
    for (size_t i = 0; i < s->n_ranges; i++) {
        free(s->ranges[i].text);
    }
    weir_buf_dispose(&s->text);
    free(s);
}

static const struct weir_chunk_ops STAGE_CHUNK_OPS = {
    .open = stage_chunk_open,
    .push = stage_chunk_push,
    .cut = stage_chunk_cut,
    .end = stage_chunk_end,
    .next = stage_chunk_next,
    .close = stage_chunk_close,
};

static inline const struct weir_chunker *stage_add_chunker(struct stage *st, const char *id,
                                                           char mark)
{
    struct stage_chunker *c = &st->chunkers[st->n_chunkers++];
    *c = (struct stage_chunker){
        .base = {.ops = &STAGE_CHUNK_OPS, .id = weir_slice_cstr(id), .is_immediate = mark != 0},
        .stage = st,
        .mark = mark};
    return &c->base;
}

/* ---- fakes: detectors ---- */

/* The findings in one content, as the call's next list. */
static inline void stage_find_in(struct stage_call *call, struct weir_slice content)
{
    bool has_spans = call->base.detector->type == WEIR_DETECT_CONTENTS;
    struct weir_detect_list *list = &call->lists[call->base.n_lists++];
    list->items = &call->found[call->n_found];
    for (size_t at = 0; at + 3 <= content.n; at++) {
        if (memcmp(content.p + at, "bad", 3) != 0) {
            continue;
        }
        size_t start = weir_utf8_count(weir_slice_sub(content, 0, at));
        assert_true(call->n_found < STAGE_FOUND);
        list->n++;
        call->found[call->n_found++] =
            (struct weir_detection){.has_span = has_spans,
                                    .start_cp = has_spans ? start : 0,
                                    .end_cp = has_spans ? start + 3 : 0,
                                    .text = WEIR_SLICE("bad"),
                                    .detection = WEIR_SLICE("Ugh"),
                                    .detection_type = WEIR_SLICE("word"),
                                    .detector_id = call->base.detector->id,
                                    .score = 0.5};
    }
}

static inline void stage_find(struct stage_call *call)
{
    struct weir_slice rest = weir_buf_slice(&call->content);
    do {
        stage_find_in(call, weir_slice_cut(&rest, '|'));
    } while (rest.p != NULL);
    call->base.lists = call->lists;
    call->base.is_done = true;
}

static inline void stage_add_content(struct stage_call *call, const struct weir_detect_input *input)
{
    switch (input->type) {
    case WEIR_DETECT_CONTENTS:
        assert_true(input->n_contents <= STAGE_FOUND);
        for (size_t i = 0; i < input->n_contents; i++) {
            weir_buf_append(&call->content, i != 0 ? WEIR_SLICE("|") : WEIR_SLICE(""));
            weir_buf_append(&call->content, input->contents[i]);
        }
        break;
    case WEIR_DETECT_CHAT:
        weir_buf_append(&call->content, input->messages);
        break;
    case WEIR_DETECT_GENERATION:
        weir_buf_append(&call->content, input->generated_text);
        break;
    case WEIR_DETECT_CONTEXT_DOC:
        weir_buf_append(&call->content, input->content);
        break;
    }
}

static inline struct weir_detect_call *stage_detect(const struct weir_detector *d,
                                                    const struct weir_detect_env *env,
                                                    const struct weir_detect_input *input,
                                                    weir_detect_done_fn on_done, void *ctx)
{
    const struct stage_detector *fake = (const struct stage_detector *)d;
    struct stage *st = fake->stage;
    struct stage_call *call = weir_mem_zalloc(sizeof *call);
    struct stage_call **tail = &st->calls;
    (void)env;
    call->base.detector = d;
    call->stage = st;
    call->on_done = on_done;
    call->ctx = ctx;
    stage_add_content(call, input);
    while (*tail != NULL) {
        tail = &(*tail)->next;
    }
    *tail = call;
    st->n_calls++;
    if (fake->is_immediate) {
        stage_find(call);
    }
    return &call->base;
}

static inline void stage_detect_free(struct weir_detect_call *base)
{
    struct stage_call *call = (struct stage_call *)base;
    struct stage_call **at = &call->stage->calls;
    while (*at != call) {
        at = &(*at)->next;
    }
    *at = call->next;
    weir_buf_dispose(&call->content);
    free(call);
}

static const struct weir_detect_ops STAGE_DETECT_OPS = {.start = stage_detect,
                                                        .free = stage_detect_free};

static inline void stage_add_detector(struct stage *st, const char *id, enum weir_detect_type type,
                                      const struct weir_chunker *chunker, bool is_immediate)
{
    struct stage_detector *fake = &st->fakes[st->n_detectors];
    struct weir_task_detector *d = &st->detectors[st->n_detectors++];
    *fake = (struct stage_detector){.base = {.ops = &STAGE_DETECT_OPS,
                                             .id = weir_slice_cstr(id),
                                             .type = type,
                                             .takes_many = true},
                                    .stage = st,
                                    .is_immediate = is_immediate};
    *d = (struct weir_task_detector){
        .id = fake->base.id, .detector = &fake->base, .chunker = chunker};
}

/* A plan of those named, separated by spaces. */
static inline struct weir_plan stage_plan(struct stage *st, const char *ids)
{
    struct weir_plan_use *uses = weir_arena_array(&st->arena, STAGE_DETECTORS, sizeof *uses);
    struct weir_slice rest = weir_slice_cstr(ids);
    struct weir_plan plan = {.uses = uses};
    while (rest.n != 0) {
        struct weir_slice id = weir_slice_cut(&rest, ' ');
        for (size_t i = 0; i < st->n_detectors; i++) {
            if (weir_slice_eq(st->detectors[i].id, id)) {
                uses[plan.n++] = (struct weir_plan_use){.d = &st->detectors[i],
                                                        .params = WEIR_SLICE("{}"),
                                                        .is_remote = !st->fakes[i].is_immediate};
            }
        }
    }
    return plan;
}

#endif
