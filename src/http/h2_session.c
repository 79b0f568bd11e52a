#include "http/h2_session.h"

#include "base/assert.h"
#include "base/mem.h"

#include <stdlib.h>

enum {
    MAX_SETTINGS_ENTRIES = 32, /* in one frame */
    RESET_BURST = 200,         /* streams a peer may reset at once (rapid reset) … */
    RESETS_PER_S = 33,         /* … and for long */
    CALM_WINDOW_MS = 10000,    /* cheap frames that make us work are counted per window: */
    CALM_POINTS = 1000,        /* more than this is a flood */
    SETTINGS_POINTS = 10,      /* a SETTINGS frame must be acknowledged and may resize tables */
};

static unsigned points_of(const nghttp2_frame *frame)
{
    bool is_ack = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    bool is_end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_SETTINGS && !is_ack) {
        return SETTINGS_POINTS;
    }
    bool is_ping = frame->hd.type == NGHTTP2_PING && !is_ack;
    bool is_empty = frame->hd.type == NGHTTP2_DATA && frame->hd.length == 0 && !is_end;
    return is_ping || is_empty;
}

bool weir_h2__is_flood(struct weir_h2_calm *calm, const nghttp2_frame *frame, uint64_t now_ms)
{
    unsigned points = points_of(frame);
    if (now_ms - calm->since_ms > CALM_WINDOW_MS) {
        calm->since_ms = now_ms;
        calm->points = 0;
    }
    calm->points += points;
    return points != 0 && calm->points > CALM_POINTS;
}

/* Memory of sessions comes from where all of it comes: an allocation that fails would end a
 * connection in the middle of a frame. */
static void *session_malloc(size_t n, void *ctx)
{
    (void)ctx;
    return weir_mem_alloc(n);
}

static void session_free(void *p, void *ctx)
{
    (void)ctx;
    free(p);
}

static void *session_calloc(size_t count, size_t size, void *ctx)
{
    (void)ctx;
    return weir_mem_array(count, size);
}

static void *session_realloc(void *p, size_t n, void *ctx)
{
    (void)ctx;
    return weir_mem_realloc(p, n != 0 ? n : 1);
}

nghttp2_mem *weir_h2__memory(void)
{
    static nghttp2_mem memory = {.malloc = session_malloc,
                                 .free = session_free,
                                 .calloc = session_calloc,
                                 .realloc = session_realloc};
    return &memory;
}

nghttp2_session_callbacks *weir_h2__callbacks(void)
{
    nghttp2_session_callbacks *cb;
    int rc = nghttp2_session_callbacks_new(&cb);
    if (rc != 0) {
        weir_mem_make_room();
        rc = nghttp2_session_callbacks_new(&cb);
        WEIR_ASSERT(rc == 0);
    }
    return cb;
}

nghttp2_option *weir_h2__options(void)
{
    nghttp2_option *option;
    int rc = nghttp2_option_new(&option);
    if (rc != 0) {
        weir_mem_make_room();
        rc = nghttp2_option_new(&option);
        WEIR_ASSERT(rc == 0);
    }
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_max_settings(option, MAX_SETTINGS_ENTRIES);
    nghttp2_option_set_stream_reset_rate_limit(option, RESET_BURST, RESETS_PER_S);
    return option;
}
