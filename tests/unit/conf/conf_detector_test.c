/* Chunkers, detectors and their parameters as JSON. */
#include "unit/conf/conf_harness.h"

static void expect_chunker(const char *inside, const char *lines)
{
    char text[512];
    snprintf(text, sizeof text, "openai: {builtin: demo}\nchunkers:\n  c: %s\n", inside);
    expect(text, lines);
}

static void expect_detector(const char *inside, const char *lines)
{
    char text[512];
    snprintf(text, sizeof text, "chunkers: {sentences: {builtin: sentence}}\ndetectors:\n  d: %s\n",
             inside);
    expect(text, lines);
}

static void test_chunkers(void **state)
{
    (void)state;
    struct loaded l = load_clean("openai: {builtin: demo}\n"
                                 "chunkers:\n"
                                 "  s: {builtin: sentence}\n"
                                 "  p: {builtin: paragraph, params: {max_bytes: 99}}\n"
                                 "  w: {builtin: window}\n"
                                 "  v: {builtin: window, size: 100, overlap: 99}\n"
                                 "  d: {builtin: whole_doc}\n"
                                 "  r: {type: sentence, service: {hostname: h}}\n");
    const struct weir_conf_chunker *c = l.conf->chunkers;
    assert_int_equal(l.conf->n_chunkers, 7);
    static const char *const builtins[] = {"sentence",  "paragraph", "window",   "window",
                                           "whole_doc", NULL,        "whole_doc"};
    static const char *const params[] = {
        "{}", "{\"max_bytes\":99}", "{}", "{\"size\":100,\"overlap\":99}", "{}", "{}", "{}"};
    for (size_t i = 0; i < 7; i++) {
        assert_true(weir_slice_eq_cstr(c[i].params, params[i]));
        assert_int_equal(c[i].builtin.s.p != NULL, builtins[i] != NULL);
        assert_true(builtins[i] == NULL || weir_slice_eq_cstr(c[i].builtin.s, builtins[i]));
    }
    assert_int_equal(c[1].params_at.line, 4);
    assert_non_null(c[5].service);
    assert_int_equal(c[5].id.at.line, 8);
    assert_string_equal(c[6].id.s.p, "whole_doc_chunker");
    assert_null(c[6].id.at.file);
    for (size_t i = 0; i < 7; i++) {
        assert_ptr_equal(weir_conf_chunker(l.conf, c[i].id.s), &c[i]);
    }
    drop(&l);
}

static void test_wrong_chunkers(void **state)
{
    (void)state;
    expect_chunker("{}", "c.yaml:3: error: `c` needs a `service` or a `builtin`\n");
    expect_chunker("5", "c.yaml:3: error: `c` must be a mapping, not the number `5`\n");
    expect_chunker("", "c.yaml:3: error: `c` must be a mapping, not nothing\n");
    expect_chunker("{builtin: sentence, service: {hostname: h}}",
                   "c.yaml:3: error: `c` has both `service` and `builtin`: keep one\n");
    expect_chunker("{builtin: sentense}",
                   "c.yaml:3: error: `builtin` must be `sentence`, `paragraph`, `window` or "
                   "`whole_doc`, not `sentense`; did you mean `sentence`?\n");
    expect_chunker("{builtin: window, size: 64, params: {overlap: 3}}",
                   "c.yaml:3: error: `size` and `overlap` stand in `params` or beside it: keep "
                   "one\n");
    expect_chunker("{service: {hostname: h}, size: 64}",
                   "c.yaml:3: error: parameters belong to built-in chunkers\n");
    expect_chunker("{service: {hostname: h}, params: {a: b}}",
                   "c.yaml:3: error: parameters belong to built-in chunkers\n");
    expect_chunker("{builtin: window, params: 3}",
                   "c.yaml:3: error: `params` must be a mapping, not the number `3`\n");
    expect_chunker("{service: {hostname: h}, type: sentences}",
                   "c.yaml:3: error: `type` must be `sentence` or `all`, not `sentences`; did you "
                   "mean `sentence`?\n");
    expect("openai: {builtin: demo}\n"
           "chunkers:\n"
           "  whole_doc_chunker: {service: {hostname: h}}\n"
           "  ' x': {builtin: sentence}\n",
           "c.yaml:3: error: `whole_doc_chunker` is built in and means the whole text\n"
           "c.yaml:4: error: ` x` is not a chunker id: 1 to 256 bytes, no control characters, no "
           "space at the ends\n");
}

static void test_detectors(void **state)
{
    (void)state;
    struct loaded l =
        load_clean("chunkers: {sentences: {builtin: sentence}}\n"
                   "detectors:\n"
                   "  a: {builtin: regex, chunker_id: sentences}\n"
                   "  b: {type: text_generation, service: {hostname: h}, default_threshold: 0}\n"
                   "  c: {type: text_contents, service: {hostname: h}, chunker_id: sentences,\n"
                   "      health_service: {hostname: g, port: 1}, default_threshold: 1}\n"
                   "  f: {builtin: file_type, chunker_id: whole_doc_chunker, params: null}\n");
    const struct weir_conf_detector *d = l.conf->detectors;
    assert_int_equal(l.conf->n_detectors, 4);
    assert_string_equal(d[0].builtin.s.p, "regex");
    assert_int_equal(d[0].type, WEIR_CONF_TEXT_CONTENTS);
    assert_string_equal(d[0].params.p, "{}");
    assert_int_equal(d[0].params_at.line, 3);
    assert_true(d[0].default_threshold == 0.5);
    assert_null(d[0].service);
    assert_null(d[1].builtin.s.p);
    assert_int_equal(d[1].type, WEIR_CONF_TEXT_GENERATION);
    assert_true(d[1].default_threshold == 0);
    assert_null(d[1].chunker);
    assert_string_equal(d[2].health_service->hostname.s.p, "g");
    assert_ptr_equal(d[2].chunker, weir_conf_chunker(l.conf, WEIR_SLICE("sentences")));
    assert_true(weir_slice_eq_cstr(d[3].chunker->builtin.s, "whole_doc"));
    assert_null(weir_conf_detector(l.conf, WEIR_SLICE("x")));
    drop(&l);
}

/* A built-in detector without a chunker reads along, if it can and may. */
static void test_without_chunker(void **state)
{
    (void)state;
    static const struct {
        const char *builtin;
        bool reads_along;
        const char *chunker;
        const char *chunker_when_off;
    } cases[] = {
        {"regex", true, "whole_doc_chunker", "window_chunker"},
        {"secrets", true, "whole_doc_chunker", "window_chunker"},
        {"unicode", true, "whole_doc_chunker", "window_chunker"},
        {"file_type", false, "whole_doc_chunker", "whole_doc_chunker"},
        {"keywords", true, "whole_doc_chunker", "window_chunker"},
        {"links", true, "whole_doc_chunker", "window_chunker"},
        {"prompt_injection", true, "whole_doc_chunker", "whole_doc_chunker"},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        bool is_off = i % 2 != 0;
        char text[256];
        snprintf(text, sizeof text, "detectors:\n  d: {builtin: %s}\n%s", cases[i / 2].builtin,
                 is_off ? "read_along: off\n" : "");
        struct loaded l = load_clean(text);
        const struct weir_conf_detector *d = weir_conf_detector(l.conf, WEIR_SLICE("d"));
        assert_int_equal(d->reads_along, cases[i / 2].reads_along && !is_off);
        assert_true(weir_slice_eq_cstr(d->chunker->id.s, is_off ? cases[i / 2].chunker_when_off
                                                                : cases[i / 2].chunker));
        drop(&l);
    }
}

static void test_wrong_detectors(void **state)
{
    (void)state;
    expect_detector("{service: {hostname: h}}",
                    "c.yaml:3: error: detector `d` needs a `chunker_id`\n");
    expect_detector("{service: {hostname: h}, chunker_id: null}",
                    "c.yaml:3: error: detector `d` needs a `chunker_id`\n");
    expect("compat: fms\ndetectors:\n  d: {builtin: regex}\n",
           "c.yaml:1: warning: `compat: fms` lets requests without detectors pass unguarded\n"
           "c.yaml:3: error: detector `d` needs a `chunker_id`\n");
    expect_detector("{builtin: regex, chunker_id: sentence}",
                    "c.yaml:3: error: chunker `sentence` does not exist; did you mean "
                    "`sentences`?\n");
    expect_detector("{builtin: regex, chunker_id: whole_doc}",
                    "c.yaml:3: error: chunker `whole_doc` does not exist\n");
    expect_detector("{type: text_chat, service: {hostname: h}, chunker_id: nope}",
                    "c.yaml:3: error: chunker `nope` does not exist\n");
    expect_detector("{builtin: file_type, chunker_id: sentences}",
                    "c.yaml:3: error: `file_type` judges whole documents: its `chunker_id` must be "
                    "`whole_doc_chunker`\n");
    expect_detector("{builtin: regex, type: text_chat, chunker_id: sentences}",
                    "c.yaml:3: error: a built-in detector is of type `text_contents`, not "
                    "`text_chat`\n");
    expect_detector("{service: {hostname: h}, chunker_id: sentences, params: {}}",
                    "c.yaml:3: error: `params` belongs to built-in detectors\n");
    expect_detector("{builtin: regex, chunker_id: sentences, health_service: {hostname: h}}",
                    "c.yaml:3: error: a built-in detector has no `health_service`\n");
    expect_detector("{builtin: regex, chunker_id: sentences, params: [a]}",
                    "c.yaml:3: error: `params` must be a mapping, not a list\n");
    expect_detector("{builtin: regex, chunker_id: sentences, default_threshold: 1.01}",
                    "c.yaml:3: error: `default_threshold` must be a number from 0 to 1, not the "
                    "number `1.01`\n");
    expect_detector(
        "{builtin: regex, chunker_id: sentences, treshold: 1}",
        "c.yaml:3: error: unknown key `treshold`; known keys: `type`, `protocol`, `service`, "
        "`provider`, `health_service`, `labels`, `model`, `language`, `entities`, "
        "`input_name`, `output_name`, `activation`, `api_version`, `shield`, `preset`, "
        "`messages`, `verdict`, `positive`, `batch`, `max_concurrent`, `max_waiting`, "
        "`timeout`, `on_error`, `breaker`, `builtin`, `params`, `chunker_id`, "
        "`default_threshold`, `cache`, `mode`\n");
    expect("detectors: [a]\n", "c.yaml:1: error: `detectors` must be a mapping, not a list\n");
    expect("detectors:\n  \"a\\tb\": {builtin: links, chunker_id: whole_doc_chunker}\n",
           "c.yaml:2: error: `a\\u{9}b` is not a detector id: 1 to 256 bytes, no control "
           "characters, no space at the ends\n");
}

static void expect_params(const char *written, const char *json)
{
    char text[1024];
    snprintf(text, sizeof text,
             "detectors:\n  d:\n    builtin: regex\n    chunker_id: whole_doc_chunker\n"
             "    params: {v: %s}\n",
             written);
    struct loaded l = load_clean(text);
    char want[256];
    snprintf(want, sizeof want, "{\"v\":%s}", json);
    assert_string_equal(l.conf->detectors[0].params.p, want);
    assert_int_equal(l.conf->detectors[0].params_at.line, 5);
    drop(&l);
}

static void test_params_types(void **state)
{
    (void)state;
    expect_params("null", "null");
    expect_params("~", "null");
    expect_params("", "null");
    expect_params("''", "\"\"");
    expect_params("true", "true");
    expect_params("False", "false");
    expect_params("yes", "\"yes\"");
    expect_params("off", "\"off\"");
    expect_params("'true'", "\"true\"");
    expect_params("5", "5");
    expect_params("-5", "-5");
    expect_params("+5", "5");
    expect_params("007", "7");
    expect_params("0o17", "15");
    expect_params("0xff", "255");
    expect_params("0b11", "\"0b11\"");
    expect_params("1_000", "\"1_000\"");
    expect_params("9223372036854775807", "9223372036854775807");
    expect_params("0.50", "0.50");
    expect_params("1e3", "1e3");
    expect_params(".5", "0.5");
    expect_params("1.", "1.0");
    expect_params("+1.5", "1.5");
    expect_params("-1.5E-3", "-1.5E-3");
    expect_params("1.2.3", "\"1.2.3\"");
    expect_params("'5'", "\"5\"");
    expect_params("!!str 5", "\"5\"");
    expect_params("2024-01-01", "\"2024-01-01\"");
    expect_params("\"q\\\"\\\\ \\n\\u00e9\\u0001\"", "\"q\\\"\\\\ \\n\u00e9\\u0001\"");
    expect_params("[a, {b: [], c: {}}, 1]", "[\"a\",{\"b\":[],\"c\":{}},1]");
    expect_params("{z: 1, a: 2, 5: 3}", "{\"z\":1,\"a\":2,\"5\":3}");
}

static void test_params_json_cannot_say(void **state)
{
    (void)state;
    static const char *const bad[] = {".inf", "-.inf", ".nan", "1e400", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[256];
        char lines[128];
        snprintf(text, sizeof text,
                 "detectors:\n"
                 "  d: {builtin: regex, chunker_id: whole_doc_chunker, params: {v:\n    %s}}\n",
                 bad[i]);
        snprintf(lines, sizeof lines, "c.yaml:3: error: the number `%s` does not fit\n", bad[i]);
        expect(text, lines);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunkers),
        cmocka_unit_test(test_wrong_chunkers),
        cmocka_unit_test(test_detectors),
        cmocka_unit_test(test_wrong_detectors),
        cmocka_unit_test(test_without_chunker),
        cmocka_unit_test(test_params_types),
        cmocka_unit_test(test_params_json_cannot_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
