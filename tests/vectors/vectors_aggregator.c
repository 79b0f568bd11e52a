/*
 * Runs aggregator vectors: vectors_aggregator FILE
 *
 * A vector is a sequence of input events and the batches (or the error) that must have left after
 * each of them. Every vector that does not hold is printed with its id and the first difference;
 * the last line is `N passed, M failed`. Exit status 0 only when some passed and none failed.
 *
 * The vectors have no text: `white` says which code points are white space, and as much text has
 * arrived as verdicts speak of until `source_end` tells the length.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "task/gather.h"
#include "wire/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
    size_t start_cp;
    size_t end_cp;
};

/* One vector while it runs. */
struct run {
    const struct weir_json *j;
    struct weir_arena *arena;
    struct weir_slice *ids;
    size_t n_ids;
    struct range *white; /* in order, joined */
    size_t n_white;
    struct weir_gather *gather;
    bool source_has_ended;
    uint32_t expect;   /* the array */
    uint32_t expected; /* its next element that has not happened yet, or NONE */
    char *problem;     /* NULL: none so far */
};

static bool complain(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool complain(struct run *r, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->problem = weir_arena_printf(r->arena, "%s", text);
    return false;
}

static bool get_offset(struct run *r, uint32_t object, const char *name, size_t *out)
{
    uint64_t value;
    uint32_t at = weir_json_get(r->j, object, weir_slice_cstr(name));
    if (at == WEIR_JSON_NONE || weir_json_u64(r->j, at, &value) != 0 || value > SIZE_MAX / 2) {
        return complain(r, "malformed vector: `%s` must be an offset", name);
    }
    *out = (size_t)value;
    return true;
}

static bool has(const struct run *r, uint32_t object, const char *name)
{
    return weir_json_get(r->j, object, weir_slice_cstr(name)) != WEIR_JSON_NONE;
}

static struct weir_slice get_string(const struct run *r, uint32_t object, const char *name)
{
    uint32_t at = weir_json_get(r->j, object, weir_slice_cstr(name));
    if (at == WEIR_JSON_NONE || weir_json_type(r->j, at) != WEIR_JSON_STRING) {
        return (struct weir_slice){0};
    }
    return weir_json_string(r->j, at, r->arena);
}

/* The array called `name`, or NONE with *n = 0 when there is none. */
static uint32_t get_array(const struct run *r, uint32_t object, const char *name, size_t *n)
{
    uint32_t at = weir_json_get(r->j, object, weir_slice_cstr(name));
    bool is_array = at != WEIR_JSON_NONE && weir_json_type(r->j, at) == WEIR_JSON_ARRAY;
    *n = is_array ? r->j->nodes[at].n : 0;
    return is_array ? at : WEIR_JSON_NONE;
}

static uint32_t first_of(const struct run *r, uint32_t array)
{
    return array == WEIR_JSON_NONE ? WEIR_JSON_NONE : weir_json_first(r->j, array);
}

static bool find_detector(struct run *r, uint32_t event, const char *name, size_t *index)
{
    struct weir_slice id = get_string(r, event, name);
    for (size_t i = 0; i < r->n_ids; i++) {
        if (weir_slice_eq(r->ids[i], id)) {
            *index = i;
            return true;
        }
    }
    return complain(r, "malformed vector: unknown detector `%.*s`", (int)id.n, id.p);
}

static bool read_findings(struct run *r, uint32_t event, struct weir_gather_verdict *v)
{
    uint32_t array = get_array(r, event, "detections", &v->n_findings);
    struct weir_detection *d = weir_arena_array(r->arena, v->n_findings + 1, sizeof *d);
    v->findings = d;
    for (uint32_t at = first_of(r, array); at != WEIR_JSON_NONE;
         at = weir_json_after(r->j, array, at), d++) {
        d->detection = get_string(r, at, "detection");
        d->has_span = has(r, at, "start");
        if (d->has_span &&
            (!get_offset(r, at, "start", &d->start_cp) || !get_offset(r, at, "end", &d->end_cp))) {
            return false;
        }
    }
    return true;
}

static size_t arrived_cp(void *ctx)
{
    (void)ctx;
    return SIZE_MAX;
}

static bool is_white(void *ctx, size_t start_cp, size_t end_cp)
{
    const struct run *r = ctx;
    for (size_t i = 0; i < r->n_white; i++) {
        if (r->white[i].start_cp <= start_cp && end_cp <= r->white[i].end_cp) {
            return true;
        }
    }
    return false;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct range *a = left;
    const struct range *b = right;
    return (a->start_cp > b->start_cp) - (a->start_cp < b->start_cp);
}

static bool read_white(struct run *r, uint32_t vector)
{
    size_t n;
    uint32_t array = get_array(r, vector, "white", &n);
    r->white = weir_arena_array(r->arena, n + 1, sizeof *r->white);
    size_t i = 0;
    for (uint32_t at = first_of(r, array); at != WEIR_JSON_NONE;
         at = weir_json_after(r->j, array, at), i++) {
        uint64_t start;
        uint64_t end;
        bool is_pair = weir_json_type(r->j, at) == WEIR_JSON_ARRAY && r->j->nodes[at].n == 2;
        if (!is_pair || weir_json_u64(r->j, at + 1, &start) != 0 ||
            weir_json_u64(r->j, at + 2, &end) != 0) {
            return complain(r, "malformed vector: `white` must hold pairs of offsets");
        }
        r->white[i] = (struct range){(size_t)start, (size_t)end};
    }
    qsort(r->white, n, sizeof *r->white, compare_ranges);
    for (i = 0; i < n; i++) { /* ranges that touch are one */
        struct range *last = &r->white[r->n_white == 0 ? 0 : r->n_white - 1];
        if (r->n_white != 0 && r->white[i].start_cp <= last->end_cp) {
            last->end_cp = r->white[i].end_cp > last->end_cp ? r->white[i].end_cp : last->end_cp;
        } else {
            r->white[r->n_white++] = r->white[i];
        }
    }
    return true;
}

static void print_findings(struct weir_buf *out, const struct weir_gather_batch *b)
{
    for (size_t i = 0; i < b->n_findings; i++) {
        const struct weir_detection *d = b->findings[i];
        weir_buf_printf(out, "%s%.*s %.*s", i == 0 ? "" : ", ", (int)d->detector_id.n,
                        d->detector_id.p, (int)d->detection.n, d->detection.p);
        if (d->has_span) {
            weir_buf_printf(out, " [%zu,%zu)", d->start_cp, d->end_cp);
        }
    }
}

static bool is_finding(struct run *r, uint32_t at, const struct weir_detection *d)
{
    size_t start_cp = 0;
    size_t end_cp = 0;
    bool has_span = has(r, at, "start");
    if (has_span &&
        (!get_offset(r, at, "start", &start_cp) || !get_offset(r, at, "end", &end_cp))) {
        return false;
    }
    return has_span == d->has_span && start_cp == d->start_cp && end_cp == d->end_cp &&
           weir_slice_eq(get_string(r, at, "detection"), d->detection) &&
           weir_slice_eq(get_string(r, at, "detector"), d->detector_id);
}

static bool are_findings(struct run *r, uint32_t wanted, const struct weir_gather_batch *b)
{
    size_t n;
    uint32_t array = get_array(r, wanted, "detections", &n);
    bool same = n == b->n_findings;
    size_t i = 0;
    for (uint32_t at = first_of(r, array); same && at != WEIR_JSON_NONE;
         at = weir_json_after(r->j, array, at), i++) {
        same = is_finding(r, at, b->findings[i]);
    }
    return same;
}

/* What happened (described by `what`) was not what stands next in `expect`. */
static bool differs(struct run *r, const char *what)
{
    if (r->expected == WEIR_JSON_NONE) {
        return complain(r, "expected nothing more\n    got %s", what);
    }
    struct weir_slice raw = weir_json_raw(r->j, r->expected);
    return complain(r, "expected %.*s\n    got %s", (int)(raw.n < 300 ? raw.n : 300), raw.p, what);
}

static void next_expected(struct run *r)
{
    r->expected = weir_json_after(r->j, r->expect, r->expected);
}

static bool check_batch(struct run *r, size_t after, const struct weir_gather_batch *b)
{
    uint32_t wanted = r->expected;
    size_t want_after;
    size_t start_cp;
    size_t end_cp;
    if (wanted != WEIR_JSON_NONE && !has(r, wanted, "error")) {
        if (!get_offset(r, wanted, "after", &want_after) ||
            !get_offset(r, wanted, "start", &start_cp) || !get_offset(r, wanted, "end", &end_cp)) {
            return false;
        }
        if (want_after == after && start_cp == b->start_cp && end_cp == b->end_cp &&
            are_findings(r, wanted, b)) {
            next_expected(r);
            return true;
        }
    }
    struct weir_buf text = {0};
    weir_buf_printf(&text, "after %zu: batch [%zu,%zu) with {", after, b->start_cp, b->end_cp);
    print_findings(&text, b);
    weir_buf_printf(&text, "}");
    differs(r, weir_buf_cstr(&text));
    weir_buf_dispose(&text);
    return false;
}

/* An error ends the vector: true when it is the expected one, and the last thing expected. */
static bool check_error(struct run *r, size_t after)
{
    const char *words = weir_gather_fault_text(weir_gather_failure(r->gather)->fault);
    size_t want_after;
    if (r->expected != WEIR_JSON_NONE && has(r, r->expected, "error") &&
        get_offset(r, r->expected, "after", &want_after) && want_after == after &&
        weir_slice_eq_cstr(get_string(r, r->expected, "error"), words)) {
        next_expected(r);
        return true;
    }
    return differs(r, weir_arena_printf(r->arena, "after %zu: error \"%s\"", after, words));
}

/* {"mark": detector, "at": offset, "detections": […]}: of one that reads along. */
static bool feed_mark(struct run *r, uint32_t event, int *rc)
{
    size_t detector;
    struct weir_gather_mark m;
    struct weir_gather_verdict v;
    if (!find_detector(r, event, "mark", &detector) || !get_offset(r, event, "at", &m.mark_cp) ||
        !read_findings(r, event, &v)) {
        return false;
    }
    m.findings = v.findings;
    m.n_findings = v.n_findings;
    *rc = weir_gather_mark(r->gather, detector, &m);
    return true;
}

/* `*rc` is what the aggregator said. */
static bool feed(struct run *r, uint32_t event, int *rc)
{
    size_t detector;
    if (has(r, event, "mark")) {
        return feed_mark(r, event, rc);
    }
    if (has(r, event, "verdict")) {
        struct weir_gather_verdict v;
        if (!find_detector(r, event, "verdict", &detector) ||
            !get_offset(r, event, "start", &v.start_cp) ||
            !get_offset(r, event, "end", &v.end_cp) || !read_findings(r, event, &v)) {
            return false;
        }
        *rc = weir_gather_push(r->gather, detector, &v);
        return true;
    }
    if (has(r, event, "source_end")) {
        size_t length_cp;
        if (!get_offset(r, event, "source_end", &length_cp)) {
            return false;
        }
        if (r->source_has_ended) {
            return complain(r, "malformed vector: the source ends twice");
        }
        r->source_has_ended = true;
        *rc = weir_gather_source_end(r->gather, length_cp);
        return true;
    }
    if (!find_detector(r, event, "end", &detector)) {
        return false;
    }
    *rc = weir_gather_end(r->gather, detector);
    return true;
}

/* False when the vector is over: by an error or by a difference. */
static bool step(struct run *r, uint32_t event, size_t after)
{
    int rc = 0;
    if (!feed(r, event, &rc)) {
        return false;
    }
    struct weir_gather_batch batch;
    while (rc == 0 && (rc = weir_gather_pop(r->gather, &batch)) == 0) {
        if (!check_batch(r, after, &batch)) {
            return false;
        }
    }
    if (rc != WEIR_EAGAIN) {
        check_error(r, after);
        return false;
    }
    return true;
}

/* Those that are named in `readers` have marks, the others chunks. */
static bool find_readers(struct run *r, uint32_t vector, bool *are_readers)
{
    size_t n;
    uint32_t array = get_array(r, vector, "readers", &n);
    for (uint32_t at = first_of(r, array); at != WEIR_JSON_NONE;
         at = weir_json_after(r->j, array, at)) {
        size_t i = 0;
        while (i < r->n_ids && !weir_json_string_eq(r->j, at, r->ids[i])) {
            i++;
        }
        if (i == r->n_ids) {
            return complain(r, "malformed vector: `readers` must hold names of detectors");
        }
        are_readers[i] = true;
    }
    return true;
}

static bool set_up(struct run *r, uint32_t vector)
{
    uint32_t array = get_array(r, vector, "detectors", &r->n_ids);
    r->ids = weir_arena_array(r->arena, r->n_ids + 1, sizeof *r->ids);
    size_t i = 0;
    for (uint32_t at = first_of(r, array); at != WEIR_JSON_NONE;
         at = weir_json_after(r->j, array, at)) {
        if (weir_json_type(r->j, at) != WEIR_JSON_STRING) {
            return complain(r, "malformed vector: `detectors` must hold names");
        }
        r->ids[i++] = weir_json_string(r->j, at, r->arena);
    }
    bool *are_readers = weir_arena_array(r->arena, r->n_ids + 1, sizeof *are_readers);
    if (!find_readers(r, vector, are_readers)) {
        return false;
    }
    struct weir_slice name = get_string(r, vector, "strategy");
    struct weir_gather_options options = {
        .are_readers = are_readers,
        .strategy = weir_gather_strategy_find(name),
        .detector_ids = r->ids,
        .n_detectors = r->n_ids,
        .text = {r, arrived_cp, is_white},
    };
    if (options.strategy == NULL) {
        return complain(r, "unknown strategy `%.*s`", (int)name.n, name.p);
    }
    if (!read_white(r, vector)) {
        return false;
    }
    size_t n;
    r->expect = get_array(r, vector, "expect", &n);
    r->expected = first_of(r, r->expect);
    r->gather = weir_gather_new(&options);
    return true;
}

static void run_vector(struct run *r, uint32_t vector)
{
    if (!set_up(r, vector)) {
        return;
    }
    size_t n;
    size_t after = 0;
    uint32_t input = get_array(r, vector, "input", &n);
    for (uint32_t at = first_of(r, input); at != WEIR_JSON_NONE;
         at = weir_json_after(r->j, input, at)) {
        if (!step(r, at, after++)) {
            break;
        }
    }
    if (r->problem == NULL && r->expected != WEIR_JSON_NONE) {
        differs(r, "nothing");
    }
}

static bool passes(const struct weir_json *j, uint32_t vector)
{
    struct weir_arena arena = {0};
    struct run r = {.j = j, .arena = &arena, .expected = WEIR_JSON_NONE};
    run_vector(&r, vector);
    bool ok = r.problem == NULL;
    if (!ok) {
        struct weir_slice id = get_string(&r, vector, "id");
        struct weir_slice title = get_string(&r, vector, "title");
        printf("%.*s (%.*s)\n    %s\n", (int)id.n, id.p, (int)title.n, title.p, r.problem);
    }
    weir_gather_free(r.gather);
    weir_arena_dispose(&arena);
    return ok;
}

static bool read_file(const char *path, struct weir_buf *out)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    char block[16384];
    size_t n;
    while ((n = fread(block, 1, sizeof block, f)) != 0) {
        weir_buf_append(out, weir_slice_make(block, n));
    }
    bool ok = ferror(f) == 0;
    fclose(f);
    return ok;
}

static void run_file(const char *path, int *n_passed, int *n_failed)
{
    struct weir_buf text = {0};
    struct weir_arena arena = {0};
    struct weir_json j;
    struct weir_json_error err;
    if (!read_file(path, &text)) {
        goto out;
    }
    if (weir_json_parse(&j, weir_buf_slice(&text), NULL, &arena, &err) != 0) {
        fprintf(stderr, "%s:%zu:%zu: %s\n", path, err.line, err.column, err.what);
        goto out;
    }
    uint32_t vectors = weir_json_get(&j, 0, WEIR_SLICE("vectors"));
    if (vectors == WEIR_JSON_NONE || weir_json_type(&j, vectors) != WEIR_JSON_ARRAY) {
        fprintf(stderr, "%s: no array `vectors`\n", path);
        goto out;
    }
    for (uint32_t at = weir_json_first(&j, vectors); at != WEIR_JSON_NONE;
         at = weir_json_after(&j, vectors, at)) {
        *(passes(&j, at) ? n_passed : n_failed) += 1;
    }
out:
    weir_arena_dispose(&arena);
    weir_buf_dispose(&text);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: vectors_aggregator FILE\n");
        return 2;
    }
    int n_passed = 0;
    int n_failed = 0;
    run_file(argv[1], &n_passed, &n_failed);
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_passed > 0 && n_failed == 0 ? 0 : 1;
}
