/*
 * The members of OpenAI's chat completions and completions, with those that vLLM, llama.cpp and the
 * gateways around them have added. A member that is missing here is looked at as JSON that nobody
 * knows: it is safe to be behind, and an entry is worth it where replacing would do harm or where
 * there is nothing to look at.
 */
#include "talk/walk_tables.h"

enum {
    DEFINITION = WEIR_HOLE_DEFINITIONS,
};

/* ---- content in parts ---- */

static const struct weir_walk_member cache_control_members[] = {
    M("type", WORD, .words = WORDS("ephemeral")),
    M("ttl", WORD, .words = WORDS("5m", "1h")),
    END,
};
const struct weir_walk_object weir_walk__cache_control = {.members = cache_control_members};

static const struct weir_walk_member image_members[] = {
    M("url", URL, .holes = WEIR_HOLE_IMAGES),
    M("detail", WORD, .words = WORDS("auto", "low", "high", "original")),
    END,
};
OBJECT(image);

static const struct weir_walk_member sound_url_members[] = {
    M("url", URL, .holes = WEIR_HOLE_AUDIO),
    END,
};
OBJECT(sound_url);

static const struct weir_walk_member sound_members[] = {
    M("data", DATA, .holes = WEIR_HOLE_AUDIO),
    M("format", WORD, .words = WORDS("wav", "mp3", "flac", "opus", "pcm16", "aac", "ogg")),
    END,
};
OBJECT(sound);

static const struct weir_walk_member file_members[] = {
    M("file_data", DATA, .holes = WEIR_HOLE_FILES),
    M("file_id", URL, .holes = WEIR_HOLE_FILES),
    M("file_url", URL, .holes = WEIR_HOLE_FILES),
    M("filename", TEXT),
    END,
};
OBJECT(file);

static const struct weir_walk_member part_members[] = {
    M("type", WORD,
      .words = WORDS("text", "image_url", "input_audio", "file", "refusal", "input_text",
                     "output_text", "input_image", "input_file", "audio_url", "video_url",
                     "image_embeds", "audio_embeds", "thinking", "redacted_thinking")),
    M("text", CONTENT),
    M("refusal", CONTENT),
    M("thinking", CONTENT),
    M("image_url", URL, .holes = WEIR_HOLE_IMAGES),
    M("image_url", OBJECT, .object = &image),
    M("input_image", URL, .holes = WEIR_HOLE_IMAGES),
    M("input_image", OBJECT, .object = &image),
    M("video_url", URL, .holes = WEIR_HOLE_IMAGES),
    M("video_url", OBJECT, .object = &image),
    M("audio_url", URL, .holes = WEIR_HOLE_AUDIO),
    M("audio_url", OBJECT, .object = &sound_url),
    M("input_audio", OBJECT, .object = &sound),
    M("file", OBJECT, .object = &file),
    M("image_embeds", EMBEDS, .holes = WEIR_HOLE_IMAGES),
    M("audio_embeds", EMBEDS, .holes = WEIR_HOLE_AUDIO),
    M("detail", WORD, .words = WORDS("auto", "low", "high", "original")),
    M("uuid", ID),
    M("data", SEALED),
    M("signature", SEALED),
    M("encrypted_content", SEALED),
    M("cache_control", OBJECT, .object = &weir_walk__cache_control),
    END,
};
OBJECT(part);

/* ---- messages ---- */

static const struct weir_walk_member google_members[] = {
    M("thought_signature", SEALED),
    END,
};
OBJECT(google);

static const struct weir_walk_member extra_content_members[] = {
    M("google", OBJECT, .object = &google),
    END,
};
OBJECT(extra_content);

static const struct weir_walk_member called_members[] = {
    M("name", NAME),
    M("arguments", ARGUMENTS),
    M("thought_signature", SEALED),
    END,
};
OBJECT(called);

static const struct weir_walk_member called_custom_members[] = {
    M("name", NAME),
    M("input", ARGUMENTS),
    END,
};
OBJECT(called_custom);

static const struct weir_walk_member call_members[] = {
    M("id", CALL_ID),
    M("type", WORD, .words = WORDS("function", "custom")),
    M("index", NUMBER),
    M("function", OBJECT, .object = &called),
    M("custom", OBJECT, .object = &called_custom),
    M("extra_content", OBJECT, .object = &extra_content),
    M("thought_signature", SEALED),
    END,
};
OBJECT(call);

static const struct weir_walk_member spoken_members[] = {
    M("id", ID),
    M("expires_at", NUMBER),
    M("data", DATA, .holes = WEIR_HOLE_AUDIO),
    M("transcript", TEXT),
    END,
};
OBJECT(spoken);

static const struct weir_walk_member reasoning_detail_members[] = {
    M("type", WORD, .words = WORDS("reasoning.text", "reasoning.summary", "reasoning.encrypted")),
    M("text", TEXT),
    M("summary", TEXT),
    M("data", SEALED),
    M("signature", SEALED),
    M("id", ID),
    M("format", ID),
    M("index", NUMBER),
    END,
};
OBJECT(reasoning_detail);

static const struct weir_walk_member message_members[] = {
    M("role", ROLE),
    M("content", CONTENT),
    M("content", PARTS, .object = &part),
    M("name", NAME),
    M("refusal", TEXT),
    M("reasoning", TEXT),
    M("reasoning_content", TEXT),
    M("reasoning_details", OBJECTS, .object = &reasoning_detail),
    M("tool_calls", OBJECTS, .object = &call),
    M("function_call", OBJECT, .object = &called),
    M("tool_call_id", CALL_ID),
    M("audio", OBJECT, .object = &spoken),
    M("prefix", BOOL),
    M("weight", NUMBER),
    M("encrypted_content", SEALED),
    M("signature", SEALED),
    M("extra_content", OBJECT, .object = &extra_content),
    M("cache_control", OBJECT, .object = &weir_walk__cache_control),
    END,
};
OBJECT(message);

/* ---- definitions ---- */

static const struct weir_walk_member function_members[] = {
    M("name", NAME), M("description", TEXT), M("parameters", SCHEMA), M("strict", BOOL), END,
};
OBJECT(function);

static const struct weir_walk_member grammar_members[] = {
    M("syntax", WORD, .words = WORDS("lark", "regex")),
    M("definition", NAME),
    END,
};
OBJECT(grammar);

static const struct weir_walk_member custom_format_members[] = {
    M("type", WORD, .words = WORDS("text", "grammar")),
    M("grammar", OBJECT, .object = &grammar),
    END,
};
OBJECT(custom_format);

static const struct weir_walk_member custom_members[] = {
    M("name", NAME),
    M("description", TEXT),
    M("format", OBJECT, .object = &custom_format),
    END,
};
OBJECT(custom);

static const struct weir_walk_member tool_members[] = {
    M("type", WORD, .words = WORDS("function", "custom")),
    M("function", OBJECT, .object = &function),
    M("custom", OBJECT, .object = &custom),
    M("cache_control", OBJECT, .object = &weir_walk__cache_control),
    END,
};
OBJECT(tool);

static const struct weir_walk_member named_members[] = {
    M("name", NAME),
    END,
};
OBJECT(named);

static const struct weir_walk_member allowed_tool_members[] = {
    M("type", WORD, .words = WORDS("function", "custom")),
    M("function", OBJECT, .object = &named),
    M("custom", OBJECT, .object = &named),
    END,
};
OBJECT(allowed_tool);

static const struct weir_walk_member allowed_tools_members[] = {
    M("mode", WORD, .words = WORDS("auto", "required")),
    M("tools", OBJECTS, .object = &allowed_tool),
    END,
};
OBJECT(allowed_tools);

static const struct weir_walk_member tool_choice_members[] = {
    M("type", WORD, .words = WORDS("function", "custom", "allowed_tools")),
    M("function", OBJECT, .object = &named),
    M("custom", OBJECT, .object = &named),
    M("allowed_tools", OBJECT, .object = &allowed_tools),
    END,
};
OBJECT(tool_choice);

static const struct weir_walk_member json_schema_members[] = {
    M("name", NAME), M("description", TEXT), M("schema", SCHEMA), M("strict", BOOL), END,
};
OBJECT(json_schema);

static const struct weir_walk_member response_format_members[] = {
    M("type", WORD, .words = WORDS("text", "json_object", "json_schema", "structural_tag")),
    M("json_schema", OBJECT, .object = &json_schema),
    M("schema", SCHEMA),
    END,
};
OBJECT(response_format);

static const struct weir_walk_member structured_members[] = {
    M("json", SCHEMA),
    M("regex", NAME),
    M("choice", NAMES),
    M("grammar", NAME),
    M("json_object", BOOL),
    M("disable_fallback", BOOL),
    M("disable_any_whitespace", BOOL),
    M("disable_additional_properties", BOOL),
    M("whitespace_pattern", NAME),
    END,
};
const struct weir_walk_object weir_walk__structured = {.members = structured_members};

/* ---- other members of the top ---- */

static const struct weir_walk_member stream_options_members[] = {
    M("include_usage", BOOL),
    M("include_obfuscation", BOOL),
    M("continuous_usage_stats", BOOL),
    M("batching", OURS),
    END,
};
OBJECT(stream_options);

static const struct weir_walk_member voice_members[] = {
    M("id", ID),
    END,
};
OBJECT(voice);

static const struct weir_walk_member audio_members[] = {
    M("format", WORD, .words = WORDS("wav", "mp3", "flac", "opus", "pcm16", "aac")),
    M("voice", ID),
    M("voice", OBJECT, .object = &voice),
    END,
};
OBJECT(audio);

static const struct weir_walk_member prediction_members[] = {
    M("type", WORD, .words = WORDS("content")),
    M("content", CONTENT),
    M("content", PARTS, .object = &part),
    END,
};
OBJECT(prediction);

static const struct weir_walk_member approximate_members[] = {
    M("city", TEXT), M("country", TEXT), M("region", TEXT), M("timezone", TEXT), END,
};
OBJECT(approximate);

static const struct weir_walk_member location_members[] = {
    M("type", WORD, .words = WORDS("approximate")),
    M("approximate", OBJECT, .object = &approximate),
    END,
};
OBJECT(location);

static const struct weir_walk_member search_members[] = {
    M("search_context_size", WORD, .words = WORDS("low", "medium", "high")),
    M("user_location", OBJECT, .object = &location),
    END,
};
OBJECT(search);

static const struct weir_walk_member reasoning_members[] = {
    M("effort", WORD, .words = EFFORTS),
    M("summary", WORD, .words = WORDS("auto", "concise", "detailed")),
    M("max_tokens", NUMBER),
    M("exclude", BOOL),
    M("enabled", BOOL),
    END,
};
OBJECT(reasoning);

/* What both endpoints have. */
#define COMMON                                                                                     \
    M("model", ID), M("detectors", OURS), M("stream", BOOL),                                       \
        M("stream_options", OBJECT, .object = &stream_options), M("user", TEXT), M("stop", NAMES), \
        M("seed", NUMBER), M("n", NUMBER), M("temperature", NUMBER), M("top_p", NUMBER),           \
        M("max_tokens", NUMBER), M("frequency_penalty", NUMBER), M("presence_penalty", NUMBER),    \
        M("logit_bias", NUMBERS), M("best_of", NUMBER), M("use_beam_search", BOOL),                \
        M("top_k", NUMBER), M("min_p", NUMBER), M("repetition_penalty", NUMBER),                   \
        M("length_penalty", NUMBER), M("stop_token_ids", NUMBERS),                                 \
        M("include_stop_str_in_output", BOOL), M("ignore_eos", BOOL), M("min_tokens", NUMBER),     \
        M("skip_special_tokens", BOOL), M("spaces_between_special_tokens", BOOL),                  \
        M("truncate_prompt_tokens", NUMBER), M("prompt_logprobs", NUMBER),                         \
        M("allowed_token_ids", NUMBERS), M("echo", BOOL), M("add_special_tokens", BOOL),           \
        M("priority", NUMBER), M("request_id", ID), M("cache_salt", ID),                           \
        M("return_tokens_as_token_ids", BOOL), M("return_token_ids", BOOL),                        \
        M("cache_prompt", BOOL), M("id_slot", NUMBER),                                             \
        M("response_format", OBJECT, .object = &response_format, .holes = DEFINITION),             \
        M("guided_json", SCHEMA, .holes = DEFINITION),                                             \
        M("guided_regex", NAME, .holes = DEFINITION),                                              \
        M("guided_choice", NAMES, .holes = DEFINITION),                                            \
        M("guided_grammar", NAME, .holes = DEFINITION),                                            \
        M("structured_outputs", OBJECT, .object = &weir_walk__structured, .holes = DEFINITION),    \
        M("chat_template", REFUSED), M("prompt_embeds", REFUSED)

static const struct weir_walk_member chat_members[] = {
    COMMON,
    M("messages", MESSAGES, .object = &message),
    M("tools", OBJECTS, .object = &tool, .holes = DEFINITION),
    M("functions", OBJECTS, .object = &function, .holes = DEFINITION),
    M("tool_choice", WORD, .words = WORDS("none", "auto", "required"), .holes = DEFINITION),
    M("tool_choice", OBJECT, .object = &tool_choice, .holes = DEFINITION),
    M("function_call", WORD, .words = WORDS("none", "auto"), .holes = DEFINITION),
    M("function_call", OBJECT, .object = &named, .holes = DEFINITION),
    M("parallel_tool_calls", BOOL),
    M("max_completion_tokens", NUMBER),
    M("logprobs", BOOL),
    M("top_logprobs", NUMBER),
    M("modalities", WORDS, .words = WORDS("text", "audio", "image")),
    M("audio", OBJECT, .object = &audio),
    M("prediction", OBJECT, .object = &prediction, .has_role = true, .role = WEIR_WALK_ASSISTANT),
    M("metadata", TREE),
    M("safety_identifier", TEXT),
    M("prompt_cache_key", ID),
    M("prompt_cache_retention", WORD, .words = WORDS("in-memory", "in_memory", "24h")),
    M("service_tier", WORD,
      .words = WORDS("auto", "default", "flex", "scale", "priority", "standard_only")),
    M("store", BOOL),
    M("reasoning_effort", WORD, .words = EFFORTS),
    M("reasoning", OBJECT, .object = &reasoning),
    M("verbosity", WORD, .words = WORDS("low", "medium", "high")),
    M("web_search_options", OBJECT, .object = &search),
    M("documents", TREES, .has_role = true, .role = WEIR_WALK_TOOL),
    M("add_generation_prompt", BOOL),
    M("continue_final_message", BOOL),
    M("include_reasoning", BOOL),
    M("enable_thinking", BOOL),
    END,
};
OBJECT(chat);

static const struct weir_walk_member completions_members[] = {
    COMMON, M("prompt", PROMPT), M("suffix", PROMPT), M("logprobs", NUMBER), END,
};
OBJECT(completions);

/* Embeddings, rerank and score. */
static const struct weir_walk_member vectors_members[] = {
    M("model", ID),
    M("input", PROMPT),
    M("query", PROMPT),
    M("queries", PROMPT),
    M("documents", TREES, .has_role = true, .role = WEIR_WALK_USER),
    M("items", PROMPT),
    M("text_1", PROMPT),
    M("text_2", PROMPT),
    M("user", TEXT),
    M("encoding_format", WORD, .words = WORDS("float", "base64")),
    M("dimensions", NUMBER),
    M("top_n", NUMBER),
    M("return_documents", BOOL),
    M("truncate_prompt_tokens", NUMBER),
    M("add_special_tokens", BOOL),
    M("priority", NUMBER),
    M("request_id", ID),
    END,
};
OBJECT(vectors);

static const struct weir_walk_member moderations_members[] = {
    M("model", ID),
    M("input", PROMPT),
    END,
};
OBJECT(moderations);

static const struct weir_walk_member moderated_parts_members[] = {
    M("model", ID),
    M("input", PARTS, .object = &part, .has_role = true, .role = WEIR_WALK_USER),
    END,
};
OBJECT(moderated_parts);

/* ---- who speaks ---- */

/* Chat templates take roles that nobody knows, `User` or none at all: such messages count as the
 * user's, or every check could be talked around. */
enum weir_walk_role weir_walk__role_of(const struct weir_json *json, uint32_t at)
{
    uint32_t role = weir_json_get_set(json, at, WEIR_SLICE("role"));
    if (role == WEIR_JSON_NONE || weir_json_type(json, role) != WEIR_JSON_STRING) {
        return WEIR_WALK_USER;
    }
    for (int i = 0; i < WEIR_WALK_NOBODY; i++) {
        const char *name = weir_walk_role_name((enum weir_walk_role)i);
        if (weir_json_string_eq(json, role, weir_slice_cstr(name))) {
            return (enum weir_walk_role)i;
        }
    }
    return WEIR_WALK_USER;
}

const struct weir_walk_dialect weir_walk_chat = {
    .name = "chat completions", .top = &chat, .role_of = weir_walk__role_of};
const struct weir_walk_dialect weir_walk_completions = {
    .name = "completions", .top = &completions, .role_of = weir_walk__role_of};
const struct weir_walk_dialect weir_walk_vectors = {.name = "embeddings, rerank, score",
                                                    .top = &vectors,
                                                    .role_of = weir_walk__role_of,
                                                    .is_one_turn = true};
const struct weir_walk_dialect weir_walk_moderations = {
    .name = "moderations", .top = &moderations, .role_of = weir_walk__role_of, .is_one_turn = true};
const struct weir_walk_dialect weir_walk_moderated_parts = {.name = "moderations",
                                                            .top = &moderated_parts,
                                                            .role_of = weir_walk__role_of,
                                                            .is_one_turn = true};
