/* A route's canary word, and where it stands in a question. */
#include "route/canary.h"

#include "unit/cmocka_all.h"
#include "unit/route/reading.h"

#define KEY WEIR_SLICE("0123456789abcdef")

/* Computed with Python's hmac. */
static void test_the_word(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_slice word = weir_canary_word(KEY, WEIR_SLICE("strict"), 20773, &arena);
    assert_true(weir_slice_eq_cstr(word, "itny6p4qi6lboiwgas6z"));
    struct weir_plan_use use = {.params = WEIR_SLICE("{}")};
    struct weir_plan plan = weir_canary_plan(&(struct weir_plan){.uses = &use, .n = 1}, KEY,
                                             WEIR_SLICE("strict"), 20773, &arena);
    assert_true(weir_slice_eq_cstr(
        plan.uses[0].params, "{\"words\":[\"itny6p4qi6lboiwgas6z\",\"zrlit7letw5r7miodog3\"]}"));
    assert_true(weir_slice_eq_cstr(use.params, "{}"));
    weir_arena_dispose(&arena);
}

static void becomes(const char *text, const char *want)
{
    struct reading r;
    struct weir_json_edit e = {0};
    struct weir_buf out = {0};
    read_json(&r, text);
    weir_json_edit_begin(&e, &r.json);
    weir_canary_append(&e, WEIR_SLICE("word"), &r.arena);
    weir_json_edit_write(&e, &out);
    assert_string_equal(weir_buf_cstr(&out), want);
    weir_json_edit_dispose(&e);
    weir_buf_dispose(&out);
    weir_arena_dispose(&r.arena);
}

static void test_where_it_stands(void **state)
{
    (void)state;
    static const char *const unchanged[] = {
        "{}",
        "{\"messages\":7}",
        "{\"messages\":[7,{\"role\":3},{\"role\":\"user\",\"content\":\"x\"}]}",
        "{\"messages\":[{\"role\":\"system\"},{\"role\":\"system\",\"content\":\"\"}]}",
        "{\"system\":\"\",\"instructions\":null}",
        "{\"prompt\":\"x\"}"};
    for (size_t i = 0; i < sizeof unchanged / sizeof *unchanged; i++) {
        becomes(unchanged[i], unchanged[i]);
    }
    becomes("{\"system\":\"a\",\"messages\":[{\"role\":\"system\",\"content\":\"b\"}]}",
            "{\"system\":\"a\\nword\",\"messages\":[{\"role\":\"system\",\"content\":\"b\"}]}");
    becomes("{\"instructions\":\"a\"}", "{\"instructions\":\"a\\nword\"}");
    becomes("{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"developer\","
            "\"content\":[{\"text\":\"a\"},{\"text\":\"b\"},{\"image\":1}]},{\"role\":\"system\","
            "\"content\":\"c\"}]}",
            "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"developer\","
            "\"content\":[{\"text\":\"a\"},{\"text\":\"b\\nword\"},{\"image\":1}]},"
            "{\"role\":\"system\",\"content\":\"c\"}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_word),
        cmocka_unit_test(test_where_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
