#ifndef WEIR_MOCK_OPENAI_H
#define WEIR_MOCK_OPENAI_H

#include "http/stream.h"

/*
 * The model server: chat completions, completions, Messages and Responses, unary and streamed, the
 * list of models, and the tokenizer. Settings are the member `mock` of the request.
 */
void weir_mock_openai_begin_chat(void *env, struct weir_http_stream *s);
void weir_mock_openai_begin_message(void *env, struct weir_http_stream *s); /* Anthropic's */
void weir_mock_openai_begin_response(void *env, struct weir_http_stream *s);
void weir_mock_openai_begin_count_tokens(void *env, struct weir_http_stream *s);
void weir_mock_openai_begin_input_tokens(void *env, struct weir_http_stream *s);
void weir_mock_openai_begin_completion(void *env, struct weir_http_stream *s);
void weir_mock_openai_begin_models(void *env, struct weir_http_stream *s);
void weir_mock_openai_begin_tokenize(void *env, struct weir_http_stream *s);

#endif
