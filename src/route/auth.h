#ifndef WEIR_ROUTE_AUTH_H
#define WEIR_ROUTE_AUTH_H

#include "conf/conf.h"
#include "http/msg.h"

#include <stdbool.h>

/* May this request in? Always where no keys are configured; otherwise with one of them as bearer
 * token. Every key is compared, in a time that does not depend on their content. */
bool weir_auth_may_enter(const struct weir_conf_auth *auth, const struct weir_http_request *req);

#endif
