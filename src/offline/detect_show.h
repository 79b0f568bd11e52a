#ifndef WEIR_OFFLINE_DETECT_SHOW_H
#define WEIR_OFFLINE_DETECT_SHOW_H

#include "detect/detection.h"
#include "offline/detect_read.h"

#include <stdbool.h>

/*
 * One finding, as people or programs want it.
 *
 *   text     FILE:LINE:COLUMN: TYPE/DETECTION (DETECTOR, SCORE) TEXT
 *   jsonl    {"file","line","column","start","end","text","detection","detection_type",
 *             "detector_id","score","fingerprint","commit"}, one to a line
 *   json     the same in an array
 *   sarif    SARIF 2.1.0, for code scanning
 *   github   ::error file=…,line=…,col=…,title=…::…, annotations of a workflow run
 *
 * Nothing in a line for people moves a cursor, hides or reorders: control and format characters
 * are written as \n, \t or \u{200b}; a long text is cut. json and sarif are documents: a head, the
 * findings with commas between, a tail. A redacted text is its first four characters, where it has
 * twelve, and `…****`.
 */
enum weir_detect_format {
    WEIR_DETECT_TEXT,
    WEIR_DETECT_JSON,
    WEIR_DETECT_JSONL,
    WEIR_DETECT_SARIF,
    WEIR_DETECT_GITHUB,
};

struct weir_detect_show {
    enum weir_detect_format format;
    bool is_coloured;
    bool is_redacted;
};

struct weir_detect_finding {
    struct weir_slice path;
    const char *commit; /* NULL: none */
    struct weir_detect_place place;
    bool has_offsets;                       /* the place is one in the whole file */
    const struct weir_detection *detection; /* its span is taken for its length only */
    const char *fingerprint;
};

/* Appends a finding; of the documents without the comma before it. */
void weir_detect_show_finding(const struct weir_detect_show *show,
                              const struct weir_detect_finding *finding, struct weir_buf *out);

/* What stands before, between and behind the findings; "" where nothing does. */
const char *weir_detect_show_head(enum weir_detect_format format);
const char *weir_detect_show_comma(enum weir_detect_format format);
const char *weir_detect_show_tail(enum weir_detect_format format);

/* Appends what was found, hidden but for its beginning. */
void weir_detect_show_redacted(struct weir_slice text, struct weir_buf *out);

/* Appends text that may come from anywhere as it can be shown; at most `max_cp` of it. */
void weir_detect_show_text(struct weir_slice text, size_t max_cp, struct weir_buf *out);

#endif
