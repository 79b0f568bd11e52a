/*
 * What a completion sends and answers besides the model's own words: the request as the model
 * server gets it, and the answer that takes the place of a completion.
 */
#include "base/assert.h"
#include "base/err.h"
#include "obs/trace.h"
#include "talk/form.h"
#include "task/completion.h"
#include "task/results.h"
#include "task/seal.h"
#include "task/seen.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

#include <time.h>

static struct weir_slice keep(struct weir_task_ctx *task, struct weir_buf *out)
{
    struct weir_slice copy = weir_arena_dup(task->arena, weir_buf_slice(out));
    weir_buf_dispose(out);
    return copy;
}

/* Our own members go; `stream_options` goes with `batching` when that was all it held. Routes have
 * no masks: there `_prompt_masks` is somebody else's. */
static void remove_ours(struct weir_json_edit *e, const struct weir_task_completion *r)
{
    static const char *const names[] = {"detectors", "_prompt_masks"};
    const struct weir_json *json = r->json;
    size_t n_names = r->is_chat || r->policy != NULL ? 1 : 2;
    for (size_t i = 0; i < n_names; i++) {
        uint32_t at = weir_json_get(json, 0, weir_slice_cstr(names[i]));
        if (at != WEIR_JSON_NONE) {
            weir_json_edit_remove(e, at);
        }
    }
    uint32_t options = weir_json_get(json, 0, WEIR_SLICE("stream_options"));
    uint32_t batching = options != WEIR_JSON_NONE
                            ? weir_json_get(json, options, WEIR_SLICE("batching"))
                            : WEIR_JSON_NONE;
    if (batching != WEIR_JSON_NONE) {
        bool is_all = json->nodes[options].n == 1;
        weir_json_edit_remove(e, is_all ? options : batching);
    }
}

/* The model server's default is to keep what it answers. */
static void forbid_store(struct weir_json_edit *e, const struct weir_task_completion *r)
{
    if (r->stores_nothing && weir_json_get_set(r->json, 0, WEIR_SLICE("store")) == WEIR_JSON_NONE) {
        weir_json_edit_set(e, 0, WEIR_SLICE("store"), WEIR_SLICE("false"));
    }
}

static bool is_first(const struct weir_task_completion *r, struct weir_slice name)
{
    return weir_slice_eq(name, WEIR_SLICE("stream")) || weir_slice_eq(name, WEIR_SLICE("model")) ||
           weir_slice_eq(name, r->is_chat ? WEIR_SLICE("messages") : WEIR_SLICE("prompt")) ||
           (r->is_chat && weir_slice_eq(name, WEIR_SLICE("tools")));
}

/* compat fms: the members the public program knows come first, in its order. */
static void reorder(const struct weir_task_completion *r, struct weir_buf *body)
{
    struct weir_arena work = {0};
    struct weir_json json;
    if (weir_json_parse(&json, weir_buf_slice(body), NULL, &work, NULL) != 0) {
        return;
    }
    static const char *const chat[] = {"stream", "model", "messages", "tools"};
    static const char *const text[] = {"stream", "model", "prompt"};
    const char *const *names = r->is_chat ? chat : text;
    size_t n_names = r->is_chat ? 4 : 3;
    struct weir_buf out = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    weir_json_write_begin_object(&w);
    for (size_t i = 0; i < n_names; i++) {
        uint32_t at = weir_json_get_set(&json, 0, weir_slice_cstr(names[i]));
        if (at != WEIR_JSON_NONE) {
            weir_json_write_key(&w, weir_slice_cstr(names[i]));
            weir_json_write_raw(&w, weir_json_raw(&json, at));
        }
    }
    uint32_t key = weir_json_first(&json, 0);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(&json, 0, key)) {
        struct weir_slice name = weir_json_string(&json, key, &work);
        if (!is_first(r, name)) {
            weir_json_write_key(&w, name);
            weir_json_write_raw(&w, weir_json_raw(&json, key + 1));
        }
    }
    weir_json_write_end_object(&w);
    weir_arena_dispose(&work);
    weir_buf_dispose(body);
    *body = out;
}

/* The question as it was changed. */
static void use_changed(struct weir_task_ctx *task, struct weir_task_completion *r,
                        struct weir_slice body)
{
    struct weir_json *json = weir_arena_zalloc(task->arena, sizeof *json);
    struct weir_json_limits limits = {.max_depth = UINT32_MAX};
    int rc = weir_json_parse(json, body, &limits, task->arena, NULL);
    WEIR_ASSERT(rc == 0); /* edits of JSON are JSON */
    r->json = json;
    uint32_t prompt = weir_json_get_set(json, 0, WEIR_SLICE("prompt"));
    bool is_text = prompt != WEIR_JSON_NONE && weir_json_type(json, prompt) == WEIR_JSON_STRING;
    if (!r->is_chat && is_text) {
        r->prompt = weir_json_string(json, prompt, task->arena);
    }
}

/* Thinking that was sealed on its way out goes back as it was. */
static struct weir_slice restored(struct weir_task_ctx *task, const struct weir_policy *policy,
                                  struct weir_slice body)
{
    struct weir_slice mark = WEIR_SLICE("\"" WEIR_FORM_SEAL_MARK);
    struct weir_json json;
    struct weir_json_limits limits = {.max_depth = UINT32_MAX};
    uint32_t broken;
    bool may_have =
        policy != NULL && policy->seal != NULL && memmem(body.p, body.n, mark.p, mark.n) != NULL;
    if (!may_have || weir_json_parse(&json, body, &limits, task->arena, NULL) != 0) {
        return body;
    }
    return weir_seal_restore(policy->seal, &json, task->arena, &broken);
}

/* The model server knows what is gone on from by another id than the caller. Written last: what was
 * found may have changed any other string of the body. */
static struct weir_slice with_previous(struct weir_task_ctx *task,
                                       const struct weir_task_completion *r, struct weir_slice body)
{
    struct weir_json_limits limits = {.max_depth = UINT32_MAX};
    struct weir_json json;
    struct weir_json_edit e = {0};
    struct weir_buf quoted = {0};
    struct weir_buf out = {0};
    if (r->previous.p == NULL || weir_json_parse(&json, body, &limits, task->arena, NULL) != 0) {
        return body;
    }
    weir_json_write_quoted(&quoted, r->previous);
    weir_json_edit_begin(&e, &json);
    weir_json_edit_set(&e, 0, WEIR_SLICE("previous_response_id"), weir_buf_slice(&quoted));
    weir_json_edit_write(&e, &out);
    weir_json_edit_dispose(&e);
    weir_buf_dispose(&quoted);
    return keep(task, &out);
}

struct weir_slice weir_completion_model_body(struct weir_task_ctx *task,
                                             struct weir_task_completion *r,
                                             const struct weir_input *input)
{
    struct weir_json_edit e = {0};
    struct weir_buf out = {0};
    weir_json_edit_begin(&e, r->json);
    remove_ours(&e, r);
    forbid_store(&e, r);
    size_t n_ours = e.n;
    weir_input_edit(input, &e);
    bool is_changed = e.n != n_ours;
    weir_json_edit_write(&e, &out);
    weir_json_edit_dispose(&e);
    if (task->env->compat.has_order && r->policy == NULL) {
        reorder(r, &out);
    }
    struct weir_slice body = keep(task, &out);
    if (is_changed) {
        use_changed(task, r, body);
    }
    return with_previous(task, r, restored(task, r->policy, body));
}

struct weir_slice weir_completion_history(struct weir_task_ctx *task,
                                          const struct weir_json *request,
                                          const struct weir_json *answer, uint32_t message)
{
    uint32_t messages = weir_json_get(request, 0, WEIR_SLICE("messages"));
    struct weir_buf out = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    weir_json_write_begin_array(&w);
    uint32_t at = weir_json_first(request, messages);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(request, messages, at)) {
        weir_json_write_node(&w, request, at);
    }
    weir_json_write_node(&w, answer, message);
    weir_json_write_end_array(&w);
    return keep(task, &out);
}

/* ---- findings on the input ---- */

struct waiting {
    struct weir_completion_check check;
    bool blocks;
};

static void on_local(void *ctx, size_t n_found)
{
    struct waiting *w = ctx;
    if (n_found == 0 || !w->blocks) {
        w->check.ask(w->check.ctx);
    }
}

void weir_completion_start_input(const struct weir_task_completion *r, struct weir_input *input,
                                 struct weir_task_ctx *task,
                                 const struct weir_completion_check *check)
{
    if (r->policy != NULL && r->policy->asks_beside && input->asked != NULL) {
        struct waiting *w = weir_arena_zalloc(task->arena, sizeof *w);
        *w = (struct waiting){.check = *check, .blocks = weir_policy_enforces(r->policy)};
        weir_asked_on_local(input->asked, on_local, w);
    }
    weir_input_start(input, task, &r->input, check->done, check->ctx);
}

enum weir_completion_next weir_completion_judge_input(const struct weir_task_completion *r,
                                                      const struct weir_input *input)
{
    if (r->policy == NULL) {
        return weir_input_n_found(input) != 0 ? WEIR_COMPLETION_TELL : WEIR_COMPLETION_ASK;
    }
    enum weir_policy_outcome outcome = weir_asked_outcome(input->asked);
    weir_policy_count(r->policy, WEIR_POLICY_INPUT, outcome);
    weir_asked_note(input->asked, r->policy, outcome);
    if (weir_asked_fault(input->asked) != NULL) {
        return WEIR_COMPLETION_FAIL;
    }
    return outcome == WEIR_POLICY_BLOCKED ? WEIR_COMPLETION_REFUSE : WEIR_COMPLETION_ASK;
}

struct weir_input weir_completion_input(const struct weir_task_completion *r)
{
    return (struct weir_input){.texts = r->inputs,
                               .n = r->asked != NULL ? weir_asked_n_texts(r->asked) : r->n_inputs,
                               .asked = r->asked};
}

bool weir_completion_write_input(const struct weir_input *input, struct weir_buf *out)
{
    if (weir_input_n_found(input) == 0) {
        return false;
    }
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_input_write(&w, input);
    return true;
}

/* What was replaced is no longer unsuitable. */
bool weir_completion_write_input_warnings(const struct weir_task_completion *r,
                                          const struct weir_input *input, struct weir_buf *out)
{
    bool is_replaced =
        input->asked != NULL && weir_asked_outcome(input->asked) == WEIR_POLICY_REDACTED;
    bool is_unsuitable = weir_input_n_found(input) != 0 && !is_replaced;
    if (!is_unsuitable && r->warnings.n == 0) {
        return false;
    }
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_array(&w);
    if (is_unsuitable) {
        weir_results_write_warning(&w, WEIR_SLICE("type"), WEIR_WARN_UNSUITABLE_INPUT);
    }
    if (r->warnings.n != 0) {
        weir_json_write_raw(&w, r->warnings);
    }
    weir_json_write_end_array(&w);
    return true;
}

static void write_usage(struct weir_json_write *w, uint64_t prompt_tokens)
{
    weir_json_write_key(w, WEIR_SLICE("usage"));
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("prompt_tokens"));
    weir_json_write_u64(w, prompt_tokens);
    weir_json_write_key(w, WEIR_SLICE("total_tokens"));
    weir_json_write_u64(w, 0);
    weir_json_write_key(w, WEIR_SLICE("completion_tokens"));
    weir_json_write_u64(w, 0);
    weir_json_write_end_object(w);
}

/* id, object, created, model: of an answer that no model server made. */
static void write_head(struct weir_json_write *w, struct weir_task_ctx *task,
                       const struct weir_task_completion *r, bool is_stream)
{
    char id[WEIR_TRACE_ID_BYTES + 1];
    weir_trace_request_id(id);
    const char *object = !r->is_chat ? "text_completion"
                         : is_stream ? "chat.completion.chunk"
                                     : "chat.completion";
    weir_json_write_key(w, WEIR_SLICE("id"));
    weir_json_write_string(w, weir_slice_cstr(weir_arena_printf(
                                  task->arena, "%s-%s", r->is_chat ? "chatcmpl" : "cmpl", id)));
    weir_json_write_key(w, WEIR_SLICE("object"));
    weir_json_write_string(w, weir_slice_cstr(object));
    weir_json_write_key(w, WEIR_SLICE("created"));
    weir_json_write_i64(w, (int64_t)time(NULL));
    weir_json_write_key(w, WEIR_SLICE("model"));
    weir_json_write_string(w, r->model_id);
}

/* detections and warnings, the last members of it. */
static void write_findings(struct weir_json_write *w, const struct weir_task_completion *r,
                           const struct weir_input *input)
{
    struct weir_buf warnings = {0};
    weir_json_write_key(w, WEIR_SLICE("detections"));
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("input"));
    weir_input_write(w, input);
    weir_json_write_end_object(w);
    if (weir_completion_write_input_warnings(r, input, &warnings)) {
        weir_json_write_key(w, WEIR_SLICE("warnings"));
        weir_json_write_raw(w, weir_buf_slice(&warnings));
    }
    weir_buf_dispose(&warnings);
}

struct weir_slice weir_completion_unsuitable_input(struct weir_task_ctx *task,
                                                   const struct weir_task_completion *r,
                                                   const struct weir_input *input,
                                                   uint64_t prompt_tokens, bool is_stream)
{
    struct weir_buf out = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    weir_json_write_begin_object(&w);
    write_head(&w, task, r, is_stream);
    weir_json_write_key(&w, WEIR_SLICE("choices"));
    weir_json_write_begin_array(&w);
    weir_json_write_end_array(&w);
    write_usage(&w, prompt_tokens);
    write_findings(&w, r, input);
    weir_json_write_end_object(&w);
    return keep(task, &out);
}

struct weir_fault weir_completion_block_fault(const struct weir_task_completion *r)
{
    return (struct weir_fault){.origin = WEIR_FAULT_REQUEST,
                               .err = WEIR_EINVAL,
                               .status = 400,
                               .code = WEIR_SLICE("\"content_filter\""),
                               .message = r->policy->fallback.p != NULL ? r->policy->fallback
                                                                        : WEIR_POLICY_REFUSAL};
}

/* ---- a refused input ---- */

/* How a choice says no: a message, or a refusal. Completions have no refusals. */
static void write_no(struct weir_json_write *w, const struct weir_task_completion *r,
                     bool is_stream)
{
    bool is_message = r->policy->block_as != WEIR_POLICY_BLOCK_AS_REFUSAL && !r->asks_json;
    struct weir_slice words =
        r->policy->fallback.p != NULL ? r->policy->fallback : WEIR_POLICY_REFUSAL;
    if (!r->is_chat) {
        weir_json_write_key(w, WEIR_SLICE("text"));
        weir_json_write_string(w, words);
        return;
    }
    weir_json_write_key(w, is_stream ? WEIR_SLICE("delta") : WEIR_SLICE("message"));
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("role"));
    weir_json_write_string(w, WEIR_SLICE("assistant"));
    weir_json_write_key(w, WEIR_SLICE("content"));
    if (is_message) {
        weir_json_write_string(w, words);
    } else {
        weir_json_write_null(w);
        weir_json_write_key(w, WEIR_SLICE("refusal"));
        weir_json_write_string(w, words);
    }
    weir_json_write_end_object(w);
}

enum part { WHOLE, FIRST_EVENT, LAST_EVENT };

static void write_refused_choice(struct weir_json_write *w, const struct weir_task_completion *r,
                                 enum part part)
{
    weir_json_write_key(w, WEIR_SLICE("choices"));
    weir_json_write_begin_array(w);
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("index"));
    weir_json_write_u64(w, 0);
    if (part != LAST_EVENT) {
        write_no(w, r, part != WHOLE);
    } else if (r->is_chat) {
        weir_json_write_key(w, WEIR_SLICE("delta"));
        weir_json_write_begin_object(w);
        weir_json_write_end_object(w);
    } else {
        weir_json_write_key(w, WEIR_SLICE("text"));
        weir_json_write_string(w, WEIR_SLICE(""));
    }
    weir_json_write_key(w, WEIR_SLICE("logprobs"));
    weir_json_write_null(w);
    weir_json_write_key(w, WEIR_SLICE("finish_reason"));
    if (part == FIRST_EVENT) {
        weir_json_write_null(w);
    } else {
        weir_json_write_string(w, r->policy->ends_completed ? WEIR_SLICE("stop")
                                                            : WEIR_SLICE("content_filter"));
    }
    weir_json_write_end_object(w);
    weir_json_write_end_array(w);
}

struct weir_slice weir_completion_refused_input(struct weir_task_ctx *task,
                                                const struct weir_task_completion *r,
                                                const struct weir_input *input)
{
    struct weir_buf out = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    weir_json_write_begin_object(&w);
    write_head(&w, task, r, false);
    write_refused_choice(&w, r, WHOLE);
    write_usage(&w, 0);
    write_findings(&w, r, input);
    weir_json_write_end_object(&w);
    return keep(task, &out);
}

void weir_completion_refused_events(struct weir_task_ctx *task,
                                    const struct weir_task_completion *r,
                                    const struct weir_input *input, struct weir_slice events[2])
{
    struct weir_buf head = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &head);
    weir_json_write_begin_object(&w);
    write_head(&w, task, r, true); /* both have the same id */
    for (size_t i = 0; i < 2; i++) {
        struct weir_buf out = {0};
        struct weir_json_write event = w;
        weir_buf_append(&out, weir_buf_slice(&head));
        event.out = &out;
        write_refused_choice(&event, r, i == 0 ? FIRST_EVENT : LAST_EVENT);
        if (i == 0) {
            write_findings(&event, r, input);
        }
        weir_json_write_end_object(&event);
        events[i] = keep(task, &out);
    }
    weir_buf_dispose(&head);
}
