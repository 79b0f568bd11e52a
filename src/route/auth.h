#ifndef WEIR_ROUTE_AUTH_H
#define WEIR_ROUTE_AUTH_H

#include "conf/conf.h"
#include "http/msg.h"

#include <stdbool.h>

/* May this request enter? Always where no keys are configured; otherwise with one of them as bearer
 * token. Every key is compared, in a time that does not depend on their content. */
bool weir_auth_may_enter(const struct weir_conf_auth *auth, const struct weir_http_request *req);

/* Has the request more than one `Authorization`? A proxy between us and the caller may have checked
 * the other one. */
bool weir_auth_is_ambiguous(const struct weir_http_request *req);

/* Is the authority (`Host`, `:authority`) localhost, 127.0.0.1 or [::1], with any port or none? */
bool weir_auth_is_local(struct weir_slice authority);

#endif
