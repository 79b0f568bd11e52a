#ifndef WEIR_TESTS_FUZZ_STREAM_MODEL_H
#define WEIR_TESTS_FUZZ_STREAM_MODEL_H

/*
 * The model server: what it says is read from its wire in pieces of any size, as
 * the adapter for OpenAI's protocol reads it. For generation servers and for the caller's own text
 * an event's data is the text itself.
 */
#include "base/err.h"
#include "fuzz/stream_dialect.h"

/* ---- being asked ---- */

/* What stands in the place of the value that was found in the question, and where that is. */
static inline void model_hear_token(struct talk *t, struct weir_slice body)
{
    static const char type[] = "WORD_";
    size_t n_said = t->n_said[ID_QUESTION];
    size_t n = 0;
    while (t->token_place < n_said && !t->found[0][ID_QUESTION][t->token_place]) {
        t->token_place++;
    }
    const char *at = memmem(body.p, body.n, type, sizeof type - 1);
    CHECK((at != NULL) == (t->token_place < n_said));
    while (at != NULL && weir_mask_is_word((unsigned char)at[n])) {
        CHECK(n < sizeof t->token - 1);
        t->token[n] = at[n];
        n++;
    }
    t->token[n] = '\0';
}

/* What was found in the question does not go to the model. */
static inline void model_hear(struct talk *t, struct weir_slice body)
{
    size_t used;
    stream_tell("asked", body);
    for (size_t at = 0; at < body.n; at += used) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(body, at, body.n), &used);
        bool is_known = stream_is_said(cp) && stream_id(cp) == ID_QUESTION;
        CHECK(used != 0 &&
              !(t->enforces && is_known && stream_is_found(t, ID_QUESTION, stream_place(cp))));
    }
    if (t->masks) {
        model_hear_token(t, body);
    }
}

/* Nobody is asked again who has said something. */
static inline void model_begin(struct talk *t)
{
    CHECK(!t->has_framed || t->op == WEIR_MODEL_TOKENIZE);
    t->at = 0;
    t->is_end_read = false;
    weir_sse_dispose(&t->reader);
    weir_sse_init(&t->reader, 1 << 16);
}

static inline struct weir_model_run *model_start(const struct weir_model *m,
                                                 const struct weir_model_env *env,
                                                 const struct weir_model_request *request,
                                                 const struct weir_model_events *events, void *ctx)
{
    struct talk *t = WEIR_LIST_ENTRY((struct weir_model *)(uintptr_t)m, struct talk, model);
    (void)env;
    CHECK(t->is_open && !t->is_running);
    model_begin(t);
    model_hear(t, request->body);
    t->n_attempts++;
    t->run.model = m;
    t->events = events;
    t->ctx = ctx;
    t->op = request->op;
    t->is_running = true;
    t->is_asked = t->is_asked || request->op != WEIR_MODEL_TOKENIZE;
    t->is_paused = false;
    return &t->run;
}

static inline void model_set_paused(struct weir_model_run *run, bool is_paused)
{
    WEIR_LIST_ENTRY(run, struct talk, run)->is_paused = is_paused;
}

static inline void model_free(struct weir_model_run *run)
{
    struct talk *t = WEIR_LIST_ENTRY(run, struct talk, run);
    CHECK(t->is_running);
    t->is_running = false;
}

static const struct weir_model_ops MODEL_OPS = {
    .start = model_start, .set_paused = model_set_paused, .free = model_free};

/* ---- being read ---- */

static inline void read_generated(struct talk *t, struct weir_slice text)
{
    struct weir_model_token token = {.text = text};
    struct weir_model_generated g = {.text = text, .tokens = &token, .n_tokens = text.n != 0};
    struct weir_model_frame frame = {.generated = &g};
    t->events->on_frame(t->ctx, &frame);
}

static inline void read_event(struct talk *t, const struct weir_sse_event *e)
{
    struct weir_model_frame frame = {.json = e->data, .raw = e->raw};
    stream_tell("said", e->data);
    t->has_framed = true;
    if (t->endpoint == CONTENTS) {
        weir_content_stream_push(t->content, e->data, e->raw.n);
    } else if (t->endpoint == GENERATION) {
        read_generated(t, e->data);
    } else {
        t->events->on_frame(t->ctx, &frame);
    }
}

static inline bool can_read(const struct talk *t)
{
    bool is_asked = t->endpoint == CONTENTS ? t->content != NULL : t->is_running;
    return t->is_open && is_asked && !t->is_paused && !t->is_end_read;
}

static inline void read_end(struct talk *t)
{
    struct weir_fault fault = {
        .origin = WEIR_FAULT_CHAT_COMPLETION, .id = WEIR_SLICE("m"), .err = WEIR_EIO};
    t->is_end_read = true;
    stream_tell("ended", weir_slice_cstr(t->is_broken ? "broken" : ""));
    if (t->endpoint == CONTENTS) {
        weir_content_stream_end(t->content);
    } else {
        t->events->on_done(t->ctx, t->is_broken ? &fault : NULL);
    }
}

static inline void read_tokens(struct talk *t)
{
    struct weir_model_frame frame = {.n_tokens = 5};
    t->is_end_read = true;
    t->events->on_frame(t->ctx, &frame);
    t->events->on_done(t->ctx, NULL);
}

/* The whole answer at once. */
static inline void read_whole(struct talk *t)
{
    struct weir_buf answer = {0};
    t->dialect->say_whole(t, &answer);
    stream_tell("answered", weir_buf_slice(&answer));
    struct weir_model_frame frame = {.json = weir_buf_slice(&answer)};
    if (!t->is_broken) {
        t->has_framed = true;
        t->events->on_frame(t->ctx, &frame);
    }
    weir_buf_dispose(&answer);
    if (can_read(t)) {
        read_end(t);
    }
}

/* Reads what has arrived, from memory that is gone afterwards. */
static inline void read_wire(struct talk *t)
{
    if (t->at == t->arrived) {
        return;
    }
    size_t n = t->arrived - t->at;
    char *copy = malloc(n);
    CHECK(copy != NULL);
    memcpy(copy, t->wire.p + t->at, n);
    struct weir_slice rest = weir_slice_make(copy, n);
    while (rest.n != 0 && can_read(t)) {
        size_t used;
        int rc = weir_sse_feed(&t->reader, rest, &used);
        rest = weir_slice_sub(rest, used, rest.n);
        t->at += used;
        if (rc == 0) {
            read_event(t, &t->reader.event);
        }
    }
    free(copy);
}

/* It fails before it has said anything: another one is asked, if there is one. */
static inline void read_failure(struct talk *t)
{
    struct weir_fault fault = {.origin = WEIR_FAULT_CHAT_COMPLETION,
                               .id = WEIR_SLICE("m"),
                               .err = WEIR_EPEER,
                               .status = 503,
                               .why = WEIR_SLICE("it is busy")};
    stream_tell("failed", WEIR_SLICE(""));
    if (t->n_attempts == sizeof t->targets / sizeof t->targets[0]) {
        t->has_fault = true;
        t->is_end_read = true;
    }
    t->events->on_done(t->ctx, &fault);
}

/* As far as the gateway lets it. */
static inline void stream_read(struct talk *t)
{
    if (!can_read(t)) {
        return;
    }
    if (t->endpoint != CONTENTS && t->op == WEIR_MODEL_TOKENIZE) {
        read_tokens(t);
        return;
    }
    if (t->n_failing != 0 && t->n_attempts <= t->n_failing) {
        read_failure(t);
        return;
    }
    if (t->is_unary) {
        if (t->has_said_end) {
            read_whole(t);
        }
        return;
    }
    read_wire(t);
    if (t->has_said_end && t->at == t->wire.n && can_read(t)) {
        read_end(t);
    }
}

#endif
