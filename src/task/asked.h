#ifndef WEIR_TASK_ASKED_H
#define WEIR_TASK_ASKED_H

#include "talk/mask.h"
#include "talk/walk.h"
#include "task/plan.h"
#include "task/policy.h"
#include "task/scan.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The question of a route: everything in it that reaches the model server is looked at, and what is
 * found leads to what the route's policy says (docs/questions.md).
 *
 *   request ── walk ──► items ── views ──► texts ── scan ──► findings ── places ──► told, replaced,
 *                                                                                   taken out,
 * refused
 *
 * An item is looked at in one view or two: a text as it is, JSON as written and as decoded lines.
 * Parts of a message are looked at once more where they meet. Findings of all views are brought
 * back to places: strings of the request, each with its findings in its own code points, so that a
 * finding that two views have seen is one.
 */
struct weir_asked;

struct weir_asked_options {
    struct weir_arena *arena; /* of the request; everything else lives as long */
    const struct weir_json *json;
    const struct weir_walk *walk;
    const struct weir_policy *policy;
    const struct weir_plan *plan; /* of the input */
    bool is_answer; /* the walk is of an answer's tool calls (task/called.h): all of it is looked
                       at, by all detectors, and `json` is not there */
    struct weir_mask *mask; /* where the policy masks: gets what was found; otherwise NULL */
};

/*
 * What a policy does not let in at all: a status (400: a known member of a wrong type; 422: what
 * cannot be looked at) with words in the arena; 0: there is no such thing.
 */
int weir_asked_check(const struct weir_asked_options *options, const char **why);

/* Prepares the views. Never NULL. */
struct weir_asked *weir_asked_new(const struct weir_asked_options *options);

/* How many texts are to be looked at; without any there is nothing to start. */
size_t weir_asked_n_texts(const struct weir_asked *a);

/* Before it is started: told once at most, before on_done, when all that are no services have
 * looked and services are still at work (weir_scan_on_local). */
void weir_asked_on_local(struct weir_asked *a, weir_scan_local_fn fn, void *ctx);

/* `on_done` comes later, once. */
void weir_asked_start(struct weir_asked *a, struct weir_task_ctx *task, weir_scan_done_fn on_done,
                      void *ctx);

/* ---- when it is done ---- */

size_t weir_asked_n_found(const struct weir_asked *a);

/* What the findings lead to. WEIR_POLICY_REDACTED: the request must be changed before it is sent.
 */
enum weir_policy_outcome weir_asked_outcome(const struct weir_asked *a);

/* A finding in something that cannot be replaced: a fault of the request, in the arena; or NULL. */
const struct weir_fault *weir_asked_fault(const struct weir_asked *a);

/* Where messages have got tokens, and which, for who watches the stream (task/trace.h). */
struct weir_task_trace;
void weir_asked_trace(const struct weir_asked *a, const struct weir_task_trace *trace);

/* Tells who watches the request, by its own copy of the policy, what was found (task/seen.h) and
 * what is done about it. */
void weir_asked_note(const struct weir_asked *a, const struct weir_policy *policy,
                     enum weir_policy_outcome outcome);

/* Every finding as it may be told: a route that enforces does not name what was found. */
typedef void (*weir_asked_visit_fn)(void *ctx, const struct weir_walk_item *item,
                                    const struct weir_detection *d);
void weir_asked_visit(const struct weir_asked *a, weir_asked_visit_fn fn, void *ctx);

/* The array `detections.input`: an entry for each place. */
void weir_asked_write(struct weir_json_write *w, const struct weir_asked *a);

/* Replaces and takes out what was found. `e` edits the request. */
void weir_asked_edit(struct weir_asked *a, struct weir_json_edit *e);

#endif
