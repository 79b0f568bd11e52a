#include "server/genai.h"

#include "base/err.h"
#include "obs/metric.h"
#include "route/env.h"

#include <ctype.h>
#include <stdio.h>
#include <uv.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* The conventions' own bounds: of seconds, here in milliseconds and microseconds, and of tokens. */
static const uint64_t MS_BUCKETS[] = {10,   20,   40,   80,    160,   320,   640,
                                      1280, 2560, 5120, 10240, 20480, 40960, 81920};
static const uint64_t US_BUCKETS[] = {10000,    20000,    40000,    80000,   160000,
                                      320000,   640000,   1280000,  2560000, 5120000,
                                      10240000, 20480000, 40960000, 81920000};
static const uint64_t TOKEN_BUCKETS[] = {
    1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864};

#define OPERATION "gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model"
#define OTLP_OPERATION "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"

/* A histogram of times of a request to a model. */
#define TIMES(name_, otlp_name, help_)                                                             \
    {                                                                                              \
        .name = (name_), .help = (help_), .type = WEIR_METRIC_HISTOGRAM, .decimals = 3,            \
        .labels = {OPERATION, "error_type"}, .buckets = MS_BUCKETS,                                \
        .n_buckets = COUNT(MS_BUCKETS), .otlp = &(const struct weir_metric_otlp)                   \
        {                                                                                          \
            (otlp_name), "s",                                                                      \
            {                                                                                      \
                OTLP_OPERATION, "error.type"                                                       \
            }                                                                                      \
        }                                                                                          \
    }

/* A count of tokens; `more` is a label of its own. */
#define TOKENS(type_, name_, otlp_name, help_, more, otlp_more)                                    \
    {                                                                                              \
        .name = (name_), .help = (help_), .type = (type_), .labels = {OPERATION, more},            \
        .buckets = TOKEN_BUCKETS, .n_buckets = COUNT(TOKEN_BUCKETS),                               \
        .otlp = &(const struct weir_metric_otlp)                                                   \
        {                                                                                          \
            (otlp_name), "{token}",                                                                \
            {                                                                                      \
                OTLP_OPERATION, otlp_more                                                          \
            }                                                                                      \
        }                                                                                          \
    }

static const struct weir_metric_def DURATION[] = {
    TIMES("gen_ai_client_operation_duration_seconds", "gen_ai.client.operation.duration",
          "From the first question to a model server until its answer had come."),
    TIMES("gen_ai_client_inference_duration_seconds", "gen_ai.client.inference.duration",
          "From the first question to a model server until its answer had come."),
};
static const struct weir_metric_def FIRST[] = {
    TIMES("gen_ai_client_operation_time_to_first_chunk_seconds",
          "gen_ai.client.operation.time_to_first_chunk",
          "Streams: from the first question to a model server to the first event of its answer."),
    TIMES("gen_ai_client_inference_time_to_first_chunk_seconds",
          "gen_ai.client.inference.time_to_first_chunk",
          "Streams: from the first question to a model server to the first event of its answer."),
};
static const struct weir_metric_def USAGE =
    TOKENS(WEIR_METRIC_HISTOGRAM, "gen_ai_client_token_usage", "gen_ai.client.token.usage",
           "Tokens of a question or an answer, as the model server counts them.",
           "gen_ai_token_type", "gen_ai.token.type");
static const struct weir_metric_def INPUT_TOKENS =
    TOKENS(WEIR_METRIC_COUNTER, "gen_ai_client_inference_usage_input_tokens_total",
           "gen_ai.client.inference.usage.input_tokens",
           "Tokens of questions, as model servers count them.", "gen_ai_token_modality",
           "gen_ai.token.modality");
static const struct weir_metric_def OUTPUT_TOKENS =
    TOKENS(WEIR_METRIC_COUNTER, "gen_ai_client_inference_usage_output_tokens_total",
           "gen_ai.client.inference.usage.output_tokens",
           "Tokens of answers, as model servers count them.", "gen_ai_token_modality",
           "gen_ai.token.modality");
static const struct weir_metric_def GUARDRAIL = {
    .name = "gen_ai_client_apply_guardrail_duration_seconds",
    .help = "Calls to detectors.",
    .type = WEIR_METRIC_HISTOGRAM,
    .decimals = 6,
    .labels = {"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_guardrail_component_name",
               "error_type"},
    .buckets = US_BUCKETS,
    .n_buckets = COUNT(US_BUCKETS),
    .otlp = &(const struct weir_metric_otlp){"gen_ai.client.apply_guardrail.duration",
                                             "s",
                                             {"gen_ai.operation.name", "gen_ai.provider.name",
                                              "gen_ai.guardrail.component.name", "error.type"}},
};

/* NULL: not by this choice of names. */
static struct weir_metric_family *duration, *first, *usage, *input_tokens, *output_tokens,
    *guardrail;

void weir_genai_declare(bool is_latest)
{
    duration = weir_metric_declare(&DURATION[is_latest]);
    first = weir_metric_declare(&FIRST[is_latest]);
    if (is_latest) {
        input_tokens = weir_metric_declare(&INPUT_TOKENS);
        output_tokens = weir_metric_declare(&OUTPUT_TOKENS);
        guardrail = weir_metric_declare(&GUARDRAIL);
    } else {
        usage = weir_metric_declare(&USAGE);
    }
}

/* ---- words ---- */

const char *weir_genai_operation(struct weir_slice path)
{
    static const struct {
        const char *end;
        const char *operation;
    } table[] = {{"/chat/completions", "chat"},
                 {"/messages", "chat"},
                 {"/responses", "chat"},
                 {"/completions", "text_completion"},
                 {"/embeddings", "embeddings"}};
    struct weir_slice plain = weir_slice_sub(path, 0, weir_slice_find(path, '?'));
    for (size_t i = 0; i < COUNT(table); i++) {
        if (weir_slice_ends_with(plain, weir_slice_cstr(table[i].end))) {
            return table[i].operation;
        }
    }
    return NULL;
}

struct weir_slice weir_genai_error_type(int err, int status, char room[WEIR_GENAI_ERROR_BYTES])
{
    size_t n = 0;
    if (status != 0) {
        n = (size_t)snprintf(room, WEIR_GENAI_ERROR_BYTES, "%d", status);
        return weir_slice_make(room, n);
    }
    const char *name = err != 0 ? weir_err_name(err) + 1 : "";
    for (; *name != '\0' && n < WEIR_GENAI_ERROR_BYTES; name++) {
        room[n++] = (char)tolower((unsigned char)*name);
    }
    return weir_slice_make(room, n);
}

/* ---- a request ---- */

struct asked {
    struct weir_slice operation;
    struct weir_slice provider;
    struct weir_slice model;
    struct weir_slice error;
};

static struct weir_metric_labels labels_of(const struct asked *a, struct weir_slice more,
                                           struct weir_slice room[4])
{
    room[0] = a->operation;
    room[1] = a->provider;
    room[2] = a->model;
    room[3] = more;
    return (struct weir_metric_labels){room, 4};
}

static void observe(struct weir_metric_family *f, const struct asked *a, struct weir_slice more,
                    uint64_t value)
{
    struct weir_slice room[4];
    weir_metric_observe(weir_metric_histogram(f, labels_of(a, more, room)), value);
}

/* Of what kind the tokens are is not told. */
static void add(struct weir_metric_family *f, const struct asked *a, uint64_t n)
{
    struct weir_slice room[4];
    struct weir_metric_labels labels = labels_of(a, WEIR_SLICE("unknown"), room);
    weir_metric_add(weir_metric_counter(f, labels), n);
}

static void count_tokens(const struct asked *a, const struct weir_seen *seen)
{
    if (usage != NULL) {
        observe(usage, a, WEIR_SLICE("input"), seen->input_tokens);
        observe(usage, a, WEIR_SLICE("output"), seen->output_tokens);
    } else if (input_tokens != NULL) {
        add(input_tokens, a, seen->input_tokens);
        add(output_tokens, a, seen->output_tokens);
    }
}

/* How it ended: the model server's failure, or a caller who went before its answer was there. */
static struct weir_slice error_of(const struct weir_http_stream *s,
                                  const struct weir_call_times *times,
                                  char room[WEIR_GENAI_ERROR_BYTES])
{
    if (times->err == 0 && times->status == 0 && s->is_gone && !s->response_ended) {
        return WEIR_SLICE("caller_gone");
    }
    return weir_genai_error_type(times->err, times->status, room);
}

void weir_genai_request(const struct weir_http_stream *s, uint64_t now_ms)
{
    const struct weir_request *r = weir_request_of(s);
    char room[WEIR_GENAI_ERROR_BYTES];
    const char *operation = weir_genai_operation(s->req.path);
    if (duration == NULL || r == NULL || r->seen == NULL || operation == NULL ||
        r->model_report.system == NULL || r->model_times.asked_ms == 0) {
        return;
    }
    const struct weir_call_times *times = &r->model_times;
    /* What a server refuses may be any word of a caller's: it makes no series. */
    bool is_refused = times->status >= 400 && times->status < 500;
    struct asked a = {
        .operation = weir_slice_cstr(operation),
        .provider = weir_slice_cstr(r->model_report.system),
        .model = !is_refused ? r->task.call.model : WEIR_SLICE(""),
        .error = error_of(s, times, room),
    };
    uint64_t end_ms = times->last_ms != 0 ? times->last_ms : now_ms;
    observe(duration, &a, a.error, end_ms - times->asked_ms);
    if (times->is_stream && times->first_ms != 0) {
        observe(first, &a, a.error, times->first_ms - times->asked_ms);
    }
    if (r->seen->has_usage) {
        count_tokens(&a, r->seen);
    }
}

/* ---- a call ---- */

bool weir_genai_wants_calls(void)
{
    return guardrail != NULL;
}

void weir_genai_call(const struct weir_client_span *call)
{
    char room[WEIR_GENAI_ERROR_BYTES];
    const struct weir_target *t = call->target;
    if (guardrail == NULL || t->kind == NULL || strcmp(t->kind, "detector") != 0) {
        return;
    }
    int status = call->status >= 400 ? call->status : call->grpc_status > 0 ? call->grpc_status : 0;
    struct weir_slice error = weir_genai_error_type(call->err, call->err != 0 ? 0 : status, room);
    struct weir_metric_histogram h =
        weir_metric_histogram(guardrail, WEIR_METRIC_LABELS(WEIR_SLICE("apply_guardrail"),
                                                            WEIR_SLICE("fms"), t->id, error));
    weir_metric_observe(h, (uv_hrtime() - call->started_ns) / 1000);
}
