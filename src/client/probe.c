#include "client/probe.h"

#include "base/err.h"
#include "base/mem.h"
#include "client/call.h"
#include "client/fault.h"
#include "client/grpc_call.h"
#include "wire/grpc_paths.h"
#include "wire/json.h"

#include <proto/fmaas.pb-c.h>
#include <proto/health.pb-c.h>
#include <stdlib.h>

enum { MAX_TIMEOUT_MS = 10 * 1000, MAX_BODY_BYTES = 64 * 1024 };

struct weir_probe {
    struct weir_loop *loop;
    struct weir_client *client;
    const struct weir_probe_service *service;
    weir_probe_done_fn on_done;
    void *ctx;
    struct weir_call_context context;
    struct weir_call *call;      /* of HTTP */
    struct weir_grpc_call *grpc; /* of the others */
    struct weir_arena arena;     /* of the reason */
};

const char *weir_probe_health_name(enum weir_probe_health health)
{
    switch (health) {
    case WEIR_PROBE_HEALTHY:
        return "HEALTHY";
    case WEIR_PROBE_UNHEALTHY:
        return "UNHEALTHY";
    case WEIR_PROBE_UNKNOWN:
    default:
        return "UNKNOWN";
    }
}

static void free_probe(struct weir_probe *p)
{
    weir_arena_dispose(&p->arena);
    free(p);
}

static void answer(struct weir_probe *p, const struct weir_probe_state *state)
{
    p->on_done(p->ctx, state);
    free_probe(p);
}

/* No answer at all. Why, in general words: the details may name addresses. */
static void answer_unreached(struct weir_probe *p, int err, const char *why)
{
    struct weir_probe_state state = {
        .health = WEIR_PROBE_UNHEALTHY, .reason = weir_slice_cstr(weir_err_text(err)), .why = why};
    answer(p, &state);
}

static enum weir_probe_health health_of_status(int status)
{
    if (status >= 200 && status <= 299) {
        return WEIR_PROBE_HEALTHY;
    }
    return status >= 500 && status <= 599 ? WEIR_PROBE_UNHEALTHY : WEIR_PROBE_UNKNOWN;
}

/* The `status` in a service's answer; a word other than the three known ones counts as unknown. */
static void believe(struct weir_probe_state *state, const struct weir_json *j)
{
    static const enum weir_probe_health all[] = {WEIR_PROBE_UNKNOWN, WEIR_PROBE_HEALTHY,
                                                 WEIR_PROBE_UNHEALTHY};
    uint32_t at = weir_json_get_set(j, 0, WEIR_SLICE("status"));
    for (size_t i = 0; at != WEIR_JSON_NONE && i < sizeof all / sizeof all[0]; i++) {
        const char *name = weir_probe_health_name(all[i]);
        if (weir_json_type(j, at) == WEIR_JSON_STRING &&
            weir_json_string_eq(j, at, weir_slice_cstr(name))) {
            state->health = all[i];
        }
    }
}

struct weir_probe_state weir_probe_read_http(int status, struct weir_slice body,
                                             struct weir_arena *arena)
{
    struct weir_probe_state state = {.health = health_of_status(status)};
    struct weir_json_tape tape = {0};
    struct weir_json j;
    bool is_good = state.health == WEIR_PROBE_HEALTHY;
    state.code = is_good ? 0 : status;
    if (body.n != 0 && weir_json_parse_reuse(&j, body, NULL, &tape, NULL) == 0) {
        if (status == 200) {
            believe(&state, &j);
        }
        uint32_t reason = weir_json_get_set(&j, 0, WEIR_SLICE("reason"));
        if (reason != WEIR_JSON_NONE && weir_json_type(&j, reason) == WEIR_JSON_STRING) {
            state.reason = weir_fault_message(arena, weir_json_string(&j, reason, arena));
        }
    }
    weir_json_tape_dispose(&tape);
    return state;
}

static void on_http_done(void *ctx, const struct weir_call_result *result)
{
    struct weir_probe *p = ctx;
    /* A body that is too long tells nothing more; the status was read. */
    bool is_answered = result->err == 0 || (result->err == WEIR_ELIMIT && result->has_head);
    p->call = NULL;
    if (!is_answered) {
        answer_unreached(p, result->err, result->why);
        return;
    }
    struct weir_probe_state state = weir_probe_read_http(result->status, result->body, &p->arena);
    answer(p, &state);
}

static void start_http(struct weir_probe *p)
{
    static const struct weir_call_events events = {.on_done = on_http_done};
    struct weir_call_request request = {
        .target = p->service->target,
        .context = &p->context,
        .method = WEIR_SLICE("GET"),
        .path = WEIR_SLICE("/health"),
        .answer = WEIR_CALL_WHOLE,
        .max_body_bytes = MAX_BODY_BYTES,
    };
    p->call = weir_call_start(p->client, &request, &events, p);
}

/* The list itself is of no interest, and its errors may repeat the key. */
static void on_models_done(void *ctx, const struct weir_call_result *result)
{
    struct weir_probe *p = ctx;
    bool is_answered = result->err == 0 || (result->err == WEIR_ELIMIT && result->has_head);
    bool is_refused = result->status == 401 || result->status == 403;
    p->call = NULL;
    if (!is_answered) {
        answer_unreached(p, result->err, result->why);
        return;
    }
    struct weir_probe_state state = {.health = health_of_status(result->status)};
    state.code = state.health == WEIR_PROBE_HEALTHY ? 0 : result->status;
    if (is_refused && !p->service->has_no_key) {
        state.health = WEIR_PROBE_UNHEALTHY;
        state.reason = WEIR_SLICE("the key was refused");
        state.why = "the key was refused: look at `api_key_env` or `api_key_file`";
    } else if (is_refused) {
        state.health = WEIR_PROBE_HEALTHY;
        state.code = 0;
    } else if (result->status == 404) {
        state.reason = WEIR_SLICE("there is no list of models at this address");
        state.why = "there is no list of models at this address: look at `base_url`";
    }
    answer(p, &state);
}

static void start_models(struct weir_probe *p)
{
    static const struct weir_call_events events = {.on_done = on_models_done};
    struct weir_call_request request = {
        .target = p->service->target,
        .context = &p->context,
        .method = WEIR_SLICE("GET"),
        .path = p->service->path,
        .fields = p->service->fields,
        .n_fields = p->service->n_fields,
        .answer = WEIR_CALL_WHOLE,
        .max_body_bytes = MAX_BODY_BYTES,
    };
    p->call = weir_call_start(p->client, &request, &events, p);
}

static void cancel_http(struct weir_probe *p)
{
    weir_call_cancel(p->call);
}

/* The health of a service that answered with an error. */
static enum weir_probe_health health_of_grpc(enum weir_grpc_status status)
{
    switch (status) {
    case WEIR_GRPC_NOT_FOUND:
    case WEIR_GRPC_INVALID_ARGUMENT:
        return WEIR_PROBE_HEALTHY;
    case WEIR_GRPC_UNIMPLEMENTED: /* it has no health service: who knows */
        return WEIR_PROBE_UNKNOWN;
    default:
        return health_of_status(weir_grpc_status_to_http(status));
    }
}

static void answer_grpc_error(struct weir_probe *p, const struct weir_grpc_result *result)
{
    if (!result->is_from_peer) {
        answer_unreached(p, result->err, weir_arena_dup(&p->arena, result->why).p);
        return;
    }
    struct weir_probe_state state = {.health = health_of_grpc(result->status)};
    if (state.health != WEIR_PROBE_HEALTHY) {
        state.code = weir_grpc_status_to_http(result->status);
        state.reason = weir_fault_message(&p->arena, result->text);
    }
    answer(p, &state);
}

static enum weir_probe_health read_check(struct weir_probe *p, struct weir_slice bytes)
{
    const Grpc__Health__V1__HealthCheckResponse *m =
        weir_proto_unpack(&p->arena, &grpc__health__v1__health_check_response__descriptor, bytes);
    if (m == NULL) {
        return WEIR_PROBE_UNKNOWN;
    }
    switch (m->status) {
    case GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING:
        return WEIR_PROBE_HEALTHY;
    case GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING:
        return WEIR_PROBE_UNHEALTHY;
    default:
        return WEIR_PROBE_UNKNOWN;
    }
}

static void on_check_done(void *ctx, const struct weir_grpc_result *result)
{
    struct weir_probe *p = ctx;
    p->grpc = NULL;
    if (result->status != WEIR_GRPC_OK) {
        answer_grpc_error(p, result);
        return;
    }
    struct weir_probe_state state = {.health = read_check(p, result->bytes)};
    answer(p, &state);
}

static void on_info_done(void *ctx, const struct weir_grpc_result *result)
{
    struct weir_probe *p = ctx;
    p->grpc = NULL;
    if (result->status != WEIR_GRPC_OK) {
        answer_grpc_error(p, result);
        return;
    }
    struct weir_probe_state state = {.health = WEIR_PROBE_HEALTHY};
    answer(p, &state);
}

static void start_grpc(struct weir_probe *p, const char *path, const ProtobufCMessage *message,
                       const struct weir_grpc_call_events *events)
{
    struct weir_grpc_request request = {
        .loop = p->loop,
        .target = p->service->target,
        .context = &p->context,
        .path = path,
        .message = message,
        .max_message_bytes = MAX_BODY_BYTES,
    };
    p->grpc = weir_grpc_call_start(p->client, &request, events, p);
}

static void start_check(struct weir_probe *p)
{
    static const struct weir_grpc_call_events events = {.on_done = on_check_done};
    Grpc__Health__V1__HealthCheckRequest m = GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;
    start_grpc(p, WEIR_GRPC_HEALTH_CHECK, &m.base, &events);
}

static void start_info(struct weir_probe *p)
{
    static const struct weir_grpc_call_events events = {.on_done = on_info_done};
    Fmaas__ModelInfoRequest m = FMAAS__MODEL_INFO_REQUEST__INIT;
    start_grpc(p, WEIR_GRPC_TGIS_INFO, &m.base, &events);
}

static void cancel_grpc(struct weir_probe *p)
{
    weir_grpc_call_cancel(p->grpc);
}

const struct weir_probe_kind weir_probe_http = {.start = start_http, .cancel = cancel_http};
const struct weir_probe_kind weir_probe_models = {.start = start_models, .cancel = cancel_http};
const struct weir_probe_kind weir_probe_grpc = {.start = start_check, .cancel = cancel_grpc};
const struct weir_probe_kind weir_probe_tgis = {.start = start_info, .cancel = cancel_grpc};

struct weir_probe *weir_probe_start(struct weir_loop *loop, struct weir_client *client,
                                    const struct weir_probe_service *service,
                                    weir_probe_done_fn on_done, void *ctx)
{
    uint64_t timeout_ms = service->target->request_timeout_ms;
    if (timeout_ms == 0 || timeout_ms > MAX_TIMEOUT_MS) {
        timeout_ms = MAX_TIMEOUT_MS;
    }
    struct weir_probe *p = weir_mem_zalloc(sizeof *p);
    p->loop = loop;
    p->client = client;
    p->service = service;
    p->on_done = on_done;
    p->ctx = ctx;
    p->context.deadline_ms = weir_loop_now_ms(loop) + timeout_ms;
    service->kind->start(p);
    return p;
}

void weir_probe_cancel(struct weir_probe *probe)
{
    probe->service->kind->cancel(probe);
    free_probe(probe);
}
