#ifndef WEIR_TESTS_FUZZ_H2_FRAMES_H
#define WEIR_TESTS_FUZZ_H2_FRAMES_H

/*
 * What the targets of both roles of HTTP/2 have in common: an input is read byte by byte, and
 * frames are put together by hand and sent on a socket.
 */
#include "base/slice.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

enum {
    H2_FRAME_KINDS = 10, /* steps below it are frames of that type */
    H2_FRAME_HEAD = 9,
    H2_DATA_FRAME = 0,
    H2_HEADERS_FRAME = 1,
    H2_SETTINGS_FRAME = 4,
    H2_END_STREAM = 1,
    H2_END_HEADERS = 4,
};

/* ---- the input ---- */

static inline uint8_t next_byte(struct weir_slice *rest)
{
    uint8_t c = rest->n != 0 ? (uint8_t)rest->p[0] : 0;
    *rest = weir_slice_sub(*rest, rest->n != 0, rest->n);
    return c;
}

static inline struct weir_slice next_bytes(struct weir_slice *rest, size_t n)
{
    struct weir_slice taken = weir_slice_sub(*rest, 0, n < rest->n ? n : rest->n);
    *rest = weir_slice_sub(*rest, taken.n, rest->n);
    return taken;
}

/* ---- the socket ---- */

/* False: it takes nothing now, or never again. */
static inline bool h2_say(int fd, const void *p, size_t n)
{
    return n == 0 || fd < 0 || send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

static inline bool h2_say_frame(int fd, uint8_t type, uint8_t flags, uint32_t stream,
                                struct weir_slice payload)
{
    uint8_t head[H2_FRAME_HEAD] = {0, (uint8_t)(payload.n >> 8), (uint8_t)payload.n, type, flags, 0,
                                   0, (uint8_t)(stream >> 8),    (uint8_t)stream};
    return h2_say(fd, head, sizeof head) && h2_say(fd, payload.p, payload.n);
}

/* A frame as the input has it: flags, stream, length, payload. */
static inline bool h2_say_any(int fd, uint8_t type, struct weir_slice *rest)
{
    uint8_t flags = next_byte(rest);
    uint32_t stream = next_byte(rest);
    return h2_say_frame(fd, type, flags, stream, next_bytes(rest, next_byte(rest)));
}

#endif
