#ifndef WEIR_DETECT_JSONSCHEMA_H
#define WEIR_DETECT_JSONSCHEMA_H

#include "base/buf.h"
#include "base/slice.h"
#include "detect/builtin.h"
#include "wire/json.h"

/*
 * JSON Schema: the everyday keywords of drafts 4 to 2020-12, whichever the schema names.
 *
 *   schema text ── weir_jsonschema_new ─► rules (const, any thread)
 *   document ───── weir_jsonschema_check ─► good, or not
 *
 *   any       type enum const $ref allOf anyOf oneOf not if/then/else
 *   numbers   minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
 *   texts     minLength maxLength pattern
 *   arrays    items prefixItems additionalItems contains minContains maxContains minItems maxItems
 *             uniqueItems
 *   objects   properties patternProperties additionalProperties propertyNames required
 *             minProperties maxProperties dependentRequired dependentSchemas dependencies
 *
 * Numbers are compared by their exact value. A $ref is `#`, `#/a/pointer` or `#anchor`; words
 * beside it count. `format` and every unknown word say nothing. What would be judged wrongly is
 * refused: unevaluatedProperties, unevaluatedItems, $dynamicRef, $recursiveRef, an $id inside the
 * schema.
 *
 * Schema and document are hostile: sizes are limited, and so are the steps of one check.
 */
enum { WEIR_JSONSCHEMA_MAX_BYTES = 65536 };

struct weir_jsonschema;

/* NULL with the reason in `why`, with the place in the schema: "#/properties/a: …". */
struct weir_jsonschema *weir_jsonschema_new(struct weir_slice text, struct weir_buf *why);
void weir_jsonschema_free(struct weir_jsonschema *s); /* NULL is fine */

/* 0, WEIR_EINVAL (not as the schema wants it) or WEIR_ELIMIT with run->why. For heavy work: off the
 * loop. */
int weir_jsonschema_check(const struct weir_jsonschema *s, const struct weir_json *doc,
                          struct weir_builtin_run *run);

#endif
