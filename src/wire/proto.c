#include "wire/proto.h"

#include "base/assert.h"
#include "base/err.h"
#include "wire/grpc.h"

#include <limits.h>
#include <stdint.h>

/*
 * A token of two bytes becomes a struct of 80, a pointer to it and up to two entries of the
 * unpacker's own list. Tokens with a text and a place cost some 15 times their length.
 */
enum { MEMORY_PER_BYTE = 32, MEMORY_AT_LEAST = 64 * 1024 };

ProtobufCBinaryData *weir_proto_texts(struct weir_arena *a, const struct weir_slice *texts,
                                      size_t n)
{
    ProtobufCBinaryData *out = weir_arena_array(a, n, sizeof *out);
    for (size_t i = 0; i < n; i++) {
        out[i] = weir_proto_bytes(texts[i]);
    }
    return out;
}

int weir_proto_append_framed(struct weir_buf *out, const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    if (n > INT32_MAX) {
        return WEIR_ELIMIT;
    }
    int rc = weir_buf_reserve(out, WEIR_GRPC_PREFIX_BYTES + n);
    if (rc != 0) {
        return rc;
    }
    char *to = out->p + out->n;
    weir_grpc_put_prefix(to, (uint32_t)n);
    size_t packed = protobuf_c_message_pack(m, (uint8_t *)to + WEIR_GRPC_PREFIX_BYTES);
    WEIR_ASSERT(packed == n);
    out->n += WEIR_GRPC_PREFIX_BYTES + n;
    return 0;
}

struct budget {
    struct weir_arena *arena;
    size_t left;
};

static void *spend(void *ctx, size_t n)
{
    struct budget *b = ctx;
    if (n > b->left) {
        return NULL;
    }
    b->left -= n;
    return weir_arena_alloc(b->arena, n);
}

static void leave_to_arena(void *ctx, void *p)
{
    (void)ctx;
    (void)p;
}

void *weir_proto_unpack(struct weir_arena *a, const ProtobufCMessageDescriptor *type,
                        struct weir_slice bytes)
{
    if (bytes.n > INT32_MAX) {
        return NULL;
    }
    struct budget b = {a, MEMORY_AT_LEAST + bytes.n * MEMORY_PER_BYTE};
    ProtobufCAllocator allocator = {spend, leave_to_arena, &b};
    /* The unpacker wants a pointer even to nothing. */
    const uint8_t *data = bytes.n != 0 ? (const uint8_t *)bytes.p : (const uint8_t *)"";
    return protobuf_c_message_unpack(type, &allocator, bytes.n, data);
}
