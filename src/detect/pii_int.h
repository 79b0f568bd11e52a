#ifndef WEIR_DETECT_PII_INT_H
#define WEIR_DETECT_PII_INT_H

#include "base/slice.h"
#include "detect/seek.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The validators behind detect/pii.h: judges (detect/seek.h) that say where a finding is. Each
 * looks no further back than `floor`, where the last look of this kind ended, or a fixed number of
 * bytes.
 */
bool weir_pii__email(struct weir_seek_look *l);
bool weir_pii__ipv4(struct weir_seek_look *l);
bool weir_pii__ipv6(struct weir_seek_look *l);
bool weir_pii__card(struct weir_seek_look *l);
bool weir_pii__iban(struct weir_seek_look *l);
bool weir_pii__phone(struct weir_seek_look *l);
bool weir_pii__ssn(struct weir_seek_look *l);
bool weir_pii__post_code(struct weir_seek_look *l);

/*
 * The kinds that only who asks for them gets: numbers that states, banks and makers give out, told
 * by their check digits. Found by a set of patterns of its own.
 */
struct weir_pii_id {
    const char *name; /* of the kind and of the finding */
    const char *pattern;
    unsigned char min; /* letters and digits, without joints */
    unsigned char max;
    const char *joints; /* what may stand between them, one at a time */
    const char *groups; /* sizes of the groups it is written in, "334"; NULL: told without a word */
    const char *const *words; /* what must stand before it where it is not in these groups */
    bool (*is_right)(const char *spelled, size_t n); /* in capitals, without joints */
};

extern const struct weir_pii_id weir_pii__ids[];
extern const size_t weir_pii__n_ids;

bool weir_pii__id(const struct weir_pii_id *id, struct weir_seek_look *l);

/* Addresses of crypto currencies: their check sums. */
bool weir_pii__is_bitcoin(const char *spelled, size_t n);
bool weir_pii__is_ethereum(const char *spelled, size_t n);

/* The check digit of cards and many others: every second digit counts twice. */
bool weir_pii__is_luhn(const char *digits, size_t n);

enum { WEIR_PII_MAX_JOINT = 3 }; /* bytes between two groups of a telephone number */

/* Where the nth digit before `end` stands; of `joints` so many may be between digits. 0 < n. */
size_t weir_pii__digits_back(struct weir_slice t, size_t end, size_t n, const char *joints,
                             size_t max_joints);

/* Nothing before or after `at` makes a longer number of it. */
bool weir_pii__begins_number(struct weir_slice t, size_t at);
bool weir_pii__ends_number(struct weir_slice t, size_t at);

/* Where the earliest number, address or code may begin that no pattern has pointed at yet, in a
 * text that goes on; text.n: nowhere. `has_ids`: kinds of pii_ids.c are asked for too. */
size_t weir_pii__tail(struct weir_slice text, bool has_ids);

/* Is one of the words (lower case, NULL at the end) in the 32 bytes before `at`? */
bool weir_pii__is_after(struct weir_slice text, size_t at, const char *const *words);

#endif
