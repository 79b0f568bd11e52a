#ifndef WEIR_TESTS_UNIT_TASK_POLICY_TALK_H
#define WEIR_TESTS_UNIT_TASK_POLICY_TALK_H

/*
 * What the model server of a made-up world says, as a stream in pieces of any size and order, or as
 * one answer, and what the gateway's caller hears of it.
 */
#include "unit/task/policy_world.h"

/* ---- the model server's part ---- */

/* Writes a member of a message or delta that says `json` (a string with its quotes). */
static inline void world_write_said(struct weir_buf *out, enum weir_channel channel,
                                    struct weir_slice json)
{
    weir_buf_printf(out, "%s", out->p[out->n - 1] == '{' ? "" : ",");
    if (channel == WEIR_CHANNEL_TRANSCRIPT) {
        weir_buf_printf(out, "\"audio\":{\"transcript\":%.*s}", (int)json.n, json.p);
    } else {
        weir_buf_printf(out, "\"%s\":%.*s", weir_channel_name(channel), (int)json.n, json.p);
    }
}

/* Some code points of what is left, quoted; an emoji may be cut in two halves. */
static inline void world_cut(struct weir_slice *rest, bool *has_half, struct weir_buf *quoted)
{
    static const char *const lows[] = {"\\ude00", "\\ude01", "\\ude02"};
    struct weir_buf text = {0};
    size_t n = weir_utf8_byte_at(*rest, 1 + world_random(6));
    n = n < rest->n ? n : rest->n;
    if (*has_half) { /* the emoji that is cut stands first; all here are U+1F600 to U+1F602 */
        weir_buf_printf(quoted, "\"%s", lows[(unsigned char)rest->p[3] - 0x80]);
        *rest = weir_slice_sub(*rest, 4, rest->n);
        n = n > 4 ? n - 4 : 0;
        *has_half = false;
    } else {
        weir_buf_append_byte(quoted, '"');
    }
    weir_json_write_quoted(&text, weir_slice_sub(*rest, 0, n));
    weir_buf_append(quoted, weir_slice_sub(weir_buf_slice(&text), 1, text.n - 1));
    *rest = weir_slice_sub(*rest, n, rest->n);
    if (rest->n != 0 && (unsigned char)rest->p[0] == 0xF0 && world_random(2) == 0) {
        weir_buf_append(quoted, WEIR_SLICE("\\ud83d"));
        *has_half = true;
    }
    weir_buf_append_byte(quoted, '"');
    weir_buf_dispose(&text);
}

struct world_left {
    struct weir_slice rest[WORLD_CHOICES][WEIR_CHANNEL_TEXTS];
    bool halves[WORLD_CHOICES][WEIR_CHANNEL_TEXTS];
    struct weir_slice calls[WORLD_CHOICES][WORLD_CALLS];
    bool call_halves[WORLD_CHOICES][WORLD_CALLS];
    bool has_begun[WORLD_CHOICES][WORLD_CALLS];
    bool has_finished[WORLD_CHOICES];
};

/* The first of three calls is a custom tool's. What it is called comes with its first piece. */
static inline void world_write_call(struct weir_buf *out, size_t call, bool is_first,
                                    struct weir_slice json)
{
    const char *kind = call == 0 ? "custom" : "function";
    const char *name = call == 0 ? "input" : "arguments";
    bool is_old = call == WORLD_CALLS - 1;
    if (!is_old) {
        weir_buf_printf(out, "{\"index\":%zu,", call);
    }
    if (is_first && !is_old) {
        weir_buf_printf(out, "\"id\":\"t%zu\",\"type\":\"%s\",", call, kind);
    }
    weir_buf_printf(out, is_old ? "\"function_call\":{" : "\"%s\":{", kind);
    weir_buf_append(out, is_first ? WEIR_SLICE("\"name\":\"f\",") : WEIR_SLICE(""));
    weir_buf_printf(out, "\"%s\":%.*s}%s", name, (int)json.n, json.p, is_old ? "" : "}");
}

static inline bool world_is_silent(const struct world_left *left, size_t choice)
{
    for (size_t c = 0; c < WEIR_CHANNEL_TEXTS; c++) {
        if (left->rest[choice][c].n != 0 || left->halves[choice][c]) {
            return false;
        }
    }
    for (size_t k = 0; k < WORLD_CALLS; k++) {
        if (left->calls[choice][k].n != 0 || left->call_halves[choice][k]) {
            return false;
        }
    }
    return true;
}

/* Pieces of some calls, perhaps several of the same one. */
static inline void world_say_calls(struct world_left *left, size_t choice, struct weir_buf *event)
{
    struct weir_buf list = {0};
    for (size_t i = 0; i < 2 * WORLD_CALLS; i++) {
        size_t k = i % WORLD_CALLS;
        bool is_old = k == WORLD_CALLS - 1;
        struct weir_slice *rest = &left->calls[choice][k];
        struct weir_buf quoted = {0};
        if (rest->n == 0 || world_random(3) != 0 || (is_old && i != k)) {
            continue;
        }
        world_cut(rest, &left->call_halves[choice][k], &quoted);
        struct weir_buf *out = is_old ? event : &list;
        bool is_next = is_old ? event->p[event->n - 1] != '{' : list.n != 0;
        weir_buf_append(out, is_next ? WEIR_SLICE(",") : WEIR_SLICE(""));
        world_write_call(out, k, !left->has_begun[choice][k], weir_buf_slice(&quoted));
        left->has_begun[choice][k] = true;
        weir_buf_dispose(&quoted);
    }
    if (list.n != 0) {
        weir_buf_printf(event, "%s\"tool_calls\":[%.*s]", event->p[event->n - 1] == '{' ? "" : ",",
                        (int)list.n, list.p);
    }
    weir_buf_dispose(&list);
}

/* One event of one choice: some of what is left of some of its channels, or its end. */
static inline void world_say(struct world *w, struct world_left *left, size_t choice)
{
    struct weir_buf event = {0};
    weir_buf_printf(&event, "{\"id\":\"c\",\"choices\":[{\"index\":%zu,\"delta\":{", choice);
    for (size_t c = 0; c < WEIR_CHANNEL_TEXTS; c++) {
        struct weir_slice *rest = &left->rest[choice][c];
        struct weir_buf quoted = {0};
        if (rest->n != 0 && world_random(3) == 0) {
            world_cut(rest, &left->halves[choice][c], &quoted);
            world_write_said(&event, (enum weir_channel)c, weir_buf_slice(&quoted));
        }
        weir_buf_dispose(&quoted);
    }
    world_say_calls(left, choice, &event);
    left->has_finished[choice] = world_is_silent(left, choice);
    weir_buf_printf(&event, "},\"finish_reason\":%s}]}",
                    left->has_finished[choice] ? "\"stop\"" : "null");
    script_event(w->st, weir_buf_slice(&event));
    weir_buf_dispose(&event);
    stage_turn(w->st);
}

static inline bool world_has_more(const struct world *w, const struct world_left *left)
{
    for (size_t i = 0; i < w->n_choices; i++) {
        if (!left->has_finished[i]) {
            return true;
        }
    }
    return false;
}

/* Answers what is asked until all is said; built-in detectors may be at work on other threads. */
static inline void world_settle(struct world *w)
{
    while (!w->st->is_over) {
        struct weir_loop *loop = &w->st->loop;
        bool has_work = !weir_list_is_empty(&loop->steps) || !weir_list_is_empty(&loop->posted);
        if (!world_answer(w)) { /* the end may come before the turn would wait for the kernel */
            uv_run(&loop->uv, has_work ? UV_RUN_NOWAIT : UV_RUN_ONCE);
        }
    }
}

/* The whole stream: events of all choices mixed, detectors answering in between and afterwards. */
static inline void world_stream(struct world *w)
{
    struct world_left left = {0};
    for (size_t i = 0; i < w->n_choices; i++) {
        for (size_t c = 0; c < WEIR_CHANNEL_TEXTS; c++) {
            left.rest[i][c] = weir_buf_slice(&w->texts[i][c]);
        }
        for (size_t k = 0; k < WORLD_CALLS; k++) {
            left.calls[i][k] = weir_buf_slice(&w->arguments[i][k]);
        }
    }
    size_t haste = world_random(4);
    world_open(w, false);
    while (!w->st->is_over && w->st->run != NULL && world_has_more(w, &left)) {
        size_t choice = world_random(w->n_choices);
        if (!left.has_finished[choice]) {
            world_say(w, &left, choice);
        }
        while (world_random(4) < haste && world_answer(w)) {
        }
    }
    if (!w->st->is_over && w->st->run != NULL) {
        script_done(w->st, 0);
        stage_turn(w->st);
    }
    world_settle(w);
}

/* The calls of a whole message. */
static inline void world_write_calls(const struct world *w, size_t choice, struct weir_buf *out)
{
    struct weir_buf list = {0};
    for (size_t k = 0; k < WORLD_CALLS; k++) {
        struct weir_buf quoted = {0};
        if (w->arguments[choice][k].n == 0) {
            continue;
        }
        bool is_old = k == WORLD_CALLS - 1;
        struct weir_buf *to = is_old ? out : &list;
        bool is_next = is_old ? out->p[out->n - 1] != '{' : list.n != 0;
        weir_json_write_quoted(&quoted, weir_buf_slice(&w->arguments[choice][k]));
        weir_buf_append(to, is_next ? WEIR_SLICE(",") : WEIR_SLICE(""));
        world_write_call(to, k, true, weir_buf_slice(&quoted));
        weir_buf_dispose(&quoted);
    }
    if (list.n != 0) {
        weir_buf_printf(out, "%s\"tool_calls\":[%.*s]", out->p[out->n - 1] == '{' ? "" : ",",
                        (int)list.n, list.p);
    }
    weir_buf_dispose(&list);
}

/* The same as one answer. */
static inline void world_unary(struct world *w)
{
    struct weir_buf answer = {0};
    weir_buf_printf(&answer, "{\"id\":\"c\",\"choices\":[");
    for (size_t i = 0; i < w->n_choices; i++) {
        weir_buf_printf(&answer, "%s{\"index\":%zu,\"message\":{", i != 0 ? "," : "", i);
        for (size_t c = 0; c < WEIR_CHANNEL_TEXTS; c++) {
            struct weir_buf quoted = {0};
            if (w->texts[i][c].n != 0) {
                weir_json_write_quoted(&quoted, weir_buf_slice(&w->texts[i][c]));
                world_write_said(&answer, (enum weir_channel)c, weir_buf_slice(&quoted));
            }
            weir_buf_dispose(&quoted);
        }
        world_write_calls(w, i, &answer);
        weir_buf_printf(&answer, "},\"finish_reason\":\"stop\"}");
    }
    weir_buf_printf(&answer, "]}");
    world_open(w, true);
    script_event(w->st, weir_buf_slice(&answer));
    script_done(w->st, 0);
    stage_turn(w->st);
    weir_buf_dispose(&answer);
    world_settle(w);
}

/* ---- what left ---- */

struct world_said {
    struct weir_buf texts[WORLD_CHOICES][WEIR_CHANNEL_TEXTS];
    struct weir_buf arguments[WORLD_CHOICES][WORLD_CALLS];
    bool is_blocked[WORLD_CHOICES];
};

static inline void world_said_dispose(struct world_said *said)
{
    for (size_t i = 0; i < WORLD_CHOICES * WEIR_CHANNEL_TEXTS; i++) {
        weir_buf_dispose(&said->texts[i / WEIR_CHANNEL_TEXTS][i % WEIR_CHANNEL_TEXTS]);
    }
    for (size_t i = 0; i < WORLD_CHOICES * WORLD_CALLS; i++) {
        weir_buf_dispose(&said->arguments[i / WORLD_CALLS][i % WORLD_CALLS]);
    }
}

static inline uint32_t world_member(const struct weir_json *j, uint32_t object, const char *name)
{
    return object != WEIR_JSON_NONE ? weir_json_get_set(j, object, weir_slice_cstr(name))
                                    : WEIR_JSON_NONE;
}

/* Calls are told apart by their ids, which both forms have. */
static inline void world_hear_calls(const struct weir_json *j, uint32_t body, struct weir_buf *out)
{
    uint32_t calls = world_member(j, body, "tool_calls");
    uint32_t at = calls != WEIR_JSON_NONE ? weir_json_first(j, calls) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, calls, at)) {
        struct weir_slice id = weir_json_raw(j, world_member(j, at, "id"));
        size_t k = (size_t)(id.p[2] - '0');
        uint32_t words = world_member(j, at, k == 0 ? "custom" : "function");
        assert_true(weir_json_string_eq(j, world_member(j, words, "name"), WEIR_SLICE("f")));
        weir_json_string_append(j, world_member(j, words, k == 0 ? "input" : "arguments"), &out[k]);
    }
    uint32_t old = world_member(j, body, "function_call");
    if (old != WEIR_JSON_NONE) {
        weir_json_string_append(j, world_member(j, old, "arguments"), &out[WORLD_CALLS - 1]);
    }
}

static inline void world_hear_choice(const struct weir_json *j, uint32_t choice,
                                     struct world_said *said)
{
    uint64_t index;
    assert_int_equal(weir_json_u64(j, world_member(j, choice, "index"), &index), 0);
    uint32_t delta = world_member(j, choice, "delta");
    uint32_t body = delta != WEIR_JSON_NONE ? delta : world_member(j, choice, "message");
    for (size_t c = 0; c < WEIR_CHANNEL_TEXTS; c++) {
        uint32_t at = c == WEIR_CHANNEL_TRANSCRIPT
                          ? world_member(j, world_member(j, body, "audio"), "transcript")
                          : world_member(j, body, weir_channel_name((enum weir_channel)c));
        if (at != WEIR_JSON_NONE) {
            weir_json_string_append(j, at, &said->texts[index][c]);
        }
    }
    if (body != WEIR_JSON_NONE) {
        world_hear_calls(j, body, said->arguments[index]);
    }
    uint32_t finish = world_member(j, choice, "finish_reason");
    if (finish != WEIR_JSON_NONE) {
        said->is_blocked[index] = weir_json_string_eq(j, finish, WEIR_SLICE("content_filter"));
    }
}

/* Puts together what the stage wrote down. */
static inline void world_hear(struct world *w, struct world_said *said)
{
    struct weir_slice lines = weir_buf_slice(&w->st->lines);
    while (lines.n != 0) {
        struct weir_slice line = weir_slice_cut(&lines, '\n');
        struct weir_arena arena = {0};
        struct weir_json j;
        if (weir_slice_eq_cstr(line, "end")) {
            continue;
        }
        if (line.n == 0 || line.p[0] != '{') {
            fail_msg("%.*s", (int)line.n, line.p);
        }
        assert_int_equal(weir_json_parse(&j, line, NULL, &arena, NULL), 0);
        uint32_t choices = weir_json_get(&j, 0, WEIR_SLICE("choices"));
        uint32_t at = weir_json_first(&j, choices);
        for (; at != WEIR_JSON_NONE; at = weir_json_after(&j, choices, at)) {
            world_hear_choice(&j, at, said);
        }
        weir_arena_dispose(&arena);
    }
}

#endif
