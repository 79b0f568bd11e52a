/* The text log against examples and against a model that keeps everything and scans. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "base/utf8.h"
#include "task/textlog.h"

#include <stdlib.h>
#include <string.h>

static void append(struct weir_textlog *log, uint64_t number, const char *text)
{
    assert_int_equal(weir_textlog_append(log, number, weir_slice_cstr(text), NULL), 0);
}

static void assert_text(struct weir_textlog *log, size_t start_cp, size_t end_cp, const char *want)
{
    struct weir_slice got = weir_textlog_slice(log, start_cp, end_cp);
    assert_int_equal(got.n, strlen(want));
    assert_memory_equal(got.p, want, got.n);
}

static void test_a_chunk_over_several_frames_is_one_slice(void **state)
{
    (void)state;
    struct weir_textlog log = {0};
    append(&log, 0, "the qu");
    append(&log, 1, "ick ");
    append(&log, 4, "b\xc3\xa4r \xf0\x9f\x90\xbb!");
    assert_int_equal(log.end_cp, 16);
    assert_int_equal(log.end_byte, 20);
    assert_text(&log, 0, 16, "the quick b\xc3\xa4r \xf0\x9f\x90\xbb!");
    assert_text(&log, 4, 12, "quick b\xc3\xa4");
    assert_text(&log, 14, 15, "\xf0\x9f\x90\xbb");
    assert_text(&log, 7, 7, "");
    weir_textlog_trim(&log, 11);
    assert_text(&log, 11, 16, "\xc3\xa4r \xf0\x9f\x90\xbb!");
    append(&log, 5, " end");
    assert_text(&log, 14, 20, "\xf0\x9f\x90\xbb! end");
    weir_textlog_dispose(&log);
    weir_textlog_dispose(&log);
}

static void test_frames_touched_and_ended(void **state)
{
    (void)state;
    struct weir_textlog log = {0};
    int tag;
    append(&log, 0, ""); /* the role */
    append(&log, 1, "one ");
    append(&log, 3, "two");
    append(&log, 4, ""); /* a tool call */
    assert_int_equal(weir_textlog_append(&log, 5, WEIR_SLICE(" three"), &tag), 0);
    append(&log, 6, ""); /* the finish */

    struct weir_textlog_cut cut = weir_textlog_cut(&log, 0);
    assert_int_equal(cut.n_touched, 1);
    assert_int_equal(cut.n_ended, 1);
    cut = weir_textlog_cut(&log, 5); /* "one t" */
    assert_int_equal(cut.n_touched, 3);
    assert_int_equal(cut.n_ended, 2);
    cut = weir_textlog_cut(&log, 7); /* "one two": with the empty frame behind it */
    assert_int_equal(cut.n_touched, 4);
    assert_int_equal(cut.n_ended, 4);
    cut = weir_textlog_cut(&log, 13);
    assert_int_equal(cut.n_touched, 6);
    assert_int_equal(cut.n_ended, 6);

    weir_textlog_trim(&log, 5);
    assert_int_equal(weir_textlog_n_frames(&log), 4);
    struct weir_textlog_frame f = weir_textlog_frame(&log, 0);
    assert_int_equal(f.number, 3);
    assert_int_equal(f.start_cp, 4); /* its start has left, its extent is still known */
    assert_int_equal(f.end_cp, 7);
    f = weir_textlog_frame(&log, 2);
    assert_int_equal(f.number, 5);
    assert_ptr_equal(f.tag, &tag);
    assert_int_equal(f.end_byte, 13);

    /* An empty frame that comes when all text has left goes with the next trim. */
    weir_textlog_trim(&log, 13);
    assert_int_equal(weir_textlog_n_frames(&log), 0);
    append(&log, 9, "");
    assert_int_equal(weir_textlog_cut(&log, 13).n_ended, 1);
    weir_textlog_trim(&log, 13);
    assert_int_equal(weir_textlog_n_frames(&log), 0);
    weir_textlog_dispose(&log);
}

static void test_every_white_space_and_nothing_else(void **state)
{
    (void)state;
    static const uint32_t white[] = {0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x20,   0x85,
                                     0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
                                     0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A, 0x2028,
                                     0x2029, 0x202F, 0x205F, 0x3000};
    enum { N_WHITE = sizeof white / sizeof white[0] };
    static const char *const black[] = {"\xe2\x80\x8b", "\xe2\x81\xa0", "\xef\xbb\xbf",
                                        "\xe1\xa0\x8e", "\x08",         "\x1c"};
    struct weir_textlog log = {0};
    for (size_t i = 0; i < N_WHITE; i++) {
        char utf8[4];
        size_t n = weir_utf8_encode(white[i], utf8);
        assert_int_equal(weir_textlog_append(&log, i, weir_slice_make(utf8, n), NULL), 0);
    }
    assert_true(weir_textlog_is_white(&log, 0, N_WHITE));
    for (size_t i = 0; i < sizeof black / sizeof black[0]; i++) {
        append(&log, 99, black[i]);
        assert_false(weir_textlog_is_white(&log, N_WHITE + i, N_WHITE + i + 1));
        assert_false(weir_textlog_is_white(&log, 0, N_WHITE + i + 1));
    }
    assert_true(weir_textlog_is_white(&log, 3, 9)); /* a no forgets no yes */
    assert_true(weir_textlog_is_white(&log, N_WHITE + 1, N_WHITE + 1));
    weir_textlog_dispose(&log);
}

static void test_ceilings_refuse_and_change_nothing(void **state)
{
    (void)state;
    struct weir_textlog log;
    weir_textlog_init(&log, &(struct weir_textlog_limits){.max_bytes = 8, .max_frames = 3});
    append(&log, 0, "12345");
    assert_int_equal(weir_textlog_append(&log, 1, WEIR_SLICE("6789"), NULL), WEIR_ELIMIT);
    assert_int_equal(weir_textlog_append(&log, 1, WEIR_SLICE("\xff"), NULL), WEIR_EBAD);
    assert_int_equal(weir_textlog_append(&log, 1, WEIR_SLICE("\xe2\x82"), NULL), WEIR_EBAD);
    assert_int_equal(log.end_cp, 5);
    assert_int_equal(weir_textlog_n_frames(&log), 1);
    append(&log, 1, "678");
    append(&log, 2, "");
    assert_int_equal(weir_textlog_append(&log, 3, WEIR_SLICE(""), NULL), WEIR_ELIMIT);
    weir_textlog_trim(&log, 6); /* what has left makes room */
    append(&log, 3, "9abcde");
    assert_text(&log, 6, 14, "789abcde");
    weir_textlog_dispose(&log);
}

static void test_a_drained_log_is_small(void **state)
{
    (void)state;
    struct weir_textlog log = {0};
    for (uint64_t i = 0; i < 50000; i++) {
        append(&log, i, "some words \xe2\x82\xac ");
    }
    assert_true(log.text.cap > 500000 && log.frames.cap >= 50000 && log.marks.cap > 1000);
    weir_textlog_trim(&log, log.end_cp - 3); /* not even wholly drained */
    assert_true(log.text.cap <= 512 && log.frames.cap <= 16 && log.marks.cap <= 64);
    weir_textlog_trim(&log, log.end_cp);
    assert_true(log.text.cap <= 256 && log.frames.cap <= 8 && log.marks.cap <= 16);
    weir_textlog_dispose(&log);
}

/* Thousands of chunks in one frame as large as an event may be: none is found by scanning it. */
static void test_offsets_in_a_large_frame(void **state)
{
    (void)state;
    enum { WORDS = 200000, WORD_CP = 5, WORD_BYTES = 8 };
    char *text = malloc(WORDS * WORD_BYTES);
    assert_non_null(text);
    for (size_t i = 0; i < WORDS; i++) {
        memcpy(text + i * WORD_BYTES, "a\xe4\xb8\xad\xc3\xa9 .", WORD_BYTES);
    }
    struct weir_textlog log = {0};
    assert_int_equal(weir_textlog_append(&log, 0, weir_slice_make(text, WORDS * WORD_BYTES), NULL),
                     0);
    free(text);
    assert_int_equal(log.end_cp, WORDS * WORD_CP);
    for (size_t i = 0; i < WORDS; i++) {
        struct weir_slice word = weir_textlog_slice(&log, i * WORD_CP, (i + 1) * WORD_CP);
        assert_int_equal(word.n, WORD_BYTES);
        assert_int_equal(word.p[7], '.');
        assert_true(weir_textlog_is_white(&log, i * WORD_CP + 3, i * WORD_CP + 4));
        weir_textlog_trim(&log, i * WORD_CP + 2);
    }
    assert_int_equal(weir_textlog_n_frames(&log), 1);
    weir_textlog_dispose(&log);
}

/* The model: all text ever, decoded. */

enum { MODEL_MAX = 4096 };

struct model {
    char bytes[MODEL_MAX * 4];
    size_t byte_of[MODEL_MAX + 1];
    uint32_t cps[MODEL_MAX];
    size_t n_cp;
    struct {
        size_t number, start_cp, end_cp;
    } frames[MODEL_MAX];
    size_t n_frames;
    size_t first_frame; /* not trimmed */
    size_t left_cp;
};

static uint32_t seed;

static uint32_t pick(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)seed * n) >> 32);
}

static uint32_t random_cp(void)
{
    static const uint32_t some[] = {'a', 'b', '.', ' ', '\n', 0xE9, 0xA0, 0x20AC, 0x3000, 0x1F43B};
    return some[pick(pick(2) != 0 ? 4 : sizeof some / sizeof some[0])];
}

static void model_append(struct model *m, struct weir_textlog *log, size_t n_cp)
{
    size_t start_byte = m->byte_of[m->n_cp];
    m->frames[m->n_frames].number = m->n_frames * 3;
    m->frames[m->n_frames].start_cp = m->n_cp;
    for (size_t i = 0; i < n_cp && m->n_cp < MODEL_MAX; i++) {
        size_t at = m->byte_of[m->n_cp];
        m->cps[m->n_cp] = random_cp();
        m->byte_of[m->n_cp + 1] = at + weir_utf8_encode(m->cps[m->n_cp], m->bytes + at);
        m->n_cp++;
    }
    m->frames[m->n_frames].end_cp = m->n_cp;
    struct weir_slice text =
        weir_slice_make(m->bytes + start_byte, m->byte_of[m->n_cp] - start_byte);
    uint64_t number = m->frames[m->n_frames++].number;
    assert_int_equal(weir_textlog_append(log, number, text, m), 0);
}

static void check_offsets(const struct model *m, struct weir_textlog *log)
{
    size_t a = m->left_cp + pick((uint32_t)(m->n_cp - m->left_cp) + 1);
    size_t b = a + pick((uint32_t)(m->n_cp - a) + 1);
    assert_int_equal(weir_textlog_byte_at(log, a), m->byte_of[a]);
    struct weir_slice s = weir_textlog_slice(log, a, b);
    assert_int_equal(s.n, m->byte_of[b] - m->byte_of[a]);
    assert_memory_equal(s.p, m->bytes + m->byte_of[a], s.n);

    size_t c = a + pick(4); /* short ranges are often white */
    c = c < m->n_cp ? c : m->n_cp;
    bool is_white = true;
    for (size_t i = a; i < c; i++) {
        is_white = is_white && weir_utf8_is_space(m->cps[i]);
    }
    assert_int_equal(weir_textlog_is_white(log, a, c), is_white);
}

static void check_frames(const struct model *m, struct weir_textlog *log)
{
    size_t end_cp = m->left_cp + pick((uint32_t)(m->n_cp - m->left_cp) + 1);
    size_t n_touched = 0;
    size_t n_ended = 0;
    size_t floor_cp = m->left_cp; /* where the last of them has ended */
    for (size_t i = m->first_frame; i < m->n_frames; i++) {
        bool is_ended = m->frames[i].end_cp <= end_cp;
        n_ended += is_ended;
        floor_cp = is_ended ? m->frames[i].end_cp : floor_cp;
        n_touched += is_ended || m->frames[i].start_cp < end_cp;
    }
    struct weir_textlog_cut cut = weir_textlog_cut(log, end_cp);
    assert_int_equal(cut.n_touched, n_touched);
    assert_int_equal(cut.n_ended, n_ended);
    assert_int_equal(weir_textlog_floor(log, end_cp), floor_cp);
    assert_int_equal(weir_textlog_n_frames(log), m->n_frames - m->first_frame);
    for (size_t i = m->first_frame; i < m->n_frames; i++) {
        struct weir_textlog_frame f = weir_textlog_frame(log, i - m->first_frame);
        assert_int_equal(f.number, m->frames[i].number);
        assert_int_equal(f.start_cp, m->frames[i].start_cp);
        assert_int_equal(f.end_cp, m->frames[i].end_cp);
        assert_int_equal(f.start_byte, m->byte_of[f.start_cp]);
        assert_int_equal(f.end_byte, m->byte_of[f.end_cp]);
    }
}

static void run_model(struct model *m)
{
    *m = (struct model){0};
    struct weir_textlog log = {0};
    uint32_t largest = pick(4) == 0 ? 900 : 12;
    while (m->n_cp < MODEL_MAX && m->n_frames < MODEL_MAX / 8) {
        model_append(m, &log, pick(largest));
        check_offsets(m, &log);
        check_frames(m, &log);
        if (pick(3) == 0) {
            m->left_cp += pick((uint32_t)(m->n_cp - m->left_cp) + 1);
            weir_textlog_trim(&log, m->left_cp);
            while (m->first_frame < m->n_frames && m->frames[m->first_frame].end_cp <= m->left_cp) {
                m->first_frame++;
            }
        }
    }
    weir_textlog_dispose(&log);
}

static void test_against_a_model_that_scans(void **state)
{
    (void)state;
    struct model *m = malloc(sizeof *m);
    assert_non_null(m);
    for (uint32_t i = 1; i <= 40; i++) {
        seed = i;
        run_model(m);
    }
    free(m);
}

/* Numbers may have holes; empty frames at the place where the text is cut may stay. */
static void test_frames_by_number(void **state)
{
    (void)state;
    struct weir_textlog log = {0};
    static const uint64_t numbers[] = {2, 3, 7, 7, 9};
    static const char *const texts[] = {"ab", "c", "", "d", ""};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(weir_textlog_append(&log, numbers[i], weir_slice_cstr(texts[i]), NULL), 0);
    }
    static const size_t below[] = {0, 0, 0, 1, 2, 2, 2, 2, 4, 4, 5};
    for (uint64_t n = 0; n < sizeof below / sizeof below[0]; n++) {
        assert_int_equal(weir_textlog_frames_below(&log, n), below[n]);
    }
    weir_textlog_trim_some(&log, 3, 2);
    assert_int_equal(weir_textlog_n_frames(&log), 3);
    assert_int_equal(weir_textlog_frame(&log, 0).number, 7);
    assert_int_equal(weir_textlog_frame(&log, 0).start_cp, 3);
    weir_textlog_trim_some(&log, 4, 2);
    assert_int_equal(weir_textlog_n_frames(&log), 1);
    assert_int_equal(weir_textlog_frame(&log, 0).number, 9);
    weir_textlog_trim(&log, 4);
    assert_int_equal(weir_textlog_n_frames(&log), 0);
    weir_textlog_dispose(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chunk_over_several_frames_is_one_slice),
        cmocka_unit_test(test_frames_touched_and_ended),
        cmocka_unit_test(test_every_white_space_and_nothing_else),
        cmocka_unit_test(test_ceilings_refuse_and_change_nothing),
        cmocka_unit_test(test_a_drained_log_is_small),
        cmocka_unit_test(test_offsets_in_a_large_frame),
        cmocka_unit_test(test_against_a_model_that_scans),
        cmocka_unit_test(test_frames_by_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
