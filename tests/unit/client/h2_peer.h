#ifndef WEIR_TESTS_UNIT_CLIENT_H2_PEER_H
#define WEIR_TESTS_UNIT_CLIENT_H2_PEER_H

/*
 * The serving side of HTTP/2 by hand: frames are put together and taken apart byte by byte, so that
 * a test can say anything at any time. Only header compression is nghttp2's, when reading.
 */
#include "unit/client/asker.h"

#include <nghttp2/nghttp2.h>

enum { H2_DATA, H2_HEADERS, H2_RST = 3, H2_SETTINGS, H2_PING = 6, H2_GOAWAY, H2_WINDOW };
enum { H2_END_STREAM = 1, H2_ACK = 1, H2_END_HEADERS = 4 };

static const char H2_MAGIC[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

struct h2_frame {
    size_t n;
    int type;
    int flags;
    uint32_t id;
    const uint8_t *payload; /* until more is read */
};

static inline uint32_t h2_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void h2_put_u32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) {
        p[i] = (uint8_t)(v >> (24 - 8 * i));
    }
}

/* Saying */

static inline void h2_say(struct peer *peer, int type, int flags, uint32_t id,
                          struct weir_slice payload)
{
    uint8_t head[9] = {(uint8_t)(payload.n >> 16), (uint8_t)(payload.n >> 8), (uint8_t)payload.n,
                       (uint8_t)type, (uint8_t)flags};
    h2_put_u32(head + 5, id);
    peer_say_bytes(peer, head, sizeof head);
    peer_say_bytes(peer, payload.p, payload.n);
}

static inline void h2_say_u32(struct peer *peer, int type, uint32_t id, uint32_t v)
{
    uint8_t payload[4];
    h2_put_u32(payload, v);
    h2_say(peer, type, 0, id, weir_slice_make((const char *)payload, 4));
}

/* One setting, or none when its id is 0. */
static inline void h2_say_settings(struct peer *peer, int id, uint32_t value)
{
    uint8_t payload[6] = {0, (uint8_t)id};
    h2_put_u32(payload + 2, value);
    h2_say(peer, H2_SETTINGS, 0, 0, weir_slice_make((const char *)payload, id != 0 ? 6 : 0));
}

static inline void h2_say_goaway(struct peer *peer, uint32_t last_id, uint32_t code)
{
    uint8_t payload[8];
    h2_put_u32(payload, last_id);
    h2_put_u32(payload + 4, code);
    h2_say(peer, H2_GOAWAY, 0, 0, weir_slice_make((const char *)payload, 8));
}

/* Fields as "name", "value", …, NULL; uncompressed. `status` NULL: trailers. */
static inline void h2_say_head(struct peer *peer, uint32_t id, int flags, const char *status,
                               const char *const *fields)
{
    struct weir_buf block = {0};
    if (status != NULL) {
        weir_buf_append_byte(&block, 0x08); /* :status, literal, not kept */
        weir_buf_printf(&block, "%c%s", (int)strlen(status), status);
    }
    for (; fields != NULL && *fields != NULL; fields++) {
        size_t n = strlen(*fields);
        assert_true(n < 127);
        weir_buf_append_byte(&block, 0);
        weir_buf_append_byte(&block, (char)n);
        weir_buf_append(&block, weir_slice_cstr(*fields));
        fields++;
        assert_true(strlen(*fields) < 127);
        weir_buf_append_byte(&block, (char)strlen(*fields));
        weir_buf_append(&block, weir_slice_cstr(*fields));
    }
    h2_say(peer, H2_HEADERS, flags | H2_END_HEADERS, id, weir_buf_slice(&block));
    weir_buf_dispose(&block);
}

static inline void h2_say_data(struct peer *peer, uint32_t id, int flags, const char *text)
{
    h2_say(peer, H2_DATA, flags, id, weir_slice_cstr(text));
}

/* A whole answer. */
static inline void h2_say_answer(struct peer *peer, uint32_t id, const char *body)
{
    h2_say_head(peer, id, 0, "200", NULL);
    h2_say_data(peer, id, H2_END_STREAM, body);
}

/* Hearing */

static inline bool h2_hear(struct peer *peer, struct h2_frame *f)
{
    if (peer->at == 0) {
        if (peer->got.n < sizeof H2_MAGIC - 1) {
            return false;
        }
        assert_memory_equal(peer->got.p, H2_MAGIC, sizeof H2_MAGIC - 1);
        peer->at = sizeof H2_MAGIC - 1;
    }
    const uint8_t *p = (const uint8_t *)peer->got.p + peer->at;
    size_t left = peer->got.n - peer->at;
    if (left < 9) {
        return false;
    }
    *f = (struct h2_frame){.n = (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2],
                           .type = p[3],
                           .flags = p[4],
                           .id = h2_u32(p + 5),
                           .payload = p + 9};
    if (left < 9 + f->n) {
        return false;
    }
    peer->at += 9 + f->n;
    return true;
}

/* The next frame of a type; what comes before it is skipped. */
static inline bool h2_hear_type(struct peer *peer, int type, struct h2_frame *f)
{
    while (h2_hear(peer, f)) {
        if (f->type == type) {
            return true;
        }
    }
    return false;
}

#define h2_await(s, peer, want, f) stage_run(s, h2_hear_type(peer, want, f))

/* Waits for connection number `i` and greets it. */
static inline struct peer *h2_greet(struct stage *s, size_t i, int setting, uint32_t value)
{
    struct h2_frame f;
    stage_run(s, s->n_peers > i);
    struct peer *peer = &s->peers[i];
    h2_await(s, peer, H2_SETTINGS, &f);
    h2_say_settings(peer, setting, value);
    return peer;
}

/* The id of the next stream that is opened. */
static inline uint32_t h2_await_request(struct stage *s, struct peer *peer)
{
    struct h2_frame f;
    h2_await(s, peer, H2_HEADERS, &f);
    assert_true((f.flags & H2_END_HEADERS) != 0);
    return f.id;
}

/* The fields of a HEADERS frame as "name: value\n". One inflater per connection. */
static inline void h2_inflate(nghttp2_hd_inflater *inflater, const struct h2_frame *f,
                              struct weir_buf *out)
{
    const uint8_t *p = f->payload;
    size_t left = f->n;
    for (;;) {
        nghttp2_nv nv;
        int flags = 0;
        ssize_t used = nghttp2_hd_inflate_hd2(inflater, &nv, &flags, p, left, 1);
        assert_true(used >= 0);
        p += used;
        left -= (size_t)used;
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
            weir_buf_printf(out, "%.*s: %.*s\n", (int)nv.namelen, nv.name, (int)nv.valuelen,
                            nv.value);
        }
        if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
            nghttp2_hd_inflate_end_headers(inflater);
            return;
        }
    }
}

static inline int h2_stage_setup(void **state)
{
    stage_setup(state);
    struct stage *s = *state;
    s->target.protocol = WEIR_TARGET_H2;
    return 0;
}

#define h2_test(fn) cmocka_unit_test_setup_teardown(fn, h2_stage_setup, stage_teardown)

#endif
