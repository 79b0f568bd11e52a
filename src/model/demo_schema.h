#ifndef WEIR_MODEL_DEMO_SCHEMA_H
#define WEIR_MODEL_DEMO_SCHEMA_H

#include "base/buf.h"
#include "wire/json.h"

/*
 * A value that a JSON schema accepts, for the arguments of a tool call and for answers that must be
 * JSON. Understood are `const`, `enum`, `default`, `anyOf`, `oneOf`, `allOf` (their first), `$ref`
 * to `#/$defs/X` and `#/definitions/X`, `type`, `properties`, `items`, `minimum`, `format`; what
 * else a schema demands is not looked at. Strings whose name or format speaks of mail are an
 * address, so that arguments have something to find.
 *
 * `schema` is a node of `j`; WEIR_JSON_NONE: an empty object. WEIR_ELIMIT when the value would be
 * larger than out's ceiling; then nothing was appended.
 */
int weir_demo_schema_fill(const struct weir_json *j, uint32_t schema, struct weir_buf *out);

#endif
