#ifndef WEIR_CHUNK_TILING_H
#define WEIR_CHUNK_TILING_H

#include "chunk/queue.h"

/*
 * What the chunkers share that lay chunks side by side (sentence, paragraph): the open chunk grows
 * from `start` to `here` as text is walked over, and is ended at some place not behind `here`.
 *
 *        start            mark            here
 *   ……|done|the open chunk  ·  still the same |· text not walked over yet
 *
 * An open chunk does not outgrow `max_bytes`: when it would, it is ended at the best of the marks
 * its owner has set, so that neither memory nor what is held back has the size of somebody's text.
 * All of this is arithmetic on places; no text is kept.
 */
struct weir_tiling_place {
    size_t cp;
    size_t byte;           /* of all text so far; only differences mean something */
    uint64_t frame_before; /* that the code point before this place came in */
    uint64_t frame_after;  /* that the code point at this place came in, if it has come */
};

/* Where an overlong chunk is cut, best first. */
enum weir_tiling_rank {
    WEIR_TILING_BLANK, /* after a blank line */
    WEIR_TILING_LINE,  /* at the beginning of a line */
    WEIR_TILING_WORD,  /* after white space */
    WEIR_TILING_RANKS,
};

enum { WEIR_TILING_MAX_BYTES = 4096 };

struct weir_tiling {
    struct weir_chunk_stream base;
    struct weir_chunk_queue queue;
    struct weir_tiling_place start;
    struct weir_tiling_place here;
    struct weir_tiling_place marks[WEIR_TILING_RANKS];
    size_t max_bytes;
    bool has_ended;
};

/* `max_bytes` 0: WEIR_TILING_MAX_BYTES. */
void weir_tiling_init(struct weir_tiling *t, const struct weir_chunker *chunker, size_t start_cp,
                      size_t max_bytes);
void weir_tiling_dispose(struct weir_tiling *t);

/* `close` of a chunker whose stream is one block that begins with its tiling. */
void weir_tiling_close(struct weir_chunk_stream *s);

/* The text walked over from now on came in `frame`. */
static inline void weir_tiling_frame(struct weir_tiling *t, uint64_t frame)
{
    t->here.frame_after = frame;
    if (t->start.cp == t->here.cp) {
        t->start.frame_after = frame;
    }
}

static inline void weir_tiling_advance(struct weir_tiling *t, size_t n_cp, size_t n_bytes)
{
    t->here.cp += n_cp;
    t->here.byte += n_bytes;
    t->here.frame_before = t->here.frame_after;
}

static inline size_t weir_tiling_open_bytes(const struct weir_tiling *t)
{
    return t->here.byte - t->start.byte;
}

static inline size_t weir_tiling_room(const struct weir_tiling *t)
{
    return t->max_bytes - weir_tiling_open_bytes(t);
}

/* An overlong chunk may be cut here. */
static inline void weir_tiling_mark(struct weir_tiling *t, enum weir_tiling_rank rank)
{
    t->marks[rank] = t->here;
}

/* Ends the open chunk at `place`; nothing happens where that would be an empty one. `place` may be
 * a copy of an older `here`; one from before the open chunk is passed over. */
void weir_tiling_end_at(struct weir_tiling *t, const struct weir_tiling_place *place);

/* The best place to cut the open chunk, which has no room: the latest mark of the best rank that
 * leaves at least half of it, else the latest mark at all, else here. */
struct weir_tiling_place weir_tiling_best(const struct weir_tiling *t);

/* For weir_chunk_ops.next: a chunk, WEIR_EAGAIN, or WEIR_ECLOSED once `has_ended`. */
int weir_tiling_next(struct weir_chunk_stream *s, struct weir_chunk *out);

#endif
