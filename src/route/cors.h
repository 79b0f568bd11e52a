#ifndef WEIR_ROUTE_CORS_H
#define WEIR_ROUTE_CORS_H

#include "http/stream.h"

/*
 * Scripts of other pages (`cors: {origins: […]}`, off by default). A request whose Origin is listed
 * gets `access-control-allow-origin` on whatever answer it will have; the question that browsers
 * ask before such a request (a preflight) is answered here, without a key: it never carries one.
 */

/* True: it was a preflight, and is answered. */
bool weir_cors_begin(struct weir_http_stream *s);

#endif
