#include "model/demo_play.h"

#include "wire/json_write.h"

#include <stdio.h>

#define MODEL WEIR_SLICE("weir-demo")

/* ---- what each choice says ---- */

/* Up to the first of the stop sequences. */
static struct weir_slice cut_at_stops(const struct weir_demo_ask *ask, struct weir_slice text)
{
    for (size_t i = 0; i < ask->n_stops; i++) {
        struct weir_slice stop = ask->stops[i];
        const char *found = text.n != 0 ? memmem(text.p, text.n, stop.p, stop.n) : NULL;
        text.n = found != NULL ? (size_t)(found - text.p) : text.n;
    }
    return text;
}

/* Takes at most `*left` tokens of a text; false: there were more. */
static bool cut_at_tokens(struct weir_slice *text, uint64_t *left, size_t *n_tokens)
{
    struct weir_slice rest = *text;
    while (rest.n != 0 && *left != 0) {
        weir_demo_answer_token(&rest);
        *left -= 1;
        *n_tokens += 1;
    }
    text->n -= rest.n;
    return rest.n == 0;
}

static void init_choice(struct weir_demo_choice *c, const struct weir_demo_ask *ask, size_t index)
{
    const struct weir_demo_answer *answer = weir_demo_answer_after(ask->answer, index);
    uint64_t left = ask->max_tokens;
    *c = (struct weir_demo_choice){0};
    if (ask->tool_name.n != 0) {
        c->arguments = ask->json_text;
    } else if (ask->json_text.n != 0) {
        c->text = cut_at_stops(ask, ask->json_text);
    } else {
        c->reasoning = weir_slice_cstr(ask->is_chat ? answer->reasoning : NULL);
        c->text = cut_at_stops(ask, weir_slice_cstr(answer->text));
    }
    c->has_reasoning = c->reasoning.n != 0;
    bool is_whole = cut_at_tokens(&c->reasoning, &left, &c->n_tokens);
    is_whole = cut_at_tokens(&c->text, &left, &c->n_tokens) && is_whole;
    is_whole = cut_at_tokens(&c->arguments, &left, &c->n_tokens) && is_whole;
    c->thought = c->reasoning;
    c->whole = ask->tool_name.n != 0 ? c->arguments : c->text;
    c->finish_reason = !is_whole ? "length" : ask->tool_name.n != 0 ? "tool_calls" : "stop";
}

void weir_demo_play_init(struct weir_demo_play *p, const struct weir_demo_ask *ask,
                         struct weir_arena *arena, int64_t now_s)
{
    *p = (struct weir_demo_play){.ask = ask, .created_s = now_s};
    weir_trace_request_id(p->id);
    p->choices = weir_arena_array(arena, ask->n, sizeof *p->choices);
    for (size_t i = 0; i < ask->n; i++) {
        init_choice(&p->choices[i], ask, i);
        p->completion_tokens += p->choices[i].n_tokens;
    }
}

/* ---- shapes ---- */

static void put_string(struct weir_json_write *w, const char *name, struct weir_slice value)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_string(w, value);
}

static void put_null(struct weir_json_write *w, const char *name)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_null(w);
}

static void put_number(struct weir_json_write *w, const char *name, uint64_t value)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_u64(w, value);
}

/* "chatcmpl-…" */
static void put_id(struct weir_json_write *w, const struct weir_demo_play *p, const char *prefix)
{
    char id[sizeof p->id + 16];
    snprintf(id, sizeof id, "%s%s", prefix, p->id);
    put_string(w, "id", weir_slice_cstr(id));
}

/* What every object has before its choices. */
static void begin(struct weir_json_write *w, const struct weir_demo_play *p, const char *object)
{
    weir_json_write_begin_object(w);
    put_id(w, p, p->ask->is_chat ? "chatcmpl-" : "cmpl-");
    put_string(w, "object", weir_slice_cstr(object));
    weir_json_write_key(w, WEIR_SLICE("created"));
    weir_json_write_i64(w, p->created_s);
    put_string(w, "model", MODEL);
    put_string(w, "system_fingerprint", MODEL);
    weir_json_write_key(w, WEIR_SLICE("choices"));
    weir_json_write_begin_array(w);
}

static void put_usage(struct weir_json_write *w, const struct weir_demo_play *p)
{
    weir_json_write_key(w, WEIR_SLICE("usage"));
    weir_json_write_begin_object(w);
    put_number(w, "prompt_tokens", p->ask->prompt_tokens);
    put_number(w, "completion_tokens", p->completion_tokens);
    put_number(w, "total_tokens", p->ask->prompt_tokens + p->completion_tokens);
    weir_json_write_end_object(w);
}

static void end_choice(struct weir_json_write *w, const char *finish_reason)
{
    put_null(w, "logprobs");
    if (finish_reason != NULL) {
        put_string(w, "finish_reason", weir_slice_cstr(finish_reason));
    } else {
        put_null(w, "finish_reason");
    }
    weir_json_write_end_object(w);
}

/* A tool call; in a stream only its first event has the head. Every choice calls by an id of its
 * own: the answer's, the choice's number before it. */
static void put_call(struct weir_json_write *w, const struct weir_demo_play *p, size_t choice,
                     struct weir_slice arguments, bool is_delta)
{
    bool is_head = !is_delta || !p->choices[choice].is_begun;
    weir_json_write_key(w, WEIR_SLICE("tool_calls"));
    weir_json_write_begin_array(w);
    weir_json_write_begin_object(w);
    if (is_delta) {
        put_number(w, "index", 0);
    }
    if (is_head) {
        char prefix[16];
        snprintf(prefix, sizeof prefix, "call_%zu_", choice);
        put_id(w, p, prefix);
        put_string(w, "type", WEIR_SLICE("function"));
    }
    weir_json_write_key(w, WEIR_SLICE("function"));
    weir_json_write_begin_object(w);
    if (is_head) {
        weir_json_write_key(w, WEIR_SLICE("name"));
        weir_json_write_raw(w, p->ask->tool_name);
    }
    put_string(w, "arguments", arguments);
    weir_json_write_end_object(w);
    weir_json_write_end_object(w);
    weir_json_write_end_array(w);
}

/* ---- streams ---- */

/* The next token of a choice, named as its member is; false: it has said all. */
static bool next_token(struct weir_demo_choice *c, const char **name, struct weir_slice *token)
{
    struct weir_slice *from = NULL;
    if (c->reasoning.n != 0) {
        *name = "reasoning_content";
        from = &c->reasoning;
    } else if (c->text.n != 0) {
        *name = "content";
        from = &c->text;
    } else if (c->arguments.n != 0) {
        *name = NULL;
        from = &c->arguments;
    }
    *token = from != NULL ? weir_demo_answer_token(from) : WEIR_SLICE("");
    return from != NULL;
}

static void put_first_delta(struct weir_json_write *w, const struct weir_demo_play *p, size_t index)
{
    put_string(w, "role", WEIR_SLICE("assistant"));
    if (p->ask->tool_name.n != 0) {
        put_null(w, "content");
        put_call(w, p, index, WEIR_SLICE(""), true);
    } else {
        put_string(w, "content", WEIR_SLICE(""));
    }
}

static void put_chat_delta(struct weir_json_write *w, struct weir_demo_play *p, size_t index)
{
    struct weir_demo_choice *c = &p->choices[index];
    const char *name;
    struct weir_slice token;
    weir_json_write_key(w, WEIR_SLICE("delta"));
    weir_json_write_begin_object(w);
    if (!c->is_begun) {
        put_first_delta(w, p, index);
    } else if (!next_token(c, &name, &token)) {
        c->is_ended = true;
    } else if (name != NULL) {
        put_string(w, name, token);
    } else {
        put_call(w, p, index, token, true);
    }
    c->is_begun = true;
    weir_json_write_end_object(w);
}

static void put_text_delta(struct weir_json_write *w, struct weir_demo_choice *c)
{
    const char *name;
    struct weir_slice token;
    c->is_ended = !next_token(c, &name, &token);
    put_string(w, "text", token);
}

static void end_event(struct weir_json_write *w, const struct weir_demo_play *p, bool is_usage)
{
    weir_json_write_end_array(w);
    if (is_usage) {
        put_usage(w, p);
    } else if (p->ask->wants_usage) {
        put_null(w, "usage");
    }
    weir_json_write_end_object(w);
    weir_json_write_finish(w);
}

static const char *event_object(const struct weir_demo_play *p)
{
    return p->ask->is_chat ? "chat.completion.chunk" : "text_completion";
}

static void write_event(struct weir_demo_play *p, size_t index, struct weir_buf *out)
{
    struct weir_demo_choice *c = &p->choices[index];
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    begin(&w, p, event_object(p));
    weir_json_write_begin_object(&w);
    put_number(&w, "index", index);
    if (p->ask->is_chat) {
        put_chat_delta(&w, p, index);
    } else {
        put_text_delta(&w, c);
    }
    end_choice(&w, c->is_ended ? c->finish_reason : NULL);
    end_event(&w, p, false);
    p->n_ended += c->is_ended;
}

enum weir_demo_next weir_demo_play_next(struct weir_demo_play *p, struct weir_buf *out)
{
    if (p->ask->is_messages) {
        return weir_demo_message_next(p, out);
    }
    if (p->ask->is_responses) {
        return weir_demo_response_next(p, out);
    }
    while (p->at < p->ask->n && p->choices[p->at].is_ended) {
        p->at++;
    }
    if (p->at < p->ask->n) {
        write_event(p, p->at++, out);
        return WEIR_DEMO_EVENT;
    }
    if (p->n_ended < p->ask->n) {
        p->at = 0;
        return WEIR_DEMO_ROUND;
    }
    if (!p->ask->wants_usage || p->has_usage_said) {
        return WEIR_DEMO_END;
    }
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    begin(&w, p, event_object(p));
    end_event(&w, p, true);
    p->has_usage_said = true;
    return WEIR_DEMO_EVENT;
}

/* ---- whole answers ---- */

static void put_message(struct weir_json_write *w, const struct weir_demo_play *p, size_t index)
{
    const struct weir_demo_choice *c = &p->choices[index];
    weir_json_write_key(w, WEIR_SLICE("message"));
    weir_json_write_begin_object(w);
    put_string(w, "role", WEIR_SLICE("assistant"));
    if (p->ask->tool_name.n != 0) {
        put_null(w, "content");
    } else {
        put_string(w, "content", c->text);
    }
    put_null(w, "refusal");
    if (c->has_reasoning) {
        put_string(w, "reasoning_content", c->reasoning);
    }
    if (p->ask->tool_name.n != 0) {
        put_call(w, p, index, c->arguments, false);
    }
    weir_json_write_end_object(w);
}

int weir_demo_play_whole(const struct weir_demo_play *p, struct weir_buf *out)
{
    struct weir_json_write w;
    if (p->ask->is_messages) {
        return weir_demo_message_whole(p, out);
    }
    if (p->ask->is_responses) {
        return weir_demo_response_whole(p, out);
    }
    weir_json_write_init(&w, out);
    begin(&w, p, p->ask->is_chat ? "chat.completion" : "text_completion");
    for (size_t i = 0; i < p->ask->n; i++) {
        weir_json_write_begin_object(&w);
        put_number(&w, "index", i);
        if (p->ask->is_chat) {
            put_message(&w, p, i);
        } else {
            put_string(&w, "text", p->choices[i].text);
        }
        end_choice(&w, p->choices[i].finish_reason);
    }
    weir_json_write_end_array(&w);
    put_usage(&w, p);
    weir_json_write_end_object(&w);
    return weir_json_write_finish(&w);
}

void weir_demo_play_models(struct weir_buf *out)
{
    weir_buf_append(out, WEIR_SLICE("{\"object\":\"list\",\"data\":[{\"id\":\"weir-demo\","
                                    "\"object\":\"model\",\"created\":1704067200,"
                                    "\"owned_by\":\"weir\"}]}"));
}
