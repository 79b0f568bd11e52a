#ifndef WEIR_DETECT_ALLOW_H
#define WEIR_DETECT_ALLOW_H

#include "detect/detect.h"

/*
 * A detector without some of its findings: what matches a pattern is none on this route.
 *
 *   "*@acme.com"    ASCII letters without case, `*` is anything, also nothing
 *
 * The whole text of the finding must match. Findings without a span, and parts of findings that go
 * on beyond their chunk, stay.
 */
struct weir_allow {
    struct weir_detector base;
    const struct weir_detector *inner;
    const struct weir_slice *patterns;
    size_t n;
};

/* All is borrowed. */
void weir_allow_init(struct weir_allow *a, const struct weir_detector *inner,
                     const struct weir_slice *patterns, size_t n);

/* The detector behind it; `d` itself where nothing is allowed. */
const struct weir_detector *weir_allow_inner(const struct weir_detector *d);

/* Is this finding, whose text is known, none for `d`? Never where nothing is allowed. */
bool weir_allow_drops(const struct weir_detector *d, const struct weir_detection *finding);

/* Does all of `text` match? Linear in both for one `*`, at worst their product. */
bool weir_allow_matches(struct weir_slice pattern, struct weir_slice text);

#endif
