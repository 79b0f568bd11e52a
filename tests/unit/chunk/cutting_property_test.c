/*
 * What every chunker that lays chunks side by side owes, on thousands of texts made of the pieces
 * its rules look at: the same chunks however the text comes (cutting.h), bounded, and white space
 * behind a chunk in that chunk.
 */
#include "chunk/paragraph.h"
#include "chunk/sentence.h"
#include "chunk/window.h"
#include "unit/chunk/cutting.h"
#include "unit/cmocka_all.h"

static const char *const pieces[] = {
    "word",
    "Word",
    " ",
    " ",
    " ",
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    ".",
    ". ",
    "! ",
    "? ",
    "...",
    ".\n",
    "Dr. ",
    "e.g. ",
    "J. ",
    "U.S. ",
    "etc.",
    "don't.",
    "z. B. ",
    "He ",
    "It's",
    "p.m. ",
    "am 3. ",
    "Oktober",
    "No. ",
    "\u2026",
    " \u2014 ",
    " \u00ab ",
    " \u00bb ",
    "\u3002\u300d",
    "\u3068",
    "\u4ed6\u8bf4",
    "3.14",
    " 12 ",
    "1. ",
    "\n2) ",
    "\n- ",
    "\n```\n",
    "```",
    "\n~~~~\n",
    "`",
    "**",
    "_",
    "[1]",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "'",
    ",",
    ";",
    ":",
    "http://a.b/?c=d",
    "\u00e9t\u00e9",
    "e\u0301",
    "\u00a0",
    "\u00bb",
    "\u201c",
    "\u201d",
    "\u2026",
    "\u2028",
    "\u2029",
    "\u037e",
    "\u03c4\u03b9;",
    " \u0395",
    "\u4f60\u597d",
    "\u3002",
    "\uff01",
    "\u300c",
    "\u300d",
    "\u3000",
    "\u0964 ",
    "\u061f ",
    "\u0645",
    "\u0e2a\u0e27\u0e31",
    " \u0e14\u0e35",
    "\u200b",
    "\xf0\x9f\x98\x80",
    "a",
    "B",
    "x.",
    "#",
    "> ",
    "\u2022 ",
    "averylongwordindeedthatdoesnotend",
};

static void make_text(struct weir_buf *text, uint64_t *seed)
{
    size_t n = cutting_random(seed) % 60;
    size_t n_kinds = cutting_random(seed) % 2 ? 30 : sizeof pieces / sizeof pieces[0];
    size_t from = cutting_random(seed) % (sizeof pieces / sizeof pieces[0] - n_kinds + 1);
    weir_buf_clear(text);
    for (size_t i = 0; i < n; i++) {
        const char *piece = pieces[from + cutting_random(seed) % n_kinds];
        weir_buf_append(text, weir_slice_cstr(piece));
    }
}

/* No chunk over `max_bytes`, and none that begins with white space unless the one before is full or
 * was cut off. */
static void check_chunks(const struct cutting_input *in, const struct cutting *c, size_t max_bytes)
{
    size_t from = 0;
    for (size_t i = 0; i < c->n; i++) {
        size_t to = weir_utf8_byte_at(in->text, c->chunks[i].end_cp);
        assert_true(to - from <= max_bytes);
        from = to;
        if (i + 1 < c->n &&
            to - weir_utf8_byte_at(in->text, c->chunks[i].start_cp) + 4 < max_bytes) {
            size_t n_bytes;
            struct weir_slice rest = weir_slice_sub(in->text, to, in->text.n);
            assert_false(weir_utf8_is_space(weir_utf8_decode(rest, &n_bytes)));
        }
    }
}

static void check_texts(const struct weir_chunker *chunker, size_t max_bytes, int n_texts)
{
    struct weir_buf text = {0};
    uint64_t seed = 7 + max_bytes;
    for (int i = 0; i < n_texts; i++) {
        make_text(&text, &seed);
        struct cutting_input in = {.chunker = chunker, .text = weir_buf_slice(&text)};
        cutting_check_all(&in, 4);
        if (max_bytes != 0) {
            struct cutting c = cutting_run(&in, 3, NULL);
            check_chunks(&in, &c, max_bytes);
            cutting_dispose(&c);
        }
        size_t n_cp = weir_utf8_count(in.text);
        size_t cuts[] = {n_cp / 3, n_cp / 3 + 1, n_cp / 2 + 3};
        in.cuts_cp = cuts;
        in.n_cuts = 3;
        cutting_check_all(&in, 3);
    }
    weir_buf_dispose(&text);
}

static void check_sentences(size_t max_bytes, bool is_plain)
{
    struct weir_chunk_sentence c;
    struct weir_chunk_sentence_options options = {.max_bytes = max_bytes, .is_plain = is_plain};
    assert_int_equal(weir_chunk_sentence_init(&c, WEIR_SLICE("s"), &options), 0);
    check_texts(&c.base, is_plain ? 0 : max_bytes, 700);
    weir_chunk_sentence_dispose(&c);
}

static void test_sentence(void **state)
{
    (void)state;
    check_sentences(4096, false);
    check_sentences(120, false);
    check_sentences(20, false);
    check_sentences(20, true);
}

static void test_paragraph(void **state)
{
    (void)state;
    static const size_t bounds[] = {4096, 100, 20};
    for (size_t i = 0; i < 3; i++) {
        struct weir_chunk_paragraph c;
        weir_chunk_paragraph_init(&c, WEIR_SLICE("p"), bounds[i]);
        check_texts(&c.base, bounds[i], 500);
    }
}

static void test_window(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{1, 0}, {7, 0}, {7, 6}, {20, 5}, {400, 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct weir_chunk_window c;
        weir_chunk_window_init(&c, WEIR_SLICE("w"), sizes[i][0], sizes[i][1]);
        check_texts(&c.base, 0, 200);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sentence),
    cmocka_unit_test(test_paragraph),
    cmocka_unit_test(test_window),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
