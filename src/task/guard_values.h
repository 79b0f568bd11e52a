#ifndef WEIR_TASK_GUARD_VALUES_H
#define WEIR_TASK_GUARD_VALUES_H

#include "task/guard.h"
#include "task/unmask.h"

/*
 * What a guard does besides on routes that mask (task/unmask.h): pieces get their values on the way
 * out.
 */
struct weir_guard_values {
    struct weir_unmask *unmask;
    struct weir_buf out;          /* of the piece popped last: with values … */
    struct weir_detection *moved; /* … and where its findings are in that */
    const struct weir_detection **moved_list;
    size_t cap_moved;
    struct weir_guard_stretch *stretches; /* with tokens as stretches of their own */
    size_t n_stretches;
    size_t cap_stretches;
    struct weir_guard_piece last; /* waits until what is held back in some channel has left */
    bool has_last;
    bool has_told_foreign;
    size_t n_flushed; /* channels that were asked for that */
};

struct weir_guard_values *weir_guard_values_new(const struct weir_unmask_options *options);
void weir_guard_values_free(struct weir_guard_values *v);

/* A piece of text that leaves. */
void weir_guard_values_put(struct weir_guard_values *v, struct weir_guard_piece *piece);

/* The last piece: first leaves what waited for the end of a token. `length_cp` of each channel. */
void weir_guard_values_end(struct weir_guard_values *v, const struct weir_guard_piece *last);
void weir_guard_values_next(struct weir_guard_values *v, const struct weir_guard *guard,
                            struct weir_guard_piece *piece);

#endif
