#ifndef WEIR_APP_VERSION_H
#define WEIR_APP_VERSION_H

#include "base/buf.h"

/*
 * What `weir --version` prints, for a report of a fault:
 *
 *   weir 0.1.0 (1295da6a0f3c)
 *   c-ares 1.18.1, ICU 72.1, libuv 1.44.2, …
 *
 * The commit is that of the sources, with `+changes` where files differed from it, and left out
 * where the build could not know it. The libraries' versions are those of the ones in use, which
 * need not be the ones that were built with.
 */
void weir_version_write(struct weir_buf *out);

#endif
