/* Lines of an audit log: sealed, read back, and what no longer follows. */
#include "unit/cmocka_all.h"

#include "obs/audit_chain.h"

static const struct weir_slice KEY = {"a key", 5};

/* Seals a body and takes the line feed off. */
static struct weir_slice sealed(struct weir_audit_chain *c, struct weir_slice key, const char *body,
                                struct weir_buf *line)
{
    weir_buf_clear(line);
    weir_buf_append(line, weir_slice_cstr(body));
    weir_audit_chain_seal(c, key, line);
    assert_int_equal(line->p[line->n - 1], '\n');
    return weir_slice_make(line->p, line->n - 1);
}

static void test_lines_follow(void **state)
{
    struct weir_audit_chain c = {0};
    struct weir_buf line = {0};
    struct weir_audit_line read;
    char last[WEIR_AUDIT_HEX_BYTES + 1] = "";
    (void)state;
    for (uint64_t n = 1; n < 20; n++) {
        struct weir_slice text = sealed(&c, KEY, "{\"time\":\"t\",\"x\":[1,\"n\\\":9\"]", &line);
        assert_true(weir_audit_chain_read(text, &read));
        assert_int_equal(read.n, n);
        assert_null(read.begins.p);
        assert_true(weir_audit_chain_follows(&read, weir_slice_cstr(last), KEY));
        assert_false(weir_audit_chain_follows(&read, WEIR_SLICE("x"), KEY));
        assert_false(weir_audit_chain_follows(&read, weir_slice_cstr(last), WEIR_SLICE("a kez")));
        memcpy(last, c.last, sizeof last);
    }
    weir_buf_dispose(&line);
}

static void test_every_byte_counts(void **state)
{
    struct weir_audit_chain c = {0};
    struct weir_buf line = {0};
    struct weir_audit_line read;
    (void)state;
    struct weir_slice text = sealed(&c, KEY, "{\"time\":\"t\",\"begins\":\"\"", &line);
    for (size_t i = 0; i < text.n; i++) {
        char kept = line.p[i];
        line.p[i] ^= 1;
        bool is_good = weir_audit_chain_read(text, &read) &&
                       weir_audit_chain_follows(&read, WEIR_SLICE(""), KEY);
        assert_false(is_good);
        line.p[i] = kept;
    }
    assert_true(weir_audit_chain_read(text, &read));
    assert_non_null(read.begins.p);
    assert_int_equal(read.begins.n, 0);
    weir_buf_dispose(&line);
}

static void test_without_a_key_there_are_numbers(void **state)
{
    struct weir_audit_chain c = {.n = 41};
    struct weir_buf line = {0};
    struct weir_audit_line read;
    (void)state;
    struct weir_slice text = sealed(&c, WEIR_SLICE(""), "{\"time\":\"t\"", &line);
    assert_string_equal(weir_buf_cstr(&line), "{\"time\":\"t\",\"n\":42}\n");
    assert_true(weir_audit_chain_read(text, &read));
    assert_int_equal(read.n, 42);
    assert_int_equal(read.chain.n, 0);
    weir_buf_dispose(&line);
}

static void test_what_is_no_line(void **state)
{
    static const char *const lines[] = {
        "", "{", "{}", "x", "{\"n\":1", "n\":1}", "{\"n\":1,2}", "{\"a\":1,\"n\":}", "{\"n\":1}}"};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct weir_audit_line read;
        assert_false(weir_audit_chain_read(weir_slice_cstr(lines[i]), &read));
    }
}

static void test_texts_are_hashed_with_the_key(void **state)
{
    char a[WEIR_AUDIT_TEXT_HASH_BYTES + 1];
    char b[WEIR_AUDIT_TEXT_HASH_BYTES + 1];
    (void)state;
    weir_audit_chain_hash_text(KEY, WEIR_SLICE("jane@example.org"), a);
    weir_audit_chain_hash_text(KEY, WEIR_SLICE("jane@example.org"), b);
    assert_string_equal(a, b);
    assert_int_equal(strlen(a), WEIR_AUDIT_TEXT_HASH_BYTES);
    weir_audit_chain_hash_text(WEIR_SLICE("other"), WEIR_SLICE("jane@example.org"), b);
    assert_string_not_equal(a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_follow),
        cmocka_unit_test(test_every_byte_counts),
        cmocka_unit_test(test_without_a_key_there_are_numbers),
        cmocka_unit_test(test_what_is_no_line),
        cmocka_unit_test(test_texts_are_hashed_with_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
