#ifndef WEIR_WIRE_URL_H
#define WEIR_WIRE_URL_H

#include "base/arena.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Request targets and authorities.
 *
 *   /v1/files?purpose=a%20b&limit=3           path ? key = value & key = value
 *   [2001:db8::1]:8080                        host : port
 *
 * Paths are not normalised: one with dot segments or doubled slashes is simply a path nobody
 * serves. What is split off stays as it was written; decoding is a step of its own.
 */
struct weir_url_target {
    struct weir_slice path;
    struct weir_slice query; /* without the '?'; empty when there is none */
};

void weir_url_split(struct weir_slice target, struct weir_url_target *out);

struct weir_url_param {
    struct weir_slice key; /* both undecoded */
    struct weir_slice value;
    bool has_value; /* an '=' was there */
};

/* The next parameter of `*query`, which moves on behind it; empty ones ("a=1&&b") are skipped.
 * False when none is left. */
bool weir_url_next_param(struct weir_slice *query, struct weir_url_param *out);

/*
 * The first parameter called `name`, decoded: 0, WEIR_ENOTFOUND, or WEIR_EBAD when it (or a key
 * before it) is badly escaped.
 */
int weir_url_get_param(struct weir_arena *a, struct weir_slice query, struct weir_slice name,
                       struct weir_slice *value);

/*
 * Undoes %XX; in a query (decode_form) '+' is a space too. WEIR_EBAD for a '%' without two hex
 * digits and for %00. A text without anything to decode is returned as it is, not copied: the
 * result lives as long as both `s` and the arena.
 */
int weir_url_decode(struct weir_arena *a, struct weir_slice s, struct weir_slice *out);
int weir_url_decode_form(struct weir_arena *a, struct weir_slice s, struct weir_slice *out);

struct weir_url_authority {
    struct weir_slice host; /* without brackets, as written */
    bool is_v6;
    bool has_port;
    uint16_t port; /* 0 without has_port */
};

/*
 * host[:port], host a name, an IPv4 address or [IPv6]. WEIR_EBAD for an empty host, user
 * information, characters or escapes RFC 3986 forbids there, an IPv6 address that is none, a port
 * that is empty or above 65535.
 */
int weir_url_parse_authority(struct weir_slice s, struct weir_url_authority *out);

#endif
