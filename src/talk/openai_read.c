/*
 * OpenAI's chat completions and completions: one choice of an event or an answer. Whatever can
 * carry text is a channel or a tool call and is a string, or the answer is refused: what is not a
 * string cannot be checked. Members nobody here knows are counted.
 */
#include "base/err.h"
#include "talk/known.h"
#include "talk/openai.h"

/* Finds a string. A value that is not one cannot be checked, and is refused. */
static int read_text(const struct weir_json *json, uint32_t object, struct weir_slice name,
                     uint32_t *out)
{
    uint32_t at = weir_json_get_set(json, object, name);
    *out = WEIR_JSON_NONE;
    if (at == WEIR_JSON_NONE) {
        return 0;
    }
    if (weir_json_type(json, at) != WEIR_JSON_STRING) {
        return WEIR_EPEER;
    }
    if (json->nodes[at].n != 0) {
        *out = at;
    }
    return 0;
}

static int read_audio(struct weir_delta *d)
{
    const struct weir_json *json = d->json;
    d->audio = weir_json_get_set(json, d->body, WEIR_SLICE("audio"));
    if (d->audio == WEIR_JSON_NONE) {
        return 0;
    }
    if (weir_json_type(json, d->audio) != WEIR_JSON_OBJECT) {
        return WEIR_EPEER;
    }
    d->n_unknown += weir_known_count(json, d->audio, weir_known_audio);
    return read_text(json, d->audio, WEIR_SLICE("transcript"), &d->texts[WEIR_CHANNEL_TRANSCRIPT]);
}

/* What a call says: strings, or it cannot be checked. */
static int read_words(struct weir_delta *d, uint32_t at, const char *const *names)
{
    if (weir_json_type(d->json, at) != WEIR_JSON_OBJECT) {
        return WEIR_EPEER;
    }
    d->n_unknown_in_calls += weir_known_count(d->json, at, names);
    for (; *names != NULL; names++) {
        uint32_t word;
        if (read_text(d->json, at, weir_slice_cstr(*names), &word) != 0) {
            return WEIR_EPEER;
        }
    }
    return 0;
}

static int read_call(struct weir_delta *d, uint32_t call)
{
    const struct weir_json *json = d->json;
    if (weir_json_type(json, call) != WEIR_JSON_OBJECT) {
        return WEIR_EPEER;
    }
    uint32_t function = weir_json_get_set(json, call, WEIR_SLICE("function"));
    uint32_t custom = weir_json_get_set(json, call, WEIR_SLICE("custom"));
    bool has_function = function != WEIR_JSON_NONE;
    bool has_custom = custom != WEIR_JSON_NONE;
    d->n_unknown_in_calls +=
        weir_known_count(json, call, weir_known_call) - has_function - has_custom;
    if (has_function && read_words(d, function, weir_known_function) != 0) {
        return WEIR_EPEER;
    }
    return has_custom ? read_words(d, custom, weir_known_custom) : 0;
}

static int read_calls(struct weir_delta *d)
{
    const struct weir_json *json = d->json;
    d->tool_calls = weir_json_get_set(json, d->body, WEIR_SLICE("tool_calls"));
    d->function_call = weir_json_get_set(json, d->body, WEIR_SLICE("function_call"));
    bool has_calls = d->tool_calls != WEIR_JSON_NONE;
    if (has_calls && weir_json_type(json, d->tool_calls) != WEIR_JSON_ARRAY) {
        return WEIR_EPEER;
    }
    if (has_calls && json->nodes[d->tool_calls].n == 0) {
        d->tool_calls = WEIR_JSON_NONE;
    }
    uint32_t at =
        d->tool_calls != WEIR_JSON_NONE ? weir_json_first(json, d->tool_calls) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, d->tool_calls, at)) {
        if (read_call(d, at) != 0) {
            return WEIR_EPEER;
        }
    }
    bool has_call = d->function_call != WEIR_JSON_NONE;
    return has_call ? read_words(d, d->function_call, weir_known_function) : 0;
}

static int read_message(struct weir_delta *d)
{
    for (size_t i = 0; i < WEIR_CHANNEL_TRANSCRIPT; i++) {
        struct weir_slice name = weir_slice_cstr(weir_channel_name((enum weir_channel)i));
        if (read_text(d->json, d->body, name, &d->texts[i]) != 0) {
            return WEIR_EPEER;
        }
    }
    d->n_unknown += weir_known_count(d->json, d->body, weir_known_body);
    return read_audio(d) != 0 || read_calls(d) != 0 ? WEIR_EPEER : 0;
}

/* "" says as little as null. */
static uint32_t get_said(const struct weir_json *json, uint32_t object, struct weir_slice name)
{
    uint32_t at = weir_json_get_set(json, object, name);
    bool is_empty = at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_STRING &&
                    json->nodes[at].n == 0;
    return is_empty ? WEIR_JSON_NONE : at;
}

static void begin(struct weir_delta *d, const struct weir_json *json, uint32_t choice)
{
    *d = (struct weir_delta){.json = json,
                             .choice = choice,
                             .body = WEIR_JSON_NONE,
                             .audio = WEIR_JSON_NONE,
                             .tool_calls = WEIR_JSON_NONE,
                             .function_call = WEIR_JSON_NONE,
                             .finish = WEIR_JSON_NONE,
                             .stop_reason = WEIR_JSON_NONE,
                             .logprobs = WEIR_JSON_NONE};
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        d->texts[i] = WEIR_JSON_NONE;
    }
}

/* What every choice has, whatever its body is called. */
static int read_choice(const struct weir_json *json, uint32_t choice, struct weir_slice body_name,
                       struct weir_delta *d, const char **why)
{
    begin(d, json, choice);
    if (weir_json_type(json, choice) != WEIR_JSON_OBJECT) {
        *why = "a choice is not an object";
        return WEIR_EPEER;
    }
    uint32_t index = weir_json_get_set(json, choice, WEIR_SLICE("index"));
    if (index != WEIR_JSON_NONE && weir_json_u64(json, index, &d->place) != 0) {
        *why = "a choice's index is not a whole number";
        return WEIR_EPEER;
    }
    *why = "a choice says something that is not a string and cannot be checked";
    d->finish = get_said(json, choice, WEIR_SLICE("finish_reason"));
    d->stop_reason = get_said(json, choice, WEIR_SLICE("stop_reason"));
    d->logprobs = weir_json_get_set(json, choice, WEIR_SLICE("logprobs"));
    d->body = weir_json_get_set(json, choice, body_name);
    d->n_unknown = weir_known_count(json, choice, weir_known_choice) - (d->body != WEIR_JSON_NONE);
    return 0;
}

static int read_chat(const struct weir_json *json, uint32_t choice, enum weir_talk_form form,
                     struct weir_delta *d, const char **why)
{
    bool is_event = form == WEIR_TALK_EVENT;
    int rc =
        read_choice(json, choice, is_event ? WEIR_SLICE("delta") : WEIR_SLICE("message"), d, why);
    if (rc != 0 || (d->body == WEIR_JSON_NONE && is_event)) {
        return rc;
    }
    if (d->body == WEIR_JSON_NONE) {
        *why = "a choice has no message";
        return WEIR_EPEER;
    }
    return weir_json_type(json, d->body) == WEIR_JSON_OBJECT ? read_message(d) : WEIR_EPEER;
}

static int read_completion(const struct weir_json *json, uint32_t choice, enum weir_talk_form form,
                           struct weir_delta *d, const char **why)
{
    (void)form;
    int rc = read_choice(json, choice, WEIR_SLICE("text"), d, why);
    if (rc != 0) {
        return rc;
    }
    d->body = choice;
    return read_text(json, choice, WEIR_SLICE("text"), &d->texts[WEIR_CHANNEL_CONTENT]);
}

const struct weir_dialect weir_openai_chat = {
    .name = "chat",
    .has_messages = true,
    .read = read_chat,
    .write_event = weir_openai_write_event,
    .write_usage = weir_openai_write_answer,
    .write_answer = weir_openai_write_answer,
    .write_choice = weir_openai_write_choice,
};

const struct weir_dialect weir_openai_completions = {
    .name = "completions",
    .read = read_completion,
    .write_event = weir_openai_write_event_of_text,
    .write_usage = weir_openai_write_answer,
    .write_answer = weir_openai_write_answer,
    .write_choice = weir_openai_write_choice_of_text,
};
