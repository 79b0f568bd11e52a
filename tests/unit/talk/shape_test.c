/* Events recognised by their shape: only those that say the same but for one string. */
#include "talk/shape.h"

#include "base/buf.h"
#include "wire/json.h"

#include "unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#define HEAD "{\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\""
#define TAIL "\"}}]}"

static struct weir_shape *add(struct weir_shapes *shapes, const char *event, const char *text)
{
    struct weir_slice e = weir_slice_cstr(event);
    const char *at = strstr(event, text);
    struct weir_shape_of of = {.event = e, .channel = 3, .place = 7};
    weir_shape_of_add(&of, WEIR_SHAPE_TEXT, (size_t)(at - event), strlen(text));
    return weir_shapes_add(shapes, &of);
}

static bool matches(struct weir_shapes *shapes, const char *event, const char *want)
{
    struct weir_slice escaped;
    struct weir_buf text = {0};
    struct weir_shape *shape = weir_shapes_find(shapes, weir_slice_cstr(event), &escaped);
    if (shape == NULL) {
        return false;
    }
    weir_shape_unescape(escaped, &text);
    assert_true(weir_slice_eq(weir_buf_slice(&text), weir_slice_cstr(want)));
    assert_int_equal(shape->channel, 3);
    assert_int_equal(shape->place, 7);
    weir_buf_dispose(&text);
    return true;
}

static void test_find(void **state)
{
    (void)state;
    struct weir_shapes shapes = {0};
    assert_false(matches(&shapes, HEAD "x" TAIL, ""));
    assert_non_null(add(&shapes, HEAD "first" TAIL, "first"));
    assert_true(matches(&shapes, HEAD "x" TAIL, "x"));
    assert_true(matches(&shapes, HEAD "a \\\"b\\\" \\n\\\\ \\/" TAIL, "a \"b\" \n\\ /"));
    assert_true(matches(&shapes, HEAD "\xC3\xA4\xF0\x9F\x98\x80" TAIL, "\xC3\xA4\xF0\x9F\x98\x80"));
    static const char *const others[] = {
        HEAD TAIL,                       /* says nothing */
        HEAD "\\u0041" TAIL,             /* for the reader */
        HEAD "\\ud83d" TAIL,             /* half a character */
        HEAD "a\"b" TAIL,                /* no JSON */
        HEAD "a\",\"refusal\":\"b" TAIL, /* another member */
        HEAD "a\\" TAIL,                 /* the quote is part of the string */
        HEAD "a\\x" TAIL,                /* no JSON */
        HEAD "a\tb" TAIL,                /* no JSON */
        HEAD "\xFF" TAIL,                /* not UTF-8 */
        HEAD "x\"}}]} ",
        "{\"id\":\"2\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x" TAIL,
        HEAD,
        "",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(matches(&shapes, others[i], ""));
    }
    weir_shapes_dispose(&shapes);
}

/* An event of Responses: a number that counts, and a string that hides how long the text is. */
#define COUNTED(number, text, noise)                                                               \
    "{\"n\":" number ",\"delta\":\"" text "\",\"logprobs\":[],\"obfuscation\":\"" noise "\"}"

static void add_counted(struct weir_shapes *shapes)
{
    const char *event = COUNTED("41", "first", "zz");
    struct weir_shape_of of = {.event = weir_slice_cstr(event), .channel = 3, .place = 7};
    weir_shape_of_add(&of, WEIR_SHAPE_STRING, (size_t)(strstr(event, "zz") - event), 2);
    weir_shape_of_add(&of, WEIR_SHAPE_TEXT, (size_t)(strstr(event, "first") - event), 5);
    weir_shape_of_add(&of, WEIR_SHAPE_NUMBER, (size_t)(strstr(event, "41") - event), 2);
    struct weir_shape *shape = weir_shapes_add(shapes, &of);
    assert_non_null(shape);
    assert_ptr_equal(weir_shapes_add(shapes, &of), shape); /* it is known */
}

static void test_counted(void **state)
{
    (void)state;
    struct weir_shapes shapes = {0};
    add_counted(&shapes);
    assert_true(matches(&shapes, COUNTED("41", "x", "zz"), "x"));
    assert_true(matches(&shapes, COUNTED("0", "a \\\"b\\\"", "q"), "a \"b\""));
    assert_true(matches(&shapes, COUNTED("1234567890", "x", ""), "x"));
    static const char *const others[] = {
        COUNTED("", "x", "q"),
        COUNTED("01", "x", "q"), /* no JSON */
        COUNTED("-1", "x", "q"),
        COUNTED("1.5", "x", "q"),
        COUNTED("1e3", "x", "q"),
        COUNTED("null", "x", "q"),
        COUNTED("\"1\"", "x", "q"),
        COUNTED("1 ", "x", "q"),
        COUNTED("1", "", "q"), /* says nothing */
        COUNTED("1", "x", "q\",\"more\":\""),
        COUNTED("1", "x", "\\u0041"),
        COUNTED("1", "x", "\xFF"),
        COUNTED("1", "x", "q\\"),
        COUNTED("1", "x", "q") " ",
        "{\"n\":1",
        "{\"n\":",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(matches(&shapes, others[i], ""));
    }
    weir_shapes_dispose(&shapes);
}

/* The latest few are kept; what still holds one keeps it. */
static void test_several(void **state)
{
    (void)state;
    struct weir_shapes shapes = {0};
    struct weir_shape *held = NULL;
    char event[64];
    for (int i = 0; i < WEIR_SHAPES_MOST + 1; i++) {
        snprintf(event, sizeof event, "{\"%d\":\"text\"}", i);
        struct weir_shape *made = add(&shapes, event, "text");
        assert_non_null(made);
        held = i == 0 ? weir_shape_ref(made) : held;
    }
    assert_false(matches(&shapes, "{\"0\":\"x\"}", ""));
    for (int i = 1; i < WEIR_SHAPES_MOST + 1; i++) {
        snprintf(event, sizeof event, "{\"%d\":\"y\"}", i);
        assert_true(matches(&shapes, event, "y"));
    }
    assert_true(weir_slice_eq(held->parts[0], WEIR_SLICE("{\"0\":\"")));
    assert_true(weir_shape_footprint(held) > held->parts[0].n);
    weir_shape_unref(held);
    weir_shapes_dispose(&shapes);
}

/* A server whose events never repeat costs nothing after a while; nor do huge ones. */
static void test_not_worth_it(void **state)
{
    (void)state;
    struct weir_shapes shapes = {0};
    char event[64];
    int n = 0;
    for (; n < 100; n++) {
        snprintf(event, sizeof event, "{\"x\":%d,\"y\":\"text\"}", n);
        if (add(&shapes, event, "text") == NULL) {
            break;
        }
    }
    assert_true(n > 0 && n < 20);
    weir_shapes_dispose(&shapes);
    shapes = (struct weir_shapes){0};
    char *large = malloc(10002);
    memset(large, ' ', 10000);
    memcpy(large + 10000, "t", 2);
    assert_null(add(&shapes, large, "t"));
    free(large);
    weir_shapes_dispose(&shapes);
}

/* Whatever the bytes: what matches is JSON and reads as what the shape told. */
static void test_property(void **state)
{
    (void)state;
    static const char alphabet[] = "ab\"\\/nu0{}:,\x01\xC3\xA4 ";
    struct weir_json_tape tape = {0};
    struct weir_shapes shapes = {0};
    unsigned seed = 1;
    int n_matched = 0;
    assert_non_null(add(&shapes, "{\"a\":\"text\"}", "text"));
    for (int i = 0; i < 200000; i++) {
        char event[32] = "{\"a\":\"";
        size_t n = strlen(event);
        for (int k = 0; k < 6; k++) {
            seed = seed * 1103515245u + 12345u;
            event[n++] = alphabet[(seed >> 16) % (sizeof alphabet - 1)];
        }
        memcpy(event + n, "\"}", 3);
        struct weir_slice e = weir_slice_make(event, n + 2);
        struct weir_slice escaped;
        if (weir_shapes_find(&shapes, e, &escaped) == NULL) {
            continue;
        }
        struct weir_json json;
        struct weir_buf read = {0};
        struct weir_buf told = {0};
        assert_int_equal(weir_json_parse_reuse(&json, e, NULL, &tape, NULL), 0);
        weir_json_string_append(&json, weir_json_get(&json, 0, WEIR_SLICE("a")), &read);
        weir_shape_unescape(escaped, &told);
        assert_true(weir_slice_eq(weir_buf_slice(&read), weir_buf_slice(&told)));
        weir_buf_dispose(&read);
        weir_buf_dispose(&told);
        n_matched++;
    }
    assert_true(n_matched > 1000);
    weir_shapes_dispose(&shapes);
    weir_json_tape_dispose(&tape);
}

/* The same where a number and another string may change. */
static void test_counted_property(void **state)
{
    (void)state;
    static const char alphabet[] = "0019-.e\"\\na ,";
    struct weir_json_tape tape = {0};
    struct weir_shapes shapes = {0};
    unsigned seed = 1;
    int n_matched = 0;
    add_counted(&shapes);
    for (int i = 0; i < 400000; i++) {
        char some[3][4] = {"1", "x", "q"};
        char event[128];
        for (int k = 0; k < 3; k++) {
            seed = seed * 1103515245u + 12345u;
            size_t n = (seed >> 16) % 4;
            for (size_t c = 0; c < n; c++) {
                seed = seed * 1103515245u + 12345u;
                some[k][c] = alphabet[(seed >> 16) % (sizeof alphabet - 1)];
            }
            some[k][n == 0 ? 1 : n] = '\0';
        }
        int n = snprintf(event, sizeof event, COUNTED("%s", "%s", "%s"), some[0], some[1], some[2]);
        struct weir_slice e = weir_slice_make(event, (size_t)n);
        struct weir_slice escaped;
        if (weir_shapes_find(&shapes, e, &escaped) == NULL) {
            continue;
        }
        struct weir_json json;
        struct weir_buf read = {0};
        struct weir_buf told = {0};
        uint64_t number;
        assert_int_equal(weir_json_parse_reuse(&json, e, NULL, &tape, NULL), 0);
        assert_int_equal(json.nodes[0].n, 4);
        assert_int_equal(weir_json_u64(&json, weir_json_get(&json, 0, WEIR_SLICE("n")), &number),
                         0);
        weir_json_string_append(&json, weir_json_get(&json, 0, WEIR_SLICE("delta")), &read);
        weir_shape_unescape(escaped, &told);
        assert_true(weir_slice_eq(weir_buf_slice(&read), weir_buf_slice(&told)));
        weir_buf_dispose(&read);
        weir_buf_dispose(&told);
        n_matched++;
    }
    assert_true(n_matched > 1000);
    weir_shapes_dispose(&shapes);
    weir_json_tape_dispose(&tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),     cmocka_unit_test(test_counted),
        cmocka_unit_test(test_several),  cmocka_unit_test(test_not_worth_it),
        cmocka_unit_test(test_property), cmocka_unit_test(test_counted_property),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
