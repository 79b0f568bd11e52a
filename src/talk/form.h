#ifndef WEIR_TALK_FORM_H
#define WEIR_TALK_FORM_H

#include "base/buf.h"
#include "base/slice.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The forms that members which are no text may have. A model server's answer has identifiers, short
 * words and numbers beside its text, and nobody looks at them: so on routes that block or redact
 * they leave only while they are what they claim to be (docs/policies.md, What of an answer is
 * checked).
 */
enum {
    WEIR_FORM_ID_MOST = 128,        /* characters of an id, a model's name, a cache key */
    WEIR_FORM_CALL_ID_MOST = 16384, /* of a tool call's id: some servers put their state in it */
    WEIR_FORM_WORD_MOST = 32,       /* of a reason, a role, a type */
    WEIR_FORM_DETECTION_MOST = 64,  /* of what a finding is called */
};

/* A letter, digit or one of _ . : / + = @ - each; at least one, at most so many; and no address of
 * somebody in it: models are called `@cf/meta/llama-3.1` and `claude-opus-4@20250514`, but
 * `jane@example.org` is nobody's id. */
bool weir_form_is_id(struct weir_slice s, size_t most);

/* The same of what a model server says, without a credential in it (talk/credential.h). */
bool weir_form_is_said_id(struct weir_slice s, size_t most);

/* Letters and underscores, and no credential: finish reasons, roles, types. */
bool weir_form_is_word(struct weir_slice s);

/* What a finding may be called in results, replacements and metrics. */
bool weir_form_is_detection(struct weir_slice s);

/* Thinking under a key of ours (task/seal.h): the mark, then letters, digits, `-` and `_`. */
#define WEIR_FORM_SEAL_MARK "weir1."
bool weir_form_is_seal(struct weir_slice s);

/* Is the value, of a model server's answer, a string of that form? It has no escapes then, so its
 * bytes are its text. */
bool weir_form_is_id_at(const struct weir_json *json, uint32_t at, size_t most);
/* What a server has encrypted or signed: base64, of either alphabet. */
bool weir_form_is_base64_at(const struct weir_json *json, uint32_t at, size_t most);
bool weir_form_is_word_at(const struct weir_json *json, uint32_t at);

/* Is it a format that asks for JSON: {"type":"json_schema",…}? WEIR_JSON_NONE is none. */
bool weir_form_is_json_format(const struct weir_json *json, uint32_t format);

/*
 * Appends what an answer says it has cost: numbers, true, false, null, short words, and objects of
 * these under plain names. Everything else in it becomes null, members with other names are left
 * out. Returns how many were.
 */
size_t weir_form_write_usage(const struct weir_json *json, uint32_t at, struct weir_buf *out);

/* Appends those of the named members (NULL after the last) that the object has, with commas between
 * them and behind what is there: the same, and arrays of it. What the filters of a model server say
 * has this form. */
size_t weir_form_write_filters(const struct weir_json *json, uint32_t object,
                               const char *const *names, struct weir_buf *out);

#endif
