#include "route/batching.h"

#include "base/err.h"
#include "emit/override.h"
#include "route/env.h"

static struct weir_batch_fields names_of(struct weir_arena *arena,
                                         const struct weir_conf_list *list)
{
    struct weir_slice *names = weir_arena_array(arena, list->n, sizeof *names);
    for (size_t i = 0; i < list->n; i++) {
        names[i] = list->items[i].s;
    }
    return (struct weir_batch_fields){names, list->n};
}

/* Rows of base/stream_options.h: from the configuration's field to the engine's member. */
#define COPY(key, member, ...) o.member = from->key;
#define COPY_LIST(key, member, ...) o.member = names_of(arena, &from->key);

/* What both stages share. */
static struct weir_batch_options common(const struct weir_conf *conf, struct weir_arena *arena,
                                        const struct weir_conf_batching *from,
                                        enum weir_batch_stage stage)
{
    struct weir_batch_options o = weir_batch_defaults(stage);
    WEIR_STREAM_JOINING(COPY, COPY, COPY, COPY_LIST)
    o.max_stream_buffer_bytes = conf->limits.max_stream_buffer_bytes;
    o.max_choices = conf->limits.max_choices;
    o.max_tool_calls = conf->limits.max_tool_calls;
    return o;
}

static struct weir_batch_options adapter_of(const struct weir_conf *conf, struct weir_arena *arena,
                                            const struct weir_conf_batching *from)
{
    struct weir_batch_options o = common(conf, arena, from, WEIR_BATCH_ADAPTER);
    const struct weir_conf_reasoning *r = &from->reasoning;
    WEIR_STREAM_PACE(COPY, COPY, COPY, COPY)
    o.reasoning_min_chars = r->inherits_min_chars ? WEIR_BATCH_INHERIT : r->min_chars_per_emit;
    o.reasoning_max_latency_ms = r->inherits_max_latency ? WEIR_BATCH_INHERIT : r->max_latency_ms;
    return o;
}

static struct weir_batch_options business_of(const struct weir_conf *conf, struct weir_arena *arena,
                                             const struct weir_conf_stream_policy *p,
                                             bool looks_at_tools)
{
    const struct weir_conf_coalescer *from = &p->coalescer;
    struct weir_batch_options o = common(conf, arena, &p->batching, WEIR_BATCH_BUSINESS);
    WEIR_STREAM_COALESCER(COPY, COPY, COPY)
    if (looks_at_tools && o.tool_call_gate == WEIR_BATCH_GATE_CLOSED) {
        o.tool_call_gate = WEIR_BATCH_GATE_FINISH;
    }
    return o;
}

static struct weir_dedup_options dedup_of(const struct weir_conf_dedup *from)
{
    struct weir_dedup_options o = weir_dedup_defaults();
    WEIR_STREAM_DEDUP(COPY, COPY)
    return o;
}

/* ---- settings in short ---- */

static const char *mode_name(enum weir_batch_mode mode)
{
    static const char *const names[] = {
        [WEIR_BATCH_OFF] = "off", [WEIR_BATCH_METRICS] = "metrics", [WEIR_BATCH_ON] = "on"};
    return names[mode];
}

struct weir_slice weir_batching_settings(const struct weir_chain_options *chain,
                                         struct weir_arena *arena)
{
    const struct weir_batch_options *a = &chain->adapter;
    const struct weir_batch_options *b = &chain->business;
    struct weir_buf out = {0};
    weir_buf_printf(&out, "batching=%s", mode_name(a->mode));
    if (a->mode != WEIR_BATCH_OFF) {
        weir_buf_printf(&out, "/%u/%u/", (unsigned)a->min_chars_per_emit,
                        (unsigned)a->max_latency_ms);
        if (a->idle_flush_ms == WEIR_BATCH_IDLE_AUTO) {
            weir_buf_append(&out, WEIR_SLICE("auto"));
        } else {
            weir_buf_printf(&out, "%u", (unsigned)a->idle_flush_ms);
        }
    }
    weir_buf_printf(&out, ",coalescer=%s", mode_name(b->mode));
    if (b->mode != WEIR_BATCH_OFF) {
        weir_buf_printf(&out, "/%u/%u/%u", (unsigned)b->min_delta_chars,
                        (unsigned)b->max_partial_count, (unsigned)b->max_latency_ms);
    }
    return weir_arena_take_buf(arena, &out);
}

#define ANY_MODEL WEIR_SLICE("*")

static struct weir_slice profile_of(const struct weir_conf_stream_model *match)
{
    return match != NULL ? match->glob.s : ANY_MODEL;
}

static bool has_settings(const struct weir_conf *conf, const struct weir_conf_route *route,
                         const struct weir_conf_stream_model *match, struct weir_slice settings,
                         struct weir_arena *arena)
{
    struct weir_conf_stream_policy p =
        weir_conf_stream_resolve(&conf->streaming, route != NULL ? &route->streaming : NULL, match);
    struct weir_chain_options chain = {.adapter = adapter_of(conf, arena, &p.batching),
                                       .business = business_of(conf, arena, &p, false)};
    return weir_slice_eq(weir_batching_settings(&chain, arena), settings);
}

struct weir_batching_known weir_batching_known(const struct weir_conf *conf,
                                               struct weir_slice profile,
                                               struct weir_slice settings, struct weir_arena *arena)
{
    const struct weir_conf_streaming *streaming = &conf->streaming;
    const struct weir_conf_stream_model *match = NULL;
    for (size_t i = 0; i < streaming->n_models && match == NULL; i++) {
        match = weir_slice_eq(streaming->models[i].glob.s, profile) ? &streaming->models[i] : NULL;
    }
    struct weir_batching_known known = {.is_profile =
                                            match != NULL || weir_slice_eq(profile, ANY_MODEL)};
    known.is_settings = has_settings(conf, NULL, match, settings, arena);
    for (size_t i = 0; i < conf->n_routes && !known.is_settings; i++) {
        known.is_settings = has_settings(conf, &conf->routes[i], match, settings, arena);
    }
    return known;
}

/* ---- what a request asks for ---- */

/* The header first, all lines of it, then the body over it, key by key. */
static int parse_override(const struct weir_http_stream *s, const struct weir_json *body,
                          struct weir_override *override, struct weir_buf *why)
{
    for (size_t i = 0; i < s->req.n_fields; i++) {
        const struct weir_http_field *field = &s->req.fields[i];
        int rc = 0;
        if (weir_slice_eq_nocase(field->name, WEIR_SLICE("x-stream-batching"))) {
            rc = weir_override_parse_header(override, field->value, why);
        }
        if (rc != 0) {
            return rc;
        }
    }
    uint32_t options = weir_json_get_set(body, 0, WEIR_SLICE("stream_options"));
    bool has_options =
        options != WEIR_JSON_NONE && weir_json_type(body, options) == WEIR_JSON_OBJECT;
    uint32_t batching =
        has_options ? weir_json_get_set(body, options, WEIR_SLICE("batching")) : WEIR_JSON_NONE;
    return batching != WEIR_JSON_NONE ? weir_override_parse_body(override, body, batching, why) : 0;
}

static int apply_override(const struct weir_http_stream *s,
                          const struct weir_batching_request *request, const struct weir_conf *conf,
                          struct weir_batching *out, struct weir_buf *why)
{
    struct weir_override override = {0};
    int rc = parse_override(s, request->body, &override, why);
    if (rc != 0 || override.set == 0) {
        return rc;
    }
    const struct weir_conf_request_override *limits = &conf->streaming.request_override;
    struct weir_override_limits clamps = {.is_enabled = limits->enabled,
                                          .max_latency_ms = limits->max_latency_ms,
                                          .min_chars_per_emit = limits->min_chars_per_emit};
    return weir_override_apply(&override, &clamps, &out->chain.adapter, why);
}

/* The public program knows nothing of this, nor of what a request could ask for. */
static void switch_off(struct weir_chain_options *chain)
{
    chain->dedup.mode = WEIR_DEDUP_OFF;
    chain->adapter.mode = WEIR_BATCH_OFF;
    chain->business.mode = WEIR_BATCH_OFF;
}

static bool is_unknown(const struct weir_conf *conf, const struct weir_batching_request *request)
{
    return conf->compat == WEIR_CONF_FMS && request->route == NULL;
}

int weir_batching_check(struct weir_http_stream *s, const struct weir_batching_request *request,
                        struct weir_buf *why)
{
    struct weir_override ignored = {0};
    bool is_ours = !is_unknown(weir_request_of(s)->env->conf, request);
    return is_ours ? parse_override(s, request->body, &ignored, why) : 0;
}

int weir_batching_resolve(struct weir_http_stream *s, const struct weir_batching_request *request,
                          struct weir_batching *out, struct weir_buf *why)
{
    const struct weir_conf *conf = weir_request_of(s)->env->conf;
    *out = (struct weir_batching){.model = request->model,
                                  .route = request->route != NULL ? request->route->name.s
                                                                  : WEIR_SLICE("api")};
    const struct weir_conf_stream_model *match =
        weir_conf_stream_match(&conf->streaming, request->model);
    struct weir_conf_stream_policy policy = weir_conf_stream_resolve(
        &conf->streaming, request->route != NULL ? &request->route->streaming : NULL, match);
    out->chain.dedup = dedup_of(&policy.dedup);
    out->chain.adapter = adapter_of(conf, &s->arena, &policy.batching);
    out->chain.business = business_of(conf, &s->arena, &policy, request->looks_at_tools);
    if (is_unknown(conf, request)) {
        switch_off(&out->chain);
        return 0;
    }
    int rc = apply_override(s, request, conf, out, why);
    out->profile = profile_of(match);
    out->settings = weir_batching_settings(&out->chain, &s->arena);
    out->is_used = rc == 0 && (out->chain.dedup.mode != WEIR_DEDUP_OFF ||
                               out->chain.adapter.mode != WEIR_BATCH_OFF ||
                               out->chain.business.mode != WEIR_BATCH_OFF);
    return rc;
}
