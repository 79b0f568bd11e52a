#ifndef WEIR_ROUTE_AGGREGATION_H
#define WEIR_ROUTE_AGGREGATION_H

#include "route/fields.h"

/* A request's own `aggregation` (WEIR_JSON_NONE: none) must name a strategy. 0 or WEIR_EINVAL. */
int weir_aggregation_check(struct weir_fields *f, uint32_t at, const char *path);

#endif
