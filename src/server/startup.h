#ifndef WEIR_SERVER_STARTUP_H
#define WEIR_SERVER_STARTUP_H

#include "server/health.h"

#include <stdbool.h>

/*
 * --start-up-health-check: asks every service once, on the loop, and waits for the answers. False
 * when one is unhealthy and so the start must stop; with `compat: fms` it only warns. What was
 * found is logged.
 */
bool weir_startup_check(struct weir_health *h, struct weir_env *env);

#endif
