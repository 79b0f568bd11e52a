#include "base/utf8.h"
#include "mock/mock_script.h"
#include "wire/json_write.h"

#define FINE "{\"filtered\":false,\"severity\":\"safe\"}"

const struct weir_slice weir_mock_event_filters =
    WEIR_SLICE(",\"content_filter_results\":{\"hate\":" FINE ",\"violence\":" FINE "}");

/* Larger than a double holds, an escape, nesting: what a careless reader loses. */
const struct weir_slice weir_mock_event_unknown = WEIR_SLICE(
    ",\"x_mock\":{\"big\":12345678901234567890,\"text\":\"\\u00e9\\/\",\"list\":[1.50,[]]}");

static void put(struct weir_buf *out, const char *text)
{
    weir_buf_append(out, weir_slice_cstr(text));
}

static bool has(const struct weir_mock_script *sc, enum weir_mock_scenario scenario)
{
    return weir_mock_settings_has(sc->set, scenario);
}

void weir_mock_event_make_head(struct weir_mock_script *sc, const char *object)
{
    struct weir_buf head = {0};
    weir_buf_printf(&head, "{\"id\":\"%s-%s\",\"object\":\"%s\",\"created\":%lld,\"model\":",
                    sc->ask->is_chat ? "chatcmpl" : "cmpl", sc->r->id, object,
                    (long long)weir_mock_request_created(sc->r));
    weir_buf_append(&head, sc->ask->model);
    struct weir_slice provider = sc->r->provider.n != 0 ? sc->r->provider : WEIR_SLICE("mock");
    weir_buf_printf(&head, ",\"system_fingerprint\":\"fp_%.*s\"", (int)provider.n, provider.p);
    if (has(sc, WEIR_MOCK_UNKNOWN)) {
        weir_buf_append(&head, weir_mock_event_unknown);
    }
    put(&head, ",\"choices\":[");
    sc->head = weir_arena_dup(sc->arena, weir_buf_slice(&head));
    weir_buf_dispose(&head);
}

/* ---- values ---- */

void weir_mock_event_usage(const struct weir_mock_script *sc, struct weir_buf *out)
{
    size_t prompt = sc->ask->prompt_tokens;
    size_t said = sc->n_said;
    size_t thought = sc->reasoning.n * sc->ask->n;
    thought = thought < said ? thought : said;
    weir_buf_printf(out,
                    "{\"prompt_tokens\":%zu,\"completion_tokens\":%zu,\"total_tokens\":%zu,"
                    "\"prompt_tokens_details\":{\"cached_tokens\":0},"
                    "\"completion_tokens_details\":{\"reasoning_tokens\":%zu}}",
                    prompt, said, prompt + said, thought);
}

/* Between -0.001 and -2, by the token's number: nothing depends on it, but it should differ. */
static void put_logprob(struct weir_buf *out, size_t at, size_t rank)
{
    size_t thousandths = 1 + (at * 7919 + rank * 104729) % 2000;
    weir_buf_printf(out, "-%zu.%03zu", thousandths / 1000, thousandths % 1000);
}

static void put_bytes(struct weir_buf *out, struct weir_slice plain)
{
    for (size_t i = 0; i < plain.n; i++) {
        weir_buf_printf(out, "%s%u", i != 0 ? "," : "", (unsigned char)plain.p[i]);
    }
}

static void put_chat_token(const struct weir_mock_part *part, size_t rank, struct weir_buf *out)
{
    put(out, "{\"token\":");
    if (rank == 0) {
        weir_buf_append(out, part->token.quoted);
    } else {
        weir_buf_printf(out, "\"other%zu\"", rank);
    }
    put(out, ",\"logprob\":");
    put_logprob(out, part->at, rank);
    put(out, ",\"bytes\":");
    if (rank == 0) {
        put(out, "[");
        put_bytes(out, part->token.plain);
        put(out, "]");
    } else {
        put(out, "null");
    }
}

void weir_mock_event_logprob_list(const struct weir_mock_script *sc,
                                  const struct weir_mock_part *parts, size_t n,
                                  struct weir_buf *out)
{
    for (size_t i = 0; i < n; i++) {
        put(out, i != 0 ? "," : "");
        put_chat_token(&parts[i], 0, out);
        put(out, ",\"top_logprobs\":[");
        for (uint32_t k = 0; k < sc->ask->top_logprobs; k++) {
            put(out, k != 0 ? "," : "");
            put_chat_token(&parts[i], k, out);
            put(out, "}");
        }
        put(out, "]}");
    }
}

static void put_chat_logprobs(const struct weir_mock_script *sc, const struct weir_mock_part *parts,
                              size_t n, struct weir_buf *out)
{
    put(out, "{\"content\":[");
    weir_mock_event_logprob_list(sc, parts, n, out);
    put(out, "],\"refusal\":null}");
}

static void put_top_of_token(const struct weir_mock_script *sc, const struct weir_mock_part *part,
                             struct weir_buf *out)
{
    put(out, "{");
    weir_buf_append(out, part->token.quoted);
    put(out, ":");
    put_logprob(out, part->at, 0);
    for (uint32_t k = 1; k < sc->ask->top_logprobs; k++) {
        weir_buf_printf(out, ",\"other%u\":", k);
        put_logprob(out, part->at, k);
    }
    put(out, "}");
}

/* Four lists beside each other, as completions have them. */
static void put_completion_logprobs(const struct weir_mock_script *sc,
                                    const struct weir_mock_part *parts, size_t n,
                                    struct weir_buf *out)
{
    put(out, "{\"tokens\":[");
    for (size_t i = 0; i < n; i++) {
        put(out, i != 0 ? "," : "");
        weir_buf_append(out, parts[i].token.quoted);
    }
    put(out, "],\"token_logprobs\":[");
    for (size_t i = 0; i < n; i++) {
        put(out, i != 0 ? "," : "");
        put_logprob(out, parts[i].at, 0);
    }
    put(out, "],\"top_logprobs\":[");
    for (size_t i = 0; i < n; i++) {
        put(out, i != 0 ? "," : "");
        put_top_of_token(sc, &parts[i], out);
    }
    put(out, "],\"text_offset\":[");
    for (size_t i = 0; i < n; i++) {
        weir_buf_printf(out, "%s%zu", i != 0 ? "," : "", parts[i].offset_cp);
    }
    put(out, "]}");
}

void weir_mock_event_logprobs(const struct weir_mock_script *sc, const struct weir_mock_part *parts,
                              size_t n, struct weir_buf *out)
{
    bool has_tokens = n != 0 && parts[0].say == WEIR_MOCK_SAY_CONTENT && !parts[0].is_opening;
    if (!sc->ask->wants_logprobs || !has_tokens) {
        put(out, "null");
    } else if (sc->ask->is_chat) {
        put_chat_logprobs(sc, parts, n, out);
    } else {
        put_completion_logprobs(sc, parts, n, out);
    }
}

void weir_mock_event_tool(const struct weir_mock_script *sc, const struct weir_mock_part *part,
                          struct weir_slice arguments, struct weir_buf *out)
{
    const struct weir_mock_ask *ask = sc->ask;
    weir_buf_printf(out, "\"id\":\"call_%s%u%03u\",\"type\":\"function\",\"function\":{\"name\":",
                    sc->r->id, part->choice, part->tool);
    weir_buf_append(out, ask->tool_names[part->tool % ask->n_tool_names]);
    put(out, ",\"arguments\":");
    weir_buf_append(out, arguments);
    put(out, "}}");
}

/* ---- events ---- */

/* Comments are put where readers stumble: in a block of their own, and inside an event's. */
static void begin_event(const struct weir_mock_script *sc, struct weir_slice name,
                        struct weir_buf *out)
{
    if (has(sc, WEIR_MOCK_COMMENTS)) {
        put(out, ": between events");
        weir_buf_append(out, sc->eol);
        weir_buf_append(out, sc->eol);
        put(out, ":inside");
        weir_buf_append(out, sc->eol);
    }
    if (name.n != 0) {
        put(out, "event: ");
        weir_buf_append(out, name);
        weir_buf_append(out, sc->eol);
    }
    put(out, "data: ");
}

static void end_event(const struct weir_mock_script *sc, struct weir_buf *out)
{
    weir_buf_append(out, sc->eol);
    weir_buf_append(out, sc->eol);
}

void weir_mock_event_data(const struct weir_mock_script *sc, struct weir_slice name,
                          struct weir_slice data, struct weir_buf *out)
{
    begin_event(sc, name, out);
    weir_buf_append(out, data);
    end_event(sc, out);
}

void weir_mock_event_extra(const struct weir_mock_script *sc, struct weir_slice member,
                           struct weir_buf *out)
{
    begin_event(sc, WEIR_SLICE(""), out);
    weir_buf_append(out, sc->head);
    put(out, "],");
    weir_buf_append(out, member);
    put(out, "}");
    end_event(sc, out);
}

/* A member of a delta, with the comma that it may need. */
static void put_member(struct weir_buf *out, const char *name, struct weir_slice json)
{
    bool is_first = out->p[out->n - 1] == '{';
    weir_buf_printf(out, "%s\"%s\":", is_first ? "" : ",", name);
    weir_buf_append(out, json);
}

static void put_tool_delta(const struct weir_mock_script *sc, const struct weir_mock_part *part,
                           struct weir_buf *out)
{
    struct weir_buf call = {0};
    weir_buf_printf(&call, "[{\"index\":%u,", part->tool);
    if (part->say == WEIR_MOCK_SAY_TOOL) {
        weir_mock_event_tool(sc, part, WEIR_SLICE("\"\""), &call);
    } else {
        put(&call, "\"function\":{\"arguments\":");
        weir_buf_append(&call, part->token.quoted);
        put(&call, "}}");
    }
    put(&call, "]");
    put_member(out, "tool_calls", weir_buf_slice(&call));
    weir_buf_dispose(&call);
}

static void put_delta(const struct weir_mock_script *sc, const struct weir_mock_part *part,
                      struct weir_buf *out)
{
    put(out, "\"delta\":{");
    if (part->has_role) {
        put_member(out, "role", WEIR_SLICE("\"assistant\""));
    }
    switch (part->say) {
    case WEIR_MOCK_SAY_NOTHING:
        break;
    case WEIR_MOCK_SAY_CONTENT:
        if (has(sc, WEIR_MOCK_MIXED) && !part->is_opening) {
            put_member(out, "reasoning_content", WEIR_SLICE("\"hm, \""));
        }
        put_member(out, "content", part->token.quoted);
        break;
    case WEIR_MOCK_SAY_REASONING:
        put_member(out, "reasoning_content", part->token.quoted);
        break;
    case WEIR_MOCK_SAY_REFUSAL:
        put_member(out, "refusal", part->token.quoted);
        break;
    case WEIR_MOCK_SAY_TOOL:
    case WEIR_MOCK_SAY_ARGUMENTS:
        put_tool_delta(sc, part, out);
        break;
    }
    if (has(sc, WEIR_MOCK_UNKNOWN)) {
        put_member(out, "x_delta", WEIR_SLICE("{\"kept\":true}"));
    }
    put(out, "}");
}

static void put_choice(const struct weir_mock_script *sc, const struct weir_mock_part *part,
                       struct weir_buf *out)
{
    weir_buf_printf(out, "{\"index\":%u,", part->choice);
    if (sc->ask->is_chat) {
        put_delta(sc, part, out);
    } else {
        put(out, "\"text\":");
        weir_buf_append(out, part->token.quoted.n != 0 ? part->token.quoted : WEIR_SLICE("\"\""));
    }
    put(out, ",\"logprobs\":");
    weir_mock_event_logprobs(sc, part, 1, out);
    put(out, ",\"finish_reason\":");
    if (part->finish.p != NULL) {
        weir_json_write_quoted(out, part->finish);
    } else {
        put(out, "null");
    }
    if (has(sc, WEIR_MOCK_AZURE)) {
        weir_buf_append(out, weir_mock_event_filters);
    }
    if (has(sc, WEIR_MOCK_UNKNOWN)) {
        put(out, part->finish.p != NULL ? ",\"stop_reason\":\"###\"" : ",\"stop_reason\":null");
        weir_buf_append(out, weir_mock_event_unknown);
    }
    put(out, "}");
}

void weir_mock_event_parts(const struct weir_mock_script *sc, const struct weir_mock_part *parts,
                           size_t n, struct weir_buf *out)
{
    begin_event(sc, WEIR_SLICE(""), out);
    weir_buf_append(out, sc->head);
    for (size_t i = 0; i < n; i++) {
        put(out, i != 0 ? "," : "");
        put_choice(sc, &parts[i], out);
    }
    put(out, "]");
    if (sc->ask->wants_usage_each) {
        put(out, ",\"usage\":");
        weir_mock_event_usage(sc, out);
    } else if (sc->ask->wants_usage) {
        put(out, ",\"usage\":null");
    }
    put(out, "}");
    end_event(sc, out);
}
