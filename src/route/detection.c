#include "route/detection.h"

#include "base/err.h"
#include "route/env.h"
#include "route/messages.h"
#include "route/reply.h"
#include "route/unary.h"
#include "task/detection.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Plans and starts; `detectors` is a non-empty object by now. */
static void start(struct weir_http_stream *s, const struct weir_json *body, uint32_t detectors,
                  struct weir_task_detection *request)
{
    struct weir_task_ctx *task = &weir_request_of(s)->task;
    struct weir_plan_error error;
    if (weir_plan_read(&request->plan, task, body, detectors, WEIR_PLAN_TYPE(request->type),
                       &error) != 0) {
        weir_unary_refuse_plan(s, &error);
        return;
    }
    weir_task_detection_start(task, request, weir_unary_answer, s);
}

static bool is_empty(const struct weir_json *body, uint32_t at)
{
    return body->nodes[at].n == 0;
}

/* The first of `names` whose node is empty (strings, arrays, objects), or NULL. */
static const char *first_empty(const struct weir_json *body, const struct weir_fields_spec *specs,
                               const uint32_t *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (specs[i].is_required && is_empty(body, nodes[i])) {
            return specs[i].name;
        }
    }
    return NULL;
}

/* Reads the members, of which one is `detectors`. 0, or WEIR_EINVAL with f->error. */
static int read_members(struct weir_fields *f, const struct weir_fields_spec *specs, size_t n,
                        uint32_t *nodes)
{
    int rc = weir_fields_read(f, 0, "", specs, n, nodes);
    if (rc == 0) {
        uint32_t detectors = weir_json_get(f->json, 0, WEIR_SLICE("detectors"));
        rc = weir_fields_check_objects(f, detectors, "detectors");
    }
    return rc;
}

/* Refuses what read_members or a later check found, then required members that are empty; false:
 * answered. */
static bool is_acceptable(struct weir_http_stream *s, const struct weir_fields *f,
                          const struct weir_fields_spec *specs, size_t n, const uint32_t *nodes)
{
    if (f->error != NULL) {
        weir_unary_refuse(s, f);
        return false;
    }
    const char *empty = first_empty(f->json, specs, nodes, n);
    if (empty != NULL) {
        weir_unary_require(s, empty);
        return false;
    }
    return true;
}

/* ---- C ---- */

static void decode_content(struct weir_http_stream *s, const struct weir_json *body)
{
    enum { CONTENT, DETECTORS };
    static const struct weir_fields_spec specs[] = {
        [CONTENT] = {"content", WEIR_FIELDS_STRING, true},
        [DETECTORS] = {"detectors", WEIR_FIELDS_OBJECT, true},
    };
    uint32_t at[COUNT(specs)];
    struct weir_fields f = {.json = body, .arena = &s->arena};
    read_members(&f, specs, COUNT(specs), at);
    if (!is_acceptable(s, &f, specs, COUNT(specs), at)) {
        return;
    }
    struct weir_task_detection request = {.type = WEIR_DETECT_CONTENTS,
                                          .content = weir_fields_string(&f, at[CONTENT])};
    start(s, body, at[DETECTORS], &request);
}

void weir_detection_begin_content(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_content);
}

/* ---- E ---- */

static void decode_chat(struct weir_http_stream *s, const struct weir_json *body)
{
    enum { DETECTORS, MESSAGES, TOOLS };
    static const struct weir_fields_spec specs[] = {
        [DETECTORS] = {"detectors", WEIR_FIELDS_OBJECT, true},
        [MESSAGES] = {"messages", WEIR_FIELDS_ARRAY, true},
        [TOOLS] = {"tools", WEIR_FIELDS_ARRAY, false},
    };
    uint32_t at[COUNT(specs)];
    struct weir_fields f = {.json = body, .arena = &s->arena};
    read_members(&f, specs, COUNT(specs), at);
    if (!is_acceptable(s, &f, specs, COUNT(specs), at)) {
        return;
    }
    if (weir_messages_check_history(&f, at[MESSAGES]) != 0) {
        weir_unary_refuse(s, &f);
        return;
    }
    struct weir_task_detection request = {.type = WEIR_DETECT_CHAT};
    request.whole.messages = weir_json_raw(body, at[MESSAGES]);
    if (at[TOOLS] != WEIR_JSON_NONE) {
        request.whole.tools = weir_json_raw(body, at[TOOLS]);
    }
    start(s, body, at[DETECTORS], &request);
}

void weir_detection_begin_chat(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_chat);
}

/* ---- F ---- */

static int check_context(struct weir_fields *f, uint32_t type, uint32_t context)
{
    static const char *const types[] = {"docs", "url"};
    if (weir_fields_variant(f, type, "context_type", types, COUNT(types)) != 0) {
        return WEIR_EINVAL;
    }
    size_t i = 0;
    uint32_t at = weir_json_first(f->json, context);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(f->json, context, at)) {
        const char *path = weir_arena_printf(f->arena, "context[%zu]", i++);
        if (weir_fields_check(f, at, path, WEIR_FIELDS_STRING) != 0) {
            return WEIR_EINVAL;
        }
    }
    return 0;
}

static void decode_context(struct weir_http_stream *s, const struct weir_json *body)
{
    enum { DETECTORS, CONTENT, TYPE, CONTEXT };
    static const struct weir_fields_spec specs[] = {
        [DETECTORS] = {"detectors", WEIR_FIELDS_OBJECT, true},
        [CONTENT] = {"content", WEIR_FIELDS_STRING, true},
        [TYPE] = {"context_type", WEIR_FIELDS_STRING, true},
        [CONTEXT] = {"context", WEIR_FIELDS_ARRAY, true},
    };
    uint32_t at[COUNT(specs)];
    struct weir_fields f = {.json = body, .arena = &s->arena};
    if (read_members(&f, specs, COUNT(specs), at) == 0) {
        check_context(&f, at[TYPE], at[CONTEXT]);
    }
    if (!is_acceptable(s, &f, specs, COUNT(specs), at)) {
        return;
    }
    struct weir_task_detection request = {.type = WEIR_DETECT_CONTEXT_DOC};
    request.whole.content = weir_fields_string(&f, at[CONTENT]);
    request.whole.context_type = weir_fields_string(&f, at[TYPE]);
    request.whole.context = weir_json_raw(body, at[CONTEXT]);
    start(s, body, at[DETECTORS], &request);
}

void weir_detection_begin_context(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_context);
}

/* ---- G ---- */

static void decode_generated(struct weir_http_stream *s, const struct weir_json *body)
{
    enum { PROMPT, GENERATED, DETECTORS };
    static const struct weir_fields_spec specs[] = {
        [PROMPT] = {"prompt", WEIR_FIELDS_STRING, true},
        [GENERATED] = {"generated_text", WEIR_FIELDS_STRING, true},
        [DETECTORS] = {"detectors", WEIR_FIELDS_OBJECT, true},
    };
    uint32_t at[COUNT(specs)];
    struct weir_fields f = {.json = body, .arena = &s->arena};
    read_members(&f, specs, COUNT(specs), at);
    if (!is_acceptable(s, &f, specs, COUNT(specs), at)) {
        return;
    }
    struct weir_task_detection request = {.type = WEIR_DETECT_GENERATION};
    request.whole.prompt = weir_fields_string(&f, at[PROMPT]);
    request.whole.generated_text = weir_fields_string(&f, at[GENERATED]);
    start(s, body, at[DETECTORS], &request);
}

void weir_detection_begin_generated(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode_generated);
}
