/*
 * The members of OpenAI's Responses and of its count of tokens, with those that vLLM has added. A
 * question is a string or a list of items: messages, calls of tools and what they gave, reasoning.
 */
#include "talk/walk_tables.h"

enum {
    DEFINITION = WEIR_HOLE_DEFINITIONS,
};

/* ---- parts ---- */

#define PART_TYPES                                                                                 \
    WORDS("input_text", "output_text", "text", "refusal", "input_image", "input_file",             \
          "input_audio", "summary_text", "reasoning_text", "computer_screenshot", "logs", "image", \
          "exit", "timeout")
#define DETAIL M("detail", WORD, .words = WORDS("auto", "low", "high", "original"))

static const struct weir_walk_member sound_members[] = {
    M("data", DATA, .holes = WEIR_HOLE_AUDIO),
    M("format", WORD, .words = WORDS("wav", "mp3", "flac", "opus", "pcm16", "aac", "ogg")),
    END,
};
OBJECT(sound);

static const struct weir_walk_member annotation_members[] = {
    M("type", WORD,
      .words = WORDS("url_citation", "file_citation", "container_file_citation", "file_path")),
    M("title", TEXT),
    M("url", TEXT),
    M("filename", TEXT),
    M("file_id", ID),
    M("container_id", ID),
    M("index", NUMBER),
    M("start_index", NUMBER),
    M("end_index", NUMBER),
    END,
};
OBJECT(annotation);

static const struct weir_walk_member outcome_members[] = {
    M("type", WORD, .words = WORDS("exit", "timeout")),
    M("exit_code", NUMBER),
    END,
};
OBJECT(outcome);

static const struct weir_walk_member image_members[] = {
    M("type", WORD, .words = PART_TYPES),
    M("image_url", URL, .holes = WEIR_HOLE_IMAGES),
    M("url", URL, .holes = WEIR_HOLE_IMAGES),
    M("file_id", URL, .holes = WEIR_HOLE_IMAGES),
    DETAIL,
    END,
};
OBJECT(image);

static const struct weir_walk_member part_members[] = {
    M("type", WORD, .words = PART_TYPES),
    M("text", CONTENT),
    M("refusal", CONTENT),
    M("annotations", OBJECTS, .object = &annotation),
    M("logprobs", TREES),
    M("image_url", URL, .holes = WEIR_HOLE_IMAGES),
    M("input_audio", OBJECT, .object = &sound),
    M("file_data", DATA, .holes = WEIR_HOLE_FILES),
    M("file_url", URL, .holes = WEIR_HOLE_FILES),
    M("file_id", URL, .holes = WEIR_HOLE_FILES),
    M("filename", TEXT),
    DETAIL,
    M("logs", CONTENT),
    M("stdout", CONTENT),
    M("stderr", CONTENT),
    M("outcome", OBJECT, .object = &outcome),
    END,
};
static const struct weir_walk_variant part_variants[] = {
    {.type = "input_image", .object = &image},
    {.type = "computer_screenshot", .object = &image},
    {.type = "image", .object = &image},
    {.type = NULL},
};
static const struct weir_walk_object part = {.members = part_members, .variants = part_variants};

/* ---- tools ---- */

static const struct weir_walk_member grammar_members[] = {
    M("type", WORD, .words = WORDS("text", "grammar")),
    M("syntax", WORD, .words = WORDS("lark", "regex")),
    M("definition", NAME),
    END,
};
OBJECT(grammar);

static const struct weir_walk_member location_members[] = {
    M("type", WORD, .words = WORDS("approximate")),
    M("city", TEXT),
    M("country", TEXT),
    M("region", TEXT),
    M("timezone", TEXT),
    END,
};
OBJECT(location);

/* Search, code and shells of the server keep their settings in trees: nothing is lost when one of
 * them is looked at as JSON that nobody knows. */
static const struct weir_walk_member tool_members[] = {
    M("type", WORD,
      .words = WORDS("function", "custom", "file_search", "web_search", "web_search_preview",
                     "web_search_preview_2025_03_11", "web_search_2025_08_26", "computer",
                     "computer_use_preview", "mcp", "code_interpreter", "image_generation",
                     "local_shell", "shell", "apply_patch", "namespace", "tool_search")),
    M("name", NAME),
    M("description", TEXT),
    M("parameters", SCHEMA),
    M("input_schema", SCHEMA),
    M("strict", BOOL),
    M("defer_loading", BOOL),
    M("format", OBJECT, .object = &grammar),
    M("server_label", NAME),
    M("server_description", TEXT),
    M("server_url", NAME),
    M("connector_id", ID),
    M("authorization", CALL_ID),
    M("headers", HEADERS),
    M("allowed_tools", NAMES),
    M("allowed_tools", TREE),
    M("require_approval", WORD, .words = WORDS("always", "never")),
    M("require_approval", TREE),
    M("vector_store_ids", NAMES),
    M("max_num_results", NUMBER),
    M("search_context_size", WORD, .words = WORDS("low", "medium", "high")),
    M("user_location", OBJECT, .object = &location),
    M("display_width", NUMBER),
    M("display_height", NUMBER),
    M("environment", WORD, .words = WORDS("windows", "mac", "linux", "ubuntu", "browser")),
    M("environment", TREE),
    M("input_image_mask", OBJECT, .object = &image),
    END,
};
OBJECT(tool);

static const struct weir_walk_member chosen_members[] = {
    M("type", WORD,
      .words = WORDS("function", "custom", "mcp", "allowed_tools", "file_search", "web_search",
                     "web_search_preview", "computer_use_preview", "code_interpreter",
                     "image_generation", "shell", "apply_patch")),
    M("name", NAME),
    M("server_label", NAME),
    END,
};
OBJECT(chosen);

static const struct weir_walk_member tool_choice_members[] = {
    M("type", WORD,
      .words = WORDS("function", "custom", "mcp", "allowed_tools", "file_search", "web_search",
                     "web_search_preview", "computer_use_preview", "code_interpreter",
                     "image_generation", "shell", "apply_patch")),
    M("name", NAME),
    M("server_label", NAME),
    M("mode", WORD, .words = WORDS("auto", "required")),
    M("tools", OBJECTS, .object = &chosen),
    END,
};
OBJECT(tool_choice);

/* ---- items ---- */

static const struct weir_walk_member caller_members[] = {
    M("type", WORD, .words = WORDS("direct", "program")),
    M("caller_id", CALL_ID),
    END,
};
OBJECT(caller);

#define STATUSES                                                                                   \
    WORDS("in_progress", "completed", "incomplete", "failed", "calling", "searching",              \
          "interpreting", "generating")
#define ITEM_TYPES                                                                                 \
    WORDS("message", "function_call", "function_call_output", "custom_tool_call",                  \
          "custom_tool_call_output", "local_shell_call", "local_shell_call_output", "shell_call",  \
          "shell_call_output", "apply_patch_call", "apply_patch_call_output", "program",           \
          "program_output", "mcp_call", "mcp_list_tools", "mcp_approval_request",                  \
          "mcp_approval_response", "computer_call", "computer_call_output", "web_search_call",     \
          "file_search_call", "code_interpreter_call", "image_generation_call", "reasoning",       \
          "compaction", "compaction_summary", "item_reference", "tool_search_call",                \
          "tool_search_output", "additional_tools")

static const struct weir_walk_member item_members[] = {
    M("type", WORD, .words = ITEM_TYPES),
    M("id", ID),
    M("role", ROLE),
    M("status", WORD, .words = STATUSES),
    M("phase", WORD, .words = WORDS("commentary", "final_answer")),
    M("content", CONTENT),
    M("content", PARTS, .object = &part),
    M("summary", PARTS, .object = &part),
    M("encrypted_content", SEALED),
    M("call_id", CALL_ID),
    M("name", NAME),
    M("namespace", NAME),
    M("arguments", ARGUMENTS),
    M("input", ARGUMENTS),
    M("caller", OBJECT, .object = &caller),
    M("output", CONTENT, .has_role = true, .role = WEIR_WALK_TOOL),
    M("output", PARTS, .object = &part, .has_role = true, .role = WEIR_WALK_TOOL),
    M("output", OBJECT, .object = &part, .has_role = true, .role = WEIR_WALK_TOOL),
    M("result", CONTENT, .has_role = true, .role = WEIR_WALK_TOOL),
    M("results", TREES, .has_role = true, .role = WEIR_WALK_TOOL),
    M("outputs", PARTS, .object = &part, .has_role = true, .role = WEIR_WALK_TOOL),
    M("error", TREE, .has_role = true, .role = WEIR_WALK_TOOL),
    M("max_output_length", NUMBER),
    M("action", TREE),
    M("actions", TREES),
    M("operation", TREE),
    M("queries", TREE),
    M("code", TEXT),
    M("container_id", STATE, .holes = WEIR_HOLE_SERVER_HISTORY),
    M("server_label", NAME),
    M("approval_request_id", ID),
    M("approve", BOOL),
    M("reason", TEXT),
    M("execution", WORD, .words = WORDS("server", "client")),
    M("pending_safety_checks", TREES),
    M("acknowledged_safety_checks", TREES),
    M("tools", OBJECTS, .object = &tool, .holes = DEFINITION),
    END,
};

static const struct weir_walk_member drawing_members[] = {
    M("type", WORD, .words = ITEM_TYPES),
    M("id", ID),
    M("status", WORD, .words = STATUSES),
    M("result", DATA, .holes = WEIR_HOLE_IMAGES),
    M("revised_prompt", TEXT),
    END,
};
OBJECT(drawing);

/* What the server keeps of an earlier answer, by its name. */
static const struct weir_walk_member reference_members[] = {
    M("type", WORD, .words = ITEM_TYPES),
    M("id", STATE, .holes = WEIR_HOLE_SERVER_HISTORY),
    END,
};
OBJECT(reference);

static const struct weir_walk_variant item_variants[] = {
    {.type = "image_generation_call", .object = &drawing},
    {.type = "item_reference", .object = &reference},
    {.type = NULL},
};
static const struct weir_walk_object item = {.members = item_members, .variants = item_variants};

/* ---- other members of the top ---- */

static const struct weir_walk_member stream_options_members[] = {
    M("include_obfuscation", BOOL),
    M("include_usage", BOOL),
    M("batching", OURS),
    END,
};
OBJECT(stream_options);

static const struct weir_walk_member format_members[] = {
    M("type", WORD, .words = WORDS("text", "json_object", "json_schema")),
    M("name", NAME),
    M("description", TEXT),
    M("schema", SCHEMA),
    M("strict", BOOL),
    END,
};
OBJECT(format);

static const struct weir_walk_member text_members[] = {
    M("format", OBJECT, .object = &format, .holes = DEFINITION),
    M("verbosity", WORD, .words = WORDS("low", "medium", "high")),
    END,
};
OBJECT(text);

static const struct weir_walk_member reasoning_members[] = {
    M("effort", WORD, .words = EFFORTS),
    M("summary", WORD, .words = WORDS("auto", "concise", "detailed", "none")),
    M("generate_summary", WORD, .words = WORDS("auto", "concise", "detailed")),
    END,
};
OBJECT(reasoning);

static const struct weir_walk_member conversation_members[] = {
    M("id", STATE, .holes = WEIR_HOLE_SERVER_HISTORY),
    END,
};
OBJECT(conversation);

static const struct weir_walk_member prompt_members[] = {
    M("id", STATE, .holes = WEIR_HOLE_SERVER_HISTORY),
    M("version", ID),
    M("variables", VARIABLES, .object = &part),
    END,
};
OBJECT(prompt);

static const struct weir_walk_member context_management_members[] = {
    M("type", WORD, .words = WORDS("compaction")),
    M("compact_threshold", NUMBER),
    END,
};
OBJECT(context_management);

static const struct weir_walk_member responses_members[] = {
    M("model", ID),
    M("detectors", OURS),
    M("input", ASKED),
    M("input", MESSAGES, .object = &item),
    M("instructions", CONTENT, .has_role = true, .role = WEIR_WALK_SYSTEM),
    M("stream", BOOL),
    M("stream_options", OBJECT, .object = &stream_options),
    M("tools", OBJECTS, .object = &tool, .holes = DEFINITION),
    M("tool_choice", WORD, .words = WORDS("none", "auto", "required"), .holes = DEFINITION),
    M("tool_choice", OBJECT, .object = &tool_choice, .holes = DEFINITION),
    M("text", OBJECT, .object = &text),
    M("reasoning", OBJECT, .object = &reasoning),
    M("include", WORDS,
      .words = WORDS("file_search_call.results", "web_search_call.results",
                     "web_search_call.action.sources", "message.input_image.image_url",
                     "computer_call_output.output.image_url", "code_interpreter_call.outputs",
                     "reasoning.encrypted_content", "message.output_text.logprobs")),
    M("metadata", TREE),
    M("user", TEXT),
    M("safety_identifier", TEXT),
    M("prompt", OBJECT, .object = &prompt),
    M("previous_response_id", STATE, .holes = WEIR_HOLE_SERVER_HISTORY),
    M("conversation", STATE, .holes = WEIR_HOLE_SERVER_HISTORY),
    M("conversation", OBJECT, .object = &conversation),
    M("store", BOOL),
    M("background", BOOL),
    M("parallel_tool_calls", BOOL),
    M("max_output_tokens", NUMBER),
    M("max_tool_calls", NUMBER),
    M("temperature", NUMBER),
    M("top_p", NUMBER),
    M("top_logprobs", NUMBER),
    M("truncation", WORD, .words = WORDS("auto", "disabled")),
    M("service_tier", WORD, .words = WORDS("auto", "default", "flex", "scale", "priority")),
    M("prompt_cache_key", ID),
    M("prompt_cache_retention", WORD, .words = WORDS("in-memory", "in_memory", "24h")),
    M("context_management", OBJECTS, .object = &context_management),
    M("moderation", TREE),
    M("structured_outputs", OBJECT, .object = &weir_walk__structured, .holes = DEFINITION),
    M("stop", NAMES),
    M("seed", NUMBER),
    M("top_k", NUMBER),
    M("min_p", NUMBER),
    M("presence_penalty", NUMBER),
    M("frequency_penalty", NUMBER),
    M("repetition_penalty", NUMBER),
    M("logit_bias", NUMBERS),
    M("stop_token_ids", NUMBERS),
    M("min_tokens", NUMBER),
    M("skip_special_tokens", BOOL),
    M("ignore_eos", BOOL),
    M("include_reasoning", BOOL),
    M("enable_response_messages", BOOL),
    M("request_id", ID),
    M("session_id", ID),
    M("cache_salt", ID),
    M("priority", NUMBER),
    M("chat_template", REFUSED),
    M("prompt_embeds", REFUSED),
    END,
};
OBJECT(responses);

/* ---- who speaks ---- */

/* The type decides where there is one: results are a tool's, calls and reasoning the model's own
 * words as far as the caller says so. */
static enum weir_walk_role role_of(const struct weir_json *json, uint32_t at)
{
    static const struct {
        const char *end; /* of the type */
        enum weir_walk_role role;
    } ends[] = {{"_output\"", WEIR_WALK_TOOL},        {"_list_tools\"", WEIR_WALK_TOOL},
                {"_call\"", WEIR_WALK_ASSISTANT},     {"\"reasoning\"", WEIR_WALK_ASSISTANT},
                {"_request\"", WEIR_WALK_ASSISTANT},  {"\"program\"", WEIR_WALK_ASSISTANT},
                {"\"compaction\"", WEIR_WALK_NOBODY}, {"_summary\"", WEIR_WALK_NOBODY},
                {"_tools\"", WEIR_WALK_NOBODY},       {"_reference\"", WEIR_WALK_NOBODY}};
    uint32_t type = weir_json_get_set(json, at, WEIR_SLICE("type"));
    bool is_text = type != WEIR_JSON_NONE && weir_json_type(json, type) == WEIR_JSON_STRING;
    for (size_t i = 0; is_text && i < sizeof ends / sizeof ends[0]; i++) {
        if (weir_slice_ends_with(weir_json_raw(json, type), weir_slice_cstr(ends[i].end))) {
            return ends[i].role;
        }
    }
    return weir_walk__role_of(json, at);
}

const struct weir_walk_dialect weir_walk_responses = {
    .name = "responses", .top = &responses, .role_of = role_of};
