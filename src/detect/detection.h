#ifndef WEIR_DETECT_DETECTION_H
#define WEIR_DETECT_DETECTION_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Where a text is a piece of a longer one (weir_detect_input.is_piece), a finding may go beyond
 * this piece. Set for findings in pieces only, and in streams for those that are told in parts.
 */
enum weir_detection_edge {
    WEIR_EDGE_NONE,
    WEIR_EDGE_OPEN,  /* it reaches the end of the piece and goes on behind it */
    WEIR_EDGE_MAYBE, /* it is a finding only if it goes on behind the piece */
    WEIR_EDGE_REST,  /* it began before the piece */
    /* Of readers: its beginning decided, so it may be told before its end (detect/reading.h). */
    WEIR_EDGE_SURE,
};

/*
 * One finding of one detector, as the API's results have it. Types only. All slices borrow; an
 * optional member that is absent is the empty slice. Offsets are code points: of the chunk's text
 * as a detector returns them, of the whole text from the moment a verdict is made.
 */
struct weir_detection {
    enum weir_detection_edge edge;
    bool has_span; /* without one, start_cp and end_cp are 0 */
    size_t start_cp;
    size_t end_cp;
    struct weir_slice text; /* the span's text */
    struct weir_slice detection;
    struct weir_slice detection_type;
    struct weir_slice detector_id;
    struct weir_slice evidence; /* raw JSON */
    struct weir_slice metadata; /* raw JSON */
    double score;
    struct weir_slice
        score_raw;     /* the number as the detector spelled it; empty: ours, print score */
    size_t exposed_cp; /* so much of the text had left, from its beginning on, when it was found */
};

/*
 * What a finding may be called where what it hides must not be told, in results, replacements,
 * metrics and logs: its `detection`, unless that is the text that was found (keywords) or has not
 * the form of a name; then its `detection_type`, under the same condition; then "other".
 */
struct weir_slice weir_detection_name(const struct weir_detection *d);
struct weir_slice weir_detection_type_name(const struct weir_detection *d);

#endif
