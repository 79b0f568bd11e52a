#ifndef WEIR_ROUTE_MODELS_H
#define WEIR_ROUTE_MODELS_H

#include "base/slice.h"
#include "http/stream.h"
#include "model/model.h"

#include <stdbool.h>

/*
 * The models of a route: GET /v1/models and /v1/models/{id}, and whether a request may ask for one.
 */
void weir_models_begin_list(void *env, struct weir_http_stream *s);
void weir_models_begin_one(void *env, struct weir_http_stream *s);

/* May this route's callers use the model for `op`? False: answered with a 404 that says what there
 * is. */
bool weir_models_may_use(struct weir_http_stream *s, enum weir_model_op op,
                         struct weir_slice model);

#endif
