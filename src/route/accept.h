#ifndef WEIR_ROUTE_ACCEPT_H
#define WEIR_ROUTE_ACCEPT_H

#include "http/msg.h"

#include <stdbool.h>

/*
 * Which of two media types the request's Accept fields name, by weight and then by order; ranges
 * such as `text/...` with a star name nothing. False: neither, and `*is_second` is left alone.
 */
bool weir_accept_chooses(const struct weir_http_request *req, struct weir_slice first,
                         struct weir_slice second, bool *is_second);

#endif
