#include "offline/detect_file.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, PEEK_BYTES = 8 * 1024, MAX_WHOLE_BYTES = 64 * 1024 * 1024 };

/* A job while it is looked at. */
struct look {
    struct weir_detect_lane *lane;
    struct weir_detect_job *job;
    struct weir_detect_read read;
    struct weir_buf whole;  /* where somebody judges documents */
    struct weir_buf before; /* the line that ends where the block begins */
    bool is_first;          /* nothing was read yet */
    bool is_complete;
};

int weir_detect_lane_init(struct weir_detect_lane *lane, const struct weir_detect_shared *shared)
{
    *lane = (struct weir_detect_lane){.shared = shared};
    int rc = weir_detect_scan_init(&lane->scan, shared->picked);
    if (rc == 0) {
        lane->bytes = weir_mem_alloc(READ_BYTES);
    }
    return rc;
}

void weir_detect_lane_dispose(struct weir_detect_lane *lane)
{
    if (lane->bytes != NULL) {
        weir_detect_scan_dispose(&lane->scan);
        free(lane->bytes);
        lane->bytes = NULL;
    }
}

void weir_detect_job_dispose(struct weir_detect_job *job)
{
    weir_buf_dispose(&job->text);
    weir_buf_dispose(&job->out);
    weir_buf_dispose(&job->err);
    free(job->path);
    free(job->commit);
    free(job->lines);
    free(job->fault);
    *job = (struct weir_detect_job){.fd = -1};
}

static void complain(struct weir_detect_job *job, const char *what)
{
    weir_buf_append(&job->err, WEIR_SLICE("weir detect: "));
    weir_detect_show_text(weir_slice_cstr(job->path), SIZE_MAX, &job->err);
    weir_buf_printf(&job->err, ": %s\n", what);
    job->n_errors++;
}

/* ---- weir:allow ---- */

static const struct weir_slice ALLOW = {"weir:allow", 10};
static const struct weir_slice NEXT = {"-next-line", 10};

/* Is `name` one of "a, b" in the parentheses that `s` begins with? Without any everything is. */
static bool is_named(struct weir_slice s, const struct weir_detection *d)
{
    if (s.n == 0 || s.p[0] != '(') {
        return true;
    }
    struct weir_slice names = weir_slice_sub(s, 1, weir_slice_find(s, ')'));
    while (names.p != NULL) {
        struct weir_slice name = weir_slice_trim(weir_slice_cut(&names, ','));
        if (weir_slice_eq(name, d->detection) || weir_slice_eq(name, d->detector_id) ||
            weir_slice_eq(name, d->detection_type)) {
            return true;
        }
    }
    return false;
}

static bool allows(struct weir_slice line, bool is_before, const struct weir_detection *d)
{
    const char *found;
    while (line.n != 0 && (found = memmem(line.p, line.n, ALLOW.p, ALLOW.n)) != NULL) {
        line = weir_slice_sub(line, (size_t)(found - line.p) + ALLOW.n, line.n);
        bool is_for_next = weir_slice_starts_with(line, NEXT);
        struct weir_slice rest = is_for_next ? weir_slice_sub(line, NEXT.n, line.n) : line;
        if (is_for_next == is_before && is_named(rest, d)) {
            return true;
        }
    }
    return false;
}

/* The line that ends before byte `end`, its line feed not included. */
static struct weir_slice line_before(struct weir_slice text, size_t end)
{
    size_t from = end;
    while (from != 0 && text.p[from - 1] != '\n') {
        from--;
    }
    return weir_slice_sub(text, from, end);
}

/* By its line, or by `weir:allow-next-line` in the line before. `at` is the byte of the block where
 * the finding begins. */
static bool is_allowed(const struct look *l, struct weir_slice text, size_t at,
                       const struct weir_detection *d)
{
    struct weir_slice start = line_before(text, at);
    struct weir_slice rest = weir_slice_sub(text, at, text.n);
    size_t from = at - start.n;
    struct weir_slice line = weir_slice_sub(text, from, at + weir_slice_find(rest, '\n'));
    struct weir_slice before = from != 0 ? line_before(text, from - 1) : weir_buf_slice(&l->before);
    return allows(line, false, d) || allows(before, true, d);
}

/* The block is done with; what its last line says may be about the next one's first. */
static void keep_last_line(struct look *l, const struct weir_detect_block *block)
{
    size_t end = block->answers_bytes;
    weir_buf_clear(&l->before);
    if (block->text.p[end - 1] == '\n') {
        weir_buf_append(&l->before, line_before(block->text, end - 1));
    }
}

/* ---- findings ---- */

static void show_one(struct look *l, const struct weir_detect_place *place,
                     const struct weir_detection *d)
{
    const struct weir_detect_shared *shared = l->lane->shared;
    struct weir_detect_job *job = l->job;
    char fingerprint[WEIR_DETECT_FINGERPRINT_CHARS + 1] = "";
    struct weir_detect_finding finding = {.path = weir_slice_cstr(job->path),
                                          .commit = job->commit,
                                          .place = *place,
                                          .has_offsets = job->lines == NULL,
                                          .detection = d,
                                          .fingerprint = fingerprint};
    if (shared->show.format != WEIR_DETECT_TEXT || shared->known != NULL) {
        weir_detect_fingerprint(finding.path, d, fingerprint);
    }
    if (shared->known != NULL && weir_detect_known_has(shared->known, fingerprint)) {
        job->is_known = true;
        return;
    }
    if (job->lines != NULL) {
        finding.place.line = job->lines[place->line - 1 < job->n_lines ? place->line - 1 : 0];
    }
    if (job->out.n != 0) {
        weir_buf_append(&job->out, weir_slice_cstr(weir_detect_show_comma(shared->show.format)));
    }
    weir_detect_show_finding(&shared->show, &finding, &job->out);
    job->n_found++;
}

/* What a scan found, and an end to its memory of it. */
static void show_found(struct look *l, struct weir_detect_place place, struct weir_slice text)
{
    struct weir_detect_scan *scan = &l->lane->scan;
    struct weir_slice rest = text;
    for (size_t i = 0; i < scan->n_found; i++) {
        const struct weir_detection *d = &scan->found[i];
        weir_detect_place_move(&place, &rest, d->start_cp - scan->passed_cp);
        scan->passed_cp = d->start_cp;
        if (l->lane->shared->ignores_allow || !is_allowed(l, text, text.n - rest.n, d)) {
            show_one(l, &place, d);
        }
    }
    weir_detect_scan_clear(scan);
    if (l->lane->on_part != NULL) {
        l->lane->on_part(l->lane->ctx, l->job);
    }
}

/* False: a detector could not do it; told. */
static bool scan_blocks(struct look *l)
{
    struct weir_detect_block block;
    while (weir_detect_read_next(&l->read, &block)) {
        const char *why = weir_detect_scan_block(&l->lane->scan, &block);
        show_found(l, block.place, block.text);
        keep_last_line(l, &block);
        weir_detect_read_pass(&l->read, &block);
        if (why != NULL) {
            complain(l->job, why);
            return false;
        }
    }
    return true;
}

static void scan_whole(struct look *l)
{
    struct weir_detect_read r;
    weir_buf_clear(&l->before);
    weir_detect_read_init(&r);
    weir_detect_read_add(&r, weir_buf_slice(&l->whole));
    weir_detect_read_end(&r);
    const char *why = weir_detect_scan_whole(&l->lane->scan, weir_buf_slice(&r.text));
    show_found(l, r.place, weir_buf_slice(&r.text));
    weir_detect_read_dispose(&r);
    if (why != NULL) {
        complain(l->job, why);
    }
}

/* ---- bytes ---- */

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

/* As git sees it, but for UTF-16 that says so. */
static bool is_binary(struct weir_slice bytes)
{
    size_t n = bytes.n < PEEK_BYTES ? bytes.n : PEEK_BYTES;
    return n != 0 && !weir_detect_read_is_utf16(bytes) && memchr(bytes.p, '\0', n) != NULL;
}

/* The next part of a job, scanned. False: that was the last, or an error. */
static bool scan_part(struct look *l, struct weir_slice bytes, bool is_end)
{
    struct weir_detect_job *job = l->job;
    if (l->is_first && job->is_inside && is_binary(bytes)) {
        job->is_file = false; /* nobody asked for this one by name */
        return false;
    }
    l->is_first = false;
    if (l->lane->shared->picked->has_wholes && weir_buf_append(&l->whole, bytes) != 0) {
        complain(job, "larger than 64 MiB, and a detector judges whole files");
        return false;
    }
    weir_detect_read_add(&l->read, bytes);
    if (is_end) {
        weir_detect_read_end(&l->read);
    }
    l->is_complete = scan_blocks(l) && is_end;
    return !is_end && job->n_errors == 0;
}

static void scan_fd(struct look *l)
{
    bool goes_on = true;
    while (goes_on) {
        ssize_t n = read_some(l->job->fd, l->lane->bytes, READ_BYTES);
        if (n < 0) {
            complain(l->job, strerror(errno));
            return;
        }
        goes_on = scan_part(l, weir_slice_make(l->lane->bytes, (size_t)n), n < READ_BYTES);
    }
}

void weir_detect_lane_run(struct weir_detect_lane *lane, struct weir_detect_job *job)
{
    struct look l = {.lane = lane, .job = job, .is_first = true};
    if (job->fault != NULL) {
        complain(job, job->fault);
        return;
    }
    weir_detect_read_init(&l.read);
    weir_buf_init(&l.whole, MAX_WHOLE_BYTES);
    weir_detect_scan_begin(&lane->scan);
    job->is_file = true;
    if (job->fd >= 0) {
        scan_fd(&l);
    } else {
        scan_part(&l, weir_buf_slice(&job->text), true);
    }
    if (l.is_complete && lane->shared->picked->has_wholes) {
        scan_whole(&l);
    }
    weir_buf_dispose(&l.whole);
    weir_buf_dispose(&l.before);
    weir_detect_read_dispose(&l.read);
}
