/* What an answer says that is no text leaves in the form it claims to have. */
#include "talk/form.h"

#include "unit/cmocka_all.h"

#include <stdio.h>

static void expect_filters(const char *object, const char *want, size_t n_odd)
{
    static const char *const names[] = {"results", "offsets", NULL};
    struct weir_arena arena = {0};
    struct weir_json j;
    struct weir_buf out = {0};
    assert_int_equal(weir_json_parse(&j, weir_slice_cstr(object), NULL, &arena, NULL), 0);
    assert_int_equal(weir_form_write_filters(&j, 0, names, &out), n_odd);
    assert_string_equal(out.n != 0 ? weir_buf_cstr(&out) : "", want);
    weir_buf_dispose(&out);
    weir_arena_dispose(&arena);
}

static void test_filters(void **state)
{
    (void)state;
    expect_filters("{\"x\":1}", "", 0);
    expect_filters("{\"results\":null}", "", 0);
    expect_filters("{\"offsets\":{\"end\":5},\"results\":{\"hate\":{\"filtered\":false}},\"x\":1}",
                   "\"results\":{\"hate\":{\"filtered\":false}},\"offsets\":{\"end\":5}", 0);
    expect_filters("{\"results\":[{\"i\":0,\"list\":[\"safe\",[],{}]},true]}",
                   "\"results\":[{\"i\":0,\"list\":[\"safe\",[],{}]},true]", 0);
    /* A text, a name that is none, an escape: none of them has the form. */
    expect_filters(
        "{\"results\":{\"a b\":1,\"m\":\"a text\",\"u\":\"s\\u0061fe\",\"l\":[\"x@y\"]}}",
        "\"results\":{\"m\":null,\"u\":null,\"l\":[null]}", 4);
    expect_filters("{\"results\":\"a text\",\"offsets\":\"safe\"}",
                   "\"results\":null,\"offsets\":\"safe\"", 1);
    /* As deep as a filter may go, and not deeper. */
    expect_filters("{\"results\":[[[[[[[[[1]]]]]]]]]}", "\"results\":[[[[[[[[null]]]]]]]]", 1);
}

/* Arrays are no part of what an answer has cost, and a number is no name. */
static void test_usage(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_json j;
    struct weir_buf out = {0};
    struct weir_slice json =
        WEIR_SLICE("{\"n\":1,\"l\":[1],\"4111-1111\":2,\"d\":{\"w\":\"cached\",\"t\":\"a b\"}}");
    assert_int_equal(weir_json_parse(&j, json, NULL, &arena, NULL), 0);
    assert_int_equal(weir_form_write_usage(&j, 0, &out), 3);
    assert_string_equal(weir_buf_cstr(&out),
                        "{\"n\":1,\"l\":null,\"d\":{\"w\":\"cached\",\"t\":null}}");
    weir_buf_dispose(&out);
    weir_arena_dispose(&arena);
}

/* Models and ids may have an `@`; an address is none of them, wherever it stands in one. */
static void test_ids(void **state)
{
    (void)state;
    static const char *const ids[] = {
        "resp_1",
        "gpt-4o-2024-08-06",
        "ft:gpt-4o:acme::id",
        "@cf/meta/llama-3.1-8b",
        "a@b",
        "claude-opus-4@20250514",
        "call_1+/==",
        "publishers/x/models/y@2024.06",
        "a@b/c.d",
        "anthropic.claude-v2@v2:1",
        "x@",
        "x/@a.b",
    };
    static const char *const others[] = {
        "",
        "a b",
        "jane@example.org",
        "msg_jane@example.org",
        "a@b.c",
        "x@y@z.example",
        "a@b-1.2.co",
        "a@1.2.c",
        "resp:a@b.c/d",
        "a.@b.c",
        "é",
        "a\"",
    };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        assert_true(weir_form_is_id(weir_slice_cstr(ids[i]), 128));
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(weir_form_is_id(weir_slice_cstr(others[i]), 128));
    }
    assert_false(weir_form_is_id(WEIR_SLICE("abc"), 2));
}

/* What servers draw is an id, what gives access to something is none. */
static void test_credentials(void **state)
{
    (void)state;
    static const char *const ids[] = {
        "chatcmpl-9aBcDeFgHiJkLmNoPqRsTuVwXyZ01",
        "chatcmpl-123e4567-e89b-12d3-a456-426614174000",
        "resp_68af40d2a3f481a0b7c1e5d9f2c3b4a5068af40d2a3f481",
        "msg_01XFDUDYJgAACzvnptvVoYEL",
        "toolu_01A09q90qw90lq917835lq9",
        "call_aBcDeFgHiJkLmNoPqRsTuVw1",
        "functions.get_weather:0",
        "functions.sk-small:12",
        "fp_44709d6fcb",
        "gen-1737062345-aB3dE5fG7hI9jK1lM3nO",
        "gsk",
        "sk-",
        "hf_transfer",
        "npm_install_of_a_very_long_package_name",
        "AKIA",
        "AKIAPLAN",
        "eyJhbGciOiJub25lIn0",
        "a-ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5", /* base64 of any kind may have that in it */
    };
    static const char *const credentials[] = {
        "gh"
        "p_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5",
        "s"
        "k-proj-aB3dE5fG7hI9jK1lM3nO5pQ7",
        "AKI"
        "AQ2W3E4R5T6Y7U8I9",
        "id:gl"
        "pat-aB3dE5fG7hI9jK1lM3nO",
        "functions.f:sk"
        "_live_aB3dE5fG7hI9jK1lM3nO5pQ7",
        "ey"
        "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.aB3dE5fG7hI9jK1lM3nO",
    };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        if (!weir_form_is_said_id(weir_slice_cstr(ids[i]), 128)) {
            fail_msg("%s is an id", ids[i]);
        }
    }
    for (size_t i = 0; i < sizeof credentials / sizeof credentials[0]; i++) {
        struct weir_slice s = weir_slice_cstr(credentials[i]);
        assert_true(
            weir_form_is_id(s, 128)); /* a caller may send one, and servers of tools want some */
        if (weir_form_is_said_id(s, 128)) {
            fail_msg("%s is none", credentials[i]);
        }
    }
}

/* Each of them, at the beginning and behind a sign that ends a part of an id; never inside of one.
 */
static void test_every_kind_of_credential(void **state)
{
    (void)state;
    static const char *const prefixes[] = {
        "sk-",       "sk_live_",    "sk_test_", "rk_live_", "ghp_",  "gho_",  "ghu_",  "ghs_",
        "ghr_",      "github_pat_", "glpat-",   "xoxb-",    "xoxp-", "xoxa-", "xoxs-", "xapp-",
        "AIza",      "hf_",         "npm_",     "nvapi-",   "gsk_",  "xai-",  "r8_",   "pplx-",
        "dckr_pat_", "shpat_",      "ATATT3",   "ya29.",    "SG.",   "pypi-"};
    static const char *const before[] = {"", "id.", "id:", "id=", "id@"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        char text[128];
        for (size_t k = 0; k < sizeof before / sizeof before[0]; k++) {
            snprintf(text, sizeof text, "%s%saB3dE5fG7hI9jK1lM3nO5pQ7", before[k], prefixes[i]);
            if (weir_form_is_said_id(weir_slice_cstr(text), sizeof text)) {
                fail_msg("%s is none", text);
            }
        }
        snprintf(text, sizeof text, "%s0123456789abcdef0123456789abcdef", prefixes[i]);
        assert_false(weir_form_is_said_id(weir_slice_cstr(text), sizeof text));
        snprintf(text, sizeof text, "%sor-v1-0123456789abcdef0123456789abcdef", prefixes[i]);
        assert_false(weir_form_is_said_id(weir_slice_cstr(text), sizeof text));
        snprintf(text, sizeof text, "%sof0123456789abcdef0123456789abcde", prefixes[i]);
        assert_true(weir_form_is_said_id(weir_slice_cstr(text), sizeof text));
        snprintf(text, sizeof text, "id-%saB3dE5fG7hI9jK1lM3nO5pQ7", prefixes[i]);
        assert_true(weir_form_is_said_id(weir_slice_cstr(text), sizeof text));
        snprintf(text, sizeof text, "%sa_name_of_something_long", prefixes[i]);
        assert_true(weir_form_is_said_id(weir_slice_cstr(text), sizeof text));
    }
}

/* The place of an id or a name may hold one, in any member that nobody looks at. */
static void test_credentials_in_usage(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_json j;
    struct weir_buf out = {0};
    struct weir_slice json = WEIR_SLICE("{\"w\":\"AKI"
                                        "AQWERTYUIOPASDFGH\",\"gh"
                                        "p_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5\":1,\"n\":2}");
    assert_int_equal(weir_json_parse(&j, json, NULL, &arena, NULL), 0);
    assert_int_equal(weir_form_write_usage(&j, 0, &out), 2);
    assert_string_equal(weir_buf_cstr(&out), "{\"w\":null,\"n\":2}");
    weir_buf_dispose(&out);
    weir_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_credentials),
        cmocka_unit_test(test_every_kind_of_credential),
        cmocka_unit_test(test_credentials_in_usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
