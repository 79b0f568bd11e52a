#ifndef WEIR_TALK_RESPONSES_H
#define WEIR_TALK_RESPONSES_H

#include "base/buf.h"
#include "talk/shape.h"
#include "talk/tools.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * OpenAI's Responses: an answer is a response of items, some of them of parts. Its stream:
 *
 *   response.created, response.in_progress
 *     response.output_item.added                     output_index 0, the item: empty
 *       response.content_part.added                  content_index 0, the part: empty
 *         response.output_text.delta …
 *       response.output_text.done                    all of its text, again
 *       response.content_part.done                   and again
 *     response.output_item.done                      and again
 *     response.output_item.added                     output_index 1 …
 *   response.completed                               the whole response: all of it again
 *
 * The reader says what an event is about and where its text stands, the writers make the caller's
 * events. `sequence_number` is written as 0 here: whoever sends events counts them. Pure.
 */
enum weir_responses_what {
    WEIR_RESPONSES_HEAD,      /* created, in_progress, queued */
    WEIR_RESPONSES_ITEM,      /* output_item.added */
    WEIR_RESPONSES_ITEM_DONE, /* output_item.done */
    WEIR_RESPONSES_PART,      /* content_part.added and its like */
    WEIR_RESPONSES_PART_DONE, /* content_part.done and its like */
    WEIR_RESPONSES_DELTA,
    WEIR_RESPONSES_DONE,       /* of what deltas say */
    WEIR_RESPONSES_ANNOTATION, /* output_text.annotation.added */
    WEIR_RESPONSES_STATUS,     /* of a tool that the server runs */
    WEIR_RESPONSES_PIECE,      /* of an item that is looked at when it is whole; says what the item
                                  says, too */
    WEIR_RESPONSES_MEDIA,      /* sound or pictures: nobody can look at them */
    WEIR_RESPONSES_END,        /* completed, incomplete, failed */
    WEIR_RESPONSES_OTHER,      /* nobody here knows it */
};

/* Where something is said. */
enum weir_responses_kind {
    WEIR_RESPONSES_TEXT,
    WEIR_RESPONSES_REFUSAL,
    WEIR_RESPONSES_REASONING,
    WEIR_RESPONSES_SUMMARY,
    WEIR_RESPONSES_TRANSCRIPT,
    WEIR_RESPONSES_KINDS,                       /* of texts that are said bit by bit */
    WEIR_RESPONSES_CALL = WEIR_RESPONSES_KINDS, /* the string of an item that is held */
};

/* Answers to which item and part it belongs; NONE: it does not say. */
#define WEIR_RESPONSES_NO_INDEX UINT64_MAX

struct weir_responses_event {
    enum weir_responses_what what;
    enum weir_responses_kind kind; /* PART, PART_DONE: KINDS if nobody knows it; DELTA, DONE */
    const char *type;              /* as the event says it; NULL: OTHER */
    bool is_vllm;                  /* PART, PART_DONE: under vLLM's name */
    uint64_t item;                 /* output_index */
    uint64_t part;                 /* content_index, summary_index */
    uint32_t body;     /* the response, item, part or annotation; WEIR_JSON_NONE: there is none */
    uint32_t text;     /* the string that is said, or NONE */
    uint32_t item_id;  /* or NONE */
    uint32_t logprobs; /* an array, or NONE */
};

/* 0, or WEIR_EPEER with `*why`. */
int weir_responses_read(const struct weir_json *json, struct weir_responses_event *e,
                        const char **why);

/* What may change in the next event like this one: its text, its number and its noise
 * (`obfuscation`). The place is the item's and the part's index. False: it says more, or no text.
 */
bool weir_responses_shape_of(const struct weir_json *json, const struct weir_responses_event *e,
                             struct weir_shape_of *of);
static inline uint64_t weir_responses_shape_place(uint64_t item, uint64_t part)
{
    return item << 32 | part;
}

/* What an item is. */
enum weir_responses_item {
    WEIR_RESPONSES_MESSAGE,
    WEIR_RESPONSES_THOUGHT, /* reasoning */
    WEIR_RESPONSES_SEALED,  /* compaction, in the form of what it claims to be */
    WEIR_RESPONSES_HELD,    /* a call, or anything else: JSON */
};
enum weir_responses_item weir_responses_item_of(const struct weir_json *json, uint32_t item);

/* The kind of a part of a message or of reasoning (`is_summary`: of its summary), and its string.
 * WEIR_RESPONSES_KINDS: nobody knows it. */
enum weir_responses_kind weir_responses_part_of(const struct weir_json *json, uint32_t part,
                                                bool is_summary, uint32_t *text);

/* The parts of an item, `content` or `summary`: the first, and the one behind another; or NONE.
 * Some servers write a string in the place of a list or of a part: it is a part then. */
uint32_t weir_responses_first_part(const struct weir_json *json, uint32_t item, const char *name);
uint32_t weir_responses_part_after(const struct weir_json *json, uint32_t item, const char *name,
                                   uint32_t part);
/* The same as above of such a part, of an item of that kind. */
enum weir_responses_kind weir_responses_part_in(const struct weir_json *json,
                                                enum weir_responses_item item, uint32_t part,
                                                bool is_summary, uint32_t *text);

/* Does the response say that JSON was asked for? */
bool weir_responses_asked_json(const struct weir_json *json, uint32_t response);

/* ---- what leaves of a server's own, on routes that block or redact ---- */

/* The members of a response but `output`, `status`, `error`, `incomplete_details` and `usage`: what
 * repeats the request from that, the rest in its forms. */
struct weir_responses_head {
    const struct weir_json *json; /* of the server; NULL: it has said nothing */
    uint32_t response;
    const struct weir_json *asked; /* the caller's request; NULL: not at hand, and what repeats it
                                      is left empty, since it would be the server's word */
    struct weir_slice model_id;    /* in the place of a name that is none */
    struct weir_slice id;          /* in the place of the server's; empty: that */
};
/* Returns how many members are left out for good because nobody knows them. */
size_t weir_responses_write_head(const struct weir_responses_head *h, struct weir_buf *out);

/* The members that repeat a request, as texts to be looked at; NULL after the last. */
extern const char *const weir_responses_repeated[];

/* The members `type`, `id` and the like of an item that was opened, in their forms; `id` where it
 * has none. Returns as above. */
size_t weir_responses_write_open(const struct weir_json *json, uint32_t item,
                                 enum weir_responses_item kind, struct weir_slice id,
                                 struct weir_buf *out);

/* What only the end of an item says: ,"status":"completed","encrypted_content":"…" */
void weir_responses_write_close(const struct weir_json *json, uint32_t item, struct weir_buf *out);

/*
 * An item that is held, apart: members in their forms go to `head`, without `status`; everything
 * else to `tools`, to be looked at:
 *
 *   tools[0]   `name`, and `arguments`: the string that deltas say, under the name in `id`
 *   tools[k]   `id`: a member; either its string as a name, or its string as `arguments`
 *   the last   `id` empty: the other members, as one object
 *
 * `said` takes the place of the string that deltas say where the item has none. 0, or WEIR_EPEER
 * with `*why`.
 */
struct weir_responses_parts {
    struct weir_buf head;
    struct weir_slice status; /* JSON; empty: none */
    struct weir_tools tools;
    size_t n_odd; /* members that are left out */
};
int weir_responses_take_apart(const struct weir_json *json, uint32_t item, struct weir_slice said,
                              bool keeps_images, struct weir_responses_parts *parts,
                              const char **why);
/* The member of such an item that deltas say, and their events' name without its end; NULL: none.
 */
const char *weir_responses_said_member(struct weir_slice type, const char **events);

/* ---- writing ---- */

/* Where an event belongs. */
struct weir_responses_place {
    struct weir_slice item_id;
    uint64_t item;
    uint64_t part;
    enum weir_responses_kind kind;
    bool is_vllm;
    bool is_bare; /* the server has not said that the part begins: nor do we */
};

/* {"type":"TYPE","sequence_number":0,"response":{…}} */
struct weir_responses_whole {
    struct weir_slice head;
    struct weir_slice status;  /* a word */
    struct weir_slice error;   /* JSON; empty: null */
    struct weir_slice details; /* JSON; empty: null */
    struct weir_slice output;  /* items, commas between them */
    struct weir_slice usage;   /* JSON; empty: null */
    struct weir_slice detections;
    struct weir_slice warnings;
};
void weir_responses_write_whole(const struct weir_responses_whole *w, struct weir_buf *out);
void weir_responses_write_response(const char *type, const struct weir_responses_whole *w,
                                   struct weir_buf *out);

/* ITEM is all of it; `is_done`: output_item.done */
void weir_responses_write_item(uint64_t index, struct weir_slice item, bool is_done,
                               struct weir_buf *out);

/* A part as it stands in its item. */
void weir_responses_write_part(enum weir_responses_kind kind, struct weir_slice text,
                               struct weir_slice annotations, struct weir_slice logprobs,
                               struct weir_buf *out);
/* content_part.added or .done with that part. */
void weir_responses_write_part_event(const struct weir_responses_place *p, struct weir_slice part,
                                     bool is_done, struct weir_buf *out);

struct weir_responses_delta {
    struct weir_slice text;
    struct weir_slice quoted;   /* in its place: the string as JSON; or empty */
    struct weir_slice logprobs; /* entries, commas between them; of texts alone */
    struct weir_slice detections;
    struct weir_slice warnings;
};
/* output_text.delta or .done and its like. */
void weir_responses_write_delta(const struct weir_responses_place *p,
                                const struct weir_responses_delta *d, bool is_done,
                                struct weir_buf *out);
/* The same of an item that is held; `events` as weir_responses_said_member has it. */
void weir_responses_write_said(const struct weir_responses_place *p, const char *events,
                               const char *member, struct weir_slice text, struct weir_buf *out);
/* response.web_search_call.searching and its like. */
void weir_responses_write_status(const struct weir_responses_place *p, struct weir_slice type,
                                 struct weir_buf *out);
void weir_responses_write_annotation(const struct weir_responses_place *p, uint64_t index,
                                     struct weir_slice annotation, struct weir_buf *out);

/* The error of a running stream, of JSON; `error` is {"type":…,"code":…,"message":…,"param":…}. */
void weir_responses_write_error(struct weir_slice message, struct weir_slice code,
                                struct weir_slice error, struct weir_buf *out);

#endif
