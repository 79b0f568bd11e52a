#ifndef WEIR_DETECT_LOOKALIKE_H
#define WEIR_DETECT_LOOKALIKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Letters that pass for ASCII ones, and words made of them: of several scripts at once, or of
 * one whole script amid Latin text. What `unicode` tells and what folding undoes is decided here.
 *
 * A word is judged by itself and by the 64 letters before it, never by what follows.
 */

/* The ASCII letter or digit that `cp` passes for, in its case; NUL: none. ASCII is not asked. */
char weir_lookalike_of(uint32_t cp);

enum weir_lookalike_group {
    WEIR_LETTERS_NONE,     /* no letter */
    WEIR_LETTERS_ASCII,    /* A to Z, a to z */
    WEIR_LETTERS_ACCENTED, /* Latin letters of languages */
    WEIR_LETTERS_ODD,      /* Latin ones that are not: phonetic, small capitals, in dress */
    WEIR_LETTERS_GREEK,
    WEIR_LETTERS_CYRILLIC,
    WEIR_LETTERS_ARMENIAN,
    WEIR_LETTERS_CHEROKEE,
    WEIR_LETTERS_LISU,
    WEIR_LETTERS_OTHER,   /* Georgian, Coptic, Deseret, … */
    WEIR_LETTERS_FOREIGN, /* nobody takes these for Latin */
    WEIR_LETTERS_N,
};

enum weir_lookalike_group weir_lookalike_group(uint32_t cp);

/* Mathematical, circled, squared, full-width letters and small capitals. */
bool weir_lookalike_is_dressed(uint32_t cp);

/* Counted letter by letter. All-zero is empty. */
struct weir_lookalike_word {
    size_t n_of[WEIR_LETTERS_N];
    size_t n_letters;
    size_t n_like;     /* of these, ASCII or passing for it */
    size_t n_strict;   /* of these, by Unicode's own list */
    size_t n_phonetic; /* Greek ones that phonetic writing uses */
    size_t n_dotless;  /* dotless i */
    bool has_dotless_j;
    bool is_not_turkish;
    bool has_rare;   /* a letter that next to no living language has */
    bool has_balkan; /* a letter of Macedonian or Serbian, */
    bool has_steppe; /* of Ukrainian or a Turkic language */
    bool has_odd_x;  /* an x that no English word has */
    uint32_t last;
    uint64_t hash;  /* of the letters */
    char latin[20]; /* as it reads, in lower case, if it is short */
};

void weir_lookalike_add(struct weir_lookalike_word *w, uint32_t cp);

/* The letters before a word: how many there were, and when each group was last met in a word
 * that is as it should be. All-zero is the beginning of a text. */
struct weir_lookalike_context {
    uint64_t n_letters;
    uint64_t last[WEIR_LETTERS_N]; /* n_letters after it; 0: never */
    uint64_t last_trick;           /* n_letters after a word that was mixed or whole */
};

/* Is a letter of that group among the last 64? */
bool weir_lookalike_is_near(const struct weir_lookalike_context *c,
                            enum weir_lookalike_group group);

enum weir_lookalike_kind {
    WEIR_WORD_PLAIN,
    WEIR_WORD_MIXED, /* letters of several scripts that read as one Latin word */
    WEIR_WORD_WHOLE, /* all of one other script, looking Latin: amid Latin text, after such words,
                        or reading as a common English word */
};

enum weir_lookalike_kind weir_lookalike_judge(const struct weir_lookalike_word *w,
                                              const struct weir_lookalike_context *before);

/* The word, judged as `kind`, becomes context. */
void weir_lookalike_pass(struct weir_lookalike_context *c, const struct weir_lookalike_word *w,
                         enum weir_lookalike_kind kind);

/* `n` ASCII letters become context. */
void weir_lookalike_pass_ascii(struct weir_lookalike_context *c, size_t n);

#endif
