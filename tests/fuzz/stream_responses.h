#ifndef WEIR_TESTS_FUZZ_STREAM_RESPONSES_H
#define WEIR_TESTS_FUZZ_STREAM_RESPONSES_H

/*
 * What a model server says in OpenAI's Responses: items that may be mixed, each of parts one after
 * the other, whose texts are said again when a part, an item and the response end.
 */
#include "fuzz/stream_rows.h"

/* A part of an item, by its slot. */
struct part {
    size_t slot;
    enum row_kind row;
    const char *type;
    const char *member; /* that has its text */
    const char *events; /* response.….delta and .done */
    const char *around; /* response.….added and .done */
    const char *list;   /* of the item */
    const char *index;
    size_t number;
};

static const struct part PARTS[] = {
    {SLOT_CONTENT, ROW_TEXT, "output_text", "text", "output_text", "content_part", "content",
     "content_index", 0},
    {WEIR_CHANNEL_REFUSAL, ROW_TEXT, "refusal", "refusal", "refusal", "content_part", "content",
     "content_index", 1},
    {WEIR_CHANNEL_REASONING, ROW_THOUGHT, "summary_text", "text", "reasoning_summary_text",
     "reasoning_summary_part", "summary", "summary_index", 0},
    {WEIR_CHANNEL_REASONING_CONTENT, ROW_THOUGHT, "reasoning_text", "text", "reasoning_text",
     "content_part", "content", "content_index", 0},
};

enum { N_PARTS = sizeof PARTS / sizeof PARTS[0] };

static inline void response_begin(struct talk *t)
{
    if (!t->has_begun) {
        t->has_begun = true;
        row_begin(t, "response.created");
        weir_buf_append(&t->wire, WEIR_SLICE(",\"response\":{\"id\":\"resp_1\",\"object\":"
                                             "\"response\",\"model\":\"m\",\"output\":[]}"));
        row_end(t);
    }
}

static inline void response_event(struct talk *t, const struct row *r, const char *name,
                                  const char *what)
{
    char type[80];
    snprintf(type, sizeof type, "response.%s.%s", name, what);
    row_begin(t, type);
    weir_buf_printf(&t->wire, ",\"item_id\":\"it_%zu\",\"output_index\":%zu", (size_t)(r - t->rows),
                    (size_t)(r - t->rows));
}

static inline void response_part_event(struct talk *t, const struct row *r, const struct part *p,
                                       const char *name, const char *what)
{
    response_event(t, r, name, what);
    weir_buf_printf(&t->wire, ",\"%s\":%zu", p->index, p->number);
}

/* What was said, or what a server that lies says in its place. */
static inline void response_repeat(const struct talk *t, size_t id, struct weir_buf *out)
{
    if (t->repeats_lies && t->n_said[id] != 0) {
        weir_buf_append(out, WEIR_SLICE("something else"));
    } else {
        say_again(t, id, out);
    }
}

static inline void response_write_part(const struct talk *t, const struct row *r,
                                       const struct part *p, struct weir_buf *out)
{
    weir_buf_printf(out, "{\"type\":\"%s\",%s\"%s\":\"", p->type,
                    p->slot == SLOT_CONTENT ? "\"annotations\":[]," : "", p->member);
    response_repeat(t, row_first(t, r) + p->slot, out);
    weir_buf_append(out, WEIR_SLICE("\"}"));
}

static inline void response_write_list(const struct talk *t, const struct row *r, const char *list,
                                       struct weir_buf *out)
{
    const char *comma = "";
    weir_buf_printf(out, ",\"%s\":[", list);
    for (size_t i = 0; i < N_PARTS; i++) {
        if (r->has_part[PARTS[i].slot] && strcmp(PARTS[i].list, list) == 0) {
            weir_buf_append(out, weir_slice_cstr(comma));
            response_write_part(t, r, &PARTS[i], out);
            comma = ",";
        }
    }
    weir_buf_append_byte(out, ']');
}

static inline void response_write_call(const struct talk *t, const struct row *r,
                                       struct weir_buf *out)
{
    size_t first = row_first(t, r);
    weir_buf_append(out,
                    WEIR_SLICE("\"type\":\"function_call\",\"call_id\":\"call_1\",\"name\":\""));
    say_again(t, first + SLOT_NAMES, out);
    weir_buf_append(out, WEIR_SLICE("\",\"arguments\":\"" INPUT_BEGIN));
    say_again(t, first + SLOT_ARGUMENTS, out);
    weir_buf_append(out, WEIR_SLICE(INPUT_END "\""));
}

static inline void response_write_item(const struct talk *t, const struct row *r,
                                       struct weir_buf *out)
{
    weir_buf_printf(out, "{\"id\":\"it_%zu\",\"status\":\"completed\",", (size_t)(r - t->rows));
    if (r->kind == ROW_CALL) {
        response_write_call(t, r, out);
    } else if (r->kind == ROW_THOUGHT) {
        weir_buf_append(out, WEIR_SLICE("\"type\":\"reasoning\""));
        response_write_list(t, r, "summary", out);
        response_write_list(t, r, "content", out);
    } else {
        weir_buf_append(out, WEIR_SLICE("\"type\":\"message\",\"role\":\"assistant\""));
        response_write_list(t, r, "content", out);
    }
    weir_buf_append_byte(out, '}');
}

static inline void response_open(struct talk *t, const struct row *r, size_t piece)
{
    static const char *const items[] = {
        [ROW_TEXT] = "\"type\":\"message\",\"role\":\"assistant\",\"content\":[]",
        [ROW_THOUGHT] = "\"type\":\"reasoning\",\"summary\":[]",
        [ROW_CALL] = "\"type\":\"function_call\",\"call_id\":\"call_1\",\"arguments\":\"\""};
    row_begin(t, "response.output_item.added");
    weir_buf_printf(&t->wire, ",\"output_index\":%zu,\"item\":{\"id\":\"it_%zu\",%s",
                    (size_t)(r - t->rows), (size_t)(r - t->rows), items[r->kind]);
    if (r->kind == ROW_CALL) {
        row_say_name(t, r, piece);
    }
    weir_buf_append_byte(&t->wire, '}');
    row_end(t);
    if (r->kind == ROW_CALL) {
        response_event(t, r, "function_call_arguments", "delta");
        weir_buf_append(&t->wire, WEIR_SLICE(",\"delta\":\"" INPUT_BEGIN "\""));
        row_end(t);
    }
}

static inline void response_close_part(struct talk *t, struct row *r, const struct part *p)
{
    if (!r->has_part[p->slot] || r->is_part_done[p->slot] || t->repeats_little) {
        return;
    }
    r->is_part_done[p->slot] = true;
    response_part_event(t, r, p, p->events, "done");
    weir_buf_printf(&t->wire, ",\"%s\":\"", p->member);
    response_repeat(t, row_first(t, r) + p->slot, &t->wire);
    weir_buf_append_byte(&t->wire, '"');
    row_end(t);
    response_part_event(t, r, p, p->around, "done");
    weir_buf_append(&t->wire, WEIR_SLICE(",\"part\":"));
    response_write_part(t, r, p, &t->wire);
    row_end(t);
}

/* One after the other, and none is left out. */
static inline void response_open_part(struct talk *t, struct row *r, const struct part *p)
{
    if (r->has_part[p->slot]) {
        return;
    }
    if (p->number != 0) {
        response_open_part(t, r, p - 1);
    }
    for (const struct part *before = PARTS; before < p; before++) {
        response_close_part(t, r, before);
    }
    r->has_part[p->slot] = true;
    response_part_event(t, r, p, p->around, "added");
    weir_buf_printf(&t->wire, ",\"part\":{\"type\":\"%s\",\"%s\":\"\"}", p->type, p->member);
    row_end(t);
}

static inline void response_close(struct talk *t, struct row *r)
{
    r->is_open = false;
    if (r->kind == ROW_CALL) {
        response_event(t, r, "function_call_arguments", "delta");
        weir_buf_append(&t->wire, WEIR_SLICE(",\"delta\":\"" INPUT_END "\""));
        row_end(t);
    }
    if (t->repeats_little) {
        return;
    }
    for (size_t i = 0; i < N_PARTS; i++) {
        response_close_part(t, r, &PARTS[i]);
    }
    row_begin(t, "response.output_item.done");
    weir_buf_printf(&t->wire, ",\"output_index\":%zu,\"item\":", (size_t)(r - t->rows));
    response_write_item(t, r, &t->wire);
    row_end(t);
}

/* An item that is open goes on; any number beyond them is a new one. */
static inline struct row *response_row(struct talk *t, const struct say *s)
{
    enum row_kind kind = row_kind_of(s);
    struct row *r = s->choice < t->n_rows ? &t->rows[s->choice] : NULL;
    if (r != NULL && r->is_open && r->kind == kind) {
        return r;
    }
    r = row_add(t, kind);
    if (r != NULL) {
        response_open(t, r, s->piece);
    }
    return r;
}

/* The part of the item that has this slot, else its first; but never one before the last that has
 * begun. */
static inline const struct part *response_part(const struct row *r, size_t slot)
{
    const struct part *found = NULL;
    for (const struct part *p = PARTS; p < PARTS + N_PARTS; p++) {
        bool is_wished = found == NULL || p->slot == slot || r->has_part[p->slot];
        found = p->row == r->kind && is_wished ? p : found;
    }
    return found;
}

static inline void response_say(struct talk *t, const struct say *s)
{
    response_begin(t);
    struct row *r = response_row(t, s);
    if (r == NULL || s->is_silent) {
        return;
    }
    size_t slot = SLOT_ARGUMENTS;
    if (r->kind == ROW_CALL) {
        response_event(t, r, "function_call_arguments", "delta");
    } else {
        const struct part *p = response_part(r, s->slot);
        slot = p->slot;
        response_open_part(t, r, p);
        response_part_event(t, r, p, p->events, "delta");
    }
    weir_buf_append(&t->wire, WEIR_SLICE(",\"delta\":\""));
    say_piece(t, row_first(t, r) + slot, s->piece, s->is_escaped);
    weir_buf_append_byte(&t->wire, '"');
    row_end(t);
}

static inline void response_write_output(const struct talk *t, struct weir_buf *out)
{
    weir_buf_append(out, WEIR_SLICE("\"id\":\"resp_1\",\"object\":\"response\",\"model\":\"m\","
                                    "\"status\":\"completed\",\"usage\":{\"output_tokens\":9},"
                                    "\"output\":["));
    for (size_t i = 0; i < t->n_rows; i++) {
        weir_buf_append(out, i != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        response_write_item(t, &t->rows[i], out);
    }
    weir_buf_append(out, WEIR_SLICE("]"));
}

static inline void response_say_end(struct talk *t)
{
    response_begin(t);
    for (size_t i = 0; i < t->n_rows; i++) {
        if (t->rows[i].is_open) {
            response_close(t, &t->rows[i]);
        }
    }
    row_begin(t, "response.completed");
    weir_buf_append(&t->wire, WEIR_SLICE(",\"response\":{"));
    response_write_output(t, &t->wire);
    weir_buf_append_byte(&t->wire, '}');
    row_end(t);
}

static inline void response_whole(struct talk *t, struct weir_buf *out)
{
    weir_buf_append_byte(out, '{');
    response_write_output(t, out);
    weir_buf_append_byte(out, '}');
}

/* ---- both ---- */

/* A block or an item ends where that is wished. */
static inline void row_close(struct talk *t, size_t place)
{
    if (t->endpoint == MESSAGES_ROUTE) {
        message_close(t);
    } else if (place < t->n_rows && t->rows[place].is_open) {
        response_close(t, &t->rows[place]);
    }
}

/* An event nobody knows, with words in it. */
static inline void row_say_unknown(struct talk *t, size_t piece)
{
    row_begin(t, "unheard_of");
    weir_buf_append(&t->wire, WEIR_SLICE(",\"words\":\""));
    say_piece(t, SLOT_OLD_CALL, piece, false);
    weir_buf_append_byte(&t->wire, '"');
    row_end(t);
}

/* A character of two halves, each in an event of its own. */
static inline void row_say_halves(struct talk *t, void (*say)(struct talk *, const struct say *))
{
    struct say s = {.slot = SLOT_CONTENT, .is_silent = true};
    say(t, &s);
    struct row *r = NULL;
    for (size_t i = 0; i < t->n_rows; i++) {
        r = t->rows[i].is_open && t->rows[i].kind == ROW_TEXT ? &t->rows[i] : r;
    }
    if (r == NULL) {
        return;
    }
    const struct part *part = response_part(r, SLOT_CONTENT);
    size_t id = row_first(t, r) + (t->endpoint == MESSAGES_ROUTE ? SLOT_CONTENT : part->slot);
    bool passes = !t->enforces && id % N_SLOTS != SLOT_CONTENT; /* as it came, half by half */
    if (passes || t->n_said[id] >= MAX_TEXT - 8) {
        return;
    }
    size_t place = t->n_said[id]++;
    uint32_t cp = stream_cp(id, place, place % 2 != 0 ? LETTER_A : LETTER_B);
    uint32_t halves[2] = {0xD800u + ((cp - 0x10000) >> 10), 0xDC00u + ((cp - 0x10000) & 0x3FF)};
    t->said[id][place] = cp;
    t->order[id][place] = t->n_order++;
    for (size_t i = 0; i < 2; i++) {
        if (t->endpoint == MESSAGES_ROUTE) {
            message_text(t, r);
        } else {
            response_open_part(t, r, part);
            response_part_event(t, r, part, part->events, "delta");
            weir_buf_append(&t->wire, WEIR_SLICE(",\"delta\":\""));
        }
        weir_buf_printf(&t->wire, "\\u%04x\"%s", halves[i],
                        t->endpoint == MESSAGES_ROUTE ? "}" : "");
        row_end(t);
    }
}

#endif
