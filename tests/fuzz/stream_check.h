#ifndef WEIR_TESTS_FUZZ_STREAM_CHECK_H
#define WEIR_TESTS_FUZZ_STREAM_CHECK_H

/*
 * What must be true of a stream that has ended well: computed from what was said and from what the
 * detectors answered, nothing else.
 */
#include "fuzz/stream_replaced.h"

static inline bool check_has_found(const struct talk *t, size_t id)
{
    for (size_t place = 0; place < t->n_said[id]; place++) {
        if (stream_is_found(t, id, place)) {
            return true;
        }
    }
    return false;
}

static inline void check_same(struct weir_slice heard, struct weir_slice said)
{
    CHECK(weir_slice_eq(heard, said));
}

static inline void check_text(const struct talk *t, size_t id)
{
    struct weir_buf want = {0};
    bool is_name = id % N_SLOTS >= SLOT_NAMES && id % N_SLOTS < SLOT_OLD_CALL;
    if (t->enforces && is_name) {
        CHECK(!check_has_found(t, id)); /* or the choice would have been blocked */
    }
    if (t->enforces && t->policy.action == WEIR_POLICY_BLOCK) {
        CHECK(!check_has_found(t, id));
    }
    if (t->enforces) {
        hear_as_it_leaves(t, id, &want);
        check_same(weir_buf_slice(&t->heard[id]), weir_buf_slice(&want));
        weir_buf_dispose(&want);
    } else {
        CHECK(t->n_heard[id] == t->n_said[id]);
    }
}

/* Does this detector see every word of the text, and where nothing came between, this one? */
static inline bool check_sees(const struct talk *t, const struct fake_detector *d, size_t id,
                              size_t place)
{
    const uint8_t *cuts = t->cuts[id / N_SLOTS];
    if (d->base.type != WEIR_DETECT_CONTENTS || d->kind == KIND_DOTS || d->kind == KIND_FAR) {
        return false;
    }
    bool is_one = t->enforces || t->is_unary || !(cuts[place + 1] || cuts[place + 2]);
    return d->kind == KIND_WHOLE || (stream_is_route(t) && is_one);
}

/* Who sees a text whole, or in windows that no word falls between, has found every word. */
static inline void check_coverage(const struct talk *t, size_t id)
{
    for (size_t d = 0; d < t->n_detectors; d++) {
        for (size_t place = 0; place + 3 <= t->n_said[id]; place++) {
            if (check_sees(t, &t->detectors[d], id, place)) {
                CHECK(t->found[d][id][place] == stream_is_bad(&t->said[id][place]));
            }
        }
    }
}

static inline size_t check_count(const struct talk *t, size_t d)
{
    size_t n = 0;
    for (size_t id = 0; id < ID_QUESTION; id++) {
        for (size_t place = 0; place < t->n_said[id]; place++) {
            n += t->found[d][id][place];
        }
    }
    return n;
}

static inline void check_findings(const struct talk *t, size_t id)
{
    for (size_t d = 0; d < t->n_detectors; d++) {
        if (t->detectors[d].base.type == WEIR_DETECT_CONTENTS && !t->env.compat.is_fms) {
            CHECK(memcmp(t->found[d][id], t->heard_found[d][id], t->n_said[id]) == 0);
        }
    }
}

static inline void check_finish(const struct talk *t, size_t choice)
{
    bool is_one =
        stream_is_route(t) || t->n_finish[choice] == 1; /* else each leaves in its place */
    if (t->n_detectors == 0 || t->finish[choice] == 0 || !is_one) {
        return;
    }
    CHECK(t->heard_finish[choice] == t->finish[choice]);
    if (stream_is_route(t)) {
        CHECK(t->n_heard_finish[choice] == 1);
    }
}

static inline void check_choice(const struct talk *t, size_t choice)
{
    size_t first = choice * N_SLOTS;
    if (t->is_blocked[choice]) {
        bool has_reason = false;
        for (size_t i = 0; i < N_SLOTS; i++) {
            has_reason = has_reason || check_has_found(t, first + i);
        }
        for (size_t d = 0; d < t->n_detectors; d++) {
            has_reason = has_reason || t->n_spanless[d] != 0;
        }
        CHECK(has_reason && t->n_heard_finish[choice] == 1);
        return;
    }
    for (size_t i = 0; i < N_SLOTS; i++) {
        check_text(t, first + i);
        if (i == SLOT_CONTENT || t->enforces) {
            check_coverage(t, first + i);
        }
        if (i < SLOT_ARGUMENTS && (i == SLOT_CONTENT || t->enforces)) {
            check_findings(t, first + i);
        }
    }
    check_finish(t, choice);
    if (stream_is_route(t) && t->n_detectors != 0 && !t->is_unary && stream_is_chat(t)) {
        CHECK(t->n_heard_role[choice] == (t->is_seen[choice] ? 1 : 0));
    }
}

/* ---- rows ---- */

/* Has somebody found something in the answer? */
static inline bool check_has_reason(const struct talk *t)
{
    bool has_reason = false;
    for (size_t id = 0; id < ID_QUESTION; id++) {
        has_reason = has_reason || check_has_found(t, id);
    }
    for (size_t d = 0; d < t->n_detectors; d++) {
        has_reason = has_reason || t->n_spanless[d] != 0;
    }
    return has_reason;
}

/* Everything that was found is told again at the end, what is in the text that waits for its
 * judgement also where it is. */
static inline void check_row_findings(const struct talk *t, size_t id)
{
    for (size_t d = 0; d < t->n_detectors; d++) {
        if (t->detectors[d].base.type != WEIR_DETECT_CONTENTS) {
            continue;
        }
        CHECK(memcmp(t->found[d][id], t->summed_found[d][id], t->n_said[id]) == 0);
        if (id % N_SLOTS == SLOT_CONTENT && !t->is_unary) {
            CHECK(memcmp(t->found[d][id], t->heard_found[d][id], t->n_said[id]) == 0);
        }
    }
}

/* Thinking that a server has signed cannot be replaced without a key: what is found in it ends the
 * answer. */
static inline bool check_is_signed(const struct talk *t, size_t id)
{
    return t->endpoint == MESSAGES_ROUTE && id % N_SLOTS == (size_t)WEIR_CHANNEL_REASONING;
}

static inline void check_rows(const struct talk *t)
{
    CHECK(t->n_heard_ends == 1);
    if (t->is_blocked[0]) {
        CHECK(check_has_reason(t));
        return;
    }
    for (size_t id = 0; id < ID_QUESTION; id++) {
        bool is_text = id % N_SLOTS < SLOT_ARGUMENTS;
        if (id % N_SLOTS == SLOT_OLD_CALL) {
            continue; /* events nobody knows: they are dropped, or leave as they are */
        }
        check_text(t, id);
        if (t->enforces && check_is_signed(t, id)) {
            CHECK(!check_has_found(t, id));
        }
        if (id % N_SLOTS == SLOT_CONTENT || t->enforces) {
            check_coverage(t, id);
        }
        if (is_text) {
            check_row_findings(t, id);
        }
    }
}

/* ---- all ---- */

/* Findings without a place, and those of which only the chunk knows the place. */
static inline void check_counts(const struct talk *t)
{
    for (size_t d = 0; d < t->n_detectors && !t->enforces; d++) {
        CHECK(t->n_spanless[d] == t->n_heard_spanless[d]);
        if (t->env.compat.is_fms && t->detectors[d].kind != KIND_WINDOW) {
            CHECK(check_count(t, d) == t->n_heard_found[d]);
        }
    }
}

/* Was everything said heard by the gateway, and nobody failed? */
static inline bool check_is_whole(const struct talk *t)
{
    bool is_read = t->is_unary ? t->is_end_read : t->at == t->wire.n;
    return t->is_asked && is_read && t->has_ended && !t->has_failed;
}

static inline void stream_check(const struct talk *t)
{
    CHECK(t->has_ended);
    CHECK(!t->has_failed || t->has_fault || t->is_broken || t->is_lied ||
          t->env.max_held_bytes < 4096);
    if (!check_is_whole(t) || t->is_lied) {
        return;
    }
    /* What a server does behind an answer that was ended here is of no matter. */
    CHECK(!t->is_broken || (stream_is_row(t) && t->is_blocked[0]));
    if (stream_is_row(t)) {
        check_rows(t);
        return;
    }
    for (size_t c = 0; c < N_PLACES && t->endpoint != CONTENTS; c++) {
        check_choice(t, c);
    }
    if (t->endpoint == CONTENTS) {
        check_findings(t, 0);
    }
    check_counts(t);
    if (t->is_usage_last && t->n_detectors != 0 && !t->is_unary) {
        CHECK(t->heard_usage == t->last_usage);
    }
}

#endif
