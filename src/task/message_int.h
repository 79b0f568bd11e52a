#ifndef WEIR_TASK_MESSAGE_INT_H
#define WEIR_TASK_MESSAGE_INT_H

#include "base/buf.h"
#include "talk/messages.h"
#include "task/message.h"
#include "task/row.h"
#include "task/source.h"

/*
 * Inside: the life of a request (message.c), what arrives, into the row (message_take.c,
 * message_any.c), what
 * leaves as events (message_stream.c) or as a whole (message_unary.c), what is said instead and
 * what is told (message_say.c).
 */

/* What a line of the row is. Where the route annotates all are events. */
enum weir_msg_tag {
    WEIR_MSG_EVENT,     /* as it is */
    WEIR_MSG_OPEN,      /* a block, empty */
    WEIR_MSG_STOP,      /* the end of one that was opened */
    WEIR_MSG_CALL,      /* a whole tool call: its block, empty */
    WEIR_MSG_CITATION,  /* JSON */
    WEIR_MSG_SIGNATURE, /* JSON: a string; a line end, and what was thought, if that is kept */
    WEIR_MSG_WHOLE,     /* a block that is JSON: events of a stream, a line each, or the block */
    WEIR_MSG_ENDING,    /* members, a line end, and the same without texts */
};

/* What was found in one place, as results with commas between them. */
struct weir_msg_found {
    uint64_t number;
    const char *channel; /* NULL: text */
    struct weir_buf results;
};

struct weir_msg {
    struct weir_task_ctx *task;
    struct weir_task_completion request;
    struct weir_input input;
    struct weir_model_run *run;
    struct weir_model_request model_request;
    struct weir_row *row;
    bool is_stream;
    bool has_output; /* some detector looks at what the model says */
    bool enforces;
    bool is_over;
    bool has_ended; /* message_stop, or the whole answer, has come */
    enum weir_policy_outcome outcome;

    /* What arrives (message_take.c). */
    struct weir_row_place *place; /* of the block that is open; NULL: it is none that is said */
    enum weir_messages_kind kind; /* of the block that is open */
    bool is_open;
    uint64_t index;          /* of the block that is open, or of the next */
    struct weir_buf block;   /* a call's block, or the events of one that is JSON */
    struct weir_buf args;    /* of a call */
    struct weir_buf thought; /* what was thought, where it can be sealed */
    struct weir_buf texts;   /* its names, each behind the other … */
    size_t name_ends[2];     /* … up to here */
    struct weir_buf usage;   /* the last that was said: JSON */
    struct weir_buf head;    /* members of the message */

    bool is_thought_changed; /* of the block that leaves */

    /* What was found. */
    struct weir_msg_found *found; /* by place, in the order they were found */
    size_t n_places;
    size_t cap_places;
    size_t n_found;

    /* A stream. */
    struct weir_out *out;
    struct weir_source source;
    struct weir_buf lead_detections; /* what the first event takes along: arrays */
    struct weir_buf lead_warnings;
    bool has_lead;
    bool has_start;           /* message_start has left */
    bool has_open;            /* a block has been opened that was not closed … */
    uint64_t n_opened;        /* … of so many */
    bool has_text;            /* some text has left */
    struct weir_buf waiting;  /* events that leave when the answer is known to be clean: lines */
    struct weir_post cleanup; /* after a failure: what still runs is stopped */

    /* A whole answer. */
    weir_task_done_fn done;
    void *ctx;
    struct weir_json answer;
    uint32_t next_block;       /* that is to be looked at, or WEIR_JSON_NONE … */
    struct weir_slice rest;    /* … and what is left of the text before it */
    struct weir_post step;     /* gives the row more */
    struct weir_buf content;   /* blocks, commas between them */
    struct weir_buf shown;     /* the block that is put together, empty at first … */
    struct weir_buf text;      /* … what it says … */
    struct weir_buf citations; /* … and quotes: objects, commas between them */
    struct weir_buf stop;      /* members that say how it ended */
};

/* message.c */
void weir_msg__fail(struct weir_msg *m, const struct weir_fault *fault);
void weir_msg__fail_model(struct weir_msg *m, const char *why);
void weir_msg__stop_model(struct weir_msg *m);
void weir_msg__note_outcome(struct weir_msg *m, enum weir_policy_outcome outcome);
void weir_msg__count(struct weir_msg *m); /* what became of the answer */

/* message_take.c */
void weir_msg__take_event(struct weir_msg *m, const struct weir_json *json, struct weir_slice raw);
void weir_msg__take_whole(struct weir_msg *m);

/* message_any.c */
/* A value as two texts: as it is written, and as lines (talk/tree.h), in the arena. Returns 2. */
size_t weir_msg__add_texts(struct weir_arena *arena, const struct weir_json *json, uint32_t at,
                           struct weir_slice *texts);
void weir_msg__close_any(struct weir_msg *m); /* the events of `block` are looked at */

/* message_stream.c, message_unary.c */
extern const struct weir_row_ops weir_msg__stream_ops;
extern const struct weir_row_ops weir_msg__unary_ops;
void weir_msg__send(struct weir_msg *m, struct weir_slice json, struct weir_slice raw);
void weir_msg__refuse_stream(struct weir_msg *m); /* the question */
void weir_msg__advance(struct weir_msg *m);
void weir_msg__answer(struct weir_msg *m, bool is_refused);

/* message_say.c */
/* What leaves for the signature of a block, `line` of WEIR_MSG_SIGNATURE: JSON, a string. */
/* The arguments of a call that was judged, with values where the route masks; in the arena. */
struct weir_slice weir_msg__arguments(const struct weir_msg *m, struct weir_slice json);

struct weir_slice weir_msg__signature(const struct weir_msg *m, struct weir_slice line);
void weir_msg__keep_found(struct weir_msg *m, const struct weir_row_found *found);
/* {"output":[…]} of one place, and of all; appends nothing where nothing was found. */
void weir_msg__write_found(const struct weir_msg *m, const struct weir_row_found *found,
                           struct weir_buf *out);
void weir_msg__write_all_found(const struct weir_msg *m, bool with_input, struct weir_buf *out);
void weir_msg__write_warnings(const struct weir_msg *m, bool with_input, struct weir_buf *out);
/* Appends an event or message with these added; empty ones are not. */
void weir_msg__patch(struct weir_slice json, struct weir_slice detections,
                     struct weir_slice warnings, struct weir_buf *out);
struct weir_slice weir_msg__words(const struct weir_msg *m);
bool weir_msg__says_words(const struct weir_msg *m); /* in a block of text */
/* HEAD of a message that no model server made. */
void weir_msg__write_own_head(const struct weir_msg *m, struct weir_buf *out);
#define WEIR_MSG_NO_USAGE WEIR_SLICE("{\"input_tokens\":0,\"output_tokens\":0}")

#endif
