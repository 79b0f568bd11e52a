/*
 * `providers:`: model servers by name. What they are called with is checked here as far as it can
 * be known without asking anybody: the address, the key, the constants that go with every request.
 */
#include "base/err.h"
#include "conf/conf_sections.h"
#include "wire/http1.h"
#include "wire/url.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    MAX_PROVIDERS = 256,
    MAX_NAME_BYTES = 64,
    MAX_PAIRS = 64,
    MAX_KEY_BYTES = 16384,
    DAY_SECONDS = 86400,
    HTTP_PORT = 80,
    HTTPS_PORT = 443,
};

#define AZURE_VERSION WEIR_SLICE("2024-10-21")
#define AZURE_NEXT "v1" /* an `api_version`: the paths below /openai/v1 */

static const char *const kind_words[] = {"openai", "azure", "anthropic", NULL};
static const char *const dialect_words[] = {"chat",       "completions", "responses", "messages",
                                            "embeddings", "rerank",      "score",     NULL};

const char *weir_conf_provider_kind_name(enum weir_conf_provider_kind kind)
{
    return kind_words[kind];
}

const char *weir_conf_dialect_name(enum weir_conf_dialect dialect)
{
    size_t i = 0;
    while (dialect_words[i + 1] != NULL && (1U << i) != (unsigned)dialect) {
        i++;
    }
    return dialect_words[i];
}

/* ---- base_url */

/* What people write that is nearly right, and what they mean. NULL: nothing is known. */
static const char *advice_for(struct weir_slice url)
{
    if (memmem(url.p, url.n, "://", 3) == NULL) {
        return "begin with http:// or https://";
    }
    if (weir_slice_find(url, '#') < url.n) {
        return "leave out the # and what follows";
    }
    if (weir_slice_find(url, '@') < url.n) {
        return "leave out the user and write the key as `api_key_env`";
    }
    return "write it as https://HOST[:PORT]/PATH";
}

static const char *path_advice(const struct weir_conf_provider *p, struct weir_slice path)
{
    static const char *const ends[] = {"/chat/completions", "/completions", "/messages",
                                       "/responses",        "/embeddings",  "/models"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (weir_slice_ends_with(path, weir_slice_cstr(ends[i]))) {
            return "is the path of one endpoint: write what stands before it";
        }
    }
    bool is_azure = p->kind == WEIR_CONF_PROVIDER_AZURE;
    if (is_azure && memmem(path.p, path.n, "/openai", 7) != NULL) {
        return "has Azure's own path: write what stands before /openai";
    }
    if (p->kind == WEIR_CONF_PROVIDER_ANTHROPIC && weir_slice_ends_with(path, WEIR_SLICE("/v1"))) {
        return "is what stands before /v1/messages: leave out /v1";
    }
    return NULL;
}

static void take_path(struct weir_conf_reader *r, const struct weir_conf_node *n,
                      struct weir_conf_provider *p, struct weir_slice path)
{
    while (path.n != 0 && path.p[path.n - 1] == '/') {
        path.n--;
    }
    p->service.path_prefix =
        (struct weir_conf_text){weir_arena_dup(r->arena, path), weir_conf__pos(r, n)};
    const char *advice = path_advice(p, path);
    if (advice != NULL) {
        weir_conf__error(r, n, "`base_url` %s %s", weir_conf__name(r, n->text), advice);
    } else if (path.n == 0 && p->kind == WEIR_CONF_PROVIDER_OPENAI) {
        weir_conf__warn(r, n,
                        "`base_url` %s has no path: nearly every server has its API below /v1",
                        weir_conf__name(r, n->text));
    }
}

static void take_tls(struct weir_conf_reader *r, const struct weir_conf_node *n,
                     struct weir_conf_provider *p, const struct weir_url *url)
{
    struct weir_conf_service *s = &p->service;
    if (!url->is_tls && s->tls != NULL) {
        weir_conf__error(r, n, "`base_url` says http:// and there is `tls`: write https://");
    } else if (!url->is_tls && url->port == HTTPS_PORT) {
        weir_conf__error(r, n, "port 443 is for https://: write it in `base_url`");
    } else if (url->is_tls && s->tls == NULL) {
        s->tls = weir_conf__system_tls(r, n);
    }
}

/* `kind` and `tls` were read before. */
static void on_base_url(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_provider *p = target;
    struct weir_url url;
    if (!weir_conf__want_text(r, n, "base_url")) {
        return;
    }
    p->base_url = weir_conf__keep(r, n);
    struct weir_slice host = {0};
    bool is_url = weir_url_parse(p->base_url.s, &url) == 0;
    if (is_url) {
        host = weir_arena_dup(r->arena, url.host);
    }
    if (!is_url || !weir_conf__is_host(host.p)) {
        weir_conf__error(r, n, "`base_url` %s is not the address of a server: %s",
                         weir_conf__name(r, n->text), advice_for(n->text));
        return;
    }
    if (url.query.n != 0) {
        weir_conf__error(r, n, "`base_url` has a query: write it as `query: {NAME: VALUE}`");
    }
    p->service.hostname = (struct weir_conf_text){host, weir_conf__pos(r, n)};
    p->service.port = url.port;
    take_path(r, n, p, url.path);
    take_tls(r, n, p, &url);
    weir_conf__check_not_ourselves(r, n, &p->service);
}

/* ---- the key */

static void take_key(struct weir_conf_reader *r, const struct weir_conf_node *n,
                     struct weir_conf_provider *p, struct weir_slice key)
{
    if (p->api_key.n != 0) {
        weir_conf__error(r, n, "`api_key_env` and `api_key_file` exclude each other");
    } else if (!weir_conf__is_token(key)) {
        weir_conf__error(r, n,
                         "the key that %s has is empty, or has characters that a header cannot "
                         "carry",
                         weir_conf__name(r, n->text));
    } else {
        p->api_key = weir_arena_dup(r->arena, key);
    }
}

static void on_key_env(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_text name;
    const char *value = weir_conf__want_env(r, n, "api_key_env", &name);
    if (value != NULL) {
        take_key(r, n, target, weir_slice_cstr(value));
    }
}

/* How many bytes of the file there are, up to `max`; -1 and errno when it cannot be read. */
static ssize_t read_file(const char *path, char *out, size_t max)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t n = 0;
    ssize_t got = 1;
    if (fd < 0) {
        return -1;
    }
    while (n < max && (got = read(fd, out + n, max - n)) > 0) {
        n += (size_t)got;
    }
    int saved = errno;
    close(fd);
    errno = saved;
    return got < 0 ? -1 : (ssize_t)n;
}

/* Files end with a new line, keys do not. */
static struct weir_slice trim_end(struct weir_slice s)
{
    while (s.n != 0 && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r' || s.p[s.n - 1] == ' ')) {
        s.n--;
    }
    return s;
}

static void on_key_file(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_provider *p = target;
    if (!weir_conf__want_text(r, n, "api_key_file") || r->options->skip_files) {
        return;
    }
    char *text = weir_arena_alloc(r->scratch, MAX_KEY_BYTES + 1);
    struct weir_conf_text path = weir_conf__keep(r, n);
    ssize_t got = read_file(path.s.p, text, MAX_KEY_BYTES + 1);
    if (got < 0) {
        weir_conf__error(r, n, "cannot read the key in %s: %s", weir_conf__name(r, path.s),
                         strerror(errno));
    } else if (got > MAX_KEY_BYTES) {
        weir_conf__error(r, n, "%s is longer than any key", weir_conf__name(r, path.s));
    } else {
        take_key(r, n, p, trim_end(weir_slice_make(text, (size_t)got)));
    }
}

/* ---- constants of every request */

static struct weir_slice to_lower(struct weir_conf_reader *r, struct weir_slice s)
{
    char *copy = weir_arena_alloc(r->arena, s.n + 1);
    for (size_t i = 0; i < s.n; i++) {
        bool is_upper = s.p[i] >= 'A' && s.p[i] <= 'Z';
        copy[i] = is_upper ? (char)(s.p[i] | 0x20) : s.p[i];
    }
    return weir_slice_make(copy, s.n);
}

static bool want_pairs(struct weir_conf_reader *r, const struct weir_conf_node *n, const char *key)
{
    if (!weir_conf__want_mapping(r, n, key)) {
        return false;
    }
    if (n->n > MAX_PAIRS) {
        weir_conf__error(r, n, "`%s` has %zu entries, more than %d", key, n->n, MAX_PAIRS);
    }
    return n->n <= MAX_PAIRS;
}

static bool is_header(struct weir_conf_reader *r, const struct weir_conf_member *m,
                      const struct weir_conf_pair *pair)
{
    if (!weir_conf__is_header_name(pair->name)) {
        weir_conf__error(r, m->key, "%s is not a header name", weir_conf__name(r, m->key->text));
    } else if (weir_conf__is_unforwardable(pair->name)) {
        weir_conf__error(r, m->key, "header %s belongs to one message and cannot be a constant",
                         weir_conf__name(r, pair->name));
    } else if (!weir_conf__as_text(m->value, &(struct weir_slice){0}) ||
               !weir_http1_is_field_value(m->value->text)) {
        weir_conf__error(r, m->value, "header %s must be a text that a header can carry",
                         weir_conf__name(r, pair->name));
    } else {
        return true;
    }
    return false;
}

static void on_headers(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_provider *p = target;
    if (!want_pairs(r, n, "headers")) {
        return;
    }
    struct weir_conf_pair *pairs = weir_arena_array(r->arena, n->n, sizeof *pairs);
    for (size_t i = 0; i < n->n; i++) {
        const struct weir_conf_member *m = &n->members[i];
        struct weir_conf_pair *pair = &pairs[p->n_headers];
        pair->name = to_lower(r, m->key->text);
        if (is_header(r, m, pair)) {
            pair->value = weir_arena_dup(r->arena, m->value->text);
            p->n_headers++;
        }
    }
    p->headers = pairs;
}

static void on_query(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_provider *p = target;
    struct weir_buf out = {0};
    if (!want_pairs(r, n, "query")) {
        return;
    }
    for (size_t i = 0; i < n->n; i++) {
        const struct weir_conf_member *m = &n->members[i];
        struct weir_slice value;
        if (m->key->text.n == 0 || !weir_conf__as_text(m->value, &value)) {
            weir_conf__error(r, m->value, "`query` must be a mapping of names to texts");
            continue;
        }
        weir_buf_append(&out, out.n != 0 ? WEIR_SLICE("&") : WEIR_SLICE(""));
        weir_url_append_escaped(&out, m->key->text);
        weir_buf_append_byte(&out, '=');
        weir_url_append_escaped(&out, value);
    }
    p->query = weir_arena_dup(r->arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
}

static void on_dialects(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_provider *p = target;
    if (!weir_conf__want_list(r, n, "dialects")) {
        return;
    }
    for (size_t i = 0; i < n->n; i++) {
        int word = weir_conf__want_word(r, n->items[i], "dialects", dialect_words);
        if (word >= 0) {
            p->dialects |= UINT32_C(1) << word;
        }
    }
    if (n->n == 0) {
        weir_conf__error(r, n,
                         "`dialects` must name at least one: left out, it means what a "
                         "server of this kind serves");
    }
}

/* ---- one provider */

#define T struct weir_conf_provider
#define SECONDS(name, min_)                                                                        \
    WEIR_CONF_KEY_AS(#name, T, service.name##_ms, SECONDS, .min = (min_), .max = DAY_SECONDS)

static const struct weir_conf_key provider_keys[] = {
    WEIR_CONF_KEY(T, kind, ENUM, .words = kind_words, .is_required = true),
    WEIR_CONF_KEY_CALL("tls", weir_conf__on_service_tls),
    WEIR_CONF_KEY_CALL("base_url", on_base_url, .is_required = true),
    WEIR_CONF_KEY_CALL("api_key_env", on_key_env),
    WEIR_CONF_KEY_CALL("api_key_file", on_key_file),
    WEIR_CONF_KEY(T, api_version, TEXT),
    WEIR_CONF_KEY_CALL("headers", on_headers),
    WEIR_CONF_KEY_CALL("query", on_query),
    WEIR_CONF_KEY(T, pass_caller_key, BOOL),
    WEIR_CONF_KEY_CALL("dialects", on_dialects),
    SECONDS(request_timeout, 0.001),
    SECONDS(connect_timeout, 0.001),
    SECONDS(first_byte_timeout, 0.001),
    SECONDS(idle_timeout, 0.001),
    SECONDS(http2_keep_alive_interval, 0),
    SECONDS(keep_alive_timeout, 0.001),
};
static const struct weir_conf_object provider_object = {WEIR_CONF_OBJECT(provider_keys)};
#undef SECONDS
#undef T

_Static_assert(offsetof(struct weir_conf_provider, service) == 0,
               "weir_conf__on_service_tls is given the provider");

static bool is_next_azure(const struct weir_conf_provider *p)
{
    return p->kind == WEIR_CONF_PROVIDER_AZURE && weir_slice_eq_cstr(p->api_version.s, AZURE_NEXT);
}

static uint32_t default_dialects(const struct weir_conf_provider *p)
{
    switch (p->kind) {
    case WEIR_CONF_PROVIDER_AZURE:
        return WEIR_CONF_CHAT | WEIR_CONF_EMBEDDINGS | (is_next_azure(p) ? WEIR_CONF_RESPONSES : 0);
    case WEIR_CONF_PROVIDER_ANTHROPIC:
        return WEIR_CONF_MESSAGES;
    case WEIR_CONF_PROVIDER_OPENAI:
        break;
    }
    return WEIR_CONF_CHAT | WEIR_CONF_COMPLETIONS | WEIR_CONF_RESPONSES | WEIR_CONF_MESSAGES |
           WEIR_CONF_EMBEDDINGS | WEIR_CONF_RERANK | WEIR_CONF_SCORE;
}

/* What a server of the kind cannot be asked for: there is no path for it. */
static uint32_t impossible_dialects(const struct weir_conf_provider *p)
{
    const uint32_t vectors = WEIR_CONF_EMBEDDINGS | WEIR_CONF_RERANK | WEIR_CONF_SCORE;
    switch (p->kind) {
    case WEIR_CONF_PROVIDER_AZURE:
        return WEIR_CONF_MESSAGES | WEIR_CONF_RERANK | WEIR_CONF_SCORE |
               (is_next_azure(p) ? 0 : WEIR_CONF_RESPONSES);
    case WEIR_CONF_PROVIDER_ANTHROPIC:
        return WEIR_CONF_CHAT | WEIR_CONF_COMPLETIONS | WEIR_CONF_RESPONSES | vectors;
    case WEIR_CONF_PROVIDER_OPENAI:
        break;
    }
    return 0;
}

static void check_dialects(struct weir_conf_reader *r, const struct weir_conf_node *n,
                           struct weir_conf_provider *p)
{
    uint32_t wrong = p->dialects & impossible_dialects(p);
    for (uint32_t bit = 1; wrong != 0 && bit <= WEIR_CONF_SCORE; bit <<= 1) {
        if ((wrong & bit) != 0) {
            bool needs_v1 = bit == WEIR_CONF_RESPONSES && p->kind == WEIR_CONF_PROVIDER_AZURE;
            weir_conf__error(r, weir_conf__get(n, "dialects"),
                             "a provider of kind `%s` does not serve `%s`%s",
                             weir_conf_provider_kind_name(p->kind),
                             weir_conf_dialect_name((enum weir_conf_dialect)bit),
                             needs_v1 ? " without `api_version: v1`" : "");
        }
    }
    if (p->dialects == 0) {
        p->dialects = default_dialects(p);
    }
}

static bool has_header(const struct weir_conf_provider *p, const char *name)
{
    for (size_t i = 0; i < p->n_headers; i++) {
        if (weir_slice_eq_cstr(p->headers[i].name, name)) {
            return true;
        }
    }
    return false;
}

static const char *auth_header(enum weir_conf_provider_kind kind)
{
    static const char *const names[] = {"authorization", "api-key", "x-api-key"};
    return names[kind];
}

static void check_key(struct weir_conf_reader *r, const struct weir_conf_node *n,
                      const struct weir_conf_provider *p)
{
    const struct weir_conf_node *passes = weir_conf__get(n, "pass_caller_key");
    if (p->pass_caller_key && p->api_key.n != 0) {
        weir_conf__error(r, passes,
                         "`pass_caller_key: true` and a key of ours exclude each other: callers "
                         "without a key would use it");
    }
    const char *name = auth_header(p->kind);
    if ((p->pass_caller_key || p->api_key.n != 0) && has_header(p, name)) {
        weir_conf__error(r, weir_conf__get(n, "headers"),
                         "header `%s` carries the key of this provider: leave it out of `headers`",
                         name);
    }
}

static void check_version(struct weir_conf_reader *r, const struct weir_conf_node *n,
                          struct weir_conf_provider *p)
{
    const struct weir_conf_node *version = weir_conf__get(n, "api_version");
    if (p->kind != WEIR_CONF_PROVIDER_AZURE) {
        if (version != NULL) {
            weir_conf__error(r, version, "`api_version` is for `kind: azure`%s",
                             p->kind == WEIR_CONF_PROVIDER_ANTHROPIC
                                 ? ": Anthropic's is the header `anthropic-version`, which callers "
                                   "send"
                                 : "");
        }
        return;
    }
    if (p->api_version.s.n == 0) {
        p->api_version.s = AZURE_VERSION;
    } else if (!weir_conf__is_token(p->api_version.s)) {
        weir_conf__error(r, version, "`api_version` must be a date such as 2024-10-21, or v1");
    }
}

static bool is_provider_name(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_alnum && (i == 0 || (c != '_' && c != '-' && c != '.'))) {
            return false;
        }
    }
    return s.n != 0 && s.n <= MAX_NAME_BYTES;
}

static void check_name(struct weir_conf_reader *r, const struct weir_conf_node *key)
{
    if (weir_slice_eq_cstr(key->text, "default")) {
        weir_conf__error(r, key,
                         "`default` is the name that `openai:` has as a provider: choose "
                         "another");
    } else if (!is_provider_name(key->text)) {
        weir_conf__error(r, key,
                         "%s is not a provider's name: letters, digits, then also `_`, `-` and "
                         "`.`, at most %d",
                         weir_conf__name(r, key->text), MAX_NAME_BYTES);
    }
}

static void read_provider(struct weir_conf_reader *r, const struct weir_conf_member *m,
                          struct weir_conf_provider *p)
{
    const struct weir_conf_node *n = m->value;
    weir_conf__service_defaults(&p->service);
    p->service.max_retries = 0; /* who else is asked is said by `models` */
    p->service.at = weir_conf__pos(r, m->key);
    p->name = weir_conf__keep(r, m->key);
    p->query = WEIR_SLICE("");
    check_name(r, m->key);
    if (!weir_conf__want_mapping(r, n, "providers")) {
        return;
    }
    weir_conf__decode(r, &provider_object, n, p);
    const struct weir_conf_node *first_byte = weir_conf__get(n, "first_byte_timeout");
    p->has_first_byte_timeout = first_byte != NULL && !weir_conf__is_null(first_byte);
    check_version(r, n, p);
    check_dialects(r, n, p);
    check_key(r, n, p);
}

void weir_conf__providers_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                  void *conf)
{
    (void)conf;
    if (!weir_conf__want_mapping(r, n, "providers")) {
        return;
    }
    if (n->n > MAX_PROVIDERS) {
        weir_conf__error(r, n, "`providers` has %zu entries, more than %d", n->n, MAX_PROVIDERS);
        return;
    }
    struct weir_conf_provider *all = weir_arena_array(r->arena, n->n, sizeof *all);
    for (size_t i = 0; i < n->n; i++) {
        read_provider(r, &n->members[i], &all[i]);
    }
    r->conf->providers = all;
    r->conf->n_providers = n->n;
}
