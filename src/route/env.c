#include "route/env.h"

#include <stdlib.h>

struct weir_env *weir_env_ref(struct weir_env *env)
{
    atomic_fetch_add_explicit(&env->refs, 1, memory_order_relaxed);
    return env;
}

void weir_env_unref(struct weir_env *env)
{
    if (env == NULL || atomic_fetch_sub_explicit(&env->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    weir_map_dispose(&env->tasks.detectors_by_id);
    weir_arena_dispose(&env->arena);
    weir_tls_unref(env->tls);
    weir_conf_free(env->conf);
    free(env);
}
