#ifndef WEIR_WIRE_PROTO_WRITE_H
#define WEIR_WIRE_PROTO_WRITE_H

#include "base/buf.h"
#include "base/slice.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Protobuf fields written one after the other, without a description of the message: for messages
 * that are made in great number and never read here.
 *
 *   size_t mark = weir_proto_write_begin(out, 2);       field 2 is a message …
 *   weir_proto_write_bytes(out, 1, name);
 *   weir_proto_write_end(out, mark);                    … and its length is known now
 *
 * The buffer must have no ceiling; the caller bounds what it writes.
 */

/* uint32, uint64, enum, bool. */
void weir_proto_write_u64(struct weir_buf *out, uint32_t field, uint64_t value);

/* fixed64, sfixed64, and double. */
void weir_proto_write_fixed64(struct weir_buf *out, uint32_t field, uint64_t value);
void weir_proto_write_double(struct weir_buf *out, uint32_t field, double value);

/* string and bytes; also a message that is packed already. */
void weir_proto_write_bytes(struct weir_buf *out, uint32_t field, struct weir_slice bytes);

/* The head of such a field; `n_bytes` of content must follow. */
void weir_proto_write_head(struct weir_buf *out, uint32_t field, size_t n_bytes);

/* How long a field of `n_bytes` is, its head included. */
size_t weir_proto_write_size(uint32_t field, size_t n_bytes);

/*
 * A string field from outside: cut to `max_bytes` at a character, and what is not UTF-8 becomes
 * U+FFFD, because readers throw away the whole message otherwise. Replacements may make it up to
 * three times as long.
 */
void weir_proto_write_text(struct weir_buf *out, uint32_t field, struct weir_slice text,
                           size_t max_bytes);

/* A message in between; pairs nest. */
size_t weir_proto_write_begin(struct weir_buf *out, uint32_t field);
void weir_proto_write_end(struct weir_buf *out, size_t mark);

#endif
