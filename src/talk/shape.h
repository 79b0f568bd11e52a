#ifndef WEIR_TALK_SHAPE_H
#define WEIR_TALK_SHAPE_H

#include "base/buf.h"
#include "base/slice.h"
#include "talk/envelope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A model server sends the same event again and again, but for one string, and perhaps a number
 * that counts or a string of no meaning:
 *
 *   {"id":"c1","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}
 *   {"id":"c1","choices":[{"index":0,"delta":{"content":"lo "},"finish_reason":null}]}
 *   └──────────────── part ─────────────────┘          └────────── part ───────────┘
 *
 *   {"type":"response.output_text.delta","sequence_number":4,"output_index":0,"delta":"Hel"}
 *   {"type":"response.output_text.delta","sequence_number":5,"output_index":0,"delta":"lo "}
 *   └─────────────────────── part ────────────────────────┘ └──────── part ────────┘    └ part
 *
 * An event that was read once, and whose string is all it says, leaves its shape behind. The next
 * event of that shape is recognised by comparing bytes: it needs no reading, only its string is
 * new. The same on the way out: what surrounds the string is kept as it was written the first time.
 *
 * Recognising is exact: an event that matches is JSON, has the same members with the same values in
 * the same order as the one the shape was made of, but for what may change, and its strings are
 * valid UTF-8 without `\u`. Everything else does not match, and must be read as JSON. See
 * docs/internals/shapes.md.
 */
enum weir_shape_slot {
    WEIR_SHAPE_TEXT,   /* the inside of the string that is said; never empty */
    WEIR_SHAPE_NUMBER, /* digits */
    WEIR_SHAPE_STRING, /* the inside of a string that means nothing */
};

enum { WEIR_SHAPE_MOST_SLOTS = 3 };

struct weir_shape {
    uint32_t refs;
    uint32_t channel; /* of the string: the reader's own number */
    uint64_t place;   /* of the choice */
    bool has_ending;  /* something in it leaves only with the end of its text */
    bool was_written; /* an event like it: out_head is what became of that */
    /* Of events that come: what stands before, between and behind the slots; a string's quotes are
     * part of it. */
    struct weir_slice parts[WEIR_SHAPE_MOST_SLOTS + 1];
    uint8_t slots[WEIR_SHAPE_MOST_SLOTS]; /* enum weir_shape_slot */
    uint32_t n_slots;
    struct weir_envelope *envelope; /* of events that leave; NULL: see below */
    /* Of events that leave, empty until one was written: what stands before the string,
     * behind it where nothing was found, and behind it up to the list of findings; the first two
     * with the framing of an event stream. */
    struct weir_buf out_head, out_tail, out_found;
    char bytes[]; /* the parts */
};

/* What a shape is made of: an event and where in it stands what may change, a string without its
 * quotes. */
struct weir_shape_of {
    struct weir_slice event;
    struct {
        enum weir_shape_slot what;
        size_t at;
        size_t n;
    } slots[WEIR_SHAPE_MOST_SLOTS]; /* in their order; one of them is TEXT */
    size_t n_slots;
    uint32_t channel;
    uint64_t place;
    bool has_ending;
};

/* Puts a slot in its place among the others. */
void weir_shape_of_add(struct weir_shape_of *of, enum weir_shape_slot what, size_t at, size_t n);

struct weir_shape *weir_shape_new(const struct weir_shape_of *of);
struct weir_shape *weir_shape_ref(struct weir_shape *shape);
void weir_shape_unref(struct weir_shape *shape); /* NULL is fine */

/* For tests: memory behind it, in bytes. */
size_t weir_shape_footprint(const struct weir_shape *shape);

/*
 * The shapes of one stream: the latest few, because choices and channels take turns. A server whose
 * events never repeat (a random member in each) is noticed, and no more shapes are made.
 */
enum { WEIR_SHAPES_MOST = 4 };

struct weir_shapes {
    struct weir_shape *items[WEIR_SHAPES_MOST]; /* the latest first; all-zero is empty */
    unsigned n_wasted;                          /* made in a row and not seen again */
};

void weir_shapes_dispose(struct weir_shapes *shapes);

/* The shape that `event` has, and its string as it stands there; NULL: the event must be read. The
 * shape is borrowed until the next call. */
struct weir_shape *weir_shapes_find(struct weir_shapes *shapes, struct weir_slice event,
                                    struct weir_slice *escaped);

/* Keeps the shape of an event that was read (it may be known: find does not recognise every event);
 * borrowed like that of find. NULL: not worth it. */
struct weir_shape *weir_shapes_add(struct weir_shapes *shapes, const struct weir_shape_of *of);

/* Appends the text of a string that find gave out, escapes replaced. */
void weir_shape_unescape(struct weir_slice escaped, struct weir_buf *out);

#endif
