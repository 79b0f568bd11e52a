/*
 * Precision and recall of the built-in detectors on the labelled texts of tests/quality, printed
 * and gated. A line is {"text", "found": [{"detection", "text"}]}; a finding counts as right when
 * its kind and its exact text are listed.
 */
#include "unit/cmocka_all.h"

#include "base/mem.h"
#include "detect/registry.h"
#include "unit/detect/quality_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct set {
    const char *file;
    const char *kind;
    const char *params;
    double precision;
    double recall;
    bool is_by_text; /* a text is found or not: where wordings are heuristic, so are spans */
};

static const struct set sets[] = {
    {"regex", "regex",
     "{\"regex\":[\"email\",\"credit-card\",\"ipv4\",\"ipv6\",\"phone\",\"us-ssn\","
     "\"uk-post-code\",\"iban\"]}",
     0.98, 0.98, false},
    {"regex_ids", "regex",
     "{\"regex\":[\"es-nif\",\"es-nie\",\"pl-pesel\",\"it-fiscal-code\",\"in-aadhaar\",\"in-pan\","
     "\"uk-nhs\",\"uk-nino\",\"ca-sin\",\"de-tax-id\",\"fr-nir\",\"br-cpf\",\"br-cnpj\",\"ch-ahv\","
     "\"nl-bsn\",\"se-personnummer\",\"au-tfn\",\"au-abn\",\"bitcoin-address\","
     "\"ethereum-address\",\"mac-address\",\"bic\",\"vin\"]}",
     0.98, 0.98, false},
    {"secrets", "secrets", "{}", 0.985, 0.98, false},
    {"links", "links", "{\"allow\":[\"allowed.test\"]}", 0.98, 0.95, false},
    {"unicode", "unicode", "{}", 0.98, 0.95, false},
    {"keywords", "keywords",
     "{\"deny\":[\"wire transfer\",\"insider\",\"爆弾\",\"geheim\",\"ass\"],"
     "\"allow\":[\"insider tour\"]}",
     0.90, 0.85, false},
    {"keywords_more", "keywords",
     "{\"deny\":[\"confidential\",\"wire transfer\",\"kill switch\",\"бомба\",\"爆弾\",\"straße\","
     "\"naïve\",\"C++\",\"e-mail list\",\"ระเบิด\",\"قنبلة\",\"Project Falcon\",\"h4x0r\",\"ass\","
     "\"top 10%\",\"θάνατος\"],\"allow\":[\"kill switch engine\",\"confidential computing\"]}",
     0.90, 0.85, false},
    {"prompt_injection", "prompt_injection", "{}", 0.97, 0.95, true},
    {"prompt_injection_held", "prompt_injection", "{}", 0.97, 0.95, true},
};

struct tally {
    size_t n_texts;
    size_t n_right;
    size_t n_wrong;
    size_t n_missed;
    size_t n_other_family;
};

struct line {
    struct weir_json json;
    struct weir_arena arena;
    struct weir_slice text;
    size_t row;
};

static struct weir_slice member(struct line *l, uint32_t object, const char *name)
{
    uint32_t at = weir_json_get(&l->json, object, weir_slice_cstr(name));
    assert_int_not_equal(at, WEIR_JSON_NONE);
    return quality_expand(weir_json_string(&l->json, at, &l->arena), l->row, &l->arena);
}

static bool is_same(struct line *l, uint32_t expected, const struct weir_detection *d)
{
    return weir_slice_eq(d->detection, member(l, expected, "detection")) &&
           weir_slice_eq(d->text, member(l, expected, "text"));
}

/* Each expected finding is used once. */
static void compare(struct line *l, const struct weir_detect_list *list, struct tally *t)
{
    uint32_t found = weir_json_get(&l->json, 0, WEIR_SLICE("found"));
    bool *is_used = weir_arena_array(&l->arena, list->n + 1, sizeof *is_used);
    size_t n_right = 0;
    uint32_t e = weir_json_first(&l->json, found);
    for (; e != WEIR_JSON_NONE; e = weir_json_after(&l->json, found, e)) {
        size_t i = 0;
        while (i < list->n && (is_used[i] || !is_same(l, e, &list->items[i]))) {
            i++;
        }
        is_used[i] = true;
        n_right += i < list->n;
        if (i == list->n) {
            t->n_missed++;
            struct weir_slice raw = weir_json_raw(&l->json, e);
            print_message("  line %zu: missed %.*s\n", l->row, (int)raw.n, raw.p);
        }
    }
    for (size_t i = 0; i < list->n; i++) {
        const struct weir_detection *d = &list->items[i];
        if (!is_used[i]) {
            print_message("  line %zu: wrong %.*s \"%.*s\"\n", l->row, (int)d->detection.n,
                          d->detection.p, (int)d->text.n, d->text.p);
        }
    }
    t->n_right += n_right;
    t->n_wrong += list->n - n_right;
}

/* A text that has a finding to it is right with any; the family is told where it differs. */
static void compare_text(struct line *l, const struct weir_detect_list *list, struct tally *t)
{
    uint32_t found = weir_json_get(&l->json, 0, WEIR_SLICE("found"));
    uint32_t expected = weir_json_first(&l->json, found);
    bool is_wanted = expected != WEIR_JSON_NONE;
    bool is_family = !is_wanted || list->n == 0;
    for (size_t i = 0; i < list->n && is_wanted; i++) {
        is_family =
            is_family || weir_slice_eq(list->items[i].detection, member(l, expected, "detection"));
    }
    t->n_right += is_wanted && list->n != 0;
    t->n_missed += is_wanted && list->n == 0;
    t->n_wrong += !is_wanted && list->n != 0;
    t->n_other_family += !is_family;
    if (is_wanted != (list->n != 0) || !is_family) {
        print_message("  line %zu: %s: %.*s\n", l->row,
                      !is_family  ? "another family"
                      : is_wanted ? "missed"
                                  : "wrong",
                      (int)l->text.n, l->text.p);
    }
    for (size_t i = 0; i < list->n && (!is_wanted || !is_family); i++) {
        const struct weir_detection *d = &list->items[i];
        print_message("    %.*s %.2f \"%.*s\"\n", (int)d->detection.n, d->detection.p, d->score,
                      (int)d->text.n, d->text.p);
    }
}

static void judge_line(const struct set *set, const struct weir_builtin *b,
                       struct weir_slice source, struct tally *t)
{
    struct line l = {.row = ++t->n_texts};
    assert_int_equal(weir_json_parse(&l.json, source, NULL, &l.arena, NULL), 0);
    l.text = member(&l, 0, "text");
    struct weir_detect_input input = {
        .type = WEIR_DETECT_CONTENTS, .contents = &l.text, .n_contents = 1, .threshold = 0.5};
    struct weir_detect_env env = {0};
    struct weir_detect_call *call = weir_detect_start(&b->base, &env, &input, NULL, NULL);
    assert_int_equal(call->fault.origin, WEIR_FAULT_NONE);
    if (set->is_by_text) {
        compare_text(&l, &call->lists[0], t);
    } else {
        compare(&l, &call->lists[0], t);
    }
    weir_detect_free(call);
    weir_arena_dispose(&l.arena);
}

static void judge_set(const struct set *set)
{
    struct weir_builtin b;
    struct weir_buf why = {0};
    struct weir_buf file = {0};
    struct tally t = {0};
    assert_int_equal(weir_detect_builtin_init(&b, weir_slice_cstr(set->kind), WEIR_SLICE("q"),
                                              weir_slice_cstr(set->params), &why),
                     0);
    quality_read_file(set->file, &file);
    struct weir_slice rest = weir_buf_slice(&file);
    while (rest.p != NULL) {
        struct weir_slice source = weir_slice_cut(&rest, '\n');
        if (source.n != 0) {
            judge_line(set, &b, source, &t);
        }
    }
    assert_true(t.n_right > 0);
    double precision = (double)t.n_right / (double)(t.n_right + t.n_wrong);
    double recall = (double)t.n_right / (double)(t.n_right + t.n_missed);
    print_message("%-22s %3zu texts, %3zu findings: precision %.3f, recall %.3f\n", set->file,
                  t.n_texts, t.n_right + t.n_missed, precision, recall);
    assert_true(precision >= set->precision);
    assert_true(recall >= set->recall);
    weir_buf_dispose(&file);
    weir_buf_dispose(&why);
    weir_builtin_dispose(&b);
}

static void test_quality(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        judge_set(&sets[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quality),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
