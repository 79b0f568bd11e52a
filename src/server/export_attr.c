#include "server/export_attr.h"

#include "wire/proto_write.h"

enum { KEY = 1, VALUE = 2, TEXT_VALUE = 1, INT_VALUE = 3 };

void weir_export_attr_text(struct weir_buf *out, uint32_t field, struct weir_slice key,
                           struct weir_slice value)
{
    size_t pair = weir_proto_write_begin(out, field);
    weir_proto_write_bytes(out, KEY, key);
    size_t any = weir_proto_write_begin(out, VALUE);
    weir_proto_write_text(out, TEXT_VALUE, value, WEIR_EXPORT_ATTR_MAX_BYTES);
    weir_proto_write_end(out, any);
    weir_proto_write_end(out, pair);
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
