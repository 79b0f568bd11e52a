#ifndef WEIR_CHUNK_ABBREV_H
#define WEIR_CHUNK_ABBREV_H

#include "base/arena.h"
#include "base/map.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Words whose full stop need not end a sentence:
 *
 *   - single letters, alone or in a row: "J.", "e.g.", "z. B.", "т.е."; letters with case only
 *   - small numbers, Arabic and Roman: "am 3. Oktober", "im II. Weltkrieg", "steps: 1. Open it"
 *   - a table of our own: titles, references and the like that are not words of another language,
 *     so that text of unknown language is not cut at "Dr.", "Sra." or "bzw."
 *   - ICU's suppressions of one language, those behind `ss=standard` ("Mrs.", "Sept.")
 *
 * Words match as they are spelled, small and capital letters told apart, and only as whole words:
 * ICU's lists have "On." and "In.", which must not match "on." and "begin.". An elided article does
 * not belong to the word: "l'avv.", "dell'art.".
 */
enum weir_abbrev_kind {
    WEIR_ABBREV_NONE,    /* not an abbreviation: the full stop ends the sentence */
    WEIR_ABBREV_NUMBER,  /* ends no sentence before a number: "No. 5", "art. 3" */
    WEIR_ABBREV_YEAR,    /* ends none before a number with a full stop of its own: "2024. 3. 11." */
    WEIR_ABBREV_COUNT,   /* ends none before what has ordinals: "3. Oktober" */
    WEIR_ABBREV_OFTEN,   /* ends one before a word that begins sentences: "at 5 p.m. The" */
    WEIR_ABBREV_INITIAL, /* the same, but articles can be part of a name: "M. Le Goff" */
    WEIR_ABBREV_NEVER,   /* ends none */
};

struct weir_abbrev {
    struct weir_map words;    /* with their full stop, some with the word before: "ad es." */
    struct weir_map articles; /* German words before ordinals */
    struct weir_arena arena;
    uint64_t endings[1024]; /* a bit for each pair of bytes that a word has before its full stop */
};

/* Longer words are not taken for abbreviations; the longest in any list have half of this. */
enum { WEIR_ABBREV_MAX_BYTES = 32 };

/*
 * `language` is an ICU locale ("en"); one that has no list gives the other rules only.
 * WEIR_EUNSUPPORTED where ICU has no such data at all; `*a` can be disposed of then too.
 */
int weir_abbrev_init(struct weir_abbrev *a, const char *language);
void weir_abbrev_dispose(struct weir_abbrev *a);

/* `before` is the text up to and with a full stop, the last WEIR_ABBREV_MAX_BYTES of it or, where
 * the text is shorter, all; the word may have brackets, quotes or another word and a hyphen before
 * it. */
enum weir_abbrev_kind weir_abbrev_kind(const struct weir_abbrev *a, struct weir_slice before);

#endif
