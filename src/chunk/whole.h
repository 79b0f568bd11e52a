#ifndef WEIR_CHUNK_WHOLE_H
#define WEIR_CHUNK_WHOLE_H

#include "chunk/chunk.h"

/* `whole_doc_chunker`: one chunk, everything, when the text has ended. */
extern const struct weir_chunker weir_chunk_whole;

#endif
