#ifndef WEIR_WIRE_GZIP_H
#define WEIR_WIRE_GZIP_H

#include "base/buf.h"
#include "base/slice.h"

/*
 * Bytes as one member of gzip (RFC 1952), without a name and a time: the same bytes give the same
 * result. Fast before small: what is sent this way is sent once.
 *
 * Appends to `out`. 0, or WEIR_ELIMIT when it has no room.
 */
int weir_gzip_pack(struct weir_slice bytes, struct weir_buf *out);

#endif
