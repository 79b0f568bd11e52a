/* Who may come in: `auth`, the callers' keys, and `cors`, the pages whose scripts may ask. */
#include "conf/conf_sections.h"

#include <openssl/evp.h>
#include <stdio.h>

enum {
    MAX_KEYS = 10000, /* of keys_env */
    MAX_NAMED_KEYS = 1000,
    MAX_ORIGINS = 64,
    MAX_FILE_BYTES = 4096,
    MAX_NAME_BYTES = 64,
};

/* ---- one secret ---- */

static bool is_key(struct weir_slice key)
{
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] <= ' ' || key.p[i] > '~') {
            return false;
        }
    }
    return key.n > 0;
}

/* Only the hash is kept. */
static void hash_key(struct weir_slice key, uint8_t out[WEIR_CONF_KEY_HASH_BYTES])
{
    unsigned n = 0;
    if (EVP_Digest(key.p, key.n, out, &n, EVP_sha256(), NULL) != 1) {
        memset(out, 0, WEIR_CONF_KEY_HASH_BYTES);
    }
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_hash(struct weir_slice hex, uint8_t out[WEIR_CONF_KEY_HASH_BYTES])
{
    if (hex.n != 2 * WEIR_CONF_KEY_HASH_BYTES) {
        return false;
    }
    for (size_t i = 0; i < WEIR_CONF_KEY_HASH_BYTES; i++) {
        int high = hex_value(hex.p[2 * i]);
        int low = hex_value(hex.p[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* ---- keys_env: all of them may do everything ---- */

/* Comma-separated, spaces around each ignored. An empty list would lock everybody out or, worse,
 * nobody: it is an error either way. */
static void read_keys(struct weir_conf_reader *r, const struct weir_conf_node *n, const char *value)
{
    struct weir_conf_auth *auth = &r->conf->auth;
    size_t n_keys = 1;
    for (const char *p = value; *p != '\0'; p++) {
        n_keys += *p == ',';
    }
    if (n_keys > MAX_KEYS) {
        weir_conf__error(r, n, "environment variable %s has more than %d keys",
                         weir_conf__name(r, n->text), MAX_KEYS);
        return;
    }
    struct weir_conf_caller *keys = weir_arena_array(r->arena, n_keys, sizeof *keys);
    for (struct weir_slice rest = weir_slice_cstr(value); rest.p != NULL;) {
        struct weir_slice key = weir_slice_trim(weir_slice_cut(&rest, ','));
        if (!is_key(key)) {
            weir_conf__error(r, n,
                             "key %zu in environment variable %s is empty or has characters that a "
                             "header cannot carry",
                             auth->n_keys + 1, weir_conf__name(r, n->text));
            return;
        }
        struct weir_conf_caller *made = &keys[auth->n_keys++];
        *made = (struct weir_conf_caller){.is_for_all_routes = true, .public_api = true};
        made->name.s = weir_slice_cstr(weir_arena_printf(r->arena, "keys_env-%zu", auth->n_keys));
        hash_key(key, made->hash);
    }
    auth->keys = keys;
}

static void on_keys_env(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_auth *auth = target;
    const char *value = weir_conf__want_env(r, n, "keys_env", &auth->keys_env);
    if (value != NULL) {
        read_keys(r, n, value);
    }
}

/* ---- keys, each with a name ---- */

/* A key as it is being read, and where it came from. */
struct entry {
    struct weir_conf_caller key;
    unsigned n_sources; /* env, file, sha256: one of them */
};

static void on_name(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct entry *e = target;
    if (weir_conf__want_text(r, n, "name")) {
        e->key.name = weir_conf__keep(r, n);
        if (!is_key(n->text) || n->text.n > MAX_NAME_BYTES) {
            weir_conf__error(r, n, "`name` must be 1 to %d visible characters", MAX_NAME_BYTES);
        }
    }
}

static void take_secret(struct weir_conf_reader *r, const struct weir_conf_node *n, struct entry *e,
                        struct weir_slice secret)
{
    if (is_key(secret)) {
        hash_key(secret, e->key.hash);
    } else {
        weir_conf__error(r, n, "the key is empty or has characters that a header cannot carry");
    }
}

static void on_env(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct entry *e = target;
    struct weir_conf_text name;
    const char *value = weir_conf__want_env(r, n, "env", &name);
    e->n_sources++;
    if (value != NULL) {
        take_secret(r, n, e, weir_slice_trim(weir_slice_cstr(value)));
    }
}

static void on_file(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct entry *e = target;
    char bytes[MAX_FILE_BYTES];
    e->n_sources++;
    if (!weir_conf__want_text(r, n, "file") || r->options->skip_files) {
        return;
    }
    FILE *file = fopen(weir_conf__keep(r, n).s.p, "rbe");
    if (file == NULL) {
        weir_conf__error(r, n, "the key's file %s cannot be read", weir_conf__name(r, n->text));
        return;
    }
    size_t got = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    struct weir_slice secret = weir_slice_make(bytes, got);
    while (secret.n != 0 && (secret.p[secret.n - 1] == '\n' || secret.p[secret.n - 1] == '\r')) {
        secret.n--;
    }
    take_secret(r, n, e, weir_slice_trim(secret));
    OPENSSL_cleanse(bytes, sizeof bytes);
}

static void on_sha256(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct entry *e = target;
    e->n_sources++;
    if (weir_conf__want_text(r, n, "sha256") && !read_hash(n->text, e->key.hash)) {
        weir_conf__error(r, n, "`sha256` must be 64 hexadecimal digits");
    }
}

static void check_route(struct weir_conf_reader *r, const struct weir_conf_node *n)
{
    struct weir_conf_near near;
    if (weir_conf_route(r->conf, n->text) != NULL) {
        return;
    }
    weir_conf__near(r, &near, n->text);
    for (size_t i = 0; i < r->conf->n_routes; i++) {
        weir_conf_near_offer(&near, r->conf->routes[i].name.s);
    }
    weir_conf__error(r, n, "route %s does not exist%s", weir_conf__name(r, n->text),
                     weir_conf__hint(r, &near));
}

static void on_routes(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct entry *e = target;
    e->key.routes = weir_conf__want_texts(r, n, "routes", MAX_NAMED_KEYS);
    for (size_t i = 0; n->kind == WEIR_CONF_SEQUENCE && i < n->n; i++) {
        if (weir_slice_eq_cstr(n->items[i]->text, "*")) {
            e->key.is_for_all_routes = true;
        } else {
            check_route(r, n->items[i]);
        }
    }
}

#define T struct entry
static const struct weir_conf_key caller_keys[] = {
    WEIR_CONF_KEY_CALL("name", on_name, .is_required = true),
    WEIR_CONF_KEY_CALL("env", on_env),
    WEIR_CONF_KEY_CALL("file", on_file),
    WEIR_CONF_KEY_CALL("sha256", on_sha256),
    WEIR_CONF_KEY_CALL("routes", on_routes, .is_required = true),
    WEIR_CONF_KEY_AS("public_api", T, key.public_api, BOOL),
    WEIR_CONF_KEY_AS("requests_per_minute", T, key.requests_per_minute, U32, .min = 1,
                     .max = 100000000),
    WEIR_CONF_KEY_AS("concurrent", T, key.concurrent, U32, .min = 1, .max = 1000000),
};
#undef T
static const struct weir_conf_object caller_object = {WEIR_CONF_OBJECT(caller_keys)};

/* Two keys that are one would make it a matter of chance which limits count. */
static void check_unique(struct weir_conf_reader *r, const struct weir_conf_node *n,
                         const struct weir_conf_caller *key)
{
    const struct weir_conf_auth *auth = &r->conf->auth;
    for (size_t i = 0; i < auth->n_keys; i++) {
        if (weir_slice_eq(auth->keys[i].name.s, key->name.s)) {
            weir_conf__error(r, n, "key %s is there twice", weir_conf__name(r, key->name.s));
        } else if (memcmp(auth->keys[i].hash, key->hash, sizeof key->hash) == 0) {
            weir_conf__error(r, n, "key %s is the same as %s", weir_conf__name(r, key->name.s),
                             weir_conf__name(r, auth->keys[i].name.s));
        }
    }
}

static bool read_caller(struct weir_conf_reader *r, const struct weir_conf_node *n, struct entry *e)
{
    if (!weir_conf__want_mapping(r, n, "keys")) {
        return false;
    }
    weir_conf__decode(r, &caller_object, n, e);
    if (e->n_sources != 1) {
        weir_conf__error(r, n, "a key needs one of `env`, `file` and `sha256`");
        return false;
    }
    return true;
}

static void on_keys(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_auth *auth = target;
    if (!weir_conf__want_list(r, n, "keys")) {
        return;
    }
    if (n->n == 0) {
        weir_conf__error(r, n, "`keys` is empty: nobody could come in");
    }
    if (n->n > MAX_NAMED_KEYS) {
        weir_conf__error(r, n, "`keys` has more than %d entries", MAX_NAMED_KEYS);
        return;
    }
    struct weir_conf_caller *keys = weir_arena_array(r->arena, auth->n_keys + n->n, sizeof *keys);
    for (size_t i = 0; i < auth->n_keys; i++) {
        keys[i] = auth->keys[i];
    }
    auth->keys = keys;
    for (size_t i = 0; i < n->n; i++) {
        struct entry e = {0};
        if (read_caller(r, n->items[i], &e)) {
            check_unique(r, n->items[i], &e.key);
            keys[auth->n_keys++] = e.key;
        }
    }
}

static const struct weir_conf_key auth_keys[] = {
    WEIR_CONF_KEY_CALL("keys_env", on_keys_env),
    WEIR_CONF_KEY_CALL("keys", on_keys),
};
static const struct weir_conf_object auth_object = {WEIR_CONF_OBJECT(auth_keys)};

void weir_conf__auth_section(struct weir_conf_reader *r, const struct weir_conf_node *n, void *conf)
{
    (void)conf;
    if (!weir_conf__want_mapping(r, n, "auth")) {
        return;
    }
    r->conf->auth.is_on = true;
    weir_conf__decode(r, &auth_object, n, &r->conf->auth);
    if (weir_conf__get(n, "keys_env") == NULL && weir_conf__get(n, "keys") == NULL) {
        weir_conf__error(r, n, "`auth` needs `keys` or `keys_env`");
    }
}

/* ---- cors ---- */

/* `https://host[:port]` as browsers send it, or `*`. */
static bool is_origin(struct weir_slice s)
{
    if (weir_slice_eq_cstr(s, "*")) {
        return true;
    }
    size_t at = weir_slice_starts_with(s, WEIR_SLICE("https://"))  ? 8
                : weir_slice_starts_with(s, WEIR_SLICE("http://")) ? 7
                                                                   : 0;
    struct weir_slice host = weir_slice_sub(s, at, s.n);
    return at != 0 && host.n != 0 && is_key(s) && weir_slice_find(host, '/') == host.n;
}

static void on_origins(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf *conf = target;
    conf->cors_origins = weir_conf__want_texts(r, n, "origins", MAX_ORIGINS);
    for (size_t i = 0; n->kind == WEIR_CONF_SEQUENCE && i < n->n; i++) {
        if (!is_origin(n->items[i]->text)) {
            weir_conf__error(r, n->items[i],
                             "%s is not an origin: write `https://host`, with a port where it has "
                             "one and without a path, or `*`",
                             weir_conf__name(r, n->items[i]->text));
        }
    }
}

static const struct weir_conf_key cors_keys[] = {
    WEIR_CONF_KEY_CALL("origins", on_origins, .is_required = true),
};
static const struct weir_conf_object cors_object = {WEIR_CONF_OBJECT(cors_keys)};

void weir_conf__cors_section(struct weir_conf_reader *r, const struct weir_conf_node *n, void *conf)
{
    if (weir_conf__want_mapping(r, n, "cors")) {
        weir_conf__decode(r, &cors_object, n, conf);
    }
}
