#ifndef WEIR_OFFLINE_DETECT_GIT_H
#define WEIR_OFFLINE_DETECT_GIT_H

#include "offline/detect_diff.h"

/*
 * Asks git, by its own command in the present folder, for lines that were added: those that are
 * staged, or those of the commits since a revision. Merges have no lines of their own here.
 */
struct weir_detect_git {
    const char *since;        /* NULL: what is staged */
    const char *const *paths; /* as git's pathspecs; none: all */
    size_t n_paths;
};

/* 0, or WEIR_EIO with why in `why`: git is not there, or it failed (and said so on standard error).
 */
int weir_detect_git_run(const struct weir_detect_git *git, weir_detect_diff_fn fn, void *ctx,
                        struct weir_buf *why);

#endif
