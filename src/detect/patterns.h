#ifndef WEIR_DETECT_PATTERNS_H
#define WEIR_DETECT_PATTERNS_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Many patterns, one pass: a compiled Vectorscan database that points at candidates. Patterns are
 * written loose (a prefix, the characters around an @) and say where a candidate ends; the caller
 * looks at the text there and decides.
 *
 * A set is const once made and shared by all threads; the memory a scan works in is each thread's
 * own and goes with the thread.
 */
struct weir_pattern {
    const char *expr;
    bool is_caseless;
    bool is_regex; /* else `expr` is taken literally */
};

struct weir_patterns;

/* As long as the process. The index of a pattern in the list is its id. NULL with the reason in
 * `why`. */
struct weir_patterns *weir_patterns_new(const struct weir_pattern *list, size_t n,
                                        struct weir_buf *why);

/* A pattern ends at `end_byte`: ends of one scan never go back. Not 0: stop. */
typedef int (*weir_patterns_match_fn)(void *ctx, unsigned id, size_t end_byte);

/* 0, what `on_match` stopped with, or WEIR_ELIMIT (a text of 4 GiB). */
int weir_patterns_scan(const struct weir_patterns *p, struct weir_slice text,
                       weir_patterns_match_fn on_match, void *ctx);

/*
 * The same for a text that comes in parts: ends count from the beginning of the first one, and a
 * pattern may begin in one part and end in another. What was found does not depend on the cuts; of
 * patterns that end at the same byte the order may.
 */
struct weir_patterns_stream;

struct weir_patterns_stream *weir_patterns_open(const struct weir_patterns *p);
void weir_patterns_close(struct weir_patterns_stream *stream); /* NULL is fine */

/* As if it had just been opened: ends count anew. */
void weir_patterns_restart(const struct weir_patterns *p, struct weir_patterns_stream *stream);

/* The next part. 0, or what `on_match` stopped with: then close. */
int weir_patterns_read(const struct weir_patterns *p, struct weir_patterns_stream *stream,
                       struct weir_slice part, weir_patterns_match_fn on_match, void *ctx);

/* The most bytes that a match of an expression (UTF-8, Unicode classes) can have; SIZE_MAX: no
 * limit, or the library does not know. */
size_t weir_patterns_width(struct weir_slice expr);

#endif
