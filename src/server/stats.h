#ifndef WEIR_SERVER_STATS_H
#define WEIR_SERVER_STATS_H

#include "http/stream.h"

#include <stdint.h>

/* What the server counts about itself, beside the process metrics. */
enum weir_stats_listener { WEIR_STATS_API, WEIR_STATS_HEALTH };

/* Before the first worker starts. */
void weir_stats_declare(void);

void weir_stats_request(enum weir_stats_listener listener, const struct weir_http_stream *s,
                        uint64_t now_ms);
void weir_stats_connection(enum weir_stats_listener listener, int change);
void weir_stats_rejected(enum weir_stats_listener listener);
void weir_stats_reload(bool ok);
void weir_stats_revision(const char *revision); /* in use from now on; main thread only */

#endif
