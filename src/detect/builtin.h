#ifndef WEIR_DETECT_BUILTIN_H
#define WEIR_DETECT_BUILTIN_H

#include "base/buf.h"
#include "detect/detect.h"
#include "detect/found.h"
#include "detect/reader.h"
#include "io/offload.h"
#include "wire/json.h"

#include <stdint.h>

/*
 * What all built-in detectors share: reading parameters once, going over the contents, findings
 * in code points. A kind is three functions.
 *
 *   params {"regex":["email"]} ── make ─► settings (const, any thread)
 *   text ─────────────────────── scan(settings) ─► byte spans ─► findings
 *
 * A request's parameters replace the configured ones member by member; what they become is kept,
 * per thread, for the next request that sends the same. A built-in answers inside start, unless
 * the parameters are new, which are read on another thread, or the work is heavy by its kind or
 * its size: then a copy of the contents goes there.
 */
struct weir_builtin_params {
    struct weir_json json; /* an object */
    struct weir_arena *arena;
};

/* One call's: how it stands with its limits. */
struct weir_builtin_run {
    const char *why;   /* static: which limit was met */
    int64_t budget_us; /* processor time that callers' patterns may still use, for all contents */
    const struct weir_offload *job; /* off the loop: may be cancelled; NULL: on it */
    bool is_piece;                  /* texts are pieces of longer ones */
};

struct weir_builtin_kind {
    const char *name;
    const char *const *members; /* the parameters there are, NULL at the end */
    bool across_kinds;          /* overlapping findings exclude each other (detect/found.h) */
    bool is_of_wholes;          /* judges whole documents; cannot judge parts of one */
    const char *needs;          /* the parameter without which nothing is looked for; or NULL */
    bool has_views; /* sees escapes and base64 as what they stand for (detect/views.h) */
    /* NULL with the reason in `why`, in words for the person who wrote the parameters. */
    void *(*make)(const struct weir_builtin_params *params, struct weir_buf *why);
    void (*free)(void *settings); /* NULL: nothing to do */
    /* 0, or WEIR_ELIMIT: the text was not seen whole, with the reason in run->why. */
    int (*scan)(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run);
    const struct weir_reader_ops *reader; /* NULL: it does not read along (detect/reader.h) */
    /* Is this too much for the loop? With it, the budget is larger. NULL: by the size alone. */
    bool (*is_heavy)(const void *settings, size_t n_bytes);
};

struct weir_builtin_made;

struct weir_builtin {
    struct weir_detector base;
    const struct weir_builtin_kind *kind;
    struct weir_slice params;       /* as configured */
    struct weir_builtin_made *made; /* of them */
    uint64_t serial;
};

/*
 * `id` and `params` (a JSON object, or empty) are borrowed. 0, or WEIR_EINVAL with `why`. The
 * detector's type is WEIR_DETECT_CONTENTS.
 */
int weir_builtin_init(struct weir_builtin *b, const struct weir_builtin_kind *kind,
                      struct weir_slice id, struct weir_slice params, struct weir_buf *why);

/* The same detector with other parameters, as a request would send them, made once: for routes.
 * What it needs to remember is in the arena; `of` must outlive it. */
int weir_builtin_init_like(struct weir_builtin *b, const struct weir_builtin *of,
                           struct weir_slice params, struct weir_arena *arena,
                           struct weir_buf *why);

/* The built-in that a detector is, or NULL: it is a service. */
const struct weir_builtin *weir_builtin_of(const struct weir_detector *d);

/* Is a parameter in this JSON object, and more than an empty list? */
bool weir_builtin_has_param(struct weir_slice params, const char *name);

/* Safe after a failed init. Its calls must be freed. */
void weir_builtin_dispose(struct weir_builtin *b);

/*
 * The strings of a member that is an array of strings, or one string; in the params' arena. Absent:
 * none. WEIR_EINVAL with `why` for anything else and for more than `max`.
 */
int weir_builtin_strings(const struct weir_builtin_params *params, const char *member, size_t max,
                         struct weir_buf *why, struct weir_slice **out, size_t *n);

#endif
