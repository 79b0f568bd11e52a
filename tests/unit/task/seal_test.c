/* Seals: what is closed opens again, and nothing else does. */
#include "task/seal.h"

#include "unit/cmocka_all.h"

#include <string.h>

static struct weir_seal made(const char *secret, const char *route)
{
    struct weir_seal seal;
    weir_seal_init(&seal, weir_slice_cstr(secret), weir_slice_cstr(route));
    return seal;
}

static bool opens(const struct weir_seal *seal, struct weir_slice sealed)
{
    struct weir_arena arena = {0};
    struct weir_slice text;
    struct weir_slice signature;
    bool is_open = weir_seal_open(seal, sealed, &arena, &text, &signature);
    weir_arena_dispose(&arena);
    return is_open;
}

static void test_back_and_forth(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "a", "They are jane@example.org\n\"quoted\" \xc3\xa9"};
    struct weir_arena arena = {0};
    struct weir_seal seal = made("a secret of some length", "r");
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 3; k++) {
            struct weir_slice text = weir_slice_cstr(texts[i]);
            struct weir_slice signature = weir_slice_cstr(texts[k]);
            struct weir_slice sealed = weir_seal_close(&seal, text, signature, &arena);
            struct weir_slice text_out;
            struct weir_slice signature_out;
            assert_true(weir_seal_is(sealed));
            assert_true(weir_seal_open(&seal, sealed, &arena, &text_out, &signature_out));
            assert_true(weir_slice_eq(text, text_out));
            assert_true(weir_slice_eq(signature, signature_out));
        }
    }
    /* The same twice looks different. */
    struct weir_slice a = weir_seal_close(&seal, WEIR_SLICE("x"), WEIR_SLICE("y"), &arena);
    struct weir_slice b = weir_seal_close(&seal, WEIR_SLICE("x"), WEIR_SLICE("y"), &arena);
    assert_false(weir_slice_eq(a, b));
    weir_arena_dispose(&arena);
}

/* Every character changed, every length, another key, another route. */
static void test_broken(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_seal seal = made("a secret of some length", "r");
    struct weir_seal key = made("another secret of length", "r");
    struct weir_seal route = made("a secret of some length", "q");
    struct weir_slice sealed = weir_seal_close(&seal, WEIR_SLICE("text"), WEIR_SLICE("s"), &arena);
    char copy[256];
    assert_true(sealed.n < sizeof copy);
    assert_true(opens(&seal, sealed));
    assert_false(opens(&key, sealed));
    assert_false(opens(&route, sealed));
    for (size_t i = 0; i < sealed.n; i++) {
        memcpy(copy, sealed.p, sealed.n);
        copy[i] = copy[i] == 'A' ? 'B' : 'A';
        assert_false(opens(&seal, weir_slice_make(copy, sealed.n)));
        assert_false(opens(&seal, weir_slice_sub(sealed, 0, i)));
    }
    assert_false(weir_seal_is(WEIR_SLICE("weir1.")));
    assert_false(weir_seal_is(WEIR_SLICE("weir1.a b")));
    assert_false(weir_seal_is(WEIR_SLICE("EqoBCkg")));
    weir_arena_dispose(&arena);
}

static void restores(const struct weir_seal *seal, const char *signature, const char *want)
{
    struct weir_arena arena = {0};
    struct weir_json json;
    uint32_t broken = 0;
    const char *body =
        weir_arena_printf(&arena,
                          "{\"messages\":[{\"content\":\"x\"},5,{\"content\":[\"y\",{\"type\":"
                          "\"thinking\",\"thinking\":\"[x]\",\"signature\":\"%s\"}]}]}",
                          signature);
    assert_int_equal(weir_json_parse(&json, weir_slice_cstr(body), NULL, &arena, NULL), 0);
    struct weir_slice out = weir_seal_restore(seal, &json, &arena, &broken);
    assert_int_equal(broken == WEIR_JSON_NONE, want != NULL);
    if (want != NULL) {
        assert_non_null(memmem(out.p, out.n, want, strlen(want)));
    }
    weir_arena_dispose(&arena);
}

static void test_restore(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_seal seal = made("a secret of some length", "r");
    struct weir_slice sealed =
        weir_seal_close(&seal, WEIR_SLICE("Jane \"J\""), WEIR_SLICE("Eq"), &arena);
    const char *text = weir_arena_printf(&arena, "%.*s", (int)sealed.n, sealed.p);
    restores(&seal, text, "\"thinking\":\"Jane \\\"J\\\"\",\"signature\":\"Eq\"");
    restores(&seal, "theirs", "\"thinking\":\"[x]\",\"signature\":\"theirs\"");
    restores(&seal, "weir1.AAAA", NULL);
    restores(NULL, text, NULL);
    weir_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_back_and_forth),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_restore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
