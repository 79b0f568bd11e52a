/* From a configuration to what requests use: targets, detectors, chunkers, models, probes. */
#include "base/mem.h"
#include "chunk/remote.h"
#include "detect/remote.h"
#include "model/openai.h"
#include "server/services.h"
#include "task/gather.h"
#include "unit/conf/conf_harness.h"

static const char FILE_TEXT[] =
    "openai:\n"
    "  service: {hostname: models.internal, port: 8000, path_prefix: /x, request_timeout: 5,\n"
    "            connect_timeout: 1, first_byte_timeout: 2, idle_timeout: 3, api_token: TOKEN,\n"
    "            max_retries: 7, http2_keep_alive_interval: 4, keep_alive_timeout: 6,\n"
    "            grpc_dns_probe_interval: 8}\n"
    "  health_service: {hostname: models.internal, port: 8001}\n"
    "generation: {provider: nlp, service: {hostname: gen.internal}}\n"
    "chunkers:\n"
    "  en: {type: sentence, service: {hostname: chunk.internal}}\n"
    "  hap: {type: sentence, service: {hostname: chunk.internal, port: 9}}\n"
    "  windows: {builtin: window, size: 40, overlap: 4}\n"
    "  sentences: {builtin: sentence}\n"
    "  paragraphs: {builtin: paragraph}\n"
    "detectors:\n"
    "  hap: {type: text_contents, service: {hostname: d1.internal, tls: {insecure: true}},\n"
    "        chunker_id: en, default_threshold: 0.25}\n"
    "  whole: {type: text_contents, service: {hostname: d2.internal},\n"
    "          health_service: {hostname: h2.internal, port: 81}, chunker_id: whole_doc_chunker}\n"
    "  chat: {type: text_chat, service: {hostname: d3.internal}}\n"
    "  gen: {type: text_generation, service: {hostname: d4.internal}}\n"
    "  doc: {type: text_context_doc, service: {hostname: d5.internal}}\n"
    "  parts: {type: text_contents, service: {hostname: d6.internal}, chunker_id: windows}\n"
    "detector_concurrent_requests: 11\n"
    "chunker_concurrent_requests: 12\n"
    "limits: {max_service_body_bytes: 100000, max_event_bytes: 200000, max_connections: 77, "
    "max_choices: 5,\n"
    "         max_tool_calls: 6, max_held_bytes_per_stream: 70000,\n"
    "         max_remembered_bytes: 80000}\n"
    "aggregation: aligned\n";

static struct weir_env *build(const char *text, struct weir_conf_problems *problems)
{
    struct weir_conf_load_options options = {
        .text = weir_slice_cstr(text), .name = "c.yaml", .env = test_env, .memory_bytes = 1 << 30};
    struct weir_env *env = weir_mem_zalloc(sizeof *env);
    assert_int_equal(weir_conf_load(&options, &env->conf, problems), 0);
    atomic_init(&env->refs, 1);
    weir_services_build(env, problems);
    return env;
}

static int set_up(void **state)
{
    struct weir_conf_problems problems = {0};
    struct weir_env *env = build(FILE_TEXT, &problems);
    assert_int_equal(problems.n_errors, 0);
    weir_conf_problems_dispose(&problems);
    *state = env;
    return 0;
}

static int tear_down(void **state)
{
    weir_env_unref(*state);
    return 0;
}

static const struct weir_task_detector *detector(const struct weir_env *env, const char *id)
{
    return weir_map_get(&env->tasks.detectors_by_id, weir_slice_cstr(id));
}

static const struct weir_target *target_of(const struct weir_task_detector *d)
{
    return ((const struct weir_detect_remote *)d->detector)->target;
}

static void test_target(void **state)
{
    const struct weir_env *env = *state;
    const struct weir_target *t = ((const struct weir_model_openai *)env->tasks.openai)->target;
    assert_string_equal(t->hostname, "models.internal");
    assert_int_equal(t->port, 8000);
    assert_int_equal(t->protocol, WEIR_TARGET_HTTP);
    assert_null(t->tls);
    assert_true(weir_slice_eq_cstr(t->id, "openai"));
    assert_true(weir_slice_eq_cstr(t->path_prefix, "/x"));
    assert_true(weir_slice_eq_cstr(t->api_token, "s3cret"));
    assert_int_equal(t->request_timeout_ms, 5000);
    assert_int_equal(t->connect_timeout_ms, 1000);
    assert_int_equal(t->first_byte_timeout_ms, 2000);
    assert_int_equal(t->idle_timeout_ms, 3000);
    assert_int_equal(t->keep_alive_interval_ms, 4000);
    assert_int_equal(t->keep_alive_timeout_ms, 6000);
    assert_int_equal(t->dns_interval_ms, 8000);
    assert_int_equal(t->max_retries, 7);
    assert_int_equal(t->max_concurrent, 77);
}

static void test_detectors(void **state)
{
    static const struct {
        const char *id;
        enum weir_detect_type type;
        const char *hostname;
    } expected[] = {
        {"hap", WEIR_DETECT_CONTENTS, "d1.internal"},
        {"whole", WEIR_DETECT_CONTENTS, "d2.internal"},
        {"chat", WEIR_DETECT_CHAT, "d3.internal"},
        {"gen", WEIR_DETECT_GENERATION, "d4.internal"},
        {"doc", WEIR_DETECT_CONTEXT_DOC, "d5.internal"},
        {"parts", WEIR_DETECT_CONTENTS, "d6.internal"},
    };
    const struct weir_env *env = *state;
    assert_int_equal(env->tasks.n_detectors, 6);
    for (size_t i = 0; i < 6; i++) {
        const struct weir_task_detector *d = detector(env, expected[i].id);
        assert_ptr_equal(d, &env->tasks.detectors[i]);
        assert_true(weir_slice_eq_cstr(d->detector->id, expected[i].id));
        assert_int_equal(d->detector->type, expected[i].type);
        assert_string_equal(target_of(d)->hostname, expected[i].hostname);
        assert_int_equal(target_of(d)->port, 8080);
    }
    assert_true(detector(env, "hap")->default_threshold == 0.25);
    assert_non_null(target_of(detector(env, "hap"))->tls);
    assert_null(target_of(detector(env, "whole"))->tls);
}

static void test_chunkers(void **state)
{
    const struct weir_env *env = *state;
    const struct weir_chunker *en = detector(env, "hap")->chunker;
    assert_true(weir_slice_eq_cstr(en->id, "en"));
    const struct weir_target *t = ((const struct weir_chunk_remote *)en)->target;
    assert_int_equal(t->protocol, WEIR_TARGET_H2);
    assert_int_equal(t->port, 8085);
    assert_true(detector(env, "whole")->chunker->is_whole_doc);
    assert_true(weir_slice_eq_cstr(detector(env, "parts")->chunker->id, "windows"));
    assert_false(detector(env, "parts")->chunker->is_whole_doc);
    assert_null(detector(env, "chat")->chunker);
}

static void test_limits(void **state)
{
    const struct weir_env *env = *state;
    assert_int_equal(env->tasks.max_detector_calls, 11);
    assert_int_equal(env->tasks.max_chunker_calls, 12);
    assert_int_equal(env->tasks.max_service_body_bytes, 100000);
    assert_int_equal(env->tasks.max_event_bytes, 200000);
    assert_int_equal(env->tasks.max_choices, 5);
    assert_int_equal(env->tasks.max_tool_calls, 6);
    assert_int_equal(env->tasks.max_remembered_bytes, 80000);
    assert_int_equal(env->tasks.max_held_bytes, 70000);
    assert_string_equal(weir_gather_strategy_name(env->tasks.strategy), "aligned");
    assert_false(env->tasks.compat.is_fms);
    assert_non_null(env->tasks.generation);
}

/* Every service once, under a name of its own. */
static void test_probes(void **state)
{
    static const struct {
        const char *id;
        const struct weir_probe_kind *kind;
        const char *hostname;
        uint16_t port;
    } expected[] = {
        {"openai", &weir_probe_http, "models.internal", 8001},
        {"generation", &weir_probe_grpc, "gen.internal", 8085},
        {"en", &weir_probe_grpc, "chunk.internal", 8085},
        {"hap", &weir_probe_grpc, "chunk.internal", 9},
        {"hap (detector)", &weir_probe_http, "d1.internal", 8080},
        {"whole", &weir_probe_http, "h2.internal", 81},
        {"chat", &weir_probe_http, "d3.internal", 8080},
        {"gen", &weir_probe_http, "d4.internal", 8080},
        {"doc", &weir_probe_http, "d5.internal", 8080},
        {"parts", &weir_probe_http, "d6.internal", 8080},
    };
    const struct weir_env *env = *state;
    assert_int_equal(env->n_services, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < env->n_services; i++) {
        const struct weir_probe_service *s = &env->services[i];
        assert_true(weir_slice_eq_cstr(s->id, expected[i].id));
        assert_ptr_equal(s->kind, expected[i].kind);
        assert_string_equal(s->target->hostname, expected[i].hostname);
        assert_int_equal(s->target->port, expected[i].port);
    }
}

static void test_fms(void **state)
{
    struct weir_conf_problems problems = {0};
    struct weir_env *env =
        build("compat: fms\n"
              "generation: {provider: tgis, service: {hostname: gen.internal}}\n"
              "chunkers: {en: {type: sentence, service: {hostname: chunk.internal}}}\n"
              "detectors: {d: {type: text_contents, service: {hostname: d.internal},\n"
              "                chunker_id: en}}\n",
              &problems);
    (void)state;
    assert_true(env->tasks.compat.is_fms);
    assert_ptr_equal(env->services[0].kind, &weir_probe_tgis);
    assert_int_equal(env->services[0].target->port, 8033);
    assert_true(((const struct weir_chunk_remote *)detector(env, "d")->chunker)->no_passthrough);
    assert_null(env->tasks.openai);
    weir_env_unref(env);
    weir_conf_problems_dispose(&problems);
}

/* The problems of a configuration that conf itself has none with. */
static void expect_problems(const char *text, const char *want)
{
    struct weir_conf_problems problems = {0};
    struct weir_buf lines = {0};
    struct weir_env *env = build(text, &problems);
    weir_conf_problems_sort(&problems);
    for (size_t i = 0; i < problems.n; i++) {
        weir_conf_problem_format(&problems.items[i], &lines);
        weir_buf_append_byte(&lines, '\n');
    }
    assert_string_equal(weir_buf_cstr(&lines), want);
    weir_buf_dispose(&lines);
    weir_env_unref(env);
    weir_conf_problems_dispose(&problems);
}

static void test_wrong_chunkers(void **state)
{
    (void)state;
    expect_problems("openai: {builtin: demo}\n"
                    "chunkers:\n"
                    "  w: {builtin: window, size: 64}\n"
                    "  v: {builtin: window, size: 1, overlap: 0}\n"
                    "  s: {builtin: sentence, size: 10}\n"
                    "  p:\n"
                    "    builtin: paragraph\n"
                    "    params: {max_bytes: many}\n",
                    "c.yaml:3: error: chunker `w`: `overlap` (64) must be less than `size` (64)\n"
                    "c.yaml:4: error: chunker `v`: `size` must be an integer from 2 to 65536\n"
                    "c.yaml:5: error: chunker `s`: `size` is not a parameter of `sentence`\n"
                    "c.yaml:8: error: chunker `p`: `max_bytes` must be an integer from 16 to "
                    "65536\n");
}

#define PROMISE(rest)                                                                              \
    "openai: {builtin: demo}\n"                                                                    \
    "chunkers: {w: {builtin: window}, s: {builtin: sentence}, t: {builtin: window, params: "       \
    "{overlap: 63}}}\n"                                                                            \
    "detectors:\n"                                                                                 \
    "  pii: {builtin: regex, params: {regex: [email]}}\n"                                          \
    "  wide: {builtin: secrets, chunker_id: w}\n"                                                  \
    "  cut: {builtin: secrets, chunker_id: s}\n"                                                   \
    "  near: {builtin: links, chunker_id: t}\n"                                                    \
    "  far: {service: {hostname: h}, chunker_id: s}\n"                                             \
    "routes: [{name: a, " rest "}]\n"

static void test_the_promise(void **state)
{
    (void)state;
    expect_problems(PROMISE("output: {cut: {}, near: {}}"), ""); /* annotate promises nothing */
    expect_problems(PROMISE("on_detection: block, output: {pii: {}, far: {}}"), "");
    expect_problems(PROMISE("on_detection: block, output: {cut: {}}"),
                    "c.yaml:9: warning: route `a` promises to block what detector `cut` finds, but "
                    "chunker `s` can cut a finding in two: leave out its `chunker_id`, or use a "
                    "`window` chunker with `overlap` of at least 64\n");
    expect_problems(
        PROMISE("on_detection: redact, input: {near: {}}"),
        "c.yaml:9: warning: route `a` promises to redact what detector `near` finds, "
        "but chunker `t` can cut a finding in two: leave out its `chunker_id`, or use a "
        "`window` chunker with `overlap` of at least 64\n");
    expect_problems(
        PROMISE("on_detection: redact, input: {wide: {}}"),
        "c.yaml:9: warning: route `a` promises to redact what detector `wide` finds, "
        "but of a finding longer than the 64 characters by which the windows of chunker "
        "`w` overlap, parts may leave: leave out its `chunker_id`, and it reads "
        "along\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_target),
        TEST(test_detectors),
        TEST(test_chunkers),
        TEST(test_limits),
        TEST(test_probes),
        cmocka_unit_test(test_fms),
        cmocka_unit_test(test_wrong_chunkers),
        cmocka_unit_test(test_the_promise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
