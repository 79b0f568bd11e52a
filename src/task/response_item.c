/*
 * The item of a response that is open. A message or reasoning is said bit by bit: lines and places
 * of the row. Everything else is held until all of it is there, looked at as one, and leaves then:
 *
 *   line WEIR_RSP_HELD   its type  ⏎  its members in their forms  ⏎  its status  ⏎  events about it
 *   its tools            everything else in it (weir_responses_take_apart)
 *
 * Texts come again when a part, its item and the response end. What is new there is taken in, what
 * is not is left out: what leaves is said by us.
 */
#include "base/assert.h"
#include "base/mem.h"
#include "talk/form.h"
#include "talk/walk.h"
#include "task/response_int.h"
#include "wire/json_write.h"

#include <stdlib.h>

uint64_t weir_rsp__number(uint64_t item, enum weir_responses_kind kind, uint64_t part)
{
    return item << 32 | (uint64_t)kind << 28 | (part & 0xfffffff);
}

void weir_rsp__add_line(struct weir_rsp *m, enum weir_rsp_tag tag, uint64_t number,
                        struct weir_slice json)
{
    weir_row_line(m->base.row,
                  &(struct weir_row_line){.tag = (int)tag, .number = number, .json = json});
}

/* ---- sums ---- */

void weir_rsp__sum_begin(struct weir_rsp_sum *s)
{
    *s = (struct weir_rsp_sum){0};
    weir_hash_begin(&s->hash);
}

void weir_rsp__sum_add(struct weir_rsp_sum *s, struct weir_slice text)
{
    while (text.n != 0) {
        size_t at = s->n % 8;
        size_t n = text.n < 8 - at ? text.n : 8 - at;
        memcpy(s->tail + at, text.p, n);
        s->n += n;
        text = weir_slice_sub(text, n, text.n);
        if (s->n % 8 == 0) {
            uint64_t word;
            memcpy(&word, s->tail, 8);
            weir_hash_add_u64(&s->hash, word);
        }
    }
}

struct weir_hash_value weir_rsp__sum_end(const struct weir_rsp_sum *s)
{
    struct weir_hash hash = s->hash;
    uint64_t word = 0;
    memcpy(&word, s->tail, s->n % 8);
    weir_hash_add_u64(&hash, word);
    weir_hash_add_u64(&hash, s->n);
    return weir_hash_end(&hash);
}

bool weir_rsp__sum_is(const struct weir_rsp_sum *s, struct weir_slice text)
{
    struct weir_rsp_sum other;
    if (text.n != s->n) {
        return false;
    }
    weir_rsp__sum_begin(&other);
    weir_rsp__sum_add(&other, text);
    struct weir_hash_value a = weir_rsp__sum_end(s);
    struct weir_hash_value b = weir_rsp__sum_end(&other);
    return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}

/* ---- parts ---- */

static enum weir_channel channel_of(enum weir_responses_kind kind)
{
    static const enum weir_channel channels[WEIR_RESPONSES_KINDS] = {
        [WEIR_RESPONSES_TEXT] = WEIR_CHANNEL_CONTENT,
        [WEIR_RESPONSES_REFUSAL] = WEIR_CHANNEL_REFUSAL,
        [WEIR_RESPONSES_REASONING] = WEIR_CHANNEL_REASONING,
        [WEIR_RESPONSES_SUMMARY] = WEIR_CHANNEL_REASONING,
        [WEIR_RESPONSES_TRANSCRIPT] = WEIR_CHANNEL_TRANSCRIPT};
    return channels[kind];
}

struct weir_rsp_part *weir_rsp__new_part(struct weir_rsp *m, enum weir_responses_kind kind,
                                         uint64_t number, bool is_aside)
{
    struct weir_rsp_part *part = weir_mem_zalloc(sizeof *part);
    part->number = number;
    part->at.kind = kind;
    part->text.account = m->base.stream.task->arena->account;
    weir_rsp__sum_begin(&part->sum);
    part->place = weir_row_open(
        m->base.row, &(struct weir_row_place_options){.number = number,
                                                      .channel = channel_of(kind),
                                                      .keeps_json = kind == WEIR_RESPONSES_TEXT &&
                                                                    m->base.request.asks_json,
                                                      .is_aside = is_aside});
    weir_list_append(&m->parts, &part->link);
    return part;
}

void weir_rsp__free_part(struct weir_rsp_part *part)
{
    weir_list_remove(&part->link);
    weir_logprobs_dispose(&part->logprobs);
    weir_buf_dispose(&part->item_id);
    weir_buf_dispose(&part->text);
    weir_buf_dispose(&part->entries);
    weir_buf_dispose(&part->annotations);
    free(part->edits);
    free(part);
}

void weir_rsp__open_part(struct weir_rsp *m, uint64_t index, enum weir_responses_kind kind)
{
    bool is_thought = kind == WEIR_RESPONSES_REASONING || kind == WEIR_RESPONSES_SUMMARY;
    bool is_summary = kind == WEIR_RESPONSES_SUMMARY;
    enum weir_responses_item item = is_thought ? WEIR_RESPONSES_THOUGHT : WEIR_RESPONSES_MESSAGE;
    if (kind >= WEIR_RESPONSES_KINDS || item != m->kind) {
        weir_rowed_fail_model(&m->base, "a part is not of its item's kind");
        return;
    }
    if (m->n_all_parts++ == WEIR_RSP_MOST_PARTS) {
        weir_rowed_fail_model(&m->base, WEIR_RSP_TOO_MANY_PARTS);
        return;
    }
    uint64_t number = weir_rsp__number(m->n_items - 1, kind, m->n_parts[is_summary]++);
    bool is_aside = !m->base.enforces;
    m->part = weir_rsp__new_part(m, kind, number, is_aside);
    m->part_index = index;
    m->next_parts[is_summary] = index + 1;
    weir_buf_clear(&m->notes);
    m->n_notes = 0;
    if (m->base.enforces) {
        weir_rsp__add_line(m, WEIR_RSP_OPEN_PART, number, WEIR_SLICE(""));
    }
}

static void judge_note(const struct weir_rsp_came *c, const struct weir_json *json, uint32_t at)
{
    struct weir_rsp *m = c->m;
    struct weir_buf text = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &text);
    weir_json_write_node(&w, json, at);
    (void)weir_json_write_finish(&w); /* has no limit of its own */
    struct weir_row_line line = {
        .tag = WEIR_RSP_NOTE, .number = m->part->number, .json = weir_buf_slice(&text)};
    weir_rowed_judge(&m->base, &line, &(struct weir_rowed_value){json, at, WEIR_ROW_DROPS});
    weir_buf_dispose(&text);
}

/* Those that came in events of their own, where the part does not have them all. */
static void judge_kept_notes(const struct weir_rsp_came *c)
{
    struct weir_slice rest = weir_buf_slice(&c->m->notes);
    struct weir_json_tape tape = {0};
    while (rest.n != 0) {
        struct weir_json json;
        if (weir_json_parse_reuse(&json, weir_slice_cut(&rest, '\n'), NULL, &tape, NULL) == 0) {
            judge_note(c, &json, 0);
        }
    }
    weir_json_tape_dispose(&tape);
}

static void judge_notes(const struct weir_rsp_came *c, uint32_t part)
{
    struct weir_rsp *m = c->m;
    bool is_object = part != WEIR_JSON_NONE && weir_json_type(c->json, part) == WEIR_JSON_OBJECT;
    uint32_t list =
        is_object ? weir_json_get_set(c->json, part, WEIR_SLICE("annotations")) : WEIR_JSON_NONE;
    bool is_list = list != WEIR_JSON_NONE && weir_json_type(c->json, list) == WEIR_JSON_ARRAY;
    if (!is_list || c->json->nodes[list].n < m->n_notes) {
        judge_kept_notes(c);
        return;
    }
    size_t n = 0;
    uint32_t at = weir_json_first(c->json, list);
    for (; at != WEIR_JSON_NONE && n < WEIR_RSP_MOST_NOTES; n++) {
        judge_note(c, c->json, at);
        at = weir_json_after(c->json, list, at);
    }
    weir_rowed_drop(&m->base, c->json->nodes[list].n - n);
}

void weir_rsp__close_part(const struct weir_rsp_came *c, uint32_t part)
{
    struct weir_rsp *m = c->m;
    WEIR_ASSERT(m->part != NULL);
    weir_row_close(m->base.row, m->part->place);
    if (m->part->at.kind == WEIR_RESPONSES_TEXT) {
        judge_notes(c, part);
    }
    if (m->base.enforces) {
        weir_rsp__add_line(m, WEIR_RSP_CLOSE_PART, m->part->number, WEIR_SLICE(""));
    } else {
        weir_rsp__free_part(m->part);
    }
    m->part = NULL;
    weir_buf_clear(&m->notes);
    m->n_notes = 0;
}

/* What a part says all at once: what is new in it is said. */
static void say_all(const struct weir_rsp_came *c, uint32_t text)
{
    struct weir_rsp *m = c->m;
    struct weir_rsp_part *part = m->part;
    struct weir_buf all = {0};
    WEIR_ASSERT(part != NULL);
    if (text == WEIR_JSON_NONE) {
        return;
    }
    weir_json_string_append(c->json, text, &all);
    struct weir_slice before = weir_slice_sub(weir_buf_slice(&all), 0, (size_t)part->sum.n);
    if (all.n > part->sum.n && weir_rsp__sum_is(&part->sum, before)) {
        struct weir_slice more = weir_slice_sub(weir_buf_slice(&all), before.n, all.n);
        weir_rsp__sum_add(&part->sum, more);
        weir_row_add(m->base.row, part->place, more);
    } else if (!weir_rsp__sum_is(&part->sum, weir_buf_slice(&all))) {
        weir_rowed_drop(&m->base, 1); /* it is not what was said */
    }
    weir_buf_dispose(&all);
}

/* The part that an event is about is open then. False: it has ended before, or the row has failed.
 */
static bool find_part(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    bool is_summary = e->kind == WEIR_RESPONSES_SUMMARY;
    if (m->part != NULL && m->part_index == e->part && m->part->at.kind == e->kind) {
        return true;
    }
    if (e->part < m->next_parts[is_summary]) {
        if (e->what == WEIR_RESPONSES_DELTA) {
            weir_rowed_fail_model(&m->base, "a part goes on that has ended");
        } else {
            weir_rowed_drop(&m->base, 1);
        }
        return false;
    }
    if (m->part != NULL) {
        weir_rsp__close_part(c, WEIR_JSON_NONE);
    }
    weir_rsp__open_part(m, e->part, e->kind);
    if (m->part != NULL) {
        bool is_thought = e->kind == WEIR_RESPONSES_REASONING;
        m->part->at.is_vllm = e->is_vllm;
        m->part->at.is_bare = is_thought && e->what == WEIR_RESPONSES_DELTA;
    }
    return m->part != NULL;
}

static void take_delta(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    if (!find_part(c, e)) {
        return;
    }
    if (e->logprobs != WEIR_JSON_NONE) {
        weir_logprobs_take(&m->part->logprobs, c->json, e->logprobs);
    }
    if (e->text != WEIR_JSON_NONE) {
        struct weir_row_said said = {.json = c->json, .at = e->text};
        if (weir_row_say(m->base.row, m->part->place, &said)) {
            weir_rsp__sum_add(&m->part->sum, weir_row_last(m->base.row));
        }
    }
}

static void take_note(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    struct weir_json_write w;
    if (!find_part(c, e)) {
        return;
    }
    if (m->n_notes == WEIR_RSP_MOST_NOTES) {
        weir_rowed_drop(&m->base, 1);
        return;
    }
    m->n_notes++;
    weir_json_write_init(&w, &m->notes);
    weir_json_write_node(&w, c->json, e->body);
    int rc = weir_json_write_finish(&w);
    weir_rowed_check_held(&m->base, rc == 0 ? weir_buf_append_byte(&m->notes, '\n') : rc);
}

/* ---- items ---- */

static void keep_node(struct weir_rsp *m, struct weir_buf *out, const struct weir_json *json,
                      uint32_t at)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_node(&w, json, at);
    weir_rowed_check_held(&m->base, weir_json_write_finish(&w));
}

/* The id of an item that is said bit by bit; one of ours where the server has none. */
static void write_id(const struct weir_rsp_came *c, uint32_t item, uint32_t item_id,
                     struct weir_buf *out)
{
    uint32_t at = item != WEIR_JSON_NONE ? weir_json_get_set(c->json, item, WEIR_SLICE("id"))
                                         : WEIR_JSON_NONE;
    at = at != WEIR_JSON_NONE ? at : item_id;
    if (weir_form_is_id_at(c->json, at, WEIR_FORM_CALL_ID_MOST)) {
        struct weir_slice raw = weir_json_raw(c->json, at);
        weir_buf_append(out, weir_slice_sub(raw, 1, raw.n - 1));
    } else {
        weir_buf_printf(out, "item_%llu", (unsigned long long)c->m->n_items);
    }
}

static void add_open(const struct weir_rsp_came *c, uint32_t item, uint32_t item_id)
{
    struct weir_rsp *m = c->m;
    struct weir_buf line = {0};
    write_id(c, item, item_id, &line);
    struct weir_buf id = {0};
    weir_buf_append(&id, weir_buf_slice(&line));
    weir_buf_append_byte(&line, '\n');
    weir_rowed_drop(&m->base,
                    weir_responses_write_open(c->json, item, m->kind, weir_buf_slice(&id), &line));
    weir_rsp__add_line(m, WEIR_RSP_OPEN, (uint64_t)m->kind, weir_buf_slice(&line));
    weir_buf_dispose(&id);
    weir_buf_dispose(&line);
}

void weir_rsp__open_item(const struct weir_rsp_came *c, uint32_t item, uint32_t item_id)
{
    struct weir_rsp *m = c->m;
    if (m->n_items == WEIR_RSP_MOST_ITEMS) {
        weir_rowed_fail_model(&m->base, WEIR_RSP_TOO_MANY_ITEMS);
        return;
    }
    m->is_open = true;
    m->n_items++;
    m->next_item = m->item + 1;
    memset(m->next_parts, 0, sizeof m->next_parts);
    memset(m->n_parts, 0, sizeof m->n_parts);
    weir_buf_clear(&m->added);
    weir_buf_clear(&m->said);
    weir_buf_clear(&m->statuses);
    if (item != WEIR_JSON_NONE) {
        m->kind = weir_responses_item_of(c->json, item);
    }
    if (!m->base.enforces) {
        return;
    }
    if (m->kind != WEIR_RESPONSES_HELD) {
        add_open(c, item, item_id);
    } else if (item != WEIR_JSON_NONE && m->base.is_stream) {
        keep_node(m, &m->added, c->json, item);
    }
}

static void take_entries(const struct weir_rsp_came *c, uint32_t part)
{
    bool is_object = weir_json_type(c->json, part) == WEIR_JSON_OBJECT;
    uint32_t at =
        is_object ? weir_json_get_set(c->json, part, WEIR_SLICE("logprobs")) : WEIR_JSON_NONE;
    bool is_list = at != WEIR_JSON_NONE && weir_json_type(c->json, at) == WEIR_JSON_ARRAY;
    WEIR_ASSERT(c->m->part != NULL);
    if (is_list && c->m->part->at.kind == WEIR_RESPONSES_TEXT) {
        weir_logprobs_take(&c->m->part->logprobs, c->json, at);
    }
}

/* The parts of an item that is there as a whole: those that are open or have not been said. In an
 * item that only begins (`may_go_on`), those that say something, and more may follow. */
static void take_parts(const struct weir_rsp_came *c, uint32_t item, const char *name,
                       bool may_go_on)
{
    struct weir_rsp *m = c->m;
    bool is_summary = name[0] == 's';
    uint32_t at = weir_responses_first_part(c->json, item, name);
    for (uint64_t k = 0; at != WEIR_JSON_NONE && !m->base.stream.is_over; k++) {
        struct weir_responses_event e = {.what = WEIR_RESPONSES_PART_DONE, .part = k};
        e.kind = weir_responses_part_in(c->json, m->kind, at, is_summary, &e.text);
        bool is_open = m->part != NULL && m->part_index == k && m->part->at.kind == e.kind;
        bool is_empty = e.text == WEIR_JSON_NONE || c->json->nodes[e.text].n == 0;
        bool is_new = k >= m->next_parts[is_summary] && !(may_go_on && is_empty);
        if ((is_open || is_new) && find_part(c, &e)) {
            if (!is_open) {
                take_entries(c, at);
            }
            say_all(c, e.text);
            if (!may_go_on) {
                weir_rsp__close_part(c, at);
            }
        }
        at = weir_responses_part_after(c->json, item, name, at);
    }
}

/* ---- items that are held ---- */

/* Which of the names in weir_rsp__write_place its findings have. */
enum weir_rsp_channel weir_rsp__channel_of(struct weir_slice quoted)
{
    static const struct {
        const char *type;
        enum weir_rsp_channel channel;
    } types[] = {{"function_call", WEIR_RSP_ARGUMENTS},
                 {"custom_tool_call", WEIR_RSP_ARGUMENTS},
                 {"mcp_call", WEIR_RSP_ARGUMENTS},
                 {"mcp_approval_request", WEIR_RSP_ARGUMENTS},
                 {"tool_search_call", WEIR_RSP_ARGUMENTS},
                 {"code_interpreter_call", WEIR_RSP_CODE},
                 {"program", WEIR_RSP_CODE},
                 {"shell_call", WEIR_RSP_COMMAND},
                 {"local_shell_call", WEIR_RSP_COMMAND},
                 {"shell_call_output", WEIR_RSP_OUTPUT}};
    struct weir_slice type = weir_slice_sub(quoted, 1, quoted.n - 1);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (weir_slice_eq_cstr(type, types[i].type)) {
            return types[i].channel;
        }
    }
    return WEIR_RSP_ITEM;
}

static void judge_held(const struct weir_rsp_came *c, uint32_t item)
{
    struct weir_rsp *m = c->m;
    struct weir_responses_parts parts;
    const char *why;
    bool keeps_images = (m->base.request.policy->unguarded & WEIR_HOLE_IMAGES) != 0;
    if (weir_responses_take_apart(c->json, item, weir_buf_slice(&m->said), keeps_images, &parts,
                                  &why) != 0) {
        weir_rowed_fail_model(&m->base, why);
        weir_tools_dispose(&parts.tools);
    } else {
        struct weir_slice type =
            weir_json_raw(c->json, weir_json_get(c->json, item, WEIR_SLICE("type")));
        struct weir_buf line = {0};
        weir_buf_append(&line, weir_slice_sub(type, 1, type.n - 1));
        weir_buf_append_byte(&line, '\n');
        weir_buf_append(&line, weir_buf_slice(&parts.head));
        weir_buf_append_byte(&line, '\n');
        weir_buf_append(&line, parts.status);
        weir_buf_append_byte(&line, '\n');
        weir_buf_append(&line, weir_buf_slice(&m->statuses));
        weir_rowed_drop(&m->base, parts.n_odd);
        weir_row_call(
            m->base.row,
            &(struct weir_row_line){.tag = WEIR_RSP_HELD,
                                    .number = weir_rsp__number(m->n_items - 1, WEIR_RESPONSES_CALL,
                                                               weir_rsp__channel_of(type)),
                                    .json = weir_buf_slice(&line)},
            &parts.tools);
        weir_buf_dispose(&line);
    }
    weir_buf_dispose(&parts.head);
}

/* The server has not said how the item ends: it is what opened it, and what deltas said. */
static void judge_added(struct weir_rsp *m)
{
    struct weir_json_tape tape = {0};
    struct weir_json json;
    struct weir_rsp_came c = {.m = m, .json = &json};
    if (m->added.n != 0 &&
        weir_json_parse_reuse(&json, weir_buf_slice(&m->added), NULL, &tape, NULL) == 0) {
        judge_held(&c, 0);
    } else {
        weir_rowed_fail_model(&m->base, "an item does not say what it is");
    }
    weir_json_tape_dispose(&tape);
}

void weir_rsp__close_item(const struct weir_rsp_came *c, uint32_t item)
{
    struct weir_rsp *m = c->m;
    struct weir_buf tail = {0};
    bool is_same = item == WEIR_JSON_NONE || weir_responses_item_of(c->json, item) == m->kind;
    if (!is_same) {
        weir_rowed_fail_model(&m->base, "an item ends as another");
        return;
    }
    if (m->kind == WEIR_RESPONSES_HELD) {
        if (item != WEIR_JSON_NONE) {
            judge_held(c, item);
        } else {
            judge_added(m);
        }
    } else {
        if (item != WEIR_JSON_NONE && m->kind != WEIR_RESPONSES_SEALED) {
            take_parts(c, item, "content", false);
            take_parts(c, item, "summary", false);
        }
        if (m->part != NULL) {
            weir_rsp__close_part(c, WEIR_JSON_NONE);
        }
        if (item != WEIR_JSON_NONE) {
            weir_responses_write_close(c->json, item, &tail);
        }
        if (m->base.enforces) {
            weir_rsp__add_line(m, WEIR_RSP_CLOSE, 0, weir_buf_slice(&tail));
        }
        weir_buf_dispose(&tail);
    }
    m->is_open = false;
    m->part = NULL;
}

static void take_status(struct weir_rsp *m, const char *type)
{
    enum { MOST_BYTES = 1024 };
    if (m->statuses.n + strlen(type) < MOST_BYTES) {
        weir_buf_printf(&m->statuses, "%s%s", m->statuses.n != 0 ? " " : "", type);
    } else {
        weir_rowed_drop(&m->base, 1);
    }
}

static void take_said(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    if (m->kind != WEIR_RESPONSES_HELD) {
        weir_rowed_fail_model(&m->base, "an event is not of its item's kind");
        return;
    }
    if (e->text == WEIR_JSON_NONE) {
        return;
    }
    if (e->what == WEIR_RESPONSES_DONE) {
        weir_buf_clear(&m->said);
    }
    weir_rowed_check_held(&m->base, weir_json_string_append(c->json, e->text, &m->said));
}

/* What an event that comes first is about. */
static enum weir_responses_item kind_for(const struct weir_responses_event *e)
{
    switch (e->kind) {
    case WEIR_RESPONSES_TEXT:
    case WEIR_RESPONSES_REFUSAL:
        return WEIR_RESPONSES_MESSAGE;
    case WEIR_RESPONSES_REASONING:
    case WEIR_RESPONSES_SUMMARY:
        return WEIR_RESPONSES_THOUGHT;
    default:
        return WEIR_RESPONSES_HELD;
    }
}

static bool ensure_item(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    bool has_item = e->what == WEIR_RESPONSES_ITEM || e->what == WEIR_RESPONSES_ITEM_DONE;
    bool is_held = e->what == WEIR_RESPONSES_STATUS || e->what == WEIR_RESPONSES_PIECE;
    if (!m->is_open) {
        m->kind = is_held ? WEIR_RESPONSES_HELD : kind_for(e);
        weir_rsp__open_item(c, has_item ? e->body : WEIR_JSON_NONE, e->item_id);
    } else if (e->what == WEIR_RESPONSES_ITEM) {
        weir_rowed_fail_model(&m->base, "an item begins twice");
    }
    return !m->base.stream.is_over;
}

void weir_rsp__take_of_item(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    if (!ensure_item(c, e)) {
        return;
    }
    switch (e->what) {
    case WEIR_RESPONSES_ITEM:
        if (m->kind == WEIR_RESPONSES_MESSAGE || m->kind == WEIR_RESPONSES_THOUGHT) {
            take_parts(c, e->body, "content", true);
            take_parts(c, e->body, "summary", true);
        }
        break;
    case WEIR_RESPONSES_ITEM_DONE:
        weir_rsp__close_item(c, e->body);
        break;
    case WEIR_RESPONSES_PART:
    case WEIR_RESPONSES_PART_DONE:
    case WEIR_RESPONSES_DONE:
        if (e->what == WEIR_RESPONSES_DONE && e->kind == WEIR_RESPONSES_CALL) {
            take_said(c, e);
        } else if (find_part(c, e)) {
            say_all(c, e->text);
            if (e->what == WEIR_RESPONSES_PART_DONE) {
                weir_rsp__close_part(c, e->body);
            }
        }
        break;
    case WEIR_RESPONSES_DELTA:
        if (e->kind == WEIR_RESPONSES_CALL) {
            take_said(c, e);
        } else {
            take_delta(c, e);
        }
        break;
    case WEIR_RESPONSES_ANNOTATION:
        take_note(c, e);
        break;
    case WEIR_RESPONSES_STATUS:
        take_status(m, e->type);
        break;
    default: /* pieces of an item that is held: it says them, too */
        break;
    }
}
