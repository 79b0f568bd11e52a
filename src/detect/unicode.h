#ifndef WEIR_DETECT_UNICODE_H
#define WEIR_DETECT_UNICODE_H

#include "detect/builtin.h"

/*
 * `unicode`: characters that make a text read differently from what it says: `obfuscation` / kind.
 * No parameters.
 *
 *   invisible      zero width spaces and joiners, fillers, tags, stray variation selectors
 *   bidi_control   overrides always; other controls where nothing is written right to left
 *   homoglyph      one word of several scripts that looks like one (1.0); letters in mathematical,
 *                  circled or full-width dress in a row (0.8); a word of another script that looks
 *                  Latin, alone in a Latin text (0.6)
 *   zalgo          four and more marks on one letter (0.9)
 *
 * What writing needs is let through: joiners of emoji, Arabic and Indic scripts, flags, selectors
 * after emoji and Han, bidirectional marks in Hebrew and Arabic text, units such as kΩ.
 */
extern const struct weir_builtin_kind weir_detect_unicode;

#endif
