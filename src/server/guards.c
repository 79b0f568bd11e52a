#include "server/guards.h"

#include "base/buf.h"
#include "route/openai.h"
#include "task/channel.h"
#include "wire/json.h"

/* A route's parameters, as a detector is sent them. */
static struct weir_slice params_of(const struct weir_conf_use *use, struct weir_arena *arena)
{
    struct weir_json json;
    if (weir_json_parse(&json, use->params, NULL, arena, NULL) != 0) {
        return WEIR_SLICE("{}");
    }
    return weir_plan_params(&json, 0, arena);
}

static struct weir_plan plan_of(struct weir_env *env, const struct weir_conf_use *uses, size_t n)
{
    struct weir_plan_use *made = weir_arena_array(&env->arena, n, sizeof *made);
    size_t n_made = 0;
    for (size_t i = 0; i < n; i++) {
        const struct weir_task_detector *d =
            weir_map_get(&env->tasks.detectors_by_id, uses[i].detector->id.s);
        if (d != NULL) { /* else the configuration has an error, told already */
            made[n_made++] = (struct weir_plan_use){
                .d = d, .threshold = uses[i].threshold, .params = params_of(&uses[i], &env->arena)};
        }
    }
    return (struct weir_plan){.uses = made, .n = n_made};
}

static enum weir_policy_action action_of(enum weir_conf_action action)
{
    switch (action) {
    case WEIR_CONF_BLOCK:
        return WEIR_POLICY_BLOCK;
    case WEIR_CONF_REDACT:
        return WEIR_POLICY_REDACT;
    case WEIR_CONF_ANNOTATE:
        break;
    }
    return WEIR_POLICY_ANNOTATE;
}

/* The channels that a route looks at, as its answers name them. */
static struct weir_slice guarded_channels(const struct weir_guarded *g, struct weir_arena *arena)
{
    struct weir_buf out = {0};
    size_t n = weir_policy_enforces(&g->policy) ? WEIR_CHANNEL_TOOLS + 1 : 1;
    for (size_t i = 0; i < n; i++) {
        if (i != 0) {
            weir_buf_append_byte(&out, ',');
        }
        weir_buf_append(&out, weir_slice_cstr(weir_channel_name((enum weir_channel)i)));
    }
    struct weir_slice text = weir_arena_dup(arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return text;
}

static void add_field(struct weir_guarded *g, struct weir_slice name, struct weir_slice value)
{
    g->fields[g->n_fields++] = (struct weir_http_field){name, value};
}

static void build(struct weir_env *env, const struct weir_conf_route *conf, struct weir_guarded *g)
{
    g->conf = conf;
    g->input = plan_of(env, conf->input, conf->n_input);
    g->output = plan_of(env, conf->output, conf->n_output);
    g->policy =
        (struct weir_policy){.action = action_of(conf->on_detection),
                             .fallback = conf->fallback_message.s,
                             .redact_with = conf->redact_with.s,
                             .keeps_unknown = conf->unknown_members == WEIR_CONF_UNKNOWN_PASS};
    weir_openai_count_for(&g->policy, conf->name.s);
    add_field(g, WEIR_SLICE("x-weir-route"), conf->name.s);
    add_field(g, WEIR_SLICE("x-weir-policy"),
              weir_slice_cstr(weir_conf_action_name(conf->on_detection)));
    if (g->output.n != 0) {
        add_field(g, WEIR_SLICE("x-weir-guarded"), guarded_channels(g, &env->arena));
    }
}

void weir_guards_build(struct weir_env *env)
{
    const struct weir_conf *conf = env->conf;
    struct weir_guarded *all = weir_arena_array(&env->arena, conf->n_routes, sizeof *all);
    for (size_t i = 0; i < conf->n_routes; i++) {
        build(env, &conf->routes[i], &all[i]);
    }
    env->guarded = all;
    env->route_tasks = env->tasks;
    env->route_tasks.is_fms = false;
}
