/* The `streaming:` section, and how its layers are put over each other. */
#include "conf/conf_stream.h"

#include "base/glob.h"
#include "conf/conf_sections.h"

enum {
    MAX_CHARS = 65536,
    MAX_LATENCY_MS = 10000,
    HOUR_MS = 3600 * 1000,
    MAX_FIELDS = 64,
    MAX_MODELS = 256,
    MAX_GLOB_BYTES = 256,
    MAX_TOKENS = 1000000000,
    MAX_MODEL_BYTES = 1024, /* longer names match no glob: they are not model names */
};

#define MEBIBYTE (1024.0 * 1024.0)

#define INT(field, min_, max_) WEIR_CONF_KEY(T, field, U32, .min = (min_), .max = (max_))
#define BOOL(field) WEIR_CONF_KEY(T, field, BOOL)

/* Rows of base/stream_options.h as keys, T being the struct. */
#define NUMBER_KEY(key, member, default_, least, most, ...) INT(key, least, most),
#define AUTO_KEY(key, member, default_, least, most, ...)                                          \
    WEIR_CONF_KEY(T, key, U32, .min = (least), .max = (most), .word = "auto"),
#define FLAG_KEY(key, ...) BOOL(key),
#define WORD_KEY(key, member, tag, ...)                                                            \
    WEIR_CONF_KEY(T, key, ENUM, .words = (const char *const[]){WEIR_WORDS_##tag, NULL}),
#define LIST_KEY(key, ...) WEIR_CONF_KEY(T, key, CALL, .call = on_##key),

#define LIST_CALL(key, ...)                                                                        \
    static void on_##key(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target) \
    {                                                                                              \
        struct weir_conf_batching *b = target;                                                     \
        b->key = weir_conf__want_texts(r, n, #key, MAX_FIELDS);                                    \
    }
#define NOTHING(...)
WEIR_STREAM_JOINING(NOTHING, NOTHING, NOTHING, LIST_CALL)

#define T struct weir_conf_reasoning
static const struct weir_conf_key reasoning_keys[] = {WEIR_STREAM_REASONING(NUMBER_KEY)};
#undef T
static const struct weir_conf_object reasoning_object = {WEIR_CONF_OBJECT(reasoning_keys),
                                                         .has_set = true};

#define T struct weir_conf_batching
/* clang-format off */
static const struct weir_conf_key batching_keys[] = {
    WEIR_STREAM_PACE(NUMBER_KEY, AUTO_KEY, FLAG_KEY, WORD_KEY)
    WEIR_STREAM_JOINING(NUMBER_KEY, FLAG_KEY, WORD_KEY, LIST_KEY)
    WEIR_CONF_KEY(T, reasoning, OBJECT, .object = &reasoning_object),
};
/* clang-format on */
#undef T
static const struct weir_conf_object batching_object = {WEIR_CONF_OBJECT(batching_keys),
                                                        .has_set = true};

#define T struct weir_conf_coalescer
static const struct weir_conf_key coalescer_keys[] = {
    WEIR_STREAM_COALESCER(NUMBER_KEY, FLAG_KEY, WORD_KEY)};
#undef T
static const struct weir_conf_object coalescer_object = {WEIR_CONF_OBJECT(coalescer_keys),
                                                         .has_set = true};

#define T struct weir_conf_dedup
static const struct weir_conf_key dedup_keys[] = {WEIR_STREAM_DEDUP(NUMBER_KEY, WORD_KEY)};
#undef T
static const struct weir_conf_object dedup_object = {WEIR_CONF_OBJECT(dedup_keys), .has_set = true};

static void on_batching(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_stream_policy *p = target;
    if (weir_conf__want_mapping(r, n, "batching")) {
        p->batching.at = weir_conf__pos(r, n);
        weir_conf__decode(r, &batching_object, n, &p->batching);
    }
}

static void on_coalescer(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_stream_policy *p = target;
    if (weir_conf__want_mapping(r, n, "coalescer")) {
        p->coalescer.at = weir_conf__pos(r, n);
        weir_conf__decode(r, &coalescer_object, n, &p->coalescer);
    }
}

static void on_dedup(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_stream_policy *p = target;
    if (weir_conf__want_mapping(r, n, "dedup")) {
        p->dedup.at = weir_conf__pos(r, n);
        weir_conf__decode(r, &dedup_object, n, &p->dedup);
    }
}

static const struct weir_conf_key policy_keys[] = {
    WEIR_CONF_KEY_CALL("batching", on_batching),
    WEIR_CONF_KEY_CALL("coalescer", on_coalescer),
    WEIR_CONF_KEY_CALL("dedup", on_dedup),
};
const struct weir_conf_object weir_conf__stream_policy = {WEIR_CONF_OBJECT(policy_keys)};

#define T struct weir_conf_max_tokens
static const struct weir_conf_key max_tokens_keys[] = {
    WEIR_CONF_KEY_AS("default", T, fallback, U32, .min = 1, .max = MAX_TOKENS),
    INT(cap, 1, MAX_TOKENS),
};
#undef T
static const struct weir_conf_object max_tokens_object = {WEIR_CONF_OBJECT(max_tokens_keys)};

void weir_conf__read_max_tokens(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                struct weir_conf_max_tokens *out)
{
    if (!weir_conf__want_mapping(r, n, "max_tokens")) {
        return;
    }
    weir_conf__decode(r, &max_tokens_object, n, out);
    if (out->cap != 0 && out->fallback > out->cap) {
        weir_conf__error(r, n, "`max_tokens.default` (%u) must not exceed `cap` (%u)",
                         out->fallback, out->cap);
    }
}

static void on_model_max_tokens(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                void *target)
{
    struct weir_conf_stream_model *model = target;
    weir_conf__read_max_tokens(r, n, &model->max_tokens);
}

/* Dedup works on what comes in, before the model's glob could be asked for. */
static const struct weir_conf_key model_keys[] = {
    WEIR_CONF_KEY_CALL("batching", on_batching),
    WEIR_CONF_KEY_CALL("coalescer", on_coalescer),
    WEIR_CONF_KEY_CALL("max_tokens", on_model_max_tokens),
};
static const struct weir_conf_object model_object = {WEIR_CONF_OBJECT(model_keys)};

static void read_model(struct weir_conf_reader *r, const struct weir_conf_member *m,
                       struct weir_conf_stream_model *out)
{
    out->glob = weir_conf__keep(r, m->key);
    if (m->key->text.n == 0 || m->key->text.n > MAX_GLOB_BYTES) {
        weir_conf__error(r, m->key, "a model pattern has 1 to %d bytes", MAX_GLOB_BYTES);
    }
    if (m->value->kind != WEIR_CONF_MAPPING) {
        weir_conf__error(r, m->value, "%s must be a mapping, not %s",
                         weir_conf__name(r, m->key->text),
                         weir_conf__describe(r->scratch, m->value));
        return;
    }
    weir_conf__decode(r, &model_object, m->value, out);
}

static void on_models(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_streaming *s = target;
    if (!weir_conf__want_mapping(r, n, "models")) {
        return;
    }
    if (n->n > MAX_MODELS) {
        weir_conf__error(r, n, "`models` has %zu patterns, more than %d", n->n, MAX_MODELS);
        return;
    }
    struct weir_conf_stream_model *models = weir_arena_array(r->arena, n->n, sizeof *models);
    for (size_t i = 0; i < n->n; i++) {
        read_model(r, &n->members[i], &models[i]);
    }
    s->models = models;
    s->n_models = n->n;
}

#define T struct weir_conf_request_override
static const struct weir_conf_key override_keys[] = {
    BOOL(enabled),
    INT(max_latency_ms, 0, MAX_LATENCY_MS),
    INT(min_chars_per_emit, 1, MAX_CHARS),
};
#undef T
static const struct weir_conf_object override_object = {WEIR_CONF_OBJECT(override_keys)};

/* `policy` comes first in these, so that its keys can share the handlers above. */
_Static_assert(offsetof(struct weir_conf_streaming, policy) == 0, "policy must come first");
_Static_assert(offsetof(struct weir_conf_stream_model, policy) == 0, "policy must come first");

/* has_set in the tables above relies on these. */
_Static_assert(offsetof(struct weir_conf_batching, set) == 0, "set must come first");
_Static_assert(offsetof(struct weir_conf_reasoning, set) == 0, "set must come first");
_Static_assert(offsetof(struct weir_conf_coalescer, set) == 0, "set must come first");
_Static_assert(offsetof(struct weir_conf_dedup, set) == 0, "set must come first");

#define T struct weir_conf_streaming
static const struct weir_conf_key streaming_keys[] = {
    WEIR_CONF_KEY_CALL("batching", on_batching),
    WEIR_CONF_KEY_CALL("coalescer", on_coalescer),
    WEIR_CONF_KEY_CALL("dedup", on_dedup),
    INT(heartbeat_ms, 0, HOUR_MS),
    WEIR_CONF_KEY(T, max_stream_buffer_bytes, U64, .min = 4096, .max = 1024 * MEBIBYTE),
    WEIR_CONF_KEY_CALL("models", on_models),
    WEIR_CONF_KEY(T, request_override, OBJECT, .object = &override_object),
};
#undef T
static const struct weir_conf_object streaming_object = {WEIR_CONF_OBJECT(streaming_keys)};

void weir_conf__streaming_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                  void *conf)
{
    (void)conf;
    if (!weir_conf__want_mapping(r, n, "streaming")) {
        return;
    }
    weir_conf__decode(r, &streaming_object, n, &r->conf->streaming);
    const struct weir_conf_node *buffer = weir_conf__get(n, "max_stream_buffer_bytes");
    if (buffer != NULL && !weir_conf__is_null(buffer)) {
        r->stream_buffer_at = weir_conf__pos(r, buffer);
    }
}

#define NUMBER_DEFAULT(key, member, default_, ...) .key = (default_),
#define FLAG_DEFAULT(key, member, default_, ...) .key = (default_),
#define WORD_DEFAULT(key, member, tag, default_, ...) .key = (default_),
#define LIST_DEFAULT(key, member, default_, ...)                                                   \
    .key = {(const struct weir_conf_text[]){{.s = {(default_), sizeof(default_) - 1}}},            \
            sizeof(default_) > 1},

static const struct weir_conf_streaming defaults = {
    .policy =
        {
            /* clang-format off */
            .batching = {
                WEIR_STREAM_PACE(NUMBER_DEFAULT, NUMBER_DEFAULT, FLAG_DEFAULT, WORD_DEFAULT)
                WEIR_STREAM_JOINING(NUMBER_DEFAULT, FLAG_DEFAULT, WORD_DEFAULT, LIST_DEFAULT)
            },
            /* clang-format on */
            .coalescer = {WEIR_STREAM_COALESCER(NUMBER_DEFAULT, FLAG_DEFAULT, WORD_DEFAULT)},
            .dedup = {WEIR_STREAM_DEDUP(NUMBER_DEFAULT, WORD_DEFAULT)},
        },
    .heartbeat_ms = 15000,
    .max_stream_buffer_bytes = 1048576,
    .request_override = {.enabled = true, .max_latency_ms = 1000, .min_chars_per_emit = 4096},
};

void weir_conf__streaming_defaults(struct weir_conf_streaming *streaming)
{
    *streaming = defaults;
}

struct weir_conf_stream_policy weir_conf__stream_lay(const struct weir_conf_stream_policy *under,
                                                     const struct weir_conf_stream_policy *over)
{
    struct weir_conf_stream_policy p = *under;
    if (over != NULL) {
        weir_conf__overlay(&batching_object, &p.batching, &over->batching);
        weir_conf__overlay(&coalescer_object, &p.coalescer, &over->coalescer);
        weir_conf__overlay(&dedup_object, &p.dedup, &over->dedup);
    }
    return p;
}

/* Bits of weir_conf_reasoning.set, in the order of its table. */
enum { REASONING_HAS_CHARS = 1, REASONING_HAS_LATENCY = 2 };

static void fill_reasoning(struct weir_conf_batching *b)
{
    struct weir_conf_reasoning *r = &b->reasoning;
    r->inherits_min_chars = !(r->set & REASONING_HAS_CHARS);
    r->inherits_max_latency = !(r->set & REASONING_HAS_LATENCY);
    if (r->inherits_min_chars) {
        r->min_chars_per_emit = b->min_chars_per_emit;
    }
    if (r->inherits_max_latency) {
        r->max_latency_ms = b->max_latency_ms;
    }
}

const struct weir_conf_stream_model *
weir_conf_stream_match(const struct weir_conf_streaming *streaming, struct weir_slice model)
{
    const struct weir_conf_stream_model *best = NULL;
    for (size_t i = 0; i < streaming->n_models && model.n <= MAX_MODEL_BYTES; i++) {
        const struct weir_conf_stream_model *m = &streaming->models[i];
        if ((best == NULL || m->glob.s.n > best->glob.s.n) && weir_glob_match(m->glob.s, model)) {
            best = m;
        }
    }
    return best;
}

struct weir_conf_stream_policy weir_conf_stream_resolve(const struct weir_conf_streaming *streaming,
                                                        const struct weir_conf_stream_policy *route,
                                                        const struct weir_conf_stream_model *match)
{
    struct weir_conf_stream_policy p = weir_conf__stream_lay(&streaming->policy, route);
    p = weir_conf__stream_lay(&p, match != NULL ? &match->policy : NULL);
    fill_reasoning(&p.batching);
    return p;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

struct weir_conf_max_tokens weir_conf_stream_max_tokens(const struct weir_conf_streaming *streaming,
                                                        const struct weir_conf_max_tokens *route,
                                                        struct weir_slice model)
{
    const struct weir_conf_stream_model *match = weir_conf_stream_match(streaming, model);
    struct weir_conf_max_tokens out = route != NULL ? *route : (struct weir_conf_max_tokens){0};
    if (match != NULL) {
        out.fallback = match->max_tokens.fallback != 0 ? match->max_tokens.fallback : out.fallback;
        out.cap = smaller(out.cap, match->max_tokens.cap);
    }
    if (out.fallback != 0) {
        out.fallback = smaller(out.fallback, out.cap);
    }
    return out;
}
