#ifndef WEIR_DETECT_READING_H
#define WEIR_DETECT_READING_H

#include "base/slice.h"
#include "client/fault.h"
#include "detect/detect.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The built-in detectors that read along with one channel of one stream (detect/reader.h). They
 * share the text that is still needed.
 *
 *   r = weir_reading_new(loop, on_ready, ctx)
 *   weir_reading_add(r, detector, params, threshold)      one index each: 0, 1, …
 *   weir_reading_start(r)
 *   weir_reading_is_ready(r)?  ─ no: on_ready comes later, never from inside a call
 *   weir_reading_push(r, text) … weir_reading_end(r)      then look at each index:
 *       mark_cp   no text still to come can make, widen or move a finding that touches a code point
 *                 before it
 *       found     the findings that have become certain, with absolute offsets
 *
 * What is found of a text, spans and scores included, is what the same detector finds in it as a
 * whole, however it is cut.
 */
struct weir_reading;

typedef void (*weir_reading_ready_fn)(void *ctx);

/* Can this detector read along? With parameters of a request it may not be able to: add says so. */
bool weir_reading_can(const struct weir_detector *detector);

/* `loop` NULL: parameters are made at once. */
struct weir_reading *weir_reading_new(struct weir_loop *loop, weir_reading_ready_fn on_ready,
                                      void *ctx);
void weir_reading_free(struct weir_reading *r); /* NULL is fine */

/* Before the first text. `detector` and `params` are borrowed until the reading is freed. */
void weir_reading_add(struct weir_reading *r, const struct weir_detector *detector,
                      struct weir_slice params, double threshold);

/* After the last was added. */
void weir_reading_start(struct weir_reading *r);

/* The parameters of all have been read, well or not. */
bool weir_reading_is_ready(const struct weir_reading *r);

/* Whole code points, and whatever the cut: the result is the same. 0, or the error of the first
 * reader that failed. */
int weir_reading_push(struct weir_reading *r, struct weir_slice text);
int weir_reading_end(struct weir_reading *r);

size_t weir_reading_mark_cp(const struct weir_reading *r, size_t index);

/* Did the last push leave all as it was but for the mark, which is the same for everybody and
 * `*mark_cp`? Some may have come further before. */
bool weir_reading_is_even(const struct weir_reading *r, size_t *mark_cp);

/* The mark or behind it: what is held between is only a beginning of something (a word), and no
 * finding as the text stands. */
size_t weir_reading_quiet_cp(const struct weir_reading *r, size_t index);

/* What became certain with the last push or end; the slices are valid until the next one. */
struct weir_detect_list weir_reading_found(const struct weir_reading *r, size_t index);

/*
 * Open findings. Some beginnings decide: a vendor's long token, a JWT, a private key. Once
 * WEIR_READER_OPEN bytes of one have come it is told with what there is of it: whatever follows, it
 * begins there, is of that kind and score and reaches that far; only its end is not known. What is
 * found in the end has `edge` WEIR_EDGE_SURE, and the mark waits for it. False: none is open.
 */
bool weir_reading_open(const struct weir_reading *r, size_t index, struct weir_detection *d);

/* For tests: bytes of text that are kept. */
size_t weir_reading_kept_bytes(const struct weir_reading *r);

/* Why this reader failed; NULL: it did not. */
const struct weir_fault *weir_reading_fault(const struct weir_reading *r, size_t index);

#endif
