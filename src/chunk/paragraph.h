#ifndef WEIR_CHUNK_PARAGRAPH_H
#define WEIR_CHUNK_PARAGRAPH_H

#include "chunk/registry.h"

/*
 * Paragraphs: what blank lines separate, and U+2029. A line is blank when it has nothing but white
 * space; LF, CR, CRLF, U+0085 and U+2028 end lines. Blank lines inside a fenced block
 * (chunk/lines.h) separate nothing.
 *
 * Chunks lie side by side and cover the text; the blank lines and the next paragraph's indentation
 * belong to the paragraph before, white space at the very beginning to the first. A paragraph is
 * out with the first code point of the next one. An open chunk does not outgrow 4 KiB: it is ended
 * at its last blank line, else line, else white space, else where it is.
 *
 * Text is valid UTF-8, whole code points. A stream keeps no text; a push costs its length.
 */
struct weir_chunk_paragraph {
    struct weir_chunker base;
    size_t max_bytes;
};

/* `id` is borrowed. `max_bytes` of a chunk, 0: 4 KiB; at least 16. */
void weir_chunk_paragraph_init(struct weir_chunk_paragraph *c, struct weir_slice id,
                               size_t max_bytes);

extern const struct weir_chunk_kind weir_chunk_paragraph_kind; /* paragraph {max_bytes: 4096} */

#endif
