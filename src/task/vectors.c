#include "task/vectors.h"

#include "base/err.h"
#include "talk/form.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

struct vectors {
    struct weir_task_ctx *task;
    struct weir_task_completion request;
    enum weir_model_op op;
    weir_task_done_fn done;
    void *ctx;
    struct weir_model_run *run;
    struct weir_model_request model_request;
    struct weir_input input;
    struct weir_slice answer; /* of the model server */
};

static void fail(struct vectors *v, const struct weir_fault *fault)
{
    struct weir_task_answer answer = {.fault = weir_fault_keep(v->task->arena, fault)};
    v->done(v->ctx, &answer);
}

/* The answer with what was found in the question. */
static struct weir_slice annotate(struct vectors *v)
{
    struct weir_buf found = {0};
    struct weir_buf out = {0};
    struct weir_json json;
    struct weir_json_edit e = {0};
    struct weir_slice body = v->answer;
    weir_buf_append(&found, WEIR_SLICE("{\"input\":"));
    bool has_found = weir_completion_write_input(&v->input, &found);
    weir_buf_append_byte(&found, '}');
    if (has_found && weir_json_parse(&json, body, NULL, v->task->arena, NULL) == 0 &&
        weir_json_type(&json, 0) == WEIR_JSON_OBJECT) {
        weir_json_edit_begin(&e, &json);
        weir_json_edit_set(&e, 0, WEIR_SLICE("detections"), weir_buf_slice(&found));
        weir_json_edit_write(&e, &out);
        body = weir_arena_take_buf(v->task->arena, &out);
    }
    weir_json_edit_dispose(&e);
    weir_buf_dispose(&found);
    return body;
}

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct vectors *v = ctx;
    v->answer = weir_arena_dup(v->task->arena, frame->json);
}

/* Of a conversation only the turn blocks; the rest is changed, as where an answer is asked for. */
static bool has_history(enum weir_model_op op)
{
    return op == WEIR_MODEL_COUNT || op == WEIR_MODEL_ITEM_COUNT;
}

/* What OpenAI calls a count of a response's tokens: it is no plain word, and may leave all the
 * same.
 */
static void name_count(const struct weir_json *said, struct weir_arena *arena, struct weir_buf *out)
{
    struct weir_slice name = WEIR_SLICE("response.input_tokens");
    struct weir_slice member = WEIR_SLICE("object");
    uint32_t at = weir_json_get_set(said, 0, member);
    struct weir_json json;
    struct weir_json_edit e = {0};
    bool is_named = at != WEIR_JSON_NONE && weir_json_type(said, at) == WEIR_JSON_STRING &&
                    weir_json_string_eq(said, at, name);
    if (is_named && weir_json_parse(&json, weir_buf_slice(out), NULL, arena, NULL) == 0) {
        struct weir_buf named = {0};
        weir_json_edit_begin(&e, &json);
        weir_json_edit_replace_string(&e, weir_json_get(&json, 0, member), name);
        weir_json_edit_write(&e, &named);
        weir_json_edit_dispose(&e);
        weir_buf_dispose(out);
        *out = named;
    }
}

/* A count is numbers and words, whatever the server says; nothing else leaves a route that
 * enforces. Empty: it is no JSON object. */
static struct weir_slice count_of(struct vectors *v)
{
    struct weir_json json;
    struct weir_buf out = {0};
    if (weir_json_parse(&json, v->answer, NULL, v->task->arena, NULL) != 0 ||
        weir_json_type(&json, 0) != WEIR_JSON_OBJECT) {
        return (struct weir_slice){0};
    }
    weir_form_write_usage(&json, 0, &out);
    name_count(&json, v->task->arena, &out);
    return weir_arena_take_buf(v->task->arena, &out);
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct vectors *v = ctx;
    if (has_history(v->op) && v->answer.n != 0 && weir_policy_enforces(v->request.policy)) {
        v->answer = count_of(v);
    }
    struct weir_fault empty = {.origin = WEIR_FAULT_VECTORS,
                               .id = v->request.model_id,
                               .err = WEIR_EPEER,
                               .why = WEIR_SLICE("there is no answer")};
    if (fault != NULL || v->answer.n == 0) {
        fail(v, fault != NULL ? fault : &empty);
        return;
    }
    struct weir_task_answer answer = {.body = annotate(v)};
    v->done(v->ctx, &answer);
}

static void ask(struct vectors *v)
{
    static const struct weir_model_events events = {.on_frame = on_frame, .on_done = on_done};
    struct weir_model_env env = weir_task_model_env(v->task);
    v->model_request = (struct weir_model_request){
        .op = v->op,
        .model_id = v->request.model_id,
        .provider = v->request.provider,
        .body = weir_completion_model_body(v->task, &v->request, &v->input)};
    v->run = weir_model_start(v->task->env->openai, &env, &v->model_request, &events, v);
}

static void refuse(struct vectors *v)
{
    fail(v, &(struct weir_fault){.origin = WEIR_FAULT_LIMIT,
                                 .err = WEIR_EINVAL,
                                 .status = 400,
                                 .code = WEIR_SLICE("\"content_filter\""),
                                 .message = WEIR_SLICE("the question was blocked: a detector found "
                                                       "something that this route does not let "
                                                       "through")});
}

static void on_scanned(void *ctx, struct weir_scan *scan)
{
    struct vectors *v = ctx;
    const struct weir_fault *fault = weir_scan_fault(scan);
    if (fault != NULL) {
        fail(v, fault);
        return;
    }
    enum weir_completion_next next = weir_completion_judge_input(&v->request, &v->input);
    bool is_blocked = !has_history(v->op) && v->request.policy->action == WEIR_POLICY_BLOCK &&
                      weir_input_n_found(&v->input) != 0;
    if (next == WEIR_COMPLETION_FAIL) {
        fail(v, weir_asked_fault(v->input.asked));
    } else if (next == WEIR_COMPLETION_ASK && !is_blocked) {
        ask(v);
    } else {
        refuse(v);
    }
}

static void undo(void *ctx)
{
    struct vectors *v = ctx;
    weir_model_free(v->run);
}

void weir_task_vectors_start(struct weir_task_ctx *task, enum weir_model_op op,
                             const struct weir_task_completion *request, weir_task_done_fn done,
                             void *ctx)
{
    struct vectors *v = weir_arena_zalloc(task->arena, sizeof *v);
    *v = (struct vectors){.task = task, .request = *request, .op = op, .done = done, .ctx = ctx};
    weir_arena_defer(task->arena, undo, v);
    task->skips.may_skip = true;
    v->input = weir_completion_input(request);
    if (request->input.n != 0 && v->input.n != 0) {
        weir_input_start(&v->input, task, &v->request.input, on_scanned, v);
        return;
    }
    if (request->input.n != 0) {
        weir_completion_judge_input(&v->request, &v->input); /* counted: nothing was said */
    }
    ask(v);
}
