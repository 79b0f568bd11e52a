#ifndef WEIR_TESTS_FUZZ_STREAM_REPLACED_H
#define WEIR_TESTS_FUZZ_STREAM_REPLACED_H

/*
 * Where replaced findings stand in the text that leaves a route that redacts.
 */
#include "fuzz/stream_talk.h"

enum { VALUE_CP = 3 }; /* of what is masked: the word */

/* Is the character in a run that is replaced? A run begins behind one that is not. */
static inline bool hear_is_replaced(const struct talk *t, size_t id, size_t place)
{
    return place < t->n_said[id] && stream_is_found(t, id, place);
}

/* Where the run with the character `place` stands in the text that leaves: computed from the text
 * and the findings alone. */
static inline uint64_t hear_replaced_at(const struct talk *t, size_t id, size_t place)
{
    uint64_t at = 0;
    uint64_t run = 0;
    for (size_t i = 0; i <= place; i++) {
        bool is_replaced = hear_is_replaced(t, id, i);
        if (is_replaced && (i == 0 || !hear_is_replaced(t, id, i - 1))) {
            run = at;
            at += sizeof "[word]" - 1;
        }
        if (stream_is_restored(t, id) && stream_is_token(t, id, i)) {
            at += VALUE_CP;
            i += strlen(t->token) - 1;
        } else {
            at += !is_replaced;
        }
    }
    return run;
}

/* Redacted: the finding of this detector, not told before, whose run stands there. */
static inline uint64_t hear_original(const struct talk *t, size_t d, size_t id, uint64_t start,
                                     const uint8_t *told)
{
    size_t place = 0;
    while (place < t->n_said[id] &&
           (!t->found[d][id][place] || told[place] || hear_replaced_at(t, id, place) != start)) {
        place++;
    }
    CHECK(place < t->n_said[id]);
    return place;
}

/* The text as it must leave: every run of found characters replaced, values in the place of what
 * stands for them. */
static inline void hear_as_it_leaves(const struct talk *t, size_t id, struct weir_buf *out)
{
    bool is_in_run = false;
    char utf8[4];
    for (size_t place = 0; place < t->n_said[id]; place++) {
        bool is_found = stream_is_found(t, id, place);
        if (stream_is_restored(t, id) && stream_is_token(t, id, place)) {
            for (size_t i = 0; i < VALUE_CP; i++) {
                uint32_t cp = t->said[ID_QUESTION][t->token_place + i];
                weir_buf_append(out, weir_slice_make(utf8, weir_utf8_encode(cp, utf8)));
            }
            place += strlen(t->token) - 1;
        } else if (!is_found) {
            size_t n = weir_utf8_encode(t->said[id][place], utf8);
            weir_buf_append(out, weir_slice_make(utf8, n));
        } else if (!is_in_run) {
            weir_buf_append(out, WEIR_SLICE("[word]"));
        }
        is_in_run = is_found;
    }
}

#endif
