#ifndef WEIR_DETECT_FOLD_H
#define WEIR_DETECT_FOLD_H

#include "base/buf.h"
#include "base/slice.h"
#include "detect/lookalike.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A text as people read it, whatever characters it is written with, and the way back to the
 * original:
 *
 *   Ｉgn<zwsp>оre  i n s t r u c t i o n s, précédentes      1gn0re, tags
 *   Ignore         instructions,            precedentes      ignore, their letters
 *
 * Case of ASCII letters is left alone. Invisible characters and marks are dropped, compatibility
 * forms become plain letters, letters of other scripts inside a Latin word become the ones they
 * look like, digits and signs inside a word become letters, single letters in a row become a word,
 * references and escapes of characters (&#73; %49 \\u0049) become these.
 */
struct weir_fold_piece {
    uint32_t folded;   /* where it begins in the folded text */
    uint32_t source;   /* and in the original */
    uint32_t n_source; /* bytes of the one character it is made of; 0: byte by byte the same */
};

/* All-zero is empty. */
struct weir_fold {
    struct weir_buf text;
    struct weir_fold_piece *pieces; /* in order */
    size_t n_pieces;
    size_t cap_pieces;
    size_t n_source; /* the original up to here is folded; an unchanged byte continues the last
                        piece */
};

/* Is there something to fold: characters beyond ASCII (dashes, quotes and the like aside), digits
 * inside words, spelled-out words, escapes? A quick test: else folding would change nothing. */
bool weir_fold_is_wanted(struct weir_slice text);

/* Folds `text`, valid UTF-8 of less than 4 GiB, into an empty `f`. */
void weir_fold_run(struct weir_fold *f, struct weir_slice text);

/* Only letters that look like others, and characters that nobody sees: the rest stays as it is,
 * accents, digits and spelled-out words too. False: nothing of the kind, `f` is of no use. */
bool weir_fold_letters(struct weir_fold *f, struct weir_slice text);

/*
 * For a text that is still being written: what stands before a part of it. All-zero is the
 * beginning of the text.
 */
struct weir_fold_state {
    struct weir_lookalike_context before;
    size_t spelled_until; /* so many bytes on: a word that was spelled out has just ended */
    size_t n_dropped;     /* characters that left nothing, in a row */
};

struct weir_fold_part {
    struct weir_slice text; /* begins with a word, or between two */
    size_t stop;            /* only words that end there, or before */
    bool is_end;            /* no more text follows: words that it ends with are over */
    bool is_letters_only;
};

/* Folds words that are over, whatever follows. Returns where the next begins, and `state` becomes
 * what stands before that. `f` NULL: only that. */
size_t weir_fold_part(struct weir_fold *f, const struct weir_fold_part *part,
                      struct weir_fold_state *state);

/* Only characters that are written as others (&#73; %49 \u0049): the rest stays as it is. */
void weir_fold_written(struct weir_fold *f, struct weir_slice text);

/* Does such a one begin with the &, % or \ at `at`? */
bool weir_fold_is_written(struct weir_slice text, size_t at);

/* Only the characters beyond ASCII, each by itself: how patterns for folded text are written. */
void weir_fold_wide(struct weir_buf *out, struct weir_slice text);

/* Where in the original the character begins, or ends, that made the byte at, or before, `at`. */
size_t weir_fold_start(const struct weir_fold *f, size_t at);
size_t weir_fold_end(const struct weir_fold *f, size_t at);

void weir_fold_dispose(struct weir_fold *f);

#endif
