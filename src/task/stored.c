#include "task/stored.h"

#include "base/err.h"
#include "talk/form.h"
#include "task/guard.h"
#include "task/response.h"
#include "wire/json_write.h"

struct stored {
    struct weir_task_ctx *task;
    struct weir_task_completion request;
    struct weir_stored_ask ask;
    struct weir_model_request model_request;
    struct weir_model_run *run;
    weir_task_done_fn done;
    void *ctx;
    struct weir_slice body; /* what the server said */
    struct weir_json json;
    struct weir_guard *guard; /* of a list */
    struct weir_slice items;  /* objects, commas between them */
    bool is_over;
};

static void fail(struct stored *st, const struct weir_fault *fault)
{
    struct weir_task_answer answer = {.fault = weir_fault_keep(st->task->arena, fault)};
    st->is_over = true;
    st->done(st->ctx, &answer);
}

static void fail_with(struct stored *st, int status, struct weir_slice words)
{
    fail(st,
         &(struct weir_fault){.origin = status != 0 ? WEIR_FAULT_LIMIT : WEIR_FAULT_CHAT_COMPLETION,
                              .err = status != 0 ? WEIR_EINVAL : WEIR_EPEER,
                              .status = status,
                              .message = words,
                              .why = words});
}

static void finish(struct stored *st, struct weir_slice body)
{
    struct weir_task_answer answer = {.body = body};
    st->is_over = true;
    st->done(st->ctx, &answer);
}

static void finish_buf(struct stored *st, struct weir_buf *out)
{
    finish(st, weir_arena_take_buf(st->task->arena, out));
}

/* ---- a response ---- */

static void guard_response(struct stored *st)
{
    struct weir_task_response request = {.completion = st->request, .ids = st->ask.ids};
    st->is_over = true;
    weir_task_response_guard(st->task, &request, st->body, st->done, st->ctx);
}

/* ---- deleted ---- */

static void answer_deleted(struct stored *st)
{
    struct weir_buf out = {0};
    uint32_t deleted = weir_json_get_set(&st->json, 0, WEIR_SLICE("deleted"));
    bool is_deleted =
        deleted != WEIR_JSON_NONE && weir_json_type(&st->json, deleted) == WEIR_JSON_TRUE;
    weir_buf_append(&out, WEIR_SLICE("{\"id\":"));
    weir_json_write_quoted(&out, st->ask.id);
    weir_buf_printf(&out, ",\"object\":\"response\",\"deleted\":%s}",
                    is_deleted ? "true" : "false");
    finish_buf(st, &out);
}

/* ---- a list of what was asked ---- */

/* A member that has the form of an id, else null. */
static void put_id(struct stored *st, const char *name, struct weir_buf *out)
{
    uint32_t at = weir_json_get_set(&st->json, 0, weir_slice_cstr(name));
    bool is_text = at != WEIR_JSON_NONE && weir_json_type(&st->json, at) == WEIR_JSON_STRING;
    struct weir_slice id =
        is_text ? weir_json_string(&st->json, at, st->task->arena) : WEIR_SLICE("");
    weir_buf_printf(out, ",\"%s\":", name);
    if (weir_form_is_said_id(id, WEIR_FORM_ID_MOST)) {
        weir_json_write_quoted(out, id);
    } else {
        weir_buf_append(out, WEIR_SLICE("null"));
    }
}

static void answer_list(struct stored *st, const struct weir_json *left, struct weir_slice entries)
{
    struct weir_buf out = {0};
    uint32_t more = weir_json_get_set(&st->json, 0, WEIR_SLICE("has_more"));
    bool has_more = more != WEIR_JSON_NONE && weir_json_type(&st->json, more) == WEIR_JSON_TRUE;
    weir_buf_append(&out, WEIR_SLICE("{\"object\":\"list\",\"data\":"));
    weir_buf_append(&out, left != NULL ? weir_json_raw(left, 0) : WEIR_SLICE("[]"));
    put_id(st, "first_id", &out);
    put_id(st, "last_id", &out);
    weir_buf_printf(&out, ",\"has_more\":%s", has_more ? "true" : "false");
    if (entries.n != 0) {
        weir_buf_append(&out, WEIR_SLICE(",\"detections\":{\"output\":["));
        weir_buf_append(&out, entries);
        weir_buf_append(&out, WEIR_SLICE("]}"));
    }
    weir_buf_append_byte(&out, '}');
    weir_policy_count(st->request.policy, WEIR_POLICY_OUTPUT,
                      entries.n != 0 ? WEIR_POLICY_REDACTED : WEIR_POLICY_PASSED);
    finish_buf(st, &out);
}

static void refuse_list(struct stored *st)
{
    weir_policy_count(st->request.policy, WEIR_POLICY_OUTPUT, WEIR_POLICY_BLOCKED);
    fail(st, &(struct weir_fault){.origin = WEIR_FAULT_LIMIT,
                                  .err = WEIR_EINVAL,
                                  .status = 400,
                                  .code = WEIR_SLICE("\"content_filter\""),
                                  .message = WEIR_SLICE("the list was blocked: a detector found "
                                                        "something that this route does not let "
                                                        "through")});
}

/* Everything was looked at: leaves what may. */
static void let_go(struct stored *st, const struct weir_guard_piece *piece)
{
    struct weir_tools none = {0};
    const struct weir_json *left = NULL;
    if (!weir_guard_let_go(st->guard, &none, st->items, &left)) {
        fail_with(st, 0, WEIR_SLICE("the list was not looked at"));
    } else if (left == NULL && st->items.n != 0) {
        fail_with(st, 400, WEIR_SLICE("the list has data in it that this route cannot look at"));
    } else {
        answer_list(st, left, piece->entries);
    }
}

static void on_progress(void *ctx)
{
    struct stored *st = ctx;
    struct weir_guard_piece piece;
    while (!st->is_over) {
        int rc = weir_guard_pop(st->guard, &piece);
        if (rc == WEIR_EAGAIN) {
            return;
        }
        if (rc != 0) {
            fail(st, weir_guard_fault(st->guard));
        } else if (piece.what == WEIR_GUARD_BLOCKED) {
            refuse_list(st);
        } else if (piece.what == WEIR_GUARD_CLEAR) {
            let_go(st, &piece);
        }
    }
}

static bool has_only_objects(const struct weir_json *json, uint32_t list)
{
    uint32_t at = weir_json_first(json, list);
    while (at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_OBJECT) {
        at = weir_json_after(json, list, at);
    }
    return at == WEIR_JSON_NONE;
}

static void guard_list(struct stored *st)
{
    uint32_t data = weir_json_get_set(&st->json, 0, WEIR_SLICE("data"));
    bool is_list = data != WEIR_JSON_NONE && weir_json_type(&st->json, data) == WEIR_JSON_ARRAY;
    if (!is_list || !has_only_objects(&st->json, data)) {
        fail_with(st, 0, WEIR_SLICE("the answer is no list of items"));
        return;
    }
    struct weir_slice raw = weir_json_raw(&st->json, data);
    st->items = weir_slice_trim(weir_slice_sub(raw, 1, raw.n - 1));
    st->guard = weir_guard_new(
        &(struct weir_guard_options){.task = st->task,
                                     .plan = &st->request.output,
                                     .policy = st->request.policy,
                                     .max_held_bytes = st->task->env->max_service_body_bytes,
                                     .keeps_tokens = true,
                                     .is_unary = true,
                                     .on_progress = on_progress,
                                     .ctx = st});
    weir_guard_end(st->guard, &(struct weir_guard_ending){.unknown = st->items});
    on_progress(st);
}

/* ---- asking ---- */

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct stored *st = ctx;
    st->body = weir_arena_dup(st->task->arena, frame->json);
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct stored *st = ctx;
    bool enforces = weir_policy_enforces(st->request.policy);
    if (fault != NULL) {
        fail(st, fault);
    } else if (st->body.n == 0 ||
               weir_json_parse(&st->json, st->body, NULL, st->task->arena, NULL) != 0 ||
               weir_json_type(&st->json, 0) != WEIR_JSON_OBJECT) {
        fail_with(st, 0, WEIR_SLICE("the answer is no JSON object"));
    } else if (st->ask.kind == WEIR_STORED_RESPONSE) {
        guard_response(st);
    } else if (!enforces) {
        finish(st, st->body);
    } else if (st->ask.kind == WEIR_STORED_DELETED) {
        answer_deleted(st);
    } else {
        guard_list(st);
    }
}

static void undo(void *ctx)
{
    struct stored *st = ctx;
    st->is_over = true;
    weir_model_free(st->run);
    weir_guard_free(st->guard);
}

void weir_task_stored_start(struct weir_task_ctx *task, const struct weir_task_completion *request,
                            const struct weir_stored_ask *ask, weir_task_done_fn done, void *ctx)
{
    static const struct weir_model_events events = {.on_frame = on_frame, .on_done = on_done};
    struct weir_model_env env = weir_task_model_env(task);
    struct stored *st = weir_arena_zalloc(task->arena, sizeof *st);
    *st = (struct stored){.task = task, .request = *request, .ask = *ask, .done = done, .ctx = ctx};
    weir_arena_defer(task->arena, undo, st);
    st->model_request = weir_stored_request(&st->ask);
    st->run = weir_model_start(task->env->openai, &env, &st->model_request, &events, st);
}
