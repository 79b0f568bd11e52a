#ifndef WEIR_SERVER_EXPORT_ATTR_H
#define WEIR_SERVER_EXPORT_ATTR_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdint.h>

/*
 * Attributes of OTLP (`KeyValue`), written into the message under way as its field `field`. Keys
 * are literals of ours; a value from outside may be anything: it is cut to
 * WEIR_EXPORT_ATTR_MAX_BYTES and made UTF-8.
 */
enum { WEIR_EXPORT_ATTR_MAX_BYTES = 512 };

void weir_export_attr_text(struct weir_buf *out, uint32_t field, struct weir_slice key,
                           struct weir_slice value);
void weir_export_attr_int(struct weir_buf *out, uint32_t field, struct weir_slice key,
                          int64_t value);
void weir_export_attr_double(struct weir_buf *out, uint32_t field, struct weir_slice key,
                             double value);

#endif
