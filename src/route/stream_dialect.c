#include "route/stream_dialect.h"

#include "base/mem.h"
#include "wire/json_edit.h"

#include <stdlib.h>
#include <string.h>

void weir_stream_lanes_dispose(struct weir_stream_lanes *lanes)
{
    for (size_t i = 0; i < lanes->n; i++) {
        weir_buf_dispose(&lanes->all[i].item_id);
    }
    free(lanes->all);
    *lanes = (struct weir_stream_lanes){0};
}

/* ---- texts as chunks ---- */

static struct weir_slice raw_at(const struct weir_json *json, uint32_t object, const char *name)
{
    uint32_t at = object != WEIR_JSON_NONE ? weir_json_get_set(json, object, weir_slice_cstr(name))
                                           : WEIR_JSON_NONE;
    return at != WEIR_JSON_NONE ? weir_json_raw(json, at) : WEIR_SLICE("");
}

void weir_stream_read_found(const struct weir_json *json, struct weir_stream_text *text)
{
    uint32_t detections = weir_json_get_set(json, 0, WEIR_SLICE("detections"));
    uint32_t output = detections != WEIR_JSON_NONE
                          ? weir_json_get_set(json, detections, WEIR_SLICE("output"))
                          : WEIR_JSON_NONE;
    bool is_list = output != WEIR_JSON_NONE && weir_json_type(json, output) == WEIR_JSON_ARRAY;
    uint32_t entry = is_list ? weir_json_first(json, output) : WEIR_JSON_NONE;
    text->results = raw_at(json, entry, "results");
    text->results = text->results.n > 2 ? text->results : WEIR_SLICE(""); /* not [] */
    text->channel = raw_at(json, entry, "channel");
    text->warnings = raw_at(json, 0, "warnings");
}

void weir_stream_write_chunk(const struct weir_stream_text *text, struct weir_buf *chunk)
{
    weir_buf_append(chunk, WEIR_SLICE("{\"choices\":[{\"index\":"));
    weir_buf_append_u64(chunk, text->choice);
    weir_buf_append(chunk, text->is_reasoning ? WEIR_SLICE(",\"delta\":{\"reasoning_content\":")
                                              : WEIR_SLICE(",\"delta\":{\"content\":"));
    weir_buf_append(chunk, text->quoted);
    weir_buf_append(chunk, WEIR_SLICE("}}]"));
    if (text->results.n != 0) {
        weir_buf_append(chunk, WEIR_SLICE(",\"detections\":{\"output\":[{\"choice_index\":"));
        weir_buf_append_u64(chunk, text->choice);
        if (text->channel.n != 0) {
            weir_buf_append(chunk, WEIR_SLICE(",\"channel\":"));
            weir_buf_append(chunk, text->channel);
        }
        weir_buf_append(chunk, WEIR_SLICE(",\"results\":"));
        weir_buf_append(chunk, text->results);
        weir_buf_append(chunk, WEIR_SLICE("}]}"));
    }
    if (text->warnings.n != 0) {
        weir_buf_append(chunk, WEIR_SLICE(",\"warnings\":"));
        weir_buf_append(chunk, text->warnings);
    }
    weir_buf_append_byte(chunk, '}');
}

bool weir_stream_read_chunk(const struct weir_json *json, struct weir_stream_text *text)
{
    uint32_t choices = weir_json_get_set(json, 0, WEIR_SLICE("choices"));
    uint32_t choice = choices != WEIR_JSON_NONE ? weir_json_first(json, choices) : WEIR_JSON_NONE;
    uint32_t delta = choice != WEIR_JSON_NONE ? weir_json_get_set(json, choice, WEIR_SLICE("delta"))
                                              : WEIR_JSON_NONE;
    *text = (struct weir_stream_text){0};
    if (delta == WEIR_JSON_NONE) {
        return false;
    }
    (void)weir_json_u64(json, weir_json_get(json, choice, WEIR_SLICE("index")), &text->choice);
    text->quoted = raw_at(json, delta, "content");
    if (text->quoted.n == 0) {
        text->quoted = raw_at(json, delta, "reasoning_content");
        text->is_reasoning = true;
    }
    weir_stream_read_found(json, text);
    return true;
}

struct weir_slice weir_stream_type(struct weir_slice event)
{
    enum { MOST_BYTES = 96 };
    struct weir_json_tape tape = {0};
    struct weir_json json;
    struct weir_slice name = WEIR_SLICE("");
    if (weir_json_parse_reuse(&json, event, NULL, &tape, NULL) == 0) {
        struct weir_slice raw = raw_at(&json, 0, "type");
        bool is_name = raw.n > 2 && raw.n < MOST_BYTES && raw.p[0] == '"';
        for (size_t i = 1; is_name && i + 1 < raw.n; i++) {
            char c = raw.p[i];
            is_name = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
        }
        name = is_name ? weir_slice_sub(raw, 1, raw.n - 1) : name;
    }
    weir_json_tape_dispose(&tape);
    return name;
}

/* ---- the gate ---- */

void weir_stream_gate_dispose(struct weir_stream_gate *g)
{
    weir_buf_dispose(&g->start);
    weir_buf_dispose(&g->piece);
    weir_buf_dispose(&g->input);
}

static enum weir_stream_gate_next keep(struct weir_stream_gate *g, const struct weir_json *json)
{
    uint64_t index = 0;
    uint32_t text = WEIR_JSON_NONE;
    enum weir_stream_call what = g->dialect->call(json, &index, &text);
    if (what == WEIR_STREAM_BESIDE) {
        return WEIR_STREAM_GATE_PASS;
    }
    if (what == WEIR_STREAM_OPENS && !g->holds) {
        weir_buf_clear(&g->start);
        weir_buf_clear(&g->piece);
        weir_buf_clear(&g->input);
        weir_buf_append(&g->start, json->src);
        g->index = index;
        g->holds = true;
        return WEIR_STREAM_GATE_HELD;
    }
    if (what == WEIR_STREAM_ADDS && g->holds && index == g->index &&
        (text == WEIR_JSON_NONE || g->input.n + json->nodes[text].n <= g->max_bytes)) {
        if (text != WEIR_JSON_NONE) {
            weir_json_string_append(json, text, &g->input);
            weir_buf_append(&g->piece, g->piece.n == 0 ? json->src : WEIR_SLICE(""));
        }
        return WEIR_STREAM_GATE_HELD;
    }
    return g->holds ? WEIR_STREAM_GATE_RELEASE : WEIR_STREAM_GATE_PASS;
}

enum weir_stream_gate_next weir_stream_gate_look(struct weir_stream_gate *g,
                                                 struct weir_slice event)
{
    struct weir_json_tape tape = {0};
    struct weir_json json;
    enum weir_stream_gate_next next = g->holds ? WEIR_STREAM_GATE_RELEASE : WEIR_STREAM_GATE_PASS;
    if (g->dialect == NULL || (!g->holds && memmem(event.p, event.n, g->dialect->mark,
                                                   strlen(g->dialect->mark)) == NULL)) {
        return WEIR_STREAM_GATE_PASS;
    }
    if (weir_json_parse_reuse(&json, event, NULL, &tape, NULL) == 0) {
        next = keep(g, &json);
    }
    weir_json_tape_dispose(&tape);
    return next;
}

/* The first piece with all of the input in it. */
void weir_stream_gate_release(struct weir_stream_gate *g, struct weir_slice *start,
                              struct weir_buf *delta)
{
    struct weir_json_tape tape = {0};
    struct weir_json json;
    struct weir_json_edit e = {0};
    uint64_t index;
    uint32_t text = WEIR_JSON_NONE;
    *start = weir_buf_slice(&g->start);
    g->holds = false;
    if (g->input.n != 0 &&
        weir_json_parse_reuse(&json, weir_buf_slice(&g->piece), NULL, &tape, NULL) == 0 &&
        g->dialect->call(&json, &index, &text) == WEIR_STREAM_ADDS) {
        weir_json_edit_begin(&e, &json);
        weir_json_edit_replace_string(&e, text, weir_buf_slice(&g->input));
        weir_json_edit_write(&e, delta);
        weir_json_edit_dispose(&e);
    }
    weir_json_tape_dispose(&tape);
}

/* ---- numbers ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The rest of the event behind `before`; NULL: it does not begin like that. */
static const char *skip(const char *p, const char *end, struct weir_slice before)
{
    bool is_there = (size_t)(end - p) > before.n && memcmp(p, before.p, before.n) == 0;
    return is_there ? p + before.n : NULL;
}

/* {"type":"…","sequence_number":7, as OpenAI and we write it. */
static bool find_behind_type(struct weir_slice event, struct weir_slice key,
                             struct weir_slice *digits)
{
    const char *end = event.p + event.n;
    const char *p = skip(event.p, end, WEIR_SLICE("{\"type\":\""));
    p = p != NULL ? memchr(p, '"', (size_t)(end - p)) : NULL;
    p = p != NULL && end - p > 2 && p[1] == ',' ? skip(p + 2, end, key) : NULL;
    const char *start = p;
    while (p != NULL && p < end && is_digit(*p)) {
        p++;
    }
    bool is_number = p != NULL && p != start && p < end && (*p == ',' || *p == '}');
    *digits = is_number ? weir_slice_make(start, (size_t)(p - start)) : WEIR_SLICE("");
    return is_number;
}

/* Without what it ends with; false: it ends otherwise. */
static bool cut_end(struct weir_slice *s, struct weir_slice end)
{
    bool is_there = s->n >= end.n && memcmp(s->p + s->n - end.n, end.p, end.n) == 0;
    s->n -= is_there ? end.n : 0;
    return is_there;
}

/* ,"sequence_number":7,"type":"…"} as those write it who order members by their names. */
static bool find_before_type(struct weir_slice event, struct weir_slice key,
                             struct weir_slice *digits)
{
    struct weir_slice rest = event;
    if (!cut_end(&rest, WEIR_SLICE("\"}"))) {
        return false;
    }
    const char *quote = memrchr(rest.p, '"', rest.n);
    rest.n = quote != NULL ? (size_t)(quote + 1 - rest.p) : 0;
    if (!cut_end(&rest, WEIR_SLICE(",\"type\":\""))) {
        return false;
    }
    size_t end = rest.n;
    while (rest.n != 0 && is_digit(rest.p[rest.n - 1])) {
        rest.n--;
    }
    *digits = weir_slice_sub(event, rest.n, end);
    return digits->n != 0 && cut_end(&rest, key);
}

bool weir_stream_find_number(struct weir_slice event, struct weir_slice key,
                             struct weir_slice *digits)
{
    return find_behind_type(event, key, digits) || find_before_type(event, key, digits);
}

bool weir_stream_is_number(struct weir_slice digits, uint64_t number)
{
    size_t n = digits.n; /* compared from the last one on */
    while (n != 0 && digits.p[n - 1] == (char)('0' + number % 10)) {
        n--;
        number /= 10;
        if (number == 0) {
            return n == 0;
        }
    }
    return false;
}

/* Is it plainly there, once, with that number? */
static bool has_number(struct weir_slice event, struct weir_slice key, uint64_t number)
{
    struct weir_slice quoted = weir_slice_sub(key, 0, key.n - 1);
    const char *end = event.p + event.n;
    const char *at = memmem(event.p, event.n, quoted.p, quoted.n);
    if (at == NULL ||
        memmem(at + quoted.n, (size_t)(end - at) - quoted.n, quoted.p, quoted.n) != NULL) {
        return false;
    }
    at += quoted.n;
    while (at < end && (*at == ' ' || *at == ':')) {
        at++;
    }
    const char *start = at;
    while (at < end && is_digit(*at)) {
        at++;
    }
    return at < end && (*at == ',' || *at == '}' || *at == ' ') &&
           weir_stream_is_number(weir_slice_make(start, (size_t)(at - start)), number);
}

/* By a reader: wherever it stands, or at the end where it is missing. */
static bool edit_number(struct weir_slice event, struct weir_slice key, uint64_t number,
                        struct weir_buf *out)
{
    struct weir_json_tape tape = {0};
    struct weir_json json;
    struct weir_json_edit e = {0};
    char text[WEIR_SLICE_U64_MOST];
    struct weir_slice name = weir_slice_sub(key, 1, key.n - 2);
    bool is_object = weir_json_parse_reuse(&json, event, NULL, &tape, NULL) == 0 &&
                     weir_json_type(&json, 0) == WEIR_JSON_OBJECT;
    if (is_object) {
        weir_json_edit_begin(&e, &json);
        weir_json_edit_set(&e, 0, name, weir_slice_of_u64(number, text));
        weir_json_edit_write(&e, out);
        weir_json_edit_dispose(&e);
    }
    weir_json_tape_dispose(&tape);
    return is_object;
}

bool weir_stream_set_number(struct weir_slice event, struct weir_slice key, uint64_t number,
                            struct weir_buf *out)
{
    struct weir_slice digits;
    if (!weir_stream_find_number(event, key, &digits)) {
        return !has_number(event, key, number) && edit_number(event, key, number, out);
    }
    if (weir_stream_is_number(digits, number)) {
        return false;
    }
    size_t at = (size_t)(digits.p - event.p);
    weir_buf_reserve(out, event.n + WEIR_SLICE_U64_MOST); /* at once */
    weir_buf_append(out, weir_slice_sub(event, 0, at));
    weir_buf_append_u64(out, number);
    weir_buf_append(out, weir_slice_sub(event, at + digits.n, event.n));
    return true;
}
