#ifndef WEIR_MOCK_RESPONSES_H
#define WEIR_MOCK_RESPONSES_H

#include "mock/mock_script.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The same script in OpenAI's Responses: what is said in one channel is an item, and everything
 * that was said in deltas is said again, in `*.done`, in the item's end and in the last event.
 *
 *   created ─► in_progress ─► (item.added ─► parts, deltas ─► item.done)* ─► completed
 *                                 └─ fail_at ─► error
 *
 * A whole answer is the object of the last event of the same run.
 */
enum weir_mock_response_stage {
    WEIR_MOCK_RESPONSE_BEGIN,
    WEIR_MOCK_RESPONSE_SCRIPT, /* the items of the script */
    WEIR_MOCK_RESPONSE_ROWS,   /* in the scenario `items`: one of every kind */
    WEIR_MOCK_RESPONSE_END,    /* the last event */
    WEIR_MOCK_RESPONSE_DONE,   /* [DONE], which only others than OpenAI send */
    WEIR_MOCK_RESPONSE_OVER,
};

struct weir_mock_response {
    struct weir_mock_script *sc;
    enum weir_mock_response_stage stage;
    uint64_t n_events; /* the next one's sequence_number */
    uint64_t n_items;  /* the next one's output_index */
    bool has_failed;   /* at `fail_at` … */
    bool is_failing;   /* … and nothing more of it is said */

    /* The item that is open, of the script. */
    bool is_open;
    enum weir_mock_say say; /* of its part, or of it */
    uint32_t tool;
    unsigned n_parts;
    struct weir_buf said;     /* of the part: the inside of a JSON string */
    struct weir_buf logprobs; /* of the part: members of the list */
    struct weir_buf parts;    /* those that have ended */

    size_t row; /* of the table of kinds … */
    size_t row_at;
    struct weir_buf text; /* … and what its texts are, as the inside of JSON strings */
    struct weir_buf arguments;

    struct weir_buf output;          /* items that have ended */
    struct weir_mock_stored *stored; /* NULL: nobody asks for it later */
};

/* Nothing is said yet. Its buffers are disposed with the script's arena. */
void weir_mock_response_init(struct weir_mock_response *m, struct weir_mock_script *sc);

/* Says the next of it: appends one event or several. False: nothing is left. */
bool weir_mock_response_say(struct weir_mock_response *m, struct weir_buf *out);

/* The whole object as it is now; `status` NULL: as the answer ends. */
void weir_mock_response_object(const struct weir_mock_response *m, const char *status,
                               struct weir_buf *out);

/* Plays it as a stream; writes all of it. 0, or WEIR_ELIMIT. */
void weir_mock_responses_start(struct weir_http_stream *s, struct weir_mock_script *sc);
int weir_mock_responses_write(struct weir_mock_script *sc, struct weir_buf *out);

/* ---- for mock_responses_items.c ---- */

/* One event: `members` follow its sequence_number, each with the comma before it. */
void weir_mock_response_event(struct weir_mock_response *m, const char *type,
                              struct weir_slice members, struct weir_buf *out);

/* What stands in every delta besides: obfuscation, members that nobody knows. */
void weir_mock_response_adorn(const struct weir_mock_response *m, struct weir_buf *members);

/* The output_index of a delta: another item's where orders are broken. */
uint64_t weir_mock_response_index(const struct weir_mock_response *m);

/* One of every kind of item: says the next of them. False: all are said. */
bool weir_mock_response_rows(struct weir_mock_response *m, struct weir_buf *out);

/* ---- mock_stored.c: what stays with the server ---- */

struct weir_mock_stored;

/* A new record of the request's answer; NULL: it is not to be kept. */
struct weir_mock_stored *weir_mock_stored_new(struct weir_mock_script *sc);
void weir_mock_stored_add(struct weir_mock_stored *st, struct weir_slice event);
/* The answer is there. `is_pending`: it was asked for in the background. */
void weir_mock_stored_keep(struct weir_mock_stored *st, struct weir_slice object);
/* Is the answer with this id there? */
bool weir_mock_stored_has(const struct weir_mock_request *r, struct weir_slice id);
void weir_mock_stored_free_all(struct weir_mock_server *sv);

/* GET and DELETE /v1/responses/ID; POST …/cancel; GET …/input_items; POST …/input_tokens. */
void weir_mock_stored_begin(void *env, struct weir_http_stream *s);
void weir_mock_stored_begin_cancel(void *env, struct weir_http_stream *s);
void weir_mock_stored_begin_input(void *env, struct weir_http_stream *s);

#endif
