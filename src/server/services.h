#ifndef WEIR_SERVER_SERVICES_H
#define WEIR_SERVER_SERVICES_H

#include "conf/conf_problem.h"
#include "route/env.h"

/*
 * Makes from the configuration what requests use: TLS contexts, targets, detectors, chunkers,
 * models, and the list of services whose health can be asked. Fills env->tasks and env->services
 * from env->conf; all of it lives in env->arena. What cannot be made (a key that does not fit its
 * certificate) is added to `problems`; the environment must not be used then.
 */
void weir_services_build(struct weir_env *env, struct weir_conf_problems *problems);

#endif
