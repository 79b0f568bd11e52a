#ifndef WEIR_MOCK_TEXT_H
#define WEIR_MOCK_TEXT_H

#include "base/arena.h"
#include "base/slice.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A text as a model says it: in tokens, each a word with the space before it, or a part of a long
 * one. Every token is kept as a JSON string, ready to be copied into an event.
 */
struct weir_mock_token {
    struct weir_slice quoted; /* with its quotes */
    struct weir_slice plain;
    size_t n_cp;
};

struct weir_mock_text {
    const struct weir_mock_token *tokens;
    size_t n;
};

/*
 * Cuts valid UTF-8. With `is_split` every character outside the basic plane is cut in two: its high
 * surrogate ends one token, its low one begins the next (whose `plain` has the character).
 */
void weir_mock_text_cut(struct weir_mock_text *out, struct weir_slice text, bool is_split,
                        struct weir_arena *arena);

/* Tokens as the strings of a JSON list, escapes as they are written there. 0, or WEIR_EINVAL when
 * it is no list of strings. */
int weir_mock_text_list(struct weir_mock_text *out, const struct weir_json *j, uint32_t list,
                        struct weir_arena *arena);

/* How many tokens weir_mock_text_cut would make, unsplit. */
size_t weir_mock_text_count(struct weir_slice text);

/* The first token of `*rest`, which moves behind it. `rest` must not be empty. */
struct weir_slice weir_mock_text_next(struct weir_slice *rest);

/* What is said when nobody asks for another text. */
extern const char weir_mock_text_default[];

#endif
