#ifndef WEIR_TASK_SEAL_H
#define WEIR_TASK_SEAL_H

#include "base/arena.h"
#include "base/slice.h"
#include "wire/json.h"

#include <stdbool.h>

/*
 * Thinking that was changed, and can be sent back all the same. A model server signs what a model
 * has thought, and refuses a conversation in which that was changed. So where a route has replaced
 * something in it, the caller gets, in the place of the signature, the original text and signature
 * under a key of ours; when the block comes back, both are put into their places again:
 *
 *   to the caller   {"type":"thinking","thinking":"They are [name]","signature":"weir1.…"}
 *   to the server   {"type":"thinking","thinking":"They are Jane","signature":"Eq…"}
 *
 * The caller cannot read it, and cannot make one up (AES-256-GCM). A seal is good for one route.
 */
struct weir_seal {
    unsigned char key[32];
    struct weir_slice route;
};

/* `secret` is of any length. */
void weir_seal_init(struct weir_seal *seal, struct weir_slice secret, struct weir_slice route);

/* "weir1." and letters, digits, `-`, `_`, in the arena. */
struct weir_slice weir_seal_close(const struct weir_seal *seal, struct weir_slice text,
                                  struct weir_slice signature, struct weir_arena *arena);

/* Has it the form of a seal? */
bool weir_seal_is(struct weir_slice signature);

/* False: it is broken, or of another key or route. What comes out lives in the arena. */
bool weir_seal_open(const struct weir_seal *seal, struct weir_slice sealed,
                    struct weir_arena *arena, struct weir_slice *text,
                    struct weir_slice *signature);

/*
 * The request with all seals of its messages' blocks opened, in the arena; the request itself where
 * there are none. `*broken` is the node of a signature that is none, else WEIR_JSON_NONE. `seal`
 * NULL: there is no key, and every seal is broken.
 */
struct weir_slice weir_seal_restore(const struct weir_seal *seal, const struct weir_json *json,
                                    struct weir_arena *arena, uint32_t *broken);

#endif
