#ifndef WEIR_MOCK_PROVIDER_H
#define WEIR_MOCK_PROVIDER_H

#include "http/stream.h"

#include <stdbool.h>

/*
 * Model servers as their vendors run them: keys that must be right, Azure's deployments with its
 * filters, and what answers with vectors. Below /providers/NAME everything is served again, so that
 * one mock plays many; NAME stands in `system_fingerprint`.
 */

/* Takes /providers/NAME off the path. */
void weir_mock_provider_enter(struct weir_http_stream *s);

/* Has the request the key that the setting `api_key` wants? False: answered. */
bool weir_mock_provider_knows(struct weir_http_stream *s);

/* /openai/deployments/NAME/…?api-version=… */
void weir_mock_provider_begin_deployment(void *env, struct weir_http_stream *s);

/* Is the question one that Azure's filter refuses (the setting `blocked`)? True: answered. */
bool weir_mock_provider_blocks(struct weir_http_stream *s, struct weir_slice text);

void weir_mock_provider_begin_embeddings(void *env, struct weir_http_stream *s);
void weir_mock_provider_begin_rerank(void *env, struct weir_http_stream *s);
void weir_mock_provider_begin_score(void *env, struct weir_http_stream *s);

#endif
