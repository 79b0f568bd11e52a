/* The top level, limits, auth and headers. */
#include "conf/conf_near.h"
#include "unit/conf/conf_harness.h"

#define DEMO "openai: {builtin: demo}\n"

#define HASH_8 "abababab"
#define OPS_HASH HASH_8 HASH_8 HASH_8 HASH_8 HASH_8 HASH_8 HASH_8 HASH_8

static void test_unknown_keys(void **state)
{
    (void)state;
    expect(DEMO "\n\nlimit: {}\n",
           "c.yaml:4: error: unknown key `limit`; did you mean `limits`?\n");
    expect(DEMO "Playground: true\n",
           "c.yaml:2: error: unknown key `Playground`; did you mean `playground`?\n");
    expect(DEMO "trust-traceparent: true\n",
           "c.yaml:2: error: unknown key `trust-traceparent`; did you mean `trust_traceparent`?\n");
    expect(DEMO "auth: {kes: x}\n", "c.yaml:2: error: unknown key `kes`; did you mean `keys`?\n"
                                    "c.yaml:2: error: `auth` needs `keys` or `keys_env`\n");
}

static void test_compat_makes_them_warnings(void **state)
{
    (void)state;
    expect(DEMO "limit: {}\ncompat: fms\n",
           "c.yaml:2: warning: unknown key `limit`; did you mean `limits`?\n"
           "c.yaml:3: warning: `compat: fms` lets requests without detectors pass unguarded\n");
    expect(DEMO "compat: fsm\n",
           "c.yaml:2: error: `compat` must be `adr` or `fms`, not `fsm`; did you mean `fms`?\n");
    /* Only unknown keys: a wrong value stays wrong. */
    expect(DEMO "compat: fms\nplayground: 5\n",
           "c.yaml:2: warning: `compat: fms` lets requests without detectors pass unguarded\n"
           "c.yaml:3: error: `playground` must be true or false, not the number `5`\n");
}

static void test_router(void **state)
{
    (void)state;
    expect(DEMO "router: {enabled: false, queue: 5}\n",
           "c.yaml:2: warning: `router` is not supported; with `enabled: false` it is ignored\n");
    const char *error =
        "c.yaml:2: error: `router` is not supported: remove it or write `enabled: false`\n";
    expect(DEMO "router: {enabled: true}\n", error);
    expect(DEMO "router: {}\n", error);
    expect(DEMO "router: [enabled]\n", error);
    expect(DEMO "compat: fms\nrouter: {enabled: true}\n",
           "c.yaml:2: warning: `compat: fms` lets requests without detectors pass unguarded\n"
           "c.yaml:3: error: `router` is not supported: remove it or write `enabled: false`\n");
}

static void test_switches(void **state)
{
    (void)state;
    struct loaded l = load_clean(DEMO "public_api: false\nplayground: true\n"
                                      "trust_traceparent: true\naggregation: aligned\n"
                                      "compat: adr\n");
    assert_false(l.conf->public_api);
    assert_true(l.conf->playground);
    assert_true(l.conf->trust_traceparent);
    assert_int_equal(l.conf->aggregation, WEIR_CONF_ALIGNED);
    assert_string_equal(weir_conf_aggregation_name(l.conf->aggregation), "aligned");
    drop(&l);
    l = load_clean(DEMO);
    assert_true(l.conf->public_api);
    assert_false(l.conf->playground || l.conf->trust_traceparent || l.conf->is_embedded);
    assert_int_equal(l.conf->aggregation, WEIR_CONF_MAX_PROCESSED_INDEX);
    assert_int_equal(l.conf->compat, WEIR_CONF_ADR);
    drop(&l);
    expect(DEMO "detector_concurrent_requests: 0\n",
           "c.yaml:2: error: `detector_concurrent_requests` must be an integer from 1 to 10000, "
           "not the number `0`\n");
}

static void test_cache(void **state)
{
    (void)state;
    struct loaded l = load_clean(DEMO);
    assert_int_equal(l.conf->cache.max_bytes, 64 << 20);
    assert_int_equal(l.conf->cache.ttl_ms, 300000);
    drop(&l);
    l = load_clean(DEMO "cache: {max_bytes: 2KiB, ttl: 0.5}\n");
    assert_int_equal(l.conf->cache.max_bytes, 2048);
    assert_int_equal(l.conf->cache.ttl_ms, 500);
    drop(&l);
    l = load_clean(DEMO "cache: {max_bytes: 5000}\n");
    assert_int_equal(l.conf->cache.max_bytes, 5000);
    drop(&l);
    l = load_clean(DEMO "cache: false\n");
    assert_int_equal(l.conf->cache.max_bytes, 0);
    drop(&l);
    expect(
        DEMO "cache: {max_bytes: 64MB}\n",
        "c.yaml:2: error: `max_bytes` must be a size such as `64MiB`, or a number of bytes, from "
        "1KiB to 1024GiB, not the text `64MB`\n");
    expect(
        DEMO "cache: {max_bytes: 10}\n",
        "c.yaml:2: error: `max_bytes` must be a size such as `64MiB`, or a number of bytes, from "
        "1KiB to 1024GiB, not the number `10`\n");
    expect(
        DEMO "cache: {max_bytes: -1MiB, ttl: 0}\n",
        "c.yaml:2: error: `max_bytes` must be a size such as `64MiB`, or a number of bytes, from "
        "1KiB to 1024GiB, not the text `-1MiB`\n"
        "c.yaml:2: error: `ttl` must be a number of seconds from 0.001 to 86400, not the number "
        "`0`\n");
}

static void test_limits(void **state)
{
    (void)state;
    struct loaded l = load_clean(
        DEMO "limits: {max_body_bytes: 1024, max_header_bytes: 2048, max_json_depth: 5,\n"
             "  max_json_nodes: 500, body_timeout: 1.5,\n"
             "  header_timeout: 0.5, idle_timeout: 1, write_timeout: 2, max_connections: 3,\n"
             "  max_stream_buffer_bytes: 4096, max_held_bytes_per_stream: 5000, "
             "max_remembered_bytes: 5500,\n"
             "  max_held_bytes_total: 6000000, max_event_bytes: 7000,\n"
             "  max_service_body_bytes: 8000, max_choices: 9, max_tool_calls: 10,\n"
             "  drain_timeout: 11}\n");
    const struct weir_conf_limits *m = &l.conf->limits;
    assert_int_equal(m->max_body_bytes, 1024);
    assert_int_equal(m->max_header_bytes, 2048);
    assert_int_equal(m->max_json_depth, 5);
    assert_int_equal(m->max_json_nodes, 500);
    assert_int_equal(m->body_timeout_ms, 1500);
    assert_int_equal(m->header_timeout_ms, 500);
    assert_int_equal(m->idle_timeout_ms, 1000);
    assert_int_equal(m->write_timeout_ms, 2000);
    assert_int_equal(m->max_connections, 3);
    assert_int_equal(m->max_stream_buffer_bytes, 4096);
    assert_int_equal(m->max_held_bytes_per_stream, 5000);
    assert_int_equal(m->max_remembered_bytes, 5500);
    assert_int_equal(m->max_held_bytes_total, 6000000);
    assert_int_equal(m->max_event_bytes, 7000);
    assert_int_equal(m->max_service_body_bytes, 8000);
    assert_int_equal(m->max_choices, 9);
    assert_int_equal(m->max_tool_calls, 10);
    assert_int_equal(m->drain_timeout_ms, 11000);
    drop(&l);
    l = load_clean(DEMO "limits: {max_body_bytes: 8000}\n");
    assert_int_equal(l.conf->limits.max_json_nodes, 1000);
    assert_int_equal(l.conf->limits.body_timeout_ms, 120000);
    drop(&l);
    expect(DEMO "limits: {max_body_bytes: -1}\n",
           "c.yaml:2: error: `max_body_bytes` must be an integer from 1024 to 1073741824, not the "
           "number `-1`\n");
}

/* The harness says the machine has 1 GiB. */
static void test_share_of_memory(void **state)
{
    (void)state;
    static const struct {
        const char *written;
        uint64_t bytes;
    } cases[] = {
        {"0.25 of memory", UINT64_C(1) << 28},
        {"1 of memory", UINT64_C(1) << 30},
        {".5 of memory", UINT64_C(1) << 29},
        {"\"0.5   of memory\"", UINT64_C(1) << 29},
        {"1048576", 1048576},
        {"null", UINT64_C(1) << 28},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        snprintf(text, sizeof text, DEMO "limits: {max_held_bytes_total: %s}\n", cases[i].written);
        struct loaded l = load_clean(text);
        assert_int_equal(l.conf->limits.max_held_bytes_total, cases[i].bytes);
        drop(&l);
    }
    static const char *const bad[] = {"1.5 of memory", "0 of memory", "half of memory", "of memory",
                                      "0.25 of disk"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[128];
        char lines[256];
        snprintf(text, sizeof text, DEMO "limits: {max_held_bytes_total: %s}\n", bad[i]);
        snprintf(lines, sizeof lines,
                 "c.yaml:2: error: `max_held_bytes_total` must be a number of bytes, at least "
                 "1048576, or a share such as `0.25 of memory`, not the text `%s`\n",
                 bad[i]);
        expect(text, lines);
    }
    expect(
        DEMO "limits: {max_held_bytes_total: 100}\n",
        "c.yaml:2: error: `max_held_bytes_total` must be a number of bytes, at least 1048576, or "
        "a share such as `0.25 of memory`, not the number `100`\n");
}

static void test_memory_of_the_machine(void **state)
{
    (void)state;
    struct weir_conf_load_options options = {.text = weir_slice_cstr(DEMO)};
    struct weir_conf *conf;
    struct weir_conf_problems problems = {0};
    assert_int_equal(weir_conf_load(&options, &conf, &problems), 0);
    assert_true(conf->limits.max_held_bytes_total > 1024 * 1024);
    weir_conf_free(conf);
    weir_conf_problems_dispose(&problems);
}

static void test_auth(void **state)
{
    (void)state;
    struct loaded l = load_clean(DEMO "auth: {keys_env: KEYS}\n");
    assert_int_equal(l.conf->auth.n_keys, 2);
    assert_true(l.conf->auth.is_on && l.conf->auth.keys[1].public_api);
    assert_true(l.conf->auth.keys[0].is_for_all_routes);
    drop(&l);
    l = load_clean(DEMO);
    assert_false(l.conf->auth.is_on);
    assert_int_equal(l.conf->auth.n_keys, 0);
    drop(&l);
    expect(DEMO "auth: {keys_env: NOT_SET}\n",
           "c.yaml:2: error: environment variable `NOT_SET`, named by `keys_env`, is not set\n");
    expect(DEMO "auth: {keys_env: EMPTY}\n",
           "c.yaml:2: error: environment variable `EMPTY`, named by `keys_env`, is not set\n");
    expect(DEMO "auth: {keys_env: BAD_KEYS}\n",
           "c.yaml:2: error: key 2 in environment variable `BAD_KEYS` is empty or has characters "
           "that a header cannot carry\n");
    expect(DEMO "auth: {}\n", "c.yaml:2: error: `auth` needs `keys` or `keys_env`\n");
}

#define ROUTES "routes: [{name: a, unguarded: true}, {name: beta, unguarded: true}]\n"

static void test_named_keys(void **state)
{
    (void)state;
    struct loaded l = load_clean(DEMO ROUTES "auth:\n  keys:\n"
                                             "    - {name: team, env: KEY, routes: [a]}\n"
                                             "    - {name: ops, sha256: " OPS_HASH
                                             ", routes: ['*'], public_api: true, "
                                             "requests_per_minute: 600, concurrent: 50}\n");
    const struct weir_conf_auth *auth = &l.conf->auth;
    assert_int_equal(auth->n_keys, 2);
    assert_string_equal(auth->keys[0].name.s.p, "team");
    assert_false(auth->keys[0].is_for_all_routes || auth->keys[0].public_api);
    assert_int_equal(auth->keys[0].routes.n, 1);
    assert_true(auth->keys[1].is_for_all_routes && auth->keys[1].public_api);
    assert_int_equal(auth->keys[1].requests_per_minute, 600);
    assert_int_equal(auth->keys[1].concurrent, 50);
    assert_int_equal(auth->keys[1].hash[0], 0xab);
    assert_int_equal(auth->keys[1].hash[31], 0xab);
    drop(&l);
}

static void test_named_keys_that_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        const char *problem;
    } cases[] = {
        {"[{name: a, routes: []}]", "a key needs one of `env`, `file` and `sha256`"},
        {"[{name: a, env: KEY, sha256: " OPS_HASH ", routes: []}]",
         "a key needs one of `env`, `file` and `sha256`"},
        {"[{name: a, env: KEY}]", "`routes` is missing"},
        {"[{env: KEY, routes: []}]", "`name` is missing"},
        {"[{name: a, env: KEY, routes: [bata]}]",
         "route `bata` does not exist; did you mean `beta`?"},
        {"[{name: a, sha256: abc, routes: []}]", "`sha256` must be 64 hexadecimal digits"},
        {"[{name: a, file: /does/not/exist, routes: []}]",
         "the key's file `/does/not/exist` cannot be read"},
        {"[{name: a, env: KEY, routes: []}, {name: a, sha256: " OPS_HASH ", routes: []}]",
         "key `a` is there twice"},
        {"[{name: a, env: KEY, routes: []}, {name: b, env: KEY, routes: []}]",
         "key `b` is the same as `a`"},
        {"[{name: 'a b', env: KEY, routes: []}]", "`name` must be 1 to 64 visible characters"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        char problem[256];
        snprintf(text, sizeof text, DEMO ROUTES "auth: {keys: %s}\n", cases[i].keys);
        snprintf(problem, sizeof problem, "c.yaml:3: error: %s\n", cases[i].problem);
        expect(text, problem);
    }
}

static void test_cors(void **state)
{
    (void)state;
    struct loaded l = load_clean(DEMO "cors: {origins: ['https://a.example:8443', '*']}\n");
    assert_int_equal(l.conf->cors_origins.n, 2);
    drop(&l);
    expect(DEMO "cors: {origins: [a.example/x]}\n",
           "c.yaml:2: error: `a.example/x` is not an origin: write `https://host`, with a port "
           "where it has one and without a path, or `*`\n");
    expect(DEMO "cors: {}\n", "c.yaml:2: error: `origins` is missing\n");
}

static void test_headers(void **state)
{
    (void)state;
    struct loaded l = load_clean(DEMO "passthrough_headers: [X-B, authorization, x-b]\n");
    assert_int_equal(l.conf->passthrough_headers.n, 2);
    assert_string_equal(l.conf->passthrough_headers.items[0].s.p, "x-b");
    assert_string_equal(l.conf->passthrough_headers.items[1].s.p, "authorization");
    drop(&l);
    expect(DEMO "passthrough_headers: [a b, Connection, content-length, 5]\n",
           "c.yaml:2: error: `passthrough_headers` must be a text, not the number `5`\n"
           "c.yaml:2: error: `a b` is not a header name\n"
           "c.yaml:2: error: header `connection` belongs to one message and cannot be passed "
           "through\n"
           "c.yaml:2: error: header `content-length` belongs to one message and cannot be passed "
           "through\n");
    expect(DEMO "passthrough_headers: [Authorization, Content-Type, 5]\n",
           "c.yaml:2: error: `passthrough_headers` must be a text, not the number `5`\n"
           "c.yaml:2: warning: header `content-type` belongs to one message and cannot be passed "
           "through\n");
    expect(DEMO "passthrough_headers: x-a\n",
           "c.yaml:2: error: `passthrough_headers` must be a list, not the text `x-a`\n");
}

static void test_report(void **state)
{
    (void)state;
    struct weir_conf_problems p = {0};
    struct weir_buf out = {0};
    weir_conf_problems_report(&p, "c.yaml", &out);
    assert_string_equal(weir_buf_cstr(&out), "c.yaml: ok\n");
    weir_buf_clear(&out);
    weir_conf_problems_add(&p, WEIR_CONF_ERROR, (struct weir_conf_pos){"c.yaml", 9}, "nine");
    weir_conf_problems_add(&p, WEIR_CONF_WARNING, (struct weir_conf_pos){"c.yaml", 2}, "two %d", 1);
    weir_conf_problems_add(&p, WEIR_CONF_WARNING, (struct weir_conf_pos){"c.yaml", 2}, "two %d", 2);
    weir_conf_problems_add(&p, WEIR_CONF_ERROR, (struct weir_conf_pos){"c.yaml", 0}, "whole");
    weir_conf_problems_report(&p, "c.yaml", &out);
    assert_string_equal(weir_buf_cstr(&out), "c.yaml: error: whole\n"
                                             "c.yaml:2: warning: two 1\n"
                                             "c.yaml:2: warning: two 2\n"
                                             "c.yaml:9: error: nine\n"
                                             "c.yaml: 2 errors, 2 warnings\n");
    weir_conf_problems_dispose(&p);
    weir_conf_problems_dispose(&p);
    weir_buf_dispose(&out);
}

static void expect_nearest(const char *wanted, const char *nearest)
{
    static const char *const words[] = {"detectors", "chunkers", "tls", "limits", "max_retries"};
    struct weir_conf_near near;
    weir_conf_near_init(&near, weir_slice_cstr(wanted));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        weir_conf_near_offer(&near, weir_slice_cstr(words[i]));
    }
    if (nearest == NULL) {
        assert_null(near.best.p);
    } else {
        assert_non_null(near.best.p);
        assert_string_equal(near.best.p, nearest);
    }
}

static void test_nearest(void **state)
{
    (void)state;
    expect_nearest("detectors", "detectors");
    expect_nearest("detecotrs", "detectors"); /* a swap is one slip */
    expect_nearest("dtctrs", NULL);
    expect_nearest("detctrs", "detectors");
    expect_nearest("tsl", "tls");
    expect_nearest("xyz", NULL);
    expect_nearest("t", NULL);
    expect_nearest("", NULL);
    expect_nearest("max-retries", "max_retries");
    expect_nearest("Chunkers", "chunkers");
    char long_word[100];
    memset(long_word, 'a', 99);
    long_word[99] = '\0';
    expect_nearest(long_word, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_keys),
        cmocka_unit_test(test_compat_makes_them_warnings),
        cmocka_unit_test(test_router),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_share_of_memory),
        cmocka_unit_test(test_memory_of_the_machine),
        cmocka_unit_test(test_auth),
        cmocka_unit_test(test_named_keys),
        cmocka_unit_test(test_named_keys_that_are_wrong),
        cmocka_unit_test(test_cors),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
