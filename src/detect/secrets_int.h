#ifndef WEIR_DETECT_SECRETS_INT_H
#define WEIR_DETECT_SECRETS_INT_H

#include "base/slice.h"
#include "detect/seek.h"

#include <stdbool.h>
#include <stddef.h>

/* The parts of `secrets`: shapes with a prefix are rows of a table, the others have a judge each.
 */

enum weir_secret_class {
    WEIR_SECRET_ALNUM,      /* A-Z a-z 0-9 */
    WEIR_SECRET_UPPER,      /* A-Z 0-9 */
    WEIR_SECRET_CAPS,       /* the same, and letters alone will do */
    WEIR_SECRET_HEX,        /* 0-9 a-f A-F */
    WEIR_SECRET_WORD,       /* alphanumeric and _ */
    WEIR_SECRET_URL,        /* alphanumeric, _ and - */
    WEIR_SECRET_URL_DOT,    /* and . */
    WEIR_SECRET_URL_SLASH,  /* and / */
    WEIR_SECRET_URL_EQUAL,  /* and = */
    WEIR_SECRET_DOLLAR,     /* alphanumeric and $ */
    WEIR_SECRET_BASE64,     /* alphanumeric, + / = */
    WEIR_SECRET_BASE64_URL, /* alphanumeric, + / = _ - */
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

struct weir_secret_shapes {
    const struct weir_secret_shape *items;
    size_t n;
};

/* Those of data/secrets.shapes. From any thread. */
const struct weir_secret_shapes *weir_secrets__shapes(void);

typedef bool (*weir_secret_judge_fn)(struct weir_seek_look *l);

enum { WEIR_SECRET_OPEN = 512 }; /* a `max`: as long as it will */

/* Where the earliest finding may begin that no pattern has pointed at yet, in a text that goes on;
 * text.n: nowhere. `is_start`: it begins with the whole text. */
size_t weir_secrets__tail(struct weir_slice text, bool is_start);
void weir_secrets__prepare_tail(void); /* once, before the first */

enum { WEIR_SECRETS_SERVICE_BACK = 40 }; /* from `"service_account"`'s end to its `"type"` */

/* A pattern, and the judge that decides about the places it points at. */
struct weir_secret_judge {
    struct weir_pattern pattern;
    weir_secret_judge_fn judge;
    struct weir_seek_rule rule;
};

/* What goes by a name before it has a progress of its own: the value may be a vendor's. */
enum {
    WEIR_SECRETS_VENDOR,
    WEIR_SECRETS_ASSIGNED,
    WEIR_SECRETS_MANIFEST,
    WEIR_SECRETS_N_GROUPS,
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

/* How much of a text may be the rest of a private key whose BEGIN line came before it: 0, or all of
 * it that is body. */
size_t weir_secrets__key_rest(struct weir_slice text);

/* Is it name = value? `l->end` is the end of a word such as `password`. */
bool weir_secrets__assignment(struct weir_seek_look *l);
bool weir_secrets__assigned_password(struct weir_seek_look *l);
/* After a short name such as `pass`, which is also a word of prose, and its sign. */
bool weir_secrets__assigned_pass(struct weir_seek_look *l);

/* What requests and commands carry: after `Basic `, after `Bearer `, after sig=, after `-u ` or
 * `--user `, after the name of a program that takes -pPASSWORD. */
bool weir_secrets__basic_header(struct weir_seek_look *l);
bool weir_secrets__bearer_header(struct weir_seek_look *l);
bool weir_secrets__signature(struct weir_seek_look *l);
bool weir_secrets__authorization(struct weir_seek_look *l); /* after `Authorization` */
bool weir_secrets__user_option(struct weir_seek_look *l);
bool weir_secrets__password_option(struct weir_seek_look *l);

/* The entries of a Kubernetes manifest, after its `kind: Secret`: one for each call. */
bool weir_secrets__manifest(struct weir_seek_look *l);

#endif
