#include "mock/mock_patterns.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    N_KEPT = 16,            /* expressions */
    MAX_REGEX_BYTES = 8192, /* of one */
    MATCH_LIMIT = 1000000,  /* steps of one match */
    HEAP_KIB = 16384,
};

/* One pass for all; the mark says which of them it was. */
static const char BUILT_IN[] =
    "(*:EmailAddress)[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\\.){1,8}[A-Za-z]{2,24}\\b"
    "|(*:SSN)(?<![\\d-])\\d{3}-\\d{2}-\\d{4}(?![\\d-])"
    "|(*:CreditCard)(?<!\\d)\\d{4}([ -]?)\\d{4}\\g{-1}\\d{4}\\g{-1}\\d{4}(?!\\d)"
    "|(*:PhoneNumber)(?<![\\d+])\\+\\d{1,3}(?:[ -]?\\d{2,4}){2,4}(?!\\d)"
    "|(*:IPAddress)(?<![\\d.])(?:\\d{1,3}\\.){3}\\d{1,3}(?![\\d.])";

struct kept {
    struct weir_slice regex;
    pcre2_code *code;
};

struct weir_mock_patterns {
    struct kept kept[N_KEPT];
    size_t oldest;
    pcre2_match_data *data;
    pcre2_match_context *limits;
};

struct weir_mock_patterns *weir_mock_patterns_new(void)
{
    struct weir_mock_patterns *p = weir_mem_zalloc(sizeof *p);
    p->data = pcre2_match_data_create(1, NULL);
    p->limits = pcre2_match_context_create(NULL);
    WEIR_ASSERT(p->data != NULL && p->limits != NULL);
    pcre2_set_match_limit(p->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(p->limits, HEAP_KIB);
    return p;
}

static void forget(struct kept *k)
{
    free((void *)(uintptr_t)k->regex.p);
    pcre2_code_free(k->code);
    *k = (struct kept){0};
}

void weir_mock_patterns_free(struct weir_mock_patterns *p)
{
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; i < N_KEPT; i++) {
        forget(&p->kept[i]);
    }
    pcre2_match_data_free(p->data);
    pcre2_match_context_free(p->limits);
    free(p);
}

static pcre2_code *compile(struct weir_slice regex, int *err)
{
    PCRE2_SIZE at;
    uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C;
    if (regex.n > MAX_REGEX_BYTES) {
        *err = PCRE2_ERROR_BADDATA;
        return NULL;
    }
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)regex.p, regex.n, options, err, &at, NULL);
    if (code != NULL) {
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* without it the interpreter does it */
    }
    return code;
}

/* The compiled expression, from the kept ones if it is there. NULL: it is none, `*err` tells. */
static pcre2_code *get(struct weir_mock_patterns *p, struct weir_slice regex, int *err)
{
    for (size_t i = 0; i < N_KEPT; i++) {
        if (p->kept[i].code != NULL && weir_slice_eq(p->kept[i].regex, regex)) {
            return p->kept[i].code;
        }
    }
    pcre2_code *code = compile(regex, err);
    if (code == NULL) {
        return NULL;
    }
    struct kept *k = &p->kept[p->oldest];
    p->oldest = (p->oldest + 1) % N_KEPT;
    forget(k);
    k->regex = weir_slice_make(weir_mem_dup(regex.p, regex.n), regex.n);
    k->code = code;
    return code;
}

int weir_mock_patterns_check(struct weir_mock_patterns *p, struct weir_slice regex, char *why,
                             size_t n_why)
{
    int err = 0;
    if (get(p, regex, &err) != NULL) {
        return 0;
    }
    pcre2_get_error_message(err, (PCRE2_UCHAR *)why, n_why);
    return WEIR_EINVAL;
}

/* A walk over the text that counts code points as it goes, so that all of it is linear. */
struct walk {
    struct weir_slice text;
    size_t at_byte;
    size_t at_cp;
};

static size_t walk_to(struct walk *w, size_t to_byte)
{
    w->at_cp += weir_utf8_count(weir_slice_sub(w->text, w->at_byte, to_byte));
    w->at_byte = to_byte;
    return w->at_cp;
}

static void tell(const struct weir_mock_patterns *p, const struct weir_mock_search *search,
                 struct walk *w)
{
    const PCRE2_SIZE *span = pcre2_get_ovector_pointer(p->data);
    const char *mark = (const char *)pcre2_get_mark(p->data);
    bool is_built_in = search->regex.p == NULL && mark != NULL;
    struct weir_mock_match match = {
        .text = weir_slice_sub(search->text, span[0], span[1]),
        .detection = is_built_in ? mark : "Match",
        .detection_type = is_built_in ? "pii" : "mock",
    };
    match.start_cp = walk_to(w, span[0]);
    match.end_cp = walk_to(w, span[1]);
    search->fn(search->ctx, &match);
}

int weir_mock_patterns_find(struct weir_mock_patterns *p, const struct weir_mock_search *search)
{
    int err = 0;
    struct weir_slice regex = search->regex.p != NULL ? search->regex : weir_slice_cstr(BUILT_IN);
    const pcre2_code *code = get(p, regex, &err);
    if (code == NULL) {
        return WEIR_EINVAL;
    }
    struct walk w = {.text = search->text};
    struct weir_slice text = search->text.n != 0 ? search->text : WEIR_SLICE("");
    uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
    for (;;) {
        int rc =
            pcre2_match(code, (PCRE2_SPTR)text.p, text.n, w.at_byte, options, p->data, p->limits);
        if (rc < 0) {
            return rc == PCRE2_ERROR_NOMATCH ? 0 : WEIR_ELIMIT;
        }
        const PCRE2_SIZE *span = pcre2_get_ovector_pointer(p->data);
        if (span[0] < w.at_byte || span[1] <= span[0]) {
            return WEIR_EINVAL; /* \K in a lookaround: spans without sense */
        }
        tell(p, search, &w);
    }
}
