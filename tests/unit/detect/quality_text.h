#ifndef WEIR_TESTS_QUALITY_TEXT_H
#define WEIR_TESTS_QUALITY_TEXT_H

#include "unit/cmocka_all.h"

#include "base/arena.h"
#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/*
 * The files of tests/quality and what their texts stand for: {{alnum:36}} in a text is 36
 * characters of a class, drawn the same way every time, so that no token that looks real stands in
 * the tree. {{alnum:36:2}} is the second of its line, wherever it stands; without a number they are
 * counted from the text's or finding's beginning.
 */

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static const struct {
    const char *name;
    const char *letters;
} classes[] = {
    {"alnum", ALNUM},
    {"upper", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"},
    {"hex", "0123456789abcdef"},
    {"digit", "123456789"},
    {"lower", "abcdefghijklmnopqrstuvwxyz0123456789"},
    {"caps", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"},
    {"url", ALNUM "-_"},
    {"b64", ALNUM "+/"},
    {"bech", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"},
};

/* NULL: no class. */
static inline const char *class_of(struct weir_slice name)
{
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (weir_slice_eq_cstr(name, classes[i].name)) {
            return classes[i].letters;
        }
    }
    return NULL;
}

static inline void draw(struct weir_buf *out, const char *class, uint64_t n, uint64_t seed)
{
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (uint64_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        weir_buf_append_byte(out, class[(state >> 33) % strlen(class)]);
    }
}

struct macro {
    const char *letters;
    uint64_t n;
    uint64_t number;
};

/* class:n or class:n:number; false where it is something else in double braces. */
static inline bool read_macro(struct weir_slice s, struct macro *m)
{
    m->letters = class_of(weir_slice_cut(&s, ':'));
    struct weir_slice n = weir_slice_cut(&s, ':');
    bool is_numbered = s.p != NULL;
    return m->letters != NULL && weir_slice_u64(n, &m->n) == 0 &&
           (!is_numbered || weir_slice_u64(s, &m->number) == 0);
}

static inline struct weir_slice quality_expand(struct weir_slice s, size_t row,
                                               struct weir_arena *arena)
{
    struct weir_buf out = {0};
    struct macro m = {0};
    while (s.n != 0) {
        const char *open = memmem(s.p, s.n, "{{", 2);
        const char *close = open != NULL ? memmem(open, s.n - (size_t)(open - s.p), "}}", 2) : NULL;
        size_t before = close != NULL ? (size_t)(open - s.p) : s.n;
        weir_buf_append(&out, weir_slice_sub(s, 0, before));
        if (close == NULL) {
            break;
        }
        struct weir_slice whole = weir_slice_make(open, (size_t)(close - open) + 2);
        m.number++;
        if (read_macro(weir_slice_sub(whole, 2, whole.n - 2), &m)) {
            draw(&out, m.letters, m.n, row * 1000 + m.number);
        } else {
            weir_buf_append(&out, whole);
        }
        s = weir_slice_sub(s, before + whole.n, s.n);
    }
    struct weir_slice result = weir_arena_dup(arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return result;
}

static inline void quality_read_file(const char *kind, struct weir_buf *out)
{
    char path[512];
    char block[4096];
    snprintf(path, sizeof path, "%s/tests/quality/%s.jsonl", WEIR_SOURCE_DIR, kind);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (size_t n; (n = fread(block, 1, sizeof block, f)) != 0;) {
        weir_buf_append(out, weir_slice_make(block, n));
    }
    fclose(f);
}

#endif
