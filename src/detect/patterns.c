#include "detect/patterns.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

#include <hs.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { N_FITTED = 16 };

struct weir_patterns {
    hs_database_t *db;
    uint64_t serial; /* never used again, as an address may be */
};

/* A thread's working memory, large enough for the databases in `fitted`, and for each of them a
 * stream for whole texts: one kind of database serves those and texts that come in parts. */
struct scratch {
    hs_scratch_t *memory;
    uint64_t fitted[N_FITTED];
    hs_stream_t *wholes[N_FITTED];
    size_t oldest;
};

static pthread_key_t scratch_key;
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;
static atomic_uint_fast64_t last_serial;

static void close_stream(hs_stream_t *stream)
{
    if (stream != NULL) {
        hs_close_stream(stream, NULL, NULL, NULL);
    }
}

static void free_scratch(void *p)
{
    struct scratch *s = p;
    for (size_t i = 0; i < N_FITTED; i++) {
        close_stream(s->wholes[i]);
    }
    hs_free_scratch(s->memory);
    free(s);
}

static void make_key(void)
{
    int rc = pthread_key_create(&scratch_key, free_scratch);
    WEIR_ASSERT(rc == 0);
}

static struct scratch *own_scratch(void)
{
    pthread_once(&scratch_once, make_key);
    struct scratch *s = pthread_getspecific(scratch_key);
    if (s == NULL) {
        s = weir_mem_zalloc(sizeof *s);
        pthread_setspecific(scratch_key, s);
    }
    return s;
}

/* Its place. Asking the library whether the memory is large enough costs an allocation; so
 * remember. */
static size_t fit(struct scratch *s, const struct weir_patterns *p)
{
    for (size_t i = 0; i < N_FITTED; i++) {
        if (s->fitted[i] == p->serial) {
            return i;
        }
    }
    size_t at = s->oldest;
    WEIR_ASSERT(hs_alloc_scratch(p->db, &s->memory) == HS_SUCCESS);
    close_stream(s->wholes[at]);
    WEIR_ASSERT(hs_open_stream(p->db, 0, &s->wholes[at]) == HS_SUCCESS);
    s->fitted[at] = p->serial;
    s->oldest = (at + 1) % N_FITTED;
    return at;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A literal as an expression: what is not a letter or digit is escaped. */
static char *quoted(const char *literal)
{
    char *out = weir_mem_alloc(2 * strlen(literal) + 1);
    size_t n = 0;
    for (const char *c = literal; *c != '\0'; c++) {
        if (!is_word(*c)) {
            out[n++] = '\\';
        }
        out[n++] = *c;
    }
    out[n] = '\0';
    return out;
}

static hs_database_t *compile(const struct weir_pattern *list, char *const *exprs, size_t n,
                              struct weir_buf *why)
{
    unsigned *flags = weir_mem_array(n, sizeof *flags);
    unsigned *ids = weir_mem_array(n, sizeof *ids);
    for (size_t i = 0; i < n; i++) {
        flags[i] = HS_FLAG_DOTALL | (list[i].is_caseless ? HS_FLAG_CASELESS : 0U);
        ids[i] = (unsigned)i;
    }
    hs_database_t *db = NULL;
    hs_compile_error_t *error = NULL;
    hs_error_t rc = hs_compile_multi((const char *const *)exprs, flags, ids, (unsigned)n,
                                     HS_MODE_STREAM, NULL, &db, &error);
    if (rc != HS_SUCCESS) {
        weir_buf_printf(why, "%s", error != NULL ? error->message : "cannot be compiled");
        db = NULL;
    }
    hs_free_compile_error(error);
    free(flags);
    free(ids);
    return db;
}

struct weir_patterns *weir_patterns_new(const struct weir_pattern *list, size_t n,
                                        struct weir_buf *why)
{
    char **exprs = weir_mem_array(n, sizeof *exprs);
    for (size_t i = 0; i < n; i++) {
        exprs[i] = list[i].is_regex ? weir_mem_strdup(list[i].expr) : quoted(list[i].expr);
    }
    hs_database_t *db = compile(list, exprs, n, why);
    for (size_t i = 0; i < n; i++) {
        free(exprs[i]);
    }
    free(exprs);
    if (db == NULL) {
        return NULL;
    }
    malloc_trim(0); /* the compiler frees megabytes, which else stay with the process */
    struct weir_patterns *p = weir_mem_zalloc(sizeof *p);
    p->db = db;
    p->serial = atomic_fetch_add(&last_serial, 1) + 1;
    return p;
}

struct scan {
    weir_patterns_match_fn on_match;
    void *ctx;
    int rc;
};

static int on_event(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
                    void *ctx)
{
    (void)from;
    (void)flags;
    struct scan *scan = ctx;
    scan->rc = scan->on_match(scan->ctx, id, (size_t)to);
    return scan->rc != 0;
}

int weir_patterns_scan(const struct weir_patterns *p, struct weir_slice text,
                       weir_patterns_match_fn on_match, void *ctx)
{
    if (text.n == 0) {
        return 0;
    }
    if (text.n > UINT32_MAX) {
        return WEIR_ELIMIT;
    }
    struct scan scan = {.on_match = on_match, .ctx = ctx};
    struct scratch *s = own_scratch();
    hs_stream_t *stream = s->wholes[fit(s, p)];
    hs_error_t rc = hs_scan_stream(stream, text.p, (unsigned)text.n, 0, s->memory, on_event, &scan);
    WEIR_ASSERT(rc == HS_SUCCESS || rc == HS_SCAN_TERMINATED);
    WEIR_ASSERT(hs_reset_stream(stream, 0, s->memory, NULL, NULL) == HS_SUCCESS);
    return scan.rc;
}

struct weir_patterns_stream *weir_patterns_open(const struct weir_patterns *p)
{
    hs_stream_t *stream = NULL;
    WEIR_ASSERT(hs_open_stream(p->db, 0, &stream) == HS_SUCCESS);
    return (struct weir_patterns_stream *)stream;
}

void weir_patterns_close(struct weir_patterns_stream *stream)
{
    close_stream((hs_stream_t *)stream);
}

void weir_patterns_restart(const struct weir_patterns *p, struct weir_patterns_stream *stream)
{
    struct scratch *s = own_scratch();
    fit(s, p);
    WEIR_ASSERT(hs_reset_stream((hs_stream_t *)stream, 0, s->memory, NULL, NULL) == HS_SUCCESS);
}

int weir_patterns_read(const struct weir_patterns *p, struct weir_patterns_stream *stream,
                       struct weir_slice part, weir_patterns_match_fn on_match, void *ctx)
{
    if (part.n == 0) {
        return 0;
    }
    if (part.n > UINT32_MAX) {
        return WEIR_ELIMIT;
    }
    struct scan scan = {.on_match = on_match, .ctx = ctx};
    struct scratch *s = own_scratch();
    fit(s, p);
    hs_error_t rc = hs_scan_stream((hs_stream_t *)stream, part.p, (unsigned)part.n, 0, s->memory,
                                   on_event, &scan);
    WEIR_ASSERT(rc == HS_SUCCESS || rc == HS_SCAN_TERMINATED);
    return scan.rc;
}

/* SIZE_MAX: not known. */
static size_t width_of(const char *expr, unsigned flags)
{
    hs_expr_info_t *info = NULL;
    hs_compile_error_t *error = NULL;
    size_t width = SIZE_MAX;
    if (hs_expression_info(expr, flags, &info, &error) == HS_SUCCESS &&
        info->max_width != UINT32_MAX) {
        width = info->max_width;
    }
    hs_free_compile_error(error);
    free(info);
    return width;
}

/* The library has no word boundaries among Unicode's words. Without them its classes are ASCII's,
 * and where it counts one byte there may be four. */
size_t weir_patterns_width(struct weir_slice expr)
{
    enum { LONGEST_LETTER = 4 };
    const unsigned flags = HS_FLAG_UTF8 | HS_FLAG_ALLOWEMPTY;
    char *copy = weir_mem_alloc(expr.n + 1);
    memcpy(copy, expr.p, expr.n);
    copy[expr.n] = '\0';
    size_t width = SIZE_MAX;
    if (strlen(copy) == expr.n) {
        width = width_of(copy, flags | HS_FLAG_UCP);
        size_t ascii = width == SIZE_MAX ? width_of(copy, flags) : SIZE_MAX;
        width = ascii <= SIZE_MAX / LONGEST_LETTER ? ascii * LONGEST_LETTER : width;
    }
    free(copy);
    return width;
}
