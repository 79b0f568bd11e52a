#ifndef WEIR_TASK_OPEN_H
#define WEIR_TASK_OPEN_H

#include "base/arena.h"
#include "detect/detect.h"
#include "detect/pem.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Findings that are longer than a chunk: a private key is one from its BEGIN line to its END line,
 * or 16 KiB of it, though every chunk shows a part only.
 *
 *   chunks     |  text -----BEGIN…  |  MIIEpAIB…  |  …Cq1 -----END… text  |
 *   detector         |-- open …                   (may see the rest of one, or nothing)
 *   reported         |--------------|-------------|---------------|
 *
 * A weir_open follows one detector over the chunks of one text, in their order, and adds to each
 * chunk's findings the part of the open finding that lies in it. The parts lie side by side, so
 * that together they are the finding, whether the text came in a stream or at once. Where the
 * detector reports a text that was reported already, that finding is left out.
 */
struct weir_open {
    struct weir_arena *arena; /* of the words of findings that it adds */
    enum {
        WEIR_OPEN_NOTHING,
        WEIR_OPEN_BEGUN, /* only the beginning was seen: what follows must look like a key */
        WEIR_OPEN_FINDING,
    } state;
    struct weir_detection like; /* the open one's words */
    size_t left_bytes;          /* before it is too long */
    size_t at_cp;               /* the end of what the last chunk answered for … */
    size_t seen_cp;             /* … and of what it saw */
    size_t reach_cp;            /* the furthest end of a finding that was reported */
    size_t n_tail;
    char tail[WEIR_PEM_MAX_LINE]; /* the end of the text so far: an END line may be cut in two */
};

struct weir_open_chunk {
    struct weir_slice text; /* as the detector saw it */
    size_t start_cp;        /* in the whole text */
    size_t from_cp;         /* what ends here or earlier, from start_cp on, was for chunks before */
    size_t answers_cp;      /* findings that start here or later, from start_cp on, belong to the
                               next chunk; SIZE_MAX: it answers for all of its text */
    const struct weir_detect_list *list;
};

/* All-zero but for the arena. */
void weir_open_init(struct weir_open *o, struct weir_arena *arena);
struct weir_open *weir_open_new(struct weir_arena *arena); /* itself in the arena */

/*
 * Writes the findings to report for the chunk, with offsets of the whole text, and returns how
 * many: at most one more than the detector found. Texts are slices of the chunk's text.
 */
size_t weir_open_take(struct weir_open *o, const struct weir_open_chunk *chunk,
                      struct weir_detection *out);

/* Is no finding open, so that a chunk without findings has nothing to report? */
static inline bool weir_open_is_quiet(const struct weir_open *o)
{
    return o->state == WEIR_OPEN_NOTHING;
}

#endif
