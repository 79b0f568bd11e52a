#ifndef WEIR_ROUTE_MODELS_H
#define WEIR_ROUTE_MODELS_H

#include "base/slice.h"
#include "http/stream.h"
#include "model/model.h"
#include "wire/json.h"

#include <stdbool.h>

/*
 * The models of a route: GET /v1/models and /v1/models/{id}, and whether a request may ask for one.
 */
void weir_models_begin_list(void *env, struct weir_http_stream *s);
void weir_models_begin_one(void *env, struct weir_http_stream *s);

/* False: answered with a 400. The body might name another model to the model server than the one
 * that is seen here, which decides what the route serves and which detectors look. */
bool weir_models_are_seen(struct weir_http_stream *s, const struct weir_json *body);

/* May this route's callers use the model for `op`? False: answered, with a 404 that says what there
 * is, or a 400 as above. `body` NULL: there is none. */
bool weir_models_may_use(struct weir_http_stream *s, enum weir_model_op op,
                         const struct weir_json *body, struct weir_slice model);

#endif
