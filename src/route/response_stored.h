#ifndef WEIR_ROUTE_RESPONSE_STORED_H
#define WEIR_ROUTE_RESPONSE_STORED_H

#include "http/stream.h"

/*
 * What a model server keeps of OpenAI's Responses, below a route:
 *
 *   GET, DELETE /v1/responses/ID      POST …/ID/cancel      GET …/ID/input_items
 *
 * Where the route enforces, an id is one that this route has handed out to this key, with its tag
 * (talk/response_id.h), which also says which provider has it; any other is 404. Elsewhere it is
 * the server's own.
 */
void weir_response_stored_begin(void *env, struct weir_http_stream *s);
void weir_response_stored_begin_cancel(void *env, struct weir_http_stream *s);
void weir_response_stored_begin_input(void *env, struct weir_http_stream *s);

#endif
