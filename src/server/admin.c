#include "server/admin.h"

#include "base/buf.h"
#include "io/fds.h"
#include "obs/metric.h"
#include "route/headers.h"
#include "route/reply.h"
#include "route/table.h"
#include "server/info.h"
#include "server/stats.h"

/* This port is for probes and scrapers: its limits are its own and small. */
static const struct weir_http_limits LIMITS = {
    .max_header_bytes = 16 * 1024,
    .max_headers = 64,
    .max_out_bytes = 256 * 1024,
    .max_streams = 32,
    .header_timeout_ms = 10 * 1000,
    .body_timeout_ms = 120 * 1000,
    .idle_timeout_ms = 120 * 1000,
    .write_timeout_ms = 30 * 1000,
};

static void begin_health(void *ctx, struct weir_http_stream *s)
{
    const struct weir_admin *a = ctx;
    bool is_fms = a->env->conf->compat == WEIR_CONF_FMS;
    weir_reply_json(s, is_fms ? WEIR_SLICE("{\"fms-guardrails-orchestr8\":\"" WEIR_VERSION "\"}")
                              : WEIR_SLICE("{\"weir\":\"" WEIR_VERSION "\"}"));
}

static void begin_info(void *ctx, struct weir_http_stream *s)
{
    weir_info_begin(ctx, s);
}

static void begin_healthz(void *ctx, struct weir_http_stream *s)
{
    (void)ctx;
    weir_reply_json(s, WEIR_SLICE("{\"status\":\"alive\"}"));
}

static void begin_readyz(void *ctx, struct weir_http_stream *s)
{
    const struct weir_admin *a = ctx;
    switch (a->state) {
    case WEIR_ADMIN_STARTING:
        weir_reply_error(s, 503, WEIR_SLICE("starting"));
        break;
    case WEIR_ADMIN_READY:
        weir_reply_json(s, WEIR_SLICE("{\"status\":\"ready\"}"));
        break;
    case WEIR_ADMIN_DRAINING:
        weir_reply_error(s, 503, WEIR_SLICE("draining"));
        break;
    }
}

static void begin_metrics(void *ctx, struct weir_http_stream *s)
{
    struct weir_buf text = {0};
    (void)ctx;
    weir_metric_render(&text);
    weir_reply_text(s, WEIR_SLICE("text/plain; version=0.0.4; charset=utf-8"),
                    weir_buf_slice(&text));
    weir_buf_dispose(&text);
}

static const struct weir_route_entry TABLE[] = {
    {"/health", WEIR_HTTP_GET, begin_health, NULL},
    {"/info", WEIR_HTTP_GET, begin_info, NULL},
    {"/healthz", WEIR_HTTP_GET, begin_healthz, NULL},
    {"/readyz", WEIR_HTTP_GET, begin_readyz, NULL},
    {"/metrics", WEIR_HTTP_GET, begin_metrics, NULL},
};

static void on_refused(void *ctx, struct weir_http_stream *s)
{
    (void)ctx;
    weir_headers_begin(s, weir_arena_alloc(&s->arena, sizeof(struct weir_http_field)),
                       weir_headers_request_id(s));
}

static void on_request(void *ctx, struct weir_http_stream *s)
{
    on_refused(ctx, s);
    const struct weir_route_entry *entry =
        weir_route_find(TABLE, sizeof TABLE / sizeof TABLE[0], s->req.path);
    weir_route_dispatch(entry, ctx, s);
}

static void on_done(void *ctx, const struct weir_http_stream *s)
{
    const struct weir_admin *a = ctx;
    weir_stats_request(WEIR_STATS_HEALTH, s, weir_loop_now_ms(a->loop));
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
    struct weir_admin *a = ctx;
    if (a->n_connections >= a->env->conf->limits.max_connections ||
        !weir_fds_take(WEIR_FDS_HEALTH)) {
        weir_stats_rejected(WEIR_STATS_HEALTH);
        return false;
    }
    a->n_connections++;
    weir_stats_connection(WEIR_STATS_HEALTH, 1);
    return true;
}

static void on_close(void *ctx)
{
    struct weir_admin *a = ctx;
    a->n_connections--;
    weir_fds_give(WEIR_FDS_HEALTH);
    weir_stats_connection(WEIR_STATS_HEALTH, -1);
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
    struct weir_admin *a = ctx;
    weir_http_endpoint_accept(&a->endpoint, fd);
}

int weir_admin_open(struct weir_admin *a, struct weir_loop *loop, const char *host, uint16_t port)
{
    a->loop = loop;
    weir_health_open(&a->health, loop);
    a->limits = LIMITS;
    weir_http_endpoint_init(&a->endpoint, loop);
    a->endpoint.service = &SERVICE;
    a->endpoint.ctx = a;
    a->endpoint.limits = &a->limits;
    int rc = weir_listener_open(&a->listener, loop, host, port, false);
    if (rc != 0) {
        return rc;
    }
    a->listener.on_connection = on_connection;
    a->listener.ctx = a;
    return weir_listener_start(&a->listener);
}

void weir_admin_set_env(struct weir_admin *a, struct weir_env *env)
{
    struct weir_env *old = a->env;
    a->env = weir_env_ref(env);
    weir_health_keep_only(&a->health, env);
    weir_env_unref(old);
}

static void nothing(void *ctx)
{
    (void)ctx;
}

void weir_admin_close(struct weir_admin *a)
{
    if (a->listener.loop != NULL) {
        weir_listener_close(&a->listener, nothing, NULL);
        weir_http_endpoint_abort(&a->endpoint);
    }
    weir_health_close(&a->health);
}

void weir_admin_dispose(struct weir_admin *a)
{
    weir_health_dispose(&a->health);
    weir_env_unref(a->env);
    a->env = NULL;
}
