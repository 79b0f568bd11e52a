#ifndef WEIR_TESTS_CONF_HARNESS_H
#define WEIR_TESTS_CONF_HARNESS_H

#include "unit/cmocka_all.h"

#include "base/err.h"
#include "conf/conf_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Loads a text called "c.yaml" in a small fixed environment and gives its problems as the lines
 * --check-config would print, without the summary.
 */
struct loaded {
    struct weir_conf *conf;
    struct weir_conf_problems problems;
    struct weir_buf lines;
    int err;
};

static inline const char *test_env(void *ctx, const char *name)
{
    (void)ctx;
    static const char *const vars[][2] = {
        {"HOST", "models.internal"},
        {"PORT", "9001"},
        {"EMPTY", ""},
        {"TOKEN", "s3cret"},
        {"KEYS", "k1, k2"},
        {"KEY", "one-key"},
        {"BAD_TOKEN", "two words"},
        {"ON", "true"},
        {"RATE", "0.75"},
        {"LATIN1", "caf\xe9"},
        {"BAD_KEYS", "k1,,k2"},
        {"MODEL_TOKEN", "s3cret"},
        {"WEIR_API_KEYS", "k1,k2"},
        {"SENTENCE", "a b"},
        {"WEIR_SEAL_KEY", "0123456789abcdef"},
        {"WEIR_ID_KEY", "0123456789abcdef"},
        {"MASK_KEY", "0123456789abcdef"},
        {"WEIR_MASK_KEY", "0123456789abcdef"},
        {"WEIR_CANARY_KEY", "0123456789abcdef"},
    };
    for (size_t i = 0; i < sizeof vars / sizeof *vars; i++) {
        if (strcmp(vars[i][0], name) == 0) {
            return vars[i][1];
        }
    }
    return NULL;
}

static inline struct loaded load_with(struct weir_conf_load_options options)
{
    struct loaded l = {0};
    options.env = test_env;
    if (options.memory_bytes == 0) {
        options.memory_bytes = UINT64_C(1) << 30;
    }
    l.err = weir_conf_load(&options, &l.conf, &l.problems);
    weir_conf_problems_sort(&l.problems);
    for (size_t i = 0; i < l.problems.n; i++) {
        weir_conf_problem_format(&l.problems.items[i], &l.lines);
        weir_buf_append_byte(&l.lines, '\n');
    }
    assert_int_equal(l.err == 0, l.conf != NULL);
    assert_int_equal(l.err == 0, l.problems.n_errors == 0);
    return l;
}

static inline struct loaded load(const char *text)
{
    return load_with((struct weir_conf_load_options){
        .text = weir_slice_cstr(text), .name = "c.yaml", .own_http_port = 8033});
}

static inline void drop(struct loaded *l)
{
    weir_conf_free(l->conf);
    weir_conf_problems_dispose(&l->problems);
    weir_buf_dispose(&l->lines);
}

/* Exactly these problems, in order of lines; "" for none. */
static inline void expect(const char *text, const char *lines)
{
    struct loaded l = load(text);
    assert_string_equal(weir_buf_cstr(&l.lines), lines);
    drop(&l);
}

/* Loads without any problem. */
static inline struct loaded load_clean(const char *text)
{
    struct loaded l = load(text);
    assert_string_equal(weir_buf_cstr(&l.lines), "");
    assert_non_null(l.conf);
    return l;
}

#endif
