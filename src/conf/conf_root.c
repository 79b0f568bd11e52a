/* The document's top level, and the small sections: limits, headers. */
#include "conf/conf_sections.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_HEADERS = 256, DAY_SECONDS = 86400 };

#define MEBIBYTE (1024.0 * 1024.0)
#define GIBIBYTE (1024.0 * 1024.0 * 1024.0)
#define DEFAULT_BYTES_PER_NODE 8 /* of a request body */

/* ---- limits */

/* "0.25 of memory" */
static bool parse_share(struct weir_slice s, double *share)
{
    struct weir_slice tail = WEIR_SLICE("of memory");
    if (!weir_slice_ends_with(s, tail)) {
        return false;
    }
    struct weir_slice number = weir_slice_trim(weir_slice_sub(s, 0, s.n - tail.n));
    char copy[32];
    if (number.n == 0 || number.n >= sizeof copy) {
        return false;
    }
    memcpy(copy, number.p, number.n);
    copy[number.n] = '\0';
    struct weir_conf_node n = {.kind = WEIR_CONF_SCALAR, .is_plain = true, .text = number};
    n.text.p = copy;
    return weir_conf__as_number(&n, share) && *share > 0 && *share <= 1;
}

static uint64_t share_of_memory(const struct weir_conf_reader *r, double share)
{
    uint64_t memory = r->options->memory_bytes;
    if (memory == 0) {
        memory = weir_conf__system_memory();
    }
    return (uint64_t)((double)memory * share);
}

static void on_held_total(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_limits *limits = target;
    int64_t bytes;
    double share;
    r->has_memory_limit = true;
    if (weir_conf__as_int(n, &bytes) && (double)bytes >= MEBIBYTE) {
        limits->max_held_bytes_total = (uint64_t)bytes;
    } else if (n->kind == WEIR_CONF_SCALAR && parse_share(n->text, &share)) {
        limits->max_held_bytes_total = share_of_memory(r, share);
    } else {
        weir_conf__error(r, n,
                         "`max_held_bytes_total` must be a number of bytes, at least %.0f, or a "
                         "share such as `0.25 of memory`, not %s",
                         MEBIBYTE, weir_conf__describe(r->scratch, n));
    }
}

#define T struct weir_conf_limits
#define BYTES_KEY(key, default_, least, most, ...)                                                 \
    WEIR_CONF_KEY(T, key, U64, .min = (least), .max = (most)),
#define COUNT_KEY(key, default_, least, most, ...)                                                 \
    WEIR_CONF_KEY(T, key, U32, .min = (least), .max = (most)),
#define SECONDS_KEY(key, ...)                                                                      \
    WEIR_CONF_KEY_AS(#key, T, key##_ms, SECONDS, .min = 0.001, .max = DAY_SECONDS),
#define SHARE_KEY(key, ...) WEIR_CONF_KEY_CALL(#key, on_held_total),

static const struct weir_conf_key limits_keys[] = {
    WEIR_CONF_LIMITS(BYTES_KEY, COUNT_KEY, SECONDS_KEY, SHARE_KEY)};
#undef T
static const struct weir_conf_object limits_object = {WEIR_CONF_OBJECT(limits_keys)};

/* A share of the memory is worked out when the section has been read. */
void weir_conf__limits_defaults(struct weir_conf_limits *limits)
{
#define NUMBER_DEFAULT(key, default_, ...) .key = (default_),
#define SECONDS_DEFAULT(key, default_, ...) .key##_ms = 1000 * (default_),
#define NO_DEFAULT(...)
    *limits = (struct weir_conf_limits){
        WEIR_CONF_LIMITS(NUMBER_DEFAULT, NUMBER_DEFAULT, SECONDS_DEFAULT, NO_DEFAULT)};
}

/* One setting that can be written in two sections; where both have it, the values must be equal. */
static void join_stream_buffers(struct weir_conf_reader *r, const struct weir_conf_node *in_limits)
{
    struct weir_conf *conf = r->conf;
    uint64_t *limit = &conf->limits.max_stream_buffer_bytes;
    uint64_t *streaming = &conf->streaming.max_stream_buffer_bytes;
    bool is_in_limits = in_limits != NULL && !weir_conf__is_null(in_limits);
    if (is_in_limits && r->stream_buffer_at.line > 0 && *limit != *streaming) {
        weir_conf__error(r, in_limits,
                         "`max_stream_buffer_bytes` differs from the one in `streaming` on line %d",
                         r->stream_buffer_at.line);
    }
    if (is_in_limits) {
        *streaming = *limit;
    } else {
        *limit = *streaming;
    }
}

void weir_conf__limits_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *conf)
{
    (void)conf;
    if (weir_conf__want_mapping(r, n, "limits")) {
        weir_conf__decode(r, &limits_object, n, &r->conf->limits);
    }
}

/* The first line of a control group's limit file; "max" and absence are no limit. */
static uint64_t read_limit(const char *path)
{
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return UINT64_MAX;
    }
    char line[32];
    uint64_t bytes = UINT64_MAX;
    if (fgets(line, sizeof line, f) != NULL && isdigit((unsigned char)line[0])) {
        bytes = strtoull(line, NULL, 10);
    }
    fclose(f);
    return bytes > 0 ? bytes : UINT64_MAX;
}

uint64_t weir_conf__system_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t physical = 0;
    if (pages > 0 && page_bytes > 0) {
        physical = (uint64_t)pages * (uint64_t)page_bytes;
    }
    uint64_t v2 = read_limit("/sys/fs/cgroup/memory.max");
    uint64_t v1 = read_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    uint64_t limit = v2 < v1 ? v2 : v1;
    if (physical == 0) {
        physical = (uint64_t)GIBIBYTE; /* a system that will not say: assume little */
    }
    return physical < limit ? physical : limit;
}

/* ---- headers */

/* They describe one connection or one body, and copying them would break the message they land in.
 */
static const char *const unforwardable[] = {
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
};

bool weir_conf__is_header_name(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (!isalnum(c) && strchr("!#$%&'*+-.^_`|~", c) == NULL) {
            return false;
        }
    }
    return s.n > 0 && s.n <= 256;
}

bool weir_conf__is_unforwardable(struct weir_slice name)
{
    for (size_t i = 0; i < sizeof unforwardable / sizeof *unforwardable; i++) {
        if (weir_slice_eq_cstr(name, unforwardable[i])) {
            return true;
        }
    }
    return false;
}

static struct weir_conf_text to_lower(struct weir_conf_reader *r, struct weir_conf_text text)
{
    char *copy = weir_arena_alloc(r->arena, text.s.n + 1);
    for (size_t i = 0; i <= text.s.n; i++) {
        copy[i] = (char)tolower((unsigned char)text.s.p[i]);
    }
    text.s.p = copy;
    return text;
}

static bool has_header(const struct weir_conf_list *list, struct weir_slice name)
{
    for (size_t i = 0; i < list->n; i++) {
        if (weir_slice_eq(list->items[i].s, name)) {
            return true;
        }
    }
    return false;
}

static bool check_header(struct weir_conf_reader *r, const struct weir_conf_text *name)
{
    struct weir_conf_node at = {.line = name->at.line};
    if (!weir_conf__is_header_name(name->s)) {
        weir_conf__error(r, &at, "%s is not a header name", weir_conf__name(r, name->s));
        return false;
    }
    if (weir_conf__is_unforwardable(name->s)) {
        /* content-type stands in files that the public orchestrator is run with every day */
        bool is_common = weir_slice_eq_cstr(name->s, "content-type");
        enum weir_conf_severity severity =
            r->is_lenient || is_common ? WEIR_CONF_WARNING : WEIR_CONF_ERROR;
        weir_conf_problems_add(r->problems, severity, name->at,
                               "header `%s` belongs to one message and cannot be passed through",
                               name->s.p);
        return false;
    }
    return true;
}

void weir_conf__headers_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                void *conf)
{
    (void)conf;
    struct weir_conf_list all = weir_conf__want_texts(r, n, "passthrough_headers", MAX_HEADERS);
    struct weir_conf_text *kept = weir_arena_array(r->arena, all.n, sizeof *kept);
    struct weir_conf_list *list = &r->conf->passthrough_headers;
    list->items = kept;
    for (size_t i = 0; i < all.n; i++) {
        struct weir_conf_text name = to_lower(r, all.items[i]);
        if (check_header(r, &name) && !has_header(list, name.s)) {
            kept[list->n++] = name;
        }
    }
}

/* ---- the root */

static const char *const compat_words[] = {"adr", "fms", NULL};
static const char *const read_along_words[] = {"off", "on", NULL};
static const char *const aggregation_words[] = {"max_processed_index", "aligned",
                                                "min_processed_index", NULL};

const char *weir_conf_aggregation_name(enum weir_conf_aggregation aggregation)
{
    return aggregation_words[aggregation];
}

/* A secret that stands in a variable of the environment. */
static void read_secret(struct weir_conf_reader *r, const struct weir_conf_node *n, const char *key,
                        struct weir_conf_text *name, struct weir_slice *secret)
{
    enum { LEAST_BYTES = 16 };
    const char *value = weir_conf__want_env(r, n, key, name);
    if (value != NULL && strlen(value) < LEAST_BYTES) {
        weir_conf__error(r, n, "the key in %s is too short: at least %d characters, random ones",
                         weir_conf__name(r, name->s), LEAST_BYTES);
    } else if (value != NULL) {
        *secret = weir_arena_dup(r->arena, weir_slice_cstr(value));
    }
}

static void on_seal_key_env(struct weir_conf_reader *r, const struct weir_conf_node *n,
                            void *target)
{
    struct weir_conf *conf = target;
    read_secret(r, n, "seal_key_env", &conf->seal_key_env, &conf->seal_key);
}

static void on_id_key_env(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf *conf = target;
    read_secret(r, n, "id_key_env", &conf->id_key_env, &conf->id_key);
}

static void on_compat(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf *conf = target;
    int word = weir_conf__want_word(r, n, "compat", compat_words);
    if (word == WEIR_CONF_FMS) {
        conf->compat = WEIR_CONF_FMS;
        weir_conf__warn(r, n, "`compat: fms` lets requests without detectors pass unguarded");
    }
}

/* Queue routing through a private sidecar does not exist here; switched off it can stay. */
static void on_router(struct weir_conf_reader *r, const struct weir_conf_node *n, void *conf)
{
    (void)conf;
    const struct weir_conf_node *enabled =
        n->kind == WEIR_CONF_MAPPING ? weir_conf__get(n, "enabled") : NULL;
    bool value = false;
    if (enabled != NULL && weir_conf__as_bool(enabled, &value) && !value) {
        weir_conf__warn(r, n, "`router` is not supported; with `enabled: false` it is ignored");
        return;
    }
    weir_conf__error(r, n, "`router` is not supported: remove it or write `enabled: false`");
}

/* In an order in which every section finds what it names. */
#define ROOT struct weir_conf
static const struct weir_conf_key root_keys[] = {
    WEIR_CONF_KEY_CALL("compat", on_compat),
    WEIR_CONF_KEY_CALL("tls", weir_conf__tls_section),
    WEIR_CONF_KEY_CALL("openai", weir_conf__openai_section),
    WEIR_CONF_KEY_CALL("chat_generation", weir_conf__chat_generation_section),
    WEIR_CONF_KEY_CALL("chat_completions", weir_conf__chat_completions_section),
    WEIR_CONF_KEY_CALL("generation", weir_conf__generation_section),
    WEIR_CONF_KEY_CALL("providers", weir_conf__providers_section),
    WEIR_CONF_KEY_CALL("models", weir_conf__models_section),
    WEIR_CONF_KEY_CALL("chunkers", weir_conf__chunkers_section),
    WEIR_CONF_KEY(ROOT, read_along, ENUM, .words = read_along_words),
    WEIR_CONF_KEY_CALL("detectors", weir_conf__detectors_section),
    WEIR_CONF_KEY_CALL("cache", weir_conf__cache_section),
    WEIR_CONF_KEY_CALL("passthrough_headers", weir_conf__headers_section),
    WEIR_CONF_KEY(ROOT, rewrite_forwarded_access_header, BOOL),
    WEIR_CONF_KEY_CALL("seal_key_env", on_seal_key_env),
    WEIR_CONF_KEY_CALL("id_key_env", on_id_key_env),
    WEIR_CONF_KEY(ROOT, detector_concurrent_requests, U32, .min = 1, .max = 10000),
    WEIR_CONF_KEY(ROOT, chunker_concurrent_requests, U32, .min = 1, .max = 10000),
    WEIR_CONF_KEY(ROOT, aggregation, ENUM, .words = aggregation_words),
    WEIR_CONF_KEY_CALL("streaming", weir_conf__streaming_section),
    WEIR_CONF_KEY_CALL("routes", weir_conf__routes_section),
    WEIR_CONF_KEY(ROOT, public_api, BOOL),
    WEIR_CONF_KEY(ROOT, playground, BOOL),
    WEIR_CONF_KEY(ROOT, trust_traceparent, BOOL),
    WEIR_CONF_KEY_CALL("auth", weir_conf__auth_section),
    WEIR_CONF_KEY_CALL("cors", weir_conf__cors_section),
    WEIR_CONF_KEY_CALL("audit", weir_conf__audit_section),
    WEIR_CONF_KEY_CALL("limits", weir_conf__limits_section),
    WEIR_CONF_KEY_CALL("router", on_router),
};
#undef ROOT
static const struct weir_conf_object root_object = {WEIR_CONF_OBJECT(root_keys)};

static void set_defaults(struct weir_conf *conf)
{
    conf->detector_concurrent_requests = 5;
    conf->chunker_concurrent_requests = 5;
    conf->public_api = true;
    conf->read_along = WEIR_CONF_READ_ON;
    weir_conf__streaming_defaults(&conf->streaming);
    weir_conf__limits_defaults(&conf->limits);
    weir_conf__cache_defaults(&conf->cache);
}

void weir_conf__root(struct weir_conf_reader *r, const struct weir_conf_node *n)
{
    set_defaults(r->conf);
    if (n->kind != WEIR_CONF_MAPPING) {
        weir_conf__error(r, n, "the file must be a mapping of sections, not %s",
                         weir_conf__describe(r->scratch, n));
        return;
    }
    const struct weir_conf_node *compat = weir_conf__get(n, "compat");
    r->is_lenient = compat != NULL && weir_slice_eq_cstr(compat->text, "fms");
    weir_conf__decode(r, &root_object, n, r->conf);
    weir_conf__add_whole_doc(r);
    if (!r->has_memory_limit) {
#define SHARE_DEFAULT(key, default_, ...) r->conf->limits.key = share_of_memory(r, (default_));
        WEIR_CONF_LIMITS(NO_DEFAULT, NO_DEFAULT, NO_DEFAULT, SHARE_DEFAULT)
    }
    if (r->conf->limits.max_json_nodes == 0) {
        uint64_t n_nodes = r->conf->limits.max_body_bytes / DEFAULT_BYTES_PER_NODE;
        r->conf->limits.max_json_nodes = (uint32_t)n_nodes;
    }
    const struct weir_conf_node *limits = weir_conf__get(n, "limits");
    join_stream_buffers(r,
                        limits != NULL ? weir_conf__get(limits, "max_stream_buffer_bytes") : NULL);
}
