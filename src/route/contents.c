#include "route/contents.h"

#include "base/err.h"
#include "detect/builtin.h"
#include "route/env.h"
#include "route/reply.h"
#include "route/unary.h"
#include "task/contents.h"
#include "wire/json_write.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct weir_slice THRESHOLD = {"threshold", 9};

/* What a request asks for, under construction. */
struct asking {
    struct weir_http_stream *s;
    struct weir_fields f;
    uint32_t params; /* `detector_params`, or NONE */
    double threshold;
    struct weir_plan_use *uses;
    size_t n_uses;
};

static const struct weir_task_detector *find(const struct asking *a, struct weir_slice id)
{
    const struct weir_task_env *tasks = &weir_request_of(a->s)->env->tasks;
    const struct weir_task_detector *d = weir_map_get(&tasks->detectors_by_id, id);
    return d != NULL && weir_builtin_of(d->detector) != NULL ? d : NULL;
}

static void refuse_unknown(struct weir_http_stream *s, struct weir_slice id)
{
    weir_reply_errorf(s, 404, "detector `%.*s` not found", id.n < 256 ? (int)id.n : 256, id.p);
}

static void add(struct asking *a, const struct weir_task_detector *d, struct weir_buf *params)
{
    a->uses[a->n_uses++] =
        (struct weir_plan_use){.d = d,
                               .threshold = a->threshold,
                               .params = weir_arena_dup(&a->s->arena, weir_buf_slice(params))};
    weir_buf_dispose(params);
}

/* The parameters as they are, without the threshold. */
static void add_named(struct asking *a, const struct weir_task_detector *d)
{
    const struct weir_json *j = a->f.json;
    struct weir_buf out = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    weir_json_write_begin_object(&w);
    uint32_t key = a->params != WEIR_JSON_NONE ? weir_json_first(j, a->params) : WEIR_JSON_NONE;
    for (; key != WEIR_JSON_NONE; key = weir_json_after(j, a->params, key)) {
        if (!weir_json_string_eq(j, key, THRESHOLD)) {
            weir_json_write_key(&w, weir_json_string(j, key, &a->s->arena));
            weir_json_write_node(&w, j, key + 1);
        }
    }
    weir_json_write_end_object(&w);
    weir_json_write_finish(&w);
    add(a, d, &out);
}

/* {"regex": ["email"]} is short for {"regex": {"regex": ["email"]}}. */
static void add_member(struct asking *a, const struct weir_task_detector *d, uint32_t value)
{
    const struct weir_json *j = a->f.json;
    struct weir_buf out = {0};
    struct weir_json_write w;
    bool is_short = weir_json_type(j, value) != WEIR_JSON_OBJECT;
    weir_json_write_init(&w, &out);
    if (is_short) {
        weir_json_write_begin_object(&w);
        weir_json_write_key(&w, weir_slice_cstr(weir_builtin_of(d->detector)->kind->name));
    }
    weir_json_write_node(&w, j, value);
    if (is_short) {
        weir_json_write_end_object(&w);
    }
    weir_json_write_finish(&w);
    add(a, d, &out);
}

/* False: answered. A name that nobody has must not mean that nothing was looked for. */
static bool add_members(struct asking *a)
{
    const struct weir_json *j = a->f.json;
    uint32_t key = weir_json_first(j, a->params);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(j, a->params, key)) {
        struct weir_slice name = weir_json_string(j, key, &a->s->arena);
        if (weir_slice_eq(name, THRESHOLD)) {
            continue;
        }
        const struct weir_task_detector *d = find(a, name);
        if (d == NULL) {
            refuse_unknown(a->s, name);
            return false;
        }
        add_member(a, d, key + 1);
    }
    return true;
}

static bool read_threshold(struct asking *a)
{
    uint32_t at = a->params != WEIR_JSON_NONE ? weir_json_get_set(a->f.json, a->params, THRESHOLD)
                                              : WEIR_JSON_NONE;
    if (at != WEIR_JSON_NONE && weir_json_f64(a->f.json, at, &a->threshold) != 0) {
        weir_reply_error(a->s, 422, WEIR_SLICE("`threshold` must be a number"));
        return false;
    }
    return true;
}

/* Who is to look. False: answered. */
static bool choose(struct asking *a)
{
    struct weir_slice id = weir_http_request_get(&a->s->req, WEIR_SLICE("detector-id"));
    const struct weir_task_detector *named = id.n != 0 ? find(a, id) : NULL;
    size_t n_members = a->params != WEIR_JSON_NONE ? a->f.json->nodes[a->params].n : 0;
    a->uses = weir_arena_array(&a->s->arena, n_members + 1, sizeof *a->uses);
    if (!read_threshold(a)) {
        return false;
    }
    if (named != NULL) {
        add_named(a, named);
        return true;
    }
    if (n_members != 0 && !add_members(a)) {
        return false;
    }
    if (a->n_uses == 0 && id.n != 0) {
        refuse_unknown(a->s, id);
    } else if (a->n_uses == 0) {
        weir_reply_error(a->s, 422,
                         WEIR_SLICE("name a built-in detector in the header "
                                    "`detector-id` or as a member of "
                                    "`detector_params`"));
    }
    return a->n_uses != 0;
}

/* NULL: one of them is not a string, f->error says so. */
static const struct weir_slice *read_contents(struct weir_fields *f, uint32_t list)
{
    struct weir_slice *contents =
        weir_arena_array(f->arena, f->json->nodes[list].n, sizeof *contents);
    size_t i = 0;
    uint32_t at = weir_json_first(f->json, list);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(f->json, list, at)) {
        if (weir_json_type(f->json, at) != WEIR_JSON_STRING) {
            const char *path = weir_arena_printf(f->arena, "contents[%zu]", i);
            weir_fields_check(f, at, path, WEIR_FIELDS_STRING);
            return NULL;
        }
        contents[i++] = weir_fields_string(f, at);
    }
    return contents;
}

/* A fault in the detector API's words: who asked knows whom he asked. */
static void answer(void *ctx, const struct weir_task_answer *result)
{
    struct weir_http_stream *s = ctx;
    if (result->fault == NULL) {
        weir_reply_answer(s, result->body);
        return;
    }
    struct weir_problem problem = weir_reply_problem_of(s, result->fault);
    bool has_words = problem.status != 500 && result->fault->message.n != 0;
    weir_reply_log_fault(result->fault, problem.status, &weir_request_of(s)->log);
    weir_reply_error(s, problem.status, has_words ? result->fault->message : problem.details);
}

static void decode(struct weir_http_stream *s, const struct weir_json *body)
{
    enum { CONTENTS, PARAMS };
    static const struct weir_fields_spec specs[] = {
        [CONTENTS] = {"contents", WEIR_FIELDS_ARRAY, true},
        [PARAMS] = {"detector_params", WEIR_FIELDS_OBJECT, false},
    };
    uint32_t at[COUNT(specs)];
    struct asking a = {.s = s, .f = {.json = body, .arena = &s->arena}};
    struct weir_task_contents request = {0};
    if (weir_fields_read(&a.f, 0, "", specs, COUNT(specs), at) == 0) {
        request.contents = read_contents(&a.f, at[CONTENTS]);
    }
    if (request.contents == NULL) {
        weir_unary_refuse(s, &a.f);
        return;
    }
    request.n_contents = body->nodes[at[CONTENTS]].n;
    request.within = body->src;
    if (request.n_contents == 0) {
        weir_unary_require(s, "contents");
        return;
    }
    a.params = at[PARAMS];
    if (choose(&a)) {
        request.plan = (struct weir_plan){.uses = a.uses, .n = a.n_uses};
        weir_task_contents_start(&weir_request_of(s)->task, &request, answer, s);
    }
}

void weir_contents_begin(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode);
}
