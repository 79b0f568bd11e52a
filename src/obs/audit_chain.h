#ifndef WEIR_OBS_AUDIT_CHAIN_H
#define WEIR_OBS_AUDIT_CHAIN_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Lines of an audit file, each sealed with the one before it:
 *
 *   {"time":…,"begins":"<end of the file before, or empty>","n":1,"chain":"c1"}    first of a file
 *   {"time":…,…,"n":2,"chain":"c2"}        c2 = HMAC-SHA256(key, c1 and the line up to its chain)
 *   {"time":…,…,"n":3,"chain":"c3"}
 *
 * Who changes, takes out or moves a line without the key breaks the chain there; who cuts the end
 * off changes what the next file must begin with. Without a key there are numbers only. Pure.
 */
enum { WEIR_AUDIT_HEX_BYTES = 64, WEIR_AUDIT_TEXT_HASH_BYTES = 32 };

struct weir_audit_chain {
    char last[WEIR_AUDIT_HEX_BYTES + 1]; /* of the last line; "": none */
    uint64_t n;                          /* its number */
};

/* Completes a line that is a JSON object without its closing brace: number, chain, line feed. */
void weir_audit_chain_seal(struct weir_audit_chain *c, struct weir_slice key,
                           struct weir_buf *line);

/* What a sealed line says. */
struct weir_audit_line {
    struct weir_slice body;   /* what its chain was made of */
    struct weir_slice chain;  /* empty: it has none */
    struct weir_slice begins; /* p NULL: it begins nothing */
    uint64_t n;
};

/* Without its line feed. False: it is not such a line. */
bool weir_audit_chain_read(struct weir_slice line, struct weir_audit_line *out);

/* Does the line follow `last`? */
bool weir_audit_chain_follows(const struct weir_audit_line *line, struct weir_slice last,
                              struct weir_slice key);

/* A keyed hash of what was matched, 32 hexadecimal digits and a NUL: equal texts can be counted
 * without being kept. */
void weir_audit_chain_hash_text(struct weir_slice key, struct weir_slice text,
                                char out[WEIR_AUDIT_TEXT_HASH_BYTES + 1]);

#endif
