#ifndef WEIR_ROUTE_MESSAGE_H
#define WEIR_ROUTE_MESSAGE_H

#include "http/stream.h"

/* POST {route}/v1/messages: Anthropic's Messages on a route. */
void weir_message_begin(void *env, struct weir_http_stream *s);

#endif
