/*
 * Parameters become settings, and what callers' parameters became is kept per thread: as many as
 * N_KEPT, of MAX_KEPT_BYTES together. What was used longest ago makes room.
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "detect/builtin_int.h"

#include <pthread.h>
#include <stdlib.h>

enum { N_KEPT = 32, MAX_KEPT_BYTES = 512 * 1024 };

/* Settings made of a request's parameters. */
struct kept {
    uint64_t serial; /* of the detector; 0: free */
    uint64_t used;   /* the cache's clock */
    char *params;
    size_t n_params;
    struct weir_builtin_made *made;
};

/* One thread's. */
struct cache {
    struct kept kept[N_KEPT];
    uint64_t now;
    size_t n_bytes; /* of all parameters kept: settings grow with them */
};

static pthread_key_t cache_key;
static pthread_once_t cache_once = PTHREAD_ONCE_INIT;

struct weir_builtin_made *weir_builtin__ref(struct weir_builtin_made *made)
{
    atomic_fetch_add_explicit(&made->refs, 1, memory_order_relaxed);
    return made;
}

void weir_builtin__unref(struct weir_builtin_made *made)
{
    if (made == NULL || atomic_fetch_sub_explicit(&made->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (made->kind->free != NULL) {
        made->kind->free(made->settings);
    }
    free(made);
}

static void forget(struct cache *c, struct kept *k)
{
    if (k->serial != 0) {
        c->n_bytes -= k->n_params;
        weir_builtin__unref(k->made);
        free(k->params);
    }
    *k = (struct kept){0};
}

static void free_cache(void *p)
{
    struct cache *c = p;
    for (size_t i = 0; i < N_KEPT; i++) {
        forget(c, &c->kept[i]);
    }
    free(c);
}

static void make_key(void)
{
    int rc = pthread_key_create(&cache_key, free_cache);
    WEIR_ASSERT(rc == 0);
}

static struct cache *own_cache(void)
{
    pthread_once(&cache_once, make_key);
    struct cache *c = pthread_getspecific(cache_key);
    if (c == NULL) {
        c = weir_mem_zalloc(sizeof *c);
        pthread_setspecific(cache_key, c);
    }
    return c;
}

static struct kept *find_kept(struct cache *c, uint64_t serial, struct weir_slice params)
{
    for (size_t i = 0; i < N_KEPT; i++) {
        struct kept *k = &c->kept[i];
        if (k->serial == serial && weir_slice_eq(weir_slice_make(k->params, k->n_params), params)) {
            return k;
        }
    }
    return NULL;
}

/* A free place is older than any other. */
static struct kept *oldest(struct cache *c)
{
    struct kept *found = &c->kept[0];
    for (size_t i = 1; i < N_KEPT; i++) {
        found = c->kept[i].used < found->used ? &c->kept[i] : found;
    }
    return found;
}

/* The oldest that is there; there is one. */
static struct kept *oldest_used(struct cache *c)
{
    struct kept *found = NULL;
    for (size_t i = 0; i < N_KEPT; i++) {
        struct kept *k = &c->kept[i];
        if (k->serial != 0 && (found == NULL || k->used < found->used)) {
            found = k;
        }
    }
    return found;
}

struct weir_builtin_made *weir_builtin__find(const struct weir_builtin *b, struct weir_slice params)
{
    if (params.n == 0 || weir_slice_eq_cstr(params, "{}")) {
        return weir_builtin__ref(b->made);
    }
    struct cache *c = own_cache();
    struct kept *k = find_kept(c, b->serial, params);
    if (k == NULL) {
        return NULL;
    }
    k->used = ++c->now;
    return weir_builtin__ref(k->made);
}

void weir_builtin__keep(uint64_t serial, struct weir_slice params, struct weir_builtin_made *made)
{
    struct cache *c = own_cache();
    if (params.n > MAX_KEPT_BYTES || find_kept(c, serial, params) != NULL) {
        return;
    }
    while (c->n_bytes + params.n > MAX_KEPT_BYTES) {
        forget(c, oldest_used(c));
    }
    struct kept *k = oldest(c);
    forget(c, k);
    *k = (struct kept){.serial = serial,
                       .used = ++c->now,
                       .params = weir_mem_dup(params.p, params.n),
                       .n_params = params.n,
                       .made = weir_builtin__ref(made)};
    c->n_bytes += params.n;
}

/* ---- parameters */

static bool is_known(const struct weir_builtin_kind *kind, const struct weir_json *json,
                     uint32_t key)
{
    for (const char *const *m = kind->members; *m != NULL; m++) {
        if (weir_json_string_eq(json, key, weir_slice_cstr(*m))) {
            return true;
        }
    }
    return false;
}

static int parse(const struct weir_builtin_kind *kind, struct weir_slice text,
                 struct weir_arena *arena, struct weir_json *json, struct weir_buf *why)
{
    if (text.n == 0) {
        text = WEIR_SLICE("{}");
    }
    if (weir_json_parse(json, text, NULL, arena, NULL) != 0 ||
        weir_json_type(json, 0) != WEIR_JSON_OBJECT) {
        weir_buf_printf(why, "the parameters of `%s` must be an object", kind->name);
        return WEIR_EINVAL;
    }
    uint32_t key = weir_json_first(json, 0);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, 0, key)) {
        if (!is_known(kind, json, key)) {
            struct weir_slice name = weir_json_raw(json, key);
            int n = name.n < 64 ? (int)name.n : 64;
            weir_buf_printf(why, "`%s` has no parameter %.*s", kind->name, n, name.p);
            return WEIR_EINVAL;
        }
    }
    return 0;
}

static void append_member(struct weir_buf *out, const char *name, struct weir_slice raw)
{
    weir_buf_printf(out, "%s\"%s\":", out->n > 1 ? "," : "", name);
    weir_buf_append(out, raw);
}

struct weir_slice weir_builtin__merge(const struct weir_builtin *b, struct weir_slice params,
                                      struct weir_arena *arena)
{
    struct weir_buf why = {0};
    struct weir_json own;
    struct weir_json asked;
    struct weir_slice result = params;
    bool is_readable = parse(b->kind, b->params, arena, &own, &why) == 0 &&
                       parse(b->kind, params, arena, &asked, &why) == 0;
    if (is_readable) {
        struct weir_buf out = {0};
        weir_buf_append_byte(&out, '{');
        for (const char *const *m = b->kind->members; *m != NULL; m++) {
            struct weir_slice name = weir_slice_cstr(*m);
            uint32_t at = weir_json_get_set(&asked, 0, name);
            uint32_t at_own = weir_json_get_set(&own, 0, name);
            if (at != WEIR_JSON_NONE) {
                append_member(&out, *m, weir_json_raw(&asked, at));
            } else if (at_own != WEIR_JSON_NONE) {
                append_member(&out, *m, weir_json_raw(&own, at_own));
            }
        }
        weir_buf_append_byte(&out, '}');
        result = weir_arena_dup(arena, weir_buf_slice(&out));
        weir_buf_dispose(&out);
    }
    weir_buf_dispose(&why);
    return result;
}

struct weir_builtin_made *weir_builtin__make(const struct weir_builtin_kind *kind,
                                             struct weir_slice params, struct weir_buf *why)
{
    struct weir_arena arena = {0};
    struct weir_builtin_params p = {.arena = &arena};
    void *settings = NULL;
    if (parse(kind, params, &arena, &p.json, why) == 0) {
        settings = kind->make(&p, why);
    }
    weir_arena_dispose(&arena);
    if (settings == NULL) {
        return NULL;
    }
    struct weir_builtin_made *made = weir_mem_zalloc(sizeof *made);
    made->kind = kind;
    made->settings = settings;
    atomic_init(&made->refs, 1);
    return made;
}

int weir_builtin_strings(const struct weir_builtin_params *params, const char *member, size_t max,
                         struct weir_buf *why, struct weir_slice **out, size_t *n)
{
    const struct weir_json *j = &params->json;
    uint32_t at = weir_json_get_set(j, 0, weir_slice_cstr(member));
    *n = 0;
    *out = NULL;
    if (at == WEIR_JSON_NONE) {
        return 0;
    }
    bool is_one = weir_json_type(j, at) == WEIR_JSON_STRING;
    if (!is_one && (weir_json_type(j, at) != WEIR_JSON_ARRAY || j->nodes[at].n > max)) {
        weir_buf_printf(why, "`%s` must be an array of at most %zu strings", member, max);
        return WEIR_EINVAL;
    }
    size_t n_all = is_one ? 1 : j->nodes[at].n;
    *out = weir_arena_array(params->arena, n_all, sizeof **out);
    uint32_t item = is_one ? at : weir_json_first(j, at);
    while (item != WEIR_JSON_NONE) {
        if (weir_json_type(j, item) != WEIR_JSON_STRING) {
            weir_buf_printf(why, "`%s` must be an array of strings", member);
            return WEIR_EINVAL;
        }
        (*out)[(*n)++] = weir_json_string(j, item, params->arena);
        item = is_one ? WEIR_JSON_NONE : weir_json_after(j, at, item);
    }
    return 0;
}
