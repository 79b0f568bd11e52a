#ifndef WEIR_DETECT_SEEK_H
#define WEIR_DETECT_SEEK_H

#include "base/slice.h"
#include "detect/found.h"
#include "detect/patterns.h"
#include "detect/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Patterns point at candidates, judges decide about them: what `regex` and `secrets` share, for
 * whole texts and for texts that are still being written.
 *
 *   text ─► patterns ─► candidates ─┬─► decided: a finding, or none
 *                                   └─► the judge looked behind the end of the text: it stays, and
 *                                       is asked again when there is more
 *
 * A judge sees the text before the candidate and no more than its rule's reach behind it, so what
 * it decides does not depend on how the text was cut: only on whether it looked behind the end
 * (detect/ascii.h). At the end of the text every candidate is decided.
 */
enum {
    WEIR_SEEK_ALONE = 63,   /* a group: its candidates know nothing of each other */
    WEIR_SEEK_UNASKED = 64, /* a group: nobody wants to know */
    WEIR_SEEK_WIDTH = 32,   /* bytes of a match, where there are triggers */
};

enum weir_seek_trigger {
    WEIR_SEEK_DULL,
    WEIR_SEEK_TRIGGER,
    WEIR_SEEK_AFTER_W, /* a trigger after a w: of `www.`, while most dots end a sentence */
};

/* A candidate, and what became of it. Offsets are of `text`. */
struct weir_seek_look {
    struct weir_slice text;
    size_t end;          /* where the pattern ended; a judge that goes on line by line moves it */
    unsigned char state; /* in and out, 0 at first: the judge's own; else `from` is what it said */
    size_t floor;        /* what is before has been judged by this group */
    size_t resume; /* in and out, 0 at first: what the judge wants to remember for its next look */
    bool is_start; /* `text` begins with the whole text */
    bool is_piece; /* the text is a chunk of a longer one */
    bool is_cut;   /* there is more text than may be looked at */
    size_t from;   /* out: the finding; as soon as it is known how far back it can begin at most */
    size_t to;
    size_t seen;    /* out: no judge of the group need look before it again */
    size_t covered; /* out, of one that goes on: what ends up to there in its group is part of it */
    size_t more;    /* out, where found: 0, or ask again with this as `resume` */
    bool goes_on;   /* out: ask again though there is nothing to be found in what may be seen */
    bool is_sure;   /* out: whatever follows, it is a finding; only its end is not known */
    const char *kind;
    double score;
    enum weir_detection_edge edge;
};

/* How a pattern's candidates are treated. */
struct weir_seek_rule {
    unsigned char group; /* of one group the first candidate that is not decided holds the others */
    unsigned short back; /* a finding begins no further before the candidate's end */
};

struct weir_seek_rules {
    const struct weir_patterns *patterns;
    struct weir_seek_rule (*rule)(const void *settings, unsigned id);
    bool (*judge)(const void *settings, unsigned id, struct weir_seek_look *l);
    const void *settings;
    const char *type; /* the findings' detection_type */
    /* NULL, or by byte: has every match one that is marked, WEIR_SEEK_WIDTH bytes at most before
     * its end? Text without them needs no look. */
    const enum weir_seek_trigger *triggers;
    size_t n_groups; /* of those that remember what was judged: 0, 1, … */
    bool is_piece;
    bool opens;           /* findings that are sure and score 1 may be told before their end */
    uint64_t weak_groups; /* a bit each: what they find scores less than 1, if it is longer than
                             WEIR_READER_OPEN */
};

struct weir_seek_candidate {
    size_t end;
    size_t low; /* its finding begins there or later */
    size_t resume;
    unsigned id;
    unsigned char state;
    bool is_sure; /* it looked behind WEIR_READER_REACH, as one that is sure may */
};

/* One text that is being written. Offsets are bytes from its beginning. */
struct weir_seek {
    struct weir_patterns_stream *stream;
    struct weir_seek_candidate *waiting; /* in order of their ends */
    size_t n;
    size_t cap;
    size_t *seen;                 /* by group */
    size_t base_byte;             /* the stream's first byte */
    size_t trigger_byte;          /* one past the last trigger */
    bool is_behind;               /* text without triggers was not shown to the stream */
    size_t read_byte;             /* patterns have seen the text up to there, */
    size_t tried_byte;            /* and judges */
    bool has_new;                 /* some that were never judged */
    struct weir_reader_open open; /* of the candidate that is sure; kind NULL: none is */
};

void weir_seek_init(struct weir_seek *s, const struct weir_seek_rules *rules);
void weir_seek_dispose(struct weir_seek *s); /* safe on all-zero */

/* Goes on to the end of `t`, which begins no later than the mark less WEIR_READER_CONTEXT. Adds
 * findings (their offsets are of the whole text). 0, or WEIR_ELIMIT. */
int weir_seek_read(struct weir_seek *s, const struct weir_seek_rules *rules,
                   const struct weir_reader_text *t, struct weir_found *found);

/* The candidates that wait: no finding of theirs begins before it. SIZE_MAX: none waits. */
size_t weir_seek_low(const struct weir_seek *s);

/* A whole text at once. */
int weir_seek_scan(const struct weir_seek_rules *rules, struct weir_slice text,
                   struct weir_found *found);

#endif
