#ifndef WEIR_TESTS_UNIT_TASK_SCRIPT_CHUNKS_H
#define WEIR_TESTS_UNIT_TASK_SCRIPT_CHUNKS_H

/* What chunkers that are told what to answer do in a transcript (script.h). */
#include "unit/task/stage.h"

static inline struct stage_chunks *script_chunks(struct stage *st, struct weir_slice id)
{
    struct stage_chunks *oldest = NULL;
    for (struct stage_chunks *s = st->chunks; s != NULL; s = s->next) {
        if (weir_slice_eq(s->base.chunker->id, id) && s->outcome == WEIR_EAGAIN) {
            oldest = s;
        }
    }
    if (oldest == NULL) {
        fail_msg("no stream of chunker %.*s is open", (int)id.n, id.p);
    }
    return oldest;
}

static inline void script_chunk(struct stage *st, struct weir_slice rest, bool is_told)
{
    struct stage_chunks *s = script_chunks(st, weir_slice_cut(&rest, ' '));
    uint64_t n[4] = {0};
    for (size_t i = 0; i < (is_told ? 4u : 2u); i++) {
        assert_int_equal(weir_slice_u64(weir_slice_cut(&rest, ' '), &n[i]), 0);
    }
    assert_true(s->n_ranges < STAGE_RANGES);
    s->ranges[s->n_ranges++] = (struct stage_range){.start_cp = n[0],
                                                    .end_cp = n[1],
                                                    .first_frame = n[2],
                                                    .last_frame = n[3],
                                                    .text = rest.n != 0 ? strndup(rest.p, rest.n)
                                                            : is_told   ? strdup("")
                                                                        : NULL};
    s->on_ready(s->ctx, &s->base);
}

static inline void script_again(struct stage *st, struct weir_slice rest)
{
    struct stage_chunks *s = script_chunks(st, weir_slice_cut(&rest, ' '));
    uint64_t n[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(weir_slice_u64(weir_slice_cut(&rest, ' '), &n[i]), 0);
    }
    assert_true(s->n_ranges < STAGE_RANGES);
    s->ranges[s->n_ranges++] =
        (struct stage_range){.back_cp = n[0], .start_cp = n[1], .end_cp = n[2]};
    s->on_ready(s->ctx, &s->base);
}

static inline void script_end_chunks(struct stage *st, struct weir_slice id, int outcome)
{
    struct stage_chunks *s = script_chunks(st, id);
    s->outcome = outcome;
    if (outcome != WEIR_ECLOSED) {
        s->fault = (struct weir_fault){
            .origin = WEIR_FAULT_CHUNKER, .id = s->base.chunker->id, .err = outcome};
        s->base.fault = &s->fault;
    }
    s->on_ready(s->ctx, &s->base);
}

static inline void script_unstuff(struct stage *st, struct weir_slice id)
{
    st->full_chunker = (struct weir_slice){0};
    struct stage_chunks *next;
    for (struct stage_chunks *s = st->chunks; s != NULL; s = next) {
        next = s->next;
        if (weir_slice_eq(s->base.chunker->id, id) && s->base.is_full) {
            s->base.is_full = false;
            s->on_ready(s->ctx, &s->base);
        }
    }
}

#endif
