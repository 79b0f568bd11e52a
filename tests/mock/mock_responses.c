#include "mock/mock_responses.h"

#include "base/err.h"
#include "wire/json_write.h"

enum { MAX_BODY_BYTES = 64 * 1024 * 1024 };

static bool has(const struct weir_mock_response *m, enum weir_mock_scenario scenario)
{
    return weir_mock_settings_has(m->sc->set, scenario);
}

static void put(struct weir_buf *out, const char *text)
{
    weir_buf_append(out, weir_slice_cstr(text));
}

static void dispose(void *ctx)
{
    struct weir_mock_response *m = ctx;
    weir_buf_dispose(&m->said);
    weir_buf_dispose(&m->logprobs);
    weir_buf_dispose(&m->parts);
    weir_buf_dispose(&m->text);
    weir_buf_dispose(&m->arguments);
    weir_buf_dispose(&m->output);
}

void weir_mock_response_init(struct weir_mock_response *m, struct weir_mock_script *sc)
{
    *m = (struct weir_mock_response){.sc = sc};
    weir_buf_init(&m->output, MAX_BODY_BYTES);
    weir_buf_init(&m->said, MAX_BODY_BYTES);
    weir_arena_defer(sc->arena, dispose, m);
}

/* ---- the object ---- */

/* Why the answer ends, in the words of Responses. */
static const char *status_of(const struct weir_mock_response *m)
{
    struct weir_slice finish = m->sc->choices[0].finish;
    if (weir_slice_eq_cstr(finish, "length") || weir_slice_eq_cstr(finish, "content_filter")) {
        return "incomplete";
    }
    return weir_slice_eq_cstr(finish, "failed") ? "failed" : "completed";
}

/* A member as the request has it. */
static void put_echo(const struct weir_mock_response *m, const char *name, const char *otherwise,
                     struct weir_buf *out)
{
    const struct weir_json *body = m->sc->ask->body;
    uint32_t at = weir_json_get(body, 0, weir_slice_cstr(name));
    weir_buf_printf(out, ",\"%s\":", name);
    if (at == WEIR_JSON_NONE) {
        put(out, otherwise);
    } else {
        struct weir_json_write w;
        weir_json_write_init(&w, out);
        weir_json_write_node(&w, body, at);
    }
}

static void put_usage(const struct weir_mock_response *m, struct weir_buf *out)
{
    size_t asked = m->sc->ask->prompt_tokens;
    unsigned long long said = m->sc->n_said;
    weir_buf_printf(out,
                    "{\"input_tokens\":%zu,\"input_tokens_details\":{\"cached_tokens\":0},"
                    "\"output_tokens\":%llu,\"output_tokens_details\":{\"reasoning_tokens\":%zu},"
                    "\"total_tokens\":%llu}",
                    asked, said, m->sc->reasoning.n, said + asked);
}

static void put_problem(const struct weir_mock_response *m, const char *status,
                        struct weir_buf *out)
{
    bool is_failed = strcmp(status, "failed") == 0;
    bool is_incomplete = strcmp(status, "incomplete") == 0;
    bool is_long = weir_slice_eq_cstr(m->sc->choices[0].finish, "length");
    put(out, is_failed ? ",\"error\":{\"code\":\"server_error\",\"message\":" : ",\"error\":null");
    if (is_failed) {
        struct weir_slice words = m->sc->set->message;
        weir_json_write_quoted(out,
                               words.p != NULL ? words : WEIR_SLICE("the mock was told to fail"));
        put(out, "}");
    }
    weir_buf_printf(out, ",\"incomplete_details\":%s",
                    !is_incomplete ? "null"
                    : is_long      ? "{\"reason\":\"max_output_tokens\"}"
                                   : "{\"reason\":\"content_filter\"}");
}

void weir_mock_response_object(const struct weir_mock_response *m, const char *status,
                               struct weir_buf *out)
{
    const struct weir_mock_ask *ask = m->sc->ask;
    bool is_over = status == NULL;
    status = is_over ? status_of(m) : status;
    weir_buf_printf(out,
                    "{\"id\":\"resp_%s\",\"object\":\"response\",\"created_at\":%lld,"
                    "\"status\":\"%s\",\"background\":%s",
                    m->sc->r->id, (long long)weir_mock_request_created(m->sc->r), status,
                    ask->is_background ? "true" : "false");
    put_problem(m, status, out);
    put_echo(m, "instructions", "null", out);
    put_echo(m, "max_output_tokens", "null", out);
    put(out, ",\"model\":");
    weir_buf_append(out, ask->model);
    put(out, ",\"output\":[");
    weir_buf_append(out, weir_buf_slice(&m->output));
    put(out, "],\"parallel_tool_calls\":true");
    put_echo(m, "previous_response_id", "null", out);
    put_echo(m, "reasoning", "{\"effort\":null,\"summary\":null}", out);
    weir_buf_printf(out, ",\"store\":%s", ask->is_stored ? "true" : "false");
    put_echo(m, "temperature", "1.0", out);
    put_echo(m, "text", "{\"format\":{\"type\":\"text\"}}", out);
    put_echo(m, "tool_choice", "\"auto\"", out);
    put_echo(m, "tools", "[]", out);
    put_echo(m, "top_p", "1.0", out);
    put(out, ",\"truncation\":\"disabled\",\"usage\":");
    if (is_over) {
        put_usage(m, out);
    } else {
        put(out, "null");
    }
    put_echo(m, "user", "null", out);
    put_echo(m, "metadata", "{}", out);
    if (has(m, WEIR_MOCK_UNKNOWN)) {
        weir_buf_append(out, weir_mock_event_unknown);
    }
    put(out, "}");
}

/* ---- events ---- */

/* What comes in place of event `fail_at` and does not end the stream. False: it does. */
static bool put_nonsense(struct weir_mock_response *m, struct weir_buf *out)
{
    static const char *const data[] = {
        [WEIR_MOCK_ERROR_GARBAGE] = "{\"type\":",
        [WEIR_MOCK_ERROR_NOT_OBJECT] = "17",
        [WEIR_MOCK_ERROR_NO_CHOICES] = "{\"object\":\"surprise\"}",
        [WEIR_MOCK_ERROR_BAD_UTF8] =
            "{\"type\":\"response.output_text.delta\",\"delta\":\"\xC3\x28\"}",
    };
    uint32_t error = m->sc->set->error;
    if (error >= sizeof data / sizeof *data || data[error] == NULL) {
        return false;
    }
    weir_mock_event_data(m->sc, WEIR_SLICE("response.output_text.delta"),
                         weir_slice_cstr(data[error]), out);
    return true;
}

void weir_mock_response_event(struct weir_mock_response *m, const char *type,
                              struct weir_slice members, struct weir_buf *out)
{
    struct weir_buf json = {0};
    uint64_t number = m->n_events++;
    uint32_t fail_at = weir_mock_settings_fail_at(m->sc->set);
    if (fail_at != WEIR_MOCK_UNSET && number == fail_at && !m->has_failed) {
        m->has_failed = true;
        m->is_failing = !put_nonsense(m, out);
        return;
    }
    if (m->is_failing) {
        return;
    }
    weir_buf_printf(&json, "{\"type\":\"%s\",\"sequence_number\":%llu", type,
                    (unsigned long long)number);
    weir_buf_append(&json, members);
    put(&json, "}");
    size_t at = out->n;
    weir_mock_event_data(m->sc, weir_slice_cstr(type), weir_buf_slice(&json), out);
    if (m->stored != NULL) {
        weir_mock_stored_add(m->stored, weir_slice_sub(weir_buf_slice(out), at, out->n));
    }
    weir_buf_dispose(&json);
}

static void put_response(struct weir_mock_response *m, const char *type, const char *status,
                         struct weir_buf *out)
{
    struct weir_buf members = {0};
    put(&members, ",\"response\":");
    weir_mock_response_object(m, status, &members);
    weir_mock_response_event(m, type, weir_buf_slice(&members), out);
    weir_buf_dispose(&members);
}

uint64_t weir_mock_response_index(const struct weir_mock_response *m)
{
    return m->n_items + (has(m, WEIR_MOCK_SHUFFLED) ? 1 : 0);
}

void weir_mock_response_adorn(const struct weir_mock_response *m, struct weir_buf *members)
{
    if (m->sc->ask->wants_obfuscation) {
        put(members, ",\"obfuscation\":\"aB3xYz\"");
    }
    if (has(m, WEIR_MOCK_UNKNOWN)) {
        weir_buf_append(members, weir_mock_event_unknown);
    }
}

/* ---- items of the script ---- */

static const char *prefix_of(enum weir_mock_say say)
{
    switch (say) {
    case WEIR_MOCK_SAY_REASONING:
        return "rs";
    case WEIR_MOCK_SAY_TOOL:
    case WEIR_MOCK_SAY_ARGUMENTS:
        return "fc";
    default:
        return "msg";
    }
}

static void put_item_id(const struct weir_mock_response *m, struct weir_buf *out)
{
    weir_buf_printf(out, "%s_%s%03llu", prefix_of(m->say), m->sc->r->id,
                    (unsigned long long)m->n_items);
}

/* ,"item_id":…,"output_index":… of the item that is open. */
static void put_where(const struct weir_mock_response *m, uint64_t index, bool has_part,
                      struct weir_buf *out)
{
    put(out, ",\"item_id\":\"");
    put_item_id(m, out);
    weir_buf_printf(out, "\",\"output_index\":%llu", (unsigned long long)index);
    if (has_part) {
        weir_buf_printf(out, ",\"content_index\":%u", m->n_parts);
    }
}

/* The item that is open: as it begins, or whole. */
static void put_item(const struct weir_mock_response *m, const char *status, struct weir_buf *out)
{
    const struct weir_mock_ask *ask = m->sc->ask;
    bool is_whole = strcmp(status, "in_progress") != 0;
    struct weir_slice parts = is_whole ? weir_buf_slice(&m->parts) : WEIR_SLICE("");
    put(out, "{\"id\":\"");
    put_item_id(m, out);
    switch (m->say) {
    case WEIR_MOCK_SAY_REASONING:
        put(out, "\",\"type\":\"reasoning\",\"summary\":[],\"content\":[");
        weir_buf_append(out, parts);
        put(out, "],\"encrypted_content\":null");
        break;
    case WEIR_MOCK_SAY_TOOL:
    case WEIR_MOCK_SAY_ARGUMENTS:
        weir_buf_printf(out, "\",\"type\":\"function_call\",\"call_id\":\"call_%s%03u\",\"name\":",
                        m->sc->r->id, m->tool);
        weir_buf_append(out, ask->tool_names[m->tool % ask->n_tool_names]);
        put(out, ",\"arguments\":\"");
        weir_buf_append(out, is_whole ? weir_buf_slice(&m->said) : WEIR_SLICE(""));
        put(out, "\"");
        break;
    default:
        put(out, "\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[");
        weir_buf_append(out, parts);
        put(out, "]");
    }
    weir_buf_printf(out, ",\"status\":\"%s\"", status);
    if (has(m, WEIR_MOCK_UNKNOWN)) {
        weir_buf_append(out, weir_mock_event_unknown);
    }
    put(out, "}");
}

static void put_part(const struct weir_mock_response *m, bool is_whole, struct weir_buf *out)
{
    bool is_text = m->say == WEIR_MOCK_SAY_CONTENT;
    const char *head = is_text ? "{\"type\":\"output_text\",\"annotations\":[],\"text\":\""
                       : m->say == WEIR_MOCK_SAY_REFUSAL
                           ? "{\"type\":\"refusal\",\"refusal\":\""
                           : "{\"type\":\"reasoning_text\",\"text\":\"";
    put(out, head);
    weir_buf_append(out, is_whole ? weir_buf_slice(&m->said) : WEIR_SLICE(""));
    put(out, "\"");
    if (is_text) {
        put(out, ",\"logprobs\":[");
        weir_buf_append(out, is_whole ? weir_buf_slice(&m->logprobs) : WEIR_SLICE(""));
        put(out, "]");
    }
    put(out, "}");
}

/* The event of a part: vLLM has a name of its own where it is reasoning's. */
static void put_part_event(struct weir_mock_response *m, bool is_whole, struct weir_buf *out)
{
    static const char *const names[2][2] = {
        {"response.content_part.added", "response.content_part.done"},
        {"response.reasoning_part.added", "response.reasoning_part.done"}};
    bool is_other = has(m, WEIR_MOCK_EXTRAS) && m->say == WEIR_MOCK_SAY_REASONING;
    struct weir_buf members = {0};
    put_where(m, m->n_items, true, &members);
    put(&members, ",\"part\":");
    put_part(m, is_whole, &members);
    weir_mock_response_event(m, names[is_other][is_whole], weir_buf_slice(&members), out);
    weir_buf_dispose(&members);
}

static void put_item_event(struct weir_mock_response *m, const char *type, const char *status,
                           struct weir_buf *out)
{
    struct weir_buf members = {0};
    weir_buf_printf(&members, ",\"output_index\":%llu,\"item\":", (unsigned long long)m->n_items);
    put_item(m, status, &members);
    weir_mock_response_event(m, type, weir_buf_slice(&members), out);
    weir_buf_dispose(&members);
}

/* What a channel's events are called, up to `.delta` and `.done`, and what `done` repeats. */
static const char *channel_of(const struct weir_mock_response *m, const char **member)
{
    *member = "text";
    switch (m->say) {
    case WEIR_MOCK_SAY_REASONING:
        return "response.reasoning_text";
    case WEIR_MOCK_SAY_REFUSAL:
        *member = "refusal";
        return "response.refusal";
    case WEIR_MOCK_SAY_TOOL:
    case WEIR_MOCK_SAY_ARGUMENTS:
        *member = "arguments";
        return "response.function_call_arguments";
    default:
        return "response.output_text";
    }
}

static bool is_call(enum weir_mock_say say)
{
    return say == WEIR_MOCK_SAY_TOOL || say == WEIR_MOCK_SAY_ARGUMENTS;
}

static void put_piece(struct weir_mock_response *m, const struct weir_mock_part *part,
                      struct weir_buf *out)
{
    struct weir_buf members = {0};
    struct weir_buf entry = {0};
    char type[64];
    const char *member;
    snprintf(type, sizeof type, "%s.delta", channel_of(m, &member));
    put_where(m, weir_mock_response_index(m), !is_call(m->say), &members);
    put(&members, ",\"delta\":");
    weir_buf_append(&members, part->token.quoted);
    if (m->say == WEIR_MOCK_SAY_CONTENT) {
        if (m->sc->ask->wants_logprobs) {
            weir_mock_event_logprob_list(m->sc, part, 1, &entry);
            put(&m->logprobs, m->logprobs.n != 0 ? "," : "");
            weir_buf_append(&m->logprobs, weir_buf_slice(&entry));
        }
        put(&members, ",\"logprobs\":[");
        weir_buf_append(&members, weir_buf_slice(&entry));
        put(&members, "]");
    }
    weir_mock_response_adorn(m, &members);
    weir_mock_response_event(m, type, weir_buf_slice(&members), out);
    weir_buf_append(&m->said, weir_slice_sub(part->token.quoted, 1, part->token.quoted.n - 1));
    weir_buf_dispose(&members);
    weir_buf_dispose(&entry);
}

static void put_done(struct weir_mock_response *m, struct weir_buf *out)
{
    struct weir_buf members = {0};
    char type[64];
    const char *member;
    snprintf(type, sizeof type, "%s.done", channel_of(m, &member));
    put_where(m, m->n_items, !is_call(m->say), &members);
    weir_buf_printf(&members, ",\"%s\":\"", member);
    weir_buf_append(&members, weir_buf_slice(&m->said));
    put(&members, "\"");
    if (is_call(m->say)) {
        put(&members, ",\"name\":");
        weir_buf_append(&members, m->sc->ask->tool_names[m->tool % m->sc->ask->n_tool_names]);
    }
    if (m->say == WEIR_MOCK_SAY_CONTENT) {
        put(&members, ",\"logprobs\":[");
        weir_buf_append(&members, weir_buf_slice(&m->logprobs));
        put(&members, "]");
    }
    weir_mock_response_event(m, type, weir_buf_slice(&members), out);
    weir_buf_dispose(&members);
}

/* In the scenario `differs` what was said is repeated in other words. */
static void reword(struct weir_mock_response *m)
{
    struct weir_buf said = {0};
    if (!has(m, WEIR_MOCK_DIFFERS) || is_call(m->say)) {
        return;
    }
    put(&said, "in other words: ");
    weir_buf_append(&said, weir_buf_slice(&m->said));
    weir_buf_clear(&m->said);
    weir_buf_append(&m->said, weir_buf_slice(&said));
    weir_buf_dispose(&said);
}

static void end_part(struct weir_mock_response *m, struct weir_buf *out)
{
    reword(m);
    put_done(m, out);
    if (is_call(m->say)) {
        return; /* its item repeats it */
    }
    put_part_event(m, true, out);
    put(&m->parts, m->n_parts != 0 ? "," : "");
    put_part(m, true, &m->parts);
    m->n_parts++;
    weir_buf_clear(&m->said);
    weir_buf_clear(&m->logprobs);
}

static void end_item(struct weir_mock_response *m, struct weir_buf *out)
{
    if (!m->is_open) {
        return;
    }
    end_part(m, out);
    put_item_event(m, "response.output_item.done", "completed", out);
    put(&m->output, m->n_items != 0 ? "," : "");
    put_item(m, "completed", &m->output);
    m->is_open = false;
    m->n_items++;
    m->n_parts = 0;
    weir_buf_clear(&m->parts);
    weir_buf_clear(&m->said);
}

static void begin_item(struct weir_mock_response *m, const struct weir_mock_part *part,
                       struct weir_buf *out)
{
    end_item(m, out);
    m->is_open = true;
    m->say = part->say;
    m->tool = part->tool;
    put_item_event(m, "response.output_item.added", "in_progress", out);
    if (!is_call(m->say)) {
        put_part_event(m, false, out);
    }
}

static void say_part(struct weir_mock_response *m, const struct weir_mock_part *part,
                     struct weir_buf *out)
{
    bool is_same = m->is_open && prefix_of(part->say) == prefix_of(m->say) &&
                   (!is_call(part->say) || part->tool == m->tool);
    if (!is_same) {
        begin_item(m, part, out);
    } else if (part->say != m->say && !is_call(part->say)) { /* a refusal behind text */
        end_part(m, out);
        m->say = part->say;
        put_part_event(m, false, out);
    }
    if (part->say != WEIR_MOCK_SAY_TOOL) {
        put_piece(m, part, out);
    }
}

/* ---- one step after the other ---- */

static void begin(struct weir_mock_response *m, struct weir_buf *out)
{
    put_response(m, "response.created", m->sc->ask->is_background ? "queued" : "in_progress", out);
    if (m->sc->ask->is_background || has(m, WEIR_MOCK_ITEMS)) {
        put_response(m, "response.queued", "queued", out);
    }
    put_response(m, "response.in_progress", "in_progress", out);
    if (has(m, WEIR_MOCK_UNKNOWN)) {
        weir_mock_response_event(m, "response.news", WEIR_SLICE(",\"text\":\"nobody knows it\""),
                                 out);
    }
}

static bool say_script(struct weir_mock_response *m, struct weir_buf *out)
{
    struct weir_mock_part part;
    while (weir_mock_script_next(m->sc, 0, &part)) {
        if (!part.is_opening && part.say != WEIR_MOCK_SAY_NOTHING) {
            say_part(m, &part, out);
            return true;
        }
    }
    end_item(m, out);
    return false;
}

static void end(struct weir_mock_response *m, struct weir_buf *out)
{
    static const char *const types[] = {"response.completed", "response.incomplete",
                                        "response.failed"};
    const char *status = status_of(m);
    size_t i = strcmp(status, "failed") == 0 ? 2 : strcmp(status, "incomplete") == 0;
    if (has(m, WEIR_MOCK_EXTRAS)) {
        i = 0; /* vLLM, whatever the status is */
    }
    put_response(m, types[i], NULL, out);
    if (m->stored != NULL) {
        struct weir_buf object = {0};
        weir_mock_response_object(m, NULL, &object);
        weir_mock_stored_keep(m->stored, weir_buf_slice(&object));
        weir_buf_dispose(&object);
    }
}

bool weir_mock_response_say(struct weir_mock_response *m, struct weir_buf *out)
{
    switch (m->stage) {
    case WEIR_MOCK_RESPONSE_BEGIN:
        begin(m, out);
        m->stage = WEIR_MOCK_RESPONSE_SCRIPT;
        break;
    case WEIR_MOCK_RESPONSE_SCRIPT:
        if (!say_script(m, out)) {
            m->stage = has(m, WEIR_MOCK_ITEMS) ? WEIR_MOCK_RESPONSE_ROWS : WEIR_MOCK_RESPONSE_END;
        }
        break;
    case WEIR_MOCK_RESPONSE_ROWS:
        if (!weir_mock_response_rows(m, out)) {
            m->stage = WEIR_MOCK_RESPONSE_END;
        }
        break;
    case WEIR_MOCK_RESPONSE_END:
        end(m, out);
        m->stage = has(m, WEIR_MOCK_EXTRAS) ? WEIR_MOCK_RESPONSE_DONE : WEIR_MOCK_RESPONSE_OVER;
        break;
    case WEIR_MOCK_RESPONSE_DONE:
        weir_mock_event_data(m->sc, WEIR_SLICE(""), WEIR_SLICE("[DONE]"), out);
        m->stage = WEIR_MOCK_RESPONSE_OVER;
        break;
    case WEIR_MOCK_RESPONSE_OVER:
        return false;
    }
    return true;
}

/* ---- a stream ---- */

/* OpenAI's is flat; `nested` is what its library raises on. */
static void put_error(struct weir_mock_response *m, struct weir_buf *out)
{
    struct weir_slice words = m->sc->set->message;
    struct weir_buf quoted = {0};
    struct weir_buf json = {0};
    weir_json_write_quoted(&quoted,
                           words.p != NULL ? words : WEIR_SLICE("the mock was told to fail"));
    weir_buf_printf(&json,
                    "{\"type\":\"error\",\"sequence_number\":%llu,\"code\":\"server_error\","
                    "\"message\":%s,\"param\":null",
                    (unsigned long long)weir_mock_settings_fail_at(m->sc->set),
                    weir_buf_cstr(&quoted));
    if (m->sc->set->error == WEIR_MOCK_ERROR_NESTED) {
        weir_buf_printf(&json,
                        ",\"error\":{\"type\":\"server_error\",\"code\":\"server_error\","
                        "\"message\":%s,\"param\":null}",
                        weir_buf_cstr(&quoted));
    }
    put(&json, "}");
    weir_mock_event_data(m->sc, WEIR_SLICE("error"), weir_buf_slice(&json), out);
    weir_buf_dispose(&quoted);
    weir_buf_dispose(&json);
}

static enum weir_mock_next fail(struct weir_mock_response *m, struct weir_buf *out)
{
    m->is_failing = false;
    m->stage = WEIR_MOCK_RESPONSE_OVER;
    switch (m->sc->set->error) {
    case WEIR_MOCK_ERROR_CUT:
        return WEIR_MOCK_CUT;
    case WEIR_MOCK_ERROR_END:
        return WEIR_MOCK_END;
    case WEIR_MOCK_ERROR_STALL:
        return WEIR_MOCK_STALL;
    default:
        put_error(m, out);
        return WEIR_MOCK_MORE;
    }
}

static enum weir_mock_next next_event(void *ctx, struct weir_buf *out, uint64_t *wait_ms)
{
    struct weir_mock_response *m = ctx;
    (void)wait_ms;
    size_t before = out->n;
    bool is_step = m->stage == WEIR_MOCK_RESPONSE_SCRIPT || m->stage == WEIR_MOCK_RESPONSE_ROWS;
    while (out->n == before && !m->is_failing) {
        if (!weir_mock_response_say(m, out)) {
            return WEIR_MOCK_END;
        }
    }
    if (m->is_failing && out->n == before) {
        return fail(m, out);
    }
    return is_step ? WEIR_MOCK_STEP : WEIR_MOCK_MORE;
}

static const struct weir_mock_source SOURCE = {.next = next_event};

void weir_mock_responses_start(struct weir_http_stream *s, struct weir_mock_script *sc)
{
    static const struct weir_http_field fields[] = {
        {{"content-type", 12}, {"text/event-stream", 17}},
        {{"cache-control", 13}, {"no-cache", 8}},
    };
    struct weir_http_response r = {
        .status = 200, .fields = fields, .n_fields = 2, .body = WEIR_HTTP_BODY_STREAM};
    struct weir_mock_response *m = weir_arena_alloc(&s->arena, sizeof *m);
    weir_mock_response_init(m, sc);
    m->stored = weir_mock_stored_new(sc);
    weir_http_stream_respond(s, &r);
    weir_mock_player_start(s, &SOURCE, m);
}

/* ---- a whole response ---- */

int weir_mock_responses_write(struct weir_mock_script *sc, struct weir_buf *out)
{
    struct weir_mock_response *m = weir_arena_alloc(sc->arena, sizeof *m);
    struct weir_buf events = {0};
    weir_mock_response_init(m, sc);
    m->stored = weir_mock_stored_new(sc);
    if (sc->ask->is_background) {
        weir_mock_response_object(m, "queued", out); /* the rest is fetched */
    }
    while (m->output.n + m->said.n < MAX_BODY_BYTES / 4 && weir_mock_response_say(m, &events)) {
        weir_buf_clear(&events);
    }
    weir_buf_dispose(&events);
    if (!sc->ask->is_background) {
        weir_mock_response_object(m, NULL, out);
    }
    return m->stage == WEIR_MOCK_RESPONSE_OVER ? 0 : WEIR_ELIMIT;
}
