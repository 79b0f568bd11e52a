#ifndef WEIR_TASK_UNMASK_H
#define WEIR_TASK_UNMASK_H

#include "detect/detection.h"
#include "talk/channel.h"
#include "talk/mask.h"
#include "talk/restore.h"
#include "talk/tools.h"
#include "task/policy.h"

/*
 * One choice of an answer on a route that masks (docs/masking.md), around its guard:
 *
 *   text ─► take: tokens are found, ─► guard: findings inside of a ─► leave: tokens become ─► out
 *           an unfinished one waits    token are none (judge)         values
 *
 * So the guard is only given whole tokens, and knows of each finding whether it is somebody else's
 * data. It may cut a text inside of a token all the same; what begins one waits until its end
 * leaves.
 */
struct weir_unmask;

/* Where the tokens of a text stand in it, in order. All-zero is empty. */
struct weir_unmask_span {
    size_t start_cp;
    size_t end_cp;
};
struct weir_unmask_spans {
    struct weir_unmask_span *items;
    size_t n;
    size_t cap;
    size_t first; /* those before it have left */
};
void weir_unmask_spans_dispose(struct weir_unmask_spans *s);
void weir_unmask_spans_add(struct weir_unmask_spans *s, size_t start_cp, size_t end_cp);

/* All those of a whole text. */
void weir_unmask_spans_read(struct weir_unmask_spans *s, const struct weir_mask *mask,
                            struct weir_slice text);

/*
 * False: the finding, in the text's own code points, lies in a token, quotes included, and is none.
 * Otherwise its span is grown by the tokens that it touches.
 */
bool weir_unmask_spans_judge(const struct weir_unmask_spans *s, struct weir_detection *d);

struct weir_unmask_options {
    const struct weir_mask *mask;
    const struct weir_policy_mask *policy;
    bool is_json;      /* the content is JSON */
    bool keeps_tokens; /* none becomes a value */
    bool keeps_places; /* for weir_unmask_map of text that left earlier */
};

struct weir_unmask *weir_unmask_new(const struct weir_unmask_options *options);
void weir_unmask_free(struct weir_unmask *u); /* NULL is fine */

/* Text of a channel, UTF-8; what may go to the guard now, until the next call. */
struct weir_slice weir_unmask_take(struct weir_unmask *u, enum weir_channel channel,
                                   struct weir_slice text);

/* The choice has ended: the rest. */
struct weir_slice weir_unmask_rest(struct weir_unmask *u, enum weir_channel channel);

/* Tokens of ours were said that stand for nothing here: an object of `warnings`. */
#define WEIR_UNMASK_WARNING                                                                        \
    "{\"type\":\"MASK_UNKNOWN\",\"message\":\"The answer has tokens of values that this request "  \
    "does "                                                                                        \
    "not have.\"}"

/* How many tokens of ours have been said that stand for nothing in this request. */
size_t weir_unmask_n_foreign(const struct weir_unmask *u);

/* The same for a finding in a channel. */
bool weir_unmask_judge(struct weir_unmask *u, enum weir_channel channel, struct weir_detection *d);

/* The map. */
const struct weir_mask *weir_unmask_mask(const struct weir_unmask *u);

/* ---- what leaves ---- */

/* Which part of a text that was taken is of a token: from `*start_cp` on, the next one that does
 * not end before `at_cp`. False: there is none. */
bool weir_unmask_token_at(const struct weir_unmask *u, enum weir_channel channel, size_t at_cp,
                          size_t *start_cp, size_t *end_cp);

/* The text up to there has left the guard. */
void weir_unmask_forget(struct weir_unmask *u, enum weir_channel channel, size_t end_cp);

/* The guard lets this go: appends it with values. `n_back` bytes that went before are taken back:
 * a finding reaches over the beginning of a token that had not left. */
void weir_unmask_leave(struct weir_unmask *u, enum weir_channel channel, struct weir_slice text,
                       size_t n_back, struct weir_buf *out);

/* What waits in the channel, when nothing follows. True: there was something. */
bool weir_unmask_flush(struct weir_unmask *u, enum weir_channel channel, struct weir_buf *out);

/* Where a place of the guard's text stands in what leaves; of the text that left last. `forget`,
 * where places are kept: none before that place is asked for any more. */
size_t weir_unmask_map(const struct weir_unmask *u, enum weir_channel channel, size_t at_cp);
void weir_unmask_forget_places(struct weir_unmask *u, enum weir_channel channel, size_t until_cp);

/* Tool calls: counts foreign tokens in them; and, when they have been judged, puts values into
 * their arguments. */
void weir_unmask_count_calls(struct weir_unmask *u, const struct weir_tools *calls);
void weir_unmask_calls(struct weir_unmask *u, struct weir_tools *calls);

#endif
