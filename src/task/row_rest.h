#ifndef WEIR_TASK_ROW_REST_H
#define WEIR_TASK_ROW_REST_H

#include "base/arena.h"
#include "task/guard.h"

#include <stdbool.h>

/*
 * The rest of a piece that may leave, and waits because something of another place came between its
 * events (task/row.h): a copy, since a guard's pieces live until its next call. All-zero: none.
 */
struct weir_row_rest {
    struct weir_arena arena;
    struct weir_guard_piece piece;
    bool is_kept;
};

/* `text` from `start_cp` on is what has not left of the piece: its own, or the one kept here. */
void weir_row_rest_keep(struct weir_row_rest *rest, const struct weir_guard_piece *piece,
                        struct weir_slice text, size_t start_cp);
void weir_row_rest_drop(struct weir_row_rest *rest);

#endif
