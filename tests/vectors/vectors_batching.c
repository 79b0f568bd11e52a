/*
 * Runs a file of stream batching vectors through the chain of stages.
 *
 *   vectors_batching FILE...      N passed, M failed; exit status 0 only if M is 0 and N is not
 *
 * A vector is a configuration, inputs with virtual times, and the full ordered output expected,
 * compared as JSON values. See the `conventions` member of the files themselves.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "emit/chain.h"
#include "vectors/batching_config.h"
#include "vectors/batching_counters.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST_BYTES = 64 << 20 };

/* One line of output, as it came or as it is expected. */
struct line {
    struct weir_slice what; /* done, eof, error, discard, comment; empty: a chunk */
    struct weir_slice reason;
    struct weir_slice data;
    uint64_t t;
    bool has_reason;
    bool has_data;
};

struct run {
    struct weir_arena arena;
    const struct weir_json *j; /* the whole file */
    uint32_t base;             /* node of the file's `base` */
    struct line *lines;
    size_t n_lines;
    size_t cap_lines;
    struct weir_buf problems;
};

static const char *const kind_names[] = {"", "comment", "block", "done", "eof", "error", "discard"};

static void problem(struct run *r, const char *text, struct weir_slice detail)
{
    (void)weir_buf_printf(&r->problems, "    %s%.*s\n", text, (int)detail.n, detail.p);
}

static void on_emit(void *ctx, enum weir_batch_reason why, const struct weir_event *e)
{
    struct run *r = ctx;
    if (r->n_lines == r->cap_lines) {
        r->cap_lines = r->cap_lines == 0 ? 16 : r->cap_lines * 2;
        r->lines = realloc(r->lines, r->cap_lines * sizeof *r->lines);
        if (r->lines == NULL) {
            abort();
        }
    }
    r->lines[r->n_lines++] = (struct line){
        .what = weir_slice_cstr(kind_names[e->kind]),
        .reason = weir_slice_cstr(weir_batch_reason_text(why)),
        .data = weir_arena_dup(&r->arena, e->data),
        .t = e->at_ms,
        .has_reason = true,
        .has_data = true,
    };
}

static struct weir_slice string_at(struct run *r, uint32_t object, const char *name)
{
    uint32_t at = weir_json_get_set(r->j, object, weir_slice_cstr(name));
    return at != WEIR_JSON_NONE && weir_json_type(r->j, at) == WEIR_JSON_STRING
               ? weir_json_string(r->j, at, &r->arena)
               : WEIR_SLICE("");
}

static void put_member(struct weir_buf *out, const struct weir_json *j, uint32_t key)
{
    (void)weir_buf_append(out, out->n > 1 ? WEIR_SLICE(",") : WEIR_SLICE(""));
    (void)weir_buf_append(out, weir_json_raw(j, key));
    (void)weir_buf_append(out, WEIR_SLICE(":"));
    (void)weir_buf_append(out, weir_json_raw(j, key + 1));
}

/* The first element of a member that must be a list, or NONE. */
static uint32_t first_of(const struct weir_json *j, uint32_t list)
{
    return list != WEIR_JSON_NONE ? weir_json_first(j, list) : WEIR_JSON_NONE;
}

/* The chunk laid over the file's base: members of the chunk win. */
static struct weir_slice overlay(struct run *r, uint32_t chunk)
{
    const struct weir_json *j = r->j;
    struct weir_buf out = {0};
    (void)weir_buf_append(&out, WEIR_SLICE("{"));
    for (uint32_t k = first_of(j, r->base); k != WEIR_JSON_NONE;
         k = weir_json_after(j, r->base, k)) {
        if (weir_json_get(j, chunk, weir_json_string(j, k, &r->arena)) == WEIR_JSON_NONE) {
            put_member(&out, j, k);
        }
    }
    for (uint32_t k = weir_json_first(j, chunk); k != WEIR_JSON_NONE;
         k = weir_json_after(j, chunk, k)) {
        put_member(&out, j, k);
    }
    (void)weir_buf_append(&out, WEIR_SLICE("}"));
    struct weir_slice kept = weir_arena_dup(&r->arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return kept;
}

/* A string stands for the bytes in it, anything else for its own JSON. */
static struct weir_slice bytes_at(struct run *r, uint32_t at)
{
    return weir_json_type(r->j, at) == WEIR_JSON_STRING ? weir_json_string(r->j, at, &r->arena)
                                                        : weir_json_raw(r->j, at);
}

/* Members of an item that are not its payload. */
static bool is_about(const struct weir_json *j, uint32_t key)
{
    static const char *const names[] = {"t",    "event",   "reason", "base",  "sse_id",
                                        "note", "guarded", "said",   "choice"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (weir_json_string_eq(j, key, weir_slice_cstr(names[i]))) {
            return true;
        }
    }
    return false;
}

/* The payload of an item: its chunk over the base, or, whatever it is called, bytes that are no
 * chunk. */
static bool payload(struct run *r, uint32_t item, struct weir_slice *out)
{
    uint32_t chunk = weir_json_get_set(r->j, item, WEIR_SLICE("chunk"));
    uint32_t base = weir_json_get_set(r->j, item, WEIR_SLICE("base"));
    bool has_base = base == WEIR_JSON_NONE || weir_json_type(r->j, base) != WEIR_JSON_FALSE;
    if (chunk != WEIR_JSON_NONE) {
        bool is_object = weir_json_type(r->j, chunk) == WEIR_JSON_OBJECT;
        *out = is_object && has_base ? overlay(r, chunk) : bytes_at(r, chunk);
        return true;
    }
    for (uint32_t k = first_of(r->j, item); k != WEIR_JSON_NONE;
         k = weir_json_after(r->j, item, k)) {
        if (!is_about(r->j, k)) {
            *out = bytes_at(r, k + 1);
            return true;
        }
    }
    return false;
}

static uint64_t time_at(struct run *r, uint32_t item)
{
    uint64_t t = 0;
    uint32_t at = weir_json_get_set(r->j, item, WEIR_SLICE("t"));
    if (at == WEIR_JSON_NONE || weir_json_u64(r->j, at, &t) != 0) {
        problem(r, "an item without a time: ", weir_json_raw(r->j, item));
    }
    return t;
}

/* An event's kind; a name we do not know is an opaque frame, which is a chunk. */
static enum weir_event_kind kind_of(struct weir_slice name)
{
    for (size_t i = 1; i < sizeof kind_names / sizeof kind_names[0]; i++) {
        if (weir_slice_eq_cstr(name, kind_names[i])) {
            return (enum weir_event_kind)i;
        }
    }
    return WEIR_EVENT_CHUNK;
}

static uint64_t number_at(struct run *r, uint32_t item, const char *name)
{
    uint64_t n = 0;
    uint32_t at = weir_json_get_set(r->j, item, weir_slice_cstr(name));
    if (at != WEIR_JSON_NONE && weir_json_u64(r->j, at, &n) != 0) {
        problem(r, "not a number: ", weir_slice_cstr(name));
    }
    return n;
}

static bool is_true_at(struct run *r, uint32_t item, const char *name)
{
    uint32_t at = weir_json_get_set(r->j, item, weir_slice_cstr(name));
    return at != WEIR_JSON_NONE && weir_json_type(r->j, at) == WEIR_JSON_TRUE;
}

static void feed(struct run *r, struct weir_chain *chain, uint32_t item)
{
    struct weir_slice name = string_at(r, item, "event");
    uint64_t t = time_at(r, item);
    bool is_blocked = weir_slice_eq(name, WEIR_SLICE("blocked"));
    if (is_blocked || weir_slice_eq(name, WEIR_SLICE("drain"))) {
        weir_chain_blocked(chain, t, is_blocked);
        return;
    }
    struct weir_event e = {.kind = kind_of(name), .sse_id = string_at(r, item, "sse_id")};
    e.is_guarded = is_true_at(r, item, "guarded");
    e.n_said = number_at(r, item, "said");
    e.choice = (uint32_t)number_at(r, item, "choice");
    bool has_data = payload(r, item, &e.data);
    if (!has_data && e.kind == WEIR_EVENT_CHUNK && name.n != 0) {
        e.data = name; /* a frame that has only a name: its bytes do not matter */
        e.is_opaque = true;
    } else if (!has_data && e.kind == WEIR_EVENT_CHUNK) {
        problem(r, "an input that is nothing: ", weir_json_raw(r->j, item));
    }
    weir_chain_push(chain, t, &e);
}

static struct line expected(struct run *r, uint32_t item)
{
    struct weir_slice name = string_at(r, item, "event");
    enum weir_event_kind kind = kind_of(name);
    struct line line = {
        .what = weir_slice_cstr(kind_names[kind]),
        .reason = string_at(r, item, "reason"),
        .t = time_at(r, item),
    };
    line.has_reason = line.reason.n != 0;
    line.has_data = payload(r, item, &line.data);
    return line;
}

static bool is_same_data(struct run *r, struct weir_slice a, struct weir_slice b)
{
    struct weir_json x;
    struct weir_json y;
    if (weir_slice_eq(a, b)) {
        return true;
    }
    return weir_json_parse(&x, a, NULL, &r->arena, NULL) == 0 &&
           weir_json_parse(&y, b, NULL, &r->arena, NULL) == 0 && weir_json_equal(&x, 0, &y, 0);
}

static bool is_same_line(struct run *r, const struct line *want, const struct line *got)
{
    return want->t == got->t && weir_slice_eq(want->what, got->what) &&
           (!want->has_reason || weir_slice_eq(want->reason, got->reason)) &&
           (!want->has_data || is_same_data(r, want->data, got->data));
}

static void show(struct run *r, const char *label, const struct line *line)
{
    struct weir_slice what = line->what.n != 0 ? line->what : WEIR_SLICE("chunk");
    (void)weir_buf_printf(&r->problems, "    %s t=%llu %.*s %.*s %.*s\n", label,
                          (unsigned long long)line->t, (int)what.n, what.p, (int)line->reason.n,
                          line->reason.p, (int)line->data.n, line->data.p);
}

static void compare(struct run *r, uint32_t expect)
{
    const struct weir_json *j = r->j;
    size_t i = 0;
    for (uint32_t at = first_of(j, expect); at != WEIR_JSON_NONE;
         at = weir_json_after(j, expect, at), i++) {
        struct line want = expected(r, at);
        const struct line *got = i < r->n_lines ? &r->lines[i] : NULL;
        if (got == NULL || !is_same_line(r, &want, got)) {
            show(r, "expected", &want);
            if (got != NULL) {
                show(r, "     got", got);
            } else {
                problem(r, "     got nothing", WEIR_SLICE(""));
            }
        }
    }
    for (; i < r->n_lines; i++) {
        show(r, "too much", &r->lines[i]);
    }
}

static void compare_counters(struct run *r, const struct weir_chain *chain, uint32_t counters)
{
    const struct weir_json *j = r->j;
    for (uint32_t k = weir_json_first(j, counters); k != WEIR_JSON_NONE;
         k = weir_json_after(j, counters, k)) {
        struct weir_slice name = weir_json_string(j, k, &r->arena);
        uint64_t want = 0;
        uint64_t got = 0;
        if (batching_counter(chain, name, &got) != 0) {
            problem(r, "no such counter: ", name);
        } else if (weir_json_u64(j, k + 1, &want) != 0 || want != got) {
            (void)weir_buf_printf(&r->problems, "    counter %.*s: expected %llu, got %llu\n",
                                  (int)name.n, name.p, (unsigned long long)want,
                                  (unsigned long long)got);
        }
    }
}

/* True if it passed. */
static bool run_vector(const struct weir_json *j, uint32_t base, uint32_t vector)
{
    struct run r = {.j = j, .base = base};
    struct weir_chain_options options;
    const char *why = batching_config(j, vector, &options, &r.arena);
    if (why != NULL) {
        problem(&r, why, WEIR_SLICE(""));
    } else {
        struct weir_chain *chain = weir_chain_new(&options, on_emit, &r);
        uint32_t input = weir_json_get(j, vector, WEIR_SLICE("input"));
        uint32_t counters = weir_json_get_set(j, vector, WEIR_SLICE("expect_counters"));
        for (uint32_t at = first_of(j, input); at != WEIR_JSON_NONE;
             at = weir_json_after(j, input, at)) {
            feed(&r, chain, at);
        }
        compare(&r, weir_json_get(j, vector, WEIR_SLICE("expect")));
        if (counters != WEIR_JSON_NONE) {
            compare_counters(&r, chain, counters);
        }
        weir_chain_free(chain);
    }
    bool is_ok = r.problems.n == 0;
    if (!is_ok) {
        struct weir_slice id = string_at(&r, vector, "id");
        struct weir_slice title = string_at(&r, vector, "title");
        printf("FAIL %.*s: %.*s\n%.*s", (int)id.n, id.p, (int)title.n, title.p, (int)r.problems.n,
               r.problems.p);
    }
    weir_buf_dispose(&r.problems);
    free(r.lines);
    weir_arena_dispose(&r.arena);
    return is_ok;
}

static bool read_file(const char *path, struct weir_buf *out)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        return false;
    }
    size_t n = 0;
    do {
        out->n += n;
        if (weir_buf_reserve(out, 65536) != 0) {
            fprintf(stderr, "%s: too large\n", path);
            break;
        }
        n = fread(out->p + out->n, 1, 65536, f);
    } while (n > 0);
    bool is_ok = feof(f) != 0;
    fclose(f);
    return is_ok;
}

static bool run_file(const char *path, unsigned *n_passed, unsigned *n_failed)
{
    struct weir_buf text = {.max = FILE_MOST_BYTES};
    struct weir_arena arena = {0};
    struct weir_json j;
    struct weir_json_error err;
    bool is_ok = read_file(path, &text);
    if (is_ok && weir_json_parse(&j, weir_buf_slice(&text), NULL, &arena, &err) != 0) {
        fprintf(stderr, "%s:%zu:%zu: %s\n", path, err.line, err.column, err.what);
        is_ok = false;
    }
    if (is_ok) {
        uint32_t base = weir_json_get(&j, 0, WEIR_SLICE("base"));
        uint32_t vectors = weir_json_get(&j, 0, WEIR_SLICE("vectors"));
        for (uint32_t at = first_of(&j, vectors); at != WEIR_JSON_NONE;
             at = weir_json_after(&j, vectors, at)) {
            bool has_passed = run_vector(&j, base, at);
            *n_passed += has_passed;
            *n_failed += !has_passed;
        }
    }
    weir_arena_dispose(&arena);
    weir_buf_dispose(&text);
    return is_ok;
}

int main(int argc, char **argv)
{
    unsigned n_passed = 0;
    unsigned n_failed = 0;
    bool is_ok = argc > 1;
    if (argc < 2) {
        fprintf(stderr, "usage: vectors_batching FILE...\n");
    }
    for (int i = 1; i < argc; i++) {
        is_ok = run_file(argv[i], &n_passed, &n_failed) && is_ok;
    }
    printf("%u passed, %u failed\n", n_passed, n_failed);
    return is_ok && n_failed == 0 && n_passed > 0 ? 0 : 1;
}
