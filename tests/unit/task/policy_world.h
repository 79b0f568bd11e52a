#ifndef WEIR_TESTS_UNIT_TASK_POLICY_WORLD_H
#define WEIR_TESTS_UNIT_TASK_POLICY_WORLD_H

/*
 * A made-up answer and those who look at it, for property tests of routes: random texts with words
 * planted in them, real chunkers, detectors that find some of the words and answer when they are
 * told to, in any order.
 */
#include "chunk/sentence.h"
#include "chunk/window.h"
#include "talk/channel.h"
#include "unit/task/policy_stage.h"

enum {
    WORLD_CHOICES = 3,
    WORLD_DETECTORS = 3,
    WORLD_CHUNKERS = 5,
    WORLD_MAX_WORD_CP = 12,
    WORLD_CALLS = 4, /* of a choice; the last is of OpenAI's older form */
};

/* What is planted. Some contain each other, or begin as others end. */
static const char *const WORLD_WORDS[] = {
    "xyzxy",
    "zxyz",
    "4111 1111",
    "jane@doe",
    "m\xC3\xBCll",
    "\xF0\x9F\x98\x80\xF0\x9F\x98\x81",
    "e\xCC\x81"
    "a",
    "\xE5\xAF\x86\xE7\xA0\x81",
    "q",
};
enum { WORLD_N_WORDS = sizeof WORLD_WORDS / sizeof WORLD_WORDS[0] };

/* What stands around it. */
static const char *const WORLD_REST[] = {
    "a",
    "lot",
    " ",
    " ",
    " ",
    ". ",
    "! ",
    "\n",
    "\n\n",
    "- ",
    "\xC3\xA4",
    "\xE4\xBD\xA0\xE5\xA5\xBD",
    "\xE3\x80\x82",
    "\xF0\x9F\x98\x82",
    "e\xCC\x81",
    "\\",
    "\"",
    "```\n",
    "xyzx",
    "jane",
    "4111",
    "1",
};

static uint64_t world_seed;

static inline size_t world_random(size_t n)
{
    world_seed = world_seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(((world_seed >> 32) * n) >> 32);
}

/* ---- detectors ---- */

struct world_detector {
    struct weir_detector base;
    struct world *world;
    unsigned words;        /* bits: which of them it finds */
    unsigned is_immediate; /* out of four answers, so many come at once */
};

struct world_call {
    struct weir_detect_call base;
    struct world_call *next;
    struct world *world;
    weir_detect_done_fn on_done;
    void *ctx;
    struct weir_arena arena;
    struct weir_detect_list *lists;
    struct weir_slice *contents; /* what it looks at */
};

struct world {
    struct stage *st;
    struct weir_chunk_window windows[3];
    struct weir_chunk_sentence sentence;
    const struct weir_chunker *chunkers[WORLD_CHUNKERS];
    struct world_detector detectors[WORLD_DETECTORS];
    struct weir_task_detector described[WORLD_DETECTORS];
    struct weir_plan_use uses[WORLD_DETECTORS];
    size_t n_detectors;
    const struct weir_plan *late; /* see weir_plan */
    bool is_split;                /* by weir_plan_split: some of `uses` only tell */
    struct world_call *calls;     /* under way */
    size_t n_calls;
    /* Told of every answer before the gateway is; NULL: nobody is. */
    void (*on_answer)(struct world *w, const struct world_call *call);
    size_t n_until_fault; /* not 0: so many answers later one is a failure */
    size_t n_choices;
    struct weir_buf texts[WORLD_CHOICES][WEIR_CHANNEL_TEXTS];
    struct weir_buf arguments[WORLD_CHOICES][WORLD_CALLS]; /* empty: there is no such call */
};

static const char *const WORLD_IDS[WORLD_DETECTORS] = {"d0", "d1", "d2"};

/* Every occurrence of the detector's words; the array may be NULL to count. */
static inline size_t world_find(const struct world_detector *d, struct weir_slice text,
                                struct weir_detection *out)
{
    static const char *const kinds[WORLD_N_WORDS] = {"K0", "K1", "K2", "K3", "K4",
                                                     "K5", "K6", "K7", "K8"};
    size_t n = 0;
    for (size_t at = 0; at < text.n; at++) {
        for (size_t i = 0; i < WORLD_N_WORDS; i++) {
            struct weir_slice word = weir_slice_cstr(WORLD_WORDS[i]);
            if ((d->words >> i & 1) == 0 ||
                !weir_slice_starts_with(weir_slice_sub(text, at, text.n), word)) {
                continue;
            }
            if (out != NULL) {
                size_t start = weir_utf8_count(weir_slice_sub(text, 0, at));
                out[n] = (struct weir_detection){.has_span = true,
                                                 .start_cp = start,
                                                 .end_cp = start + weir_utf8_count(word),
                                                 .text = word,
                                                 .detection = weir_slice_cstr(kinds[i]),
                                                 .detection_type = WEIR_SLICE("word"),
                                                 .detector_id = d->base.id,
                                                 .score = 0.5};
            }
            n++;
        }
    }
    return n;
}

static inline struct weir_detect_call *world_detect(const struct weir_detector *base,
                                                    const struct weir_detect_env *env,
                                                    const struct weir_detect_input *input,
                                                    weir_detect_done_fn on_done, void *ctx)
{
    const struct world_detector *d = (const struct world_detector *)base;
    struct world_call *call = weir_mem_zalloc(sizeof *call);
    (void)env;
    *call = (struct world_call){.base = {.detector = base},
                                .next = d->world->calls,
                                .world = d->world,
                                .on_done = on_done,
                                .ctx = ctx};
    d->world->calls = call;
    call->lists = weir_arena_array(&call->arena, input->n_contents, sizeof *call->lists);
    call->contents = weir_arena_array(&call->arena, input->n_contents, sizeof *call->contents);
    for (size_t i = 0; i < input->n_contents; i++) {
        call->contents[i] = weir_arena_dup(&call->arena, input->contents[i]);
        size_t n = world_find(d, input->contents[i], NULL);
        struct weir_detection *items = weir_arena_array(&call->arena, n, sizeof *items);
        world_find(d, input->contents[i], items);
        call->lists[i] = (struct weir_detect_list){.items = items, .n = n};
    }
    call->base.lists = call->lists;
    call->base.n_lists = input->n_contents;
    call->base.is_done = world_random(4) < d->is_immediate;
    d->world->n_calls += !call->base.is_done;
    if (call->base.is_done && d->world->on_answer != NULL) {
        d->world->on_answer(d->world, call);
    }
    return &call->base;
}

static inline void world_detect_free(struct weir_detect_call *base)
{
    struct world_call *call = (struct world_call *)base;
    struct world_call **at = &call->world->calls;
    while (*at != call) {
        at = &(*at)->next;
    }
    *at = call->next;
    call->world->n_calls -= !base->is_done;
    weir_arena_dispose(&call->arena);
    free(call);
}

static const struct weir_detect_ops WORLD_DETECT_OPS = {.start = world_detect,
                                                        .free = world_detect_free};

/* One of the calls under way, any of them, is answered. False: there is none. */
static inline bool world_answer(struct world *w)
{
    if (w->n_calls == 0) {
        return false;
    }
    size_t skip = world_random(w->n_calls);
    struct world_call *call = w->calls;
    while (call->base.is_done || skip-- != 0) {
        call = call->next;
    }
    call->base.is_done = true;
    w->n_calls--;
    if (w->n_until_fault != 0 && --w->n_until_fault == 0) {
        call->base.fault = (struct weir_fault){.origin = WEIR_FAULT_DETECTOR,
                                               .id = call->base.detector->id,
                                               .err = WEIR_EPEER,
                                               .why = WEIR_SLICE("made up")};
    } else if (w->on_answer != NULL) {
        w->on_answer(w, call);
    }
    call->on_done(call->ctx, &call->base);
    stage_turn(w->st);
    return true;
}

/* ---- making one ---- */

static inline void world_make_text(struct weir_buf *text, size_t n)
{
    while (n-- != 0) {
        const char *piece = world_random(4) == 0
                                ? WORLD_WORDS[world_random(WORLD_N_WORDS)]
                                : WORLD_REST[world_random(sizeof WORLD_REST / sizeof *WORLD_REST)];
        weir_buf_append(text, weir_slice_cstr(piece));
    }
}

/* A string of JSON, with some characters escaped that need not be. */
static inline void world_make_string(struct weir_buf *json, size_t n)
{
    struct weir_buf text = {0};
    struct weir_buf quoted = {0};
    world_make_text(&text, n);
    weir_json_write_quoted(&quoted, weir_buf_slice(&text));
    for (size_t i = 0; i < quoted.n; i++) {
        unsigned char c = (unsigned char)quoted.p[i];
        bool is_plain =
            c > ' ' && c < 0x7f && c != '"' && c != '\\' && (i == 0 || quoted.p[i - 1] != '\\');
        if (is_plain && world_random(8) == 0) {
            weir_buf_printf(json, "\\u%04x", c);
        } else {
            weir_buf_append_byte(json, (char)c);
        }
    }
    weir_buf_dispose(&text);
    weir_buf_dispose(&quoted);
}

static inline void world_make_value(struct weir_buf *json, size_t depth)
{
    static const char *const others[] = {"null", "true", "-4.50", "41111111", "{}", "[]"};
    size_t kind = world_random(depth == 0 ? 4 : 6);
    if (kind < 3) {
        world_make_string(json, world_random(12));
    } else if (kind == 3) {
        weir_buf_append(json, weir_slice_cstr(others[world_random(6)]));
    } else {
        bool is_object = kind == 4;
        size_t n = world_random(4);
        weir_buf_append_byte(json, is_object ? '{' : '[');
        for (size_t i = 0; i < n; i++) {
            weir_buf_append(json, i != 0 ? WEIR_SLICE(", ") : WEIR_SLICE(""));
            if (is_object) {
                weir_buf_printf(json, "\"k%zu\\u006%zu\": ", depth, i);
            }
            world_make_value(json, depth - 1);
        }
        weir_buf_append_byte(json, is_object ? '}' : ']');
    }
}

/* JSON; something that looks like it; any text. */
static inline void world_make_arguments(struct weir_buf *out)
{
    size_t kind = world_random(4);
    if (kind < 2) {
        weir_buf_append(out, WEIR_SLICE("{\"a\": "));
        world_make_value(out, 3);
        weir_buf_append(out, kind == 0 ? WEIR_SLICE(" }") : WEIR_SLICE(",\"b\":0}\n"));
    } else if (kind == 2) {
        weir_buf_append(out, WEIR_SLICE("{\"a\": "));
        world_make_string(out, world_random(20));
    } else {
        world_make_text(out, 1 + world_random(20));
    }
}

static inline void world_make_detectors(struct world *w, bool with_whole)
{
    w->n_detectors = 1 + world_random(WORLD_DETECTORS);
    for (size_t i = 0; i < w->n_detectors; i++) {
        struct world_detector *d = &w->detectors[i];
        *d = (struct world_detector){.base = {.ops = &WORLD_DETECT_OPS,
                                              .id = weir_slice_cstr(WORLD_IDS[i]),
                                              .type = WEIR_DETECT_CONTENTS},
                                     .world = w,
                                     .words = (unsigned)world_random(1u << WORLD_N_WORDS),
                                     .is_immediate = (unsigned)world_random(5)};
        size_t n = with_whole ? WORLD_CHUNKERS : WORLD_CHUNKERS - 1;
        w->described[i] = (struct weir_task_detector){
            .id = d->base.id, .detector = &d->base, .chunker = w->chunkers[world_random(n)]};
        w->uses[i] = (struct weir_plan_use){.d = &w->described[i], .params = WEIR_SLICE("{}")};
    }
}

static inline void world_init_chunkers(struct world *w)
{
    weir_chunk_window_init(&w->windows[0], WEIR_SLICE("w0"), 40, WORLD_MAX_WORD_CP);
    weir_chunk_window_init(&w->windows[1], WEIR_SLICE("w1"), 33, 32);
    weir_chunk_window_init(&w->windows[2], WEIR_SLICE("w2"), 100, 50);
    assert_int_equal(weir_chunk_sentence_init(&w->sentence, WEIR_SLICE("s"), NULL), 0);
    for (size_t i = 0; i < 3; i++) {
        w->chunkers[i] = &w->windows[i].base;
    }
    w->chunkers[3] = &w->sentence.base;
    w->chunkers[4] = &weir_chunk_whole;
}

/* `n_channels` of every choice say something, perhaps; where it is all of them, there may be tool
 * calls, too. */
static inline void world_make(struct world *w, size_t n_channels, size_t max_pieces)
{
    w->n_choices = 1 + world_random(WORLD_CHOICES);
    for (size_t i = 0; i < w->n_choices; i++) {
        for (size_t c = 0; c < n_channels; c++) {
            weir_buf_clear(&w->texts[i][c]);
            world_make_text(&w->texts[i][c], world_random(max_pieces));
        }
        for (size_t k = 0; k < WORLD_CALLS; k++) {
            weir_buf_clear(&w->arguments[i][k]);
            if (n_channels == WEIR_CHANNEL_TEXTS && world_random(3) == 0) {
                world_make_arguments(&w->arguments[i][k]);
            }
        }
    }
    world_make_detectors(w, world_random(4) == 0);
}

static inline void world_dispose(struct world *w)
{
    for (size_t i = 0; i < WORLD_CHOICES * WEIR_CHANNEL_TEXTS; i++) {
        weir_buf_dispose(&w->texts[i / WEIR_CHANNEL_TEXTS][i % WEIR_CHANNEL_TEXTS]);
    }
    for (size_t i = 0; i < WORLD_CHOICES * WORLD_CALLS; i++) {
        weir_buf_dispose(&w->arguments[i / WORLD_CALLS][i % WORLD_CALLS]);
    }
    weir_chunk_sentence_dispose(&w->sentence);
}

/* A stage on which the route's request has just been made. */
static inline void world_open(struct world *w, bool is_unary)
{
    w->st = policy_stage("", "");
    w->st->env.max_held_bytes = 1 << 24;
    w->st->env.max_service_body_bytes = 1 << 24;
    w->st->env.max_detector_calls = (unsigned)(1 + world_random(8));
    policy_ask.n_choices = w->n_choices;
    struct weir_task_completion request = policy_request(w->st);
    request.output = (struct weir_plan){.uses = w->uses, .n = w->n_detectors, .late = w->late};
    if (w->is_split) {
        weir_plan_split(&request.output, &w->st->arena);
    }
    if (is_unary) {
        weir_task_completion_start(&w->st->task, &request, policy_answered, w->st);
    } else {
        weir_completion_stream_start(&w->st->task, &request, w->st->env.strategy, &w->st->out);
    }
    stage_turn(w->st);
}

static inline void world_close(struct world *w)
{
    stage_free(w->st);
    w->st = NULL;
    assert_null(w->calls);
}

#endif
