#include "unit/cmocka_all.h"

#include "app/args.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

enum { MAX_WORDS = 16 };

/* "NAME=value" pairs, NULL-terminated. */
static const char *lookup(void *ctx, const char *name)
{
    const char *const *vars = ctx;
    size_t n = strlen(name);
    for (; vars != NULL && *vars != NULL; vars++) {
        if (strncmp(*vars, name, n) == 0 && (*vars)[n] == '=') {
            return *vars + n + 1;
        }
    }
    return NULL;
}

/* The words of `line`, split at single spaces into `store`. */
static int parse_line(const char *line, const char *const *env, struct weir_args *args)
{
    static char store[512];
    static char *words[MAX_WORDS];
    int n = 0;
    words[n++] = "weir";
    snprintf(store, sizeof store, "%s", line);
    for (char *word = strtok(store, " "); word != NULL; word = strtok(NULL, " ")) {
        assert_true(n < MAX_WORDS);
        words[n++] = word;
    }
    struct weir_args_input in = {
        .argc = n, .argv = words, .env = lookup, .env_ctx = (void *)(uintptr_t)env};
    return weir_args_parse(&in, args);
}

static void expect_message(const char *line, const char *const *env, const char *first_line)
{
    struct weir_args args;
    assert_int_equal(parse_line(line, env, &args), WEIR_EINVAL);
    char want[512];
    snprintf(want, sizeof want, "weir: %s\nTry `weir --help`.\n", first_line);
    assert_string_equal(args.message, want);
    weir_args_dispose(&args);
}

static void test_nothing_given(void **state)
{
    (void)state;
    struct weir_args args;
    assert_int_equal(parse_line("", NULL, &args), 0);
    assert_int_equal(args.command, WEIR_ARGS_SERVE);
    assert_null(args.config_path);
    assert_string_equal(args.host, "127.0.0.1");
    assert_int_equal(args.http_port, 8033);
    assert_int_equal(args.health_http_port, 8034);
    assert_int_equal(args.workers, 0);
    assert_int_equal(args.log_level, WEIR_LOG_LEVEL_INFO);
    assert_int_equal(args.log_format, WEIR_LOG_JSON);
    assert_false(args.quiet || args.check_config || args.start_up_health_check);
    assert_false(args.otlp_traces || args.otlp_metrics);
    assert_string_equal(args.otlp_service_name, "weir");
    assert_null(args.tls_cert_path);
    assert_int_equal(args.n_warnings, 0);
    weir_args_dispose(&args);
}

static void test_terminal_gets_lines_for_people(void **state)
{
    (void)state;
    char *words[] = {"weir"};
    struct weir_args args;
    struct weir_args_input in = {.argc = 1, .argv = words, .env = lookup, .is_terminal = true};
    assert_int_equal(weir_args_parse(&in, &args), 0);
    assert_int_equal(args.log_format, WEIR_LOG_TERMINAL);
    weir_args_dispose(&args);
}

static void test_every_flag(void **state)
{
    (void)state;
    struct weir_args args;
    assert_int_equal(parse_line("--config a.yaml --http-port=0 --health-http-port 9 --host ::1 "
                                "--workers=3 --quiet --start-up-health-check --check-config",
                                NULL, &args),
                     0);
    assert_string_equal(args.config_path, "a.yaml");
    assert_int_equal(args.http_port, 0);
    assert_int_equal(args.health_http_port, 9);
    assert_string_equal(args.host, "::1");
    assert_int_equal(args.workers, 3);
    assert_true(args.quiet && args.start_up_health_check && args.check_config);
    weir_args_dispose(&args);

    assert_int_equal(parse_line("serve --config-path=b.yaml --tls-cert-path c --tls-key-path k "
                                "--tls-client-ca-cert-path=ca --log-level WARN --log-format pretty",
                                NULL, &args),
                     0);
    assert_string_equal(args.config_path, "b.yaml");
    assert_string_equal(args.host, "0.0.0.0");
    assert_string_equal(args.tls_cert_path, "c");
    assert_string_equal(args.tls_key_path, "k");
    assert_string_equal(args.tls_client_ca_cert_path, "ca");
    assert_int_equal(args.log_level, WEIR_LOG_LEVEL_WARN);
    assert_int_equal(args.log_format, WEIR_LOG_PRETTY);
    weir_args_dispose(&args);
}

static void test_telemetry_flags(void **state)
{
    (void)state;
    struct weir_args args;
    assert_int_equal(parse_line("--otlp-export=traces,metrics --otlp-endpoint http://c:4317 "
                                "--otlp-traces-endpoint=https://t --otlp-metrics-endpoint=http://m "
                                "--otlp-protocol http --otlp-service-name x",
                                NULL, &args),
                     0);
    assert_true(args.otlp_traces && args.otlp_metrics);
    assert_string_equal(args.otlp_endpoint, "http://c:4317");
    assert_string_equal(args.otlp_traces_endpoint, "https://t");
    assert_string_equal(args.otlp_metrics_endpoint, "http://m");
    assert_int_equal(args.otlp_traces_protocol, WEIR_ARGS_OTLP_HTTP);
    assert_int_equal(args.otlp_metrics_protocol, WEIR_ARGS_OTLP_HTTP);
    assert_string_equal(args.otlp_service_name, "x");
    weir_args_dispose(&args);

    const char *env[] = {"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTLP_EXPORT=metrics", NULL};
    assert_int_equal(parse_line("", env, &args), 0);
    assert_int_equal(args.otlp_traces_protocol, WEIR_ARGS_OTLP_HTTP);
    assert_int_equal(args.otlp_metrics_protocol, WEIR_ARGS_OTLP_HTTP);
    assert_false(args.otlp_traces);
    assert_true(args.otlp_metrics);
    assert_int_equal(args.otlp_metrics_interval_ms, 0);
    weir_args_dispose(&args);

    const char *times[] = {"OTEL_METRIC_EXPORT_INTERVAL=250", "OTEL_BSP_SCHEDULE_DELAY=70", NULL};
    assert_int_equal(parse_line("--otlp-export traces,metrics", times, &args), 0);
    assert_int_equal(args.otlp_metrics_interval_ms, 250);
    assert_int_equal(args.otlp_traces_delay_ms, 70);
    weir_args_dispose(&args);
}

static void test_compression_of_exports(void **state)
{
    (void)state;
    static const struct {
        const char *variable;
        const char *line;
        bool is_good, is_gzip;
    } rows[] = {
        {"OTEL_EXPORTER_OTLP_COMPRESSION=gzip", "--otlp-export traces", true, true},
        {"OTEL_EXPORTER_OTLP_COMPRESSION=none", "--otlp-export traces", true, false},
        {"OTEL_EXPORTER_OTLP_COMPRESSION=", "--otlp-export traces", true, false},
        {"OTEL_EXPORTER_OTLP_COMPRESSION=zstd", "--otlp-export metrics", false, false},
        {"OTEL_EXPORTER_OTLP_COMPRESSION=zstd", "", true, false}, /* nothing is exported */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct weir_args args;
        const char *env[] = {rows[i].variable, NULL};
        assert_int_equal(parse_line(rows[i].line, env, &args) == 0, rows[i].is_good);
        assert_int_equal(args.otlp_gzip, rows[i].is_gzip);
        bool is_named = args.message != NULL &&
                        strstr(args.message, "OTEL_EXPORTER_OTLP_COMPRESSION: `zstd`") != NULL;
        assert_int_equal(is_named, !rows[i].is_good);
        weir_args_dispose(&args);
    }
}

static void test_a_protocol_for_each_signal(void **state)
{
    (void)state;
    struct weir_args args;
    assert_int_equal(parse_line("", NULL, &args), 0);
    assert_int_equal(args.otlp_traces_protocol, WEIR_ARGS_OTLP_GRPC);
    assert_int_equal(args.otlp_metrics_protocol, WEIR_ARGS_OTLP_GRPC);
    weir_args_dispose(&args);

    assert_int_equal(parse_line("--otlp-metrics-protocol http", NULL, &args), 0);
    assert_int_equal(args.otlp_traces_protocol, WEIR_ARGS_OTLP_GRPC);
    assert_int_equal(args.otlp_metrics_protocol, WEIR_ARGS_OTLP_HTTP);
    weir_args_dispose(&args);

    const char *env[] = {"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
                         "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc",
                         "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=grpc", NULL};
    assert_int_equal(parse_line("--otlp-metrics-protocol=http/protobuf", env, &args), 0);
    assert_int_equal(args.otlp_traces_protocol, WEIR_ARGS_OTLP_GRPC);
    assert_int_equal(args.otlp_metrics_protocol, WEIR_ARGS_OTLP_HTTP);
    weir_args_dispose(&args);

    expect_message("--otlp-traces-protocol udp", NULL,
                   "--otlp-traces-protocol: `udp` is not grpc or http");
    const char *bad[] = {"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/json", NULL};
    expect_message("", bad,
                   "environment variable OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: `http/json` is not "
                   "grpc or http");
}

static void test_letters(void **state)
{
    (void)state;
    struct weir_args args;
    assert_int_equal(parse_line("-q", NULL, &args), 0);
    assert_true(args.quiet);
    weir_args_dispose(&args);
    assert_int_equal(parse_line("serve -V", NULL, &args), 0);
    assert_int_equal(args.command, WEIR_ARGS_VERSION);
    assert_ptr_equal(strstr(args.output, "weir " WEIR_VERSION), args.output);
    weir_args_dispose(&args);
    assert_int_equal(parse_line("-h", NULL, &args), 0);
    assert_non_null(strstr(args.output, "  -q, --quiet "));
    assert_non_null(strstr(args.output, "  -V, --version "));
    weir_args_dispose(&args);
}

/* Other programs have formats of other names; the variable is theirs as well as ours. */
static void test_a_log_format_that_is_none(void **state)
{
    (void)state;
    struct weir_args args;
    const char *env[] = {"LOG_FORMAT=logfmt", "RUST_LOG=info,hyper=warn", NULL};
    assert_int_equal(parse_line("", env, &args), 0);
    assert_int_equal(args.log_format, WEIR_LOG_JSON);
    assert_int_equal(args.n_warnings, 2);
    assert_string_equal(args.warnings[0],
                        "environment variable LOG_FORMAT: `logfmt` is not one of terminal, full, "
                        "compact, pretty, json; ignored");
    weir_args_dispose(&args);
    expect_message("--log-format logfmt", NULL,
                   "--log-format: `logfmt` is not one of terminal, full, compact, pretty, json");
}

static void test_environment(void **state)
{
    (void)state;
    const char *env[] = {"ORCHESTRATOR_CONFIG=e.yaml",
                         "HTTP_PORT=1",
                         "HEALTH_HTTP_PORT=2",
                         "WEIR_HOST=10.0.0.1",
                         "WEIR_WORKERS=4",
                         "QUIET=1",
                         "START_UP_HEALTH_CHECK=true",
                         "LOG_LEVEL=debug",
                         "LOG_FORMAT=compact",
                         "TLS_CERT_PATH=",
                         NULL};
    struct weir_args args;
    assert_int_equal(parse_line("", env, &args), 0);
    assert_string_equal(args.config_path, "e.yaml");
    assert_int_equal(args.http_port, 1);
    assert_int_equal(args.health_http_port, 2);
    assert_string_equal(args.host, "10.0.0.1");
    assert_int_equal(args.workers, 4);
    assert_true(args.quiet && args.start_up_health_check);
    assert_int_equal(args.log_level, WEIR_LOG_LEVEL_DEBUG);
    assert_int_equal(args.log_format, WEIR_LOG_COMPACT);
    assert_null(args.tls_cert_path);
    weir_args_dispose(&args);
}

static void test_flags_win(void **state)
{
    (void)state;
    /* Even over a variable that could not be used. */
    const char *env[] = {"HTTP_PORT=tcp://10.0.0.1:80", "QUIET=true", "LOG_LEVEL=error", NULL};
    struct weir_args args;
    assert_int_equal(parse_line("--http-port 5 --quiet=false --log-level trace", env, &args), 0);
    assert_int_equal(args.http_port, 5);
    assert_false(args.quiet);
    assert_int_equal(args.log_level, WEIR_LOG_LEVEL_TRACE);
    weir_args_dispose(&args);
}

static void test_last_of_two_wins(void **state)
{
    (void)state;
    struct weir_args args;
    assert_int_equal(parse_line("--http-port 5 serve --http-port 6", NULL, &args), 0);
    assert_int_equal(args.http_port, 6);
    weir_args_dispose(&args);
}

static void test_rust_log(void **state)
{
    (void)state;
    struct weir_args args;
    const char *plain[] = {"RUST_LOG=debug", NULL};
    assert_int_equal(parse_line("", plain, &args), 0);
    assert_int_equal(args.log_level, WEIR_LOG_LEVEL_DEBUG);
    assert_int_equal(args.n_warnings, 0);
    weir_args_dispose(&args);

    const char *complex[] = {"RUST_LOG=info,hyper=warn", NULL};
    assert_int_equal(parse_line("", complex, &args), 0);
    assert_int_equal(args.log_level, WEIR_LOG_LEVEL_INFO);
    assert_int_equal(args.n_warnings, 1);
    assert_string_equal(args.warnings[0],
                        "RUST_LOG is not a plain level and is ignored; use LOG_LEVEL");
    weir_args_dispose(&args);

    const char *both[] = {"RUST_LOG=info,hyper=warn", "LOG_LEVEL=warn", NULL};
    assert_int_equal(parse_line("", both, &args), 0);
    assert_int_equal(args.log_level, WEIR_LOG_LEVEL_WARN);
    assert_int_equal(args.n_warnings, 0);
    weir_args_dispose(&args);
}

static void test_commands_keep_their_words(void **state)
{
    (void)state;
    struct weir_args args;
    assert_int_equal(
        parse_line("--config c.yaml detect --detector regex --json in.txt", NULL, &args), 0);
    assert_int_equal(args.command, WEIR_ARGS_DETECT);
    assert_string_equal(args.config_path, "c.yaml");
    assert_int_equal(args.argc, 4);
    assert_string_equal(args.argv[0], "--detector");
    assert_string_equal(args.argv[3], "in.txt");
    weir_args_dispose(&args);

    assert_int_equal(parse_line("detect", NULL, &args), 0);
    assert_int_equal(args.command, WEIR_ARGS_DETECT);
    assert_int_equal(args.argc, 0);
    weir_args_dispose(&args);

    /* Their own help is theirs. */
    assert_int_equal(parse_line("detect --help", NULL, &args), 0);
    assert_int_equal(args.command, WEIR_ARGS_DETECT);
    assert_int_equal(args.argc, 1);
    weir_args_dispose(&args);
}

static void test_help_and_version(void **state)
{
    (void)state;
    struct weir_args args;
    const char *bad_env[] = {"HTTP_PORT=x", NULL};
    const char *lines[] = {"--help", "-h", "serve --help", "help", "--version --help"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(parse_line(lines[i], bad_env, &args), 0);
        assert_int_equal(args.command, WEIR_ARGS_HELP);
        assert_non_null(strstr(args.output, "--http-port N "));
        assert_non_null(strstr(args.output, "[HTTP_PORT; default: 8033]"));
        assert_non_null(strstr(args.output, "weir detect"));
        weir_args_dispose(&args);
    }
    assert_int_equal(parse_line("--version", bad_env, &args), 0);
    assert_int_equal(args.command, WEIR_ARGS_VERSION);
    assert_ptr_equal(strstr(args.output, "weir " WEIR_VERSION), args.output);
    weir_args_dispose(&args);
}

static void test_help_fits_the_screen(void **state)
{
    (void)state;
    struct weir_args args;
    assert_int_equal(parse_line("--help", NULL, &args), 0);
    struct weir_slice rest = weir_slice_cstr(args.output);
    while (rest.p != NULL) {
        assert_true(weir_slice_cut(&rest, '\n').n <= 100);
    }
    weir_args_dispose(&args);
}

static void test_wrong_words(void **state)
{
    (void)state;
    expect_message("--http-prot 1", NULL, "unknown flag --http-prot; did you mean --http-port?");
    expect_message("--frobnicate", NULL, "unknown flag --frobnicate");
    expect_message("-x", NULL, "unknown flag -x; flags begin with two dashes");
    expect_message("sreve", NULL, "unknown command `sreve`; did you mean `serve`?");
    expect_message("launch", NULL,
                   "unknown command `launch`; commands are serve, detect, audit and "
                   "check-services");
    expect_message("serve now", NULL, "unexpected argument `now`");
    expect_message("serve -- --quiet", NULL, "unexpected argument `--quiet`");
    expect_message("--http-port", NULL, "--http-port needs a value: a number from 0 to 65535");
}

static void test_the_mock_has_moved(void **state)
{
    (void)state;
    const char *lines[] = {"mock", "mock --port 8090", "--quiet mock --help"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        expect_message(lines[i], NULL,
                       "`weir mock` is a program of its own now, weir-mock, and not installed: in "
                       "the source tree `make build` makes build/release/weir-mock");
    }
}

static void test_wrong_values(void **state)
{
    (void)state;
    expect_message("--http-port 70000", NULL,
                   "--http-port: `70000` is not a number from 0 to 65535");
    expect_message("--http-port=-1", NULL, "--http-port: `-1` is not a number from 0 to 65535");
    expect_message("--http-port=8o33", NULL, "--http-port: `8o33` is not a number from 0 to 65535");
    expect_message("--workers 0", NULL, "--workers: `0` is not a number from 1 to 1024");
    expect_message("--log-level xyz", NULL,
                   "--log-level: `xyz` is not one of trace, debug, info, warn, error, off");
    expect_message("--log-format xml", NULL,
                   "--log-format: `xml` is not one of terminal, full, compact, pretty, json");
    expect_message("--config=", NULL, "--config: `` is not a word or path");
    expect_message("--quiet=maybe", NULL, "--quiet: `maybe` is not true or false");
    expect_message("--otlp-export traces,logs", NULL,
                   "--otlp-export: `traces,logs` is not a list of traces and metrics, such as "
                   "traces,metrics");
    expect_message("--otlp-endpoint c:4317", NULL,
                   "--otlp-endpoint: `c:4317` is not an http:// or https:// URL, such as "
                   "http://localhost:4317");
    expect_message("--otlp-traces-endpoint http://c:70000", NULL,
                   "--otlp-traces-endpoint: `http://c:70000` is not an http:// or https:// URL, "
                   "such as http://localhost:4317");
    expect_message("--otlp-traces-endpoint http://c:443/v1", NULL,
                   "--otlp-traces-endpoint: `http://c:443/v1` has the port of https:// and no TLS: "
                   "write https://c");
    expect_message("--otlp-protocol udp", NULL, "--otlp-protocol: `udp` is not grpc or http");
}

static void test_wrong_environment(void **state)
{
    (void)state;
    const char *port[] = {"HTTP_PORT=70000", NULL};
    expect_message("", port,
                   "environment variable HTTP_PORT: `70000` is not a number from 0 to 65535");
    const char *quiet[] = {"QUIET=yes", NULL};
    expect_message("", quiet, "environment variable QUIET: `yes` is not true or false");
    const char *level[] = {"LOG_LEVEL=loud", NULL};
    expect_message("", level,
                   "environment variable LOG_LEVEL: `loud` is not one of trace, debug, info, warn, "
                   "error, off");
}

static void test_flags_that_need_each_other(void **state)
{
    (void)state;
    expect_message("--tls-cert-path c", NULL, "--tls-cert-path and --tls-key-path need each other");
    expect_message("--tls-key-path k", NULL, "--tls-cert-path and --tls-key-path need each other");
    expect_message("--tls-client-ca-cert-path ca", NULL,
                   "--tls-client-ca-cert-path needs --tls-cert-path and --tls-key-path");
    expect_message("--http-port 1 --health-http-port 1", NULL,
                   "--http-port and --health-http-port are both 1");
    struct weir_args args;
    assert_int_equal(parse_line("--http-port 0 --health-http-port 0", NULL, &args), 0);
    weir_args_dispose(&args);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_given),
        cmocka_unit_test(test_terminal_gets_lines_for_people),
        cmocka_unit_test(test_every_flag),
        cmocka_unit_test(test_telemetry_flags),
        cmocka_unit_test(test_compression_of_exports),
        cmocka_unit_test(test_a_protocol_for_each_signal),
        cmocka_unit_test(test_letters),
        cmocka_unit_test(test_a_log_format_that_is_none),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_flags_win),
        cmocka_unit_test(test_last_of_two_wins),
        cmocka_unit_test(test_rust_log),
        cmocka_unit_test(test_commands_keep_their_words),
        cmocka_unit_test(test_help_and_version),
        cmocka_unit_test(test_help_fits_the_screen),
        cmocka_unit_test(test_wrong_words),
        cmocka_unit_test(test_the_mock_has_moved),
        cmocka_unit_test(test_wrong_values),
        cmocka_unit_test(test_wrong_environment),
        cmocka_unit_test(test_flags_that_need_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
