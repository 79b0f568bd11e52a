#ifndef WEIR_CLIENT_CLIENT_H
#define WEIR_CLIENT_CLIENT_H

#include "client/target.h"
#include "io/loop.h"

/*
 * A worker's outgoing side: name look-ups and pools of connections, one per target. Belongs to one
 * loop; no locks.
 */
struct weir_client;

struct weir_client *weir_client_new(struct weir_loop *loop);

/* A reload made other targets: forgets what belongs to this one; its running calls go on, its idle
 * connections close. The target must live until its last call has ended. */
void weir_client_forget(struct weir_client *client, const struct weir_target *target);

/* Cancels every call without a word, closes every connection; `fn` when all memory is free. */
void weir_client_close(struct weir_client *client, void (*fn)(void *ctx), void *ctx);

#endif
