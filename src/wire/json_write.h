#ifndef WEIR_WIRE_JSON_WRITE_H
#define WEIR_WIRE_JSON_WRITE_H

#include "base/buf.h"
#include "base/slice.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Writes one compact JSON value at the end of a buffer, commas by itself, and allocates nothing
 * but the buffer's growth.
 *
 *   weir_json_write_init(&w, &out);
 *   weir_json_write_begin_object(&w);
 *   weir_json_write_key(&w, WEIR_SLICE("score"));
 *   weir_json_write_f64(&w, 0.97);
 *   weir_json_write_end_object(&w);
 *   int rc = weir_json_write_finish(&w);
 *
 * The first error (the buffer's ceiling) sticks, everything after it does nothing, and finish
 * returns it. Values out of order (two without a key between, a bracket too many) are a programming
 * error and asserted. Strings and keys must be UTF-8; a key written twice is not noticed.
 */
struct weir_json_write {
    struct weir_buf *out;
    size_t n_before;    /* of out, where the value begins */
    uint64_t is_object; /* one bit per open container, outermost lowest; 64 are remembered */
    uint32_t depth;
    int rc;
    bool is_empty;  /* the open container has no item yet */
    bool after_key; /* a value must come */
};

void weir_json_write_init(struct weir_json_write *w, struct weir_buf *out);

/* 0 or WEIR_ELIMIT, and then `out` is as it was before. The value must be whole. */
int weir_json_write_finish(struct weir_json_write *w);

void weir_json_write_begin_object(struct weir_json_write *w);
void weir_json_write_end_object(struct weir_json_write *w);
void weir_json_write_begin_array(struct weir_json_write *w);
void weir_json_write_end_array(struct weir_json_write *w);
void weir_json_write_key(struct weir_json_write *w, struct weir_slice name);

/* The same for a name as it stands in a document, quotes and escapes included. */
void weir_json_write_key_raw(struct weir_json_write *w, struct weir_slice quoted);

/* Quotes, backslashes and control characters are escaped, nothing else. */
void weir_json_write_string(struct weir_json_write *w, struct weir_slice s);
void weir_json_write_i64(struct weir_json_write *w, int64_t v);
void weir_json_write_u64(struct weir_json_write *w, uint64_t v);
void weir_json_write_bool(struct weir_json_write *w, bool v);
void weir_json_write_null(struct weir_json_write *w);

/* The shortest spelling that reads back as the same number: 0.1, 1.0, -0.0, 1e300. Never NaN or
 * infinite. */
void weir_json_write_f64(struct weir_json_write *w, double v);

/* Bytes that are one JSON value already, as they are. */
void weir_json_write_raw(struct weir_json_write *w, struct weir_slice json);
/* Members with their names, commas between them, as they stand. */
void weir_json_write_raw_members(struct weir_json_write *w, struct weir_slice members);

/* A value out of a document: every token as spelled there, the white space between them dropped,
 * so the result fits on one line. */
void weir_json_write_node(struct weir_json_write *w, const struct weir_json *j, uint32_t at);

/* Just the string with its quotes, without a writer. 0 or WEIR_ELIMIT, then nothing is appended. */
int weir_json_write_quoted(struct weir_buf *out, struct weir_slice s);

#endif
