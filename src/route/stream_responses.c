/* Streams of OpenAI's Responses: a part of an item is a choice, whatever it says. */
#include "base/mem.h"
#include "route/stream_dialect.h"
#include "talk/responses.h"

#include <string.h>

/* Has it no members but those that are written here, and those that are of no use behind it? */
static bool is_plain(const struct weir_json *json)
{
    static const char *const names[] = {
        "type",  "sequence_number", "item_id",  "output_index", "content_index", "summary_index",
        "delta", "detections",      "warnings", "obfuscation",  "logprobs"};
    uint32_t n = 0;
    uint32_t logprobs = weir_json_get_set(json, 0, WEIR_SLICE("logprobs"));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        n += weir_json_get(json, 0, weir_slice_cstr(names[i])) != WEIR_JSON_NONE;
    }
    bool has_entries = logprobs != WEIR_JSON_NONE && json->nodes[logprobs].n != 0;
    return json->nodes[0].n == n && !has_entries;
}

static bool is_text(const struct weir_json *json, const struct weir_responses_event *e)
{
    return e->what == WEIR_RESPONSES_DELTA && e->kind < WEIR_RESPONSES_TRANSCRIPT &&
           e->text != WEIR_JSON_NONE && is_plain(json) && !json->nodes[e->text].has_lone_surrogate;
}

/* Its number; SIZE_MAX: there are too many. */
static size_t lane_of(struct weir_stream_lanes *lanes, const struct weir_json *json,
                      const struct weir_responses_event *e)
{
    for (size_t i = lanes->n; i > 0; i--) {
        const struct weir_stream_lane *lane = &lanes->all[i - 1];
        if (lane->item == e->item && lane->part == e->part && lane->kind == (int)e->kind) {
            return i - 1;
        }
    }
    if (lanes->n == WEIR_STREAM_MAX_LANES) {
        return SIZE_MAX;
    }
    lanes->all = weir_mem_realloc(lanes->all, (lanes->n + 1) * sizeof *lanes->all);
    struct weir_stream_lane *lane = &lanes->all[lanes->n];
    *lane = (struct weir_stream_lane){.kind = (int)e->kind, .item = e->item, .part = e->part};
    if (e->item_id != WEIR_JSON_NONE) {
        weir_json_string_append(json, e->item_id, &lane->item_id);
    }
    return lanes->n++;
}

static bool pack(struct weir_stream_lanes *lanes, struct weir_slice event, struct weir_buf *chunk)
{
    struct weir_json_tape tape = {0};
    struct weir_json json;
    struct weir_responses_event e;
    const char *why;
    static const char type[] = ".delta\"";
    size_t lane = SIZE_MAX;
    if (memmem(event.p, event.n, type, sizeof type - 1) == NULL) {
        return false;
    }
    if (weir_json_parse_reuse(&json, event, NULL, &tape, NULL) == 0 &&
        weir_responses_read(&json, &e, &why) == 0 && is_text(&json, &e)) {
        lane = lane_of(lanes, &json, &e);
    }
    if (lane != SIZE_MAX) {
        struct weir_stream_text text = {.choice = lane, .quoted = weir_json_raw(&json, e.text)};
        weir_stream_read_found(&json, &text);
        weir_stream_write_chunk(&text, chunk);
    }
    weir_json_tape_dispose(&tape);
    return lane != SIZE_MAX;
}

/* Where it was found, as the task has it (task/response_say.c). */
static void write_found(const struct weir_stream_lane *lane, const struct weir_stream_text *text,
                        struct weir_buf *out)
{
    if (text->results.n == 0) {
        return;
    }
    bool is_summary = lane->kind == WEIR_RESPONSES_SUMMARY;
    weir_buf_printf(out, "{\"output\":[{\"output_index\":%llu,\"%s\":%llu",
                    (unsigned long long)lane->item, is_summary ? "summary_index" : "content_index",
                    (unsigned long long)lane->part);
    if (text->channel.n != 0) {
        weir_buf_append(out, WEIR_SLICE(",\"channel\":"));
        weir_buf_append(out, text->channel);
    }
    weir_buf_append(out, WEIR_SLICE(",\"results\":"));
    weir_buf_append(out, text->results);
    weir_buf_append(out, WEIR_SLICE("}]}"));
}

static void unpack(const struct weir_stream_lanes *lanes, struct weir_slice chunk,
                   struct weir_buf *event)
{
    struct weir_json_tape tape = {0};
    struct weir_json json;
    struct weir_stream_text text;
    struct weir_buf found = {0};
    if (weir_json_parse_reuse(&json, chunk, NULL, &tape, NULL) != 0 ||
        !weir_stream_read_chunk(&json, &text) || text.choice >= lanes->n) {
        weir_buf_append(event, chunk); /* not one of ours */
    } else {
        const struct weir_stream_lane *lane = &lanes->all[text.choice];
        struct weir_responses_place at = {.item_id = weir_buf_slice(&lane->item_id),
                                          .item = lane->item,
                                          .part = lane->part,
                                          .kind = (enum weir_responses_kind)lane->kind};
        write_found(lane, &text, &found);
        struct weir_responses_delta d = {.quoted =
                                             text.quoted.n != 0 ? text.quoted : WEIR_SLICE("\"\""),
                                         .detections = weir_buf_slice(&found),
                                         .warnings = text.warnings};
        weir_responses_write_delta(&at, &d, false, event);
    }
    weir_buf_dispose(&found);
    weir_json_tape_dispose(&tape);
}

static bool is_call(const struct weir_json *json, uint32_t item)
{
    const char *events;
    uint32_t type = weir_json_get_set(json, item, WEIR_SLICE("type"));
    struct weir_slice raw = type != WEIR_JSON_NONE ? weir_json_raw(json, type) : WEIR_SLICE("");
    return raw.n > 2 && weir_responses_said_member(weir_slice_sub(raw, 1, raw.n - 1), &events);
}

static enum weir_stream_call call(const struct weir_json *json, uint64_t *index, uint32_t *text)
{
    struct weir_responses_event e;
    const char *why;
    if (weir_responses_read(json, &e, &why) != 0) {
        return WEIR_STREAM_NO_CALL;
    }
    *index = e.item;
    *text = e.text;
    if (e.what == WEIR_RESPONSES_ITEM && is_call(json, e.body)) {
        return WEIR_STREAM_OPENS;
    }
    bool adds = e.what == WEIR_RESPONSES_DELTA && e.kind == WEIR_RESPONSES_CALL;
    return adds ? WEIR_STREAM_ADDS : WEIR_STREAM_NO_CALL;
}

/* Both clients of OpenAI's raise what has an `error` member; older ones read the flat members. */
static void write_error(const struct weir_problem *problem, struct weir_buf *out)
{
    struct weir_buf whole = {0};
    struct weir_json_tape tape = {0};
    struct weir_json json;
    weir_problem_write(&whole, problem);
    if (weir_json_parse_reuse(&json, weir_buf_slice(&whole), NULL, &tape, NULL) == 0) {
        uint32_t error = weir_json_get(&json, 0, WEIR_SLICE("error"));
        uint32_t code = weir_json_get(&json, error, WEIR_SLICE("code"));
        weir_responses_write_error(
            weir_json_raw(&json, weir_json_get(&json, error, WEIR_SLICE("message"))),
            weir_json_raw(&json, code), weir_json_raw(&json, error), out);
    }
    weir_json_tape_dispose(&tape);
    weir_buf_dispose(&whole);
}

static const char NUMBER[] = "\"sequence_number\":";

const struct weir_stream_dialect weir_stream_responses = {
    .pack = pack,
    .unpack = unpack,
    .call = call,
    .mark = "_call",
    .write_error = write_error,
    .number = {NUMBER, sizeof NUMBER - 1},
};
