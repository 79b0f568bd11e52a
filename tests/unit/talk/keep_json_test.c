/* JSON with stretches of it replaced is JSON, says nothing of what was replaced, and is the same
 * however it was cut. */
#include "talk/keep_json.h"

#include "base/arena.h"
#include "unit/cmocka_all.h"
#include "wire/json.h"

static uint64_t seed = 1;

static size_t random_to(size_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(seed >> 33) % n;
}

/* ---- one text ---- */

/* What leaves of `text` with the stretch [from, to) replaced, cut at random. */
static void replace(const char *text, size_t from, size_t to, size_t max_piece,
                    struct weir_buf *out)
{
    struct weir_keep_json k = {0};
    size_t n = strlen(text);
    for (size_t at = 0; at < n;) {
        size_t end = at + 1 + random_to(max_piece);
        end = end > n ? n : end;
        end = at < from && end > from ? from : end;
        end = at < to && end > to ? to : end;
        if (at == from) {
            weir_keep_json_begin(&k, WEIR_SLICE("[\"x\"]"));
        }
        weir_keep_json_feed(&k, weir_slice_make(text + at, end - at), at >= from && at < to, out);
        at = end;
    }
    weir_keep_json_end(&k, out);
    weir_keep_json_dispose(&k);
}

static void expect(const char *text, size_t from, size_t to, const char *expected)
{
    struct weir_buf out = {0};
    for (size_t i = 0; i < 20; i++) {
        weir_buf_clear(&out);
        replace(text, from, to, i == 0 ? 1 : 8, &out);
        assert_string_equal(weir_buf_cstr(&out), expected);
    }
    weir_buf_dispose(&out);
}

#define X "[\\\"x\\\"]" /* as it stands in a string */

static void test_tokens(void **state)
{
    (void)state;
    expect("{\"a\":\"jane\"}", 7, 9, "{\"a\":\"j" X "e\"}");
    expect("{\"a\":\"jane\"}", 0, 13, "{\"" X "\":\"" X "\"}");
    expect("[1234,5]", 2, 3, "[\"" X "\",5]");
    expect("[true]", 1, 2, "[\"" X "\"]");
    expect("17", 0, 1, "\"" X "\"");
    expect("[\"a\\u0040b\"]", 5, 6, "[\"a" X "b\"]"); /* inside of an escape */
    expect("[\"\\ud83d\\ude00\"]", 10, 11, "[\"" X "\"]");
    expect("[\"a\", \"b\"]", 4, 6, "[\"a\", \"b\"]"); /* nothing but punctuation */
    expect("Hi jane, how", 3, 7, "Hi [\"x\"], how");
    expect("{\"a\":1} and jane", 12, 16, "{\"a\":1} and [\"x\"]");
}

/* ---- any ---- */

static void make_value(struct weir_buf *out, unsigned depth)
{
    static const char *const leaves[] = {"17",     "-1.5e3", "true",          "null",
                                         "\"ab\"", "\"\"",   "\"q\\u00e9r\"", "\"\\\\s\\n\""};
    size_t kind = depth == 0 ? 0 : random_to(3);
    if (kind == 0) {
        weir_buf_append(out, weir_slice_cstr(leaves[random_to(8)]));
        return;
    }
    size_t n = random_to(4);
    weir_buf_append_byte(out, kind == 1 ? '[' : '{');
    for (size_t i = 0; i < n; i++) {
        weir_buf_append(out, i != 0 ? WEIR_SLICE(", ") : WEIR_SLICE(""));
        if (kind == 2) {
            weir_buf_printf(out, "\"k%zu\":", i);
        }
        make_value(out, depth - 1);
    }
    weir_buf_append_byte(out, kind == 1 ? ']' : '}');
}

static void test_any(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3000; i++) {
        struct weir_buf text = {0};
        struct weir_buf whole = {0};
        struct weir_buf cut = {0};
        struct weir_arena arena = {0};
        struct weir_json json;
        make_value(&text, 3);
        size_t from = random_to(text.n);
        size_t to = from + 1 + random_to(text.n - from);
        replace(weir_buf_cstr(&text), from, to, SIZE_MAX / 2, &whole);
        replace(weir_buf_cstr(&text), from, to, 3, &cut);
        assert_true(weir_slice_eq(weir_buf_slice(&whole), weir_buf_slice(&cut)));
        /* Two keys may have become one, which the reader refuses: then only that. */
        struct weir_json_error error;
        int rc = weir_json_parse(&json, weir_buf_slice(&whole), NULL, &arena, &error);
        if (rc != 0 && strcmp(error.what, "duplicate key") != 0) {
            fail_msg("%s -> %s: %s", weir_buf_cstr(&text), weir_buf_cstr(&whole), error.what);
        }
        weir_arena_dispose(&arena);
        weir_buf_dispose(&text);
        weir_buf_dispose(&whole);
        weir_buf_dispose(&cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
