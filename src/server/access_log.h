#ifndef WEIR_SERVER_ACCESS_LOG_H
#define WEIR_SERVER_ACCESS_LOG_H

#include "http/stream.h"

#include <stdint.h>

/*
 * The one log line of a request, written when it is over. It answers who asked what, what became of
 * it and what was found; it never has text of the question or the answer.
 */
void weir_access_log_write(const struct weir_http_stream *s, uint64_t now_ms);

#endif
