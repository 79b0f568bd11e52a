#ifndef WEIR_SERVER_EXPORT_WHERE_H
#define WEIR_SERVER_EXPORT_WHERE_H

#include "base/arena.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Where a collector is: a URL in pieces, which borrow from it.
 *
 *   https://collector:4318/otlp?key=x
 */
struct weir_export_where {
    bool is_tls;
    struct weir_slice host; /* IPv6 without brackets */
    uint16_t port;          /* the scheme's own when the URL has none */
    struct weir_slice path; /* "" or "/otlp" */
    struct weir_slice rest; /* "" or "?key=x" */
};

/* 0, or WEIR_EBAD: another scheme, a malformed host or port, user information, a fragment,
 * characters that no URL has. */
int weir_export_where_parse(struct weir_slice url, struct weir_export_where *out);

/*
 * The path that a signal is posted to over HTTP, as the OpenTelemetry specification has it. A URL
 * that was given for this signal alone (`is_own`) is used as it is; behind any other URL `signal`
 * ("/v1/traces") is appended.
 */
struct weir_slice weir_export_where_path(struct weir_arena *a, const struct weir_export_where *w,
                                         bool is_own, const char *signal);

#endif
