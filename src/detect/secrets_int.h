#ifndef WEIR_DETECT_SECRETS_INT_H
#define WEIR_DETECT_SECRETS_INT_H

#include "base/slice.h"
#include "detect/detection.h"
#include "detect/patterns.h"

#include <stdbool.h>
#include <stddef.h>

/* The parts of `secrets`: shapes with a prefix are rows of a table, the others have a judge each.
 */

enum weir_secret_class {
    WEIR_SECRET_ALNUM,     /* A-Z a-z 0-9 */
    WEIR_SECRET_UPPER,     /* A-Z 0-9 */
    WEIR_SECRET_HEX,       /* 0-9 a-f A-F */
    WEIR_SECRET_WORD,      /* alphanumeric and _ */
    WEIR_SECRET_URL,       /* alphanumeric, _ and - */
    WEIR_SECRET_URL_DOT,   /* and . */
    WEIR_SECRET_URL_SLASH, /* and / */
    WEIR_SECRET_BASE64,    /* alphanumeric, + / = */
};

/* `prefix` and then min to max characters of a class, no word around it. */
struct weir_secret_shape {
    const char *kind;
    const char *prefix;
    enum weir_secret_class class;
    unsigned short min;
    unsigned short max;
};

extern const struct weir_secret_shape weir_secrets__shapes[];
extern const size_t weir_secrets__n_shapes;

/* A candidate and what became of it. */
struct weir_secret_look {
    struct weir_slice text;
    size_t end;   /* where the pattern ended */
    size_t floor; /* what is before has been judged by this judge */
    bool is_piece;
    size_t from; /* out: the finding */
    size_t to;
    size_t seen; /* out, where not found: no judge need look before it again */
    const char *kind;
    double score;
    enum weir_detection_edge edge;
};

typedef bool (*weir_secret_judge_fn)(struct weir_secret_look *l);

/* A pattern and who decides about what it points at. */
struct weir_secret_judge {
    struct weir_pattern pattern;
    weir_secret_judge_fn judge;
};

extern const struct weir_secret_judge weir_secrets__judges[];
extern const size_t weir_secrets__n_judges;

bool weir_secrets__has(enum weir_secret_class class, char c);

/* One past the last character of the class from `at`, or from back to its first before `at`; no
 * more than `max` of them. */
size_t weir_secrets__run(struct weir_slice t, size_t at, enum weir_secret_class class, size_t max);
size_t weir_secrets__run_back(struct weir_slice t, size_t at, enum weir_secret_class class,
                              size_t max);

/* Letters that people write where a secret should be. */
bool weir_secrets__is_placeholder(struct weir_slice value);

/* Bits per byte as the value's own frequencies give them. */
double weir_secrets__entropy(struct weir_slice value);

/* Is it name = value? `l->end` is the end of a word such as `password`. */
bool weir_secrets__assignment(struct weir_secret_look *l);
bool weir_secrets__assigned_password(struct weir_secret_look *l);

/* `l->end` is behind "Bearer ". */
bool weir_secrets__bearer(struct weir_secret_look *l);

#endif
