/* What is told of findings, and what is said in the place of an answer. */
#include "obs/trace.h"
#include "task/message_int.h"
#include "task/seal.h"
#include "wire/json_write.h"

static const char *channel_of(const struct weir_row_found *found)
{
    if (found->channel == WEIR_CHANNEL_CONTENT) {
        return NULL;
    }
    if (found->channel == WEIR_CHANNEL_REASONING) {
        return "thinking";
    }
    switch ((enum weir_msg_tag)found->tag) {
    case WEIR_MSG_CALL:
        return "input_json";
    case WEIR_MSG_CITATION:
        return "citation";
    case WEIR_MSG_ENDING:
        return "stop_sequence";
    default:
        return "content_block";
    }
}

void weir_msg__write_place(const struct weir_rowed *r, const struct weir_row_found *found,
                           struct weir_buf *out)
{
    const char *channel = channel_of(found);
    (void)r;
    if (found->channel == WEIR_CHANNEL_WHOLE) {
        weir_buf_append(out, WEIR_SLICE("\"channel\":\"conversation\""));
        return;
    }
    weir_buf_append(out, WEIR_SLICE("\"index\":"));
    weir_buf_append_u64(out, found->number);
    if (channel != NULL) {
        weir_buf_printf(out, ",\"channel\":\"%s\"", channel);
    }
}

struct weir_slice weir_msg__signature(const struct weir_msg *m, struct weir_slice line)
{
    struct weir_slice quoted = weir_slice_cut(&line, '\n');
    if (!m->is_thought_changed || line.p == NULL) {
        return quoted;
    }
    struct weir_slice theirs = weir_slice_sub(quoted, 1, quoted.n - 1); /* has the form of an id */
    struct weir_slice sealed =
        weir_seal_close(m->base.request.policy->seal, line, theirs, m->base.stream.task->arena);
    return weir_slice_cstr(
        weir_arena_printf(m->base.stream.task->arena, "\"%.*s\"", (int)sealed.n, sealed.p));
}

void weir_msg__write_own_head(const struct weir_msg *m, struct weir_buf *out)
{
    char id[WEIR_TRACE_ID_BYTES + 1];
    weir_trace_request_id(id);
    weir_buf_printf(out,
                    "\"id\":\"msg_%s\",\"type\":\"message\",\"role\":\"assistant\",\"model\":", id);
    weir_json_write_quoted(out, m->base.request.model_id);
}
