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
    WEIR_SECRET_CAPS,      /* the same, and letters alone will do */
    WEIR_SECRET_HEX,       /* 0-9 a-f A-F */
    WEIR_SECRET_WORD,      /* alphanumeric and _ */
    WEIR_SECRET_URL,       /* alphanumeric, _ and - */
    WEIR_SECRET_URL_DOT,   /* and . */
    WEIR_SECRET_URL_SLASH, /* and / */
    WEIR_SECRET_URL_EQUAL, /* and = */
    WEIR_SECRET_DOLLAR,    /* alphanumeric and $ */
    WEIR_SECRET_BASE64,    /* alphanumeric, + / = */
};

/* `prefix` and then min to max characters of a class, no word around it. A prefix that ends with =
 * or a space is the secret's name and not part of the finding. */
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
    size_t more; /* in and out: there is more to find from here on, ask again; 0: there is not */
    const char *kind;
    double score;
    enum weir_detection_edge edge;
};

typedef bool (*weir_secret_judge_fn)(struct weir_secret_look *l);

/* A pattern, and the judge that decides about the places it points at. */
struct weir_secret_judge {
    struct weir_pattern pattern;
    weir_secret_judge_fn judge;
    bool is_named; /* it goes by what stands before: the value may have a vendor's shape as well */
};

extern const struct weir_secret_judge weir_secrets__judges[];
extern const size_t weir_secrets__n_judges;

bool weir_secrets__has(enum weir_secret_class class, char c);

/* Letters, digits, _ and -: what may not stand beside a secret. */
bool weir_secrets__touches_word(char c);

/* One past the last character of the class from `at`, or from back to its first before `at`; no
 * more than `max` of them. */
size_t weir_secrets__run(struct weir_slice t, size_t at, enum weir_secret_class class, size_t max);
size_t weir_secrets__run_back(struct weir_slice t, size_t at, enum weir_secret_class class,
                              size_t max);

/* Letters that people write where a secret should be. */
bool weir_secrets__is_placeholder(struct weir_slice value);

/* Words that stand for a secret in examples, references to one, ports. */
bool weir_secrets__is_dull(struct weir_slice password);

/* Does a value look drawn at random: as a password with a name before it, or as a token without a
 * known shape? */
bool weir_secrets__looks_like_password(struct weir_slice value);
bool weir_secrets__looks_like_token(struct weir_slice value);
/* The same for a password that is assigned: hunter2 will do. */
bool weir_secrets__looks_chosen(struct weir_slice value);

/* Code, a template or a path that says where the secret is. */
bool weir_secrets__is_reference(struct weir_slice value, bool is_quoted);
bool weir_secrets__is_uuid(struct weir_slice value);

/* A name or a type of code: words, a number behind some. */
bool weir_secrets__is_identifier(struct weir_slice value);

/* Bits per byte as the value's own frequencies give them. */
double weir_secrets__entropy(struct weir_slice value);

/* Is it name = value? `l->end` is the end of a word such as `password`. */
bool weir_secrets__assignment(struct weir_secret_look *l);
bool weir_secrets__assigned_password(struct weir_secret_look *l);
/* After a short name such as `pass`, which is also a word of prose, and its sign. */
bool weir_secrets__assigned_pass(struct weir_secret_look *l);

/* What requests and commands carry: after `Basic `, after `Bearer `, after sig=, after `-u ` or
 * `--user `, after the name of a program that takes -pPASSWORD. */
bool weir_secrets__basic_header(struct weir_secret_look *l);
bool weir_secrets__bearer_header(struct weir_secret_look *l);
bool weir_secrets__signature(struct weir_secret_look *l);
bool weir_secrets__authorization(struct weir_secret_look *l); /* after `Authorization` */
bool weir_secrets__user_option(struct weir_secret_look *l);
bool weir_secrets__password_option(struct weir_secret_look *l);

/* The entries of a Kubernetes manifest, after its `kind: Secret`: one for each call. */
bool weir_secrets__manifest(struct weir_secret_look *l);

#endif
