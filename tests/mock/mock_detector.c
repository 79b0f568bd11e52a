#include "mock/mock_detector.h"

#include "base/err.h"
#include "base/utf8.h"
#include "mock/mock_patterns.h"
#include "mock/mock_reply.h"
#include "wire/json_write.h"

#include <stdio.h>

/* An answer under construction. */
struct finder {
    struct weir_http_stream *s;
    const struct weir_mock_settings *set;
    struct weir_json_write w;
    struct weir_buf out;
    bool has_spans; /* contents: where in the text */
    int rc;         /* the first that was not 0 */
};

/* ---- one finding ---- */

static void put_key(struct finder *f, const char *name)
{
    weir_json_write_key(&f->w, weir_slice_cstr(name));
}

static void put_text(struct finder *f, const char *name, struct weir_slice chosen,
                     const char *otherwise)
{
    put_key(f, name);
    weir_json_write_string(&f->w, chosen.p != NULL ? chosen : weir_slice_cstr(otherwise));
}

static void put_raw(struct finder *f, const char *name, const char *json)
{
    put_key(f, name);
    weir_json_write_raw(&f->w, weir_slice_cstr(json));
}

static void put_span(struct finder *f, const struct weir_mock_match *m)
{
    size_t start = m->start_cp;
    size_t end = m->end_cp;
    switch ((enum weir_mock_bad)f->set->bad) {
    case WEIR_MOCK_BAD_SPAN_MISSING:
        return;
    case WEIR_MOCK_BAD_SPAN_NEGATIVE:
        put_raw(f, "start", "-1");
        break;
    case WEIR_MOCK_BAD_SPAN_FRACTION:
        put_raw(f, "start", "0.5");
        break;
    case WEIR_MOCK_BAD_SPAN_REVERSED:
        put_key(f, "start");
        weir_json_write_u64(&f->w, end + 1);
        break;
    default:
        put_key(f, "start");
        weir_json_write_u64(&f->w, start);
        break;
    }
    put_key(f, "end");
    weir_json_write_u64(&f->w, f->set->bad == WEIR_MOCK_BAD_SPAN_OUTSIDE ? end + 1000000 : end);
}

static void put_score(struct finder *f)
{
    switch ((enum weir_mock_bad)f->set->bad) {
    case WEIR_MOCK_BAD_SCORE_NAN:
        put_raw(f, "score", "NaN");
        break;
    case WEIR_MOCK_BAD_SCORE_LARGE:
        put_raw(f, "score", "1.5");
        break;
    case WEIR_MOCK_BAD_SCORE_TEXT:
        put_raw(f, "score", "\"0.9\"");
        break;
    default:
        put_key(f, "score");
        weir_json_write_f64(&f->w, f->set->score);
        break;
    }
}

static void put_finding(void *ctx, const struct weir_mock_match *m)
{
    struct finder *f = ctx;
    weir_json_write_begin_object(&f->w);
    if (f->has_spans) {
        put_span(f, m);
        put_text(f, "text", m->text, "");
    }
    put_text(f, "detection", f->set->detection, m->detection);
    if (f->set->bad != WEIR_MOCK_BAD_TYPE_MISSING) {
        put_text(f, "detection_type", f->set->detection_type, m->detection_type);
    }
    if (f->set->bad == WEIR_MOCK_BAD_DUPLICATE) {
        put_raw(f, "detection", "\"Again\"");
    }
    put_score(f);
    weir_json_write_end_object(&f->w);
}

/* Everything found in one text, appended to the open list. */
static void find_in(struct finder *f, struct weir_slice text)
{
    struct weir_mock_worker *worker = weir_mock_request_of(f->s)->worker;
    struct weir_mock_match all = {.text = text, .detection = "All", .detection_type = "mock"};
    struct weir_mock_search search = {
        .regex = f->set->regex, .text = text, .fn = put_finding, .ctx = f};
    switch ((enum weir_mock_find)f->set->find) {
    case WEIR_MOCK_FIND_NONE:
        return;
    case WEIR_MOCK_FIND_ALL:
        all.end_cp = weir_utf8_count(text);
        put_finding(f, &all);
        return;
    case WEIR_MOCK_FIND_MATCH:
        break;
    }
    int rc = weir_mock_patterns_find(worker->patterns, &search);
    f->rc = f->rc != 0 ? f->rc : rc;
}

/* ---- the answer ---- */

static void begin_answer(struct finder *f, struct weir_http_stream *s)
{
    *f = (struct finder){.s = s, .set = &weir_mock_request_of(s)->set};
    weir_json_write_init(&f->w, &f->out);
    weir_json_write_begin_array(&f->w);
}

/* Wrong in a way that needs no look at the findings. */
static void spoil(const struct weir_mock_settings *set, struct weir_mock_answer *answer)
{
    switch ((enum weir_mock_bad)set->bad) {
    case WEIR_MOCK_BAD_NOT_LIST:
        answer->body = WEIR_SLICE("{\"detections\":[]}");
        break;
    case WEIR_MOCK_BAD_GARBAGE:
        answer->body = WEIR_SLICE("<html><body>Bad Gateway</body></html>");
        break;
    case WEIR_MOCK_BAD_TRUNCATED:
        answer->body = weir_slice_sub(answer->body, 0, answer->body.n - 1);
        break;
    case WEIR_MOCK_BAD_EMPTY:
        answer->body = WEIR_SLICE("");
        break;
    case WEIR_MOCK_BAD_CONTENT_TYPE:
        answer->type = "text/html";
        break;
    case WEIR_MOCK_BAD_CUT:
        answer->is_cut = true;
        break;
    default:
        break;
    }
}

static void end_answer(struct finder *f)
{
    weir_json_write_end_array(&f->w);
    if (f->rc == 0) {
        struct weir_mock_answer answer = {.status = 200, .type = "application/json"};
        answer.body = f->set->answer.p != NULL ? f->set->answer : weir_buf_slice(&f->out);
        spoil(f->set, &answer);
        weir_mock_reply_send(f->s, &answer);
    } else {
        weir_mock_reply_detector_error(f->s, 500,
                                       WEIR_SLICE("the regular expression took too long"));
    }
    weir_buf_dispose(&f->out);
}

/* ---- the four requests ---- */

static bool refuse(struct weir_http_stream *s, const char *message)
{
    weir_mock_reply_detector_error(s, 422, weir_slice_cstr(message));
    return false;
}

/* Settings of any of them. */
static bool take_params(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_mock_request *r = weir_mock_request_of(s);
    uint32_t params = weir_json_get_set(body, 0, WEIR_SLICE("detector_params"));
    char why[128];
    if (params != WEIR_JSON_NONE && !weir_mock_reply_settings(s, body, params, true)) {
        return false;
    }
    bool has_regex = r->set.regex.p != NULL;
    if (has_regex &&
        weir_mock_patterns_check(r->worker->patterns, r->set.regex, why, sizeof why) != 0) {
        weir_mock_reply_detector_error(s, 422, weir_slice_cstr(why));
        return false;
    }
    return true;
}

static bool has_string(const struct weir_json *j, struct weir_slice name)
{
    uint32_t at = weir_json_get(j, 0, name);
    return at != WEIR_JSON_NONE && weir_json_type(j, at) == WEIR_JSON_STRING;
}

static bool has_list(const struct weir_json *j, struct weir_slice name)
{
    uint32_t at = weir_json_get(j, 0, name);
    return at != WEIR_JSON_NONE && weir_json_type(j, at) == WEIR_JSON_ARRAY;
}

static bool take_contents(struct weir_http_stream *s, const struct weir_json *body)
{
    if (!has_list(body, WEIR_SLICE("contents"))) {
        return refuse(s, "`contents`: expected a list of strings");
    }
    uint32_t list = weir_json_get(body, 0, WEIR_SLICE("contents"));
    for (uint32_t at = weir_json_first(body, list); at != WEIR_JSON_NONE;
         at = weir_json_after(body, list, at)) {
        if (weir_json_type(body, at) != WEIR_JSON_STRING) {
            return refuse(s, "`contents`: expected a list of strings");
        }
    }
    return take_params(s, body);
}

static void go_contents(struct weir_http_stream *s, const struct weir_json *body)
{
    struct finder f;
    begin_answer(&f, s);
    f.has_spans = true;
    uint32_t list = weir_json_get(body, 0, WEIR_SLICE("contents"));
    uint32_t left = body->nodes[list].n;
    left -= f.set->bad == WEIR_MOCK_BAD_LISTS_LESS && left != 0;
    for (uint32_t at = weir_json_first(body, list); left != 0;
         at = weir_json_after(body, list, at), left--) {
        weir_json_write_begin_array(&f.w);
        find_in(&f, weir_json_string(body, at, &s->arena));
        weir_json_write_end_array(&f.w);
    }
    if (f.set->bad == WEIR_MOCK_BAD_LISTS_MORE) {
        weir_json_write_begin_array(&f.w);
        weir_json_write_end_array(&f.w);
    }
    end_answer(&f);
}

static bool take_chat(struct weir_http_stream *s, const struct weir_json *body)
{
    return has_list(body, WEIR_SLICE("messages")) ? take_params(s, body)
                                                  : refuse(s, "`messages`: expected a list");
}

/* A message's text: a string, or its text parts. */
static void find_in_content(struct finder *f, const struct weir_json *j, uint32_t content)
{
    if (content == WEIR_JSON_NONE) {
        return;
    }
    if (weir_json_type(j, content) == WEIR_JSON_STRING) {
        find_in(f, weir_json_string(j, content, &f->s->arena));
    }
    if (weir_json_type(j, content) != WEIR_JSON_ARRAY) {
        return;
    }
    for (uint32_t at = weir_json_first(j, content); at != WEIR_JSON_NONE;
         at = weir_json_after(j, content, at)) {
        uint32_t text = weir_json_get(j, at, WEIR_SLICE("text"));
        if (text != WEIR_JSON_NONE && weir_json_type(j, text) == WEIR_JSON_STRING) {
            find_in(f, weir_json_string(j, text, &f->s->arena));
        }
    }
}

static void go_chat(struct weir_http_stream *s, const struct weir_json *body)
{
    struct finder f;
    begin_answer(&f, s);
    uint32_t list = weir_json_get(body, 0, WEIR_SLICE("messages"));
    for (uint32_t at = weir_json_first(body, list); at != WEIR_JSON_NONE;
         at = weir_json_after(body, list, at)) {
        find_in_content(&f, body, weir_json_get(body, at, WEIR_SLICE("content")));
    }
    end_answer(&f);
}

static bool take_context(struct weir_http_stream *s, const struct weir_json *body)
{
    if (!has_string(body, WEIR_SLICE("content")) || !has_string(body, WEIR_SLICE("context_type")) ||
        !has_list(body, WEIR_SLICE("context"))) {
        return refuse(s, "expected `content`, `context_type` and the list `context`");
    }
    return take_params(s, body);
}

static void go_member(struct weir_http_stream *s, const struct weir_json *body,
                      struct weir_slice name)
{
    struct finder f;
    begin_answer(&f, s);
    find_in(&f, weir_json_string(body, weir_json_get(body, 0, name), &s->arena));
    end_answer(&f);
}

static void go_context(struct weir_http_stream *s, const struct weir_json *body)
{
    go_member(s, body, WEIR_SLICE("content"));
}

static bool take_generation(struct weir_http_stream *s, const struct weir_json *body)
{
    if (!has_string(body, WEIR_SLICE("prompt")) ||
        !has_string(body, WEIR_SLICE("generated_text"))) {
        return refuse(s, "expected `prompt` and `generated_text`");
    }
    return take_params(s, body);
}

static void go_generation(struct weir_http_stream *s, const struct weir_json *body)
{
    go_member(s, body, WEIR_SLICE("generated_text"));
}

#define ROLE(name)                                                                                 \
    static const struct weir_mock_role role = {                                                    \
        .take = take_##name, .go = go_##name, .fail = weir_mock_reply_detector_error}

void weir_mock_detector_begin_contents(void *env, struct weir_http_stream *s)
{
    ROLE(contents);
    (void)env;
    weir_mock_reply_begin(s, &role);
}

void weir_mock_detector_begin_chat(void *env, struct weir_http_stream *s)
{
    ROLE(chat);
    (void)env;
    weir_mock_reply_begin(s, &role);
}

void weir_mock_detector_begin_context(void *env, struct weir_http_stream *s)
{
    ROLE(context);
    (void)env;
    weir_mock_reply_begin(s, &role);
}

void weir_mock_detector_begin_generation(void *env, struct weir_http_stream *s)
{
    ROLE(generation);
    (void)env;
    weir_mock_reply_begin(s, &role);
}
