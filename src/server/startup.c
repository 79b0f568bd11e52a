#include "server/startup.h"

#include "obs/log.h"

static void on_asked(void *ctx)
{
    weir_loop_stop(ctx);
}

/* Logs what is not well; counts what is ill. */
static size_t count_unhealthy(const struct weir_health *h, const struct weir_env *env)
{
    size_t n = 0;
    for (size_t i = 0; i < env->n_services; i++) {
        struct weir_slice id = env->services[i].id;
        struct weir_probe_state state = weir_health_state(h, id);
        if (state.health == WEIR_PROBE_HEALTHY) {
            continue;
        }
        WEIR_LOG_WARN("health", NULL, "service is not healthy", weir_log_str("service", id),
                      weir_log_cstr("status", weir_probe_health_name(state.health)),
                      weir_log_i64("code", state.code), weir_log_str("reason", state.reason));
        n += state.health == WEIR_PROBE_UNHEALTHY ? 1 : 0;
    }
    return n;
}

bool weir_startup_check(struct weir_health *h, struct weir_env *env)
{
    struct weir_health_waiter waiter = {.fn = on_asked, .ctx = h->loop};
    weir_health_ask(h, env, &waiter);
    weir_loop_run(h->loop);
    size_t n = count_unhealthy(h, env);
    if (n == 0) {
        WEIR_LOG_INFO("health", NULL, "start-up health check passed",
                      weir_log_u64("services", env->n_services));
        return true;
    }
    if (env->conf->compat == WEIR_CONF_FMS) {
        WEIR_LOG_WARN("health", NULL, "start-up health check failed, starting all the same",
                      weir_log_u64("unhealthy", n));
        return true;
    }
    WEIR_LOG_ERROR("health", NULL, "start-up health check failed, not starting",
                   weir_log_u64("unhealthy", n), weir_log_u64("services", env->n_services));
    return false;
}
