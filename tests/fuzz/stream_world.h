#ifndef WEIR_TESTS_FUZZ_STREAM_WORLD_H
#define WEIR_TESTS_FUZZ_STREAM_WORLD_H

/*
 * The world that all inputs share, and the caller's connection.
 */
#include "chunk/whole.h"
#include "chunk/window.h"
#include "fuzz/stream_chunkers.h"
#include "fuzz/stream_detectors.h"
#include "fuzz/stream_dialects.h"
#include "fuzz/stream_model.h"
#include "http/http_int.h"
#include "io/loop.h"
#include "obs/log.h"
#include "route/stream_stats.h"
#include "task/promise.h"
#include "task/scratch.h"

enum {
    INPUT_BYTES = 400, /* what is behind it is not looked at */
    N_TALKS = 2,       /* at once */
    MIRROR = 2,        /* says again, unary, what was streamed */
    BEGIN_MS = 1000,
    MAX_ROUNDS = 600, /* by then a stream has ended, or never will */
    HELD_BYTES = 1 << 16,
    FEW_HELD_BYTES = 700,
    FEW_BUFFERED_BYTES = 100,
    REMEMBERED_BYTES = 1 << 16, /* of what has left of a response */
    WHOLE_BYTES = N_PLACES * WEIR_CHANNEL_TEXTS * 2 * 4 * MAX_TEXT,
    EVENT_BYTES = 2048, /* the most that one is, with what is kept of it */
    VERDICT_BYTES = 4096,
    VERDICT_MS = 1000,
};

static struct weir_loop loop;
static struct weir_task_scratch scratch;
static struct talk talks[N_TALKS + 1];
static struct weir_chunk_window windows;
static struct fake_chunker dots[N_TALKS + 1];
static struct fake_chunker far_away[N_TALKS + 1];

/* ---- the world that all inputs share ---- */

static void make_world(void)
{
    weir_log_set_level(WEIR_LOG_LEVEL_OFF);
    CHECK(weir_loop_init(&loop) == 0);
    make_services(&loop);
    weir_stream_stats_declare();
    weir_promise_declare();
    weir_promise_set_aborts(true);
    weir_chunk_window_init(&windows, WEIR_SLICE("window"), 12, 4);
    for (size_t i = 0; i <= N_TALKS; i++) {
        dots[i] = (struct fake_chunker){
            .base = {.ops = &FAKE_CHUNK_OPS, .id = WEIR_SLICE("dots"), .is_immediate = true},
            .talk = &talks[i]};
        far_away[i] = (struct fake_chunker){
            .base = {.ops = &FAKE_CHUNK_OPS, .id = WEIR_SLICE("far")}, .talk = &talks[i]};
    }
}

/* A turn of the loop without the kernel: nothing here waits for it. */
static void turn(void)
{
    loop.end_of_turn.prepare_cb(&loop.end_of_turn);
    for (size_t i = 0; i <= N_TALKS; i++) {
        stream_read(&talks[i]);
    }
}

static void pass_time(uint64_t ms)
{
    stream_tell("time", WEIR_SLICE(""));
    loop.held_ms += ms;
    weir_timers_run(&loop.timers, loop.held_ms);
}

/* ---- the caller's connection ---- */

static struct talk *talk_of(struct weir_http_stream *s)
{
    return WEIR_LIST_ENTRY(s, struct talk, stream);
}

static void http_respond(struct weir_http_stream *s, const struct weir_http_response *r)
{
    CHECK(!talk_of(s)->has_ended);
    (void)r;
}

static enum weir_flow http_write(struct weir_http_stream *s, struct weir_slice bytes)
{
    struct talk *t = talk_of(s);
    CHECK(t->is_open && !t->has_ended);
    hear_bytes(t, bytes);
    return t->is_stuffed ? WEIR_FLOW_FULL : WEIR_FLOW_OK;
}

static void http_end(struct weir_http_stream *s, const struct weir_http_field *trailers, size_t n)
{
    (void)trailers;
    (void)n;
    talk_of(s)->has_ended = true;
}

static void http_abort(struct weir_http_stream *s)
{
    talk_of(s)->has_ended = true;
}

static void http_set_paused(struct weir_http_stream *s, bool is_paused)
{
    talk_of(s)->is_paused = is_paused;
}

static const struct weir_http_stream_ops HTTP_OPS = {.respond = http_respond,
                                                     .write = http_write,
                                                     .end = http_end,
                                                     .abort = http_abort,
                                                     .set_paused = http_set_paused};

static void on_answer(void *ctx, const struct weir_task_answer *answer)
{
    struct talk *t = ctx;
    CHECK(t->is_open && !t->has_ended);
    t->has_ended = true;
    if (answer->fault == NULL) {
        hear_json(t, answer->body);
    } else {
        t->has_failed = true;
    }
}

static void make_room(struct talk *t)
{
    t->is_stuffed = false;
    weir_http__stream_has_room(&t->stream);
}

static void set_body_paused(void *ctx, bool is_paused)
{
    ((struct talk *)ctx)->is_paused = is_paused;
}

static void on_duplex_resume(struct weir_http_stream *s)
{
    weir_stream_out_resumed(talk_of(s)->out);
}

static void on_duplex_gone(struct weir_http_stream *s, int err)
{
    (void)err;
    weir_stream_out_gone(talk_of(s)->out);
}

static const struct weir_http_handler DUPLEX = {.on_resume = on_duplex_resume,
                                                .on_gone = on_duplex_gone};

#endif
