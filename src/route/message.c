#include "route/message.h"

#include "route/completion.h"
#include "route/rowed.h"
#include "route/stream_dialect.h"
#include "route/unary.h"
#include "talk/form.h"
#include "task/message.h"

/* `output_config: {format: {type: json_schema}}` */
static bool asks_json(const struct weir_json *json)
{
    uint32_t config = weir_json_get_set(json, 0, WEIR_SLICE("output_config"));
    uint32_t format = config != WEIR_JSON_NONE
                          ? weir_json_get_set(json, config, WEIR_SLICE("format"))
                          : WEIR_JSON_NONE;
    return weir_form_is_json_format(json, format);
}

static void decode(struct weir_http_stream *s, const struct weir_json *sent)
{
    static const struct weir_rowed_kind kind = {.op = WEIR_MODEL_MESSAGES,
                                                .walk = &weir_walk_messages,
                                                .stream = &weir_stream_messages,
                                                .asked = {"messages", WEIR_FIELDS_ARRAY, true},
                                                .max_tokens = "max_tokens",
                                                .asks_json = asks_json};
    struct weir_rowed_ask *r = weir_rowed_ask_read(s, sent, &kind);
    if (r == NULL) {
        return;
    }
    struct weir_task_ctx *task = &weir_request_of(s)->task;
    if (!r->is_stream) {
        if (weir_completion_check_unary(s, &r->batching)) {
            weir_task_message_start(task, &r->request, weir_unary_answer, s);
        }
        return;
    }
    struct weir_stream_out *out = weir_completion_open_stream(s, &r->batching);
    if (out != NULL) {
        weir_message_stream_start(task, &r->request, &out->base);
    }
}

void weir_message_begin(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode);
}
