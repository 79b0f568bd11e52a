/* `links`: what is a link, where it ends, images, and hosts that pretend to be allowed. */
#include "unit/cmocka_all.h"

#include "base/mem.h"
#include "detect/links.h"
#include "unit/detect/builtin_probe.h"

static const struct probe_case cases[] = {
    {"\"https:\\/\\/a.example\\/b\"", "url[https:\\/\\/a.example\\/b]"},
    {"http:\\\\a.example\\b", "url[http:\\\\a.example]"},
    {"seehttps://a.example/ news://a.example", "url[https://a.example/]"},
    {"![a [b] c]( https://a.example/i )", "markdown_image[![a [b] c]( https://a.example/i )]"},
    {"<img src='//a.example/i'> <a href=//b.example>", "html_image[//a.example/i] "
                                                       "url[//b.example]"},
    {"[x](<javascript:alert(1)>) the javascript: scheme", "script_url[javascript:alert(1)]"},
    {"See https://evil.example/a?b=c.", "url[https://evil.example/a?b=c]"},
    {"(http://a.example/x_(y)), ok", "url[http://a.example/x_(y)]"},
    {"[text](https://a.example/p) <https://b.example>", "url[https://a.example/p] "
                                                        "url[https://b.example]"},
    {"x ![alt](https://a.example/i.png?d=SECRET \"t\") y",
     "markdown_image[![alt](https://a.example/i.png?d=SECRET \"t\")]"},
    {"![](//a.example/i.png)", "markdown_image[![](//a.example/i.png)]"},
    {"<img alt=\"\" src=\"https://a.example/i\">", "html_image[https://a.example/i]"},
    {"www.example.org/x, www., www.x", "url[www.example.org/x]"},
    {"[click](javascript:alert(1))", "script_url[javascript:alert(1)]"},
    {"<a href=\" JavaScript:alert(1)\">", "script_url[JavaScript:alert(1)]"},
    {"[x](vbscript:msgbox) [y](data:text/html;base64,PHNj)",
     "script_url[vbscript:msgbox] script_url[data:text/html;base64,PHNj]"},
    {"a data:text/html page, or (data:text/html ) as a type", ""},
    {"<img src=//a.example/i> <a class=x href=\"//b.example\"> <script src='//c.example/s.js'>",
     "html_image[//a.example/i] url[//b.example] url[//c.example/s.js]"},
    {"<img src=//ok.test/i> s=\"// a comment\"; t = '//x'; if (a < b) c =//d.example", ""},
    {"访问https://a.example。谢谢", "url[https://a.example]"},
    {"https://ok.test/ https://sub.ok.test http://OK.test.:8080/x www.ok.test", ""},
    {"https://x.only.test", ""},
    {"https://only.test", "url[https://only.test]"},
    {"https://ok.test@evil.example/ https://ok.test.evil.example",
     "url[https://ok.test@evil.example/] url[https://ok.test.evil.example]"},
    {"https://notok.test", "url[https://notok.test]"},
    {"https://evil.example\\@ok.test", "url[https://evil.example]"},
    {"https://ok.test\\@evil.example https://ok.test\u2044@evil.example",
     "url[https://ok.test] url[https://ok.test\u2044@evil.example]"},
    {"访问https://ok.test。谢谢 https://ok.test, me@ok.test (https://ok.test)@x", ""},
    {"http://[::1]:80/x", "url[http://[::1]:80/x]"},
    {"std://x s3://bucket a:// http:// ://", ""},
    {"![pic](./local.png) and [doc](/docs) about javascript: the language", ""},
    {"data:image/png;base64,AAAA e.g. file.name end.Start", ""},
};

static void test_links(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_links, "{\"allow\":[\"ok.test\",\"*.only.test\"]}");
    probe_cases(&p, cases, sizeof cases / sizeof cases[0]);
    probe_close(&p);
}

static void test_wrong_hosts(void **state)
{
    (void)state;
    static const char *const wrong[] = {"{\"allow\":[\"\"]}", "{\"allow\":[\"https://x\"]}",
                                        "{\"allow\":[\"a*b\"]}", "{\"allow\":[\"*\"]}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct weir_builtin b;
        struct weir_buf why = {0};
        assert_int_not_equal(weir_builtin_init(&b, &weir_detect_links, WEIR_SLICE("l"),
                                               weir_slice_cstr(wrong[i]), &why),
                             0);
        weir_buf_dispose(&why);
        weir_builtin_dispose(&b);
    }
}

/* What decides is the first 1,024 bytes; what is found goes on to its end. */
static void test_long_addresses(void **state)
{
    (void)state;
    enum { LONG = 3000 };
    (void)state;
    static const struct {
        const char *before;
        const char *after;
        size_t from; /* of the finding; its end is that of the text, less `rest` bytes */
        size_t rest;
    } rows[] = {
        {"see https://evil.example/?d=", " end", 4, 4},
        {"x ![a](https://evil.example/?d=", ") end", 2, 5},
        {"<a href=\"//ok.test:", "@evil.example/\">", 9, 2},
        {"[x](https://ok.test:", "@evil.example)", 4, 1},
    };
    struct probe p;
    probe_open(&p, &weir_detect_links, "{\"allow\":[\"ok.test\"]}");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct weir_buf text = {0};
        weir_buf_append(&text, weir_slice_cstr(rows[i].before));
        for (size_t k = 0; k < LONG; k++) {
            weir_buf_append(&text, WEIR_SLICE("a"));
        }
        weir_buf_append(&text, weir_slice_cstr(rows[i].after));
        const struct weir_detect_call *call = probe_ask(&p, weir_buf_slice(&text), "");
        assert_int_equal(call->lists[0].n, 1);
        assert_int_equal(call->lists[0].items[0].start_cp, rows[i].from);
        assert_true(call->lists[0].items[0].end_cp + rows[i].rest >= text.n);
        weir_buf_dispose(&text);
    }
    probe_close(&p);
}

static void test_floods(void **state)
{
    (void)state;
    static const char *const floods[] = {"www.a:(",         "](//a",        "http://",
                                         "![a](http://a.b", "(javascript:", "http://a@",
                                         "<a b=//",         "=\"//",        "(  vbscript:"};
    struct probe p;
    probe_open(&p, &weir_detect_links, "{}");
    size_t n = 300000;
    char *text = weir_mem_alloc(n);
    for (size_t i = 0; i < sizeof floods / sizeof floods[0]; i++) {
        size_t n_flood = strlen(floods[i]);
        for (size_t at = 0; at < n; at++) {
            text[at] = floods[i][at % n_flood];
        }
        assert_int_equal(probe_ask(&p, weir_slice_make(text, n), "")->fault.origin,
                         WEIR_FAULT_NONE);
    }
    free(text);
    probe_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_wrong_hosts),
        cmocka_unit_test(test_long_addresses),
        cmocka_unit_test(test_floods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
