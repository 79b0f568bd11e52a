#ifndef WEIR_WIRE_JSON_EDIT_H
#define WEIR_WIRE_JSON_EDIT_H

#include "base/buf.h"
#include "base/slice.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Changes to a parsed document, collected and then written in one go: every byte outside the
 * changes comes out as it was, in its order. How a caller's request reaches the model with one
 * member gone, or a model's event the caller with one string masked.
 *
 *   weir_json_edit_begin(&e, &doc);
 *   weir_json_edit_remove(&e, weir_json_get(&doc, 0, WEIR_SLICE("detectors")));
 *   weir_json_edit_replace_string(&e, content, masked);
 *   rc = weir_json_edit_write(&e, &out);
 *
 * Nothing is copied before write: the document, the names and the values must live until then.
 * Changes may be asked for in any order. Two that touch the same bytes (replacing inside what is
 * removed) are a programming error and asserted by write. All-zero is a valid empty object; its
 * memory is reused from document to document.
 */
struct weir_json_edit_op;

struct weir_json_edit {
    const struct weir_json *doc;
    struct weir_json_edit_op *ops;
    size_t n;
    size_t cap;
};

void weir_json_edit_begin(struct weir_json_edit *e, const struct weir_json *doc);
void weir_json_edit_dispose(struct weir_json_edit *e);

/* Puts another value, JSON already or a text to be quoted, in the place of `at`. */
void weir_json_edit_replace(struct weir_json_edit *e, uint32_t at, struct weir_slice json);
void weir_json_edit_replace_string(struct weir_json_edit *e, uint32_t at, struct weir_slice text);

/*
 * Takes out an element of an array, or a member of an object named by its key or its value, with
 * the comma that becomes one too many. Never the root. Twice the same is a programming error.
 */
void weir_json_edit_remove(struct weir_json_edit *e, uint32_t at);

/* A new last member of `object`, several in the order given. It must not have one of that name. */
void weir_json_edit_add(struct weir_json_edit *e, uint32_t object, struct weir_slice name,
                        struct weir_slice json);

/* Replaces the member of that name if there is one, adds it otherwise. Once per name. */
void weir_json_edit_set(struct weir_json_edit *e, uint32_t object, struct weir_slice name,
                        struct weir_slice json);

/* Appends the changed document to `out`. 0 or WEIR_ELIMIT, and then `out` is as it was. */
int weir_json_edit_write(struct weir_json_edit *e, struct weir_buf *out);

#endif
