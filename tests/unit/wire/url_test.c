#include "unit/cmocka_all.h"

#include "base/err.h"
#include "wire/url.h"

#define ASSERT_SLICE(s, text) assert_true(weir_slice_eq_cstr(s, text))

static void targets(void **state)
{
    (void)state;
    static const struct {
        const char *in, *path, *query;
    } rows[] = {
        {"/", "/", ""},          {"/a/../b//c", "/a/../b//c", ""},
        {"/a?b=c", "/a", "b=c"}, {"/a?", "/a", ""},
        {"/a?b?c", "/a", "b?c"}, {"*", "*", ""},
        {"/%2f", "/%2f", ""},    {"", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct weir_url_target t;
        weir_url_split(weir_slice_cstr(rows[i].in), &t);
        ASSERT_SLICE(t.path, rows[i].path);
        ASSERT_SLICE(t.query, rows[i].query);
    }
}

static void params(void **state)
{
    (void)state;
    struct weir_slice query = WEIR_SLICE("&a=1&&b&c=&=d&e=f=g&");
    static const struct {
        const char *key, *value;
        bool has_value;
    } want[] = {
        {"a", "1", true}, {"b", "", false}, {"c", "", true}, {"", "d", true}, {"e", "f=g", true},
    };
    struct weir_url_param p;
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        assert_true(weir_url_next_param(&query, &p));
        ASSERT_SLICE(p.key, want[i].key);
        ASSERT_SLICE(p.value, want[i].value);
        assert_int_equal(p.has_value, want[i].has_value);
    }
    assert_false(weir_url_next_param(&query, &p));
    assert_false(weir_url_next_param(&query, &p));
}

static void get_param(void **state)
{
    (void)state;
    struct weir_arena a = {0};
    struct weir_slice value;
    struct weir_slice query = WEIR_SLICE("x=%2b+y&%6Be%79=v%C3%A9&key=2&bad=%&%zz=1&after=2");
    assert_int_equal(weir_url_get_param(&a, query, WEIR_SLICE("x"), &value), 0);
    ASSERT_SLICE(value, "+ y");
    assert_int_equal(weir_url_get_param(&a, query, WEIR_SLICE("key"), &value), 0);
    ASSERT_SLICE(value, "v\xc3\xa9");
    assert_int_equal(weir_url_get_param(&a, query, WEIR_SLICE("bad"), &value), WEIR_EBAD);
    assert_int_equal(weir_url_get_param(&a, query, WEIR_SLICE("after"), &value), WEIR_EBAD);
    assert_int_equal(weir_url_get_param(&a, WEIR_SLICE("a&b"), WEIR_SLICE("c"), &value),
                     WEIR_ENOTFOUND);
    assert_int_equal(weir_url_get_param(&a, (struct weir_slice){0}, WEIR_SLICE("c"), &value),
                     WEIR_ENOTFOUND);
    weir_arena_dispose(&a);
}

static void decoding(void **state)
{
    (void)state;
    static const struct {
        const char *in, *plain, *form; /* NULL: refused */
    } rows[] = {
        {"", "", ""},
        {"abc", "abc", "abc"},
        {"a+b", "a+b", "a b"},
        {"%41%6a%2F", "Aj/", "Aj/"},
        {"a%20b+%2B", "a b++", "a b +"},
        {"%25%32%35", "%25", "%25"},
        {"%ff", "\xff", "\xff"},
        {"%", NULL, NULL},
        {"a%4", NULL, NULL},
        {"%4g", NULL, NULL},
        {"%g4", NULL, NULL},
        {"%%41", NULL, NULL},
        {"% 1", NULL, NULL},
        {"%-1", NULL, NULL},
        {"a%00b", NULL, NULL},
        {"+%00", NULL, NULL},
    };
    struct weir_arena a = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct weir_slice out;
        bool is_good = rows[i].plain != NULL;
        assert_int_equal(weir_url_decode(&a, weir_slice_cstr(rows[i].in), &out),
                         is_good ? 0 : WEIR_EBAD);
        assert_true(!is_good || weir_slice_eq_cstr(out, rows[i].plain));
        assert_int_equal(weir_url_decode_form(&a, weir_slice_cstr(rows[i].in), &out),
                         is_good ? 0 : WEIR_EBAD);
        assert_true(!is_good || weir_slice_eq_cstr(out, rows[i].form));
    }
    struct weir_slice same = WEIR_SLICE("plain");
    struct weir_slice out;
    assert_int_equal(weir_url_decode(&a, same, &out), 0);
    assert_ptr_equal(out.p, same.p);
    weir_arena_dispose(&a);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets),          cmocka_unit_test(params),
        cmocka_unit_test(get_param),        cmocka_unit_test(decoding),
        cmocka_unit_test(good_authorities), cmocka_unit_test(bad_authorities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
