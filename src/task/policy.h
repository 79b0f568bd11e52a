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
    WEIR_POLICY_SHADOWED = WEIR_POLICY_OUTCOMES, /* of a finding alone: seen by task/shadow.h */
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
    bool asks_beside;              /* annotate, block: the model is asked while services still look
                                      at the question (task/beside.h) */
    bool blocks_history;           /* block: findings that are not in the turn block, too */
    bool only_tells;               /* a copy of the route's, for those of its detectors whose
                                      findings are told as on this route and do nothing else */
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
    static const char *const names[] = {"pass", "annotate", "block", "redact", "shadow"};
    return names[outcome];
}

void weir_seen_note_outcome(struct weir_seen *seen, enum weir_policy_side side,
                            enum weir_policy_outcome outcome);

/* ---- what the actions do ---- */

/* What becomes of something in which something was found. */
enum weir_policy_fate {
    WEIR_POLICY_TOLD,     /* it leaves as it is */
    WEIR_POLICY_REPLACED, /* it leaves with what was found replaced or taken out */
    WEIR_POLICY_REFUSED,  /* a question: an error says that this cannot be replaced */
    WEIR_POLICY_STOPPED,  /* the question or the answer ends, as `block_as` says */
};

/* A piece of an answer, or a question, with findings. */
struct weir_policy_hit {
    const struct weir_policy *policy;
    bool can_replace; /* all have a place, in what may be changed */
    bool is_asked;    /* of a question: some are in the turn, the others in what was said before */
};

/* One action: all that its findings lead to. A new one is one more of these. */
struct weir_policy_rules {
    bool enforces; /* nothing leaves that was not looked at; findings do not print what they hide */
    bool fills;    /* what is replaced is filled with `redact_with`, else with a note */
    bool holds_json; /* JSON that was asked for leaves when all of it is known to be clean */
    enum weir_policy_fate (*answer)(const struct weir_policy_hit *hit);
    enum weir_policy_fate (*question)(const struct weir_policy_hit *hit);
    enum weir_policy_outcome outcome; /* of a side with findings that nothing stopped */
};

/* A route's policy for those of its detectors that only tell: policy_annotate.c. */
struct weir_policy_teller {
    struct weir_policy policy;
    struct weir_policy_mask mask;
};
void weir_policy_teller_init(struct weir_policy_teller *t, const struct weir_policy *p);

extern const struct weir_policy_rules weir_policy_annotate; /* policy_annotate.c … */
extern const struct weir_policy_rules weir_policy_block;
extern const struct weir_policy_rules weir_policy_redact;

static inline const struct weir_policy_rules *weir_policy_rules_of(enum weir_policy_action action)
{
    static const struct weir_policy_rules *const all[] = {
        [WEIR_POLICY_ANNOTATE] = &weir_policy_annotate,
        [WEIR_POLICY_BLOCK] = &weir_policy_block,
        [WEIR_POLICY_REDACT] = &weir_policy_redact,
    };
    return all[action];
}

/* Does the route block or redact? NULL: the orchestrator's endpoints, which only report findings.
 */
static inline bool weir_policy_enforces(const struct weir_policy *p)
{
    return p != NULL && weir_policy_rules_of(p->action)->enforces;
}

/* What findings in a question lead to. */
static inline const struct weir_policy_rules *weir_policy_on_input(const struct weir_policy *p)
{
    return weir_policy_rules_of(p->only_tells ? WEIR_POLICY_ANNOTATE : p->action);
}

/* What findings in an answer lead to. */
static inline const struct weir_policy_rules *weir_policy_on_output(const struct weir_policy *p)
{
    bool is_masking = p->mask != NULL && !p->only_tells;
    return is_masking ? weir_policy_rules_of(p->mask->unknown_output) : weir_policy_on_input(p);
}

/* May findings in an answer change it or end it? */
static inline bool weir_policy_touches_output(const struct weir_policy *p)
{
    return weir_policy_enforces(p) && weir_policy_on_output(p)->enforces;
}

/* What becomes of a part of an answer that has findings. */
static inline enum weir_policy_fate weir_policy_judge_answer(const struct weir_policy *p,
                                                             bool can_replace)
{
    struct weir_policy_hit hit = {.policy = p, .can_replace = can_replace};
    return weir_policy_on_output(p)->answer(&hit);
}

/* What became of a side of which both are true. */
static inline enum weir_policy_outcome weir_policy_stronger(enum weir_policy_outcome a,
                                                            enum weir_policy_outcome b)
{
    static const int ranks[WEIR_POLICY_OUTCOMES] = {[WEIR_POLICY_PASSED] = 0,
                                                    [WEIR_POLICY_ANNOTATED] = 1,
                                                    [WEIR_POLICY_REDACTED] = 2,
                                                    [WEIR_POLICY_BLOCKED] = 3};
    return ranks[b] > ranks[a] ? b : a;
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
