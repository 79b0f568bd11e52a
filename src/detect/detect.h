#ifndef WEIR_DETECT_DETECT_H
#define WEIR_DETECT_DETECT_H

#include "base/arena.h"
#include "base/slice.h"
#include "client/call.h"
#include "client/fault.h"
#include "detect/detection.h"
#include "obs/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Detectors: texts in, findings out. Remote services and built-in ones look the same from here; a
 * new kind is one new file with a `const struct weir_detect_ops`.
 *
 *   call = weir_detect_start(detector, env, input, on_done, ctx)
 *   call->is_done?  ─ yes: a built-in has answered already, on_done will not come
 *                   └ no:  on_done comes later, never from inside start
 *   … read call->fault, call->lists … weir_detect_free(call)         free any time: that cancels
 */
enum weir_detect_type {
    WEIR_DETECT_CONTENTS,    /* texts, one list of findings each */
    WEIR_DETECT_CHAT,        /* a chat history: one list */
    WEIR_DETECT_CONTEXT_DOC, /* a text against documents: one list */
    WEIR_DETECT_GENERATION,  /* a prompt and what was generated: one list */
};

/* What to look at. All of it is borrowed until the call is freed. */
struct weir_detect_input {
    enum weir_detect_type type;
    const struct weir_slice *contents; /* CONTENTS: UTF-8 */
    size_t n_contents;
    /* CONTENTS: how many bytes of the text stand in memory right before each content, for context.
     * Built-in detectors look at them, but report only what begins in the content. NULL: none. */
    const size_t *before;
    struct weir_slice within;         /* CONTENTS: a text they are slices of, most of them; or "" */
    struct weir_slice messages;       /* CHAT: a JSON array, as it stands */
    struct weir_slice tools;          /* CHAT: a JSON array; empty: none */
    struct weir_slice content;        /* CONTEXT_DOC */
    struct weir_slice context_type;   /* CONTEXT_DOC: "docs" or "url" */
    struct weir_slice context;        /* CONTEXT_DOC: a JSON array, as it stands */
    struct weir_slice prompt;         /* GENERATION */
    struct weir_slice generated_text; /* GENERATION */
    struct weir_slice params;         /* a JSON object without `threshold`, sorted by name; or "" */
    double threshold;                 /* findings with a lower score are dropped */
    bool is_piece;   /* CONTENTS: they are pieces of longer texts; see enum weir_detection_edge */
    bool is_lenient; /* compat fms: missing lists count as empty, surplus ones are ignored */
};

/* What the world gives a call: the worker's client and the request's context. */
struct weir_detect_env {
    struct weir_loop *loop;
    struct weir_client *client;
    const struct weir_call_context *context;
    size_t max_body_bytes;          /* of an answer */
    struct weir_verdicts *verdicts; /* what the worker knows already; NULL: nothing */
    struct weir_desks *desks;       /* the worker's, detect/desk.h; NULL: nothing is batched */
};

struct weir_detect_list {
    const struct weir_detection *items; /* spans relative to their content, checked; as answered */
    size_t n;
};

struct weir_detect_call;
struct weir_detector;

typedef void (*weir_detect_done_fn)(void *ctx, struct weir_detect_call *call);

/* Who is told. */
struct weir_detect_waiter {
    weir_detect_done_fn on_done;
    void *ctx;
};

struct weir_detect_ops {
    struct weir_detect_call *(*start)(const struct weir_detector *d,
                                      const struct weir_detect_env *env,
                                      const struct weir_detect_input *input,
                                      weir_detect_done_fn on_done, void *ctx);
    void (*free)(struct weir_detect_call *call); /* cancels what is under way */
};

/* weir_detector_cache_total by result: detect/verdicts.h */
struct weir_detect_counts {
    struct weir_metric_counter hit;
    struct weir_metric_counter joined;
    struct weir_metric_counter miss;
};

/* Embedded first in a kind's own struct. Const after it was made, shared by all workers. */
struct weir_detector {
    const struct weir_detect_ops *ops;
    struct weir_slice id; /* the configured id: every finding carries it */
    enum weir_detect_type type;
    bool takes_many; /* CONTENTS: a call costs a request, which may be about several texts */
    /* Verdicts that are kept (detect/known.h): weir_verdicts_serial(); 0: they are not. */
    uint64_t serial;
    size_t keep_from_bytes; /* not 0: built in, for single texts of this length or more */
    struct weir_detect_counts counts;
};

/* Embedded first in a kind's own struct. */
struct weir_detect_call {
    const struct weir_detector *detector;
    bool is_done;
    void (*free)(struct weir_detect_call *call); /* instead of the detector's; NULL: that one */
    struct weir_fault fault;                     /* origin NONE: it worked */
    const struct weir_detect_list *lists; /* one per content; one in all for the other types */
    size_t n_lists;
};

bool weir_known_wants(const struct weir_detector *d, const struct weir_detect_env *env,
                      const struct weir_detect_input *input);
struct weir_detect_call *weir_known_start(const struct weir_detector *d,
                                          const struct weir_detect_env *env,
                                          const struct weir_detect_input *input,
                                          weir_detect_done_fn on_done, void *ctx);

static inline struct weir_detect_call *weir_detect_start(const struct weir_detector *d,
                                                         const struct weir_detect_env *env,
                                                         const struct weir_detect_input *input,
                                                         weir_detect_done_fn on_done, void *ctx)
{
    if (d->serial != 0 && weir_known_wants(d, env, input)) {
        return weir_known_start(d, env, input, on_done, ctx);
    }
    return d->ops->start(d, env, input, on_done, ctx);
}

/* NULL is fine. */
static inline void weir_detect_free(struct weir_detect_call *call)
{
    if (call != NULL && call->free != NULL) {
        call->free(call);
    } else if (call != NULL) {
        call->detector->ops->free(call);
    }
}

#endif
