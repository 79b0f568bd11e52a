/* The catalogue says what is so: every kind has words, and the names it gives are taken. */
#include "detect/catalog.h"

#include "base/err.h"
#include "detect/registry.h"
#include "unit/cmocka_all.h"

static void read_catalog(struct weir_json *j, struct weir_buf *out, struct weir_arena *arena,
                         const char *kind)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_catalog_write(&w, kind);
    assert_int_equal(weir_json_write_finish(&w), 0);
    assert_int_equal(weir_json_parse(j, weir_buf_slice(out), NULL, arena, NULL), 0);
    assert_int_equal(weir_json_type(j, 0), WEIR_JSON_OBJECT);
}

static void test_every_kind_has_words(void **state)
{
    const char *kind;
    (void)state;
    for (size_t i = 0; (kind = weir_detect_builtin_name(i)) != NULL; i++) {
        struct weir_json j;
        struct weir_buf out = {0};
        struct weir_arena arena = {0};
        read_catalog(&j, &out, &arena, kind);
        if (j.nodes[0].n == 0) {
            fail_msg("`%s` has no words in the catalogue", kind);
        }
        weir_arena_dispose(&arena);
        weir_buf_dispose(&out);
    }
}

/* The names of `regex` and `file_type` are values of their parameters. */
static void test_names_are_taken(void **state)
{
    static const char *const kinds[] = {"regex", "file_type"};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct weir_json j;
        struct weir_buf out = {0};
        struct weir_arena arena = {0};
        read_catalog(&j, &out, &arena, kinds[i]);
        uint32_t key = weir_json_first(&j, 0);
        for (; key != WEIR_JSON_NONE; key = weir_json_after(&j, 0, key)) {
            struct weir_slice name = weir_json_string(&j, key, &arena);
            struct weir_buf why = {0};
            const char *params =
                weir_arena_printf(&arena, "{\"%s\":[\"%.*s\"]}", kinds[i], (int)name.n, name.p);
            if (memchr(name.p, '$', name.n) == NULL) {
                struct weir_builtin b;
                if (weir_detect_builtin_init(&b, weir_slice_cstr(kinds[i]), name,
                                             weir_slice_cstr(params), &why) != 0) {
                    fail_msg("%s: %s", params, weir_buf_cstr(&why));
                }
                weir_builtin_dispose(&b);
            }
            weir_buf_dispose(&why);
        }
        weir_arena_dispose(&arena);
        weir_buf_dispose(&out);
    }
}

static void test_unknown_kind(void **state)
{
    struct weir_json j;
    struct weir_buf out = {0};
    struct weir_arena arena = {0};
    (void)state;
    read_catalog(&j, &out, &arena, "nothing");
    assert_int_equal(j.nodes[0].n, 0);
    weir_arena_dispose(&arena);
    weir_buf_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_has_words),
        cmocka_unit_test(test_names_are_taken),
        cmocka_unit_test(test_unknown_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
