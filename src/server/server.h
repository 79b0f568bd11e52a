#ifndef WEIR_SERVER_SERVER_H
#define WEIR_SERVER_SERVER_H

#include "conf/conf_problem.h"
#include "obs/log.h"
#include "route/env.h"
#include "server/export.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The whole server: workers, health port, signals, reload, drain.
 *
 *   SIGTERM, SIGINT   drain: no new connections, running requests get limits.drain_timeout;
 *                     a second signal ends at once
 *   SIGHUP, or the configuration file changes: reload
 *   SIGUSR1   the audit log's file is opened again
 *   SIGUSR2   the log level is debug, and again what was configured
 */
struct weir_server_options {
    const char *config_path; /* NULL: the embedded default */
    const char *host;        /* NULL: 0.0.0.0, or 127.0.0.1 with the embedded default */
    uint16_t http_port;
    uint16_t health_port;
    unsigned n_workers; /* 0: one per core */
    const char *tls_cert_path;
    const char *tls_key_path;
    const char *tls_client_ca_path;
    bool start_up_health_check;
    enum weir_log_level log_level; /* what SIGUSR2 goes back to */
    struct weir_export_options export;
    bool has_latest_genai; /* server/genai.h: the newer names of metrics */
};

/* Runs until it is told to stop. 0, or 1 when it could not start (the reason was logged). */
int weir_server_run(const struct weir_server_options *options);

/*
 * Reads and checks the configuration and everything it refers to, TLS files included. NULL when
 * there is any error; `problems` has all of them.
 */
struct weir_env *weir_server_load(const struct weir_server_options *options,
                                  struct weir_conf_problems *problems);

#endif
