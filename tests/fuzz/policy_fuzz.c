/*
 * Whatever a model server says on a route that blocks or redacts: what leaves is JSON, says the
 * word that is looked for in no channel, not even over several events, and nothing is left open.
 *
 *   byte 0     bits: block, unary, completions, a detector of whole documents, unknown members
 * pass, the detector answers late and in any order, several events come in one read, Messages (with
 * the bit of completions: Responses); then events, one a line; unary: one answer
 *
 * Unknown members that do not pass are looked at where the input's length is even, else dropped.
 * When a late answer comes, and which, is decided by numbers made from the input.
 */
#include "base/mem.h"
#include "base/utf8.h"
#include "chunk/whole.h"
#include "chunk/window.h"
#include "io/loop.h"
#include "talk/channel.h"
#include "talk/unescape.h"
#include "task/completion.h"
#include "task/completion_stream.h"
#include "task/env.h"
#include "task/message.h"
#include "task/out.h"
#include "task/scratch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

/* ---- a detector that finds "bad" ---- */

struct call {
    struct weir_detect_call base;
    struct weir_arena arena;
    struct weir_list link; /* among those that answer late */
    const struct weir_detect_input *input;
    weir_detect_done_fn on_done;
    void *ctx;
};

static struct weir_list waiting; /* calls without an answer */
static bool answers_late;

static struct weir_detect_list find(struct call *call, struct weir_slice text)
{
    struct weir_detection *found = weir_arena_array(&call->arena, text.n / 3 + 1, sizeof *found);
    size_t n = 0;
    for (size_t at = 0; at + 3 <= text.n; at++) {
        if (memcmp(text.p + at, "bad", 3) == 0) {
            size_t start = weir_utf8_count(weir_slice_sub(text, 0, at));
            found[n++] = (struct weir_detection){.has_span = true,
                                                 .start_cp = start,
                                                 .end_cp = start + 3,
                                                 .text = WEIR_SLICE("bad"),
                                                 .detection = WEIR_SLICE("word"),
                                                 .detection_type = WEIR_SLICE("word"),
                                                 .detector_id = call->base.detector->id,
                                                 .score = 1};
        }
    }
    return (struct weir_detect_list){.items = found, .n = n};
}

/* The texts are read when the answer is made: they must still be there, and the same. */
static void look(struct call *call)
{
    size_t n = call->input->n_contents;
    struct weir_detect_list *lists = weir_arena_array(&call->arena, n, sizeof *lists);
    for (size_t i = 0; i < n; i++) {
        lists[i] = find(call, call->input->contents[i]);
    }
    call->base.lists = lists;
    call->base.n_lists = n;
    call->base.is_done = true;
}

/* Answers one of those that wait. */
static void answer(uint32_t number)
{
    size_t n = 0;
    for (struct weir_list *at = waiting.next; at != &waiting; at = at->next) {
        n++;
    }
    if (n == 0) {
        return;
    }
    struct weir_list *at = waiting.next;
    for (size_t i = number % n; i != 0; i--) {
        at = at->next;
    }
    struct call *call = WEIR_LIST_ENTRY(at, struct call, link);
    weir_list_remove(&call->link);
    weir_list_init(&call->link);
    look(call);
    call->on_done(call->ctx, &call->base);
}

static struct weir_detect_call *detect(const struct weir_detector *d,
                                       const struct weir_detect_env *env,
                                       const struct weir_detect_input *input,
                                       weir_detect_done_fn on_done, void *ctx)
{
    struct call *call = weir_mem_zalloc(sizeof *call);
    (void)env;
    call->base = (struct weir_detect_call){.detector = d};
    call->input = input;
    call->on_done = on_done;
    call->ctx = ctx;
    weir_list_init(&call->link);
    if (answers_late) {
        weir_list_append(&waiting, &call->link);
    } else {
        look(call);
    }
    return &call->base;
}

static void free_call(struct weir_detect_call *base)
{
    struct call *call = (struct call *)base;
    weir_list_remove(&call->link);
    weir_arena_dispose(&call->arena);
    free(call);
}

static const struct weir_detect_ops DETECT_OPS = {.start = detect, .free = free_call};

/* ---- a model server that says what it is told ---- */

enum { MAX_CHOICES = 3, MAX_TOOLS = 3, N_WORDS = WEIR_CHANNEL_TEXTS + MAX_TOOLS + 1 };

struct world {
    struct weir_model model;
    struct weir_model_run run;
    const struct weir_model_events *events;
    void *ctx;
    bool is_running;
    bool is_over;
    const char *said; /* where choices say something */
    bool is_stream;
    bool is_message;
    bool is_response;
    bool passes_unknown;
    struct weir_out out;
    struct weir_buf words[MAX_CHOICES][N_WORDS]; /* what has left, by channel and tool call */
    uint32_t dice;
};

static uint32_t roll(struct world *w)
{
    w->dice = w->dice * 1664525u + 1013904223u;
    return w->dice >> 16;
}

static struct weir_model_run *model_start(const struct weir_model *m,
                                          const struct weir_model_env *env,
                                          const struct weir_model_request *request,
                                          const struct weir_model_events *events, void *ctx)
{
    struct world *w = (struct world *)(uintptr_t)m; /* its first member */
    (void)env;
    (void)request;
    w->run.model = m;
    w->events = events;
    w->ctx = ctx;
    w->is_running = true;
    return &w->run;
}

static void model_set_paused(struct weir_model_run *run, bool is_paused)
{
    (void)run;
    (void)is_paused;
}

static void model_free(struct weir_model_run *run)
{
    WEIR_LIST_ENTRY(run, struct world, run)->is_running = false;
}

static const struct weir_model_ops MODEL_OPS = {
    .start = model_start, .set_paused = model_set_paused, .free = model_free};

/* ---- what leaves ---- */

/* `all` is what has left in the same place before; NULL: this place is not put together. */
static void check_text(const struct weir_json *j, uint32_t object, const char *name,
                       struct weir_buf *all)
{
    bool is_object = object != WEIR_JSON_NONE && weir_json_type(j, object) == WEIR_JSON_OBJECT;
    uint32_t at = is_object ? weir_json_get_set(j, object, weir_slice_cstr(name)) : WEIR_JSON_NONE;
    struct weir_buf text = {0};
    if (at != WEIR_JSON_NONE) {
        CHECK(weir_json_type(j, at) == WEIR_JSON_STRING);
        weir_json_string_append(j, at, &text);
        CHECK(text.n == 0 || memmem(text.p, text.n, "bad", 3) == NULL);
        if (all != NULL && text.n != 0) {
            weir_buf_append(all, weir_buf_slice(&text));
            CHECK(memmem(all->p, all->n, "bad", 3) == NULL);
        }
    }
    weir_buf_dispose(&text);
}

/* Arguments are looked at as a reader of JSON would decode them, too. */
static void check_decoded(struct weir_slice text)
{
    struct weir_arena arena = {0};
    struct weir_json j;
    struct weir_unescape u;
    bool is_json = weir_json_parse(&j, text, NULL, &arena, NULL) == 0;
    for (uint32_t at = 0; is_json && at < j.n_nodes; at++) {
        if (weir_json_type(&j, at) == WEIR_JSON_STRING) {
            struct weir_slice said = weir_json_string(&j, at, &arena);
            CHECK(said.n == 0 || memmem(said.p, said.n, "bad", 3) == NULL);
        }
    }
    weir_unescape_read(&u, text, &arena);
    CHECK(u.text.n == 0 || memmem(u.text.p, u.text.n, "bad", 3) == NULL);
    weir_arena_dispose(&arena);
}

static void check_arguments(const struct weir_json *j, uint32_t object, const char *name,
                            struct weir_buf *all)
{
    check_text(j, object, name, all);
    uint32_t at = object != WEIR_JSON_NONE ? weir_json_get_set(j, object, weir_slice_cstr(name))
                                           : WEIR_JSON_NONE;
    if (at != WEIR_JSON_NONE) {
        struct weir_buf text = {0};
        weir_json_string_append(j, at, &text);
        check_decoded(weir_buf_slice(&text));
        weir_buf_dispose(&text);
    }
}

/* `said` is the member that is guarded: others nobody knows, and they may be passed. */
static void check_calls(const struct weir_json *j, uint32_t body, struct weir_buf *words)
{
    uint32_t calls = weir_json_get_set(j, body, WEIR_SLICE("tool_calls"));
    uint32_t at = calls != WEIR_JSON_NONE ? weir_json_first(j, calls) : WEIR_JSON_NONE;
    for (size_t i = 0; at != WEIR_JSON_NONE; at = weir_json_after(j, calls, at), i++) {
        struct weir_buf *all = words != NULL && i < MAX_TOOLS ? &words[i] : NULL;
        check_text(j, weir_json_get_set(j, at, WEIR_SLICE("function")), "name", NULL);
        check_arguments(j, weir_json_get_set(j, at, WEIR_SLICE("function")), "arguments", all);
        check_arguments(j, weir_json_get_set(j, at, WEIR_SLICE("custom")), "input", all);
    }
}

/* Of a choice that is among the first; unary answers may have the same index twice. */
static struct weir_buf *words_of(struct world *w, const struct weir_json *j, uint32_t choice)
{
    uint64_t index = 0;
    uint32_t at = weir_json_get_set(j, choice, WEIR_SLICE("index"));
    if (at != WEIR_JSON_NONE && weir_json_u64(j, at, &index) != 0) {
        return NULL;
    }
    return index < MAX_CHOICES && strcmp(w->said, "message") != 0 ? w->words[index] : NULL;
}

static void check_choice(struct world *w, const struct weir_json *j, uint32_t choice)
{
    uint32_t body = weir_json_get_set(j, choice, weir_slice_cstr(w->said));
    struct weir_buf *words = words_of(w, j, choice);
    if (strcmp(w->said, "text") == 0) {
        check_text(j, choice, w->said, w->is_stream ? words : NULL);
        return;
    }
    CHECK(body != WEIR_JSON_NONE && weir_json_type(j, body) == WEIR_JSON_OBJECT);
    for (size_t i = 0; i < WEIR_CHANNEL_TRANSCRIPT; i++) {
        check_text(j, body, weir_channel_name((enum weir_channel)i),
                   words != NULL ? &words[i] : NULL);
    }
    check_text(j, weir_json_get_set(j, body, WEIR_SLICE("audio")), "transcript",
               words != NULL ? &words[WEIR_CHANNEL_TRANSCRIPT] : NULL);
    uint32_t call = weir_json_get_set(j, body, WEIR_SLICE("function_call"));
    check_text(j, call, "name", NULL);
    check_arguments(j, call, "arguments", words != NULL ? &words[N_WORDS - 1] : NULL);
    check_calls(j, body, words != NULL ? words + WEIR_CHANNEL_TEXTS : NULL);
}

/* ---- of a message ---- */

/* Members whose value has a form and is no text. */
static bool is_formed(const struct weir_json *j, uint32_t key)
{
    static const char *const names[] = {"id", "type", "data", "signature", NULL};
    for (size_t i = 0; names[i] != NULL; i++) {
        if (weir_json_type(j, key) == WEIR_JSON_STRING &&
            weir_json_string_eq(j, key, weir_slice_cstr(names[i]))) {
            return true;
        }
    }
    return false;
}

static void check_deep(const struct weir_json *j, uint32_t at)
{
    for (uint32_t i = at; i < j->nodes[at].next; i++) {
        struct weir_buf text = {0};
        if (weir_json_type(j, i) == WEIR_JSON_STRING && !(i > at && is_formed(j, i - 1))) {
            weir_json_string_append(j, i, &text);
            CHECK(text.n == 0 || memmem(text.p, text.n, "bad", 3) == NULL);
        }
        weir_buf_dispose(&text);
    }
}

/* A call's input is JSON, or should be: what a client reads of it has no such word. */
static void check_input(const struct weir_json *j, uint32_t delta)
{
    uint32_t at = weir_json_get_set(j, delta, WEIR_SLICE("partial_json"));
    struct weir_arena arena = {0};
    struct weir_json input;
    if (at != WEIR_JSON_NONE &&
        weir_json_parse(&input, weir_json_string(j, at, &arena), NULL, &arena, NULL) == 0) {
        check_deep(&input, 0);
    }
    weir_arena_dispose(&arena);
}

static void check_message(struct world *w, const struct weir_json *j)
{
    if (w->passes_unknown) {
        return; /* events nobody knows leave as they are */
    }
    static const char *const bodies[] = {"content_block", "delta", "content", "stop_sequence",
                                         "stop_details"};
    uint64_t index = 0;
    uint32_t at = weir_json_get_set(j, 0, WEIR_SLICE("index"));
    uint32_t delta = weir_json_get_set(j, 0, WEIR_SLICE("delta"));
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        uint32_t body = weir_json_get_set(j, 0, weir_slice_cstr(bodies[i]));
        if (body != WEIR_JSON_NONE) {
            check_deep(j, body);
        }
    }
    if (at != WEIR_JSON_NONE && delta != WEIR_JSON_NONE &&
        weir_json_type(j, delta) == WEIR_JSON_OBJECT) {
        bool is_first = weir_json_u64(j, at, &index) == 0 && index < MAX_CHOICES;
        check_text(j, delta, "text", is_first ? &w->words[index][0] : NULL);
        check_text(j, delta, "thinking", is_first ? &w->words[index][1] : NULL);
        check_input(j, delta);
    }
}

static void on_answer(void *ctx, const struct weir_task_answer *answer);

#include "fuzz/policy_response.h"

static void check_leaves(struct world *w, struct weir_slice json)
{
    struct weir_arena arena = {0};
    struct weir_json j;
    CHECK(weir_json_parse(&j, json, NULL, &arena, NULL) == 0); /* no name twice, too */
    if (w->is_message || w->is_response) {
        (w->is_message ? check_message : check_response)(w, &j);
        weir_arena_dispose(&arena);
        return;
    }
    uint32_t choices = weir_json_get(&j, 0, WEIR_SLICE("choices"));
    CHECK(choices != WEIR_JSON_NONE && weir_json_type(&j, choices) == WEIR_JSON_ARRAY);
    uint32_t at = weir_json_first(&j, choices);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(&j, choices, at)) {
        check_choice(w, &j, at);
    }
    weir_arena_dispose(&arena);
}

static enum weir_flow on_event(struct weir_out *o, struct weir_slice json)
{
    struct world *w = WEIR_LIST_ENTRY(o, struct world, out);
    CHECK(!w->is_over);
    check_leaves(w, json);
    return WEIR_FLOW_OK;
}

static enum weir_flow on_raw(struct weir_out *o, const struct weir_out_raw *event)
{
    (void)o;
    (void)event;
    abort(); /* nothing passes as it is */
}

static void on_end(struct weir_out *o)
{
    struct world *w = WEIR_LIST_ENTRY(o, struct world, out);
    CHECK(!w->is_over);
    w->is_over = true;
}

static void on_fail(struct weir_out *o, const struct weir_fault *fault)
{
    CHECK(fault->origin != WEIR_FAULT_NONE);
    on_end(o);
}

static const struct weir_out_ops OUT_OPS = {
    .event = on_event, .raw = on_raw, .end = on_end, .fail = on_fail};

static void on_answer(void *ctx, const struct weir_task_answer *answer)
{
    struct world *w = ctx;
    CHECK(!w->is_over);
    w->is_over = true;
    if (answer->fault == NULL) {
        check_leaves(w, answer->body);
    }
}

/* ---- one run ---- */

enum {
    BLOCKS = 1,
    IS_UNARY = 2,
    IS_TEXT = 4,
    HAS_WHOLE = 8,
    PASSES = 16,
    IS_LATE = 32,
    IS_ONE_READ = 64,
    IS_MESSAGE = 128,
};

/* What the model adapter lets through is JSON. */
static bool is_json(struct weir_slice line)
{
    struct weir_arena arena = {0};
    struct weir_json j;
    bool is_good = weir_json_parse(&j, line, NULL, &arena, NULL) == 0;
    weir_arena_dispose(&arena);
    return is_good;
}

/* Some late answers, or none. */
static void answer_some(struct world *w, struct weir_loop *loop)
{
    for (uint32_t n = roll(w) % 4; n != 0 && !w->is_over; n--) {
        answer(roll(w));
        uv_run(&loop->uv, UV_RUN_NOWAIT);
    }
}

static void speak(struct world *w, struct weir_loop *loop, struct weir_slice rest, uint8_t how)
{
    bool is_unary = (how & IS_UNARY) != 0;
    while (rest.n != 0 && w->is_running && !w->is_over) {
        struct weir_slice line = is_unary ? rest : weir_slice_cut(&rest, '\n');
        rest = is_unary ? (struct weir_slice){0} : rest;
        if (is_json(line)) {
            struct weir_model_frame frame = {.json = line, .raw = line};
            w->events->on_frame(w->ctx, &frame);
            if ((how & IS_ONE_READ) == 0 || roll(w) % 4 == 0) {
                uv_run(&loop->uv, UV_RUN_NOWAIT);
                answer_some(w, loop);
            }
        }
    }
    if (w->is_running && !w->is_over) {
        w->events->on_done(w->ctx, NULL);
    }
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    while (!weir_list_is_empty(&waiting) && !w->is_over) {
        answer(roll(w));
        uv_run(&loop->uv, UV_RUN_NOWAIT);
    }
    for (int i = 0; i < 4; i++) {
        uv_run(&loop->uv, UV_RUN_NOWAIT);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct weir_loop loop;
    static bool is_made;
    static struct weir_chunk_window windows;
    static struct weir_task_scratch scratch;
    if (size == 0) {
        return 0;
    }
    if (!is_made) {
        CHECK(weir_loop_init(&loop) == 0);
        weir_chunk_window_init(&windows, WEIR_SLICE("w"), 12, 4);
        is_made = true;
    }
    uint8_t how = data[0];
    weir_list_init(&waiting);
    answers_late = (how & IS_LATE) != 0;
    struct weir_arena arena = {0};
    const char *body = (how & IS_UNARY) != 0 ? "message" : "delta";
    struct world w = {.model = {.ops = &MODEL_OPS},
                      .said = (how & IS_TEXT) != 0 ? "text" : body,
                      .is_stream = (how & IS_UNARY) == 0,
                      .is_message = (how & (IS_MESSAGE | IS_TEXT)) == IS_MESSAGE,
                      .is_response = (how & IS_MESSAGE) != 0 && (how & IS_TEXT) != 0,
                      .passes_unknown = (how & PASSES) != 0,
                      .dice = (uint32_t)size * 2654435761u + data[size / 2],
                      .out = {.ops = &OUT_OPS}};
    struct weir_detector detector = {
        .ops = &DETECT_OPS, .id = WEIR_SLICE("d"), .type = WEIR_DETECT_CONTENTS};
    struct weir_task_detector described = {.id = detector.id,
                                           .detector = &detector,
                                           .chunker = (how & HAS_WHOLE) != 0 ? &weir_chunk_whole
                                                                             : &windows.base};
    struct weir_plan_use use = {.d = &described, .params = WEIR_SLICE("{}")};
    struct weir_policy policy = {.action =
                                     (how & BLOCKS) != 0 ? WEIR_POLICY_BLOCK : WEIR_POLICY_REDACT,
                                 .redact_with = WEIR_SLICE("[{detection}]"),
                                 .keeps_unknown = (how & PASSES) != 0,
                                 .checks_unknown = size % 2 == 0};
    struct weir_task_env env = {.openai = &w.model,
                                .max_detector_calls = 4,
                                .max_chunker_calls = 4,
                                .max_service_body_bytes = 1 << 20,
                                .max_event_bytes = 1 << 16,
                                .max_held_bytes = 1 << 12,
                                .max_remembered_bytes = 1 << 14,
                                .max_choices = MAX_CHOICES,
                                .max_tool_calls = MAX_TOOLS,
                                .strategy = weir_gather_strategy_at(0)};
    struct weir_task_ctx task = {.env = &env, .loop = &loop, .arena = &arena, .scratch = &scratch};
    struct weir_json request;
    CHECK(weir_json_parse(&request, WEIR_SLICE("{\"messages\":[]}"), NULL, &arena, NULL) == 0);
    struct weir_task_completion asked = {.is_chat = (how & IS_TEXT) == 0,
                                         .json = &request,
                                         .model_id = WEIR_SLICE("m"),
                                         .output = {.uses = &use, .n = 1},
                                         .policy = &policy,
                                         .n_choices = 1};
    if (w.is_response) {
        start_response(&w, &task, &asked);
    } else if (w.is_message && (how & IS_UNARY) != 0) {
        weir_task_message_start(&task, &asked, on_answer, &w);
    } else if (w.is_message) {
        weir_message_stream_start(&task, &asked, &w.out);
    } else if ((how & IS_UNARY) != 0) {
        weir_task_completion_start(&task, &asked, on_answer, &w);
    } else {
        weir_completion_stream_start(&task, &asked, env.strategy, &w.out);
    }
    speak(&w, &loop, weir_slice_make((const char *)data + 1, size - 1), how);
    CHECK(w.is_over);
    weir_arena_dispose(&arena);
    CHECK(!w.is_running);
    CHECK(weir_list_is_empty(&waiting));
    for (size_t i = 0; i < MAX_CHOICES * N_WORDS; i++) {
        weir_buf_dispose(&w.words[i / N_WORDS][i % N_WORDS]);
    }
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    return 0;
}
