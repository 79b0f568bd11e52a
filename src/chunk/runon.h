#ifndef WEIR_CHUNK_RUNON_H
#define WEIR_CHUNK_RUNON_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Lists whose items stand in one line: "1) Open it 2) Close it", "a. Here b. There", "• one • two".
 * A line that begins with a marker is one; the marker that would be next, written in the same way,
 * begins the next item:
 *
 *   1.) The first item 2.) The second item
 *                      ^ BEGINS  ^ CUT: it was the marker
 *
 * Numbers and letters must count on, so "1. Take 5. Rest" has one item. All-zero is the beginning
 * of a text; one code point at a time.
 */
struct weir_runon {
    uint8_t at;
    uint8_t sort;
    uint8_t close;
    uint16_t number;
    uint16_t seen; /* the number of a marker that is being read */
    uint32_t bullet;
};

enum weir_runon_at {
    WEIR_RUNON_START,  /* of a line; nothing but white space yet */
    WEIR_RUNON_FIRST,  /* reading the first marker */
    WEIR_RUNON_CLOSED, /* … and behind its full stop or bracket */
    WEIR_RUNON_NONE,   /* the line is no list */
    WEIR_RUNON_TEXT,   /* of an item */
    WEIR_RUNON_GAP,    /* white space in it */
    WEIR_RUNON_NEXT,   /* reading what may be the next marker */
    WEIR_RUNON_NEXT_CLOSED,
};

/* What is white space, and what ends a line. */
enum weir_runon_space { WEIR_RUNON_SOLID, WEIR_RUNON_WHITE, WEIR_RUNON_LINE };

enum weir_runon_verdict {
    WEIR_RUNON_GOES_ON,
    WEIR_RUNON_BEGINS,   /* a marker may begin with this code point */
    WEIR_RUNON_CUT,      /* it was one: an item ends before it */
    WEIR_RUNON_CUT_HERE, /* an item ends before this code point */
};

enum weir_runon_verdict weir_runon_step(struct weir_runon *r, uint32_t cp,
                                        enum weir_runon_space space);

/* A full stop at this place would be a marker's. */
static inline bool weir_runon_is_marker(const struct weir_runon *r)
{
    return r->at == WEIR_RUNON_FIRST || r->at == WEIR_RUNON_NEXT;
}

/* Every code point must be seen. */
static inline bool weir_runon_is_open(const struct weir_runon *r)
{
    return r->at != WEIR_RUNON_NONE;
}

#endif
