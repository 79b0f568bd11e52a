#ifndef WEIR_HTTP_H2_SESSION_H
#define WEIR_HTTP_H2_SESSION_H

#include "base/slice.h"

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What both roles of HTTP/2 share: how far a peer is trusted, and a field as nghttp2 wants it.
 */
enum {
    WEIR_H2__SOCK_BYTES = 64 * 1024,      /* frames made ahead of the socket */
    WEIR_H2__CONN_WINDOW_BYTES = 1 << 20, /* body bytes under way on one connection */
    WEIR_H2__MAX_QUEUED_FRAMES = 10000,   /* refusals, acknowledgements, window updates not sent */
};

/* Counts frames that cost their sender nothing and us something. All-zero is valid. */
struct weir_h2_calm {
    uint64_t since_ms;
    unsigned points;
};

/* Is this one too many? Then the connection should end. */
bool weir_h2__is_flood(struct weir_h2_calm *calm, const nghttp2_frame *frame, uint64_t now_ms);

/* Options for a new session, to be deleted by the caller. Windows are given back by hand. The
 * serving side remembers closed streams, as many as may be open: frames on them are errors. */
nghttp2_option *weir_h2__options(void);
nghttp2_session_callbacks *weir_h2__callbacks(void); /* empty */
nghttp2_mem *weir_h2__memory(void);                  /* of every session */

static inline nghttp2_nv weir_h2__nv(struct weir_slice name, struct weir_slice value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name.p,
                        .value = (uint8_t *)(uintptr_t)value.p,
                        .namelen = name.n,
                        .valuelen = value.n};
}

#endif
