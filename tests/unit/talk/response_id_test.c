/* Tagged ids of responses come back under the route, key and secret they were made with, and under
 * no other. */
#include "talk/response_id.h"
#include "unit/cmocka_all.h"

static const struct weir_response_id SCOPE = {
    {"a secret of many bytes", 22}, {"strict", 6}, {"me", 2}};

static bool reads(struct weir_response_id scope, struct weir_slice tagged, const char *id,
                  const char *server)
{
    struct weir_slice said = {0};
    struct weir_buf name = {0};
    bool is_read = weir_response_id_read(&scope, tagged, &said, &name);
    assert_true(is_read || (said.p == NULL && name.n == 0));
    if (is_read) {
        assert_true(weir_slice_eq_cstr(said, id));
        assert_true(weir_slice_eq_cstr(weir_buf_slice(&name), server));
    }
    weir_buf_dispose(&name);
    return is_read;
}

static void test_comes_back(void **state)
{
    (void)state;
    static const char *const ids[] = {"resp_1", "a.b.c", "x", "resp_67cc:/+=@-"};
    static const char *const servers[] = {"openai", "vllm-2.eu", "a_b", ""};
    for (size_t i = 0; i < 4; i++) {
        struct weir_buf out = {0};
        weir_response_id_write(&SCOPE, weir_slice_cstr(ids[i]), weir_slice_cstr(servers[i]), &out);
        assert_true(reads(SCOPE, weir_buf_slice(&out), ids[i], servers[i]));
        assert_true(weir_slice_starts_with(weir_buf_slice(&out), weir_slice_cstr(ids[i])));
        weir_buf_dispose(&out);
    }
}

static void test_is_nobody_elses(void **state)
{
    (void)state;
    struct weir_buf out = {0};
    struct weir_response_id other;
    weir_response_id_write(&SCOPE, WEIR_SLICE("resp_1"), WEIR_SLICE("one"), &out);
    other = SCOPE;
    other.route = WEIR_SLICE("open");
    assert_false(reads(other, weir_buf_slice(&out), "", ""));
    other = SCOPE;
    other.key = WEIR_SLICE("");
    assert_false(reads(other, weir_buf_slice(&out), "", ""));
    other = SCOPE;
    other.secret = WEIR_SLICE("another of as many by");
    assert_false(reads(other, weir_buf_slice(&out), "", ""));
    other.secret = WEIR_SLICE("");
    assert_false(reads(other, weir_buf_slice(&out), "", ""));
    /* The parts of a scope cannot be shifted into each other. */
    other = SCOPE;
    other.route = WEIR_SLICE("stric");
    other.key = WEIR_SLICE("tme");
    assert_false(reads(other, weir_buf_slice(&out), "", ""));
    weir_buf_dispose(&out);
}

static void test_every_byte_counts(void **state)
{
    (void)state;
    struct weir_buf out = {0};
    weir_response_id_write(&SCOPE, WEIR_SLICE("resp_1"), WEIR_SLICE("one"), &out);
    for (size_t i = 0; i < out.n; i++) {
        char was = out.p[i];
        out.p[i] = was == 'A' ? 'B' : 'A';
        assert_false(reads(SCOPE, weir_buf_slice(&out), "", ""));
        out.p[i] = was;
        assert_false(reads(SCOPE, weir_slice_sub(weir_buf_slice(&out), 0, i), "", ""));
    }
    assert_true(reads(SCOPE, weir_buf_slice(&out), "resp_1", "one"));
    weir_buf_dispose(&out);
}

static void test_what_is_no_tagged_id(void **state)
{
    (void)state;
    static const char *const said[] = {"",
                                       ".",
                                       "..",
                                       "resp_1",
                                       "a.b.c",
                                       "resp_1..",
                                       "resp_1.one.AAAAAAAAAAAAAAAAAAAAAA",
                                       "a b.one.AAAAAAAAAAAAAAAAAAAAAA"};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        assert_false(reads(SCOPE, weir_slice_cstr(said[i]), "", ""));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comes_back),
        cmocka_unit_test(test_is_nobody_elses),
        cmocka_unit_test(test_every_byte_counts),
        cmocka_unit_test(test_what_is_no_tagged_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
