#ifndef WEIR_WIRE_URL_H
#define WEIR_WIRE_URL_H

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

#endif
