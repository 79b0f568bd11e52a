#include "route/moderations.h"

#include "base/err.h"
#include "route/env.h"
#include "route/fields.h"
#include "route/headers.h"
#include "route/openai.h"
#include "route/reply.h"
#include "route/unary.h"
#include "task/moderations.h"

struct reading {
    struct weir_http_stream *s;
    struct weir_fields f;
    struct weir_asked *asked;
    struct weir_moderations moderations;
};

static int read_request(struct reading *r)
{
    enum { INPUT, MODEL };
    static const struct weir_fields_spec specs[] = {
        [INPUT] = {"input", WEIR_FIELDS_ANY, true}, [MODEL] = {"model", WEIR_FIELDS_STRING, false}};
    const struct weir_json *json = r->f.json;
    struct weir_request *request = weir_request_of(r->s);
    uint32_t at[2];
    if (weir_fields_read_some(&r->f, 0, "", specs, 2, at) != 0) {
        return WEIR_EINVAL;
    }
    struct weir_slice model =
        at[MODEL] != WEIR_JSON_NONE ? weir_fields_string(&r->f, at[MODEL]) : WEIR_SLICE("");
    bool has_model = weir_seen_is_model_name(model);
    request->model = has_model ? model : request->guarded->conf->name.s;
    r->moderations.model = request->model;
    r->moderations.n_results = 1;
    enum weir_json_type type = weir_json_type(json, at[INPUT]);
    if (type != WEIR_JSON_STRING && (type != WEIR_JSON_ARRAY || json->nodes[at[INPUT]].n == 0)) {
        return weir_fields_fail(&r->f, "input", "`input` must be a string or a list of them");
    }
    if (type == WEIR_JSON_ARRAY) {
        uint32_t first = weir_json_first(json, at[INPUT]);
        r->moderations.has_parts = weir_json_type(json, first) == WEIR_JSON_OBJECT;
        r->moderations.n_results = r->moderations.has_parts ? 1 : json->nodes[at[INPUT]].n;
    }
    return 0;
}

static void answer(struct reading *r)
{
    const struct weir_moderations *m = &r->moderations;
    enum weir_policy_outcome outcome =
        weir_asked_n_found(r->asked) != 0 ? WEIR_POLICY_ANNOTATED : WEIR_POLICY_PASSED;
    weir_policy_count(m->policy, WEIR_POLICY_INPUT, outcome);
    weir_asked_note(r->asked, m->policy, outcome);
    weir_headers_set_action(r->s);
    weir_reply_answer(r->s, weir_moderations_write(m, &r->s->arena));
}

static void on_scanned(void *ctx, struct weir_scan *scan)
{
    struct reading *r = ctx;
    const struct weir_fault *fault = weir_scan_fault(scan);
    if (fault != NULL) {
        weir_reply_fault(r->s, fault);
    } else {
        answer(r);
    }
}

static void decode(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_request *request = weir_request_of(s);
    struct reading *r = weir_arena_zalloc(&s->arena, sizeof *r);
    r->s = s;
    r->f = (struct weir_fields){.json = body, .arena = &s->arena};
    if (request->guarded->input.n == 0) {
        weir_reply_error(s, 404,
                         WEIR_SLICE("this route has no input detectors: nobody would look "
                                    "at what is asked here"));
        return;
    }
    if (read_request(r) != 0) {
        weir_unary_refuse(s, &r->f);
        return;
    }
    const struct weir_walk_dialect *dialect =
        r->moderations.has_parts ? &weir_walk_moderated_parts : &weir_walk_moderations;
    if (!weir_openai_read_question(s, body, dialect, &r->asked)) {
        return;
    }
    struct weir_slice id = request->log.request_id;
    r->moderations.id = weir_slice_cstr(weir_arena_printf(&s->arena, "modr-%.*s", (int)id.n, id.p));
    r->moderations.asked = r->asked;
    r->moderations.policy = weir_openai_policy(request);
    if (weir_asked_n_texts(r->asked) != 0) {
        weir_asked_start(r->asked, &request->task, on_scanned, r);
    } else {
        answer(r);
    }
}

void weir_moderations_begin(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode);
}
