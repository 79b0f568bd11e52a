#include "route/problem.h"

#include "base/account.h"
#include "base/err.h"
#include "base/utf8.h"
#include "talk/messages.h"
#include "wire/json_write.h"

enum { MAX_DETAILS_BYTES = 2048 };

/* ---- in OpenAI's shape ---- */

static const char *type_of(int status)
{
    if (status == 401 || status == 403) {
        return "authentication_error";
    }
    return status < 500 ? "invalid_request_error" : "guardrail_error";
}

static const char *code_of(int status)
{
    static const struct {
        int status;
        const char *code;
    } codes[] = {
        {400, "bad_request"},       {401, "invalid_api_key"},     {403, "key_not_allowed"},
        {404, "not_found"},         {405, "method_not_allowed"},  {408, "request_timeout"},
        {413, "request_too_large"}, {414, "request_too_large"},   {415, "unsupported_type"},
        {422, "invalid_request"},   {429, "rate_limit_exceeded"}, {431, "request_too_large"},
        {503, "overloaded"}};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].status == status) {
            return codes[i].code;
        }
    }
    return status < 500 ? "invalid_request" : "internal_error";
}

static void write_json_or_null(struct weir_json_write *w, const char *key, struct weir_slice json)
{
    weir_json_write_key(w, weir_slice_cstr(key));
    if (json.n != 0) {
        weir_json_write_raw(w, json);
    } else {
        weir_json_write_null(w);
    }
}

void weir_problem_write(struct weir_buf *out, const struct weir_problem *p)
{
    struct weir_json_write w;
    struct weir_slice details =
        weir_slice_sub(p->details, 0, weir_utf8_floor(p->details, MAX_DETAILS_BYTES));
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("error"));
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("message"));
    weir_json_write_string(&w, details);
    weir_json_write_key(&w, WEIR_SLICE("type"));
    weir_json_write_string(&w, weir_slice_cstr(p->type != NULL ? p->type : type_of(p->status)));
    write_json_or_null(&w, "param", p->param);
    if (p->code.n != 0) {
        write_json_or_null(&w, "code", p->code);
    } else {
        weir_json_write_key(&w, WEIR_SLICE("code"));
        weir_json_write_string(&w, weir_slice_cstr(code_of(p->status)));
    }
    weir_json_write_end_object(&w);
    weir_json_write_end_object(&w);
}

/* ---- in Anthropic's shape ---- */

static const char *messages_type_of(int status)
{
    static const struct {
        int status;
        const char *type;
    } types[] = {{401, "authentication_error"}, {403, "permission_error"},
                 {404, "not_found_error"},      {413, "request_too_large"},
                 {429, "rate_limit_error"},     {503, "overloaded_error"},
                 {504, "timeout_error"},        {529, "overloaded_error"}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].status == status) {
            return types[i].type;
        }
    }
    return status < 500 ? "invalid_request_error" : "api_error";
}

void weir_problem_write_messages(struct weir_buf *out, const struct weir_problem *p,
                                 struct weir_slice request_id)
{
    struct weir_slice details =
        weir_slice_sub(p->details, 0, weir_utf8_floor(p->details, MAX_DETAILS_BYTES));
    weir_messages_write_error(messages_type_of(p->status), details, out);
    if (request_id.n != 0) {
        out->n--; /* the bracket that closes it */
        weir_buf_append(out, WEIR_SLICE(",\"request_id\":"));
        weir_json_write_quoted(out, request_id);
        weir_buf_append_byte(out, '}');
    }
}

/* ---- what a fault is on a route ---- */

static const struct weir_http_field LATER = {{"retry-after", 11}, {"1", 1}};

static struct weir_problem overload(struct weir_http_stream *s, const struct weir_fault *f)
{
    bool is_detector = f->origin == WEIR_FAULT_DETECTOR && f->err == WEIR_EBUSY;
    const char *words = f->err == WEIR_EFULL ? weir_account_full_words(NULL)
                                             : "too many requests wait for a service: try again";
    if (is_detector) {
        words =
            weir_arena_printf(&s->arena, "too many requests wait for detector `%.*s`: try again",
                              (int)f->id.n, f->id.p);
    }
    return (struct weir_problem){.status = 503,
                                 .details = weir_slice_cstr(words),
                                 .type = is_detector ? "guardrail_error" : NULL,
                                 .code = is_detector ? WEIR_SLICE("\"detector_overloaded\"")
                                                     : WEIR_SLICE(""),
                                 .fields = &LATER,
                                 .n_fields = 1};
}

/* Which of several servers it was; "the model server" where there is one. */
static const char *server_of(struct weir_http_stream *s, const struct weir_fault *f)
{
    return f->provider.n == 0 ? "the model server"
                              : weir_arena_printf(&s->arena, "the model server `%.*s`",
                                                  (int)f->provider.n, f->provider.p);
}

static struct weir_problem upstream(int status, const char *code, const char *details)
{
    return (struct weir_problem){.status = status,
                                 .details = weir_slice_cstr(details),
                                 .type = "upstream_error",
                                 .code = weir_slice_cstr(code)};
}

/* The server has answered with this status: passed on with its words. */
static struct weir_problem refused(struct weir_http_stream *s, const struct weir_fault *f)
{
    bool is_callers = f->status < 500 && f->status != 429;
    const char *type = f->status == 401 ? "authentication_error" : "invalid_request_error";
    struct weir_problem p = {.status = f->status,
                             .details = f->message,
                             .type = is_callers ? type : "upstream_error",
                             .code = f->code.n != 0 ? f->code : WEIR_SLICE("null"),
                             .param = f->param,
                             .fields = f->fields,
                             .n_fields = f->n_fields};
    if (p.details.n == 0) {
        p.details = weir_slice_cstr(
            weir_arena_printf(&s->arena, "%s answered with status %d", server_of(s, f), f->status));
    }
    return p;
}

static struct weir_problem of_model(struct weir_http_stream *s, const struct weir_fault *f)
{
    if (f->is_key_refused) {
        return upstream(502, "\"upstream_auth\"",
                        weir_arena_printf(&s->arena,
                                          "%s does not accept this gateway's key: ask "
                                          "who runs the gateway",
                                          server_of(s, f)));
    }
    if (f->status >= 400 && f->status <= 599) {
        return refused(s, f);
    }
    if (f->is_unreached || f->err == WEIR_EREFUSED || f->err == WEIR_EUNREACHABLE ||
        f->err == WEIR_ETLS) {
        return upstream(502, "\"upstream_unreachable\"",
                        weir_arena_printf(&s->arena, "%s cannot be reached", server_of(s, f)));
    }
    if (f->err == WEIR_ETIMEOUT) {
        return upstream(504, "\"upstream_timeout\"",
                        weir_arena_printf(&s->arena, "%s did not answer in time", server_of(s, f)));
    }
    struct weir_problem p =
        upstream(502, "\"upstream_invalid\"",
                 weir_arena_printf(&s->arena, "the answer of %s cannot be read", server_of(s, f)));
    if (f->message.n != 0) { /* an error in the middle of a stream, without a status */
        p.details = f->message;
        p.param = f->param;
        p.code = f->code.n != 0 ? f->code : p.code;
    }
    return p;
}

static struct weir_problem of_guard(struct weir_http_stream *s, const struct weir_fault *f)
{
    bool is_detector = f->origin == WEIR_FAULT_DETECTOR;
    const char *details =
        weir_arena_printf(&s->arena, "%s `%.*s` could not answer",
                          is_detector ? "detector" : "chunker", (int)f->id.n, f->id.p);
    return (struct weir_problem){.status = 502,
                                 .details = weir_slice_cstr(details),
                                 .type = "guardrail_error",
                                 .code = is_detector ? WEIR_SLICE("\"detector_failed\"")
                                                     : WEIR_SLICE("\"chunker_failed\"")};
}

struct weir_problem weir_problem_on_route(struct weir_http_stream *s, const struct weir_fault *f)
{
    if (f->err == WEIR_EFULL || f->err == WEIR_EBUSY) {
        return overload(s, f);
    }
    switch (f->origin) {
    case WEIR_FAULT_DETECTOR:
    case WEIR_FAULT_CHUNKER:
        return of_guard(s, f);
    case WEIR_FAULT_LIMIT:
        return (struct weir_problem){
            .status = f->status,
            .details = f->message,
            .type = f->code.n != 0 ? "invalid_request_error" : "guardrail_error",
            .code = f->code.n != 0 ? f->code : WEIR_SLICE("\"limit_exceeded\"")};
    case WEIR_FAULT_REQUEST:
        return (struct weir_problem){.status = f->status, .details = f->message, .code = f->code};
    case WEIR_FAULT_NONE:
    case WEIR_FAULT_INTERNAL:
        return (struct weir_problem){
            .status = 500,
            .details = WEIR_SLICE("unexpected error occurred while processing request")};
    default:
        return of_model(s, f);
    }
}
