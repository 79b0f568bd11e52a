#ifndef WEIR_TASK_ORDER_H
#define WEIR_TASK_ORDER_H

#include "detect/detection.h"

/* The order of findings everywhere (api.md H): those with spans by start, end, detector id, then
 * those without, by detector id. 0 leaves the order of arrival to decide. */
int weir_order_compare(const struct weir_detection *a, const struct weir_detection *b);

#endif
