#ifndef WEIR_TALK_RESTORE_H
#define WEIR_TALK_RESTORE_H

#include "base/buf.h"
#include "talk/linkwatch.h"
#include "talk/mask.h"
#include "wire/argscan.h"

/*
 * Puts the values back into what a model said: the tokens of a map, in text that comes in any cut.
 *
 *   in    Write to EMAIL_ADDR  ESS_7F3KQ2MAX9 by noon
 *   out   Write to             jane@example.org by noon
 *
 * A token stays where its value must not be put: those that are never restored, and those in a URL
 * a link's target or an HTML tag (talk/linkwatch.h). In JSON a value inside a string is escaped as
 * JSON. What leaves does not depend on how the text was cut. Restored text is not looked at again.
 *
 * A member of JSON that is called url, uri, href, link or source is one URL as a whole. In the
 * arguments of a call it has values where a URL may have them; in an item of the answer, which a
 * page shows as a link, it keeps its tokens.
 */
enum weir_restore_kind {
    WEIR_RESTORE_TEXT,
    WEIR_RESTORE_ARGUMENTS, /* JSON */
    WEIR_RESTORE_ITEM,      /* JSON */
};

struct weir_restore_shift {
    size_t in_cp;  /* behind a token that was replaced … */
    size_t out_cp; /* … and where that is in what leaves */
};

struct weir_restore { /* all-zero but for mask, hosts and kind is the beginning of a text */
    const struct weir_mask *mask;
    const struct weir_linkwatch_hosts *hosts;
    enum weir_restore_kind kind;
    struct weir_mask_scan scan;
    struct weir_linkwatch links;
    struct weir_argscan json;
    char name[8]; /* the last bytes of the last member's, in lower case … */
    bool has_escape;
    bool is_url;  /* … and it is one of a URL */
    size_t in_cp; /* of the text that is done with */
    size_t out_cp;
    struct weir_restore_shift base;    /* the last one before the last feed … */
    struct weir_restore_shift *shifts; /* … and those of it, or … */
    bool keeps_shifts;                 /* … all that were not forgotten */
    size_t n_shifts;
    size_t cap_shifts;
    size_t n_restored; /* tokens, in all */
    struct weir_buf *out;
};

void weir_restore_init(struct weir_restore *r, const struct weir_mask *mask,
                       const struct weir_linkwatch_hosts *hosts, enum weir_restore_kind kind);
void weir_restore_dispose(struct weir_restore *r);

/* Appends what may leave. */
void weir_restore_feed(struct weir_restore *r, struct weir_slice text, struct weir_buf *out);
void weir_restore_end(struct weir_restore *r, struct weir_buf *out);

/* The last `n` bytes that are held back are not to leave at all; fewer if there are not so many. */
void weir_restore_take_back(struct weir_restore *r, size_t n);

static inline bool weir_restore_holds(const struct weir_restore *r)
{
    return r->scan.held.n != 0;
}

/* Where a place of the text stands in what leaves: one of the last feed, or before it. `forget`,
 * where shifts are kept: none before that place is asked for any more. */
size_t weir_restore_map(const struct weir_restore *r, size_t at_cp);
void weir_restore_forget(struct weir_restore *r, size_t until_cp);

#endif
