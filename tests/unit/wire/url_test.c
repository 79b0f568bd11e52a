#include "unit/cmocka_all.h"

#include "base/err.h"
#include "wire/url.h"

#define ASSERT_SLICE(s, text) assert_true(weir_slice_eq_cstr(s, text))

static void good_authorities(void **state)
{
    (void)state;
    static const struct {
        const char *in, *host;
        int port; /* -1: none */
        bool is_v6;
    } rows[] = {
        {"a", "a", -1, false},
        {"example.com:8080", "example.com", 8080, false},
        {"127.0.0.1:0", "127.0.0.1", 0, false},
        {"a-b_c.d~e!$&'()*+,;=%20:65535", "a-b_c.d~e!$&'()*+,;=%20", 65535, false},
        {"h:00080", "h", 80, false},
        {"[::1]", "::1", -1, true},
        {"[2001:DB8::1]:443", "2001:DB8::1", 443, true},
        {"[::ffff:1.2.3.4]:1", "::ffff:1.2.3.4", 1, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct weir_url_authority a;
        assert_int_equal(weir_url_parse_authority(weir_slice_cstr(rows[i].in), &a), 0);
        ASSERT_SLICE(a.host, rows[i].host);
        assert_int_equal(a.is_v6, rows[i].is_v6);
        assert_int_equal(a.has_port, rows[i].port >= 0);
        assert_int_equal(a.port, rows[i].port >= 0 ? rows[i].port : 0);
    }
}

static void bad_authorities(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",          ":80",
        "a:",        "a:x",
        "a:65536",   "a:+1",
        "a:1:2",     "u@a",
        "a b",       "a/b",
        "a?b",       "a#b",
        "a%",        "a%4",
        "a%zz",      "a\x80",
        "a\"",       "a\\b",
        "[",         "[]",
        "[::1",      "[::1]a",
        "[::1]:",    "[::g]",
        "[1]",       "::1",
        "[::1%25e]", "[::1]]",
        "a[::1]",    "a|b",
        "<a>",       "[1:2:3:4:5:6:7:8:9]",
        "a\x7f",     "a^",
        "a`",        "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]",
    };
    struct weir_url_authority a;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(weir_url_parse_authority(weir_slice_cstr(bad[i]), &a), WEIR_EBAD);
    }
    assert_int_equal(weir_url_parse_authority(WEIR_SLICE("a\0b"), &a), WEIR_EBAD);
    assert_int_equal(weir_url_parse_authority(WEIR_SLICE("[::1\0]"), &a), WEIR_EBAD);
    assert_int_equal(weir_url_parse_authority((struct weir_slice){0}, &a), WEIR_EBAD);
}

static void test_urls(void **state)
{
    (void)state;
    struct weir_url u;
    assert_int_equal(weir_url_parse(WEIR_SLICE("https://a.b/v1?x=y"), &u), 0);
    assert_true(u.is_tls);
    assert_int_equal(u.port, 443);
    assert_true(weir_slice_eq_cstr(u.host, "a.b"));
    assert_true(weir_slice_eq_cstr(u.path, "/v1"));
    assert_true(weir_slice_eq_cstr(u.query, "?x=y"));
    assert_int_equal(weir_url_parse(WEIR_SLICE("HTTP://[::1]:8000"), &u), 0);
    assert_false(u.is_tls);
    assert_int_equal(u.port, 8000);
    assert_true(weir_slice_eq_cstr(u.host, "::1"));
    assert_int_equal(u.path.n, 0);
    static const char *const bad[] = {"",           "a/b",          "ftp://a",     "http://",
                                      "http:///x",  "http://a:0/x", "http://a/#b", "http://a/\x80",
                                      "http://u@a", "https:/a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(weir_url_parse(weir_slice_cstr(bad[i]), &u), WEIR_EBAD);
    }
}

/* Whatever is escaped comes back, and is a segment of a path. */
static void test_escapes(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_buf out = {0};
    char all[256];
    for (size_t i = 0; i < sizeof all; i++) {
        all[i] = (char)i;
    }
    weir_url_append_escaped(&out, weir_slice_make(all, sizeof all));
    struct weir_slice back;
    assert_true(weir_url_unescape(weir_buf_slice(&out), &arena, &back));
    assert_int_equal(back.n, sizeof all);
    assert_memory_equal(back.p, all, sizeof all);
    assert_int_equal(weir_slice_find(weir_buf_slice(&out), '/'), out.n);
    assert_int_equal(weir_slice_find(weir_buf_slice(&out), '?'), out.n);
    assert_false(weir_url_unescape(WEIR_SLICE("a%2"), &arena, &back));
    assert_false(weir_url_unescape(WEIR_SLICE("%zz"), &arena, &back));
    weir_buf_dispose(&out);
    weir_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_authorities),
        cmocka_unit_test(bad_authorities),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
