#ifndef WEIR_TASK_GUARD_TOLD_H
#define WEIR_TASK_GUARD_TOLD_H

#include "base/arena.h"
#include "task/guard.h"

/*
 * What a guard does besides where some detectors of a route only tell (`on_detection: annotate` of
 * a detector on a route that blocks, redacts or masks):
 *
 *   text, tool calls ─┬─► the guard: those that judge ─────────────► leaves
 *                     └─► a guard of its own: those that only tell ─► what is found, later
 *
 * That second guard has a policy that only tells (weir_policy_teller) and all that the first one
 * has: paths, detectors of the whole, tool calls. What it lets go is dropped; its findings wait
 * here until the text they are of has left. Nothing is done where none only tells.
 */
struct weir_guard_told {
    struct weir_guard *guard;
    struct weir_policy_teller policy;
    struct weir_guard_piece piece; /* with findings, to be told */
    struct weir_detection *findings;
    const struct weir_detection **list;
    struct weir_arena kept; /* all that the piece has */
    size_t n_bytes;         /* of text that was given and not looked at */
    bool has_piece;
    bool is_over; /* it has said its last */
};

/* As `options` are of the guard itself, for the plan's `telling`. NULL: none only tells; the others
 * take that for one that never has anything to say. */
struct weir_guard_told *weir_guard_told_new(const struct weir_guard_options *options);
void weir_guard_told_free(struct weir_guard_told *t);

int weir_guard_told_push(struct weir_guard_told *t, enum weir_channel channel, uint64_t frame,
                         struct weir_slice text);
void weir_guard_told_end(struct weir_guard_told *t, const struct weir_guard_ending *ending);

/* 0: `piece` is the next one with findings, until it is taken; else WEIR_EAGAIN or an error. */
int weir_guard_told_next(struct weir_guard_told *t);

#endif
