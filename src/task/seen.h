#ifndef WEIR_TASK_SEEN_H
#define WEIR_TASK_SEEN_H

#include "base/arena.h"
#include "base/buf.h"
#include "detect/detection.h"
#include "task/policy.h"
#include "wire/json.h"

/*
 * What became of one request on a route, for its log line, its headers and the metrics; never text.
 * A task reports through the request's policy; where nobody asks (`seen` NULL) nothing is kept.
 *
 *   weir_policy_count      once per side: pass, annotate, block, redact
 *   weir_seen_findings     what was found, where, and what was done about it
 *   weir_seen_usage        what the model server says it cost
 */
enum { WEIR_SEEN_MAX_KINDS = 32 };

/* Findings of one detector that are alike. */
struct weir_seen_kind {
    enum weir_policy_side side;
    enum weir_policy_outcome action;
    const char *channel;
    struct weir_slice detector;
    struct weir_slice detection;
    struct weir_metric_counter counter;
    uint64_t n;
    double score; /* the highest */
};

struct weir_seen_where {
    enum weir_policy_side side;
    const char *channel; /* a literal: "content", "tool_calls" */
    enum weir_policy_outcome action;
};

/* A finding as it may be told: `detection` is a name, never what was matched. Borrowed. */
typedef void (*weir_seen_watch_fn)(void *ctx, const struct weir_seen_where *where,
                                   const struct weir_detection *d, struct weir_slice detection);

struct weir_seen {
    struct weir_arena *arena; /* the request's */
    struct weir_slice route;
    bool has_outcome[WEIR_POLICY_SIDES];
    enum weir_policy_outcome outcome[WEIR_POLICY_SIDES];
    struct weir_seen_kind *kinds; /* most requests have none */
    size_t n_kinds;
    size_t cap_kinds;
    bool has_usage;
    uint64_t input_tokens;
    uint64_t output_tokens;
    weir_seen_watch_fn watch; /* NULL: nobody */
    void *watch_ctx;
};

/* Once, before any request: weir_findings_total. */
void weir_seen_declare(void);

/* They do nothing for a policy that nobody watches, or for none. */
void weir_seen_findings(const struct weir_policy *p, const struct weir_seen_where *where,
                        const struct weir_detection *const *found, size_t n);
void weir_seen_usage(const struct weir_policy *p, const struct weir_json *answer);
/* The same of an object `usage` that stands elsewhere. */
void weir_seen_usage_at(const struct weir_policy *p, const struct weir_json *json, uint32_t usage);

/* Does it look like a model's name? A caller can write anything there. */
bool weir_seen_is_model_name(struct weir_slice s);

/* "pii=2 secrets=1": the detectors that found something on that side. */
void weir_seen_write_detectors(const struct weir_seen *seen, enum weir_policy_side side,
                               struct weir_buf *out);

/* What was done at most: block before redact before annotate before pass. */
enum weir_policy_outcome weir_seen_action(const struct weir_seen *seen);

#endif
