#include "task/known.h"

#include "base/err.h"

const char *const weir_known_top[] = {"id",
                                      "object",
                                      "created",
                                      "model",
                                      "choices",
                                      "usage",
                                      "system_fingerprint",
                                      "service_tier",
                                      "prompt_logprobs",
                                      "prompt_token_ids",
                                      NULL};

/* `message`, `delta` and `text` are written by who knows what may leave. */
const char *const weir_known_choice[] = {
    "index",     "finish_reason",   "stop_reason",      "logprobs",
    "token_ids", "prompt_logprobs", "prompt_token_ids", NULL};

const char *const weir_known_body[] = {"role",    "content", "reasoning",  "reasoning_content",
                                       "refusal", "audio",   "tool_calls", "function_call",
                                       NULL};

const char *const weir_known_audio[] = {"id", "expires_at", "transcript", NULL};
const char *const weir_known_call[] = {"index", "id", "type", NULL};
const char *const weir_known_function[] = {"name", "arguments", NULL};
const char *const weir_known_custom[] = {"name", "input", NULL};

bool weir_known_is_among(const struct weir_json *json, uint32_t key, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (weir_json_string_eq(json, key, weir_slice_cstr(*names))) {
            return true;
        }
    }
    return false;
}

/* null says nothing, whatever its name. */
static size_t count_unknown(const struct weir_json *json, uint32_t object, const char *const *names)
{
    size_t n = 0;
    uint32_t key = weir_json_first(json, object);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, object, key)) {
        bool is_null = weir_json_type(json, key + 1) == WEIR_JSON_NULL;
        n += !is_null && !weir_known_is_among(json, key, names);
    }
    return n;
}

size_t weir_known_count_top(const struct weir_json *json)
{
    return count_unknown(json, 0, weir_known_top);
}

/* ---- reading ---- */

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

static int read_audio(struct weir_known *k)
{
    const struct weir_json *json = k->json;
    k->audio = weir_json_get_set(json, k->body, WEIR_SLICE("audio"));
    if (k->audio == WEIR_JSON_NONE) {
        return 0;
    }
    if (weir_json_type(json, k->audio) != WEIR_JSON_OBJECT) {
        return WEIR_EPEER;
    }
    k->n_unknown += count_unknown(json, k->audio, weir_known_audio);
    return read_text(json, k->audio, WEIR_SLICE("transcript"), &k->texts[WEIR_CHANNEL_TRANSCRIPT]);
}

/* What a call says: strings, or it cannot be checked. */
static int read_words(struct weir_known *k, uint32_t at, const char *const *names)
{
    const struct weir_json *json = k->json;
    if (weir_json_type(json, at) != WEIR_JSON_OBJECT) {
        return WEIR_EPEER;
    }
    k->n_unknown_in_calls += count_unknown(json, at, names);
    for (; *names != NULL; names++) {
        uint32_t word;
        if (read_text(json, at, weir_slice_cstr(*names), &word) != 0) {
            return WEIR_EPEER;
        }
    }
    return 0;
}

static int read_call(struct weir_known *k, uint32_t call)
{
    const struct weir_json *json = k->json;
    if (weir_json_type(json, call) != WEIR_JSON_OBJECT) {
        return WEIR_EPEER;
    }
    uint32_t function = weir_json_get_set(json, call, WEIR_SLICE("function"));
    uint32_t custom = weir_json_get_set(json, call, WEIR_SLICE("custom"));
    bool has_function = function != WEIR_JSON_NONE;
    bool has_custom = custom != WEIR_JSON_NONE;
    k->n_unknown_in_calls += count_unknown(json, call, weir_known_call) - has_function - has_custom;
    if (has_function && read_words(k, function, weir_known_function) != 0) {
        return WEIR_EPEER;
    }
    return has_custom ? read_words(k, custom, weir_known_custom) : 0;
}

static int read_calls(struct weir_known *k)
{
    const struct weir_json *json = k->json;
    k->tool_calls = weir_json_get_set(json, k->body, WEIR_SLICE("tool_calls"));
    k->function_call = weir_json_get_set(json, k->body, WEIR_SLICE("function_call"));
    bool has_calls = k->tool_calls != WEIR_JSON_NONE;
    if (has_calls && weir_json_type(json, k->tool_calls) != WEIR_JSON_ARRAY) {
        return WEIR_EPEER;
    }
    if (has_calls && json->nodes[k->tool_calls].n == 0) {
        k->tool_calls = WEIR_JSON_NONE;
    }
    uint32_t at =
        k->tool_calls != WEIR_JSON_NONE ? weir_json_first(json, k->tool_calls) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, k->tool_calls, at)) {
        if (read_call(k, at) != 0) {
            return WEIR_EPEER;
        }
    }
    bool has_call = k->function_call != WEIR_JSON_NONE;
    return has_call ? read_words(k, k->function_call, weir_known_function) : 0;
}

static int read_message(struct weir_known *k)
{
    const struct weir_json *json = k->json;
    for (size_t i = 0; i < WEIR_CHANNEL_TRANSCRIPT; i++) {
        struct weir_slice name = weir_slice_cstr(weir_channel_name((enum weir_channel)i));
        if (read_text(json, k->body, name, &k->texts[i]) != 0) {
            return WEIR_EPEER;
        }
    }
    k->n_unknown += count_unknown(json, k->body, weir_known_body);
    return read_audio(k) != 0 || read_calls(k) != 0 ? WEIR_EPEER : 0;
}

int weir_known_read(const struct weir_json *json, uint32_t choice, struct weir_slice body_name,
                    struct weir_known *k, const char **why)
{
    *k = (struct weir_known){.json = json,
                             .choice = choice,
                             .body = WEIR_JSON_NONE,
                             .audio = WEIR_JSON_NONE,
                             .tool_calls = WEIR_JSON_NONE,
                             .function_call = WEIR_JSON_NONE};
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        k->texts[i] = WEIR_JSON_NONE;
    }
    if (weir_json_type(json, choice) != WEIR_JSON_OBJECT) {
        *why = "a choice is not an object";
        return WEIR_EPEER;
    }
    uint32_t index = weir_json_get_set(json, choice, WEIR_SLICE("index"));
    if (index != WEIR_JSON_NONE && weir_json_u64(json, index, &k->index) != 0) {
        *why = "a choice's index is not a whole number";
        return WEIR_EPEER;
    }
    *why = "a choice says something that is not a string and cannot be checked";
    uint32_t finish = weir_json_get_set(json, choice, WEIR_SLICE("finish_reason"));
    k->has_finish = finish != WEIR_JSON_NONE && json->nodes[finish].n != 0;
    k->n_unknown = count_unknown(json, choice, weir_known_choice);
    k->body = weir_json_get_set(json, choice, body_name);
    k->n_unknown -= k->body != WEIR_JSON_NONE;
    if (weir_slice_eq(body_name, WEIR_SLICE("text"))) {
        k->body = choice;
        return read_text(json, choice, body_name, &k->texts[WEIR_CHANNEL_CONTENT]);
    }
    if (k->body == WEIR_JSON_NONE) {
        return 0;
    }
    return weir_json_type(json, k->body) == WEIR_JSON_OBJECT ? read_message(k) : WEIR_EPEER;
}

/* ---- writing ---- */

static const struct weir_known_member *change_of(const struct weir_json *json, uint32_t key,
                                                 const struct weir_known_rules *rules)
{
    for (size_t i = 0; i < rules->n_changes; i++) {
        if (weir_json_string_eq(json, key, rules->changes[i].name)) {
            return &rules->changes[i];
        }
    }
    return NULL;
}

static void write_member(struct weir_json_write *w, struct weir_slice name, struct weir_slice json)
{
    if (json.n != 0) {
        weir_json_write_key(w, name);
        weir_json_write_raw(w, json);
    }
}

void weir_known_write(struct weir_json_write *w, const struct weir_json *json, uint32_t object,
                      const struct weir_known_rules *rules)
{
    uint32_t key = weir_json_first(json, object);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, object, key)) {
        const struct weir_known_member *change = change_of(json, key, rules);
        if (change != NULL) {
            write_member(w, change->name, change->json);
        } else if (rules->keeps_unknown || weir_known_is_among(json, key, rules->names)) {
            weir_json_write_key_raw(w, weir_json_raw(json, key));
            weir_json_write_node(w, json, key + 1);
        }
    }
    for (size_t i = 0; i < rules->n_changes; i++) {
        if (weir_json_get(json, object, rules->changes[i].name) == WEIR_JSON_NONE) {
            write_member(w, rules->changes[i].name, rules->changes[i].json);
        }
    }
}
