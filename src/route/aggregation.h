#ifndef WEIR_ROUTE_AGGREGATION_H
#define WEIR_ROUTE_AGGREGATION_H

#include "route/fields.h"
#include "task/gather.h"

/* A request's own `aggregation` must name a strategy, which is put into `*out`; WEIR_JSON_NONE
 * leaves it alone. 0 or WEIR_EINVAL with f->error. */
int weir_aggregation_read(struct weir_fields *f, uint32_t at, const char *path,
                          const struct weir_gather_strategy **out);

#endif
