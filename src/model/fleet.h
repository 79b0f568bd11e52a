#ifndef WEIR_MODEL_FLEET_H
#define WEIR_MODEL_FLEET_H

#include "base/arena.h"
#include "base/slice.h"
#include "client/breaker.h"
#include "model/model.h"
#include "model/provider.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * All model servers of a configuration as one model: a request's target is chosen here, by the name
 * of the model it asks for, and nowhere else.
 *
 *   "gpt-4o" ─► entry ─► target 0 ──fails before it said anything──► target 1 ─► …
 *                        replicas: the conversation's own, or the least busy
 *
 * - The name that the caller says is replaced by the target's towards the server, and stands in
 *   every frame that comes back.
 * - Until the first event of a stream, or the first byte of a whole answer, the next target is
 *   asked after no connection, a lost one, silence, 429 and 5xx; each once. What has said something
 *   is never asked for again, so no text comes twice.
 * - A target that failed five times in a row rests (client/breaker.h); then one request tries it.
 * Where all that could be asked rest, the one that wakes first is asked: nobody is refused for a
 * count of ours.
 * - What is bound to a server's state (a request with `provider`) is asked of that one alone.
 * - A fault carries the caller's name of the model and the provider that failed last. A name that
 *   no entry matches is a fault with status 404.
 */
enum { WEIR_FLEET_MAX_TARGETS = 64 };

struct weir_fleet_target {
    const struct weir_provider *provider;
    struct weir_slice model; /* p NULL: the caller's own name */
    bool stands_in; /* as a replica or a fallback: no credential of the caller's goes there */
    struct weir_breaker *health;
};

struct weir_fleet_entry {
    struct weir_slice glob;
    const struct weir_fleet_target *targets;
    size_t n_targets;  /* up to WEIR_FLEET_MAX_TARGETS */
    size_t n_replicas; /* the first ones, of equal rank */
};

struct weir_fleet {
    struct weir_model base;
    const struct weir_fleet_entry *entries;
    size_t n_entries;
    const struct weir_fleet_entry
        *otherwise; /* for names that match none; NULL: there is no such */
};

/* The entries are borrowed and must be set. */
void weir_fleet_init(struct weir_fleet *fleet);

/* The longest pattern that matches, `otherwise` when none does, or NULL. */
const struct weir_fleet_entry *weir_fleet_find(const struct weir_fleet *fleet,
                                               struct weir_slice model);

/* Does any target of the entry serve the operation? */
bool weir_fleet_serves(const struct weir_fleet_entry *entry, enum weir_model_op op);

/* Patterns of the models that may be used; none: all. */
struct weir_fleet_scope {
    const struct weir_slice *globs;
    size_t n;
};

bool weir_fleet_scope_has(const struct weir_fleet_scope *scope, struct weir_slice model);

/* The only provider that keeps responses, of those that models of the scope may be at. NULL: there
 * is none, or more than one. */
const struct weir_provider *weir_fleet_keeper(const struct weir_fleet *fleet,
                                              const struct weir_fleet_scope *scope);

/* The provider that is asked for what names no model: the one for names that match nothing, else
 * the first target of the first entry within the scope. NULL: there is none. */
const struct weir_provider *weir_fleet_first(const struct weir_fleet *fleet,
                                             const struct weir_fleet_scope *scope);

/* What callers are told: "the model `x` does not exist; there are `a`, `b`, `llama-*`"; and "the
 * provider `claude` does not serve chat completions". In the arena. */
struct weir_slice weir_fleet_unknown_words(const struct weir_fleet *fleet,
                                           const struct weir_fleet_scope *scope,
                                           struct weir_slice model, struct weir_arena *arena);
struct weir_slice weir_fleet_unserved_words(const struct weir_fleet_entry *entry,
                                            enum weir_model_op op, struct weir_arena *arena);

/* ---- choosing, apart from any run: fleet_pick.c ---- */

struct weir_fleet_choice {
    const struct weir_fleet_entry *entry;
    enum weir_model_op op;
    uint64_t tried;        /* bits of targets that were asked already */
    bool has_conversation; /* … and `conversation` is a hash of what it began with */
    uint64_t conversation;
    uint64_t now_ms;
};

/* The number of the target to ask next, now counted as running there; -1: none is left. */
int weir_fleet_pick(const struct weir_fleet_choice *choice);

/* Is there one after these? */
bool weir_fleet_has_more(const struct weir_fleet_choice *choice);

/* The request has ended: it does not run there any more. */
void weir_fleet_leave(const struct weir_fleet_target *target);

#endif
