#ifndef WEIR_DETECT_CATALOG_H
#define WEIR_DETECT_CATALOG_H

#include "wire/json_write.h"

/*
 * What each built-in detector can find, a sentence each: what `GET /registry` shows. The names are
 * those that its parameters take, where it has such names, otherwise what findings are called.
 */

/* Writes {"name":"sentence",…} for a kind of detect/registry.h; {} for one it has no words for. */
void weir_catalog_write(struct weir_json_write *w, const char *kind);

#endif
