#include "emit/members.h"
#include "unit/cmocka_all.h"

#include <stdio.h>

static struct weir_arena arena;
static struct weir_buf scratch;
static struct weir_json_tape tape;

static struct weir_json parse(const char *text)
{
    struct weir_json j;
    assert_int_equal(weir_json_parse(&j, weir_slice_cstr(text), NULL, &arena, NULL), 0);
    return j;
}

static void put(struct weir_members *m, const char *name, enum weir_member_rule rule,
                const char *value)
{
    struct weir_json j = parse(value);
    struct weir_member_source from = {&j, 0, &scratch, &tape};
    weir_members_put(m, weir_slice_cstr(name), rule, &from);
}

static bool has(const struct weir_members *m, const char *name, const char *value)
{
    struct weir_json j = parse(value);
    struct weir_member_source from = {&j, 0, &scratch, &tape};
    return weir_members_has(m, weir_slice_cstr(name), &from);
}

static void assert_written(const struct weir_members *m, const char *text)
{
    struct weir_buf out = {0};
    size_t n_written = 0;
    weir_members_write(m, &out, &n_written);
    assert_int_equal(n_written, m->n);
    assert_int_equal(out.n, strlen(text));
    assert_memory_equal(out.p, text, out.n);
    weir_buf_dispose(&out);
}

static void members_are_kept_by_their_rules(void **state)
{
    (void)state;
    struct weir_members m = {0};
    put(&m, "a", WEIR_MEMBER_EQUAL, "{\"x\": 1}");
    put(&m, "b", WEIR_MEMBER_APPEND, "[ 1, 2 ]");
    put(&m, "b", WEIR_MEMBER_APPEND, "[]");
    put(&m, "b", WEIR_MEMBER_APPEND, "[3]");
    put(&m, "c", WEIR_MEMBER_LATEST, "1");
    put(&m, "c", WEIR_MEMBER_LATEST, "\"longer than before\"");
    assert_written(&m, "\"a\":{\"x\": 1},\"b\":[1, 2,3],\"c\":\"longer than before\"");
    assert_int_equal(m.n_equal, 1);
    assert_true(has(&m, "a", "{\"x\":1.0}"));
    assert_false(has(&m, "a", "{\"x\":2}"));
    assert_false(has(&m, "z", "1"));
    put(&m, "b", WEIR_MEMBER_EQUAL, "7");
    assert_int_equal(m.n_equal, 2);
    assert_true(has(&m, "b", "7"));
    weir_members_clear(&m);
    assert_int_equal(m.n_bytes, 0);
    put(&m, "q", WEIR_MEMBER_EQUAL, "null");
    assert_written(&m, "\"q\":null");
    weir_members_dispose(&m);
}

static void a_shadow_keeps_no_values(void **state)
{
    (void)state;
    struct weir_members m = {.is_shadow = true};
    put(&m, "a", WEIR_MEMBER_EQUAL, "[1,{\"b\":2}]");
    assert_int_equal(m.items[0].value.n, 0);
    assert_true(has(&m, "a", " [1, {\"b\":2}]"));
    assert_false(has(&m, "a", "[1]"));
    weir_members_dispose(&m);
}

static void a_list_does_not_grow_without_end(void **state)
{
    (void)state;
    struct weir_members m = {0};
    for (int i = 0; i < 3 * WEIR_MEMBERS_MOST; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        put(&m, name, WEIR_MEMBER_LATEST, "1");
    }
    assert_int_equal(m.n, WEIR_MEMBERS_MOST);
    put(&m, "n0", WEIR_MEMBER_LATEST, "2");
    assert_true(has(&m, "n0", "2"));
    weir_members_dispose(&m);
}

static int clean_up(void **state)
{
    (void)state;
    weir_arena_dispose(&arena);
    weir_buf_dispose(&scratch);
    weir_json_tape_dispose(&tape);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_kept_by_their_rules),
        cmocka_unit_test(a_shadow_keeps_no_values),
        cmocka_unit_test(a_list_does_not_grow_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
