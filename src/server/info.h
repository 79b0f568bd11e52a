#ifndef WEIR_SERVER_INFO_H
#define WEIR_SERVER_INFO_H

#include "http/stream.h"
#include "server/admin.h"

/*
 * GET /info: {"services":{"<id>":{"status","code"?,"reason"?}},"revision"}. The latest known
 * states; with ?probe=true, and always with `compat: fms`, the services are asked first and the
 * answer comes when all of them have answered or their time is up.
 */
void weir_info_begin(struct weir_admin *a, struct weir_http_stream *s);

#endif
