#include "base/map.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/sip.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

static uint64_t secret[2];
static pthread_once_t secret_once = PTHREAD_ONCE_INIT;

static void make_secret(void)
{
    ssize_t got = getrandom(secret, sizeof secret, 0);
    WEIR_ASSERT(got == (ssize_t)sizeof secret);
}

uint64_t weir_map_hash(struct weir_slice key)
{
    pthread_once(&secret_once, make_secret);
    uint64_t v[4];
    weir_sip_begin(v, secret);
    size_t i = 0;
    for (; key.n - i >= 8; i += 8) {
        uint64_t word;
        memcpy(&word, key.p + i, 8);
        weir_sip_word(v, word);
    }
    uint64_t last = (uint64_t)key.n << 56;
    for (size_t k = 0; i + k < key.n; k++) {
        last |= (uint64_t)(unsigned char)key.p[i + k] << (8 * k);
    }
    weir_sip_word(v, last);
    v[2] ^= 0xFF;
    return weir_sip_end(v);
}

void weir_map_dispose(struct weir_map *m)
{
    free(m->entries);
    free(m->table);
    *m = (struct weir_map){0};
}

static struct weir_map_entry *find(const struct weir_map *m, struct weir_slice key, uint64_t hash)
{
    if (m->cap_table == 0) {
        return NULL;
    }
    size_t mask = m->cap_table - 1;
    for (size_t at = hash & mask; m->table[at] != 0; at = (at + 1) & mask) {
        struct weir_map_entry *e = &m->entries[m->table[at] - 1];
        if (e->live && e->hash == hash && weir_slice_eq(e->key, key)) {
            return e;
        }
    }
    return NULL;
}

static void link_entry(struct weir_map *m, size_t index)
{
    size_t mask = m->cap_table - 1;
    size_t at = m->entries[index].hash & mask;
    while (m->table[at] != 0) {
        at = (at + 1) & mask;
    }
    m->table[at] = (uint32_t)(index + 1);
}

/*
 * Room for one more at a load of at most one half; holes left by removals go. Three times what is
 * live: a full table doubles, one with many holes is made again in its size and has room for at
 * least a sixth of it until the next time.
 */
static void make_room(struct weir_map *m)
{
    if (2 * (m->n_entries + 1) <= m->cap_table) {
        return;
    }
    size_t cap = m->cap_table != 0 ? m->cap_table : 16;
    while (cap < 3 * (m->n + 1)) {
        cap *= 2;
    }
    WEIR_ASSERT(cap <= UINT32_MAX);
    struct weir_map_entry *entries = weir_mem_array(cap / 2, sizeof *entries);
    size_t n = 0;
    for (size_t i = 0; i < m->n_entries; i++) {
        if (m->entries[i].live) {
            entries[n++] = m->entries[i];
        }
    }
    free(m->entries);
    free(m->table);
    m->entries = entries;
    m->n_entries = n;
    m->cap_table = cap;
    m->table = weir_mem_array(cap, sizeof *m->table);
    for (size_t i = 0; i < n; i++) {
        link_entry(m, i);
    }
}

void *weir_map_get(const struct weir_map *m, struct weir_slice key)
{
    const struct weir_map_entry *e = m->n != 0 ? find(m, key, weir_map_hash(key)) : NULL;
    return e != NULL ? e->value : NULL;
}

bool weir_map_has(const struct weir_map *m, struct weir_slice key)
{
    return m->n != 0 && find(m, key, weir_map_hash(key)) != NULL;
}

void *weir_map_put(struct weir_map *m, struct weir_slice key, void *value)
{
    uint64_t hash = weir_map_hash(key);
    struct weir_map_entry *e = find(m, key, hash);
    if (e != NULL) {
        void *old = e->value;
        e->value = value;
        return old;
    }
    make_room(m);
    m->entries[m->n_entries] =
        (struct weir_map_entry){.key = key, .value = value, .hash = hash, .live = true};
    link_entry(m, m->n_entries);
    m->n_entries++;
    m->n++;
    return NULL;
}

void *weir_map_remove(struct weir_map *m, struct weir_slice key)
{
    struct weir_map_entry *e = find(m, key, weir_map_hash(key));
    if (e == NULL) {
        return NULL;
    }
    e->live = false;
    m->n--;
    return e->value;
}

struct weir_map_entry *weir_map_next(const struct weir_map *m, size_t *iter)
{
    while (*iter < m->n_entries) {
        struct weir_map_entry *e = &m->entries[(*iter)++];
        if (e->live) {
            return e;
        }
    }
    return NULL;
}
