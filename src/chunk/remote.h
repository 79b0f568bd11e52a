#ifndef WEIR_CHUNK_REMOTE_H
#define WEIR_CHUNK_REMOTE_H

#include "chunk/chunk.h"
#include "client/target.h"

/* A chunker behind caikit's gRPC chunker service: unary where the text is whole, otherwise one
 * bidirectional stream. */
struct weir_chunk_remote {
    struct weir_chunker base;
    const struct weir_target *target;
    bool no_passthrough; /* compat fms: the caller's headers are not sent to chunkers */
};

/* `id` and `target` are borrowed. */
void weir_chunk_remote_init(struct weir_chunk_remote *r, struct weir_slice id,
                            const struct weir_target *target);

#endif
