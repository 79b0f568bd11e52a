#include "chunk/window.h"
#include "unit/chunk/cutting.h"
#include "unit/cmocka_all.h"

struct want {
    size_t end_cp, seen_end_cp, known_cp;
};

static void expect(const struct cutting_input *in, const struct want *wants, size_t n)
{
    cutting_check_all(in, 10);
    struct cutting c = cutting_run(in, 1, NULL);
    assert_int_equal(c.n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(c.chunks[i].end_cp, wants[i].end_cp);
        assert_int_equal(c.chunks[i].seen_end_cp, wants[i].seen_end_cp);
        assert_int_equal(c.chunks[i].known_cp, wants[i].known_cp);
    }
    cutting_dispose(&c);
}

static struct weir_chunk_window make(size_t size_cp, size_t overlap_cp)
{
    struct weir_chunk_window w;
    weir_chunk_window_init(&w, WEIR_SLICE("windows"), size_cp, overlap_cp);
    return w;
}

static void test_overlap(void **state)
{
    (void)state;
    struct weir_chunk_window w = make(6, 2);
    struct cutting_input in = {.chunker = &w.base, .text = WEIR_SLICE("0123456789abcd")};
    expect(&in, (struct want[]){{4, 6, 6}, {8, 10, 10}, {12, 14, 14}, {14, 14, 14}}, 4);
    in.text = WEIR_SLICE("01234567"); /* the second has begun and ends with the text */
    expect(&in, (struct want[]){{4, 6, 6}, {8, 8, 8}}, 2);
    in.text = WEIR_SLICE("012345678"); /* and answers for no more than its step */
    expect(&in, (struct want[]){{4, 6, 6}, {8, 9, 9}, {9, 9, 9}}, 3);
}

static void test_no_overlap(void **state)
{
    (void)state;
    struct weir_chunk_window w = make(3, 0);
    struct cutting_input in = {.chunker = &w.base, .text = WEIR_SLICE("01234567")};
    expect(&in, (struct want[]){{3, 3, 3}, {6, 6, 6}, {8, 8, 8}}, 3);
    in.text = WEIR_SLICE("012345"); /* no empty window at the end */
    expect(&in, (struct want[]){{3, 3, 3}, {6, 6, 6}}, 2);
    in.text = WEIR_SLICE("");
    expect(&in, NULL, 0);
}

static void test_code_points(void **state)
{
    (void)state;
    struct weir_chunk_window w = make(2, 1);
    struct cutting_input in = {.chunker = &w.base,
                               .text = WEIR_SLICE("a\u00e9\u4f60\xf0\x9f\x98\x80")};
    expect(&in, (struct want[]){{1, 2, 2}, {2, 3, 3}, {3, 4, 4}, {4, 4, 4}}, 4);
}

static void test_mostly_overlap(void **state)
{
    (void)state;
    struct weir_chunk_window w = make(5, 4);
    struct cutting_input in = {.chunker = &w.base, .text = WEIR_SLICE("0123456")};
    expect(&in,
           (struct want[]){
               {1, 5, 5}, {2, 6, 6}, {3, 7, 7}, {4, 7, 7}, {5, 7, 7}, {6, 7, 7}, {7, 7, 7}},
           7);
}

static void test_cut(void **state)
{
    (void)state;
    struct weir_chunk_window w = make(6, 2);
    size_t cuts[] = {5, 11};
    struct cutting_input in = {&w.base, WEIR_SLICE("0123456789abcdef"), cuts, 2};
    expect(&in,
           (struct want[]){
               {4, 5, 5}, {5, 5, 5}, {9, 11, 11}, {11, 11, 11}, {15, 16, 16}, {16, 16, 16}},
           6);
}

/* What the promise of docs/policies.md rests on: any stretch not longer than the overlap lies whole
 * in the window that answers for its beginning. */
static void test_promise(void **state)
{
    (void)state;
    struct weir_chunk_window w = make(40, 9);
    struct weir_buf text = {0};
    for (int i = 0; i < 500; i++) {
        weir_buf_append_byte(&text, 'x');
    }
    struct cutting_input in = {.chunker = &w.base, .text = weir_buf_slice(&text)};
    struct cutting c = cutting_run(&in, 7, NULL);
    size_t k = 0;
    for (size_t start = 0; start + 9 <= 500; start++) {
        k += start >= c.chunks[k].end_cp;
        assert_true(start >= c.chunks[k].start_cp && start < c.chunks[k].end_cp);
        assert_true(start + 9 <= c.chunks[k].seen_end_cp);
    }
    cutting_dispose(&c);
    weir_buf_dispose(&text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_overlap),     cmocka_unit_test(test_no_overlap),
    cmocka_unit_test(test_code_points), cmocka_unit_test(test_mostly_overlap),
    cmocka_unit_test(test_cut),         cmocka_unit_test(test_promise),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
