#ifndef WEIR_ROUTE_RESPONSE_H
#define WEIR_ROUTE_RESPONSE_H

#include "http/stream.h"
#include "route/env.h"
#include "talk/response_id.h"

/* POST {route}/v1/responses: OpenAI's Responses on a route. */
void weir_response_begin(void *env, struct weir_http_stream *s);

/* Under which ids of responses leave and come back, for this route and caller. Without a secret
 * (`id_key_env`), or where the route only annotates, they are the model server's own. */
struct weir_response_id weir_response_ids(const struct weir_request *request);

#endif
