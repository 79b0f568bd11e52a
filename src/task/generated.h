#ifndef WEIR_TASK_GENERATED_H
#define WEIR_TASK_GENERATED_H

#include "model/model.h"
#include "task/scan.h"
#include "wire/json_write.h"

/*
 * What a generation server said, as the members of an answer of A, unary and streamed.
 */

/* The tokens as the elements of an array, without its brackets. */
void weir_generated_append_tokens(struct weir_buf *out, const struct weir_model_token *tokens,
                                  size_t n);

/* `name: [elements]`. */
void weir_generated_write_array(struct weir_json_write *w, struct weir_slice name,
                                struct weir_slice elements);

/* finish_reason, generated_token_count, seed. */
void weir_generated_write_details(struct weir_json_write *w, const struct weir_model_generated *m);

/* The answer that replaces a generated text when the input has findings. In the arena. */
struct weir_slice weir_generated_unsuitable_input(struct weir_arena *arena,
                                                  const struct weir_scan_group *found,
                                                  uint64_t n_tokens);

#endif
