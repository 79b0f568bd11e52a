/*
 * What arrives of a response where the route annotates: events are lines as they came. Text waits
 * for its judgement, everything else leaves at once, and what is found in it is told at the end.
 * What says again what was said is not looked at again: the sums of all texts are remembered.
 */
#include "base/mem.h"
#include "talk/form.h"
#include "task/response_int.h"
#include "task/seen.h"
#include "wire/json_write.h"

enum { MOST_REPEATS = 2048 }; /* more are looked at again */

static struct weir_row_line as_it_came(const struct weir_rsp_came *c, enum weir_rsp_tag tag,
                                       uint64_t number)
{
    struct weir_row_line line = {.tag = (int)tag, .number = number};
    if (c->m->base.is_stream) {
        line.json = c->json->src;
        line.raw = c->raw;
    }
    return line;
}

static void pass(const struct weir_rsp_came *c)
{
    struct weir_row_line line = as_it_came(c, WEIR_RSP_EVENT, 0);
    weir_row_line(c->m->base.row, &line);
}

/* ---- what was said before ---- */

static bool is_same(struct weir_hash_value a, struct weir_hash_value b)
{
    return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}

static struct weir_hash_value sum_of(struct weir_slice text)
{
    struct weir_rsp_sum sum;
    weir_rsp__sum_begin(&sum);
    weir_rsp__sum_add(&sum, text);
    return weir_rsp__sum_end(&sum);
}

static bool was_said(const struct weir_rsp *m, struct weir_hash_value sum)
{
    for (size_t i = m->n_repeats; i > 0; i--) {
        if (is_same(m->repeats[i - 1], sum)) {
            return true;
        }
    }
    return false;
}

static void remember(struct weir_rsp *m, struct weir_hash_value sum)
{
    if (m->n_repeats == MOST_REPEATS) {
        return;
    }
    if (m->n_repeats == m->cap_repeats) {
        m->cap_repeats = 2 * m->cap_repeats + 8;
        m->repeats = weir_mem_realloc(m->repeats, m->cap_repeats * sizeof *m->repeats);
    }
    m->repeats[m->n_repeats++] = sum;
}

/* Looks at a value that is in an event that leaves anyway, unless it was looked at before. */
static void look_at(const struct weir_rsp_came *c, uint32_t at, enum weir_rsp_tag tag,
                    uint64_t number)
{
    struct weir_rsp *m = c->m;
    struct weir_row_line none = {.tag = (int)tag, .number = number};
    struct weir_buf text = {0};
    struct weir_json_write w;
    if (at == WEIR_JSON_NONE) {
        return;
    }
    bool is_text = weir_json_type(c->json, at) == WEIR_JSON_STRING;
    if (is_text) {
        weir_json_string_append(c->json, at, &text);
    } else {
        weir_json_write_init(&w, &text);
        weir_json_write_node(&w, c->json, at);
        (void)weir_json_write_finish(&w); /* has no limit of its own */
    }
    struct weir_hash_value sum = sum_of(weir_buf_slice(&text));
    if (text.n != 0 && !was_said(m, sum)) {
        struct weir_slice said = weir_buf_slice(&text);
        remember(m, sum);
        if (is_text) {
            weir_row_judge(m->base.row,
                           &(struct weir_row_judge){.line = none, .texts = &said, .n_texts = 1});
        } else {
            weir_rowed_judge(&m->base, &none,
                             &(struct weir_rowed_value){c->json, at, WEIR_ROW_BLOCKS});
        }
    }
    weir_buf_dispose(&text);
}

static uint64_t number_of(uint64_t index, enum weir_rsp_channel channel)
{
    return weir_rsp__number(index, WEIR_RESPONSES_CALL, channel);
}

/* ---- parts ---- */

static struct weir_rsp_part *find_at(struct weir_rsp *m, uint64_t item, uint64_t index,
                                     enum weir_responses_kind kind)
{
    for (struct weir_list *at = m->told.next; at != &m->told; at = at->next) {
        struct weir_rsp_part *part = WEIR_LIST_ENTRY(at, struct weir_rsp_part, link);
        if (part->at.item == item && part->at.part == index && part->at.kind == kind) {
            return part;
        }
    }
    return NULL;
}

static struct weir_rsp_part *find_told(struct weir_rsp *m, const struct weir_responses_event *e)
{
    return find_at(m, e->item, e->part, e->kind);
}

/* NULL: the row has failed. */
static struct weir_rsp_part *open_told(const struct weir_rsp_came *c,
                                       const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    struct weir_rsp_part *part = find_told(m, e);
    if (part != NULL) {
        return part;
    }
    if (m->n_all_parts++ == WEIR_RSP_MOST_PARTS || m->n_told == WEIR_RSP_MOST_OPEN) {
        weir_rowed_fail_model(&m->base, WEIR_RSP_TOO_MANY_PARTS);
        return NULL;
    }
    m->n_told++;
    part = weir_rsp__new_part(m, e->kind, weir_rsp__number(e->item, e->kind, e->part),
                              e->kind != WEIR_RESPONSES_TEXT);
    part->at.item = e->item;
    part->at.part = e->part;
    if (e->item_id != WEIR_JSON_NONE) {
        weir_json_string_append(c->json, e->item_id, &part->item_id);
    }
    part->at.item_id = weir_buf_slice(&part->item_id);
    weir_list_remove(&part->link);
    weir_list_append(&m->told, &part->link);
    return part;
}

/* It waits among `parts` until all of it has left. */
static void close_told(struct weir_rsp *m, struct weir_rsp_part *part)
{
    m->n_told--;
    remember(m, weir_rsp__sum_end(&part->sum));
    weir_row_close(m->base.row, part->place);
    weir_list_remove(&part->link);
    weir_list_append(&m->parts, &part->link);
    weir_rsp__add_line(m, WEIR_RSP_CLOSE_PART, part->number, WEIR_SLICE(""));
}

/* Those of one item, or all. */
static void close_all(struct weir_rsp *m, uint64_t item)
{
    struct weir_list *at = m->told.next;
    while (at != &m->told) {
        struct weir_rsp_part *part = WEIR_LIST_ENTRY(at, struct weir_rsp_part, link);
        at = at->next;
        if (item == WEIR_RESPONSES_NO_INDEX || part->at.item == item) {
            close_told(m, part);
        }
    }
}

static void tell_delta(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    struct weir_rsp_part *part;
    bool is_said = e->text != WEIR_JSON_NONE && e->kind != WEIR_RESPONSES_CALL;
    if (!is_said || e->kind != WEIR_RESPONSES_TEXT) {
        pass(c);
    }
    if (is_said && (part = open_told(c, e)) != NULL) {
        struct weir_row_said said = {.json = c->json, .at = e->text, .is_all = true, .raw = c->raw};
        if (weir_row_say(m->base.row, part->place, &said)) {
            weir_rsp__sum_add(&part->sum, weir_row_last(m->base.row));
        }
    }
}

/* As tell_delta tells it, of a part that is open. */
bool weir_rsp__take_told_said(struct weir_rsp *m, const struct weir_rowed_said *said)
{
    uint64_t place = said->shape->place;
    enum weir_responses_kind kind = (enum weir_responses_kind)said->shape->channel;
    struct weir_rsp_part *part = find_at(m, place >> 32, place & UINT32_MAX, kind);
    if (part == NULL || weir_row_waits_for_half(part->place)) {
        return false;
    }
    if (kind != WEIR_RESPONSES_TEXT) {
        weir_row_line(
            m->base.row,
            &(struct weir_row_line){.tag = WEIR_RSP_EVENT, .json = said->json, .raw = said->raw});
    }
    weir_rsp__sum_add(&part->sum, said->text);
    weir_row_say_text(
        m->base.row, part->place,
        &(struct weir_row_words){.text = said->text, .json = said->json, .raw = said->raw});
    return true;
}

/* ---- what says it again ---- */

static void look_at_list(const struct weir_rsp_came *c, uint32_t object, const char *name,
                         uint64_t number)
{
    uint32_t list = weir_json_get_set(c->json, object, weir_slice_cstr(name));
    bool is_list = list != WEIR_JSON_NONE && weir_json_type(c->json, list) == WEIR_JSON_ARRAY;
    uint32_t at = is_list ? weir_json_first(c->json, list) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(c->json, list, at)) {
        look_at(c, at, WEIR_RSP_NOTE, number);
    }
}

static void tell_part(const struct weir_rsp_came *c, uint64_t index, uint32_t part, bool is_summary)
{
    uint32_t text;
    enum weir_responses_kind kind =
        weir_responses_part_in(c->json, WEIR_RESPONSES_MESSAGE, part, is_summary, &text);
    look_at(c, kind == WEIR_RESPONSES_KINDS ? part : text, WEIR_RSP_HELD,
            number_of(index, WEIR_RSP_ITEM));
    if (kind != WEIR_RESPONSES_KINDS && text != part) {
        look_at_list(c, part, "annotations", number_of(index, WEIR_RSP_ITEM));
    }
}

static void tell_parts(const struct weir_rsp_came *c, uint64_t index, uint32_t item,
                       const char *name)
{
    uint32_t at = weir_responses_first_part(c->json, item, name);
    for (; at != WEIR_JSON_NONE; at = weir_responses_part_after(c->json, item, name, at)) {
        tell_part(c, index, at, name[0] == 's');
    }
}

void weir_rsp__tell_sealed(const struct weir_rsp_came *c, uint64_t index, uint32_t item)
{
    uint32_t at = weir_json_get_set(c->json, item, WEIR_SLICE("encrypted_content"));
    if (at != WEIR_JSON_NONE && !weir_form_is_base64_at(c->json, at, SIZE_MAX)) {
        look_at(c, at, WEIR_RSP_HELD, number_of(index, WEIR_RSP_ITEM));
    }
}

void weir_rsp__tell_item(const struct weir_rsp_came *c, uint64_t index, uint32_t item)
{
    enum weir_responses_item kind = weir_responses_item_of(c->json, item);
    uint32_t type = weir_json_get_set(c->json, item, WEIR_SLICE("type"));
    bool is_word = type != WEIR_JSON_NONE && weir_json_type(c->json, type) == WEIR_JSON_STRING;
    switch (kind) {
    case WEIR_RESPONSES_MESSAGE:
    case WEIR_RESPONSES_THOUGHT:
        weir_rsp__tell_sealed(c, index, item);
        tell_parts(c, index, item, "content");
        tell_parts(c, index, item, "summary");
        break;
    case WEIR_RESPONSES_SEALED:
        break;
    case WEIR_RESPONSES_HELD:
        look_at(c, item, WEIR_RSP_HELD,
                number_of(index, is_word ? weir_rsp__channel_of(weir_json_raw(c->json, type))
                                         : WEIR_RSP_ITEM));
        break;
    }
}

/* A call that only begins says nothing but its name, which its end says again. */
static bool is_begun(const struct weir_rsp_came *c, uint32_t item)
{
    const char *events;
    uint32_t type = weir_json_get_set(c->json, item, WEIR_SLICE("type"));
    if (type == WEIR_JSON_NONE || weir_json_type(c->json, type) != WEIR_JSON_STRING) {
        return false;
    }
    struct weir_slice raw = weir_json_raw(c->json, type);
    const char *member = weir_responses_said_member(weir_slice_sub(raw, 1, raw.n - 1), &events);
    uint32_t at =
        member != NULL ? weir_json_get_set(c->json, item, weir_slice_cstr(member)) : WEIR_JSON_NONE;
    return member != NULL && (at == WEIR_JSON_NONE || c->json->nodes[at].n == 0);
}

/* ---- the end ---- */

static void tell_output(const struct weir_rsp_came *c, uint32_t response)
{
    uint32_t output = weir_json_get_set(c->json, response, WEIR_SLICE("output"));
    bool is_list = output != WEIR_JSON_NONE && weir_json_type(c->json, output) == WEIR_JSON_ARRAY;
    uint32_t at = is_list ? weir_json_first(c->json, output) : WEIR_JSON_NONE;
    for (uint64_t k = 0; at != WEIR_JSON_NONE; k++) {
        if (weir_json_type(c->json, at) == WEIR_JSON_OBJECT) {
            weir_rsp__tell_item(c, k, at);
        }
        at = weir_json_after(c->json, output, at);
    }
}

static void tell_end(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    uint32_t usage = weir_json_get_set(c->json, e->body, WEIR_SLICE("usage"));
    close_all(m, WEIR_RESPONSES_NO_INDEX);
    tell_output(c, e->body);
    look_at(c, weir_json_get_set(c->json, e->body, WEIR_SLICE("error")), WEIR_RSP_HELD,
            number_of(0, WEIR_RSP_ITEM));
    if (usage != WEIR_JSON_NONE) {
        weir_seen_usage_at(m->base.request.policy, c->json, usage);
    }
    weir_row_wait(m->base.row);
    struct weir_row_line line = as_it_came(c, WEIR_RSP_ENDING, 0);
    weir_row_line(m->base.row, &line);
    m->base.has_ended = true;
    weir_row_end(m->base.row);
}

static void tell_done(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp_part *part = find_told(c->m, e);
    if (part != NULL) {
        close_told(c->m, part);
    }
    pass(c);
    if (e->kind == WEIR_RESPONSES_CALL) {
        return; /* its item says it, too */
    }
    look_at(c, e->text, WEIR_RSP_HELD, number_of(e->item, WEIR_RSP_ITEM));
}

void weir_rsp__take_told(const struct weir_rsp_came *c, const struct weir_responses_event *e)
{
    struct weir_rsp *m = c->m;
    struct weir_row_line line;
    switch (e->what) {
    case WEIR_RESPONSES_DELTA:
        tell_delta(c, e);
        break;
    case WEIR_RESPONSES_DONE:
        tell_done(c, e);
        break;
    case WEIR_RESPONSES_PART:
    case WEIR_RESPONSES_PART_DONE:
        if (e->what == WEIR_RESPONSES_PART_DONE && find_told(m, e) != NULL) {
            close_told(m, find_told(m, e));
        }
        pass(c);
        tell_part(c, e->item, e->body, e->kind == WEIR_RESPONSES_SUMMARY);
        break;
    case WEIR_RESPONSES_ANNOTATION:
        pass(c);
        look_at(c, e->body, WEIR_RSP_NOTE, number_of(e->item, WEIR_RSP_ITEM));
        break;
    case WEIR_RESPONSES_ITEM:
        pass(c);
        if (!is_begun(c, e->body)) {
            weir_rsp__tell_item(c, e->item, e->body);
        }
        break;
    case WEIR_RESPONSES_ITEM_DONE:
        close_all(m, e->item);
        pass(c);
        weir_rsp__tell_item(c, e->item, e->body);
        break;
    case WEIR_RESPONSES_HEAD:
        pass(c);
        tell_output(c, e->body);
        break;
    case WEIR_RESPONSES_END:
        tell_end(c, e);
        break;
    case WEIR_RESPONSES_OTHER:
        line = as_it_came(c, WEIR_RSP_EVENT, number_of(0, WEIR_RSP_ITEM));
        weir_rowed_judge(&m->base, &line, &(struct weir_rowed_value){c->json, 0, WEIR_ROW_BLOCKS});
        break;
    default: /* status, pieces of items, media */
        pass(c);
        break;
    }
}
