#ifndef WEIR_DETECT_PEM_H
#define WEIR_DETECT_PEM_H

#include "base/slice.h"

#include <stddef.h>

/*
 * Private keys in armour, as text: from a BEGIN line to an END line.
 *
 *   -----BEGIN RSA PRIVATE KEY-----
 *   MIIEpAIBAAKCAQEA…
 *   -----END RSA PRIVATE KEY-----
 *
 * A text may have only a part of one. Offsets are bytes.
 */
enum {
    WEIR_PEM_MAX_BYTES = 65536, /* what is longer is cut there */
    WEIR_PEM_MAX_LINE = 64,     /* of a BEGIN or END line */
};

/* "RSA PRIVATE KEY-----" at `at`: one past it, or 0. */
size_t weir_pem_label_end(struct weir_slice text, size_t at);

/* One past the first END line of a private key that begins at `from` or later, or 0. */
size_t weir_pem_find_end(struct weir_slice text, size_t from);

/* The longest run of base64 in a text. */
size_t weir_pem_longest_run(struct weir_slice text);

/* Does a key go on with this, right behind its BEGIN line? */
enum weir_pem_sign {
    WEIR_PEM_NO,     /* it is something else: a text about keys */
    WEIR_PEM_UNSURE, /* nothing speaks against it, but there is too little of it */
    WEIR_PEM_YES,
};
enum weir_pem_sign weir_pem_goes_on(struct weir_slice text);

#endif
