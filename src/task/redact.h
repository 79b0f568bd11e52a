#ifndef WEIR_TASK_REDACT_H
#define WEIR_TASK_REDACT_H

#include "base/buf.h"
#include "base/slice.h"
#include "detect/detection.h"
#include "talk/keep_json.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Findings replaced in a text that comes in pieces.
 *
 *   findings      |--a--|          |--c--|
 *                    |--b--|
 *   text       mail jane@example.org or 4111…
 *   leaves     mail [a] or [c]
 *
 * The union of the spans is replaced, each maximal run once, by what the first finding of the run
 * fills the template with: the one that starts first, of those the longest, of those the smallest
 * detector id. A run that passes the piece's end is replaced where it begins; the rest of it is
 * swallowed later. So the pieces joined are what the whole text would have become.
 */
struct weir_redact_run { /* what was replaced, and what stands there */
    size_t start_cp;
    size_t end_cp;
    size_t start_out;
    size_t end_out;
};

struct weir_redact {
    size_t until_cp; /* the run that was replaced last ends here; 0: none */
    /* The same in the text that leaves: how much of it there is, and where that run stands. */
    size_t out_cp;
    size_t run_start_out;
    size_t run_end_out;
    /* Told of the text in order, as it leaves or is replaced; may be NULL. */
    void (*on_stretch)(void *ctx, struct weir_slice text, bool is_replaced);
    void *ctx;
    struct weir_keep_json *keep; /* the text is JSON and stays that; NULL: it is any text. Spans in
                                    what leaves are then those of the first replacement, at most so
                                    many code points too early as are held back */
    bool keeps_runs;             /* for weir_redact_map: */
    struct weir_redact_run *runs;
    size_t n_runs;
    size_t cap_runs;
    bool is_run_open; /* JSON: the end of the last one is not known yet */
};

void weir_redact_dispose(struct weir_redact *r);

/* Has the finding a span that can be replaced? */
static inline bool weir_redact_can(const struct weir_detection *d)
{
    return d->has_span && d->end_cp > d->start_cp;
}

struct weir_redact_piece {
    struct weir_slice text;                       /* UTF-8 */
    size_t start_cp;                              /* of the text, in the whole */
    const struct weir_detection *const *findings; /* everything that touches it, in any order */
    size_t n_findings;
    size_t n_cp; /* of the text, if it is known; 0: it is counted */
};

/* Where findings of a piece stand in the text that leaves: that of their run's replacement. */
struct weir_redact_span {
    size_t start_cp;
    size_t end_cp;
};

/* Is it a piece that leaves as it is, with nothing found in it? Then it counts as said, and nothing
 * need be appended. */
bool weir_redact_passes(struct weir_redact *r, const struct weir_redact_piece *piece);

/* Appends the piece with its findings replaced. True: something was replaced or swallowed. Findings
 * without span are not looked at. */
bool weir_redact_piece(struct weir_redact *r, struct weir_slice redact_with,
                       const struct weir_redact_piece *piece, struct weir_buf *out);

/* The same; `spans`, one for each finding, are filled where there are any. */
bool weir_redact_mapped(struct weir_redact *r, struct weir_slice redact_with,
                        const struct weir_redact_piece *piece, struct weir_redact_span *spans,
                        struct weir_buf *out);

/* The text has ended: appends what was held back. */
void weir_redact_end(struct weir_redact *r, struct weir_buf *out);

/* Where a place of the text that has been replaced stands in what leaves: of one in a run the
 * beginning of what stands there, or its end. `forget`: none before that place is asked for any
 * more. */
size_t weir_redact_map(const struct weir_redact *r, size_t at_cp, bool is_end);
void weir_redact_forget(struct weir_redact *r, size_t until_cp);

/* Appends `with`, its places filled from the finding. */
void weir_redact_fill(struct weir_buf *out, struct weir_slice with, const struct weir_detection *d);

#endif
