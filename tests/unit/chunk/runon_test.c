/* Lists whose items stand in one line: where the next item begins, and what is none. */
#include "chunk/runon.h"
#include "unit/cmocka_all.h"

#include "base/utf8.h"

#include <stdio.h>

/* The text with "|" before each item after the first. */
static const char *cut(const char *text)
{
    static char out[256];
    struct weir_runon r = {0};
    size_t cuts[16];
    size_t n_cuts = 0;
    size_t begins = 0;
    struct weir_slice t = weir_slice_cstr(text);
    for (size_t i = 0, n; i < t.n; i += n) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(t, i, t.n), &n);
        enum weir_runon_space space = cp == '\n'  ? WEIR_RUNON_LINE
                                      : cp == ' ' ? WEIR_RUNON_WHITE
                                                  : WEIR_RUNON_SOLID;
        enum weir_runon_verdict verdict = weir_runon_step(&r, cp, space);
        begins = verdict == WEIR_RUNON_BEGINS ? i : begins;
        if (verdict == WEIR_RUNON_CUT || verdict == WEIR_RUNON_CUT_HERE) {
            cuts[n_cuts++] = verdict == WEIR_RUNON_CUT ? begins : i;
        }
    }
    size_t n_out = 0;
    for (size_t i = 0, k = 0; i < t.n; i++) {
        if (k < n_cuts && cuts[k] == i) {
            out[n_out++] = '|';
            k++;
        }
        out[n_out++] = t.p[i];
    }
    out[n_out] = '\0';
    return out;
}

static const char *const cases[] = {
    "1) one |2) two |3) three",
    "1. one |2. two",
    "1.) one |2.) two",
    "a) one |b) two |c) three",
    "A. one |B. two",
    "\u2022 one |\u2022 two",
    "9. nine |10. ten",
    "  1) one |2) two\n1) three |2) four",
    "1) one 2. two",          /* written otherwise */
    "1. take 5. rest 3. no",  /* does not count on */
    "so 1) one 2) two",       /* does not begin with it */
    "b) one c) two",          /* letters begin with a */
    "1) one (2) two 2)three", /* no space */
    "1000) one 1001) two",
    "- one - two", /* a dash is a dash */
    "a one b. two",
    "",
};

static void test_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char plain[256];
        size_t n = 0;
        for (const char *c = cases[i]; *c != '\0'; c++) {
            if (*c != '|') {
                plain[n++] = *c;
            }
        }
        plain[n] = '\0';
        assert_string_equal(cut(plain), cases[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
