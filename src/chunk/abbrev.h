#ifndef WEIR_CHUNK_ABBREV_H
#define WEIR_CHUNK_ABBREV_H

#include "base/arena.h"
#include "base/map.h"
#include "base/slice.h"

#include <stdbool.h>

/*
 * Words whose full stop ends no sentence:
 *
 *   - single letters, alone or in a row: "J.", "e.g.", "z.B.", "т.е."; letters with case only
 *   - ICU's suppressions of one language, those behind `ss=standard` ("Mrs.", "Sept.")
 *   - a table of our own: titles, references and the like that are no words of another language,
 *     so that text of unknown language is not cut at "Dr.", "Sra." or "bzw."
 *
 * Words match as they are spelled, small and capital letters told apart, and only as whole words:
 * ICU's lists have "On." and "In.", which must not match "on." and "begin.".
 */
struct weir_abbrev {
    struct weir_map words; /* with their full stop */
    struct weir_arena arena;
};

/* Longer words are no abbreviations; the longest in any list have half of this. */
enum { WEIR_ABBREV_MAX_BYTES = 32 };

/*
 * `language` is an ICU locale ("en"); one that has no list gives the other two rules only.
 * WEIR_EUNSUPPORTED where ICU has no such data at all; `*a` can be disposed of then too.
 */
int weir_abbrev_init(struct weir_abbrev *a, const char *language);
void weir_abbrev_dispose(struct weir_abbrev *a);

/* `word` is the text before and with a full stop, without white space, at most
 * WEIR_ABBREV_MAX_BYTES of it; it may begin with brackets, quotes or another word and a hyphen. */
bool weir_abbrev_has(const struct weir_abbrev *a, struct weir_slice word);

#endif
