#ifndef WEIR_ROUTE_AUDIT_NOTE_H
#define WEIR_ROUTE_AUDIT_NOTE_H

#include "http/stream.h"
#include "route/env.h"
#include "task/shadow.h"

/*
 * What the audit log (obs/audit.h) keeps of a request on a route: one line per side that was
 * decided, when the request is over; never text.
 */

/* From now on findings are noted, where there is an audit log. */
void weir_audit_note_begin(struct weir_request *r);

/* The request is over. */
void weir_audit_note_end(const struct weir_http_stream *s);

/* The request is over: what its shadow finds from now on is a line of its own, `action` shadow. */
void weir_audit_note_watch(const struct weir_http_stream *s, struct weir_shadow *shadow);

#endif
