#include "offline/detect_walk.h"

#include "base/mem.h"
#include "offline/detect_ignore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory holds a descriptor open while what is in it is visited. */
enum { MAX_DEPTH = 256, MAX_RULES_BYTES = 1024 * 1024 };
/* Folders above the given one whose rules are looked for. */
enum { MAX_ABOVE = WEIR_DETECT_IGNORE_MAX_LEVELS - MAX_DEPTH };

struct walk {
    const struct weir_detect_walk_events *events;
    void *ctx;
    struct weir_buf path; /* of what is being visited */
    struct weir_buf real; /* the same from the root of the file system, for the rules */
    struct weir_detect_ignore ignore;
    bool ignores_nothing;
};

struct names {
    char **list;
    size_t n;
    size_t cap;
};

static bool visit(struct walk *w, int parent, const char *name, unsigned depth);

static const char *path_of(struct walk *w)
{
    return weir_buf_cstr(&w->path);
}

static bool is_left_out(const char *name)
{
    static const char *const left_out[] = {".",    "..",  ".git",   ".hg", ".svn",
                                           ".bzr", ".jj", "_darcs", "CVS"};
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++) {
        if (strcmp(name, left_out[i]) == 0) {
            return true;
        }
    }
    return false;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_name(struct names *names, const char *name)
{
    if (names->n == names->cap) {
        names->cap = names->cap != 0 ? names->cap * 2 : 64;
        names->list = weir_mem_realloc(names->list, names->cap * sizeof *names->list);
    }
    names->list[names->n++] = weir_mem_strdup(name);
}

/* All names, sorted; 0 or an errno value. */
static int read_names(DIR *dir, struct names *names)
{
    const struct dirent *entry;
    errno = 0;
    while ((entry = readdir(dir)) != NULL) {
        if (!is_left_out(entry->d_name)) {
            add_name(names, entry->d_name);
        }
        errno = 0;
    }
    int err = errno;
    if (names->n != 0) {
        qsort(names->list, names->n, sizeof *names->list, compare);
    }
    return err;
}

static void append_name(struct weir_buf *path, const char *name)
{
    if (path->n == 0 || path->p[path->n - 1] != '/') {
        weir_buf_append_byte(path, '/');
    }
    weir_buf_append(path, weir_slice_cstr(name));
}

static bool visit_names(struct walk *w, int fd, struct names *names, unsigned depth)
{
    bool goes_on = true;
    for (size_t i = 0; i < names->n; i++) {
        size_t n_path = w->path.n;
        size_t n_real = w->real.n;
        append_name(&w->path, names->list[i]);
        append_name(&w->real, names->list[i]);
        goes_on = goes_on && visit(w, fd, names->list[i], depth + 1);
        w->path.n = n_path;
        w->real.n = n_real;
        free(names->list[i]);
    }
    free(names->list);
    return goes_on;
}

/* ---- rules ---- */

void weir_detect_walk_rules(int folder, const char *name, struct weir_buf *out)
{
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > MAX_RULES_BYTES) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    char bytes[4096];
    ssize_t n;
    while ((n = read(fd, bytes, sizeof bytes)) > 0 && out->n < 2 * MAX_RULES_BYTES) {
        weir_buf_append(out, weir_slice_make(bytes, (size_t)n));
    }
    weir_buf_append_byte(out, '\n');
    close(fd);
}

/* `n_real` bytes of the real path lead to the folder. */
static void push_rules(struct walk *w, int folder, size_t n_real, bool is_root)
{
    struct weir_buf text = {0};
    if (!w->ignores_nothing) {
        if (is_root) {
            weir_detect_walk_rules(folder, ".git/info/exclude", &text);
        }
        weir_detect_walk_rules(folder, ".gitignore", &text);
        weir_detect_walk_rules(folder, ".weirignore", &text);
    }
    weir_detect_ignore_push(&w->ignore, weir_buf_slice(&text), n_real);
    weir_buf_dispose(&text);
}

static bool has_git(int folder)
{
    struct stat st;
    return fstatat(folder, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The folder above `*end` bytes of the real path, opened; `*end` is then its length without the
 * '/' that follows. -1: there is none. */
static int open_above(struct walk *w, size_t *end)
{
    size_t at = *end;
    while (at != 0 && w->real.p[at - 1] != '/') {
        at--;
    }
    if (at == 0 || *end <= 1) {
        return -1;
    }
    *end = at - 1;
    char *path = weir_mem_dup(w->real.p, at);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(path);
    return fd;
}

/* Rules of the folders above a given one, the outermost first; none outside of a repository. */
static void push_rules_above(struct walk *w, int folder)
{
    int fds[MAX_ABOVE - 1];
    size_t ends[MAX_ABOVE - 1];
    size_t n = 0;
    size_t end = w->real.n;
    bool has_root = has_git(folder);
    while (!has_root && n < MAX_ABOVE - 1 && (fds[n] = open_above(w, &end)) >= 0) {
        ends[n] = end;
        has_root = has_git(fds[n]);
        n++;
    }
    for (size_t i = n; i != 0; i--) {
        if (has_root && !w->ignores_nothing) {
            push_rules(w, fds[i - 1], ends[i - 1] + 1, i == n);
        }
        close(fds[i - 1]);
    }
}

/* Takes the descriptor. */
static bool visit_directory(struct walk *w, int fd, unsigned depth)
{
    DIR *dir = depth < MAX_DEPTH ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        const char *why = depth < MAX_DEPTH ? strerror(errno) : "more than 256 folders deep";
        w->events->on_error(w->ctx, path_of(w), why);
        close(fd);
        return true;
    }
    struct names names = {0};
    int err = read_names(dir, &names);
    if (err != 0) {
        w->events->on_error(w->ctx, path_of(w), strerror(err));
    }
    if (depth == 0) {
        push_rules_above(w, fd);
    }
    bool is_at_root = w->real.n == 1; /* "/" itself */
    push_rules(w, fd, w->real.n + (is_at_root ? 0 : 1), depth == 0 && has_git(fd));
    bool goes_on = visit_names(w, dirfd(dir), &names, depth);
    weir_detect_ignore_pop(&w->ignore);
    closedir(dir);
    return goes_on;
}

/* Is there something to open? In a directory, only files and directories. A given path is opened
 * whatever it is, and waits for a pipe's other end. */
static bool is_wanted(struct walk *w, int parent, const char *name, unsigned depth)
{
    struct stat st;
    if (depth == 0) {
        return true;
    }
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        w->events->on_error(w->ctx, path_of(w), strerror(errno));
        return false;
    }
    return (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) &&
           !weir_detect_ignore_is(&w->ignore, weir_buf_slice(&w->real), S_ISDIR(st.st_mode));
}

static bool visit(struct walk *w, int parent, const char *name, unsigned depth)
{
    struct stat st;
    if (!is_wanted(w, parent, name, depth)) {
        return true;
    }
    /* Between the look and the opening it may have become a pipe or a link: do not wait for it. */
    int flags = depth != 0 ? O_NOFOLLOW | O_NONBLOCK : 0;
    int fd = openat(parent, name, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0 || fstat(fd, &st) != 0) {
        w->events->on_error(w->ctx, path_of(w), strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return true;
    }
    if (S_ISDIR(st.st_mode)) {
        return visit_directory(w, fd, depth);
    }
    bool is_inside = depth != 0;
    bool goes_on = is_inside && !S_ISREG(st.st_mode)
                       ? true
                       : w->events->on_file(w->ctx, path_of(w), fd, is_inside);
    close(fd);
    return goes_on;
}

bool weir_detect_walk(const char *path, const struct weir_detect_walk_options *options,
                      const struct weir_detect_walk_events *events, void *ctx)
{
    struct walk *w = weir_mem_zalloc(sizeof *w);
    w->events = events;
    w->ctx = ctx;
    w->ignores_nothing = options->ignores_nothing;
    weir_buf_append(&w->path, weir_slice_cstr(path));
    char *real = realpath(path, NULL);
    weir_buf_append(&w->real, weir_slice_cstr(real != NULL ? real : path));
    free(real);
    bool goes_on = visit(w, AT_FDCWD, path, 0);
    weir_detect_ignore_dispose(&w->ignore);
    weir_buf_dispose(&w->path);
    weir_buf_dispose(&w->real);
    free(w);
    return goes_on;
}
