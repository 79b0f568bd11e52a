#ifndef WEIR_DETECT_PII_INT_H
#define WEIR_DETECT_PII_INT_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The validators behind detect/pii.h. Each gets the place where a pattern ended and looks no
 * further back than `floor`, where the last look of this kind ended, or a fixed number of bytes.
 */
struct weir_pii_look {
    struct weir_slice text;
    size_t end;   /* of the candidate */
    size_t floor; /* everything before it has been judged */
    size_t seen;  /* out: judged up to here; the caller skips candidates that end before */
    size_t from;  /* out: the finding */
    size_t to;
};

bool weir_pii__email(struct weir_pii_look *l);
bool weir_pii__ipv4(struct weir_pii_look *l);
bool weir_pii__ipv6(struct weir_pii_look *l);
bool weir_pii__card(struct weir_pii_look *l);
bool weir_pii__iban(struct weir_pii_look *l);
bool weir_pii__phone(struct weir_pii_look *l);
bool weir_pii__ssn(struct weir_pii_look *l);
bool weir_pii__post_code(struct weir_pii_look *l);

/* Is one of the words (lower case, NULL at the end) in the 32 bytes before `at`? */
bool weir_pii__is_after(struct weir_slice text, size_t at, const char *const *words);

#endif
