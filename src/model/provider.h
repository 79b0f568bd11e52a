#ifndef WEIR_MODEL_PROVIDER_H
#define WEIR_MODEL_PROVIDER_H

#include "base/arena.h"
#include "base/slice.h"
#include "client/target.h"
#include "http/msg.h"
#include "model/model.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct weir_listing;

/*
 * A model server by name: how it is asked for each operation, with which key. Made by the server
 * from the configuration, then const but for its counts, shared by all workers.
 *
 *               path                                              key
 *   usual       /v1/chat/completions …                            the target's
 *   openai      /chat/completions …                               authorization: Bearer
 *   azure       /openai/deployments/NAME/chat/completions?…       api-key
 *               /openai/v1/chat/completions with api_version v1
 *   anthropic   /v1/messages                                      x-api-key, anthropic-version
 *
 * Another dialect is one more operation and one more row in the table of provider.c.
 */
enum weir_provider_kind {
    WEIR_PROVIDER_USUAL, /* `openai:` of the configuration, named `default`: as it always was */
    WEIR_PROVIDER_OPENAI,
    WEIR_PROVIDER_AZURE,
    WEIR_PROVIDER_ANTHROPIC,
};

struct weir_provider {
    struct weir_slice name;
    enum weir_provider_kind kind;
    uint32_t ops; /* what it serves: bits 1 << enum weir_model_op */
    const struct weir_model *model;
    struct weir_slice base_path;          /* of the base URL: "" or "/v1" */
    struct weir_slice api_key;            /* secret; or "" */
    struct weir_slice api_version;        /* azure */
    const struct weir_http_field *fields; /* constants of every request, lower case */
    size_t n_fields;
    struct weir_slice query;      /* likewise: "a=b&c=d", or "" */
    bool passes_caller_key;       /* instead of api_key: the caller's own */
    uint64_t patience_ms;         /* for the first event, where somebody else can be asked */
    atomic_uint *n_running;       /* requests of the whole process */
    struct weir_listing *listing; /* its models; NULL: they are not asked for (Azure lists what it
                                     has, not what is deployed) */
};

/* Does it serve the operation? */
static inline bool weir_provider_serves(const struct weir_provider *p, enum weir_model_op op)
{
    return (p->ops & (UINT32_C(1) << op)) != 0;
}

/* How `p` is asked for `op` of the model it knows as `model`. What is made for it lives in the
 * arena. `context` may be NULL: nobody's request. */
struct weir_model_way weir_provider_way(const struct weir_provider *p, enum weir_model_op op,
                                        struct weir_slice model,
                                        const struct weir_call_context *context,
                                        struct weir_arena *arena);

/* "chat completions", "embeddings", … for messages. */
const char *weir_provider_op_name(enum weir_model_op op);

/* Whose API it speaks, by OpenTelemetry's names: openai, azure.ai.openai, anthropic. */
const char *weir_provider_system(const struct weir_provider *p);

#endif
