/* The reader: what it takes, what it refuses and where, and the shape of its tape. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>

static int parse(struct weir_json *j, struct weir_slice src, struct weir_json_error *err)
{
    static struct weir_json_tape tape;
    weir_json_tape_dispose(&tape);
    if (j == NULL) {
        struct weir_json ignored;
        int rc = weir_json_parse_reuse(&ignored, src, NULL, &tape, err);
        weir_json_tape_dispose(&tape);
        return rc;
    }
    return weir_json_parse_reuse(j, src, NULL, &tape, err);
}

/* A copy of exactly that size, so that reading one byte too far is seen. */
static int parse_exact(struct weir_slice src, struct weir_json_error *err)
{
    char *copy = malloc(src.n != 0 ? src.n : 1);
    assert_non_null(copy);
    memcpy(copy, src.p, src.n);
    int rc = parse(NULL, weir_slice_make(copy, src.n), err);
    free(copy);
    return rc;
}

#define S(literal)                                                                                 \
    {                                                                                              \
        ("" literal), sizeof(literal) - 1                                                          \
    }

static const struct weir_slice accepted[] = {
    S("null"),
    S("true"),
    S("false"),
    S(" \t\r\n0 \n"),
    S("-0"),
    S("-0.0"),
    S("0e0"),
    S("0E+00"),
    S("1e400"),
    S("-1e-400"),
    S("18446744073709551616"),
    S("123456789012345678901234567890.123456789012345678901234567890e-1234567890123456789012345"),
    S("1.5"),
    S("10"),
    S("\"\""),
    S("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
    S("\"\\u0000\""),
    S("\"\\uFfFf\\uaBcD\""),
    S("\"\\ud83d\\ude00\""),
    S("\"\\ud83d\""),
    S("\"\\ude00\\ud83d\""),
    S("\"\\ud83d\\n\""),
    S("\"\\ud83d\\ud83d\\ude00\""),
    S("\"\x7f\""),
    S("\"\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\""),
    S("\"\xEF\xBB\xBF\""), /* the mark is a character inside a string */
    S("\"\xE2\x80\xA8\xE2\x80\xA9\""),
    S("[]"),
    S("[ ]"),
    S("{}"),
    S("{ }"),
    S("[1,2,[3,{\"a\":[]}],{}]"),
    S("{\"\":0}"),
    S("{\"a\":{\"a\":{\"a\":1}}}"),
    S("{\"a\":1,\"A\":1,\"aa\":1,\"ab\":1,\"\":1,\"a \":1}"),
    S("{\"\\u0000\":1,\"\\u0000\\u0000\":2,\"\":3}"),
    S(" { \"a\" : [ 1 , 2 ] , \"b\" : null } "),
};

static void test_accepts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        struct weir_json_error err = {0};
        if (parse_exact(accepted[i], &err) != 0) {
            fail_msg("%.*s: byte %zu: %s", (int)accepted[i].n, accepted[i].p, err.at_byte,
                     err.what);
        }
    }
}

struct refusal {
    struct weir_slice src;
    size_t at_byte;
    const char *what;
};

static const struct refusal refused[] = {
    /* nothing, or not a value */
    {S(""), 0, "expected a value"},
    {S("  "), 2, "expected a value"},
    {S("\0"), 0, "expected a value"},
    {S("\xEF\xBB\xBF{}"), 0, "byte order mark"},
    {S("\xEF\xBB"), 0, "expected a value"},
    {S("\xFF\xFE{\0}\0"), 0, "expected a value"},
    {S("'a'"), 0, "expected a value"},
    {S("NaN"), 0, "expected a value"},
    {S("Infinity"), 0, "expected a value"},
    {S("-Infinity"), 1, "expected a digit"},
    {S("nul"), 3, "expected `null`"},
    {S("nuLl"), 2, "expected `null`"},
    {S("True"), 0, "expected a value"},
    {S("tru3"), 3, "expected `true`"},
    {S("falsE"), 4, "expected `false`"},
    {S("// c\n1"), 0, "expected a value"},
    {S("\x0c 1"), 0, "expected a value"},
    {S("\xC2\xA0 1"), 0, "expected a value"},
    /* something after the value */
    {S("nullx"), 4, "expected nothing after the value"},
    {S("1 2"), 2, "expected nothing after the value"},
    {S("{}}"), 2, "expected nothing after the value"},
    {S("[],"), 2, "expected nothing after the value"},
    {S("{}\0"), 2, "expected nothing after the value"},
    {S("\"a\"b"), 3, "expected nothing after the value"},
    {S("1\xEF\xBB\xBF"), 1, "expected nothing after the value"},
    /* numbers */
    {S("+1"), 0, "expected a value"},
    {S("-"), 1, "expected a digit"},
    {S("--1"), 1, "expected a digit"},
    {S("01"), 1, "leading zero in a number"},
    {S("-012"), 2, "leading zero in a number"},
    {S("00"), 1, "leading zero in a number"},
    {S(".5"), 0, "expected a value"},
    {S("1."), 2, "expected a digit"},
    {S("1.e3"), 2, "expected a digit"},
    {S("1e"), 2, "expected a digit"},
    {S("1e+"), 3, "expected a digit"},
    {S("1e-x"), 3, "expected a digit"},
    {S("1e1.5"), 3, "expected nothing after the value"},
    {S("0x10"), 1, "expected nothing after the value"},
    {S("1_000"), 1, "expected nothing after the value"},
    {S("\xEF\xBC\x91"), 0, "expected a value"}, /* full-width 1 */
    /* strings */
    {S("\""), 1, "unterminated string"},
    {S("\"abc"), 4, "unterminated string"},
    {S("\"abc\\"), 5, "unterminated string"},
    {S("\"abc\\\""), 6, "unterminated string"},
    {S("\"\\u12"), 5, "unterminated string"},
    {S("\"\\x41\""), 2, "unknown escape"},
    {S("\"\\U0041\""), 2, "unknown escape"},
    {S("\"\\\0\""), 2, "unknown escape"},
    {S("\"\\'\""), 2, "unknown escape"},
    {S("\"\\u12g4\""), 5, "expected four hex digits after `\\u`"},
    {S("\"\\u\""), 3, "expected four hex digits after `\\u`"},
    {S("\"\\u-123\""), 3, "expected four hex digits after `\\u`"},
    {S("\"\\ud83d\\u\""), 9, "expected four hex digits after `\\u`"},
    {S("\"\\ud83d\\x\""), 8, "unknown escape"},
    {S("\"a\nb\""), 2, "control character in a string"},
    {S("\"\t\""), 1, "control character in a string"},
    {S("\"\0\""), 1, "control character in a string"},
    {S("\"0123456789abcdef0123456789\x1f\""), 27, "control character in a string"},
    /* UTF-8 */
    {S("\"\x80\""), 1, "invalid UTF-8"},
    {S("\"a\xC3\""), 2, "invalid UTF-8"},
    {S("\"\xC0\x80\""), 1, "invalid UTF-8"},
    {S("\"\xE0\x80\x80\""), 1, "invalid UTF-8"},
    {S("\"\xED\xA0\x80\""), 1, "invalid UTF-8"},
    {S("\"\xF4\x90\x80\x80\""), 1, "invalid UTF-8"},
    {S("\"\xF8\x88\x80\x80\x80\""), 1, "invalid UTF-8"},
    {S("\"ok \xC3\xA9 \\n bad \xC3\x28\""), 14, "invalid UTF-8"},
    {S("\"0123456789abcdef0123456789abcdef\xFF\""), 33, "invalid UTF-8"},
    {S("\"\xE2\x82"), 1, "invalid UTF-8"},
    {S("{\"\xFF\":1}"), 2, "invalid UTF-8"},
    {S("[\xE9]"), 1, "expected a value"},
    /* arrays */
    {S("["), 1, "unterminated array"},
    {S("[1"), 2, "unterminated array"},
    {S("[1,"), 3, "expected a value"},
    {S("[1,]"), 3, "expected a value"},
    {S("[,1]"), 1, "expected a value"},
    {S("[1,,2]"), 3, "expected a value"},
    {S("[1 2]"), 3, "expected `,` or `]`"},
    {S("[1}"), 2, "expected `,` or `]`"},
    {S("[1:2]"), 2, "expected `,` or `]`"},
    {S("[}"), 1, "expected a value"},
    {S("]"), 0, "expected a value"},
    /* objects */
    {S("{"), 1, "unterminated object"},
    {S("{\"a\""), 4, "expected `:`"},
    {S("{\"a\" 1}"), 5, "expected `:`"},
    {S("{\"a\",1}"), 4, "expected `:`"},
    {S("{\"a\":"), 5, "expected a value"},
    {S("{\"a\":}"), 5, "expected a value"},
    {S("{\"a\":1"), 6, "unterminated object"},
    {S("{\"a\":1,"), 7, "expected a name in double quotes"},
    {S("{\"a\":1,}"), 7, "expected a name in double quotes"},
    {S("{,\"a\":1}"), 1, "expected a name in double quotes"},
    {S("{a:1}"), 1, "expected a name in double quotes"},
    {S("{1:1}"), 1, "expected a name in double quotes"},
    {S("{\"a\":1 \"b\":2}"), 7, "expected `,` or `}`"},
    {S("{\"a\":1]"), 6, "expected `,` or `}`"},
    {S("{\"a\"::1}"), 5, "expected a value"},
    {S("{]"), 1, "expected a name in double quotes"},
    /* the same name twice */
    {S("{\"a\":1,\"a\":1}"), 7, "duplicate key"},
    {S("{\"\":1,\"\":1}"), 6, "duplicate key"},
    {S("{\"a\":1,\"\\u0061\":1}"), 7, "duplicate key"},
    {S("{\"\\u0061\":1,\"a\":1}"), 12, "duplicate key"},
    {S("{\"\\u0061\":1,\"b\":2,\"\\u0061\":1}"), 18, "duplicate key"},
    {S("{\"\\ud83d\\ude00\":1,\"\xF0\x9F\x98\x80\":1}"), 18, "duplicate key"},
    {S("{\"\\ud800\":1,\"\\udfff\":1}"), 12, "duplicate key"}, /* both read as U+FFFD */
    {S("{\"\\ud800\":1,\"\xEF\xBF\xBD\":1}"), 12, "duplicate key"},
    {S("{\"a\\/b\":1,\"c\":{},\"a/b\":1}"), 17, "duplicate key"},
    {S("[{\"x\":{\"a\":1,\"b\":[{\"a\":1}],\"a\":1}}]"), 27, "duplicate key"},
};

static void test_refuses_at_the_right_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const struct refusal *c = &refused[i];
        struct weir_json_error err = {0};
        int rc = parse_exact(c->src, &err);
        if (rc != WEIR_EBAD || err.at_byte != c->at_byte || strcmp(err.what, c->what) != 0) {
            fail_msg("%.*s: %d, byte %zu: %s; expected byte %zu: %s", (int)c->src.n, c->src.p, rc,
                     err.at_byte, err.what != NULL ? err.what : "-", c->at_byte, c->what);
        }
    }
}

static void test_line_and_column(void **state)
{
    (void)state;
    struct weir_json_error err;
    assert_int_equal(parse(NULL, WEIR_SLICE("{\n  \"a\": 1,\r\n  \"b\": x\n}"), &err), WEIR_EBAD);
    assert_int_equal(err.line, 3);
    assert_int_equal(err.column, 8);
    assert_int_equal(err.at_byte, 20);
    assert_int_equal(parse(NULL, WEIR_SLICE("x"), &err), WEIR_EBAD);
    assert_int_equal(err.line, 1);
    assert_int_equal(err.column, 1);
    assert_int_equal(parse(NULL, WEIR_SLICE("[\n"), &err), WEIR_EBAD);
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 1);
}

static void test_failure_leaves_nothing(void **state)
{
    (void)state;
    struct weir_json j = {.n_nodes = 7};
    assert_int_equal(parse(&j, WEIR_SLICE("[1"), NULL), WEIR_EBAD);
    assert_int_equal(j.n_nodes, 0);
    assert_null(j.nodes);
}

/* Every proper beginning of a document is refused, at or before its end; the whole is taken. */
static void test_truncated_at_every_byte(void **state)
{
    (void)state;
    struct weir_slice doc =
        WEIR_SLICE(" {\"id\":\"caf\xC3\xA9 \\ud83d\\ude00\",\"n\":[-1.5e+3,true,false,null,{}],"
                   "\"text\":\"0123456789abcdef0123456789\\n\"}");
    for (size_t n = 0; n < doc.n; n++) {
        struct weir_json_error err = {0};
        assert_int_equal(parse_exact(weir_slice_sub(doc, 0, n), &err), WEIR_EBAD);
        assert_true(err.at_byte <= n);
        assert_non_null(err.what);
    }
    assert_int_equal(parse_exact(doc, NULL), 0);
}

/* Wherever in the 16 bytes looked at together, the quote, escape or bad byte is found. */
static void test_string_ends_at_every_offset(void **state)
{
    (void)state;
    char src[128];
    for (size_t n = 0; n < 70; n++) {
        for (size_t at = 0; at <= n; at++) {
            memset(src, 'x', sizeof src);
            src[0] = '"';
            src[n + 3] = '"';
            struct weir_json j;
            memcpy(src + 1 + at, "\xC3\xA9", 2);
            assert_int_equal(parse(&j, weir_slice_make(src, n + 4), NULL), 0);
            assert_int_equal(j.nodes[0].n, n + 1);
            assert_false(j.nodes[0].is_escaped);
            memcpy(src + 1 + at, "\\n", 2);
            assert_int_equal(parse(&j, weir_slice_make(src, n + 4), NULL), 0);
            assert_int_equal(j.nodes[0].n, n + 1);
            assert_true(j.nodes[0].is_escaped);
            struct weir_json_error err;
            memcpy(src + 1 + at, "\xA9x", 2);
            assert_int_equal(parse_exact(weir_slice_make(src, n + 4), &err), WEIR_EBAD);
            assert_int_equal(err.at_byte, 1 + at);
            memcpy(src + 1 + at, "\x1fx", 2);
            assert_int_equal(parse_exact(weir_slice_make(src, n + 4), &err), WEIR_EBAD);
            assert_int_equal(err.at_byte, 1 + at);
        }
    }
}

static void test_tape_is_as_drawn(void **state)
{
    (void)state;
    struct weir_json j;
    assert_int_equal(parse(&j, WEIR_SLICE("{\"a\":[1,\"x\"],\"b\":null}"), NULL), 0);
    static const struct weir_json_node expected[] = {
        {.start = 0, .end = 22, .next = 7, .n = 2, .type = WEIR_JSON_OBJECT},
        {.start = 1, .end = 4, .next = 2, .n = 1, .type = WEIR_JSON_STRING},
        {.start = 5, .end = 12, .next = 5, .n = 2, .type = WEIR_JSON_ARRAY},
        {.start = 6, .end = 7, .next = 4, .type = WEIR_JSON_NUMBER, .is_integer = true},
        {.start = 8, .end = 11, .next = 5, .n = 1, .type = WEIR_JSON_STRING},
        {.start = 13, .end = 16, .next = 6, .n = 1, .type = WEIR_JSON_STRING},
        {.start = 17, .end = 21, .next = 7, .type = WEIR_JSON_NULL},
    };
    assert_int_equal(j.n_nodes, sizeof expected / sizeof *expected);
    assert_memory_equal(j.nodes, expected, sizeof expected);
}

static void test_string_flags(void **state)
{
    (void)state;
    static const struct {
        struct weir_slice src;
        uint32_t n;
        bool is_escaped;
        bool has_lone;
    } cases[] = {
        {S("\"\""), 0, false, false},
        {S("\"h\xC3\xA9!\""), 3, false, false},
        {S("\"\\u0000\\\\\""), 2, true, false},
        {S("\"a\\ud83d\\ude00b\""), 3, true, false},
        {S("\"\xF0\x9F\x98\x80\""), 1, false, false},
        {S("\"\\ud83d\""), 1, true, true},
        {S("\"\\ude00\""), 1, true, true},
        {S("\"\\ude00\\ud83d\""), 2, true, true},
        {S("\"\\ud83d\\ud83d\\ude00\""), 2, true, true},
        {S("\"\\ud83d\\u0041\""), 2, true, true},
        {S("\"\\ud83dx\\ude00\""), 3, true, true},
        {S("\"\\\\ud83d\""), 6, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weir_json j;
        assert_int_equal(parse(&j, cases[i].src, NULL), 0);
        assert_int_equal(j.nodes[0].n, cases[i].n);
        assert_int_equal(j.nodes[0].is_escaped, cases[i].is_escaped);
        assert_int_equal(j.nodes[0].has_lone_surrogate, cases[i].has_lone);
    }
}

static void test_number_flags(void **state)
{
    (void)state;
    struct weir_json j;
    assert_int_equal(parse(&j, WEIR_SLICE("[0,-7,1.0,1e2,18446744073709551616]"), NULL), 0);
    assert_true(j.nodes[1].is_integer);
    assert_true(j.nodes[2].is_integer);
    assert_false(j.nodes[3].is_integer);
    assert_false(j.nodes[4].is_integer);
    assert_true(j.nodes[5].is_integer);
}

static struct weir_buf nested(size_t depth)
{
    struct weir_buf b = {0};
    for (size_t i = 0; i < depth; i++) {
        assert_int_equal(weir_buf_append(&b, i % 2 ? WEIR_SLICE("{\"a\":") : WEIR_SLICE("[")), 0);
    }
    assert_int_equal(weir_buf_append_byte(&b, '1'), 0);
    for (size_t i = depth; i-- > 0;) {
        assert_int_equal(weir_buf_append_byte(&b, i % 2 ? '}' : ']'), 0);
    }
    return b;
}

static void check_depth(size_t depth, uint32_t max_depth, int expected)
{
    struct weir_buf b = nested(depth);
    struct weir_arena arena = {0};
    struct weir_json j;
    struct weir_json_error err = {0};
    struct weir_json_limits limits = {.max_depth = max_depth};
    assert_int_equal(weir_json_parse(&j, weir_buf_slice(&b), &limits, &arena, &err), expected);
    if (expected != 0) {
        assert_string_equal(err.what, "nested too deep");
        assert_true(b.p[err.at_byte] == (depth % 2 ? '[' : '{'));
    }
    weir_arena_dispose(&arena);
    weir_buf_dispose(&b);
}

static void test_depth_limit(void **state)
{
    (void)state;
    check_depth(64, 0, 0);
    check_depth(65, 0, WEIR_ELIMIT);
    check_depth(10000, 10000, 0);
    check_depth(10000, 9999, WEIR_ELIMIT);
    check_depth(1, 1, 0);
    check_depth(0, 1, 0);
    check_depth(2, 1, WEIR_ELIMIT);
}

/* Depth is how many are open, not how many there are. */
static void test_depth_comes_back(void **state)
{
    (void)state;
    struct weir_json j;
    struct weir_arena arena = {0};
    struct weir_json_limits limits = {.max_depth = 2};
    assert_int_equal(weir_json_parse(&j, WEIR_SLICE("[[],{},[],{},[1]]"), &limits, &arena, NULL),
                     0);
    weir_arena_dispose(&arena);
}

static void test_node_limit(void **state)
{
    (void)state;
    struct weir_json j;
    struct weir_json_error err;
    struct weir_json_tape tape = {0};
    /* The tape may be larger than the limit of a later call. */
    struct weir_json_limits limits = {.max_nodes = 5};
    assert_int_equal(weir_json_parse_reuse(&j, WEIR_SLICE("[1,2,{\"a\":3}]"), NULL, &tape, NULL),
                     0);
    assert_int_equal(j.n_nodes, 6);
    assert_int_equal(weir_json_parse_reuse(&j, WEIR_SLICE("[1,2,{\"a\":3}]"), &limits, &tape, &err),
                     WEIR_ELIMIT);
    assert_string_equal(err.what, "too many values");
    assert_int_equal(err.limit, WEIR_JSON_NODES);
    assert_int_equal(err.at_byte, 10);
    limits.max_nodes = 6;
    assert_int_equal(weir_json_parse_reuse(&j, WEIR_SLICE("[1,2,{\"a\":3}]"), &limits, &tape, NULL),
                     0);
    weir_json_tape_dispose(&tape);
}

/* A large tape is taken as it is, cut to what is used. */
static void test_large_tape_in_an_arena(void **state)
{
    (void)state;
    enum { N = 30000 };
    struct weir_arena arena = {0};
    struct weir_buf text = {0};
    struct weir_json j;
    struct weir_json_limits limits = {.max_nodes = N + 1};
    weir_buf_append_byte(&text, '[');
    for (int i = 0; i < N; i++) {
        weir_buf_append(&text, i + 1 < N ? WEIR_SLICE("7,") : WEIR_SLICE("7]"));
    }
    assert_int_equal(weir_json_parse(&j, weir_buf_slice(&text), &limits, &arena, NULL), 0);
    assert_int_equal(j.n_nodes, N + 1);
    assert_int_equal(j.nodes[N].start, 2 * N - 1);
    assert_in_range(arena.total_bytes, (N + 1) * sizeof *j.nodes, (N + 1) * sizeof *j.nodes + 4096);
    limits.max_nodes = N;
    struct weir_json_error err;
    assert_int_equal(weir_json_parse(&j, weir_buf_slice(&text), &limits, &arena, &err),
                     WEIR_ELIMIT);
    assert_int_equal(err.limit, WEIR_JSON_NODES);
    weir_buf_dispose(&text);
    weir_arena_dispose(&arena);
}

static void test_too_large(void **state)
{
    (void)state;
    struct weir_json j;
    struct weir_json_error err;
    struct weir_json_tape tape = {0};
    struct weir_slice huge = weir_slice_make("1", (size_t)UINT32_MAX); /* never looked at */
    assert_int_equal(weir_json_parse_reuse(&j, huge, NULL, &tape, &err), WEIR_ELIMIT);
    assert_string_equal(err.what, "larger than 4 GiB");
    weir_json_tape_dispose(&tape);
}

/* An object of `n` members named k0…, the last one named like number `twin` (escaped) if below n.
 */
static struct weir_buf wide(unsigned n, unsigned twin)
{
    struct weir_buf b = {0};
    weir_buf_append_byte(&b, '{');
    for (unsigned i = 0; i + 1 < n; i++) {
        weir_buf_printf(&b, "\"k%u\":[%u],", i, i);
    }
    if (twin < n - 1) {
        weir_buf_printf(&b, "\"\\u006b%u\":0}", twin);
    } else {
        weir_buf_printf(&b, "\"k%u\":0}", n - 1);
    }
    return b;
}

static void test_duplicates_in_objects_of_all_sizes(void **state)
{
    (void)state;
    static const unsigned sizes[] = {2, 3, 8, 15, 16, 17, 18, 33, 64, 65, 500, 20000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned n = sizes[i];
        struct weir_buf b = wide(n, n);
        struct weir_json j;
        assert_int_equal(parse(&j, weir_buf_slice(&b), NULL), 0);
        assert_int_equal(j.nodes[0].n, n);
        weir_buf_dispose(&b);
        unsigned step = n < 100 ? 1 : n / 7;
        for (unsigned twin = 0; twin + 1 < n; twin += step) {
            struct weir_json_error err = {0};
            b = wide(n, twin);
            assert_int_equal(parse_exact(weir_buf_slice(&b), &err), WEIR_EBAD);
            assert_string_equal(err.what, "duplicate key");
            assert_memory_equal(b.p + err.at_byte, "\"\\u006b", 7);
            weir_buf_dispose(&b);
        }
    }
}

/* The same document through the arena and through a tape with leftovers gives the same nodes. */
static void test_reuse(void **state)
{
    (void)state;
    struct weir_json_tape tape = {0};
    for (unsigned n = 2; n < 300; n = n * 2 + 1) {
        for (unsigned shrink = n; shrink >= 2; shrink /= 2) {
            struct weir_buf b = wide(shrink, shrink);
            struct weir_arena arena = {0};
            struct weir_json x;
            struct weir_json y;
            assert_int_equal(weir_json_parse(&x, weir_buf_slice(&b), NULL, &arena, NULL), 0);
            assert_int_equal(weir_json_parse_reuse(&y, weir_buf_slice(&b), NULL, &tape, NULL), 0);
            assert_int_equal(x.n_nodes, y.n_nodes);
            assert_memory_equal(x.nodes, y.nodes, x.n_nodes * sizeof *x.nodes);
            weir_arena_dispose(&arena);
            weir_buf_dispose(&b);
        }
    }
    weir_json_tape_dispose(&tape);
    weir_json_tape_dispose(&tape);
    assert_null(tape.nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts),
        cmocka_unit_test(test_refuses_at_the_right_byte),
        cmocka_unit_test(test_line_and_column),
        cmocka_unit_test(test_failure_leaves_nothing),
        cmocka_unit_test(test_truncated_at_every_byte),
        cmocka_unit_test(test_string_ends_at_every_offset),
        cmocka_unit_test(test_tape_is_as_drawn),
        cmocka_unit_test(test_string_flags),
        cmocka_unit_test(test_number_flags),
        cmocka_unit_test(test_depth_limit),
        cmocka_unit_test(test_depth_comes_back),
        cmocka_unit_test(test_node_limit),
        cmocka_unit_test(test_large_tape_in_an_arena),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_duplicates_in_objects_of_all_sizes),
        cmocka_unit_test(test_reuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
