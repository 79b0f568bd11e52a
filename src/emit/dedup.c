#include "emit/dedup.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "emit/jsonhash.h"
#include "wire/json.h"

#include <stdlib.h>

enum { KEY_MOST_BYTES = 65536 };

struct key {
    uint64_t hash;
    bool is_kept; /* with its bytes */
    struct weir_buf bytes;
};

/* The last keys of one rule; the oldest makes room for the newest. */
struct window {
    struct key *keys;
    size_t n;
    size_t next;
};

enum rule { BY_ID, BY_SEQUENCE, BY_PAYLOAD, BY_TEXT, RULES };

struct weir_dedup {
    struct weir_dedup_options o;
    struct window windows[RULES];
    struct weir_json_tape tape;
    struct weir_json_tape tape_again;
    struct weir_buf scratch;
    struct weir_dedup_stats stats;
};

struct weir_dedup_options weir_dedup_defaults(void)
{
#define NUMBER(key, member, default_, ...) .member = (default_),
#define WORD(key, member, tag, default_, ...) .member = (default_),
    return (struct weir_dedup_options){WEIR_STREAM_DEDUP(NUMBER, WORD)};
#undef NUMBER
#undef WORD
}

struct weir_dedup *weir_dedup_new(const struct weir_dedup_options *o)
{
    struct weir_dedup *d = weir_mem_zalloc(sizeof *d);
    d->o = *o;
    d->o.window = o->window == 0 ? 1 : o->window;
    return d;
}

void weir_dedup_free(struct weir_dedup *d)
{
    if (d == NULL) {
        return;
    }
    for (size_t rule = 0; rule < RULES; rule++) {
        struct window *w = &d->windows[rule];
        for (size_t i = 0; i < w->n; i++) {
            weir_buf_dispose(&w->keys[i].bytes);
        }
        free(w->keys);
    }
    weir_json_tape_dispose(&d->tape);
    weir_json_tape_dispose(&d->tape_again);
    weir_buf_dispose(&d->scratch);
    free(d);
}

static struct key *find(const struct window *w, uint64_t hash)
{
    for (size_t i = 0; i < w->n; i++) {
        if (w->keys[i].hash == hash) {
            return &w->keys[i];
        }
    }
    return NULL;
}

static void remember(struct weir_dedup *d, struct window *w, uint64_t hash, struct weir_slice bytes)
{
    if (w->keys == NULL) {
        w->keys = weir_mem_array(d->o.window, sizeof *w->keys);
    }
    struct key *key = &w->keys[w->next];
    w->next = (w->next + 1) % d->o.window;
    w->n += w->n < d->o.window;
    key->hash = hash;
    key->is_kept = d->o.mode >= WEIR_DEDUP_SAFE && bytes.n <= KEY_MOST_BYTES;
    weir_buf_clear(&key->bytes);
    if (key->is_kept) {
        (void)weir_buf_append(&key->bytes, bytes);
    }
}

/* Seen before? `*is_sure`: compared, not only hashed. Otherwise it is remembered. */
static bool is_seen(struct weir_dedup *d, enum rule rule, struct weir_slice bytes, bool *is_sure)
{
    struct window *w = &d->windows[rule];
    uint64_t hash = weir_map_hash(bytes);
    const struct key *key = find(w, hash);
    if (key == NULL) {
        remember(d, w, hash, bytes);
        return false;
    }
    *is_sure = key->is_kept && weir_slice_eq(weir_buf_slice(&key->bytes), bytes);
    return true;
}

/* The same of D3: the value is compared instead of the bytes. */
static bool is_known_payload(struct weir_dedup *d, const struct weir_json *j, bool *is_sure)
{
    uint64_t hash = weir_jsonhash(j, 0, &d->scratch);
    const struct key *key = find(&d->windows[BY_PAYLOAD], hash);
    if (key == NULL) {
        remember(d, &d->windows[BY_PAYLOAD], hash, j->src);
        return false;
    }
    struct weir_json again;
    *is_sure = key->is_kept &&
               weir_json_parse_reuse(&again, weir_buf_slice(&key->bytes), NULL, &d->tape_again,
                                     NULL) == 0 &&
               weir_json_equal(&again, 0, j, 0);
    return true;
}

static bool has_progress(const struct weir_json *j)
{
    uint32_t usage = weir_json_get_set(j, 0, WEIR_SLICE("usage"));
    uint32_t choices = weir_json_get_set(j, 0, WEIR_SLICE("choices"));
    return usage != WEIR_JSON_NONE && choices != WEIR_JSON_NONE &&
           weir_json_get_set(j, usage, WEIR_SLICE("completion_tokens")) != WEIR_JSON_NONE &&
           weir_json_type(j, choices) == WEIR_JSON_ARRAY && j->nodes[choices].n != 0;
}

/* Was the chunk delivered before, by this rule? */
static bool is_again(struct weir_dedup *d, enum rule rule, const struct weir_event *e,
                     const struct weir_json *j, bool *is_sure)
{
    if (rule == BY_ID) {
        return e->sse_id.n != 0 && is_seen(d, rule, e->sse_id, is_sure);
    }
    if (j == NULL || rule == BY_PAYLOAD) {
        return j != NULL && has_progress(j) && is_known_payload(d, j, is_sure);
    }
    uint32_t number = weir_json_get_set(j, 0, WEIR_SLICE("sequence_number"));
    return number != WEIR_JSON_NONE && is_seen(d, rule, weir_json_raw(j, number), is_sure);
}

/* D1 to D3. Which counter a drop belongs to, or NULL to keep the chunk. */
static uint64_t *see_delivery(struct weir_dedup *d, const struct weir_event *e,
                              const struct weir_json *j)
{
    uint64_t *const dropped[] = {&d->stats.dropped_sse_id, &d->stats.dropped_sequence,
                                 &d->stats.dropped_progress};
    bool is_any = false;
    for (enum rule rule = BY_ID; rule <= BY_PAYLOAD; rule++) {
        bool is_sure = false;
        if (is_again(d, rule, e, j, &is_sure)) {
            d->stats.candidates += !is_any;
            is_any = true;
            if (is_sure && d->o.mode >= WEIR_DEDUP_SAFE) {
                return dropped[rule];
            }
        }
    }
    return NULL;
}

/* One text of a chunk; returns whether it may be dropped for it. */
static bool see_text(struct weir_dedup *d, const struct weir_json *j, uint32_t index, char channel,
                     uint32_t at)
{
    bool is_sure = false;
    weir_buf_clear(&d->scratch);
    (void)weir_buf_printf(&d->scratch, "%u%c", (unsigned)index, channel);
    (void)weir_json_string_append(j, at, &d->scratch);
    if (!is_seen(d, BY_TEXT, weir_buf_slice(&d->scratch), &is_sure)) {
        return false;
    }
    d->stats.dup_text_seen++;
    return is_sure && j->nodes[at].n >= d->o.min_chars;
}

static bool is_text(const struct weir_json *j, uint32_t at)
{
    return at != WEIR_JSON_NONE && weir_json_type(j, at) == WEIR_JSON_STRING && j->nodes[at].n != 0;
}

/* Looks at the texts of one choice. True: it is nothing but text, and all of it was seen. */
static bool see_choice(struct weir_dedup *d, const struct weir_json *j, uint32_t choice)
{
    static const struct weir_slice names[] = {
        {"content", 7}, {"refusal", 7}, {"reasoning", 9}, {"reasoning_content", 17}};
    uint32_t delta = weir_json_get_set(j, choice, WEIR_SLICE("delta"));
    uint32_t finish = weir_json_get_set(j, choice, WEIR_SLICE("finish_reason"));
    uint32_t text = weir_json_get_set(j, choice, WEIR_SLICE("text"));
    uint32_t at_index = weir_json_get_set(j, choice, WEIR_SLICE("index"));
    uint64_t index = 0;
    size_t n_texts = 0;
    size_t n_seen = 0;
    if (at_index != WEIR_JSON_NONE && weir_json_u64(j, at_index, &index) != 0) {
        return false;
    }
    for (size_t i = 0; i < 4 && delta != WEIR_JSON_NONE; i++) {
        uint32_t at = weir_json_get_set(j, delta, names[i]);
        if (is_text(j, at)) {
            n_texts++;
            n_seen += see_text(d, j, (uint32_t)index, (char)('a' + i), at);
        }
    }
    if (is_text(j, text)) {
        n_texts++;
        n_seen += see_text(d, j, (uint32_t)index, 't', text);
    }
    bool is_going_on = finish == WEIR_JSON_NONE ||
                       (weir_json_type(j, finish) == WEIR_JSON_STRING && j->nodes[finish].n == 0);
    bool has_calls = weir_json_get_set(j, delta == WEIR_JSON_NONE ? choice : delta,
                                       WEIR_SLICE("tool_calls")) != WEIR_JSON_NONE;
    return n_texts != 0 && n_seen == n_texts && is_going_on && !has_calls;
}

static bool see_texts(struct weir_dedup *d, const struct weir_json *j)
{
    uint32_t choices = weir_json_get_set(j, 0, WEIR_SLICE("choices"));
    if (choices == WEIR_JSON_NONE || weir_json_type(j, choices) != WEIR_JSON_ARRAY) {
        return false;
    }
    bool is_all = j->nodes[choices].n != 0;
    for (uint32_t at = weir_json_first(j, choices); at != WEIR_JSON_NONE;
         at = weir_json_after(j, choices, at)) {
        is_all = see_choice(d, j, at) && is_all;
    }
    return is_all && d->o.mode == WEIR_DEDUP_TEXT;
}

static enum weir_dedup_verdict see_chunk(struct weir_dedup *d, const struct weir_event *e,
                                         const struct weir_json *j)
{
    uint64_t *dropped = see_delivery(d, e, j);
    if (dropped == NULL && j != NULL && see_texts(d, j)) {
        dropped = &d->stats.dropped_text;
    }
    if (dropped != NULL) {
        ++*dropped;
        return WEIR_DEDUP_DROP;
    }
    return WEIR_DEDUP_KEEP;
}

enum weir_dedup_verdict weir_dedup_see(struct weir_dedup *d, const struct weir_event *e)
{
    if (d->o.mode == WEIR_DEDUP_OFF || e->kind != WEIR_EVENT_CHUNK) {
        return WEIR_DEDUP_KEEP;
    }
    struct weir_json parsed;
    const struct weir_json *j = e->json;
    if (j == NULL && !e->is_opaque &&
        weir_json_parse_reuse(&parsed, e->data, NULL, &d->tape, NULL) == 0) {
        j = &parsed;
    }
    bool is_object = j != NULL && weir_json_type(j, 0) == WEIR_JSON_OBJECT;
    return see_chunk(d, e, is_object ? j : NULL);
}

const struct weir_dedup_stats *weir_dedup_stats(const struct weir_dedup *d)
{
    return &d->stats;
}
