#ifndef WEIR_TESTS_UNIT_HTTP_H2_CALLER_H
#define WEIR_TESTS_UNIT_HTTP_H2_CALLER_H

/*
 * An HTTP/2 client on the pair's `down` socket: nghttp2 with every window in the test's hands. Body
 * bytes in both directions follow pair_byte.
 */
#include "unit/http/serve_tls.h"

#include <nghttp2/nghttp2.h>

enum { CALLER_MAX_STREAMS = 64, CALLER_WINDOW = 65535, CALLER_MAX_FRAMES = 8 };

/* One request and what came back. */
struct h2_reply {
    int32_t id; /* 0: not asked */
    int status, n_interim;
    size_t n_body;
    size_t n_held; /* received, window not given back */
    bool is_held;  /* nothing is given back until caller_read_on */
    bool is_ended; /* END_STREAM came */
    bool is_closed;
    uint32_t code;        /* of the close */
    size_t to_send, sent; /* request body */
    bool is_open;         /* the request body does not end with to_send */
    bool is_deferred;
    size_t frames[CALLER_MAX_FRAMES]; /* sizes of the first DATA frames */
    size_t n_frames;
};

static struct h2_caller {
    struct served *sv;
    nghttp2_session *session;
    struct h2_reply replies[CALLER_MAX_STREAMS];
    size_t n_replies;
    int n_goaway;
    int32_t last_id; /* of the latest GOAWAY */
    uint32_t goaway_code;
} caller;

static inline struct h2_reply *reply_of(int32_t id)
{
    size_t at = (size_t)(id - 1) / 2;
    return at < caller.n_replies ? &caller.replies[at] : NULL;
}

static inline int caller_on_header(nghttp2_session *session, const nghttp2_frame *frame,
                                   const uint8_t *name, size_t namelen, const uint8_t *value,
                                   size_t valuelen, uint8_t flags, void *user_data)
{
    (void)session;
    (void)valuelen;
    (void)flags;
    (void)user_data;
    if (namelen == 7 && memcmp(name, ":status", 7) == 0) {
        struct h2_reply *r = reply_of(frame->hd.stream_id);
        int status = atoi((const char *)value);
        r->n_interim += status < 200;
        r->status = status;
    }
    return 0;
}

static inline int caller_on_frame(nghttp2_session *session, const nghttp2_frame *frame,
                                  void *user_data)
{
    (void)session;
    (void)user_data;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        caller.n_goaway++;
        caller.last_id = frame->goaway.last_stream_id;
        caller.goaway_code = frame->goaway.error_code;
        return 0;
    }
    if (frame->hd.type == NGHTTP2_DATA) {
        struct h2_reply *r = reply_of(frame->hd.stream_id);
        if (r->n_frames < CALLER_MAX_FRAMES) {
            r->frames[r->n_frames] = frame->hd.length;
        }
        r->n_frames++;
    }
    bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (carries && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
        reply_of(frame->hd.stream_id)->is_ended = true;
    }
    return 0;
}

static inline int caller_on_data(nghttp2_session *session, uint8_t flags, int32_t id,
                                 const uint8_t *data, size_t len, void *user_data)
{
    struct h2_reply *r = reply_of(id);
    (void)flags;
    (void)user_data;
    serve_check_bytes(weir_slice_make((const char *)data, len), r->n_body);
    r->n_body += len;
    if (r->is_held) {
        r->n_held += len;
    } else {
        nghttp2_session_consume(session, id, len);
    }
    return 0;
}

static inline int caller_on_close(nghttp2_session *session, int32_t id, uint32_t code,
                                  void *user_data)
{
    struct h2_reply *r = reply_of(id);
    (void)session;
    (void)user_data;
    r->is_closed = true;
    r->code = code;
    return 0;
}

static inline ssize_t caller_body(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
                                  uint32_t *flags, nghttp2_data_source *source, void *user_data)
{
    struct h2_reply *r = reply_of(id);
    (void)session;
    (void)source;
    (void)user_data;
    size_t n = r->to_send - r->sent < length ? r->to_send - r->sent : length;
    for (size_t i = 0; i < n; i++) {
        buf[i] = (uint8_t)pair_byte(r->sent + i);
    }
    r->sent += n;
    if (r->sent == r->to_send && !r->is_open) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else if (n == 0) {
        r->is_deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t)n;
}

/* Frames go out while the socket takes them, so that the caller has no hidden queue. */
static inline void caller_say(struct side *side)
{
    const uint8_t *data;
    ssize_t n;
    while (side_is_open(side) && weir_sock_pending(&side->sock) < side->sock.out_max &&
           (n = nghttp2_session_mem_send(caller.session, &data)) > 0) {
        weir_sock_write(&side->sock, weir_slice_make((const char *)data, (size_t)n));
    }
}

static inline void caller_hear(struct side *side)
{
    ssize_t n = nghttp2_session_mem_recv(caller.session, (const uint8_t *)side->now.p, side->now.n);
    assert_int_equal(n, side->now.n);
    caller_say(side);
}

static inline void caller_go_on(void)
{
    caller_say(&caller.sv->pair->down);
}

static inline void caller_begin(struct served *sv)
{
    caller = (struct h2_caller){.sv = sv};
    nghttp2_session_callbacks *cb;
    nghttp2_option *option;
    assert_int_equal(nghttp2_session_callbacks_new(&cb), 0);
    assert_int_equal(nghttp2_option_new(&option), 0);
    nghttp2_session_callbacks_set_on_header_callback(cb, caller_on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, caller_on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, caller_on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, caller_on_close);
    nghttp2_option_set_no_auto_window_update(option, 1);
    assert_int_equal(nghttp2_session_client_new2(&caller.session, cb, NULL, option), 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(cb);
    nghttp2_submit_settings(caller.session, NGHTTP2_FLAG_NONE, NULL, 0);
    struct side *down = &caller.sv->pair->down;
    down->drop = true;
    down->at_data = caller_hear;
    down->at_drain = caller_say;
    pair_connect(caller.sv->pair);
}

static inline int caller_setup(void **state)
{
    serve_setup(state);
    caller_begin(*state);
    return 0;
}

static inline int caller_setup_tls(void **state)
{
    serve_setup(state);
    serve_use_tls(*state, true);
    caller_begin(*state);
    return 0;
}

static inline int caller_teardown(void **state)
{
    nghttp2_session_del(caller.session);
    return serve_teardown(state);
}

#define CALLER_NV(name_, value_)                                                                   \
    ((nghttp2_nv){.name = (uint8_t *)(uintptr_t)(name_),                                           \
                  .value = (uint8_t *)(uintptr_t)(value_),                                         \
                  .namelen = strlen(name_),                                                        \
                  .valuelen = strlen(value_)})

/* Asks. `body`: to_send, is_open and is_held of the request; NULL: no body. */
static inline struct h2_reply *caller_ask(const char *method, const struct h2_reply *body,
                                          const char *expect)
{
    nghttp2_nv head[] = {CALLER_NV(":method", method), CALLER_NV(":scheme", "http"),
                         CALLER_NV(":path", "/"), CALLER_NV(":authority", "x"),
                         CALLER_NV("expect", expect != NULL ? expect : "")};
    nghttp2_data_provider provider = {.read_callback = caller_body};
    struct h2_reply *r = &caller.replies[caller.n_replies];
    assert_true(caller.n_replies < CALLER_MAX_STREAMS);
    *r = body != NULL ? *body : (struct h2_reply){0};
    caller.n_replies++;
    r->id = nghttp2_submit_request(caller.session, NULL, head, expect != NULL ? 5 : 4,
                                   body != NULL ? &provider : NULL, NULL);
    assert_ptr_equal(reply_of(r->id), r);
    caller_go_on();
    return r;
}

static inline struct h2_reply *caller_get(void)
{
    return caller_ask("GET", NULL, NULL);
}

static inline struct h2_reply *caller_post(size_t n_bytes)
{
    return caller_ask("POST", &(struct h2_reply){.to_send = n_bytes}, NULL);
}

/* A body that stays open: caller_send adds to it, caller_send_end ends it. */
static inline struct h2_reply *caller_post_open(size_t n_bytes)
{
    return caller_ask("POST", &(struct h2_reply){.to_send = n_bytes, .is_open = true}, NULL);
}

static inline void caller_wake(struct h2_reply *r)
{
    if (r->is_deferred) {
        r->is_deferred = false;
        nghttp2_session_resume_data(caller.session, r->id);
    }
    caller_go_on();
}

static inline void caller_send(struct h2_reply *r, size_t n)
{
    r->to_send += n;
    caller_wake(r);
}

static inline void caller_send_end(struct h2_reply *r)
{
    r->is_open = false;
    caller_wake(r);
}

static inline void caller_reset(struct h2_reply *r)
{
    nghttp2_submit_rst_stream(caller.session, NGHTTP2_FLAG_NONE, r->id, NGHTTP2_CANCEL);
    caller_go_on();
}

/* Gives back `n` bytes of what is held. */
static inline void caller_grant(struct h2_reply *r, size_t n)
{
    r->n_held -= n;
    nghttp2_session_consume(caller.session, r->id, n);
    caller_go_on();
}

static inline void caller_read_on(struct h2_reply *r)
{
    r->is_held = false;
    caller_grant(r, r->n_held);
}

#endif
