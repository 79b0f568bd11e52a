#ifndef WEIR_TALK_WALK_INT_H
#define WEIR_TALK_WALK_INT_H

#include "talk/walk.h"

/*
 * Inside walk: the walk itself (walk.c) and the forms of its strings (walk_forms.c).
 */

/* Has the string the form of a control member? */
bool weir_walk__fits(const struct weir_walk_member *m, struct weir_slice text);

/* The name of a header, and a value as credentials have it: one word of the form of an id, up to
 * 16 KiB, or two (`Bearer TOKEN`). */
bool weir_walk__is_header(struct weir_slice name, struct weir_slice value);

/*
 * What a string holds that may be something encoded. `is_url`: it is a URL that the model server
 * fetches; otherwise what stands there are bytes in base64, with or without `data:` before them.
 * TEXT: neither. IDENTIFIER: a URL. MEDIA: something that cannot be looked at, ENCODED: text, with
 * item->text, prefix and form filled in. REFUSED: it says that it is text and cannot be read.
 */
enum weir_walk_kind weir_walk__open(struct weir_walk_item *item, struct weir_slice text,
                                    bool is_url, struct weir_arena *arena);

#endif
