/*
 * Which target is asked. All counts are atomic and belong to the process; two workers that look at
 * the same moment may both see room for one more, which does no harm.
 */
#include "base/glob.h"
#include "model/fleet.h"

enum { MAX_NAME_BYTES = 1024 }; /* longer names match nothing: they are not models' */

const struct weir_fleet_entry *weir_fleet_find(const struct weir_fleet *fleet,
                                               struct weir_slice model)
{
    const struct weir_fleet_entry *best = NULL;
    for (size_t i = 0; i < fleet->n_entries && model.n <= MAX_NAME_BYTES; i++) {
        const struct weir_fleet_entry *e = &fleet->entries[i];
        if ((best == NULL || e->glob.n > best->glob.n) && weir_glob_match(e->glob, model)) {
            best = e;
        }
    }
    return best != NULL ? best : fleet->otherwise;
}

bool weir_fleet_scope_has(const struct weir_fleet_scope *scope, struct weir_slice model)
{
    for (size_t i = 0; i < scope->n; i++) {
        if (weir_glob_match(scope->globs[i], model)) {
            return true;
        }
    }
    return scope->n == 0;
}

bool weir_fleet_serves(const struct weir_fleet_entry *entry, enum weir_model_op op)
{
    for (size_t i = 0; i < entry->n_targets; i++) {
        if (weir_provider_serves(entry->targets[i].provider, op)) {
            return true;
        }
    }
    return false;
}

static bool is_left(const struct weir_fleet_choice *c, size_t i)
{
    return (c->tried & (UINT64_C(1) << i)) == 0 &&
           weir_provider_serves(c->entry->targets[i].provider, c->op);
}

bool weir_fleet_has_more(const struct weir_fleet_choice *c)
{
    for (size_t i = 0; i < c->entry->n_targets; i++) {
        if (is_left(c, i)) {
            return true;
        }
    }
    return false;
}

/* ---- balance ---- */

static unsigned running_at(const struct weir_fleet_target *t)
{
    return atomic_load_explicit(t->provider->n_running, memory_order_relaxed);
}

void weir_fleet_leave(const struct weir_fleet_target *target)
{
    atomic_fetch_sub(target->provider->n_running, 1);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* How much a conversation belongs to a replica: the same on every worker, in every process. Taking
 * one replica away moves only the conversations that were there. */
static uint64_t affinity(const struct weir_fleet_choice *c, size_t i)
{
    struct weir_slice name = c->entry->targets[i].provider->name;
    uint64_t hash = c->conversation;
    for (size_t k = 0; k < name.n; k++) {
        hash = mix(hash + (unsigned char)name.p[k] + 1);
    }
    return hash;
}

/* More than a tenth above its share, and one. */
static bool is_overloaded(unsigned n_running, unsigned n_all, unsigned n_replicas)
{
    uint64_t n = n_replicas;
    return 10 * n * n_running >= 11 * ((uint64_t)n_all + 1) + 10 * n;
}

/* The awake replica to ask; -1: none. */
static int pick_replica(const struct weir_fleet_choice *c, uint64_t asleep)
{
    int own = -1;
    int idle = -1;
    unsigned n_all = 0;
    unsigned n_awake = 0;
    for (size_t i = 0; i < c->entry->n_replicas; i++) {
        if (!is_left(c, i) || (asleep & (UINT64_C(1) << i)) != 0) {
            continue;
        }
        unsigned n = running_at(&c->entry->targets[i]);
        n_all += n;
        n_awake++;
        if (idle < 0 || n < running_at(&c->entry->targets[idle]) ||
            (n == running_at(&c->entry->targets[idle]) &&
             affinity(c, i) > affinity(c, (size_t)idle))) {
            idle = (int)i;
        }
        if (own < 0 || affinity(c, i) > affinity(c, (size_t)own)) {
            own = (int)i;
        }
    }
    bool stays = own >= 0 && c->has_conversation &&
                 !is_overloaded(running_at(&c->entry->targets[own]), n_all, n_awake);
    return stays ? own : idle;
}

/* Awake ones first: a replica, else the next of the others. */
static int pick_awake(const struct weir_fleet_choice *c, uint64_t asleep)
{
    int i = pick_replica(c, asleep);
    for (size_t k = c->entry->n_replicas; i < 0 && k < c->entry->n_targets; k++) {
        if (is_left(c, k) && (asleep & (UINT64_C(1) << k)) == 0) {
            i = (int)k;
        }
    }
    return i;
}

static int pick_first_to_wake(const struct weir_fleet_choice *c)
{
    int best = -1;
    uint64_t best_ms = UINT64_MAX;
    for (size_t i = 0; i < c->entry->n_targets; i++) {
        uint64_t at_ms =
            atomic_load_explicit(&c->entry->targets[i].health->rest_ms, memory_order_relaxed);
        if (is_left(c, i) && (best < 0 || at_ms < best_ms)) {
            best = (int)i;
            best_ms = at_ms;
        }
    }
    return best;
}

int weir_fleet_pick(const struct weir_fleet_choice *c)
{
    uint64_t asleep = 0;
    uint64_t who = weir_breaker_who(WEIR_SLICE("")); /* a server is asked once by each */
    for (size_t i = 0; i < c->entry->n_targets; i++) {
        const struct weir_breaker *health = c->entry->targets[i].health;
        asleep |= (uint64_t)!weir_breaker_is_awake(health, who, c->now_ms) << i;
    }
    int i = pick_awake(c, asleep);
    while (i >= 0 && !weir_breaker_claim(c->entry->targets[i].health, who)) {
        asleep |= UINT64_C(1) << i;
        i = pick_awake(c, asleep);
    }
    if (i < 0) {
        i = pick_first_to_wake(c);
    }
    if (i >= 0) {
        atomic_fetch_add(c->entry->targets[i].provider->n_running, 1);
    }
    return i;
}
