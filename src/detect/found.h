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
    bool is_sure; /* its beginning decided: what overlaps it and begins later does not rename it */
};

/* More than this in one text, or in all texts of a call, is a limit met: nothing that is read by
 * people has as many. */
enum { WEIR_FOUND_MAX = 65536 };

/* Findings that overlap one another are no more than that from the first to the last beginning. */
enum { WEIR_FOUND_HEAP_BYTES = 65536 };

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

/*
 * For a text that is still being written: which of the spans so far stay, whatever comes, given
 * that all still to come begin at low_byte or behind it. Moves them to `out`, in order of start,
 * drops those that lose and keeps the others in `f`: the first of these begins at the byte
 * returned; SIZE_MAX: none is left.
 */
struct weir_found_settle {
    size_t low_byte;
    double threshold;
    bool across_kinds;
};

size_t weir_found_settle(struct weir_found *f, const struct weir_found_settle *options,
                         struct weir_found *out);

#endif
