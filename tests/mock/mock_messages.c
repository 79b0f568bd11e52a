/*
 * The same script in Anthropic's Messages: what is said in one channel is a block.
 *
 *   message_start ─► start, [ping], deltas, stop of each block ─► message_delta ─► message_stop
 *                                 └─ fail_at ─► the error
 */
#include "base/err.h"
#include "mock/mock_script.h"
#include "talk/messages.h"
#include "wire/json_write.h"

enum { MAX_BODY_BYTES = 64 * 1024 * 1024 };

enum stage { BEGIN, BLOCKS, STOP, OVER };

struct message {
    struct weir_mock_script *sc;
    enum stage stage;
    bool is_open;
    enum weir_messages_kind kind; /* of the block that is open */
    uint32_t tool;
    uint64_t n_blocks;
    struct weir_buf content; /* whole: blocks; of the one that is open, what it says so far */
};

static bool has(const struct message *m, enum weir_mock_scenario scenario)
{
    return weir_mock_settings_has(m->sc->set, scenario);
}

static enum weir_messages_kind kind_of(const struct weir_mock_part *part)
{
    switch (part->say) {
    case WEIR_MOCK_SAY_REASONING:
        return WEIR_MESSAGES_THINKING;
    case WEIR_MOCK_SAY_TOOL:
    case WEIR_MOCK_SAY_ARGUMENTS:
        return WEIR_MESSAGES_TOOL;
    default:
        return WEIR_MESSAGES_TEXT; /* a refusal is said like anything else */
    }
}

static void put_head(const struct message *m, struct weir_buf *out)
{
    weir_buf_printf(out, "\"id\":\"msg_%s\",\"type\":\"message\",\"role\":\"assistant\",\"model\":",
                    m->sc->r->id);
    weir_buf_append(out, m->sc->ask->model);
}

static void put_usage(const struct message *m, struct weir_buf *out)
{
    weir_buf_printf(out,
                    "{\"input_tokens\":%zu,\"output_tokens\":%llu,"
                    "\"cache_read_input_tokens\":0,\"service_tier\":\"standard\"}",
                    m->sc->ask->prompt_tokens, (unsigned long long)m->sc->n_said);
}

static void put_stop(const struct message *m, struct weir_buf *out)
{
    static const char *const words[][2] = {{"stop", "end_turn"},
                                           {"length", "max_tokens"},
                                           {"tool_calls", "tool_use"},
                                           {"content_filter", "refusal"}};
    struct weir_slice finish = m->sc->choices[0].finish;
    for (size_t i = 0; i < 4; i++) {
        finish = weir_slice_eq_cstr(finish, words[i][0]) ? weir_slice_cstr(words[i][1]) : finish;
    }
    weir_buf_append(out, WEIR_SLICE("\"stop_reason\":"));
    weir_json_write_quoted(out, finish);
    weir_buf_append(out, WEIR_SLICE(",\"stop_sequence\":null"));
}

/* The block that a part opens, up to what it says. */
static void put_opening(const struct message *m, const struct weir_mock_part *part,
                        struct weir_buf *out)
{
    const struct weir_mock_ask *ask = m->sc->ask;
    switch (kind_of(part)) {
    case WEIR_MESSAGES_TOOL:
        weir_buf_printf(out,
                        "{\"type\":\"tool_use\",\"id\":\"toolu_%s%03u\",\"name\":", m->sc->r->id,
                        part->tool);
        weir_buf_append(out, ask->tool_names[part->tool % ask->n_tool_names]);
        weir_buf_append(out, WEIR_SLICE(",\"input\":"));
        break;
    case WEIR_MESSAGES_THINKING:
        weir_buf_append(out, WEIR_SLICE("{\"type\":\"thinking\",\"signature\":\"\",\"thinking\":"));
        break;
    default:
        weir_buf_append(out, WEIR_SLICE("{\"type\":\"text\",\"text\":"));
    }
}

/* Does the part begin another block than the one that is open? */
static bool begins(const struct message *m, const struct weir_mock_part *part)
{
    return !m->is_open || kind_of(part) != m->kind ||
           (m->kind == WEIR_MESSAGES_TOOL && part->tool != m->tool);
}

/* The next part that says something. False: all is said. */
static bool next_part(struct message *m, struct weir_mock_part *part)
{
    while (weir_mock_script_next(m->sc, 0, part)) {
        if (!part->is_opening && part->say != WEIR_MOCK_SAY_NOTHING) {
            return true;
        }
    }
    return false;
}

/* ---- a stream ---- */

static void put_event(struct message *m, struct weir_slice json, struct weir_buf *out)
{
    struct weir_slice rest = weir_slice_sub(json, sizeof "{\"type\":\"" - 1, json.n);
    weir_mock_event_data(m->sc, weir_slice_cut(&rest, '"'), json, out);
}

static void stop_block(struct message *m, struct weir_buf *out)
{
    struct weir_buf json = {0};
    if (m->is_open && m->kind == WEIR_MESSAGES_THINKING) {
        struct weir_messages_delta d = {
            .index = m->n_blocks - 1, .kind = WEIR_MESSAGES_SEALED, .text = WEIR_SLICE("bW9jaw==")};
        weir_messages_write_delta(&d, &json);
        put_event(m, weir_buf_slice(&json), out);
        weir_buf_clear(&json);
    }
    if (m->is_open) {
        weir_messages_write_block_stop(m->n_blocks - 1, &json);
        put_event(m, weir_buf_slice(&json), out);
    }
    m->is_open = false;
    weir_buf_dispose(&json);
}

static void open_block(struct message *m, const struct weir_mock_part *part, struct weir_buf *out)
{
    struct weir_buf block = {0};
    struct weir_buf json = {0};
    stop_block(m, out);
    put_opening(m, part, &block);
    weir_buf_append(&block,
                    kind_of(part) == WEIR_MESSAGES_TOOL ? WEIR_SLICE("{}}") : WEIR_SLICE("\"\"}"));
    weir_messages_write_block(m->n_blocks++, weir_buf_slice(&block), &json);
    put_event(m, weir_buf_slice(&json), out);
    if (m->n_blocks == 1) {
        put_event(m, WEIR_MESSAGES_PING_EVENT, out);
    }
    m->is_open = true;
    m->kind = kind_of(part);
    m->tool = part->tool;
    weir_buf_dispose(&block);
    weir_buf_dispose(&json);
}

/* Written by hand: the token's escapes stay as they are. */
static void put_piece(struct message *m, const struct weir_mock_part *part, struct weir_buf *out)
{
    static const char *const names[] = {[WEIR_MESSAGES_TEXT] = "text_delta\",\"text",
                                        [WEIR_MESSAGES_THINKING] = "thinking_delta\",\"thinking",
                                        [WEIR_MESSAGES_TOOL] = "input_json_delta\",\"partial_json"};
    struct weir_buf json = {0};
    uint64_t index = m->n_blocks - (has(m, WEIR_MOCK_SHUFFLED) ? 0 : 1); /* out of its order */
    weir_buf_printf(&json,
                    "{\"type\":\"content_block_delta\",\"index\":%llu,\"delta\":{\"type\":\"%s\":",
                    (unsigned long long)index, names[m->kind]);
    weir_buf_append(&json, part->token.quoted);
    weir_buf_append_byte(&json, '}');
    if (has(m, WEIR_MOCK_UNKNOWN)) {
        weir_buf_append(&json, weir_mock_event_unknown);
    }
    weir_buf_append_byte(&json, '}');
    put_event(m, weir_buf_slice(&json), out);
    weir_buf_dispose(&json);
}

static void put_start(struct message *m, struct weir_buf *out)
{
    struct weir_buf head = {0};
    struct weir_buf usage = {0};
    struct weir_buf json = {0};
    put_head(m, &head);
    put_usage(m, &usage);
    weir_messages_write_start(weir_buf_slice(&head), weir_buf_slice(&usage), &json);
    put_event(m, weir_buf_slice(&json), out);
    if (has(m, WEIR_MOCK_UNKNOWN)) {
        put_event(m, WEIR_SLICE("{\"type\":\"news\",\"text\":\"nobody knows it\"}"), out);
    }
    weir_buf_dispose(&head);
    weir_buf_dispose(&usage);
    weir_buf_dispose(&json);
}

static void put_ending(struct message *m, struct weir_buf *out)
{
    struct weir_buf stop = {0};
    struct weir_buf usage = {0};
    struct weir_buf json = {0};
    stop_block(m, out);
    put_stop(m, &stop);
    put_usage(m, &usage);
    weir_messages_write_ending(&(struct weir_messages_ending){.stop = weir_buf_slice(&stop),
                                                              .usage = weir_buf_slice(&usage)},
                               &json);
    put_event(m, weir_buf_slice(&json), out);
    weir_buf_dispose(&stop);
    weir_buf_dispose(&usage);
    weir_buf_dispose(&json);
}

/* What comes in place of event `fail_at`. */
static enum weir_mock_next fail(struct message *m, struct weir_buf *out)
{
    struct weir_buf json = {0};
    m->stage = OVER;
    switch (m->sc->set->error) {
    case WEIR_MOCK_ERROR_CUT:
        return WEIR_MOCK_CUT;
    case WEIR_MOCK_ERROR_END:
        return WEIR_MOCK_END;
    case WEIR_MOCK_ERROR_STALL:
        return WEIR_MOCK_STALL;
    case WEIR_MOCK_ERROR_GARBAGE:
        weir_mock_event_data(m->sc, WEIR_SLICE("content_block_delta"), WEIR_SLICE("{\"type\":"),
                             out);
        return WEIR_MOCK_MORE;
    default:
        break;
    }
    struct weir_slice words = m->sc->set->message;
    weir_messages_write_error(
        "api_error", words.p != NULL ? words : WEIR_SLICE("the mock was told to fail"), &json);
    put_event(m, weir_buf_slice(&json), out);
    weir_buf_dispose(&json);
    return WEIR_MOCK_MORE;
}

static enum weir_mock_next next_event(void *ctx, struct weir_buf *out, uint64_t *wait_ms)
{
    struct message *m = ctx;
    struct weir_mock_part part;
    uint32_t fail_at = weir_mock_settings_fail_at(m->sc->set);
    (void)wait_ms;
    m->sc->n_events++;
    if (fail_at != WEIR_MOCK_UNSET && m->sc->n_events == (uint64_t)fail_at + 1) {
        return fail(m, out);
    }
    switch (m->stage) {
    case BEGIN:
        put_start(m, out);
        m->stage = BLOCKS;
        return WEIR_MOCK_MORE;
    case BLOCKS:
        if (!next_part(m, &part)) {
            put_ending(m, out);
            m->stage = STOP;
            return WEIR_MOCK_MORE;
        }
        if (begins(m, &part)) {
            open_block(m, &part, out);
        }
        if (part.say != WEIR_MOCK_SAY_TOOL) {
            put_piece(m, &part, out);
        }
        return WEIR_MOCK_STEP;
    case STOP:
        put_event(m, WEIR_MESSAGES_STOP_EVENT, out);
        m->stage = OVER;
        return WEIR_MOCK_MORE;
    case OVER:
        break;
    }
    return WEIR_MOCK_END;
}

static const struct weir_mock_source SOURCE = {.next = next_event};

void weir_mock_messages_start(struct weir_http_stream *s, struct weir_mock_script *sc)
{
    static const struct weir_http_field fields[] = {
        {{"content-type", 12}, {"text/event-stream", 17}},
        {{"cache-control", 13}, {"no-cache", 8}},
    };
    struct weir_http_response r = {
        .status = 200, .fields = fields, .n_fields = 2, .body = WEIR_HTTP_BODY_STREAM};
    struct message *m = weir_arena_zalloc(&s->arena, sizeof *m);
    m->sc = sc;
    weir_http_stream_respond(s, &r);
    weir_mock_player_start(s, &SOURCE, m);
}

/* ---- a whole message ---- */

/* What the open block says stands there as it is; a tool's input is JSON. */
static void end_whole(struct message *m)
{
    if (m->is_open) {
        bool is_empty = m->kind == WEIR_MESSAGES_TOOL && m->content.p[m->content.n - 1] == ':';
        weir_buf_append(&m->content, is_empty                        ? WEIR_SLICE("{}}")
                                     : m->kind == WEIR_MESSAGES_TOOL ? WEIR_SLICE("}")
                                                                     : WEIR_SLICE("\"}"));
    }
    m->is_open = false;
}

static void add_whole(struct message *m, const struct weir_mock_part *part)
{
    struct weir_slice inside = part->token.quoted;
    if (begins(m, part)) {
        end_whole(m);
        weir_buf_append(&m->content, m->content.n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        put_opening(m, part, &m->content);
        m->is_open = true;
        m->kind = kind_of(part);
        m->tool = part->tool;
        weir_buf_append(&m->content,
                        m->kind == WEIR_MESSAGES_TOOL ? WEIR_SLICE("") : WEIR_SLICE("\""));
    }
    if (part->say == WEIR_MOCK_SAY_TOOL) {
        return;
    }
    weir_buf_append(&m->content, m->kind == WEIR_MESSAGES_TOOL
                                     ? part->token.plain
                                     : weir_slice_sub(inside, 1, inside.n - 1));
}

int weir_mock_messages_write(struct weir_mock_script *sc, struct weir_buf *out)
{
    struct message m = {.sc = sc};
    struct weir_mock_part part;
    struct weir_buf head = {0};
    struct weir_buf stop = {0};
    struct weir_buf usage = {0};
    weir_buf_init(&m.content, MAX_BODY_BYTES);
    while (next_part(&m, &part) && m.content.n < MAX_BODY_BYTES / 2) {
        add_whole(&m, &part);
    }
    end_whole(&m);
    put_head(&m, &head);
    put_stop(&m, &stop);
    put_usage(&m, &usage);
    weir_messages_write_whole(weir_buf_slice(&head), weir_buf_slice(&m.content),
                              &(struct weir_messages_ending){.stop = weir_buf_slice(&stop),
                                                             .usage = weir_buf_slice(&usage)},
                              out);
    int rc = m.content.n < MAX_BODY_BYTES / 2 ? 0 : WEIR_ELIMIT;
    weir_buf_dispose(&m.content);
    weir_buf_dispose(&head);
    weir_buf_dispose(&stop);
    weir_buf_dispose(&usage);
    return rc;
}
