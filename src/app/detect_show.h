#ifndef WEIR_APP_DETECT_SHOW_H
#define WEIR_APP_DETECT_SHOW_H

#include "app/detect_read.h"
#include "detect/detection.h"

/*
 * One finding as a line.
 *
 *   people   FILE:LINE:COLUMN: TYPE/DETECTION (DETECTOR, SCORE) TEXT
 *   JSON     {"file","line","column","start","end","text","detection","detection_type",
 *             "detector_id","score"}
 *
 * Nothing in the line of people moves a cursor, hides or reorders: control and format characters
 * are written as \n, \t or \u{200b}; a long text is cut.
 */
struct weir_detect_show {
    bool is_json;
    bool is_coloured;
};

/* Appends the line of a finding that begins at `place`; its span is taken for its length only. */
void weir_detect_show_finding(const struct weir_detect_show *show, const char *path,
                              const struct weir_detect_place *place,
                              const struct weir_detection *finding, struct weir_buf *out);

/* Appends text that may come from anywhere as it can be shown; at most `max_cp` of it. */
void weir_detect_show_text(struct weir_slice text, size_t max_cp, struct weir_buf *out);

#endif
