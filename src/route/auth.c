#include "route/auth.h"

#include "base/mem.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>

static const struct weir_slice KEY_HEADERS[] = {
    {"authorization", 13}, {"x-api-key", 9}, {"api-key", 7}};
enum { N_KEY_HEADERS = sizeof KEY_HEADERS / sizeof KEY_HEADERS[0] };

/* ---- which key it is ---- */

/* The token of `Bearer TOKEN`, or empty. */
static struct weir_slice bearer(struct weir_slice value)
{
    struct weir_slice scheme = {value.p, value.n < 7 ? value.n : 7};
    if (!weir_slice_eq_nocase(scheme, WEIR_SLICE("Bearer "))) {
        return WEIR_SLICE("");
    }
    return weir_slice_trim(weir_slice_sub(value, 7, value.n));
}

static struct weir_slice token_of(const struct weir_http_request *req, size_t header)
{
    struct weir_slice value = weir_http_request_get(req, KEY_HEADERS[header]);
    if (value.p == NULL) {
        return WEIR_SLICE("");
    }
    return header == 0 ? bearer(value) : weir_slice_trim(value);
}

static const struct weir_conf_caller *find_token(const struct weir_conf_auth *auth,
                                                 struct weir_slice token)
{
    uint8_t hash[WEIR_CONF_KEY_HASH_BYTES];
    unsigned n = 0;
    const struct weir_conf_caller *found = NULL;
    if (token.n == 0 || EVP_Digest(token.p, token.n, hash, &n, EVP_sha256(), NULL) != 1) {
        return NULL;
    }
    struct weir_slice theirs = {(const char *)hash, sizeof hash};
    for (size_t i = 0; i < auth->n_keys; i++) {
        struct weir_slice ours = {(const char *)auth->keys[i].hash, sizeof hash};
        bool same = weir_slice_eq_secret(theirs, ours);
        found = same ? &auth->keys[i] : found;
    }
    return found;
}

const struct weir_conf_caller *weir_auth_find(const struct weir_conf_auth *auth,
                                              const struct weir_http_request *req)
{
    const struct weir_conf_caller *found = NULL;
    for (size_t i = 0; i < N_KEY_HEADERS && found == NULL; i++) {
        found = find_token(auth, token_of(req, i));
    }
    return found;
}

struct weir_slice weir_auth_token(const struct weir_http_request *req)
{
    struct weir_slice token = WEIR_SLICE("");
    for (size_t i = 0; i < N_KEY_HEADERS && token.n == 0; i++) {
        token = token_of(req, i);
    }
    return token;
}

bool weir_auth_is_key_header(struct weir_slice name)
{
    for (size_t i = 0; i < N_KEY_HEADERS; i++) {
        if (weir_slice_eq_nocase(name, KEY_HEADERS[i])) {
            return true;
        }
    }
    return false;
}

const char *weir_auth_ambiguous(const struct weir_http_request *req)
{
    static const char *const names[N_KEY_HEADERS] = {"Authorization", "x-api-key", "api-key"};
    size_t n[N_KEY_HEADERS] = {0};
    for (size_t i = 0; i < req->n_fields; i++) {
        for (size_t k = 0; k < N_KEY_HEADERS; k++) {
            n[k] += weir_slice_eq_nocase(req->fields[i].name, KEY_HEADERS[k]);
        }
    }
    for (size_t k = 0; k < N_KEY_HEADERS; k++) {
        if (n[k] > 1) {
            return names[k];
        }
    }
    return NULL;
}

bool weir_auth_is_for(const struct weir_conf_caller *key, struct weir_slice route)
{
    bool is_for = key->is_for_all_routes;
    for (size_t i = 0; i < key->routes.n; i++) {
        is_for = is_for || weir_slice_eq(key->routes.items[i].s, route);
    }
    return is_for;
}

/* ---- how much it has used ---- */

struct weir_auth_state {
    struct weir_auth_state *next;
    struct weir_slice name;
    /* The time, in units of a minute's 60,000,000th per request (microseconds), up to which the
     * requests so far have used the rate; in the past when the bucket is full. */
    _Atomic uint64_t used_until_us;
    atomic_uint n_running;
};

static struct {
    pthread_mutex_t lock;
    struct weir_auth_state *first;
} all = {PTHREAD_MUTEX_INITIALIZER, NULL};

enum { MINUTE_US = 60 * 1000 * 1000, SECOND_US = 1000 * 1000 };

static struct weir_auth_state *state_of(struct weir_slice name)
{
    pthread_mutex_lock(&all.lock);
    struct weir_auth_state *s = all.first;
    while (s != NULL && !weir_slice_eq(s->name, name)) {
        s = s->next;
    }
    if (s == NULL) {
        s = weir_mem_zalloc(sizeof *s);
        char *copy = weir_mem_alloc(name.n + 1);
        memcpy(copy, name.p, name.n);
        s->name = weir_slice_make(copy, name.n);
        s->next = all.first;
        all.first = s;
    }
    pthread_mutex_unlock(&all.lock);
    return s;
}

struct weir_auth_state *const *weir_auth_states(const struct weir_conf_auth *auth,
                                                struct weir_arena *arena)
{
    struct weir_auth_state **states = weir_arena_array(arena, auth->n_keys, sizeof *states);
    for (size_t i = 0; i < auth->n_keys; i++) {
        const struct weir_conf_caller *key = &auth->keys[i];
        bool is_limited = key->requests_per_minute != 0 || key->concurrent != 0;
        states[i] = is_limited ? state_of(key->name.s) : NULL;
    }
    return states;
}

/* 0, or how many microseconds are missing. */
static uint64_t use_rate(struct weir_auth_state *s, uint32_t per_minute, uint64_t now_us)
{
    uint64_t cost_us = MINUTE_US / per_minute;
    uint64_t used = atomic_load_explicit(&s->used_until_us, memory_order_relaxed);
    uint64_t next;
    do {
        uint64_t from = used > now_us ? used : now_us;
        next = from + cost_us;
        if (next > now_us + MINUTE_US) {
            return next - (now_us + MINUTE_US);
        }
    } while (!atomic_compare_exchange_weak_explicit(&s->used_until_us, &used, next,
                                                    memory_order_relaxed, memory_order_relaxed));
    return 0;
}

uint64_t weir_auth_enter(struct weir_auth_state *state, const struct weir_conf_caller *key,
                         uint64_t now_ms, const char **what)
{
    unsigned n = atomic_fetch_add_explicit(&state->n_running, 1, memory_order_relaxed);
    if (key->concurrent != 0 && n >= key->concurrent) {
        weir_auth_leave(state);
        *what = "concurrent";
        return 1;
    }
    uint64_t missing_us = key->requests_per_minute != 0
                              ? use_rate(state, key->requests_per_minute, now_ms * 1000)
                              : 0;
    if (missing_us != 0) {
        weir_auth_leave(state);
        *what = "requests_per_minute";
        return (missing_us + SECOND_US - 1) / SECOND_US;
    }
    return 0;
}

void weir_auth_leave(struct weir_auth_state *state)
{
    atomic_fetch_sub_explicit(&state->n_running, 1, memory_order_relaxed);
}

/* ---- names of this machine ---- */

static bool is_port(struct weir_slice s)
{
    uint64_t port;
    return s.n == 0 || (s.p[0] == ':' && weir_slice_u64(weir_slice_sub(s, 1, s.n), &port) == 0);
}

bool weir_auth_is_local(struct weir_slice authority)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct weir_slice name = weir_slice_cstr(names[i]);
        if (authority.n >= name.n &&
            weir_slice_eq_nocase(weir_slice_sub(authority, 0, name.n), name) &&
            is_port(weir_slice_sub(authority, name.n, authority.n))) {
            return true;
        }
    }
    return false;
}
