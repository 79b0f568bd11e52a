#ifndef WEIR_CHUNK_BUILTIN_H
#define WEIR_CHUNK_BUILTIN_H

#include "chunk/paragraph.h"
#include "chunk/sentence.h"
#include "chunk/window.h"

/*
 * Any built-in chunker, by kind: what `chunkers: {NAME: {builtin: KIND}}` of the configuration
 * means. One struct for all, so that a table of them is an array.
 */
enum weir_chunk_builtin_kind {
    WEIR_CHUNK_BUILTIN_SENTENCE,
    WEIR_CHUNK_BUILTIN_PARAGRAPH,
    WEIR_CHUNK_BUILTIN_WINDOW,
    WEIR_CHUNK_BUILTIN_WHOLE,
};

struct weir_chunk_builtin_options {
    enum weir_chunk_builtin_kind kind;
    size_t size_cp;    /* window only */
    size_t overlap_cp; /* window only, less than size_cp */
};

struct weir_chunk_builtin {
    enum weir_chunk_builtin_kind kind;
    union {
        struct weir_chunker base; /* the first member of each */
        struct weir_chunk_sentence sentence;
        struct weir_chunk_paragraph paragraph;
        struct weir_chunk_window window;
    } as;
};

/* `id` is borrowed. 0 or WEIR_EUNSUPPORTED (sentence: ICU's data is not there). */
int weir_chunk_builtin_init(struct weir_chunk_builtin *b, struct weir_slice id,
                            const struct weir_chunk_builtin_options *options);

/* Safe after a failed init. All streams must be closed. */
void weir_chunk_builtin_dispose(struct weir_chunk_builtin *b);

#endif
