#ifndef WEIR_TASK_ROW_H
#define WEIR_TASK_ROW_H

#include "base/buf.h"
#include "base/list.h"
#include "io/loop.h"
#include "talk/tools.h"
#include "task/completion.h"
#include "task/guard.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An answer that is a row of places: the blocks of a message, the parts of an item. Each place that
 * says something is a text of its own, with a guard of its own; what leaves keeps the order in
 * which it came.
 *
 *   line         ──────────────────────────► leaves in its turn
 *   text         ──► guard of its place ───► what may leave of it, in its turn
 *   judged line  ──► guard of its own ─────► leaves, is left out, or ends the answer
 *
 * A channel is thus (kind, place): enum weir_channel says the kind, the place's number the rest.
 * What lines say is their owner's business: this knows when they may leave.
 *
 * Where the route annotates, a place may be an aside: it is looked at and holds nothing back; what
 * is found in it is told before the row's end. So are the findings of judged lines, and on any
 * route those of detectors that only tell.
 *
 * A whole answer goes through the same row, given at once.
 */
struct weir_row;
struct weir_row_place;

/* What was found, as it is told. */
struct weir_row_found {
    uint64_t number;           /* of the place or line */
    enum weir_channel channel; /* WHOLE: in the conversation; TOOLS: in a line … */
    int tag;                   /* … with this tag */
    const struct weir_detection *const *findings;
    size_t n_findings;
    bool only_told; /* by a detector whose findings lead to nothing else */
};

struct weir_row_text {
    struct weir_row_found found;
    struct weir_slice text;
    /* Annotate: the event that says exactly this, as it came, and with its framing; empty: it must
     * be written anew, or the frame is not known. */
    struct weir_slice json;
    struct weir_slice raw;
    bool is_rest; /* the event says more, which has left: all else that it has leaves with this */
    bool is_changed;
    /* Where the route blocks or redacts: which part of the place's text it stands for, and what the
     * model said there (see weir_guard_piece). */
    size_t start_cp;
    size_t end_cp;
    const struct weir_guard_stretch *stretches;
    size_t n_stretches;
};

struct weir_row_line {
    int tag; /* the owner's */
    uint64_t number;
    struct weir_slice json;
    struct weir_slice raw;   /* the same with its framing, as it came; or empty */
    struct weir_slice input; /* of a call: its arguments, with what was found in them replaced … */
    const struct weir_tools *tools; /* … and all that was looked at with it, likewise */
    bool is_touched; /* a judged line with a finding, where the owner has asked for those */
};

struct weir_row_ops {
    void (*line)(void *ctx, const struct weir_row_line *line);
    void (*text)(void *ctx, const struct weir_row_text *text);
    /* Found in an aside, or in a judged line that is left out or told. */
    void (*found)(void *ctx, const struct weir_row_found *found);
    /* The last calls; one of them, once. */
    void (*blocked)(void *ctx, const struct weir_row_found *found);
    void (*left)(void *ctx); /* all of it, after weir_row_end */
    void (*failed)(void *ctx, const struct weir_fault *fault);
    /* Something changed: weir_row_drain. Never from inside a call of the owner's. */
    void (*progress)(void *ctx);
    /* The messages before the answer, for detectors of the conversation: appended with commas
     * between them; and the tools, JSON. */
    struct weir_slice (*history)(void *ctx, struct weir_buf *messages);
};

struct weir_row_options {
    struct weir_task_ctx *task;
    const struct weir_plan *plan;
    /* Detectors of the whole conversation, which look at the answer when all of it is there: before
     * weir_row_wait, or at its end; NULL: none. */
    const struct weir_plan *conversation;
    const struct weir_policy *policy;
    struct weir_slice model_id; /* for faults */
    size_t max_held_bytes;      /* of each place */
    bool is_unary;
    const struct weir_row_ops *ops;
    void *ctx;
};

struct weir_row *weir_row_new(const struct weir_row_options *options);
void weir_row_free(struct weir_row *row); /* NULL is fine */

/* ---- what came, in its order ---- */

struct weir_row_place_options {
    uint64_t number;
    enum weir_channel channel;
    bool keeps_json; /* see weir_guard_options */
    bool is_aside;
    bool blocks;    /* a finding ends the answer, where others are replaced, too */
    bool is_signed; /* it must come back as it was: on routes that mask no values are put back */
};

/* Lives until it was closed and has left. */
struct weir_row_place *weir_row_open(struct weir_row *row,
                                     const struct weir_row_place_options *options);

/* The string at `at`. False: the row has failed. */
struct weir_row_said {
    const struct weir_json *json;
    uint32_t at;
    bool is_all; /* annotate: the event says it and nothing else: it may leave as it came */
    struct weir_slice raw; /* the event with its framing, or empty */
};
bool weir_row_say(struct weir_row *row, struct weir_row_place *place,
                  const struct weir_row_said *said);

/* The same of a text that was taken out of its event. */
struct weir_row_words {
    struct weir_slice text;
    struct weir_slice json; /* annotate: the event, if it says this and nothing else; or empty */
    struct weir_slice raw;  /* the event with its framing, or empty */
};
bool weir_row_say_text(struct weir_row *row, struct weir_row_place *place,
                       const struct weir_row_words *words);
/* Half a character has come: its other half must be joined with it, by weir_row_say. */
bool weir_row_waits_for_half(const struct weir_row_place *place);

/* The text that was said last, until the next call: halves of a character were joined in it. */
struct weir_slice weir_row_last(const struct weir_row *row);

/* The same of a text; a half that waits is in it. */
bool weir_row_add(struct weir_row *row, struct weir_row_place *place, struct weir_slice text);

/* Nothing more is said there; what comes behind waits until all of it has left. */
void weir_row_close(struct weir_row *row, struct weir_row_place *place);

void weir_row_line(struct weir_row *row, const struct weir_row_line *line);

/* What a finding in a judged line leads to, where the route redacts. */
enum weir_row_rule {
    WEIR_ROW_BLOCKS,  /* ends the answer, as where the route blocks */
    WEIR_ROW_DROPS,   /* the line is left out */
    WEIR_ROW_TOUCHES, /* the line leaves with is_touched: its owner writes it without its texts */
    WEIR_ROW_SPARES,  /* the same, where the route blocks, too */
};
/* Texts that are empty are not looked at; without any it is a line. Copied. Where the route
 * annotates a line that is empty does not leave: its texts are looked at. */
struct weir_row_judge {
    struct weir_row_line line;
    const struct weir_slice *texts;
    size_t n_texts;
    enum weir_row_rule rule;
};
void weir_row_judge(struct weir_row *row, const struct weir_row_judge *judge);

/* A tool call, complete: looked at and replaced as those of a choice are (task/called.h). `tools`
 * is taken over; the first of them is the call, others have names that are looked at with it. */
void weir_row_call(struct weir_row *row, const struct weir_row_line *line,
                   struct weir_tools *tools);

/* Texts that stand in the answer's ending, for detectors of the conversation; before weir_row_wait.
 * Others are shown them by weir_row_judge. */
void weir_row_say_ending(struct weir_row *row, const struct weir_slice *texts, size_t n);

/* What comes behind waits until everything that was found in asides, and by detectors that only
 * tell, has been told. All places must have been closed. */
void weir_row_wait(struct weir_row *row);

/* Nothing more comes. */
void weir_row_end(struct weir_row *row);

/* ---- what leaves ---- */

void weir_row_drain(struct weir_row *row);

size_t weir_row_held(const struct weir_row *row);
enum weir_path_wait weir_row_waits(const struct weir_row *row);

#endif
