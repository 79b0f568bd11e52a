/*
 * What arrives of an answer, into the row: blocks of a stream event by event, those of a whole
 * message at once. Where the route annotates, events are lines as they came, and what is found is
 * told; where it blocks or redacts, everything is taken apart and only what is known goes on.
 */
#include "base/err.h"
#include "base/mem.h"
#include "talk/form.h"
#include "task/message_int.h"
#include "task/seen.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

/* One event, or the whole answer. */
struct came {
    struct weir_msg *m;
    const struct weir_json *json;
    struct weir_slice raw; /* with its framing */
};

/* The event as it came, where the route annotates. */
static struct weir_row_line as_it_came(const struct came *c, enum weir_msg_tag tag)
{
    struct weir_row_line line = {.tag = (int)tag, .number = c->m->index};
    if (c->m->base.is_stream) {
        line.json = c->json->src;
        line.raw = c->raw;
    }
    return line;
}

static void pass(const struct came *c)
{
    struct weir_row_line line = as_it_came(c, WEIR_MSG_EVENT);
    if (line.json.n != 0) {
        weir_row_line(c->m->base.row, &line);
    }
}

static void add_line(struct weir_msg *m, enum weir_msg_tag tag, struct weir_slice json)
{
    weir_row_line(m->base.row,
                  &(struct weir_row_line){.tag = (int)tag, .number = m->index, .json = json});
}

/* ---- JSON as text ---- */

static void judge_json(const struct came *c, uint32_t at, const struct weir_row_line *line,
                       enum weir_row_rule rule)
{
    weir_rowed_judge(&c->m->base, line, &(struct weir_rowed_value){c->json, at, rule});
}

/* ---- blocks ---- */

static int append_node(struct weir_buf *out, const struct weir_json *json, uint32_t at)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_node(&w, json, at);
    return weir_json_write_finish(&w);
}

static bool keeps_thought(const struct weir_msg *m)
{
    return m->base.enforces && m->kind == WEIR_MESSAGES_THINKING &&
           m->base.request.policy->seal != NULL;
}

/* The original goes under the seal, if something in it is replaced. */
static void keep_thought(const struct came *c, uint32_t text)
{
    struct weir_msg *m = c->m;
    if (keeps_thought(m)) {
        weir_rowed_check_held(&m->base, weir_json_string_append(c->json, text, &m->thought));
    }
}

static void say(const struct came *c, uint32_t text, bool is_all)
{
    if (text != WEIR_JSON_NONE) {
        struct weir_row_said said = {.json = c->json, .at = text, .is_all = is_all, .raw = c->raw};
        keep_thought(c, text);
        weir_row_say(c->m->base.row, c->m->place, &said);
    }
}

static void take_citation(const struct came *c, uint32_t at)
{
    struct weir_buf json = {0};
    if (c->m->base.enforces) {
        (void)append_node(&json, c->json, at); /* has no limit of its own */
        struct weir_row_line line = {
            .tag = WEIR_MSG_CITATION, .number = c->m->index, .json = weir_buf_slice(&json)};
        judge_json(c, at, &line, WEIR_ROW_DROPS);
    } else {
        struct weir_row_line told = as_it_came(c, WEIR_MSG_CITATION);
        judge_json(c, at, &told, WEIR_ROW_DROPS);
    }
    weir_buf_dispose(&json);
}

/* Those that a block has from the beginning: a whole message's. */
static void take_citations(const struct came *c, uint32_t block)
{
    uint32_t list = weir_json_get_set(c->json, block, WEIR_SLICE("citations"));
    bool is_list = list != WEIR_JSON_NONE && weir_json_type(c->json, list) == WEIR_JSON_ARRAY;
    if (!is_list || c->json->nodes[list].n == 0) {
        return;
    }
    if (!c->m->base.enforces) { /* the event that has them has left already */
        struct weir_row_line none = {.tag = WEIR_MSG_CITATION, .number = c->m->index};
        judge_json(c, list, &none, WEIR_ROW_DROPS);
        return;
    }
    uint32_t at = weir_json_first(c->json, list);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(c->json, list, at)) {
        take_citation(c, at);
    }
}

/* One that a block has from the beginning; what has not its form is text, or left out. */
static void take_signature(const struct came *c, uint32_t block)
{
    struct weir_msg *m = c->m;
    uint32_t at = weir_json_get_set(c->json, block, WEIR_SLICE("signature"));
    bool is_empty = at == WEIR_JSON_NONE || c->json->nodes[at].n == 0;
    if (weir_form_is_base64_at(c->json, at, SIZE_MAX)) {
        weir_buf_append(&m->block, weir_json_raw(c->json, at));
    } else if (!is_empty && m->base.enforces) {
        weir_rowed_drop(&m->base, 1);
    } else if (!is_empty) {
        struct weir_row_line none = {.tag = WEIR_MSG_WHOLE, .number = m->index};
        judge_json(c, at, &none, WEIR_ROW_BLOCKS);
    }
}

static void open_place(const struct came *c, uint32_t block, uint32_t text)
{
    struct weir_msg *m = c->m;
    bool is_thinking = m->kind == WEIR_MESSAGES_THINKING;
    m->place = weir_row_open(
        m->base.row, &(struct weir_row_place_options){
                         .number = m->index,
                         .channel = is_thinking ? WEIR_CHANNEL_REASONING : WEIR_CHANNEL_CONTENT,
                         .keeps_json = !is_thinking && m->base.request.asks_json,
                         .is_aside = !m->base.enforces && (is_thinking || !m->base.is_stream),
                         .is_signed = is_thinking,
                         .blocks = is_thinking && m->base.request.policy->seal == NULL});
    if (m->base.is_stream) {
        say(c, text, false);
    } else if (text != WEIR_JSON_NONE) {
        keep_thought(c, text);
        m->base.rest = weir_json_string(c->json, text, m->base.stream.task->arena);
    }
    if (!is_thinking) {
        take_citations(c, block);
        return;
    }
    take_signature(c, block);
}

/* Annotate: a block that says something from the beginning says it in a delta instead, which can
 * wait for its judgement. */
static void pass_emptied(const struct came *c, uint32_t text)
{
    struct weir_json_edit e = {0};
    struct weir_buf out = {0};
    weir_json_edit_begin(&e, c->json);
    weir_json_edit_replace(&e, text, WEIR_SLICE("\"\""));
    weir_json_edit_write(&e, &out);
    add_line(c->m, WEIR_MSG_EVENT, weir_buf_slice(&out));
    weir_json_edit_dispose(&e);
    weir_buf_dispose(&out);
}

static void add_name(const struct came *c, uint32_t block, size_t i, const char *name)
{
    uint32_t at = weir_json_get_set(c->json, block, weir_slice_cstr(name));
    if (at != WEIR_JSON_NONE && weir_json_type(c->json, at) == WEIR_JSON_STRING) {
        weir_json_string_append(c->json, at, &c->m->texts);
    }
    c->m->name_ends[i] = c->m->texts.n;
}

static void open_call(const struct came *c, uint32_t block)
{
    struct weir_msg *m = c->m;
    uint32_t input = weir_json_get_set(c->json, block, WEIR_SLICE("input"));
    add_name(c, block, 0, "name");
    add_name(c, block, 1, "server_name");
    bool is_empty =
        input == WEIR_JSON_NONE ||
        (weir_json_type(c->json, input) == WEIR_JSON_OBJECT && c->json->nodes[input].n == 0);
    if (!is_empty) {
        weir_rowed_check_held(&m->base, append_node(&m->args, c->json, input));
    }
}

/* Where the route blocks or redacts: what is known of the block. */
static void open_known(const struct came *c, uint32_t block, uint32_t text)
{
    struct weir_msg *m = c->m;
    struct weir_buf empty = {0};
    size_t n_odd = 0;
    if (m->kind == WEIR_MESSAGES_ANY) {
        weir_rowed_check_held(&m->base,
                              append_node(&m->block, c->json, m->base.is_stream ? 0 : block));
        return;
    }
    if (weir_messages_write_empty(c->json, block, m->kind, &empty, &n_odd) != 0) {
        weir_rowed_fail_model(&m->base, "a tool call's id has not the form of one");
    } else if (m->kind == WEIR_MESSAGES_TOOL) {
        weir_buf_append(&m->block, weir_buf_slice(&empty));
        open_call(c, block);
    } else {
        add_line(m, WEIR_MSG_OPEN, weir_buf_slice(&empty));
        if (m->kind != WEIR_MESSAGES_SEALED) {
            open_place(c, block, text);
        }
    }
    weir_rowed_drop(&m->base, n_odd);
    weir_buf_dispose(&empty);
}

static void open_told(const struct came *c, uint32_t block, uint32_t text)
{
    struct weir_msg *m = c->m;
    bool says_some = text != WEIR_JSON_NONE && c->json->nodes[text].n != 0;
    switch (m->kind) {
    case WEIR_MESSAGES_TEXT:
        if (says_some && m->base.is_stream) {
            pass_emptied(c, text);
        } else {
            pass(c);
        }
        open_place(c, block, says_some ? text : WEIR_JSON_NONE);
        break;
    case WEIR_MESSAGES_THINKING:
        pass(c);
        open_place(c, block, says_some ? text : WEIR_JSON_NONE);
        break;
    case WEIR_MESSAGES_TOOL:
        pass(c);
        open_call(c, block);
        break;
    case WEIR_MESSAGES_SEALED:
        pass(c);
        break;
    default: {
        struct weir_row_line line = as_it_came(c, WEIR_MSG_WHOLE);
        judge_json(c, block, &line, WEIR_ROW_BLOCKS);
    }
    }
}

static void open_block(const struct came *c, uint32_t block, enum weir_messages_kind kind,
                       uint32_t text)
{
    struct weir_msg *m = c->m;
    m->is_open = true;
    m->kind = kind;
    m->place = NULL;
    weir_buf_clear(&m->block);
    weir_buf_clear(&m->args);
    weir_buf_clear(&m->thought);
    weir_buf_clear(&m->texts);
    if (m->base.enforces) {
        open_known(c, block, text);
    } else {
        open_told(c, block, text);
    }
}

/* The call, whole; its line is `line`, or where the route annotates the event that ended it. */
static void judge_call(struct weir_msg *m, const struct weir_row_line *line)
{
    struct weir_slice names = weir_buf_slice(&m->texts);
    struct weir_slice server = weir_slice_sub(names, m->name_ends[0], m->name_ends[1]);
    struct weir_tools tools = {.n = server.n != 0 ? 2 : 1};
    tools.items = weir_mem_zalloc(tools.n * sizeof *tools.items);
    weir_buf_append(&tools.items[0].name, weir_slice_sub(names, 0, m->name_ends[0]));
    weir_buf_append(&tools.items[0].arguments, weir_buf_slice(&m->args));
    if (tools.n == 2) { /* the server that has the tool is looked at like another name */
        tools.items[1].index = 1;
        weir_buf_append(&tools.items[1].name, server);
    }
    weir_row_call(m->base.row, line, &tools);
}

static void close_call(struct weir_msg *m)
{
    judge_call(m, &(struct weir_row_line){
                      .tag = WEIR_MSG_CALL, .number = m->index, .json = weir_buf_slice(&m->block)});
}

/* And what was thought behind it, for the seal. */
static void add_signature(struct weir_msg *m)
{
    if (m->thought.n != 0) {
        int rc = weir_buf_append_byte(&m->block, '\n');
        weir_rowed_check_held(
            &m->base, rc == 0 ? weir_buf_append(&m->block, weir_buf_slice(&m->thought)) : rc);
    }
    add_line(m, WEIR_MSG_SIGNATURE, weir_buf_slice(&m->block));
}

static void close_known(struct weir_msg *m)
{
    switch (m->kind) {
    case WEIR_MESSAGES_TOOL:
        close_call(m);
        break;
    case WEIR_MESSAGES_TEXT:
    case WEIR_MESSAGES_THINKING:
        weir_row_close(m->base.row, m->place);
        if (m->block.n != 0) {
            add_signature(m);
        }
        add_line(m, WEIR_MSG_STOP, WEIR_SLICE(""));
        break;
    case WEIR_MESSAGES_SEALED:
        add_line(m, WEIR_MSG_STOP, WEIR_SLICE(""));
        break;
    default:
        weir_msg__close_any(m);
    }
}

/* `c` NULL: the server has not said that it ends. */
static void close_block(struct weir_msg *m, const struct came *c)
{
    struct weir_row_line line =
        c != NULL ? as_it_came(c, WEIR_MSG_EVENT)
                  : (struct weir_row_line){.tag = WEIR_MSG_EVENT, .number = m->index};
    m->is_open = false;
    if (m->base.enforces) {
        close_known(m);
    } else {
        if (m->place != NULL) {
            weir_row_close(m->base.row, m->place);
        }
        if (m->kind == WEIR_MESSAGES_TOOL) {
            line.tag = WEIR_MSG_CALL;
            judge_call(m, &line);
        } else if (line.json.n != 0) {
            weir_row_line(m->base.row, &line);
        }
    }
    m->index++;
    m->place = NULL;
}

/* ---- deltas ---- */

static void take_known(const struct came *c, const struct weir_messages_event *e)
{
    struct weir_msg *m = c->m;
    if (m->kind == WEIR_MESSAGES_ANY) {
        int rc = weir_buf_append_byte(&m->block, '\n');
        weir_rowed_check_held(&m->base, rc == 0 ? append_node(&m->block, c->json, 0) : rc);
        return;
    }
    bool is_signature = e->kind == WEIR_MESSAGES_SEALED && m->kind == WEIR_MESSAGES_THINKING;
    bool is_citation = e->kind == WEIR_MESSAGES_CITATION && m->kind == WEIR_MESSAGES_TEXT;
    if (e->text == WEIR_JSON_NONE) {
        weir_rowed_drop(&m->base, e->kind == WEIR_MESSAGES_ANY);
    } else if (is_signature) { /* the last one counts, as clients have it */
        weir_buf_clear(&m->block);
        weir_buf_append(&m->block, weir_json_raw(c->json, e->text));
    } else if (is_citation) {
        take_citation(c, e->text);
    } else if (e->kind != m->kind) {
        weir_rowed_fail_model(&m->base, "a delta is not of its block's kind");
    } else if (e->kind == WEIR_MESSAGES_TOOL) {
        weir_rowed_check_held(&m->base, weir_json_string_append(c->json, e->text, &m->args));
    } else {
        say(c, e->text, false);
    }
}

static void take_told(const struct came *c, const struct weir_messages_event *e)
{
    struct weir_msg *m = c->m;
    bool is_said = m->place != NULL && e->kind == m->kind;
    if (is_said && e->kind == WEIR_MESSAGES_TEXT && e->text != WEIR_JSON_NONE) {
        say(c, e->text, true);
    } else if (is_said) {
        pass(c);
        say(c, e->text, false);
    } else if (e->kind == WEIR_MESSAGES_TOOL && m->kind == WEIR_MESSAGES_TOOL) {
        pass(c);
        if (e->text != WEIR_JSON_NONE) {
            weir_rowed_check_held(&m->base, weir_json_string_append(c->json, e->text, &m->args));
        }
    } else if (e->kind == WEIR_MESSAGES_SEALED) {
        pass(c);
    } else if (e->kind == WEIR_MESSAGES_CITATION && e->text != WEIR_JSON_NONE) {
        take_citation(c, e->text);
    } else {
        struct weir_row_line line = as_it_came(c, WEIR_MSG_WHOLE);
        judge_json(c, e->body, &line, WEIR_ROW_BLOCKS);
    }
}

/* ---- the message around them ---- */

static void keep_usage(const struct came *c, uint32_t usage)
{
    struct weir_msg *m = c->m;
    if (usage == WEIR_JSON_NONE) {
        return;
    }
    weir_seen_usage_at(m->base.request.policy, c->json, usage);
    if (m->base.enforces) {
        weir_buf_clear(&m->usage);
        weir_rowed_drop(&m->base, weir_form_write_usage(c->json, usage, &m->usage));
    }
}

static void take_start(const struct came *c, uint32_t message)
{
    struct weir_msg *m = c->m;
    uint32_t content = weir_json_get_set(c->json, message, WEIR_SLICE("content"));
    bool has_content = content != WEIR_JSON_NONE && c->json->nodes[content].n != 0;
    struct weir_buf out = {0};
    if (m->head.n != 0) {
        weir_rowed_fail_model(&m->base, "a message begins twice");
        return;
    }
    size_t n_odd = weir_messages_write_head(c->json, message, m->base.request.model_id, &m->head);
    if (m->base.enforces) {
        weir_rowed_drop(&m->base, n_odd + has_content);
        weir_messages_write_start(weir_buf_slice(&m->head), weir_buf_slice(&m->usage), &out);
        add_line(m, WEIR_MSG_EVENT, weir_buf_slice(&out));
    } else if (has_content) {
        struct weir_row_line line = as_it_came(c, WEIR_MSG_WHOLE);
        judge_json(c, content, &line, WEIR_ROW_BLOCKS);
    } else {
        pass(c);
    }
    weir_buf_dispose(&out);
}

/* What a model or a server wrote freely. */
static size_t ending_texts(const struct came *c, uint32_t object, struct weir_arena *arena,
                           struct weir_slice *texts)
{
    uint32_t details = weir_json_get_set(c->json, object, WEIR_SLICE("stop_details"));
    uint32_t at[2] = {weir_json_get_set(c->json, object, WEIR_SLICE("stop_sequence")),
                      details != WEIR_JSON_NONE
                          ? weir_json_get_set(c->json, details, WEIR_SLICE("explanation"))
                          : WEIR_JSON_NONE};
    size_t n = 0;
    for (size_t i = 0; i < 2; i++) {
        if (at[i] != WEIR_JSON_NONE && weir_json_type(c->json, at[i]) == WEIR_JSON_STRING) {
            texts[n++] = weir_json_string(c->json, at[i], arena);
        }
    }
    return n;
}

static void take_ending(const struct came *c, uint32_t object)
{
    struct weir_msg *m = c->m;
    struct weir_slice texts[2];
    struct weir_buf json = {0};
    struct weir_arena arena = {.account = m->base.stream.task->arena->account};
    struct weir_row_judge judge = {.line = {.tag = WEIR_MSG_ENDING, .number = m->index},
                                   .texts = texts,
                                   .n_texts = ending_texts(c, object, &arena, texts),
                                   .rule = WEIR_ROW_TOUCHES};
    if (m->is_open) {
        close_block(m, NULL);
    }
    m->has_ending = true;
    weir_row_say_ending(m->base.row, texts, judge.n_texts);
    if (m->base.enforces) {
        weir_messages_write_stop(c->json, object, false, &json);
        weir_buf_append_byte(&json, '\n');
        weir_messages_write_stop(c->json, object, true, &json);
        judge.line.json = weir_buf_slice(&json);
        weir_row_wait(m->base.row);
    }
    weir_row_judge(m->base.row, &judge);
    if (!m->base.enforces) {
        weir_row_wait(m->base.row);
        struct weir_row_line line = as_it_came(c, WEIR_MSG_ENDING);
        weir_row_line(m->base.row, &line);
    }
    weir_arena_dispose(&arena);
    weir_buf_dispose(&json);
}

static void take_end(const struct came *c)
{
    struct weir_msg *m = c->m;
    if (m->is_open) {
        close_block(m, NULL);
    }
    m->base.has_ended = true;
    if (m->base.enforces) {
        add_line(m, WEIR_MSG_EVENT, WEIR_MESSAGES_STOP_EVENT);
    } else {
        pass(c);
    }
    weir_row_end(m->base.row);
}

static void take_other(const struct came *c)
{
    struct weir_msg *m = c->m;
    if (!m->base.enforces) {
        struct weir_row_line line = as_it_came(c, WEIR_MSG_WHOLE);
        judge_json(c, 0, &line, WEIR_ROW_BLOCKS);
    } else if (m->base.request.policy->keeps_unknown) {
        add_line(m, WEIR_MSG_EVENT, c->json->src);
    } else {
        weir_rowed_drop(&m->base, 1);
    }
}

/* ---- events ---- */

/* NULL, or what is wrong with an event here. */
static const char *order_error(const struct weir_msg *m, const struct weir_messages_event *e)
{
    bool is_of_block = e->what == WEIR_MESSAGES_DELTA || e->what == WEIR_MESSAGES_STOP;
    if (e->what != WEIR_MESSAGES_START && e->what != WEIR_MESSAGES_PING &&
        e->what != WEIR_MESSAGES_OTHER && m->head.n == 0) {
        return "the first event is not message_start";
    }
    if (e->what == WEIR_MESSAGES_BLOCK && (m->is_open || e->index != m->index)) {
        return "a block begins out of its turn";
    }
    /* Those who look at the whole message were shown it. */
    if (e->what == WEIR_MESSAGES_BLOCK && m->has_ending && m->base.enforces) {
        return "a block begins behind message_delta";
    }
    if (is_of_block && (!m->is_open || e->index != m->index)) {
        return "an event is about a block that is not open";
    }
    return NULL;
}

void weir_msg__take_event(struct weir_rowed *r, const struct weir_json *json, struct weir_slice raw)
{
    struct weir_msg *m = (struct weir_msg *)r;
    struct came c = {m, json, raw};
    struct weir_messages_event e;
    const char *why = NULL;
    if (m->base.has_ended) {
        return; /* nothing comes behind the end */
    }
    if (weir_messages_read(json, &e, &why) != 0 || (why = order_error(m, &e)) != NULL) {
        weir_rowed_fail_model(&m->base, why);
        return;
    }
    keep_usage(&c, e.usage);
    switch (e.what) {
    case WEIR_MESSAGES_START:
        take_start(&c, e.body);
        break;
    case WEIR_MESSAGES_BLOCK:
        open_block(&c, e.body, e.kind, e.text);
        break;
    case WEIR_MESSAGES_DELTA:
        if (m->base.enforces) {
            take_known(&c, &e);
        } else {
            take_told(&c, &e);
        }
        break;
    case WEIR_MESSAGES_STOP:
        close_block(m, &c);
        break;
    case WEIR_MESSAGES_ENDING:
        take_ending(&c, e.body);
        break;
    case WEIR_MESSAGES_END:
        take_end(&c);
        break;
    case WEIR_MESSAGES_PING:
        if (m->base.enforces) {
            add_line(m, WEIR_MSG_EVENT, WEIR_MESSAGES_PING_EVENT);
        } else {
            pass(&c);
        }
        break;
    case WEIR_MESSAGES_OTHER:
        take_other(&c);
        break;
    }
    struct weir_shape_of of;
    if (weir_messages_shape_of(json, &e, &of)) {
        weir_shapes_add(&r->shapes, &of);
    }
}

/* A delta like one before it, of the block that is open: as take_known and take_told take it. */
bool weir_msg__take_said(struct weir_rowed *r, const struct weir_rowed_said *said)
{
    struct weir_msg *m = (struct weir_msg *)r;
    bool is_here = !r->has_ended && m->is_open && m->place != NULL &&
                   m->index == said->shape->place && (uint32_t)m->kind == said->shape->channel;
    if (!is_here || weir_row_waits_for_half(m->place)) {
        return false;
    }
    struct weir_row_words words = {.text = said->text};
    if (keeps_thought(m)) {
        weir_rowed_check_held(r, weir_buf_append(&m->thought, said->text));
    } else if (!r->enforces && m->kind == WEIR_MESSAGES_THINKING) {
        weir_row_line(r->row, &(struct weir_row_line){.tag = WEIR_MSG_EVENT,
                                                      .number = m->index,
                                                      .json = said->json,
                                                      .raw = said->raw});
    } else {
        words.json = said->json;
        words.raw = said->raw;
    }
    weir_row_say_text(r->row, m->place, &words);
    return true;
}

/* ---- a whole message ---- */

/* The next block is opened, or the last one closed, or all of it ended. */
void weir_msg__go_on(struct weir_rowed *r)
{
    struct weir_msg *m = (struct weir_msg *)r;
    struct came c = {.m = m, .json = &m->base.answer};
    const struct weir_json *json = &m->base.answer;
    uint32_t content = weir_json_get_set(json, 0, WEIR_SLICE("content"));
    uint32_t at = m->next_block;
    uint32_t text;
    if (m->is_open) {
        close_block(m, NULL);
    } else if (at == WEIR_JSON_NONE) {
        take_ending(&c, 0);
        weir_row_end(m->base.row);
        m->base.has_ended = true;
    } else if (weir_json_type(json, at) != WEIR_JSON_OBJECT) {
        weir_rowed_fail_model(&m->base, "a block is not an object");
    } else {
        enum weir_messages_kind kind = weir_messages_kind_of(json, at, &text);
        m->next_block = weir_json_after(json, content, at);
        open_block(&c, at, kind, text);
    }
}

void weir_msg__take_whole(struct weir_rowed *r)
{
    struct weir_msg *m = (struct weir_msg *)r;
    const struct weir_json *json = &m->base.answer;
    struct came c = {.m = m, .json = json};
    uint32_t content = weir_json_get_set(json, 0, WEIR_SLICE("content"));
    if (content == WEIR_JSON_NONE || weir_json_type(json, content) != WEIR_JSON_ARRAY) {
        weir_rowed_fail_model(&m->base, "the answer has no content");
        return;
    }
    if (m->base.enforces) {
        uint32_t usage = weir_json_get_set(json, 0, WEIR_SLICE("usage"));
        weir_rowed_drop(&m->base,
                        weir_messages_write_head(json, 0, m->base.request.model_id, &m->head));
        keep_usage(&c, usage);
    }
    m->next_block = weir_json_first(json, content);
    weir_rowed_feed(r);
}
