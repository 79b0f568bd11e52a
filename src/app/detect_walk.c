#include "app/detect_walk.h"

#include "base/buf.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory holds a descriptor open while what is in it is visited. */
enum { MAX_DEPTH = 256 };

struct walk {
    const struct weir_detect_walk_events *events;
    void *ctx;
    struct weir_buf path; /* of what is being visited */
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

static bool visit_names(struct walk *w, int fd, struct names *names, unsigned depth)
{
    bool goes_on = true;
    for (size_t i = 0; i < names->n; i++) {
        size_t n_path = w->path.n;
        if (w->path.p[n_path - 1] != '/') {
            weir_buf_append_byte(&w->path, '/');
        }
        weir_buf_append(&w->path, weir_slice_cstr(names->list[i]));
        goes_on = goes_on && visit(w, fd, names->list[i], depth + 1);
        w->path.n = n_path;
        free(names->list[i]);
    }
    free(names->list);
    return goes_on;
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
    bool goes_on = visit_names(w, dirfd(dir), &names, depth);
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
    return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
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

bool weir_detect_walk(const char *path, const struct weir_detect_walk_events *events, void *ctx)
{
    struct walk w = {.events = events, .ctx = ctx};
    weir_buf_append(&w.path, weir_slice_cstr(path));
    bool goes_on = visit(&w, AT_FDCWD, path, 0);
    weir_buf_dispose(&w.path);
    return goes_on;
}
