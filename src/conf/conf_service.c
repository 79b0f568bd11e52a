/*
 * Services: where they are, how long to wait, how to prove who we are; and the TLS settings they
 * name. What can be known without the network is checked here: the host name's syntax, that files
 * can be read, that the token's variable is set.
 */
#include "base/mem.h"
#include "conf/conf_sections.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_NAME_BYTES = 253, MAX_LABEL_BYTES = 63, DAY_SECONDS = 86400, HTTPS_PORT = 443 };

static void check_readable(struct weir_conf_reader *r, const struct weir_conf_text *path,
                           const struct weir_conf_node *n)
{
    if (path->s.p == NULL || r->options->skip_files) {
        return;
    }
    int fd = open(path->s.p, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        weir_conf__error(r, n, "cannot read %s: %s", weir_conf__name(r, path->s), strerror(errno));
        return;
    }
    close(fd);
}

static void on_tls_path(struct weir_conf_reader *r, const struct weir_conf_node *n, const char *key,
                        struct weir_conf_text *out)
{
    if (weir_conf__want_text(r, n, key)) {
        *out = weir_conf__keep(r, n);
        check_readable(r, out, n);
    }
}

static void on_cert_path(struct weir_conf_reader *r, const struct weir_conf_node *n, void *tls)
{
    on_tls_path(r, n, "cert_path", &((struct weir_conf_tls *)tls)->cert_path);
}

static void on_key_path(struct weir_conf_reader *r, const struct weir_conf_node *n, void *tls)
{
    on_tls_path(r, n, "key_path", &((struct weir_conf_tls *)tls)->key_path);
}

static void on_ca_path(struct weir_conf_reader *r, const struct weir_conf_node *n, void *tls)
{
    on_tls_path(r, n, "client_ca_cert_path", &((struct weir_conf_tls *)tls)->client_ca_cert_path);
}

static const struct weir_conf_key tls_keys[] = {
    WEIR_CONF_KEY_CALL("cert_path", on_cert_path),
    WEIR_CONF_KEY_CALL("key_path", on_key_path),
    WEIR_CONF_KEY_CALL("client_ca_cert_path", on_ca_path),
    WEIR_CONF_KEY(struct weir_conf_tls, insecure, BOOL),
};
static const struct weir_conf_object tls_object = {WEIR_CONF_OBJECT(tls_keys)};

static struct weir_conf_tls *add_tls(struct weir_conf_reader *r, const struct weir_conf_node *n)
{
    struct weir_conf_tls *tls = weir_arena_zalloc(r->arena, sizeof *tls);
    tls->at = weir_conf__pos(r, n);
    if (r->n_tls == r->cap_tls) {
        r->cap_tls = r->cap_tls == 0 ? 8 : r->cap_tls * 2;
        r->tls = weir_mem_realloc(r->tls, r->cap_tls * sizeof(void *));
    }
    r->tls[r->n_tls++] = tls;
    return tls;
}

static struct weir_conf_tls *new_tls(struct weir_conf_reader *r, const struct weir_conf_node *n)
{
    struct weir_conf_tls *tls = add_tls(r, n);
    if (weir_conf__want_mapping(r, n, "tls")) {
        weir_conf__decode(r, &tls_object, n, tls);
    }
    if (tls->key_path.s.p != NULL && tls->cert_path.s.p == NULL) {
        weir_conf__error(r, n, "`key_path` needs `cert_path` beside it");
    }
    return tls;
}

void weir_conf__tls_section(struct weir_conf_reader *r, const struct weir_conf_node *n, void *conf)
{
    (void)conf;
    if (!weir_conf__want_mapping(r, n, "tls")) {
        return;
    }
    for (size_t i = 0; i < n->n; i++) {
        struct weir_conf_tls *tls = new_tls(r, n->members[i].value);
        tls->name = weir_conf__keep(r, n->members[i].key);
        weir_map_put(&r->tls_by_name, tls->name.s, tls);
    }
}

/* People try `tls: true` first; it is neither a name nor a mapping, so the message says what to
 * write. */
static bool is_switch(const struct weir_conf_node *n, bool *is_on)
{
    static const char *const words[] = {"false", "no", "off", "true", "yes", "on"};
    enum { N_WORDS = sizeof words / sizeof *words, FIRST_ON = 3 };
    for (size_t i = 0; n->is_plain && i < N_WORDS; i++) {
        if (weir_slice_eq_nocase(n->text, weir_slice_cstr(words[i]))) {
            *is_on = i >= FIRST_ON;
            return true;
        }
    }
    return false;
}

static void refuse_name(struct weir_conf_reader *r, const struct weir_conf_node *n)
{
    struct weir_conf_near near;
    weir_conf__near(r, &near, n->text);
    const struct weir_map_entry *e;
    for (size_t i = 0; (e = weir_map_next(&r->tls_by_name, &i)) != NULL;) {
        weir_conf_near_offer(&near, e->key);
    }
    weir_conf__error(r, n, "no tls entry is named %s%s", weir_conf__name(r, n->text),
                     weir_conf__hint(r, &near));
}

static struct weir_conf_tls *find_tls(struct weir_conf_reader *r, const struct weir_conf_node *n)
{
    struct weir_conf_tls *tls = weir_map_get(&r->tls_by_name, n->text);
    bool is_on;
    if (tls != NULL) {
        return tls;
    }
    if (is_switch(n, &is_on)) {
        weir_conf__error(r, n, "`tls` is not a switch: %s",
                         is_on ? "write `tls: {}` for TLS with the system's authorities, or the "
                                 "name of an entry of `tls:`"
                               : "leave it out for a connection without TLS");
    } else if (weir_conf__want_text(r, n, "tls")) {
        refuse_name(r, n);
    }
    return NULL;
}

const struct weir_conf_tls *weir_conf__system_tls(struct weir_conf_reader *r,
                                                  const struct weir_conf_node *at)
{
    struct weir_conf_tls *tls = add_tls(r, at);
    tls->is_used = true;
    return tls;
}

/* A name from `tls:`, or the settings themselves. */
void weir_conf__on_service_tls(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *service)
{
    struct weir_conf_service *s = service;
    struct weir_conf_tls *tls = NULL;
    if (n->kind == WEIR_CONF_MAPPING) {
        tls = new_tls(r, n);
    } else if (n->kind == WEIR_CONF_SCALAR) {
        tls = find_tls(r, n);
    } else if (n->kind == WEIR_CONF_SEQUENCE) {
        weir_conf__error(r, n, "`tls` must be a name or a mapping, not a list");
    }
    if (tls != NULL) {
        tls->is_used = true;
        s->tls = tls;
    }
}

static bool is_label(struct weir_slice label)
{
    if (label.n == 0 || label.n > MAX_LABEL_BYTES || label.p[0] == '-' ||
        label.p[label.n - 1] == '-') {
        return false;
    }
    for (size_t i = 0; i < label.n; i++) {
        char c = label.p[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && c != '-' && c != '_') {
            return false;
        }
    }
    return true;
}

/* Labels of letters, digits, - and _ (service names of containers have it). A name that ends in a
 * number would be taken for an address by somebody. */
static bool is_host_name(struct weir_slice name)
{
    if (name.n > 0 && name.p[name.n - 1] == '.') {
        name.n--;
    }
    if (name.n == 0 || name.n > MAX_NAME_BYTES) {
        return false;
    }
    struct weir_slice label = {0};
    for (struct weir_slice rest = name; rest.p != NULL;) {
        label = weir_slice_cut(&rest, '.');
        if (!is_label(label)) {
            return false;
        }
    }
    uint64_t number;
    return weir_slice_u64(label, &number) != 0;
}

bool weir_conf__is_host(const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1 ||
           is_host_name(weir_slice_cstr(text));
}

static void on_hostname(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_service *s = target;
    if (!weir_conf__want_text(r, n, "hostname")) {
        return;
    }
    s->hostname = weir_conf__keep(r, n);
    struct weir_slice name = s->hostname.s;
    if (name.n > 2 && name.p[0] == '[' && name.p[name.n - 1] == ']') {
        s->hostname.s = weir_arena_dup(r->arena, weir_slice_sub(name, 1, name.n - 1));
    }
    if (weir_conf__is_host(s->hostname.s.p)) {
        return;
    }
    bool is_url = memmem(name.p, name.n, "://", 3) != NULL;
    bool is_https = weir_slice_starts_with(name, WEIR_SLICE("https://"));
    weir_conf__error(r, n, "%s is not a host name or address%s%s", weir_conf__name(r, name),
                     is_url ? ": leave out the scheme, and write the port and the path as `port` "
                              "and `path_prefix`"
                            : "",
                     is_https ? ", and for https:// `tls: {}`" : "");
}

static bool is_path_byte(char c)
{
    bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return is_alnum || (c != '\0' && strchr("/-._~!$&'()*+,;=:@%", c) != NULL);
}

/* Kept as "/a/b"; "/" alone is nothing. */
static void on_path_prefix(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_service *s = target;
    if (!weir_conf__want_text(r, n, "path_prefix")) {
        return;
    }
    struct weir_slice path = n->text;
    for (size_t i = 0; i < path.n; i++) {
        if (!is_path_byte(path.p[i])) {
            weir_conf__error(r, n, "`path_prefix` %s is not the path of a URL",
                             weir_conf__name(r, path));
            return;
        }
    }
    while (path.n > 0 && path.p[path.n - 1] == '/') {
        path.n--;
    }
    const char *slash = path.n > 0 && path.p[0] != '/' ? "/" : "";
    const char *text = weir_arena_printf(r->arena, "%s%.*s", slash, (int)path.n, path.p);
    s->path_prefix = (struct weir_conf_text){weir_slice_cstr(text), weir_conf__pos(r, n)};
}

bool weir_conf__is_token(struct weir_slice value)
{
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] <= ' ' || value.p[i] > '~') {
            return false;
        }
    }
    return value.n != 0;
}

/* A missing token is an error now: otherwise the first request would show it. */
static void on_api_token(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_service *s = target;
    const char *value = weir_conf__want_env(r, n, "api_token", &s->api_token_env);
    if (value != NULL && !weir_conf__is_token(weir_slice_cstr(value))) {
        weir_conf__error(r, n,
                         "the value of environment variable %s cannot be a token: it has white "
                         "space or other characters that a header cannot carry",
                         weir_conf__name(r, s->api_token_env.s));
    } else if (value != NULL) {
        s->api_token = weir_arena_dup(r->arena, weir_slice_cstr(value));
    }
}

#define T struct weir_conf_service
#define SECONDS(name, min_)                                                                        \
    WEIR_CONF_KEY_AS(#name, T, name##_ms, SECONDS, .min = (min_), .max = DAY_SECONDS)

static const struct weir_conf_key service_keys[] = {
    WEIR_CONF_KEY_CALL("hostname", on_hostname, .is_required = true),
    WEIR_CONF_KEY(T, port, U32, .min = 1, .max = 65535),
    WEIR_CONF_KEY_CALL("path_prefix", on_path_prefix),
    WEIR_CONF_KEY_CALL("tls", weir_conf__on_service_tls),
    WEIR_CONF_KEY_CALL("api_token", on_api_token),
    WEIR_CONF_KEY(T, max_retries, U32, .min = 0, .max = 100),
    SECONDS(request_timeout, 0.001),
    SECONDS(connect_timeout, 0.001),
    SECONDS(first_byte_timeout, 0.001),
    SECONDS(idle_timeout, 0.001),
    SECONDS(http2_keep_alive_interval, 0),
    SECONDS(keep_alive_timeout, 0.001),
    SECONDS(grpc_dns_probe_interval, 0.001),
    WEIR_CONF_KEY_IGNORED("resolution_strategy"),
    WEIR_CONF_KEY_IGNORED("resolution_strategy_timeout"),
};
static const struct weir_conf_object service_object = {WEIR_CONF_OBJECT(service_keys)};
#undef SECONDS
#undef T

static const struct weir_conf_service service_defaults = {
    .max_retries = 3,
    .request_timeout_ms = 600000,
    .connect_timeout_ms = 10000,
    .first_byte_timeout_ms = 120000,
    .idle_timeout_ms = 120000,
    .http2_keep_alive_interval_ms = 30000,
    .keep_alive_timeout_ms = 30000,
    .grpc_dns_probe_interval_ms = 10000,
};

void weir_conf__service_defaults(struct weir_conf_service *service)
{
    *service = service_defaults;
}

/* Port 443 without TLS: the first call would fail, but its message would not say what to write. */
static void check_https_port(struct weir_conf_reader *r, const struct weir_conf_node *n,
                             const struct weir_conf_service *s)
{
    const struct weir_conf_node *port = weir_conf__get(n, "port");
    if (s->port == HTTPS_PORT && port != NULL && weir_conf__get(n, "tls") == NULL) {
        weir_conf__error(r, port,
                         "port 443 is for https://, and this service has no TLS: write `tls: {}` "
                         "beside `port`, or `tls:` with the name of an entry of `tls:`");
    }
}

const struct weir_conf_service *weir_conf__service(struct weir_conf_reader *r,
                                                   const struct weir_conf_node *n, const char *key,
                                                   uint32_t default_port)
{
    if (!weir_conf__want_mapping(r, n, key)) {
        return NULL;
    }
    struct weir_conf_service *s = weir_arena_alloc(r->arena, sizeof *s);
    *s = service_defaults;
    s->at = weir_conf__pos(r, n);
    weir_conf__decode(r, &service_object, n, s);
    check_https_port(r, n, s);
    s->is_default_port = s->port == 0;
    if (s->is_default_port) {
        s->port = default_port;
    }
    return s;
}
