/* `canary`: a word in any case, spaced, backwards and in base64; and the same however it is cut. */
#include "unit/cmocka_all.h"

#include "base/utf8.h"
#include "detect/canary.h"
#include "detect/reading.h"
#include "unit/detect/builtin_probe.h"

#define WORD "kx7r3dq2mvw6pn4c"
#define WORDS "{\"words\":[\"" WORD "\",\"Blue Heron 9\"]}"

static const struct probe_case cases[] = {
    {"It is " WORD ".", "canary[" WORD "]"},
    {"It is KX7R3DQ2mvw6pn4c!", "canary[KX7R3DQ2mvw6pn4c]"},
    {"k x 7 r 3 d q 2 m v w 6 p n 4 c", "canary[k x 7 r 3 d q 2 m v w 6 p n 4 c]"},
    {"K-X-7-R\n3.D.Q.2 \xE2\x80\x8B M V W 6 P N 4 C",
     "canary[K-X-7-R\n3.D.Q.2 \xE2\x80\x8B M V W 6 P N 4 C]"},
    {"c4np6wvm2qd3r7xk backwards", "canary[c4np6wvm2qd3r7xk]"},
    {"blue heron 9, blueheron9, 9norehEULB", "canary[blue heron 9] canary[blueheron9] "
                                             "canary[9norehEULB]"},
    /* base64 of "WORD", "a WORD b", "ab WORD", wrapped, URL safe, of capital letters, reversed */
    {"a3g3cjNkcTJtdnc2cG40Yw==", "canary[a3g3cjNkcTJtdnc2cG40Y]"},
    {"YSBreDdyM2RxMm12dzZwbjRjIGI=", "canary[reDdyM2RxMm12dzZwbjRj]"},
    {"YWIga3g3cjNkcTJtdnc2cG40Yw==", "canary[a3g3cjNkcTJtdnc2cG40Y]"},
    {"a3g3cjNk\r\n  cTJtdnc2\ncG40Yw", "canary[a3g3cjNk\r\n  cTJtdnc2\ncG40Y]"},
    {"S1g3UjNEUTJNVlc2UE40Qw==", "canary[S1g3UjNEUTJNVlc2UE40Q]"},
    {"YzRucDZ3dm0ycWQzcjd4aw==", "canary[YzRucDZ3dm0ycWQzcjd4a]"},
    {"Qmx1ZUhlcm9uOQ==", "canary[Qmx1ZUhlcm9uO]"},
    /* not quite */
    {"kx7r3dq2mvw6pn4", ""},
    {"kx7r3dq2 and then a word mvw6pn4c", ""},
    {"kx7r3dq2                 mvw6pn4c", ""},
    {"blue herons 9", ""},
    {"", ""},
};

static void test_forms(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_canary, WORDS);
    probe_cases(&p, cases, sizeof cases / sizeof cases[0]);
    const struct weir_detect_call *call = probe_ask(&p, WEIR_SLICE("\xC3\xA4 " WORD), "");
    assert_int_equal(call->lists[0].items[0].start_cp, 2);
    assert_int_equal(call->lists[0].items[0].end_cp, 2 + sizeof WORD - 1);
    assert_true(weir_slice_eq_cstr(call->lists[0].items[0].detection_type, "canary"));
    probe_close(&p);
}

static void test_parameters(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{\"words\":[\"short\"]}", "{\"words\":[\"h\xC3\xA9ronnnnnnnn\"]}", "{\"words\":3}",
        "{\"words\":[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct weir_builtin b;
        struct weir_buf why = {0};
        assert_int_not_equal(weir_builtin_init(&b, &weir_detect_canary, WEIR_SLICE("d"),
                                               weir_slice_cstr(wrong[i]), &why),
                             0);
        assert_true(why.n != 0);
        weir_builtin_dispose(&b);
        weir_buf_dispose(&why);
    }
    struct probe p;
    probe_open(&p, &weir_detect_canary, "{}");
    assert_string_equal(probe_line(&p, "anything at all " WORD), "");
    probe_close(&p);
}

static uint64_t seed = 11;

static size_t drawn(size_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % n;
}

/* A text of pieces of all that is found, and of almost that. */
static void make_text(struct weir_buf *text)
{
    static const char *const rest[] = {
        "k",        "kx7r3dq2", " ",  "\xC3\xA4", "the end. ",
        "a3g3cjNk", "4c",       "\n", "========", "                    "};
    weir_buf_clear(text);
    for (size_t n = drawn(30); n != 0; n--) {
        size_t n_cases = sizeof cases / sizeof cases[0];
        size_t n_rest = sizeof rest / sizeof rest[0];
        weir_buf_append(text, weir_slice_cstr(drawn(3) == 0 ? cases[drawn(n_cases)].text
                                                            : rest[drawn(n_rest)]));
    }
}

static void test_cuts(void **state)
{
    (void)state;
    struct probe p;
    struct weir_buf text = {0};
    probe_open(&p, &weir_detect_canary, WORDS);
    for (size_t round = 0; round < 500; round++) {
        make_text(&text);
        const struct weir_detect_list *want = probe_ask(&p, weir_buf_slice(&text), "")->lists;
        struct weir_reading *r = weir_reading_new(NULL, NULL, NULL);
        weir_reading_add(r, &p.detector.base, WEIR_SLICE(""), 0.5);
        weir_reading_start(r);
        struct weir_slice left = weir_buf_slice(&text);
        size_t n_told = 0;
        bool is_over = false;
        while (!is_over) {
            size_t n = weir_utf8_byte_at(left, 1 + drawn(12));
            n = n < left.n ? n : left.n;
            is_over = left.n == 0;
            assert_int_equal(is_over ? weir_reading_end(r)
                                     : weir_reading_push(r, weir_slice_sub(left, 0, n)),
                             0);
            left = weir_slice_sub(left, n, left.n);
            struct weir_detect_list now = weir_reading_found(r, 0);
            for (size_t i = 0; i < now.n; i++, n_told++) {
                assert_true(n_told < want->n);
                assert_int_equal(now.items[i].start_cp, want->items[n_told].start_cp);
                assert_int_equal(now.items[i].end_cp, want->items[n_told].end_cp);
            }
        }
        assert_int_equal(n_told, want->n);
        weir_reading_free(r);
    }
    weir_buf_dispose(&text);
    probe_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
