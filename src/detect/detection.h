#ifndef WEIR_DETECT_DETECTION_H
#define WEIR_DETECT_DETECTION_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * One finding of one detector, as the API's results have it. Types only. All slices borrow; an
 * optional member that is absent is the empty slice. Offsets are code points: of the chunk's text
 * as a detector returns them, of the whole text from the moment a verdict is made.
 */
struct weir_detection {
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
        score_raw; /* the number as the detector spelled it; empty: ours, print score */
};

#endif
