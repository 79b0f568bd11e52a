/*
 * Whole streams, without sockets and on a clock of their own: one input is what the caller, the
 * model server, the chunkers and the detectors do, in which order. The task layer, the choice of a
 * server, the memory of verdicts, the batching of calls and of events and the stream to the caller
 * are the real ones (src/task, src/model/fleet.c, src/detect/known.c and desk.c, src/emit,
 * src/route/stream_out.c).
 *
 *   six bytes   a request: endpoint and policy, detectors and chunkers, limits, batching, dialect,
 *               what is around it
 *   a byte      something happens (enum act); some take one more byte
 *
 * What must be true is in stream_heard.h (of each character, when it leaves) and stream_check.h (of
 * a stream, when it has ended). docs/internals/testing.md says how it is run.
 */
#include "fuzz/stream_check.h"
#include "fuzz/stream_request.h"

struct input {
    const uint8_t *p;
    size_t n;
};

static uint8_t take(struct input *in)
{
    if (in->n == 0) {
        return 0;
    }
    in->n--;
    return *in->p++;
}

/* ---- what happens ---- */

static size_t choice_of(const struct talk *t, size_t number)
{
    return stream_is_row(t) ? number : stream_is_openai(t) ? number % t->n_choices : 0;
}

static void say_one(struct talk *t, const struct say *s)
{
    t->dialect->say(t, s);
}

static void act_say(struct talk *t, uint8_t how, uint8_t what)
{
    static const size_t slots[8] = {SLOT_CONTENT,           SLOT_CONTENT,
                                    SLOT_CONTENT,           SLOT_CONTENT,
                                    WEIR_CHANNEL_REASONING, WEIR_CHANNEL_REASONING_CONTENT,
                                    WEIR_CHANNEL_REFUSAL,   WEIR_CHANNEL_TRANSCRIPT};
    struct say s = {.choice = choice_of(t, how & 3),
                    .slot = slots[what >> 5],
                    .piece = what & 31,
                    .finish = (how & 4) != 0 ? 's' : 0,
                    .is_escaped = (how & 8) != 0};
    say_one(t, &s);
}

static void act_tool(struct talk *t, uint8_t how, uint8_t what)
{
    struct say s = {.choice = choice_of(t, how & 3),
                    .slot = SLOT_CONTENT,
                    .piece = what & 31,
                    .is_silent = (what & 32) == 0,
                    .has_tool = true,
                    .tool = (what & 64) != 0 ? 2 : (how >> 2 & 1),
                    .finish = (how & 8) != 0 ? 't' : 0,
                    .is_escaped = (what & 128) != 0};
    say_one(t, &s);
}

static void act_finish(struct talk *t, uint8_t how)
{
    struct say s = {.choice = choice_of(t, how & 3),
                    .is_silent = true,
                    .finish = (how & 4) != 0 ? 'l' : 's',
                    .has_usage = (how & 8) != 0};
    if (stream_is_row(t)) {
        row_close(t, s.choice);
    } else if (stream_is_openai(t)) {
        say_one(t, &s);
    }
}

static void say_without_choices(struct talk *t, bool has_usage)
{
    say_begin(t);
    if (has_usage) {
        say_end(t, true);
        t->last_usage = t->n_usages;
        t->is_usage_last = true;
    } else {
        weir_buf_append(&t->wire, WEIR_SLICE("],\"prompt_filter_results\":[]}\n\n"));
    }
}

static void act_aside(struct talk *t, uint8_t how)
{
    struct say s = {.choice = choice_of(t, how >> 2), .is_silent = true, .has_role = true};
    if (stream_is_row(t)) {
        row_say_unknown(t, 5 + how);
    }
    if (!stream_is_openai(t) || stream_is_row(t)) {
        return;
    }
    switch (how & 3) {
    case 0:
        say_one(t, &s);
        break;
    case 1:
        s.has_usage = true;
        say_one(t, &s);
        break;
    case 2:
        say_without_choices(t, true);
        break;
    default:
        say_without_choices(t, false);
        break;
    }
}

/* Two choices in one event, or two halves of a character in two. */
static void act_both(struct talk *t, uint8_t how, uint8_t what)
{
    struct say s = {
        .choice = choice_of(t, how & 3), .piece = what & 31, .finish = (how & 4) ? 's' : 0};
    if (!stream_is_openai(t)) {
        return;
    }
    bool joins_halves = t->n_detectors != 0 && !t->env.compat.is_fms;
    if ((how & 8) != 0 && joins_halves) {
        t->dialect->say_halves(t, s.choice);
        return;
    }
    if (stream_is_row(t)) {
        say_one(t, &s);
        return;
    }
    say_begin(t);
    say_choice(t, &s);
    weir_buf_append_byte(&t->wire, ',');
    s.choice = choice_of(t, s.choice + 1);
    if (s.choice == choice_of(t, how & 3)) {
        t->wire.n--;
    } else {
        s.piece = what >> 3;
        say_choice(t, &s);
    }
    say_end(t, (what & 128) != 0);
}

static void act_mixed(struct talk *t, uint8_t how, uint8_t what)
{
    struct say s = {.choice = choice_of(t, how & 3),
                    .slot = SLOT_CONTENT,
                    .piece = what & 31,
                    .has_reasoning = (what & 32) != 0,
                    .has_tool = (what & 64) != 0,
                    .has_role = true,
                    .has_usage = (how & 8) != 0,
                    .finish = (what & 128) != 0 ? 's' : 0};
    say_one(t, &s);
}

static void act_read(struct talk *t, uint8_t how)
{
    size_t n = how == 0 ? t->wire.n : (size_t)how * how * 2;
    t->arrived = t->wire.n - t->arrived > n ? t->arrived + n : t->wire.n;
    stream_read(t);
}

/* Timers come late where the loop has much to do. */
static void act_wait(uint8_t how)
{
    static const uint64_t times[8] = {1, 10, 40, 60, 200, 1000, 2000, 15000};
    static const uint64_t lates[4] = {0, 40, 60, 2000};
    if (how >= 8) {
        pass_time(times[how - 8]);
    } else if (how >= 4) {
        loop.held_ms += lates[how - 4];
        return;
    }
    turn();
}

static void act_answer(struct talk *t, uint8_t how)
{
    if (how == 14) {
        while (fake_answer(t, 0, false)) {
        }
    } else {
        fake_answer(t, how == 15 ? 0 : how, how == 15);
    }
}

static void act_chunk(struct talk *t, uint8_t how)
{
    static const enum tell tells[16] = {TELL_LITTLE, TELL_LITTLE, TELL_SOME,      TELL_SOME,
                                        TELL_ALL,    TELL_ALL,    TELL_ALL,       TELL_SOME,
                                        TELL_LITTLE, TELL_GAP,    TELL_OVERLAP,   TELL_BEYOND,
                                        TELL_SOME,   TELL_FAIL,   TELL_END_EARLY, TELL_OTHER_TEXT};
    fake_tell(t, how & 1, tells[how]);
}

static void act_nonsense(struct talk *t, uint8_t how)
{
    const char *const words[2] = {"data: x\n\n", t->dialect->nonsense[how & 1]};
    if (stream_is_openai(t) && t->n_detectors != 0 && !t->is_unary) {
        t->has_fault = true;
        weir_buf_append(&t->wire, weir_slice_cstr(words[how >> 1 & 1]));
    }
}

static void say_last(struct talk *t)
{
    if (!t->has_said_end && t->dialect->say_end != NULL) {
        t->dialect->say_end(t);
    }
    t->has_said_end = true;
}

/* A row without its last event is not complete. */
static void act_end(struct talk *t, uint8_t how)
{
    bool is_cut = how == 1 && stream_is_row(t) && t->n_detectors != 0 && !t->is_unary;
    t->is_broken = how == 0 && t->endpoint != CONTENTS;
    t->has_fault = t->has_fault || is_cut;
    if (t->is_broken || is_cut) {
        t->has_said_end = true;
    } else {
        say_last(t);
    }
}

enum act {
    ACT_SAY = 4, /* and below */
    ACT_TOOL,
    ACT_FINISH,
    ACT_ASIDE,
    ACT_BOTH,
    ACT_READ,
    ACT_WAIT,
    ACT_ANSWER,
    ACT_CHUNK,
    ACT_CALLER,
    ACT_TALK,
    ACT_MORE,
};

static void act_model(struct talk *t, uint8_t what, uint8_t how, struct input *in)
{
    uint8_t more =
        what <= ACT_TOOL || what == ACT_BOTH || (what == ACT_MORE && how < 8) ? take(in) : 0;
    if (t->has_said_end) {
        return;
    }
    if (what <= ACT_SAY) {
        act_say(t, how, more);
    } else if (what == ACT_TOOL && stream_is_openai(t)) {
        act_tool(t, how, more);
    } else if (what == ACT_FINISH) {
        act_finish(t, how);
    } else if (what == ACT_ASIDE) {
        act_aside(t, how);
    } else if (what == ACT_BOTH) {
        act_both(t, how, more);
    } else if (how < 8) {
        act_mixed(t, how, more);
    } else if (how < 10) {
        act_nonsense(t, how);
    } else {
        act_end(t, how - 10);
    }
    if (t->is_eager) {
        t->arrived = t->wire.n;
        stream_read(t);
    }
}

static void act_caller(struct talk *t, uint8_t how)
{
    if (how < 6) {
        t->is_stuffed = true;
    } else if (how == 12) {
        stream_tell("leaves", WEIR_SLICE(""));
        close_talk(t);
    } else {
        make_room(t);
    }
}

static struct wish take_wish(struct input *in)
{
    struct wish w = {.what = take(in)};
    w.how = take(in);
    w.who = take(in);
    w.when = take(in);
    w.batching = take(in);
    w.around = take(in);
    return w;
}

static void wind_down(struct talk *t);

/* Turns to the other talk; begins it where there is none, or where it has ended. */
static struct talk *act_talk(struct talk *t, struct input *in)
{
    struct talk *other = t == &talks[0] ? &talks[1] : &talks[0];
    if (other->is_open && other->has_ended) {
        wind_down(other);
    }
    if (!other->is_open) {
        wishes[other - talks] = take_wish(in);
        open_talk(other, wishes[other - talks]);
    }
    return other;
}

static void act(struct talk *t, uint8_t byte, struct input *in)
{
    uint8_t how = byte >> 4;
    switch (byte & 15) {
    case ACT_READ:
        act_read(t, how);
        break;
    case ACT_WAIT:
        act_wait(how);
        break;
    case ACT_ANSWER:
        act_answer(t, how);
        break;
    case ACT_CHUNK:
        act_chunk(t, how);
        break;
    case ACT_CALLER:
        act_caller(t, how);
        break;
    default:
        act_model(t, byte & 15, how, in);
        break;
    }
}

/* ---- the end of it ---- */

/* Has the server fallen silent in a way that ends a stream of a route? */
static bool is_quiet_end(const struct talk *t)
{
    bool is_quiet = t->ends_in_quiet && stream_is_route(t) && !stream_is_row(t) &&
                    t->n_detectors != 0 && !t->is_unary && !t->has_said_end && t->is_seen[0];
    for (size_t c = 0; c < t->n_choices; c++) {
        is_quiet = is_quiet && t->is_finish_last[c] && t->n_finish[c] == 1;
    }
    return is_quiet;
}

static bool has_work(void)
{
    return !weir_list_is_empty(&loop.posted) || !weir_list_is_empty(&loop.steps);
}

/* Everybody does what is owed. True: somebody did something. */
static bool help(struct talk *t)
{
    size_t at = t->at;
    size_t n_attempts = t->n_attempts;
    bool has_helped = false;
    make_room(t);
    t->arrived = t->wire.n;
    stream_read(t);
    while (t->is_open && fake_answer(t, 0, false)) {
        has_helped = true;
    }
    while (t->is_open && fake_tell(t, 0, TELL_ALL)) {
        has_helped = true;
    }
    has_helped = has_helped || t->at != at || t->n_attempts != n_attempts || has_work();
    turn();
    return has_helped;
}

/* A source is not read beyond its ceiling, but for the event that reached it. What is kept for
 * detectors of the whole, and for the caller in the chain, has ceilings of its own. */
static void expect_held(void)
{
    for (size_t i = 0; i <= N_TALKS; i++) {
        const struct talk *t = &talks[i];
        size_t most = t->stream.arena.total_bytes + t->env.max_held_bytes + EVENT_BYTES;
        most += (size_t)WHOLE_BYTES + 2 * t->batching.chain.adapter.max_stream_buffer_bytes;
        most += stream_is_row(t) ? REMEMBERED_BYTES : 0;
        CHECK(!t->is_open || t->account.bytes <= most);
    }
}

/* Where nobody owes anything, time passes; where no time is left to pass, the stream has ended. */
static void finish(struct talk *t)
{
    bool is_quiet = is_quiet_end(t);
    if (!is_quiet) {
        say_last(t);
    }
    for (int i = 0; !t->has_ended; i++) {
        uint64_t at_ms;
        CHECK(i < MAX_ROUNDS);
        if (help(t) || t->has_ended) {
            continue;
        }
        bool has_timer = weir_timers_next(&loop.timers, &at_ms);
        CHECK(has_timer);
        pass_time(at_ms > loop.held_ms ? at_ms - loop.held_ms : 1);
    }
    turn();
}

/* The same words in one answer lead to the same text. */
static void compare_with_unary(const struct talk *t, struct wish w)
{
    struct talk *m = &talks[MIRROR];
    open_talk(m, w);
    for (size_t id = 0; id < ID_QUESTION; id++) {
        memcpy(m->said[id], t->said[id], t->n_said[id] * sizeof t->said[id][0]);
        m->n_said[id] = t->n_said[id];
    }
    memcpy(m->is_seen, t->is_seen, sizeof m->is_seen);
    memcpy(m->finish, t->finish, sizeof m->finish);
    for (size_t i = 0; i < t->n_rows; i++) {
        m->rows[i] = t->rows[i];
        m->rows[i].heard_input = (struct weir_buf){0};
    }
    m->n_rows = t->n_rows;
    finish(m);
    CHECK(!m->has_failed || m->has_fault);
    for (size_t c = 0; c < N_PLACES && !m->has_failed; c++) {
        bool is_blocked = m->is_blocked[stream_is_row(t) ? 0 : c];
        CHECK(m->is_blocked[c] == t->is_blocked[c]);
        size_t n_slots = stream_is_row(t) ? SLOT_OLD_CALL : N_SLOTS;
        for (size_t i = 0; i < n_slots && !is_blocked; i++) {
            check_same(weir_buf_slice(&m->heard[c * N_SLOTS + i]),
                       weir_buf_slice(&t->heard[c * N_SLOTS + i]));
        }
    }
    stream_check(m);
    close_talk(m);
}

static bool is_comparable(const struct talk *t)
{
    bool has_far = false;
    for (size_t i = 0; i < t->n_detectors; i++) {
        has_far = has_far || t->detectors[i].kind == KIND_FAR;
    }
    bool is_redacted = t->enforces && t->policy.action == WEIR_POLICY_REDACT;
    return is_redacted && !t->is_unary && check_is_whole(t) && !t->is_lied && !has_far &&
           t->is_seen[0];
}

static void wind_down(struct talk *t)
{
    if (!t->is_open) {
        return;
    }
    finish(t);
    stream_check(t);
    if (is_comparable(t)) {
        struct wish w = wishes[t - talks];
        w.what |= 7 << 5;
        w.how &= t->masks ? UINT8_MAX : (uint8_t) ~(8 | 16); /* the question matters */
        compare_with_unary(t, w);
    }
    close_talk(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_made;
    struct input in = {data, size < INPUT_BYTES ? size : INPUT_BYTES};
    if (!is_made) {
        make_world();
        is_made = true;
    }
    loop.held_ms = BEGIN_MS;
    weir_verdicts_set(&verdicts, VERDICT_BYTES, VERDICT_MS);
    wishes[0] = take_wish(&in);
    struct talk *t = &talks[0];
    open_talk(t, wishes[0]);
    while (in.n != 0) {
        uint8_t byte = take(&in);
        if ((byte & 15) == ACT_TALK) {
            t = act_talk(t, &in);
        } else if (t->is_open) {
            act(t, byte, &in);
        }
        if (t->is_open && t->has_turns) {
            turn();
        }
        expect_held();
    }
    for (size_t i = 0; i < N_TALKS; i++) {
        wind_down(&talks[i]);
    }
    uint64_t at_ms;
    CHECK(!weir_timers_next(&loop.timers, &at_ms));
    turn();
    CHECK(!has_work());
    CHECK(n_service_calls == 0);
    weir_verdicts_clear(&verdicts);
    return 0;
}
