#include "route/response.h"

#include "route/completion.h"
#include "route/response_state.h"
#include "route/rowed.h"
#include "route/stream_dialect.h"
#include "route/unary.h"
#include "talk/form.h"
#include "task/response.h"

struct weir_response_id weir_response_ids(const struct weir_request *request)
{
    struct weir_slice none = WEIR_SLICE("");
    bool enforces = weir_policy_enforces(&request->guarded->policy);
    return (struct weir_response_id){.secret = enforces ? request->env->conf->id_key : none,
                                     .route = request->guarded->conf->name.s,
                                     .key = request->key != NULL ? request->key->name.s : none};
}

/* `text: {format: {type: json_schema}}`, and vLLM's own. */
static bool asks_json(const struct weir_json *json)
{
    uint32_t text = weir_json_get_set(json, 0, WEIR_SLICE("text"));
    uint32_t format = text != WEIR_JSON_NONE ? weir_json_get_set(json, text, WEIR_SLICE("format"))
                                             : WEIR_JSON_NONE;
    uint32_t outputs = weir_json_get_set(json, 0, WEIR_SLICE("structured_outputs"));
    return weir_form_is_json_format(json, format) ||
           (outputs != WEIR_JSON_NONE &&
            weir_json_get_set(json, outputs, WEIR_SLICE("json")) != WEIR_JSON_NONE);
}

static void decode(struct weir_http_stream *s, const struct weir_json *sent)
{
    static const struct weir_rowed_kind kind = {.op = WEIR_MODEL_RESPONSES,
                                                .walk = &weir_walk_responses,
                                                .stream = &weir_stream_responses,
                                                .asked = {"input", WEIR_FIELDS_ANY, false},
                                                .max_tokens = "max_output_tokens",
                                                .asks_json = asks_json};
    struct weir_rowed_ask *r = weir_rowed_ask_read(s, sent, &kind);
    if (r == NULL) {
        return;
    }
    struct weir_request *request = weir_request_of(s);
    struct weir_task_response response = {
        .completion = r->request, .sent = sent, .ids = weir_response_ids(request)};
    weir_response_state_bind(s, r->f.json, &response.completion);
    if (!r->is_stream) {
        if (weir_completion_check_unary(s, &r->batching)) {
            weir_task_response_start(&request->task, &response, weir_unary_answer, s);
        }
        return;
    }
    struct weir_stream_out *out = weir_completion_open_stream(s, &r->batching);
    if (out != NULL) {
        weir_response_stream_start(&request->task, &response, &out->base);
    }
}

void weir_response_begin(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode);
}
