#ifndef WEIR_WIRE_URL_H
#define WEIR_WIRE_URL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_url_authority {
    struct weir_slice host; /* without brackets, as written */
    bool is_v6;
    bool has_port;
    uint16_t port; /* 0 without has_port */
};

/*
 * An authority, [2001:db8::1]:8080: host[:port], host a name, an IPv4 address or [IPv6]. WEIR_EBAD
 * for an empty host, user information, characters or escapes RFC 3986 forbids there, an IPv6
 * address that is malformed, a port that is empty or above 65535.
 */
int weir_url_parse_authority(struct weir_slice s, struct weir_url_authority *out);

/* An http:// or https:// URL. */
struct weir_url {
    bool is_tls;
    struct weir_slice host;  /* without brackets */
    uint16_t port;           /* the scheme's own where none is written */
    struct weir_slice path;  /* "" or "/x", as written */
    struct weir_slice query; /* "" or "?x", as written */
};

/* WEIR_EBAD where it is none; a fragment and bytes beyond visible ASCII are none, either. */
int weir_url_parse(struct weir_slice url, struct weir_url *out);

/* Appends `s` with everything escaped (%20) that is not a letter, a digit or one of -._~ */
void weir_url_append_escaped(struct weir_buf *out, struct weir_slice s);

/* Undoes the escapes of a path's segment into the arena; false where one is broken. */
bool weir_url_unescape(struct weir_slice s, struct weir_arena *arena, struct weir_slice *out);

#endif
