/* What is taken for a guard's findings, how they are joined, and where joining ends. */
#include "emit/findings.h"

#include "unit/cmocka_all.h"

#include <string.h>

struct chunk {
    struct weir_arena arena;
    struct weir_json json;
    struct weir_findings_in in;
};

static void read_chunk(struct chunk *c, const char *members)
{
    struct weir_buf text = {0};
    memset(c, 0, sizeof *c);
    (void)weir_buf_printf(&text, "{\"choices\":[{\"index\":2}]%s}", members);
    struct weir_slice kept = weir_arena_dup(&c->arena, weir_buf_slice(&text));
    weir_buf_dispose(&text);
    assert_int_equal(weir_json_parse(&c->json, kept, NULL, &c->arena, NULL), 0);
    weir_findings_read(&c->json, weir_json_get(&c->json, 0, WEIR_SLICE("choices")), &c->in);
}

static bool joins(struct weir_findings *f, const char *members, size_t max_bytes)
{
    struct chunk c;
    read_chunk(&c, members);
    assert_true(c.in.is_there);
    bool fits = weir_findings_fits(f, &c.json, &c.in, max_bytes);
    if (fits) {
        weir_findings_join(f, &c.json, &c.in);
    }
    weir_arena_dispose(&c.arena);
    return fits;
}

static void assert_written(const struct weir_findings *f, const char *expected)
{
    struct weir_buf out = {0};
    weir_findings_write(f, 2, &out);
    assert_string_equal(weir_buf_cstr(&out), expected);
    weir_buf_dispose(&out);
}

#define LIST(results)                                                                              \
    ",\"detections\":{\"output\":[{\"choice_index\":2,\"results\":[" results "]}]}"

static void only_one_shape_is_the_guards(void **state)
{
    (void)state;
    static const struct {
        const char *members;
        bool is_there;
    } cases[] = {
        {"", false},
        {LIST(""), true},
        {LIST("{\"start\":1,\"end\":2,\"detector_id\":\"a\"}"), true},
        {LIST("{\"detector_id\":\"a\"},{}"), true},
        {LIST("{}") ",\"warnings\":[{\"type\":\"x\"}]", true},
        {LIST("") ",\"warnings\":[{\"type\":\"x\"}]", false},
        {LIST("{}") ",\"warnings\":\"x\"", false},
        {LIST("{}") ",\"warnings\":[1,2,3,4,5,6,7,8]", true},
        {LIST("{}") ",\"warnings\":[1,2,3,4,5,6,7,8,9]", false},
        {LIST("7"), false},
        {LIST("{\"start\":1}"), false},
        {LIST("{\"start\":1,\"end\":\"2\"}"), false},
        {LIST("{\"start\":-1,\"end\":2}"), false},
        {LIST("{\"detector_id\":3}"), false},
        {",\"warnings\":[]", false},
        {",\"detections\":null", false},
        {",\"detections\":{\"output\":[]}", false},
        {",\"detections\":{\"input\":[]}", false},
        {",\"detections\":{\"output\":[{\"choice_index\":0,\"results\":[]}]}", false},
        {",\"detections\":{\"output\":[{\"choice_index\":2,\"results\":{}}]}", false},
        {",\"detections\":{\"output\":[{\"results\":[]}]}", false},
        {",\"detections\":{\"output\":[{\"choice_index\":2,\"results\":[],\"more\":1}]}", false},
        {",\"detections\":{\"output\":[{\"choice_index\":2,\"results\":[]}],\"input\":[]}", false},
        {",\"detections\":{\"output\":[{\"choice_index\":2,\"channel\":\"c\",\"results\":[]}]}",
         true},
        {",\"detections\":{\"output\":[{\"choice_index\":2,\"channel\":1,\"results\":[]}]}", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct chunk c;
        read_chunk(&c, cases[i].members);
        if (c.in.is_there != cases[i].is_there) {
            print_message("%s\n", cases[i].members);
        }
        assert_int_equal(c.in.is_there, cases[i].is_there);
        weir_arena_dispose(&c.arena);
    }
}

static void findings_are_joined_in_order(void **state)
{
    (void)state;
    struct weir_findings f = {0};
    assert_true(joins(&f, LIST("{\"detector_id\":\"b\"}"), 65536));
    assert_true(joins(&f, LIST("{\"start\":5,\"end\":9,\"detector_id\":\"\\u0062\"}"), 65536));
    assert_true(joins(&f, LIST("{\"start\":5,\"end\":9,\"detector_id\":\"a\"}"), 65536));
    assert_true(joins(&f, LIST("{ \"start\":10,\"end\":11,\"x\":1.0 }"), 65536));
    assert_written(&f, LIST("{\"start\":5,\"end\":9,\"detector_id\":\"a\"},"
                            "{\"start\":5,\"end\":9,\"detector_id\":\"\\u0062\"},"
                            "{ \"start\":10,\"end\":11,\"x\":1.0 },{\"detector_id\":\"b\"}"));
    weir_findings_clear(&f);
    assert_int_equal(weir_findings_bytes(&f), 0);
    assert_written(&f, "");
    assert_true(joins(&f, LIST(""), 65536));
    assert_written(&f, LIST(""));
    weir_findings_dispose(&f);
}

static void many_warnings_end_it(void **state)
{
    (void)state;
    for (int is_shadow = 0; is_shadow < 2; is_shadow++) {
        struct weir_findings f = {.is_shadow = is_shadow != 0};
        assert_true(joins(&f, LIST("{}") ",\"warnings\":[1,2,3,4,5]", 65536));
        assert_true(joins(&f, LIST("{}") ",\"warnings\":[5,4,6,7]", 65536));
        assert_false(joins(&f, LIST("{}") ",\"warnings\":[8,9]", 65536));
        assert_true(joins(&f, LIST("{}") ",\"warnings\":[8,1]", 65536));
        if (is_shadow == 0) {
            assert_written(&f, LIST("{},{},{}") ",\"warnings\":[1,2,3,4,5,6,7,8]");
        } else {
            assert_int_equal(weir_findings_bytes(&f), 0);
        }
        weir_findings_dispose(&f);
    }
}

static void their_size_has_a_limit(void **state)
{
    (void)state;
    for (int is_shadow = 0; is_shadow < 2; is_shadow++) {
        struct weir_findings f = {.is_shadow = is_shadow != 0};
        size_t n = 0;
        assert_true(joins(&f, LIST("{\"x\":\"large enough to be alone\"}"), 1)); /* the first */
        assert_true(joins(&f, LIST(""), 1)); /* says nothing more */
        assert_false(joins(&f, LIST("{}"), 1));
        weir_findings_clear(&f);
        while (joins(&f, LIST("{}"), 4096)) {
            n++;
        }
        assert_in_range(f.n_bytes, 4096 / 2, 4096);
        assert_in_range(n, 10, 200);
        weir_findings_dispose(&f);
    }
}

static void channels_do_not_mix(void **state)
{
    (void)state;
    struct weir_findings f = {0};
    const char *other =
        ",\"detections\":{\"output\":[{\"choice_index\":2,\"channel\":\"c\",\"results\":[]}]}";
    assert_true(joins(&f, other, 65536));
    assert_false(joins(&f, LIST("{}"), 65536));
    assert_true(joins(&f, other, 65536));
    assert_written(&f, other);
    weir_findings_dispose(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_one_shape_is_the_guards),
        cmocka_unit_test(findings_are_joined_in_order),
        cmocka_unit_test(many_warnings_end_it),
        cmocka_unit_test(their_size_has_a_limit),
        cmocka_unit_test(channels_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
