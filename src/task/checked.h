#ifndef WEIR_TASK_CHECKED_H
#define WEIR_TASK_CHECKED_H

#include "talk/dialect.h"
#include "talk/logprobs.h"
#include "talk/tools.h"
#include "task/completion.h"
#include "task/guard.h"

/*
 * One choice of an answer on a route that blocks or redacts, streamed or whole: the same machine,
 * fed piece by piece or at once.
 *
 *   delta ─┬─ texts ──────► guard ─► pop: what may leave
 *          ├─ tool calls ─► held, judged when the choice has ended
 *          ├─ logprobs ───► held until the text they belong to leaves
 *          └─ finish ─────► held
 *
 * Who owns it feeds it and writes what it pops: events (completion_enforce.c) or an answer
 * (enforce_unary.c).
 */
struct weir_checked_options {
    struct weir_task_ctx *task;
    const struct weir_task_completion *request;
    const struct weir_dialect *dialect;
    uint64_t place; /* the choice's index */
    size_t max_held_bytes;
    bool is_unary;
    void (*on_progress)(void *ctx); /* see weir_guard_options */
    void *ctx;
};

struct weir_checked {
    struct weir_checked_options o;
    struct weir_guard *guard;
    struct weir_tools tools;
    struct weir_logprobs content_logprobs;
    struct weir_logprobs refusal_logprobs;
    uint16_t halves[WEIR_CHANNEL_TEXTS]; /* see talk/half.h */
    struct weir_buf audio_id;      /* what was told of the audio last, JSON; empty: nothing … */
    struct weir_buf audio_expires; /* … that has not left */
    struct weir_buf audio;         /* the same as members, while they leave */
    struct weir_buf finish;        /* the last finish_reason, JSON; empty: none was said … */
    struct weir_buf stop_reason;   /* … and what came with it */
    struct weir_buf unknown; /* members nobody knows, where they are looked at (talk/unknown.h):
                                they leave, CLEAR, as … */
    const struct weir_json *unknown_left; /* … what may leave of them, an array; NULL: none */
    struct weir_buf whole;             /* the content so far, where a detector asks for all of it */
    struct weir_buf filters;           /* what Azure's filters say of it: JSON members; they leave
                                          with the next event */
    bool has_content;                  /* some was said */
    bool keeps_whole;                  /* a detector asks for all of the content */
    bool has_left[WEIR_CHANNEL_TEXTS]; /* some text of it has left */
    bool is_blocked;
    size_t n_odd;                   /* members that did not have their form, to be counted */
    const struct weir_fault *fault; /* NULL: none of its own */
    struct weir_buf logprobs_out;
};

void weir_checked_init(struct weir_checked *g, const struct weir_checked_options *o);
void weir_checked_dispose(struct weir_checked *g);

/* 0, or what became of the choice: weir_checked_fault tells. */

/* Everything of a delta but its texts. */
int weir_checked_take(struct weir_checked *g, const struct weir_delta *d);

/* The members of the delta that nobody knows: kept until the choice has ended, or counted among
 * n_odd. `with_top`: those of its event, too. */
int weir_checked_take_unknown(struct weir_checked *g, const struct weir_delta *d, bool with_top);

/* Is there something of Azure's filters in it? What was said of them before is void then. */
bool weir_checked_says_filters(const struct weir_delta *d);

/* One of its texts, from the event with that number: first its text, with halves of characters
 * joined and held, then the guard gets it. */
void weir_checked_text(struct weir_checked *g, const struct weir_delta *d,
                       enum weir_channel channel, struct weir_buf *text);
int weir_checked_push(struct weir_checked *g, enum weir_channel channel, uint64_t frame,
                      struct weir_slice text);

/* The choice has ended. Halves must have been pushed (weir_checked_take_half). */
enum weir_channel
weir_checked_take_half(struct weir_checked *g); /* WEIR_CHANNEL_TEXTS: none left */
void weir_checked_end(struct weir_checked *g);

/* What may leave next, as weir_guard_pop, after the promise was checked; `logprobs` is the member
 * of that name, empty: none. */
struct weir_checked_piece {
    struct weir_guard_piece piece;
    struct weir_slice logprobs;
    struct weir_slice entries; /* the same without what is around its list */
};
int weir_checked_pop(struct weir_checked *g, struct weir_checked_piece *p);

/* What detectors that only tell have found, as weir_guard_pop_told. */
int weir_checked_pop_told(struct weir_checked *g, struct weir_checked_piece *p);

const struct weir_fault *weir_checked_fault(const struct weir_checked *g);

/* What is told of the audio, as JSON members: it leaves with the next that is said of it, once. */
static inline bool weir_checked_has_audio(const struct weir_checked *g)
{
    return g->audio_id.n != 0 || g->audio_expires.n != 0;
}
struct weir_slice weir_checked_take_audio(struct weir_checked *g);

/* Bytes that are held besides text. */
size_t weir_checked_held(const struct weir_checked *g);

/* How a blocked choice says no. `text` begins with an empty line where content has left. */
struct weir_checked_no {
    enum weir_channel channel; /* content or refusal */
    struct weir_slice text;    /* in the request's arena */
    struct weir_slice finish;  /* JSON */
};
struct weir_checked_no weir_checked_no(const struct weir_checked *g, bool is_alone);

/* The entry of `detections.output` for findings of one channel; of tool calls the entries, which
 * `results` has then (weir_guard_piece). */
void weir_checked_write_found(struct weir_json_write *w, const struct weir_checked *g,
                              enum weir_channel channel, struct weir_slice results);

/* `tool_calls` and the like as members of a body: appends nothing where there are none. */
void weir_checked_write_calls(const struct weir_checked *g, bool with_index, struct weir_buf *out);

#endif
