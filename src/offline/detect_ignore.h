#ifndef WEIR_OFFLINE_DETECT_IGNORE_H
#define WEIR_OFFLINE_DETECT_IGNORE_H

#include "base/arena.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * What .gitignore and .weirignore say, by the rules of gitignore(5): a pattern per line, `#` for
 * comments, `!` takes a file in again, `/` at the end means folders only, a `/` elsewhere ties the
 * pattern to the file's own folder, `*` and `?` stop at `/`, `**` does not. The last rule that
 * matches decides, and rules of deeper folders come later. Pure: texts in, answers out.
 *
 *   push(rules of /)  push(rules of /src)  … is_ignored("src/x.o") …  pop
 */
struct weir_detect_ignore_rule {
    struct weir_slice pattern; /* without what the flags say */
    bool is_negative;
    bool is_of_folders;
    bool is_tied; /* to the folder of its file; otherwise any name below it may match */
};

struct weir_detect_ignore_level {
    struct weir_detect_ignore_rule *rules;
    size_t n;
    size_t n_folder; /* bytes of the path that lead to the folder, its '/' included */
};

enum { WEIR_DETECT_IGNORE_MAX_LEVELS = 300 };

struct weir_detect_ignore {
    struct weir_detect_ignore_level levels[WEIR_DETECT_IGNORE_MAX_LEVELS];
    size_t n;
};

/*
 * The rules of a folder: `text` is a file's content, `n_folder` the length of the paths' part that
 * leads to the folder. A level without rules costs nothing and is pushed all the same, so that a
 * pop fits each push. What is pushed is copied. The caller keeps within the number of levels.
 */
void weir_detect_ignore_push(struct weir_detect_ignore *g, struct weir_slice text, size_t n_folder);
void weir_detect_ignore_pop(struct weir_detect_ignore *g);
void weir_detect_ignore_dispose(struct weir_detect_ignore *g);

/* Is the file or folder left out? Folders above it are not asked about: whoever walks has not gone
 * into them. */
bool weir_detect_ignore_is(const struct weir_detect_ignore *g, struct weir_slice path,
                           bool is_folder);

/* Does a path match a pattern, whole? */
bool weir_detect_ignore_match(struct weir_slice pattern, struct weir_slice path);

#endif
