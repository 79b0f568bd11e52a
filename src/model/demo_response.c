/*
 * The demonstration model's answer in OpenAI's Responses:
 *
 *   created ─► in_progress ─► [reasoning: added, part, tokens, done, part, done] ─►
 *   message or function_call: added, [part,] tokens, done, [part,] done ─► completed or incomplete
 *
 * What tokens said is said again where they end, in the item and in the last event.
 */
#include "model/demo_play.h"
#include "wire/json_write.h"

#include <string.h>

enum step {
    CREATED,
    IN_PROGRESS,
    THINK,
    THINK_PART,
    THOUGHT, /* tokens */
    THINK_DONE,
    THINK_PART_DONE,
    THINK_END,
    SAY,
    SAY_PART, /* of a message; a call has none … */
    SAID,
    SAY_DONE,
    SAY_PART_DONE, /* … here neither */
    SAY_END,
    ENDING,
    OVER,
};

static bool is_call(const struct weir_demo_play *p)
{
    return p->ask->tool_name.n != 0;
}

static bool is_thought(const struct weir_demo_play *p)
{
    return p->step < SAY;
}

static void put(struct weir_buf *out, const char *text)
{
    weir_buf_append(out, weir_slice_cstr(text));
}

/* ---- items ---- */

static const char *prefix_of(const struct weir_demo_play *p, bool is_reasoning)
{
    return is_reasoning ? "rs" : is_call(p) ? "fc" : "msg";
}

static void put_part(bool is_reasoning, struct weir_slice text, struct weir_buf *out)
{
    put(out, is_reasoning
                 ? "{\"type\":\"summary_text\",\"text\":"
                 : "{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":");
    weir_json_write_quoted(out, text);
    weir_buf_append_byte(out, '}');
}

/* An item as it begins, or with all that it says. */
static void put_item(const struct weir_demo_play *p, bool is_reasoning, bool is_whole,
                     struct weir_buf *out)
{
    const struct weir_demo_choice *c = &p->choices[0];
    struct weir_slice text = is_reasoning ? c->thought : c->whole;
    weir_buf_printf(out, "{\"id\":\"%s_%s\",", prefix_of(p, is_reasoning), p->id);
    if (is_call(p) && !is_reasoning) {
        weir_buf_printf(out, "\"type\":\"function_call\",\"call_id\":\"call_%s\",\"name\":", p->id);
        weir_buf_append(out, p->ask->tool_name);
        put(out, ",\"arguments\":");
        weir_json_write_quoted(out, is_whole ? text : WEIR_SLICE(""));
    } else {
        put(out, is_reasoning ? "\"type\":\"reasoning\",\"summary\":["
                              : "\"type\":\"message\",\"role\":\"assistant\",\"content\":[");
        if (is_whole) {
            put_part(is_reasoning, text, out);
        }
        weir_buf_append_byte(out, ']');
    }
    weir_buf_printf(out, ",\"status\":\"%s\"}", is_whole ? "completed" : "in_progress");
}

/* ---- the object ---- */

static bool is_cut(const struct weir_demo_play *p)
{
    return strcmp(p->choices[0].finish_reason, "length") == 0;
}

static void put_output(const struct weir_demo_play *p, struct weir_buf *out)
{
    if (p->choices[0].has_reasoning) {
        put_item(p, true, true, out);
        weir_buf_append_byte(out, ',');
    }
    put_item(p, false, true, out);
}

static void put_object(const struct weir_demo_play *p, bool is_over, struct weir_buf *out)
{
    const char *status = !is_over ? "in_progress" : is_cut(p) ? "incomplete" : "completed";
    weir_buf_printf(out,
                    "{\"id\":\"resp_%s\",\"object\":\"response\",\"created_at\":%lld,"
                    "\"status\":\"%s\",\"error\":null,\"incomplete_details\":%s,"
                    "\"instructions\":null,\"metadata\":{},\"model\":\"weir-demo\",\"output\":[",
                    p->id, (long long)p->created_s, status,
                    is_over && is_cut(p) ? "{\"reason\":\"max_output_tokens\"}" : "null");
    if (is_over) {
        put_output(p, out);
    }
    put(out, "],\"parallel_tool_calls\":true,\"temperature\":1.0,\"tool_choice\":\"auto\","
             "\"tools\":[],\"top_p\":1.0,\"store\":false,\"usage\":");
    if (!is_over) {
        put(out, "null}");
        return;
    }
    weir_buf_printf(out,
                    "{\"input_tokens\":%zu,\"input_tokens_details\":{\"cached_tokens\":0},"
                    "\"output_tokens\":%zu,\"output_tokens_details\":{\"reasoning_tokens\":%zu},"
                    "\"total_tokens\":%zu}}",
                    p->ask->prompt_tokens, p->completion_tokens,
                    weir_demo_answer_count(p->choices[0].thought),
                    p->ask->prompt_tokens + p->completion_tokens);
}

/* ---- events ---- */

static void begin_event(struct weir_demo_play *p, const char *type, struct weir_buf *out)
{
    weir_buf_printf(out, "{\"type\":\"response.%s\",\"sequence_number\":%llu", type,
                    (unsigned long long)p->n_said++);
}

static unsigned index_of(const struct weir_demo_play *p)
{
    return !is_thought(p) && p->choices[0].has_reasoning ? 1 : 0;
}

/* Where in the answer: of what a channel says, which part of its item. */
static void put_where(const struct weir_demo_play *p, struct weir_buf *out)
{
    weir_buf_printf(out, ",\"item_id\":\"%s_%s\",\"output_index\":%u", prefix_of(p, is_thought(p)),
                    p->id, index_of(p));
    if (is_thought(p)) {
        put(out, ",\"summary_index\":0");
    } else if (!is_call(p)) {
        put(out, ",\"content_index\":0");
    }
}

static void put_response_event(struct weir_demo_play *p, const char *type, struct weir_buf *out)
{
    begin_event(p, type, out);
    put(out, ",\"response\":");
    put_object(p, p->step == ENDING, out);
    weir_buf_append_byte(out, '}');
}

static void put_item_event(struct weir_demo_play *p, bool is_whole, struct weir_buf *out)
{
    begin_event(p, is_whole ? "output_item.done" : "output_item.added", out);
    weir_buf_printf(out, ",\"output_index\":%u,\"item\":", index_of(p));
    put_item(p, is_thought(p), is_whole, out);
    weir_buf_append_byte(out, '}');
}

static void put_part_event(struct weir_demo_play *p, bool is_whole, struct weir_buf *out)
{
    static const char *const types[2][2] = {
        {"content_part.added", "content_part.done"},
        {"reasoning_summary_part.added", "reasoning_summary_part.done"}};
    const struct weir_demo_choice *c = &p->choices[0];
    struct weir_slice text = is_thought(p) ? c->thought : c->whole;
    begin_event(p, types[is_thought(p)][is_whole], out);
    put_where(p, out);
    put(out, ",\"part\":");
    put_part(is_thought(p), is_whole ? text : WEIR_SLICE(""), out);
    weir_buf_append_byte(out, '}');
}

/* A token, or what all of them said. */
static void put_said(struct weir_demo_play *p, bool is_whole, struct weir_slice text,
                     struct weir_buf *out)
{
    static const char *const types[3][2] = {
        {"reasoning_summary_text.delta", "reasoning_summary_text.done"},
        {"function_call_arguments.delta", "function_call_arguments.done"},
        {"output_text.delta", "output_text.done"}};
    size_t kind = is_thought(p) ? 0 : is_call(p) ? 1 : 2;
    begin_event(p, types[kind][is_whole], out);
    put_where(p, out);
    put(out, !is_whole ? ",\"delta\":" : kind == 1 ? ",\"arguments\":" : ",\"text\":");
    weir_json_write_quoted(out, text);
    put(out, kind == 2 ? ",\"logprobs\":[]}" : "}");
}

/* The next token of what is being said, with a pause behind each. False: all is said. */
static bool say_token(struct weir_demo_play *p, enum weir_demo_next *next, struct weir_buf *out)
{
    struct weir_demo_choice *c = &p->choices[0];
    struct weir_slice *from = is_thought(p) ? &c->reasoning : is_call(p) ? &c->arguments : &c->text;
    if (p->has_stopped) {
        p->has_stopped = false;
        *next = WEIR_DEMO_ROUND;
        return true;
    }
    if (from->n == 0) {
        return false;
    }
    put_said(p, false, weir_demo_answer_token(from), out);
    p->has_stopped = true;
    *next = WEIR_DEMO_EVENT;
    return true;
}

/* The step that follows, which has something to say. */
static enum step after(const struct weir_demo_play *p)
{
    enum step next = (enum step)(p->step + 1);
    if (next == THINK && !p->choices[0].has_reasoning) {
        return SAY;
    }
    bool is_of_part = next == SAY_PART || next == SAY_PART_DONE;
    return is_of_part && is_call(p) ? (enum step)(next + 1) : next;
}

static void say_step(struct weir_demo_play *p, struct weir_buf *out)
{
    const struct weir_demo_choice *c = &p->choices[0];
    switch ((enum step)p->step) {
    case CREATED:
        put_response_event(p, "created", out);
        break;
    case IN_PROGRESS:
        put_response_event(p, "in_progress", out);
        break;
    case THINK:
    case SAY:
        put_item_event(p, false, out);
        break;
    case THINK_PART:
    case SAY_PART:
        put_part_event(p, false, out);
        break;
    case THINK_DONE:
    case SAY_DONE:
        put_said(p, true, is_thought(p) ? c->thought : c->whole, out);
        break;
    case THINK_PART_DONE:
    case SAY_PART_DONE:
        put_part_event(p, true, out);
        break;
    case THINK_END:
    case SAY_END:
        put_item_event(p, true, out);
        break;
    case ENDING:
        put_response_event(p, is_cut(p) ? "incomplete" : "completed", out);
        break;
    case THOUGHT:
    case SAID:
    case OVER:
        break;
    }
}

enum weir_demo_next weir_demo_response_next(struct weir_demo_play *p, struct weir_buf *out)
{
    enum weir_demo_next next;
    if (p->step == OVER) {
        return WEIR_DEMO_END;
    }
    if (p->step == THOUGHT || p->step == SAID) {
        if (say_token(p, &next, out)) {
            return next;
        }
        p->step = after(p);
    }
    say_step(p, out);
    p->step = after(p);
    return WEIR_DEMO_EVENT;
}

int weir_demo_response_whole(const struct weir_demo_play *p, struct weir_buf *out)
{
    struct weir_buf whole = {0};
    put_object(p, true, &whole);
    int rc = weir_buf_append(out, weir_buf_slice(&whole));
    weir_buf_dispose(&whole);
    return rc;
}
