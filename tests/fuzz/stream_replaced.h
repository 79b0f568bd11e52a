#ifndef WEIR_TESTS_FUZZ_STREAM_REPLACED_H
#define WEIR_TESTS_FUZZ_STREAM_REPLACED_H

/*
 * Where replaced findings stand in the text that leaves a route that redacts.
 */
#include "fuzz/stream_talk.h"

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
        at += !is_replaced;
    }
    return run;
}

/* Redacted: the finding of this detector, not told before, whose run stands there. */
static inline uint64_t hear_original(const struct talk *t, size_t d, size_t id, uint64_t start)
{
    size_t place = 0;
    while (place < t->n_said[id] && (!t->found[d][id][place] || t->heard_found[d][id][place] ||
                                     hear_replaced_at(t, id, place) != start)) {
        place++;
    }
    CHECK(place < t->n_said[id]);
    return place;
}

#endif
