/*
 * The sub-command: what is to be looked at, from where, and what is said in the end.
 *
 *   walk (files) ─┐
 *   git  (lines) ─┼─► pool of threads ─► findings in order ─► standard output
 *   standard input┘
 *   records ─────────► one by one ─────► records ───────────► standard output
 */
#include "offline/detect.h"

#include "base/mem.h"
#include "offline/detect_git.h"
#include "offline/detect_ignore.h"
#include "offline/detect_options.h"
#include "offline/detect_pool.h"
#include "offline/detect_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum { EXIT_CLEAN = 0, EXIT_ERROR = 1, EXIT_FOUND = 2 };

struct detect {
    const struct weir_detect_options *options;
    struct weir_detect_picked picked;
    struct weir_detect_known known;
    struct weir_detect_shared shared;
    struct weir_detect_pool pool;
    struct weir_detect_ignore *ignore; /* of what git names: the root's .weirignore */
    size_t n_errors;                   /* beside the pool's */
};

static bool is_terminal(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) == 1 && term != NULL && strcmp(term, "dumb") != 0;
}

static bool wants_colour(void)
{
    const char *never = getenv("NO_COLOR");
    return is_terminal(STDOUT_FILENO) && (never == NULL || never[0] == '\0');
}

static void complain(struct detect *d, const char *what)
{
    fflush(stdout);
    fprintf(stderr, "weir detect: %s\n", what);
    d->n_errors++;
}

/* ---- files ---- */

static bool add_file(struct detect *d, const char *path, int fd, bool is_inside)
{
    struct weir_detect_job job = {.path = weir_mem_strdup(path), .fd = fd, .is_inside = is_inside};
    return weir_detect_pool_add(&d->pool, &job);
}

/* The walk closes its own descriptor. */
static bool on_file(void *ctx, const char *path, int fd, bool is_inside)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (own < 0) {
        struct weir_detect_job job = {
            .path = weir_mem_strdup(path), .fd = -1, .fault = weir_mem_strdup(strerror(errno))};
        return weir_detect_pool_add(&((struct detect *)ctx)->pool, &job);
    }
    return add_file(ctx, path, own, is_inside);
}

static void on_error(void *ctx, const char *path, const char *why)
{
    struct detect *d = ctx;
    struct weir_detect_job job = {
        .path = weir_mem_strdup(path), .fd = -1, .fault = weir_mem_strdup(why)};
    weir_detect_pool_add(&d->pool, &job);
}

static void search_files(struct detect *d)
{
    static const struct weir_detect_walk_events events = {.on_file = on_file, .on_error = on_error};
    const struct weir_detect_options *o = d->options;
    struct weir_detect_walk_options walk = {.ignores_nothing = o->no_ignore};
    bool goes_on = true;
    if (o->n_paths == 0) {
        add_file(d, "-", STDIN_FILENO, false);
    }
    for (size_t i = 0; i < o->n_paths && goes_on; i++) {
        goes_on = strcmp(o->paths[i], "-") == 0 ? add_file(d, "-", STDIN_FILENO, false)
                                                : weir_detect_walk(o->paths[i], &walk, &events, d);
    }
}

/* ---- what git has ---- */

/* A folder above that is left out leaves out the file. */
static bool is_left_out(const struct weir_detect_ignore *g, struct weir_slice path)
{
    for (size_t i = 0; i < path.n; i++) {
        if (path.p[i] == '/' && weir_detect_ignore_is(g, weir_slice_sub(path, 0, i), true)) {
            return true;
        }
    }
    return weir_detect_ignore_is(g, path, false);
}

static void on_text(void *ctx, struct weir_detect_diff_text *t)
{
    struct detect *d = ctx;
    if (is_left_out(d->ignore, weir_slice_cstr(t->path))) {
        return;
    }
    struct weir_detect_job job = {.path = weir_mem_strdup(t->path),
                                  .commit = t->commit != NULL ? weir_mem_strdup(t->commit) : NULL,
                                  .fd = -1,
                                  .is_inside = true,
                                  .text = t->text,
                                  .lines = t->lines,
                                  .n_lines = t->n_lines};
    weir_buf_init(&t->text, job.text.max);
    t->lines = NULL;
    if (t->is_too_large) {
        job.fault = weir_mem_strdup("more than 64 MiB were added");
    }
    weir_detect_pool_add(&d->pool, &job);
}

static void search_git(struct detect *d)
{
    const struct weir_detect_options *o = d->options;
    struct weir_detect_git git = {.since = o->since, .paths = o->paths, .n_paths = o->n_paths};
    struct weir_buf rules = {0};
    struct weir_buf why = {0};
    d->ignore = weir_mem_zalloc(sizeof *d->ignore);
    if (!o->no_ignore) {
        weir_detect_walk_rules(AT_FDCWD, ".weirignore", &rules);
        weir_detect_ignore_push(d->ignore, weir_buf_slice(&rules), 0);
    }
    if (weir_detect_git_run(&git, on_text, d, &why) != 0) {
        complain(d, weir_buf_cstr(&why));
    }
    weir_detect_ignore_dispose(d->ignore);
    free(d->ignore);
    weir_buf_dispose(&rules);
    weir_buf_dispose(&why);
}

/* ---- the end ---- */

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void summarise(const struct detect *d, const struct weir_detect_totals *t)
{
    if (d->options->format != WEIR_DETECT_TEXT) {
        return;
    }
    fprintf(stderr, "%zu finding%s in %zu of %zu file%s", t->n_found, plural(t->n_found),
            t->n_files_found, t->n_files, plural(t->n_files));
    if (t->n_errors != 0) {
        fprintf(stderr, "; %zu error%s", t->n_errors, plural(t->n_errors));
    }
    fputs("\n", stderr);
}

static void flush_output(struct detect *d)
{
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        struct weir_buf what = {0};
        weir_buf_printf(&what, "standard output: %s", strerror(errno));
        complain(d, weir_buf_cstr(&what));
        weir_buf_dispose(&what);
    }
}

static int run_search(struct detect *d)
{
    const struct weir_detect_options *o = d->options;
    bool is_on_terminal = is_terminal(STDOUT_FILENO);
    d->shared = (struct weir_detect_shared){
        .picked = &d->picked,
        .show = {.format = o->format,
                 .is_coloured = wants_colour(),
                 .is_redacted = o->has_redact ? o->redact : is_on_terminal},
        .known = o->baseline != NULL ? &d->known : NULL,
        .ignores_allow = o->no_allow,
    };
    unsigned n_jobs = o->jobs != 0 ? o->jobs : (unsigned)uv_available_parallelism();
    n_jobs = n_jobs < WEIR_DETECT_MAX_JOBS ? n_jobs : WEIR_DETECT_MAX_JOBS;
    if (weir_detect_pool_init(&d->pool, &d->shared, n_jobs) != 0) {
        complain(d, "out of file descriptors or threads");
        return EXIT_ERROR;
    }
    d->pool.has_progress = is_terminal(STDERR_FILENO) && o->n_paths != 0;
    fputs(weir_detect_show_head(o->format), stdout);
    if (o->staged || o->since != NULL) {
        search_git(d);
    } else {
        search_files(d);
    }
    weir_detect_pool_finish(&d->pool);
    fputs(weir_detect_show_tail(o->format), stdout);
    flush_output(d);
    struct weir_detect_totals totals = d->pool.totals;
    totals.n_errors += d->n_errors;
    summarise(d, &totals);
    if (totals.n_errors != 0) {
        return EXIT_ERROR;
    }
    return totals.n_found != 0 ? EXIT_FOUND : EXIT_CLEAN;
}

/* ---- records ---- */

static void run_records_of(struct detect *d, const char *path,
                           struct weir_detect_records_totals *totals)
{
    bool is_input = strcmp(path, "-") == 0;
    int fd = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || weir_detect_records_run(&d->options->records, &d->picked, fd, totals) != 0) {
        struct weir_buf what = {0};
        weir_detect_show_text(weir_slice_cstr(path), SIZE_MAX, &what);
        weir_buf_printf(&what, ": %s", strerror(errno));
        complain(d, weir_buf_cstr(&what));
        weir_buf_dispose(&what);
    }
    if (fd > STDIN_FILENO) {
        close(fd);
    }
}

static int run_records(struct detect *d)
{
    const struct weir_detect_options *o = d->options;
    struct weir_detect_records_totals totals = {0};
    if (o->n_paths == 0) {
        run_records_of(d, "-", &totals);
    }
    for (size_t i = 0; i < o->n_paths; i++) {
        run_records_of(d, o->paths[i], &totals);
    }
    flush_output(d);
    d->n_errors += totals.n_errors;
    if (is_terminal(STDERR_FILENO) || d->n_errors != 0) {
        fprintf(stderr, "%zu finding%s in %zu record%s", totals.n_found, plural(totals.n_found),
                totals.n_records, plural(totals.n_records));
        if (d->n_errors != 0) {
            fprintf(stderr, "; %zu error%s", d->n_errors, plural(d->n_errors));
        }
        fputs("\n", stderr);
    }
    return d->n_errors != 0 ? EXIT_ERROR : EXIT_CLEAN;
}

/* ---- */

static int detect(const struct weir_detect_options *o)
{
    struct detect *d = weir_mem_zalloc(sizeof *d);
    struct weir_buf why = {0};
    int status = EXIT_ERROR;
    d->options = o;
    if (weir_detect_pick_make(&o->pick, &d->picked, &why) != 0) {
        fputs(weir_buf_cstr(&why), stderr);
    } else if (o->baseline != NULL && weir_detect_known_load(&d->known, o->baseline, &why) != 0) {
        complain(d, weir_buf_cstr(&why));
    } else {
        signal(SIGPIPE, SIG_DFL); /* `weir detect . | head` ends as others do */
        status = o->is_jsonl ? run_records(d) : run_search(d);
    }
    weir_detect_known_dispose(&d->known);
    weir_detect_picked_dispose(&d->picked);
    weir_buf_dispose(&why);
    free(d);
    return status;
}

int weir_detect_run(const struct weir_args *args)
{
    struct weir_detect_options o;
    struct weir_buf why = {0};
    int status = EXIT_ERROR;
    if (weir_detect_options_parse(&o, args, &why) != 0) {
        fputs(weir_buf_cstr(&why), stderr);
    } else if (o.help != NULL) {
        fputs(o.help, stdout);
        status = EXIT_CLEAN;
    } else {
        status = detect(&o);
    }
    weir_buf_dispose(&why);
    weir_detect_options_dispose(&o);
    return status;
}
