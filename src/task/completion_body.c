/*
 * What a completion sends and answers besides the model's own words: the request as the model
 * server gets it, and the answer that takes the place of a completion.
 */
#include "obs/trace.h"
#include "task/completion.h"
#include "task/results.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

#include <time.h>

static struct weir_slice keep(struct weir_task_ctx *task, struct weir_buf *out)
{
    struct weir_slice copy = weir_arena_dup(task->arena, weir_buf_slice(out));
    weir_buf_dispose(out);
    return copy;
}

/* Our own members go; `stream_options` goes with `batching` when that was all it held. */
static void remove_ours(struct weir_json_edit *e, const struct weir_task_completion *r)
{
    static const char *const names[] = {"detectors", "_prompt_masks"};
    const struct weir_json *json = r->json;
    size_t n_names = r->is_chat ? 1 : 2;
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

static bool is_first(const struct weir_task_completion *r, struct weir_slice name)
{
    return weir_slice_eq(name, WEIR_SLICE("stream")) || weir_slice_eq(name, WEIR_SLICE("model")) ||
           weir_slice_eq(name, r->is_chat ? WEIR_SLICE("messages") : WEIR_SLICE("prompt")) ||
           (r->is_chat && weir_slice_eq(name, WEIR_SLICE("tools")));
}

/* compat fms: the members the public program knows come first, in its order. */
static struct weir_slice reorder(struct weir_task_ctx *task, const struct weir_task_completion *r,
                                 struct weir_slice body)
{
    struct weir_json json;
    if (weir_json_parse(&json, body, NULL, task->arena, NULL) != 0) {
        return body;
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
        struct weir_slice name = weir_json_string(&json, key, task->arena);
        if (!is_first(r, name)) {
            weir_json_write_key(&w, name);
            weir_json_write_raw(&w, weir_json_raw(&json, key + 1));
        }
    }
    weir_json_write_end_object(&w);
    return keep(task, &out);
}

struct weir_slice weir_completion_model_body(struct weir_task_ctx *task,
                                             const struct weir_task_completion *r)
{
    struct weir_json_edit e = {0};
    struct weir_buf out = {0};
    weir_json_edit_begin(&e, r->json);
    remove_ours(&e, r);
    weir_json_edit_write(&e, &out);
    weir_json_edit_dispose(&e);
    struct weir_slice body = keep(task, &out);
    return task->env->is_fms ? reorder(task, r, body) : body;
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
    weir_json_write_key(w, WEIR_SLICE("choices"));
    weir_json_write_begin_array(w);
    weir_json_write_end_array(w);
}

struct weir_slice weir_completion_unsuitable_input(struct weir_task_ctx *task,
                                                   const struct weir_task_completion *r,
                                                   const struct weir_scan_group *found,
                                                   uint64_t prompt_tokens, bool is_stream)
{
    struct weir_buf out = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    weir_json_write_begin_object(&w);
    write_head(&w, task, r, is_stream);
    write_usage(&w, prompt_tokens);
    weir_json_write_key(&w, WEIR_SLICE("detections"));
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("input"));
    weir_json_write_begin_array(&w);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("message_index"));
    weir_json_write_u64(&w, r->message_index);
    weir_json_write_key(&w, WEIR_SLICE("results"));
    weir_results_write(&w, WEIR_RESULTS_COMPLETION, found->found, found->n_found);
    weir_json_write_end_object(&w);
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("warnings"));
    weir_json_write_begin_array(&w);
    weir_results_write_warning(&w, WEIR_SLICE("type"), WEIR_WARN_UNSUITABLE_INPUT);
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
    return keep(task, &out);
}
