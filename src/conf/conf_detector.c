/*
 * Chunkers and detectors: each remote (a service) or built in (a name). Ids are registered even
 * when their entry has problems, so that one mistake is not reported again wherever it is named.
 */
#include "conf/conf_sections.h"

enum {
    CHUNKER_PORT = 8085,
    DETECTOR_PORT = 8080,
    MAX_ID_BYTES = 256,
};

static const char whole_doc_id[] = "whole_doc_chunker";
static const char whole_doc_kind[] = "whole_doc";
static const char window_id[] = "window_chunker";

/* Ids travel in headers (detector-id, mm-model-id): printable, no space at the ends. */
static void check_id(struct weir_conf_reader *r, const struct weir_conf_node *key, const char *what)
{
    struct weir_slice id = key->text;
    bool is_good = id.n > 0 && id.n <= MAX_ID_BYTES && weir_slice_trim(id).n == id.n;
    for (size_t i = 0; i < id.n && is_good; i++) {
        unsigned char c = (unsigned char)id.p[i];
        is_good = c >= ' ' && c != 0x7f;
    }
    if (!is_good) {
        weir_conf__error(r, key,
                         "%s is not a %s id: 1 to %d bytes, no control characters, no space at "
                         "the ends",
                         weir_conf__name(r, id), what, MAX_ID_BYTES);
    }
}

static bool is_entry(struct weir_conf_reader *r, const struct weir_conf_node *key,
                     const struct weir_conf_node *n)
{
    if (n->kind == WEIR_CONF_MAPPING) {
        return true;
    }
    if (!n->is_broken) {
        weir_conf__error(r, n, "%s must be a mapping, not %s", weir_conf__name(r, key->text),
                         weir_conf__describe(r->scratch, n));
    }
    return false;
}

/* Exactly one of `service` and `builtin`. */
static void check_origin(struct weir_conf_reader *r, const struct weir_conf_node *n,
                         struct weir_slice id)
{
    bool has_service = weir_conf__get(n, "service") != NULL;
    bool has_builtin = weir_conf__get(n, "builtin") != NULL;
    if (has_service && has_builtin) {
        weir_conf__error(r, n, "%s has both `service` and `builtin`: keep one",
                         weir_conf__name(r, id));
    } else if (!has_service && !has_builtin) {
        weir_conf__error(r, n, "%s needs a `service` or a `builtin`", weir_conf__name(r, id));
    }
}

/* ---- chunkers */

static const char *const builtin_chunkers[] = {"sentence", "paragraph", "window", "whole_doc",
                                               NULL};

static bool is_whole_doc(const struct weir_conf_chunker *c)
{
    return weir_slice_eq_cstr(c->builtin.s, whole_doc_kind);
}

static const char *const chunker_types[] = {"sentence", "all", NULL};

static void on_chunker_type(struct weir_conf_reader *r, const struct weir_conf_node *n,
                            void *target)
{
    (void)target; /* says what the remote service does; nothing depends on it */
    weir_conf__want_word(r, n, "type", chunker_types);
}

static void on_chunker_service(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *target)
{
    struct weir_conf_chunker *c = target;
    c->service = weir_conf__service(r, n, "service", CHUNKER_PORT);
}

static void on_chunker_builtin(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *target)
{
    struct weir_conf_chunker *c = target;
    if (weir_conf__want_word(r, n, "builtin", builtin_chunkers) >= 0) {
        c->builtin = weir_conf__keep(r, n);
    }
}

static void on_chunker_params(struct weir_conf_reader *r, const struct weir_conf_node *n,
                              void *target)
{
    struct weir_conf_chunker *c = target;
    if (weir_conf__want_mapping(r, n, "params")) {
        c->params = weir_conf__json(r, n, NULL);
        c->params_at = weir_conf__pos(r, n);
    }
}

/* Read by read_short_params. */
static void on_short_param(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    (void)r;
    (void)n;
    (void)target;
}

static const struct weir_conf_key chunker_keys[] = {
    WEIR_CONF_KEY_CALL("type", on_chunker_type),
    WEIR_CONF_KEY_CALL("service", on_chunker_service),
    WEIR_CONF_KEY_CALL("builtin", on_chunker_builtin),
    WEIR_CONF_KEY_CALL("params", on_chunker_params),
    WEIR_CONF_KEY_CALL("size", on_short_param),
    WEIR_CONF_KEY_CALL("overlap", on_short_param),
};
static const struct weir_conf_object chunker_object = {WEIR_CONF_OBJECT(chunker_keys)};

/* `size` and `overlap` beside `builtin` are parameters, too: windows were written so first. */
static void read_short_params(struct weir_conf_reader *r, const struct weir_conf_node *n,
                              struct weir_conf_chunker *c)
{
    static const char *const names[] = {"size", "overlap"};
    struct weir_conf_member members[2];
    struct weir_conf_node all = {.kind = WEIR_CONF_MAPPING, .line = n->line, .members = members};
    for (size_t i = 0; i < n->n; i++) {
        for (size_t k = 0; k < 2 && all.n < 2; k++) {
            if (weir_slice_eq_cstr(n->members[i].key->text, names[k])) {
                members[all.n++] = n->members[i];
            }
        }
    }
    if (all.n == 0) {
        return;
    }
    if (weir_conf__get(n, "params") != NULL) {
        weir_conf__error(r, n, "`size` and `overlap` stand in `params` or beside it: keep one");
    }
    c->params = weir_conf__json(r, &all, NULL);
}

static void check_chunker_params(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                 const struct weir_conf_chunker *c)
{
    if (c->service != NULL && !weir_slice_eq(c->params, WEIR_SLICE("{}"))) {
        weir_conf__error(r, n, "parameters belong to built-in chunkers");
    }
}

static void read_chunker(struct weir_conf_reader *r, const struct weir_conf_node *key,
                         const struct weir_conf_node *n, struct weir_conf_chunker *c)
{
    check_id(r, key, "chunker");
    c->id = weir_conf__keep(r, key);
    c->params = WEIR_SLICE("{}");
    c->params_at = c->id.at;
    if (!is_entry(r, key, n)) {
        return;
    }
    weir_conf__decode(r, &chunker_object, n, c);
    check_origin(r, n, c->id.s);
    read_short_params(r, n, c);
    check_chunker_params(r, n, c);
    if (weir_slice_eq_cstr(c->id.s, whole_doc_id) && !is_whole_doc(c)) {
        weir_conf__error(r, key, "`%s` is built in and means the whole text", whole_doc_id);
    }
}

void weir_conf__chunkers_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                 void *conf)
{
    (void)conf;
    if (!weir_conf__want_mapping(r, n, "chunkers")) {
        return;
    }
    struct weir_conf_chunker *all = weir_arena_array(r->arena, n->n, sizeof *all);
    for (size_t i = 0; i < n->n; i++) {
        read_chunker(r, n->members[i].key, n->members[i].value, &all[i]);
        weir_map_put(&r->conf->chunkers_by_id, all[i].id.s, &all[i]);
    }
    r->conf->chunkers = all;
    r->conf->n_chunkers = n->n;
}

/* One that is there without being written. Before the first detector: they point to chunkers. */
static void add_chunker(struct weir_conf_reader *r, const struct weir_conf_chunker *chunker)
{
    struct weir_conf *conf = r->conf;
    if (weir_map_has(&conf->chunkers_by_id, chunker->id.s)) {
        return;
    }
    struct weir_conf_chunker *all = weir_arena_array(r->arena, conf->n_chunkers + 1, sizeof *all);
    for (size_t i = 0; i < conf->n_chunkers; i++) {
        all[i] = conf->chunkers[i];
        weir_map_put(&conf->chunkers_by_id, all[i].id.s, &all[i]);
    }
    all[conf->n_chunkers] = *chunker;
    weir_map_put(&conf->chunkers_by_id, chunker->id.s, &all[conf->n_chunkers]);
    conf->chunkers = all;
    conf->n_chunkers++;
}

void weir_conf__add_whole_doc(struct weir_conf_reader *r)
{
    struct weir_conf_chunker chunker = {.id = {.s = weir_slice_cstr(whole_doc_id)},
                                        .builtin = {.s = weir_slice_cstr(whole_doc_kind)},
                                        .params = WEIR_SLICE("{}")};
    add_chunker(r, &chunker);
}

/* For built-in detectors without a `chunker_id` that do not read along. */
static void add_windows(struct weir_conf_reader *r)
{
    struct weir_conf_chunker chunker = {.id = {.s = weir_slice_cstr(window_id)},
                                        .builtin = {.s = WEIR_SLICE("window")},
                                        .params = WEIR_SLICE("{\"size\":400,\"overlap\":64}")};
    add_chunker(r, &chunker);
}

/* ---- detectors */

static const char *const builtin_detectors[] = {
    "regex", "secrets", "file_type", "keywords", "unicode", "prompt_injection", "links", NULL};
/* Those that read along with streams, and those that are shown whole texts where they do not. */
static const char *const reading_detectors[] = {"regex",    "secrets",          "unicode", "links",
                                                "keywords", "prompt_injection", NULL};
static const char *const whole_detectors[] = {"file_type", "prompt_injection", NULL};
static const char *const detector_types[] = {"text_contents", "text_chat", "text_context_doc",
                                             "text_generation", NULL};

static void on_detector_service(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                void *target)
{
    struct weir_conf_detector *d = target;
    d->service = weir_conf__service(r, n, "service", DETECTOR_PORT);
}

static void on_detector_health(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *target)
{
    struct weir_conf_detector *d = target;
    d->health_service = weir_conf__service(r, n, "health_service", DETECTOR_PORT);
}

static void on_detector_builtin(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                void *target)
{
    struct weir_conf_detector *d = target;
    d->builtin = weir_conf__keep(r, n);
    weir_conf__want_word(r, n, "builtin", builtin_detectors);
}

static void on_detector_params(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *target)
{
    struct weir_conf_detector *d = target;
    if (weir_conf__want_mapping(r, n, "params")) {
        d->params = weir_conf__json(r, n, NULL);
        d->params_at = weir_conf__pos(r, n);
    }
}

static void on_detector_chunker(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                void *target)
{
    struct weir_conf_detector *d = target;
    if (!weir_conf__want_text(r, n, "chunker_id")) {
        return;
    }
    d->chunker = weir_map_get(&r->conf->chunkers_by_id, n->text);
    if (d->chunker != NULL) {
        return;
    }
    struct weir_conf_near near;
    weir_conf__near(r, &near, n->text);
    for (size_t i = 0; i < r->conf->n_chunkers; i++) {
        weir_conf_near_offer(&near, r->conf->chunkers[i].id.s);
    }
    weir_conf__error(r, n, "chunker %s does not exist%s", weir_conf__name(r, n->text),
                     weir_conf__hint(r, &near));
}

static const char *const presets[] = {"custom", "qwen3guard", NULL};
static const char *const modes[] = {"enforce", "shadow", NULL};
static const char *const on_error_words[] = {"fail", "skip", NULL};
static const char *const activations[] = {"none", "softmax", "sigmoid", NULL};

#define T struct weir_conf_detector
static const struct weir_conf_key detector_keys[] = {
    WEIR_CONF_KEY(T, type, ENUM, .words = detector_types),
    WEIR_CONF_KEY(T, protocol, ENUM, .words = weir_conf__protocols),
    WEIR_CONF_KEY_CALL("service", on_detector_service),
    WEIR_CONF_KEY_CALL("provider", weir_conf__on_detector_provider),
    WEIR_CONF_KEY_CALL("health_service", on_detector_health),
    WEIR_CONF_KEY_CALL("labels", weir_conf__on_labels),
    WEIR_CONF_KEY(T, model, TEXT),
    WEIR_CONF_KEY(T, language, TEXT),
    WEIR_CONF_KEY_CALL("entities", weir_conf__on_entities),
    WEIR_CONF_KEY(T, input_name, TEXT),
    WEIR_CONF_KEY(T, output_name, TEXT),
    WEIR_CONF_KEY(T, activation, ENUM, .words = activations),
    WEIR_CONF_KEY(T, api_version, TEXT),
    WEIR_CONF_KEY(T, shield, BOOL),
    WEIR_CONF_KEY(T, preset, ENUM, .words = presets),
    WEIR_CONF_KEY_CALL("messages", weir_conf__on_messages),
    WEIR_CONF_KEY(T, verdict, TEXT),
    WEIR_CONF_KEY_CALL("positive", weir_conf__on_positive),
    WEIR_CONF_KEY(T, batch, OBJECT, .object = &weir_conf__batch_object),
    WEIR_CONF_KEY(T, max_concurrent, U32, .min = 1, .max = 100000),
    WEIR_CONF_KEY(T, max_waiting, U32, .min = 0, .max = 1000000),
    WEIR_CONF_KEY_AS("timeout", T, timeout_ms, SECONDS, .min = 0.001, .max = 86400),
    WEIR_CONF_KEY(T, on_error, ENUM, .words = on_error_words),
    WEIR_CONF_KEY(T, breaker, BOOL),
    WEIR_CONF_KEY_CALL("builtin", on_detector_builtin),
    WEIR_CONF_KEY_CALL("params", on_detector_params),
    WEIR_CONF_KEY_CALL("chunker_id", on_detector_chunker),
    WEIR_CONF_KEY(T, default_threshold, NUMBER, .min = 0, .max = 1),
    WEIR_CONF_KEY(T, cache, BOOL),
    WEIR_CONF_KEY(T, mode, ENUM, .words = modes),
    WEIR_CONF_KEY_IGNORED("model_id"),
};
#undef T
static const struct weir_conf_object detector_object = {WEIR_CONF_OBJECT(detector_keys)};

static void check_builtin(struct weir_conf_reader *r, const struct weir_conf_node *n,
                          const struct weir_conf_detector *d)
{
    if (d->type != WEIR_CONF_TEXT_CONTENTS) {
        weir_conf__error(r, weir_conf__get(n, "type"),
                         "a built-in detector is of type `text_contents`, not `%s`",
                         detector_types[d->type]);
    }
    if (d->health_service != NULL) {
        weir_conf__error(r, n, "a built-in detector has no `health_service`");
    }
    if (weir_slice_eq_cstr(d->builtin.s, "file_type") && d->chunker != NULL &&
        !is_whole_doc(d->chunker)) {
        weir_conf__error(r, weir_conf__get(n, "chunker_id"),
                         "`file_type` judges whole documents: its `chunker_id` must be `%s`",
                         whole_doc_id);
    }
}

static void check_detector(struct weir_conf_reader *r, const struct weir_conf_node *n,
                           const struct weir_conf_detector *d)
{
    if (weir_conf__get(n, "provider") == NULL) {
        check_origin(r, n, d->id.s);
    } else if (weir_conf__get(n, "service") != NULL || weir_conf__get(n, "builtin") != NULL) {
        weir_conf__error(r, n, "%s has a `provider` and a `service` or `builtin`: keep one",
                         weir_conf__name(r, d->id.s));
    }
    const struct weir_conf_node *chunker_id = weir_conf__get(n, "chunker_id");
    bool has_chunker_id = chunker_id != NULL && !weir_conf__is_null(chunker_id);
    bool is_stream = d->protocol == WEIR_CONF_PROTOCOL_STREAM;
    bool reads = (d->builtin.s.p != NULL && !r->is_lenient) || is_stream;
    if (is_stream && d->type != WEIR_CONF_TEXT_CONTENTS) {
        weir_conf__error(r, weir_conf__get(n, "type"), "protocol `stream` is for `text_contents`");
    }
    if (is_stream && r->is_lenient) {
        weir_conf__error(r, weir_conf__get(n, "protocol"),
                         "protocol `stream` cannot be used with `compat: fms`");
    }
    if (d->type == WEIR_CONF_TEXT_CONTENTS && !has_chunker_id && !reads) {
        weir_conf__error(r, n, "detector %s needs a `chunker_id`", weir_conf__name(r, d->id.s));
    }
    if (d->builtin.s.p != NULL) {
        check_builtin(r, n, d);
    } else if (weir_conf__get(n, "params") != NULL && d->protocol == WEIR_CONF_PROTOCOL_FMS) {
        weir_conf__error(r, weir_conf__get(n, "params"), "`params` belongs to built-in detectors");
    }
    if (d->mode == WEIR_CONF_SHADOW && d->type != WEIR_CONF_TEXT_CONTENTS) {
        weir_conf__error(r, weir_conf__get(n, "mode"),
                         "`mode: shadow` is for detectors of type `text_contents`, not `%s`",
                         detector_types[d->type]);
    }
    if (d->mode == WEIR_CONF_SHADOW && d->on_error == WEIR_CONF_ON_ERROR_SKIP) {
        weir_conf__warn(r, weir_conf__get(n, "on_error"),
                        "`on_error` has no effect with `mode: shadow`: nothing waits for it");
    }
    weir_conf__check_protocol(r, n, d);
}

static bool is_one_of(struct weir_slice name, const char *const *names)
{
    while (*names != NULL && !weir_slice_eq_cstr(name, *names)) {
        names++;
    }
    return *names != NULL;
}

/* A detector without a chunker. */
static void choose_chunker(struct weir_conf_reader *r, struct weir_conf_detector *d)
{
    if (d->protocol == WEIR_CONF_PROTOCOL_STREAM && d->builtin.s.p == NULL) {
        d->reads_along = true;
        d->chunker = weir_map_get(&r->conf->chunkers_by_id, weir_slice_cstr(whole_doc_id));
        return;
    }
    if (d->builtin.s.p == NULL || d->chunker != NULL || d->type != WEIR_CONF_TEXT_CONTENTS) {
        return;
    }
    bool is_whole = is_one_of(d->builtin.s, whole_detectors);
    d->reads_along =
        r->conf->read_along == WEIR_CONF_READ_ON && is_one_of(d->builtin.s, reading_detectors);
    d->chunker =
        weir_map_get(&r->conf->chunkers_by_id,
                     weir_slice_cstr(is_whole || d->reads_along ? whole_doc_id : window_id));
}

static void read_detector(struct weir_conf_reader *r, const struct weir_conf_node *key,
                          const struct weir_conf_node *n, struct weir_conf_detector *d)
{
    check_id(r, key, "detector");
    d->id = weir_conf__keep(r, key);
    d->default_threshold = 0.5;
    d->cache = true;
    d->breaker = !r->is_lenient; /* the public program has none */
    weir_conf__batch_defaults(d);
    d->params = WEIR_SLICE("{}");
    d->params_at = d->id.at;
    if (is_entry(r, key, n)) {
        weir_conf__decode(r, &detector_object, n, d);
        check_detector(r, n, d);
        choose_chunker(r, d);
    }
}

static bool needs_windows(const struct weir_conf_reader *r, const struct weir_conf_node *n)
{
    for (size_t i = 0; i < n->n; i++) {
        const struct weir_conf_node *d = n->members[i].value;
        const struct weir_conf_node *builtin =
            d->kind == WEIR_CONF_MAPPING ? weir_conf__get(d, "builtin") : NULL;
        if (builtin == NULL || weir_conf__get(d, "chunker_id") != NULL) {
            continue;
        }
        bool reads =
            r->conf->read_along == WEIR_CONF_READ_ON && is_one_of(builtin->text, reading_detectors);
        if (!reads && !is_one_of(builtin->text, whole_detectors)) {
            return true;
        }
    }
    return false;
}

void weir_conf__detectors_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                  void *conf)
{
    (void)conf;
    weir_conf__add_whole_doc(r);
    if (!weir_conf__want_mapping(r, n, "detectors")) {
        return;
    }
    if (needs_windows(r, n)) {
        add_windows(r);
    }
    struct weir_conf_detector *all = weir_arena_array(r->arena, n->n, sizeof *all);
    for (size_t i = 0; i < n->n; i++) {
        read_detector(r, n->members[i].key, n->members[i].value, &all[i]);
        weir_map_put(&r->conf->detectors_by_id, all[i].id.s, &all[i]);
    }
    r->conf->detectors = all;
    r->conf->n_detectors = n->n;
}
