#ifndef WEIR_TESTS_UNIT_ROUTE_FAKE_STREAM_H
#define WEIR_TESTS_UNIT_ROUTE_FAKE_STREAM_H

/*
 * A request on the API port without a connection: what is written is kept, the test says when the
 * connection is full, and time passes only when the test lets it.
 */
#include "base/mem.h"
#include "http/http_int.h"
#include "route/env.h"
#include "unit/cmocka_all.h"
#include "unit/conf/conf_harness.h"

struct fake {
    struct weir_http_stream stream;
    struct weir_loop loop;
    struct weir_env env;
    struct weir_request request;
    struct loaded conf;
    struct weir_http_field fields[4];
    struct weir_buf sent;
    size_t n_writes;
    bool answers_full; /* the connection takes no more for now */
    bool has_ended;
};

static inline struct fake *fake_of(struct weir_http_stream *s)
{
    return WEIR_LIST_ENTRY(s, struct fake, stream);
}

static inline void fake_respond(struct weir_http_stream *s, const struct weir_http_response *r)
{
    struct fake *f = fake_of(s);
    assert_int_equal(f->sent.n, 0);
    (void)r;
}

static inline enum weir_flow fake_write(struct weir_http_stream *s, struct weir_slice bytes)
{
    struct fake *f = fake_of(s);
    assert_false(f->has_ended);
    weir_buf_append(&f->sent, bytes);
    f->n_writes++;
    return f->answers_full ? WEIR_FLOW_FULL : WEIR_FLOW_OK;
}

static inline void fake_end(struct weir_http_stream *s, const struct weir_http_field *trailers,
                            size_t n)
{
    (void)trailers;
    assert_int_equal(n, 0);
    fake_of(s)->has_ended = true;
}

static inline void fake_abort(struct weir_http_stream *s)
{
    fake_of(s)->has_ended = true;
}

static inline void fake_set_paused(struct weir_http_stream *s, bool paused)
{
    (void)s;
    (void)paused;
}

static const struct weir_http_stream_ops FAKE_OPS = {.respond = fake_respond,
                                                     .write = fake_write,
                                                     .end = fake_end,
                                                     .abort = fake_abort,
                                                     .set_paused = fake_set_paused};

/* `conf` is YAML. */
static inline struct fake *fake_new(const char *conf)
{
    struct fake *f = weir_mem_zalloc(sizeof *f);
    assert_int_equal(weir_loop_init(&f->loop), 0);
    f->conf = load(conf);
    assert_non_null(f->conf.conf);
    f->env.conf = f->conf.conf;
    f->request.env = &f->env;
    f->stream.ops = &FAKE_OPS;
    f->stream.loop = &f->loop;
    f->stream.service_ctx = &f->request;
    f->stream.body_ended = true;
    f->stream.req.fields = f->fields;
    f->stream.req.path = WEIR_SLICE("/api/v2/chat/completions-detection");
    f->loop.held_ms = 1000; /* the clock is the test's */
    return f;
}

static inline void fake_free(struct fake *f)
{
    uint64_t at_ms;
    weir_arena_dispose(&f->stream.arena);
    assert_false(weir_timers_next(&f->loop.timers, &at_ms));
    weir_loop_dispose(&f->loop);
    weir_buf_dispose(&f->sent);
    drop(&f->conf);
    free(f);
}

/* Time passes, and timers fire when they are due, not later. */
static inline void fake_pass(struct fake *f, uint64_t ms)
{
    uint64_t end_ms = f->loop.held_ms + ms;
    uint64_t at_ms;
    while (weir_timers_next(&f->loop.timers, &at_ms) && at_ms <= end_ms) {
        f->loop.held_ms = at_ms > f->loop.held_ms ? at_ms : f->loop.held_ms;
        weir_timers_run(&f->loop.timers, f->loop.held_ms);
    }
    f->loop.held_ms = end_ms;
}

/* Posted work runs. */
static inline void fake_turn(struct fake *f)
{
    uv_run(&f->loop.uv, UV_RUN_NOWAIT);
}

/* The connection has room again. */
static inline void fake_drain(struct fake *f)
{
    f->answers_full = false;
    weir_http__stream_has_room(&f->stream);
}

/* Exactly this was written since the last time. */
static inline void fake_expect(struct fake *f, const char *bytes)
{
    assert_string_equal(weir_buf_cstr(&f->sent), bytes);
    weir_buf_clear(&f->sent);
    f->n_writes = 0;
}

#endif
