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

/* A thread's working memory, large enough for the databases in `fitted`. */
struct scratch {
    hs_scratch_t *memory;
    uint64_t fitted[N_FITTED];
    size_t oldest;
};

static pthread_key_t scratch_key;
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;
static atomic_uint_fast64_t last_serial;

static void free_scratch(void *p)
{
    struct scratch *s = p;
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

/* Asking the library whether the memory is large enough costs an allocation; so remember. */
static hs_scratch_t *fit(struct scratch *s, const struct weir_patterns *p)
{
    for (size_t i = 0; i < N_FITTED; i++) {
        if (s->fitted[i] == p->serial) {
            return s->memory;
        }
    }
    WEIR_ASSERT(hs_alloc_scratch(p->db, &s->memory) == HS_SUCCESS);
    s->fitted[s->oldest] = p->serial;
    s->oldest = (s->oldest + 1) % N_FITTED;
    return s->memory;
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
                                     HS_MODE_BLOCK, NULL, &db, &error);
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
    hs_scratch_t *memory = fit(own_scratch(), p);
    hs_error_t rc = hs_scan(p->db, text.p, (unsigned)text.n, 0, memory, on_event, &scan);
    WEIR_ASSERT(rc == HS_SUCCESS || rc == HS_SCAN_TERMINATED);
    return scan.rc;
}
