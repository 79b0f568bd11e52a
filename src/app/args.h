#ifndef WEIR_APP_ARGS_H
#define WEIR_APP_ARGS_H

#include "base/arena.h"
#include "conf/conf_load.h"
#include "obs/log.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The command line and environment of `weir` as one struct. Pure: arguments and an environment in,
 * a struct or a message out; nothing is printed and nothing exits. Texts are borrowed from argv and
 * the environment, which both outlive main.
 */
enum weir_args_command {
    WEIR_ARGS_SERVE, /* also without any command */
    WEIR_ARGS_DETECT,
    WEIR_ARGS_AUDIT,
    WEIR_ARGS_CHECK_SERVICES, /* with the flags of serve */
    WEIR_ARGS_HELP,           /* print `output`, exit 0 */
    WEIR_ARGS_VERSION,        /* likewise */
};

enum weir_args_protocol { WEIR_ARGS_OTLP_UNSET, WEIR_ARGS_OTLP_GRPC, WEIR_ARGS_OTLP_HTTP };
enum { WEIR_ARGS_MAX_WARNINGS = 2 };

struct weir_args_input {
    int argc;
    char *const *argv; /* with the program's name first */
    weir_conf_env_fn *env;
    void *env_ctx;
    bool is_terminal; /* standard error is one */
};

struct weir_args {
    enum weir_args_command command;
    int argc; /* detect, audit: what follows the command's name */
    char *const *argv;
    const char *output; /* help, version */

    const char *config_path; /* NULL: the embedded default */
    bool check_config;
    const char *host;          /* 0.0.0.0, or 127.0.0.1 with the embedded default */
    uint32_t http_port;        /* 0: any free one */
    uint32_t health_http_port; /* likewise */
    uint32_t workers;          /* 0: one per core */
    bool start_up_health_check;
    const char *tls_cert_path; /* NULL: plain */
    const char *tls_key_path;
    const char *tls_client_ca_cert_path; /* NULL: callers need no certificate */

    enum weir_log_level log_level;
    enum weir_log_format log_format;
    bool quiet;

    bool otlp_traces;
    bool otlp_metrics;
    enum weir_args_protocol otlp_traces_protocol; /* set, as the next */
    enum weir_args_protocol otlp_metrics_protocol;
    const char *otlp_endpoint; /* NULL: the protocol's own default */
    const char *otlp_traces_endpoint;
    const char *otlp_metrics_endpoint;
    const char *otlp_service_name;
    const char *otlp_headers; /* by variable only, as the next three; NULL: none */
    const char *otlp_ca_path;
    const char *otlp_cert_path;
    const char *otlp_key_path;
    bool otlp_gzip;
    bool has_latest_genai;         /* by OTEL_SEMCONV_STABILITY_OPT_IN */
    uint32_t otlp_traces_delay_ms; /* by variable only, as the next; 0: the default */
    uint32_t otlp_metrics_interval_ms;

    const char *warnings[WEIR_ARGS_MAX_WARNINGS]; /* things ignored, each worth a log line */
    size_t n_warnings;
    const char *message; /* after an error: for standard error, lines ended */
    struct weir_arena arena;
};

/*
 * 0, or WEIR_EINVAL with `out->message`; the process should then exit with WEIR_ARGS_EXIT_USAGE.
 * Dispose `out` in both cases.
 */
int weir_args_parse(const struct weir_args_input *in, struct weir_args *out);
void weir_args_dispose(struct weir_args *args);

enum { WEIR_ARGS_EXIT_USAGE = 2 };

#endif
