#ifndef WEIR_TASK_EVENT_H
#define WEIR_TASK_EVENT_H

#include "base/arena.h"
#include "detect/detection.h"
#include "wire/json.h"
#include "wire/json_edit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Events of a streamed completion, pure: what one says, how it is taken apart, how the event that
 * leaves with a batch is made from the model server's own. Only what must change changes.
 */
enum weir_event_class {
    WEIR_EVENT_CLASS_CHOICES, /* one or several choices */
    WEIR_EVENT_CLASS_USAGE,   /* no choices, usage: leaves last */
    WEIR_EVENT_CLASS_STREAM,  /* no choices: annotations and the like, pass in order */
    WEIR_EVENT_CLASS_BAD,     /* not an object with a `choices` array */
};

/* `*choices` is the array, if there is one. */
enum weir_event_class weir_event_class_of(const struct weir_json *json, uint32_t *choices);

/* One choice of an event. Nodes are those of the event. */
struct weir_event_choice {
    uint32_t node;
    uint32_t body; /* the delta; completions: the choice itself; WEIR_JSON_NONE: there is none */
    uint32_t text; /* the text's string, or WEIR_JSON_NONE */
    uint64_t index;
    bool has_text;      /* a string that is not empty */
    bool has_finish;    /* finish_reason is set */
    bool has_reasoning; /* members that leave before the text … */
    bool has_rest;      /* … and after it: tool calls, refusals, anything not known */
};

/* 0, or WEIR_EPEER with `*why`: a text that is not a string cannot be checked. */
int weir_event_read(const struct weir_json *json, uint32_t node, bool is_chat,
                    struct weir_event_choice *out, const char **why);

/* What happens to `delta.role`: on H every delta has it, on routes the choice's first. */
enum weir_event_role {
    WEIR_ROLE_AS_IS,
    WEIR_ROLE_SET,
    WEIR_ROLE_REMOVED,
};

/* Is there nothing in the event that a reader of this choice would see, neither text nor anything
 * that separates two texts? Servers send such events while a character or a stop sequence is not
 * complete. */
bool weir_event_is_hollow(const struct weir_json *json, const struct weir_event_choice *choice);

/* The same, and the event has nothing about the choice but its role, and perhaps usage so far? */
bool weir_event_is_silent(const struct weir_json *json, const struct weir_event_choice *choice);

/* Does it have members that leave with the end of its text only, were it null? */
bool weir_event_has_ending(const struct weir_json *json, const struct weir_event_choice *choice);

/* What of an event to keep: parts are written as events of their own. */
enum weir_event_part {
    WEIR_EVENT_ALL,       /* the choice as it is */
    WEIR_EVENT_REASONING, /* without the text and the rest */
    WEIR_EVENT_TEXT,      /* without reasoning and the rest */
    WEIR_EVENT_REST,      /* without text and reasoning */
    WEIR_EVENT_ENDING,    /* without everything it says */
};

/*
 * Appends the event with this choice alone and this part of it alone. What stands once in an event
 * must leave once: usage, finish_reason with what is like it, and logprobs stay where asked for,
 * other members of the choice where not refused.
 */
struct weir_event_cut {
    enum weir_event_part part;
    bool with_usage;
    bool with_finish;
    bool with_logprobs;
    bool without_extras;
    bool notes_choice; /* its `detections` name the choice, with an empty list of findings */
    enum weir_event_role role;
};
void weir_event_write_part(const struct weir_json *json, const struct weir_event_choice *choice,
                           bool is_chat, const struct weir_event_cut *cut, struct weir_buf *out);

/* What leaves with a batch. */
struct weir_event_batch {
    struct weir_slice text;
    const struct weir_detection *const *findings;
    size_t n_findings;
    struct weir_slice logprobs; /* joined, JSON; empty: as the envelope has it */
    bool is_partial;            /* the envelope goes on behind the batch: what ends it waits */
    enum weir_event_role role;
};

/* Appends the envelope (an event with one choice) with the batch in it. */
void weir_event_write_batch(const struct weir_json *envelope,
                            const struct weir_event_choice *choice, bool is_chat,
                            const struct weir_event_batch *batch, struct weir_buf *out);

/* Appends `json` (an event with one choice) with the finish_reason, and what is like it, of another
 * event's choice. */
void weir_event_write_ending(const struct weir_json *json, const struct weir_event_choice *choice,
                             const struct weir_json *ending, uint32_t ending_node,
                             struct weir_buf *out);

/* Joins the logprobs of several events. All-zero is empty. */
struct weir_event_logprobs {
    struct weir_buf content; /* elements with commas, without brackets; per member */
    struct weir_buf refusal;
    struct weir_buf tokens;
    struct weir_buf token_logprobs;
    struct weir_buf top_logprobs;
    struct weir_buf text_offset;
    bool has_any; /* some event had logprobs that are not null */
    bool has_refusal;
};
void weir_event_logprobs_add(struct weir_event_logprobs *l, const struct weir_json *json,
                             const struct weir_event_choice *choice);
void weir_event_logprobs_write(const struct weir_event_logprobs *l, bool is_chat,
                               struct weir_buf *out);
void weir_event_logprobs_dispose(struct weir_event_logprobs *l);

/* The end of a stream: detections of detectors that look at the whole, and warnings. */
struct weir_event_final {
    struct weir_slice detections; /* JSON, or empty */
    struct weir_slice warnings;   /* JSON array, or empty */
};
/* Appends `json` (a usage event) with them added. */
void weir_event_write_final(const struct weir_json *json, const struct weir_event_final *final,
                            struct weir_buf *out);

/* What was found in the input, for the first event of an answer to carry: arrays, or empty. */
struct weir_event_lead {
    struct weir_slice detections;
    struct weir_slice warnings;
};
void weir_event_write_lead(const struct weir_json *json, const struct weir_event_lead *lead,
                           struct weir_buf *out);

/* An object of `warnings`, and the array with it alone. */
#define WEIR_EVENT_UNSUITABLE_OUTPUT                                                               \
    "{\"type\":\"UNSUITABLE_OUTPUT\",\"message\":\"Unsuitable output detected.\"}"
struct weir_slice weir_event_unsuitable_output(void);

/* Sets `warnings`, the server's own first. `ours` is a JSON array; both must live until write. */
void weir_event_add_warnings(struct weir_json_edit *e, const struct weir_json *json,
                             struct weir_slice ours, struct weir_buf *scratch);

#endif
