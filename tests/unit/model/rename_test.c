/* The model's name in answers: the member and nothing else. */
#include "model/rename.h"
#include "unit/cmocka_all.h"

#include <stdio.h>

static void expect(struct weir_rename *r, const char *json, const char *renamed)
{
    struct weir_slice out = weir_rename_json(r, weir_slice_cstr(json), WEIR_SLICE("a\"b"));
    if (!weir_slice_eq_cstr(out, renamed)) {
        fail_msg("got %.*s\nexpected %s", (int)out.n, out.p, renamed);
    }
}

static void test_the_member_alone(void **state)
{
    (void)state;
    struct weir_rename r = {0};
    expect(&r, "{\"id\":1,\"model\":\"x\",\"choices\":[{\"model\":\"x\"}]}",
           "{\"id\":1,\"model\":\"a\\\"b\",\"choices\":[{\"model\":\"x\"}]}");
    expect(&r, "{\"choices\":[{\"model\":\"x\"}]}", "{\"choices\":[{\"model\":\"x\"}]}");
    expect(&r, "{\"choices\":[\"model\",\"x\"], \"model\" : \"\\u0078\" }",
           "{\"choices\":[\"model\",\"x\"], \"model\" : \"a\\\"b\" }");
    expect(&r, "{\"type\":\"message_start\",\"message\":{\"id\":\"1\",\"model\":\"x\"}}",
           "{\"type\":\"message_start\",\"message\":{\"id\":\"1\",\"model\":\"a\\\"b\"}}");
    expect(&r, "{\"response\":{\"model\":\"x\"}}", "{\"response\":{\"model\":\"a\\\"b\"}}");
    expect(&r, "{\"model\":null}", "{\"model\":null}");
    expect(&r, "{\"model\":5}", "{\"model\":5}");
    expect(&r, "no json", "no json");
    weir_rename_dispose(&r);
}

/* Events that begin alike are not read again, and come out as if they were. */
static void test_a_stream(void **state)
{
    (void)state;
    struct weir_rename r = {0};
    for (int i = 0; i < 50; i++) {
        char event[200];
        char renamed[200];
        bool is_other = i % 7 == 3; /* as Azure's annotations: another id, and no model */
        const char *before = is_other ? "{\"id\":\"\",\"model\":" : "{\"id\":\"c1\",\"model\":";
        const char *model = is_other ? "\"\"" : "\"their model\"";
        snprintf(event, sizeof event, "%s%s,\"choices\":[%d,\"model\"]}", before, model, i);
        snprintf(renamed, sizeof renamed, "%s\"a\\\"b\",\"choices\":[%d,\"model\"]}", before, i);
        expect(&r, event, renamed);
    }
    struct weir_slice raw =
        weir_rename_event(&r, WEIR_SLICE("{\"a\":1,\n\"b\":2}"),
                          WEIR_SLICE("event: message_start\r\ndata: {}\r\n\r\n"), WEIR_SLICE("7"));
    assert_true(weir_slice_eq_cstr(
        raw, "id: 7\nevent: message_start\ndata: {\"a\":1,\ndata: \"b\":2}\n\n"));
    weir_rename_dispose(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_member_alone),
        cmocka_unit_test(test_a_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
