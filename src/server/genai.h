#ifndef WEIR_SERVER_GENAI_H
#define WEIR_SERVER_GENAI_H

#include "client/client.h"
#include "http/stream.h"

#include <stdbool.h>

/*
 * What OpenTelemetry's conventions for generative AI count, on /metrics and to a collector. Their
 * names are being changed; the newer ones come instead of the others where they are asked for
 * (OTEL_SEMCONV_STABILITY_OPT_IN).
 *
 *   today                                            newer
 *   gen_ai.client.operation.duration                 gen_ai.client.inference.duration
 *   gen_ai.client.operation.time_to_first_chunk      gen_ai.client.inference.time_to_first_chunk
 *   gen_ai.client.token.usage                        gen_ai.client.inference.usage.input_tokens
 *                                                    gen_ai.client.inference.usage.output_tokens
 *                                                    gen_ai.client.apply_guardrail.duration
 *
 * All but the last are of requests on routes that asked a model server.
 */

/* Once, before any request. */
void weir_genai_declare(bool is_latest);

/* A request that is over. */
void weir_genai_request(const struct weir_http_stream *s, uint64_t now_ms);

/* Does weir_genai_call want to know of calls? */
bool weir_genai_wants_calls(void);

/* A call that is over. */
void weir_genai_call(const struct weir_client_span *call);

/* What a request to a model is by the end of its path: "chat"; NULL: none of these. */
const char *weir_genai_operation(struct weir_slice path);

/* A failure's `error.type`, in `room`: the status, or else ETIMEOUT as "timeout". */
enum { WEIR_GENAI_ERROR_BYTES = 32 };
struct weir_slice weir_genai_error_type(int err, int status, char room[WEIR_GENAI_ERROR_BYTES]);

#endif
