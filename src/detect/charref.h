#ifndef WEIR_DETECT_CHARREF_H
#define WEIR_DETECT_CHARREF_H

#include "base/slice.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Character references of HTML: &#73; &#x49; with or without the semicolon, and the names of ASCII
 * characters and of some that nobody sees. Other names are not read: no word or host is made of
 * them.
 *
 * Returns one past the reference that begins with the & at `at`, or `at` when there is none.
 */
size_t weir_charref_read(struct weir_slice s, size_t at, uint32_t *cp);

#endif
