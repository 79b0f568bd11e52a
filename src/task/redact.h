#ifndef WEIR_TASK_REDACT_H
#define WEIR_TASK_REDACT_H

#include "base/buf.h"
#include "base/slice.h"
#include "detect/detection.h"

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
struct weir_redact {
    size_t until_cp; /* the run that was replaced last ends here; 0: none */
};

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
};

/* Appends the piece with its findings replaced. True: something was replaced or swallowed. Findings
 * without span are not looked at. */
bool weir_redact_piece(struct weir_redact *r, struct weir_slice redact_with,
                       const struct weir_redact_piece *piece, struct weir_buf *out);

#endif
