#ifndef WEIR_SERVER_GUARDS_H
#define WEIR_SERVER_GUARDS_H

#include "conf/conf_problem.h"
#include "route/env.h"

/* Makes env->guarded from the configuration's routes; the detectors must have been built. */
void weir_guards_build(struct weir_env *env, struct weir_conf_problems *problems);

#endif
