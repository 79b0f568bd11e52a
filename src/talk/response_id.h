#ifndef WEIR_TALK_RESPONSE_ID_H
#define WEIR_TALK_RESPONSE_ID_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>

/*
 * The id of a response that a model server keeps, as callers of a route that enforces get it: with
 * the server that has it, and a tag that no other route and no other caller's key has.
 *
 *   resp_67cc…                                what the model server calls it
 *   resp_67cc….openai.V1J0bWFjX3RhZ19oZXJl…   what the caller gets, and sends back
 *
 * tag = HMAC-SHA-256(secret, route, key's name, id, server), its first 16 bytes. So nothing that
 * was kept through one route can be read or gone on from through another. Pure.
 */
struct weir_response_id {
    struct weir_slice secret; /* `id_key_env`; empty: there is none, and no id is ever tagged */
    struct weir_slice route;
    struct weir_slice key; /* the name of the caller's key; empty: it needed none */
};

/* Appends the tagged id. `id` has the form of one (weir_form_is_id), `server` that of a provider's
 * name (letters, digits, `_`, `-`, `.`). */
void weir_response_id_write(const struct weir_response_id *scope, struct weir_slice id,
                            struct weir_slice server, struct weir_buf *out);

/* The id and the server of one that came back; `id` borrows from it, `server` is appended. False:
 * it was not made here under this route, key and secret; then nothing was written. */
bool weir_response_id_read(const struct weir_response_id *scope, struct weir_slice tagged,
                           struct weir_slice *id, struct weir_buf *server);

#endif
