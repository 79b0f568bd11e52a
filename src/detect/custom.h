#ifndef WEIR_DETECT_CUSTOM_H
#define WEIR_DETECT_CUSTOM_H

#include "base/buf.h"
#include "base/slice.h"
#include "detect/found.h"
#include "detect/reader.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Patterns that callers write, in PCRE2's language, Unicode classes on. The caller is hostile: what
 * a pattern may be and what it may cost is limited, and a limit met is an error, never "no match".
 *
 *   the pattern   1 KiB, 16 KiB compiled, looks back 255 characters at most
 *   one start     a fixed number of backtracking steps, 16 KiB of text ahead
 *   one call      the caller's budget of processor time, looked at every 256 starts
 *
 * So the loop is never held up for longer than the budget and one such step.
 */
enum { WEIR_CUSTOM_MAX_BYTES = 1024 };

struct weir_custom;

/* NULL with the reason in `why`. The result is const, for any thread. */
struct weir_custom *weir_custom_new(struct weir_slice pattern, struct weir_buf *why);

/* What its findings are called from now on, instead of `custom-regex`: 1 to 64 letters, digits and
 * `_.:/ -`. 0, or WEIR_EINVAL with `why`. */
int weir_custom_set_name(struct weir_custom *c, struct weir_slice name, struct weir_buf *why);
void weir_custom_free(struct weir_custom *c);

/* `*budget_us` goes down by what was used. 0, or WEIR_ELIMIT with a static `why`. Empty matches do
 * not count. */
int weir_custom_scan(const struct weir_custom *c, struct weir_slice text, int64_t *budget_us,
                     struct weir_found *found, const char **why);

/* Is its greatest width known and small, so that it can read along with a text that is still being
 * written? */
bool weir_custom_can_read(const struct weir_custom *c);

/* All matches so far that more text cannot change (detect/reader.h). `*at_byte` is where it goes
 * on, 0 at first; out->low_byte is lowered to where a match may have begun. 0, or WEIR_ELIMIT. */
int weir_custom_read(const struct weir_custom *c, const struct weir_reader_text *t, size_t *at_byte,
                     struct weir_reader_out *out);

/*
 * The language of JSON Schema's patterns, nearly: what \d and \w mean is ASCII, $ is the very end,
 * \u0041 is a letter. Only for weir_custom_test.
 */
struct weir_custom *weir_custom_new_ecma(struct weir_slice pattern, struct weir_buf *why);

/* Does it match anywhere? Off the loop: whole texts at once, larger limits, one tester per thread.
 */
struct weir_custom_tester;

struct weir_custom_tester *weir_custom_tester_new(int64_t budget_us);
void weir_custom_tester_free(struct weir_custom_tester *t);

/* 1, 0, or WEIR_ELIMIT with a static `why`. */
int weir_custom_test(struct weir_custom_tester *t, const struct weir_custom *c,
                     struct weir_slice text, const char **why);

#endif
