/*
 * The sub-command: flags, which detectors, and the way of a file through them.
 *
 *   walk ─► file ─► read ─► block ─► every detector ─► findings, sorted ─► lines
 *                     └───► whole, where a detector judges documents ────► lines
 */
#include "app/detect.h"

#include "app/detect_pick.h"
#include "app/detect_read.h"
#include "app/detect_scan.h"
#include "app/detect_show.h"
#include "app/detect_walk.h"
#include "app/flags.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_CLEAN = 0, EXIT_ERROR = 1, EXIT_FOUND = 2 };
enum { READ_BYTES = 64 * 1024, PEEK_BYTES = 8 * 1024, MAX_WHOLE_BYTES = 64 * 1024 * 1024 };

struct options {
    struct weir_detect_pick pick;
    bool is_json;
    bool wants_help;
};

struct detect {
    struct weir_detect_picked picked;
    struct weir_detect_scan scan;
    struct weir_detect_show show;
    char *bytes; /* READ_BYTES */
    struct weir_buf lines;
    size_t n_files;
    size_t n_files_found;
    size_t n_found;
    size_t n_errors;
};

/* The file that is being read. */
struct file {
    const char *path;
    int fd;
    bool is_inside; /* found in a directory, not named */
    bool is_first;  /* nothing was read yet */
    bool is_complete;
    size_t n_errors; /* before it */
    struct weir_detect_read read;
    struct weir_buf whole; /* where somebody judges documents */
};

/* ---- flags ---- */

static bool on_detector(void *target, const char *value)
{
    struct options *o = target;
    return weir_detect_pick_add(&o->pick, value);
}

static const struct weir_flag FLAGS[] = {
    {.name = "detector",
     .kind = WEIR_FLAG_CALL,
     .call = on_detector,
     .expected = "a detector's id (at most 64 of them)",
     .group = "Flags",
     .value = "ID",
     .help = "only this one; may be given several times",
     .otherwise = "all that are built in and have what they need"},
    {.name = "config",
     .alias = "config-path",
     .env = "ORCHESTRATOR_CONFIG",
     .kind = WEIR_FLAG_TEXT,
     .offset = offsetof(struct options, pick.config_path),
     .group = "Flags",
     .value = "PATH",
     .help = "where the detectors are configured",
     .otherwise = "the built-in configuration"},
    {.name = "json",
     .kind = WEIR_FLAG_SWITCH,
     .offset = offsetof(struct options, is_json),
     .group = "Flags",
     .help = "a JSON object per finding and line"},
    {.name = "help",
     .letter = 'h',
     .kind = WEIR_FLAG_SWITCH,
     .offset = offsetof(struct options, wants_help),
     .group = "Flags",
     .help = "this text"},
};

static const char USAGE[] =
    "weir detect: runs the built-in detectors on texts\n"
    "\n"
    "Usage:\n"
    "  weir detect [FLAGS] [FILE|FOLDER]...   without any, or for -, standard input\n"
    "\n"
    "A line per finding: FILE:LINE:COLUMN: TYPE/DETECTION (DETECTOR, SCORE) TEXT. Folders are\n"
    "searched with all that is in them, but for binary files, links and version control.\n"
    "Exit status: 0 nothing found, 2 something found, 1 an error, unreadable files included.\n";

static void print_help(const struct weir_flags *f)
{
    struct weir_buf help = {0};
    weir_buf_append(&help, weir_slice_cstr(USAGE));
    weir_flags_help(f, &help);
    fputs(weir_buf_cstr(&help), stdout);
    weir_buf_dispose(&help);
}

/* Flags may stand between files, up to a `--`. The files, in order, are moved to the front of
 * `paths`. 0 or WEIR_EINVAL. */
static int parse_words(struct weir_flags *f, const struct weir_args *args, const char **paths,
                       size_t *n_paths)
{
    bool has_flags_ended = false;
    for (int at = 0; at < args->argc;) {
        int before = at;
        if (!has_flags_ended && weir_flags_parse(f, args->argc, args->argv, &at) != 0) {
            return WEIR_EINVAL;
        }
        has_flags_ended = has_flags_ended || (at > before && strcmp(args->argv[at - 1], "--") == 0);
        if (at < args->argc) {
            paths[(*n_paths)++] = args->argv[at++];
        }
    }
    return 0;
}

/* ---- findings ---- */

static void complain(struct detect *d, const char *path, const char *what)
{
    struct weir_buf shown = {0};
    weir_detect_show_text(weir_slice_cstr(path), SIZE_MAX, &shown);
    fflush(stdout);
    fprintf(stderr, "weir detect: %s: %s\n", weir_buf_cstr(&shown), what);
    weir_buf_dispose(&shown);
    d->n_errors++;
}

/* The lines of what a scan found, and an end to the scan's memory of it. */
static void show_found(struct detect *d, const char *path, struct weir_detect_place place,
                       struct weir_slice text)
{
    for (size_t i = 0; i < d->scan.n_found; i++) {
        const struct weir_detection *finding = &d->scan.found[i];
        weir_detect_place_move(&place, &text, finding->start_cp - d->scan.passed_cp);
        d->scan.passed_cp = finding->start_cp;
        weir_detect_show_finding(&d->show, path, &place, finding, &d->lines);
        if (d->lines.n >= READ_BYTES) {
            fwrite(d->lines.p, 1, d->lines.n, stdout);
            weir_buf_clear(&d->lines);
        }
    }
    d->n_found += d->scan.n_found;
    if (d->lines.n != 0) {
        fwrite(d->lines.p, 1, d->lines.n, stdout);
        weir_buf_clear(&d->lines);
    }
    weir_detect_scan_clear(&d->scan);
}

/* False: a detector could not do it; told. */
static bool scan_blocks(struct detect *d, const char *path, struct weir_detect_read *r)
{
    struct weir_detect_block block;
    while (weir_detect_read_next(r, &block)) {
        const char *why = weir_detect_scan_block(&d->scan, &block);
        show_found(d, path, block.place, block.text);
        weir_detect_read_pass(r, &block);
        if (why != NULL) {
            complain(d, path, why);
            return false;
        }
    }
    return true;
}

static void scan_whole(struct detect *d, const char *path, const struct weir_buf *bytes)
{
    struct weir_detect_read r;
    weir_detect_read_init(&r);
    weir_detect_read_add(&r, weir_buf_slice(bytes));
    weir_detect_read_end(&r);
    const char *why = weir_detect_scan_whole(&d->scan, weir_buf_slice(&r.text));
    show_found(d, path, r.place, weir_buf_slice(&r.text));
    weir_detect_read_dispose(&r);
    if (why != NULL) {
        complain(d, path, why);
    }
}

/* ---- files ---- */

/* As much as fits, or up to the end; -1 with errno. */
static ssize_t read_some(int fd, char *to, size_t n)
{
    size_t got = 0;
    while (got < n) {
        ssize_t rc = read(fd, to + got, n - got);
        if (rc < 0 && errno == EINTR) {
            continue;
        }
        if (rc < 0) {
            return -1;
        }
        if (rc == 0) {
            break;
        }
        got += (size_t)rc;
    }
    return (ssize_t)got;
}

/* As git sees it. */
static bool is_binary(struct weir_slice bytes)
{
    size_t n = bytes.n < PEEK_BYTES ? bytes.n : PEEK_BYTES;
    return n != 0 && memchr(bytes.p, '\0', n) != NULL;
}

/* The next part of a file, up to READ_BYTES, scanned. False: that was the last, or an error. */
static bool scan_part(struct detect *d, struct file *f)
{
    ssize_t n = read_some(f->fd, d->bytes, READ_BYTES);
    if (n < 0) {
        complain(d, f->path, strerror(errno));
        return false;
    }
    struct weir_slice bytes = weir_slice_make(d->bytes, (size_t)n);
    if (f->is_first && f->is_inside && is_binary(bytes)) {
        d->n_files--; /* nobody asked for this one by name */
        return false;
    }
    f->is_first = false;
    if (d->picked.has_wholes && weir_buf_append(&f->whole, bytes) != 0) {
        complain(d, f->path, "larger than 64 MiB, and a detector judges whole files");
        return false;
    }
    weir_detect_read_add(&f->read, bytes);
    bool is_end = bytes.n < READ_BYTES;
    if (is_end) {
        weir_detect_read_end(&f->read);
    }
    f->is_complete = scan_blocks(d, f->path, &f->read) && is_end;
    return !is_end && d->n_errors == f->n_errors;
}

static bool on_file(void *ctx, const char *path, int fd, bool is_inside)
{
    struct detect *d = ctx;
    struct file f = {
        .path = path, .fd = fd, .is_inside = is_inside, .is_first = true, .n_errors = d->n_errors};
    size_t n_before = d->n_found;
    weir_detect_read_init(&f.read);
    weir_buf_init(&f.whole, MAX_WHOLE_BYTES);
    weir_detect_scan_begin(&d->scan);
    d->n_files++;
    bool goes_on;
    do {
        goes_on = scan_part(d, &f);
    } while (goes_on);
    if (f.is_complete && d->picked.has_wholes) {
        scan_whole(d, path, &f.whole);
    }
    weir_buf_dispose(&f.whole);
    weir_detect_read_dispose(&f.read);
    d->n_files_found += d->n_found != n_before;
    return ferror(stdout) == 0;
}

static void on_error(void *ctx, const char *path, const char *why)
{
    complain(ctx, path, why);
}

static void search(struct detect *d, const char *const *paths, size_t n)
{
    static const struct weir_detect_walk_events events = {.on_file = on_file, .on_error = on_error};
    bool goes_on = true;
    if (n == 0) {
        on_file(d, "-", STDIN_FILENO, false);
    }
    for (size_t i = 0; i < n && goes_on; i++) {
        goes_on = strcmp(paths[i], "-") == 0 ? on_file(d, "-", STDIN_FILENO, false)
                                             : weir_detect_walk(paths[i], &events, d);
    }
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void summarise(struct detect *d)
{
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        complain(d, "standard output", strerror(errno));
    }
    if (d->show.is_json) {
        return;
    }
    fprintf(stderr, "%zu finding%s in %zu of %zu file%s", d->n_found, plural(d->n_found),
            d->n_files_found, d->n_files, plural(d->n_files));
    if (d->n_errors != 0) {
        fprintf(stderr, "; %zu error%s", d->n_errors, plural(d->n_errors));
    }
    fputs("\n", stderr);
}

/* ---- */

static bool wants_colour(void)
{
    const char *never = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && (never == NULL || never[0] == '\0') && term != NULL &&
           strcmp(term, "dumb") != 0;
}

static int detect(const struct options *o, const char *const *paths, size_t n_paths)
{
    struct detect d = {
        .show = {.is_json = o->is_json, .is_coloured = !o->is_json && wants_colour()}};
    struct weir_buf why = {0};
    int status = EXIT_ERROR;
    if (weir_detect_pick_make(&o->pick, &d.picked, &why) != 0) {
        fputs(weir_buf_cstr(&why), stderr);
    } else if (weir_detect_scan_init(&d.scan, &d.picked) != 0) {
        fputs("weir detect: out of file descriptors\n", stderr);
    } else {
        signal(SIGPIPE, SIG_DFL); /* `weir detect . | head` ends as others do */
        d.bytes = weir_mem_alloc(READ_BYTES);
        search(&d, paths, n_paths);
        summarise(&d);
        status = d.n_errors != 0 ? EXIT_ERROR : d.n_found != 0 ? EXIT_FOUND : EXIT_CLEAN;
        weir_detect_scan_dispose(&d.scan);
        weir_buf_dispose(&d.lines);
        free(d.bytes);
    }
    weir_detect_picked_dispose(&d.picked);
    weir_buf_dispose(&why);
    return status;
}

int weir_detect_run(const struct weir_args *args)
{
    struct weir_arena arena = {0};
    struct options o = {.pick = {.config_path = args->config_path}};
    struct weir_flags f = {
        .flags = FLAGS, .n = sizeof FLAGS / sizeof FLAGS[0], .target = &o, .arena = &arena};
    const char **paths = weir_arena_array(&arena, (size_t)args->argc + 1, sizeof *paths);
    size_t n_paths = 0;
    int status = EXIT_ERROR;
    bool has_path = args->config_path != NULL; /* `weir --config PATH detect` */
    if (parse_words(&f, args, paths, &n_paths) != 0 ||
        (!has_path && weir_flags_env(&f, weir_conf_env_process, NULL) != 0)) {
        fprintf(stderr, "weir detect: %s\nTry `weir detect --help`.\n", f.message);
    } else if (o.wants_help) {
        print_help(&f);
        status = EXIT_CLEAN;
    } else {
        status = detect(&o, paths, n_paths);
    }
    weir_arena_dispose(&arena);
    return status;
}
