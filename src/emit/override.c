#include "emit/override.h"

#include "base/err.h"

#include <stddef.h>

enum kind { NUMBER, FLAG, MODE };

struct key {
    const char *name;
    enum kind kind;
    size_t from; /* in the override */
    size_t to;   /* in the options */
    uint32_t least;
    uint32_t most;
};

#define KEY(name, kind, member, target, least, most)                                               \
    {                                                                                              \
        name, kind, offsetof(struct weir_override, member),                                        \
            offsetof(struct weir_batch_options, target), least, most                               \
    }

/* The position is the key's bit. */
static const struct key keys[] = {
    KEY("mode", MODE, mode, mode, 0, 0),
    KEY("min_chars_per_emit", NUMBER, min_chars_per_emit, min_chars_per_emit, 1, 65536),
    KEY("max_latency_ms", NUMBER, max_latency_ms, max_latency_ms, 0, 10000),
    KEY("idle_flush_ms", NUMBER, idle_flush_ms, idle_flush_ms, 0, 10000),
    KEY("ramp_factor", NUMBER, ramp_factor, ramp_factor, 0, 65536),
    KEY("ramp_initial_chars", NUMBER, ramp_initial_chars, ramp_initial_chars, 1, 65536),
    KEY("flush_on_sentence", FLAG, flush_on_sentence, flush_on_sentence, 0, 0),
    KEY("flush_on_tool_call", FLAG, flush_on_tool_call, flush_on_tool_call, 0, 0),
    KEY("first_emit_immediate", FLAG, first_emit_immediate, first_emit_immediate, 0, 0),
};

/* Inside `reasoning`; their bits follow those above. */
static const struct key reasoning_keys[] = {
    KEY("min_chars_per_emit", NUMBER, reasoning_min_chars, reasoning_min_chars, 1, 65536),
    KEY("max_latency_ms", NUMBER, reasoning_max_latency_ms, reasoning_max_latency_ms, 0, 10000),
};

enum {
    N_KEYS = sizeof keys / sizeof keys[0],
    N_REASONING_KEYS = sizeof reasoning_keys / sizeof reasoning_keys[0],
    SHOWN_MOST_BYTES = 64, /* of a caller's own text in an answer to it */
};

struct parse {
    struct weir_override *o;
    struct weir_buf *why;
    const char *where; /* for messages */
};

static struct weir_slice shown(struct weir_slice s)
{
    return weir_slice_sub(s, 0, s.n > SHOWN_MOST_BYTES ? SHOWN_MOST_BYTES : s.n);
}

static int fail(const struct parse *p, struct weir_slice name, const char *what)
{
    struct weir_slice cut = shown(name);
    (void)weir_buf_printf(p->why, "%s: %.*s %s", p->where, (int)cut.n, cut.p, what);
    return WEIR_EINVAL;
}

static void store(const struct parse *p, const struct key *key, uint32_t bit, uint32_t value)
{
    char *to = (char *)p->o + key->from;
    bool flag = value != 0;
    enum weir_batch_mode mode = (enum weir_batch_mode)value;
    p->o->set |= UINT32_C(1) << bit;
    if (key->kind == FLAG) {
        memcpy(to, &flag, sizeof flag);
    } else if (key->kind == MODE) {
        memcpy(to, &mode, sizeof mode);
    } else {
        memcpy(to, &value, sizeof value);
    }
}

static int store_number(const struct parse *p, const struct key *key, uint32_t bit, uint64_t value)
{
    if (value < key->least || value > key->most) {
        (void)weir_buf_printf(p->why, "%s: %s must be from %u to %u", p->where, key->name,
                              (unsigned)key->least, (unsigned)key->most);
        return WEIR_EINVAL;
    }
    if (key->to == offsetof(struct weir_batch_options, ramp_factor) && value == 1) {
        return fail(p, weir_slice_cstr(key->name), "must be 0 or at least 2");
    }
    store(p, key, bit, (uint32_t)value);
    return 0;
}

static bool read_mode(struct weir_slice word, uint32_t *mode)
{
    static const char *const words[] = {"off", "metrics", "on"};
    for (uint32_t i = 0; i < 3; i++) {
        if (weir_slice_eq_cstr(word, words[i])) {
            *mode = i;
            return true;
        }
    }
    return false;
}

static const struct key *find(const struct key *in, size_t n, const struct weir_json *j, uint32_t k)
{
    for (size_t i = 0; i < n; i++) {
        if (weir_json_string_eq(j, k, weir_slice_cstr(in[i].name))) {
            return &in[i];
        }
    }
    return NULL;
}

static int parse_value(const struct parse *p, const struct key *key, uint32_t bit,
                       const struct weir_json *j, uint32_t at)
{
    struct weir_slice name = weir_slice_cstr(key->name);
    enum weir_json_type type = weir_json_type(j, at);
    uint64_t number;
    uint32_t mode;
    switch (key->kind) {
    case FLAG:
        if (type != WEIR_JSON_TRUE && type != WEIR_JSON_FALSE) {
            return fail(p, name, "must be true or false");
        }
        store(p, key, bit, type == WEIR_JSON_TRUE);
        return 0;
    case MODE:
        if (type != WEIR_JSON_STRING ||
            !read_mode(weir_slice_sub(j->src, j->nodes[at].start + 1, j->nodes[at].end - 1),
                       &mode)) {
            return fail(p, name, "must be off, metrics or on");
        }
        store(p, key, bit, mode);
        return 0;
    default:
        if (type != WEIR_JSON_NUMBER || weir_json_u64(j, at, &number) != 0) {
            return fail(p, name, "must be a whole number, not negative");
        }
        return store_number(p, key, bit, number);
    }
}

static int parse_members(const struct parse *p, const struct weir_json *j, uint32_t object,
                         bool is_reasoning);

static int parse_member(const struct parse *p, const struct weir_json *j, uint32_t k,
                        bool is_reasoning)
{
    const struct key *in = is_reasoning ? reasoning_keys : keys;
    size_t n = is_reasoning ? N_REASONING_KEYS : N_KEYS;
    const struct key *key = find(in, n, j, k);
    struct weir_slice name = weir_slice_sub(j->src, j->nodes[k].start + 1, j->nodes[k].end - 1);
    if (key != NULL) {
        uint32_t bit = (uint32_t)(key - in) + (is_reasoning ? N_KEYS : 0);
        return parse_value(p, key, bit, j, k + 1);
    }
    if (is_reasoning || !weir_json_string_eq(j, k, WEIR_SLICE("reasoning"))) {
        return fail(p, name, "is not a known key");
    }
    struct parse inner = {p->o, p->why, "stream_options.batching.reasoning"};
    return parse_members(&inner, j, k + 1, true);
}

static int parse_members(const struct parse *p, const struct weir_json *j, uint32_t object,
                         bool is_reasoning)
{
    int rc = 0;
    if (weir_json_type(j, object) != WEIR_JSON_OBJECT) {
        return fail(p, WEIR_SLICE("it"), "must be an object");
    }
    for (uint32_t k = weir_json_first(j, object); k != WEIR_JSON_NONE && rc == 0;
         k = weir_json_after(j, object, k)) {
        if (weir_json_type(j, k + 1) != WEIR_JSON_NULL) {
            rc = parse_member(p, j, k, is_reasoning);
        }
    }
    return rc;
}

int weir_override_parse_body(struct weir_override *o, const struct weir_json *j, uint32_t batching,
                             struct weir_buf *why)
{
    struct parse p = {o, why, "stream_options.batching"};
    return parse_members(&p, j, batching, false);
}

/* A key of the header: as in the body, but for the short form of the first. */
static const struct key *find_header(struct weir_slice name)
{
    if (weir_slice_eq(name, WEIR_SLICE("min_chars"))) {
        name = WEIR_SLICE("min_chars_per_emit");
    }
    for (size_t i = 0; i < N_KEYS; i++) {
        if (weir_slice_eq_cstr(name, keys[i].name)) {
            return &keys[i];
        }
    }
    return NULL;
}

static int parse_pair(const struct parse *p, struct weir_slice pair)
{
    uint64_t number;
    uint32_t mode;
    struct weir_slice value = pair;
    struct weir_slice name = weir_slice_trim(weir_slice_cut(&value, '='));
    if (value.p == NULL) {
        if (!read_mode(name, &mode)) {
            return fail(p, name, "is neither a mode nor key=value");
        }
        store(p, &keys[0], 0, mode);
        return 0;
    }
    value = weir_slice_trim(value);
    const struct key *key = find_header(name);
    if (key == NULL) {
        return fail(p, name, "is not a known key");
    }
    uint32_t bit = (uint32_t)(key - keys);
    if (key->kind == MODE) {
        if (!read_mode(value, &mode)) {
            return fail(p, name, "must be off, metrics or on");
        }
        store(p, key, bit, mode);
        return 0;
    }
    if (key->kind == FLAG) {
        bool is_true = weir_slice_eq(value, WEIR_SLICE("true"));
        if (!is_true && !weir_slice_eq(value, WEIR_SLICE("false"))) {
            return fail(p, name, "must be true or false");
        }
        store(p, key, bit, is_true);
        return 0;
    }
    if (weir_slice_u64(value, &number) != 0) {
        return fail(p, name, "must be a whole number, not negative");
    }
    return store_number(p, key, bit, number);
}

int weir_override_parse_header(struct weir_override *o, struct weir_slice value,
                               struct weir_buf *why)
{
    struct parse p = {o, why, "x-stream-batching"};
    struct weir_slice rest = weir_slice_trim(value);
    int rc = 0;
    do {
        rc = parse_pair(&p, weir_slice_trim(weir_slice_cut(&rest, ';')));
    } while (rc == 0 && rest.p != NULL && rest.n != 0);
    return rc;
}

static void apply_key(const struct weir_override *o, const struct key *key,
                      struct weir_batch_options *options)
{
    size_t n = key->kind == FLAG
                   ? sizeof(bool)
                   : (key->kind == MODE ? sizeof(enum weir_batch_mode) : sizeof(uint32_t));
    memcpy((char *)options + key->to, (const char *)o + key->from, n);
}

static uint32_t at_most(uint32_t value, uint32_t most)
{
    return value != WEIR_BATCH_INHERIT && value > most ? most : value;
}

/* What was asked for is held within the operator's limits; what was not is the operator's own. */
static void clamp(const struct weir_override *o, const struct weir_override_limits *limits,
                  struct weir_override *out)
{
    *out = *o;
    out->max_latency_ms = at_most(o->max_latency_ms, limits->max_latency_ms);
    out->idle_flush_ms = at_most(o->idle_flush_ms, limits->max_latency_ms);
    out->reasoning_max_latency_ms = at_most(o->reasoning_max_latency_ms, limits->max_latency_ms);
    out->min_chars_per_emit = at_most(o->min_chars_per_emit, limits->min_chars_per_emit);
    out->reasoning_min_chars = at_most(o->reasoning_min_chars, limits->min_chars_per_emit);
}

int weir_override_apply(const struct weir_override *o, const struct weir_override_limits *limits,
                        struct weir_batch_options *options, struct weir_buf *why)
{
    struct parse p = {NULL, why, "stream batching"};
    struct weir_override mine;
    struct weir_batch_options changed = *options;
    const char *what;
    if (o->set == 0) {
        return 0;
    }
    if (!limits->is_enabled) {
        return fail(&p, WEIR_SLICE("it"), "cannot be changed by a request here");
    }
    clamp(o, limits, &mine);
    for (uint32_t bit = 0; bit < N_KEYS + N_REASONING_KEYS; bit++) {
        if ((mine.set >> bit & 1) != 0) {
            apply_key(&mine, bit < N_KEYS ? &keys[bit] : &reasoning_keys[bit - N_KEYS], &changed);
        }
    }
    /* A shorter latency pulls an idle time that was not asked for along with it. */
    bool has_idle = (mine.set >> 3 & 1) != 0;
    if (!has_idle && changed.idle_flush_ms > changed.max_latency_ms) {
        changed.idle_flush_ms = changed.max_latency_ms;
    }
    if (weir_batch_check(&changed, &what) != 0) {
        (void)weir_buf_printf(why, "stream batching: %s", what);
        return WEIR_EINVAL;
    }
    *options = changed;
    return 0;
}
