#ifndef WEIR_OFFLINE_DETECT_READ_H
#define WEIR_OFFLINE_DETECT_READ_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A file of any size as blocks that detectors can look at, without having it whole in memory.
 * Pure: bytes in, blocks out.
 *
 *   ├──────── block k ────────┤
 *   ├── answers for ──┤ overlap
 *                     ├──────── block k + 1 ────────┤
 *
 * A finding counts in the block that answers for where it begins, and is seen whole there when it
 * is no longer than the overlap. Blocks begin behind a line's end, or white space, where there is
 * some: what is cut at its first byte could be taken for something else.
 *
 * Bytes that are no UTF-8 become U+FFFD, one each. A byte order mark at the very start is dropped;
 * when it is one of UTF-16, the text is read as that, and halves without a partner become U+FFFD.
 */
enum {
    WEIR_DETECT_READ_BLOCK_BYTES = 64 * 1024,
    WEIR_DETECT_READ_OVERLAP_BYTES = 18 * 1024, /* a private key is found up to 16 KiB */
};

/* Where something is: for people from 1, in code points; and from 0 in the whole text. */
struct weir_detect_place {
    uint64_t line;
    uint64_t column;
    uint64_t at_cp;
};

struct weir_detect_block {
    struct weir_slice text;
    size_t answers_bytes; /* what begins behind it is the next block's */
    size_t answers_cp;
    struct weir_detect_place place; /* of its beginning */
    bool is_last;
};

enum weir_detect_encoding {
    WEIR_DETECT_UNKNOWN, /* fewer than two bytes came */
    WEIR_DETECT_UTF8,
    WEIR_DETECT_UTF16LE,
    WEIR_DETECT_UTF16BE,
};

struct weir_detect_read {
    struct weir_buf text;  /* from the present block on */
    unsigned char held[4]; /* the beginning of a sequence, or of a byte order mark */
    size_t n_held;
    enum weir_detect_encoding encoding;
    uint16_t high;                  /* UTF-16: the first half of a pair; 0: none */
    struct weir_detect_place place; /* of text's beginning */
    bool is_past_start;
    bool is_ended;
    bool is_last_out;
};

/* All-zero is not enough: the place counts from 1. */
void weir_detect_read_init(struct weir_detect_read *r);
void weir_detect_read_init_plain(struct weir_detect_read *r); /* UTF-8, and marks are text */
void weir_detect_read_dispose(struct weir_detect_read *r);

/* Do the bytes begin with a mark of UTF-16? */
bool weir_detect_read_is_utf16(struct weir_slice bytes);

void weir_detect_read_add(struct weir_detect_read *r, struct weir_slice bytes);
void weir_detect_read_end(struct weir_detect_read *r);

/*
 * The next block; false: add more, or, after the end, there are no more. An empty text has none.
 * A block lives until weir_detect_read_pass, which must come before the next one is asked for.
 */
bool weir_detect_read_next(struct weir_detect_read *r, struct weir_detect_block *block);
void weir_detect_read_pass(struct weir_detect_read *r, const struct weir_detect_block *block);

/* Moves a place `n_cp` code points on; `*rest` is the text from there, and moves with it. */
void weir_detect_place_move(struct weir_detect_place *p, struct weir_slice *rest, uint64_t n_cp);

#endif
