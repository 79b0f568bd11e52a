#ifndef WEIR_TASK_ROW_EXCHANGE_H
#define WEIR_TASK_ROW_EXCHANGE_H

#include "base/buf.h"
#include "talk/channel.h"
#include "talk/tools.h"

#include <stddef.h>
#include <stdint.h>

/*
 * All that an answer says, as the one message of chat completions that detectors of whole
 * conversations (text_chat) are shown of it: what its places say, by channel, an empty line between
 * two of them, and its tool calls.
 */
struct weir_row_exchange {
    struct weir_buf texts[WEIR_CHANNEL_TEXTS];
    uint64_t places[WEIR_CHANNEL_TEXTS]; /* who spoke there last */
    struct weir_buf calls;               /* objects, commas between them */
    size_t n_calls;
    size_t n_bytes;
    size_t max_bytes;
};

/* At most so many bytes, which count there. */
void weir_row_exchange_init(struct weir_row_exchange *x, size_t max_bytes,
                            struct weir_account *account);
void weir_row_exchange_dispose(struct weir_row_exchange *x);

/* 0, or WEIR_ELIMIT: it says more than may be kept. */
int weir_row_exchange_say(struct weir_row_exchange *x, enum weir_channel channel, uint64_t place,
                          struct weir_slice text);
int weir_row_exchange_call(struct weir_row_exchange *x, const struct weir_tools *tools);

/* {"role":"assistant","content":…} */
void weir_row_exchange_write(const struct weir_row_exchange *x, struct weir_buf *out);

#endif
