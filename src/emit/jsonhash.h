#ifndef WEIR_EMIT_JSONHASH_H
#define WEIR_EMIT_JSONHASH_H

#include "base/buf.h"
#include "wire/json.h"

#include <stdint.h>

/*
 * A 64-bit hash of a JSON value that agrees with weir_json_equal: equal values hash equal, whatever
 * their member order, escapes and number spelling. Keyed per process like weir_map_hash. Good
 * enough to count with and to find candidates by; where something would be dropped, compare.
 *
 * `scratch` is emptied and used to unescape strings.
 */
uint64_t weir_jsonhash(const struct weir_json *j, uint32_t at, struct weir_buf *scratch);

/* Of a text that grows by pieces: start with 0; the same text in other pieces hashes the same. */
uint64_t weir_jsonhash_extend(uint64_t hash, struct weir_slice text);

#endif
