#include "server/export_attr.h"

#include "base/utf8.h"
#include "wire/proto_write.h"

enum { KEY = 1, VALUE = 2, TEXT_VALUE = 1, INT_VALUE = 3, DOUBLE_VALUE = 4 };

/* All lengths are known beforehand: most of a span is this. */
static void write_plain(struct weir_buf *out, uint32_t field, struct weir_slice key,
                        struct weir_slice value)
{
    size_t any_bytes = weir_proto_write_size(TEXT_VALUE, value.n);
    size_t pair_bytes = weir_proto_write_size(KEY, key.n) + weir_proto_write_size(VALUE, any_bytes);
    weir_proto_write_head(out, field, pair_bytes);
    weir_proto_write_bytes(out, KEY, key);
    weir_proto_write_head(out, VALUE, any_bytes);
    weir_proto_write_bytes(out, TEXT_VALUE, value);
}

static void write_strange(struct weir_buf *out, uint32_t field, struct weir_slice key,
                          struct weir_slice value)
{
    size_t pair = weir_proto_write_begin(out, field);
    weir_proto_write_bytes(out, KEY, key);
    size_t any = weir_proto_write_begin(out, VALUE);
    weir_proto_write_text(out, TEXT_VALUE, value, WEIR_EXPORT_ATTR_MAX_BYTES);
    weir_proto_write_end(out, any);
    weir_proto_write_end(out, pair);
}

void weir_export_attr_text(struct weir_buf *out, uint32_t field, struct weir_slice key,
                           struct weir_slice value)
{
    if (value.n <= WEIR_EXPORT_ATTR_MAX_BYTES && weir_utf8_is_valid(value)) {
        write_plain(out, field, key, value);
    } else {
        write_strange(out, field, key, value);
    }
}

void weir_export_attr_int(struct weir_buf *out, uint32_t field, struct weir_slice key,
                          int64_t value)
{
    size_t pair = weir_proto_write_begin(out, field);
    weir_proto_write_bytes(out, KEY, key);
    size_t any = weir_proto_write_begin(out, VALUE);
    weir_proto_write_u64(out, INT_VALUE, (uint64_t)value);
    weir_proto_write_end(out, any);
    weir_proto_write_end(out, pair);
}

void weir_export_attr_double(struct weir_buf *out, uint32_t field, struct weir_slice key,
                             double value)
{
    size_t pair = weir_proto_write_begin(out, field);
    weir_proto_write_bytes(out, KEY, key);
    size_t any = weir_proto_write_begin(out, VALUE);
    weir_proto_write_double(out, DOUBLE_VALUE, value);
    weir_proto_write_end(out, any);
    weir_proto_write_end(out, pair);
}
