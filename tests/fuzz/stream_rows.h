#ifndef WEIR_TESTS_FUZZ_STREAM_ROWS_H
#define WEIR_TESTS_FUZZ_STREAM_ROWS_H

/*
 * What a model server says whose answers are rows: Anthropic's Messages, a block after the other;
 * OpenAI's Responses are in stream_responses.h.
 *
 *   block, item   says                                    as the texts
 *   ROW_TEXT      text; Responses: and a refusal          SLOT_CONTENT, refusal
 *   ROW_THOUGHT   thinking; Responses: summary, reasoning reasoning, reasoning_content
 *   ROW_CALL      a tool's name and its input {"q":"…"}   SLOT_NAMES, SLOT_ARGUMENTS
 */
#include "fuzz/stream_say.h"

#define INPUT_BEGIN "{\\\"q\\\":\\\""
#define INPUT_END "\\\"}"

/* ---- events ---- */

static inline void row_begin(struct talk *t, const char *type)
{
    weir_buf_printf(&t->wire, "event: %s\ndata: {\"type\":\"%s\"", type, type);
    if (t->endpoint == RESPONSES_ROUTE) {
        weir_buf_printf(&t->wire, ",\"sequence_number\":%zu", t->n_events++);
    }
}

static inline void row_end(struct talk *t)
{
    weir_buf_append(&t->wire, WEIR_SLICE("}\n\n"));
}

static inline enum row_kind row_kind_of(const struct say *s)
{
    if (s->has_tool) {
        return ROW_CALL;
    }
    bool is_thought =
        s->slot == WEIR_CHANNEL_REASONING || s->slot == WEIR_CHANNEL_REASONING_CONTENT;
    return is_thought ? ROW_THOUGHT : ROW_TEXT;
}

/* A new one; NULL: there are enough. */
static inline struct row *row_add(struct talk *t, enum row_kind kind)
{
    if (t->n_rows == N_PLACES) {
        return NULL;
    }
    struct row *r = &t->rows[t->n_rows];
    t->is_seen[t->n_rows++] = true;
    r->kind = kind;
    r->is_open = true;
    return r;
}

static inline size_t row_first(const struct talk *t, const struct row *r)
{
    return (size_t)(r - t->rows) * N_SLOTS;
}

/* The word itself only beside the word in the input: it ends the answer. */
static inline void row_say_name(struct talk *t, const struct row *r, size_t piece)
{
    enum { PIECE_BAD = 5 };
    weir_buf_append(&t->wire, WEIR_SLICE(",\"name\":\""));
    say_piece(t, row_first(t, r) + SLOT_NAMES, piece == PIECE_BAD ? piece : piece & 3, false);
    weir_buf_append_byte(&t->wire, '"');
}

/* ---- Messages ---- */

static inline void message_begin(struct talk *t)
{
    if (!t->has_begun) {
        t->has_begun = true;
        row_begin(t, "message_start");
        weir_buf_append(&t->wire, WEIR_SLICE(",\"message\":{\"id\":\"msg_1\",\"type\":\"message\","
                                             "\"role\":\"assistant\",\"model\":\"m\",\"content\":"
                                             "[],\"usage\":{\"output_tokens\":1}}"));
        row_end(t);
    }
}

static inline void message_delta(struct talk *t, const struct row *r, const char *type,
                                 const char *member)
{
    row_begin(t, "content_block_delta");
    weir_buf_printf(&t->wire, ",\"index\":%zu,\"delta\":{\"type\":\"%s\",\"%s\":\"",
                    (size_t)(r - t->rows), type, member);
}

static inline void message_delta_end(struct talk *t)
{
    weir_buf_append(&t->wire, WEIR_SLICE("\"}"));
    row_end(t);
}

static inline void message_open(struct talk *t, const struct row *r, size_t piece)
{
    row_begin(t, "content_block_start");
    weir_buf_printf(&t->wire, ",\"index\":%zu,\"content_block\":{", (size_t)(r - t->rows));
    if (r->kind == ROW_CALL) {
        weir_buf_append(&t->wire, WEIR_SLICE("\"type\":\"tool_use\",\"id\":\"toolu_1\","
                                             "\"input\":{}"));
        row_say_name(t, r, piece);
    } else if (r->kind == ROW_THOUGHT) {
        weir_buf_append(&t->wire, WEIR_SLICE("\"type\":\"thinking\",\"thinking\":\"\","
                                             "\"signature\":\"\""));
    } else {
        weir_buf_append(&t->wire, WEIR_SLICE("\"type\":\"text\",\"text\":\"\""));
    }
    weir_buf_append_byte(&t->wire, '}');
    row_end(t);
    if (r->kind == ROW_CALL) {
        message_delta(t, r, "input_json_delta", "partial_json");
        weir_buf_append(&t->wire, WEIR_SLICE(INPUT_BEGIN));
        message_delta_end(t);
    }
}

static inline void message_close(struct talk *t)
{
    struct row *r = t->n_rows != 0 ? &t->rows[t->n_rows - 1] : NULL;
    if (r == NULL || !r->is_open) {
        return;
    }
    r->is_open = false;
    if (r->kind == ROW_CALL) {
        message_delta(t, r, "input_json_delta", "partial_json");
        weir_buf_append(&t->wire, WEIR_SLICE(INPUT_END));
        message_delta_end(t);
    } else if (r->kind == ROW_THOUGHT) {
        message_delta(t, r, "signature_delta", "signature");
        weir_buf_append(&t->wire, WEIR_SLICE("c2ln"));
        message_delta_end(t);
    }
    row_begin(t, "content_block_stop");
    weir_buf_printf(&t->wire, ",\"index\":%zu", (size_t)(r - t->rows));
    row_end(t);
}

/* The block that is open goes on, unless another one is wished for. */
static inline struct row *message_row(struct talk *t, const struct say *s)
{
    struct row *r = t->n_rows != 0 ? &t->rows[t->n_rows - 1] : NULL;
    enum row_kind kind = row_kind_of(s);
    if (r != NULL && r->is_open && r->kind == kind && s->choice != 3) {
        return r;
    }
    if (t->n_rows < N_PLACES) {
        message_close(t);
    }
    r = row_add(t, kind);
    if (r != NULL) {
        message_open(t, r, s->piece);
    }
    return r;
}

static inline size_t message_slot(const struct row *r)
{
    static const size_t slots[] = {[ROW_TEXT] = SLOT_CONTENT,
                                   [ROW_THOUGHT] = WEIR_CHANNEL_REASONING,
                                   [ROW_CALL] = SLOT_ARGUMENTS};
    return slots[r->kind];
}

static inline void message_text(struct talk *t, const struct row *r)
{
    static const char *const types[][2] = {[ROW_TEXT] = {"text_delta", "text"},
                                           [ROW_THOUGHT] = {"thinking_delta", "thinking"},
                                           [ROW_CALL] = {"input_json_delta", "partial_json"}};
    message_delta(t, r, types[r->kind][0], types[r->kind][1]);
}

static inline void message_say(struct talk *t, const struct say *s)
{
    message_begin(t);
    struct row *r = message_row(t, s);
    if (r != NULL && !s->is_silent) {
        message_text(t, r);
        say_piece(t, row_first(t, r) + message_slot(r), s->piece, s->is_escaped);
        message_delta_end(t);
    }
}

static inline void message_say_end(struct talk *t)
{
    message_begin(t);
    message_close(t);
    row_begin(t, "message_delta");
    weir_buf_append(&t->wire,
                    WEIR_SLICE(",\"delta\":{\"stop_reason\":\"end_turn\","
                               "\"stop_sequence\":null},\"usage\":{\"output_tokens\":9}"));
    row_end(t);
    row_begin(t, "message_stop");
    row_end(t);
}

static inline void message_whole(struct talk *t, struct weir_buf *out)
{
    weir_buf_append(out, WEIR_SLICE("{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\","
                                    "\"model\":\"m\",\"content\":["));
    for (size_t i = 0; i < t->n_rows; i++) {
        const struct row *r = &t->rows[i];
        size_t first = row_first(t, r);
        weir_buf_append(out, i != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        if (r->kind == ROW_CALL) {
            weir_buf_append(out,
                            WEIR_SLICE("{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\""));
            say_again(t, first + SLOT_NAMES, out);
            weir_buf_append(out, WEIR_SLICE("\",\"input\":{\"q\":\""));
        } else if (r->kind == ROW_THOUGHT) {
            weir_buf_append(out, WEIR_SLICE("{\"type\":\"thinking\",\"signature\":\"c2ln\","
                                            "\"thinking\":\""));
        } else {
            weir_buf_append(out, WEIR_SLICE("{\"type\":\"text\",\"text\":\""));
        }
        say_again(t, first + message_slot(r), out);
        weir_buf_append(out, r->kind == ROW_CALL ? WEIR_SLICE("\"}}") : WEIR_SLICE("\"}"));
    }
    weir_buf_append(out, WEIR_SLICE("],\"stop_reason\":\"end_turn\",\"stop_sequence\":null,"
                                    "\"usage\":{\"output_tokens\":9}}"));
}

#endif
