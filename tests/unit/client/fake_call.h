#ifndef WEIR_TESTS_CLIENT_FAKE_CALL_H
#define WEIR_TESTS_CLIENT_FAKE_CALL_H

#include "base/assert.h"
#include "base/buf.h"
#include "base/mem.h"
#include "client/call.h"
#include "io/loop.h"

#include <stdlib.h>

/*
 * Stands in for client/call.c: a program that includes this (once) and links the library gets these
 * functions instead, and plays the peer by hand. Calls stay readable until fake_forget.
 */
enum { FAKE_MAX_CALLS = 16 };

struct weir_call {
    struct weir_call_request request;
    struct weir_call_events events;
    void *ctx;
    struct weir_buf head; /* "POST /path\nname: value\n…" */
    struct weir_buf body; /* whole, or as written so far */
    bool has_body_end;
    bool is_paused;
    bool is_over; /* done or cancelled */
    bool is_cancelled;
    bool is_full; /* the next writes answer FULL */
    char *lent;   /* bytes the owner looks at: gone with a cancel */
};

static struct weir_call *fake_calls[FAKE_MAX_CALLS];
static size_t fake_n_calls;

struct weir_call *weir_call_start(struct weir_client *client,
                                  const struct weir_call_request *request,
                                  const struct weir_call_events *events, void *ctx)
{
    (void)client;
    WEIR_ASSERT(fake_n_calls < FAKE_MAX_CALLS);
    struct weir_call *c = weir_mem_zalloc(sizeof *c);
    c->request = *request;
    c->events = *events;
    c->ctx = ctx;
    weir_buf_printf(&c->head, "%.*s %.*s\n", (int)request->method.n, request->method.p,
                    (int)request->path.n, request->path.p);
    for (size_t i = 0; i < request->n_fields; i++) {
        const struct weir_http_field *f = &request->fields[i];
        weir_buf_printf(&c->head, "%.*s: %.*s\n", (int)f->name.n, f->name.p, (int)f->value.n,
                        f->value.p);
    }
    weir_buf_append(&c->body, request->body);
    c->has_body_end = !request->has_stream_body;
    fake_calls[fake_n_calls++] = c;
    return c;
}

enum weir_flow weir_call_write(struct weir_call *call, struct weir_slice bytes)
{
    WEIR_ASSERT(!call->is_over && !call->has_body_end);
    weir_buf_append(&call->body, bytes);
    return call->is_full ? WEIR_FLOW_FULL : WEIR_FLOW_OK;
}

void weir_call_end_body(struct weir_call *call)
{
    WEIR_ASSERT(!call->is_over && !call->has_body_end);
    call->has_body_end = true;
}

void weir_call_pause(struct weir_call *call)
{
    WEIR_ASSERT(!call->is_over);
    call->is_paused = true;
}

void weir_call_resume(struct weir_call *call)
{
    WEIR_ASSERT(!call->is_over);
    call->is_paused = false;
}

void weir_call_cancel(struct weir_call *call)
{
    WEIR_ASSERT(!call->is_over);
    call->is_over = true;
    call->is_cancelled = true;
    free(call->lent);
    call->lent = NULL;
}

static inline struct weir_call *fake_last(void)
{
    WEIR_ASSERT(fake_n_calls != 0);
    return fake_calls[fake_n_calls - 1];
}

static inline void fake_forget(void)
{
    for (size_t i = 0; i < fake_n_calls; i++) {
        WEIR_ASSERT(fake_calls[i]->is_over); /* nobody leaves a call behind */
        weir_buf_dispose(&fake_calls[i]->head);
        weir_buf_dispose(&fake_calls[i]->body);
        free(fake_calls[i]);
    }
    fake_n_calls = 0;
}

/* "name: value" lines to fields that live until the next use. */
static inline size_t fake_fields(const char *lines, struct weir_http_field out[8])
{
    size_t n = 0;
    struct weir_slice rest = weir_slice_cstr(lines != NULL ? lines : "");
    while (rest.n != 0) {
        struct weir_slice line = weir_slice_cut(&rest, '\n');
        out[n].name = weir_slice_cut(&line, ':');
        out[n].value = weir_slice_trim(line);
        n++;
    }
    return n;
}

static inline void fake_head(int status, const char *lines)
{
    struct weir_call *c = fake_last();
    struct weir_http_field fields[8] = {{{0}, {0}}};
    size_t n = fake_fields(lines, fields);
    c->events.on_head(c->ctx, status, fields, n);
}

/* From a block of its own, gone after the call or with a cancel. */
static inline void fake_body(struct weir_slice bytes)
{
    struct weir_call *c = fake_last();
    WEIR_ASSERT(!c->is_paused && !c->is_over);
    c->lent = weir_mem_dup(bytes.p != NULL ? bytes.p : "", bytes.n);
    c->events.on_body(c->ctx, weir_slice_make(c->lent, bytes.n));
    free(c->lent);
    c->lent = NULL;
}

static inline void fake_done(int err, const char *trailers)
{
    struct weir_call *c = fake_last();
    struct weir_http_field fields[8];
    struct weir_call_result result = {.err = err, .why = "the fake says so", .trailers = fields};
    result.n_trailers = fake_fields(trailers, fields);
    c->is_over = true;
    c->events.on_done(c->ctx, &result);
}

/* An answer gathered whole; its bytes are gone after the call. */
static inline void fake_answer(int status, struct weir_slice body)
{
    struct weir_call *c = fake_last();
    WEIR_ASSERT(!c->is_over);
    char *copy = weir_mem_dup(body.p != NULL ? body.p : "", body.n);
    struct weir_call_result result = {
        .has_head = true, .status = status, .body = weir_slice_make(copy, body.n)};
    c->is_over = true;
    c->events.on_done(c->ctx, &result);
    free(copy);
}

static inline void fake_room(void)
{
    struct weir_call *c = fake_last();
    c->is_full = false;
    c->events.on_room(c->ctx);
}

struct fake_stop {
    struct weir_post post;
    struct weir_loop *loop;
};

static inline void fake_stop_now(struct weir_post *post)
{
    weir_loop_stop(WEIR_LIST_ENTRY(post, struct fake_stop, post)->loop);
}

/* Runs what is posted. */
static inline void fake_turn(struct weir_loop *loop)
{
    struct fake_stop stop = {.post.fn = fake_stop_now, .loop = loop};
    weir_loop_post(loop, &stop.post);
    weir_loop_run(loop);
}

#endif
