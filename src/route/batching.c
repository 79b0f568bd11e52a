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

static enum weir_batch_mode mode_of(enum weir_conf_mode mode)
{
    switch (mode) {
    case WEIR_CONF_MODE_METRICS:
        return WEIR_BATCH_METRICS;
    case WEIR_CONF_MODE_ON:
        return WEIR_BATCH_ON;
    case WEIR_CONF_MODE_OFF:
        break;
    }
    return WEIR_BATCH_OFF;
}

static enum weir_batch_role role_of(enum weir_conf_role role)
{
    switch (role) {
    case WEIR_CONF_ROLE_FIRST:
        return WEIR_BATCH_ROLE_FIRST;
    case WEIR_CONF_ROLE_EVERY:
        return WEIR_BATCH_ROLE_EVERY;
    case WEIR_CONF_ROLE_VERBATIM:
        return WEIR_BATCH_ROLE_VERBATIM;
    case WEIR_CONF_ROLE_AUTO:
        break;
    }
    return WEIR_BATCH_ROLE_AUTO;
}

/* What both stages share. */
static struct weir_batch_options common(const struct weir_conf *conf, struct weir_arena *arena,
                                        const struct weir_conf_batching *b,
                                        enum weir_batch_stage stage)
{
    struct weir_batch_options o = weir_batch_defaults(stage);
    o.obfuscation = b->obfuscation == WEIR_CONF_OBFUSCATION_REGENERATE
                        ? WEIR_BATCH_OBFUSCATION_REGENERATE
                        : WEIR_BATCH_OBFUSCATION_DROP;
    o.latest_wins = names_of(arena, &b->latest_wins_fields);
    o.append_arrays = names_of(arena, &b->append_array_fields);
    o.max_batch_bytes = b->max_batch_bytes;
    o.max_stream_buffer_bytes = conf->limits.max_stream_buffer_bytes;
    o.max_choices = conf->limits.max_choices;
    o.max_tool_calls = conf->limits.max_tool_calls;
    return o;
}

static struct weir_batch_options adapter_of(const struct weir_conf *conf, struct weir_arena *arena,
                                            const struct weir_conf_batching *b)
{
    struct weir_batch_options o = common(conf, arena, b, WEIR_BATCH_ADAPTER);
    o.mode = mode_of(b->mode);
    o.first_emit_immediate = b->first_emit_immediate;
    o.flush_on_tool_call = b->flush_on_tool_call;
    o.role_policy = role_of(b->role_policy);
    o.max_latency_ms = b->max_latency_ms;
    o.min_chars_per_emit = b->min_chars_per_emit;
    o.reasoning_min_chars =
        b->reasoning.inherits_min_chars ? WEIR_BATCH_INHERIT : b->reasoning.min_chars_per_emit;
    o.reasoning_max_latency_ms =
        b->reasoning.inherits_max_latency ? WEIR_BATCH_INHERIT : b->reasoning.max_latency_ms;
    o.idle_flush_ms = b->idle_flush_ms;
    o.flush_on_sentence = b->flush_on_sentence;
    o.ramp_factor = b->ramp_factor;
    o.ramp_initial_chars = b->ramp_initial_chars;
    return o;
}

static enum weir_batch_boundary boundary_of(enum weir_conf_boundary boundary)
{
    switch (boundary) {
    case WEIR_CONF_BOUNDARY_NONE:
        return WEIR_BATCH_BOUNDARY_NONE;
    case WEIR_CONF_BOUNDARY_SENTENCE:
        return WEIR_BATCH_BOUNDARY_SENTENCE;
    case WEIR_CONF_BOUNDARY_MARKDOWN:
        break;
    }
    return WEIR_BATCH_BOUNDARY_MARKDOWN;
}

static enum weir_batch_gate gate_of(enum weir_conf_gate gate, bool looks_at_tools)
{
    if (gate == WEIR_CONF_GATE_OFF) {
        return WEIR_BATCH_GATE_OFF;
    }
    return gate == WEIR_CONF_GATE_FINISH || looks_at_tools ? WEIR_BATCH_GATE_FINISH
                                                           : WEIR_BATCH_GATE_CLOSED;
}

static struct weir_batch_options business_of(const struct weir_conf *conf, struct weir_arena *arena,
                                             const struct weir_conf_stream_policy *p,
                                             bool looks_at_tools)
{
    const struct weir_conf_coalescer *c = &p->coalescer;
    struct weir_batch_options o = common(conf, arena, &p->batching, WEIR_BATCH_BUSINESS);
    o.mode = mode_of(c->mode);
    o.first_emit_immediate = c->first_emit_immediate;
    o.flush_on_tool_call = c->flush_on_tool_call;
    o.role_policy = role_of(c->role_policy);
    o.max_latency_ms = c->max_hold_ms;
    o.min_delta_chars = c->min_delta_chars;
    o.max_partial_count = c->max_partial_count;
    o.boundary = boundary_of(c->boundary);
    o.tool_call_gate = gate_of(c->tool_call_gate, looks_at_tools);
    o.tool_gate_emit_head = c->tool_gate_emit_head;
    o.max_tool_args_bytes = c->max_tool_args_bytes;
    o.max_tool_hold_ms = c->max_tool_hold_ms;
    o.on_incomplete =
        c->on_incomplete == WEIR_CONF_INCOMPLETE_DROP ? WEIR_BATCH_DROP : WEIR_BATCH_RELEASE;
    o.tool_gate_on_abort =
        c->tool_gate_on_abort == WEIR_CONF_ABORT_RELEASE ? WEIR_BATCH_RELEASE : WEIR_BATCH_DROP;
    o.tool_index_policy = c->tool_index_policy == WEIR_CONF_INDEX_REPAIR
                              ? WEIR_BATCH_INDEX_REPAIR
                              : WEIR_BATCH_INDEX_VERBATIM;
    return o;
}

static struct weir_dedup_options dedup_of(const struct weir_conf_dedup *d)
{
    static const enum weir_dedup_mode modes[] = {
        [WEIR_CONF_DEDUP_OFF] = WEIR_DEDUP_OFF,
        [WEIR_CONF_DEDUP_METRICS] = WEIR_DEDUP_METRICS,
        [WEIR_CONF_DEDUP_SAFE] = WEIR_DEDUP_SAFE,
        [WEIR_CONF_DEDUP_TEXT] = WEIR_DEDUP_TEXT,
    };
    struct weir_dedup_options o = weir_dedup_defaults();
    o.mode = modes[d->mode];
    o.window = d->window;
    o.min_chars = d->min_chars;
    return o;
}

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
    struct weir_conf_stream_policy policy = weir_conf_stream_resolve(
        &conf->streaming, request->route != NULL ? &request->route->streaming : NULL,
        request->model);
    out->chain.dedup = dedup_of(&policy.dedup);
    out->chain.adapter = adapter_of(conf, &s->arena, &policy.batching);
    out->chain.business = business_of(conf, &s->arena, &policy, request->looks_at_tools);
    if (is_unknown(conf, request)) {
        switch_off(&out->chain);
        return 0;
    }
    int rc = apply_override(s, request, conf, out, why);
    out->is_used = rc == 0 && (out->chain.dedup.mode != WEIR_DEDUP_OFF ||
                               out->chain.adapter.mode != WEIR_BATCH_OFF ||
                               out->chain.business.mode != WEIR_BATCH_OFF);
    return rc;
}
