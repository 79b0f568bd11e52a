#ifndef WEIR_CHUNK_WHOLE_H
#define WEIR_CHUNK_WHOLE_H

#include "chunk/registry.h"

/* `whole_doc_chunker`: one chunk, everything, when the text has ended. */
extern const struct weir_chunker weir_chunk_whole;

extern const struct weir_chunk_kind weir_chunk_whole_kind; /* whole_doc, without parameters */

#endif
