#ifndef WEIR_ROUTE_SHADOW_NOTE_H
#define WEIR_ROUTE_SHADOW_NOTE_H

#include "http/stream.h"
#include "task/asked.h"

/* The request is watched by its route's detectors in shadow mode (task/shadow.h): they are given
 * what it asks, what it is answered, and look when it is over. */
void weir_shadow_note_begin(struct weir_http_stream *s, const struct weir_asked *asked);

#endif
