#ifndef WEIR_WIRE_GRPC_H
#define WEIR_WIRE_GRPC_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What gRPC puts on top of HTTP/2. Reading: body bytes in, cut anyhow, one message out per call.
 *
 *   flag │ length, 4 bytes, big-endian │ message          again and again until the body ends
 *
 * Compressed messages (flag 1) are refused: we never announce that we would read them. A message
 * that lies whole in the slice that was fed is not copied, and memory for one in pieces grows with
 * what has come, not with what was announced.
 */
enum { WEIR_GRPC_PREFIX_BYTES = 5 };

struct weir_grpc_reader {
    size_t max_message_bytes;  /* without the prefix */
    struct weir_slice message; /* the last one, possibly empty; lives until the next call */

    /* The rest is the reader's own. */
    struct weir_buf held; /* a message that came in pieces */
    unsigned char prefix[WEIR_GRPC_PREFIX_BYTES];
    unsigned char n_prefix; /* bytes of it seen */
    bool has_message_out;
    int bad; /* an error is final */
};

void weir_grpc_init(struct weir_grpc_reader *r, size_t max_message_bytes);
void weir_grpc_dispose(struct weir_grpc_reader *r);

/*
 * Reads on. 0: `r->message` is the next message; WEIR_EAGAIN: all used up, feed more; WEIR_ELIMIT:
 * a message is larger than allowed; WEIR_EUNSUPPORTED: it is compressed; WEIR_EBAD: the flag is
 * neither. After these three errors the reader cannot be used any more. `*used` is always set;
 * bytes behind it belong to the next call.
 */
int weir_grpc_feed(struct weir_grpc_reader *r, struct weir_slice in, size_t *used);

/* End of input. 0: nothing is pending; WEIR_EBAD: it ended within a message; or the error before.
 */
int weir_grpc_finish(struct weir_grpc_reader *r);

/* The prefix of an uncompressed message of `n_bytes`. */
void weir_grpc_put_prefix(char out[WEIR_GRPC_PREFIX_BYTES], uint32_t n_bytes);

/* Statuses: code, value, name, and what they are in HTTP for a caller of ours. */
#define WEIR_GRPC_STATUS_MAP(X)                                                                    \
    X(OK, 0, "OK", 200)                                                                            \
    X(CANCELLED, 1, "Cancelled", 500)                                                              \
    X(UNKNOWN, 2, "Unknown", 500)                                                                  \
    X(INVALID_ARGUMENT, 3, "InvalidArgument", 400)                                                 \
    X(DEADLINE_EXCEEDED, 4, "DeadlineExceeded", 408)                                               \
    X(NOT_FOUND, 5, "NotFound", 404)                                                               \
    X(ALREADY_EXISTS, 6, "AlreadyExists", 500)                                                     \
    X(PERMISSION_DENIED, 7, "PermissionDenied", 403)                                               \
    X(RESOURCE_EXHAUSTED, 8, "ResourceExhausted", 500)                                             \
    X(FAILED_PRECONDITION, 9, "FailedPrecondition", 500)                                           \
    X(ABORTED, 10, "Aborted", 500)                                                                 \
    X(OUT_OF_RANGE, 11, "OutOfRange", 500)                                                         \
    X(UNIMPLEMENTED, 12, "Unimplemented", 501)                                                     \
    X(INTERNAL, 13, "Internal", 500)                                                               \
    X(UNAVAILABLE, 14, "Unavailable", 503)                                                         \
    X(DATA_LOSS, 15, "DataLoss", 500)                                                              \
    X(UNAUTHENTICATED, 16, "Unauthenticated", 401)

enum weir_grpc_status {
#define WEIR_GRPC_STATUS_ENUM(code, value, name, http) WEIR_GRPC_##code = (value),
    WEIR_GRPC_STATUS_MAP(WEIR_GRPC_STATUS_ENUM)
#undef WEIR_GRPC_STATUS_ENUM
};

/* "NotFound"; a value outside the table is "Unknown". */
const char *weir_grpc_status_name(enum weir_grpc_status status);

/* The HTTP status for a caller of ours; 500 for a value outside the table. */
int weir_grpc_status_to_http(enum weir_grpc_status status);

/* What an answer of this HTTP status means that carries no gRPC status of its own; not for 200. */
enum weir_grpc_status weir_grpc_status_from_http(int http);

/* The value of `grpc-status`: one or two digits; anything else than 0 to 16 is UNKNOWN. */
enum weir_grpc_status weir_grpc_parse_status(struct weir_slice value);

/*
 * `grpc-message`, percent-encoded UTF-8. Decoding never fails on what a peer sent: a '%' without
 * two hex digits stays, bytes that are not UTF-8 become U+FFFD. WEIR_ELIMIT at the buffer's
 * ceiling; what fits has then been appended.
 */
int weir_grpc_decode_text(struct weir_slice in, struct weir_buf *out);
int weir_grpc_encode_text(struct weir_slice in, struct weir_buf *out);

/*
 * `grpc-timeout`: at most eight digits and a unit, the finest that holds the time, rounded up.
 * Longer than fits in hours is the longest that does. Returns the length without the NUL.
 */
enum { WEIR_GRPC_TIMEOUT_BYTES = 10 };
size_t weir_grpc_format_timeout(uint64_t ms, char out[WEIR_GRPC_TIMEOUT_BYTES]);

#endif
