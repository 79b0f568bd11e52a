#include "server/services.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/err.h"
#include "chunk/registry.h"
#include "chunk/remote.h"
#include "client/probe.h"
#include "detect/reading.h"
#include "detect/registry.h"
#include "model/demo.h"
#include "model/nlp.h"
#include "model/openai.h"
#include "model/tgis.h"
#include "server/guards.h"
#include "server/names.h"
#include "server/services_int.h"
#include "task/gather.h"
#include "task/held.h"

static void unref_tls(void *ctx)
{
    weir_tls_unref(ctx);
}

/* Many configurations name a certificate without a key for services that ask for no client
 * certificate. */
static enum weir_conf_severity severity_of(const struct weir_conf_tls *t)
{
    bool is_incomplete = t->cert_path.s.p != NULL && t->key_path.s.p == NULL;
    return is_incomplete && !t->is_used ? WEIR_CONF_WARNING : WEIR_CONF_ERROR;
}

/* Every entry is made, even if no service uses it: a wrong key is reported now and not at the
 * first call. */
static void build_tls(struct weir_services *b)
{
    b->tls = weir_arena_array(b->arena, b->conf->n_tls, sizeof(void *));
    for (size_t i = 0; i < b->conf->n_tls; i++) {
        const struct weir_conf_tls *t = b->conf->tls[i];
        struct weir_tls_options options = {.cert_path = t->cert_path.s.p,
                                           .key_path = t->key_path.s.p,
                                           .ca_path = t->client_ca_cert_path.s.p,
                                           .insecure = t->insecure,
                                           .offer_h2 = true};
        struct weir_buf why = {0};
        b->tls[i] = weir_tls_new_client(&options, &why);
        if (b->tls[i] != NULL) {
            weir_arena_defer(b->arena, unref_tls, b->tls[i]);
        } else {
            weir_conf_problems_add(b->problems, severity_of(t), t->at, "%s", weir_buf_cstr(&why));
        }
        weir_buf_dispose(&why);
    }
}

static struct weir_tls *find_tls(const struct weir_services *b, const struct weir_conf_tls *wanted)
{
    for (size_t i = 0; wanted != NULL && i < b->conf->n_tls; i++) {
        if (b->conf->tls[i] == wanted) {
            return b->tls[i];
        }
    }
    return NULL;
}

/* At each service as many calls may wait as callers may have connections. */
const struct weir_target *weir_services__target(struct weir_services *b, struct weir_slice id,
                                                const struct weir_conf_service *s,
                                                enum weir_target_protocol protocol,
                                                const char *kind)
{
    struct weir_target *t = weir_arena_alloc(b->arena, sizeof *t);
    *t = (struct weir_target){
        .id = id,
        .kind = kind,
        .hostname = s->hostname.s.p,
        .port = (uint16_t)s->port,
        .protocol = protocol,
        .tls = find_tls(b, s->tls),
        .path_prefix = s->path_prefix.s,
        .api_token = s->api_token,
        .connect_timeout_ms = s->connect_timeout_ms,
        .first_byte_timeout_ms = s->first_byte_timeout_ms,
        .idle_timeout_ms = s->idle_timeout_ms,
        .request_timeout_ms = s->request_timeout_ms,
        .keep_alive_interval_ms = s->http2_keep_alive_interval_ms,
        .keep_alive_timeout_ms = s->keep_alive_timeout_ms,
        .dns_interval_ms = s->grpc_dns_probe_interval_ms,
        .max_retries = s->max_retries,
        .max_concurrent = b->conf->limits.max_connections,
        .max_waiting = b->conf->limits.max_connections,
    };
    return t;
}

/* Ids are unique among detectors and among chunkers, but not across: the later one says what it
 * is. */
struct weir_probe_service *weir_services__probe(struct weir_services *b,
                                                const struct weir_target *target,
                                                const struct weir_probe_kind *kind)
{
    struct weir_probe_service *p = &b->probes[b->n_probes++];
    struct weir_slice id = target->id;
    while (weir_map_has(&b->probe_ids, id)) {
        id = weir_slice_cstr(
            weir_arena_printf(b->arena, "%.*s (%s)", (int)id.n, id.p, target->kind));
    }
    *p = (struct weir_probe_service){.id = id, .kind = kind, .target = target};
    weir_map_put(&b->probe_ids, id, p);
    return p;
}

/* A service over HTTP; its health may be asked at another address. */
static const struct weir_target *add_http(struct weir_services *b, struct weir_slice id,
                                          const struct weir_conf_service *service,
                                          const struct weir_conf_service *health, const char *kind)
{
    const struct weir_target *target =
        weir_services__target(b, id, service, WEIR_TARGET_HTTP, kind);
    const struct weir_target *asked =
        health != NULL ? weir_services__target(b, id, health, WEIR_TARGET_HTTP, kind) : target;
    weir_services__probe(b, asked, &weir_probe_http);
    return target;
}

static const struct weir_target *add_grpc(struct weir_services *b, struct weir_slice id,
                                          const struct weir_conf_service *service,
                                          const struct weir_probe_kind *probe, const char *kind)
{
    const struct weir_target *target = weir_services__target(b, id, service, WEIR_TARGET_H2, kind);
    weir_services__probe(b, target, probe);
    return target;
}

static const struct weir_model *build_openai(struct weir_services *b)
{
    const struct weir_conf_openai *o = &b->conf->openai;
    if (o->kind == WEIR_CONF_OPENAI_DEMO) {
        struct weir_model_demo *demo = weir_arena_alloc(b->arena, sizeof *demo);
        weir_model_demo_init(demo);
        b->env->has_demo_model = true;
        return &demo->base;
    }
    if (o->kind != WEIR_CONF_OPENAI_REMOTE) {
        return NULL;
    }
    struct weir_model_openai *m = weir_arena_alloc(b->arena, sizeof *m);
    weir_model_openai_init(
        m, add_http(b, WEIR_SLICE("openai"), o->service, o->health_service, WEIR_SERVICES_MODEL));
    if (o->health_service == NULL) { /* then check-services may ask for the models instead */
        b->probes[b->n_probes - 1].path = WEIR_SLICE("/v1/models");
    }
    return &m->base;
}

static const struct weir_model *build_generation(struct weir_services *b)
{
    const struct weir_conf_generation *g = &b->conf->generation;
    if (!g->is_configured) {
        return NULL;
    }
    struct weir_model_grpc *m = weir_arena_alloc(b->arena, sizeof *m);
    struct weir_slice id = WEIR_SLICE("generation");
    if (g->provider == WEIR_CONF_TGIS) {
        weir_model_tgis_init(m, add_grpc(b, id, g->service, &weir_probe_tgis, WEIR_SERVICES_MODEL));
    } else {
        weir_model_nlp_init(m, add_grpc(b, id, g->service, &weir_probe_grpc, WEIR_SERVICES_MODEL));
    }
    return &m->base;
}

static const struct weir_chunker *build_remote_chunker(struct weir_services *b,
                                                       const struct weir_conf_chunker *c)
{
    struct weir_chunk_remote *r = weir_arena_zalloc(b->arena, sizeof *r);
    weir_chunk_remote_init(r, c->id.s,
                           add_grpc(b, c->id.s, c->service, &weir_probe_grpc, "chunker"));
    r->no_passthrough = b->conf->compat == WEIR_CONF_FMS;
    return &r->base;
}

static const struct weir_chunker *build_builtin_chunker(struct weir_services *b,
                                                        const struct weir_conf_chunker *c)
{
    struct weir_chunk_builtin_options options = {c->builtin.s, c->id.s, c->params};
    struct weir_buf why = {0};
    const struct weir_chunker *made = weir_chunk_builtin_new(b->arena, &options, &why);
    if (made == NULL) {
        weir_conf_problems_add(b->problems, WEIR_CONF_ERROR, c->params_at, "chunker `%.*s`: %s",
                               (int)c->id.s.n, c->id.s.p, weir_buf_cstr(&why));
    }
    weir_buf_dispose(&why);
    return made;
}

static void build_chunkers(struct weir_services *b)
{
    b->chunkers = weir_arena_array(b->arena, b->conf->n_chunkers, sizeof(void *));
    for (size_t i = 0; i < b->conf->n_chunkers; i++) {
        const struct weir_conf_chunker *c = &b->conf->chunkers[i];
        b->chunkers[i] =
            c->builtin.s.p == NULL ? build_remote_chunker(b, c) : build_builtin_chunker(b, c);
    }
}

static enum weir_detect_type detect_type(enum weir_conf_detector_type type)
{
    switch (type) {
    case WEIR_CONF_TEXT_CHAT:
        return WEIR_DETECT_CHAT;
    case WEIR_CONF_TEXT_CONTEXT_DOC:
        return WEIR_DETECT_CONTEXT_DOC;
    case WEIR_CONF_TEXT_GENERATION:
        return WEIR_DETECT_GENERATION;
    case WEIR_CONF_TEXT_CONTENTS:
    default:
        return WEIR_DETECT_CONTENTS;
    }
}

static void dispose_builtin_detector(void *ctx)
{
    weir_builtin_dispose(ctx);
}

enum { BUILTIN_KEEP_BYTES = 4096 }; /* below it, looking is as fast as remembering */

static const struct weir_detector *build_builtin_detector(struct weir_services *b,
                                                          const struct weir_conf_detector *d)
{
    struct weir_builtin *made = weir_arena_zalloc(b->arena, sizeof *made);
    struct weir_buf why = {0};
    int rc = weir_detect_builtin_init(made, d->builtin.s, d->id.s, d->params, &why);
    if (rc == 0) {
        weir_services__keep_verdicts(&made->base, d, BUILTIN_KEEP_BYTES);
        weir_arena_defer(b->arena, dispose_builtin_detector, made);
        weir_names_check(b->problems, &(struct weir_names_of){.kind = made->kind,
                                                              .id = d->id.s,
                                                              .params = d->params,
                                                              .at = d->params_at});
    } else {
        weir_conf_problems_add(b->problems, WEIR_CONF_ERROR, d->params_at, "detector `%.*s`: %s",
                               (int)d->id.s.n, d->id.s.p, weir_buf_cstr(&why));
    }
    weir_buf_dispose(&why);
    return rc == 0 ? &made->base : NULL;
}

static const struct weir_detector *build_detector(struct weir_services *b,
                                                  const struct weir_conf_detector *d)
{
    if (d->service == NULL && d->provider == NULL) {
        return d->builtin.s.p != NULL ? build_builtin_detector(b, d) : NULL;
    }
    return weir_services__remote_detector(b, d, detect_type(d->type));
}

static void build_detectors(struct weir_services *b)
{
    const struct weir_conf *conf = b->conf;
    struct weir_task_env *tasks = &b->env->tasks;
    struct weir_task_detector *all = weir_arena_array(b->arena, conf->n_detectors, sizeof *all);
    for (size_t i = 0; i < conf->n_detectors; i++) {
        const struct weir_conf_detector *d = &conf->detectors[i];
        const struct weir_detector *detector = build_detector(b, d);
        const struct weir_chunker *chunker =
            d->chunker != NULL ? b->chunkers[d->chunker - conf->chunkers] : NULL;
        if (detector == NULL) {
            continue;
        }
        struct weir_task_detector *t = &all[tasks->n_detectors++];
        *t = (struct weir_task_detector){.id = d->id.s,
                                         .detector = detector,
                                         .chunker = chunker,
                                         .default_threshold = d->default_threshold,
                                         .reads_along = d->reads_along,
                                         .held = weir_held_histogram(d->id.s),
                                         .is_shadow = d->mode == WEIR_CONF_SHADOW,
                                         .skips_errors = d->on_error == WEIR_CONF_ON_ERROR_SKIP};
        if (t->skips_errors) {
            t->skipped = weir_skips_counter(d->id.s);
        }
        if (d->reads_along && d->builtin.s.p != NULL && !weir_reading_can(detector)) {
            weir_conf_problems_add(b->problems, WEIR_CONF_ERROR, d->params_at,
                                   "detector `%.*s` needs a `chunker_id`: with a pattern that may "
                                   "match more than 1,024 bytes it cannot read along",
                                   (int)d->id.s.n, d->id.s.p);
        }
        weir_map_put(&tasks->detectors_by_id, t->id, t);
    }
    tasks->detectors = all;
}

/* ---- what routes promise */

enum { PROMISED_OVERLAP_CP = 64 }; /* as long as most of what patterns find */

static bool cuts_findings(const struct weir_chunker *c)
{
    return !c->is_whole_doc && c->before_cp < PROMISED_OVERLAP_CP;
}

static bool is_reader(struct weir_slice builtin)
{
    const struct weir_builtin_kind *kind = weir_detect_builtin_find(builtin);
    return kind != NULL && kind->reader != NULL;
}

static void check_promise(struct weir_services *b, const struct weir_conf_route *route,
                          const struct weir_conf_use *uses, size_t n_uses)
{
    for (size_t i = 0; i < n_uses; i++) {
        const struct weir_conf_detector *d = uses[i].detector;
        const struct weir_chunker *chunker =
            d->chunker != NULL ? b->chunkers[d->chunker - b->conf->chunkers] : NULL;
        if (d->builtin.s.p == NULL || chunker == NULL || chunker->is_whole_doc ||
            d->mode == WEIR_CONF_SHADOW) {
            continue;
        }
        const char *action = weir_conf_action_name(route->on_detection);
        if (cuts_findings(chunker)) {
            weir_conf_problems_add(
                b->problems, WEIR_CONF_WARNING, uses[i].at,
                "route `%.*s` promises to %s what detector `%.*s` finds, but chunker `%.*s` can "
                "cut "
                "a finding in two: leave out its `chunker_id`, or use a `window` chunker with "
                "`overlap` of at least %d",
                (int)route->name.s.n, route->name.s.p, action, (int)d->id.s.n, d->id.s.p,
                (int)chunker->id.n, chunker->id.p, PROMISED_OVERLAP_CP);
        } else if (is_reader(d->builtin.s)) {
            weir_conf_problems_add(
                b->problems, WEIR_CONF_WARNING, uses[i].at,
                "route `%.*s` promises to %s what detector `%.*s` finds, but of a finding longer "
                "than the %zu characters by which the windows of chunker `%.*s` overlap, parts may "
                "leave: leave out its `chunker_id`, and it reads along",
                (int)route->name.s.n, route->name.s.p, action, (int)d->id.s.n, d->id.s.p,
                chunker->before_cp, (int)chunker->id.n, chunker->id.p);
        }
    }
}

static void check_promises(struct weir_services *b)
{
    for (size_t i = 0; i < b->conf->n_routes; i++) {
        const struct weir_conf_route *route = &b->conf->routes[i];
        if (route->on_detection != WEIR_CONF_ANNOTATE) {
            check_promise(b, route, route->input, route->n_input);
            check_promise(b, route, route->output, route->n_output);
        }
    }
}

static void fill_limits(struct weir_task_env *tasks, const struct weir_conf *conf)
{
    tasks->compat = conf->compat == WEIR_CONF_FMS ? weir_compat_fms : (struct weir_compat){0};
    tasks->max_detector_calls = conf->detector_concurrent_requests;
    tasks->max_chunker_calls = conf->chunker_concurrent_requests;
    tasks->max_service_body_bytes = conf->limits.max_service_body_bytes;
    tasks->max_event_bytes = conf->limits.max_event_bytes;
    tasks->max_held_bytes = conf->limits.max_held_bytes_per_stream;
    tasks->max_remembered_bytes = conf->limits.max_remembered_bytes;
    tasks->max_choices = conf->limits.max_choices;
    tasks->max_tool_calls = conf->limits.max_tool_calls;
    const char *strategy = weir_conf_aggregation_name(conf->aggregation);
    tasks->strategy = weir_gather_strategy_find(weir_slice_cstr(strategy));
    WEIR_ASSERT(tasks->strategy != NULL);
}

void weir_services_build(struct weir_env *env, struct weir_conf_problems *problems)
{
    enum { N_MODELS = 2 };
    struct weir_services b = {
        .env = env, .conf = env->conf, .arena = &env->arena, .problems = problems};
    size_t max_probes = N_MODELS + b.conf->n_providers + b.conf->n_chunkers + b.conf->n_detectors;
    b.probes = weir_arena_array(b.arena, max_probes, sizeof *b.probes);
    build_tls(&b);
    env->tasks.openai = weir_services__fleet(&b, build_openai(&b));
    env->tasks.generation = build_generation(&b);
    build_chunkers(&b);
    build_detectors(&b);
    check_promises(&b);
    fill_limits(&env->tasks, b.conf);
    weir_guards_build(env, problems);
    env->services = b.probes;
    env->n_services = b.n_probes;
    weir_map_dispose(&b.probe_ids);
}
