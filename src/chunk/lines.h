#ifndef WEIR_CHUNK_LINES_H
#define WEIR_CHUNK_LINES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a line of Markdown is, decided by its beginning, one code point at a time:
 *
 *   - blank: nothing but white space
 *   - an item: a bullet (- * + •) or heading (#) and a space, or a number of up to three digits, a
 *     full stop or bracket, and a space: "1. ", "2) ", "1.2. "; emphasis around it is looked
 * through
 *   - a fence: three or more backticks or tildes. The block it opens ends with a line of at least
 *     as many of the same and nothing else; a backtick line that has another backtick further on is
 *     code inside a line, not a fence
 *   - prose: anything else
 *
 * Fences and items may be indented by any amount (inside a list) and quoted ("> "). An unclosed
 * fence lasts to the end of the text, as in Markdown. All-zero is the beginning of a text.
 */
struct weir_lines {
    uint8_t at;
    uint8_t run_char;
    uint8_t fence_char; /* of the open block; 0: none is open */
    uint8_t n_digits;
    uint32_t n_run;
    uint32_t n_fence;
    bool is_item;
    bool was_cr;
    bool was_blank; /* the line before this one */
};

enum weir_lines_at {
    WEIR_LINES_START,  /* of the line; nothing but white space yet */
    WEIR_LINES_PREFIX, /* quote signs, or the space after an item's marker */
    WEIR_LINES_SIGNS,  /* bullet, heading or emphasis signs */
    WEIR_LINES_DIGITS, /* of what may be an item's number */
    WEIR_LINES_DOT,    /* after the full stop or bracket behind them */
    WEIR_LINES_RUN,    /* of fence characters */
    WEIR_LINES_INFO,   /* behind a run that opens a block, unless a backtick comes */
    WEIR_LINES_CLOSED, /* white space behind a run that closes the block */
    WEIR_LINES_REST,   /* decided: the rest of the line does not matter */
};

enum weir_lines_sort {
    WEIR_LINES_SOLID,
    WEIR_LINES_SPACE,
    WEIR_LINES_BREAK, /* ends the line; a line feed after a carriage return belongs to it */
};

void weir_lines_step(struct weir_lines *l, uint32_t cp, enum weir_lines_sort sort);

/* Nothing on this line matters any more: only its line break must still be fed. */
static inline bool weir_lines_is_settled(const struct weir_lines *l)
{
    return l->at == WEIR_LINES_REST;
}

/* Inside a fenced block, its first and last line included. */
static inline bool weir_lines_is_fenced(const struct weir_lines *l)
{
    return l->fence_char != 0 || l->at == WEIR_LINES_RUN || l->at == WEIR_LINES_INFO;
}

/* Behind the marker of an item, on its line. */
static inline bool weir_lines_is_item(const struct weir_lines *l)
{
    return l->is_item;
}

static inline bool weir_lines_is_start(const struct weir_lines *l)
{
    return l->at == WEIR_LINES_START;
}

#endif
