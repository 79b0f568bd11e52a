/* Checks that need more than one section. */
#include "conf/conf_sections.h"

static void error_at(struct weir_conf_reader *r, struct weir_conf_pos at, const char *text)
{
    weir_conf_problems_add(r->problems, WEIR_CONF_ERROR, at, "%s", text);
}

/* Rules that hold for the values in effect, not for one key alone. */
static bool check_batching(struct weir_conf_reader *r, const struct weir_conf_batching *b,
                           struct weir_conf_pos at, const char *context)
{
    size_t n_errors = r->problems->n_errors;
    if (b->idle_flush_ms != WEIR_BATCH_IDLE_AUTO && b->idle_flush_ms > b->max_latency_ms) {
        error_at(r, at,
                 weir_arena_printf(r->scratch,
                                   "`idle_flush_ms` (%u) must not exceed `max_latency_ms` (%u)%s",
                                   b->idle_flush_ms, b->max_latency_ms, context));
    }
    if (b->ramp_factor == 1) {
        error_at(r, at,
                 weir_arena_printf(r->scratch, "`ramp_factor` must be 0 or at least 2%s", context));
    }
    return r->problems->n_errors == n_errors;
}

/* Layers are checked as they will be laid over each other; one report for each layer. */
static void check_layer(struct weir_conf_reader *r, const struct weir_conf_stream_policy *layer,
                        const char *what, struct weir_slice name)
{
    if (layer->batching.set == 0) {
        return;
    }
    const struct weir_conf_streaming *s = &r->conf->streaming;
    struct weir_conf_stream_policy p = weir_conf__stream_lay(&s->policy, layer);
    const char *context =
        weir_arena_printf(r->scratch, " for %s %s", what, weir_conf__name(r, name));
    check_batching(r, &p.batching, layer->batching.at, context);
}

static void check_model_on_routes(struct weir_conf_reader *r,
                                  const struct weir_conf_stream_model *model)
{
    const struct weir_conf *conf = r->conf;
    for (size_t i = 0; i < conf->n_routes; i++) {
        const struct weir_conf_route *route = &conf->routes[i];
        if (route->streaming.batching.set == 0 || model->policy.batching.set == 0) {
            continue;
        }
        struct weir_conf_stream_policy p =
            weir_conf__stream_lay(&conf->streaming.policy, &route->streaming);
        p = weir_conf__stream_lay(&p, &model->policy);
        const char *context =
            weir_arena_printf(r->scratch, " for model %s on route %s",
                              weir_conf__name(r, model->glob.s), weir_conf__name(r, route->name.s));
        if (!check_batching(r, &p.batching, model->policy.batching.at, context)) {
            return;
        }
    }
}

static void check_streaming(struct weir_conf_reader *r)
{
    const struct weir_conf *conf = r->conf;
    const struct weir_conf_streaming *s = &conf->streaming;
    if (!check_batching(r, &s->policy.batching, s->policy.batching.at, "")) {
        return; /* every layer above would inherit and repeat it */
    }
    size_t n_errors = r->problems->n_errors;
    for (size_t i = 0; i < conf->n_routes; i++) {
        check_layer(r, &conf->routes[i].streaming, "route", conf->routes[i].name.s);
    }
    for (size_t i = 0; i < s->n_models; i++) {
        check_layer(r, &s->models[i].policy, "model", s->models[i].glob.s);
    }
    for (size_t i = 0; i < s->n_models && r->problems->n_errors == n_errors; i++) {
        check_model_on_routes(r, &s->models[i]);
    }
}

/* Anthropic signs what a model thinks, and a changed block cannot be sent back without a seal. */
static void check_seal(struct weir_conf_reader *r, const struct weir_conf_node *routes)
{
    const struct weir_conf *conf = r->conf;
    bool has_signatures = false;
    for (size_t i = 0; i < conf->n_providers; i++) {
        has_signatures = has_signatures || conf->providers[i].kind == WEIR_CONF_PROVIDER_ANTHROPIC;
    }
    for (size_t i = 0; i < conf->n_routes && has_signatures && conf->seal_key.n == 0; i++) {
        const struct weir_conf_route *route = &conf->routes[i];
        if (route->on_detection == WEIR_CONF_REDACT && route->n_output != 0) {
            weir_conf__warn(r, routes,
                            "route %s: a finding in signed thinking ends the answer, since it "
                            "cannot be replaced without `seal_key_env`",
                            weir_conf__name(r, route->name.s));
            return;
        }
    }
}

void weir_conf__check(struct weir_conf_reader *r, const struct weir_conf_node *root)
{
    const struct weir_conf *conf = r->conf;
    if (root->kind != WEIR_CONF_MAPPING) {
        return;
    }
    bool has_model = weir_conf_has_models(conf) || conf->generation.is_configured ||
                     weir_conf__get(root, "models") != NULL;
    if (!has_model && conf->n_detectors == 0 && weir_conf__get(root, "detectors") == NULL) {
        weir_conf__error(r, root,
                         "nothing to serve: `detectors`, `openai`, `models` and `generation` are "
                         "all absent");
    }
    const struct weir_conf_node *routes = weir_conf__get(root, "routes");
    if (conf->n_routes > 0 && !weir_conf_has_models(conf) &&
        weir_conf__get(root, "models") == NULL) {
        weir_conf__error(r, routes,
                         "`routes` need a model server: write `openai:` with a `service`, or with "
                         "`builtin: demo`, or `providers:` and `models:`");
    }
    weir_conf__check_models(r);
    check_streaming(r);
    check_seal(r, routes);
}
