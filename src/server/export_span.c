/*
 * Names and attributes follow OpenTelemetry's conventions for HTTP and RPC; what they have no word
 * for is under `weir.`. A name must not carry what callers choose, so that it groups.
 */
#include "server/export_span.h"

#include "base/err.h"
#include "server/export_attr.h"
#include "server/genai.h"
#include "wire/proto_write.h"

#include <stdio.h>

enum {
    ENTRY = 2, /* of ScopeSpans */
    TRACE_ID = 1,
    SPAN_ID = 2,
    PARENT_ID = 4,
    NAME = 5,
    KIND = 6,
    START = 7,
    END = 8,
    ATTR = 9,
    EVENT = 11,
    EVENT_TIME = 1,
    EVENT_NAME = 2,
    EVENT_ATTR = 3,
    STATUS = 15,
    STATUS_MESSAGE = 2,
    STATUS_CODE = 3,
};
enum { KIND_SERVER = 2, KIND_CLIENT = 3, CODE_ERROR = 2 };
enum { MAX_NAME_BYTES = 200 };

#define TEXT(out, key, value) weir_export_attr_text(out, ATTR, WEIR_SLICE(key), value)
#define INT(out, key, value) weir_export_attr_int(out, ATTR, WEIR_SLICE(key), value)

static void write_ids(struct weir_buf *out, const struct weir_trace *trace,
                      const uint8_t *parent_id)
{
    weir_proto_write_bytes(out, TRACE_ID,
                           weir_slice_make((const char *)trace->trace_id, sizeof trace->trace_id));
    weir_proto_write_bytes(out, SPAN_ID,
                           weir_slice_make((const char *)trace->span_id, sizeof trace->span_id));
    if (parent_id != NULL) {
        weir_proto_write_bytes(out, PARENT_ID,
                               weir_slice_make((const char *)parent_id, sizeof trace->span_id));
    }
}

static void write_times(struct weir_buf *out, struct weir_export_times times)
{
    weir_proto_write_fixed64(out, START, times.start_ns);
    weir_proto_write_fixed64(out, END, times.end_ns);
}

/* Both parts are ours or the configuration's. */
static void write_name(struct weir_buf *out, struct weir_slice what, struct weir_slice which)
{
    size_t mark = weir_proto_write_begin(out, NAME);
    weir_buf_append(out, what);
    if (which.n != 0) {
        weir_buf_append_byte(out, ' ');
        weir_buf_append(out, which);
    }
    weir_proto_write_end(out, mark);
}

static void write_error(struct weir_buf *out, const char *message)
{
    size_t mark = weir_proto_write_begin(out, STATUS);
    if (message != NULL) {
        weir_proto_write_text(out, STATUS_MESSAGE, weir_slice_cstr(message),
                              WEIR_EXPORT_ATTR_MAX_BYTES);
    }
    weir_proto_write_u64(out, STATUS_CODE, CODE_ERROR);
    weir_proto_write_end(out, mark);
}

/* By a status, if there is one. */
static void write_error_type(struct weir_buf *out, int err, int status)
{
    char room[WEIR_GENAI_ERROR_BYTES];
    TEXT(out, "error.type", weir_genai_error_type(err, status, room));
}

/* ---- a request ---- */

/* The paths below a route's name are the same for all routes: the span's name has {route}
 * instead. */
static struct weir_slice route_pattern(const struct weir_export_request *r, char *room, size_t n)
{
    bool is_named = r->route.n != 0 && !weir_slice_eq(r->route, WEIR_SLICE("default"));
    if (r->pattern == NULL || !is_named) {
        return weir_slice_cstr(r->pattern);
    }
    snprintf(room, n, "/{route}%s", r->pattern);
    return weir_slice_cstr(room);
}

static void write_method(struct weir_buf *out, const struct weir_http_request *req)
{
    if (req->method == WEIR_HTTP_OTHER) {
        TEXT(out, "http.request.method", WEIR_SLICE("_OTHER"));
        TEXT(out, "http.request.method_original", req->method_name);
    } else {
        TEXT(out, "http.request.method", req->method_name);
    }
}

static void write_answer(struct weir_buf *out, const struct weir_export_request *r)
{
    if (r->status != 0) {
        INT(out, "http.response.status_code", r->status);
    }
    if (r->status >= 500) {
        write_error_type(out, 0, r->status);
        write_error(out, NULL);
    } else if (r->is_cut) {
        TEXT(out, "error.type", WEIR_SLICE("caller_gone"));
    }
}

/* What was batched by which settings, and what it cost: to be seen beside each other. */
static void write_stream(struct weir_buf *out, const struct weir_stream_summary *s)
{
    const struct weir_chain_counts *taps = &s->report.taps;
    INT(out, "weir.stream.chunks.raw", (int64_t)taps->raw_chunks);
    INT(out, "weir.stream.chunks.adapter", (int64_t)taps->adapter_chunks);
    INT(out, "weir.stream.chunks.business", (int64_t)taps->business_chunks);
    INT(out, "weir.stream.chunk_bytes.raw", (int64_t)s->avg_bytes[0]);
    INT(out, "weir.stream.chunk_bytes.adapter", (int64_t)s->avg_bytes[1]);
    INT(out, "weir.stream.chunk_bytes.business", (int64_t)s->avg_bytes[2]);
    INT(out, "weir.stream.hold_mean_ms", (int64_t)s->report.hold_mean_ms);
    INT(out, "weir.stream.hold_p50_ms", (int64_t)s->report.hold_p50_ms);
    INT(out, "weir.stream.hold_p99_ms", (int64_t)s->report.hold_p99_ms);
    if (s->has_first) {
        INT(out, "weir.stream.ttft_ms", (int64_t)s->ttft_ms);
    }
    if (s->settings.n != 0) {
        TEXT(out, "weir.stream.profile", s->profile);
        TEXT(out, "weir.stream.settings", s->settings);
    }
}

/* ---- what was found, by the conventions for generative AI ---- */

#define EVENT_TEXT(out, key, value) weir_export_attr_text(out, EVENT_ATTR, WEIR_SLICE(key), value)

static const char *source_of(const struct weir_seen_kind *k)
{
    if (k->side == WEIR_POLICY_INPUT) {
        return "input";
    }
    bool is_reasoning = strncmp(k->channel, "reasoning", strlen("reasoning")) == 0;
    bool is_tool = strcmp(k->channel, "tool_calls") == 0;
    return is_tool ? "tool_input" : is_reasoning ? "reasoning" : "output";
}

/* One for each kind of finding. */
static void write_result(struct weir_buf *out, const struct weir_export_request *r,
                         const struct weir_seen_kind *k)
{
    const char *action = weir_policy_outcome_name(k->action);
    size_t mark = weir_proto_write_begin(out, EVENT);
    weir_proto_write_fixed64(out, EVENT_TIME, r->times.end_ns);
    weir_proto_write_bytes(out, EVENT_NAME, WEIR_SLICE("gen_ai.guardrail.result"));
    EVENT_TEXT(out, "gen_ai.guardrail.policy.id", r->route);
    EVENT_TEXT(out, "gen_ai.guardrail.policy.version", weir_slice_cstr(r->revision));
    EVENT_TEXT(out, "gen_ai.guardrail.policy.rule.id", k->detector);
    EVENT_TEXT(out, "gen_ai.guardrail.component.name", k->detector);
    EVENT_TEXT(out, "gen_ai.guardrail.risk.category", k->detection);
    weir_export_attr_double(out, EVENT_ATTR, WEIR_SLICE("gen_ai.guardrail.risk.score"), k->score);
    EVENT_TEXT(out, "gen_ai.guardrail.source", weir_slice_cstr(source_of(k)));
    EVENT_TEXT(out, "gen_ai.guardrail.result.type", WEIR_SLICE("action"));
    EVENT_TEXT(out, "gen_ai.guardrail.result.value", weir_slice_cstr(action));
    EVENT_TEXT(out, "gen_ai.provider.name", WEIR_SLICE("weir"));
    weir_export_attr_int(out, EVENT_ATTR, WEIR_SLICE("weir.findings"), (int64_t)k->n);
    weir_proto_write_end(out, mark);
}

static void write_seen(struct weir_buf *out, const struct weir_export_request *r)
{
    const struct weir_seen *seen = r->seen;
    if (seen == NULL) {
        return;
    }
    if (r->system != NULL) {
        TEXT(out, "gen_ai.provider.name", weir_slice_cstr(r->system));
    }
    if (r->asked_model.n != 0) {
        TEXT(out, "gen_ai.request.model", r->asked_model);
        TEXT(out, "weir.action", weir_slice_cstr(weir_policy_outcome_name(weir_seen_action(seen))));
    }
    if (seen->has_usage) {
        INT(out, "gen_ai.usage.input_tokens", (int64_t)seen->input_tokens);
        INT(out, "gen_ai.usage.output_tokens", (int64_t)seen->output_tokens);
    }
    for (size_t i = 0; i < seen->n_kinds; i++) {
        write_result(out, r, &seen->kinds[i]);
    }
}

void weir_export_span_request(struct weir_buf *out, const struct weir_export_request *r)
{
    char room[MAX_NAME_BYTES];
    struct weir_slice pattern = route_pattern(r, room, sizeof room);
    bool is_other = r->req->method == WEIR_HTTP_OTHER;
    size_t mark = weir_proto_write_begin(out, ENTRY);
    write_ids(out, r->trace, r->parent_id);
    write_name(out, is_other ? WEIR_SLICE("HTTP") : r->req->method_name, pattern);
    weir_proto_write_u64(out, KIND, KIND_SERVER);
    write_times(out, r->times);
    write_method(out, r->req);
    TEXT(out, "url.path", r->req->path);
    if (pattern.n != 0) {
        TEXT(out, "http.route", pattern);
    }
    if (r->route.n != 0) {
        TEXT(out, "weir.route", r->route);
    }
    TEXT(out, "weir.request_id", r->request_id);
    if (r->provider.n != 0) {
        TEXT(out, "weir.provider", r->provider);
        if (weir_seen_is_model_name(r->model)) {
            TEXT(out, "weir.model", r->model);
        }
        INT(out, "weir.attempts", r->n_attempts);
    }
    write_seen(out, r);
    write_answer(out, r);
    if (r->stream != NULL) {
        write_stream(out, r->stream);
    }
    weir_proto_write_end(out, mark);
}

/* ---- a call ---- */

static bool is_grpc(const struct weir_client_span *call)
{
    return call->target->protocol == WEIR_TARGET_H2;
}

static void write_protocol(struct weir_buf *out, const struct weir_client_span *call)
{
    struct weir_slice path = weir_slice_sub(call->path, 0, weir_slice_find(call->path, '?'));
    if (is_grpc(call)) {
        TEXT(out, "rpc.system", WEIR_SLICE("grpc"));
        TEXT(out, "rpc.method", path);
    } else {
        TEXT(out, "http.request.method", call->method);
        TEXT(out, "url.path", path);
    }
    if (call->status != 0) {
        INT(out, "http.response.status_code", call->status);
    }
    if (call->grpc_status >= 0) {
        INT(out, "rpc.grpc.status_code", call->grpc_status);
    }
    if (call->n_retries != 0) {
        INT(out, "http.request.resend_count", call->n_retries);
    }
}

/* A call that was answered with an error status failed, even if its body was not waited for. A
 * call that was cancelled otherwise is not the service's fault. */
static void write_outcome(struct weir_buf *out, const struct weir_client_span *call)
{
    bool is_given_up = call->err == WEIR_ECANCELED;
    if (call->err != 0 && !is_given_up) {
        write_error_type(out, call->err, 0);
        write_error(out, call->why);
    } else if (call->status >= 400) {
        write_error_type(out, 0, call->status);
        write_error(out, NULL);
    } else if (call->grpc_status > 0) {
        write_error_type(out, 0, call->grpc_status);
        write_error(out, NULL);
    } else if (is_given_up) {
        write_error_type(out, call->err, 0);
    }
}

/* What generative AI calls it, or NULL. */
static const char *operation_of(const struct weir_client_span *call)
{
    const char *kind = call->target->kind != NULL ? call->target->kind : "";
    if (strcmp(kind, "detector") == 0) {
        return "apply_guardrail";
    }
    return strcmp(kind, "model") == 0 ? weir_genai_operation(call->path) : NULL;
}

static void write_operation(struct weir_buf *out, const struct weir_client_span *call,
                            const char *operation)
{
    bool is_guardrail = strcmp(operation, "apply_guardrail") == 0;
    TEXT(out, "gen_ai.operation.name", weir_slice_cstr(operation));
    if (is_guardrail) {
        TEXT(out, "gen_ai.provider.name", WEIR_SLICE("fms"));
        TEXT(out, "gen_ai.guardrail.component.name", call->target->id);
        return;
    }
    bool is_azure = weir_slice_starts_with(call->path, WEIR_SLICE("/openai/deployments/"));
    TEXT(out, "gen_ai.provider.name",
         is_azure ? WEIR_SLICE("azure.ai.openai") : WEIR_SLICE("openai"));
    if (call->model.n != 0) {
        TEXT(out, "gen_ai.request.model", call->model);
    }
}

void weir_export_span_call(struct weir_buf *out, const struct weir_client_span *call,
                           struct weir_export_times times)
{
    const struct weir_target *target = call->target;
    struct weir_slice kind = weir_slice_cstr(target->kind);
    size_t mark = weir_proto_write_begin(out, ENTRY);
    write_ids(out, call->trace, call->parent_id);
    const char *operation = operation_of(call);
    bool is_guardrail = kind.n != 0 && weir_slice_eq_cstr(kind, "detector");
    if (operation != NULL) {
        write_name(out, weir_slice_cstr(operation), is_guardrail ? target->id : call->model);
    } else {
        write_name(out, kind.n != 0 ? kind : WEIR_SLICE("service"), target->id);
    }
    weir_proto_write_u64(out, KIND, KIND_CLIENT);
    write_times(out, times);
    TEXT(out, "peer.service", target->id);
    if (kind.n != 0) {
        TEXT(out, "weir.service.kind", kind);
    }
    TEXT(out, "server.address", weir_slice_cstr(target->hostname));
    INT(out, "server.port", target->port);
    if (operation != NULL) {
        write_operation(out, call, operation);
    }
    write_protocol(out, call);
    write_outcome(out, call);
    weir_proto_write_end(out, mark);
}
