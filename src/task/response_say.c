/* How a response ends, what is told of findings, and what is said in the place of an answer. */
#include "base/mem.h"
#include "obs/trace.h"
#include "talk/form.h"
#include "task/event.h"
#include "task/response_int.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

#include <time.h>

/* ---- where something was found ---- */

static const char *channel_of(const struct weir_row_found *found)
{
    static const char *const texts[] = {"text", "refusal", "reasoning", "reasoning_summary",
                                        "transcript"};
    static const char *const helds[] = {"item", "arguments", "code", "shell_command",
                                        "shell_output"};
    if (found->channel != WEIR_CHANNEL_TOOLS) {
        return texts[found->number >> 28 & 15];
    }
    switch ((enum weir_rsp_tag)found->tag) {
    case WEIR_RSP_NOTE:
        return "annotation";
    case WEIR_RSP_ENDING:
        return "error";
    case WEIR_RSP_REPEATED:
        return "request";
    default:
        return helds[found->number & 15];
    }
}

void weir_rsp__write_place(const struct weir_rowed *r, const struct weir_row_found *found,
                           struct weir_buf *out)
{
    bool is_text = found->channel != WEIR_CHANNEL_TOOLS;
    enum weir_responses_kind kind = (enum weir_responses_kind)(found->number >> 28 & 15);
    bool is_note = !is_text && found->tag == WEIR_RSP_NOTE && kind == WEIR_RESPONSES_TEXT;
    bool is_whole = !is_text && (found->tag == WEIR_RSP_ENDING || found->tag == WEIR_RSP_REPEATED);
    (void)r;
    if (found->channel == WEIR_CHANNEL_WHOLE) {
        weir_buf_append(out, WEIR_SLICE("\"channel\":\"conversation\""));
        return;
    }
    if (!is_whole && kind != WEIR_RESPONSES_TRANSCRIPT) {
        weir_buf_append(out, WEIR_SLICE("\"output_index\":"));
        weir_buf_append_u64(out, found->number >> 32);
        weir_buf_append_byte(out, ',');
    }
    if ((is_text || is_note) && kind != WEIR_RESPONSES_TRANSCRIPT) {
        weir_buf_append(out, kind == WEIR_RESPONSES_SUMMARY ? WEIR_SLICE("\"summary_index\":")
                                                            : WEIR_SLICE("\"content_index\":"));
        weir_buf_append_u64(out, found->number & 0xfffffff);
        weir_buf_append_byte(out, ',');
    }
    weir_buf_printf(out, "\"channel\":\"%s\"", channel_of(found));
}

/* ---- how it ends ---- */

static uint32_t object_at(const struct weir_json *json, uint32_t object, const char *name)
{
    uint32_t at = weir_json_get_set(json, object, weir_slice_cstr(name));
    bool is_object = at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_OBJECT;
    return is_object ? at : WEIR_JSON_NONE;
}

/* {"code":…,"message":…} with the text, or without. */
static void write_error(const struct weir_json *json, uint32_t error, bool is_touched,
                        struct weir_buf *out)
{
    uint32_t code = weir_json_get_set(json, error, WEIR_SLICE("code"));
    uint32_t message = weir_json_get_set(json, error, WEIR_SLICE("message"));
    bool has_text = message != WEIR_JSON_NONE && weir_json_type(json, message) == WEIR_JSON_STRING;
    weir_buf_append(out, WEIR_SLICE("{\"code\":"));
    weir_buf_append(out, weir_form_is_id_at(json, code, WEIR_FORM_ID_MOST)
                             ? weir_json_raw(json, code)
                             : WEIR_SLICE("\"server_error\""));
    weir_buf_append(out, WEIR_SLICE(",\"message\":"));
    weir_buf_append(out, has_text && !is_touched ? weir_json_raw(json, message)
                                                 : WEIR_SLICE("\"[removed]\""));
    weir_buf_append_byte(out, '}');
}

/* The type of the last event, the status, why it is not complete, the error, and the same without
 * its text: a line each. */
static void write_ending(const struct weir_rsp_came *c, const char *type, uint32_t response,
                         struct weir_buf *out)
{
    const struct weir_json *json = c->json;
    uint32_t status = weir_json_get_set(json, response, WEIR_SLICE("status"));
    uint32_t details = object_at(json, response, "incomplete_details");
    uint32_t error = object_at(json, response, "error");
    uint32_t reason = details != WEIR_JSON_NONE
                          ? weir_json_get_set(json, details, WEIR_SLICE("reason"))
                          : WEIR_JSON_NONE;
    struct weir_slice word = weir_form_is_word_at(json, status) ? weir_json_raw(json, status)
                                                                : WEIR_SLICE("\"completed\"");
    weir_buf_printf(out, "%s\n", type);
    weir_buf_append(out, weir_slice_sub(word, 1, word.n - 1));
    weir_buf_append_byte(out, '\n');
    if (weir_form_is_word_at(json, reason)) {
        weir_buf_append(out, WEIR_SLICE("{\"reason\":"));
        weir_buf_append(out, weir_json_raw(json, reason));
        weir_buf_append_byte(out, '}');
    }
    weir_buf_append_byte(out, '\n');
    if (error != WEIR_JSON_NONE) {
        write_error(json, error, false, out);
        weir_buf_append_byte(out, '\n');
        write_error(json, error, true, out);
    }
}

/* What repeats a request that is not at hand is the server's word: each member by itself. */
static void judge_repeated(const struct weir_rsp_came *c, uint32_t response)
{
    struct weir_rsp *m = c->m;
    struct weir_arena arena = {.account = m->base.stream.task->arena->account};
    for (size_t i = 0; weir_responses_repeated[i] != NULL; i++) {
        struct weir_slice texts[2];
        struct weir_buf json = {0};
        struct weir_json_write w;
        uint32_t at =
            weir_json_get_set(c->json, response, weir_slice_cstr(weir_responses_repeated[i]));
        if (at == WEIR_JSON_NONE) {
            continue;
        }
        weir_json_write_init(&w, &json);
        weir_json_write_node(&w, c->json, at);
        (void)weir_json_write_finish(&w); /* has no limit of its own */
        struct weir_row_line line = {
            .tag = WEIR_RSP_REPEATED, .number = i, .json = weir_buf_slice(&json)};
        weir_row_judge(m->base.row, &(struct weir_row_judge){
                                        .line = line,
                                        .texts = texts,
                                        .n_texts = weir_rowed_texts(&arena, c->json, at, texts),
                                        .rule = WEIR_ROW_SPARES});
        weir_buf_dispose(&json);
    }
    weir_arena_dispose(&arena);
}

void weir_rsp__take_ending(const struct weir_rsp_came *c, const char *type, uint32_t response)
{
    struct weir_rsp *m = c->m;
    struct weir_buf line = {0};
    struct weir_arena arena = {.account = m->base.stream.task->arena->account};
    uint32_t error = object_at(c->json, response, "error");
    struct weir_slice text = WEIR_SLICE("");
    uint32_t message = error != WEIR_JSON_NONE
                           ? weir_json_get_set(c->json, error, WEIR_SLICE("message"))
                           : WEIR_JSON_NONE;
    if (!m->base.enforces) { /* all of the error leaves, so all of it is looked at */
        struct weir_row_line none = {.tag = WEIR_RSP_ENDING};
        if (error != WEIR_JSON_NONE) {
            weir_rowed_judge(&m->base, &none,
                             &(struct weir_rowed_value){c->json, error, WEIR_ROW_SPARES});
        }
        return;
    }
    weir_row_wait(m->base.row);
    if (m->asked == NULL) {
        judge_repeated(c, response);
    }
    if (message != WEIR_JSON_NONE && weir_json_type(c->json, message) == WEIR_JSON_STRING) {
        text = weir_json_string(c->json, message, &arena);
    }
    write_ending(c, type, response, &line);
    weir_row_judge(m->base.row, &(struct weir_row_judge){
                                    .line = {.tag = WEIR_RSP_ENDING, .json = weir_buf_slice(&line)},
                                    .texts = &text,
                                    .n_texts = 1,
                                    .rule = WEIR_ROW_SPARES});
    weir_buf_dispose(&line);
    weir_arena_dispose(&arena);
}

/* ---- the whole ---- */

struct found {
    struct weir_buf detections;
    struct weir_buf warnings;
};

static struct found all_found(const struct weir_rsp *m, bool with_input)
{
    struct found f = {0};
    weir_rowed_write_all_found(&m->base, with_input, &f.detections);
    weir_rowed_write_warnings(&m->base, with_input, &f.warnings);
    return f;
}

static void forget(struct found *f)
{
    weir_buf_dispose(&f->detections);
    weir_buf_dispose(&f->warnings);
}

/* The response as it ends; `ending` as written above. */
static void fill_whole(const struct weir_rsp *m, struct weir_slice ending, const struct found *f,
                       struct weir_responses_whole *w)
{
    *w = (struct weir_responses_whole){.head = weir_buf_slice(&m->head),
                                       .output = weir_buf_slice(&m->output),
                                       .usage = weir_buf_slice(&m->usage),
                                       .detections = weir_buf_slice(&f->detections),
                                       .warnings = weir_buf_slice(&f->warnings)};
    (void)weir_slice_cut(&ending, '\n');
    w->status = weir_slice_cut(&ending, '\n');
    w->details = weir_slice_cut(&ending, '\n');
    w->error = weir_slice_cut(&ending, '\n');
}

/* Annotate: what was found is on the response in the event. */
static void patch_ending(struct weir_rsp *m, const struct weir_row_line *line,
                         const struct found *f)
{
    struct weir_json_tape tape = {0};
    struct weir_json doc;
    struct weir_json_edit e = {0};
    struct weir_buf response = {0};
    uint32_t at = WEIR_JSON_NONE;
    if (f->detections.n != 0 && weir_json_parse_reuse(&doc, line->json, NULL, &tape, NULL) == 0) {
        at = weir_json_get_set(&doc, 0, WEIR_SLICE("response"));
    }
    if (at != WEIR_JSON_NONE) {
        weir_rowed_patch(weir_json_raw(&doc, at), weir_buf_slice(&f->detections),
                         weir_buf_slice(&f->warnings), &response);
        weir_json_edit_begin(&e, &doc);
        weir_json_edit_replace(&e, at, weir_buf_slice(&response));
        weir_json_edit_write(&e, weir_rowed_scratch(&m->base));
        weir_json_edit_dispose(&e);
        weir_rowed_send_written(&m->base);
    } else {
        weir_rowed_send(&m->base, line->json, line->raw);
    }
    weir_buf_dispose(&response);
    weir_json_tape_dispose(&tape);
}

static void send_ending(struct weir_rsp *m, struct weir_slice ending, bool with_input)
{
    struct weir_slice rest = ending;
    struct weir_slice type = weir_slice_cut(&rest, '\n');
    const char *name = weir_slice_eq_cstr(type, "completed") ? "completed"
                       : weir_slice_eq_cstr(type, "failed")  ? "failed"
                                                             : "incomplete";
    struct found f = all_found(m, with_input);
    struct weir_responses_whole w;
    fill_whole(m, ending, &f, &w);
    weir_responses_write_response(name, &w, weir_rowed_scratch(&m->base));
    weir_rsp__send(m);
    forget(&f);
}

/* Without the text of its error: the last line takes the place of the one before. */
static void touch(struct weir_buf *ending)
{
    struct weir_slice rest = weir_buf_slice(ending);
    struct weir_buf out = {0};
    for (size_t i = 0; i < 3; i++) {
        weir_buf_append(&out, weir_slice_cut(&rest, '\n'));
        weir_buf_append_byte(&out, '\n');
    }
    (void)weir_slice_cut(&rest, '\n');
    weir_buf_append(&out, rest);
    weir_buf_dispose(ending);
    *ending = out;
}

void weir_rsp__leave_ending(struct weir_rsp *m, const struct weir_row_line *line)
{
    if (!m->base.enforces) {
        struct found f = all_found(m, false);
        patch_ending(m, line, &f);
        forget(&f);
        return;
    }
    weir_buf_clear(&m->ending);
    weir_buf_append(&m->ending, line->json);
    if (line->is_touched) {
        touch(&m->ending);
    }
    if (m->base.is_stream) {
        send_ending(m, weir_buf_slice(&m->ending), false);
    }
}

/* ---- refusing ---- */

static void write_refused_ending(const struct weir_rsp *m, struct weir_buf *out)
{
    bool is_completed = m->base.request.policy->ends_completed;
    weir_buf_append(out, is_completed
                             ? WEIR_SLICE("completed\ncompleted\n\n\n")
                             : WEIR_SLICE("incomplete\nincomplete\n{\"reason\":\"content_filter\"}"
                                          "\n\n"));
}

static struct weir_slice closed_status(const struct weir_rsp *m)
{
    return m->base.request.policy->ends_completed ? WEIR_SLICE(",\"status\":\"completed\"")
                                                  : WEIR_SLICE(",\"status\":\"incomplete\"");
}

/* A message of ours. */
static void open_own(struct weir_rsp *m)
{
    char id[WEIR_TRACE_ID_BYTES + 1];
    struct weir_buf line = {0};
    weir_trace_request_id(id);
    weir_buf_printf(&line, "msg_%s\n\"type\":\"message\",\"id\":\"msg_%s\",\"role\":\"assistant\"",
                    id, id);
    weir_rsp__leave_open(m, WEIR_RESPONSES_MESSAGE, weir_buf_slice(&line));
    weir_buf_dispose(&line);
}

/* The route's words as the next part of the message that is open. */
static void say_words(struct weir_rsp *m)
{
    struct weir_rsp_part *part = weir_mem_zalloc(sizeof *part);
    struct weir_buf words = {0};
    bool is_text = weir_rowed_says_words(&m->base);
    weir_list_append(&m->parts, &part->link);
    part->at.kind = is_text ? WEIR_RESPONSES_TEXT : WEIR_RESPONSES_REFUSAL;
    weir_buf_append(&words, is_text && m->has_text ? WEIR_SLICE("\n\n") : WEIR_SLICE(""));
    weir_buf_append(&words, weir_rowed_words(&m->base));
    weir_rsp__leave_open_part(m, part);
    weir_rsp__leave_text(m, part, &(struct weir_row_text){.text = weir_buf_slice(&words)});
    weir_rsp__leave_close_part(m, part);
    weir_buf_dispose(&words);
}

/* What is open is closed, or goes on with the words. */
static void leave_refused(struct weir_rsp *m)
{
    m->is_refused = true;
    if (m->open_part != NULL) {
        weir_rsp__leave_close_part(m, m->open_part);
    }
    if (m->has_item && m->left_kind != WEIR_RESPONSES_MESSAGE) {
        weir_rsp__leave_close(m, closed_status(m));
    }
    if (!m->has_item) {
        open_own(m);
    }
    say_words(m);
    weir_rsp__leave_close(m, closed_status(m));
}

void weir_rsp__refuse(struct weir_rsp *m)
{
    struct weir_buf ending = {0};
    leave_refused(m);
    write_refused_ending(m, &ending);
    send_ending(m, weir_buf_slice(&ending), m->base.stream.run == NULL);
    weir_buf_dispose(&ending);
    weir_rowed_send_waiting(&m->base);
    weir_stream_end(&m->base.stream);
}

/* The head of a response that no model server made. */
static void write_own_head(struct weir_rsp *m)
{
    char id[WEIR_TRACE_ID_BYTES + 1];
    struct weir_responses_head h = {.asked = m->asked, .model_id = m->base.request.model_id};
    weir_trace_request_id(id);
    weir_buf_printf(&m->id, "resp_%s", id);
    h.id = weir_buf_slice(&m->id);
    (void)weir_responses_write_head(&h, &m->head); /* there is nothing to leave out */
    weir_buf_printf(&m->head, ",\"created_at\":%lld,\"parallel_tool_calls\":true",
                    (long long)time(NULL));
    if (m->asked == NULL ||
        weir_json_get_set(m->asked, 0, WEIR_SLICE("tool_choice")) == WEIR_JSON_NONE) {
        weir_buf_append(&m->head, WEIR_SLICE(",\"tool_choice\":\"auto\""));
    }
    weir_buf_append(&m->usage,
                    WEIR_SLICE("{\"input_tokens\":0,\"input_tokens_details\":{\"cached_tokens\":0},"
                               "\"output_tokens\":0,\"output_tokens_details\":"
                               "{\"reasoning_tokens\":0},\"total_tokens\":0}"));
}

void weir_rsp__refuse_stream(struct weir_rowed *r)
{
    struct weir_rsp *m = (struct weir_rsp *)r;
    struct found f = all_found(m, true);
    struct weir_buf event = {0};
    write_own_head(m);
    struct weir_responses_whole w = {.head = weir_buf_slice(&m->head),
                                     .status = WEIR_SLICE("in_progress")};
    weir_responses_write_response("created", &w, &event);
    weir_rowed_patch(weir_buf_slice(&event), weir_buf_slice(&f.detections),
                     weir_buf_slice(&f.warnings), weir_rowed_scratch(r));
    weir_rsp__send(m);
    weir_responses_write_response("in_progress", &w, weir_rowed_scratch(r));
    weir_rsp__send(m);
    weir_buf_dispose(&event);
    forget(&f);
    weir_rsp__refuse(m);
}

/* ---- ids, where nobody looks ---- */

/* The document with the ids of that response in it as the caller knows them. */
static void write_tagged(struct weir_rsp *m, const struct weir_json *doc, uint32_t response,
                         struct weir_buf *out)
{
    struct weir_rsp_came c = {.m = m, .json = doc};
    struct weir_json_edit e = {0};
    struct weir_slice before = WEIR_SLICE("previous_response_id");
    uint32_t mine = m->asked != NULL ? weir_json_get_set(m->asked, 0, before) : WEIR_JSON_NONE;
    uint32_t theirs = weir_json_get_set(doc, response, before);
    uint32_t id = weir_json_get(doc, response, WEIR_SLICE("id"));
    weir_rsp__keep_id(&c, response);
    weir_json_edit_begin(&e, doc);
    if (id != WEIR_JSON_NONE) {
        weir_json_edit_replace_string(&e, id, weir_buf_slice(&m->id));
    }
    if (theirs != WEIR_JSON_NONE) {
        weir_json_edit_replace(&e, theirs,
                               mine != WEIR_JSON_NONE ? weir_json_raw(m->asked, mine)
                                                      : WEIR_SLICE("null"));
    }
    weir_json_edit_write(&e, out);
    weir_json_edit_dispose(&e);
}

bool weir_rsp__change(struct weir_rowed *r, struct weir_slice json, struct weir_buf *out)
{
    struct weir_rsp *m = (struct weir_rsp *)r;
    struct weir_json_tape tape = {0};
    struct weir_json doc;
    static const char name[] = "\"response\"";
    if (m->ids.secret.n == 0 || memmem(json.p, json.n, name, sizeof name - 1) == NULL) {
        return false;
    }
    uint32_t response = weir_json_parse_reuse(&doc, json, NULL, &tape, NULL) == 0
                            ? object_at(&doc, 0, "response")
                            : WEIR_JSON_NONE;
    if (response != WEIR_JSON_NONE) {
        write_tagged(m, &doc, response, out);
    }
    weir_json_tape_dispose(&tape);
    return response != WEIR_JSON_NONE;
}

/* The server's own answer with what was found. */
static void write_told(struct weir_rsp *m, const struct found *f, struct weir_buf *out)
{
    struct weir_buf tagged = {0};
    if (m->ids.secret.n != 0) {
        write_tagged(m, &m->base.answer, 0, &tagged);
    }
    weir_rowed_patch(tagged.n != 0 ? weir_buf_slice(&tagged) : m->base.answer.src,
                     weir_buf_slice(&f->detections), weir_buf_slice(&f->warnings), out);
    weir_buf_dispose(&tagged);
}

void weir_rsp__answer(struct weir_rowed *r, bool is_refused)
{
    struct weir_rsp *m = (struct weir_rsp *)r;
    struct found f = all_found(m, true);
    struct weir_buf out = {0};
    if (is_refused) {
        weir_buf_clear(&m->output);
        weir_buf_clear(&m->ending);
        m->has_item = false;
        m->open_part = NULL;
        m->has_text = false;
        if (m->head.n == 0) {
            write_own_head(m);
        }
        leave_refused(m);
        write_refused_ending(m, &m->ending);
    }
    if (is_refused || r->enforces) {
        struct weir_responses_whole w;
        fill_whole(m, weir_buf_slice(&m->ending), &f, &w);
        weir_responses_write_whole(&w, &out);
    } else {
        write_told(m, &f, &out);
    }
    forget(&f);
    weir_rowed_finish(r, &out);
}
