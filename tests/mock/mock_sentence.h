#ifndef WEIR_MOCK_SENTENCE_H
#define WEIR_MOCK_SENTENCE_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A simple sentence splitter for text that comes in pieces. A sentence ends behind `.`, `!` or `?`
 * (closing quotes and brackets included) when white space follows, or at the end. White space
 * between sentences belongs to none of them. Each byte is looked at once.
 */
struct weir_mock_sentence {
    struct weir_slice text;
    size_t start_cp;
    size_t end_cp;
};

struct weir_mock_splitter {
    struct weir_buf held; /* text whose sentences have not been given */
    size_t at;            /* in `held`: up to where it was looked at */
    size_t at_cp;         /* the same in the whole text */
    size_t start;         /* of the sentence under way */
    size_t start_cp;
    bool in_sentence;
    bool after_stop; /* the last bytes could be its end */
};

void weir_mock_splitter_init(struct weir_mock_splitter *sp, size_t max_bytes);
void weir_mock_splitter_dispose(struct weir_mock_splitter *sp);

/* More text, valid UTF-8. 0, or WEIR_ELIMIT when an unfinished sentence is too long. */
int weir_mock_splitter_add(struct weir_mock_splitter *sp, struct weir_slice text);

/*
 * The next sentence whose end is certain; with `is_end` the rest is one as well. False: none yet.
 * The text lives until the next add.
 */
bool weir_mock_splitter_next(struct weir_mock_splitter *sp, bool is_end,
                             struct weir_mock_sentence *out);

#endif
