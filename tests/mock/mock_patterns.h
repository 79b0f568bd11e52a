#ifndef WEIR_MOCK_PATTERNS_H
#define WEIR_MOCK_PATTERNS_H

#include "base/slice.h"

#include <stddef.h>

/*
 * Regular expressions of the mock detector, on PCRE2. A worker has one of these: it keeps the last
 * few expressions compiled, since every request may bring its own.
 */
struct weir_mock_patterns;

struct weir_mock_match {
    struct weir_slice text;
    size_t start_cp;
    size_t end_cp;
    const char *detection;      /* "EmailAddress" */
    const char *detection_type; /* "pii" */
};

typedef void (*weir_mock_match_fn)(void *ctx, const struct weir_mock_match *match);

struct weir_mock_patterns *weir_mock_patterns_new(void);
void weir_mock_patterns_free(struct weir_mock_patterns *p);

/* Is it an expression? 0, or WEIR_EINVAL with the reason in `why`. */
int weir_mock_patterns_check(struct weir_mock_patterns *p, struct weir_slice regex, char *why,
                             size_t n_why);

/*
 * Calls `fn` for every match in valid UTF-8, from left to right, none of them empty. `regex` with
 * p == NULL: the built-in patterns. 0, WEIR_EINVAL as above, or WEIR_ELIMIT when the expression
 * took too many steps on this text.
 */
struct weir_mock_search {
    struct weir_slice regex;
    struct weir_slice text;
    weir_mock_match_fn fn;
    void *ctx;
};
int weir_mock_patterns_find(struct weir_mock_patterns *p, const struct weir_mock_search *search);

#endif
