#include "mock/mock_server.h"

#include "base/err.h"
#include "base/mem.h"
#include "io/fds.h"
#include "mock/mock_detector.h"
#include "mock/mock_grpc.h"
#include "mock/mock_openai.h"
#include "mock/mock_patterns.h"
#include "mock/mock_provider.h"
#include "mock/mock_reply.h"
#include "mock/mock_responses.h"
#include "obs/trace.h"
#include "route/reply.h"
#include "route/table.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* Patient, so that a test can hold a stream open as long as it likes. */
static const struct weir_http_limits LIMITS = {
    .max_header_bytes = 64 * 1024,
    .max_headers = 128,
    .max_out_bytes = 256 * 1024,
    .max_streams = 10000,
    .header_timeout_ms = 60 * 1000,
    .idle_timeout_ms = 3600 * 1000,
    .write_timeout_ms = 3600 * 1000,
};

/* `created` where the seed was chosen. */
enum { FIXED_TIME_S = 1700000000 };

/* ---- one request ---- */

/* splitmix64: any seed is as good as any other. */
static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t weir_mock_request_random(struct weir_mock_request *r)
{
    return next_random(&r->random_state);
}

int64_t weir_mock_request_created(const struct weir_mock_request *r)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return r->worker->server->has_seed ? FIXED_TIME_S : (int64_t)now.tv_sec;
}

/* Random, and then the worker and the number, which make it unique. */
static void make_id(struct weir_mock_request *r)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t high = weir_mock_request_random(r);
    uint64_t low = ((uint64_t)r->worker->index << 24) | (r->worker->n_requests & 0xFFFFFF);
    for (int i = 0; i < WEIR_MOCK_ID_BYTES; i++) {
        uint64_t from = i < 16 ? high >> (60 - 4 * i) : low >> (28 - 4 * (i - 16));
        r->id[i] = digits[from & 15];
    }
    r->log.request_id = weir_slice_make(r->id, WEIR_MOCK_ID_BYTES);
}

static struct weir_mock_request *new_request(struct weir_mock_worker *w, struct weir_http_stream *s)
{
    struct weir_mock_request *r = weir_arena_zalloc(&s->arena, sizeof *r);
    struct weir_slice parent = weir_http_request_get(&s->req, WEIR_SLICE("traceparent"));
    w->n_requests++;
    r->worker = w;
    r->set = w->server->defaults;
    /* Mixed first: seeds beside each other must not give shifted copies of one sequence. */
    r->random_state = w->server->seed;
    r->random_state = next_random(&r->random_state) + w->n_requests + ((uint64_t)w->index << 48);
    make_id(r);
    if (parent.p != NULL) {
        weir_trace_parse(parent, &r->log.trace);
    }
    s->service_ctx = r;
    return r;
}

static void go_health(struct weir_http_stream *s, const struct weir_json *body)
{
    (void)body;
    switch ((enum weir_mock_health)weir_mock_request_of(s)->set.health) {
    case WEIR_MOCK_HEALTH_GOOD:
        weir_mock_reply_json(s, WEIR_SLICE("{\"status\":\"HEALTHY\"}"));
        break;
    case WEIR_MOCK_HEALTH_BAD:
        weir_mock_reply_json(
            s, WEIR_SLICE("{\"status\":\"UNHEALTHY\",\"reason\":\"the mock was told to be\"}"));
        break;
    case WEIR_MOCK_HEALTH_ERROR:
        weir_mock_reply_detector_error(s, 503, WEIR_SLICE("not now"));
        break;
    case WEIR_MOCK_HEALTH_ABSENT:
        weir_mock_reply_detector_error(s, 404, WEIR_SLICE("unknown path"));
        break;
    case WEIR_MOCK_HEALTH_EMPTY:
        weir_http_stream_reply(s, 200, NULL, 0, WEIR_SLICE(""));
        break;
    }
}

static void begin_health(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {.go = go_health,
                                               .fail = weir_mock_reply_detector_error};
    (void)env;
    weir_mock_reply_wait(s, &role);
}

static const struct weir_route_entry TABLE[] = {
    {"/health", WEIR_HTTP_GET, begin_health, NULL},
    {"/v1/chat/completions", WEIR_HTTP_POST, weir_mock_openai_begin_chat, NULL},
    {"/v1/completions", WEIR_HTTP_POST, weir_mock_openai_begin_completion, NULL},
    {"/v1/messages", WEIR_HTTP_POST, weir_mock_openai_begin_message, NULL},
    {"/v1/messages/count_tokens", WEIR_HTTP_POST, weir_mock_openai_begin_count_tokens, NULL},
    {"/v1/responses", WEIR_HTTP_POST, weir_mock_openai_begin_response, NULL},
    {"/v1/responses/input_tokens", WEIR_HTTP_POST, weir_mock_openai_begin_input_tokens, NULL},
    {"/v1/responses/*/cancel", WEIR_HTTP_POST, weir_mock_stored_begin_cancel, NULL},
    {"/v1/responses/*/input_items", WEIR_HTTP_GET, weir_mock_stored_begin_input, NULL},
    {"/v1/responses/*", WEIR_HTTP_DELETE, weir_mock_stored_begin, NULL},
    {"/v1/models", WEIR_HTTP_GET, weir_mock_openai_begin_models, NULL},
    {"/v1/embeddings", WEIR_HTTP_POST, weir_mock_provider_begin_embeddings, NULL},
    {"/v1/rerank", WEIR_HTTP_POST, weir_mock_provider_begin_rerank, NULL},
    {"/v1/score", WEIR_HTTP_POST, weir_mock_provider_begin_score, NULL},
    {"/openai/deployments/*", WEIR_HTTP_POST, weir_mock_provider_begin_deployment, NULL},
    {"/openai/models", WEIR_HTTP_GET, weir_mock_openai_begin_models, NULL},
    {"/openai/v1/models", WEIR_HTTP_GET, weir_mock_openai_begin_models, NULL},
    {"/openai/v1/chat/completions", WEIR_HTTP_POST, weir_mock_openai_begin_chat, NULL},
    {"/tokenize", WEIR_HTTP_POST, weir_mock_openai_begin_tokenize, NULL},
    {"/api/v1/text/contents", WEIR_HTTP_POST, weir_mock_detector_begin_contents, NULL},
    {"/api/v1/text/chat", WEIR_HTTP_POST, weir_mock_detector_begin_chat, NULL},
    {"/api/v1/text/context/doc", WEIR_HTTP_POST, weir_mock_detector_begin_context, NULL},
    {"/api/v1/text/generation", WEIR_HTTP_POST, weir_mock_detector_begin_generation, NULL},
};

static void on_request(void *ctx, struct weir_http_stream *s)
{
    struct weir_mock_request *r = new_request(ctx, s);
    struct weir_slice header = weir_http_request_get(&s->req, WEIR_SLICE("x-mock"));
    struct weir_mock_mistake mistake;
    if (header.p != NULL && weir_mock_settings_header(&r->set, header, &mistake) != 0) {
        weir_reply_error(s, 400, weir_slice_cstr(mistake.text));
        return;
    }
    if (weir_mock_grpc_is(s)) {
        weir_mock_grpc_begin(s);
        return;
    }
    weir_mock_provider_enter(s);
    if (!weir_mock_provider_knows(s)) {
        return;
    }
    const struct weir_route_entry *entry =
        weir_route_find(TABLE, sizeof TABLE / sizeof *TABLE, s->req.path);
    weir_route_dispatch(entry, NULL, s);
}

static void on_done(void *ctx, const struct weir_http_stream *s)
{
    struct weir_mock_worker *w = ctx;
    const struct weir_mock_request *r = weir_mock_request_of(s);
    if (r == NULL) {
        return; /* HTTP itself has answered */
    }
    const char *message = "request";
    enum weir_log_level level = WEIR_LOG_LEVEL_DEBUG;
    if (r->was_cut) {
        message = "broken off";
        level = WEIR_LOG_LEVEL_INFO;
    } else if (s->is_gone) {
        message = "caller gone";
        level = WEIR_LOG_LEVEL_INFO;
    }
    WEIR_LOG(level, "mock", &r->log, message, weir_log_str("method", s->req.method_name),
             weir_log_str("path", s->req.path), weir_log_i64("status", s->status),
             weir_log_u64("event", r->n_events),
             weir_log_u64("took_ms", weir_loop_now_ms(&w->loop) - s->started_ms),
             weir_log_u64("in_bytes", s->body_bytes), weir_log_u64("out_bytes", s->sent_bytes));
}

static void render_error(void *ctx, const struct weir_http_request *req, int status,
                         const char *what, struct weir_buf *body)
{
    (void)ctx;
    struct weir_slice path = req != NULL ? req->path : WEIR_SLICE("");
    weir_reply_error_body(body, weir_reply_shape_of(path), status, weir_slice_cstr(what));
}

static bool may_open(void *ctx)
{
    (void)ctx;
    return true;
}

static void on_close(void *ctx)
{
    (void)ctx;
}

static const struct weir_http_service SERVICE = {
    .on_request = on_request,
    .on_done = on_done,
    .render_error = render_error,
    .may_open = may_open,
    .on_close = on_close,
};

/* ---- workers ---- */

static void on_connection(void *ctx, int fd)
{
    struct weir_mock_worker *w = ctx;
    weir_http_endpoint_accept(&w->endpoint, fd);
}

static int open_worker(struct weir_mock_worker *w, uint16_t port)
{
    const struct weir_mock_server *sv = w->server;
    int rc = weir_loop_init(&w->loop);
    if (rc != 0) {
        return rc;
    }
    w->is_open = true;
    w->patterns = weir_mock_patterns_new();
    weir_http_endpoint_init(&w->endpoint, &w->loop);
    w->endpoint.service = &SERVICE;
    w->endpoint.ctx = w;
    w->endpoint.limits = &LIMITS;
    rc = weir_listener_open(&w->listener, &w->loop, sv->host, port, true);
    w->listener.on_connection = on_connection;
    w->listener.ctx = w;
    return rc;
}

static void *run(void *arg)
{
    struct weir_mock_worker *w = arg;
    weir_loop_run(&w->loop);
    return NULL;
}

static int start_worker(struct weir_mock_worker *w)
{
    int rc = weir_listener_start(&w->listener);
    if (rc != 0) {
        return rc;
    }
    int sys = pthread_create(&w->thread, NULL, run, w);
    w->is_running = sys == 0;
    return sys == 0 ? 0 : weir_err_from_errno(sys);
}

static void stop_loop(void *arg)
{
    weir_loop_stop(arg);
}

static void close_worker(struct weir_mock_worker *w)
{
    if (!w->is_open) {
        return;
    }
    if (w->is_running) {
        weir_loop_call(&w->loop, stop_loop, &w->loop);
        pthread_join(w->thread, NULL);
    }
    if (w->listener.loop != NULL) {
        weir_listener_close(&w->listener, NULL, NULL);
    }
    weir_http_endpoint_abort(&w->endpoint);
    weir_loop_dispose(&w->loop);
    weir_mock_patterns_free(w->patterns);
}

/* ---- the process ---- */

static int start_workers(struct weir_mock_server *sv)
{
    uint16_t port = sv->port;
    int rc = port != 0 ? weir_listener_probe(sv->host, port) : 0;
    for (unsigned i = 0; rc == 0 && i < sv->n_workers; i++) {
        sv->workers[i].server = sv;
        sv->workers[i].index = i;
        rc = open_worker(&sv->workers[i], port);
        port = sv->workers[i].listener.port;
    }
    for (unsigned i = 0; rc == 0 && i < sv->n_workers; i++) {
        rc = start_worker(&sv->workers[i]);
    }
    if (rc != 0) {
        WEIR_LOG_ERROR("mock", NULL, "cannot listen", weir_log_cstr("listener", "mock"),
                       weir_log_cstr("host", sv->host), weir_log_u64("port", sv->port),
                       weir_log_cstr("why", weir_err_text(rc)));
        return rc;
    }
    WEIR_LOG_TELL(sv->port == 0, "mock", NULL, "listening", weir_log_cstr("listener", "mock"),
                  weir_log_cstr("host", sv->host), weir_log_u64("port", port),
                  weir_log_u64("workers", sv->n_workers));
    return 0;
}

static void free_failures(struct weir_map *failures)
{
    const struct weir_map_entry *e;
    for (size_t i = 0; (e = weir_map_next(failures, &i)) != NULL;) {
        free((void *)(uintptr_t)e->key.p);
    }
    weir_map_dispose(failures);
}

int weir_mock_server_run(struct weir_mock_server *sv)
{
    sigset_t stops;
    int signum;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    /* Before the first thread, so that none of them is interrupted. */
    pthread_sigmask(SIG_BLOCK, &stops, NULL);
    weir_fds_raise_limit(); /* every connection is one */
    pthread_mutex_init(&sv->lock, NULL);
    sv->workers = weir_mem_array(sv->n_workers, sizeof *sv->workers);
    int rc = start_workers(sv);
    if (rc == 0) {
        sigwait(&stops, &signum);
        WEIR_LOG_INFO("mock", NULL, "stopping", weir_log_i64("signal", signum));
    }
    for (unsigned i = 0; i < sv->n_workers; i++) {
        close_worker(&sv->workers[i]);
    }
    free(sv->workers);
    free_failures(&sv->failures);
    weir_mock_stored_free_all(sv);
    pthread_mutex_destroy(&sv->lock);
    return rc == 0 ? 0 : 1;
}
