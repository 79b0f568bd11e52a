#ifndef WEIR_ROUTE_MESSAGES_H
#define WEIR_ROUTE_MESSAGES_H

#include "route/fields.h"

/*
 * The messages of endpoint E: content is a string or an array of parts of type `text`; it may be
 * absent only where `tool_calls` is present. 0, or WEIR_EINVAL with f->error.
 */
int weir_messages_check_history(struct weir_fields *f, uint32_t messages);

#endif
