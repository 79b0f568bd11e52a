#ifndef WEIR_DETECT_INJECTION_INT_H
#define WEIR_DETECT_INJECTION_INT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"
#include "detect/fold.h"
#include "detect/patterns.h"
#include "detect/pcre_heap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The rules of `prompt_injection`, as data/injection.rules has them: expressions of PCRE2 for
 * folded text (detect/fold.h), in bytes. The file is the manual of how they are written. Accents
 * are folded away in the rules as they are in the text.
 */
struct weir_injection_rule {
    struct weir_slice family;
    double score;
    const char *expr; /* classes of words put in */
    bool is_exact_case;
    bool is_speech; /* an order: described, forbidden or quoted it counts less */
};

struct weir_injection_family {
    struct weir_slice name;
    struct weir_slice about;
};

enum {
    WEIR_INJECTION_MAX_RULES = 768,
    WEIR_INJECTION_MAX_FAMILIES = 16,
};

/* Before a match: the order is described or forbidden; after it: it is about something else; around
 * a quoted one: the text names prompt injection; around a hint: the text is about it. */
enum weir_injection_around {
    WEIR_INJECTION_REPORTED,
    WEIR_INJECTION_OTHER,
    WEIR_INJECTION_TOPIC,
    WEIR_INJECTION_MATTER,
    WEIR_INJECTION_N_AROUND,
};

struct weir_injection_data {
    struct weir_injection_rule *rules;
    size_t n_rules;
    struct weir_injection_family families[WEIR_INJECTION_MAX_FAMILIES];
    size_t n_families;
    const char *around[WEIR_INJECTION_N_AROUND]; /* expressions */
    struct weir_arena arena;                     /* of expressions */
    struct weir_arena names;                     /* of families */
};

/* The file, inside the program. */
struct weir_slice weir_injection__text(void);

/* 0, or -1 with the line and what is wrong with it in `why`. `d` can be disposed of in any case. */
int weir_injection__data_read(struct weir_injection_data *d, struct weir_slice text,
                              struct weir_buf *why);
void weir_injection__data_dispose(struct weir_injection_data *d);

/* Hints of this family are counted apart (detect/injection.c). */
#define WEIR_INJECTION_REFUSAL "refusal_suppression"

/* What a space in an expression stands for: what is between two words of one sentence. */
#define GAP "[^\\w.!?;]+"

/* Writes `expr` for PCRE2. */
void weir_injection__spell(struct weir_buf *out, struct weir_slice expr);

/*
 * Vectorscan is not given the rules, which would take it a minute to compile, but the stems of
 * their keys: words that a match cannot do without. Where the last key of a rule comes and the
 * others have just been seen, PCRE2 has a look.
 */
enum {
    WEIR_INJECTION_MAX_KEYS = 4, /* of a rule */
    WEIR_INJECTION_MAX_STEMS = 96,
    WEIR_INJECTION_MAX_STEM = 24,
};

struct weir_injection_stem {
    char bytes[WEIR_INJECTION_MAX_STEM];
    size_t n;
    bool begins_word;
    bool ends_word;
};

struct weir_injection_key {
    struct weir_injection_stem stems[WEIR_INJECTION_MAX_STEMS];
    size_t n;
    size_t before; /* bytes of a match before it, at most or nearly */
    size_t until;  /* and up to its end */
    bool is_first; /* a match begins with it */
};

/* The keys of an expression, WEIR_INJECTION_MAX_KEYS at most; 0: it has none. */
size_t weir_injection__keys(struct weir_slice expr, struct weir_injection_key keys[]);

/* What must not go on beside a stem. */
enum { WEIR_INJECTION_BEGINS = 1, WEIR_INJECTION_ENDS = 2 };

/* A key of a stem, or a rule of its last key: those of item i are from first[i] to first[i + 1]. */
struct weir_injection_link {
    unsigned short to;
    unsigned char edges;  /* of the stem in the key */
    bool is_end;          /* rules may end with the key */
    unsigned short other; /* another key of the rule; the last itself when it has none */
    unsigned short apart; /* bytes up to the last key, at most */
};

struct weir_injection_index {
    struct weir_injection_link *list;
    size_t *first;
};

/* A stem, prepared for the search. */
struct weir_injection_literal {
    uint64_t head; /* its first bytes */
    uint64_t head_mask;
    uint32_t code;    /* of its first letters */
    uint32_t first;   /* of its keys in the index */
    uint32_t n_links; /* and how many it has */
    unsigned short id;
    unsigned char n;
    bool ends_word;
    bool is_last; /* of those that a word is compared with */
    char bytes[WEIR_INJECTION_MAX_STEM];
};

/* Stems that begin words (injection_stems.c). */
struct weir_injection_words;

struct weir_injection_taker {
    int (*on_stem)(void *ctx, const struct weir_injection_literal *stem, size_t at);
    void *ctx;
};

bool weir_injection__is_word_stem(const struct weir_injection_stem *stem);

/* Takes `stems`, from the heap, and puts them in order. */
struct weir_injection_words *weir_injection__words_new(struct weir_injection_literal *stems,
                                                       size_t n);
void weir_injection__words_free(struct weir_injection_words *w);

/* Tells the stems of words that begin from `*from`, no word's inside, to before `to`, and moves it.
 */
int weir_injection__words_scan(const struct weir_injection_words *w, struct weir_slice t,
                               size_t *from, size_t to, struct weir_injection_taker taker);

struct weir_injection_compiled {
    const struct weir_injection_rule *rule;
    pcre2_code *code;
    unsigned short keys[WEIR_INJECTION_MAX_KEYS];
    unsigned short apart[WEIR_INJECTION_MAX_KEYS]; /* bytes up to the last key, at most */
    size_t n_keys;
    size_t reach; /* bytes of a match up to its last key, at most */
    bool begins_with_key;
};

struct weir_injection_set {
    struct weir_injection_words *words; /* stems that begin words */
    struct weir_patterns *others;       /* all other stems */
    unsigned short *other_ids;          /* by place in `others`: the stem */
    unsigned char *lengths;             /* by stem */
    size_t n_keys;
    struct weir_injection_index keys_of_stem;
    struct weir_injection_index rules_of_key; /* whose last key it is */
    struct weir_injection_compiled rules[WEIR_INJECTION_MAX_RULES];
    size_t n_rules;
    pcre2_code *around[WEIR_INJECTION_N_AROUND];
    struct weir_injection_data data; /* without the expressions */
};

/* ---- looking (injection_scan.c) */

#define WEIR_INJECTION_LIKELY 0.5

enum {
    WEIR_INJECTION_AHEAD = 32, /* bytes behind a key that are needed to know it */
    WEIR_INJECTION_BACK = 272, /* a match begins no further before the end of its last key */
};

struct weir_injection_hit {
    size_t from; /* in the original */
    size_t to;
    unsigned rule;
    double score;
};

/* The end of a rule's match: the next begins behind it. */
struct weir_injection_end {
    unsigned rule;
    size_t to;
};

struct weir_injection_ends {
    struct weir_injection_end *list; /* in order of time */
    size_t n;
    size_t cap;
};

/* What there was before the keys at one place of the text were taken. */
struct weir_injection_unit {
    size_t at;
    bool is_begun;
    size_t n_hits;
    size_t n_seen;
    size_t n_looks;
};

struct weir_injection_state;

/* All-zero but for the text, the set and what is wanted. */
struct weir_injection_scan {
    struct weir_slice text; /* what is matched: the original, or folded */
    const struct weir_fold *fold;
    const struct weir_injection_set *set;
    bool is_open; /* more text follows */
    size_t from;  /* keys before it have been taken, and are only remembered */
    size_t to;    /* keys up to there are taken; out, where it is open: how far it came */
    struct weir_injection_ends *seen; /* matches so far, added to; NULL: nobody wants to know */
    struct weir_injection_hit *hits;  /* added to */
    size_t n_hits;
    size_t cap_hits;
    size_t n_looks;
    size_t n_read; /* its words up to here are looked at */
    struct weir_injection_unit unit;
    struct weir_injection_state *state;
    pcre2_match_data *data;
    pcre2_match_context *limits;
};

/* 0, or WEIR_ELIMIT. */
int weir_injection__scan(struct weir_injection_scan *s);
void weir_injection__scan_dispose(struct weir_injection_scan *s); /* `seen` is the caller's */

/* Compiled once, as long as the process. NULL with `why`. */
const struct weir_injection_set *weir_injection__set(struct weir_buf *why);

#endif
