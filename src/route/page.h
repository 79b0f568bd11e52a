#ifndef WEIR_ROUTE_PAGE_H
#define WEIR_ROUTE_PAGE_H

#include "http/stream.h"

#include <stdbool.h>

/*
 * The playground: one page at `/`, and what it must know of the configuration. Both exist only
 * where `playground` is on. The page holds nothing that needs a key, so callers' keys are not asked
 * for there; its own requests go the way of all others.
 */
bool weir_page_exists(const void *env);
bool weir_page_is_open(const void *env, const struct weir_http_request *req); /* needs no key */
void weir_page_begin(void *env, struct weir_http_stream *s);

/*
 * {"version":"0.1.0","model":"demo"|"service"|null,"public_api":true,
 *  "routes":[{"name":"default","base":"/v1","policy":"annotate","input":["pii"],"output":["pii"],
 *             "redact_with":"[{detection}]"}],
 *  "detectors":[{"id":"pii","type":"text_contents","builtin":true}]}
 */
void weir_page_begin_info(void *env, struct weir_http_stream *s);

#endif
