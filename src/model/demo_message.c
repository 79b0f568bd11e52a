/*
 * The demonstration model's answer as a message of Anthropic's:
 *
 *   message_start ─► [thinking: start, tokens, signature, stop] ─► text or tool_use ─►
 * message_delta ─► message_stop
 */
#include "model/demo_play.h"
#include "talk/messages.h"
#include "wire/json_write.h"

/* Not a real one: nobody checks it. */
#define SIGNATURE WEIR_SLICE("d2Vpci1kZW1v")

enum step { START, THINK, THOUGHT, THINK_STOP, SAY, SAID, SAY_STOP, ENDING, STOP, OVER };

static bool is_call(const struct weir_demo_play *p)
{
    return p->ask->tool_name.n != 0;
}

static void put_head(const struct weir_demo_play *p, struct weir_buf *out)
{
    weir_buf_printf(out,
                    "\"id\":\"msg_%s\",\"type\":\"message\",\"role\":\"assistant\","
                    "\"model\":\"weir-demo\"",
                    p->id);
}

static void put_usage(const struct weir_demo_play *p, uint64_t n_said, struct weir_buf *out)
{
    weir_buf_printf(out, "{\"input_tokens\":%zu,\"output_tokens\":%llu}", p->ask->prompt_tokens,
                    (unsigned long long)n_said);
}

static void put_stop(const struct weir_demo_play *p, struct weir_buf *out)
{
    const char *reason = p->choices[0].finish_reason;
    bool is_cut = weir_slice_eq_cstr(weir_slice_cstr(reason), "length");
    weir_buf_printf(out, "\"stop_reason\":\"%s\",\"stop_sequence\":null",
                    is_cut       ? "max_tokens"
                    : is_call(p) ? "tool_use"
                                 : "end_turn");
}

static void put_call(const struct weir_demo_play *p, struct weir_slice input, struct weir_buf *out)
{
    weir_buf_printf(out, "{\"type\":\"tool_use\",\"id\":\"toolu_%s\",\"name\":", p->id);
    weir_buf_append(out, p->ask->tool_name);
    weir_buf_append(out, WEIR_SLICE(",\"input\":"));
    weir_buf_append(out, input);
    weir_buf_append_byte(out, '}');
}

static void put_thinking(struct weir_slice text, struct weir_slice signature, struct weir_buf *out)
{
    weir_buf_append(out, WEIR_SLICE("{\"type\":\"thinking\",\"thinking\":"));
    weir_json_write_quoted(out, text);
    weir_buf_append(out, WEIR_SLICE(",\"signature\":"));
    weir_json_write_quoted(out, signature);
    weir_buf_append_byte(out, '}');
}

/* ---- streams ---- */

static uint64_t index_of(const struct weir_demo_play *p)
{
    return p->step >= SAY && p->choices[0].has_reasoning ? 1 : 0;
}

static void put_delta(const struct weir_demo_play *p, enum weir_messages_kind kind,
                      struct weir_slice text, struct weir_buf *out)
{
    weir_messages_write_delta(
        &(struct weir_messages_delta){.index = index_of(p), .kind = kind, .text = text}, out);
}

static void put_block(const struct weir_demo_play *p, struct weir_buf *out)
{
    struct weir_buf block = {0};
    if (p->step == THINK) {
        put_thinking(WEIR_SLICE(""), WEIR_SLICE(""), &block);
    } else if (is_call(p)) {
        put_call(p, WEIR_SLICE("{}"), &block);
    } else {
        weir_messages_write_text_block(WEIR_SLICE(""), &block);
    }
    weir_messages_write_block(index_of(p), weir_buf_slice(&block), out);
    weir_buf_dispose(&block);
}

static void put_start(const struct weir_demo_play *p, struct weir_buf *out)
{
    struct weir_buf head = {0};
    struct weir_buf usage = {0};
    put_head(p, &head);
    put_usage(p, 1, &usage);
    weir_messages_write_start(weir_buf_slice(&head), weir_buf_slice(&usage), out);
    weir_buf_dispose(&head);
    weir_buf_dispose(&usage);
}

static void put_ending(const struct weir_demo_play *p, struct weir_buf *out)
{
    struct weir_buf stop = {0};
    struct weir_buf usage = {0};
    put_stop(p, &stop);
    put_usage(p, p->completion_tokens, &usage);
    weir_messages_write_ending(&(struct weir_messages_ending){.stop = weir_buf_slice(&stop),
                                                              .usage = weir_buf_slice(&usage)},
                               out);
    weir_buf_dispose(&stop);
    weir_buf_dispose(&usage);
}

/* The next token of what is being said, with a pause behind each. */
static enum weir_demo_next next_token(struct weir_demo_play *p, enum weir_messages_kind kind,
                                      struct weir_slice *from, struct weir_buf *out)
{
    if (p->has_stopped) {
        p->has_stopped = false;
        return WEIR_DEMO_ROUND;
    }
    put_delta(p, kind, weir_demo_answer_token(from), out);
    p->has_stopped = true;
    return WEIR_DEMO_EVENT;
}

static enum weir_demo_next say(struct weir_demo_play *p, struct weir_buf *out)
{
    struct weir_demo_choice *c = &p->choices[0];
    if (p->step == THOUGHT && (c->reasoning.n != 0 || p->has_stopped)) {
        return next_token(p, WEIR_MESSAGES_THINKING, &c->reasoning, out);
    }
    if (p->step == SAID && (c->text.n != 0 || c->arguments.n != 0 || p->has_stopped)) {
        return next_token(p, is_call(p) ? WEIR_MESSAGES_TOOL : WEIR_MESSAGES_TEXT,
                          is_call(p) ? &c->arguments : &c->text, out);
    }
    if (p->step == THOUGHT) {
        put_delta(p, WEIR_MESSAGES_SEALED, SIGNATURE, out);
    } else {
        weir_messages_write_block_stop(index_of(p), out);
        p->step++;
    }
    p->step++;
    return WEIR_DEMO_EVENT;
}

enum weir_demo_next weir_demo_message_next(struct weir_demo_play *p, struct weir_buf *out)
{
    if (p->step == THINK && !p->choices[0].has_reasoning) {
        p->step = SAY;
    }
    switch ((enum step)p->step) {
    case THOUGHT:
    case SAID:
        return say(p, out);
    case OVER:
        return WEIR_DEMO_END;
    case START:
        put_start(p, out);
        break;
    case THINK:
    case SAY:
        put_block(p, out);
        break;
    case THINK_STOP:
    case SAY_STOP:
        weir_messages_write_block_stop(index_of(p), out);
        break;
    case ENDING:
        put_ending(p, out);
        break;
    case STOP:
        weir_buf_append(out, WEIR_MESSAGES_STOP_EVENT);
        break;
    }
    p->step++;
    return WEIR_DEMO_EVENT;
}

/* ---- whole answers ---- */

int weir_demo_message_whole(const struct weir_demo_play *p, struct weir_buf *out)
{
    const struct weir_demo_choice *c = &p->choices[0];
    struct weir_buf head = {0};
    struct weir_buf content = {0};
    struct weir_buf stop = {0};
    struct weir_buf usage = {0};
    struct weir_buf whole = {0};
    put_head(p, &head);
    put_stop(p, &stop);
    put_usage(p, p->completion_tokens, &usage);
    if (c->has_reasoning) {
        put_thinking(c->reasoning, SIGNATURE, &content);
        weir_buf_append_byte(&content, ',');
    }
    if (is_call(p)) {
        bool is_whole = c->arguments.n == p->ask->json_text.n;
        put_call(p, is_whole ? c->arguments : WEIR_SLICE("{}"), &content);
    } else {
        weir_messages_write_text_block(c->text, &content);
    }
    weir_messages_write_whole(weir_buf_slice(&head), weir_buf_slice(&content),
                              &(struct weir_messages_ending){.stop = weir_buf_slice(&stop),
                                                             .usage = weir_buf_slice(&usage)},
                              &whole);
    int rc = weir_buf_append(out, weir_buf_slice(&whole));
    weir_buf_dispose(&whole);
    weir_buf_dispose(&head);
    weir_buf_dispose(&content);
    weir_buf_dispose(&stop);
    weir_buf_dispose(&usage);
    return rc;
}
