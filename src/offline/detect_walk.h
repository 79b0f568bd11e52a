#ifndef WEIR_OFFLINE_DETECT_WALK_H
#define WEIR_OFFLINE_DETECT_WALK_H

#include "base/buf.h"

#include <stdbool.h>

/*
 * The files under a path. A directory's entries come in the order of their bytes, directories
 * among the files; in it, symbolic links are not followed (so there are no loops), and the folders
 * of version control and what is neither file nor directory are left out. A path that is given
 * may be anything that can be opened and read: a link, a pipe.
 *
 * What .gitignore and .weirignore of a folder, or of those above it up to the repository's root,
 * leave out is left out, and what .git/info/exclude does; not what is given.
 */
struct weir_detect_walk_events {
    /* An open file, closed after the call; `is_inside`: found in a directory. False: stop. */
    bool (*on_file)(void *ctx, const char *path, int fd, bool is_inside);
    /* What could not be opened or read, and why. */
    void (*on_error)(void *ctx, const char *path, const char *why);
};

struct weir_detect_walk_options {
    bool ignores_nothing; /* files with rules are not read */
};

/* False: on_file wanted no more. */
bool weir_detect_walk(const char *path, const struct weir_detect_walk_options *options,
                      const struct weir_detect_walk_events *events, void *ctx);

/* Appends the file `name` of a folder to `out`; nothing if it is none, or larger than 1 MiB. */
void weir_detect_walk_rules(int folder, const char *name, struct weir_buf *out);

#endif
