#include "route/response_stored.h"

#include "base/assert.h"
#include "model/fleet.h"
#include "route/completion.h"
#include "route/env.h"
#include "route/headers.h"
#include "route/openai.h"
#include "route/reply.h"
#include "route/response.h"
#include "route/stream_dialect.h"
#include "route/unary.h"
#include "talk/form.h"
#include "talk/response_id.h"
#include "task/response.h"
#include "task/seen.h"
#include "task/stored.h"
#include "wire/url.h"

struct asking {
    struct weir_http_stream *s;
    const struct weir_guarded *guarded;
    bool enforces;
    struct weir_slice said;  /* the id as the caller says it … */
    struct weir_slice id;    /* … and the server */
    struct weir_slice below; /* what stands behind it: "/cancel", or "" */
    struct weir_buf query;   /* that goes on */
    bool is_stream;
    uint64_t first; /* the number of its first event */
    struct weir_stored_ask ask;
};

static void refuse_id(struct asking *a)
{
    const char *words = weir_arena_printf(&a->s->arena, "Response with id '%.*s' not found.",
                                          (int)a->said.n, a->said.p);
    weir_reply_problem(a->s, &(struct weir_problem){.status = 404,
                                                    .details = weir_slice_cstr(words),
                                                    .code = WEIR_SLICE("\"response_not_found\""),
                                                    .param = WEIR_SLICE("\"id\"")});
}

/* ---- the path ---- */

/* False: there is no such path; answered. */
static bool read_path(struct asking *a)
{
    struct weir_slice prefix = WEIR_SLICE("/v1/responses/");
    struct weir_slice path = a->s->req.path;
    const char *found = memmem(path.p, path.n, prefix.p, prefix.n);
    struct weir_slice rest = weir_slice_sub(path, (size_t)(found - path.p) + prefix.n, path.n);
    size_t n = weir_slice_find(rest, '/');
    struct weir_slice below = weir_slice_sub(rest, n, rest.n);
    if (!weir_slice_eq(below, a->below)) {
        weir_reply_error(a->s, 404, WEIR_SLICE("unknown path"));
        return false;
    }
    if (!weir_url_unescape(weir_slice_sub(rest, 0, n), &a->s->arena, &a->said)) {
        weir_reply_error(a->s, 400, WEIR_SLICE("the path has a broken escape (%)"));
        return false;
    }
    return true;
}

/* ---- the query ---- */

static bool is_known(struct weir_slice name)
{
    static const char *const names[] = {"include", "include[]", "include_obfuscation",
                                        "stream",  "after",     "starting_after",
                                        "limit",   "order",     "before"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (weir_slice_eq_cstr(name, names[i])) {
            return true;
        }
    }
    return false;
}

/* Words with points between them, numbers, ids: narrower than an id of a question may be. */
static bool is_value(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_alnum && c != '_' && c != '-' && c != '.') {
            return false;
        }
    }
    return s.n != 0 && s.n <= WEIR_FORM_ID_MOST;
}

/* NULL: it may go on. */
static const char *wrong_with(struct weir_slice name, struct weir_slice value)
{
    bool is_switch = weir_slice_eq_cstr(value, "true") || weir_slice_eq_cstr(value, "false");
    if (!is_known(name) || !is_value(value)) {
        return "the query has a parameter that nobody here knows, or a value that is none";
    }
    if (weir_slice_eq_cstr(name, "stream") && !is_switch) {
        return "`stream` is `true` or `false`";
    }
    if (weir_slice_eq_cstr(name, "starting_after")) {
        return "`starting_after` cannot be had here: on routes that block or redact a stream is "
               "numbered anew each time it is read; read it from its beginning";
    }
    return NULL;
}

/* Where the route enforces, nothing reaches a server that has not its form. False: answered. */
static bool read_query(struct asking *a)
{
    for (struct weir_slice rest = a->s->req.query; rest.n != 0;) {
        struct weir_slice pair = weir_slice_cut(&rest, '&');
        struct weir_slice sent = pair;
        struct weir_slice name = weir_slice_cut(&pair, '=');
        struct weir_slice value;
        if (!weir_url_unescape(name, &a->s->arena, &name) ||
            !weir_url_unescape(pair, &a->s->arena, &value)) {
            weir_reply_error(a->s, 400, WEIR_SLICE("the query has a broken escape (%)"));
            return false;
        }
        const char *wrong = a->enforces ? wrong_with(name, value) : NULL;
        if (wrong != NULL) {
            weir_reply_error(a->s, 400, weir_slice_cstr(wrong));
            return false;
        }
        a->is_stream = a->is_stream ||
                       (weir_slice_eq_cstr(name, "stream") && weir_slice_eq_cstr(value, "true"));
        if (weir_slice_eq_cstr(name, "starting_after") && weir_slice_u64(value, &a->first) == 0) {
            a->first++;
        }
        weir_buf_append_byte(&a->query, a->query.n != 0 ? '&' : '?');
        weir_buf_append(&a->query, sent);
    }
    return true;
}

/* ---- who has it ---- */

/* False: it was not handed out here, or nobody can be asked for it; answered. */
static bool find_tagged(struct asking *a)
{
    const struct weir_request *r = weir_request_of(a->s);
    a->ask.ids = weir_response_ids(r);
    struct weir_buf server = {0};
    if (a->ask.ids.secret.n == 0) {
        weir_reply_error(a->s, 400,
                         WEIR_SLICE("responses are kept on routes that block or redact only with a "
                                    "key for their ids: `id_key_env`"));
        return false;
    }
    bool is_ours = weir_response_id_read(&a->ask.ids, a->said, &a->id, &server);
    if (is_ours && r->task.env->fleet != NULL) {
        a->ask.provider = weir_arena_dup(&a->s->arena, weir_buf_slice(&server));
    }
    weir_buf_dispose(&server);
    if (!is_ours) {
        refuse_id(a);
    }
    return is_ours;
}

/* An id of a server's own does not say whose it is. It goes into a path, and leads nowhere else. */
static bool find_untagged(struct asking *a)
{
    const struct weir_fleet *fleet = weir_request_of(a->s)->task.env->fleet;
    if (!weir_form_is_id(a->said, WEIR_FORM_ID_MOST) || a->said.p[0] == '.') {
        refuse_id(a);
        return false;
    }
    a->id = a->said;
    if (!is_value(a->said)) { /* a slash that somebody decodes would make it another path */
        refuse_id(a);
        return false;
    }
    if (fleet == NULL) {
        return true;
    }
    const struct weir_provider *only = weir_fleet_keeper(fleet, &a->guarded->models);
    if (only == NULL) {
        weir_reply_error(a->s, 404,
                         WEIR_SLICE("this route has no provider that keeps responses, or several, "
                                    "and the id does not say which of them has it"));
        return false;
    }
    a->ask.provider = only->name;
    return true;
}

/* ---- asking ---- */

static void answer(void *ctx, const struct weir_task_answer *given)
{
    struct weir_http_stream *s = ctx;
    const struct weir_seen *seen = weir_request_of(s)->seen;
    if (given->fault == NULL) {
        const char *action = weir_policy_outcome_name(weir_seen_action(seen));
        weir_headers_add(s, WEIR_SLICE("x-weir-action"), weir_slice_cstr(action));
    }
    weir_unary_answer(s, given);
}

/* Detectors of the whole conversation have none here. False: answered. */
static bool check_plan(struct asking *a)
{
    for (size_t i = 0; i < a->guarded->output.n; i++) {
        const struct weir_task_detector *d = a->guarded->output.uses[i].d;
        if (d->detector->type != WEIR_DETECT_CONTENTS) {
            weir_reply_errorf(a->s, 422,
                              "detector `%.*s` is not supported by this endpoint: it looks at a "
                              "whole conversation, of which a stored response is the end; fetch "
                              "responses through a route without it",
                              (int)d->id.n, d->id.p);
            return false;
        }
    }
    return true;
}

static void write_tail(struct asking *a)
{
    struct weir_buf tail = {0};
    weir_buf_append_byte(&tail, '/');
    weir_url_append_escaped(&tail, a->id);
    weir_buf_append(&tail, a->below);
    weir_buf_append(&tail, weir_buf_slice(&a->query));
    a->ask.tail = weir_arena_take_buf(&a->s->arena, &tail);
    weir_buf_dispose(&a->query);
}

/* The same stream again: nothing is asked, so nobody has asked for it in a way of his own. */
static void start_stream(struct asking *a, const struct weir_task_completion *request)
{
    struct weir_json *nothing = weir_arena_zalloc(&a->s->arena, sizeof *nothing);
    int rc = weir_json_parse(nothing, WEIR_SLICE("{}"), NULL, &a->s->arena, NULL);
    WEIR_ASSERT(rc == 0);
    struct weir_batching_request batching = {
        .body = nothing, .route = a->guarded->conf, .dialect = &weir_stream_responses};
    struct weir_task_response response = {.completion = *request, .ids = a->ask.ids};
    response.completion.stored = &a->ask;
    struct weir_stream_out *out = weir_completion_open_stream(a->s, &batching);
    if (out != NULL) {
        out->n_numbered = a->first;
        weir_response_stream_start(&weir_request_of(a->s)->task, &response, &out->base);
    }
}

static void begin(struct weir_http_stream *s, struct weir_slice below, enum weir_stored_kind kind,
                  const char *method)
{
    struct weir_request *r = weir_request_of(s);
    struct asking *a = weir_arena_zalloc(&s->arena, sizeof *a);
    *a = (struct asking){.s = s, .guarded = r->guarded, .below = below};
    a->enforces = weir_policy_enforces(&r->guarded->policy);
    a->ask.kind = kind;
    a->ask.method = weir_slice_cstr(method);
    if (!read_path(a) || !(a->enforces ? find_tagged(a) : find_untagged(a)) || !check_plan(a) ||
        !read_query(a)) {
        weir_buf_dispose(&a->query);
        return;
    }
    write_tail(a);
    a->ask.id = a->said;
    struct weir_task_completion request = {.is_chat = true,
                                           .output = weir_openai_output(r, NULL),
                                           .policy = weir_openai_policy(r),
                                           .n_choices = 1};
    if (a->is_stream && kind == WEIR_STORED_RESPONSE) {
        start_stream(a, &request);
    } else {
        weir_task_stored_start(&r->task, &request, &a->ask, answer, s);
    }
}

void weir_response_stored_begin(void *env, struct weir_http_stream *s)
{
    bool is_delete = s->req.method == WEIR_HTTP_DELETE;
    (void)env;
    begin(s, WEIR_SLICE(""), is_delete ? WEIR_STORED_DELETED : WEIR_STORED_RESPONSE,
          is_delete ? "DELETE" : "GET");
}

void weir_response_stored_begin_cancel(void *env, struct weir_http_stream *s)
{
    (void)env;
    begin(s, WEIR_SLICE("/cancel"), WEIR_STORED_RESPONSE, "POST");
}

void weir_response_stored_begin_input(void *env, struct weir_http_stream *s)
{
    (void)env;
    begin(s, WEIR_SLICE("/input_items"), WEIR_STORED_INPUT, "GET");
}
