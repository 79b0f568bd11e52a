#ifndef WEIR_TALK_CREDENTIAL_H
#define WEIR_TALK_CREDENTIAL_H

#include "base/slice.h"

#include <stdbool.h>

/*
 * Does what claims to be an id, or a name, have a credential in it? Many of these have the form of
 * an id, and nobody looks at ids. Known are those that say by their first letters what they are
 * (`ghp_`, `sk-`, `AKIA`), at the beginning or behind one of . : = @, and short signed tokens
 * (JWT). Ids that servers draw do not look like that; a server may put its state in a tool call's
 * id, as base64, so what stands behind a letter of base64 is nothing.
 *
 * These are fewer than the shapes that the detector `secrets` knows (data/secrets.shapes): some of
 * those (`fc-`, `key-`, `re_`) are how servers begin their own ids, and an id that is taken for a
 * credential costs a caller the answer.
 */
bool weir_credential_in_id(struct weir_slice id);

#endif
