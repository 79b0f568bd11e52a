#ifndef WEIR_TASK_GUARD_H
#define WEIR_TASK_GUARD_H

#include "talk/channel.h"
#include "talk/tools.h"
#include "task/path.h"
#include "task/plan.h"
#include "task/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One choice of an answer on a route that blocks or redacts.
 *
 *   push(content, …)   ─► path ─┐                     ┌─► TEXT     clean, or with findings replaced
 *   push(reasoning, …) ─► path ─┼─► policy ─► pop ────┼─► BLOCKED  the choice ends here
 *   end(tool calls, …) ─► scan ─┘                     └─► CLEAR    all text has left: now the calls
 *
 * Text leaves as soon as everything that touches it is known (`aligned` batches), each channel in
 * its own order. Where the route blocks, the text before the first finding leaves, and no more.
 * Channels are never cut short where another one begins: what leaves must not depend on how the
 * server mixed them. A detector that looks at the whole holds the whole choice until its end.
 *
 * A unary answer goes through the same guard, pushed at once: so it says what a streamed one would
 * have said. Where several channels are ready, models' reasoning leaves before what they say.
 *
 * Detectors that only tell (weir_plan_use.only_tells) have no part in any of this: what they find
 * comes by weir_guard_pop_told, behind the text it is of, and perhaps behind BLOCKED or CLEAR.
 */
struct weir_guard;

struct weir_guard_options {
    struct weir_task_ctx *task;
    const struct weir_plan *plan;
    const struct weir_policy *policy;
    size_t max_held_bytes; /* per channel: see path.h */
    uint64_t choice;       /* its index, for the watcher (task/trace.h) */
    bool keeps_json;       /* the content is JSON and stays that where it is redacted */
    bool keeps_tokens;     /* on routes that mask: no values are put back here */
    bool is_unary;         /* channels leave one after the other, so that timing does not matter */
    bool exposes_nothing;  /* see weir_path_options; so it is where the answer is unary */
    /* Something changed: pop. Never called from inside a call of the owner's. */
    void (*on_progress)(void *ctx);
    void *ctx;
};

enum weir_guard_what {
    WEIR_GUARD_TEXT,
    WEIR_GUARD_BLOCKED, /* last */
    WEIR_GUARD_CLEAR,   /* after end: nothing is held, tool calls may leave (weir_guard_let_go) */
};

/* A stretch of what the model said: it leaves as it is, or it does not. */
struct weir_guard_stretch {
    struct weir_slice text;
    bool is_replaced;
};

/* Valid until the next call. */
struct weir_guard_piece {
    enum weir_guard_what what;
    enum weir_channel channel; /* of the findings; CLEAR: tool calls */
    struct weir_slice text;    /* TEXT: what may leave */
    size_t start_cp;           /* TEXT: which part of the channel it stands for */
    size_t end_cp;
    size_t taken_back_cp; /* so much of the text before it is replaced with it (unmask.h) */
    bool is_changed;      /* TEXT: it is not what the model said */
    const struct weir_guard_stretch *stretches; /* TEXT: what the model said, in order */
    size_t n_stretches;
    /* As they are told: spans are those of the text that leaves, and what was found is not a name
     * (see weir_detection_name). */
    const struct weir_detection *const *findings;
    size_t n_findings;
    bool has_foreign;          /* said once: tokens of ours were said that stand for nothing here */
    struct weir_slice entries; /* of tool calls: the findings as entries of `detections.output`,
                                  commas between them */
};

/* What is only known when a choice has ended. Lives in the request's arena. */
struct weir_guard_ending {
    const struct weir_tools *calls; /* copied; NULL: none */
    struct weir_slice unknown;      /* members nobody knows that are looked at (task/called.h) */
    struct weir_slice messages; /* for text_chat: the history with the generated message, JSON */
    struct weir_slice tools;    /* for text_chat: the request's tools, JSON; empty: none */
    struct weir_slice prompt;   /* for text_generation */
};

struct weir_guard *weir_guard_new(const struct weir_guard_options *options);
void weir_guard_free(struct weir_guard *guard); /* cancels what runs; NULL is fine */

/* 0, WEIR_EBAD (not UTF-8) or WEIR_ELIMIT (too much is held). Then pop. */
int weir_guard_push(struct weir_guard *guard, enum weir_channel channel, uint64_t frame,
                    struct weir_slice text);

/* The text of a channel so far, in code points. */
size_t weir_guard_length_cp(const struct weir_guard *guard, enum weir_channel channel);

/* All of a channel's text so far, where a detector of the whole holds everything back; else empty.
 */
struct weir_slice weir_guard_whole(const struct weir_guard *guard, enum weir_channel channel);

/* The choice has ended, once: nothing is pushed any more. Then pop. */
void weir_guard_end(struct weir_guard *guard, const struct weir_guard_ending *ending);

/* 0 and the next piece, WEIR_EAGAIN, or an error: see weir_guard_fault. */
int weir_guard_pop(struct weir_guard *guard, struct weir_guard_piece *piece);
const struct weir_fault *weir_guard_fault(const struct weir_guard *guard);

/* Pop has returned BLOCKED or CLEAR: nothing more will leave. */
bool weir_guard_is_done(const struct weir_guard *guard);

/*
 * What detectors that only tell have found in text that has left: 0 and a TEXT piece without text,
 * whose findings are told as all are, or as weir_guard_pop. All was told: after CLEAR, when they
 * have looked at everything, and after BLOCKED, which is the last that is told of a choice.
 * `told_bytes`: so much of what was pushed waits for them alone.
 */
int weir_guard_pop_told(struct weir_guard *guard, struct weir_guard_piece *piece);
bool weir_guard_is_told(const struct weir_guard *guard);
size_t weir_guard_told_bytes(const struct weir_guard *guard);

/*
 * The promise (task/promise.h), checked where something leaves and computed without the decisions
 * above. For a TEXT piece: has every detector that holds text back answered for it, and does it
 * follow the piece before? For tool calls: weir_called_has_judged; then what was found in them is
 * replaced. The members nobody knows are those that `ending` had; what may leave of them is put to
 * `*left` (weir_called_unknown). False: nothing must leave.
 */
bool weir_guard_has_judged(struct weir_guard *guard, const struct weir_guard_piece *piece);
bool weir_guard_let_go(struct weir_guard *guard, struct weir_tools *calls,
                       struct weir_slice unknown, const struct weir_json **left);

/* What is at work that can release something: see weir_path_waits. */
enum weir_path_wait weir_guard_waits(const struct weir_guard *guard);

#endif
