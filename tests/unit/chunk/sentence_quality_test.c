/*
 * The sentence chunker on labelled texts of several languages (tests/quality): precision and recall
 * of its borders, printed per language and gated over all, for the texts its rules were tuned on
 * and for those they were not. Sentences of a line are joined with a space; with nothing in Chinese
 * and Japanese and behind a line's end.
 */
#include "chunk/sentence.h"
#include "unit/chunk/cutting.h"
#include "unit/cmocka_all.h"
#include "wire/json.h"

struct gate {
    const char *file;
    double min_precision, min_recall;
};

static const struct gate tuned = {"/tests/quality/sentences.jsonl", 0.98, 0.97};
static const struct gate held = {"/tests/quality/sentences_held.jsonl", 0.95, 0.97};

enum { MAX_SENTENCES = 16, MAX_LANGUAGE = 8 };

struct tally {
    char language[MAX_LANGUAGE];
    size_t n_texts, n_right, n_wrong, n_missed;
};

struct sample {
    struct weir_buf text;
    size_t starts_cp[MAX_SENTENCES]; /* of all but the first sentence */
    size_t n;
};

static void read_sample(const struct weir_json *j, bool is_joined, struct weir_arena *arena,
                        struct sample *s)
{
    uint32_t list = weir_json_get(j, 0, WEIR_SLICE("sentences"));
    uint32_t item = weir_json_first(j, list);
    for (; item != WEIR_JSON_NONE; item = weir_json_after(j, list, item)) {
        if (s->text.n != 0) {
            bool is_line = s->text.p[s->text.n - 1] == '\n';
            weir_buf_append(&s->text, weir_slice_cstr(is_joined || is_line ? "" : " "));
            assert_true(s->n < MAX_SENTENCES);
            s->starts_cp[s->n++] = weir_utf8_count(weir_buf_slice(&s->text));
        }
        weir_buf_append(&s->text, weir_json_string(j, item, arena));
    }
}

static void compare(const struct weir_chunker *chunker, struct sample *s, struct tally *t)
{
    struct cutting_input in = {.chunker = chunker, .text = weir_buf_slice(&s->text)};
    struct cutting c = cutting_run(&in, 3, NULL);
    size_t n_right = 0;
    for (size_t i = 1; i < c.n; i++) {
        bool is_right = false;
        for (size_t k = 0; k < s->n; k++) {
            is_right = is_right || s->starts_cp[k] == c.chunks[i].start_cp;
        }
        n_right += is_right;
    }
    if (n_right != s->n || c.n - 1 != s->n) {
        print_message("  %s: %zu of %zu borders, %zu too many: %s\n", t->language, n_right, s->n,
                      c.n - 1 - n_right, weir_buf_cstr(&s->text));
    }
    t->n_texts++;
    t->n_right += n_right;
    t->n_wrong += c.n - 1 - n_right;
    t->n_missed += s->n - n_right;
    cutting_dispose(&c);
}

static void print_tally(const struct tally *t)
{
    print_message("sentences %-4s %3zu texts: precision %.3f, recall %.3f\n", t->language,
                  t->n_texts, (double)t->n_right / (double)(t->n_right + t->n_wrong),
                  (double)t->n_right / (double)(t->n_right + t->n_missed));
}

static void judge_line(const struct weir_chunker *chunker, struct weir_slice line,
                       struct tally *own, struct tally *all)
{
    struct weir_json j;
    struct weir_arena arena = {0};
    struct sample s = {0};
    assert_int_equal(weir_json_parse(&j, line, NULL, &arena, NULL), 0);
    struct weir_slice language =
        weir_json_string(&j, weir_json_get(&j, 0, WEIR_SLICE("language")), &arena);
    assert_true(language.n < MAX_LANGUAGE);
    if (!weir_slice_eq_cstr(language, own->language)) {
        if (own->n_texts != 0) {
            print_tally(own);
        }
        *own = (struct tally){0};
        memcpy(own->language, language.p, language.n);
    }
    struct tally before = *own;
    bool is_joined = weir_slice_eq_cstr(language, "zh") || weir_slice_eq_cstr(language, "ja");
    read_sample(&j, is_joined, &arena, &s);
    compare(chunker, &s, own);
    all->n_texts++;
    all->n_right += own->n_right - before.n_right;
    all->n_wrong += own->n_wrong - before.n_wrong;
    all->n_missed += own->n_missed - before.n_missed;
    weir_buf_dispose(&s.text);
    weir_arena_dispose(&arena);
}

static void judge_file(const struct weir_chunker *chunker, const struct gate *gate)
{
    struct tally own = {0};
    struct tally all = {.language = "all"};
    char path[512];
    char *line = NULL;
    size_t cap = 0;
    snprintf(path, sizeof path, "%s%s", WEIR_SOURCE_DIR, gate->file);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    print_message("%s\n", gate->file);
    for (ssize_t n; (n = getline(&line, &cap, f)) > 0;) {
        judge_line(chunker, weir_slice_make(line, (size_t)n - (line[n - 1] == '\n')), &own, &all);
    }
    fclose(f);
    free(line);
    print_tally(&own);
    print_tally(&all);
    assert_true((double)all.n_right >= gate->min_precision * (double)(all.n_right + all.n_wrong));
    assert_true((double)all.n_right >= gate->min_recall * (double)(all.n_right + all.n_missed));
}

static void test_file(void **state)
{
    struct weir_chunk_sentence chunker;
    assert_int_equal(weir_chunk_sentence_init(&chunker, WEIR_SLICE("s"), NULL), 0);
    judge_file(&chunker.base, *state);
    weir_chunk_sentence_dispose(&chunker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {.name = "tuned", .test_func = test_file, .initial_state = (void *)&tuned},
        {.name = "held", .test_func = test_file, .initial_state = (void *)&held},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
