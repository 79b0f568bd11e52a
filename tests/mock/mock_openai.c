#include "mock/mock_openai.h"

#include "base/err.h"
#include "mock/mock_provider.h"
#include "mock/mock_reply.h"
#include "mock/mock_responses.h"
#include "mock/mock_script.h"
#include "model/model.h"
#include "route/reply.h"
#include "wire/json_write.h"

enum { MAX_CHOICES = 128, MAX_TOP_LOGPROBS = 20, MAX_MODEL_LEN = 131072 };

/* ---- reading the request ---- */

static bool is_true(const struct weir_json *j, uint32_t object, struct weir_slice name)
{
    uint32_t at = weir_json_get(j, object, name);
    return at != WEIR_JSON_NONE && weir_json_type(j, at) == WEIR_JSON_TRUE;
}

/* A number of the request, up to `max`; `otherwise` when it is absent or none. */
static uint32_t number_of(const struct weir_json *j, struct weir_slice name, uint32_t max,
                          uint32_t otherwise)
{
    uint32_t at = weir_json_get_set(j, 0, name);
    uint64_t number;
    if (at == WEIR_JSON_NONE || weir_json_u64(j, at, &number) != 0) {
        return otherwise;
    }
    return number < max ? (uint32_t)number : max;
}

/* The texts of a message: a string, or the text parts of a list. Tokens are counted into `*n`. */
static struct weir_slice read_content(const struct weir_json *j, uint32_t content,
                                      struct weir_arena *arena, size_t *n)
{
    struct weir_slice text = WEIR_SLICE("");
    if (content == WEIR_JSON_NONE) {
        return text;
    }
    if (weir_json_type(j, content) == WEIR_JSON_STRING) {
        text = weir_json_string(j, content, arena);
        *n += weir_mock_text_count(text);
        return text;
    }
    if (weir_json_type(j, content) != WEIR_JSON_ARRAY) {
        return text;
    }
    for (uint32_t at = weir_json_first(j, content); at != WEIR_JSON_NONE;
         at = weir_json_after(j, content, at)) {
        uint32_t part = weir_json_type(j, at) == WEIR_JSON_STRING
                            ? at
                            : weir_json_get(j, at, WEIR_SLICE("text"));
        if (part != WEIR_JSON_NONE && weir_json_type(j, part) == WEIR_JSON_STRING) {
            text = weir_json_string(j, part, arena);
            *n += weir_mock_text_count(text);
        }
    }
    return text;
}

static void read_messages(const struct weir_json *j, struct weir_mock_ask *ask,
                          struct weir_arena *arena)
{
    uint32_t list = weir_json_get(j, 0, WEIR_SLICE("messages"));
    if (list == WEIR_JSON_NONE || weir_json_type(j, list) != WEIR_JSON_ARRAY) {
        return;
    }
    for (uint32_t at = weir_json_first(j, list); at != WEIR_JSON_NONE;
         at = weir_json_after(j, list, at)) {
        uint32_t content = weir_json_get_set(j, at, WEIR_SLICE("content"));
        ask->last_text = read_content(j, content, arena, &ask->prompt_tokens);
    }
}

/* Of a string, or of items: messages, and what tools gave. */
static void read_input(const struct weir_json *j, struct weir_mock_ask *ask,
                       struct weir_arena *arena)
{
    uint32_t input = weir_json_get_set(j, 0, WEIR_SLICE("input"));
    if (input == WEIR_JSON_NONE || weir_json_type(j, input) != WEIR_JSON_ARRAY) {
        ask->last_text = read_content(j, input, arena, &ask->prompt_tokens);
        return;
    }
    for (uint32_t at = weir_json_first(j, input); at != WEIR_JSON_NONE;
         at = weir_json_after(j, input, at)) {
        bool is_object = weir_json_type(j, at) == WEIR_JSON_OBJECT;
        uint32_t content =
            is_object ? weir_json_get_set(j, at, WEIR_SLICE("content")) : WEIR_JSON_NONE;
        uint32_t output =
            is_object ? weir_json_get_set(j, at, WEIR_SLICE("output")) : WEIR_JSON_NONE;
        ask->last_text = read_content(j, content != WEIR_JSON_NONE ? content : output, arena,
                                      &ask->prompt_tokens);
    }
}

/* Logprobs are asked for in a list of what is to be included. */
static bool includes_logprobs(const struct weir_json *j)
{
    uint32_t list = weir_json_get_set(j, 0, WEIR_SLICE("include"));
    if (list == WEIR_JSON_NONE || weir_json_type(j, list) != WEIR_JSON_ARRAY) {
        return false;
    }
    for (uint32_t at = weir_json_first(j, list); at != WEIR_JSON_NONE;
         at = weir_json_after(j, list, at)) {
        if (weir_json_type(j, at) == WEIR_JSON_STRING &&
            weir_json_string_eq(j, at, WEIR_SLICE("message.output_text.logprobs"))) {
            return true;
        }
    }
    return false;
}

/* What Responses have that chat completions do not, or by other names. */
static void read_response(const struct weir_json *j, struct weir_mock_ask *ask,
                          struct weir_arena *arena)
{
    uint32_t options = weir_json_get_set(j, 0, WEIR_SLICE("stream_options"));
    uint32_t store = weir_json_get_set(j, 0, WEIR_SLICE("store"));
    ask->body = j;
    ask->n = 1;
    ask->max_tokens =
        number_of(j, WEIR_SLICE("max_output_tokens"), WEIR_MOCK_UNSET, WEIR_MOCK_UNSET);
    ask->is_stored = store == WEIR_JSON_NONE || weir_json_type(j, store) == WEIR_JSON_TRUE;
    ask->is_background = is_true(j, 0, WEIR_SLICE("background"));
    ask->wants_obfuscation =
        options != WEIR_JSON_NONE && is_true(j, options, WEIR_SLICE("include_obfuscation"));
    ask->wants_logprobs = includes_logprobs(j);
    read_input(j, ask, arena);
}

static void read_tools(const struct weir_json *j, struct weir_mock_ask *ask,
                       struct weir_arena *arena)
{
    static struct weir_slice otherwise[] = {{"\"get_weather\"", 13}, {"\"get_time\"", 10}};
    uint32_t list = weir_json_get(j, 0, WEIR_SLICE("tools"));
    bool is_list = list != WEIR_JSON_NONE && weir_json_type(j, list) == WEIR_JSON_ARRAY;
    ask->tool_names = otherwise;
    ask->n_tool_names = 2;
    if (!is_list || j->nodes[list].n == 0) {
        return;
    }
    struct weir_slice *names = weir_arena_array(arena, j->nodes[list].n, sizeof *names);
    size_t n = 0;
    for (uint32_t at = weir_json_first(j, list); at != WEIR_JSON_NONE;
         at = weir_json_after(j, list, at)) {
        uint32_t function = weir_json_get(j, at, WEIR_SLICE("function"));
        bool is_flat = ask->is_messages || ask->is_responses;
        function = function != WEIR_JSON_NONE || !is_flat ? function : at;
        uint32_t name = function != WEIR_JSON_NONE ? weir_json_get(j, function, WEIR_SLICE("name"))
                                                   : WEIR_JSON_NONE;
        if (name != WEIR_JSON_NONE && weir_json_type(j, name) == WEIR_JSON_STRING) {
            names[n++] = weir_json_raw(j, name);
        }
    }
    if (n != 0) {
        ask->tool_names = names;
        ask->n_tool_names = n;
    }
}

/* Chat says `logprobs: true, top_logprobs: 3`, completions `logprobs: 3`. */
static void read_logprobs(const struct weir_json *j, struct weir_mock_ask *ask)
{
    if (ask->is_chat) {
        ask->wants_logprobs = is_true(j, 0, WEIR_SLICE("logprobs"));
        ask->top_logprobs = number_of(j, WEIR_SLICE("top_logprobs"), MAX_TOP_LOGPROBS, 0);
        return;
    }
    uint32_t top = number_of(j, WEIR_SLICE("logprobs"), MAX_TOP_LOGPROBS, WEIR_MOCK_UNSET);
    ask->wants_logprobs = top != WEIR_MOCK_UNSET;
    ask->top_logprobs = ask->wants_logprobs ? top : 0;
}

static void read_ask(const struct weir_json *j, struct weir_mock_ask *ask, struct weir_arena *arena)
{
    uint32_t model = weir_json_get(j, 0, WEIR_SLICE("model"));
    uint32_t options = weir_json_get_set(j, 0, WEIR_SLICE("stream_options"));
    bool has_model = model != WEIR_JSON_NONE && weir_json_type(j, model) == WEIR_JSON_STRING;
    ask->model = has_model ? weir_json_raw(j, model) : WEIR_SLICE("\"mock\"");
    ask->is_stream = is_true(j, 0, WEIR_SLICE("stream"));
    ask->n = number_of(j, WEIR_SLICE("n"), MAX_CHOICES, 1);
    ask->n = ask->n != 0 ? ask->n : 1;
    uint32_t most = number_of(j, WEIR_SLICE("max_tokens"), WEIR_MOCK_UNSET, WEIR_MOCK_UNSET);
    ask->max_tokens = number_of(j, WEIR_SLICE("max_completion_tokens"), WEIR_MOCK_UNSET, most);
    if (options != WEIR_JSON_NONE) {
        ask->wants_usage = is_true(j, options, WEIR_SLICE("include_usage"));
        ask->wants_usage_each = is_true(j, options, WEIR_SLICE("continuous_usage_stats"));
    }
    read_logprobs(j, ask);
    ask->last_text = WEIR_SLICE("");
    if (ask->is_responses) {
        read_response(j, ask, arena);
    } else if (ask->is_chat) {
        read_messages(j, ask, arena);
    } else {
        uint32_t prompt = weir_json_get_set(j, 0, WEIR_SLICE("prompt"));
        ask->last_text = read_content(j, prompt, arena, &ask->prompt_tokens);
    }
    read_tools(j, ask, arena);
}

/* Scenarios that ask in the request's place. */
static void add_wishes(const struct weir_mock_settings *set, struct weir_mock_ask *ask)
{
    ask->wants_logprobs = ask->wants_logprobs || weir_mock_settings_has(set, WEIR_MOCK_LOGPROBS);
    ask->wants_usage = ask->wants_usage || weir_mock_settings_has(set, WEIR_MOCK_USAGE);
    ask->wants_usage_each =
        ask->wants_usage_each || weir_mock_settings_has(set, WEIR_MOCK_USAGE_EACH);
}

static bool is_missing(const struct weir_json *j, struct weir_slice name)
{
    return weir_json_get_set(j, 0, name) == WEIR_JSON_NONE;
}

/* `x-mock-model: {"text": …}` is what the member `mock` is, where a gateway looks at members. */
static bool take_header(struct weir_http_stream *s)
{
    struct weir_slice header = weir_http_request_get(&s->req, WEIR_SLICE("x-mock-model"));
    struct weir_json *json = weir_arena_zalloc(&s->arena, sizeof *json);
    if (header.p == NULL) {
        return true;
    }
    if (weir_json_parse(json, header, NULL, &s->arena, NULL) != 0 ||
        weir_json_type(json, 0) != WEIR_JSON_OBJECT) {
        weir_reply_error(s, 400, WEIR_SLICE("x-mock-model: expected a JSON object"));
        return false;
    }
    return weir_mock_reply_settings(s, json, 0, false);
}

static const char *needed_by(enum weir_model_op op)
{
    switch (op) {
    case WEIR_MODEL_COMPLETION:
        return "prompt";
    case WEIR_MODEL_RESPONSES:
        return "input";
    default:
        return "messages";
    }
}

/* What it goes on from must be there. False: answered, as OpenAI does. */
static bool check_previous(struct weir_http_stream *s, const struct weir_json *body)
{
    uint32_t at = weir_json_get_set(body, 0, WEIR_SLICE("previous_response_id"));
    if (at == WEIR_JSON_NONE || weir_json_type(body, at) != WEIR_JSON_STRING) {
        return true;
    }
    struct weir_slice id = weir_json_string(body, at, &s->arena);
    if (weir_mock_stored_has(weir_mock_request_of(s), id)) {
        return true;
    }
    const char *words = weir_arena_printf(&s->arena, "Previous response with id '%.*s' not found.",
                                          (int)id.n, id.p);
    weir_mock_reply_openai_error(s, 400, weir_slice_cstr(words));
    return false;
}

/* Settings, then the request. False: a mistake was answered. */
static bool take(struct weir_http_stream *s, const struct weir_json *body, enum weir_model_op op)
{
    bool is_chat = op != WEIR_MODEL_COMPLETION;
    struct weir_mock_request *r = weir_mock_request_of(s);
    struct weir_slice needed = weir_slice_cstr(needed_by(op));
    if (weir_json_type(body, 0) != WEIR_JSON_OBJECT || is_missing(body, needed)) {
        weir_reply_errorf(s, 400, "you must provide `%s`", needed.p);
        return false;
    }
    uint32_t mock = weir_json_get_set(body, 0, WEIR_SLICE("mock"));
    if (mock != WEIR_JSON_NONE && !weir_mock_reply_settings(s, body, mock, false)) {
        return false;
    }
    if (!take_header(s)) {
        return false;
    }
    struct weir_mock_ask *ask = weir_arena_zalloc(&s->arena, sizeof *ask);
    struct weir_mock_script *sc = weir_arena_alloc(&s->arena, sizeof *sc);
    struct weir_mock_mistake mistake;
    ask->is_chat = is_chat;
    ask->is_messages = op == WEIR_MODEL_MESSAGES;
    ask->is_responses = op == WEIR_MODEL_RESPONSES;
    read_ask(body, ask, &s->arena);
    add_wishes(&r->set, ask);
    if (weir_mock_provider_blocks(s, ask->last_text) ||
        (ask->is_responses && !check_previous(s, body))) {
        return false;
    }
    if (weir_mock_script_init(sc, s, ask, &mistake) != 0) {
        weir_reply_error(s, 400, weir_slice_cstr(mistake.text));
        return false;
    }
    if (!ask->is_stream) {
        r->set.fail_at = WEIR_MOCK_UNSET; /* events are not what it has */
    }
    if (!ask->is_stream && r->set.rate != 0) {
        uint64_t takes_ms = sc->choices[0].n_tokens * 1000 / r->set.rate;
        r->set.delay_ms += takes_ms < UINT32_MAX / 2 ? (uint32_t)takes_ms : UINT32_MAX / 2;
    }
    s->ctx = sc;
    return true;
}

static bool take_chat(struct weir_http_stream *s, const struct weir_json *body)
{
    return take(s, body, WEIR_MODEL_CHAT);
}

static bool take_message(struct weir_http_stream *s, const struct weir_json *body)
{
    return take(s, body, WEIR_MODEL_MESSAGES);
}

static bool take_response(struct weir_http_stream *s, const struct weir_json *body)
{
    return take(s, body, WEIR_MODEL_RESPONSES);
}

static bool take_completion(struct weir_http_stream *s, const struct weir_json *body)
{
    return take(s, body, WEIR_MODEL_COMPLETION);
}

/* ---- answering ---- */

static void start_stream(struct weir_http_stream *s, struct weir_mock_script *sc)
{
    bool is_given = sc->set->events.p != NULL; /* word for word */
    if (sc->ask->is_messages && !is_given) {
        weir_mock_messages_start(s, sc);
    } else if (sc->ask->is_responses && !is_given) {
        weir_mock_responses_start(s, sc);
    } else {
        weir_mock_stream_start(s, sc);
    }
}

static int write_answer(struct weir_mock_script *sc, struct weir_buf *out)
{
    if (sc->ask->is_messages) {
        return weir_mock_messages_write(sc, out);
    }
    return sc->ask->is_responses ? weir_mock_responses_write(sc, out)
                                 : weir_mock_unary_write(sc, out);
}

static void go(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_mock_script *sc = s->ctx;
    struct weir_buf answer = {0};
    (void)body;
    if (sc->ask->is_stream) {
        start_stream(s, sc);
    } else if (write_answer(sc, &answer) == 0) {
        weir_mock_reply_json(s, weir_buf_slice(&answer));
    } else {
        weir_reply_error(s, 400, WEIR_SLICE("the answer would be too large; ask for fewer tokens"));
    }
    weir_buf_dispose(&answer);
}

void weir_mock_openai_begin_chat(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {
        .take = take_chat, .go = go, .fail = weir_mock_reply_openai_error};
    (void)env;
    weir_mock_reply_begin(s, &role);
}

void weir_mock_openai_begin_message(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {
        .take = take_message, .go = go, .fail = weir_mock_reply_messages_error};
    (void)env;
    weir_mock_reply_begin(s, &role);
}

void weir_mock_openai_begin_response(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {
        .take = take_response, .go = go, .fail = weir_mock_reply_openai_error};
    (void)env;
    weir_mock_reply_begin(s, &role);
}

static void go_input_tokens(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_mock_ask ask = {0};
    struct weir_buf answer = {0};
    read_input(body, &ask, &s->arena);
    weir_buf_printf(&answer, "{\"object\":\"response.input_tokens\",\"input_tokens\":%zu}",
                    ask.prompt_tokens);
    weir_mock_reply_json(s, weir_buf_slice(&answer));
    weir_buf_dispose(&answer);
}

static void go_count_tokens(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_mock_ask ask = {0};
    struct weir_buf answer = {0};
    read_messages(body, &ask, &s->arena);
    weir_buf_printf(&answer, "{\"input_tokens\":%zu}", ask.prompt_tokens);
    weir_mock_reply_json(s, weir_buf_slice(&answer));
    weir_buf_dispose(&answer);
}

void weir_mock_openai_begin_completion(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {
        .take = take_completion, .go = go, .fail = weir_mock_reply_openai_error};
    (void)env;
    weir_mock_reply_begin(s, &role);
}

static void go_models(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_buf answer = {0};
    (void)body;
    weir_buf_printf(&answer,
                    "{\"object\":\"list\",\"data\":[{\"id\":\"mock\",\"object\":\"model\","
                    "\"created\":%lld,\"owned_by\":\"weir\",\"max_model_len\":%d}]}",
                    (long long)weir_mock_request_created(weir_mock_request_of(s)), MAX_MODEL_LEN);
    weir_mock_reply_json(s, weir_buf_slice(&answer));
    weir_buf_dispose(&answer);
}

void weir_mock_openai_begin_models(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {.go = go_models,
                                               .fail = weir_mock_reply_openai_error};
    (void)env;
    weir_mock_reply_wait(s, &role);
}

/* ---- the tokenizer ---- */

/* Numbers tokens by their bytes: the same token is always the same number. */
static uint32_t number_token(struct weir_slice token)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < token.n; i++) {
        h = (h ^ (unsigned char)token.p[i]) * 16777619u;
    }
    return h % 100000;
}

static void go_tokenize(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_mock_ask ask = {.last_text = WEIR_SLICE("")};
    uint32_t prompt = weir_json_get_set(body, 0, WEIR_SLICE("prompt"));
    struct weir_buf answer = {0};
    if (prompt != WEIR_JSON_NONE) {
        ask.last_text = read_content(body, prompt, &s->arena, &ask.prompt_tokens);
    } else {
        read_messages(body, &ask, &s->arena);
    }
    weir_buf_printf(&answer, "{\"count\":%zu,\"max_model_len\":%d,\"tokens\":[", ask.prompt_tokens,
                    MAX_MODEL_LEN);
    const char *comma = "";
    for (struct weir_slice rest = ask.last_text; rest.n != 0; comma = ",") {
        weir_buf_printf(&answer, "%s%u", comma, number_token(weir_mock_text_next(&rest)));
    }
    weir_buf_printf(&answer, "]}");
    weir_mock_reply_json(s, weir_buf_slice(&answer));
    weir_buf_dispose(&answer);
}

static bool take_tokenize(struct weir_http_stream *s, const struct weir_json *body)
{
    if (weir_json_type(body, 0) != WEIR_JSON_OBJECT) {
        weir_reply_error(s, 400, WEIR_SLICE("expected an object"));
        return false;
    }
    return true;
}

void weir_mock_openai_begin_tokenize(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {
        .take = take_tokenize, .go = go_tokenize, .fail = weir_mock_reply_openai_error};
    (void)env;
    weir_mock_reply_begin(s, &role);
}

void weir_mock_openai_begin_count_tokens(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {
        .take = take_tokenize, .go = go_count_tokens, .fail = weir_mock_reply_messages_error};
    (void)env;
    weir_mock_reply_begin(s, &role);
}

void weir_mock_openai_begin_input_tokens(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {
        .take = take_tokenize, .go = go_input_tokens, .fail = weir_mock_reply_openai_error};
    (void)env;
    weir_mock_reply_begin(s, &role);
}
