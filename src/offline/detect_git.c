#include "offline/detect_git.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, MAX_FIXED_WORDS = 24 };

/* Whatever a user's configuration says, the output has one form. */
static const char *const COMMON[] = {
    "-U0",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--diff-filter=d",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
};

static char **make_words(const struct weir_detect_git *git, char *range)
{
    char **words = weir_mem_array(MAX_FIXED_WORDS + git->n_paths + 1, sizeof *words);
    size_t n = 0;
    words[n++] = (char *)"git";
    if (git->since == NULL) {
        words[n++] = (char *)"diff";
        words[n++] = (char *)"--cached";
    } else {
        words[n++] = (char *)"log";
        words[n++] = (char *)"-p";
        words[n++] = (char *)"--reverse";
        words[n++] = (char *)"--no-notes";
        words[n++] = (char *)"--format=tformat:commit %H";
    }
    for (size_t i = 0; i < sizeof COMMON / sizeof COMMON[0]; i++) {
        words[n++] = (char *)COMMON[i];
    }
    if (git->since != NULL) {
        words[n++] = range;
    }
    words[n++] = (char *)"--";
    for (size_t i = 0; i < git->n_paths; i++) {
        words[n++] = (char *)git->paths[i];
    }
    return words;
}

/* The child's standard output; -1 with errno. */
static int spawn(char **words, pid_t *pid)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return -1;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    int rc = posix_spawnp(pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (rc != 0) {
        close(ends[0]);
        errno = rc;
        return -1;
    }
    return ends[0];
}

/* True: everything was read. */
static bool read_all(int fd, struct weir_detect_diff *diff)
{
    char *bytes = weir_mem_alloc(READ_BYTES);
    ssize_t n;
    do {
        n = read(fd, bytes, READ_BYTES);
        if (n > 0) {
            weir_detect_diff_add(diff, weir_slice_make(bytes, (size_t)n));
        }
    } while (n > 0 || (n < 0 && errno == EINTR));
    free(bytes);
    return n == 0;
}

static bool ended_well(pid_t pid)
{
    int status = 0;
    pid_t got;
    do {
        got = waitpid(pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    return got == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int weir_detect_git_run(const struct weir_detect_git *git, weir_detect_diff_fn fn, void *ctx,
                        struct weir_buf *why)
{
    struct weir_buf range = {0};
    pid_t pid;
    if (git->since != NULL) {
        if (git->since[0] == '-') {
            weir_buf_printf(why, "--since: `%.60s` is no revision", git->since);
            return WEIR_EIO;
        }
        weir_buf_printf(&range, "%s..HEAD", git->since);
    }
    char **words = make_words(git, (char *)weir_buf_cstr(&range));
    int fd = spawn(words, &pid);
    int rc = WEIR_EIO;
    if (fd < 0) {
        weir_buf_printf(why, "cannot run git: %s", strerror(errno));
    } else {
        struct weir_detect_diff diff;
        weir_detect_diff_init(&diff, fn, ctx);
        bool is_read = read_all(fd, &diff);
        close(fd);
        bool is_well = ended_well(pid);
        if (is_read && is_well) {
            weir_detect_diff_end(&diff);
            rc = 0;
        } else {
            weir_buf_printf(why, "git failed");
        }
        weir_detect_diff_dispose(&diff);
    }
    free(words);
    weir_buf_dispose(&range);
    return rc;
}
