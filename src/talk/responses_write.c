/*
 * Events and responses as they leave. Members that stand on one line here stand in that order on
 * the wire; `type` is the first of each event and `sequence_number` the second, which is where
 * whoever sends them looks.
 */
#include "talk/responses.h"
#include "wire/json_write.h"

static void put(struct weir_buf *out, const char *s)
{
    weir_buf_append(out, weir_slice_cstr(s));
}

static void put_json(struct weir_buf *out, const char *before, struct weir_slice json)
{
    if (json.n != 0) {
        put(out, before);
        weir_buf_append(out, json);
    }
}

static void put_or_null(struct weir_buf *out, const char *before, struct weir_slice json)
{
    put_json(out, before, json.n != 0 ? json : WEIR_SLICE("null"));
}

static void put_string(struct weir_buf *out, const char *before, struct weir_slice text)
{
    put(out, before);
    weir_json_write_quoted(out, text);
}

static void put_number(struct weir_buf *out, const char *before, uint64_t n)
{
    put(out, before);
    weir_buf_append_u64(out, n);
}

static void put_found(struct weir_buf *out, struct weir_slice detections,
                      struct weir_slice warnings)
{
    put_json(out, ",\"detections\":", detections);
    put_json(out, ",\"warnings\":", warnings);
    put(out, "}");
}

static void begin(struct weir_buf *out, const char *type, const char *end)
{
    weir_buf_append(out, WEIR_SLICE("{\"type\":\"response."));
    put(out, type);
    put(out, end);
    weir_buf_append(out, WEIR_SLICE("\",\"sequence_number\":0"));
}

/* ---- responses ---- */

void weir_responses_write_whole(const struct weir_responses_whole *w, struct weir_buf *out)
{
    put_json(out, "{", w->head);
    put_string(out, ",\"status\":", w->status);
    put_or_null(out, ",\"error\":", w->error);
    put_or_null(out, ",\"incomplete_details\":", w->details);
    put(out, ",\"output\":[");
    weir_buf_append(out, w->output);
    put_or_null(out, "],\"usage\":", w->usage);
    put_found(out, w->detections, w->warnings);
}

void weir_responses_write_response(const char *type, const struct weir_responses_whole *w,
                                   struct weir_buf *out)
{
    begin(out, type, "");
    put(out, ",\"response\":");
    weir_responses_write_whole(w, out);
    put(out, "}");
}

/* ---- items ---- */

void weir_responses_write_item(uint64_t index, struct weir_slice item, bool is_done,
                               struct weir_buf *out)
{
    begin(out, "output_item.", is_done ? "done" : "added");
    put_number(out, ",\"output_index\":", index);
    put_json(out, ",\"item\":", item);
    put(out, "}");
}

static void put_item(struct weir_buf *out, const struct weir_responses_place *p)
{
    put_string(out, ",\"item_id\":", p->item_id);
    put_number(out, ",\"output_index\":", p->item);
}

void weir_responses_write_said(const struct weir_responses_place *p, const char *events,
                               const char *member, struct weir_slice text, struct weir_buf *out)
{
    begin(out, events, member != NULL ? ".done" : ".delta");
    put_item(out, p);
    if (member != NULL) {
        weir_buf_printf(out, ",\"%s\":", member);
    } else {
        put(out, ",\"delta\":");
    }
    weir_json_write_quoted(out, text);
    put(out, "}");
}

void weir_responses_write_status(const struct weir_responses_place *p, struct weir_slice type,
                                 struct weir_buf *out)
{
    weir_buf_append(out, WEIR_SLICE("{\"type\":\"response."));
    weir_buf_append(out, type);
    weir_buf_append(out, WEIR_SLICE("\",\"sequence_number\":0"));
    put_item(out, p);
    put(out, "}");
}

/* ---- parts ---- */

struct names {
    const char *part;  /* of the events that open and close it; NULL: there are none */
    const char *said;  /* of those that say its text */
    const char *index; /* which part it is: its name as it is written; NULL: it has none */
    const char *open;  /* the part up to its text … */
    const char *all;   /* … which the last of these events has under this name, likewise */
};

#define CONTENT_INDEX ",\"content_index\":"
#define SUMMARY_INDEX ",\"summary_index\":"
#define TEXT ",\"text\":"

static const struct names NAMES[WEIR_RESPONSES_KINDS] = {
    [WEIR_RESPONSES_TEXT] = {"content_part.", "output_text.", CONTENT_INDEX,
                             "{\"type\":\"output_text\",\"text\":", TEXT},
    [WEIR_RESPONSES_REFUSAL] = {"content_part.", "refusal.", CONTENT_INDEX,
                                "{\"type\":\"refusal\",\"refusal\":", ",\"refusal\":"},
    [WEIR_RESPONSES_REASONING] = {"content_part.", "reasoning_text.", CONTENT_INDEX,
                                  "{\"type\":\"reasoning_text\",\"text\":", TEXT},
    [WEIR_RESPONSES_SUMMARY] = {"reasoning_summary_part.", "reasoning_summary_text.", SUMMARY_INDEX,
                                "{\"type\":\"summary_text\",\"text\":", TEXT},
    [WEIR_RESPONSES_TRANSCRIPT] = {NULL, "audio.transcript.", NULL,
                                   "{\"transcript\":", ",\"transcript\":"},
};

static void put_place(struct weir_buf *out, const struct weir_responses_place *p)
{
    if (NAMES[p->kind].index != NULL) {
        put_item(out, p);
        put_number(out, NAMES[p->kind].index, p->part);
    }
}

void weir_responses_write_part(enum weir_responses_kind kind, struct weir_slice text,
                               struct weir_slice annotations, struct weir_slice logprobs,
                               struct weir_buf *out)
{
    put_string(out, NAMES[kind].open, text);
    if (kind == WEIR_RESPONSES_TEXT) {
        put(out, ",\"annotations\":[");
        weir_buf_append(out, annotations);
        put(out, "],\"logprobs\":[");
        weir_buf_append(out, logprobs);
        put(out, "]");
    }
    put(out, "}");
}

void weir_responses_write_part_event(const struct weir_responses_place *p, struct weir_slice part,
                                     bool is_done, struct weir_buf *out)
{
    begin(out, p->is_vllm ? "reasoning_part." : NAMES[p->kind].part, is_done ? "done" : "added");
    put_place(out, p);
    put_json(out, ",\"part\":", part);
    put(out, "}");
}

void weir_responses_write_delta(const struct weir_responses_place *p,
                                const struct weir_responses_delta *d, bool is_done,
                                struct weir_buf *out)
{
    begin(out, NAMES[p->kind].said, is_done ? "done" : "delta");
    put_place(out, p);
    put(out, is_done ? NAMES[p->kind].all : ",\"delta\":");
    if (d->quoted.n != 0) {
        weir_buf_append(out, d->quoted);
    } else {
        weir_json_write_quoted(out, d->text);
    }
    if (p->kind == WEIR_RESPONSES_TEXT && d->logprobs.n == 0) {
        put(out, ",\"logprobs\":[]");
    } else if (p->kind == WEIR_RESPONSES_TEXT) {
        put_json(out, ",\"logprobs\":[", d->logprobs);
        put(out, "]");
    }
    put_found(out, d->detections, d->warnings);
}

void weir_responses_write_annotation(const struct weir_responses_place *p, uint64_t index,
                                     struct weir_slice annotation, struct weir_buf *out)
{
    begin(out, "output_text.annotation.added", "");
    put_place(out, p);
    put_number(out, ",\"annotation_index\":", index);
    put_json(out, ",\"annotation\":", annotation);
    put(out, "}");
}

/* ---- errors ---- */

void weir_responses_write_error(struct weir_slice message, struct weir_slice code,
                                struct weir_slice error, struct weir_buf *out)
{
    put(out, "{\"type\":\"error\",\"sequence_number\":0");
    put_or_null(out, ",\"code\":", code);
    put_json(out, ",\"message\":", message);
    put_json(out, ",\"param\":null,\"error\":", error);
    put(out, "}");
}
