#ifndef WEIR_TASK_ROWED_H
#define WEIR_TASK_ROWED_H

#include "base/buf.h"
#include "talk/restore.h"
#include "talk/shape.h"
#include "task/completion.h"
#include "task/question.h"
#include "task/row.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A request whose answer is a row of places (task/row.h), as Anthropic's Messages and OpenAI's
 * Responses have it, for both:
 *
 *   input detectors ──blocked──► the route's words
 *          └─► model ─► events, or a whole answer ─► row ─► what may leave
 *
 * What arrives and what leaves is the dialect's business (struct weir_rowed_dialect). First member
 * of what a dialect keeps of a request, which lives in the request's arena.
 */
struct weir_rowed;

/* An event that has the shape of one that was read: all that is new in it is its text. */
struct weir_rowed_said {
    const struct weir_shape *shape;
    struct weir_slice text;
    struct weir_slice json; /* the event … */
    struct weir_slice raw;  /* … and with its framing */
};

struct weir_rowed_dialect {
    enum weir_model_op op;
    const struct weir_walk_dialect *walk; /* of requests */
    const char *no_end; /* what is wrong with a stream that ends without its last event */
    const struct weir_row_ops *stream_ops;
    const struct weir_row_ops *unary_ops;
    void (*take_event)(struct weir_rowed *r, const struct weir_json *json, struct weir_slice raw);
    /* The same of an event that was not read; False: it must be, and nothing was done. */
    bool (*take_said)(struct weir_rowed *r, const struct weir_rowed_said *said);
    void (*take_whole)(struct weir_rowed *r); /* r->answer */
    /* Nobody looks at the answer: what of an event leaves otherwise all the same. False: nothing,
     * and nothing was appended. May be NULL. */
    bool (*change)(struct weir_rowed *r, struct weir_slice json, struct weir_buf *out);
    /* A whole answer: gives the row what comes next, sets r->rest or r->has_ended. */
    void (*go_on)(struct weir_rowed *r);
    void (*say)(struct weir_rowed *r, struct weir_slice text); /* some of r->rest */
    void (*refuse_stream)(struct weir_rowed *r);               /* the question */
    /* The answer ends here, behind what has left: its first event alone where text is held
     * (weir_rowed_holds_text). */
    void (*stop_stream)(struct weir_rowed *r);
    void (*answer)(struct weir_rowed *r, bool is_refused);
    size_t (*held)(const struct weir_rowed *r); /* beside the row */
    /* Where something was found, as members: "index":0 */
    void (*write_place)(const struct weir_rowed *r, const struct weir_row_found *found,
                        struct weir_buf *out);
    void (*undo)(struct weir_rowed *r);
};

/* What was found in one place. */
struct weir_rowed_found {
    uint64_t number;
    enum weir_channel channel;
    int tag;
    struct weir_buf place;   /* as the dialect writes it */
    struct weir_buf results; /* commas between them */
};

struct weir_rowed {
    struct weir_stream stream;
    const struct weir_rowed_dialect *dialect;
    struct weir_question question;
    struct weir_task_completion request;
    struct weir_input input;
    struct weir_row *row; /* NULL: nobody looks at the answer */
    struct weir_plan
        conversation; /* who of `request.output` looks at all of it; no more in there */
    bool is_stream;
    bool has_output; /* some detector looks at what the model says */
    bool enforces;
    bool has_ended; /* the last event, or all of the whole answer, has come */
    enum weir_policy_outcome outcome;

    struct weir_rowed_found *found; /* by place, in the order they were found */
    size_t n_places;
    size_t cap_places;
    size_t n_found;

    /* A stream. */
    struct weir_shapes shapes;       /* of events that say one string */
    struct weir_buf lead_detections; /* what the first event takes along: arrays */
    struct weir_buf lead_warnings;
    bool has_lead;
    bool has_start;          /* the event that always leaves at once has left */
    struct weir_buf waiting; /* events that leave when the answer is known to be clean: lines */

    /* A whole answer. */
    struct weir_json answer;
    struct weir_slice rest; /* of the text that is said just now */
    struct weir_post step;  /* gives the row more */
};

/* ---- life ---- */

/* `r` is all-zero, of the dialect's size, in the arena of `task`. */
void weir_rowed_start_unary(struct weir_rowed *r, struct weir_task_ctx *task,
                            const struct weir_task_completion *request, weir_task_done_fn done,
                            void *ctx);
void weir_rowed_start_stream(struct weir_rowed *r, struct weir_task_ctx *task,
                             const struct weir_task_completion *request, struct weir_out *out);
/* The same with an answer that is there already (JSON, in the arena): no model is asked. */
void weir_rowed_start_given(struct weir_rowed *r, struct weir_task_ctx *task,
                            const struct weir_task_completion *request, struct weir_slice answer,
                            weir_task_done_fn done, void *ctx);

/* Gives a whole answer to the row, piece by piece: see go_on. */
void weir_rowed_feed(struct weir_rowed *r);

void weir_rowed_fail_model(struct weir_rowed *r, const char *why);
void weir_rowed_check_held(struct weir_rowed *r, int rc); /* WEIR_ELIMIT: fails */
void weir_rowed_note_outcome(struct weir_rowed *r, enum weir_policy_outcome outcome);
void weir_rowed_count(struct weir_rowed *r); /* what became of the answer */
void weir_rowed_advance(struct weir_rowed *r);
void weir_rowed_drop(struct weir_rowed *r, size_t n); /* counts members that do not leave */

void weir_rowed_finish(struct weir_rowed *r, struct weir_buf *out); /* taken over: the answer */

/* ---- row ops that are the same for all ---- */

void weir_rowed_on_found(void *ctx, const struct weir_row_found *found);
void weir_rowed_on_failed(void *ctx, const struct weir_fault *fault);
void weir_rowed_on_progress(void *ctx);
struct weir_slice weir_rowed_on_history(void *ctx, struct weir_buf *messages);
/* A whole answer: what was found ends it. */
void weir_rowed_on_blocked(void *ctx, const struct weir_row_found *found);
void weir_rowed_on_left(void *ctx);
/* Notes what was found in a text that leaves. */
void weir_rowed_note_text(struct weir_rowed *r, const struct weir_row_text *text);

/* ---- what leaves of a stream (rowed_say.c) ---- */

/* Where JSON was asked for, half of it is of no use, and who looks at the conversation looks at all
 * of it: it leaves when all of it is known to be clean. */
bool weir_rowed_holds_text(const struct weir_rowed *r);
void weir_rowed_send(struct weir_rowed *r, struct weir_slice json, struct weir_slice raw);
struct weir_buf *weir_rowed_scratch(struct weir_rowed *r); /* empty */
/* An event of our writing, in the scratch buffer. It leaves, or waits until the answer is known to
 * be clean; the first one never waits. */
void weir_rowed_send_written(struct weir_rowed *r);
void weir_rowed_send_waiting(struct weir_rowed *r);

/* ---- findings ---- */

void weir_rowed_keep_found(struct weir_rowed *r, const struct weir_row_found *found);
/* {"output":[…]} of one place, and of all; appends nothing where nothing was found. */
void weir_rowed_write_found(const struct weir_rowed *r, const struct weir_row_found *found,
                            struct weir_buf *out);
void weir_rowed_write_all_found(const struct weir_rowed *r, bool with_input, struct weir_buf *out);
void weir_rowed_write_warnings(const struct weir_rowed *r, bool with_input, struct weir_buf *out);
/* Appends an event with these added, empty ones are not: of a text that leaves as its event, where
 * `path` (names, NULL behind the last) is where the event says it. */
void weir_rowed_patch_text(const struct weir_row_text *text, const char *const *path,
                           struct weir_slice detections, struct weir_buf *out);
/* Appends an object with these added; empty ones are not. */
void weir_rowed_patch(struct weir_slice json, struct weir_slice detections,
                      struct weir_slice warnings, struct weir_buf *out);

/* ---- words ---- */

/* A value as two texts: as it is written, and as lines (talk/tree.h). Returns 2. */
size_t weir_rowed_texts(struct weir_arena *arena, const struct weir_json *json, uint32_t at,
                        struct weir_slice *texts);
/* Looks at a value that way; the line leaves as the rule says. */
struct weir_rowed_value {
    const struct weir_json *json;
    uint32_t at;
    enum weir_row_rule rule;
};
void weir_rowed_judge(struct weir_rowed *r, const struct weir_row_line *line,
                      const struct weir_rowed_value *value);

/* The arguments of a call or an item that was judged, with values where the route masks; in `out`.
 */
void weir_rowed_restore(const struct weir_rowed *r, struct weir_slice text,
                        enum weir_restore_kind kind, struct weir_buf *out);
struct weir_slice weir_rowed_words(const struct weir_rowed *r); /* of a refusal */
/* They are said as text; otherwise the ending says them. */
bool weir_rowed_says_words(const struct weir_rowed *r);

#endif
