/* What arrives of a response where the route blocks or redacts: everything is taken apart, and only
 * what is known goes on. Items of a stream come event by event, those of a whole response at once.
 */
#include "model/model.h"
#include "talk/form.h"
#include "task/response_int.h"
#include "task/seen.h"

#include <stdio.h>

enum { MOST_AHEAD = 64 }; /* items that may wait for the one that is open */

/* ---- the response around them ---- */

void weir_rsp__keep_id(const struct weir_rsp_came *c, uint32_t response)
{
    struct weir_rsp *m = c->m;
    uint32_t at = weir_json_get_set(c->json, response, WEIR_SLICE("id"));
    const struct weir_model_report *report = m->base.stream.task->call.model_report;
    struct weir_slice server = m->server;
    if (m->id.n != 0 || !weir_form_is_id_at(c->json, at, WEIR_FORM_ID_MOST)) {
        return;
    }
    struct weir_slice raw = weir_json_raw(c->json, at);
    struct weir_slice id = weir_slice_sub(raw, 1, raw.n - 1);
    if (server.n == 0 && report != NULL) {
        server = report->provider;
    }
    if (m->ids.secret.n != 0) {
        weir_response_id_write(&m->ids, id, server, &m->id);
    } else {
        weir_buf_append(&m->id, id);
    }
}

void weir_rsp__keep_head(const struct weir_rsp_came *c, uint32_t response)
{
    struct weir_rsp *m = c->m;
    struct weir_responses_head h = {.json = c->json,
                                    .response = response,
                                    .asked = m->asked,
                                    .model_id = m->base.request.model_id};
    uint32_t usage = weir_json_get_set(c->json, response, WEIR_SLICE("usage"));
    weir_rsp__keep_id(c, response);
    if (m->id.n == 0) { /* all events say the same, whatever the server says later */
        weir_buf_append(&m->id, WEIR_SLICE("resp_0"));
    }
    if (m->asked == NULL && m->head.n == 0) {
        m->base.request.asks_json = weir_responses_asked_json(c->json, response);
    }
    h.id = weir_buf_slice(&m->id);
    weir_buf_clear(&m->head);
    weir_rowed_drop(&m->base, weir_responses_write_head(&h, &m->head));
    if (usage != WEIR_JSON_NONE) {
        weir_seen_usage_at(m->base.request.policy, c->json, usage);
        weir_buf_clear(&m->usage);
        weir_rowed_drop(&m->base, weir_form_write_usage(c->json, usage, &m->usage));
    }
}

static void take_head(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    uint32_t output = weir_json_get_set(c->json, e->body, WEIR_SLICE("output"));
    weir_rowed_drop(&m->base, output != WEIR_JSON_NONE && c->json->nodes[output].n != 0);
    if (m->head.n == 0 && strcmp(e->type, "created") != 0) {
        weir_rowed_fail_model(&m->base, "the first event is not response.created");
        return;
    }
    weir_rsp__keep_head(c, e->body);
    weir_rsp__add_line(m, WEIR_RSP_HEAD, 0, weir_slice_cstr(e->type));
}

/* ---- beside the items ---- */

static void close_heard(struct weir_rsp *m)
{
    if (m->heard != NULL) {
        weir_row_close(m->base.row, m->heard->place);
        weir_rsp__add_line(m, WEIR_RSP_HEARD, m->heard->number, WEIR_SLICE(""));
        m->heard = NULL;
    }
}

/* What is heard belongs to no item. */
static void take_heard(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    if (m->head.n == 0) {
        weir_rowed_fail_model(&m->base, "the first event is not response.created");
        return;
    }
    if (m->heard == NULL) {
        m->heard = weir_rsp__new_part(m, WEIR_RESPONSES_TRANSCRIPT,
                                      weir_rsp__number(0, WEIR_RESPONSES_TRANSCRIPT, 0), false);
    }
    if (e->what == WEIR_RESPONSES_DELTA && e->text != WEIR_JSON_NONE) {
        struct weir_row_said said = {.json = c->json, .at = e->text};
        weir_row_say(m->base.row, m->heard->place, &said);
    } else if (e->what == WEIR_RESPONSES_DONE) {
        close_heard(m);
    }
}

/* ---- the end ---- */

/* The item under that number, or NONE. */
static uint32_t item_at(const struct weir_json *json, uint32_t response, uint64_t number)
{
    uint32_t output = weir_json_get_set(json, response, WEIR_SLICE("output"));
    bool is_list = output != WEIR_JSON_NONE && weir_json_type(json, output) == WEIR_JSON_ARRAY;
    uint32_t at = is_list ? weir_json_first(json, output) : WEIR_JSON_NONE;
    for (uint64_t i = 0; at != WEIR_JSON_NONE && i < number; i++) {
        at = weir_json_after(json, output, at);
    }
    bool is_object = at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_OBJECT;
    return is_object ? at : WEIR_JSON_NONE;
}

/* The items that only the end has: they come as if they had been said. */
static void take_unsaid(const struct weir_rsp_came *c, uint32_t response)
{
    struct weir_rsp *m = c->m;
    uint32_t output = weir_json_get_set(c->json, response, WEIR_SLICE("output"));
    bool is_list = output != WEIR_JSON_NONE && weir_json_type(c->json, output) == WEIR_JSON_ARRAY;
    uint32_t at = is_list ? weir_json_first(c->json, output) : WEIR_JSON_NONE;
    uint64_t k = 0;
    if (m->is_shifted && is_list && c->json->nodes[output].n > m->n_items) {
        weir_rowed_fail_model(&m->base, "items are missing, and nobody can tell which");
        return;
    }
    for (; at != WEIR_JSON_NONE && !m->base.stream.is_over; k++) {
        bool is_object = weir_json_type(c->json, at) == WEIR_JSON_OBJECT;
        if (m->is_open && k + 1 == m->n_items && is_object) {
            weir_rsp__close_item(c, at);
        } else if (k >= m->n_items && is_object) {
            weir_rsp__open_item(c, at, WEIR_JSON_NONE);
            weir_rsp__close_item(c, at);
        }
        at = weir_json_after(c->json, output, at);
    }
    if (m->is_open) {
        weir_rsp__close_item(c, WEIR_JSON_NONE);
    }
}

/* ---- items in their order ---- */

static void park(const struct weir_rsp_came *c, uint64_t item)
{
    struct weir_rsp *m = c->m;
    struct weir_json_write w;
    if (item - m->item > MOST_AHEAD) {
        weir_rowed_fail_model(&m->base, "more than 64 items are open at once");
        return;
    }
    weir_json_write_init(&w, &m->parked);
    weir_json_write_node(&w, c->json, 0);
    int rc = weir_json_write_finish(&w);
    weir_rowed_check_held(&m->base, rc == 0 ? weir_buf_append_byte(&m->parked, '\n') : rc);
}

/* Of an item that has ended, or of one that should have come before. */
static void take_late(struct weir_rsp *m, const struct weir_responses_event *e)
{
    if (m->is_shifted || e->what == WEIR_RESPONSES_ITEM) {
        weir_rowed_fail_model(&m->base, "the items are out of order");
    } else {
        weir_rowed_drop(&m->base, 1);
    }
}

static void take_in_order(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    if (m->head.n == 0) {
        weir_rowed_fail_model(&m->base, "the first event is not response.created");
    } else if (m->is_open && e->item > m->item) {
        park(c, e->item);
    } else if (m->is_open ? e->item < m->item : e->item < m->next_item) {
        take_late(m, e);
    } else {
        m->is_shifted = m->is_shifted || (!m->is_open && e->item != m->n_items);
        m->item = e->item;
        weir_rsp__take_of_item(c, e);
    }
}

/* What waited for the item that has ended just now. */
static void take_parked(struct weir_rsp *m)
{
    while (!m->is_open && m->parked.n != 0 && !m->base.stream.is_over) {
        struct weir_buf lines = m->parked;
        struct weir_slice rest = weir_buf_slice(&lines);
        struct weir_json_tape tape = {0};
        m->parked = (struct weir_buf){0};
        weir_buf_init(&m->parked, m->base.stream.task->env->max_held_bytes);
        while (rest.n != 0 && !m->base.stream.is_over) {
            struct weir_json json;
            struct weir_rsp_came c = {.m = m, .json = &json};
            struct weir_responses_event e;
            const char *why = NULL;
            if (weir_json_parse_reuse(&json, weir_slice_cut(&rest, '\n'), NULL, &tape, NULL) == 0 &&
                weir_responses_read(&json, &e, &why) == 0) {
                take_in_order(&c, &e);
            }
            if (!m->is_open && m->parked.n != 0) { /* what waits again comes first */
                weir_rowed_check_held(&m->base, weir_buf_append(&m->parked, rest));
                rest = WEIR_SLICE("");
            }
        }
        weir_json_tape_dispose(&tape);
        weir_buf_dispose(&lines);
    }
}

/* What waits for an item whose end nobody has said. */
static void end_parked(const struct weir_rsp_came *c, uint32_t response)
{
    struct weir_rsp *m = c->m;
    while (m->parked.n != 0 && !m->base.stream.is_over) {
        if (m->is_open) {
            weir_rsp__close_item(c, item_at(c->json, response, m->n_items - 1));
        }
        take_parked(m);
    }
}

static void take_end(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    if (m->head.n == 0) {
        weir_rowed_fail_model(&m->base, "the first event is not response.created");
        return;
    }
    weir_rsp__keep_head(c, e->body);
    close_heard(m);
    end_parked(c, e->body);
    take_unsaid(c, e->body);
    if (!m->base.stream.is_over) {
        weir_rsp__take_ending(c, e->type, e->body);
        m->base.has_ended = true;
        weir_row_end(m->base.row);
    }
}

/* ---- all of them ---- */

static void take_other(const struct weir_rsp_came *c)
{
    struct weir_rsp *m = c->m;
    if (m->base.request.policy->keeps_unknown) {
        weir_rsp__add_line(m, WEIR_RSP_EVENT, 0, c->json->src);
    } else {
        weir_rowed_drop(&m->base, 1);
    }
}

static void take_known(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    switch (e->what) {
    case WEIR_RESPONSES_HEAD:
        take_head(c, e);
        break;
    case WEIR_RESPONSES_END:
        take_end(c, e);
        break;
    case WEIR_RESPONSES_OTHER:
        take_other(c);
        break;
    case WEIR_RESPONSES_MEDIA:
        weir_rowed_drop(&m->base, 1);
        break;
    default:
        if (e->kind == WEIR_RESPONSES_TRANSCRIPT) {
            take_heard(c, e);
        } else {
            take_in_order(c, e);
            take_parked(m);
        }
        break;
    }
}

void weir_rsp__take_event(struct weir_rowed *r, const struct weir_json *json, struct weir_slice raw)
{
    struct weir_rsp *m = (struct weir_rsp *)r;
    struct weir_rsp_came c = {m, json, raw};
    struct weir_responses_event e;
    struct weir_shape_of of;
    const char *why = NULL;
    if (r->has_ended) {
        return; /* nothing comes behind the end */
    }
    if (weir_responses_read(json, &e, &why) != 0) {
        weir_rowed_fail_model(r, why);
    } else if (r->enforces) {
        take_known(&c, &e);
    } else {
        weir_rsp__take_told(&c, &e);
    }
    if (!r->stream.is_over && weir_responses_shape_of(json, &e, &of)) {
        weir_shapes_add(&r->shapes, &of);
    }
}

/* As take_known takes the delta of a part that is open. */
static bool take_known_said(struct weir_rsp *m, const struct weir_rowed_said *said)
{
    struct weir_rsp_part *part = m->part;
    bool is_here = m->is_open && part != NULL &&
                   weir_responses_shape_place(m->item, m->part_index) == said->shape->place &&
                   (uint32_t)part->at.kind == said->shape->channel;
    if (!is_here || weir_row_waits_for_half(part->place)) {
        return false;
    }
    weir_rsp__sum_add(&part->sum, said->text);
    weir_row_say_text(m->base.row, part->place, &(struct weir_row_words){.text = said->text});
    return true;
}

bool weir_rsp__take_said(struct weir_rowed *r, const struct weir_rowed_said *said)
{
    struct weir_rsp *m = (struct weir_rsp *)r;
    if (r->has_ended) {
        return false;
    }
    return r->enforces ? take_known_said(m, said) : weir_rsp__take_told_said(m, said);
}

/* ---- a whole response ---- */

void weir_rsp__say(struct weir_rowed *r, struct weir_slice text)
{
    weir_row_add(r->row, ((struct weir_rsp *)r)->part->place, text);
}

static uint32_t list_at(const struct weir_json *json, uint32_t object, const char *name)
{
    uint32_t at = weir_json_get_set(json, object, weir_slice_cstr(name));
    bool is_list = at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_ARRAY;
    return is_list ? at : WEIR_JSON_NONE;
}

/* The next part of the item that is open; false: there is none. */
static bool next_part(struct weir_rsp *m)
{
    if (m->next_part == WEIR_JSON_NONE && m->kind == WEIR_RESPONSES_THOUGHT && !m->in_summary) {
        m->in_summary = true;
        m->next_part = weir_responses_first_part(&m->base.answer, m->whole, "summary");
    }
    return m->next_part != WEIR_JSON_NONE;
}

static void open_next_part(struct weir_rsp *m)
{
    const struct weir_json *json = &m->base.answer;
    uint32_t at = m->next_part;
    uint32_t text = WEIR_JSON_NONE;
    enum weir_responses_kind kind = weir_responses_part_in(json, m->kind, at, m->in_summary, &text);
    m->next_part =
        weir_responses_part_after(json, m->whole, m->in_summary ? "summary" : "content", at);
    if (kind == WEIR_RESPONSES_KINDS && !m->base.enforces) {
        struct weir_row_line none = {
            .tag = WEIR_RSP_HELD,
            .number = weir_rsp__number(m->n_items - 1, WEIR_RESPONSES_CALL, WEIR_RSP_ITEM)};
        weir_rowed_judge(&m->base, &none, &(struct weir_rowed_value){json, at, WEIR_ROW_BLOCKS});
        return;
    }
    weir_rsp__open_part(m, m->next_parts[kind == WEIR_RESPONSES_SUMMARY], kind);
    if (m->part == NULL) {
        return;
    }
    if (text != WEIR_JSON_NONE) {
        m->base.rest = weir_json_string(json, text, m->base.stream.task->arena);
    }
    if (kind == WEIR_RESPONSES_TEXT && weir_json_type(json, at) == WEIR_JSON_OBJECT) {
        weir_logprobs_take(&m->part->logprobs, json, list_at(json, at, "logprobs"));
    }
    m->part_index = at; /* of a whole answer: the node */
}

static void end_whole(struct weir_rsp *m)
{
    struct weir_rsp_came c = {.m = m, .json = &m->base.answer};
    m->base.has_ended = true;
    weir_rsp__take_ending(&c, "completed", 0);
    weir_row_end(m->base.row);
}

static void open_next_item(struct weir_rsp *m)
{
    struct weir_rsp_came c = {.m = m, .json = &m->base.answer};
    const struct weir_json *json = &m->base.answer;
    uint32_t at = m->next_whole;
    uint32_t output = list_at(json, 0, "output");
    m->next_whole = weir_json_after(json, output, at);
    if (weir_json_type(json, at) != WEIR_JSON_OBJECT) {
        weir_rowed_fail_model(&m->base, "an item is not an object");
        return;
    }
    m->whole = at;
    m->item = m->next_item;
    m->in_summary = false;
    m->next_part = WEIR_JSON_NONE;
    enum weir_responses_item kind = weir_responses_item_of(json, at);
    if (!m->base.enforces && kind == WEIR_RESPONSES_HELD) {
        weir_rsp__tell_item(&c, m->n_items++, at);
        return;
    }
    weir_rsp__open_item(&c, at, WEIR_JSON_NONE);
    if (!m->base.enforces) {
        weir_rsp__tell_sealed(&c, m->n_items - 1, at);
    }
    if (kind == WEIR_RESPONSES_MESSAGE || kind == WEIR_RESPONSES_THOUGHT) {
        m->next_part = weir_responses_first_part(json, at, "content");
    }
}

void weir_rsp__go_on(struct weir_rowed *r)
{
    struct weir_rsp *m = (struct weir_rsp *)r;
    struct weir_rsp_came c = {.m = m, .json = &r->answer};
    if (m->part != NULL) {
        weir_rsp__close_part(&c, (uint32_t)m->part_index);
    } else if (m->is_open && next_part(m)) {
        open_next_part(m);
    } else if (m->is_open) {
        weir_rsp__close_item(&c, m->whole);
    } else if (m->next_whole != WEIR_JSON_NONE) {
        open_next_item(m);
    } else {
        end_whole(m);
    }
}

void weir_rsp__take_whole(struct weir_rowed *r)
{
    struct weir_rsp *m = (struct weir_rsp *)r;
    struct weir_rsp_came c = {.m = m, .json = &r->answer};
    uint32_t output = list_at(&r->answer, 0, "output");
    if (output == WEIR_JSON_NONE) {
        weir_rowed_fail_model(r, "the answer has no output");
        return;
    }
    if (r->enforces) {
        weir_rsp__keep_head(&c, 0);
    }
    m->next_whole = weir_json_first(&r->answer, output);
    weir_rowed_feed(r);
}
