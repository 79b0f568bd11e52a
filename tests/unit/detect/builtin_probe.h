#ifndef WEIR_TESTS_BUILTIN_PROBE_H
#define WEIR_TESTS_BUILTIN_PROBE_H

#include "unit/cmocka_all.h"

#include "detect/builtin.h"

#include <stdio.h>
#include <stdlib.h>

/* One text through one built-in detector, the findings as one line: "kind[text] kind[text]". */
struct probe {
    struct weir_builtin detector;
    struct weir_detect_call *call;
    struct weir_slice text;
    char line[4096];
};

static inline void probe_open(struct probe *p, const struct weir_builtin_kind *kind,
                              const char *params)
{
    struct weir_buf why = {0};
    *p = (struct probe){0};
    if (weir_builtin_init(&p->detector, kind, WEIR_SLICE("det"), weir_slice_cstr(params), &why) !=
        0) {
        fail_msg("%s: %s", params, weir_buf_cstr(&why));
    }
    weir_buf_dispose(&why);
}

static inline const struct weir_detect_call *probe_ask(struct probe *p, struct weir_slice text,
                                                       const char *params)
{
    weir_detect_free(p->call);
    p->text = text;
    struct weir_detect_input input = {.type = WEIR_DETECT_CONTENTS,
                                      .contents = &p->text,
                                      .n_contents = 1,
                                      .params = weir_slice_cstr(params),
                                      .threshold = 0.5};
    struct weir_detect_env env = {0};
    p->call = weir_detect_start(&p->detector.base, &env, &input, NULL, NULL);
    assert_true(p->call->is_done);
    return p->call;
}

static inline const char *probe_line(struct probe *p, const char *text)
{
    const struct weir_detect_call *call = probe_ask(p, weir_slice_cstr(text), "");
    assert_int_equal(call->fault.origin, WEIR_FAULT_NONE);
    size_t n = 0;
    p->line[0] = '\0';
    for (size_t i = 0; i < call->lists[0].n; i++) {
        const struct weir_detection *d = &call->lists[0].items[i];
        n += (size_t)snprintf(p->line + n, sizeof p->line - n, "%s%.*s[%.*s]", i != 0 ? " " : "",
                              (int)d->detection.n, d->detection.p, (int)d->text.n, d->text.p);
        assert_true(n < sizeof p->line);
    }
    return p->line;
}

static inline void probe_close(struct probe *p)
{
    weir_detect_free(p->call);
    weir_builtin_dispose(&p->detector);
}

/* Pairs of text and expected line. */
struct probe_case {
    const char *text;
    const char *expected;
};

static inline void probe_cases(struct probe *p, const struct probe_case *cases, size_t n)
{
    size_t n_wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const char *got = probe_line(p, cases[i].text);
        if (strcmp(got, cases[i].expected) != 0) {
            print_error("%s\n  got      %s\n  expected %s\n", cases[i].text, got,
                        cases[i].expected);
            n_wrong++;
        }
    }
    assert_int_equal(n_wrong, 0);
}

#endif
