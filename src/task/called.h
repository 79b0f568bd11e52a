#ifndef WEIR_TASK_CALLED_H
#define WEIR_TASK_CALLED_H

#include "talk/tools.h"
#include "task/plan.h"
#include "task/policy.h"
#include "task/scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The tool calls of one choice of an answer, complete, as a guard looks at them: in the same way as
 * at those of a question (task/asked.h).
 *
 *   name       ── as it is ───────────────┐
 *   arguments ─┬─ as written ─────────────┼─► scan ─► findings ─► told; replaced inside of the leaf
 *              └─ decoded, line by line ──┘                       that has them; or they block
 *
 * JSON stays JSON when it is replaced; arguments that are none, and the input of a custom tool, are
 * plain text. A name cannot be replaced, nor a member's name inside of the arguments, nor a finding
 * that has no place: where the route redacts, these block the choice.
 */
struct weir_called;

struct weir_called_options {
    struct weir_arena *arena; /* of the request; everything else lives as long */
    const struct weir_plan *plan;
    const struct weir_policy *policy;
    const struct weir_mask *mask;   /* whose tokens are no findings; or NULL */
    uint64_t choice;                /* its index, for the entries */
    const struct weir_tools *tools; /* copied: what is under judgement must not move */
    struct weir_slice unknown; /* members nobody knows (talk/unknown.h), objects with commas between
                                  them: looked at likewise, and a name with a finding is taken out
                                  with its member. Copied; empty: none */
};

/* Never NULL. */
struct weir_called *weir_called_new(const struct weir_called_options *options);

/* Adds what is to be looked at to a scan that has not started. False: there is nothing. */
bool weir_called_add(struct weir_called *c, struct weir_scan *scan);

/* That scan is done and has not failed. Call it once; the rest is known only then. */
void weir_called_collect(struct weir_called *c);

/* What was found, as it is told (weir_guard_piece), and as entries of `detections.output` with
 * commas between them: an entry for each string. */
struct weir_called_found {
    const struct weir_detection *const *items;
    size_t n;
    size_t n_unknown; /* of them, in members nobody knows: the last ones */
    struct weir_slice entries;
};
const struct weir_called_found *weir_called_found(const struct weir_called *c);

/* The route enforces, and what was found must not leave and cannot be replaced. */
bool weir_called_blocks(const struct weir_called *c);

/*
 * The promise (task/promise.h): are these the calls that were judged, with every answer there, and
 * may they leave, once replaced? Computed from what detectors answered and not from the decisions
 * above.
 */
bool weir_called_has_judged(const struct weir_called *c, const struct weir_tools *tools,
                            struct weir_slice unknown);

/* Replaces what was found in the arguments of the same calls. False: what was JSON would not be any
 * more. */
bool weir_called_replace(struct weir_called *c, struct weir_tools *tools);

/* The members nobody knows that may leave: an array of objects, in the arena. NULL: none may. */
const struct weir_json *weir_called_unknown(struct weir_called *c);

/* Inside called (called_join.c): adds views of the strings of a document's elements that have the
 * same path, joined. True: one of them is a `data:` URL then. */
struct weir_asked;
bool weir_called__join(struct weir_asked *asked, uint32_t item);

#endif
