#ifndef WEIR_TESTS_UNIT_TASK_SCRIPT_H
#define WEIR_TESTS_UNIT_TASK_SCRIPT_H

/*
 * Transcripts: a line is what somebody does, or what must have left by then.
 *
 *   say N TEXT          the model server: an event with that delta of choice N (JSON escapes kept)
 *   finish N            the finish reason of choice N, in an event of its own
 *   delta N JSON        an event with that delta
 *   event JSON          any event
 *   gen TEXT, last TEXT a message of a generation server, the last one
 *   tokens N            the answer of the tokenizer
 *   done, broken        the end, or the connection breaks
 *   chunk ID A B        the chunker told to: a chunk [A, B); with a text: its own words
 *   again ID N A B      a chunk [A, B) that sees N code points before it, too
 *   tell ID A B F L T   the same, of frames F to L, with the text T
 *   chunked ID          it has ended; unchunked ID: it has failed
 *   stuff ID            its streams are full from their next text on; unstuff ID: there is room
 *   answer ID TEXT      the detector's call on that text is answered; no text: its oldest call
 *   refuse ID TEXT      it fails
 *   line TEXT, eof      the caller's next line, the end of its body
 *   full, room          the way out
 *   clock MS            time passes
 *   paused, reading     is the source read?
 *   asked JSON          that is what the model server was sent
 *   stopped             nobody asks the model server any more
 *   calls N             so many calls are under way
 *   > LINE              the next thing that left: JSON as it is, otherwise what `brief` makes of it
 *   -                   nothing else has left
 */
#include "unit/task/brief.h"
#include "unit/task/script_chunks.h"

struct script_hooks {
    void (*start)(struct stage *st);
    void (*line)(struct stage *st, struct weir_slice text);
    void (*eof)(struct stage *st);
};

/* ---- who does what ---- */

static inline void script_event(struct stage *st, struct weir_slice json)
{
    assert_non_null(st->run);
    assert_false(st->run->is_paused);
    char *copy = malloc(json.n + 1); /* so that whoever keeps a slice of it is caught */
    memcpy(copy, json.p, json.n);
    struct weir_model_frame frame = {.json = weir_slice_make(copy, json.n),
                                     .raw = weir_slice_make(copy, json.n)};
    st->run->events->on_frame(st->run->ctx, &frame);
    free(copy);
}

static inline void script_say(struct stage *st, struct weir_slice rest)
{
    struct weir_slice index = weir_slice_cut(&rest, ' ');
    struct weir_buf event = {0};
    weir_buf_printf(&event,
                    "{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":7,"
                    "\"model\":\"m\",\"choices\":[{\"index\":%.*s,\"delta\":{\"content\":\"%.*s\"},"
                    "\"finish_reason\":null}]}",
                    (int)index.n, index.p, (int)rest.n, rest.p != NULL ? rest.p : "");
    script_event(st, weir_buf_slice(&event));
    weir_buf_dispose(&event);
}

static inline void script_delta(struct stage *st, struct weir_slice rest)
{
    struct weir_slice index = weir_slice_cut(&rest, ' ');
    struct weir_buf event = {0};
    weir_buf_printf(&event, "{\"id\":\"c1\",\"choices\":[{\"index\":%.*s,\"delta\":%.*s}]}",
                    (int)index.n, index.p, (int)rest.n, rest.p);
    script_event(st, weir_buf_slice(&event));
    weir_buf_dispose(&event);
}

static inline void script_finish(struct stage *st, struct weir_slice index)
{
    struct weir_buf event = {0};
    weir_buf_printf(&event,
                    "{\"id\":\"c1\",\"choices\":[{\"index\":%.*s,\"delta\":{},"
                    "\"finish_reason\":\"stop\"}]}",
                    (int)index.n, index.p);
    script_event(st, weir_buf_slice(&event));
    weir_buf_dispose(&event);
}

static inline void script_generated(struct stage *st, const struct weir_model_generated *g)
{
    assert_non_null(st->run);
    assert_false(st->run->is_paused);
    struct weir_model_frame frame = {.generated = g};
    st->run->events->on_frame(st->run->ctx, &frame);
}

static inline void script_gen(struct stage *st, struct weir_slice text, bool is_last)
{
    char *copy = malloc(text.n + 1);
    memcpy(copy, text.p != NULL ? text.p : "", text.n);
    struct weir_model_token token = {.text = weir_slice_make(copy, text.n)};
    struct weir_model_generated g = {.text = weir_slice_make(copy, text.n),
                                     .has_details = is_last,
                                     .finish_reason = WEIR_FINISH_EOS_TOKEN,
                                     .generated_token_count = 9,
                                     .seed = 5,
                                     .tokens = &token,
                                     .n_tokens = text.n != 0 ? 1 : 0};
    script_generated(st, &g);
    free(copy);
}

static inline void script_done(struct stage *st, int err)
{
    struct weir_fault fault = {
        .origin = WEIR_FAULT_CHAT_COMPLETION, .id = WEIR_SLICE("m"), .err = err};
    assert_non_null(st->run);
    assert_false(st->run->is_paused);
    st->run->events->on_done(st->run->ctx, err != 0 ? &fault : NULL);
}

static inline void script_tokens(struct stage *st, struct weir_slice n)
{
    struct weir_model_frame frame = {0};
    assert_int_equal(st->run->op, WEIR_MODEL_TOKENIZE);
    assert_int_equal(weir_slice_u64(n, &frame.n_tokens), 0);
    st->run->events->on_frame(st->run->ctx, &frame);
    script_done(st, 0);
}

static inline struct stage_call *script_call(struct stage *st, struct weir_slice id,
                                             struct weir_slice text)
{
    for (struct stage_call *call = st->calls; call != NULL; call = call->next) {
        bool is_meant = text.n == 0 || weir_slice_eq(weir_buf_slice(&call->content), text);
        if (!call->base.is_done && is_meant && weir_slice_eq(call->base.detector->id, id)) {
            return call;
        }
    }
    fail_msg("no call of %.*s on '%.*s' is under way", (int)id.n, id.p, (int)text.n, text.p);
    return NULL;
}

static inline void script_answer(struct stage *st, struct weir_slice rest, bool is_refusal)
{
    struct weir_slice id = weir_slice_cut(&rest, ' ');
    struct stage_call *call = script_call(st, id, rest);
    stage_find(call);
    if (is_refusal) {
        call->base.fault = (struct weir_fault){
            .origin = WEIR_FAULT_DETECTOR, .id = id, .err = WEIR_EPEER, .status = 503};
        call->base.n_lists = 0;
    }
    call->on_done(call->ctx, &call->base);
}

static inline size_t script_n_calls(const struct stage *st)
{
    size_t n = 0;
    for (const struct stage_call *call = st->calls; call != NULL; call = call->next) {
        n += !call->base.is_done;
    }
    return n;
}

static inline bool script_is_paused(const struct stage *st)
{
    return st->run != NULL ? st->run->is_paused : st->is_body_paused;
}

/* ---- expectations ---- */

static inline void script_expect(struct stage *st, struct weir_slice want)
{
    struct weir_slice rest = weir_slice_sub(weir_buf_slice(&st->lines), st->seen, st->lines.n);
    if (rest.n == 0) {
        fail_msg("nothing left where this was expected: %.*s", (int)want.n, want.p);
    }
    size_t n = weir_slice_find(rest, '\n');
    struct weir_slice line = weir_slice_sub(rest, 0, n);
    struct weir_slice got = line;
    st->seen += n + 1;
    if (want.n == 0 || want.p[0] != '{') {
        brief(&st->scratch, line);
        got = weir_buf_slice(&st->scratch);
    }
    if (!weir_slice_eq(got, want)) {
        fail_msg("expected: %.*s\n     got: %.*s\n    line: %.*s", (int)want.n, want.p, (int)got.n,
                 got.p, (int)line.n, line.p);
    }
}

static inline void script_expect_nothing(struct stage *st)
{
    struct weir_slice rest = weir_slice_sub(weir_buf_slice(&st->lines), st->seen, st->lines.n);
    if (rest.n != 0) {
        fail_msg("nothing was to leave, but: %.*s", (int)rest.n, rest.p);
    }
}

/* ---- running ---- */

static inline bool script_is(struct weir_slice word, const char *name)
{
    return weir_slice_eq_cstr(word, name);
}

/* True: it was an expectation. */
static inline bool script_check(struct stage *st, struct weir_slice verb, struct weir_slice rest)
{
    if (script_is(verb, ">")) {
        script_expect(st, rest);
    } else if (script_is(verb, "-")) {
        script_expect_nothing(st);
    } else if (script_is(verb, "paused")) {
        assert_true(script_is_paused(st));
    } else if (script_is(verb, "reading")) {
        assert_false(script_is_paused(st));
    } else if (script_is(verb, "stopped")) {
        assert_null(st->run);
    } else if (script_is(verb, "asked")) {
        assert_non_null(st->run);
        assert_true(weir_slice_eq(st->run->body, rest));
    } else if (script_is(verb, "calls")) {
        uint64_t n;
        assert_int_equal(weir_slice_u64(rest, &n), 0);
        assert_int_equal(script_n_calls(st), n);
    } else {
        return false;
    }
    return true;
}

static inline bool script_service(struct stage *st, struct weir_slice verb, struct weir_slice rest)
{
    if (script_is(verb, "answer") || script_is(verb, "refuse")) {
        script_answer(st, rest, script_is(verb, "refuse"));
    } else if (script_is(verb, "chunk") || script_is(verb, "tell")) {
        script_chunk(st, rest, script_is(verb, "tell"));
    } else if (script_is(verb, "again")) {
        script_again(st, rest);
    } else if (script_is(verb, "chunked")) {
        script_end_chunks(st, rest, WEIR_ECLOSED);
    } else if (script_is(verb, "unchunked")) {
        script_end_chunks(st, rest, WEIR_ERESET);
    } else if (script_is(verb, "stuff")) {
        st->full_chunker = rest; /* of the script, which outlives it */
    } else if (script_is(verb, "unstuff")) {
        script_unstuff(st, rest);
    } else if (script_is(verb, "tokens")) {
        script_tokens(st, rest);
    } else {
        return false;
    }
    return true;
}

static inline bool script_model(struct stage *st, struct weir_slice verb, struct weir_slice rest)
{
    if (script_is(verb, "say")) {
        script_say(st, rest);
    } else if (script_is(verb, "delta")) {
        script_delta(st, rest);
    } else if (script_is(verb, "finish")) {
        script_finish(st, rest);
    } else if (script_is(verb, "event")) {
        script_event(st, rest);
    } else if (script_is(verb, "gen") || script_is(verb, "last")) {
        script_gen(st, rest, script_is(verb, "last"));
    } else if (script_is(verb, "done")) {
        script_done(st, 0);
    } else if (script_is(verb, "broken")) {
        script_done(st, WEIR_ERESET);
    } else {
        return false;
    }
    return true;
}

static inline bool script_world(struct stage *st, const struct script_hooks *hooks,
                                struct weir_slice verb, struct weir_slice rest)
{
    uint64_t ms;
    if (script_is(verb, "full")) {
        st->is_full = true;
    } else if (script_is(verb, "room")) {
        st->is_full = false;
        st->out.on_resume(st->out.ctx);
    } else if (script_is(verb, "clock")) {
        assert_int_equal(weir_slice_u64(rest, &ms), 0);
        st->loop.held_ms += ms;
        weir_timers_run(&st->loop.timers, weir_loop_now_ms(&st->loop));
    } else if (script_is(verb, "line")) {
        hooks->line(st, rest);
    } else if (script_is(verb, "eof")) {
        hooks->eof(st);
    } else {
        return false;
    }
    return true;
}

/* Plays up to `max` lines; returns how many there are. */
static inline size_t script_play(struct stage *st, const struct script_hooks *hooks,
                                 const char *script, size_t max)
{
    struct weir_slice lines = weir_slice_cstr(script);
    size_t n = 0;
    if (hooks->start != NULL) {
        hooks->start(st);
        stage_turn(st);
    }
    while (lines.n != 0 && n < max) {
        struct weir_slice rest = weir_slice_cut(&lines, '\n');
        struct weir_slice whole = rest;
        struct weir_slice verb = weir_slice_cut(&rest, ' ');
        n++;
        if (!script_check(st, verb, rest) && !script_service(st, verb, rest) &&
            !script_model(st, verb, rest) && !script_world(st, hooks, verb, rest)) {
            fail_msg("no such command: %.*s", (int)whole.n, whole.p);
        }
        stage_turn(st);
    }
    return n;
}

/* The whole script; then nothing else has left. */
static inline void script_run(struct stage *st, const struct script_hooks *hooks,
                              const char *script)
{
    script_play(st, hooks, script, SIZE_MAX);
    script_expect_nothing(st);
}

/* The caller goes after each line of it: everything open is closed, whatever the state. */
static inline void script_drop_anywhere(const struct script_hooks *hooks,
                                        struct stage *(*make)(void), const char *script)
{
    size_t n = SIZE_MAX;
    for (size_t at = 0; at <= n; at++) {
        struct stage *st = make();
        size_t played = script_play(st, hooks, script, at);
        n = played < at ? played : n;
        stage_free(st);
    }
}

#endif
