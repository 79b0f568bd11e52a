#ifndef WEIR_DETECT_FOUND_H
#define WEIR_DETECT_FOUND_H

#include "base/arena.h"
#include "base/slice.h"
#include "detect/detect.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * What a built-in detector finds in one text, collected as byte spans in any order, then sorted,
 * freed of overlaps and turned into findings: bytes become code points in one pass over the text.
 *
 *   add, add, … ─► weir_found_finish ─► struct weir_detect_list
 */
struct weir_found_span {
    size_t start_byte;
    size_t end_byte;
    struct weir_slice detection;
    struct weir_slice detection_type;
    double score;
    enum weir_detection_edge edge;
};

/* More than this in one text, or in all texts of a call, is a limit met: nothing that is read by
 * people has as many. */
enum { WEIR_FOUND_MAX = 65536 };

/* All-zero is empty. */
struct weir_found {
    struct weir_found_span *spans; /* on the heap, kept from text to text */
    size_t n;
    size_t cap;
};

void weir_found_dispose(struct weir_found *f);

/* The slices of `span` must live until finish. WEIR_ELIMIT after WEIR_FOUND_MAX. */
int weir_found_add(struct weir_found *f, const struct weir_found_span *span);

struct weir_found_finish {
    struct weir_slice text;
    size_t from_byte; /* what begins before it is context: left out, and offsets count from here */
    struct weir_slice detector_id;
    double threshold; /* lower scores are dropped first */
    bool
        across_kinds; /* of overlapping spans one stays, whatever its kind; else one of each kind */
};

/*
 * Among overlapping spans the longest stays, the better score first where kinds differ. The list is
 * in order of start; it lives in the arena, a finding's text is a slice of the text. Empties `f`.
 */
struct weir_detect_list weir_found_finish(struct weir_found *f,
                                          const struct weir_found_finish *options,
                                          struct weir_arena *arena);

#endif
