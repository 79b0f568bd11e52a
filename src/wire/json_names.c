/* A hash table over the names of one object, in memory its user provides. */
#include "base/map.h"
#include "wire/json_int.h"

static uint64_t hash_name(const struct weir_json *j, uint32_t at)
{
    if (!j->nodes[at].is_escaped) {
        return weir_map_hash(weir_json__inside(j, at));
    }
    struct weir_arena arena = {0};
    uint64_t hash = weir_map_hash(weir_json_string(j, at, &arena));
    weir_arena_dispose(&arena);
    return hash;
}

size_t weir_json__names_slots(uint32_t n)
{
    size_t slots = 2;
    while (slots < (size_t)n * 2) {
        slots *= 2;
    }
    return slots;
}

/* A name to look for. */
struct probe {
    const struct weir_json *j;
    uint32_t at;
    uint64_t hash;
    bool keep_halves;
};

static inline uint32_t tag_of(const struct probe *p)
{
    return (uint32_t)(p->hash >> 32);
}

/* The slot that holds an equal name, or the free one where it belongs. */
static struct weir_json__slot *find_slot(const struct weir_json__names *names,
                                         const struct weir_json *j, const struct probe *p)
{
    for (uint32_t i = (uint32_t)p->hash & names->mask;; i = (i + 1) & names->mask) {
        struct weir_json__slot *slot = &names->slots[i];
        if (slot->key == 0) {
            return slot;
        }
        if (slot->tag == tag_of(p) &&
            weir_json__same_string(j, slot->key - 1, p->j, p->at, p->keep_halves)) {
            return slot;
        }
    }
}

uint32_t weir_json__names_fill(struct weir_json__names *names, const struct weir_json *j,
                               uint32_t object, struct weir_json__slot *slots)
{
    size_t n_slots = weir_json__names_slots(j->nodes[object].n);
    memset(slots, 0, n_slots * sizeof *slots);
    *names = (struct weir_json__names){.slots = slots, .mask = (uint32_t)(n_slots - 1)};
    uint32_t key = object + 1;
    for (uint32_t i = 0; i < j->nodes[object].n; i++) {
        struct probe p = {.j = j, .at = key, .hash = hash_name(j, key)};
        struct weir_json__slot *slot = find_slot(names, j, &p);
        if (slot->key != 0) {
            return key;
        }
        *slot = (struct weir_json__slot){.tag = tag_of(&p), .key = key + 1};
        key = j->nodes[key + 1].next;
    }
    return WEIR_JSON_NONE;
}

uint32_t weir_json__names_find(const struct weir_json__names *names, const struct weir_json *j,
                               const struct weir_json *from, uint32_t at)
{
    struct probe p = {.j = from, .at = at, .hash = hash_name(from, at), .keep_halves = true};
    const struct weir_json__slot *slot = find_slot(names, j, &p);
    return slot->key != 0 ? slot->key - 1 : WEIR_JSON_NONE;
}
