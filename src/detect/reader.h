#ifndef WEIR_DETECT_READER_H
#define WEIR_DETECT_READER_H

#include "base/slice.h"
#include "detect/found.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a kind of built-in detector needs to read along with a text that is still being written.
 * detect/reading.h joins the readers of a channel: this is the side of the detector.
 *
 *   text so far   ····password = hun         ···· has been let go of
 *                              └ low_byte    whatever follows, no finding begins before it
 *
 * A reader tells raw findings as soon as nothing still to come can change them, and `low_byte`.
 * What they overlap with, the threshold, code points and the mark are the reading's matter. For
 * every way to cut a text the findings are those of the kind's `scan` of the whole text.
 *
 * So a rule decides by what stands before and by its own match; it looks ahead only inside a
 * candidate, which is let go after 1,024 bytes. What is certain from its beginning on may be longer
 * (65,536 bytes).
 */
enum {
    WEIR_READER_REACH = 1024,       /* bytes of a candidate without a certain beginning */
    WEIR_READER_SURE_REACH = 65536, /* of one whose beginning decides: then it is closed */
    WEIR_READER_CONTEXT = 256,      /* bytes before low_byte that are kept */
    WEIR_READER_OPEN = 160,         /* bytes after which a finding may be told before its end: no
                                       pattern that still comes has findings that begin further back */
};

struct weir_rest_words;

/* A finding whose end has not come: it begins here, is of this kind, scores 1 and goes on to
 * to_byte at least, whatever follows. */
struct weir_reader_open {
    size_t start_byte;
    size_t to_byte;
    const char *kind; /* NULL: there is none */
    const char *type;
};

/* The text as far as it is kept and has come. It ends between code points. */
struct weir_reader_text {
    struct weir_slice text;
    size_t from_byte; /* where it begins, counted from the beginning of the whole */
    bool is_end;      /* no more follows */
    /* What it has not read, up to there, was rested on: it has nothing that the class does not have
     * and nothing of the words. A word begins there. Not behind what has been read: nothing was. */
    size_t rested_byte;
};

struct weir_reader_out {
    struct weir_found *found; /* to add to; offsets count from the beginning of the whole */
    size_t low_byte;          /* to set: no finding still to come begins before it */
    size_t
        quiet_byte;   /* to lower: if the text ended here, no more findings would begin before it */
    double threshold; /* findings with a lower score are dropped */
    const char *why;  /* to set with WEIR_ELIMIT, static */
};

/* Any state is a block of the reading, zeroed, aligned for pointers. */
struct weir_reader_ops {
    size_t (*size)(const void *settings);
    void (*init)(void *state, const void *settings);
    void (*dispose)(void *state);
    /* Goes on to the end of `t`, which begins WEIR_READER_CONTEXT before the last low_byte, or
     * earlier. 0, or WEIR_ELIMIT. */
    int (*read)(void *state, const void *settings, const struct weir_reader_text *t,
                struct weir_reader_out *out);
    /* Can these settings read along? NULL: all can. */
    bool (*can_read)(const void *settings);
    /* Is nothing open but the word being written, so that text of the class `rests_on`
     * (detect/rest.h) need not be shown to it at once? NULL: it wants to see all. */
    bool (*can_rest)(const void *state, const void *settings);
    unsigned char rests_on; /* enum weir_rest_class */
    /* NULL: it tells nothing before its end. Findings that were told, and views, are not its
     * matter. */
    struct weir_reader_open (*open)(const void *state);
    /* The words that it wants to see at once; NULL: there are none. */
    const struct weir_rest_words *(*words)(const void *settings);
};

#endif
