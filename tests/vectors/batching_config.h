#ifndef WEIR_TESTS_BATCHING_CONFIG_H
#define WEIR_TESTS_BATCHING_CONFIG_H

#include "base/arena.h"
#include "emit/chain.h"
#include "wire/json.h"

#include <string.h>

/*
 * The `config` of a batching vector as options of the chain: overrides of the defaults, except that
 * a stage that is there is on and dedup counts, unless they say otherwise; roles leave once.
 */

struct batching_key {
    const char *name;
    enum { KEY_U32, KEY_BOOL, KEY_WORD, KEY_LIST } kind;
    size_t offset;
    const char *words; /* KEY_WORD: the enum's words in order, separated by spaces */
};

#define BATCHING_STAGE(member) offsetof(struct weir_batch_options, member)

static const struct batching_key batching_keys[] = {
    {"mode", KEY_WORD, BATCHING_STAGE(mode), "off metrics on"},
    {"min_chars_per_emit", KEY_U32, BATCHING_STAGE(min_chars_per_emit), NULL},
    {"max_latency_ms", KEY_U32, BATCHING_STAGE(max_latency_ms), NULL},
    {"idle_flush_ms", KEY_U32, BATCHING_STAGE(idle_flush_ms), NULL},
    {"flush_on_sentence", KEY_BOOL, BATCHING_STAGE(flush_on_sentence), NULL},
    {"flush_on_tool_call", KEY_BOOL, BATCHING_STAGE(flush_on_tool_call), NULL},
    {"first_emit_immediate", KEY_BOOL, BATCHING_STAGE(first_emit_immediate), NULL},
    {"ramp_factor", KEY_U32, BATCHING_STAGE(ramp_factor), NULL},
    {"ramp_initial_chars", KEY_U32, BATCHING_STAGE(ramp_initial_chars), NULL},
    {"reasoning_min_chars", KEY_U32, BATCHING_STAGE(reasoning_min_chars), NULL},
    {"reasoning_max_latency_ms", KEY_U32, BATCHING_STAGE(reasoning_max_latency_ms), NULL},
    {"role_policy", KEY_WORD, BATCHING_STAGE(role_policy), "auto first every verbatim"},
    {"obfuscation", KEY_WORD, BATCHING_STAGE(obfuscation), "drop regenerate"},
    {"latest_wins_fields", KEY_LIST, BATCHING_STAGE(latest_wins), NULL},
    {"append_array_fields", KEY_LIST, BATCHING_STAGE(append_arrays), NULL},
    {"max_batch_bytes", KEY_U32, BATCHING_STAGE(max_batch_bytes), NULL},
    {"min_delta_chars", KEY_U32, BATCHING_STAGE(min_delta_chars), NULL},
    {"max_partial_count", KEY_U32, BATCHING_STAGE(max_partial_count), NULL},
    {"boundary", KEY_WORD, BATCHING_STAGE(boundary), "none sentence markdown"},
    {"hold_from", KEY_WORD, BATCHING_STAGE(hold_from), "own first_text"},
    {"max_hold_ms", KEY_U32, BATCHING_STAGE(max_latency_ms), NULL},
    {"tool_call_gate", KEY_WORD, BATCHING_STAGE(tool_call_gate), "off closed finish"},
    {"tool_gate_emit_head", KEY_BOOL, BATCHING_STAGE(tool_gate_emit_head), NULL},
    {"max_tool_args_bytes", KEY_U32, BATCHING_STAGE(max_tool_args_bytes), NULL},
    {"max_tool_hold_ms", KEY_U32, BATCHING_STAGE(max_tool_hold_ms), NULL},
    {"on_incomplete", KEY_WORD, BATCHING_STAGE(on_incomplete), "release drop"},
    {"tool_gate_on_abort", KEY_WORD, BATCHING_STAGE(tool_gate_on_abort), "release drop"},
    {"tool_index_policy", KEY_WORD, BATCHING_STAGE(tool_index_policy), "verbatim repair"},
    {NULL, KEY_U32, 0, NULL},
};

static const struct batching_key batching_dedup_keys[] = {
    {"mode", KEY_WORD, offsetof(struct weir_dedup_options, mode), "off metrics safe text"},
    {"window", KEY_U32, offsetof(struct weir_dedup_options, window), NULL},
    {"min_chars", KEY_U32, offsetof(struct weir_dedup_options, min_chars), NULL},
    {NULL, KEY_U32, 0, NULL},
};

static inline const char *batching_set_word(const struct weir_json *j, uint32_t at,
                                            const char *words, void *out)
{
    struct weir_slice rest = weir_slice_cstr(words);
    for (unsigned i = 0; rest.p != NULL; i++) {
        if (weir_json_string_eq(j, at, weir_slice_cut(&rest, ' '))) {
            memcpy(out, &i, sizeof i); /* every enum here is as wide as an unsigned */
            return NULL;
        }
    }
    return "config: a word that is not known";
}

static inline const char *batching_set_list(const struct weir_json *j, uint32_t at, void *out,
                                            struct weir_arena *arena)
{
    if (weir_json_type(j, at) != WEIR_JSON_ARRAY) {
        return "config: not a list";
    }
    size_t n = 0;
    struct weir_slice *names = weir_arena_array(arena, j->nodes[at].n + 1u, sizeof *names);
    for (uint32_t e = weir_json_first(j, at); e != WEIR_JSON_NONE; e = weir_json_after(j, at, e)) {
        names[n++] = weir_json_string(j, e, arena);
    }
    struct weir_batch_fields fields = {names, n};
    memcpy(out, &fields, sizeof fields);
    return NULL;
}

static inline const char *batching_set(const struct weir_json *j, uint32_t at,
                                       const struct batching_key *key, char *options,
                                       struct weir_arena *arena)
{
    uint64_t number;
    void *out = options + key->offset;
    bool is_true = weir_json_type(j, at) == WEIR_JSON_TRUE;
    switch (key->kind) {
    case KEY_WORD:
        return batching_set_word(j, at, key->words, out);
    case KEY_LIST:
        return batching_set_list(j, at, out, arena);
    case KEY_BOOL:
        memcpy(out, &is_true, sizeof is_true);
        return is_true || weir_json_type(j, at) == WEIR_JSON_FALSE ? NULL : "config: not a boolean";
    default:
        if (strcmp(key->name, "idle_flush_ms") == 0 &&
            weir_json_string_eq(j, at, WEIR_SLICE("auto"))) {
            number = WEIR_BATCH_IDLE_AUTO;
        } else if (weir_json_u64(j, at, &number) != 0 || number >= UINT32_MAX) {
            return "config: not a number";
        }
        memcpy(out, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
        return NULL;
    }
}

static inline const struct batching_key *batching_find(const struct batching_key *keys,
                                                       const struct weir_json *j, uint32_t k)
{
    while (keys->name != NULL && !weir_json_string_eq(j, k, weir_slice_cstr(keys->name))) {
        keys++;
    }
    return keys;
}

static inline const char *batching_reasoning(const struct weir_json *j, uint32_t at,
                                             struct weir_batch_options *o)
{
    static const struct batching_key keys[] = {
        {"min_chars_per_emit", KEY_U32, BATCHING_STAGE(reasoning_min_chars), NULL},
        {"max_latency_ms", KEY_U32, BATCHING_STAGE(reasoning_max_latency_ms), NULL},
        {NULL, KEY_U32, 0, NULL},
    };
    const char *why = NULL;
    for (uint32_t k = weir_json_first(j, at); k != WEIR_JSON_NONE && why == NULL;
         k = weir_json_after(j, at, k)) {
        const struct batching_key *key = batching_find(keys, j, k);
        if (key->name == NULL) {
            return "config: unknown key in reasoning";
        }
        if (weir_json_type(j, k + 1) != WEIR_JSON_NULL) {
            why = batching_set(j, k + 1, key, (char *)o, NULL);
        }
    }
    return why;
}

static inline const char *batching_section(const struct weir_json *j, uint32_t at,
                                           const struct batching_key *keys, void *options,
                                           struct weir_arena *arena)
{
    for (uint32_t k = weir_json_first(j, at); k != WEIR_JSON_NONE; k = weir_json_after(j, at, k)) {
        const struct batching_key *key = batching_find(keys, j, k);
        const char *why = NULL;
        if (weir_json_type(j, k + 1) == WEIR_JSON_NULL) {
            continue;
        }
        if (weir_json_string_eq(j, k, WEIR_SLICE("reasoning"))) {
            why = batching_reasoning(j, k + 1, options);
        } else if (key->name == NULL) {
            return "config: unknown key";
        } else {
            why = batching_set(j, k + 1, key, options, arena);
        }
        if (why != NULL) {
            return why;
        }
    }
    return NULL;
}

static inline uint32_t batching_member(const struct weir_json *j, uint32_t object, const char *name)
{
    return object != WEIR_JSON_NONE ? weir_json_get_set(j, object, weir_slice_cstr(name))
                                    : WEIR_JSON_NONE;
}

/* NULL, or what is wrong. Strings live in the arena. */
static inline const char *batching_config(const struct weir_json *j, uint32_t vector,
                                          struct weir_chain_options *o, struct weir_arena *arena)
{
    uint32_t config = weir_json_get_set(j, vector, WEIR_SLICE("config"));
    uint32_t adapter = batching_member(j, config, "adapter");
    uint32_t business = batching_member(j, config, "business");
    uint32_t dedup = batching_member(j, config, "dedup");
    const char *why = NULL;
    o->adapter = weir_batch_defaults(WEIR_BATCH_ADAPTER);
    o->business = weir_batch_defaults(WEIR_BATCH_BUSINESS);
    o->dedup = weir_dedup_defaults();
    o->dedup.mode = WEIR_DEDUP_METRICS;
    o->adapter.role_policy = o->business.role_policy = WEIR_BATCH_ROLE_FIRST;
    o->adapter.mode = adapter != WEIR_JSON_NONE ? WEIR_BATCH_ON : WEIR_BATCH_OFF;
    o->business.mode = business != WEIR_JSON_NONE ? WEIR_BATCH_ON : WEIR_BATCH_OFF;
    if (adapter != WEIR_JSON_NONE) {
        why = batching_section(j, adapter, batching_keys, &o->adapter, arena);
    }
    /* Which members may be merged is said once, for both stages. */
    o->business.latest_wins = o->adapter.latest_wins;
    o->business.append_arrays = o->adapter.append_arrays;
    o->business.obfuscation = o->adapter.obfuscation;
    if (business != WEIR_JSON_NONE && why == NULL) {
        why = batching_section(j, business, batching_keys, &o->business, arena);
    }
    if (dedup != WEIR_JSON_NONE && why == NULL) {
        why = batching_section(j, dedup, batching_dedup_keys, &o->dedup, arena);
    }
    return why;
}

#endif
