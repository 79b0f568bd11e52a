#include "base/err.h"
#include "server/export_where.h"
#include "unit/cmocka_all.h"

static void assert_where(const char *url, bool is_tls, const char *host, uint16_t port)
{
    struct weir_export_where w;
    assert_int_equal(weir_export_where_parse(weir_slice_cstr(url), &w), 0);
    assert_int_equal(w.is_tls, is_tls);
    assert_true(weir_slice_eq_cstr(w.host, host));
    assert_int_equal(w.port, port);
}

static void test_urls(void **state)
{
    (void)state;
    assert_where("http://localhost:4317", false, "localhost", 4317);
    assert_where("HTTPS://collector.example/", true, "collector.example", 443);
    assert_where("http://10.0.0.1", false, "10.0.0.1", 80);
    assert_where("http://[::1]:4318/x", false, "::1", 4318);
    assert_where("http://c?key=1", false, "c", 80);
}

static void test_what_is_none(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "c:4317",
        "ftp://c",
        "http:/c",
        "http://",
        "http:///x",
        "http://:1",
        "http://c:",
        "http://c:0",
        "http://u@c",
        "http://c:65536",
        "http://c:x",
        "http://c#f",
        "http://c/ x",
        "http://[::1",
        "http://c/\x7f",
        "http://c/\xC3\xBC",
    };
    struct weir_export_where w = {.port = 7};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(weir_export_where_parse(weir_slice_cstr(bad[i]), &w), WEIR_EBAD);
        assert_int_equal(w.port, 7);
    }
}

static void assert_path(const char *url, bool is_own, const char *want)
{
    struct weir_arena a = {0};
    struct weir_export_where w;
    assert_int_equal(weir_export_where_parse(weir_slice_cstr(url), &w), 0);
    struct weir_slice path = weir_export_where_path(&a, &w, is_own, "/v1/traces");
    assert_true(weir_slice_eq_cstr(path, want));
    weir_arena_dispose(&a);
}

static void test_paths(void **state)
{
    (void)state;
    assert_path("http://c:4318", false, "/v1/traces");
    assert_path("http://c:4318/", false, "/v1/traces");
    assert_path("http://c:4318/otlp//", false, "/otlp/v1/traces");
    assert_path("http://c:4318/otlp?k=v", false, "/otlp/v1/traces?k=v");
    assert_path("http://c:4318", true, "/");
    assert_path("http://c:4318?k=v", true, "/?k=v");
    assert_path("http://c:4318/my/traces/", true, "/my/traces/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_what_is_none),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
