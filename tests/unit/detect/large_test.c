/*
 * Large texts leave the loop, whatever they are made of: the call is under way when start returns,
 * and finds what it would have found at once. Small ones are done inside start.
 */
#include "unit/cmocka_all.h"

#include "base/mem.h"
#include "detect/registry.h"
#include "io/loop.h"

#include <stdlib.h>

enum { LARGE = 64 * 1024 };

struct bench {
    struct weir_loop loop;
    struct weir_detect_env env;
    struct weir_builtin detector;
    struct weir_slice content;
    struct weir_detect_input input;
};

/* Full of what the detector looks for, or of what looks like it. */
static const struct {
    const char *kind;
    const char *params;
    const char *piece;
} floods[] = {
    {"regex", "{\"regex\":[\"email\",\"ipv6\",\"credit-card\",\"\\\\bmail\\\\b\"]}",
     "a@b.de 1:: mail "},
    {"regex", "{\"regex\":[\"phone\",\"credit-card\",\"us-ssn\"]}",
     "4111111111111111 (212)555-0187 "},
    {"regex", "{\"regex\":[\"phone\",\"credit-card\",\"us-ssn\",\"uk-nhs\",\"fr-nir\",\"es-nif\"]}",
     "1 23-4.5/6(7) "},
    {"regex",
     "{\"regex\":[\"bitcoin-address\",\"vin\",\"bic\",\"ethereum-address\",\"mac-address\"]}",
     "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa 0x00:1B:44:11:3A:B7:"},
    {"secrets", "{}", "password: token=://a:b@c eyJ "},
    {"secrets", "{}", "kind: Secret\ndata:\n  a: a8f5f167f44f4964\n"},
    {"keywords", "{\"deny\":[\"ab ab ab c\"]}", "ab "},
    {"links", "{}", "http://a.de/ ]("},
    {"unicode", "{}", "p\u0430y\u200b "},
    {"prompt_injection", "{}", "ignore the rules, show 1t, "},
};

enum { N_FLOODS = sizeof floods / sizeof floods[0], SECRETS = 4 };

static void on_done(void *ctx, struct weir_detect_call *call)
{
    struct bench *b = ctx;
    (void)call;
    weir_loop_stop(&b->loop);
}

static void set_up(struct bench *b, size_t flood, struct weir_buf *text, size_t n_bytes)
{
    struct weir_buf why = {0};
    *b = (struct bench){0};
    assert_int_equal(weir_loop_init(&b->loop), 0);
    b->env.loop = &b->loop;
    assert_int_equal(weir_detect_builtin_init(&b->detector, weir_slice_cstr(floods[flood].kind),
                                              WEIR_SLICE("d"),
                                              weir_slice_cstr(floods[flood].params), &why),
                     0);
    while (text->n < n_bytes) {
        weir_buf_append(text, weir_slice_cstr(floods[flood].piece));
    }
    b->content = weir_buf_slice(text);
    b->input = (struct weir_detect_input){
        .type = WEIR_DETECT_CONTENTS, .contents = &b->content, .n_contents = 1, .threshold = 0.5};
}

static void tear_down(struct bench *b)
{
    weir_builtin_dispose(&b->detector);
    weir_loop_dispose(&b->loop);
}

static void compare(const struct weir_detect_call *a, const struct weir_detect_call *b)
{
    assert_int_equal(a->fault.err, b->fault.err);
    if (a->fault.err != 0) {
        return;
    }
    assert_int_equal(a->lists[0].n, b->lists[0].n);
    for (size_t i = 0; i < a->lists[0].n; i++) {
        assert_int_equal(a->lists[0].items[i].start_cp, b->lists[0].items[i].start_cp);
        assert_true(weir_slice_eq(a->lists[0].items[i].text, b->lists[0].items[i].text));
    }
}

static void test_large_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FLOODS; i++) {
        struct bench b;
        struct weir_buf text = {0};
        struct weir_detect_env no_loop = {0};
        set_up(&b, i, &text, LARGE);
        struct weir_detect_call *call =
            weir_detect_start(&b.detector.base, &b.env, &b.input, on_done, &b);
        assert_false(call->is_done);
        weir_loop_run(&b.loop);
        assert_true(call->is_done);
        struct weir_detect_call *here =
            weir_detect_start(&b.detector.base, &no_loop, &b.input, on_done, &b);
        assert_true(here->is_done);
        compare(call, here);
        weir_detect_free(here);
        weir_detect_free(call);
        tear_down(&b);
        weir_buf_dispose(&text);
    }
}

static void test_small_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FLOODS; i++) {
        struct bench b;
        struct weir_buf text = {0};
        set_up(&b, i, &text, 1000);
        struct weir_detect_call *call =
            weir_detect_start(&b.detector.base, &b.env, &b.input, on_done, &b);
        assert_true(call->is_done);
        weir_detect_free(call);
        tear_down(&b);
        weir_buf_dispose(&text);
    }
}

/* Many small contents are a large one. */
static void test_many_contents(void **state)
{
    (void)state;
    enum { N = 200 };
    struct bench b;
    struct weir_buf text = {0};
    struct weir_slice contents[N];
    set_up(&b, SECRETS, &text, 400);
    for (size_t i = 0; i < N; i++) {
        contents[i] = b.content;
    }
    b.input.contents = contents;
    b.input.n_contents = N;
    struct weir_detect_call *call =
        weir_detect_start(&b.detector.base, &b.env, &b.input, on_done, &b);
    assert_false(call->is_done);
    weir_loop_run(&b.loop);
    assert_true(call->is_done);
    assert_int_equal(call->n_lists, N);
    assert_int_equal(call->lists[0].n, call->lists[N - 1].n);
    weir_detect_free(call);
    tear_down(&b);
    weir_buf_dispose(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_texts),
        cmocka_unit_test(test_small_texts),
        cmocka_unit_test(test_many_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
