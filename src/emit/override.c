#include "emit/override.h"

#include "base/err.h"

#include <stddef.h>

enum kind { NUMBER, AUTO /* a number, or the word auto */, FLAG, WORD };

struct key {
    const char *name;
    enum kind kind;
    bool is_open; /* a request may set it */
    size_t at;    /* in the options */
    uint32_t least;
    uint32_t most;
    const char *const *words; /* WORD: NULL-terminated */
};

/* Rows of base/stream_options.h as keys. The position is the key's bit. */
enum { OPERATOR, REQUEST };
#define AT(member) offsetof(struct weir_batch_options, member)
#define NUMBER_KEY(key, member, default_, least, most, who, ...)                                   \
    {#key, NUMBER, who == REQUEST, AT(member), (least), (most), NULL},
#define AUTO_KEY(key, member, default_, least, most, who, ...)                                     \
    {#key, AUTO, who == REQUEST, AT(member), (least), (most), NULL},
#define FLAG_KEY(key, member, default_, who, ...)                                                  \
    {#key, FLAG, who == REQUEST, AT(member), 0, 0, NULL},
#define WORD_KEY(key, member, tag, default_, who, ...)                                             \
    {#key, WORD, who == REQUEST, AT(member), 0, 0, (const char *const[]){WEIR_WORDS_##tag, NULL}},

static const struct key keys[] = {WEIR_STREAM_PACE(NUMBER_KEY, AUTO_KEY, FLAG_KEY, WORD_KEY)};

/* Inside `reasoning`; their bits follow those above. */
static const struct key reasoning_keys[] = {WEIR_STREAM_REASONING(NUMBER_KEY)};

enum {
    N_KEYS = sizeof keys / sizeof keys[0],
    N_REASONING_KEYS = sizeof reasoning_keys / sizeof reasoning_keys[0],
    SHOWN_MOST_BYTES = 64, /* of a caller's own text in an answer to it */
};
_Static_assert(N_KEYS + N_REASONING_KEYS <= 32, "a bit per key");

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

/* The enums of words are as wide as a number. */
_Static_assert(sizeof(enum weir_batch_mode) == sizeof(uint32_t), "one size for all words");

static size_t size_of(const struct key *key)
{
    return key->kind == FLAG ? sizeof(bool) : sizeof(uint32_t);
}

static void store(const struct parse *p, const struct key *key, uint32_t bit, uint32_t value)
{
    bool flag = value != 0;
    p->o->set |= UINT32_C(1) << bit;
    memcpy((char *)&p->o->mine + key->at, key->kind == FLAG ? (void *)&flag : (void *)&value,
           size_of(key));
}

static int store_number(const struct parse *p, const struct key *key, uint32_t bit, uint64_t value)
{
    if (value < key->least || value > key->most) {
        (void)weir_buf_printf(p->why, "%s: %s must be from %u to %u", p->where, key->name,
                              (unsigned)key->least, (unsigned)key->most);
        return WEIR_EINVAL;
    }
    if (key->at == AT(ramp_factor) && value == 1) {
        return fail(p, weir_slice_cstr(key->name), "must be 0 or at least 2");
    }
    store(p, key, bit, (uint32_t)value);
    return 0;
}

static bool read_word(const struct key *key, struct weir_slice word, uint32_t *value)
{
    for (uint32_t i = 0; key->words[i] != NULL; i++) {
        if (weir_slice_eq_cstr(word, key->words[i])) {
            *value = i;
            return true;
        }
    }
    return false;
}

/* "… must be off, metrics or on" */
static int fail_word(const struct parse *p, const struct key *key)
{
    (void)weir_buf_printf(p->why, "%s: %s must be %s", p->where, key->name, key->words[0]);
    for (const char *const *word = key->words + 1; *word != NULL; word++) {
        (void)weir_buf_printf(p->why, "%s%s", word[1] != NULL ? ", " : " or ", *word);
    }
    return WEIR_EINVAL;
}

static int store_word(const struct parse *p, const struct key *key, uint32_t bit,
                      struct weir_slice word)
{
    uint32_t value;
    if (!read_word(key, word, &value)) {
        return fail_word(p, key);
    }
    store(p, key, bit, value);
    return 0;
}

static bool is_auto(const struct key *key, struct weir_slice word)
{
    return key->kind == AUTO && weir_slice_eq(word, WEIR_SLICE("auto"));
}

static int fail_number(const struct parse *p, const struct key *key, struct weir_slice name)
{
    return fail(p, name,
                key->kind == AUTO ? "must be auto or a whole number, not negative"
                                  : "must be a whole number, not negative");
}

static const struct key *find(const struct key *in, size_t n, const struct weir_json *j, uint32_t k)
{
    for (size_t i = 0; i < n; i++) {
        if (in[i].is_open && weir_json_string_eq(j, k, weir_slice_cstr(in[i].name))) {
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
    switch (key->kind) {
    case FLAG:
        if (type != WEIR_JSON_TRUE && type != WEIR_JSON_FALSE) {
            return fail(p, name, "must be true or false");
        }
        store(p, key, bit, type == WEIR_JSON_TRUE);
        return 0;
    case WORD:
        if (type != WEIR_JSON_STRING) {
            return fail_word(p, key);
        }
        return store_word(p, key, bit,
                          weir_slice_sub(j->src, j->nodes[at].start + 1, j->nodes[at].end - 1));
    default:
        if (type == WEIR_JSON_STRING &&
            is_auto(key, weir_slice_sub(j->src, j->nodes[at].start + 1, j->nodes[at].end - 1))) {
            store(p, key, bit, WEIR_BATCH_IDLE_AUTO);
            return 0;
        }
        if (type != WEIR_JSON_NUMBER || weir_json_u64(j, at, &number) != 0) {
            return fail_number(p, key, name);
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
        if (keys[i].is_open && weir_slice_eq_cstr(name, keys[i].name)) {
            return &keys[i];
        }
    }
    return NULL;
}

static int parse_pair(const struct parse *p, struct weir_slice pair)
{
    uint64_t number;
    uint32_t mode;
    const struct key *mode_key = &keys[0];
    struct weir_slice value = pair;
    struct weir_slice name = weir_slice_trim(weir_slice_cut(&value, '='));
    if (value.p == NULL) {
        if (!read_word(mode_key, name, &mode)) {
            return fail(p, name, "is neither a mode nor key=value");
        }
        store(p, mode_key, 0, mode);
        return 0;
    }
    value = weir_slice_trim(value);
    const struct key *key = find_header(name);
    if (key == NULL) {
        return fail(p, name, "is not a known key");
    }
    uint32_t bit = (uint32_t)(key - keys);
    if (key->kind == WORD) {
        return store_word(p, key, bit, value);
    }
    if (key->kind == FLAG) {
        bool is_true = weir_slice_eq(value, WEIR_SLICE("true"));
        if (!is_true && !weir_slice_eq(value, WEIR_SLICE("false"))) {
            return fail(p, name, "must be true or false");
        }
        store(p, key, bit, is_true);
        return 0;
    }
    if (is_auto(key, value)) {
        store(p, key, bit, WEIR_BATCH_IDLE_AUTO);
        return 0;
    }
    if (weir_slice_u64(value, &number) != 0) {
        return fail_number(p, key, name);
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

static void apply_key(const struct weir_batch_options *from, const struct key *key,
                      struct weir_batch_options *to)
{
    memcpy((char *)to + key->at, (const char *)from + key->at, size_of(key));
}

static void lower(uint32_t *value, uint32_t most)
{
    *value = *value > most ? most : *value;
}

/* What was asked for is held within the operator's limits; what was not is the operator's own. */
static struct weir_batch_options clamped(const struct weir_override *o,
                                         const struct weir_override_limits *limits)
{
    struct weir_batch_options mine = o->mine;
    lower(&mine.max_latency_ms, limits->max_latency_ms);
    if (mine.idle_flush_ms != WEIR_BATCH_IDLE_AUTO) {
        lower(&mine.idle_flush_ms, limits->max_latency_ms);
    }
    lower(&mine.reasoning_max_latency_ms, limits->max_latency_ms);
    lower(&mine.min_chars_per_emit, limits->min_chars_per_emit);
    lower(&mine.reasoning_min_chars, limits->min_chars_per_emit);
    return mine;
}

static bool has(const struct weir_override *o, size_t at)
{
    for (uint32_t bit = 0; bit < N_KEYS; bit++) {
        if (keys[bit].at == at) {
            return (o->set >> bit & 1) != 0;
        }
    }
    return false;
}

int weir_override_apply(const struct weir_override *o, const struct weir_override_limits *limits,
                        struct weir_batch_options *options, struct weir_buf *why)
{
    struct parse p = {NULL, why, "stream batching"};
    struct weir_batch_options changed = *options;
    const char *what;
    if (o->set == 0) {
        return 0;
    }
    if (!limits->is_enabled) {
        return fail(&p, WEIR_SLICE("it"), "cannot be changed by a request here");
    }
    struct weir_batch_options mine = clamped(o, limits);
    for (uint32_t bit = 0; bit < N_KEYS + N_REASONING_KEYS; bit++) {
        if ((o->set >> bit & 1) != 0) {
            apply_key(&mine, bit < N_KEYS ? &keys[bit] : &reasoning_keys[bit - N_KEYS], &changed);
        }
    }
    /* A shorter latency pulls an idle time that was not asked for along with it. */
    bool is_fixed = changed.idle_flush_ms != WEIR_BATCH_IDLE_AUTO;
    if (!has(o, AT(idle_flush_ms)) && is_fixed && changed.idle_flush_ms > changed.max_latency_ms) {
        changed.idle_flush_ms = changed.max_latency_ms;
    }
    if (weir_batch_check(&changed, &what) != 0) {
        (void)weir_buf_printf(why, "stream batching: %s", what);
        return WEIR_EINVAL;
    }
    *options = changed;
    return 0;
}
