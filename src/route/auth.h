#ifndef WEIR_ROUTE_AUTH_H
#define WEIR_ROUTE_AUTH_H

#include "conf/conf.h"
#include "http/msg.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Callers' keys: `Authorization: Bearer KEY`, `x-api-key: KEY` or `api-key: KEY`. Where several of
 * these are sent, one that is known is enough: the others may be for somebody else.
 */

/* The key that the request has, or NULL. Hashes are compared, every one of them, in a time that
 * does not depend on their content. */
const struct weir_conf_caller *weir_auth_find(const struct weir_conf_auth *auth,
                                              const struct weir_http_request *req);

/* The header that the request has more than once though it can carry a key, or NULL. A proxy
 * between us and the caller may have checked the other one. */
const char *weir_auth_ambiguous(const struct weir_http_request *req);

/* The first credential that the request has in one of these headers, whoever it is for; or "". */
struct weir_slice weir_auth_token(const struct weir_http_request *req);

/* Can this header carry a key? */
bool weir_auth_is_key_header(struct weir_slice name);

/* Is the key for this route? */
bool weir_auth_is_for(const struct weir_conf_caller *key, struct weir_slice route);

/*
 * What a key has used up: shared by all workers, known by the key's name, kept over reloads. The
 * rate is that of a bucket that holds a minute's worth and fills steadily.
 */
struct weir_auth_state;

/* As conf->auth.keys, in the arena; the states live as long as the process. */
struct weir_auth_state *const *weir_auth_states(const struct weir_conf_auth *auth,
                                                struct weir_arena *arena);

/* 0: the request may go on, then weir_auth_leave once. Otherwise after how many seconds to come
 * again, and in `what` the limit's name. */
uint64_t weir_auth_enter(struct weir_auth_state *state, const struct weir_conf_caller *key,
                         uint64_t now_ms, const char **what);
void weir_auth_leave(struct weir_auth_state *state);

/* Is the authority (`Host`, `:authority`) localhost, 127.0.0.1 or [::1], with any port or none? */
bool weir_auth_is_local(struct weir_slice authority);

#endif
