#ifndef WEIR_TESTS_FUZZ_STREAM_HEARD_H
#define WEIR_TESTS_FUZZ_STREAM_HEARD_H

/*
 * The caller: takes the answer apart and checks, character by character, that it may have it.
 */
#include "fuzz/stream_dialect.h"
#include "fuzz/stream_found.h"
#include "wire/json.h"

#include <stdio.h>

/* ---- texts ---- */

/* Has everybody who must have answered for this character? */
static inline void hear_judged(const struct talk *t, size_t id, size_t place)
{
    /* compat fms believes a chunker that leaves text out. */
    bool is_believed = t->env.compat.is_fms && t->is_lied;
    for (size_t d = 0; d < t->n_detectors; d++) {
        if (!is_believed && stream_must_judge(t, &t->detectors[d], id % N_SLOTS)) {
            CHECK(t->judged[d][id][place]);
        }
    }
    if (t->enforces) {
        CHECK(!stream_is_found(t, id, place));
    }
}

/* Where a row is annotated, events leave in the order in which they came, unless they are joined.
 */
static inline void hear_order(struct talk *t, size_t id, size_t place)
{
    bool is_kept = stream_is_row(t) && !t->enforces && !t->is_unary && !t->batching.is_used;
    if (is_kept && !t->is_lied && id % N_SLOTS < SLOT_ARGUMENTS) {
        CHECK(t->order[id][place] >= t->heard_order);
        t->heard_order = t->order[id][place];
    }
}

static inline void hear_said(struct talk *t, size_t id, uint32_t cp)
{
    size_t place = stream_place(cp);
    CHECK(stream_id(cp) == id);
    CHECK(place < t->n_said[id] && t->said[id][place] == cp);
    hear_judged(t, id, place);
    if (t->enforces && t->policy.action == WEIR_POLICY_REDACT) {
        CHECK(place >= t->n_heard[id]);
    } else if (!t->is_lied) {
        CHECK(place == t->n_heard[id]);
    }
    t->n_heard[id] = place + 1;
    hear_order(t, id, place);
}

/* Without what the route says in place of the model; unary answers have it behind the text. */
static inline struct weir_slice hear_model(const struct talk *t, struct weir_slice text)
{
    struct weir_slice ours[2] = {t->policy.fallback, WEIR_POLICY_REFUSAL};
    for (size_t i = 0; i < 2 && t->enforces; i++) {
        size_t n = ours[i].n;
        if (n != 0 && n <= text.n && memcmp(text.p + text.n - n, ours[i].p, n) == 0) {
            text = weir_slice_sub(text, 0, text.n - n);
            bool goes_on = weir_slice_ends_with(text, WEIR_SLICE("\n\n"));
            return goes_on ? weir_slice_sub(text, 0, text.n - 2) : text;
        }
    }
    return text;
}

static inline void hear_text(struct talk *t, size_t id, struct weir_slice text)
{
    bool is_exact = !t->enforces || t->policy.action != WEIR_POLICY_REDACT;
    size_t used;
    text = hear_model(t, text);
    weir_buf_append(&t->heard[id], text);
    for (size_t at = 0; at < text.n; at += used) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(text, at, text.n), &used);
        CHECK(used != 0);
        if (stream_is_said(cp) && stream_id(cp) == ID_QUESTION) {
            CHECK(stream_is_restored(t, id)); /* which is whole, the end tells */
        } else if (stream_is_said(cp)) {
            hear_said(t, id, cp);
        } else if (cp == BLANK && is_exact && !t->is_lied) {
            CHECK(t->n_heard[id] < t->n_said[id] && t->said[id][t->n_heard[id]] == BLANK);
            t->n_heard[id]++;
        } else if (cp != BLANK) {
            CHECK(t->enforces || t->is_lied);
            CHECK(cp < 0x80); /* a word of the route's, no half of a character */
        }
    }
}

static inline void hear_string(struct talk *t, size_t id, const struct weir_json *j,
                               uint32_t object, const char *name)
{
    bool is_object = object != WEIR_JSON_NONE && weir_json_type(j, object) == WEIR_JSON_OBJECT;
    uint32_t at = is_object ? weir_json_get_set(j, object, weir_slice_cstr(name)) : WEIR_JSON_NONE;
    struct weir_buf text = {0};
    if (at == WEIR_JSON_NONE) {
        return;
    }
    CHECK(weir_json_type(j, at) == WEIR_JSON_STRING);
    weir_json_string_append(j, at, &text);
    if (text.n != 0) {
        CHECK(id >= ID_QUESTION || !t->is_blocked[id / N_SLOTS]);
        hear_text(t, id, weir_buf_slice(&text));
    }
    weir_buf_dispose(&text);
}

/* ---- choices ---- */

/* A whole answer lists the calls that the server has made; the first may be the second of a stream.
 */
static inline uint64_t hear_call(const struct talk *t, size_t first, uint64_t place)
{
    CHECK(t->is_unary);
    return place + (t->n_said[first + SLOT_NAMES] == 0 ? 1 : 0);
}

static inline void hear_tools(struct talk *t, size_t first, const struct weir_json *j,
                              uint32_t body)
{
    uint32_t calls = weir_json_get_set(j, body, WEIR_SLICE("tool_calls"));
    uint32_t at = calls != WEIR_JSON_NONE ? weir_json_first(j, calls) : WEIR_JSON_NONE;
    for (uint64_t place = 0; at != WEIR_JSON_NONE; at = weir_json_after(j, calls, at), place++) {
        bool is_told = weir_json_get_set(j, at, WEIR_SLICE("index")) != WEIR_JSON_NONE;
        uint64_t index = is_told ? hear_u64(j, at, "index") : hear_call(t, first, place);
        uint32_t function = weir_json_get_set(j, at, WEIR_SLICE("function"));
        CHECK(index < 2);
        hear_string(t, first + SLOT_NAMES + index, j, function, "name");
        hear_string(t, first + SLOT_ARGUMENTS + index, j, function, "arguments");
    }
    uint32_t old = weir_json_get_set(j, body, WEIR_SLICE("function_call"));
    hear_string(t, first + SLOT_OLD_CALL, j, old, "arguments");
}

static inline void hear_finish(struct talk *t, size_t choice, const struct weir_json *j,
                               uint32_t at)
{
    uint32_t finish = weir_json_get_set(j, at, WEIR_SLICE("finish_reason"));
    struct weir_buf text = {0};
    if (finish == WEIR_JSON_NONE) {
        return;
    }
    weir_json_string_append(j, finish, &text);
    bool is_filter = weir_slice_eq_cstr(weir_buf_slice(&text), "content_filter");
    CHECK(text.n != 0 && (!is_filter || t->enforces));
    CHECK(!t->is_blocked[choice]);
    t->is_blocked[choice] = is_filter;
    t->heard_finish[choice] = is_filter ? 'c' : text.p[0];
    t->n_heard_finish[choice]++;
    weir_buf_dispose(&text);
}

/* compat fms: with chunk-wise detectors an event that says nothing does not leave. */
static inline void hear_body(struct talk *t, size_t choice, const struct weir_json *j,
                             uint32_t body, bool has_finish)
{
    size_t first = choice * N_SLOTS;
    size_t n_before = 0;
    size_t n_after = 0;
    for (size_t i = 0; i < N_SLOTS; i++) {
        n_before += t->heard[first + i].n;
    }
    if (weir_json_get_set(j, body, WEIR_SLICE("role")) != WEIR_JSON_NONE) {
        t->n_heard_role[choice]++;
    }
    for (size_t i = 0; i < WEIR_CHANNEL_TRANSCRIPT; i++) {
        hear_string(t, first + i, j, body, weir_channel_name((enum weir_channel)i));
    }
    hear_string(t, first + WEIR_CHANNEL_TRANSCRIPT, j,
                weir_json_get_set(j, body, WEIR_SLICE("audio")), "transcript");
    hear_tools(t, first, j, body);
    for (size_t i = 0; i < N_SLOTS; i++) {
        n_after += t->heard[first + i].n;
    }
    if (t->env.compat.is_fms && stream_has_chunked(t) && !t->is_unary) {
        CHECK(n_after > n_before || has_finish);
    }
}

static inline void hear_choice(struct talk *t, const struct weir_json *j, uint32_t at)
{
    uint64_t choice = hear_u64(j, at, "index");
    CHECK(choice < N_PLACES && !t->is_blocked[choice]);
    bool has_finish = weir_json_get_set(j, at, WEIR_SLICE("finish_reason")) != WEIR_JSON_NONE;
    const char *name = t->is_unary ? "message" : "delta";
    uint32_t body = weir_json_get_set(j, at, weir_slice_cstr(name));
    if (!stream_is_chat(t)) {
        hear_string(t, choice * N_SLOTS + SLOT_CONTENT, j, at, "text");
    } else if (body != WEIR_JSON_NONE) {
        hear_body(t, choice, j, body, has_finish);
    }
    hear_finish(t, choice, j, at);
}

/* H and I: every event notes every choice it has, whatever it says of it. */
static inline void hear_noted(const struct talk *t, const struct weir_json *j, uint32_t choice)
{
    bool is_to_the_letter = !stream_is_route(t) && !t->env.compat.is_fms && !t->is_unary;
    if (!is_to_the_letter || !stream_has_chunked(t)) {
        return;
    }
    uint32_t detections = weir_json_get_set(j, 0, WEIR_SLICE("detections"));
    CHECK(detections != WEIR_JSON_NONE);
    uint32_t output = weir_json_get_set(j, detections, WEIR_SLICE("output"));
    CHECK(output != WEIR_JSON_NONE);
    size_t n = 0;
    uint32_t at = weir_json_first(j, output);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, output, at)) {
        CHECK(weir_json_get(j, at, WEIR_SLICE("results")) != WEIR_JSON_NONE);
        n += hear_u64(j, at, "choice_index") == hear_u64(j, choice, "index");
    }
    CHECK(n == 1);
}

static inline void hear_completion(struct talk *t, const struct weir_json *j)
{
    uint32_t choices = weir_json_get(j, 0, WEIR_SLICE("choices"));
    CHECK(choices != WEIR_JSON_NONE);
    uint32_t at = weir_json_first(j, choices);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, choices, at)) {
        hear_choice(t, j, at);
        hear_noted(t, j, at);
    }
    hear_detections(t, j);
    uint32_t usage = weir_json_get_set(j, 0, WEIR_SLICE("usage"));
    if (usage != WEIR_JSON_NONE && !t->is_unary && t->op != WEIR_MODEL_TOKENIZE) {
        t->heard_usage = hear_u64(j, usage, "completion_tokens");
    }
}

/* ---- the other endpoints ---- */

static inline void hear_generated(struct talk *t, const struct weir_json *j)
{
    hear_string(t, 0, j, 0, "generated_text");
    uint32_t results = weir_json_get_set(j, 0, WEIR_SLICE("token_classification_results"));
    hear_findings(t, 0, j, weir_json_get_set(j, results, WEIR_SLICE("output")));
}

/* What was processed has been judged by all that work on chunks. */
static inline void hear_contents(struct talk *t, const struct weir_json *j)
{
    uint64_t start = hear_u64(j, 0, "start_index");
    uint64_t end = hear_u64(j, 0, "processed_index");
    hear_findings(t, 0, j, weir_json_get_set(j, 0, WEIR_SLICE("detections")));
    if (stream_is_told(t)) {
        return;
    }
    CHECK(start == t->processed_cp || !stream_has_chunked(t));
    CHECK(end >= start && end <= t->n_said[0]);
    for (size_t place = start; place < end; place++) {
        for (size_t d = 0; d < t->n_detectors; d++) {
            bool is_bound = t->detectors[d].kind != KIND_WHOLE && t->said[0][place] != BLANK;
            CHECK(!is_bound || t->judged[d][0][place]);
        }
    }
    t->processed_cp = end;
}

/* ---- what comes ---- */

/* Wherever in an event it stands: nothing leaves an enforcing route that was not looked at, or in
 * which something was found. */
static inline void hear_anything(const struct talk *t, struct weir_slice text)
{
    size_t used;
    for (size_t at = 0; at < text.n; at += used) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(text, at, text.n), &used);
        CHECK(used != 0);
        if (stream_is_said(cp) && stream_id(cp) == ID_QUESTION) {
            CHECK(t->masks);
        } else if (stream_is_said(cp)) {
            CHECK(stream_place(cp) < t->n_said[stream_id(cp)]);
            hear_judged(t, stream_id(cp), stream_place(cp));
        }
    }
}

static inline void hear_strings(const struct talk *t, const struct weir_json *j)
{
    for (uint32_t i = 0; i < j->n_nodes; i++) {
        bool is_string = weir_json_type(j, i) == WEIR_JSON_STRING;
        struct weir_buf text = {0};
        if (is_string && j->nodes[i].is_escaped) {
            weir_json_string_append(j, i, &text);
            hear_anything(t, weir_buf_slice(&text));
        } else if (is_string) {
            hear_anything(t, weir_json_raw(j, i));
        }
        weir_buf_dispose(&text);
    }
}

static inline void hear_json(struct talk *t, struct weir_slice json)
{
    static struct weir_json_tape tape;
    struct weir_json j;
    stream_tell("heard", json);
    CHECK(weir_json_parse_reuse(&j, json, NULL, &tape, NULL) == 0);
    CHECK(!t->has_failed);
    if (weir_json_get_set(&j, 0, WEIR_SLICE("code")) != WEIR_JSON_NONE ||
        weir_json_get_set(&j, 0, WEIR_SLICE("error")) != WEIR_JSON_NONE) {
        t->has_failed = true;
    } else {
        t->dialect->hear(t, &j);
    }
    if (t->enforces) {
        hear_strings(t, &j);
    }
}

static inline void hear_block(struct talk *t, struct weir_slice block)
{
    while (block.n != 0) {
        struct weir_slice line = weir_slice_cut(&block, '\n');
        if (weir_slice_starts_with(line, WEIR_SLICE("data: "))) {
            line = weir_slice_sub(line, 6, line.n);
        } else if (line.n == 0 || line.p[0] != '{') {
            continue; /* comments, names of events */
        }
        if (!weir_slice_eq_cstr(line, "[DONE]")) {
            hear_json(t, line);
        }
    }
}

/* Lines are complete when they come: an event is written at once. */
static inline void hear_bytes(struct talk *t, struct weir_slice bytes)
{
    weir_buf_clear(&t->heard_bytes);
    weir_buf_append(&t->heard_bytes, bytes);
    hear_block(t, weir_buf_slice(&t->heard_bytes));
}

#endif
