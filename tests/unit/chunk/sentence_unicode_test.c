/*
 * The plain sentence chunker against Unicode: its own test file (Debian's unicode-data, as new as
 * ICU), and ICU's iterator on random texts.
 */
#include "chunk/sentence.h"
#include "unit/chunk/cutting.h"
#include "unit/cmocka_all.h"

#include <unicode/ubrk.h>
#include <unicode/ustring.h>

#define TEST_FILE "/usr/share/unicode/auxiliary/SentenceBreakTest.txt"

static struct weir_chunk_sentence chunker;

static int set_up(void **state)
{
    (void)state;
    struct weir_chunk_sentence_options options = {.is_plain = true};
    return weir_chunk_sentence_init(&chunker, WEIR_SLICE("plain"), &options);
}

static int tear_down(void **state)
{
    (void)state;
    weir_chunk_sentence_dispose(&chunker);
    return 0;
}

enum { MAX_CP = 256 };

/* A text and where it is to be cut. */
struct sample {
    struct weir_buf text;
    size_t ends_cp[MAX_CP];
    size_t n_ends;
};

static void append_cp(struct weir_buf *text, uint32_t cp)
{
    char bytes[4];
    weir_buf_append(text, weir_slice_make(bytes, weir_utf8_encode(cp, bytes)));
}

static void check(const struct sample *sample, const char *what)
{
    struct cutting_input in = {.chunker = &chunker.base, .text = weir_buf_slice(&sample->text)};
    cutting_check_all(&in, 3);
    struct cutting c = cutting_run(&in, 1, NULL);
    bool is_same = c.n == sample->n_ends;
    for (size_t i = 0; is_same && i < c.n; i++) {
        is_same = c.chunks[i].end_cp == sample->ends_cp[i];
    }
    cutting_dispose(&c);
    if (!is_same) {
        fail_msg("not the sentences of: %s", what);
    }
}

/* "÷ 0061 × 002E ÷  # comment": each ÷ but the first ends a sentence. */
static bool parse_line(char *line, struct sample *out)
{
    size_t n_cp = 0;
    weir_buf_clear(&out->text);
    out->n_ends = 0;
    line[strcspn(line, "#\n")] = 0;
    for (char *word = strtok(line, " \t"); word != NULL; word = strtok(NULL, " \t")) {
        if (strcmp(word, "\u00f7") == 0 && n_cp != 0) {
            assert_true(out->n_ends < MAX_CP);
            out->ends_cp[out->n_ends++] = n_cp;
        } else if (strcmp(word, "\u00f7") != 0 && strcmp(word, "\u00d7") != 0) {
            append_cp(&out->text, (uint32_t)strtoul(word, NULL, 16));
            n_cp++;
        }
    }
    return n_cp != 0;
}

static void test_unicode_file(void **state)
{
    (void)state;
    FILE *f = fopen(TEST_FILE, "r");
    if (f == NULL) {
        fail_msg("%s is missing: install the package unicode-data", TEST_FILE);
    }
    struct sample sample = {0};
    char line[4096];
    int n_samples = 0;
    while (fgets(line, sizeof line, f) != NULL) {
        char *shown = weir_mem_strdup(line);
        if (parse_line(line, &sample)) {
            check(&sample, shown);
            n_samples++;
        }
        free(shown);
    }
    fclose(f);
    weir_buf_dispose(&sample.text);
    assert_true(n_samples > 400);
}

static void ask_icu(UBreakIterator *icu, struct sample *sample)
{
    UChar units[2 * MAX_CP];
    int32_t n_units = 0;
    UErrorCode err = U_ZERO_ERROR;
    u_strFromUTF8(units, 2 * MAX_CP, &n_units, sample->text.p, (int32_t)sample->text.n, &err);
    ubrk_setText(icu, units, n_units, &err);
    assert_true(U_SUCCESS(err));
    sample->n_ends = 0;
    ubrk_first(icu);
    for (int32_t at; (at = ubrk_next(icu)) != UBRK_DONE;) {
        sample->ends_cp[sample->n_ends++] = (size_t)u_countChar32(units, at);
    }
}

/* Some of each class, and beyond the first plane. */
static const uint32_t alphabet[] = {
    'a',    'b',    'A',    'B',    '.',    '.',    '!',     '?',     ' ',     ' ',
    ')',    '"',    ',',    ':',    '1',    '2',    '\n',    '\r',    '@',     0xAD,
    0x85,   0xA0,   0xE9,   0xC9,   0x300,  0x5D0,  0x200B,  0x2014,  0x2024,  0x2028,
    0x2029, 0x201C, 0x201D, 0x3002, 0xFF0E, 0x4F60, 0x1D400, 0x1F600, 0x11044, 0x1F3FB,
};

static void test_like_icu(void **state)
{
    (void)state;
    UErrorCode err = U_ZERO_ERROR;
    UBreakIterator *icu = ubrk_open(UBRK_SENTENCE, "en", NULL, 0, &err);
    assert_true(U_SUCCESS(err));
    struct sample sample = {0};
    uint64_t seed = 42;
    for (int i = 0; i < 4000; i++) {
        weir_buf_clear(&sample.text);
        size_t n_cp = 1 + cutting_random(&seed) % 30;
        for (size_t k = 0; k < n_cp; k++) {
            size_t n = sizeof alphabet / sizeof alphabet[0];
            append_cp(&sample.text, alphabet[cutting_random(&seed) % n]);
        }
        ask_icu(icu, &sample);
        check(&sample, weir_buf_cstr(&sample.text));
    }
    ubrk_close(icu);
    weir_buf_dispose(&sample.text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_unicode_file),
    cmocka_unit_test(test_like_icu),
};

int main(void)
{
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
