#ifndef WEIR_TASK_COMPLETION_ENFORCE_INT_H
#define WEIR_TASK_COMPLETION_ENFORCE_INT_H

#include "task/completion_stream_int.h"

/*
 * Inside: choices of streams on routes that block or redact. What arrives (completion_enforce.c),
 * what leaves (completion_enforce_leave.c), how events are written (completion_enforce_event.c).
 */
static inline bool weir_cs__keeps_unknown(const struct weir_cs *cs)
{
    return cs->request.policy->keeps_unknown;
}

static inline struct weir_slice weir_cs__body_name(const struct weir_cs *cs)
{
    return cs->request.is_chat ? WEIR_SLICE("delta") : WEIR_SLICE("text");
}

/* The texts of the tool calls, names and arguments, as they are now. Borrowed. */
void weir_cs__collect_texts(const struct weir_cs_choice *choice, struct weir_guard_ending *ending);

/* Events whose text waits in the guard are of no use any more. */
void weir_cs__drop_held(struct weir_cs_choice *choice);

/* An event made from one of the server's. */
struct weir_cs_event {
    struct weir_slice envelope; /* an event with one choice, of our own writing */
    struct weir_slice body;     /* JSON of what it says */
    enum weir_enforce_finish finish;
    bool with_usage;
    bool is_tainted;
    bool keeps_unknown; /* it carries what nobody knows of the envelope: one event does */
    struct weir_slice logprobs;
    struct weir_slice detections;
    bool is_found; /* warn */
};

/* Appends the event made from this one of the server's, with this choice of it alone. */
void weir_cs__write_event(struct weir_cs *cs, const struct weir_json *json, uint32_t choice,
                          const struct weir_cs_event *e, struct weir_buf *out);
/* Sends it. */
void weir_cs__emit_event(struct weir_cs_choice *choice, const struct weir_cs_event *e);

/* Begins a delta: who speaks, where nobody was named yet. */
void weir_cs__begin_delta(struct weir_json_write *w, struct weir_cs_choice *choice,
                          struct weir_buf *out);
/* The member `audio`, with what is to be said about it; `text.p` NULL: no transcript. */
void weir_cs__write_audio(struct weir_json_write *w, struct weir_cs_enforced *e,
                          struct weir_slice text);
/* What an event says: text in a channel; or nothing but, the first time, who speaks. */
void weir_cs__write_said(struct weir_cs_choice *choice, enum weir_channel channel,
                         struct weir_slice text, struct weir_buf *out);
void weir_cs__write_silence(struct weir_cs_choice *choice, struct weir_buf *out);

#endif
