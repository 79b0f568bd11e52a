#ifndef WEIR_TALK_LOGPROBS_H
#define WEIR_TALK_LOGPROBS_H

#include "base/buf.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The log probabilities of one channel, on routes that block or redact. A server may send them
 * before the text they belong to, or instead of it; so an entry leaves only with the text it is the
 * token of:
 *
 *   entries   |Wri|te | to| jane|@|…            each covers the next bytes of the channel's text
 *   text      |Write to [email] by noon
 *   leaves    |Wri|te | to|                     not those that a finding touches
 *
 * What leaves is written from the text itself: token, bytes and the number, nothing else. Where an
 * entry's bytes are not the text's, nothing of the channel's leaves from there on.
 */
struct weir_logprobs {     /* all-zero is empty */
    struct weir_buf queue; /* entries whose text has not left, one behind the other */
    size_t from;           /* where the first of them begins */
    size_t n_past;         /* of its bytes, that have left already */
    bool is_touched;       /* by a finding, in those */
    bool is_off;           /* an entry was not the text */
    bool has_any;
};

void weir_logprobs_dispose(struct weir_logprobs *l);

/* Memory behind it. */
static inline size_t weir_logprobs_bytes(const struct weir_logprobs *l)
{
    return l->queue.n;
}

/* The entries of an array `content` or `refusal` of `logprobs`; WEIR_JSON_NONE: there are none. */
void weir_logprobs_take(struct weir_logprobs *l, const struct weir_json *json, uint32_t entries);

/* Text of the channel as the model said it, about to leave; `is_touched`: it leaves changed, or not
 * at all. Appends the entries that end in it, commas between them. */
void weir_logprobs_leave(struct weir_logprobs *l, struct weir_slice text, bool is_touched,
                         struct weir_buf *out);

#endif
