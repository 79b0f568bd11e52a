#ifndef WEIR_TESTS_UNIT_TASK_BRIEF_H
#define WEIR_TESTS_UNIT_TASK_BRIEF_H

/*
 * An event of a completion in short, for transcripts.
 *
 *   0 "text" finish [detector@start …] !WARNING usage          - …: an event without choices
 *
 * On routes (`brief_is_route`) the role is told where it stands, other channels with what they say,
 * and findings with the channel they are in:
 *
 *   0 role "text" reasoning:"hm" finish reasoning[detector@start …] …
 */
#include "base/buf.h"
#include "unit/cmocka_all.h"
#include "wire/json.h"

static bool brief_is_route;

static inline void brief_results(struct weir_buf *out, const struct weir_json *j, uint32_t results)
{
    weir_buf_append(out, WEIR_SLICE("["));
    uint32_t at = weir_json_first(j, results);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, results, at)) {
        uint32_t start = weir_json_get(j, at, WEIR_SLICE("start"));
        uint32_t id = weir_json_get(j, at, WEIR_SLICE("detector_id"));
        struct weir_slice name = weir_json_raw(j, id);
        weir_buf_printf(out, "%.*s", (int)name.n - 2, name.p + 1);
        if (start != WEIR_JSON_NONE) {
            struct weir_slice n = weir_json_raw(j, start);
            weir_buf_printf(out, "@%.*s", (int)n.n, n.p);
        }
        weir_buf_append_byte(out, ' ');
    }
    if (out->p[out->n - 1] == ' ') {
        out->n--;
    }
    weir_buf_append(out, WEIR_SLICE("]"));
}

static inline bool brief_has(const struct weir_json *j, uint32_t object, const char *name)
{
    return object != WEIR_JSON_NONE &&
           weir_json_get_set(j, object, weir_slice_cstr(name)) != WEIR_JSON_NONE;
}

static inline void brief_choice(struct weir_buf *out, const struct weir_json *j, uint32_t choice)
{
    uint32_t delta = weir_json_get_set(j, choice, WEIR_SLICE("delta"));
    uint32_t body = delta != WEIR_JSON_NONE ? delta : choice;
    uint32_t text = weir_json_get_set(
        j, body, delta != WEIR_JSON_NONE ? WEIR_SLICE("content") : WEIR_SLICE("text"));
    struct weir_slice index = weir_json_raw(j, weir_json_get(j, choice, WEIR_SLICE("index")));
    weir_buf_printf(out, "%.*s", (int)index.n, index.p);
    if (brief_is_route) {
        weir_buf_append(out, brief_has(j, body, "role") ? WEIR_SLICE(" role") : WEIR_SLICE(""));
    } else if (delta != WEIR_JSON_NONE) { /* every delta says who speaks */
        assert_true(brief_has(j, delta, "role"));
    }
    if (text != WEIR_JSON_NONE) {
        weir_buf_append_byte(out, ' ');
        weir_buf_append(out, weir_json_raw(j, text));
    }
    static const char *const names[] = {"tool_calls", "reasoning_content", "refusal", "reasoning",
                                        "audio",      "function_call"};
    for (size_t i = 0; i < (brief_is_route ? 6 : 3); i++) {
        uint32_t at = weir_json_get_set(j, body, weir_slice_cstr(names[i]));
        if (at != WEIR_JSON_NONE && brief_is_route) {
            struct weir_slice said = weir_json_raw(j, at);
            weir_buf_printf(out, " %s:%.*s", names[i], (int)said.n, said.p);
        } else if (at != WEIR_JSON_NONE) {
            weir_buf_printf(out, " %s", names[i]);
        }
    }
    uint32_t logprobs = weir_json_get_set(j, choice, WEIR_SLICE("logprobs"));
    if (logprobs != WEIR_JSON_NONE) {
        weir_buf_append(out, WEIR_SLICE(" "));
        weir_buf_append(out, weir_json_raw(j, logprobs));
    }
    uint32_t finish = weir_json_get_set(j, choice, WEIR_SLICE("finish_reason"));
    if (finish != WEIR_JSON_NONE) {
        struct weir_slice reason = weir_json_raw(j, finish);
        weir_buf_printf(out, " %.*s", (int)reason.n - 2, reason.p + 1);
    }
}

static inline void brief_detections(struct weir_buf *out, const struct weir_json *j)
{
    uint32_t all = weir_json_get(j, 0, WEIR_SLICE("detections"));
    static const char *const sides[] = {"input", "output"};
    for (size_t i = 0; all != WEIR_JSON_NONE && i < 2; i++) {
        uint32_t side = weir_json_get(j, all, weir_slice_cstr(sides[i]));
        uint32_t at = side != WEIR_JSON_NONE ? weir_json_first(j, side) : WEIR_JSON_NONE;
        for (; at != WEIR_JSON_NONE; at = weir_json_after(j, side, at)) {
            weir_buf_append(out, WEIR_SLICE(" "));
            uint32_t channel = weir_json_get(j, at, WEIR_SLICE("channel"));
            if (channel != WEIR_JSON_NONE) {
                struct weir_slice name = weir_json_raw(j, channel);
                weir_buf_printf(out, "%.*s", (int)name.n - 2, name.p + 1);
            }
            brief_results(out, j, weir_json_get(j, at, WEIR_SLICE("results")));
        }
    }
    uint32_t warnings = weir_json_get(j, 0, WEIR_SLICE("warnings"));
    uint32_t at = warnings != WEIR_JSON_NONE ? weir_json_first(j, warnings) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, warnings, at)) {
        struct weir_slice type = weir_json_raw(j, weir_json_get(j, at, WEIR_SLICE("type")));
        weir_buf_printf(out, " !%.*s", (int)type.n - 2, type.p + 1);
    }
}

/* Into `out`. What is no JSON stays as it is. */
static inline void brief(struct weir_buf *out, struct weir_slice line)
{
    struct weir_arena arena = {0};
    struct weir_json j;
    weir_buf_clear(out);
    if (line.n == 0 || line.p[0] != '{') {
        weir_buf_append(out, line);
        return;
    }
    assert_int_equal(weir_json_parse(&j, line, NULL, &arena, NULL), 0);
    uint32_t choices = weir_json_get(&j, 0, WEIR_SLICE("choices"));
    assert_int_not_equal(choices, WEIR_JSON_NONE);
    assert_true(j.nodes[choices].n <= 1);
    if (j.nodes[choices].n == 1) {
        brief_choice(out, &j, weir_json_first(&j, choices));
    } else {
        weir_buf_append(out, WEIR_SLICE("-"));
    }
    brief_detections(out, &j);
    if (brief_has(&j, 0, "usage")) {
        weir_buf_append(out, WEIR_SLICE(" usage"));
    }
    weir_arena_dispose(&arena);
}

#endif
