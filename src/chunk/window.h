#ifndef WEIR_CHUNK_WINDOW_H
#define WEIR_CHUNK_WINDOW_H

#include "chunk/registry.h"

/*
 * Windows of a fixed size, in code points. Window k sees [k·step, k·step + size) with step = size -
 * overlap and answers for [k·step, (k+1)·step), so a finding not longer than the overlap is seen
 * whole by the window that answers for its beginning.
 *
 *   size 6, overlap 2     0123456789abcd     answers for
 *                         ······             [0, 4)
 *                             ······         [4, 8)
 *                                 ······     [8, 12)
 *                                     ··     [12, 14), at the end
 *
 * A window is out when the last code point it sees has come. At the end, and where the text is cut,
 * the windows that have begun are out with what there is; after a cut the next window begins there.
 * There are no empty windows. Text is valid UTF-8, whole code points; none of it is kept, and a
 * push costs counting it.
 */
struct weir_chunk_window {
    struct weir_chunker base;
    size_t size_cp;
    size_t overlap_cp;
};

/* `id` is borrowed; `overlap_cp` must be less than `size_cp`. */
void weir_chunk_window_init(struct weir_chunk_window *c, struct weir_slice id, size_t size_cp,
                            size_t overlap_cp);

extern const struct weir_chunk_kind weir_chunk_window_kind; /* window {size: 400, overlap: 64} */

#endif
