/* Services and TLS settings. */
#include "unit/conf/conf_harness.h"

static void expect_service(const char *inside, const char *lines)
{
    char text[1024];
    snprintf(text, sizeof text, "openai:\n  service: {%s}\n", inside);
    expect(text, lines);
}

static void test_defaults(void **state)
{
    (void)state;
    struct loaded l = load_clean("openai: {service: {hostname: h}}\n");
    const struct weir_conf_service *s = l.conf->openai.service;
    assert_int_equal(s->port, 8080);
    assert_true(s->is_default_port);
    assert_int_equal(s->path_prefix.s.n, 0);
    assert_null(s->tls);
    assert_int_equal(s->api_token.n, 0);
    assert_int_equal(s->max_retries, 3);
    assert_int_equal(s->request_timeout_ms, 600000);
    assert_int_equal(s->connect_timeout_ms, 10000);
    assert_int_equal(s->first_byte_timeout_ms, 120000);
    assert_int_equal(s->idle_timeout_ms, 120000);
    assert_int_equal(s->http2_keep_alive_interval_ms, 30000);
    assert_int_equal(s->keep_alive_timeout_ms, 30000);
    assert_int_equal(s->grpc_dns_probe_interval_ms, 10000);
    assert_null(l.conf->openai.health_service);
    drop(&l);
}

static void test_every_value(void **state)
{
    (void)state;
    struct loaded l = load_clean(
        "openai: {service: {hostname: h, port: 65535, path_prefix: a/b/, request_timeout: 1.5,\n"
        "  api_token: TOKEN, max_retries: 0, http2_keep_alive_interval: 0, keep_alive_timeout: 2,\n"
        "  grpc_dns_probe_interval: 3, connect_timeout: 0.25, first_byte_timeout: 4,\n"
        "  idle_timeout: 5}}\n");
    const struct weir_conf_service *s = l.conf->openai.service;
    assert_int_equal(s->port, 65535);
    assert_false(s->is_default_port);
    assert_string_equal(s->path_prefix.s.p, "/a/b");
    assert_string_equal(s->api_token.p, "s3cret");
    assert_string_equal(s->api_token_env.s.p, "TOKEN");
    assert_int_equal(s->max_retries, 0);
    assert_int_equal(s->request_timeout_ms, 1500);
    assert_int_equal(s->connect_timeout_ms, 250);
    assert_int_equal(s->http2_keep_alive_interval_ms, 0);
    assert_int_equal(s->keep_alive_timeout_ms, 2000);
    assert_int_equal(s->grpc_dns_probe_interval_ms, 3000);
    assert_int_equal(s->first_byte_timeout_ms, 4000);
    assert_int_equal(s->idle_timeout_ms, 5000);
    drop(&l);
}

static void test_default_ports(void **state)
{
    (void)state;
    struct loaded l = load_clean("generation: {provider: nlp, service: {hostname: h}}\n"
                                 "chunkers: {c: {service: {hostname: h}}}\n"
                                 "detectors: {d: {service: {hostname: h}, chunker_id: c,\n"
                                 "  health_service: {hostname: h}}}\n");
    assert_int_equal(l.conf->generation.service->port, 8085);
    assert_int_equal(l.conf->chunkers[0].service->port, 8085);
    assert_int_equal(l.conf->detectors[0].service->port, 8080);
    assert_int_equal(l.conf->detectors[0].health_service->port, 8080);
    drop(&l);
}

static void test_our_own_port(void **state)
{
    (void)state;
    expect("generation: {provider: tgis, service: {hostname: far.away}}\n",
           "c.yaml:1: error: the default port 8033 is our own: give the service a `port`\n");
    expect("generation: {provider: tgis, service: {hostname: far.away, port: 8033}}\n", "");
    expect("generation: {provider: tgis, service: {hostname: localhost, port: 8033}}\n",
           "c.yaml:1: error: port 8033 of this machine is our own\n");
    expect("openai: {service: {hostname: 127.0.0.1, port: 8033}}\n",
           "c.yaml:1: error: port 8033 of this machine is our own\n");
    struct loaded l = load_with((struct weir_conf_load_options){
        .text = WEIR_SLICE("generation: {provider: tgis, service: {hostname: h}}\n"),
        .name = "c.yaml",
        .own_http_port = 9000});
    assert_int_equal(l.err, 0);
    assert_int_equal(l.conf->generation.service->port, 8033);
    drop(&l);
}

static void test_ports(void **state)
{
    (void)state;
    expect_service("hostname: h, port: 0", "c.yaml:2: error: `port` must be an integer from 1 to "
                                           "65535, not the number `0`\n");
    expect_service("hostname: h, port: 65536", "c.yaml:2: error: `port` must be an integer from 1 "
                                               "to 65535, not the number `65536`\n");
    expect_service("hostname: h, port: 80.5", "c.yaml:2: error: `port` must be an integer from 1 "
                                              "to 65535, not the number `80.5`\n");
    expect_service("hostname: h, port: '80'", "c.yaml:2: error: `port` must be an integer from 1 "
                                              "to 65535, not the text `80`\n");
    expect_service("hostname: h, port: [80]", "c.yaml:2: error: `port` must be an integer from 1 "
                                              "to 65535, not a list\n");
    expect_service("hostname: h, port: 99999999999999999999",
                   "c.yaml:2: error: `port` must be an integer from 1 to 65535, not the number "
                   "`99999999999999999999`\n");
    expect_service("hostname: h, port: 0x1f90", "");
    expect_service("hostname: h, port: null", "");
}

static void test_host_names(void **state)
{
    (void)state;
    static const char *const good[] = {
        "localhost",   "a",     "a.b.c",       "my_service", "x-1.example.com.",
        "10.0.0.1",    "'::1'", "'[fe80::1]'", "1a.b",       "xn--bcher-kva.example",
        "\"${HOST}\"",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[128];
        snprintf(text, sizeof text, "hostname: %s", good[i]);
        expect_service(text, "");
    }
    static const char *const bad[] = {
        "a..b",      "-a",   "a-",  ".",    "a b", "10.0.0.300",
        "1.2.3",     "a:80", "a/b", "[::1", "::g", "b\xc3\xbc.example",
        "user@host",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[128];
        char lines[128];
        snprintf(text, sizeof text, "hostname: '%s'", bad[i]);
        snprintf(lines, sizeof lines, "c.yaml:2: error: `%s` is not a host name or address\n",
                 bad[i]);
        expect_service(text, lines);
    }
    expect_service("port: 1", "c.yaml:2: error: `hostname` is missing\n");
    expect_service("hostname: 5", "c.yaml:2: error: `hostname` must be a text, not the number "
                                  "`5`\n");
    expect_service("hostname: true", "c.yaml:2: error: `hostname` must be a text, not `true`\n");
    expect_service("hostname: ''", "c.yaml:2: error: `hostname` must not be empty\n");
}

static void test_long_labels(void **state)
{
    (void)state;
    char label[65];
    memset(label, 'a', 64);
    label[64] = '\0';
    char text[512];
    snprintf(text, sizeof text, "hostname: %.63s.b", label);
    expect_service(text, "");
    snprintf(text, sizeof text, "hostname: %s.b", label);
    char lines[256];
    snprintf(lines, sizeof lines, "c.yaml:2: error: `%.60s…` is not a host name or address\n",
             label);
    expect_service(text, lines);
    snprintf(text, sizeof text, "hostname: %.63s.%.63s.%.63s.%.63s", label, label, label, label);
    expect_service(text, lines);
}

static void test_path_prefixes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"/", ""}, {"/a", "/a"}, {"a", "/a"}, {"/a/b//", "/a/b"}, {"/a%20b", "/a%20b"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        snprintf(text, sizeof text, "openai: {service: {hostname: h, path_prefix: \"%s\"}}",
                 cases[i][0]);
        struct loaded l = load_clean(text);
        assert_string_equal(l.conf->openai.service->path_prefix.s.p, cases[i][1]);
        drop(&l);
    }
    expect_service("hostname: h, path_prefix: '/a?b'",
                   "c.yaml:2: error: `path_prefix` `/a?b` is not the path of a URL\n");
    expect_service("hostname: h, path_prefix: \"/a\\r\\nb: c\"",
                   "c.yaml:2: error: `path_prefix` `/a\\u{d}\\u{a}b: c` is not the path of a "
                   "URL\n");
}

static void test_durations(void **state)
{
    (void)state;
    expect_service("hostname: h, request_timeout: 0",
                   "c.yaml:2: error: `request_timeout` must be a number of seconds from 0.001 to "
                   "86400, not the number `0`\n");
    expect_service("hostname: h, request_timeout: 86401",
                   "c.yaml:2: error: `request_timeout` must be a number of seconds from 0.001 to "
                   "86400, not the number `86401`\n");
    expect_service("hostname: h, request_timeout: 10s",
                   "c.yaml:2: error: `request_timeout` must be a number of seconds from 0.001 to "
                   "86400, not the text `10s`\n");
    expect_service("hostname: h, request_timeout: .inf",
                   "c.yaml:2: error: `request_timeout` must be a number of seconds from 0.001 to "
                   "86400, not the number `.inf`\n");
    expect_service("hostname: h, request_timeout: .nan",
                   "c.yaml:2: error: `request_timeout` must be a number of seconds from 0.001 to "
                   "86400, not the number `.nan`\n");
    expect_service("hostname: h, request_timeout: 1e400",
                   "c.yaml:2: error: `request_timeout` must be a number of seconds from 0.001 to "
                   "86400, not the number `1e400`\n");
    expect_service("hostname: h, max_retries: 101",
                   "c.yaml:2: error: `max_retries` must be an integer from 0 to 100, not the "
                   "number `101`\n");
}

static void test_api_tokens(void **state)
{
    (void)state;
    expect_service("hostname: h, api_token: NOT_SET",
                   "c.yaml:2: error: environment variable `NOT_SET`, named by `api_token`, is not "
                   "set\n");
    expect_service("hostname: h, api_token: EMPTY",
                   "c.yaml:2: error: environment variable `EMPTY`, named by `api_token`, is not "
                   "set\n");
    expect_service("hostname: h, api_token: BAD_TOKEN",
                   "c.yaml:2: error: the value of environment variable `BAD_TOKEN` cannot be a "
                   "token: it has white space or other characters that a header cannot carry\n");
}

/* What is written in the wrong place may be a secret: it is not repeated. */
static void test_token_instead_of_its_name(void **state)
{
    (void)state;
    expect_service("hostname: h, api_token: sk-live-5f2d",
                   "c.yaml:2: error: `api_token` must be the name of an environment variable: "
                   "letters, digits and `_`, no digit first\n");
    expect_service("hostname: h, api_token: 5x",
                   "c.yaml:2: error: `api_token` must be the name of an environment variable: "
                   "letters, digits and `_`, no digit first\n");
}

static void test_tls(void **state)
{
    (void)state;
    struct loaded l = load_with(
        (struct weir_conf_load_options){.text = WEIR_SLICE("openai:\n"
                                                           "  service:\n"
                                                           "    hostname: h\n"
                                                           "    tls:\n"
                                                           "      cert_path: a.crt\n"
                                                           "      key_path: a.key\n"
                                                           "      client_ca_cert_path: ca.crt\n"),
                                        .name = "c.yaml",
                                        .skip_files = true});
    assert_int_equal(l.err, 0);
    const struct weir_conf_tls *tls = l.conf->openai.service->tls;
    assert_string_equal(tls->cert_path.s.p, "a.crt");
    assert_int_equal(tls->cert_path.at.line, 5);
    assert_string_equal(tls->key_path.s.p, "a.key");
    assert_int_equal(tls->key_path.at.line, 6);
    assert_string_equal(tls->client_ca_cert_path.s.p, "ca.crt");
    assert_string_equal(tls->at.file, "c.yaml");
    assert_int_equal(tls->at.line, 4);
    assert_false(tls->insecure);
    assert_ptr_equal(l.conf->tls[0], tls);
    drop(&l);

    expect_service("hostname: h, tls: {key_path: /dev/null}",
                   "c.yaml:2: error: `key_path` needs `cert_path` beside it\n");
    expect_service("hostname: h, tls: {cert_path: /dev/null}", "");
    expect_service("hostname: h, tls: {cert_path: nowhere/a.crt}",
                   "c.yaml:2: error: cannot read `nowhere/a.crt`: No such file or directory\n");
    expect_service("hostname: h, tls: [a]",
                   "c.yaml:2: error: `tls` must be a name or a mapping, not a list\n");
    expect_service("hostname: h, tls: a", "c.yaml:2: error: no tls entry is named `a`\n");
    expect_service("hostname: h, tls: {insecure: yes}",
                   "c.yaml:2: error: `insecure` must be true or false, not the text `yes`\n");
    expect("openai: {builtin: demo}\ntls: {a: 5}\n",
           "c.yaml:2: error: `tls` must be a mapping, not the number `5`\n");
}

static void test_tls_is_not_a_switch(void **state)
{
    (void)state;
    static const char *const on =
        "c.yaml:2: error: `tls` is not a switch: write `tls: {}` for TLS with the system's "
        "authorities, or the name of an entry of `tls:`\n";
    expect_service("hostname: h, tls: true", on);
    expect_service("hostname: h, port: 443, tls: On", on);
    expect_service("hostname: h, tls: false", "c.yaml:2: error: `tls` is not a switch: leave it "
                                              "out for a connection without TLS\n");
    expect_service("hostname: h, tls: 'true'", "c.yaml:2: error: no tls entry is named `true`\n");
    struct loaded l = load_clean("openai: {service: {hostname: h, tls: yes}}\n"
                                 "tls: {yes: {}, other: {}}\n");
    assert_true(l.conf->openai.service->tls->is_used);
    assert_false(l.conf->tls[1]->is_used);
    drop(&l);
}

static void test_the_port_of_https(void **state)
{
    (void)state;
    static const char *const wrong =
        "c.yaml:2: error: port 443 is for https://, and this service has no TLS: write `tls: {}` "
        "beside `port`, or `tls:` with the name of an entry of `tls:`\n";
    expect_service("hostname: h, port: 443", wrong);
    expect_service("hostname: h, port: 443, tls: {}", "");
    expect_service("hostname: h, port: 8443", "");
    expect("openai:\n"
           "  health_service: {hostname: h, port: 443}\n"
           "  service: {hostname: h, port: 443, tls: {insecure: true}}\n",
           wrong);
    expect_service("hostname: 'https://h/v1'",
                   "c.yaml:2: error: `https://h/v1` is not a host name or address: leave out the "
                   "scheme, and write the port and the path as `port` and `path_prefix`, and for "
                   "https:// `tls: {}`\n");
}

static void test_openai_section(void **state)
{
    (void)state;
    expect("openai: {}\n", "c.yaml:1: error: `openai` needs a `service` (or `builtin: demo`)\n");
    expect("openai: {builtin: demo, service: {hostname: h}}\n",
           "c.yaml:1: error: `builtin` and a service exclude each other\n");
    expect("openai: {builtin: demi}\n",
           "c.yaml:1: error: `builtin` must be `demo`, not `demi`; did you mean `demo`?\n");
    expect("openai: 5\n", "c.yaml:1: error: `openai` must be a mapping, not the number `5`\n");
    expect("openai: {builtin: demo}\nchat_completions: {builtin: demo}\n",
           "c.yaml:2: warning: `chat_completions` is deprecated: name it `openai`\n"
           "c.yaml:2: error: `chat_completions` and the section on line 1 are the same thing: keep "
           "`openai`\n");
    expect("openai: {service: 5}\n",
           "c.yaml:1: error: `service` must be a mapping, not the number `5`\n");
}

static void test_generation_section(void **state)
{
    (void)state;
    expect("generation: {}\n", "c.yaml:1: error: `provider` is missing\n"
                               "c.yaml:1: error: `service` is missing\n");
    expect(
        "generation: {provider: tgi, service: {hostname: h, port: 1}}\n",
        "c.yaml:1: error: `provider` must be `tgis` or `nlp`, not `tgi`; did you mean `tgis`?\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_value),
        cmocka_unit_test(test_default_ports),
        cmocka_unit_test(test_our_own_port),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_host_names),
        cmocka_unit_test(test_long_labels),
        cmocka_unit_test(test_path_prefixes),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_api_tokens),
        cmocka_unit_test(test_token_instead_of_its_name),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_tls_is_not_a_switch),
        cmocka_unit_test(test_the_port_of_https),
        cmocka_unit_test(test_openai_section),
        cmocka_unit_test(test_generation_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
