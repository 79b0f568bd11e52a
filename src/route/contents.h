#ifndef WEIR_ROUTE_CONTENTS_H
#define WEIR_ROUTE_CONTENTS_H

#include "http/stream.h"

/*
 * POST /api/v1/text/contents: the built-in detectors, served to others in the detector API.
 *
 *   {"contents":["…",…],"detector_params":{…}}  ─►  [[finding,…],…], one list per content
 *
 * The header `detector-id` names a built-in detector of the configuration: then `detector_params`
 * are its parameters. Otherwise every member of `detector_params` names one; its value is that
 * one's parameters, or, where it is not an object, the parameter of the kind's own name:
 * {"regex":["email"],"secrets":{}}. `threshold` may stand beside the names, and drops findings of a
 * lower score; without it all are returned. Errors are {"code","message"}.
 */
void weir_contents_begin(void *env, struct weir_http_stream *s);

#endif
