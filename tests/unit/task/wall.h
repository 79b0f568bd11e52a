#ifndef WEIR_TESTS_UNIT_TASK_WALL_H
#define WEIR_TESTS_UNIT_TASK_WALL_H

/*
 * The wall around answers of a dialect: a word that detectors find is put into every string and
 * every member's name of an answer, one after the other. It does not leave a route that blocks or
 * redacts, and it does leave one that annotates, which says so wherever it looks.
 */
#include "unit/task/policy_stage.h"

#define TRACER "a bad word."
#define TRACER_ID "the.bad@word.example" /* of characters that ids may have */

/* A member in which a route that annotates does not look, in documents that have these words. */
struct wall_mute {
    const char *member; /* NULL: behind the last */
    const char *words;
};

struct wall {
    const char *const *events; /* of a stream: every kind that the dialect knows */
    size_t n_events;
    const char *whole; /* a whole answer */
    void (*begin)(struct stage *st, bool is_unary);
    const char *endings[2]; /* one of them is in a stream that has ended as clients need it … */
    const char *whole_mark; /* … and this in a whole answer that is no error */
    const struct wall_mute *mute;
};

static inline bool wall_has(struct weir_slice s, const char *text)
{
    return memmem(s.p, s.n, text, strlen(text)) != NULL;
}

static inline void wall_say(struct stage *st, struct weir_slice json)
{
    if (!st->is_over && st->run != NULL) {
        script_event(st, json);
        stage_turn(st);
    }
}

static inline void wall_end(struct stage *st)
{
    if (!st->is_over && st->run != NULL) {
        script_done(st, 0);
        stage_turn(st);
    }
    assert_true(st->is_over);
}

/* What leaves of a stream in which one event says something else. */
static inline struct stage *wall_stream(const struct wall *wall, size_t which,
                                        struct weir_slice instead)
{
    struct stage *st = policy_stage("", "now");
    wall->begin(st, false);
    for (size_t i = 0; i < wall->n_events; i++) {
        wall_say(st, i == which ? instead : weir_slice_cstr(wall->events[i]));
    }
    wall_end(st);
    return st;
}

static inline struct stage *wall_answer(const struct wall *wall, struct weir_slice json)
{
    struct stage *st = policy_stage("", "now");
    wall->begin(st, true);
    wall_say(st, json);
    wall_end(st);
    return st;
}

static inline bool wall_is_whole(const struct wall *wall, const struct stage *st, bool is_unary)
{
    struct weir_slice lines = weir_buf_slice(&st->lines);
    return is_unary ? wall_has(lines, wall->whole_mark)
                    : wall_has(lines, wall->endings[0]) || wall_has(lines, wall->endings[1]);
}

/* ---- every string and name of a document ---- */

struct wall_taint {
    const struct wall *wall;
    const char *tracer;
    size_t which; /* the event; n_events: it is the whole answer */
    struct weir_slice json;
    struct weir_slice member; /* the name that was tainted, or whose value was */
    bool is_name;
};

struct wall_counts {
    size_t n_runs;
    size_t n_whole; /* that were no errors */
    size_t n_told;
};

typedef void (*wall_check_fn)(const struct wall_taint *taint, struct stage *st,
                              struct wall_counts *counts);

static inline bool wall_is_name(const struct weir_json *doc, uint32_t parent, uint32_t at)
{
    if (weir_json_type(doc, parent) != WEIR_JSON_OBJECT) {
        return false;
    }
    uint32_t key = weir_json_first(doc, parent);
    while (key != WEIR_JSON_NONE && key != at) {
        key = weir_json_after(doc, parent, key);
    }
    return key == at;
}

/* The innermost container that `at` stands in. */
static inline uint32_t wall_parent(const struct weir_json *doc, uint32_t at)
{
    uint32_t parent = 0;
    for (uint32_t i = 0; i < at; i++) {
        bool is_container = weir_json_type(doc, i) >= WEIR_JSON_ARRAY;
        parent = is_container && doc->nodes[i].next > at ? i : parent;
    }
    return parent;
}

static inline void wall_run(struct wall_taint *taint, wall_check_fn check,
                            struct wall_counts *counts)
{
    bool is_unary = taint->which == taint->wall->n_events;
    struct stage *st = is_unary ? wall_answer(taint->wall, taint->json)
                                : wall_stream(taint->wall, taint->which, taint->json);
    counts->n_runs++;
    counts->n_whole += wall_is_whole(taint->wall, st, is_unary);
    check(taint, st, counts);
    stage_free(st);
}

static inline void wall_taint_all(const struct wall *wall, const char *tracer, size_t which,
                                  wall_check_fn check, struct wall_counts *counts)
{
    struct weir_arena arena = {0};
    struct weir_json doc;
    const char *source = which < wall->n_events ? wall->events[which] : wall->whole;
    assert_int_equal(weir_json_parse(&doc, weir_slice_cstr(source), NULL, &arena, NULL), 0);
    for (uint32_t at = 1; at < doc.n_nodes; at++) {
        if (weir_json_type(&doc, at) != WEIR_JSON_STRING) {
            continue;
        }
        uint32_t parent = wall_parent(&doc, at);
        struct wall_taint taint = {.wall = wall,
                                   .tracer = tracer,
                                   .which = which,
                                   .is_name = wall_is_name(&doc, parent, at)};
        bool is_value = weir_json_type(&doc, parent) == WEIR_JSON_OBJECT && !taint.is_name;
        struct weir_buf json = {0};
        taint.member = weir_json_string(&doc, is_value ? at - 1 : at, &arena);
        weir_buf_append(&json, weir_slice_sub(doc.src, 0, doc.nodes[at].start));
        weir_buf_printf(&json, "\"%s\"", tracer);
        weir_buf_append(&json, weir_slice_sub(doc.src, doc.nodes[at].end, doc.src.n));
        taint.json = weir_buf_slice(&json);
        wall_run(&taint, check, counts);
        weir_buf_dispose(&json);
    }
    weir_arena_dispose(&arena);
}

/* All events of the stream, and the whole answer. */
static inline struct wall_counts wall_taint_everything(const struct wall *wall, const char *tracer,
                                                       wall_check_fn check)
{
    struct wall_counts counts = {0};
    struct stage *st = wall_stream(wall, wall->n_events, WEIR_SLICE(""));
    assert_true(wall_is_whole(wall, st, false));
    stage_free(st);
    st = wall_answer(wall, weir_slice_cstr(wall->whole));
    assert_true(wall_is_whole(wall, st, true));
    stage_free(st);
    for (size_t i = 0; i <= wall->n_events; i++) {
        wall_taint_all(wall, tracer, i, check, &counts);
    }
    return counts;
}

/* ---- what is checked ---- */

static inline void wall_fail(const struct wall_taint *taint, const struct stage *st,
                             const char *why)
{
    fprintf(stderr, "event %zu: %.*s\nleft: %.*s\n", taint->which, (int)taint->json.n,
            taint->json.p, (int)st->lines.n, st->lines.p); /* longer than cmocka's messages */
    fail_msg("%s%s", policy_ask.asks_json ? "JSON was asked for: " : "", why);
}

/* Where the route blocks or redacts: the word does not leave. */
static inline void wall_holds(const struct wall_taint *taint, struct stage *st,
                              struct wall_counts *counts)
{
    (void)counts;
    struct weir_slice lines = weir_buf_slice(&st->lines);
    if (wall_has(lines, "a bad") || wall_has(lines, ".bad")) {
        wall_fail(taint, st, "it has left");
    }
}

static inline bool wall_is_mute(const struct wall_taint *taint)
{
    const struct wall_mute *mute = taint->wall->mute;
    while (mute->member != NULL && !(weir_slice_eq_cstr(taint->member, mute->member) &&
                                     wall_has(taint->json, mute->words))) {
        mute++;
    }
    return mute->member != NULL;
}

/* Where it annotates: it leaves, unless the answer is an error, and a value is told of. */
static inline void wall_tells(const struct wall_taint *taint, struct stage *st,
                              struct wall_counts *counts)
{
    struct weir_slice lines = weir_buf_slice(&st->lines);
    bool is_told = wall_has(lines, "\"detector_id\":\"now\"");
    bool is_unary = taint->which == taint->wall->n_events;
    counts->n_told += is_told;
    if (!wall_is_whole(taint->wall, st, is_unary)) {
        return;
    }
    if (!wall_has(lines, "bad word")) {
        wall_fail(taint, st, "it has not left");
    }
    if (!is_told && !taint->is_name && !wall_is_mute(taint)) {
        wall_fail(taint, st, "nobody says that it was found");
    }
}

#endif
