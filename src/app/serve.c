#include "app/serve.h"

#include "base/mem.h"
#include "io/heap.h"
#include "server/server.h"

#include <stdio.h>
#include <unistd.h>

/* A body of the usual limit with its JSON, and what runs beside it. */
enum { RESERVE_BYTES = 64 * 1024 * 1024 };

struct weir_server_options weir_serve_options(const struct weir_args *args)
{
    return (struct weir_server_options){
        .config_path = args->config_path,
        .host = args->host,
        .http_port = (uint16_t)args->http_port,
        .health_port = (uint16_t)args->health_http_port,
        .n_workers = args->workers,
        .tls_cert_path = args->tls_cert_path,
        .tls_key_path = args->tls_key_path,
        .tls_client_ca_path = args->tls_client_ca_cert_path,
        .start_up_health_check = args->start_up_health_check,
        .log_level = args->quiet ? WEIR_LOG_LEVEL_ERROR : args->log_level,
        .has_latest_genai = args->has_latest_genai,
        .export =
            {
                .traces = args->otlp_traces,
                .metrics = args->otlp_metrics,
                .is_traces_http = args->otlp_traces_protocol == WEIR_ARGS_OTLP_HTTP,
                .is_metrics_http = args->otlp_metrics_protocol == WEIR_ARGS_OTLP_HTTP,
                .endpoint = args->otlp_endpoint,
                .traces_endpoint = args->otlp_traces_endpoint,
                .metrics_endpoint = args->otlp_metrics_endpoint,
                .service_name = args->otlp_service_name,
                .headers = args->otlp_headers,
                .ca_path = args->otlp_ca_path,
                .cert_path = args->otlp_cert_path,
                .key_path = args->otlp_key_path,
                .is_gzip = args->otlp_gzip,
                .traces_delay_ms = args->otlp_traces_delay_ms,
                .metrics_interval_ms = args->otlp_metrics_interval_ms,
            },
    };
}

int weir_serve(const struct weir_args *args)
{
    weir_mem_keep_reserve(RESERVE_BYTES);
    weir_heap_share();
    weir_log_setup(&(struct weir_log_options){
        .fd = STDERR_FILENO,
        .level = args->quiet ? WEIR_LOG_LEVEL_ERROR : args->log_level,
        .format = args->log_format,
        .colour = WEIR_LOG_COLOUR_AUTO,
    });
    for (size_t i = 0; i < args->n_warnings; i++) {
        WEIR_LOG_WARN("app", NULL, args->warnings[i]);
    }
    struct weir_server_options options = weir_serve_options(args);
    return weir_server_run(&options);
}

int weir_serve_check_config(const struct weir_args *args)
{
    struct weir_server_options options = weir_serve_options(args);
    struct weir_conf_problems problems = {0};
    struct weir_env *env = weir_server_load(&options, &problems);
    struct weir_buf report = {0};
    const char *name = args->config_path != NULL ? args->config_path : "embedded configuration";
    weir_conf_problems_report(&problems, name, &report);
    fputs(weir_buf_cstr(&report), stdout);
    weir_buf_dispose(&report);
    weir_conf_problems_dispose(&problems);
    int status = env != NULL ? 0 : 1;
    weir_env_unref(env);
    return status;
}
