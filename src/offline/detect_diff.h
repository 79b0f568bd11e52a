#ifndef WEIR_OFFLINE_DETECT_DIFF_H
#define WEIR_OFFLINE_DETECT_DIFF_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The lines that were added, out of what `git diff -U0` or `git log -p -U0` prints. Pure: bytes in,
 * a text per file out. Hunks are counted by their head, so a line of a file can never be taken for
 * the diff's own.
 *
 *   commit 1f0c…            the commits' format is "commit %H"; `git diff` has none
 *   +++ b/src/x.c
 *   @@ -3,0 +4,2 @@         two lines, the first of them is line 4 of the new file
 *   +first
 *   +second
 *
 * Hunks are parted by an empty line, so that nothing is found across them.
 */
struct weir_detect_diff_text {
    const char *path;   /* from the repository's root, slashes */
    const char *commit; /* or NULL */
    struct weir_buf text;
    uint64_t *lines; /* the number in the file of each line of `text` */
    size_t n_lines;
    bool is_too_large; /* more than 64 MiB were added: the text ends early */
};

/* May take `text` and `lines`, leaving zeros. */
typedef void (*weir_detect_diff_fn)(void *ctx, struct weir_detect_diff_text *text);

struct weir_detect_diff {
    weir_detect_diff_fn fn;
    void *ctx;
    struct weir_buf held; /* a line that came in pieces */
    struct weir_buf path;
    struct weir_buf commit;
    struct weir_detect_diff_text out;
    size_t cap_lines;
    uint64_t n_old; /* lines of the hunk still to come */
    uint64_t n_new;
    uint64_t line; /* of the next added one */
};

void weir_detect_diff_init(struct weir_detect_diff *d, weir_detect_diff_fn fn, void *ctx);
void weir_detect_diff_add(struct weir_detect_diff *d, struct weir_slice bytes);
void weir_detect_diff_end(struct weir_detect_diff *d);
void weir_detect_diff_dispose(struct weir_detect_diff *d);

#endif
