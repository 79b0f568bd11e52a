#ifndef WEIR_DETECT_KEYWORDS_H
#define WEIR_DETECT_KEYWORDS_H

#include "detect/builtin.h"

/*
 * `keywords`: words and phrases from a list, letters in any case, whole words only.
 *
 *   {"deny": ["forbidden", "top secret"], "allow": ["top secret recipe"]}
 *
 * `keyword` / the term as it was given, score 1. A denied term inside an allowed one is not found.
 * Compared by full case folding (ß is ss) of letters and marks taken apart (é in one or two).
 * Space of any kind and length in the text is one space of a term. Scripts that do not part their
 * words (Chinese, Japanese, Korean particles, Thai …) have a word's border everywhere. At most
 * 20,000 terms of 256 bytes, 256 KiB in all; a term more costs memory, not time.
 */
extern const struct weir_builtin_kind weir_detect_keywords;

#endif
