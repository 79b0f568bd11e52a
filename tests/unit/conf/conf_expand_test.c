/* ${VAR} in values. The environment is the harness's. */
#include "unit/conf/conf_harness.h"

static void expect_message(const char *written, const char *expanded)
{
    char text[256];
    snprintf(text, sizeof text,
             "detectors: {d: {builtin: links, chunker_id: whole_doc_chunker}}\n"
             "openai: {builtin: demo}\n"
             "routes: [{name: r, output: {d: {}}, on_detection: block, fallback_message: %s}]\n",
             written);
    struct loaded l = load_clean(text);
    assert_string_equal(l.conf->routes[0].fallback_message.s.p, expanded);
    drop(&l);
}

static void test_texts(void **state)
{
    (void)state;
    expect_message("\"${HOST}\"", "models.internal");
    expect_message("'<${HOST}>'", "<models.internal>");
    expect_message("\"${HOST}${PORT}\"", "models.internal9001");
    expect_message("\"${NOT_SET:-plan B}\"", "plan B");
    expect_message("\"${EMPTY:-plan B}\"", "plan B");
    expect_message("\"${HOST:-plan B}\"", "models.internal");
    expect_message("\"x${EMPTY}y\"", "xy");
    expect_message("\"x${NOT_SET:-}y\"", "xy");
    expect_message("\"$${HOST}\"", "${HOST}");
    expect_message("\"$$${HOST}\"", "$${HOST}");
    expect_message("\"$HOST $ {HOST} $$ 5$\"", "$HOST $ {HOST} $$ 5$");
    expect_message("\"${SENTENCE:-${NOT}\"", "a b"); /* the first } ends it */
}

/* Inside { } they have to be quoted, and then are numbers all the same. */
static void test_typed_values(void **state)
{
    (void)state;
    struct loaded l = load_clean(
        "openai: {service: {hostname: \"${HOST}\", port: \"${PORT}\"}}\n"
        "playground: ${ON}\n"
        "detectors:\n"
        "  a: {service: {hostname: a}, chunker_id: whole_doc_chunker, default_threshold: "
        "\"${RATE}\"}\n"
        "limits:\n"
        "  idle_timeout: ${NOT_SET:-2.5}\n");
    assert_string_equal(l.conf->openai.service->hostname.s.p, "models.internal");
    assert_int_equal(l.conf->openai.service->port, 9001);
    assert_true(l.conf->playground);
    assert_true(l.conf->detectors[0].default_threshold == 0.75);
    assert_int_equal(l.conf->limits.idle_timeout_ms, 2500);
    drop(&l);
    expect("openai: {service: {hostname: h, port: \"${HOST}\"}}\n",
           "c.yaml:1: error: `port` must be an integer from 1 to 65535, not the text "
           "`models.internal`\n");
}

/* In parameters nobody says what a quoted value should be, so it stays a text. */
static void test_in_params(void **state)
{
    (void)state;
    struct loaded l = load_clean("detectors:\n"
                                 "  a:\n"
                                 "    builtin: regex\n"
                                 "    chunker_id: whole_doc_chunker\n"
                                 "    params:\n"
                                 "      quoted: \"${PORT}\"\n"
                                 "      plain: ${PORT}\n"
                                 "      ${PORT}: key\n");
    assert_string_equal(l.conf->detectors[0].params.p,
                        "{\"quoted\":\"9001\",\"plain\":9001,\"${PORT}\":\"key\"}");
    drop(&l);
}

/* One message each: what depends on the missing value is not reported again. */
static void test_mistakes(void **state)
{
    (void)state;
    expect("openai:\n  service:\n    hostname: ${NOT_SET}\n    port: ${ALSO_NOT_SET}\n",
           "c.yaml:3: error: environment variable is not set and has no default: `NOT_SET`\n"
           "c.yaml:4: error: environment variable is not set and has no default: "
           "`ALSO_NOT_SET`\n");
    expect("openai: {builtin: demo}\n"
           "detectors: {d: \"${NOT_SET}\"}\n"
           "aggregation: ${NOT_SET}\n"
           "routes: [{name: r, output: {d: {}}, input_roles: [\"${NOT_SET}\"]}]\n",
           "c.yaml:2: error: environment variable is not set and has no default: `NOT_SET`\n"
           "c.yaml:3: error: environment variable is not set and has no default: `NOT_SET`\n"
           "c.yaml:4: error: environment variable is not set and has no default: `NOT_SET`\n");
    expect("openai: {service: {hostname: \"${HOST\"}}\n",
           "c.yaml:1: error: ${ is never closed by }: `${HOST`\n");
    expect("openai: {service: {hostname: \"${HOST-x}\"}}\n",
           "c.yaml:1: error: expected ${NAME} or ${NAME:-default} (and $${ for a literal ${), "
           "found `HOST-x`\n");
    expect("openai: {service: {hostname: \"${}\"}}\n",
           "c.yaml:1: error: expected ${NAME} or ${NAME:-default} (and $${ for a literal ${), "
           "found ``\n");
    expect("openai: {service: {hostname: \"${1X}\"}}\n",
           "c.yaml:1: error: expected ${NAME} or ${NAME:-default} (and $${ for a literal ${), "
           "found `1X`\n");
    expect("openai: {service: {hostname: \"${LATIN1}\"}}\n",
           "c.yaml:1: error: environment variable is not valid UTF-8: `LATIN1`\n");
    expect("openai: {service: {hostname: \"${EMPTY}\"}}\n",
           "c.yaml:1: error: `hostname` must not be empty\n");
}

static const char *big_env(void *ctx, const char *name)
{
    (void)name;
    return ctx;
}

static void test_expansion_is_bounded(void **state)
{
    (void)state;
    enum { VALUE_BYTES = 100000 };
    char *value = malloc(VALUE_BYTES + 1);
    memset(value, 'x', VALUE_BYTES);
    value[VALUE_BYTES] = '\0';
    struct weir_buf text = {0};
    weir_buf_printf(&text, "a:\n- ");
    for (int i = 0; i < 200; i++) {
        weir_buf_printf(&text, "${A}");
    }
    struct weir_conf_load_options options = {
        .text = weir_buf_slice(&text), .name = "c.yaml", .env = big_env, .env_ctx = value};
    struct weir_conf *conf;
    struct weir_conf_problems problems = {0};
    assert_int_equal(weir_conf_load(&options, &conf, &problems), WEIR_EINVAL);
    assert_string_equal(problems.items[0].text,
                        "environment variables expand to too much text, at `A`");
    weir_conf_problems_dispose(&problems);
    weir_buf_dispose(&text);
    free(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_typed_values),
        cmocka_unit_test(test_in_params),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_expansion_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
