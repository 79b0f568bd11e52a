#ifndef WEIR_MOCK_PLAYER_H
#define WEIR_MOCK_PLAYER_H

#include "base/buf.h"
#include "http/stream.h"
#include "mock/mock_settings.h"

/*
 * Plays a body on a stream at the settings' pace: asks a source for one event after the other and
 * writes each when its time has come and the caller takes it.
 *
 *   source->next ─► event ─► [its time: rate, burst, first_ms] ─► [pieces: cut_bytes, cut_ms] ─►
 * write
 *
 * One timer per stream. As fast as possible means a bounded stretch per turn of the loop, so that
 * other streams have theirs.
 */
enum weir_mock_next {
    WEIR_MOCK_MORE,  /* an event was appended; the one behind it may follow at once */
    WEIR_MOCK_STEP,  /* likewise, but the one behind it waits for its time */
    WEIR_MOCK_WAIT,  /* nothing was appended: ask again in `*wait_ms` */
    WEIR_MOCK_END,   /* nothing was appended: the body is complete */
    WEIR_MOCK_CUT,   /* nothing was appended: break off */
    WEIR_MOCK_STALL, /* nothing was appended: stay, and say nothing more */
};

struct weir_mock_source {
    enum weir_mock_next (*next)(void *ctx, struct weir_buf *out, uint64_t *wait_ms);
    /* The body is complete: end the response. NULL: weir_http_stream_end. */
    void (*end)(void *ctx, struct weir_http_stream *s);
};

/* The head must have been sent. Takes over the stream's handler. */
void weir_mock_player_start(struct weir_http_stream *s, const struct weir_mock_source *source,
                            void *ctx);

#endif
