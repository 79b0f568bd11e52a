#ifndef WEIR_ROUTE_AUDIT_NOTE_H
#define WEIR_ROUTE_AUDIT_NOTE_H

#include "http/stream.h"
#include "route/env.h"

/*
 * What the audit log (obs/audit.h) keeps of a request on a route: one line per side that was
 * decided, when the request is over; never text.
 */

/* From now on findings are noted, where there is an audit log. */
void weir_audit_note_begin(struct weir_request *r);

/* The request is over. */
void weir_audit_note_end(const struct weir_http_stream *s);

#endif
