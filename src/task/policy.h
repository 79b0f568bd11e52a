#ifndef WEIR_TASK_POLICY_H
#define WEIR_TASK_POLICY_H

#include "base/slice.h"
#include "obs/metric.h"
#include "talk/linkwatch.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What a route does with findings (docs/policies.md). Made from the configuration, then const.
 */
struct weir_seal;
struct weir_seen;
struct weir_mask;

enum weir_policy_action {
    WEIR_POLICY_ANNOTATE,
    WEIR_POLICY_BLOCK,
    WEIR_POLICY_REDACT,
};

enum weir_policy_side { WEIR_POLICY_INPUT, WEIR_POLICY_OUTPUT, WEIR_POLICY_SIDES };

/* What became of one side of a request. */
enum weir_policy_outcome {
    WEIR_POLICY_PASSED,
    WEIR_POLICY_ANNOTATED,
    WEIR_POLICY_BLOCKED,
    WEIR_POLICY_REDACTED,
    WEIR_POLICY_OUTCOMES,
};

/* How what was blocked is said (docs/policies.md, Stop). */
enum weir_policy_block_as {
    WEIR_POLICY_BLOCK_AS_MESSAGE,
    WEIR_POLICY_BLOCK_AS_REFUSAL,
    WEIR_POLICY_BLOCK_AS_ERROR, /* where a status can still be said, else a message */
};

/* Whose values have the same tokens. */
enum weir_policy_scope {
    WEIR_POLICY_SCOPE_KEY, /* of the caller's key, by its name */
    WEIR_POLICY_SCOPE_ROUTE,
    WEIR_POLICY_SCOPE_REQUEST,
};

/* Masking (docs/masking.md): a route that redacts, where what was replaced comes back. */
struct weir_policy_mask {
    struct weir_slice key; /* secret */
    enum weir_policy_scope scope;
    const struct weir_slice *never; /* kinds that are not put back: ids, types, detections */
    size_t n_never;
    enum weir_policy_action unknown_output; /* what findings in the answer lead to */
    struct weir_linkwatch_hosts hosts;      /* in whose URLs values may be put back */
    bool instructs;                         /* asks the model to keep tokens as they are */
    struct weir_metric_counter foreign;     /* tokens of ours that were in no map */
};

struct weir_policy {
    enum weir_policy_action action;
    enum weir_policy_block_as block_as;
    bool ends_completed;           /* blocked choices end with `stop`, not `content_filter` */
    struct weir_slice fallback;    /* what is said instead; p NULL: WEIR_POLICY_REFUSAL */
    struct weir_slice redact_with; /* redact: with {detection}, {detection_type}, {detector_id} */
    bool keeps_unknown;            /* block, redact: members nobody here knows leave unchecked */
    bool checks_unknown;           /* … or are looked at first, and leave at the choice's end */
    uint32_t unguarded;            /* of a question: bits of enum weir_walk_hole that stay open */
    uint32_t input_roles;          /* whose turn is told or blocks: bits by enum weir_walk_role */
    bool looks_at_all;             /* annotate: at all of a question, not at the turn alone */
    bool blocks_history;           /* block: findings that are not in the turn block, too */
    const struct weir_policy_mask *mask; /* redact: as tokens that come back; NULL: not so */
    struct weir_metric_counter outcomes[WEIR_POLICY_SIDES][WEIR_POLICY_OUTCOMES];
    struct weir_metric_counter dropped; /* members nobody here knows */
    const struct weir_seal *seal;       /* of thinking that is changed; NULL: there is no key */
    /* Of one request, in that request's copy of the policy: what is seen of it (task/seen.h), and
     * where the route masks its tokens (talk/mask.h). */
    struct weir_seen *seen;
    struct weir_mask *map;
};

static inline const char *weir_policy_outcome_name(enum weir_policy_outcome outcome)
{
    static const char *const names[WEIR_POLICY_OUTCOMES] = {"pass", "annotate", "block", "redact"};
    return names[outcome];
}

void weir_seen_note_outcome(struct weir_seen *seen, enum weir_policy_side side,
                            enum weir_policy_outcome outcome);

/* Does the route block or redact? NULL: H and I, which only report findings. */
static inline bool weir_policy_enforces(const struct weir_policy *p)
{
    return p != NULL && p->action != WEIR_POLICY_ANNOTATE;
}

/* What findings in an answer lead to. */
static inline enum weir_policy_action weir_policy_on_output(const struct weir_policy *p)
{
    return p->mask != NULL ? p->mask->unknown_output : p->action;
}

/* Counts what became of a side. `p` NULL: counts nowhere. */
static inline void weir_policy_count(const struct weir_policy *p, enum weir_policy_side side,
                                     enum weir_policy_outcome outcome)
{
    if (p != NULL) {
        weir_metric_add(p->outcomes[side][outcome], 1);
        if (p->seen != NULL) {
            weir_seen_note_outcome(p->seen, side, outcome);
        }
    }
}

/* What a choice says that was blocked without a fallback message. */
#define WEIR_POLICY_REFUSAL WEIR_SLICE("I can't help with that.")

#endif
