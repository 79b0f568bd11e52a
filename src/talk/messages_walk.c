/*
 * The members of Anthropic's Messages and of its count of tokens, with those that vLLM and
 * llama.cpp have added. A message's content is a string or blocks, and what a tool has answered is
 * a block of the user's message that may have blocks of its own.
 */
#include "talk/walk_tables.h"

enum {
    DEFINITION = WEIR_HOLE_DEFINITIONS,
};

/* Tables that stand in themselves. */
static const struct weir_walk_object block;

#define CACHE_CONTROL M("cache_control", OBJECT, .object = &weir_walk__cache_control)

/* ---- sources of documents and images ---- */

#define MEDIA_TYPES                                                                                \
    WORDS("image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf", "text/plain",   \
          "text/markdown", "text/html")
#define SOURCE(holes_)                                                                             \
    M("type", WORD, .words = WORDS("base64", "url", "file", "text", "content")),                   \
        M("media_type", WORD, .words = MEDIA_TYPES), M("data", DATA, .holes = (holes_)),           \
        M("url", URL, .holes = (holes_)), M("file_id", URL, .holes = (holes_))

static const struct weir_walk_member image_source_members[] = {
    SOURCE(WEIR_HOLE_IMAGES),
    END,
};
OBJECT(image_source);

static const struct weir_walk_member text_source_members[] = {
    M("type", WORD, .words = WORDS("text")),
    M("media_type", WORD, .words = MEDIA_TYPES),
    M("data", CONTENT),
    END,
};
OBJECT(text_source);

static const struct weir_walk_member file_source_members[] = {
    SOURCE(WEIR_HOLE_FILES),
    M("content", CONTENT),
    M("content", PARTS, .object = &block),
    END,
};
static const struct weir_walk_variant file_source_variants[] = {
    {.type = "text", .object = &text_source},
    {.type = NULL},
};
static const struct weir_walk_object file_source = {.members = file_source_members,
                                                    .variants = file_source_variants};

/* ---- blocks ---- */

#define BLOCK_TYPES                                                                                \
    WORDS("text", "image", "document", "search_result", "tool_use", "tool_result", "thinking",     \
          "redacted_thinking", "server_tool_use", "web_search_tool_result", "web_search_result",   \
          "web_fetch_tool_result", "web_fetch_result", "code_execution_tool_result",               \
          "code_execution_result", "code_execution_output", "bash_code_execution_tool_result",     \
          "bash_code_execution_result", "bash_code_execution_output",                              \
          "text_editor_code_execution_tool_result", "tool_search_tool_result",                     \
          "tool_search_tool_search_result", "tool_reference", "mcp_tool_use", "mcp_tool_result",   \
          "container_upload", "compaction", "mid_conversation_system")

static const struct weir_walk_member citation_members[] = {
    M("type", WORD,
      .words = WORDS("char_location", "page_location", "content_block_location",
                     "search_result_location", "web_search_result_location")),
    M("cited_text", TEXT),
    M("document_title", TEXT),
    M("title", TEXT),
    M("source", TEXT),
    M("url", TEXT),
    M("encrypted_index", SEALED),
    M("file_id", ID),
    M("document_index", NUMBER),
    M("search_result_index", NUMBER),
    M("start_char_index", NUMBER),
    M("end_char_index", NUMBER),
    M("start_page_number", NUMBER),
    M("end_page_number", NUMBER),
    M("start_block_index", NUMBER),
    M("end_block_index", NUMBER),
    M("enabled", BOOL),
    END,
};
OBJECT(citation);

static const struct weir_walk_member caller_members[] = {
    M("type", WORD, .words = WORDS("direct", "code_execution_20250825")),
    M("tool_id", CALL_ID),
    END,
};
OBJECT(caller);

/* What every block may have. */
#define BLOCK                                                                                      \
    M("type", WORD, .words = BLOCK_TYPES), M("text", CONTENT), M("content", CONTENT),              \
        M("content", PARTS, .object = &block), M("content", OBJECT, .object = &block),             \
        M("thinking", SIGNED), M("signature", SIGNATURE), M("data", SEALED), M("id", CALL_ID),     \
        M("name", NAME), M("input", ARGUMENTS), M("caller", OBJECT, .object = &caller),            \
        M("tool_use_id", CALL_ID), M("is_error", BOOL), M("server_name", NAME),                    \
        M("citations", OBJECTS, .object = &citation), M("citations", OBJECT, .object = &citation), \
        M("title", TEXT), M("context", TEXT), M("url", TEXT), M("page_age", TEXT),                 \
        M("retrieved_at", TEXT), M("stdout", CONTENT), M("stderr", CONTENT),                       \
        M("return_code", NUMBER), M("error_code", TEXT), M("tool_name", NAME),                     \
        M("tool_references", OBJECTS, .object = &block), M("encrypted_content", SEALED),           \
        M("encrypted_stdout", SEALED), M("file_id", URL, .holes = WEIR_HOLE_FILES), CACHE_CONTROL

static const struct weir_walk_member block_members[] = {
    BLOCK,
    M("source", TEXT),
    M("source", OBJECT, .object = &file_source),
    END,
};

static const struct weir_walk_member image_members[] = {
    M("type", WORD, .words = WORDS("image")),
    CACHE_CONTROL,
    M("source", OBJECT, .object = &image_source),
    END,
};
OBJECT(image);

/* What a document, a search or a tool says is somebody else's text, whoever sends it. */
#define RESULT(type_)                                                                              \
    {                                                                                              \
        .type = (type_), .has_role = true, .role = WEIR_WALK_TOOL                                  \
    }

static const struct weir_walk_variant block_variants[] = {
    {.type = "image", .object = &image},
    RESULT("document"),
    RESULT("search_result"),
    RESULT("tool_result"),
    RESULT("mcp_tool_result"),
    RESULT("web_search_tool_result"),
    RESULT("web_fetch_tool_result"),
    RESULT("code_execution_tool_result"),
    RESULT("bash_code_execution_tool_result"),
    RESULT("text_editor_code_execution_tool_result"),
    RESULT("tool_search_tool_result"),
    {.type = "mid_conversation_system", .has_role = true, .role = WEIR_WALK_SYSTEM},
    {.type = NULL},
};
static const struct weir_walk_object block = {.members = block_members, .variants = block_variants};

static const struct weir_walk_member message_members[] = {
    M("role", ROLE), M("content", CONTENT), M("content", PARTS, .object = &block), M("id", ID), END,
};
OBJECT(message);

/* ---- definitions ---- */

static const struct weir_walk_member location_members[] = {
    M("type", WORD, .words = WORDS("approximate")),
    M("city", TEXT),
    M("country", TEXT),
    M("region", TEXT),
    M("timezone", TEXT),
    END,
};
OBJECT(location);

static const struct weir_walk_member tool_members[] = {
    M("type", WORD,
      .words = WORDS("custom", "function", "bash_20241022", "bash_20250124", "computer_20241022",
                     "computer_20250124", "computer_20251124", "text_editor_20241022",
                     "text_editor_20250124", "text_editor_20250429", "text_editor_20250728",
                     "code_execution_20250522", "code_execution_20250825", "web_search_20250305",
                     "web_fetch_20250910", "memory_20250818", "tool_search_tool_regex_20251119",
                     "tool_search_tool_bm25_20251119", "mcp_toolset")),
    M("name", NAME),
    M("description", TEXT),
    M("input_schema", SCHEMA),
    M("input_examples", TREES),
    M("strict", BOOL),
    M("defer_loading", BOOL),
    M("eager_input_streaming", BOOL),
    M("allowed_callers", WORDS, .words = WORDS("direct", "code_execution_20250825")),
    M("max_uses", NUMBER),
    M("max_content_tokens", NUMBER),
    M("max_characters", NUMBER),
    M("display_width_px", NUMBER),
    M("display_height_px", NUMBER),
    M("display_number", NUMBER),
    M("enable_zoom", BOOL),
    M("allowed_domains", NAMES),
    M("blocked_domains", NAMES),
    M("mcp_server_name", NAME),
    M("user_location", OBJECT, .object = &location),
    M("citations", OBJECT, .object = &citation),
    CACHE_CONTROL,
    END,
};
OBJECT(tool);

static const struct weir_walk_member tool_choice_members[] = {
    M("type", WORD, .words = WORDS("auto", "any", "tool", "none")),
    M("name", NAME),
    M("disable_parallel_tool_use", BOOL),
    END,
};
OBJECT(tool_choice);

static const struct weir_walk_member format_members[] = {
    M("type", WORD, .words = WORDS("json_schema", "json_object", "text")),
    M("name", NAME),
    M("schema", SCHEMA),
    END,
};
OBJECT(format);

static const struct weir_walk_member output_config_members[] = {
    M("effort", WORD, .words = EFFORTS),
    M("format", OBJECT, .object = &format, .holes = DEFINITION),
    END,
};
OBJECT(output_config);

/* ---- other members of the top ---- */

static const struct weir_walk_member thinking_members[] = {
    M("type", WORD, .words = WORDS("enabled", "disabled", "adaptive")),
    M("budget_tokens", NUMBER),
    M("display", WORD, .words = WORDS("summarized", "omitted")),
    END,
};
OBJECT(thinking);

static const struct weir_walk_member mcp_configuration_members[] = {
    M("enabled", BOOL),
    M("allowed_tools", NAMES),
    END,
};
OBJECT(mcp_configuration);

static const struct weir_walk_member mcp_server_members[] = {
    M("type", WORD, .words = WORDS("url")),
    M("name", NAME),
    M("url", NAME),
    M("authorization_token", CALL_ID),
    M("tool_configuration", OBJECT, .object = &mcp_configuration),
    END,
};
OBJECT(mcp_server);

static const struct weir_walk_member container_members[] = {
    M("id", STATE, .holes = WEIR_HOLE_SERVER_HISTORY),
    M("skills", TREES),
    END,
};
OBJECT(container);

static const struct weir_walk_member stream_options_members[] = {
    M("include_usage", BOOL),
    M("batching", OURS),
    END,
};
OBJECT(stream_options);

static const struct weir_walk_member messages_members[] = {
    M("model", ID),
    M("detectors", OURS),
    M("stream", BOOL),
    M("stream_options", OBJECT, .object = &stream_options),
    M("max_tokens", NUMBER),
    M("messages", MESSAGES, .object = &message),
    M("system", CONTENT, .has_role = true, .role = WEIR_WALK_SYSTEM),
    M("system", PARTS, .object = &block, .has_role = true, .role = WEIR_WALK_SYSTEM),
    M("stop_sequences", NAMES),
    M("temperature", NUMBER),
    M("top_p", NUMBER),
    M("top_k", NUMBER),
    M("tools", OBJECTS, .object = &tool, .holes = DEFINITION),
    M("tool_choice", OBJECT, .object = &tool_choice, .holes = DEFINITION),
    M("thinking", OBJECT, .object = &thinking),
    M("output_config", OBJECT, .object = &output_config),
    M("output_format", OBJECT, .object = &format, .holes = DEFINITION),
    M("metadata", TREE),
    M("service_tier", WORD, .words = WORDS("auto", "standard_only", "priority")),
    M("speed", WORD, .words = WORDS("standard", "fast")),
    M("inference_geo", WORD, .words = WORDS("us", "global")),
    M("container", STATE, .holes = WEIR_HOLE_SERVER_HISTORY),
    M("container", OBJECT, .object = &container),
    M("mcp_servers", OBJECTS, .object = &mcp_server, .holes = DEFINITION),
    CACHE_CONTROL,
    M("seed", NUMBER),
    M("cache_salt", ID),
    M("priority", NUMBER),
    M("request_id", ID),
    M("chat_template", REFUSED),
    M("prompt_embeds", REFUSED),
    END,
};
OBJECT(messages);

/* ---- who speaks ---- */

static bool is_result(const struct weir_json *json, uint32_t part)
{
    struct weir_slice end = WEIR_SLICE("tool_result\"");
    uint32_t type = weir_json_type(json, part) == WEIR_JSON_OBJECT
                        ? weir_json_get_set(json, part, WEIR_SLICE("type"))
                        : WEIR_JSON_NONE;
    return type != WEIR_JSON_NONE && weir_json_type(json, type) == WEIR_JSON_STRING &&
           weir_slice_ends_with(weir_json_raw(json, type), end);
}

/* A message with nothing but results of tools is a tool's, as it is in other dialects. */
static enum weir_walk_role role_of(const struct weir_json *json, uint32_t at)
{
    enum weir_walk_role role = weir_walk__role_of(json, at);
    uint32_t parts = weir_json_get_set(json, at, WEIR_SLICE("content"));
    if (role != WEIR_WALK_USER || parts == WEIR_JSON_NONE ||
        weir_json_type(json, parts) != WEIR_JSON_ARRAY || json->nodes[parts].n == 0) {
        return role;
    }
    uint32_t part = weir_json_first(json, parts);
    while (part != WEIR_JSON_NONE && is_result(json, part)) {
        part = weir_json_after(json, parts, part);
    }
    return part == WEIR_JSON_NONE ? WEIR_WALK_TOOL : WEIR_WALK_USER;
}

const struct weir_walk_dialect weir_walk_messages = {
    .name = "messages", .top = &messages, .role_of = role_of};
