#ifndef WEIR_TASK_SHADOW_H
#define WEIR_TASK_SHADOW_H

#include "base/account.h"
#include "base/list.h"
#include "talk/dialect.h"
#include "task/asked.h"
#include "task/env.h"
#include "task/seen.h"

/*
 * Detectors that only watch (`mode: shadow`): they are given copies of what a request on a route
 * says and is answered, when it is over. Nothing waits for them, nothing they do is seen by the
 * caller; what they find is counted and audited.
 *
 *   a question ─┐ copies, up to            the request      a scan for each
 *   an answer ──┴─► 64 KiB of them ─── is over, and gone ──► detector ─► counted ─► gone
 *                      └ more is left out
 *
 * A shadow outlives its request for as long as its detectors need, ten seconds at most; all shadows
 * of a worker together keep 16 MiB at most, 256 of them look at once, and who comes then is left
 * out. Their memory counts in the process's total. What they did not look at is counted in
 * weir_shadow_skipped_total.
 */
enum {
    WEIR_SHADOW_MAX_BYTES = 64 * 1024,
    WEIR_SHADOW_QUESTION_BYTES = 32 * 1024, /* of them: an answer has its share, too */
    WEIR_SHADOW_LATE_MS = 10000,
    WEIR_SHADOWS_MAX_BYTES = 16 * 1024 * 1024,
    WEIR_SHADOWS_AT_ONCE = 256, /* each may hold connections */
};

/* A worker's. */
struct weir_shadows {
    struct weir_loop *loop;
    struct weir_account account;
    struct weir_list all;
    size_t n_looking;
};

void weir_shadows_init(struct weir_shadows *all, struct weir_loop *loop);
/* Breaks off what is under way. Safe twice. */
void weir_shadows_dispose(struct weir_shadows *all);

struct weir_shadow;

struct weir_shadow_options {
    struct weir_shadows *all;
    const struct weir_task_ctx *task; /* the request's; what is needed of it is copied */
    const struct weir_plan *input;    /* those that look at the question … */
    const struct weir_plan *output;   /* … and at the answer */
    struct weir_slice route;
    void *held; /* what keeps the plans and the environment alive: `let_go` gives it back */
    void (*let_go)(void *held);
};

/* NULL: there is no room for one; counted, and `held` was given back. */
struct weir_shadow *weir_shadow_new(const struct weir_shadow_options *options);

/* For what is told about its findings: `watch` of it may be set, before the request is over. */
struct weir_seen *weir_shadow_seen(struct weir_shadow *s);
struct weir_arena *weir_shadow_arena(struct weir_shadow *s);
/* Called when it has looked at all that it will, before its memory goes. */
void weir_shadow_on_end(struct weir_shadow *s, void (*fn)(void *ctx), void *ctx);

/* What is asked; NULL: too much to be told apart, left out. */
void weir_shadow_add_question(struct weir_shadow *s, const struct weir_asked *asked);

void weir_shadow__add_answer(struct weir_shadow *s, const struct weir_dialect *dialect,
                             enum weir_talk_form form, struct weir_slice said);
void weir_shadow__add_row(struct weir_shadow *s, enum weir_model_op op, enum weir_talk_form form,
                          struct weir_slice said);

/* What the model server says: an event, or all of it. What is no JSON of that dialect is left out.
 * NULL is fine. */
static inline void weir_shadow_add_answer(struct weir_shadow *s, const struct weir_dialect *dialect,
                                          enum weir_talk_form form, struct weir_slice said)
{
    if (s != NULL) {
        weir_shadow__add_answer(s, dialect, form, said);
    }
}

/* The same for Anthropic's Messages and OpenAI's Responses. Of an item that is neither text nor a
 * call nothing is added. */
static inline void weir_shadow_add_row(struct weir_shadow *s, enum weir_model_op op,
                                       enum weir_talk_form form, struct weir_slice said)
{
    if (s != NULL) {
        weir_shadow__add_row(s, op, form, said);
    }
}

/* The request is over. The shadow is on its own from now on; it looks later, not from inside. */
void weir_shadow_end(struct weir_shadow *s);

#endif
