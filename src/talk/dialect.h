#ifndef WEIR_TALK_DIALECT_H
#define WEIR_TALK_DIALECT_H

#include "base/buf.h"
#include "talk/delta.h"
#include "talk/envelope.h"

#include <stdbool.h>

/*
 * How one API says things. A dialect is a table: its readers make deltas of the model server's
 * JSON, its writers make the caller's JSON of what the guard lets go. Between them no JSON travels.
 *
 * Pure: no dialect knows a stream, a guard or a socket.
 */
enum weir_talk_form {
    WEIR_TALK_EVENT,  /* one of a stream */
    WEIR_TALK_ANSWER, /* whole */
};

/* An event or a whole answer of one choice on its way to the caller. Slices that are JSON are
 * written as they are; empty ones are left out unless it says otherwise. */
struct weir_talk_out {
    const struct weir_envelope *envelope;
    enum weir_talk_form form;
    uint64_t place;
    bool says_role;                 /* who speaks: the assistant */
    const struct weir_slice *texts; /* one per channel, or NULL; `p` NULL: not said */
    enum weir_channel channel;      /* where `text` is said, when texts is NULL … */
    struct weir_slice text;         /* … `p` NULL: nothing is */
    struct weir_slice audio;        /* JSON members of the audio object */
    struct weir_slice members;      /* JSON members of the body: tool calls and the like */
    struct weir_slice logprobs;     /* JSON; empty: null */
    struct weir_slice finish;       /* JSON; empty: null */
    struct weir_slice stop_reason;  /* JSON */
    struct weir_slice choices;      /* of a whole answer: JSON, commas between them */
    struct weir_slice extras;       /* JSON members of the choice that nobody knows … */
    struct weir_slice top_extras;   /* … and of the whole */
    struct weir_slice usage;        /* JSON */
    struct weir_slice detections;   /* JSON */
    struct weir_slice warnings;     /* JSON */
};

struct weir_dialect {
    const char *name;
    bool has_messages; /* roles, refusals, tool calls, audio */
    /* One choice of the event or answer. 0, or WEIR_EPEER with `*why`. */
    int (*read)(const struct weir_json *json, uint32_t choice, enum weir_talk_form form,
                struct weir_delta *delta, const char **why);
    /* Appends the event. */
    void (*write_event)(const struct weir_talk_out *e, struct weir_buf *out);
    /* Appends an event without choices that says what the answer has cost. */
    void (*write_usage)(const struct weir_talk_out *e, struct weir_buf *out);
    /* Appends one element of a whole answer's `choices`. */
    void (*write_choice)(const struct weir_talk_out *e, struct weir_buf *out);
    /* Appends a whole answer around its choices. */
    void (*write_answer)(const struct weir_talk_out *e, struct weir_buf *out);
};

extern const struct weir_dialect weir_openai_chat;
extern const struct weir_dialect weir_openai_completions;

#endif
