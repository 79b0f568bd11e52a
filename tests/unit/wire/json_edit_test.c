/* The editor: what each change does to the bytes, and that random ones give the right document. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

#include <stdio.h>
#include <stdlib.h>

struct fixture {
    struct weir_arena arena;
    struct weir_json doc;
    struct weir_json_edit edit;
    struct weir_buf out;
};

static void open_doc(struct fixture *f, struct weir_slice src)
{
    *f = (struct fixture){0};
    assert_int_equal(weir_json_parse(&f->doc, src, NULL, &f->arena, NULL), 0);
    weir_json_edit_begin(&f->edit, &f->doc);
}

static void close_doc(struct fixture *f)
{
    weir_json_edit_dispose(&f->edit);
    weir_json_edit_dispose(&f->edit);
    weir_buf_dispose(&f->out);
    weir_arena_dispose(&f->arena);
}

/* Writes, checks that it is JSON and what it is. */
static void expect(struct fixture *f, const char *expected)
{
    assert_int_equal(weir_json_edit_write(&f->edit, &f->out), 0);
    struct weir_json j;
    assert_int_equal(weir_json_parse(&j, weir_buf_slice(&f->out), NULL, &f->arena, NULL), 0);
    if (!weir_slice_eq_cstr(weir_buf_slice(&f->out), expected)) {
        fail_msg("%.*s, not %s", (int)f->out.n, f->out.p, expected);
    }
    close_doc(f);
}

static uint32_t get(const struct fixture *f, const char *name)
{
    uint32_t at = weir_json_get(&f->doc, 0, weir_slice_cstr(name));
    assert_int_not_equal(at, WEIR_JSON_NONE);
    return at;
}

static void test_nothing(void **state)
{
    (void)state;
    struct fixture f;
    open_doc(&f, WEIR_SLICE(" { \"a\" : [ 1.0 , \"\\u0041\" ] } \n"));
    expect(&f, " { \"a\" : [ 1.0 , \"\\u0041\" ] } \n");
}

static void test_replace(void **state)
{
    (void)state;
    struct fixture f;
    open_doc(&f, WEIR_SLICE("{\"a\": 1 ,\"b\":\"x\",\"c\":[1,{}]}"));
    /* not in the order of the document */
    weir_json_edit_replace(&f.edit, get(&f, "c"), WEIR_SLICE("null"));
    weir_json_edit_replace(&f.edit, get(&f, "a"), WEIR_SLICE("[1, 2]"));
    weir_json_edit_replace_string(&f.edit, get(&f, "b"), WEIR_SLICE("say \"hi\"\n"));
    expect(&f, "{\"a\": [1, 2] ,\"b\":\"say \\\"hi\\\"\\n\",\"c\":null}");
    open_doc(&f, WEIR_SLICE(" [1] "));
    weir_json_edit_replace(&f.edit, 0, WEIR_SLICE("{}"));
    expect(&f, " {} ");
}

static void test_remove_member(void **state)
{
    (void)state;
    static const struct {
        const char *names[3];
        const char *expected;
    } cases[] = {
        {{"a"}, "{ \"b\" : 2 , \"c\" : 3 }"},
        {{"b"}, "{ \"a\" : 1 , \"c\" : 3 }"},
        {{"c"}, "{ \"a\" : 1 , \"b\" : 2 }"},
        {{"a", "b"}, "{ \"c\" : 3 }"},
        {{"b", "c"}, "{ \"a\" : 1 }"},
        {{"c", "a"}, "{ \"b\" : 2 }"},
        {{"b", "c", "a"}, "{  }"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint32_t by_key = 0; by_key < 2; by_key++) {
            struct fixture f;
            open_doc(&f, WEIR_SLICE("{ \"a\" : 1 , \"b\" : 2 , \"c\" : 3 }"));
            for (int k = 0; k < 3 && cases[i].names[k] != NULL; k++) {
                weir_json_edit_remove(&f.edit, get(&f, cases[i].names[k]) - by_key);
            }
            expect(&f, cases[i].expected);
        }
    }
}

static void test_remove_element(void **state)
{
    (void)state;
    static const struct {
        unsigned removed; /* one bit per element */
        const char *expected;
    } cases[] = {
        {1, "[\"b\",[3],{}]"}, {2, "[1,[3],{}]"}, {4, "[1,\"b\",{}]"}, {8, "[1,\"b\",[3]]"},
        {9, "[\"b\",[3]]"},    {12, "[1,\"b\"]"}, {14, "[1]"},         {7, "[{}]"},
        {5, "[\"b\",{}]"},     {10, "[1,[3]]"},   {15, "[]"},          {11, "[[3]]"},
        {13, "[\"b\"]"},       {6, "[1,{}]"},     {3, "[[3],{}]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        open_doc(&f, WEIR_SLICE("[1,\"b\",[3],{}]"));
        uint32_t at = weir_json_first(&f.doc, 0);
        for (unsigned k = 0; k < 4; k++, at = weir_json_after(&f.doc, 0, at)) {
            if ((cases[i].removed >> k & 1) != 0) {
                weir_json_edit_remove(&f.edit, at);
            }
        }
        expect(&f, cases[i].expected);
    }
}

static void test_add(void **state)
{
    (void)state;
    struct fixture f;
    open_doc(&f, WEIR_SLICE("{}"));
    weir_json_edit_add(&f.edit, 0, WEIR_SLICE("a\""), WEIR_SLICE("1"));
    expect(&f, "{\"a\\\"\":1}");
    open_doc(&f, WEIR_SLICE("{ }"));
    weir_json_edit_add(&f.edit, 0, WEIR_SLICE("a"), WEIR_SLICE("\"\\t\""));
    weir_json_edit_add(&f.edit, 0, WEIR_SLICE("b"), WEIR_SLICE("[]"));
    weir_json_edit_add(&f.edit, 0, WEIR_SLICE("c"), WEIR_SLICE("{}"));
    expect(&f, "{\"a\":\"\\t\",\"b\":[],\"c\":{} }");
    open_doc(&f, WEIR_SLICE("{\n  \"x\": {\"y\": {}}\n}"));
    weir_json_edit_add(&f.edit, 0, WEIR_SLICE("p"), WEIR_SLICE("1"));
    weir_json_edit_add(&f.edit, get(&f, "x"), WEIR_SLICE("q"), WEIR_SLICE("2"));
    weir_json_edit_add(&f.edit, get(&f, "x") + 2, WEIR_SLICE("r"), WEIR_SLICE("3"));
    expect(&f, "{\n  \"x\": {\"y\": {\"r\":3},\"q\":2},\"p\":1\n}");
}

static void test_add_and_remove(void **state)
{
    (void)state;
    struct fixture f;
    open_doc(&f, WEIR_SLICE("{\"a\":1,\"b\":2}"));
    weir_json_edit_add(&f.edit, 0, WEIR_SLICE("c"), WEIR_SLICE("3"));
    weir_json_edit_remove(&f.edit, get(&f, "b"));
    weir_json_edit_remove(&f.edit, get(&f, "a"));
    weir_json_edit_add(&f.edit, 0, WEIR_SLICE("d"), WEIR_SLICE("4"));
    expect(&f, "{\"c\":3,\"d\":4}");
    open_doc(&f, WEIR_SLICE("{\"a\":1,\"b\":2}"));
    weir_json_edit_add(&f.edit, 0, WEIR_SLICE("c"), WEIR_SLICE("3"));
    weir_json_edit_remove(&f.edit, get(&f, "b"));
    weir_json_edit_replace(&f.edit, get(&f, "a"), WEIR_SLICE("0"));
    expect(&f, "{\"a\":0,\"c\":3}");
    open_doc(&f, WEIR_SLICE("{\"a\":[1],\"b\":{\"c\":2}}"));
    weir_json_edit_remove(&f.edit, get(&f, "a") + 1);
    weir_json_edit_remove(&f.edit, get(&f, "b") + 1);
    weir_json_edit_add(&f.edit, 0, WEIR_SLICE("d"), WEIR_SLICE("4"));
    weir_json_edit_add(&f.edit, get(&f, "b"), WEIR_SLICE("e"), WEIR_SLICE("5"));
    expect(&f, "{\"a\":[],\"b\":{\"e\":5},\"d\":4}");
}

static void test_set(void **state)
{
    (void)state;
    struct fixture f;
    open_doc(&f, WEIR_SLICE("{\"str\\u0065am\":true,\"n\":1}"));
    weir_json_edit_set(&f.edit, 0, WEIR_SLICE("stream"), WEIR_SLICE("false"));
    weir_json_edit_set(&f.edit, 0, WEIR_SLICE("seed"), WEIR_SLICE("7"));
    expect(&f, "{\"str\\u0065am\":false,\"n\":1,\"seed\":7}");
}

static void test_reused_for_another_document(void **state)
{
    (void)state;
    struct fixture f;
    open_doc(&f, WEIR_SLICE("{\"a\":1}"));
    weir_json_edit_remove(&f.edit, 1);
    struct weir_json other;
    assert_int_equal(weir_json_parse(&other, WEIR_SLICE("[1,2]"), NULL, &f.arena, NULL), 0);
    weir_json_edit_begin(&f.edit, &other);
    weir_json_edit_replace(&f.edit, 2, WEIR_SLICE("3"));
    expect(&f, "[1,3]");
}

static void test_ceiling(void **state)
{
    (void)state;
    const char *expected = "> {\"b\":\"\\n\",\"c\":\"\\t\"}";
    for (size_t max = 2; max <= strlen(expected); max++) {
        struct fixture f;
        open_doc(&f, WEIR_SLICE("{\"a\":1,\"b\":2}"));
        weir_json_edit_remove(&f.edit, get(&f, "a"));
        weir_json_edit_replace_string(&f.edit, get(&f, "b"), WEIR_SLICE("\n"));
        weir_json_edit_add(&f.edit, 0, WEIR_SLICE("c"), WEIR_SLICE("\"\\t\""));
        weir_buf_init(&f.out, max);
        assert_int_equal(weir_buf_append(&f.out, WEIR_SLICE("> ")), 0);
        int rc = weir_json_edit_write(&f.edit, &f.out);
        assert_int_equal(rc, max == strlen(expected) ? 0 : WEIR_ELIMIT);
        assert_true(weir_slice_eq_cstr(weir_buf_slice(&f.out), rc == 0 ? expected : "> "));
        close_doc(&f);
    }
}

/*
 * Random documents, random changes. The expected result is composed independently: the tree is
 * walked and written anew with the changes applied, then both are read and compared.
 */
static uint64_t random_state = 0x9E3779B97F4A7C15u;

static unsigned pick(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

static void put_space(struct weir_buf *b)
{
    static const char *spaces[] = {"", "", "", " ", "\n\t ", "\r\n"};
    assert_int_equal(weir_buf_append(b, weir_slice_cstr(spaces[pick(6)])), 0);
}

static void make_value(struct weir_buf *b, unsigned depth)
{
    static const char *scalars[] = {"0",    "-1.50e3",   "true", "false",           "null",
                                    "\"\"", "\"a,]}:\"", "{}",   "\"\\\"\\u0000\"", "[ ]"};
    put_space(b);
    unsigned kind = depth == 0 ? 0 : pick(3);
    if (kind == 0) {
        assert_int_equal(weir_buf_append(b, weir_slice_cstr(scalars[pick(10)])), 0);
        put_space(b);
        return;
    }
    weir_buf_append_byte(b, kind == 1 ? '[' : '{');
    put_space(b);
    for (unsigned i = 0, n = pick(6); i < n; i++) {
        weir_buf_append(b, i != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        put_space(b);
        if (kind == 2) {
            weir_buf_printf(b, "\"k%u\"", i);
            put_space(b);
            weir_buf_append_byte(b, ':');
        }
        make_value(b, depth - 1);
    }
    weir_buf_append_byte(b, kind == 1 ? ']' : '}');
    put_space(b);
}

enum change { KEEP, REPLACE, REMOVE, GROW };

struct plan {
    const struct weir_json *j;
    enum change *changes; /* per node; REMOVE stands at the item: key or element */
};

/* Plans changes below `at`, never two that overlap, and tells the editor in passing. */
static void plan_value(struct plan *p, struct weir_json_edit *e, uint32_t at)
{
    bool is_object = weir_json_type(p->j, at) == WEIR_JSON_OBJECT;
    if (pick(8) == 0) {
        p->changes[at] = REPLACE;
        weir_json_edit_replace(e, at, WEIR_SLICE("[\"replaced\"]"));
        return;
    }
    bool grows = is_object && pick(3) == 0;
    if (grows) {
        p->changes[at] = GROW;
        weir_json_edit_add(e, at, WEIR_SLICE("added"), WEIR_SLICE("1"));
    }
    unsigned removal = pick(4); /* 3: everything */
    for (uint32_t i = weir_json_first(p->j, at); i != WEIR_JSON_NONE;
         i = weir_json_after(p->j, at, i)) {
        if (removal == 3 || (removal != 0 && pick(3) == 0)) {
            p->changes[i] = REMOVE;
            weir_json_edit_remove(e, i + (is_object ? pick(2) : 0));
        } else {
            plan_value(p, e, i + is_object);
        }
    }
    if (grows) {
        weir_json_edit_add(e, at, WEIR_SLICE("more"), WEIR_SLICE("\"\\n\""));
    }
}

static void write_planned(const struct plan *p, struct weir_json_write *w, uint32_t at);

static void write_items(const struct plan *p, struct weir_json_write *w, uint32_t at,
                        bool is_object)
{
    for (uint32_t i = weir_json_first(p->j, at); i != WEIR_JSON_NONE;
         i = weir_json_after(p->j, at, i)) {
        if (p->changes[i] == REMOVE) {
            continue;
        }
        if (is_object) {
            struct weir_arena arena = {0};
            weir_json_write_key(w, weir_json_string(p->j, i, &arena));
            weir_arena_dispose(&arena);
        }
        write_planned(p, w, i + is_object);
    }
}

static void write_planned(const struct plan *p, struct weir_json_write *w, uint32_t at)
{
    enum weir_json_type type = weir_json_type(p->j, at);
    if (p->changes[at] == REPLACE) {
        weir_json_write_raw(w, WEIR_SLICE("[\"replaced\"]"));
    } else if (type == WEIR_JSON_ARRAY) {
        weir_json_write_begin_array(w);
        write_items(p, w, at, false);
        weir_json_write_end_array(w);
    } else if (type == WEIR_JSON_OBJECT) {
        weir_json_write_begin_object(w);
        write_items(p, w, at, true);
        if (p->changes[at] == GROW) {
            weir_json_write_key(w, WEIR_SLICE("added"));
            weir_json_write_i64(w, 1);
            weir_json_write_key(w, WEIR_SLICE("more"));
            weir_json_write_string(w, WEIR_SLICE("\n"));
        }
        weir_json_write_end_object(w);
    } else {
        weir_json_write_node(w, p->j, at);
    }
}

static void check_random(struct fixture *f)
{
    struct weir_buf expected = {0};
    enum change *changes = calloc(f->doc.n_nodes, sizeof *changes);
    assert_non_null(changes);
    struct plan p = {.j = &f->doc, .changes = changes};
    plan_value(&p, &f->edit, 0);
    struct weir_json_write w;
    weir_json_write_init(&w, &expected);
    write_planned(&p, &w, 0);
    assert_int_equal(weir_json_write_finish(&w), 0);
    assert_int_equal(weir_json_edit_write(&f->edit, &f->out), 0);
    /* Without white space they agree byte for byte, order included. */
    struct weir_json got;
    assert_int_equal(weir_json_parse(&got, weir_buf_slice(&f->out), NULL, &f->arena, NULL), 0);
    struct weir_buf compact = {0};
    weir_json_write_init(&w, &compact);
    weir_json_write_node(&w, &got, 0);
    assert_int_equal(weir_json_write_finish(&w), 0);
    if (!weir_slice_eq(weir_buf_slice(&compact), weir_buf_slice(&expected))) {
        fail_msg("%.*s\n%.*s\n%.*s", (int)f->doc.src.n, f->doc.src.p, (int)f->out.n, f->out.p,
                 (int)expected.n, expected.p);
    }
    weir_buf_dispose(&compact);
    weir_buf_dispose(&expected);
    free(changes);
}

static void test_random_changes(void **state)
{
    (void)state;
    for (int i = 0; i < 5000; i++) {
        struct weir_buf src = {0};
        make_value(&src, 4);
        struct fixture f;
        open_doc(&f, weir_buf_slice(&src));
        check_random(&f);
        close_doc(&f);
        weir_buf_dispose(&src);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),       cmocka_unit_test(test_replace),
        cmocka_unit_test(test_remove_member), cmocka_unit_test(test_remove_element),
        cmocka_unit_test(test_add),           cmocka_unit_test(test_add_and_remove),
        cmocka_unit_test(test_set),           cmocka_unit_test(test_reused_for_another_document),
        cmocka_unit_test(test_ceiling),       cmocka_unit_test(test_random_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
