#ifndef WEIR_MODEL_GRPC_H
#define WEIR_MODEL_GRPC_H

#include "base/arena.h"
#include "client/target.h"
#include "model/model.h"

#include <protobuf-c/protobuf-c.h>

/*
 * Models behind gRPC: what TGIS and caikit-nlp have in common. Each is a dialect: how a request is
 * said and what an answer means; the run itself is the same.
 */
struct weir_model_dialect {
    const char *generate_path; /* unary */
    const char *stream_path;
    const char *tokenize_path;
    bool has_model_header; /* metadata mm-model-id */

    /* The request as a message of the arena; what it points to may be the request's. */
    const ProtobufCMessage *(*pack)(const struct weir_model_request *request,
                                    struct weir_arena *arena);
    /* An answer as a frame whose parts are the arena's: 0, or WEIR_EPEER. */
    int (*read)(const struct weir_model_request *request, struct weir_slice bytes,
                struct weir_arena *arena, struct weir_model_frame *frame);
};

struct weir_model_grpc {
    struct weir_model base;
    const struct weir_target *target;
    const struct weir_model_dialect *dialect;
};

/* Used by tgis.c and nlp.c. */
void weir_model_grpc_init(struct weir_model_grpc *m, const struct weir_target *target,
                          const struct weir_model_dialect *dialect);

#endif
