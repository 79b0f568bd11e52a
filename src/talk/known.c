#include "talk/known.h"

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
                                      "prompt_filter_results",
                                      "prompt_annotations",
                                      NULL};

const char *const weir_known_prompt_filters[] = {"prompt_filter_results", "prompt_annotations",
                                                 NULL};
const char *const weir_known_filters[] = {"content_filter_results", "content_filter_result",
                                          "content_filter_offsets", NULL};

#define CHOICE                                                                                     \
    "index", "finish_reason", "stop_reason", "logprobs", "token_ids", "prompt_logprobs",           \
        "prompt_token_ids", "content_filter_results", "content_filter_result",                     \
        "content_filter_offsets"

const char *const weir_known_choice[] = {CHOICE, NULL};

const char *const weir_known_body[] = {"role",    "content", "reasoning",  "reasoning_content",
                                       "refusal", "audio",   "tool_calls", "function_call",
                                       NULL};

const char *const weir_known_audio[] = {"id", "expires_at", "transcript", NULL};
const char *const weir_known_call[] = {"index", "id", "type", NULL};
const char *const weir_known_function[] = {"name", "arguments", NULL};
const char *const weir_known_custom[] = {"name", "input", NULL};

const char *const *weir_known_choice_of(bool is_chat)
{
    static const char *const chat[] = {CHOICE, "delta", "message", NULL};
    static const char *const text[] = {CHOICE, "text", NULL};
    return is_chat ? chat : text;
}

bool weir_known_is_among(const struct weir_json *json, uint32_t key, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (weir_json_string_eq(json, key, weir_slice_cstr(*names))) {
            return true;
        }
    }
    return false;
}

static bool is_unknown(const struct weir_json *json, uint32_t key, const char *const *names)
{
    return weir_json_type(json, key + 1) != WEIR_JSON_NULL &&
           !weir_known_is_among(json, key, names);
}

size_t weir_known_count(const struct weir_json *json, uint32_t object, const char *const *names)
{
    size_t n = 0;
    uint32_t key = weir_json_first(json, object);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, object, key)) {
        n += is_unknown(json, key, names);
    }
    return n;
}

void weir_known_write_others(const struct weir_json *json, uint32_t object,
                             const char *const *names, struct weir_buf *out)
{
    uint32_t key = weir_json_first(json, object);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, object, key)) {
        if (is_unknown(json, key, names)) {
            weir_buf_append(out, out->n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
            weir_buf_append(out, weir_json_raw(json, key));
            weir_buf_append_byte(out, ':');
            weir_buf_append(out, weir_json_raw(json, key + 1));
        }
    }
}
