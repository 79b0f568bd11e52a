#ifndef WEIR_TALK_KNOWN_H
#define WEIR_TALK_KNOWN_H

#include "base/buf.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The members of an OpenAI answer that are known, by the object they stand in. On routes that block
 * or redact nothing else leaves: whatever can carry text is a guarded channel, a tool call, has a
 * form (talk/form.h), or is not sent on. Lists end with NULL.
 */
extern const char *const weir_known_top[];
extern const char *const weir_known_choice[]; /* without `message`, `delta` and `text` */
extern const char *const weir_known_body[];
extern const char *const weir_known_audio[];
extern const char *const weir_known_call[];     /* without `function` and `custom` */
extern const char *const weir_known_function[]; /* in `function`, and in `function_call` */
extern const char *const weir_known_custom[];   /* in `custom` */

/* What Azure's filters say of the question and of a choice: these are known, too. */
extern const char *const weir_known_prompt_filters[];
extern const char *const weir_known_filters[];

/* The same with the members that hold what a choice says: of chat completions, of completions. */
const char *const *weir_known_choice_of(bool is_chat);

bool weir_known_is_among(const struct weir_json *json, uint32_t key, const char *const *names);

/* Members of the object that are not known and not null: null says nothing, whatever its name. */
size_t weir_known_count(const struct weir_json *json, uint32_t object, const char *const *names);

/* Appends the members that are not among the names, commas between them. */
void weir_known_write_others(const struct weir_json *json, uint32_t object,
                             const char *const *names, struct weir_buf *out);

#endif
