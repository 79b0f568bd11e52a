/* YAML to nodes: what is refused, where, and that a hostile document stays cheap. */
#include "unit/conf/conf_harness.h"

#define DEMO "openai: {builtin: demo}\n"

static void test_not_yaml(void **state)
{
    (void)state;
    expect("openai: {builtin: demo\n\nx",
           "c.yaml:4: error: not valid YAML: while parsing a flow "
           "mapping from line 1, did not find expected ',' or '}'\n");
    expect("openai:\n  x: \xff\n",
           "c.yaml:2: error: not valid YAML: invalid leading UTF-8 octet\n");
    expect("\n\na: \x01\n",
           "c.yaml:3: error: not valid YAML: control characters are not allowed\n");
}

/* It looks like the spaces it is not; libyaml has three ways to say so, none with its name. */
static void test_a_tab(void **state)
{
    (void)state;
    static const char *const wrong =
        "error: not valid YAML: a TAB character indents this line; YAML takes spaces only\n";
    static const struct {
        const char *text;
        int line;
    } cases[] = {
        {"a: b\n\tc: d\n", 2},
        {"openai:\n\tbuiltin: demo\n", 2},
        {"limits:\n  max_choices: 1\n\tmax_tool_calls: 1\n", 3},
        {"limits:\n  max_choices: 1\n  \tmax_tool_calls: 1\n", 3},
        {"routes:\n  -\tname: a\n\t  unguarded: true\n", 2},
        {"\topenai: {builtin: demo}\n", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char lines[256];
        snprintf(lines, sizeof lines, "c.yaml:%d: %s", cases[i].line, wrong);
        expect(cases[i].text, lines);
    }
    /* Elsewhere it is white space like any other, and other mistakes keep their own words. */
    expect("openai:\t{builtin:\tdemo}\t# x\n", "");
    expect("openai: {builtin:\tdemo\n", "c.yaml:2: error: not valid YAML: while parsing a flow "
                                        "mapping from line 1, did not find expected ',' or '}'\n");
}

static void test_empty_and_wrong_roots(void **state)
{
    (void)state;
    expect("", "c.yaml: error: the file is empty\n");
    expect("# only a comment\n", "c.yaml: error: the file is empty\n");
    expect("---\n", "c.yaml:2: error: the file must be a mapping of sections, not nothing\n");
    expect("[a]\n", "c.yaml:1: error: the file must be a mapping of sections, not a list\n");
    expect("\n5\n",
           "c.yaml:2: error: the file must be a mapping of sections, not the number `5`\n");
    expect("{}\n", "c.yaml:1: error: nothing to serve: `detectors`, `openai`, `models` and "
                   "`generation` are all absent\n");
    expect(DEMO "---\n" DEMO,
           "c.yaml:2: error: a second YAML document begins here; one is expected\n");
    expect("---\n" DEMO "...\n", "");
    expect("\xef\xbb\xbf" DEMO, ""); /* a byte order mark */
}

static void test_duplicate_keys(void **state)
{
    (void)state;
    expect(DEMO "limits:\n  max_choices: 1\n  max_tool_calls: 2\n  max_choices: 3\nlimits: {}\n",
           "c.yaml:5: error: key `max_choices` is there twice, first on line 3\n"
           "c.yaml:6: error: key `limits` is there twice, first on line 2\n");
    expect(DEMO "chunkers: {a: {builtin: sentence}, \"a\": {builtin: sentence}}\n",
           "c.yaml:2: error: key `a` is there twice, first on line 2\n");
}

static void test_strange_keys(void **state)
{
    (void)state;
    expect("? [a, b]\n: c\n",
           "c.yaml:1: error: a key must be a plain word, not a list or a mapping\n");
    expect(
        DEMO "base: &b {max_choices: 1}\nlimits:\n  <<: *b\n",
        "c.yaml:2: error: unknown key `base`; known keys: `compat`, `tls`, `openai`, "
        "`chat_generation`, `chat_completions`, `generation`, `providers`, `models`, "
        "`chunkers`, `read_along`, `detectors`, `cache`, "
        "`passthrough_headers`, `rewrite_forwarded_access_header`, `seal_key_env`, `id_key_env`, "
        "`detector_concurrent_requests`, `chunker_concurrent_requests`, `aggregation`, "
        "`streaming`, `routes`, `public_api`, `playground`, `trust_traceparent`, `auth`, "
        "`cors`, `audit`, `limits`, `router`\n"
        "c.yaml:4: error: merge keys (<<) are not supported: repeat the keys\n");
}

static void test_tags(void **state)
{
    (void)state;
    expect(DEMO "limits: {max_choices: !!int 5}\n",
           "c.yaml:2: error: YAML tags other than !!str are not supported\n");
    expect(DEMO "limits: !thing {max_choices: 5}\n",
           "c.yaml:2: error: YAML tags other than !!str are not supported\n");
    expect(DEMO "limits: {max_choices: !!str 5}\n",
           "c.yaml:2: error: `max_choices` must be an integer from 1 to 100000, not the text "
           "`5`\n");
    expect("openai: {builtin: !!str demo}\n", "");
}

static void test_nul_is_refused(void **state)
{
    (void)state;
    expect("openai: {service: {hostname: \"a\\0b\"}}\n",
           "c.yaml:1: error: a NUL character is not allowed in a value\n");
}

static void test_aliases(void **state)
{
    (void)state;
    struct loaded l = load_clean("openai: {service: &s {hostname: h, port: 1}}\n"
                                 "generation: {provider: nlp, service: *s}\n");
    assert_string_equal(l.conf->generation.service->hostname.s.p, "h");
    assert_int_equal(l.conf->generation.service->port, 1);
    assert_int_equal(l.conf->generation.service->at.line, 1); /* where it is written */
    drop(&l);
    expect("openai: {service: *s}\n",
           "c.yaml:1: error: alias *s names no anchor that is complete before it\n");
    expect("openai: &o {service: *o}\n",
           "c.yaml:1: error: alias *o names no anchor that is complete before it\n");
}

/* Nine aliases of nine aliases of … : a few hundred bytes, a thousand million values. */
static void test_billion_laughs(void **state)
{
    (void)state;
    struct weir_buf text = {0};
    weir_buf_printf(&text, "a0: &a0 x\n");
    for (int i = 1; i <= 9; i++) {
        weir_buf_printf(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 9; k++) {
            weir_buf_printf(&text, "%s*a%d", k > 0 ? "," : "", i - 1);
        }
        weir_buf_printf(&text, "]\n");
    }
    expect(weir_buf_cstr(&text),
           "c.yaml:7: error: more than 100000 values once aliases are written out\n");
    weir_buf_dispose(&text);
}

/* Few values, much text. */
static void test_alias_of_a_long_text(void **state)
{
    (void)state;
    struct weir_buf text = {0};
    weir_buf_printf(&text, "a: &a ");
    for (int i = 0; i < 100000; i++) {
        weir_buf_printf(&text, "xxxxxxxxxx");
    }
    weir_buf_printf(&text, "\nb:\n");
    for (int i = 0; i < 20; i++) {
        weir_buf_printf(&text, "- *a\n");
    }
    expect(weir_buf_cstr(&text),
           "c.yaml:18: error: more than 16777216 bytes of text once aliases are written out\n");
    weir_buf_dispose(&text);
}

static void test_too_many_values(void **state)
{
    (void)state;
    struct weir_buf text = {0};
    weir_buf_printf(&text, "a: [");
    for (int i = 0; i < 100000; i++) {
        weir_buf_printf(&text, "1,\n");
    }
    weir_buf_printf(&text, "]\n");
    expect(weir_buf_cstr(&text),
           "c.yaml:99998: error: more than 100000 values once aliases are written out\n");
    weir_buf_dispose(&text);
}

static void test_depth(void **state)
{
    (void)state;
    for (int depth = 63; depth <= 65; depth++) {
        struct weir_buf text = {0};
        weir_buf_printf(&text, "detectors: {a: {builtin: regex, chunker_id: whole_doc_chunker, "
                               "params: {x: ");
        for (int i = 4; i < depth; i++) {
            weir_buf_append_byte(&text, '[');
        }
        for (int i = 4; i < depth; i++) {
            weir_buf_append_byte(&text, ']');
        }
        weir_buf_printf(&text, "}}}\n");
        expect(weir_buf_cstr(&text),
               depth <= 64 ? "" : "c.yaml:1: error: nested deeper than 64 levels\n");
        weir_buf_dispose(&text);
    }
    struct weir_buf text = {0};
    for (int i = 0; i < 900; i++) {
        weir_buf_append_byte(&text, '[');
    }
    struct loaded l = load(weir_buf_cstr(&text));
    assert_int_equal(l.problems.n_errors, 1);
    assert_non_null(strstr(weir_buf_cstr(&l.lines), "nested deeper than 64 levels"));
    drop(&l);
    weir_buf_dispose(&text);
}

/* Depth counts through aliases too. */
static void test_depth_through_aliases(void **state)
{
    (void)state;
    struct weir_buf text = {0};
    weir_buf_printf(&text, "a0: &a0 [x]\n");
    for (int i = 1; i < 80; i++) {
        weir_buf_printf(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    }
    struct loaded l = load(weir_buf_cstr(&text));
    assert_non_null(strstr(weir_buf_cstr(&l.lines), "nested deeper than 64 levels"));
    drop(&l);
    weir_buf_dispose(&text);
}

static void test_messages_cannot_be_forged(void **state)
{
    (void)state;
    expect(DEMO "\"x\\nc.yaml:9: error: all is lost\\e[31m\\u202e\": 1\n",
           "c.yaml:2: error: unknown key `x\\u{a}c.yaml:9: error: all is "
           "lost\\u{1b}[31m\\u{202e}`; known keys: `compat`, `tls`, `openai`, `chat_generation`, "
           "`chat_completions`, `generation`, `providers`, `models`, `chunkers`, "
           "`read_along`, `detectors`, `cache`, "
           "`passthrough_headers`, "
           "`rewrite_forwarded_access_header`, `seal_key_env`, `id_key_env`, "
           "`detector_concurrent_requests`, "
           "`chunker_concurrent_requests`, `aggregation`, `streaming`, `routes`, `public_api`, "
           "`playground`, `trust_traceparent`, `auth`, `cors`, `audit`, `limits`, `router`\n");
}

static void test_many_problems_are_cut(void **state)
{
    (void)state;
    struct weir_buf text = {0};
    weir_buf_printf(&text, DEMO "limits:\n");
    for (int i = 0; i < 1000; i++) {
        weir_buf_printf(&text, "  some_unknown_key_%d: 1\n", i);
    }
    struct loaded l = load(weir_buf_cstr(&text));
    assert_int_equal(l.problems.n, WEIR_CONF_MAX_PROBLEMS);
    assert_int_equal(l.problems.n_errors, 1000);
    struct weir_buf report = {0};
    weir_conf_problems_report(&l.problems, "c.yaml", &report);
    assert_non_null(strstr(weir_buf_cstr(&report), "\nc.yaml: and 800 more\n"
                                                   "c.yaml: 1000 errors, 0 warnings\n"));
    weir_buf_dispose(&report);
    drop(&l);
    weir_buf_dispose(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_yaml),
        cmocka_unit_test(test_a_tab),
        cmocka_unit_test(test_empty_and_wrong_roots),
        cmocka_unit_test(test_duplicate_keys),
        cmocka_unit_test(test_strange_keys),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_nul_is_refused),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_billion_laughs),
        cmocka_unit_test(test_alias_of_a_long_text),
        cmocka_unit_test(test_too_many_values),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_depth_through_aliases),
        cmocka_unit_test(test_messages_cannot_be_forged),
        cmocka_unit_test(test_many_problems_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
