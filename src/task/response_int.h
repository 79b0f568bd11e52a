#ifndef WEIR_TASK_RESPONSE_INT_H
#define WEIR_TASK_RESPONSE_INT_H

#include "base/hash.h"
#include "base/list.h"
#include "talk/logprobs.h"
#include "talk/responses.h"
#include "task/response.h"
#include "task/rowed.h"

/*
 * Inside: what arrives where the route enforces (response_take.c, response_item.c), what arrives
 * where it annotates (response_told.c), what leaves (response_leave.c, response_part.c), what is
 * said in the place of an answer (response_say.c).
 *
 * Where the route enforces, items are taken one after the other: what comes for a later one waits
 * until the one before it has ended, so that what leaves is in order however the server mixed them.
 */

/* What a line of the row is. */
enum weir_rsp_tag {
    WEIR_RSP_EVENT,      /* as it is */
    WEIR_RSP_HEAD,       /* the event's type */
    WEIR_RSP_OPEN,       /* an item: its id, a line end, its first members */
    WEIR_RSP_OPEN_PART,  /* of the item that is open */
    WEIR_RSP_CLOSE_PART, /* … of it */
    WEIR_RSP_CLOSE,      /* its last members */
    WEIR_RSP_HELD,       /* an item that is looked at as a whole: lines, see response_item.c */
    WEIR_RSP_NOTE,       /* an annotation: JSON */
    WEIR_RSP_HEARD,      /* the end of a transcript */
    WEIR_RSP_REPEATED,   /* a member that repeats a request, which is not at hand */
    WEIR_RSP_ENDING,     /* lines: see response_say.c */
};

/* A text that grows by pieces: the same text in other pieces has the same sum. All-zero is not
 * valid: weir_rsp__sum_begin. */
struct weir_rsp_sum {
    struct weir_hash hash;
    uint64_t n;
    char tail[8];
};
void weir_rsp__sum_begin(struct weir_rsp_sum *s);
void weir_rsp__sum_add(struct weir_rsp_sum *s, struct weir_slice text);
struct weir_hash_value weir_rsp__sum_end(const struct weir_rsp_sum *s);
/* Is it the sum of that text? */
bool weir_rsp__sum_is(const struct weir_rsp_sum *s, struct weir_slice text);

/* Where the text that leaves is not the one that came: [start, end) of that, and by how much
 * everything behind it has moved. */
struct weir_rsp_edit {
    size_t start_cp;
    size_t end_cp;
    int64_t shift;
};

/* A part on its way. */
struct weir_rsp_part {
    struct weir_list link;
    uint64_t number; /* of its place and lines in the row: weir_rsp__number */
    struct weir_responses_place at;
    struct weir_buf item_id; /* annotate: of `at` */
    struct weir_row_place *place;
    struct weir_rsp_sum sum; /* of what came */
    struct weir_logprobs logprobs;

    /* What has left. */
    struct weir_buf text;
    struct weir_buf entries;     /* of log probabilities, commas between them */
    struct weir_buf annotations; /* likewise */
    uint64_t n_annotations;
    size_t left_cp;
    struct weir_rsp_edit *edits;
    size_t n_edits;
    size_t cap_edits;
};

struct weir_rsp {
    struct weir_rowed base;
    const struct weir_json *asked; /* the caller's request, as it came; NULL: not at hand */
    struct weir_response_id ids;
    struct weir_slice server;

    /* What arrives. */
    struct weir_buf id;   /* of the response, as it leaves; empty: not known yet */
    struct weir_buf head; /* members of the response; empty: it has not begun */
    struct weir_buf usage;
    bool is_open; /* an item is … */
    enum weir_responses_item kind;
    uint64_t item;              /* … under this index of the server's, */
    uint64_t n_items;           /* the last of so many, */
    uint64_t next_item;         /* and later ones have at least this index */
    bool is_shifted;            /* an index was not how many came before */
    struct weir_buf added;      /* of an item that is held: what opened it … */
    struct weir_buf said;       /* … what deltas say of it … */
    struct weir_buf statuses;   /* … and events about it: types, spaces between them */
    struct weir_rsp_part *part; /* that is open, or NULL … */
    uint64_t part_index;        /* … under this index */
    uint64_t next_parts[2];     /* later ones have at least this: contents, summaries */
    uint64_t n_parts[2];        /* so many were opened of the item */
    uint64_t n_all_parts;       /* and of the response */
    uint64_t n_told;            /* annotate: that are open */
    struct weir_buf notes;      /* annotations of the part that is open: lines */
    size_t n_notes;
    struct weir_buf parked;      /* events of later items: lines */
    struct weir_rsp_part *heard; /* the transcript */

    /* Where the route annotates. */
    struct weir_list told;           /* parts that are open */
    struct weir_hash_value *repeats; /* sums of what was said */
    size_t n_repeats;
    size_t cap_repeats;

    /* A whole answer. */
    uint32_t next_whole; /* the item that is next, or NONE */
    uint32_t whole;      /* the item that is open */
    uint32_t next_part;  /* of that, or NONE */
    bool in_summary;     /* that is a part of its summary */

    /* What leaves. */
    struct weir_list parts; /* that have not left */
    bool has_item;          /* one has been opened that was not closed: */
    enum weir_responses_item left_kind;
    struct weir_buf item_id;
    struct weir_buf shown;   /* its first members */
    struct weir_buf content; /* its parts that have left, commas between them … */
    struct weir_buf summary;
    struct weir_rsp_part *open_part; /* … and the one that has begun to */
    uint64_t n_left;                 /* items that have been opened */
    uint64_t n_left_parts[2];
    struct weir_buf output; /* items that have left, commas between them */
    size_t n_remembered;
    bool has_text;
    struct weir_buf ending; /* of a whole answer: the line that says how it ends */
    bool is_refused;
};

/* What findings in items that are held are found in: the part of their number. */
enum weir_rsp_channel {
    WEIR_RSP_ITEM,
    WEIR_RSP_ARGUMENTS,
    WEIR_RSP_CODE,
    WEIR_RSP_COMMAND,
    WEIR_RSP_OUTPUT,
};
enum weir_rsp_channel weir_rsp__channel_of(struct weir_slice quoted_type);

/* Part `part` of that kind of item `item`, both as the caller counts them. */
uint64_t weir_rsp__number(uint64_t item, enum weir_responses_kind kind, uint64_t part);

/* One event, or the whole answer. */
struct weir_rsp_came {
    struct weir_rsp *m;
    const struct weir_json *json;
    struct weir_slice raw; /* with its framing */
};

/* response_take.c */
void weir_rsp__take_event(struct weir_rowed *r, const struct weir_json *json,
                          struct weir_slice raw);
bool weir_rsp__take_said(struct weir_rowed *r, const struct weir_rowed_said *said);
void weir_rsp__take_whole(struct weir_rowed *r);
void weir_rsp__go_on(struct weir_rowed *r);
void weir_rsp__say(struct weir_rowed *r, struct weir_slice text);
/* The id of the response as it leaves, in m->id. */
void weir_rsp__keep_id(const struct weir_rsp_came *c, uint32_t response);
/* The head and the usage, from the server's response. */
void weir_rsp__keep_head(const struct weir_rsp_came *c, uint32_t response);

/* response_item.c: `item` is WEIR_JSON_NONE where the server does not say. */
void weir_rsp__open_item(const struct weir_rsp_came *c, uint32_t item, uint32_t item_id);
void weir_rsp__close_item(const struct weir_rsp_came *c, uint32_t item);
void weir_rsp__take_of_item(const struct weir_rsp_came *c, const struct weir_responses_event *e);
void weir_rsp__open_part(struct weir_rsp *m, uint64_t index, enum weir_responses_kind kind);
void weir_rsp__close_part(const struct weir_rsp_came *c, uint32_t part);
void weir_rsp__add_line(struct weir_rsp *m, enum weir_rsp_tag tag, uint64_t number,
                        struct weir_slice json);
struct weir_rsp_part *weir_rsp__new_part(struct weir_rsp *m, enum weir_responses_kind kind,
                                         uint64_t number, bool is_aside);
void weir_rsp__free_part(struct weir_rsp_part *part);
/* What a response may have at most: items, parts, parts that are said at once, annotations of one;
 * and what is said of one that has more. */
enum {
    WEIR_RSP_MOST_ITEMS = 4096,
    WEIR_RSP_MOST_PARTS = 4096,
    WEIR_RSP_MOST_OPEN = 64,
    WEIR_RSP_MOST_NOTES = 1024
};
#define WEIR_RSP_TOO_MANY_ITEMS "a response has more than 4096 items"
#define WEIR_RSP_TOO_MANY_PARTS "a response has more than 4096 parts, or 64 that are open at once"

/* response_told.c */
void weir_rsp__take_told(const struct weir_rsp_came *c, const struct weir_responses_event *e);
/* See take_said of struct weir_rowed_dialect. */
bool weir_rsp__take_told_said(struct weir_rsp *m, const struct weir_rowed_said *said);
/* What an item claims to be encrypted, and is not. */
void weir_rsp__tell_sealed(const struct weir_rsp_came *c, uint64_t index, uint32_t item);
/* An item that is there as a whole: what was not said before is looked at. */
void weir_rsp__tell_item(const struct weir_rsp_came *c, uint64_t index, uint32_t item);

/* response_leave.c */
extern const struct weir_row_ops weir_rsp__ops; /* streams send what whole answers only keep */
void weir_rsp__leave_open(struct weir_rsp *m, enum weir_responses_item kind,
                          struct weir_slice json);
void weir_rsp__leave_close(struct weir_rsp *m, struct weir_slice tail);
void weir_rsp__remember(struct weir_rsp *m, size_t n);
/* The event in the scratch buffer, where it is a stream. */
void weir_rsp__send(struct weir_rsp *m);

/* response_part.c */
struct weir_rsp_part *weir_rsp__find_part(struct weir_rsp *m, uint64_t number);
void weir_rsp__leave_open_part(struct weir_rsp *m, struct weir_rsp_part *part);
void weir_rsp__leave_text(struct weir_rsp *m, struct weir_rsp_part *part,
                          const struct weir_row_text *text);
void weir_rsp__leave_note(struct weir_rsp *m, struct weir_rsp_part *part, struct weir_slice json);
void weir_rsp__leave_close_part(struct weir_rsp *m, struct weir_rsp_part *part);

/* response_say.c */
/* Where nobody looks at the answer of a route that enforces ids still leave with their tag. */
bool weir_rsp__change(struct weir_rowed *r, struct weir_slice json, struct weir_buf *out);
void weir_rsp__write_place(const struct weir_rowed *r, const struct weir_row_found *found,
                           struct weir_buf *out);
void weir_rsp__refuse_stream(struct weir_rowed *r); /* the question */
void weir_rsp__stop(struct weir_rowed *r);
void weir_rsp__refuse(struct weir_rsp *m); /* a stream that has begun */
void weir_rsp__answer(struct weir_rowed *r, bool is_refused);
void weir_rsp__take_ending(const struct weir_rsp_came *c, const char *type, uint32_t response);
void weir_rsp__leave_ending(struct weir_rsp *m, const struct weir_row_line *line);

#endif
