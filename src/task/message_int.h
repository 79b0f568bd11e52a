#ifndef WEIR_TASK_MESSAGE_INT_H
#define WEIR_TASK_MESSAGE_INT_H

#include "base/buf.h"
#include "talk/messages.h"
#include "task/message.h"
#include "task/rowed.h"

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

struct weir_msg {
    struct weir_rowed base;

    /* What arrives (message_take.c). */
    struct weir_row_place *place; /* of the block that is open; NULL: it is none that is said */
    enum weir_messages_kind kind; /* of the block that is open */
    bool is_open;
    bool has_ending;         /* message_delta has come */
    uint64_t index;          /* of the block that is open, or of the next */
    struct weir_buf block;   /* a call's block, or the events of one that is JSON */
    struct weir_buf args;    /* of a call */
    struct weir_buf thought; /* what was thought, where it can be sealed */
    struct weir_buf texts;   /* its names, each behind the other … */
    size_t name_ends[2];     /* … up to here */
    struct weir_buf usage;   /* the last that was said: JSON */
    struct weir_buf head;    /* members of the message */

    bool is_thought_changed; /* of the block that leaves */

    /* A stream. */
    bool has_open;     /* a block has been opened that was not closed … */
    uint64_t n_opened; /* … of so many */
    bool has_text;     /* some text has left */

    /* A whole answer. */
    uint32_t next_block;       /* that is to be looked at, or WEIR_JSON_NONE */
    struct weir_buf content;   /* blocks, commas between them */
    struct weir_buf shown;     /* the block that is put together, empty at first … */
    struct weir_buf text;      /* … what it says … */
    struct weir_buf citations; /* … and quotes: objects, commas between them */
    struct weir_buf stop;      /* members that say how it ended */
};

/* message_take.c */
void weir_msg__take_event(struct weir_rowed *r, const struct weir_json *json,
                          struct weir_slice raw);
bool weir_msg__take_said(struct weir_rowed *r, const struct weir_rowed_said *said);
void weir_msg__take_whole(struct weir_rowed *r);
void weir_msg__go_on(struct weir_rowed *r);

/* message_any.c */
void weir_msg__close_any(struct weir_msg *m); /* the events of `block` are looked at */

/* message_stream.c, message_unary.c */
extern const struct weir_row_ops weir_msg__stream_ops;
extern const struct weir_row_ops weir_msg__unary_ops;
void weir_msg__refuse_stream(struct weir_rowed *r); /* the question */
void weir_msg__stop(struct weir_rowed *r);
void weir_msg__answer(struct weir_rowed *r, bool is_refused);

/* message_say.c */
void weir_msg__write_place(const struct weir_rowed *r, const struct weir_row_found *found,
                           struct weir_buf *out);
/* What leaves for the signature of a block, `line` of WEIR_MSG_SIGNATURE: JSON, a string. In the
 * arena. */
struct weir_slice weir_msg__signature(const struct weir_msg *m, struct weir_slice line);
/* HEAD of a message that no model server made. */
void weir_msg__write_own_head(const struct weir_msg *m, struct weir_buf *out);
#define WEIR_MSG_NO_USAGE WEIR_SLICE("{\"input_tokens\":0,\"output_tokens\":0}")

#endif
