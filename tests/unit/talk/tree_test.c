/* JSON as lines, the places in them, and where written text stands in a value. */
#include "talk/tree.h"

#include "unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct weir_arena arena;
    struct weir_json json;
    struct weir_tree tree;
};

static void read_tree(struct reading *r, const char *text, enum weir_tree_rule rule)
{
    *r = (struct reading){0};
    assert_int_equal(weir_json_parse(&r->json, weir_slice_cstr(text), NULL, &r->arena, NULL), 0);
    weir_tree_read(&r->tree, &r->json, WEIR_JSON_NONE, 0, rule, &r->arena);
}

/* Lines and their places: <text>, [identifier], {key}, (key of a call), /constant/. */
static void show(const struct reading *r, struct weir_buf *out)
{
    static const char marks[][2] = {{'<', '>'}, {'[', ']'}, {'{', '}'}, {'(', ')'}, {'/', '/'}};
    const struct weir_tree *t = &r->tree;
    size_t at = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct weir_tree_place *p = &t->places[i];
        weir_buf_append(out, weir_slice_sub(t->lines, at, p->start_cp)); /* ASCII */
        weir_buf_append_byte(out, marks[p->what][0]);
        weir_buf_append(out, weir_slice_sub(t->lines, p->start_cp, p->end_cp));
        weir_buf_append_byte(out, marks[p->what][1]);
        at = p->end_cp;
        assert_true(i == 0 || p->node > t->places[i - 1].node);
    }
    weir_buf_append(out, weir_slice_sub(t->lines, at, t->lines.n));
}

static void reads_as(const char *text, enum weir_tree_rule rule, const char *want)
{
    struct reading r;
    struct weir_buf out = {0};
    read_tree(&r, text, rule);
    show(&r, &out);
    assert_string_equal(weir_buf_cstr(&out), want);
    weir_buf_dispose(&out);
    weir_arena_dispose(&r.arena);
}

static void test_lines(void **state)
{
    (void)state;
    reads_as("{\"name\":\"Jane\",\"mails\":[\"jane\\u0040x.org\",{\"b\":[]}],\"age\":41,\"t\":"
             "true}",
             WEIR_TREE_ANY,
             "{name}: <Jane>\n{mails}:\nmails: <jane@x.org>\n{b}:\n{age}: <41>\n{t}: \n");
    reads_as("[1,[2,null]]", WEIR_TREE_ANY, "<1>\n<2>\n\n");
    reads_as("\"x\"", WEIR_TREE_ANY, "<x>\n");
    reads_as("{\"a\":{\"b\":1}}", WEIR_TREE_ARGUMENTS, "(a):\n(b): <1>\n");
}

static void test_schemas(void **state)
{
    (void)state;
    reads_as(
        "{\"type\":\"object\",\"title\":\"T\",\"properties\":{\"p\":{\"type\":[\"string\","
        "\"odd\"],\"enum\":[\"e\",5],\"maxLength\":9,\"x-y\":\"z\",\"description\":\"d\"}},"
        "\"required\":[\"p\"],\"additionalProperties\":false,\"anyOf\":[{\"const\":{\"k\":1}}],"
        "\"minimum\":\"m\"}",
        WEIR_TREE_SCHEMA,
        "type: object\ntitle: <T>\nproperties:\n[p]:\ntype:\ntype: string\ntype: <odd>\n"
        "enum:\nenum: /e/\nenum: /5/\nmaxLength: 9\n{x-y}: <z>\ndescription: <d>\nrequired:\n"
        "required: [p]\nadditionalProperties: \nanyOf:\nconst:\n[k]: /1/\nminimum: <m>\n");
}

static void test_members(void **state)
{
    (void)state;
    struct reading r = {0};
    const char *text = "{\"a\":1, \"bc\" : [\"d\"]}";
    assert_int_equal(weir_json_parse(&r.json, weir_slice_cstr(text), NULL, &r.arena, NULL), 0);
    weir_tree_read(&r.tree, &r.json, 3, 4, WEIR_TREE_ANY, &r.arena);
    assert_true(weir_slice_eq_cstr(r.tree.lines, "bc:\nbc: d\n"));
    assert_true(weir_slice_eq_cstr(weir_tree_written(&r.tree), "\"bc\" : [\"d\"]"));
    assert_int_equal(r.tree.n, 2);
    weir_arena_dispose(&r.arena);
}

/* A long name is not repeated: lines must not become a multiple of the document. */
static void test_long_names(void **state)
{
    (void)state;
    struct reading r;
    struct weir_buf text = {0};
    weir_buf_append(&text, WEIR_SLICE("{\""));
    for (size_t i = 0; i < 4000; i++) {
        weir_buf_append_byte(&text, 'k');
    }
    weir_buf_append(&text, WEIR_SLICE("\":[1"));
    for (size_t i = 0; i < 4000; i++) {
        weir_buf_append(&text, WEIR_SLICE(",1"));
    }
    weir_buf_append(&text, WEIR_SLICE("]}"));
    read_tree(&r, weir_buf_cstr(&text), WEIR_TREE_ANY);
    assert_true(r.tree.lines.n < 2 * text.n);
    weir_buf_dispose(&text);
    weir_arena_dispose(&r.arena);
}

static void test_depth(void **state)
{
    (void)state;
    enum { DEEP = 100000 };
    struct weir_arena arena = {0};
    struct weir_json json;
    struct weir_tree tree;
    char *text = malloc(2 * DEEP + 1);
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    struct weir_json_limits limits = {.max_depth = DEEP + 1};
    assert_int_equal(weir_json_parse(&json, weir_slice_make(text, 2 * DEEP), &limits, &arena, NULL),
                     0);
    weir_tree_read(&tree, &json, WEIR_JSON_NONE, 0, WEIR_TREE_SCHEMA, &arena);
    assert_int_equal(tree.n, 0);
    free(text);
    weir_arena_dispose(&arena);
}

static void test_written_spans(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_json json;
    /* 0         1         2
     * 0123456789012345678901234567 */
    const char *text = "\"a\\u0040b\\n\\ud83d\\ude00\xC3\xA9z\"";
    assert_int_equal(weir_json_parse(&json, weir_slice_cstr(text), NULL, &arena, NULL), 0);
    static const struct {
        size_t from, to, start, end;
    } cases[] = {{0, 2, 0, 1},  {2, 8, 1, 2},   {3, 4, 1, 2},   {4, 9, 1, 3},
                 {9, 10, 3, 4}, {12, 20, 4, 5}, {23, 24, 5, 6}, {0, 99, 0, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_tree_cursor cursor = {0};
        struct weir_tree_span s = weir_tree_span_of(&cursor, &json, 0, cases[i].from, cases[i].to);
        assert_int_equal(s.start_cp, cases[i].start);
        assert_int_equal(s.end_cp, cases[i].end);
    }
    weir_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),   cmocka_unit_test(test_schemas),
        cmocka_unit_test(test_members), cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_depth),   cmocka_unit_test(test_written_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
