#ifndef WEIR_ROUTE_VECTORS_H
#define WEIR_ROUTE_VECTORS_H

#include "http/stream.h"

/*
 * POST /v1/embeddings, /v1/rerank and /v1/score behind a route. Input detectors look at every
 * string of the request but for the names and words that only steer it; the answer is passed on.
 */
void weir_vectors_begin_embeddings(void *env, struct weir_http_stream *s);
void weir_vectors_begin_rerank(void *env, struct weir_http_stream *s);
void weir_vectors_begin_score(void *env, struct weir_http_stream *s);

/*
 * POST /v1/messages/count_tokens and /v1/responses/input_tokens: how many tokens a question of
 * Messages or Responses has. It is looked at and changed as the question itself would be, and a
 * blocked one is an error, since there is no answer to put words in.
 */
void weir_vectors_begin_count_tokens(void *env, struct weir_http_stream *s);
void weir_vectors_begin_input_tokens(void *env, struct weir_http_stream *s);

#endif
