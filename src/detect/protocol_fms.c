/* The detector API of the FMS orchestrator: detect/request.h and detect/answer.h. */
#include "detect/protocol.h"
#include "detect/request.h"

static struct weir_slice path(const struct weir_protocol_ask *ask)
{
    return weir_detect_request_path(ask->input->type);
}

static void write(const struct weir_protocol_ask *ask, struct weir_buf *out)
{
    weir_detect_request_write(ask->input, out);
}

static size_t fields(const struct weir_protocol_ask *ask, struct weir_http_field *fields)
{
    fields[0] = (struct weir_http_field){WEIR_SLICE("detector-id"), ask->id};
    fields[1] = (struct weir_http_field){WEIR_SLICE("x-model-name"), ask->id};
    return 2;
}

static int read(struct weir_detect_answer *out, struct weir_slice body,
                const struct weir_protocol_ask *ask)
{
    return weir_detect_answer_read(out, body, ask->input, ask->id, ask->arena);
}

const struct weir_protocol weir_protocol_fms = {
    .name = "fms",
    .types = 1u << WEIR_DETECT_CONTENTS | 1u << WEIR_DETECT_CHAT | 1u << WEIR_DETECT_CONTEXT_DOC |
             1u << WEIR_DETECT_GENERATION,
    .path = path,
    .write = write,
    .fields = fields,
    .read = read,
    .error = weir_detect_answer_error,
};
