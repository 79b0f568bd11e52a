#include "route/generation_stream.h"

#include "route/env.h"
#include "route/generation.h"
#include "route/reply.h"
#include "route/stream_out.h"
#include "route/unary.h"
#include "task/generation_stream.h"

static struct weir_stream_out *new_out(struct weir_http_stream *s)
{
    const struct weir_env *env = weir_request_of(s)->env;
    struct weir_stream_out_options options = {.is_fms = env->tasks.is_fms,
                                              .heartbeat_ms = env->conf->streaming.heartbeat_ms};
    return weir_stream_out_new(s, &options);
}

/* The public program answers what it checks late with a stream. */
static void refuse(struct weir_http_stream *s, const struct weir_generation_reading *reading)
{
    struct weir_slice details = weir_slice_cstr(reading->details);
    if (reading->is_late && weir_request_of(s)->env->tasks.is_fms) {
        weir_stream_out_refuse(new_out(s), reading->status, details);
    } else {
        weir_reply_error(s, reading->status, details);
    }
}

static void decode(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_task_ctx *task = &weir_request_of(s)->task;
    struct weir_generation_reading reading;
    struct weir_plan_error error;
    if (weir_generation_read(s, body, &reading) != 0) {
        refuse(s, &reading);
        return;
    }
    if (weir_plan_check_chunked(&reading.request.output, task, &error) != 0) {
        reading.status = error.status;
        reading.details = error.details;
        reading.is_late = true;
        refuse(s, &reading);
        return;
    }
    weir_generation_stream_start(task, &reading.request, reading.strategy, &new_out(s)->base);
}

void weir_generation_stream_begin(void *env, struct weir_http_stream *s)
{
    (void)env;
    weir_unary_begin(s, decode);
}
