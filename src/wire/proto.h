#ifndef WEIR_WIRE_PROTO_H
#define WEIR_WIRE_PROTO_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

/*
 * Protobuf messages in and out, for what proto/ describes. The generated types are included as
 * <proto/chunkers.pb-c.h> and so on; a message begins as its generated ..__INIT.
 *
 * A message whose fields have no presence leaves out what is zero: set such a field with
 * WEIR_PROTO_SET, one with presence with WEIR_PROTO_GIVE, a text with WEIR_PROTO_SET_TEXT.
 */
#define WEIR_PROTO_GIVE(m, field, value) ((m)->field = (value), (m)->has_##field = 1)
#define WEIR_PROTO_SET(m, field, value) ((m)->field = (value), (m)->has_##field = (m)->field != 0)
#define WEIR_PROTO_SET_TEXT(m, member, slice)                                                      \
    ((m)->member = weir_proto_bytes(slice), (m)->has_##member = (m)->member.len != 0)

/* Borrows; the generated types are not const, nothing is written through them when packing. */
static inline ProtobufCBinaryData weir_proto_bytes(struct weir_slice s)
{
    return (ProtobufCBinaryData){.len = s.n, .data = (uint8_t *)(uintptr_t)s.p};
}

static inline struct weir_slice weir_proto_slice(ProtobufCBinaryData b)
{
    return (struct weir_slice){(const char *)b.data, b.len};
}

/* A repeated text: an array of the arena that borrows the texts. */
ProtobufCBinaryData *weir_proto_texts(struct weir_arena *a, const struct weir_slice *texts,
                                      size_t n);

/* The packed message behind its gRPC prefix. WEIR_ELIMIT at the buffer's ceiling, and for a message
 * longer than a prefix can say; then nothing is appended. */
int weir_proto_append_framed(struct weir_buf *out, const ProtobufCMessage *m);

/*
 * The message in `bytes`, made of memory of the arena, or NULL when they are not one. A few bytes
 * on the wire can be a large struct, so what it may cost is limited to a multiple of their length:
 * more is malformed too. Never freed but with the arena.
 */
void *weir_proto_unpack(struct weir_arena *a, const ProtobufCMessageDescriptor *type,
                        struct weir_slice bytes);

#endif
