/* Streams of Anthropic's Messages: a block is a choice, thinking is reasoning. */
#include "route/stream_dialect.h"
#include "talk/messages.h"

#include <string.h>

/* Has it no members but those that are written here? */
static bool is_plain(const struct weir_json *json)
{
    uint32_t delta = weir_json_get_set(json, 0, WEIR_SLICE("delta"));
    uint32_t n = 3u + (weir_json_get_set(json, 0, WEIR_SLICE("detections")) != WEIR_JSON_NONE) +
                 (weir_json_get_set(json, 0, WEIR_SLICE("warnings")) != WEIR_JSON_NONE);
    return json->nodes[0].n == n && json->nodes[delta].n == 2;
}

static bool is_text(const struct weir_json *json, const struct weir_messages_event *e)
{
    bool is_said = e->what == WEIR_MESSAGES_DELTA && e->text != WEIR_JSON_NONE &&
                   (e->kind == WEIR_MESSAGES_TEXT || e->kind == WEIR_MESSAGES_THINKING);
    return is_said && is_plain(json) && !json->nodes[e->text].has_lone_surrogate;
}

static bool pack(struct weir_stream_lanes *lanes, struct weir_slice event, struct weir_buf *chunk)
{
    struct weir_json_tape tape = {0};
    struct weir_json json;
    struct weir_messages_event e;
    const char *why;
    static const char type[] = "\"content_block_delta\"";
    (void)lanes;
    if (memmem(event.p, event.n, type, sizeof type - 1) == NULL) {
        return false;
    }
    bool is_good = weir_json_parse_reuse(&json, event, NULL, &tape, NULL) == 0 &&
                   weir_messages_read(&json, &e, &why) == 0 && is_text(&json, &e);
    if (is_good) {
        struct weir_stream_text text = {.choice = e.index,
                                        .is_reasoning = e.kind == WEIR_MESSAGES_THINKING,
                                        .quoted = weir_json_raw(&json, e.text)};
        weir_stream_read_found(&json, &text);
        weir_stream_write_chunk(&text, chunk);
    }
    weir_json_tape_dispose(&tape);
    return is_good;
}

static void unpack(const struct weir_stream_lanes *lanes, struct weir_slice chunk,
                   struct weir_buf *event)
{
    struct weir_json_tape tape = {0};
    struct weir_json json;
    struct weir_stream_text text;
    struct weir_buf found = {0};
    (void)lanes;
    if (weir_json_parse_reuse(&json, chunk, NULL, &tape, NULL) != 0 ||
        !weir_stream_read_chunk(&json, &text)) {
        weir_buf_append(event, chunk); /* not one of ours */
    } else {
        struct weir_messages_delta d = {
            .index = text.choice,
            .kind = text.is_reasoning ? WEIR_MESSAGES_THINKING : WEIR_MESSAGES_TEXT,
            .quoted = text.quoted.n != 0 ? text.quoted : WEIR_SLICE("\"\""),
            .warnings = text.warnings};
        if (text.results.n != 0) {
            weir_buf_append(&found, WEIR_SLICE("{\"output\":[{\"index\":"));
            weir_buf_append_u64(&found, text.choice);
            if (text.channel.n != 0) {
                weir_buf_append(&found, WEIR_SLICE(",\"channel\":"));
                weir_buf_append(&found, text.channel);
            }
            weir_buf_append(&found, WEIR_SLICE(",\"results\":"));
            weir_buf_append(&found, text.results);
            weir_buf_append(&found, WEIR_SLICE("}]}"));
        }
        d.detections = weir_buf_slice(&found);
        weir_messages_write_delta(&d, event);
    }
    weir_buf_dispose(&found);
    weir_json_tape_dispose(&tape);
}

static enum weir_stream_call call(const struct weir_json *json, uint64_t *index, uint32_t *text)
{
    struct weir_messages_event e;
    const char *why;
    if (weir_messages_read(json, &e, &why) != 0) {
        return WEIR_STREAM_NO_CALL;
    }
    *index = e.index;
    *text = e.text;
    if (e.what == WEIR_MESSAGES_PING) {
        return WEIR_STREAM_BESIDE;
    }
    if (e.kind != WEIR_MESSAGES_TOOL) {
        return WEIR_STREAM_NO_CALL;
    }
    return e.what == WEIR_MESSAGES_BLOCK   ? WEIR_STREAM_OPENS
           : e.what == WEIR_MESSAGES_DELTA ? WEIR_STREAM_ADDS
                                           : WEIR_STREAM_NO_CALL;
}

static void write_error(const struct weir_problem *problem, struct weir_buf *out)
{
    weir_problem_write_messages(out, problem, WEIR_SLICE(""));
}

const struct weir_stream_dialect weir_stream_messages = {
    .pack = pack,
    .unpack = unpack,
    .call = call,
    .mark = "\"content_block_",
    .write_error = write_error,
    .ping = "{\"type\":\"ping\"}",
};
