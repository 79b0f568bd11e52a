#include "model/demo_ask.h"

#include "base/err.h"
#include "model/demo_schema.h"
#include "wire/json.h"

enum { MAX_NODES = 4000000, MAX_NAME_CP = 64, MAX_JSON_BYTES = 16 * 1024 };

struct reader {
    struct weir_demo_ask *ask;
    struct weir_json j;
    struct weir_arena *arena; /* what the ask keeps */
    struct weir_arena work;   /* of reading */
    const char *why;          /* the first mistake; NULL: none */
};

static void mistake(struct reader *r, const char *why)
{
    r->why = r->why != NULL ? r->why : why;
}

static bool is_type(const struct reader *r, uint32_t at, enum weir_json_type type)
{
    return at != WEIR_JSON_NONE && weir_json_type(&r->j, at) == type;
}

static bool is_string(const struct reader *r, uint32_t at, const char *s)
{
    return is_type(r, at, WEIR_JSON_STRING) && weir_json_string_eq(&r->j, at, weir_slice_cstr(s));
}

static uint32_t member(const struct reader *r, uint32_t object, const char *name)
{
    return is_type(r, object, WEIR_JSON_OBJECT)
               ? weir_json_get_set(&r->j, object, weir_slice_cstr(name))
               : WEIR_JSON_NONE;
}

/* ---- what was said ---- */

/* A text or a list of parts: counts its tokens, returns the last text. */
static struct weir_slice read_content(struct reader *r, uint32_t content)
{
    struct weir_slice text = WEIR_SLICE("");
    if (is_type(r, content, WEIR_JSON_STRING)) {
        text = weir_json_string(&r->j, content, &r->work);
        r->ask->prompt_tokens += weir_demo_answer_count(text);
        return text;
    }
    if (!is_type(r, content, WEIR_JSON_ARRAY)) {
        return text;
    }
    uint32_t at = weir_json_first(&r->j, content);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(&r->j, content, at)) {
        uint32_t part = member(r, at, "text");
        if (is_type(r, part, WEIR_JSON_STRING)) {
            text = weir_json_string(&r->j, part, &r->work);
            r->ask->prompt_tokens += weir_demo_answer_count(text);
        }
    }
    return text;
}

/* Is the last part of a message of Messages what a tool has answered? */
static bool is_result(const struct reader *r, uint32_t content)
{
    bool is_last = false;
    uint32_t at =
        is_type(r, content, WEIR_JSON_ARRAY) ? weir_json_first(&r->j, content) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(&r->j, content, at)) {
        is_last = is_string(r, member(r, at, "type"), "tool_result");
    }
    return is_last;
}

/* The last message of a user decides what is answered; a tool's message behind it is answered
 * itself. */
static void read_messages(struct reader *r, bool *is_tool_result)
{
    uint32_t list = member(r, 0, "messages");
    if (!is_type(r, list, WEIR_JSON_ARRAY) || r->j.nodes[list].n == 0) {
        mistake(r, "`messages` must be a list with at least one message");
        return;
    }
    struct weir_slice asked = WEIR_SLICE("");
    uint32_t at = weir_json_first(&r->j, list);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(&r->j, list, at)) {
        uint32_t role = member(r, at, "role");
        if (!is_type(r, role, WEIR_JSON_STRING)) {
            mistake(r, "every message must be an object with a `role`");
            return;
        }
        uint32_t content = member(r, at, "content");
        struct weir_slice text = read_content(r, content);
        if (is_string(r, role, "user")) {
            asked = text;
        }
        *is_tool_result = is_string(r, role, "tool") || is_string(r, role, "function") ||
                          (r->ask->is_messages && is_result(r, content));
    }
    r->ask->answer = *is_tool_result ? &weir_demo_answer_tool_result : weir_demo_answer_pick(asked);
}

/* What a tool gave, in Responses. */
static bool is_output(const struct reader *r, uint32_t type)
{
    return is_type(r, type, WEIR_JSON_STRING) &&
           weir_slice_ends_with(weir_json_raw(&r->j, type), WEIR_SLICE("_output\""));
}

/* The same of a text, or of items: messages without a type, and others. */
static void read_input(struct reader *r, bool *is_tool_result)
{
    uint32_t input = member(r, 0, "input");
    struct weir_slice asked = WEIR_SLICE("");
    if (is_type(r, input, WEIR_JSON_STRING)) {
        asked = read_content(r, input);
    } else if (!is_type(r, input, WEIR_JSON_ARRAY) || r->j.nodes[input].n == 0) {
        mistake(r, "`input` must be a text or a list with at least one item");
        return;
    }
    uint32_t at =
        is_type(r, input, WEIR_JSON_ARRAY) ? weir_json_first(&r->j, input) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(&r->j, input, at)) {
        *is_tool_result = is_output(r, member(r, at, "type"));
        struct weir_slice text = read_content(r, member(r, at, "content"));
        read_content(r, member(r, at, "output")); /* counted */
        asked = is_string(r, member(r, at, "role"), "user") ? text : asked;
    }
    r->ask->answer = *is_tool_result ? &weir_demo_answer_tool_result : weir_demo_answer_pick(asked);
}

static void read_prompt(struct reader *r)
{
    uint32_t prompt = member(r, 0, "prompt");
    if (is_type(r, prompt, WEIR_JSON_ARRAY) && r->j.nodes[prompt].n == 1) {
        prompt = weir_json_first(&r->j, prompt);
    }
    if (!is_type(r, prompt, WEIR_JSON_STRING)) {
        mistake(r, "`prompt` must be one text: the demonstration model takes no lists and no "
                   "token ids");
        return;
    }
    r->ask->answer = weir_demo_answer_pick(read_content(r, prompt));
}

/* ---- how much of it ---- */

/* A whole number from 1 on; `otherwise` when it is absent. */
static uint64_t read_number(struct reader *r, const char *name, uint64_t otherwise,
                            const char *wrong)
{
    uint32_t at = member(r, 0, name);
    uint64_t number = otherwise;
    if (at != WEIR_JSON_NONE && (weir_json_u64(&r->j, at, &number) != 0 || number == 0)) {
        mistake(r, wrong);
    }
    return number;
}

static void read_limits(struct reader *r)
{
    static const char too_many[] = "`n` must be a whole number from 1 to 128";
    uint64_t n = read_number(r, "n", 1, too_many);
    if (n > WEIR_DEMO_MAX_CHOICES) {
        mistake(r, too_many);
    }
    r->ask->n = (size_t)n;
    r->ask->max_tokens =
        read_number(r, "max_tokens", UINT64_MAX, "`max_tokens` must be a whole number, at least 1");
    r->ask->max_tokens = read_number(r, "max_completion_tokens", r->ask->max_tokens,
                                     "`max_completion_tokens` must be a whole number, at least 1");
    r->ask->max_tokens = read_number(r, "max_output_tokens", r->ask->max_tokens,
                                     "`max_output_tokens` must be a whole number, at least 1");
    uint32_t usage = member(r, member(r, 0, "stream_options"), "include_usage");
    r->ask->wants_usage = is_type(r, usage, WEIR_JSON_TRUE);
}

static void add_stop(struct reader *r, uint32_t at)
{
    static const char wrong[] = "`stop` must be a text or a list of at most 16 texts, none empty";
    struct weir_demo_ask *ask = r->ask;
    if (!is_type(r, at, WEIR_JSON_STRING) || r->j.nodes[at].n == 0 ||
        ask->n_stops == WEIR_DEMO_MAX_STOPS) {
        mistake(r, wrong);
        return;
    }
    ask->stops[ask->n_stops++] = weir_arena_dup(r->arena, weir_json_string(&r->j, at, &r->work));
}

static void read_stops(struct reader *r)
{
    uint32_t stop = member(r, 0, r->ask->is_messages ? "stop_sequences" : "stop");
    if (!is_type(r, stop, WEIR_JSON_ARRAY)) {
        if (stop != WEIR_JSON_NONE) {
            add_stop(r, stop);
        }
        return;
    }
    uint32_t at = weir_json_first(&r->j, stop);
    for (; at != WEIR_JSON_NONE && r->why == NULL; at = weir_json_after(&r->j, stop, at)) {
        add_stop(r, at);
    }
}

/* ---- tools and JSON ---- */

static void keep_json(struct reader *r, uint32_t schema)
{
    struct weir_buf out;
    weir_buf_init(&out, MAX_JSON_BYTES);
    if (weir_demo_schema_fill(&r->j, schema, &out) == 0) {
        r->ask->json_text = weir_arena_dup(r->arena, weir_buf_slice(&out));
    } else {
        mistake(r, "the schema asks for more than the demonstration model can say");
    }
    weir_buf_dispose(&out);
}

/* Chat completions have what a tool is in a member of it. */
static bool is_flat(const struct reader *r)
{
    return r->ask->is_messages || r->ask->is_responses;
}

/* The function of the tool that `wanted` names (NONE: the first); NONE: there is none. */
static uint32_t find_tool(const struct reader *r, uint32_t list, uint32_t wanted)
{
    uint32_t at = weir_json_first(&r->j, list);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(&r->j, list, at)) {
        uint32_t function = is_flat(r) ? at : member(r, at, "function");
        uint32_t name = member(r, function, "name");
        if (is_type(r, name, WEIR_JSON_STRING) &&
            (wanted == WEIR_JSON_NONE || weir_json_equal(&r->j, name, &r->j, wanted))) {
            return function;
        }
    }
    return WEIR_JSON_NONE;
}

static void read_tools(struct reader *r, bool is_tool_result)
{
    uint32_t list = member(r, 0, "tools");
    uint32_t choice = member(r, 0, "tool_choice");
    uint32_t how = r->ask->is_messages ? member(r, choice, "type") : choice;
    bool has_tools = is_type(r, list, WEIR_JSON_ARRAY) && r->j.nodes[list].n != 0;
    if (!has_tools || is_string(r, how, "none")) {
        return;
    }
    uint32_t holder = is_flat(r) ? choice : member(r, choice, "function");
    uint32_t wanted = member(r, holder, "name");
    bool must_call =
        wanted != WEIR_JSON_NONE || is_string(r, how, "required") || is_string(r, how, "any");
    if (is_tool_result && !must_call) {
        return;
    }
    uint32_t function = find_tool(r, list, wanted);
    uint32_t name = member(r, function, "name");
    if (name == WEIR_JSON_NONE) {
        mistake(r, wanted != WEIR_JSON_NONE ? "`tool_choice` names a tool that is not in `tools`"
                                            : "`tools` has no function with a name");
    } else if (r->j.nodes[name].n > MAX_NAME_CP) {
        mistake(r, "a tool's name has at most 64 characters");
    } else {
        r->ask->tool_name = weir_arena_dup(r->arena, weir_json_raw(&r->j, name));
        keep_json(r, member(r, function, r->ask->is_messages ? "input_schema" : "parameters"));
    }
}

static void read_format(struct reader *r)
{
    uint32_t format = r->ask->is_messages    ? member(r, member(r, 0, "output_config"), "format")
                      : r->ask->is_responses ? member(r, member(r, 0, "text"), "format")
                                             : member(r, 0, "response_format");
    uint32_t type = member(r, format, "type");
    if (r->ask->tool_name.n != 0) {
        return;
    }
    if (is_string(r, type, "json_object")) {
        r->ask->json_text = WEIR_SLICE("{\"from\": \"weir's demonstration model, a script\", "
                                       "\"contact\": \"json@example.com\"}");
    } else if (is_string(r, type, "json_schema")) {
        uint32_t holder = is_flat(r) ? format : member(r, format, "json_schema");
        keep_json(r, member(r, holder, "schema"));
    }
}

static void read_all(struct reader *r)
{
    bool is_tool_result = false;
    if (r->ask->is_responses) {
        read_input(r, &is_tool_result);
    } else if (r->ask->is_chat) {
        read_messages(r, &is_tool_result);
    } else {
        read_prompt(r);
    }
    read_limits(r);
    read_stops(r);
    if (r->ask->is_chat && r->why == NULL) {
        read_tools(r, is_tool_result);
        read_format(r);
    }
}

int weir_demo_ask_read(struct weir_demo_ask *ask, const struct weir_model_request *request,
                       struct weir_arena *arena, const char **why)
{
    static const struct weir_json_limits limits = {.max_depth = 1024, .max_nodes = MAX_NODES};
    *ask = (struct weir_demo_ask){.is_chat = request->op != WEIR_MODEL_COMPLETION,
                                  .is_messages = request->op == WEIR_MODEL_MESSAGES,
                                  .is_responses = request->op == WEIR_MODEL_RESPONSES};
    struct reader r = {.ask = ask, .arena = arena};
    if (weir_json_parse(&r.j, request->body, &limits, &r.work, NULL) != 0 ||
        !is_type(&r, 0, WEIR_JSON_OBJECT)) {
        mistake(&r, "the body must be a JSON object");
    } else {
        read_all(&r);
    }
    weir_arena_dispose(&r.work);
    *why = r.why;
    return r.why == NULL ? 0 : WEIR_EINVAL;
}
