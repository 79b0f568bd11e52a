#include "detect/builtin.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { N_KEPT = 32, HTTP_UNPROCESSABLE = 422, PATTERN_BUDGET_US = 6000 };

/* Settings made of a request's parameters. */
struct kept {
    uint64_t serial; /* of the detector; 0: free */
    char *params;
    size_t n_params;
    const struct weir_builtin_kind *kind;
    void *settings;
};

/* One thread's: what was used longest ago makes room. */
struct cache {
    struct kept kept[N_KEPT];
    uint64_t used[N_KEPT];
    uint64_t now;
};

struct builtin_call {
    struct weir_detect_call base;
    struct weir_detect_list one; /* the lists of a call with one content */
    struct weir_arena arena;
};

static pthread_key_t cache_key;
static pthread_once_t cache_once = PTHREAD_ONCE_INIT;
static atomic_uint_fast64_t last_serial;

static void free_settings(const struct weir_builtin_kind *kind, void *settings)
{
    if (kind->free != NULL && settings != NULL) {
        kind->free(settings);
    }
}

static void forget(struct kept *k)
{
    if (k->serial != 0) {
        free_settings(k->kind, k->settings);
        free(k->params);
    }
    *k = (struct kept){0};
}

static void free_cache(void *p)
{
    struct cache *c = p;
    for (size_t i = 0; i < N_KEPT; i++) {
        forget(&c->kept[i]);
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

/* The request's members, and the configured ones that it does not have. */
static struct weir_slice merged(const struct weir_builtin *b, struct weir_slice params,
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

static void *make_settings(const struct weir_builtin_kind *kind, struct weir_slice text,
                           struct weir_buf *why)
{
    struct weir_arena arena = {0};
    struct weir_builtin_params params = {.arena = &arena};
    void *settings = NULL;
    if (parse(kind, text, &arena, &params.json, why) == 0) {
        settings = kind->make(&params, why);
    }
    weir_arena_dispose(&arena);
    return settings;
}

static struct kept *find_kept(struct cache *c, const struct weir_builtin *b,
                              struct weir_slice params)
{
    for (size_t i = 0; i < N_KEPT; i++) {
        struct kept *k = &c->kept[i];
        if (k->serial == b->serial &&
            weir_slice_eq(weir_slice_make(k->params, k->n_params), params)) {
            return k;
        }
    }
    return NULL;
}

static struct kept *oldest(struct cache *c)
{
    size_t at = 0;
    for (size_t i = 1; i < N_KEPT; i++) {
        if (c->used[i] < c->used[at]) {
            at = i;
        }
    }
    return &c->kept[at];
}

/* NULL with `why`. Good until this thread's next call. */
static const void *find_settings(const struct weir_builtin *b, struct weir_slice params,
                                 struct weir_buf *why)
{
    if (params.n == 0 || weir_slice_eq_cstr(params, "{}")) {
        return b->settings;
    }
    struct cache *c = own_cache();
    struct kept *k = find_kept(c, b, params);
    if (k == NULL) {
        struct weir_arena arena = {0};
        void *settings = make_settings(b->kind, merged(b, params, &arena), why);
        weir_arena_dispose(&arena);
        if (settings == NULL) {
            return NULL;
        }
        k = oldest(c);
        forget(k);
        *k = (struct kept){.serial = b->serial,
                           .params = weir_mem_dup(params.p, params.n),
                           .n_params = params.n,
                           .kind = b->kind,
                           .settings = settings};
    }
    c->used[k - c->kept] = ++c->now;
    return k->settings;
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

/* ---- calls */

static void fail(struct builtin_call *c, int err, struct weir_slice message)
{
    struct weir_slice shown = weir_fault_message(&c->arena, message);
    c->base.fault = (struct weir_fault){
        .origin = WEIR_FAULT_DETECTOR,
        .id = c->base.detector->id,
        .err = err,
        .status = HTTP_UNPROCESSABLE,
        .message = shown,
        .why = shown,
    };
    c->base.lists = NULL;
    c->base.n_lists = 0;
}

static int scan_all(struct builtin_call *c, const struct weir_builtin *b, const void *settings,
                    const struct weir_detect_input *input)
{
    struct weir_found found = {0};
    struct weir_builtin_run run = {.why = "too much was found in one text",
                                   .budget_us = PATTERN_BUDGET_US};
    struct weir_detect_list *lists =
        input->n_contents == 1 ? &c->one
                               : weir_arena_array(&c->arena, input->n_contents, sizeof *lists);
    int rc = 0;
    for (size_t i = 0; i < input->n_contents && rc == 0; i++) {
        struct weir_found_finish finish = {.text = input->contents[i],
                                           .detector_id = b->base.id,
                                           .threshold = input->threshold,
                                           .across_kinds = b->kind->across_kinds};
        rc = b->kind->scan(settings, input->contents[i], &found, &run);
        if (rc == 0) {
            lists[i] = weir_found_finish(&found, &finish, &c->arena);
        }
    }
    weir_found_dispose(&found);
    c->base.lists = lists;
    c->base.n_lists = input->n_contents;
    if (rc != 0) {
        fail(c, rc, weir_slice_cstr(run.why));
    }
    return rc;
}

static struct weir_detect_call *start(const struct weir_detector *d,
                                      const struct weir_detect_env *env,
                                      const struct weir_detect_input *input,
                                      weir_detect_done_fn on_done, void *ctx)
{
    (void)env;
    (void)on_done;
    (void)ctx;
    const struct weir_builtin *b = (const struct weir_builtin *)d;
    struct builtin_call *c = weir_mem_zalloc(sizeof *c);
    c->base.detector = d;
    c->base.is_done = true;
    if (input->type != WEIR_DETECT_CONTENTS) {
        fail(c, WEIR_EUNSUPPORTED, WEIR_SLICE("a built-in detector looks at contents only"));
        return &c->base;
    }
    struct weir_buf why = {0};
    const void *settings = find_settings(b, input->params, &why);
    if (settings == NULL) {
        fail(c, WEIR_EINVAL, weir_buf_slice(&why));
    } else {
        scan_all(c, b, settings, input);
    }
    weir_buf_dispose(&why);
    return &c->base;
}

static void free_call(struct weir_detect_call *call)
{
    struct builtin_call *c = (struct builtin_call *)call;
    weir_arena_dispose(&c->arena);
    free(c);
}

static const struct weir_detect_ops OPS = {.start = start, .free = free_call};

int weir_builtin_init(struct weir_builtin *b, const struct weir_builtin_kind *kind,
                      struct weir_slice id, struct weir_slice params, struct weir_buf *why)
{
    *b = (struct weir_builtin){
        .base = {.ops = &OPS, .id = id, .type = WEIR_DETECT_CONTENTS},
        .kind = kind,
        .params = params,
        .serial = atomic_fetch_add(&last_serial, 1) + 1,
    };
    b->settings = make_settings(kind, params, why);
    return b->settings != NULL ? 0 : WEIR_EINVAL;
}

void weir_builtin_dispose(struct weir_builtin *b)
{
    if (b->settings != NULL) {
        free_settings(b->kind, b->settings);
    }
    *b = (struct weir_builtin){0};
}
