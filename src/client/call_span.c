/* Reports a call that has ended to the client's watcher, who makes a span of it. The gRPC status
 * at the end of an answer is read here because only a watched call needs it; otherwise its owner
 * reads it. */
#include "client/client_int.h"

#include "wire/grpc.h"

static int grpc_status(const struct weir_call *call, const struct weir_http_field *trailers,
                       size_t n_trailers)
{
    if (call->pool->target.protocol != WEIR_TARGET_H2) {
        return -1;
    }
    struct weir_slice name = WEIR_SLICE("grpc-status");
    struct weir_slice value = weir_http_field_get(trailers, n_trailers, name);
    if (value.p == NULL) {
        value = weir_http_field_get(call->fields, call->n_fields, name);
    }
    return value.p != NULL ? (int)weir_grpc_parse_status(value) : -1;
}

void weir_call__tell_span(const struct weir_call *call, const struct weir_http_field *trailers,
                          size_t n_trailers)
{
    const struct weir_client *client = call->client;
    if (client->on_span == NULL) {
        return;
    }
    const struct weir_call_context *context = call->request.context;
    struct weir_client_span span = {
        .target = &call->pool->target,
        .trace = &call->trace,
        .parent_id = call->parent_id,
        .method = call->request.method,
        .path = call->wire.path,
        .model = context != NULL ? context->model : (struct weir_slice){0},
        .started_ns = call->started_ns,
        .err = call->err,
        .why = call->why,
        .status = call->has_head ? call->status : 0,
        .grpc_status = grpc_status(call, trailers, n_trailers),
        .n_retries = call->n_retries,
    };
    client->on_span(client->span_ctx, &span);
}
