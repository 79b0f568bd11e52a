#ifndef WEIR_TALK_MASK_H
#define WEIR_TALK_MASK_H

#include "base/arena.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Values that go to a model server as tokens and come back as themselves (docs/masking.md).
 *
 *   jane@example.org  ──►  EMAIL_ADDRESS_7F3KQ2MAX9
 *                          └── TYPE ───┘ └ tag ─┘└ check
 *
 * TYPE is what the value was found as, in capitals. The tag is eight characters of Crockford's
 * base32 of HMAC-SHA-256(key, scope and normalised value), the check two of HMAC-SHA-256(key, tag).
 * So a value has the same token in every message, turn and replica, and nothing is stored; and text
 * that has the form of a token can be told from one that was made here.
 *
 * A map holds the tokens of one request. It lives in the request's arena and is zeroed when that is
 * disposed. Pure: knows no detector and no policy.
 */
enum {
    WEIR_MASK_TYPE_MOST = 24,
    WEIR_MASK_TAG_BYTES = 10, /* with the check */
    WEIR_MASK_TOKEN_MOST = WEIR_MASK_TYPE_MOST + 1 + WEIR_MASK_TAG_BYTES,
};

/* What of a value counts. Two spellings that are the same then have one token. */
enum weir_mask_form {
    WEIR_MASK_AS_IS,
    WEIR_MASK_LOWER,  /* e-mail addresses: ASCII letters in lower case */
    WEIR_MASK_DIGITS, /* phone and card numbers: their digits */
    WEIR_MASK_FORMS,
};

struct weir_mask_entry {
    char token[WEIR_MASK_TOKEN_MOST + 1]; /* NUL-terminated, like the next */
    char folded[WEIR_MASK_TOKEN_MOST + 1];
    size_t n;                /* bytes of both */
    struct weir_slice value; /* the first spelling */
    bool is_restored;        /* false: stays a token in answers */
};

/* A value as it was found. */
struct weir_mask_value {
    struct weir_slice type; /* what it was found as: any text */
    struct weir_slice text;
    bool is_restored;
};

struct weir_mask;

/* `key` and `scope` are borrowed and must outlive the arena's content. Never NULL. */
struct weir_mask *weir_mask_new(struct weir_arena *arena, struct weir_slice key,
                                struct weir_slice scope);

/*
 * The entry of a value, made if there is none yet; the first spelling and type stay. Restored is
 * what always may be. NULL: another value of this map has the same tag, and the request must fail.
 */
const struct weir_mask_entry *weir_mask_add(struct weir_mask *m, const struct weir_mask_value *v);

/* All are there: from now on the map can be searched. Adding opens it again. */
void weir_mask_seal(struct weir_mask *m);

size_t weir_mask_n(const struct weir_mask *m);

/* What counts of a value that was found as `type`, and the value in that form, appended. Digits of
 * which there are fewer than four count as they are. */
enum weir_mask_form weir_mask_form_of(struct weir_slice type);
void weir_mask_normalise(enum weir_mask_form form, struct weir_slice value, struct weir_buf *out);

/* Is it a token that was made with this key, in any scope? Exactly as it was made. */
bool weir_mask_is_ours(const struct weir_mask *m, struct weir_slice text);

/* Does the text lie in a token of this map, in any case? */
bool weir_mask_covers(const struct weir_mask *m, struct weir_slice text);

/* Is it the spelling of a token of this map? As weir_mask_match. */
bool weir_mask_has(const struct weir_mask *m, struct weir_slice text);

/*
 * Does the text begin with a token of the map? Any case, O, I and L as 0, 1 and 1, `\_` and `%5F`
 * as `_`, and in JSON also `\\_` and `\u005f`. Its bytes and its entry; 0: no; WEIR_MASK_MORE: the
 * text could become one (not with `is_end`). What stands before the text is not looked at.
 */
#define WEIR_MASK_MORE SIZE_MAX
struct weir_mask_match {
    struct weir_slice text;
    bool is_json;
    bool is_end; /* nothing follows */
};
size_t weir_mask_match(const struct weir_mask *m, const struct weir_mask_match *in,
                       const struct weir_mask_entry **entry);

/* Can a token of the map begin with this byte? Quick; a yes need not be one. */
bool weir_mask_may_begin(const struct weir_mask *m, unsigned char byte);

/* ASCII letters, digits and `_`: what a token must not stand behind. */
static inline bool weir_mask_is_word(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/*
 * Text that is searched for the map's tokens as it comes, in any cut. Text and tokens are given on
 * in order; held back is only what could become a token, at most some hundred bytes, and nothing
 * where the map is empty.
 */
struct weir_mask_scan { /* all-zero but for `mask` is the beginning of a text */
    const struct weir_mask *mask;
    bool is_json;
    bool is_in_word; /* the byte before is a letter, a digit or `_` */
    struct weir_buf held;
    uint8_t escape;   /* JSON: how much of an escape was seen … */
    uint16_t escaped; /* … and what it stands for so far */
};

struct weir_mask_sink {
    void (*on_text)(void *ctx, struct weir_slice text); /* never empty */
    void (*on_token)(void *ctx, struct weir_slice text, const struct weir_mask_entry *entry);
    void *ctx;
};

void weir_mask_scan_feed(struct weir_mask_scan *s, struct weir_slice text,
                         const struct weir_mask_sink *sink);
void weir_mask_scan_end(struct weir_mask_scan *s, const struct weir_mask_sink *sink);
void weir_mask_scan_dispose(struct weir_mask_scan *s);

/*
 * Counts tokens that were made here and are not in the map, in text as it comes: those of other
 * scopes, or of turns that only the server remembers. They stay as they are.
 */
struct weir_mask_foreign {           /* all-zero is the beginning of a text */
    char word[WEIR_MASK_TOKEN_MOST]; /* the word at hand … */
    size_t n;                        /* … and how long it is, which may be more */
};
size_t weir_mask_foreign_feed(struct weir_mask_foreign *f, const struct weir_mask *m,
                              struct weir_slice text);
size_t weir_mask_foreign_end(struct weir_mask_foreign *f, const struct weir_mask *m);

#endif
