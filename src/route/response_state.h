#ifndef WEIR_ROUTE_RESPONSE_STATE_H
#define WEIR_ROUTE_RESPONSE_STATE_H

#include "http/stream.h"
#include "task/completion.h"
#include "wire/json.h"

#include <stdbool.h>

/*
 * What a question of OpenAI's Responses leaves with the model server, or goes on from. Where the
 * route blocks or redacts nothing may be left there that another route, or nobody's, could fetch,
 * nor may an answer go on from what was said elsewhere: so ids have a tag (talk/response_id.h), and
 * without a key for it nothing is kept.
 */

/* False: the question wants what cannot be had; answered. */
bool weir_response_state_check(struct weir_http_stream *s, const struct weir_json *json);

/* Sets what the model server must be asked otherwise than the caller asks: `stores_nothing`,
 * `previous` and `provider`. The question has been checked. */
void weir_response_state_bind(struct weir_http_stream *s, const struct weir_json *json,
                              struct weir_task_completion *request);

#endif
