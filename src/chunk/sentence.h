#ifndef WEIR_CHUNK_SENTENCE_H
#define WEIR_CHUNK_SENTENCE_H

#include "chunk/abbrev.h"
#include "chunk/breaks.h"
#include "chunk/follow.h"
#include "chunk/registry.h"

/*
 * Sentences. Chunks lie side by side and cover the text; white space behind a sentence belongs to
 * it, white space at the very beginning to the first. A sentence is out as soon as its end is
 * certain, which is mostly at the first code point of the next one; chunks do not depend on how the
 * text was cut into pushes. A line's end ends a sentence, as in Unicode's rules (UAX #29), which
 * decide everywhere but here:
 *
 *   - abbreviations (chunk/abbrev.h) end no sentence: "Dr. Who", "z. B. Berlin"; those that also
 *     stand at ends ("p.m.", "U.S.", an ellipsis) do before a word that begins sentences, which is
 *     waited for (chunk/follow.h). German ordinals ("am 3. Oktober") are decided in the same way
 *   - a terminator of ASCII with more ASCII right behind it is inside something: "a?b=1", "x.Y",
 *     "!=". Emphasis ("**Done.** Next") and numbered references ("so.[1] Next") close like quotes,
 *     French guillemets with their no-break space too; brackets that open begin the next sentence
 *   - what goes on with a small letter behind a closed quote or bracket goes on: "Why?" he asked;
 *     so does what goes on with a particle or a verb of saying where letters have no case:
 * 「…。」と
 *   - a dash behind a sentence begins the next one before a capital: "Sí. —No."
 *   - a number of one or two digits with which a sentence begins stays with it: "So. 1. Open it."
 *   - items of a list in one line end before the next marker (chunk/runon.h): "1) Go 2) Stop"
 *   - a text without a single capital is chat: "ok. see you" are two
 *   - Greek text asks with ";", Armenian text may end with ":"
 *   - "[...]" is no end, nor are three full stops with spaces between; a fourth is
 *   - Thai and Lao have no terminators: a space ends a chunk of at least 64 code points
 *   - Markdown (chunk/lines.h): a fenced block is one chunk from its first line to its last. An
 *     item of a list and a heading are one chunk with their marker; those longer than 1 KiB are cut
 *     at the next end of a sentence
 *
 * An open chunk does not outgrow 4 KiB: it is ended at its last blank line, else line, else white
 * space, else where it is, so that nothing anybody writes is held back for long. That is also what
 * keeps a stream far below max_held_bytes_per_stream, which counts events, not text.
 *
 * Text is valid UTF-8, whole code points. A stream keeps no text but the last 32 bytes and takes
 * about half a kilobyte; a push costs its length.
 */
struct weir_chunk_sentence_options {
    const char *language; /* whose abbreviations ICU is asked for; NULL: "en" */
    bool is_plain;        /* Unicode's rules and the bound, none of the above */
    size_t max_bytes;     /* of a chunk; 0: 4 KiB; at least 16 */
};

struct weir_chunk_sentence {
    struct weir_chunker base;
    struct weir_breaks_classes classes;
    struct weir_abbrev abbrev;
    struct weir_follow_words follow;
    size_t max_bytes;
    bool is_plain;
    bool is_skipped[256]; /* bytes of ASCII that can be passed over inside a sentence */
};

/* `id` is borrowed; `options` may be NULL. WEIR_EUNSUPPORTED where ICU's data is not there. */
int weir_chunk_sentence_init(struct weir_chunk_sentence *c, struct weir_slice id,
                             const struct weir_chunk_sentence_options *options);

/* Safe after a failed init. All streams must be closed. */
void weir_chunk_sentence_dispose(struct weir_chunk_sentence *c);

extern const struct weir_chunk_kind weir_chunk_sentence_kind; /* sentence {max_bytes: 4096} */

#endif
