/* What leaves of a response, item by item: as events of a stream, and into the whole that its last
 * event, or the answer, says. */
#include "base/err.h"
#include "task/event.h"
#include "task/response_int.h"
#include "task/scratch.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

void weir_rsp__send(struct weir_rsp *m)
{
    if (m->base.is_stream && !m->base.stream.is_over) {
        weir_rowed_send_written(&m->base);
    }
}

void weir_rsp__remember(struct weir_rsp *m, size_t n)
{
    size_t most = m->base.stream.task->env->max_remembered_bytes;
    m->n_remembered += n;
    if (m->base.is_stream && m->n_remembered > most && !m->base.stream.is_over) {
        const char *text = weir_arena_printf(
            m->base.stream.task->arena,
            "more than %zu bytes of a response have left: limits.max_remembered_bytes", most);
        weir_stream_fail(&m->base.stream, &(struct weir_fault){.origin = WEIR_FAULT_LIMIT,
                                                               .err = WEIR_ELIMIT,
                                                               .status = 500,
                                                               .message = weir_slice_cstr(text)});
    }
}

static void keep_item(struct weir_rsp *m, struct weir_slice item)
{
    weir_buf_append(&m->output, m->output.n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
    weir_buf_append(&m->output, item);
}

/* ---- items that are said bit by bit ---- */

/* {first members, "content": […], last members} */
static void write_item(const struct weir_rsp *m, struct weir_slice tail, struct weir_buf *out)
{
    bool is_thought = m->left_kind == WEIR_RESPONSES_THOUGHT;
    weir_buf_append_byte(out, '{');
    weir_buf_append(out, weir_buf_slice(&m->shown));
    if (is_thought) {
        weir_buf_append(out, WEIR_SLICE(",\"summary\":["));
        weir_buf_append(out, weir_buf_slice(&m->summary));
        weir_buf_append_byte(out, ']');
    }
    if (m->left_kind == WEIR_RESPONSES_MESSAGE || (is_thought && m->content.n != 0)) {
        weir_buf_append(out, WEIR_SLICE(",\"content\":["));
        weir_buf_append(out, weir_buf_slice(&m->content));
        weir_buf_append_byte(out, ']');
    }
    weir_buf_append(out, tail);
    weir_buf_append_byte(out, '}');
}

static void send_item(struct weir_rsp *m, struct weir_slice item, bool is_done)
{
    weir_responses_write_item(m->n_left - 1, item, is_done, weir_rowed_scratch(&m->base));
    weir_rsp__send(m);
}

void weir_rsp__leave_open(struct weir_rsp *m, enum weir_responses_item kind, struct weir_slice json)
{
    struct weir_buf item = {0};
    struct weir_slice id = weir_slice_cut(&json, '\n');
    m->has_item = true;
    m->left_kind = kind;
    m->n_left++;
    m->n_left_parts[0] = 0;
    m->n_left_parts[1] = 0;
    weir_buf_clear(&m->item_id);
    weir_buf_clear(&m->shown);
    weir_buf_clear(&m->content);
    weir_buf_clear(&m->summary);
    weir_buf_append(&m->item_id, id);
    weir_buf_append(&m->shown, json);
    write_item(m, WEIR_SLICE(",\"status\":\"in_progress\""), &item);
    send_item(m, weir_buf_slice(&item), false);
    weir_buf_dispose(&item);
}

void weir_rsp__leave_close(struct weir_rsp *m, struct weir_slice tail)
{
    struct weir_buf item = {0};
    bool is_message = m->left_kind == WEIR_RESPONSES_MESSAGE;
    write_item(m, tail.n == 0 && is_message ? WEIR_SLICE(",\"status\":\"completed\"") : tail,
               &item);
    m->has_item = false;
    weir_rsp__remember(m, m->shown.n + tail.n);
    send_item(m, weir_buf_slice(&item), true);
    keep_item(m, weir_buf_slice(&item));
    weir_buf_dispose(&item);
}

/* ---- items that were held ---- */

/* A member's string or the other members of an item, as they leave. */
static void write_tool(struct weir_rsp *m, const struct weir_tool *tool, struct weir_slice said,
                       struct weir_buf *out)
{
    struct weir_slice key = weir_buf_slice(&tool->id);
    bool has_name = tool->name.n != 0;
    if (has_name) {
        weir_buf_append(out, WEIR_SLICE(",\""));
        weir_buf_append(out, tool->index == 0 ? WEIR_SLICE("name") : key);
        weir_buf_append(out, WEIR_SLICE("\":"));
        weir_json_write_quoted(out, weir_buf_slice(&tool->name));
    }
    if (key.n != 0 && (!has_name || tool->index == 0)) {
        weir_buf_append(out, WEIR_SLICE(",\""));
        weir_buf_append(out, key);
        weir_buf_append(out, WEIR_SLICE("\":"));
        weir_json_write_quoted(out, said);
    } else if (key.n == 0 && said.n > 2) { /* an object: its members */
        weir_buf_append_byte(out, ',');
        weir_buf_append(out, weir_slice_sub(said, 1, said.n - 1));
    }
    (void)m;
}

/* Members of an item, or the string of one: JSON where it is some. */
static enum weir_restore_kind kind_of(const struct weir_tool *tool)
{
    struct weir_slice text = weir_buf_slice(&tool->arguments);
    struct weir_json_tape tape = {0};
    struct weir_json json;
    bool is_good = weir_json_parse_reuse(&json, text, NULL, &tape, NULL) == 0;
    weir_json_tape_dispose(&tape);
    if (tool->id.n == 0) {
        return WEIR_RESTORE_ITEM;
    }
    return is_good ? WEIR_RESTORE_ARGUMENTS : WEIR_RESTORE_TEXT;
}

/* The item; `is_begun`: without the string that deltas say, which is put to `said`. */
static void write_held(struct weir_rsp *m, const struct weir_row_line *line, struct weir_slice head,
                       bool is_begun, struct weir_buf *said, struct weir_buf *out)
{
    weir_buf_append_byte(out, '{');
    weir_buf_append(out, head);
    for (size_t i = 0; i < line->tools->n; i++) {
        const struct weir_tool *tool = &line->tools->items[i];
        struct weir_buf text = {0};
        weir_rowed_restore(&m->base, weir_buf_slice(&tool->arguments), kind_of(tool), &text);
        if (i == 0) {
            weir_buf_clear(said);
            weir_buf_append(said, weir_buf_slice(&text));
        }
        write_tool(m, tool, i == 0 && is_begun ? WEIR_SLICE("") : weir_buf_slice(&text), out);
        weir_buf_dispose(&text);
    }
}

/* Events about the item: those before its end, and the one that is. */
static void send_statuses(struct weir_rsp *m, const struct weir_responses_place *p,
                          struct weir_slice types, bool is_end)
{
    while (types.n != 0) {
        struct weir_slice type = weir_slice_cut(&types, ' ');
        bool ends = weir_slice_ends_with(type, WEIR_SLICE(".completed")) ||
                    weir_slice_ends_with(type, WEIR_SLICE(".failed"));
        if (ends == is_end) {
            weir_responses_write_status(p, type, weir_rowed_scratch(&m->base));
            weir_rsp__send(m);
        }
    }
}

static void send_said(struct weir_rsp *m, const struct weir_responses_place *p,
                      struct weir_slice type, struct weir_slice said)
{
    const char *events;
    const char *member = weir_responses_said_member(type, &events);
    if (member == NULL) {
        return;
    }
    if (said.n != 0) {
        weir_responses_write_said(p, events, NULL, said, weir_rowed_scratch(&m->base));
        weir_rsp__send(m);
    }
    weir_responses_write_said(p, events, member, said, weir_rowed_scratch(&m->base));
    weir_rsp__send(m);
}

/* The id among an item's members in their forms, without its quotes; empty: it has none. */
static struct weir_slice id_in(struct weir_slice head)
{
    static const char name[] = ",\"id\":\"";
    const char *at = memmem(head.p, head.n, name, sizeof name - 1);
    if (at == NULL) {
        return WEIR_SLICE("");
    }
    struct weir_slice rest = weir_slice_sub(head, (size_t)(at - head.p) + sizeof name - 1, head.n);
    return weir_slice_cut(&rest, '"');
}

static void leave_held(struct weir_rsp *m, const struct weir_row_line *line)
{
    struct weir_slice rest = line->json;
    struct weir_slice type = weir_slice_cut(&rest, '\n');
    struct weir_slice head = weir_slice_cut(&rest, '\n');
    struct weir_slice status = weir_slice_cut(&rest, '\n');
    struct weir_buf item = {0};
    struct weir_buf said = {0};
    struct weir_responses_place p = {.item = m->n_left++, .item_id = id_in(head)};
    if (m->base.is_stream) {
        write_held(m, line, head, true, &said, &item);
        weir_buf_append(&item, status.n != 0 ? WEIR_SLICE(",\"status\":\"in_progress\"}")
                                             : WEIR_SLICE("}"));
        send_item(m, weir_buf_slice(&item), false);
        send_statuses(m, &p, rest, false);
        send_said(m, &p, type, weir_buf_slice(&said));
        send_statuses(m, &p, rest, true);
        weir_buf_clear(&item);
    }
    write_held(m, line, head, false, &said, &item);
    if (status.n != 0) {
        weir_buf_append(&item, WEIR_SLICE(",\"status\":"));
        weir_buf_append(&item, status);
    }
    weir_buf_append_byte(&item, '}');
    weir_rsp__remember(m, item.n);
    send_item(m, weir_buf_slice(&item), true);
    keep_item(m, weir_buf_slice(&item));
    weir_buf_dispose(&item);
    weir_buf_dispose(&said);
}

/* ---- what the row says ---- */

static void leave_head(struct weir_rsp *m, struct weir_slice type)
{
    const char *name = weir_slice_eq_cstr(type, "created")  ? "created"
                       : weir_slice_eq_cstr(type, "queued") ? "queued"
                                                            : "in_progress";
    struct weir_responses_whole whole = {.head = weir_buf_slice(&m->head),
                                         .status = weir_slice_eq_cstr(type, "queued")
                                                       ? WEIR_SLICE("queued")
                                                       : WEIR_SLICE("in_progress")};
    weir_responses_write_response(name, &whole, weir_rowed_scratch(&m->base));
    weir_rsp__send(m);
}

static void leave_part(struct weir_rsp *m, const struct weir_row_line *line)
{
    struct weir_rsp_part *part = weir_rsp__find_part(m, line->number);
    if (part == NULL) {
        return;
    }
    switch ((enum weir_rsp_tag)line->tag) {
    case WEIR_RSP_OPEN_PART:
        weir_rsp__leave_open_part(m, part);
        break;
    case WEIR_RSP_NOTE:
        weir_rsp__leave_note(m, part, line->json);
        break;
    case WEIR_RSP_HEARD: {
        struct weir_responses_delta d = {.text = weir_buf_slice(&part->text)};
        weir_responses_write_delta(&part->at, &d, true, weir_rowed_scratch(&m->base));
        weir_rsp__send(m);
        weir_rsp__free_part(part);
        break;
    }
    default:
        if (m->base.enforces) {
            weir_rsp__leave_close_part(m, part);
        } else {
            weir_rsp__free_part(part);
        }
        break;
    }
}

static void leave_event(struct weir_rsp *m, const struct weir_row_line *line)
{
    if (!m->base.enforces) {
        weir_rowed_send(&m->base, line->json, line->raw);
    } else {
        weir_buf_append(weir_rowed_scratch(&m->base), line->json);
        weir_rsp__send(m);
    }
}

/* The head, which has been written without what repeats the request, with one member of that. */
static void put_repeated(struct weir_rsp *m, const struct weir_row_line *line)
{
    struct weir_slice name = weir_slice_cstr(weir_responses_repeated[line->number]);
    struct weir_json_tape tape = {0};
    struct weir_json json;
    struct weir_json_edit e = {0};
    struct weir_buf whole = {0};
    struct weir_buf out = {0};
    weir_buf_append_byte(&whole, '{');
    weir_buf_append(&whole, weir_buf_slice(&m->head));
    weir_buf_append_byte(&whole, '}');
    if (weir_json_parse_reuse(&json, weir_buf_slice(&whole), NULL, &tape, NULL) == 0) {
        weir_json_edit_begin(&e, &json);
        weir_json_edit_set(&e, 0, name, line->json);
        weir_json_edit_write(&e, &out);
        weir_json_edit_dispose(&e);
        weir_buf_clear(&m->head);
        weir_buf_append(&m->head, weir_slice_sub(weir_buf_slice(&out), 1, out.n - 1));
    }
    weir_json_tape_dispose(&tape);
    weir_buf_dispose(&whole);
    weir_buf_dispose(&out);
}

static void on_line(void *ctx, const struct weir_row_line *line)
{
    struct weir_rsp *m = ctx;
    if (m->base.stream.is_over) {
        return;
    }
    switch ((enum weir_rsp_tag)line->tag) {
    case WEIR_RSP_EVENT:
        leave_event(m, line);
        break;
    case WEIR_RSP_HEAD:
        leave_head(m, line->json);
        break;
    case WEIR_RSP_OPEN:
        weir_rsp__leave_open(m, (enum weir_responses_item)line->number, line->json);
        break;
    case WEIR_RSP_CLOSE:
        weir_rsp__leave_close(m, line->json);
        break;
    case WEIR_RSP_HELD:
        leave_held(m, line);
        break;
    case WEIR_RSP_REPEATED:
        if (!line->is_touched) {
            put_repeated(m, line);
        }
        break;
    case WEIR_RSP_ENDING:
        weir_rsp__leave_ending(m, line);
        break;
    case WEIR_RSP_OPEN_PART:
    case WEIR_RSP_CLOSE_PART:
    case WEIR_RSP_NOTE:
    case WEIR_RSP_HEARD:
        leave_part(m, line);
        break;
    }
}

static void on_text(void *ctx, const struct weir_row_text *text)
{
    static const char *const path[] = {"delta", NULL};
    struct weir_rsp *m = ctx;
    if (m->base.stream.is_over) {
        return;
    }
    weir_rowed_note_text(&m->base, text);
    if (text->json.n != 0 && !text->is_rest && text->found.n_findings == 0) {
        weir_rowed_send(&m->base, text->json, text->raw);
        return;
    }
    struct weir_buf detections = {0};
    struct weir_rsp_part *part = weir_rsp__find_part(m, text->found.number);
    if (text->json.n != 0) {
        weir_rowed_write_found(&m->base, &text->found, &detections);
        weir_rowed_patch_text(text, path, weir_buf_slice(&detections),
                              weir_rowed_scratch(&m->base));
        weir_rsp__send(m);
        weir_buf_dispose(&detections);
    } else if (part != NULL) {
        weir_rsp__leave_text(m, part, text);
    }
}

/* A stream ends with the route's words. */
void weir_rsp__stop(struct weir_rowed *r)
{
    struct weir_rsp *m = (struct weir_rsp *)r;
    if (weir_rowed_holds_text(r)) {
        weir_buf_clear(&m->output);
        m->has_item = false;
        m->open_part = NULL;
        m->has_text = false;
        m->n_left = 0;
    }
    weir_rsp__refuse(m);
}

const struct weir_row_ops weir_rsp__ops = {
    .line = on_line,
    .text = on_text,
    .found = weir_rowed_on_found,
    .blocked = weir_rowed_on_blocked,
    .left = weir_rowed_on_left,
    .failed = weir_rowed_on_failed,
    .progress = weir_rowed_on_progress,
    .history = weir_rowed_on_history,
};
