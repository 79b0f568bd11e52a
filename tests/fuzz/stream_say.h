#ifndef WEIR_TESTS_FUZZ_STREAM_SAY_H
#define WEIR_TESTS_FUZZ_STREAM_SAY_H

/*
 * What the model server says, written to its wire, and noted as said.
 */
#include "fuzz/stream_talk.h"
#include "wire/json_write.h"

/* ---- speaking ---- */

/* `.` ends a sentence, `_` is a blank. */
static const char *const PIECES[32] = {
    "b",   "a",    "d",    "ba",  "ad",    "bad",     "x",   "xx",  "_",      ".",        "bad.",
    "x_b", "ad.x", "d_b",  "a.",  "_bad_", "xxxxxx",  "bab", "dad", "badbad", "_.",       "__",
    "b.",  "xbad", "badx", "x.x", "d.",    "xxxxx.b", "_b",  "ad_", "a_d",    "xxbadxx.",
};

static inline enum letter stream_letter(char c)
{
    switch (c) {
    case 'b':
        return LETTER_B;
    case 'a':
        return LETTER_A;
    case 'd':
        return LETTER_D;
    case '.':
        return LETTER_DOT;
    default:
        return LETTER_X;
    }
}

static inline void say_cp(struct weir_buf *out, uint32_t cp, bool is_escaped)
{
    char utf8[4];
    if (is_escaped && cp >= FIRST_CP) {
        uint32_t v = cp - 0x10000;
        weir_buf_printf(out, "\\u%04x\\u%04x", 0xD800u + (v >> 10), 0xDC00u + (v & 0x3FF));
    } else {
        weir_buf_append(out, weir_slice_make(utf8, weir_utf8_encode(cp, utf8)));
    }
}

/* Some of what stands for the question's value: it is said in one piece, or cut over several. */
static inline void say_token(struct talk *t, size_t id, size_t n)
{
    size_t all = strlen(t->token);
    t->token_at = t->token_at < all ? t->token_at : 0;
    for (; n > 0 && t->token_at < all && t->n_said[id] < MAX_TEXT - 8; n--) {
        uint32_t cp = (unsigned char)t->token[t->token_at++];
        t->said[id][t->n_said[id]++] = cp;
        say_cp(&t->wire, cp, false);
    }
}

enum { PIECE_OF_TOKEN = 20, PIECE_TOKEN };

/* A piece more of a text, as it stands in JSON. */
static inline void say_piece(struct talk *t, size_t id, size_t piece, bool is_escaped)
{
    bool is_token = piece == PIECE_OF_TOKEN || piece == PIECE_TOKEN;
    if (is_token && t->token[0] != '\0' && id != ID_QUESTION) {
        say_token(t, id, piece == PIECE_TOKEN ? sizeof t->token : 5);
        return;
    }
    bool has_blanks = id == ID_QUESTION || id % N_SLOTS < SLOT_ARGUMENTS;
    for (const char *p = PIECES[piece % 32]; *p != '\0' && t->n_said[id] < MAX_TEXT - 8; p++) {
        bool is_blank = *p == '_' && has_blanks;
        size_t place = t->n_said[id]++;
        uint32_t cp = is_blank ? BLANK : stream_cp(id, place, stream_letter(*p));
        t->said[id][place] = cp;
        t->order[id][place] = t->n_order++;
        say_cp(&t->wire, cp, is_escaped);
    }
}

/* What the events of this talk look like. */
struct say {
    size_t choice; /* or block, or item */
    size_t slot;
    size_t piece;
    bool is_escaped;
    char finish; /* its first letter, or 0 */
    bool has_usage;
    bool has_role;
    bool is_silent; /* no text */
    bool has_tool;
    size_t tool; /* 0, 1, or 2: the old form */
    bool has_reasoning;
};

static inline void say_begin(struct talk *t)
{
    weir_buf_append(&t->wire, WEIR_SLICE("data: {\"id\":\"c1\",\"object\":\"o\",\"created\":7,"
                                         "\"model\":\"m\",\"choices\":["));
    t->is_usage_last = false;
}

static inline void say_usage(struct talk *t)
{
    t->n_usages++;
    weir_buf_printf(&t->wire, ",\"usage\":{\"completion_tokens\":%llu}",
                    (unsigned long long)t->n_usages);
}

static inline void say_end(struct talk *t, bool has_usage)
{
    weir_buf_append_byte(&t->wire, ']');
    if (has_usage) {
        say_usage(t);
    }
    weir_buf_append(&t->wire, WEIR_SLICE("}\n\n"));
}

static inline void say_string(struct talk *t, const char *name, size_t id, const struct say *s)
{
    weir_buf_printf(&t->wire, "\"%s\":\"", name);
    say_piece(t, id, s->piece, s->is_escaped);
    weir_buf_append_byte(&t->wire, '"');
}

static inline void say_tool(struct talk *t, const struct say *s)
{
    size_t first = s->choice * N_SLOTS;
    if (s->tool == 2) {
        weir_buf_append(&t->wire, WEIR_SLICE("\"function_call\":{"));
        say_string(t, "arguments", first + SLOT_OLD_CALL, s);
        weir_buf_append_byte(&t->wire, '}');
        return;
    }
    weir_buf_printf(&t->wire, "\"tool_calls\":[{\"index\":%zu,", s->tool);
    if (t->n_said[first + SLOT_NAMES + s->tool] == 0) {
        weir_buf_printf(&t->wire, "\"id\":\"t%zu%zu\",\"type\":\"function\",", s->choice, s->tool);
        weir_buf_append(&t->wire, WEIR_SLICE("\"function\":{"));
        say_string(t, "name", first + SLOT_NAMES + s->tool, &(struct say){.piece = s->piece >> 2});
        weir_buf_append_byte(&t->wire, ',');
    } else {
        weir_buf_append(&t->wire, WEIR_SLICE("\"function\":{"));
    }
    say_string(t, "arguments", first + SLOT_ARGUMENTS + s->tool, s);
    weir_buf_append(&t->wire, WEIR_SLICE("}}]"));
}

static inline void say_delta(struct talk *t, const struct say *s)
{
    size_t first = s->choice * N_SLOTS;
    const char *comma = "";
    weir_buf_append(&t->wire, WEIR_SLICE("\"delta\":{"));
    if (s->has_role) {
        weir_buf_append(&t->wire, WEIR_SLICE("\"role\":\"assistant\""));
        comma = ",";
    }
    if (s->has_reasoning && s->slot != WEIR_CHANNEL_REASONING) {
        weir_buf_printf(&t->wire, "%s", comma);
        say_string(t, "reasoning", first + WEIR_CHANNEL_REASONING, s);
        comma = ",";
    }
    if (!s->is_silent && s->slot == WEIR_CHANNEL_TRANSCRIPT) {
        weir_buf_printf(&t->wire, "%s\"audio\":{", comma);
        say_string(t, "transcript", first + s->slot, s);
        weir_buf_append_byte(&t->wire, '}');
        comma = ",";
    } else if (!s->is_silent) {
        weir_buf_printf(&t->wire, "%s", comma);
        say_string(t, weir_channel_name((enum weir_channel)s->slot), first + s->slot, s);
        comma = ",";
    }
    if (s->has_tool) {
        weir_buf_printf(&t->wire, "%s", comma);
        say_tool(t, s);
    }
    weir_buf_append_byte(&t->wire, '}');
}

static inline const char *stream_finish_name(char finish)
{
    return finish == 's' ? "stop" : finish == 'l' ? "length" : "tool_calls";
}

/* On annotating routes a chunk ends where an event of another kind follows. */
static inline void say_cut(struct talk *t, const struct say *s)
{
    bool is_other = !s->is_silent && s->slot != SLOT_CONTENT;
    if (is_other || s->has_tool || s->has_reasoning) {
        t->cuts[s->choice][t->n_said[s->choice * N_SLOTS + SLOT_CONTENT]] = 1;
    }
}

static inline void say_choice(struct talk *t, const struct say *s)
{
    say_cut(t, s);
    weir_buf_printf(&t->wire, "{\"index\":%zu,", s->choice);
    if (stream_is_chat(t)) {
        say_delta(t, s);
    } else if (s->is_silent) {
        weir_buf_append(&t->wire, WEIR_SLICE("\"text\":\"\""));
    } else {
        say_string(t, "text", s->choice * N_SLOTS + SLOT_CONTENT, s);
    }
    if (s->finish != 0) {
        weir_buf_printf(&t->wire, ",\"finish_reason\":\"%s\"", stream_finish_name(s->finish));
        t->finish[s->choice] = s->finish;
        t->n_finish[s->choice]++;
    } else {
        weir_buf_append(&t->wire, WEIR_SLICE(",\"finish_reason\":null"));
    }
    weir_buf_append_byte(&t->wire, '}');
    say_cut(t, s);
    t->is_finish_last[s->choice] = s->finish != 0;
    t->is_seen[s->choice] = true;
}

/* A character of two halves, each in an event of its own. */
static inline void say_halves(struct talk *t, size_t choice)
{
    size_t id = choice * N_SLOTS + SLOT_CONTENT;
    const char *before = stream_is_chat(t) ? "\"delta\":{\"content\"" : "\"text\"";
    const char *after = stream_is_chat(t) ? "}" : "";
    if (t->n_said[id] >= MAX_TEXT - 8) {
        return;
    }
    size_t place = t->n_said[id]++;
    uint32_t cp = stream_cp(id, place, place % 2 != 0 ? LETTER_A : LETTER_B);
    uint32_t halves[2] = {0xD800u + ((cp - 0x10000) >> 10), 0xDC00u + ((cp - 0x10000) & 0x3FF)};
    t->said[id][place] = cp;
    t->is_seen[choice] = true;
    t->is_finish_last[choice] = false;
    for (size_t i = 0; i < 2; i++) {
        say_begin(t);
        weir_buf_printf(&t->wire, "{\"index\":%zu,%s:\"\\u%04x\"%s,\"finish_reason\":null}", choice,
                        before, halves[i], after);
        say_end(t, false);
    }
}

/* ---- a whole answer ---- */

/* All that was said of a text, as it stands in JSON. */
static inline void say_again(const struct talk *t, size_t id, struct weir_buf *out)
{
    for (size_t i = 0; i < t->n_said[id]; i++) {
        say_cp(out, t->said[id][i], false);
    }
}

static inline void say_all(struct talk *t, struct weir_json_write *w, const char *name, size_t id)
{
    struct weir_buf text = {0};
    say_again(t, id, &text);
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_string(w, weir_buf_slice(&text));
    weir_buf_dispose(&text);
}

static inline void say_whole_tools(struct talk *t, struct weir_json_write *w, size_t first)
{
    weir_json_write_key(w, WEIR_SLICE("tool_calls"));
    weir_json_write_begin_array(w);
    for (size_t i = 0; i < 2; i++) {
        if (t->n_said[first + SLOT_NAMES + i] == 0) {
            continue;
        }
        weir_json_write_begin_object(w);
        weir_json_write_key(w, WEIR_SLICE("id"));
        weir_json_write_string(w, WEIR_SLICE("t"));
        weir_json_write_key(w, WEIR_SLICE("index"));
        weir_json_write_u64(w, i);
        weir_json_write_key(w, WEIR_SLICE("type"));
        weir_json_write_string(w, WEIR_SLICE("function"));
        weir_json_write_key(w, WEIR_SLICE("function"));
        weir_json_write_begin_object(w);
        say_all(t, w, "name", first + SLOT_NAMES + i);
        say_all(t, w, "arguments", first + SLOT_ARGUMENTS + i);
        weir_json_write_end_object(w);
        weir_json_write_end_object(w);
    }
    weir_json_write_end_array(w);
}

static inline void say_whole_message(struct talk *t, struct weir_json_write *w, size_t first)
{
    weir_json_write_key(w, WEIR_SLICE("message"));
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("role"));
    weir_json_write_string(w, WEIR_SLICE("assistant"));
    for (size_t i = 0; i < WEIR_CHANNEL_TRANSCRIPT; i++) {
        if (t->n_said[first + i] != 0) {
            say_all(t, w, weir_channel_name((enum weir_channel)i), first + i);
        }
    }
    if (t->n_said[first + WEIR_CHANNEL_TRANSCRIPT] != 0) {
        weir_json_write_key(w, WEIR_SLICE("audio"));
        weir_json_write_begin_object(w);
        say_all(t, w, "transcript", first + WEIR_CHANNEL_TRANSCRIPT);
        weir_json_write_end_object(w);
    }
    if (t->n_said[first + SLOT_OLD_CALL] != 0) {
        weir_json_write_key(w, WEIR_SLICE("function_call"));
        weir_json_write_begin_object(w);
        say_all(t, w, "arguments", first + SLOT_OLD_CALL);
        weir_json_write_end_object(w);
    }
    if (t->n_said[first + SLOT_NAMES] != 0 || t->n_said[first + SLOT_NAMES + 1] != 0) {
        say_whole_tools(t, w, first);
    }
    weir_json_write_end_object(w);
}

static inline void say_whole(struct talk *t, struct weir_buf *out)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("choices"));
    weir_json_write_begin_array(&w);
    for (size_t c = 0; c < N_PLACES; c++) {
        if (!t->is_seen[c]) {
            continue;
        }
        weir_json_write_begin_object(&w);
        weir_json_write_key(&w, WEIR_SLICE("index"));
        weir_json_write_u64(&w, c);
        if (stream_is_chat(t)) {
            say_whole_message(t, &w, c * N_SLOTS);
        } else {
            say_all(t, &w, "text", c * N_SLOTS);
        }
        weir_json_write_key(&w, WEIR_SLICE("finish_reason"));
        char finish = t->finish[c] != 0 ? t->finish[c] : 's';
        weir_json_write_string(&w, weir_slice_cstr(stream_finish_name(finish)));
        weir_json_write_end_object(&w);
    }
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
}

#endif
