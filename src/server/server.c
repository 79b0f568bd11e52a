/*
 * The main thread: starts the workers, then serves the health port and listens to signals and to
 * the configuration file.
 *
 *   STARTING ─► READY ──signal──► DRAINING ──all workers empty, time out, second signal──► stopped
 */
#include "server/server.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "io/fds.h"
#include "io/watch.h"
#include "obs/audit.h"
#include "obs/log.h"
#include "server/admin.h"
#include "server/genai.h"
#include "server/notify.h"
#include "server/rebuild.h"
#include "server/startup.h"
#include "server/stats.h"
#include "server/worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct server {
    const struct weir_server_options *options;
    const char *host;
    struct weir_loop loop;
    struct weir_admin admin;
    struct weir_export *export; /* NULL: none */
    struct weir_env *env;
    struct weir_worker *workers;
    unsigned n_workers;
    unsigned n_drained;
    atomic_uint n_connections;
    uv_signal_t on_term;
    uv_signal_t on_int;
    uv_signal_t on_hup;
    uv_signal_t on_usr1;
    uv_signal_t on_usr2;
    struct weir_watch watch;
    bool is_watching;
    struct weir_rebuild rebuild;
    struct weir_timer drain_timer;
    bool is_debugging; /* by SIGUSR2 */
    bool is_finishing; /* the workers are done, the last telemetry is being sent */
};

static void log_problems(struct weir_conf_problems *problems)
{
    weir_conf_problems_sort(problems);
    for (size_t i = 0; i < problems->n; i++) {
        struct weir_buf line = {0};
        weir_conf_problem_format(&problems->items[i], &line);
        if (problems->items[i].severity == WEIR_CONF_ERROR) {
            WEIR_LOG_ERROR("conf", NULL, weir_buf_cstr(&line));
        } else {
            WEIR_LOG_WARN("conf", NULL, weir_buf_cstr(&line));
        }
        weir_buf_dispose(&line);
    }
}

/* ---- stopping ---- */

static void stop(struct server *sv)
{
    weir_loop_cancel(&sv->loop, &sv->drain_timer);
    weir_loop_stop(&sv->loop);
}

static void on_finished(void *ctx)
{
    stop(ctx);
}

/* All telemetry of the workers has arrived: each hands over the last of it before it reports
 * that it is done. */
static void finish(struct server *sv)
{
    sv->is_finishing = true;
    if (sv->export != NULL) {
        weir_export_finish(sv->export, on_finished, sv);
    } else {
        stop(sv);
    }
}

static void count_drained(void *arg)
{
    struct server *sv = arg;
    sv->n_drained++;
    if (sv->n_drained == sv->n_workers) {
        finish(sv);
    }
}

/* On a worker's thread. */
static void on_worker_drained(void *ctx)
{
    struct server *sv = ctx;
    weir_loop_call(&sv->loop, count_drained, sv);
}

static void on_drain_timeout(struct weir_timer *t, void *ctx)
{
    struct server *sv = ctx;
    (void)t;
    if (sv->is_finishing) {
        stop(sv);
        return;
    }
    WEIR_LOG_WARN("server", NULL, "drain timed out, ending what still runs");
    for (unsigned i = 0; i < sv->n_workers; i++) {
        weir_worker_abort(&sv->workers[i]);
    }
}

static void drain(struct server *sv)
{
    sv->admin.state = WEIR_ADMIN_DRAINING;
    weir_rebuild_cancel(&sv->rebuild);
    uint64_t timeout_ms = sv->env->conf->limits.drain_timeout_ms;
    WEIR_LOG_INFO("server", NULL, "draining", weir_log_u64("timeout_ms", timeout_ms));
    weir_notify_stopping(timeout_ms);
    sv->drain_timer.fn = on_drain_timeout;
    sv->drain_timer.ctx = sv;
    weir_loop_after(&sv->loop, &sv->drain_timer, timeout_ms);
    for (unsigned i = 0; i < sv->n_workers; i++) {
        weir_worker_drain(&sv->workers[i]);
    }
}

static void on_stop_signal(uv_signal_t *handle, int signum)
{
    struct server *sv = handle->data;
    (void)signum;
    if (sv->admin.state != WEIR_ADMIN_DRAINING) {
        drain(sv);
        return;
    }
    WEIR_LOG_WARN("server", NULL, "told twice to stop, ending at once");
    stop(sv);
}

/* ---- reload ---- */

static void refuse_reload(const struct server *sv, const struct weir_conf_problems *problems,
                          const char *why)
{
    WEIR_LOG_ERROR("server", NULL, "reload refused, the old configuration stays",
                   weir_log_cstr("why", why), weir_log_u64("errors", problems->n_errors),
                   weir_log_cstr("revision", sv->env->conf->revision));
}

/* False: it cannot be written where the configuration says. */
static bool set_audit(const struct weir_conf *conf)
{
    const struct weir_conf_audit *audit = &conf->audit;
    int rc = weir_audit_set(
        &(struct weir_audit_options){.path = audit->path.s,
                                     .key = audit->key,
                                     .is_strict = audit->on_error == WEIR_CONF_AUDIT_FAIL,
                                     .max_bytes = audit->max_bytes});
    if (rc != 0) {
        WEIR_LOG_ERROR("server", NULL, "the audit log cannot be opened",
                       weir_log_str("path", audit->path.s),
                       weir_log_cstr("why", weir_err_text(rc)));
    }
    return rc == 0;
}

static void apply_reload(struct server *sv, struct weir_env *env, const char *why)
{
    set_audit(env->conf);
    weir_export_reload(sv->export);
    weir_env_unref(sv->env);
    sv->env = env;
    weir_admin_set_env(&sv->admin, env);
    for (unsigned i = 0; i < sv->n_workers; i++) {
        weir_worker_set_env(&sv->workers[i], env);
    }
    weir_stats_revision(env->conf->revision);
    WEIR_LOG_INFO("server", NULL, "configuration reloaded", weir_log_cstr("why", why),
                  weir_log_cstr("revision", env->conf->revision));
}

static void on_built(void *ctx, struct weir_env *env, struct weir_conf_problems *problems,
                     const char *why)
{
    struct server *sv = ctx;
    log_problems(problems);
    weir_stats_reload(env != NULL);
    if (env == NULL) {
        refuse_reload(sv, problems, why);
    } else {
        apply_reload(sv, env, why);
    }
    weir_notify_ready();
}

static void reload(struct server *sv, const char *why)
{
    if (sv->admin.state == WEIR_ADMIN_READY) {
        WEIR_LOG_INFO("server", NULL, "reloading", weir_log_cstr("why", why));
        weir_notify_reloading();
        weir_rebuild_start(&sv->rebuild, why);
    }
}

static void on_reload_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    reload(handle->data, "SIGHUP");
}

static void on_file_change(void *ctx)
{
    reload(ctx, "the file changed");
}

/* ---- starting ---- */

/* Says what to do about it, too: it is mostly a second weir that has the port. */
static void log_cannot_listen(const struct server *sv, const char *listener, const char *flag,
                              uint16_t port, int rc)
{
    char why[120];
    const char *text = weir_err_text(rc);
    snprintf(why, sizeof why, rc == WEIR_EINUSE ? "%s; %s PORT moves it (0: any free port)" : "%s",
             text, flag);
    WEIR_LOG_ERROR("server", NULL, "cannot listen", weir_log_cstr("listener", listener),
                   weir_log_cstr("host", sv->host), weir_log_u64("port", port),
                   weir_log_cstr("why", why));
}

static int start_workers(struct server *sv)
{
    uint16_t port = sv->options->http_port;
    /* SO_REUSEPORT would let a second server share the port, and take half of the connections. */
    int rc = port != 0 ? weir_listener_probe(sv->host, port) : 0;
    for (unsigned i = 0; rc == 0 && i < sv->n_workers; i++) {
        struct weir_worker *w = &sv->workers[i];
        w->n_connections = &sv->n_connections;
        w->traces = weir_export_traces(sv->export);
        w->on_drained = on_worker_drained;
        w->ctx = sv;
        rc = weir_worker_init(w, sv->env, sv->host, port);
        port = w->listener.port;
    }
    for (unsigned i = 0; rc == 0 && i < sv->n_workers; i++) {
        rc = weir_worker_start(&sv->workers[i]);
    }
    if (rc != 0) {
        log_cannot_listen(sv, "api", "--http-port", sv->options->http_port, rc);
        return rc;
    }
    /* Logged at any level: an operator who asked for port 0 cannot learn the port otherwise. */
    WEIR_LOG_TELL(sv->options->http_port == 0, "server", NULL, "listening",
                  weir_log_cstr("listener", "api"), weir_log_cstr("host", sv->host),
                  weir_log_u64("port", port), weir_log_bool("tls", sv->env->tls != NULL),
                  weir_log_u64("workers", sv->n_workers));
    return 0;
}

static int start_admin(struct server *sv)
{
    weir_admin_set_env(&sv->admin, sv->env);
    int rc = weir_admin_open(&sv->admin, &sv->loop, sv->host, sv->options->health_port);
    if (rc != 0) {
        log_cannot_listen(sv, "health", "--health-http-port", sv->options->health_port, rc);
        return rc;
    }
    WEIR_LOG_TELL(sv->options->health_port == 0, "server", NULL, "listening",
                  weir_log_cstr("listener", "health"), weir_log_cstr("host", sv->host),
                  weir_log_u64("port", sv->admin.listener.port));
    return 0;
}

static int start_export(struct server *sv)
{
    struct weir_buf why = {0};
    sv->export = weir_export_new(&sv->options->export, &sv->loop, &why);
    bool is_failed = why.n != 0;
    if (is_failed) {
        WEIR_LOG_ERROR("server", NULL, "cannot export telemetry",
                       weir_log_str("why", weir_buf_slice(&why)));
    }
    weir_buf_dispose(&why);
    return is_failed ? WEIR_ETLS : 0;
}

static bool is_world_well(struct server *sv)
{
    return !sv->options->start_up_health_check || weir_startup_check(&sv->admin.health, sv->env);
}

static void on_reopen_signal(uv_signal_t *handle, int signum)
{
    (void)handle;
    (void)signum;
    weir_audit_reopen();
}

/* Back and forth between what was configured and everything that helps to find a fault. */
static void on_level_signal(uv_signal_t *handle, int signum)
{
    struct server *sv = handle->data;
    (void)signum;
    sv->is_debugging = !sv->is_debugging;
    weir_log_set_level(sv->is_debugging ? WEIR_LOG_LEVEL_DEBUG : sv->options->log_level);
    WEIR_LOG_TELL(true, "server", NULL, "log level",
                  weir_log_cstr("to", sv->is_debugging ? "debug" : "as configured"));
}

static void start_signal(struct server *sv, uv_signal_t *handle, uv_signal_cb fn, int signum)
{
    int rc = uv_signal_init(&sv->loop.uv, handle);
    WEIR_ASSERT(rc == 0);
    handle->data = sv;
    rc = uv_signal_start(handle, fn, signum);
    WEIR_ASSERT(rc == 0);
}

static void start_listening_to_the_outside(struct server *sv)
{
    start_signal(sv, &sv->on_term, on_stop_signal, SIGTERM);
    start_signal(sv, &sv->on_int, on_stop_signal, SIGINT);
    start_signal(sv, &sv->on_hup, on_reload_signal, SIGHUP);
    start_signal(sv, &sv->on_usr1, on_reopen_signal, SIGUSR1);
    start_signal(sv, &sv->on_usr2, on_level_signal, SIGUSR2);
    if (sv->options->config_path != NULL) {
        weir_watch_open(&sv->watch, &sv->loop, sv->options->config_path, on_file_change, sv);
        sv->is_watching = true;
    }
}

static void on_handle_closed(uv_handle_t *handle)
{
    (void)handle;
}

/* A thread that hangs in a read from a broken disk cannot be ended: the process exits without
 * it. */
static void leave_if_building(const struct server *sv)
{
    if (sv->rebuild.is_running) {
        WEIR_LOG_INFO("server", NULL, "stopped",
                      weir_log_cstr("left", "a new configuration was still being made"));
        weir_log_flush();
        _exit(0);
    }
}

static void close_all(struct server *sv, bool is_started)
{
    weir_rebuild_cancel(&sv->rebuild);
    for (unsigned i = 0; i < sv->n_workers; i++) {
        weir_worker_dispose(&sv->workers[i]);
    }
    weir_audit_stop();
    weir_admin_close(&sv->admin);
    weir_export_close(sv->export);
    if (is_started) {
        uv_close((uv_handle_t *)&sv->on_term, on_handle_closed);
        uv_close((uv_handle_t *)&sv->on_int, on_handle_closed);
        uv_close((uv_handle_t *)&sv->on_hup, on_handle_closed);
        uv_close((uv_handle_t *)&sv->on_usr1, on_handle_closed);
        uv_close((uv_handle_t *)&sv->on_usr2, on_handle_closed);
        /* The end has begun: one more signal must not make it look like a crash. */
        signal(SIGTERM, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        signal(SIGUSR1, SIG_IGN);
        signal(SIGUSR2, SIG_IGN);
    }
    if (sv->is_watching) {
        weir_watch_close(&sv->watch, NULL, NULL);
    }
    leave_if_building(sv);
    weir_loop_dispose(&sv->loop);
    weir_admin_dispose(&sv->admin);
    weir_export_free(sv->export);
    weir_env_unref(sv->env);
    free(sv->workers);
}

/* Logs the address of the playground page, for the person who has just started the server. */
static void tell_playground(const struct server *sv)
{
    bool is_any = strcmp(sv->host, "0.0.0.0") == 0 || strcmp(sv->host, "::") == 0;
    bool is_v6 = strchr(sv->host, ':') != NULL;
    char address[320];
    if (!sv->env->conf->playground) {
        return;
    }
    const char *host = is_any ? "localhost" : sv->host;
    snprintf(address, sizeof address, is_v6 && !is_any ? "%s://[%s]:%u/" : "%s://%s:%u/",
             sv->env->tls != NULL ? "https" : "http", host, sv->workers[0].listener.port);
    WEIR_LOG_INFO("server", NULL, "playground", weir_log_cstr("address", address));
}

static struct weir_env *first_env(const struct weir_server_options *options)
{
    struct weir_conf_problems problems = {0};
    struct weir_env *env = weir_server_load(options, &problems);
    log_problems(&problems);
    weir_conf_problems_dispose(&problems);
    return env;
}

/* Too few descriptors are an error now, with what to do about it, and not a failure under load. */
static int divide_descriptors(unsigned n_workers, struct weir_fds_room *room)
{
    int rc = weir_fds_init((size_t)n_workers + 1, room);
    if (rc != 0) {
        WEIR_LOG_ERROR("server", NULL,
                       "too few file descriptors: raise the limit of open files (ulimit -n, "
                       "LimitNOFILE= of systemd) or start fewer workers (--workers)",
                       weir_log_u64("limit", room->limit), weir_log_u64("needed", room->needed),
                       weir_log_u64("workers", n_workers));
    }
    return rc;
}

static void tell_room(const struct weir_fds_room *room, const struct weir_env *env)
{
    if (room->callers < env->conf->limits.max_connections) {
        WEIR_LOG_INFO("server", NULL,
                      "the limit of open files allows fewer connections than "
                      "limits.max_connections",
                      weir_log_u64("connections", room->callers),
                      weir_log_u64("max_connections", env->conf->limits.max_connections),
                      weir_log_u64("open_files", room->limit));
    }
}

static unsigned count_workers(const struct weir_server_options *options)
{
    unsigned n =
        options->n_workers != 0 ? options->n_workers : (unsigned)uv_available_parallelism();
    return n != 0 ? n : 1;
}

static const char *host_of(const struct weir_server_options *options, const struct weir_env *env)
{
    if (options->host != NULL) {
        return options->host;
    }
    return env->conf->is_embedded ? "127.0.0.1" : "0.0.0.0";
}

/* From the first listener to the end. */
static bool serve(struct server *sv)
{
    bool is_started = set_audit(sv->env->conf) && start_admin(sv) == 0 && start_export(sv) == 0 &&
                      is_world_well(sv) && start_workers(sv) == 0;
    if (is_started) {
        start_listening_to_the_outside(sv);
        sv->admin.state = WEIR_ADMIN_READY;
        WEIR_LOG_INFO("server", NULL, "ready", weir_log_cstr("version", WEIR_VERSION),
                      weir_log_cstr("config", sv->env->conf->file),
                      weir_log_cstr("revision", sv->env->conf->revision));
        tell_playground(sv);
        weir_notify_ready();
        weir_loop_run(&sv->loop);
    }
    close_all(sv, is_started);
    if (is_started) {
        WEIR_LOG_INFO("server", NULL, "stopped");
    }
    return is_started;
}

int weir_server_run(const struct weir_server_options *options)
{
    struct weir_fds_room room;
    unsigned n_workers = count_workers(options);
    if (divide_descriptors(n_workers, &room) != 0) {
        return 1;
    }
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of its write, not the end */
    signal(SIGHUP, SIG_IGN); /* a reload before there is something to reload; the loop takes over */
    weir_stats_declare();
    weir_genai_declare(options->has_latest_genai);
    weir_audit_declare();
    struct weir_env *env = first_env(options);
    if (env == NULL) {
        return 1;
    }
    weir_stats_revision(env->conf->revision);
    struct server sv = {
        .options = options, .host = host_of(options, env), .env = env, .n_workers = n_workers};
    int rc = weir_loop_init(&sv.loop);
    if (rc != 0) {
        WEIR_LOG_ERROR("server", NULL, "cannot start", weir_log_cstr("why", weir_err_text(rc)));
        weir_env_unref(env);
        return 1;
    }
    tell_room(&room, env);
    sv.rebuild = (struct weir_rebuild){
        .loop = &sv.loop, .options = options, .on_built = on_built, .ctx = &sv};
    sv.workers = weir_mem_array(sv.n_workers, sizeof *sv.workers);
    return serve(&sv) ? 0 : 1;
}
