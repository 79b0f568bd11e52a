#ifndef WEIR_DETECT_JSONSCHEMA_REF_H
#define WEIR_DETECT_JSONSCHEMA_REF_H

#include "base/buf.h"
#include "wire/json.h"

/* Places in a JSON document by JSON pointers (RFC 6901). */

/* The node of a pointer as a URI fragment has it, without `#`: percent signs count. Or
 * WEIR_JSON_NONE. */
uint32_t weir_jsonschema__find(const struct weir_json *j, struct weir_slice pointer);

/* Appends the pointer of a node with a `#` before it: "#/properties/a". */
void weir_jsonschema__path(const struct weir_json *j, uint32_t at, struct weir_buf *out);

#endif
