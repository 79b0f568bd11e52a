#ifndef WEIR_TALK_MESSAGES_H
#define WEIR_TALK_MESSAGES_H

#include "base/buf.h"
#include "talk/shape.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Anthropic's Messages: an answer is a message of blocks. Its stream:
 *
 *   message_start
 *     content_block_start   index 0, the block: empty, or whole where it is a tool's result
 *     content_block_delta …
 *     content_block_stop
 *     content_block_start   index 1 …
 *   message_delta           stop_reason, usage
 *   message_stop
 *
 * The reader says what an event is about and where its text stands, the writers make the caller's
 * events. No text is repeated anywhere. Pure.
 */
enum weir_messages_what {
    WEIR_MESSAGES_START,
    WEIR_MESSAGES_BLOCK,
    WEIR_MESSAGES_DELTA,
    WEIR_MESSAGES_STOP,
    WEIR_MESSAGES_ENDING, /* message_delta */
    WEIR_MESSAGES_END,    /* message_stop */
    WEIR_MESSAGES_PING,
    WEIR_MESSAGES_OTHER, /* nobody here knows it */
};

/* What a block is, or what a delta adds to one. */
enum weir_messages_kind {
    WEIR_MESSAGES_TEXT,
    WEIR_MESSAGES_THINKING,
    WEIR_MESSAGES_TOOL,     /* tool_use and its like; a delta: a piece of its input */
    WEIR_MESSAGES_SEALED,   /* redacted_thinking in the form of what it claims to be; a delta: a
                               signature */
    WEIR_MESSAGES_CITATION, /* a delta alone */
    WEIR_MESSAGES_ANY,      /* everything else: JSON */
};

struct weir_messages_event {
    enum weir_messages_what what;
    enum weir_messages_kind kind; /* BLOCK, DELTA */
    uint64_t index;               /* BLOCK, DELTA, STOP */
    uint32_t body;  /* the message, the block, the delta; WEIR_JSON_NONE where there is none */
    uint32_t text;  /* BLOCK, DELTA: the string that is said; CITATION: the object; or NONE */
    uint32_t usage; /* or NONE */
};

/* 0, or WEIR_EPEER with `*why`. */
int weir_messages_read(const struct weir_json *json, struct weir_messages_event *e,
                       const char **why);

/* What may change in the next event like this one: its text. False: it says more, or no text. */
bool weir_messages_shape_of(const struct weir_json *json, const struct weir_messages_event *e,
                            struct weir_shape_of *of);

/* The kind of a block, of a stream or of a whole message; `*text` as above. `block` is an object.
 */
enum weir_messages_kind weir_messages_kind_of(const struct weir_json *json, uint32_t block,
                                              uint32_t *text);

/* ---- what leaves of a server's own, on routes that block or redact ---- */

/* The members of a message that are not its content: `id`, `type`, `role`, `model` (`model_id` in
 * the place of one that has not the form of a name). Returns how many of the message's members are
 * left out for good because nobody knows them. */
size_t weir_messages_write_head(const struct weir_json *json, uint32_t message,
                                struct weir_slice model_id, struct weir_buf *out);

/* A block before anything was said in it: of a tool call with `input` {}, of a text without
 * citations. The number of members that were left out is added to `*n_odd`. 0, or WEIR_EPEER: a
 * call's id that is none. */
int weir_messages_write_empty(const struct weir_json *json, uint32_t block,
                              enum weir_messages_kind kind, struct weir_buf *out, size_t *n_odd);

/* The members `stop_reason`, `stop_sequence` and `stop_details`, commas between them, of the object
 * that has them: as words; `without_texts`: what a server or model wrote freely is null. */
void weir_messages_write_stop(const struct weir_json *json, uint32_t object, bool without_texts,
                              struct weir_buf *out);

/* ---- writing ---- */

/* {"type":"message_start","message":{HEAD,"content":[],"stop_reason":null,…}} */
void weir_messages_write_start(struct weir_slice head, struct weir_slice usage,
                               struct weir_buf *out);

/* {"type":"content_block_start","index":0,"content_block":BLOCK} */
void weir_messages_write_block(uint64_t index, struct weir_slice block, struct weir_buf *out);

struct weir_messages_delta {
    uint64_t index;
    enum weir_messages_kind kind;
    struct weir_slice text;   /* CITATION: JSON */
    struct weir_slice quoted; /* in its place: the string as JSON; or empty */
    struct weir_slice detections;
    struct weir_slice warnings;
};
void weir_messages_write_delta(const struct weir_messages_delta *d, struct weir_buf *out);

void weir_messages_write_block_stop(uint64_t index, struct weir_buf *out);

/* JSON; what is empty is left out. */
struct weir_messages_ending {
    struct weir_slice stop; /* members */
    struct weir_slice usage;
    struct weir_slice detections;
    struct weir_slice warnings;
};
/* {"type":"message_delta","delta":{STOP},"usage":…} */
void weir_messages_write_ending(const struct weir_messages_ending *e, struct weir_buf *out);

#define WEIR_MESSAGES_STOP_EVENT WEIR_SLICE("{\"type\":\"message_stop\"}")
#define WEIR_MESSAGES_PING_EVENT WEIR_SLICE("{\"type\":\"ping\"}")

/* A whole message: {HEAD,"content":[CONTENT],STOP,"usage":…} */
void weir_messages_write_whole(struct weir_slice head, struct weir_slice content,
                               const struct weir_messages_ending *e, struct weir_buf *out);

/* STOP of an answer that was refused with these words. */
void weir_messages_write_refusal(struct weir_slice words, bool is_completed, struct weir_buf *out);

/* A whole text block. */
void weir_messages_write_text_block(struct weir_slice text, struct weir_buf *out);

/* The error of a running stream: {"type":"error","error":{"type":…,"message":…}} */
void weir_messages_write_error(const char *type, struct weir_slice message, struct weir_buf *out);

#endif
