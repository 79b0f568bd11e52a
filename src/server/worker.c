#include "server/worker.h"

#include "base/bufq.h"
#include "base/err.h"
#include "base/mem.h"
#include "client/client.h"
#include "io/fds.h"
#include "obs/log.h"
#include "obs/trace.h"
#include "route/api.h"
#include "route/audit_note.h"
#include "route/headers.h"
#include "route/passthrough.h"
#include "route/reply.h"
#include "route/stream_out.h"
#include "server/access_log.h"
#include "server/genai.h"
#include "server/stats.h"

#include <stdlib.h>

static void unref_env(void *ctx)
{
    weir_env_unref(ctx);
}

/* The caller's trace is continued only where the configuration trusts it, and then kept or not as
 * the caller says. */
static void start_trace(struct weir_request *r, const struct weir_http_stream *s, bool is_kept)
{
    struct weir_slice parent = weir_http_request_get(&s->req, WEIR_SLICE("traceparent"));
    struct weir_trace theirs;
    bool is_trusted = r->env->conf->trust_traceparent && parent.p != NULL;
    if (is_trusted && weir_trace_parse(parent, &theirs) == 0) {
        weir_trace_child(&theirs, &r->log.trace);
        memcpy(r->parent_id, theirs.span_id, sizeof r->parent_id);
        r->has_parent = true;
    } else {
        weir_trace_start(&r->log.trace, is_kept);
    }
    r->started_ns = is_kept ? uv_hrtime() : 0;
}

/* What an answer and the log need, whoever answers. */
static struct weir_request *begin_request(struct weir_worker *w, struct weir_http_stream *s)
{
    struct weir_request *r = weir_arena_zalloc(&s->arena, sizeof *r);
    r->env = weir_env_ref(w->env);
    weir_arena_defer(&s->arena, unref_env, r->env);
    r->log.request_id = weir_headers_request_id(s);
    weir_headers_begin(s, r->fields, r->log.request_id);
    start_trace(r, s, w->export != NULL);
    s->service_ctx = r;
    return r;
}

/* What is no request is no span either. */
static void on_refused(void *ctx, struct weir_http_stream *s)
{
    struct weir_request *r = begin_request(ctx, s);
    r->log.trace.flags = 0;
}

static void on_request(void *ctx, struct weir_http_stream *s)
{
    struct weir_worker *w = ctx;
    struct weir_request *r = begin_request(w, s);
    r->task = (struct weir_task_ctx){
        .env = &r->env->tasks,
        .loop = &w->loop,
        .client = w->client,
        .call = {.log = &r->log, .account = s->arena.account, .model_report = &r->model_report},
        .arena = &s->arena,
        .scratch = &w->scratch,
        .verdicts = &w->verdicts,
        .desks = &w->desks};
    r->shadows = &w->shadows;
    weir_passthrough_collect(r, s);
    weir_api_begin(s);
}

static void on_done(void *ctx, const struct weir_http_stream *s)
{
    struct weir_worker *w = ctx;
    uint64_t now_ms = weir_loop_now_ms(&w->loop);
    weir_stats_request(WEIR_STATS_API, s, now_ms);
    weir_genai_request(s, now_ms);
    if (w->export != NULL) {
        weir_export_worker_request(w->export, s);
    }
    weir_audit_note_end(s);
    weir_access_log_write(s, now_ms);
}

static void on_call(void *ctx, const struct weir_client_span *call)
{
    struct weir_worker *w = ctx;
    weir_genai_call(call);
    if (w->export != NULL) {
        weir_export_worker_call(w->export, call);
    }
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
    struct weir_worker *w = ctx;
    unsigned n = atomic_fetch_add_explicit(w->n_connections, 1, memory_order_relaxed);
    if (n >= w->env->conf->limits.max_connections || !weir_fds_take(WEIR_FDS_CALLER)) {
        atomic_fetch_sub_explicit(w->n_connections, 1, memory_order_relaxed);
        weir_stats_rejected(WEIR_STATS_API);
        return false;
    }
    weir_stats_connection(WEIR_STATS_API, 1);
    return true;
}

static void on_close(void *ctx)
{
    struct weir_worker *w = ctx;
    atomic_fetch_sub_explicit(w->n_connections, 1, memory_order_relaxed);
    weir_fds_give(WEIR_FDS_CALLER);
    weir_stats_connection(WEIR_STATS_API, -1);
}

static const struct weir_http_service SERVICE = {
    .on_request = on_request,
    .on_refused = on_refused,
    .on_done = on_done,
    .render_error = render_error,
    .may_open = may_open,
    .on_close = on_close,
};

static void on_connection(void *ctx, int fd)
{
    struct weir_worker *w = ctx;
    weir_http_endpoint_accept(&w->endpoint, fd);
}

/* The endpoint borrows from the environment, so both change together. */
static void take_env(struct weir_worker *w, struct weir_env *env)
{
    struct weir_env *old = w->env;
    w->env = env;
    w->endpoint.limits = &env->http;
    w->endpoint.tls = env->tls;
    weir_account_set_limit(env->conf->limits.max_held_bytes_total);
    weir_verdicts_set(&w->verdicts, env->conf->cache.max_bytes, env->conf->cache.ttl_ms);
    weir_env_unref(old);
}

int weir_worker_init(struct weir_worker *w, struct weir_env *env, const char *host, uint16_t port)
{
    int rc = weir_loop_init(&w->loop);
    if (rc != 0) {
        return rc;
    }
    w->client = weir_client_new(&w->loop);
    weir_verdicts_init(&w->verdicts, &w->loop);
    weir_desks_init(&w->desks, &w->loop);
    weir_shadows_init(&w->shadows, &w->loop);
    if (w->traces != NULL) {
        w->export = weir_export_worker_new(w->traces, &w->loop);
    }
    if (w->traces != NULL || weir_genai_wants_calls()) {
        weir_client_watch(w->client, on_call, w);
    }
    weir_http_endpoint_init(&w->endpoint, &w->loop);
    w->endpoint.service = &SERVICE;
    w->endpoint.ctx = w;
    take_env(w, weir_env_ref(env));
    rc = weir_listener_open(&w->listener, &w->loop, host, port, true);
    w->listener.on_connection = on_connection;
    w->listener.ctx = w;
    return rc;
}

static void give_verdicts_back(void *ctx)
{
    struct weir_worker *w = ctx;
    weir_verdicts_clear(&w->verdicts);
}

static void *run(void *arg)
{
    struct weir_worker *w = arg;
    weir_account_set_relief(give_verdicts_back, w);
    weir_loop_run(&w->loop);
    weir_account_set_relief(NULL, NULL);
    weir_bufq_free_spares();
    return NULL;
}

int weir_worker_start(struct weir_worker *w)
{
    int rc = weir_listener_start(&w->listener);
    if (rc != 0) {
        return rc;
    }
    int sys = pthread_create(&w->thread, NULL, run, w);
    w->is_running = sys == 0;
    return sys == 0 ? 0 : weir_err_from_errno(sys);
}

struct env_change {
    struct weir_worker *worker;
    struct weir_env *env;
};

static void do_set_env(void *arg)
{
    struct env_change *change = arg;
    take_env(change->worker, change->env);
    free(change);
}

void weir_worker_set_env(struct weir_worker *w, struct weir_env *env)
{
    struct env_change *change = weir_mem_alloc(sizeof *change);
    *change = (struct env_change){.worker = w, .env = weir_env_ref(env)};
    weir_loop_call(&w->loop, do_set_env, change);
}

static void on_empty(void *ctx)
{
    struct weir_worker *w = ctx;
    if (w->export != NULL) {
        weir_export_worker_flush(w->export);
    }
    w->on_drained(w->ctx);
}

static void on_listener_closed(void *ctx)
{
    struct weir_worker *w = ctx;
    w->endpoint.on_empty = on_empty;
    weir_http_endpoint_drain(&w->endpoint);
}

static void do_drain(void *arg)
{
    struct weir_worker *w = arg;
    w->is_draining = true;
    weir_listener_close(&w->listener, on_listener_closed, w);
}

void weir_worker_drain(struct weir_worker *w)
{
    weir_loop_call(&w->loop, do_drain, w);
}

/* How long the last answers and error events may take to the callers' kernels. */
enum { LAST_WORDS_MS = 250 };

static void on_last_words(struct weir_timer *t, void *ctx)
{
    struct weir_worker *w = ctx;
    (void)t;
    weir_http_endpoint_abort(&w->endpoint);
}

static void do_abort(void *arg)
{
    struct weir_worker *w = arg;
    w->last_words.fn = on_last_words;
    w->last_words.ctx = w;
    weir_loop_after(&w->loop, &w->last_words, LAST_WORDS_MS);
    weir_stream_out_end_all();
    weir_http_endpoint_refuse(&w->endpoint, 503, "the server is stopping");
}

void weir_worker_abort(struct weir_worker *w)
{
    weir_loop_call(&w->loop, do_abort, w);
}

static void do_stop(void *arg)
{
    struct weir_worker *w = arg;
    weir_loop_stop(&w->loop);
}

static void nothing(void *ctx)
{
    (void)ctx;
}

void weir_worker_dispose(struct weir_worker *w)
{
    if (w->env == NULL) {
        return;
    }
    if (w->is_running) {
        weir_loop_call(&w->loop, do_stop, w);
        pthread_join(w->thread, NULL);
        w->is_running = false;
    }
    if (!w->is_draining && w->listener.loop != NULL) {
        weir_listener_close(&w->listener, nothing, NULL);
    }
    weir_loop_cancel(&w->loop, &w->last_words);
    weir_http_endpoint_abort(&w->endpoint);
    weir_shadows_dispose(&w->shadows);
    weir_desks_dispose(&w->desks);
    weir_client_close(w->client, nothing, NULL);
    w->client = NULL;
    weir_loop_dispose(&w->loop);
    weir_verdicts_dispose(&w->verdicts);
    weir_export_worker_free(w->export);
    w->export = NULL;
    weir_task_scratch_dispose(&w->scratch);
    weir_bufq_free_spares(); /* this thread closed the rest */
    weir_env_unref(w->env);
    w->env = NULL;
}
