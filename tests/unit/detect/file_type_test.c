/* `file_type`: what is a good document and what is not, hostile documents, and work off the loop.
 */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "base/mem.h"
#include "detect/file_type.h"
#include "io/loop.h"
#include "unit/detect/builtin_probe.h"

#include <string.h>

static char *repeat(const char *head, const char *part, size_t n, const char *tail)
{
    struct weir_buf b = {0};
    weir_buf_append(&b, weir_slice_cstr(head));
    for (size_t i = 0; i < n; i++) {
        weir_buf_append(&b, weir_slice_cstr(part));
    }
    weir_buf_append(&b, weir_slice_cstr(tail));
    weir_buf_cstr(&b);
    return b.p;
}

/* Good: no finding. Otherwise the finding is the whole text. */
static void expect_all(const char *params, const char *const *texts, const char *kind)
{
    struct probe p;
    size_t n_wrong = 0;
    probe_open(&p, &weir_detect_file_type, params);
    for (; *texts != NULL; texts++) {
        char expected[4096] = "";
        if (kind != NULL) {
            snprintf(expected, sizeof expected, "%s[%s]", kind, *texts);
        }
        if (strcmp(probe_line(&p, *texts), expected) != 0) {
            print_error("%s\n  got      %s\n  expected %s\n", *texts, p.line, expected);
            n_wrong++;
        }
    }
    probe_close(&p);
    assert_int_equal(n_wrong, 0);
}

static void test_json(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{}", " [1, 2.5e3, \"x\", null, true] \n", "\"text\"", "0", "{\"a\":{\"b\":[{}]}}", NULL};
    static const char *const bad[] = {
        "{",   "{a: 1}",   "[1,]",  "{\"a\":1,\"a\":2}", "{} {}", "01", "nul", "'text'", "\"\t\"",
        "NaN", "// c\n{}", "hello", "```json\n{}```",    NULL};
    expect_all("{\"file_type\":[\"json\"]}", good, NULL);
    expect_all("{\"file_type\":\"json\"}", bad, "invalid_json");
}

static void test_yaml(void **state)
{
    (void)state;
    static const char *const good[] = {"a: 1\nb: [x, y]\n",
                                       "hello",
                                       "--- {a: &x 1, b: *x}\n...\n",
                                       "1: a\n\"1\": b\n",
                                       "base: &b {a: 1}\nd:\n  <<: *b\n  e: 2\n",
                                       "d:\n  <<: [{a: 1}, {b: 2}]\n",
                                       "!!str 12",
                                       "!!set {a, b}",
                                       "# only a comment",
                                       "- !!int \"12\"\n- !!float 1\n- !!bool true\n- !!null ~",
                                       "{}",
                                       NULL};
    static const char *const bad[] = {"a: b: c",
                                      "a: 1\na: 2\n",
                                      "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\ng: 7\nh: 8\ni: 9\na: 0",
                                      "[a, b",
                                      "a: *nothing",
                                      "&a [*a]",
                                      "--- a\n--- b\n",
                                      "? [a]\n: b\n",
                                      "!!python/object:os.system x",
                                      "!mine x",
                                      "!!int x",
                                      "!!seq {a: 1}",
                                      "!!str [a]",
                                      "<<: 1",
                                      "<<: [1]",
                                      "\tx: 1",
                                      "a: \"\\q\"",
                                      NULL};
    expect_all("{\"file_type\":[\"yaml\"]}", good, NULL);
    expect_all("{\"file_type\":[\"yaml\"]}", bad, "invalid_yaml");
}

static void test_xml(void **state)
{
    (void)state;
    static const char *const good[] = {"<a/>",
                                       "<?xml version='1.0' encoding='ISO-8859-1'?><a>ü</a>",
                                       "<a b='1' c=\">\">x &amp; &#65; <![CDATA[<]]></a>",
                                       "<!-- <a --><n:a xmlns:n='urn:x'><n:b/></n:a>",
                                       "<a xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' "
                                       "xsi:schemaLocation='x file:///etc/passwd'/>",
                                       NULL};
    static const char *const bad[] = {
        "<a>",
        "hello",
        "<a></b>",
        "<a/><b/>",
        "<a b=1/>",
        "<a b='1' b='2'/>",
        "<a>&undefined;</a>",
        "<n:a/>",
        "<!DOCTYPE a><a/>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>",
        "<!DOCTYPE a SYSTEM \"http://127.0.0.1:1/x.dtd\"><a/>",
        "<!DOCTYPE a [<!ENTITY % p SYSTEM \"http://127.0.0.1:1/x\"> %p;]><a/>",
        "<!DOCTYPE a [<!ENTITY l 'lol'><!ENTITY m '&l;&l;&l;&l;&l;&l;&l;&l;'>"
        "<!ENTITY n '&m;&m;&m;&m;&m;&m;&m;&m;'>]><a>&n;</a>",
        NULL};
    expect_all("{\"file_type\":[\"xml\"]}", good, NULL);
    expect_all("{\"file_type\":[\"xml\"]}", bad, "invalid_xml");
}

static void test_several(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_file_type, "{\"file_type\":[\"json\",\"yaml\",\"xml\",\"json\"]}");
    assert_string_equal(probe_line(&p, "{"), "invalid_json[{] invalid_xml[{] invalid_yaml[{]");
    const struct weir_detect_call *call = probe_ask(&p, WEIR_SLICE("grüße: 世界"), "");
    assert_int_equal(call->lists[0].n, 2);
    assert_int_equal(call->lists[0].items[0].start_cp, 0);
    assert_int_equal(call->lists[0].items[0].end_cp, 9);
    assert_true(weir_slice_eq_cstr(call->lists[0].items[0].detection_type, "file_type"));
    assert_true(call->lists[0].items[0].score == 1.0);
    probe_close(&p);
    probe_open(&p, &weir_detect_file_type, "");
    assert_string_equal(probe_line(&p, "{"), "");
    probe_close(&p);
}

static const char person[] = "{\\\"type\\\":\\\"object\\\",\\\"required\\\":[\\\"name\\\"],"
                             "\\\"properties\\\":{\\\"age\\\":{\\\"type\\\":\\\"integer\\\"}}}";

static void expect_schema(const char *type, const char *const *texts, const char *kind)
{
    char params[1024];
    snprintf(params, sizeof params, "{\"file_type\":[\"%s-with-schema:%s\"]}", type, person);
    expect_all(params, texts, kind);
}

static void test_json_schema(void **state)
{
    (void)state;
    static const char *const good[] = {"{\"name\":1}", "{\"age\": 5, \"name\": \"x\"}", NULL};
    static const char *const mismatch[] = {"{}", "[]", "{\"name\":1,\"age\":\"old\"}", NULL};
    static const char *const invalid[] = {"{\"name\":1", "name: x", NULL};
    expect_schema("json", good, NULL);
    expect_schema("json", mismatch, "json_schema_mismatch");
    expect_schema("json", invalid, "invalid_json");
}

static void test_yaml_schema(void **state)
{
    (void)state;
    static const char *const good[] = {"name: x\nage: 5\n",
                                       "name: x\nage: 0x1F",
                                       "{name: x, age: +7}",
                                       "b: &b {age: 1}\nname: x",
                                       "<<: {age: 5}\nname: x",
                                       "name: x\nage: 1.0",
                                       "name: x\nage: 0o17",
                                       "name: x\nage: !!int \"12\"",
                                       "name: x\nage: 5.\n",
                                       "name: x\nage: 007",
                                       "<<: {age: x}\nage: 5\nname: x",
                                       NULL};
    static const char *const mismatch[] = {"hello",
                                           "[]",
                                           "age: 5",
                                           "name: x\nage: yes",
                                           "name: x\nage: \"5\"",
                                           "name: x\nage: .5",
                                           "name: x\nage: .inf",
                                           "<<: [{age: x}, {age: 5}]\nname: x",
                                           "name: x\nage: ~",
                                           "name: x\n1: a\n\"1\": b",
                                           "# nothing",
                                           NULL};
    static const char *const invalid[] = {"name: [x", "name: x\nname: y", NULL};
    expect_schema("yaml", good, NULL);
    expect_schema("yaml", mismatch, "yaml_schema_mismatch");
    expect_schema("yaml", invalid, "invalid_yaml");
}

static void expect_problem(const char *params, const char *words)
{
    struct probe p;
    probe_open(&p, &weir_detect_file_type, "");
    const struct weir_detect_call *call = probe_ask(&p, WEIR_SLICE("x"), params);
    assert_int_equal(call->fault.status, 422);
    assert_int_equal(call->fault.err, WEIR_EINVAL);
    if (memmem(call->fault.message.p, call->fault.message.n, words, strlen(words)) == NULL) {
        fail_msg("%.*s: no `%s`", (int)call->fault.message.n, call->fault.message.p, words);
    }
    probe_close(&p);
}

static void test_wrong_params(void **state)
{
    (void)state;
    expect_problem("{\"file_type\":[\"toml\"]}", "no type `toml`");
    expect_problem("{\"file_type\":[1]}", "array of strings");
    expect_problem("{\"file_type\":{}}", "array");
    expect_problem("{\"type\":[\"json\"]}", "no parameter \"type\"");
    expect_problem("{\"file_type\":[\"xml\",\"xml\",\"xml\",\"xml\",\"xml\",\"xml\",\"xml\","
                   "\"xml\",\"xml\"]}",
                   "at most 8");
    expect_problem("{\"file_type\":[\"json-with-schema\"]}", "no type `json-with-schema`");
    expect_problem("{\"file_type\":[\"json-with-schema:\"]}", "the schema is not JSON");
    expect_problem("{\"file_type\":[\"yaml-with-schema:{\\\"type\\\":1}\"]}", "at #/type");
    expect_problem("{\"file_type\":[\"json-with-schema:{\\\"$ref\\\":\\\"a.json\\\"}\"]}",
                   "a `$ref` must begin with `#`");
    char *large = repeat("{\"file_type\":[\"json-with-schema:", " ", 65536, "{}\"]}");
    expect_problem(large, "at most 65536 bytes");
    free(large);
}

/* ---- hostile */

static void expect_limit(const char *params, char *text, const char *words)
{
    struct probe p;
    probe_open(&p, &weir_detect_file_type, params);
    const struct weir_detect_call *call = probe_ask(&p, weir_slice_cstr(text), "");
    assert_int_equal(call->fault.err, WEIR_ELIMIT);
    assert_int_equal(call->fault.status, 422);
    assert_int_equal(call->n_lists, 0);
    assert_non_null(memmem(call->fault.message.p, call->fault.message.n, words, strlen(words)));
    probe_close(&p);
    free(text);
}

static void test_deep(void **state)
{
    (void)state;
    expect_limit("{\"file_type\":\"json\"}", repeat("", "[", 100000, ""), "nested too deeply");
    expect_limit("{\"file_type\":\"yaml\"}", repeat("", "[", 100000, ""), "nested too deeply");
    expect_limit("{\"file_type\":\"yaml\"}", repeat("", "- ", 900, "x"), "nested too deeply");
    expect_limit("{\"file_type\":\"xml\"}", repeat("", "<a>", 100000, ""), "nested too deeply");
}

static void test_many(void **state)
{
    (void)state;
    char *text = repeat("<a", " b=\">\"", 1001, "/>");
    expect_limit("{\"file_type\":\"xml\"}", text, "1000 attributes");
    text = repeat("<!-- ", " \" ", 5000, "--><a/>");
    struct probe p;
    probe_open(&p, &weir_detect_file_type, "{\"file_type\":\"xml\"}");
    assert_string_equal(probe_line(&p, text), "");
    free(text);
    text = repeat("[", "a,", 500000, "a]");
    probe_close(&p);
    expect_limit("{\"file_type\":\"yaml\"}", text, "too many values");
}

/* Nine aliases of nine aliases of …: fine as YAML, and nothing is written out. */
static void test_alias_bomb(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    weir_buf_printf(&b, "a0: &a0 [x, x, x]\n");
    for (int i = 1; i < 40; i++) {
        weir_buf_printf(&b, "a%d: &a%d [*a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1, i - 1);
    }
    struct probe p;
    probe_open(&p, &weir_detect_file_type, "{\"file_type\":\"yaml\"}");
    assert_string_equal(probe_line(&p, weir_buf_cstr(&b)), "");
    probe_close(&p);
    expect_limit("{\"file_type\":\"yaml-with-schema:true\"}", weir_mem_strdup(b.p),
                 "once its aliases are written out");
    weir_buf_clear(&b);
    weir_buf_printf(&b, "a0: &a0 {x: 1}\n");
    for (int i = 1; i < 40; i++) {
        weir_buf_printf(&b, "a%d: &a%d\n  <<: [*a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1, i - 1);
    }
    expect_limit("{\"file_type\":\"yaml-with-schema:true\"}", weir_mem_strdup(weir_buf_cstr(&b)),
                 "once its aliases are written out");
    weir_buf_dispose(&b);
}

/* Half a MiB is no limit where there is no loop to hold up. */
static void test_large(void **state)
{
    (void)state;
    struct probe p;
    char *text = repeat("<a>", "<b c='1'>text</b>", 30000, "</a>");
    probe_open(&p, &weir_detect_file_type, "{\"file_type\":\"xml\"}");
    assert_string_equal(probe_line(&p, text), "");
    probe_close(&p);
    free(text);
}

/* ---- off the loop */

struct heavy {
    struct weir_loop loop;
    struct weir_builtin detector;
    struct weir_slice text;
    struct weir_detect_input input;
    struct weir_detect_env env;
    struct weir_detect_call *call;
    int n_done;
};

static void on_done(void *ctx, struct weir_detect_call *call)
{
    struct heavy *h = ctx;
    h->n_done++;
    assert_true(call->is_done);
    weir_loop_stop(&h->loop);
}

static void heavy_open(struct heavy *h, const char *params)
{
    struct weir_buf why = {0};
    *h = (struct heavy){0};
    assert_int_equal(weir_loop_init(&h->loop), 0);
    assert_int_equal(weir_builtin_init(&h->detector, &weir_detect_file_type, WEIR_SLICE("det"),
                                       weir_slice_cstr(params), &why),
                     0);
    h->env.loop = &h->loop;
    weir_buf_dispose(&why);
}

static void heavy_start(struct heavy *h, const char *text, const char *params)
{
    h->text = weir_slice_cstr(text);
    h->input = (struct weir_detect_input){.type = WEIR_DETECT_CONTENTS,
                                          .contents = &h->text,
                                          .n_contents = 1,
                                          .params = weir_slice_cstr(params),
                                          .threshold = 0.5};
    h->call = weir_detect_start(&h->detector.base, &h->env, &h->input, on_done, h);
}

static void heavy_close(struct heavy *h)
{
    weir_detect_free(h->call);
    weir_builtin_dispose(&h->detector);
    weir_loop_dispose(&h->loop);
}

static void test_off_the_loop(void **state)
{
    (void)state;
    struct heavy h;
    heavy_open(&h, "{\"file_type\":\"json\"}");
    heavy_start(&h, "{}", "");
    assert_true(h.call->is_done); /* small */
    weir_detect_free(h.call);
    char *text = repeat("[", "1,", 20000, "1]");
    heavy_start(&h, text, "");
    assert_false(h.call->is_done);
    weir_loop_run(&h.loop);
    assert_int_equal(h.n_done, 1);
    assert_int_equal(h.call->fault.origin, WEIR_FAULT_NONE);
    assert_int_equal(h.call->n_lists, 1);
    assert_int_equal(h.call->lists[0].n, 0);
    free(text);
    weir_detect_free(h.call);
    heavy_start(&h, "<a>", "{\"file_type\":[\"xml\"]}"); /* new parameters are read there too */
    assert_false(h.call->is_done);
    weir_loop_run(&h.loop);
    assert_int_equal(h.n_done, 2);
    assert_int_equal(h.call->lists[0].n, 1);
    assert_true(weir_slice_eq_cstr(h.call->lists[0].items[0].text, "<a>"));
    weir_detect_free(h.call);
    heavy_start(&h, "<a>", "{\"file_type\":[\"xml\"]}"); /* and kept */
    assert_true(h.call->is_done);
    assert_int_equal(h.call->lists[0].n, 1);
    weir_detect_free(h.call);
    for (int i = 0; i < 2; i++) { /* a schema always is heavy */
        heavy_start(&h, "3", "{\"file_type\":[\"json-with-schema:{\\\"maximum\\\":2}\"]}");
        assert_false(h.call->is_done);
        weir_loop_run(&h.loop);
        assert_int_equal(h.call->lists[0].n, 1);
        weir_detect_free(h.call);
    }
    h.call = NULL;
    heavy_close(&h);
}

static void test_off_the_loop_fails(void **state)
{
    (void)state;
    struct heavy h;
    heavy_open(&h, "");
    heavy_start(&h, "x", "{\"file_type\":[\"toml\"]}");
    assert_false(h.call->is_done);
    weir_loop_run(&h.loop);
    assert_int_equal(h.call->fault.status, 422);
    assert_int_equal(h.call->n_lists, 0);
    heavy_close(&h);
}

/* The caller goes away with its text and its configuration while the work is under way. */
static void test_cancel(void **state)
{
    (void)state;
    struct heavy h;
    heavy_open(&h, "{\"file_type\":\"yaml\"}");
    char *text = repeat("[", "a,", 100000, "a]");
    heavy_start(&h, text, "");
    weir_detect_free(h.call);
    h.call = NULL;
    free(text);
    heavy_close(&h);
    assert_int_equal(h.n_done, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_yaml),
        cmocka_unit_test(test_xml),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_json_schema),
        cmocka_unit_test(test_yaml_schema),
        cmocka_unit_test(test_wrong_params),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_alias_bomb),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_off_the_loop),
        cmocka_unit_test(test_off_the_loop_fails),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
