#include "chunk/builtin.h"

#include "base/err.h"
#include "chunk/whole.h"

int weir_chunk_builtin_init(struct weir_chunk_builtin *b, struct weir_slice id,
                            const struct weir_chunk_builtin_options *options)
{
    *b = (struct weir_chunk_builtin){.kind = options->kind};
    switch (options->kind) {
    case WEIR_CHUNK_BUILTIN_SENTENCE:
        return weir_chunk_sentence_init(&b->as.sentence, id, NULL);
    case WEIR_CHUNK_BUILTIN_PARAGRAPH:
        weir_chunk_paragraph_init(&b->as.paragraph, id, 0);
        return 0;
    case WEIR_CHUNK_BUILTIN_WINDOW:
        weir_chunk_window_init(&b->as.window, id, options->size_cp, options->overlap_cp);
        return 0;
    case WEIR_CHUNK_BUILTIN_WHOLE:
        b->as.base = weir_chunk_whole;
        b->as.base.id = id;
        return 0;
    }
    return WEIR_EINVAL;
}

void weir_chunk_builtin_dispose(struct weir_chunk_builtin *b)
{
    if (b->kind == WEIR_CHUNK_BUILTIN_SENTENCE) {
        weir_chunk_sentence_dispose(&b->as.sentence);
    }
    *b = (struct weir_chunk_builtin){0};
}
