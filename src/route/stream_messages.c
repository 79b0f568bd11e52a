#include "route/stream_messages.h"

#include "talk/form.h"
#include "talk/messages.h"
#include "wire/json.h"
#include "wire/json_write.h"

#include <string.h>

static struct weir_slice raw_at(const struct weir_json *json, uint32_t object, const char *name)
{
    uint32_t at = object != WEIR_JSON_NONE ? weir_json_get_set(json, object, weir_slice_cstr(name))
                                           : WEIR_JSON_NONE;
    return at != WEIR_JSON_NONE ? weir_json_raw(json, at) : WEIR_SLICE("");
}

/* The first entry of `detections.output`, or NONE. */
static uint32_t entry_of(const struct weir_json *json)
{
    uint32_t detections = weir_json_get_set(json, 0, WEIR_SLICE("detections"));
    uint32_t output = detections != WEIR_JSON_NONE
                          ? weir_json_get_set(json, detections, WEIR_SLICE("output"))
                          : WEIR_JSON_NONE;
    bool is_list = output != WEIR_JSON_NONE && weir_json_type(json, output) == WEIR_JSON_ARRAY;
    return is_list ? weir_json_first(json, output) : WEIR_JSON_NONE;
}

/* The object `detections` with its entry's place under another name; nothing where there is none.
 */
static void put_entry(struct weir_buf *out, const struct weir_json *json, const char *name,
                      uint64_t index)
{
    uint32_t entry = entry_of(json);
    struct weir_slice channel = raw_at(json, entry, "channel");
    struct weir_slice results = raw_at(json, entry, "results");
    if (results.n > 2) { /* not [] */
        weir_buf_printf(out, "{\"output\":[{\"%s\":", name);
        weir_buf_append_u64(out, index);
        if (channel.n != 0) {
            weir_buf_append(out, WEIR_SLICE(",\"channel\":"));
            weir_buf_append(out, channel);
        }
        weir_buf_append(out, WEIR_SLICE(",\"results\":"));
        weir_buf_append(out, results);
        weir_buf_append(out, WEIR_SLICE("}]}"));
    }
}

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

bool weir_stream_messages_pack(struct weir_slice event, struct weir_buf *chunk)
{
    struct weir_json_tape tape = {0};
    struct weir_json json;
    struct weir_messages_event e;
    const char *why;
    static const char type[] = "\"content_block_delta\"";
    if (memmem(event.p, event.n, type, sizeof type - 1) == NULL) {
        return false;
    }
    bool is_good = weir_json_parse_reuse(&json, event, NULL, &tape, NULL) == 0 &&
                   weir_messages_read(&json, &e, &why) == 0 && is_text(&json, &e);
    if (is_good) {
        bool is_thinking = e.kind == WEIR_MESSAGES_THINKING;
        struct weir_buf found = {0};
        struct weir_slice warnings = raw_at(&json, 0, "warnings");
        weir_buf_append(chunk, WEIR_SLICE("{\"choices\":[{\"index\":"));
        weir_buf_append_u64(chunk, e.index);
        weir_buf_append(chunk, is_thinking ? WEIR_SLICE(",\"delta\":{\"reasoning_content\":")
                                           : WEIR_SLICE(",\"delta\":{\"content\":"));
        weir_buf_append(chunk, weir_json_raw(&json, e.text));
        weir_buf_append(chunk, WEIR_SLICE("}}]"));
        put_entry(&found, &json, "choice_index", e.index);
        if (found.n != 0) {
            weir_buf_append(chunk, WEIR_SLICE(",\"detections\":"));
            weir_buf_append(chunk, weir_buf_slice(&found));
        }
        if (warnings.n != 0) {
            weir_buf_append(chunk, WEIR_SLICE(",\"warnings\":"));
            weir_buf_append(chunk, warnings);
        }
        weir_buf_append_byte(chunk, '}');
        weir_buf_dispose(&found);
    }
    weir_json_tape_dispose(&tape);
    return is_good;
}

void weir_stream_messages_unpack(struct weir_slice chunk, struct weir_buf *event)
{
    struct weir_json_tape tape = {0};
    struct weir_json json;
    struct weir_buf found = {0};
    struct weir_buf text = {0};
    struct weir_messages_delta d = {0};
    bool is_good = weir_json_parse_reuse(&json, chunk, NULL, &tape, NULL) == 0;
    uint32_t choices =
        is_good ? weir_json_get_set(&json, 0, WEIR_SLICE("choices")) : WEIR_JSON_NONE;
    uint32_t choice = choices != WEIR_JSON_NONE ? weir_json_first(&json, choices) : WEIR_JSON_NONE;
    uint32_t delta = choice != WEIR_JSON_NONE
                         ? weir_json_get_set(&json, choice, WEIR_SLICE("delta"))
                         : WEIR_JSON_NONE;
    if (delta == WEIR_JSON_NONE) {
        weir_buf_append(event, chunk); /* not one of ours */
    } else {
        uint32_t content = weir_json_get_set(&json, delta, WEIR_SLICE("content"));
        uint32_t thinking = weir_json_get_set(&json, delta, WEIR_SLICE("reasoning_content"));
        uint32_t at = content != WEIR_JSON_NONE ? content : thinking;
        (void)weir_json_u64(&json, weir_json_get(&json, choice, WEIR_SLICE("index")), &d.index);
        if (at != WEIR_JSON_NONE) {
            weir_json_string_append(&json, at, &text);
        }
        put_entry(&found, &json, "index", d.index);
        d.kind = content != WEIR_JSON_NONE ? WEIR_MESSAGES_TEXT : WEIR_MESSAGES_THINKING;
        d.text = weir_buf_slice(&text);
        d.detections = weir_buf_slice(&found);
        d.warnings = raw_at(&json, 0, "warnings");
        weir_messages_write_delta(&d, event);
    }
    weir_buf_dispose(&found);
    weir_buf_dispose(&text);
    weir_json_tape_dispose(&tape);
}

/* ---- the gate ---- */

void weir_stream_messages_dispose(struct weir_stream_messages *g)
{
    weir_buf_dispose(&g->start);
    weir_buf_dispose(&g->input);
}

static enum weir_stream_messages_next keep(struct weir_stream_messages *g,
                                           const struct weir_json *json,
                                           const struct weir_messages_event *e)
{
    bool is_call = e->kind == WEIR_MESSAGES_TOOL;
    if (e->what == WEIR_MESSAGES_BLOCK && is_call && !g->holds) {
        weir_buf_clear(&g->start);
        weir_buf_clear(&g->input);
        weir_buf_append(&g->start, json->src);
        g->index = e->index;
        g->holds = true;
        return WEIR_STREAM_MESSAGES_HELD;
    }
    if (e->what == WEIR_MESSAGES_DELTA && is_call && g->holds && e->index == g->index &&
        (e->text == WEIR_JSON_NONE || g->input.n + json->nodes[e->text].n <= g->max_bytes)) {
        if (e->text != WEIR_JSON_NONE) {
            weir_json_string_append(json, e->text, &g->input);
        }
        return WEIR_STREAM_MESSAGES_HELD;
    }
    return g->holds ? WEIR_STREAM_MESSAGES_RELEASE : WEIR_STREAM_MESSAGES_PASS;
}

enum weir_stream_messages_next weir_stream_messages_look(struct weir_stream_messages *g,
                                                         struct weir_slice event)
{
    static const char type[] = "\"content_block_";
    struct weir_json_tape tape = {0};
    struct weir_json json;
    struct weir_messages_event e;
    const char *why;
    enum weir_stream_messages_next next =
        g->holds ? WEIR_STREAM_MESSAGES_RELEASE : WEIR_STREAM_MESSAGES_PASS;
    if (!g->is_on || (!g->holds && memmem(event.p, event.n, type, sizeof type - 1) == NULL)) {
        return WEIR_STREAM_MESSAGES_PASS;
    }
    if (weir_json_parse_reuse(&json, event, NULL, &tape, NULL) == 0 &&
        weir_messages_read(&json, &e, &why) == 0) {
        bool is_beside = e.what == WEIR_MESSAGES_PING;
        next = is_beside ? WEIR_STREAM_MESSAGES_PASS : keep(g, &json, &e);
    }
    weir_json_tape_dispose(&tape);
    return next;
}

void weir_stream_messages_release(struct weir_stream_messages *g, struct weir_slice *start,
                                  struct weir_buf *delta)
{
    *start = weir_buf_slice(&g->start);
    g->holds = false;
    if (g->input.n != 0) {
        weir_messages_write_delta(&(struct weir_messages_delta){.index = g->index,
                                                                .kind = WEIR_MESSAGES_TOOL,
                                                                .text = weir_buf_slice(&g->input)},
                                  delta);
    }
}

struct weir_slice weir_stream_messages_type(struct weir_slice event)
{
    struct weir_json_tape tape = {0};
    struct weir_json json;
    struct weir_slice name = WEIR_SLICE("");
    if (weir_json_parse_reuse(&json, event, NULL, &tape, NULL) == 0) {
        uint32_t type = weir_json_get_set(&json, 0, WEIR_SLICE("type"));
        if (weir_form_is_word_at(&json, type)) {
            struct weir_slice raw = weir_json_raw(&json, type);
            name = weir_slice_sub(raw, 1, raw.n - 1);
        }
    }
    weir_json_tape_dispose(&tape);
    return name;
}
