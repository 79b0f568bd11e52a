#ifndef WEIR_TESTS_FUZZ_STREAM_ROWS_HEARD_H
#define WEIR_TESTS_FUZZ_STREAM_ROWS_HEARD_H

/*
 * The caller of Messages and Responses (stream_rows.h). What Responses say again must be what was
 * heard before, byte for byte, and events are counted without a gap.
 */
#include "fuzz/stream_heard.h"
#include "fuzz/stream_responses.h"

/* ---- both ---- */

static inline bool row_is(const struct weir_json *j, uint32_t object, const char *name,
                          const char *value)
{
    uint32_t at = object != WEIR_JSON_NONE ? weir_json_get_set(j, object, weir_slice_cstr(name))
                                           : WEIR_JSON_NONE;
    return at != WEIR_JSON_NONE && weir_json_type(j, at) == WEIR_JSON_STRING &&
           weir_json_string_eq(j, at, weir_slice_cstr(value));
}

/* A text of a block or item. Beyond those that the server has said there is only the route's own.
 */
static inline void row_hear(struct talk *t, uint64_t place, size_t slot, const struct weir_json *j,
                            uint32_t object, const char *name)
{
    if (place < t->n_rows) {
        hear_string(t, place * N_SLOTS + slot, j, object, name);
        return;
    }
    uint32_t at = weir_json_get_set(j, object, weir_slice_cstr(name));
    struct weir_buf text = {0};
    if (at != WEIR_JSON_NONE) {
        weir_json_string_append(j, at, &text);
    }
    CHECK(hear_model(t, weir_buf_slice(&text)).n == 0);
    weir_buf_dispose(&text);
}

/* A call's input, whole: {"q":"…"}. */
static inline void row_hear_input(struct talk *t, size_t place, struct weir_slice input)
{
    struct weir_arena arena = {0};
    struct weir_json j;
    CHECK(place < t->n_rows);
    CHECK(weir_json_parse(&j, input, NULL, &arena, NULL) == 0);
    hear_string(t, place * N_SLOTS + SLOT_ARGUMENTS, &j, 0, "q");
    weir_arena_dispose(&arena);
}

/* Which text a finding is in; N_IDS: none that is looked at here. */
static inline size_t row_found_in(const struct talk *t, const struct weir_json *j, uint32_t entry)
{
    static const struct {
        const char *name;
        size_t slot;
    } channels[] = {{"thinking", WEIR_CHANNEL_REASONING},
                    {"text", SLOT_CONTENT},
                    {"refusal", WEIR_CHANNEL_REFUSAL},
                    {"reasoning_summary", WEIR_CHANNEL_REASONING},
                    {"reasoning", WEIR_CHANNEL_REASONING_CONTENT}};
    const char *index = t->endpoint == MESSAGES_ROUTE ? "index" : "output_index";
    if (weir_json_get_set(j, entry, weir_slice_cstr(index)) == WEIR_JSON_NONE) {
        return N_IDS; /* of the conversation, or of no place */
    }
    size_t first = hear_u64(j, entry, index) * N_SLOTS;
    if (first >= N_PLACES * N_SLOTS) {
        return N_IDS; /* of an event that nobody knows, behind all blocks */
    }
    if (weir_json_get_set(j, entry, WEIR_SLICE("channel")) == WEIR_JSON_NONE) {
        return first + SLOT_CONTENT;
    }
    for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
        if (row_is(j, entry, "channel", channels[i].name)) {
            return first + channels[i].slot;
        }
    }
    return N_IDS;
}

static inline void row_hear_detections(struct talk *t, const struct weir_json *j, uint32_t object,
                                       uint8_t told[N_DETECTORS][N_IDS][MAX_TEXT])
{
    uint32_t all = weir_json_get_set(j, object, WEIR_SLICE("detections"));
    uint32_t output =
        all != WEIR_JSON_NONE ? weir_json_get_set(j, all, WEIR_SLICE("output")) : WEIR_JSON_NONE;
    uint32_t at = output != WEIR_JSON_NONE ? weir_json_first(j, output) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, output, at)) {
        size_t id = row_found_in(t, j, at);
        if (id != N_IDS) {
            hear_findings_in(t, id, j, weir_json_get_set(j, at, WEIR_SLICE("results")), told);
        }
    }
}

/* The answer has ended: `is_blocked`, because of what was found. */
static inline void row_hear_end(struct talk *t, const struct weir_json *j, uint32_t object,
                                bool is_blocked)
{
    CHECK(t->n_heard_ends == 0);
    t->n_heard_ends++;
    CHECK(!is_blocked || t->enforces);
    t->is_blocked[0] = is_blocked;
    if (!is_blocked) {
        row_hear_detections(t, j, object, t->summed_found);
    }
}

/* ---- Messages ---- */

static inline void message_hear_block(struct talk *t, size_t place, const struct weir_json *j,
                                      uint32_t block)
{
    row_hear(t, place, SLOT_CONTENT, j, block, "text");
    row_hear(t, place, WEIR_CHANNEL_REASONING, j, block, "thinking");
    row_hear(t, place, SLOT_NAMES, j, block, "name");
}

static inline void message_hear_delta(struct talk *t, size_t place, const struct weir_json *j)
{
    uint32_t delta = weir_json_get_set(j, 0, WEIR_SLICE("delta"));
    uint32_t input = weir_json_get_set(j, delta, WEIR_SLICE("partial_json"));
    row_hear(t, place, SLOT_CONTENT, j, delta, "text");
    row_hear(t, place, WEIR_CHANNEL_REASONING, j, delta, "thinking");
    if (input != WEIR_JSON_NONE) {
        CHECK(place < t->n_rows);
        weir_json_string_append(j, input, &t->rows[place].heard_input);
    }
    row_hear_detections(t, j, 0, t->heard_found);
}

static inline void message_hear_stop(struct talk *t, size_t place)
{
    struct weir_buf *input = place < t->n_rows ? &t->rows[place].heard_input : NULL;
    if (input != NULL && input->n != 0) {
        row_hear_input(t, place, weir_buf_slice(input));
        weir_buf_clear(input);
    }
}

static inline void message_hear_whole(struct talk *t, const struct weir_json *j)
{
    uint32_t content = weir_json_get(j, 0, WEIR_SLICE("content"));
    CHECK(content != WEIR_JSON_NONE);
    size_t place = 0;
    uint32_t at = weir_json_first(j, content);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, content, at), place++) {
        uint32_t input = weir_json_get_set(j, at, WEIR_SLICE("input"));
        message_hear_block(t, place, j, at);
        if (input != WEIR_JSON_NONE) {
            row_hear_input(t, place, weir_json_raw(j, input));
        }
    }
    row_hear_end(t, j, 0, row_is(j, 0, "stop_reason", "refusal"));
}

static inline void message_hear(struct talk *t, const struct weir_json *j)
{
    uint32_t delta = weir_json_get_set(j, 0, WEIR_SLICE("delta"));
    if (row_is(j, 0, "type", "message")) {
        message_hear_whole(t, j);
    } else if (row_is(j, 0, "type", "content_block_start")) {
        message_hear_block(t, hear_u64(j, 0, "index"), j,
                           weir_json_get(j, 0, WEIR_SLICE("content_block")));
    } else if (row_is(j, 0, "type", "content_block_delta")) {
        CHECK(t->n_heard_ends == 0);
        message_hear_delta(t, hear_u64(j, 0, "index"), j);
    } else if (row_is(j, 0, "type", "content_block_stop")) {
        message_hear_stop(t, hear_u64(j, 0, "index"));
    } else if (row_is(j, 0, "type", "message_delta")) {
        row_hear_end(t, j, 0, row_is(j, delta, "stop_reason", "refusal"));
    } else if (row_is(j, 0, "type", "unheard_of")) {
        hear_string(t, SLOT_OLD_CALL, j, 0, "words");
    }
}

/* ---- Responses ---- */

/* What is said again is what was said. */
static inline void response_hear_again(struct talk *t, size_t id, const struct weir_json *j,
                                       uint32_t object, const char *name)
{
    uint32_t at = weir_json_get_set(j, object, weir_slice_cstr(name));
    struct weir_buf text = {0};
    if (at != WEIR_JSON_NONE) {
        weir_json_string_append(j, at, &text);
    }
    bool is_ours = hear_model(t, weir_buf_slice(&text)).n != text.n;
    if (!is_ours) {
        CHECK(weir_slice_eq(weir_buf_slice(&text), weir_buf_slice(&t->heard[id])));
    }
    weir_buf_dispose(&text);
}

static inline void response_hear_list(struct talk *t, size_t place, const struct weir_json *j,
                                      uint32_t list)
{
    uint32_t at = list != WEIR_JSON_NONE ? weir_json_first(j, list) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, list, at)) {
        for (size_t i = 0; i < N_PARTS; i++) {
            size_t id = place * N_SLOTS + PARTS[i].slot;
            if (!row_is(j, at, "type", PARTS[i].type)) {
                continue;
            }
            if (t->is_unary || place >= t->n_rows) {
                row_hear(t, place, PARTS[i].slot, j, at, PARTS[i].member);
            } else {
                response_hear_again(t, id, j, at, PARTS[i].member);
            }
        }
    }
}

/* An item, whole. Calls are heard when their item is, all else was heard before. */
static inline void response_hear_item(struct talk *t, size_t place, const struct weir_json *j,
                                      uint32_t item, bool is_again)
{
    uint32_t input = weir_json_get_set(j, item, WEIR_SLICE("arguments"));
    response_hear_list(t, place, j, weir_json_get_set(j, item, WEIR_SLICE("summary")));
    response_hear_list(t, place, j, weir_json_get_set(j, item, WEIR_SLICE("content")));
    if (input != WEIR_JSON_NONE && !is_again) {
        struct weir_buf text = {0};
        weir_json_string_append(j, input, &text);
        row_hear(t, place, SLOT_NAMES, j, item, "name");
        row_hear_input(t, place, weir_buf_slice(&text));
        weir_buf_dispose(&text);
    }
}

static inline bool response_was_heard(const struct talk *t, size_t place)
{
    return place < t->n_rows && t->heard[place * N_SLOTS + SLOT_NAMES].n != 0;
}

static inline void response_hear_whole(struct talk *t, const struct weir_json *j, uint32_t response)
{
    uint32_t output = weir_json_get(j, response, WEIR_SLICE("output"));
    uint32_t details = weir_json_get_set(j, response, WEIR_SLICE("incomplete_details"));
    CHECK(output != WEIR_JSON_NONE);
    size_t place = 0;
    uint32_t at = weir_json_first(j, output);
    bool is_blocked = row_is(j, details, "reason", "content_filter");
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, output, at), place++) {
        response_hear_item(t, place, j, at, response_was_heard(t, place));
    }
    row_hear_end(t, j, response, is_blocked);
}

static inline void response_hear_part(struct talk *t, const struct weir_json *j,
                                      const struct part *p, bool is_again)
{
    uint64_t place = hear_u64(j, 0, "output_index");
    if (is_again && place < t->n_rows) {
        response_hear_again(t, place * N_SLOTS + p->slot, j, 0, p->member);
    } else if (!is_again) {
        row_hear(t, place, p->slot, j, 0, "delta");
        row_hear_detections(t, j, 0, t->heard_found);
    }
}

static inline void response_hear_number(struct talk *t, const struct weir_json *j)
{
    CHECK(hear_u64(j, 0, "sequence_number") == t->n_numbered);
    t->n_numbered++;
}

static inline void response_hear(struct talk *t, const struct weir_json *j)
{
    uint32_t response = weir_json_get_set(j, 0, WEIR_SLICE("response"));
    if (row_is(j, 0, "object", "response") || t->is_unary) {
        response_hear_whole(t, j, 0);
        return;
    }
    response_hear_number(t, j);
    for (size_t i = 0; i < N_PARTS; i++) {
        char type[80];
        snprintf(type, sizeof type, "response.%s.delta", PARTS[i].events);
        if (row_is(j, 0, "type", type)) {
            CHECK(t->n_heard_ends == 0);
            response_hear_part(t, j, &PARTS[i], false);
        }
        snprintf(type, sizeof type, "response.%s.done", PARTS[i].events);
        if (row_is(j, 0, "type", type)) {
            response_hear_part(t, j, &PARTS[i], true);
        }
    }
    if (row_is(j, 0, "type", "response.output_item.done")) {
        response_hear_item(t, hear_u64(j, 0, "output_index"), j,
                           weir_json_get(j, 0, WEIR_SLICE("item")), false);
    } else if (row_is(j, 0, "type", "response.completed") ||
               row_is(j, 0, "type", "response.incomplete")) {
        response_hear_whole(t, j, response);
    } else if (row_is(j, 0, "type", "unheard_of")) {
        hear_string(t, SLOT_OLD_CALL, j, 0, "words");
    }
}

#endif
