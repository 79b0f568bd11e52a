/* What is said of tool calls and results that do not belong together. */
#include "route/history.h"

#include "unit/cmocka_all.h"
#include "unit/route/reading.h"

#include <stdio.h>
#include <string.h>

#define CALL(id) "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"" id "\"}]}"
#define RESULT(id) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"x\"}"

/* The problems with `|` between them. */
static void told(const char *messages, const char *want)
{
    struct reading r;
    struct weir_history h;
    char got[4096] = "";
    read_json(&r, messages);
    weir_history_check(&h, &r.json, 0, &r.arena);
    for (size_t i = 0; i < h.n; i++) {
        size_t n = strlen(got);
        snprintf(got + n, sizeof got - n, "%s%s", i != 0 ? "|" : "", h.problems[i]);
    }
    assert_string_equal(got, want);
    struct weir_slice warnings = weir_history_warnings(&h, &r.arena);
    assert_int_equal(warnings.n == 0, h.n == 0);
    weir_arena_dispose(&r.arena);
}

static void test_sound(void **state)
{
    (void)state;
    told("[]", "");
    told("[{\"role\":\"user\",\"content\":\"hi\"}]", "");
    told("[" CALL("a") "," RESULT("a") "]", "");
    told("[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\"},{\"id\":\"b\"}]}," RESULT(
             "b") "," RESULT("a") "]",
         "");
}

static void test_problems(void **state)
{
    (void)state;
    told("[" RESULT("a") "]", "messages[0]: no earlier tool call has this id: `a`");
    told("[" RESULT("a") "," CALL("a") "]", "messages[0]: no earlier tool call has this id: `a`|"
                                            "messages[1]: this tool call has no result: `a`");
    told("[" CALL("a") "]", "messages[0]: this tool call has no result: `a`");
    told("[" CALL("a") "," RESULT("a") "," CALL("a") "," RESULT("a") "]",
         "messages[2]: the id of this tool call is used twice: `a`|"
         "messages[3]: this tool call has a result already: `a`");
    told("[{\"role\":\"tool\"}]", "messages[0]: no earlier tool call has this id: `(none)`");
}

/* What makes no sense is the model server's business; long ids are cut between characters. */
static void test_nonsense(void **state)
{
    (void)state;
    told("[1,\"x\",null,{},{\"role\":7},{\"role\":\"assistant\",\"tool_calls\":{}},"
         "{\"role\":\"assistant\",\"tool_calls\":[1,{\"id\":2}]}]",
         "");
    struct weir_buf long_id = {0};
    struct weir_buf want = {0};
    for (size_t i = 0; i < 63; i++) {
        weir_buf_append_byte(&long_id, 'a');
    }
    weir_buf_printf(&want, "messages[0]: this tool call has no result: `%s`",
                    weir_buf_cstr(&long_id));
    weir_buf_append(&long_id, WEIR_SLICE("\xC3\xA4"));
    struct weir_buf text = {0};
    weir_buf_printf(&text, "[" CALL("%s") "]", weir_buf_cstr(&long_id));
    told(weir_buf_cstr(&text), weir_buf_cstr(&want));
    weir_buf_dispose(&long_id);
    weir_buf_dispose(&want);
    weir_buf_dispose(&text);
}

static void test_only_so_many(void **state)
{
    (void)state;
    struct reading r;
    struct weir_history h;
    struct weir_buf text = {0};
    for (int i = 0; i < 40; i++) {
        weir_buf_printf(&text, "%s{\"role\":\"tool\",\"tool_call_id\":\"%d\"}", i != 0 ? "," : "[",
                        i);
    }
    weir_buf_append_byte(&text, ']');
    read_json(&r, weir_buf_cstr(&text));
    weir_history_check(&h, &r.json, 0, &r.arena);
    assert_int_equal(h.n, WEIR_HISTORY_MAX_PROBLEMS);
    weir_arena_dispose(&r.arena);
    weir_buf_dispose(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_only_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
