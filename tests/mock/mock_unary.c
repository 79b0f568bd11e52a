#include "base/err.h"
#include "base/mem.h"
#include "mock/mock_script.h"
#include "wire/json_write.h"

#include <stdlib.h>

enum { MAX_BODY_BYTES = 64 * 1024 * 1024, MAX_PARTS = 1000 * 1000 };

/* What the parts of one choice add up to. JSON strings without their quotes. */
struct message {
    struct weir_buf content;
    struct weir_buf reasoning;
    struct weir_buf refusal;
    struct weir_buf calls; /* members of the list, complete */
    struct weir_buf arguments;
    struct weir_mock_part call; /* whose arguments are being gathered */
    struct weir_mock_part *tokens;
    size_t n_tokens;
    size_t cap_tokens;
    bool has_call;
    bool has_content;
};

static void put(struct weir_buf *out, const char *text)
{
    weir_buf_append(out, weir_slice_cstr(text));
}

static bool has(const struct weir_mock_script *sc, enum weir_mock_scenario scenario)
{
    return weir_mock_settings_has(sc->set, scenario);
}

static int add_token(struct weir_buf *to, const struct weir_mock_token *token)
{
    return weir_buf_append(to, weir_slice_sub(token->quoted, 1, token->quoted.n - 1));
}

static void end_call(const struct weir_mock_script *sc, struct message *m)
{
    if (!m->has_call) {
        return;
    }
    struct weir_buf quoted = {0};
    put(&quoted, "\"");
    weir_buf_append(&quoted, weir_buf_slice(&m->arguments));
    put(&quoted, "\"");
    put(&m->calls, m->calls.n != 0 ? ",{" : "{");
    weir_mock_event_tool(sc, &m->call, weir_buf_slice(&quoted), &m->calls);
    weir_buf_dispose(&quoted);
    weir_buf_clear(&m->arguments);
    m->has_call = false;
}

static void keep_token(struct message *m, const struct weir_mock_part *part)
{
    if (m->n_tokens == m->cap_tokens) {
        m->cap_tokens = m->cap_tokens != 0 ? m->cap_tokens * 2 : 64;
        m->tokens = weir_mem_realloc(m->tokens, m->cap_tokens * sizeof *m->tokens);
    }
    m->tokens[m->n_tokens++] = *part;
}

static int add_content(const struct weir_mock_script *sc, struct message *m,
                       const struct weir_mock_part *part)
{
    if (part->is_opening) {
        return 0;
    }
    m->has_content = true;
    if (sc->ask->wants_logprobs) {
        keep_token(m, part);
    }
    if (has(sc, WEIR_MOCK_MIXED)) {
        put(&m->reasoning, "hm, ");
    }
    return add_token(&m->content, &part->token);
}

static int add_part(const struct weir_mock_script *sc, struct message *m,
                    const struct weir_mock_part *part)
{
    switch (part->say) {
    case WEIR_MOCK_SAY_NOTHING:
        return 0;
    case WEIR_MOCK_SAY_CONTENT:
        return add_content(sc, m, part);
    case WEIR_MOCK_SAY_REASONING:
        return add_token(&m->reasoning, &part->token);
    case WEIR_MOCK_SAY_REFUSAL:
        return add_token(&m->refusal, &part->token);
    case WEIR_MOCK_SAY_TOOL:
        end_call(sc, m);
        m->call = *part;
        m->has_call = true;
        return 0;
    case WEIR_MOCK_SAY_ARGUMENTS:
        return add_token(&m->arguments, &part->token);
    }
    return 0;
}

/* A string member from its inside, or null. */
static void put_text(struct weir_buf *out, const char *name, const struct weir_buf *inside,
                     bool is_set)
{
    weir_buf_printf(out, ",\"%s\":%s", name, is_set ? "\"" : "null");
    if (is_set) {
        weir_buf_append(out, weir_buf_slice(inside));
        put(out, "\"");
    }
}

static void put_message(const struct weir_mock_script *sc, const struct message *m,
                        struct weir_buf *out)
{
    put(out, "\"message\":{\"role\":\"assistant\"");
    put_text(out, "content", &m->content, m->has_content);
    put_text(out, "refusal", &m->refusal, m->refusal.n != 0);
    if (m->reasoning.n != 0) {
        put_text(out, "reasoning_content", &m->reasoning, true);
    }
    if (m->calls.n != 0) {
        put(out, ",\"tool_calls\":[");
        weir_buf_append(out, weir_buf_slice(&m->calls));
        put(out, "]");
    }
    if (has(sc, WEIR_MOCK_UNKNOWN)) {
        weir_buf_append(out, weir_mock_event_unknown);
    }
    put(out, "}");
}

static void put_choice(const struct weir_mock_script *sc, uint32_t choice, const struct message *m,
                       struct weir_buf *out)
{
    weir_buf_printf(out, "%s{\"index\":%u,", choice != 0 ? "," : "", choice);
    if (sc->ask->is_chat) {
        put_message(sc, m, out);
    } else {
        put(out, "\"text\":\"");
        weir_buf_append(out, weir_buf_slice(&m->content));
        put(out, "\"");
    }
    put(out, ",\"logprobs\":");
    weir_mock_event_logprobs(sc, m->tokens, m->n_tokens, out);
    put(out, ",\"finish_reason\":");
    weir_json_write_quoted(out, sc->choices[choice].finish);
    if (has(sc, WEIR_MOCK_AZURE)) {
        weir_buf_append(out, weir_mock_event_filters);
    }
    if (has(sc, WEIR_MOCK_UNKNOWN)) {
        put(out, ",\"stop_reason\":\"###\"");
        weir_buf_append(out, weir_mock_event_unknown);
    }
    put(out, "}");
}

static void dispose(struct message *m)
{
    weir_buf_dispose(&m->content);
    weir_buf_dispose(&m->reasoning);
    weir_buf_dispose(&m->refusal);
    weir_buf_dispose(&m->calls);
    weir_buf_dispose(&m->arguments);
    free(m->tokens);
}

static int write_choice(struct weir_mock_script *sc, uint32_t choice, struct weir_buf *out)
{
    struct message m = {0};
    struct weir_mock_part part;
    int rc = 0;
    weir_buf_init(&m.content, MAX_BODY_BYTES);
    for (size_t n = 0; rc == 0 && weir_mock_script_next(sc, choice, &part); n++) {
        rc = n < MAX_PARTS ? add_part(sc, &m, &part) : WEIR_ELIMIT;
    }
    end_call(sc, &m);
    if (rc == 0) {
        put_choice(sc, choice, &m, out);
    }
    dispose(&m);
    return rc != 0 || out->n > MAX_BODY_BYTES ? WEIR_ELIMIT : 0;
}

int weir_mock_unary_write(struct weir_mock_script *sc, struct weir_buf *out)
{
    int rc = 0;
    weir_mock_event_make_head(sc, sc->ask->is_chat ? "chat.completion" : "text_completion");
    weir_buf_append(out, sc->head);
    for (uint32_t i = 0; rc == 0 && i < sc->ask->n; i++) {
        rc = write_choice(sc, i, out);
    }
    put(out, "],\"usage\":");
    weir_mock_event_usage(sc, out);
    put(out, "}");
    return rc;
}
