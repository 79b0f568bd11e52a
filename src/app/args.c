#include "app/args.h"

#include "app/flags.h"
#include "app/version.h"
#include "base/assert.h"
#include "base/err.h"
#include "conf/conf_near.h"
#include "server/export_where.h"

enum { DEFAULT_HTTP_PORT = 8033, DEFAULT_HEALTH_PORT = 8034, MAX_WORKERS = 1024, HTTPS_PORT = 443 };
enum { MAX_INTERVAL_MS = 24 * 60 * 60 * 1000 };

/* The result, and what only parsing needs to remember. */
struct state {
    struct weir_args args;
    bool wants_help;
    bool wants_version;
    bool has_log_level;
    bool has_log_format;
    enum weir_args_protocol otlp_protocol; /* of the signals that have none of their own */
};

static void warn(struct weir_args *args, const char *text)
{
    WEIR_ASSERT(args->n_warnings < WEIR_ARGS_MAX_WARNINGS);
    args->warnings[args->n_warnings++] = text;
}

static bool on_log_level(void *target, const char *value)
{
    struct state *s = target;
    s->has_log_level = true;
    return weir_log_parse_level(weir_slice_cstr(value), &s->args.log_level) == 0;
}

static bool on_log_format(void *target, const char *value)
{
    struct state *s = target;
    s->has_log_format = weir_log_parse_format(weir_slice_cstr(value), &s->args.log_format) == 0;
    return s->has_log_format;
}

static bool on_otlp_export(void *target, const char *value)
{
    struct weir_args *args = &((struct state *)target)->args;
    args->otlp_traces = false;
    args->otlp_metrics = false;
    for (struct weir_slice rest = weir_slice_cstr(value); rest.p != NULL;) {
        struct weir_slice word = weir_slice_trim(weir_slice_cut(&rest, ','));
        if (weir_slice_eq_cstr(word, "traces")) {
            args->otlp_traces = true;
        } else if (weir_slice_eq_cstr(word, "metrics")) {
            args->otlp_metrics = true;
        } else {
            return false;
        }
    }
    return true;
}

/* The standard variable says http/protobuf where the flag says http. */
static bool read_protocol(const char *value, enum weir_args_protocol *out)
{
    bool is_http = strcmp(value, "http") == 0 || strcmp(value, "http/protobuf") == 0;
    *out = is_http ? WEIR_ARGS_OTLP_HTTP : WEIR_ARGS_OTLP_GRPC;
    return is_http || strcmp(value, "grpc") == 0;
}

static bool on_otlp_protocol(void *target, const char *value)
{
    return read_protocol(value, &((struct state *)target)->otlp_protocol);
}

static bool on_otlp_traces_protocol(void *target, const char *value)
{
    return read_protocol(value, &((struct state *)target)->args.otlp_traces_protocol);
}

static bool on_otlp_metrics_protocol(void *target, const char *value)
{
    return read_protocol(value, &((struct state *)target)->args.otlp_metrics_protocol);
}

static bool is_url(const char *value)
{
    struct weir_export_where where;
    return weir_export_where_parse(weir_slice_cstr(value), &where) == 0;
}

static bool on_otlp_endpoint(void *target, const char *value)
{
    ((struct state *)target)->args.otlp_endpoint = value;
    return is_url(value);
}

static bool on_otlp_traces_endpoint(void *target, const char *value)
{
    ((struct state *)target)->args.otlp_traces_endpoint = value;
    return is_url(value);
}

static bool on_otlp_metrics_endpoint(void *target, const char *value)
{
    ((struct state *)target)->args.otlp_metrics_endpoint = value;
    return is_url(value);
}

#define AT(field) .offset = offsetof(struct state, field)
#define TEXT(field) .kind = WEIR_FLAG_TEXT, AT(field)
#define SWITCH(field) .kind = WEIR_FLAG_SWITCH, AT(field)
#define NUMBER(field, min_, max_) .kind = WEIR_FLAG_NUMBER, AT(field), .min = (min_), .max = (max_)
#define CALL(call_, expected_) .kind = WEIR_FLAG_CALL, .call = (call_), .expected = (expected_)

#define LEVELS "one of trace, debug, info, warn, error, off"
#define FORMATS "one of terminal, full, compact, pretty, json"
#define SIGNALS "a list of traces and metrics, such as traces,metrics"
#define TELEMETRY "Telemetry"
#define PROTOCOL "PROTOCOL"
#define PROTOCOLS "grpc or http"
#define URL "an http:// or https:// URL, such as http://localhost:4317"

#define ENV(name_) .env = #name_

static const struct weir_flag flags[] = {
    {.name = "config",
     .alias = "config-path",
     ENV(ORCHESTRATOR_CONFIG),
     TEXT(args.config_path),
     .group = "Configuration",
     .value = "PATH",
     .help = "configuration file, also --config-path",
     .otherwise = "a built-in demonstration"},
    {.name = "check-config",
     SWITCH(args.check_config),
     .group = "Configuration",
     .help = "print every problem with file and line, exit 0 or 1"},

    {.name = "host",
     ENV(WEIR_HOST),
     TEXT(args.host),
     .group = "Listening",
     .value = "ADDRESS",
     .help = "address to listen on",
     .otherwise = "0.0.0.0, without --config 127.0.0.1"},
    {.name = "http-port",
     ENV(HTTP_PORT),
     NUMBER(args.http_port, 0, 65535),
     .group = "Listening",
     .value = "N",
     .help = "port of the API; 0 picks a free one and logs it at any level",
     .otherwise = "8033"},
    {.name = "health-http-port",
     ENV(HEALTH_HTTP_PORT),
     NUMBER(args.health_http_port, 0, 65535),
     .group = "Listening",
     .value = "N",
     .help = "port of health, info and metrics; 0 likewise",
     .otherwise = "8034"},
    {.name = "tls-cert-path",
     ENV(TLS_CERT_PATH),
     TEXT(args.tls_cert_path),
     .group = "Listening",
     .value = "PATH",
     .help = "certificate chain in PEM; turns on TLS"},
    {.name = "tls-key-path",
     ENV(TLS_KEY_PATH),
     TEXT(args.tls_key_path),
     .group = "Listening",
     .value = "PATH",
     .help = "its private key in PEM"},
    {.name = "tls-client-ca-cert-path",
     ENV(TLS_CLIENT_CA_CERT_PATH),
     TEXT(args.tls_client_ca_cert_path),
     .group = "Listening",
     .value = "PATH",
     .help = "accept only callers with a certificate of this CA"},

    {.name = "workers",
     ENV(WEIR_WORKERS),
     NUMBER(args.workers, 1, MAX_WORKERS),
     .group = "Running",
     .value = "N",
     .help = "worker threads",
     .otherwise = "one per core"},
    {.name = "start-up-health-check",
     ENV(START_UP_HEALTH_CHECK),
     SWITCH(args.start_up_health_check),
     .group = "Running",
     .help = "do not start while a service is unhealthy"},

    {.name = "log-level",
     ENV(LOG_LEVEL),
     CALL(on_log_level, LEVELS),
     .group = "Logging",
     .value = "LEVEL",
     .help = "trace, debug, info, warn, error or off",
     .otherwise = "info"},
    {.name = "log-format",
     ENV(LOG_FORMAT),
     CALL(on_log_format, FORMATS),
     .is_variable_loose = true,
     .group = "Logging",
     .value = "FORMAT",
     .help = "terminal, full, compact, pretty or json",
     .otherwise = "terminal on a terminal, else json"},
    {.name = "quiet",
     .letter = 'q',
     ENV(QUIET),
     SWITCH(args.quiet),
     .group = "Logging",
     .help = "log errors only"},

    {.name = "otlp-export",
     ENV(OTLP_EXPORT),
     CALL(on_otlp_export, SIGNALS),
     .group = TELEMETRY,
     .value = "WHAT",
     .help = "traces, metrics or traces,metrics",
     .otherwise = "nothing"},
    {.name = "otlp-endpoint",
     ENV(OTEL_EXPORTER_OTLP_ENDPOINT),
     CALL(on_otlp_endpoint, URL),
     .group = TELEMETRY,
     .value = "URL",
     .help = "collector of both",
     .otherwise = "localhost:4317, http: 4318"},
    {.name = "otlp-traces-endpoint",
     ENV(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT),
     CALL(on_otlp_traces_endpoint, URL),
     .group = TELEMETRY,
     .value = "URL",
     .help = "collector of traces"},
    {.name = "otlp-metrics-endpoint",
     ENV(OTEL_EXPORTER_OTLP_METRICS_ENDPOINT),
     CALL(on_otlp_metrics_endpoint, URL),
     .group = TELEMETRY,
     .value = "URL",
     .help = "collector of metrics"},
    {.name = "otlp-protocol",
     ENV(OTEL_EXPORTER_OTLP_PROTOCOL),
     CALL(on_otlp_protocol, PROTOCOLS),
     .group = TELEMETRY,
     .value = PROTOCOL,
     .help = "grpc or http, for both",
     .otherwise = "grpc"},
    {.name = "otlp-traces-protocol",
     ENV(OTEL_EXPORTER_OTLP_TRACES_PROTOCOL),
     CALL(on_otlp_traces_protocol, PROTOCOLS),
     .group = TELEMETRY,
     .value = PROTOCOL,
     .help = "for traces"},
    {.name = "otlp-metrics-protocol",
     ENV(OTEL_EXPORTER_OTLP_METRICS_PROTOCOL),
     CALL(on_otlp_metrics_protocol, PROTOCOLS),
     .group = TELEMETRY,
     .value = PROTOCOL,
     .help = "for metrics"},
    {.name = "otlp-service-name",
     ENV(OTLP_SERVICE_NAME),
     TEXT(args.otlp_service_name),
     .group = TELEMETRY,
     .value = "NAME",
     .help = "name to report under",
     .otherwise = "weir"},

    {.name = "help", .letter = 'h', SWITCH(wants_help), .group = "Other", .help = "this text"},
    {.name = "version",
     .letter = 'V',
     SWITCH(wants_version),
     .group = "Other",
     .help = "print the version, its commit and the libraries"},
};

static const char usage[] =
    "weir " WEIR_VERSION ", a guardrails gateway for language-model traffic\n"
    "\n"
    "Usage:\n"
    "  weir [serve] [FLAGS]                   start the server\n"
    "  weir detect [FLAGS] [FILE|FOLDER]...   run the built-in detectors on texts, print findings\n"
    "  weir audit verify [FLAGS] FILE...      check that no line of audit files was changed\n"
    "  weir check-services [FLAGS]            ask every service of the configuration, print a "
    "table\n"
    "\n"
    "`weir detect --help` and `weir audit --help` show their own flags; these are the server's.\n"
    "Flags are written --flag VALUE or --flag=VALUE. Most have an environment variable, shown in\n"
    "brackets; a flag wins over its variable.\n";

static const struct {
    const char *name;
    enum weir_args_command command;
} commands[] = {
    {"serve", WEIR_ARGS_SERVE}, {"detect", WEIR_ARGS_DETECT},
    {"audit", WEIR_ARGS_AUDIT}, {"check-services", WEIR_ARGS_CHECK_SERVICES},
    {"help", WEIR_ARGS_HELP},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static int refuse(struct weir_args *args, const char *what)
{
    args->message = weir_arena_printf(&args->arena, "weir: %s\nTry `weir --help`.\n", what);
    return WEIR_EINVAL;
}

static int find_command(struct weir_args *args, const char *word)
{
    if (strcmp(word, "mock") == 0) { /* until 0.2: says where it went */
        return refuse(args,
                      "`weir mock` is a program of its own now, weir-mock, and not installed: "
                      "in the source tree `make build` makes build/release/weir-mock");
    }
    struct weir_conf_near near;
    weir_conf_near_init(&near, weir_slice_cstr(word));
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(word, commands[i].name) == 0) {
            args->command = commands[i].command;
            return 0;
        }
        weir_conf_near_offer(&near, weir_slice_cstr(commands[i].name));
    }
    const char *hint = near.best.p != NULL
                           ? weir_arena_printf(&args->arena, "; did you mean `%s`?", near.best.p)
                           : "; commands are serve, detect, audit and check-services";
    return refuse(args, weir_arena_printf(&args->arena, "unknown command `%.60s`%s", word, hint));
}

/* Flags, perhaps a command, and for a command with the server's flags more of them; detect reads
 * its own. */
static int parse_words(const struct weir_args_input *in, struct weir_flags *f,
                       struct weir_args *args)
{
    int at = 1;
    if (weir_flags_parse(f, in->argc, in->argv, &at) != 0) {
        return refuse(args, f->message);
    }
    if (at >= in->argc) {
        return 0;
    }
    int err = find_command(args, in->argv[at]);
    if (err != 0) {
        return err;
    }
    at++;
    if (args->command != WEIR_ARGS_SERVE && args->command != WEIR_ARGS_CHECK_SERVICES) {
        args->argc = in->argc - at;
        args->argv = in->argv + at;
        return 0;
    }
    if (weir_flags_parse(f, in->argc, in->argv, &at) != 0) {
        return refuse(args, f->message);
    }
    if (at < in->argc) {
        return refuse(args,
                      weir_arena_printf(&args->arena, "unexpected argument `%.60s`", in->argv[at]));
    }
    return 0;
}

/* RUST_LOG=info is understood; RUST_LOG=info,hyper=warn is another program's business. */
static void read_rust_log(const struct weir_args_input *in, struct weir_args *args)
{
    const char *value = in->env(in->env_ctx, "RUST_LOG");
    if (value == NULL || value[0] == '\0') {
        return;
    }
    if (weir_log_parse_level(weir_slice_cstr(value), &args->log_level) != 0) {
        args->log_level = WEIR_LOG_LEVEL_INFO;
        warn(args, "RUST_LOG is not a plain level and is ignored; use LOG_LEVEL");
    }
}

/* A variable of OpenTelemetry's own, in milliseconds, that has no flag. */
static int read_ms(const struct weir_args_input *in, struct weir_args *args, const char *name,
                   uint32_t *out)
{
    const char *value = in->env(in->env_ctx, name);
    uint64_t ms;
    if (value == NULL || value[0] == '\0') {
        return 0;
    }
    if (weir_slice_u64(weir_slice_cstr(value), &ms) != 0 || ms < 1 || ms > MAX_INTERVAL_MS) {
        return refuse(args, weir_arena_printf(&args->arena,
                                              "environment variable %s: `%.60s` is not a number "
                                              "from 1 to %d",
                                              name, value, MAX_INTERVAL_MS));
    }
    *out = (uint32_t)ms;
    return 0;
}

/* Likewise a text; NULL where it is not set or empty. */
static const char *text_of(const struct weir_args_input *in, const char *name)
{
    const char *value = in->env(in->env_ctx, name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* How exports are compressed: gzip, or none. */
static int read_compression(const struct weir_args_input *in, struct weir_args *args)
{
    static const char name[] = "OTEL_EXPORTER_OTLP_COMPRESSION";
    const char *value = text_of(in, name);
    args->otlp_gzip = value != NULL && strcmp(value, "gzip") == 0;
    if (value == NULL || args->otlp_gzip || strcmp(value, "none") == 0) {
        return 0;
    }
    return refuse(args, weir_arena_printf(&args->arena,
                                          "environment variable %s: `%.60s` is not gzip or none",
                                          name, value));
}

/* Conventions whose newer form is asked for; those of others are their business. */
static bool has_opted_in(const struct weir_args_input *in, const char *what)
{
    const char *value = text_of(in, "OTEL_SEMCONV_STABILITY_OPT_IN");
    struct weir_slice rest = value != NULL ? weir_slice_cstr(value) : (struct weir_slice){0};
    while (rest.p != NULL) {
        if (weir_slice_eq_cstr(weir_slice_trim(weir_slice_cut(&rest, ',')), what)) {
            return true;
        }
    }
    return false;
}

static int read_intervals(const struct weir_args_input *in, struct weir_args *args)
{
    int err = 0;
    if (args->otlp_traces) {
        err = read_ms(in, args, "OTEL_BSP_SCHEDULE_DELAY", &args->otlp_traces_delay_ms);
    }
    if (err == 0 && args->otlp_metrics) {
        err = read_ms(in, args, "OTEL_METRIC_EXPORT_INTERVAL", &args->otlp_metrics_interval_ms);
    }
    return err;
}

/* The URLs themselves were checked when they were read. */
static int check_endpoint(struct weir_args *args, const char *flag, const char *url)
{
    struct weir_export_where where;
    if (url == NULL || weir_export_where_parse(weir_slice_cstr(url), &where) != 0 || where.is_tls ||
        where.port != HTTPS_PORT) {
        return 0;
    }
    return refuse(args, weir_arena_printf(&args->arena,
                                          "%s: `%.60s` has the port of https:// and no TLS: write "
                                          "https://%.*s",
                                          flag, url, (int)where.host.n, where.host.p));
}

static int check_together(struct weir_args *args)
{
    int err = check_endpoint(args, "--otlp-endpoint", args->otlp_endpoint);
    err =
        err != 0 ? err : check_endpoint(args, "--otlp-traces-endpoint", args->otlp_traces_endpoint);
    err = err != 0 ? err
                   : check_endpoint(args, "--otlp-metrics-endpoint", args->otlp_metrics_endpoint);
    if (err != 0) {
        return err;
    }
    if ((args->tls_cert_path == NULL) != (args->tls_key_path == NULL)) {
        return refuse(args, "--tls-cert-path and --tls-key-path need each other");
    }
    if (args->tls_client_ca_cert_path != NULL && args->tls_cert_path == NULL) {
        return refuse(args, "--tls-client-ca-cert-path needs --tls-cert-path and --tls-key-path");
    }
    if (args->http_port != 0 && args->http_port == args->health_http_port) {
        return refuse(args, weir_arena_printf(&args->arena,
                                              "--http-port and --health-http-port are both %u",
                                              args->http_port));
    }
    return 0;
}

static void write_output(const struct weir_flags *f, struct weir_args *args)
{
    struct weir_buf text = {0};
    if (args->command == WEIR_ARGS_VERSION) {
        weir_version_write(&text);
    } else {
        weir_buf_append(&text, weir_slice_cstr(usage));
        weir_flags_help(f, &text);
    }
    args->output = weir_arena_dup(&args->arena, weir_buf_slice(&text)).p;
    weir_buf_dispose(&text);
}

/* What neither flag nor variable said. */
static void fill_defaults(const struct weir_args_input *in, struct state *s)
{
    if (!s->has_log_level) {
        read_rust_log(in, &s->args);
    }
    if (!s->has_log_format) {
        s->args.log_format = in->is_terminal ? WEIR_LOG_TERMINAL : WEIR_LOG_JSON;
    }
    if (s->args.otlp_traces_protocol == WEIR_ARGS_OTLP_UNSET) {
        s->args.otlp_traces_protocol = s->otlp_protocol;
    }
    if (s->args.otlp_metrics_protocol == WEIR_ARGS_OTLP_UNSET) {
        s->args.otlp_metrics_protocol = s->otlp_protocol;
    }
    if (s->args.host == NULL) {
        s->args.host = s->args.config_path != NULL ? "0.0.0.0" : "127.0.0.1";
    }
}

static int parse(const struct weir_args_input *in, struct weir_flags *f, struct state *s)
{
    struct weir_args *args = &s->args;
    int err = parse_words(in, f, args);
    if (err != 0) {
        return err;
    }
    if (s->wants_help || s->wants_version) {
        args->command = s->wants_help ? WEIR_ARGS_HELP : WEIR_ARGS_VERSION;
    }
    if (args->command == WEIR_ARGS_HELP || args->command == WEIR_ARGS_VERSION) {
        write_output(f, args);
        return 0;
    }
    if (args->command == WEIR_ARGS_DETECT || args->command == WEIR_ARGS_AUDIT) {
        return 0; /* no server, so none of its settings matter */
    }
    if (weir_flags_env(f, in->env, in->env_ctx) != 0) {
        return refuse(args, f->message);
    }
    if (f->warning != NULL) {
        warn(args, f->warning);
    }
    fill_defaults(in, s);
    args->otlp_headers = text_of(in, "OTEL_EXPORTER_OTLP_HEADERS");
    args->otlp_ca_path = text_of(in, "OTEL_EXPORTER_OTLP_CERTIFICATE");
    args->otlp_cert_path = text_of(in, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE");
    args->otlp_key_path = text_of(in, "OTEL_EXPORTER_OTLP_CLIENT_KEY");
    args->has_latest_genai = has_opted_in(in, "gen_ai_latest_experimental");
    err = args->otlp_traces || args->otlp_metrics ? read_compression(in, args) : 0;
    err = err != 0 ? err : read_intervals(in, args);
    return err != 0 ? err : check_together(args);
}

int weir_args_parse(const struct weir_args_input *in, struct weir_args *out)
{
    struct state s = {
        .args =
            {
                .http_port = DEFAULT_HTTP_PORT,
                .health_http_port = DEFAULT_HEALTH_PORT,
                .log_level = WEIR_LOG_LEVEL_INFO,
                .otlp_service_name = "weir",
            },
        .otlp_protocol = WEIR_ARGS_OTLP_GRPC,
    };
    struct weir_flags f = {
        .flags = flags,
        .n = sizeof flags / sizeof *flags,
        .target = &s,
        .arena = &s.args.arena,
    };
    int err = parse(in, &f, &s);
    *out = s.args;
    return err;
}

void weir_args_dispose(struct weir_args *args)
{
    weir_arena_dispose(&args->arena);
    *args = (struct weir_args){0};
}
