#ifndef WEIR_TASK_COMPLETION_STREAM_INT_H
#define WEIR_TASK_COMPLETION_STREAM_INT_H

#include "base/buf.h"
#include "base/list.h"
#include "io/loop.h"
#include "talk/shape.h"
#include "task/checked.h"
#include "task/completion_stream.h"
#include "task/event.h"
#include "task/path.h"
#include "task/question.h"
#include "task/results.h"
#include "task/scratch.h"

/*
 * Inside: the life of the stream (completion_stream.c), events of a choice on their way out
 * (completion_choice.c), batches with other events in them (completion_part.c), on routes that
 * block or redact (completion_enforce.c), what is said at the end (completion_final.c), what
 * `compat: fms` does differently (completion_fms.c).
 */

/* An event on its way out, in the order of its choice. */
struct weir_cs_item {
    struct weir_list link;
    uint64_t seq;   /* of arrival, all choices together */
    uint64_t frame; /* the event's number */
    size_t start_cp;
    size_t end_cp; /* of its text; equal: none */
    bool has_text;
    bool is_hollow; /* no text and nothing else: belongs to the text around it */
    bool has_logprobs;
    bool is_ending;           /* its finish_reason waits for the path's end */
    struct weir_shape *shape; /* the event, but for its text; NULL: the JSON behind this struct */
    struct weir_envelope *envelope; /* block, redact: the event's, and the JSON is its usage */
    size_t n_held;                  /* bytes that count as held */
    size_t n;                       /* bytes of JSON behind this struct */
    char json[];
};

struct weir_cs;

/* What a choice has on a route that blocks or redacts. */
struct weir_cs_enforced {
    struct weir_checked checked;
    struct weir_list held[WEIR_CHANNEL_TEXTS]; /* events whose text the guard has, per channel */
    struct weir_list waiting;       /* events that leave when the choice is known to be clean */
    bool is_clean;                  /* it is, or what is sent is ours */
    bool is_clear;                  /* all has left but what ends it, which waits for … */
    bool has_finished;              /* … detectors that only tell; then it leaves, with … */
    struct weir_slice warnings;     /* … these, constants */
    struct weir_envelope *envelope; /* of the last event */
    struct weir_buf usage;          /* that came with the finish_reason: JSON */
    uint64_t usage_frame;           /* when it came */
    size_t held_bytes;              /* of `checked`, counted in the stream's */
};

struct weir_cs_choice {
    struct weir_list link;
    struct weir_cs *cs;
    uint64_t index;
    struct weir_path *path;            /* NULL: no detector works on chunks */
    struct weir_cs_enforced *enforced; /* NULL: not on such a route */
    struct weir_cs_aside *aside; /* annotate: what it says besides its content; NULL: nothing */
    /* On routes the role leaves once, on the choice's first event. */
    enum weir_cs_role {
        WEIR_CS_ROLE_UNSAID,
        WEIR_CS_ROLE_WITH_TEXT, /* its first event waits for a batch */
        WEIR_CS_ROLE_SAID,
    } role;
    struct weir_list items;
    bool has_content;
    size_t n_passed_cp;      /* when somebody watches and nothing is held back */
    struct weir_buf whole;   /* the text so far, for detectors that look at all of it */
    struct weir_tools tools; /* for detectors that see the generated message */
    size_t tool_bytes;       /* that are held for them */
    uint16_t high; /* first half of a surrogate pair whose second half is awaited; 0: none */
    struct weir_buf high_json; /* the event it came in */
    struct weir_scan_group *group;
    bool has_ended; /* H and I: finish_reason has come; all: the end of the stream */
    /* A finish_reason ends nothing by itself. Where exactly the last event said one, and no event
     * before it, the server has probably said everything. */
    bool said_finish_last;
    bool said_finish_before;
    /* Annotating routes: the last event with a finish_reason, without what it said. It leaves at
     * the end. */
    struct weir_buf finish;
    bool is_finish_whole; /* and something in it has not left otherwise */
    bool is_finished;     /* it has left, if there was one */
    bool has_sent;        /* compat fms: a batch has left */
    /* Told: event 0 and the one that lent its envelope last, in no list; NULL: none. */
    struct weir_cs_item *kept[2];
    struct weir_buf ending; /* told: an event with text whose finish_reason waits … */
    struct weir_buf latest; /* … and the event that has it if no batch follows */
};

/* What every event needs stands in front. */
struct weir_cs {
    struct weir_stream stream;
    struct weir_task_scratch *scratch;
    bool has_output;  /* some detector looks at what the model says */
    bool has_chunked; /* some works on chunks */
    bool has_whole;   /* some looks at the whole */
    bool enforces;    /* the route blocks or redacts */
    bool may_stop;    /* a choice was blocked that the model would go on with */
    bool has_spoken;  /* this event said something of a choice that is not blocked, or the usage */
    bool source_done;
    bool whole_done;
    bool has_lead;                   /* either of the next two, which no event has taken yet */
    struct weir_buf lead_detections; /* what the first event that leaves takes along: arrays */
    struct weir_buf lead_warnings;
    struct weir_list choices; /* in order of first sight */
    struct weir_list misc;    /* events without choices, in order */
    uint64_t n_frames;
    uint64_t seq;
    struct weir_shapes shapes; /* of events that say one string */
    size_t held_bytes;
    struct weir_question question;
    struct weir_task_completion request;
    const struct weir_task_completion *aside_request; /* as it is asked about other channels */
    const struct weir_gather_strategy *strategy;
    struct weir_input input;
    size_t n_choices;
    struct weir_buf usage;     /* the last usage event: leaves last */
    uint64_t usage_frame;      /* the frame it came in: an older one does not take its place */
    struct weir_buf filters;   /* block, redact: what Azure's filters say of the question: JSON
                                  members that leave with the next event of a choice */
    bool is_usage_borrowed;    /* it came with a blocked choice: a later one makes it void */
    struct weir_buf first;     /* the first event */
    struct weir_timer silence; /* runs while the server has probably said everything */
    struct weir_scan *whole_scan;
    enum weir_policy_outcome outcome; /* of the output */
};

/* completion_stream.c */
void weir_cs__fail_model(struct weir_cs *cs, const char *why);
void weir_cs__fail_limit(struct weir_cs *cs, const char *what, size_t limit, const char *name);
void weir_cs__emit(struct weir_cs *cs, struct weir_slice json);
/* Does something ride on the next event that leaves: findings of the question, skipped detectors?
 */
bool weir_cs__adds_to_next(const struct weir_cs *cs);
void weir_cs__drain_misc(struct weir_cs *cs); /* events without choices whose turn has come */
void weir_cs__advance(struct weir_cs *cs);
/* On annotating routes: the events that end the choices, once everything is known. */
void weir_cs__emit_finishes(struct weir_cs *cs);
void weir_cs__note_outcome(struct weir_cs *cs, enum weir_policy_outcome outcome);

/* Something is about to leave that was not judged: the request fails. */
void weir_cs__fail_promise(struct weir_cs_choice *choice, const char *what);
/* On routes only the end of the stream ends a choice. */
static inline bool weir_cs__is_route(const struct weir_cs *cs)
{
    return cs->request.policy != NULL;
}
void weir_cs__note_finish(struct weir_cs_choice *choice, bool has_finish);

/* completion_choice.c */
void weir_cs__take_choice(struct weir_cs *cs, const struct weir_json *json,
                          const struct weir_event_choice *c, bool is_last);
struct weir_cs_choice *weir_cs__choice(struct weir_cs *cs, uint64_t index);
void weir_cs__take_shaped_text(struct weir_cs_choice *choice, struct weir_shape *shape,
                               struct weir_slice text);
void weir_cs__drain(struct weir_cs_choice *choice);
void weir_cs__end_choice(struct weir_cs_choice *choice);
void weir_cs__free_choice(struct weir_cs_choice *choice);
void weir_cs__on_progress(void *ctx); /* ctx: the choice */
void weir_cs__forget_until(struct weir_cs *cs, struct weir_list *items, size_t end_cp);
void weir_cs__keep_whole(struct weir_cs_choice *choice, struct weir_slice text);
/* An event kept for later counts as held. */
void weir_cs__keep_event(struct weir_cs *cs, struct weir_buf *place, struct weir_slice event);
void weir_cs__drop_event(struct weir_cs *cs, struct weir_buf *place);
struct weir_cs_item *weir_cs__item_new(struct weir_cs *cs, struct weir_slice json);
void weir_cs__item_free(struct weir_cs *cs, struct weir_cs_item *item);

/* completion_part.c */
struct weir_cs_part {
    size_t whole_start_cp; /* of the batch before it was cut: set by the caller */
    struct weir_gather_batch batch;
    struct weir_path_told told[2]; /* of it and of the rest, where batches are told */
};
/* The part of a batch in front of an event without text that stands in it; `rest` becomes what is
 * behind, and lives no longer than `part`. False: there is none, or it cannot be cut there. */
bool weir_cs__split(const struct weir_cs_choice *choice, struct weir_gather_batch *rest,
                    struct weir_cs_part *part);

/* completion_shape.c */
/* The event has a shape that was seen before: it is taken. False: it must be read. */
bool weir_cs__take_shaped(struct weir_cs *cs, struct weir_slice event);
/* The event was read and the string at `text`, of this channel, is all it says; `has_ending`: some
 * null in it leaves only with the end of that. */
struct weir_shape *weir_cs__keep_shape(struct weir_cs_choice *choice, const struct weir_json *json,
                                       uint32_t text, enum weir_channel channel, bool has_ending);
struct weir_cs_item *weir_cs__item_of_shape(struct weir_cs *cs, struct weir_shape *shape,
                                            size_t text_bytes);
void weir_cs__item_spare(struct weir_cs *cs, struct weir_cs_item *item); /* free one of those */
/* The item's event as it came, with an empty text where it has a shape. In the scratch buffer. */
struct weir_slice weir_cs__item_json(struct weir_cs *cs, const struct weir_cs_item *item);
/* Keeps how events of that shape leave: the same event written twice without findings, its text a
 * single letter, another one each time. */
void weir_cs__keep_written(struct weir_shape *shape, struct weir_slice one,
                           struct weir_slice other);
struct weir_cs_written {
    struct weir_slice text;
    enum weir_results_shape results;
    const struct weir_detection *const *findings;
    size_t n_findings;
};
/* To the scratch buffer, with its framing. False: it is not known how events of that shape leave.
 */
bool weir_cs__write_shaped(struct weir_cs *cs, const struct weir_shape *shape,
                           const struct weir_cs_written *w);
/* What was written there: it leaves, or its JSON is kept. */
void weir_cs__emit_shaped(struct weir_cs *cs, const struct weir_cs_written *w);
struct weir_slice weir_cs__shaped_json(const struct weir_cs *cs);

/* completion_enforce.c */
void weir_cs__enforce_init(struct weir_cs_choice *choice);
void weir_cs__enforce_free(struct weir_cs_choice *choice);
void weir_cs__enforce_take(struct weir_cs *cs, const struct weir_json *json, uint32_t at,
                           bool is_last);
void weir_cs__enforce_take_shaped(struct weir_cs_choice *choice, struct weir_shape *shape,
                                  struct weir_slice text);
void weir_cs__enforce_usage(struct weir_cs *cs, const struct weir_json *json);
void weir_cs__enforce_misc(struct weir_cs *cs, const struct weir_json *json);
void weir_cs__enforce_end(struct weir_cs_choice *choice);
void weir_cs__enforce_drain(struct weir_cs_choice *choice);
bool weir_cs__enforce_is_done(const struct weir_cs_choice *choice);

/* Reads an event with one choice, of our own writing, with the tape of envelopes. */
int weir_cs__read_single(struct weir_cs *cs, struct weir_slice event, struct weir_json *json,
                         struct weir_event_choice *c);

/* completion_aside.c: annotating routes */
void weir_cs__aside_take(struct weir_cs_choice *choice, const struct weir_json *json,
                         const struct weir_event_choice *c);
void weir_cs__aside_end(struct weir_cs_choice *choice);
void weir_cs__aside_drain(struct weir_cs_choice *choice);
void weir_cs__aside_free(struct weir_cs_choice *choice);
bool weir_cs__aside_is_done(const struct weir_cs_choice *choice);
enum weir_path_wait weir_cs__aside_waits(const struct weir_cs_choice *choice);
/* Appends `detections` of what is known only at the end of the choice. False: nothing was found.
 * `has_text_found`: by detectors that look at texts. */
bool weir_cs__aside_write(const struct weir_cs_choice *choice, struct weir_buf *detections,
                          bool *has_text_found);

/* completion_fms.c */
bool weir_cs__absorbs(struct weir_cs_choice *choice, const struct weir_json *json,
                      const struct weir_event_choice *c, struct weir_slice event);
/* May an event without text leave, in front of all others? */
bool weir_cs__may_lead(const struct weir_cs_choice *choice, const struct weir_cs_item *item);
bool weir_cs__holds_finish(const struct weir_cs_choice *choice, const struct weir_event_choice *c);
void weir_cs__hold_finish(struct weir_cs_choice *choice, const struct weir_json *json,
                          const struct weir_event_choice *c);
void weir_cs__emit_told(struct weir_cs_choice *choice, const struct weir_gather_batch *batch);
bool weir_cs__settle_told(struct weir_cs_choice *choice); /* true: nothing holds the rest back */
void weir_cs__flush_told(struct weir_cs *cs);
void weir_cs__free_told(struct weir_cs_choice *choice);

/* completion_final.c */
void weir_cs__forget_tools(struct weir_cs_choice *choice);
bool weir_cs__wants_message(const struct weir_cs *cs);
void weir_cs__collect_tools(struct weir_cs_choice *choice, const struct weir_json *json,
                            const struct weir_event_choice *c);
void weir_cs__start_whole(struct weir_cs *cs); /* sets whole_done when there is nothing to do */
void weir_cs__write_final(struct weir_cs *cs, struct weir_buf *out); /* nothing: nothing to say */

#endif
