#include "server/guards.h"

#include "base/buf.h"
#include "chunk/whole.h"
#include "detect/allow.h"
#include "detect/builtin.h"
#include "detect/canary.h"
#include "detect/reading.h"
#include "route/auth.h"
#include "route/holes.h"
#include "route/openai.h"
#include "server/describe.h"
#include "server/names.h"
#include "talk/channel.h"
#include "talk/walk.h"
#include "task/held.h"
#include "task/path.h"
#include "task/seal.h"
#include "wire/json.h"
#include "wire/json_write.h"

struct builder {
    struct weir_env *env;
    struct weir_arena *arena;
    struct weir_conf_problems *problems;
};

/* A route's parameters, as a service is sent them. */
static struct weir_slice params_of(struct builder *b, const struct weir_conf_use *use)
{
    struct weir_json json;
    struct weir_json_error why;
    if (weir_json_parse(&json, use->params, NULL, b->arena, &why) != 0) {
        weir_conf_problems_add(b->problems, WEIR_CONF_ERROR, use->at,
                               "parameters of detector `%.*s`: %s", (int)use->detector->id.s.n,
                               use->detector->id.s.p, why.what);
        return WEIR_SLICE("{}");
    }
    return weir_plan_params(&json, 0, b->arena);
}

static void dispose_builtin(void *ctx)
{
    weir_builtin_dispose(ctx);
}

/* A built-in with a route's own parameters is a detector of its own: what is wrong with them shows
 * now, and nothing is compiled while a request waits. */
static const struct weir_task_detector *
variant_of(struct builder *b, const struct weir_task_detector *d, const struct weir_conf_use *use)
{
    struct weir_builtin *made = weir_arena_zalloc(b->arena, sizeof *made);
    struct weir_task_detector *variant = weir_arena_alloc(b->arena, sizeof *variant);
    struct weir_buf why = {0};
    *variant = *d;
    variant->detector = &made->base;
    if (weir_builtin_init_like(made, weir_builtin_of(d->detector), use->params, b->arena, &why) !=
        0) {
        weir_conf_problems_add(b->problems, WEIR_CONF_ERROR, use->at, "detector `%.*s`: %s",
                               (int)d->id.n, d->id.p, weir_buf_cstr(&why));
    }
    weir_arena_defer(b->arena, dispose_builtin, made);
    weir_buf_dispose(&why);
    if (made->made != NULL && d->reads_along && !weir_reading_can(&made->base)) {
        weir_conf_problems_add(
            b->problems, WEIR_CONF_ERROR, use->at,
            "detector `%.*s` needs a `chunker_id`: with a pattern that may match "
            "more than 1,024 bytes it cannot read along",
            (int)d->id.n, d->id.p);
    }
    return variant;
}

/* The same detector without what the route allows. */
static const struct weir_task_detector *
allowing_of(struct builder *b, const struct weir_task_detector *d, const struct weir_conf_use *use)
{
    struct weir_allow *allow = weir_arena_zalloc(b->arena, sizeof *allow);
    struct weir_task_detector *made = weir_arena_alloc(b->arena, sizeof *made);
    struct weir_slice *patterns = weir_arena_array(b->arena, use->allow.n, sizeof *patterns);
    for (size_t i = 0; i < use->allow.n; i++) {
        patterns[i] = use->allow.items[i].s;
    }
    weir_allow_init(allow, d->detector, patterns, use->allow.n);
    *made = *d;
    made->detector = &allow->base;
    return made;
}

/* A guard in name only. */
static void warn_if_aimless(struct builder *b, const struct weir_builtin *builtin,
                            const struct weir_conf_use *use)
{
    const char *needs = builtin != NULL ? builtin->kind->needs : NULL;
    if (needs == NULL || weir_builtin_has_param(builtin->params, needs) ||
        weir_builtin_has_param(use->params, needs)) {
        return;
    }
    weir_conf_problems_add(
        b->problems, WEIR_CONF_WARNING, use->at,
        "detector `%.*s` looks for nothing here: neither its `params` nor the route's have `%s`",
        (int)use->detector->id.s.n, use->detector->id.s.p, needs);
}

/* The same names and bits in both rooms, which do not know each other. */
static uint32_t holes_of(uint32_t conf)
{
    uint32_t holes = 0;
    for (uint32_t bit = 1; weir_conf_hole_name(bit) != NULL; bit <<= 1) {
        if ((conf & bit) != 0) {
            holes |= weir_walk_hole_find(weir_slice_cstr(weir_conf_hole_name(bit)));
        }
    }
    return holes;
}

static uint32_t roles_of(uint32_t conf)
{
    static const struct {
        uint32_t bit;
        enum weir_walk_role role;
    } roles[] = {
        {WEIR_CONF_USER, WEIR_WALK_USER},           {WEIR_CONF_SYSTEM, WEIR_WALK_SYSTEM},
        {WEIR_CONF_DEVELOPER, WEIR_WALK_DEVELOPER}, {WEIR_CONF_TOOL, WEIR_WALK_TOOL},
        {WEIR_CONF_FUNCTION, WEIR_WALK_FUNCTION},   {WEIR_CONF_ASSISTANT, WEIR_WALK_ASSISTANT},
        {WEIR_CONF_NOBODY, WEIR_WALK_NOBODY}};
    uint32_t bits = 0;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        bits |= (conf & roles[i].bit) != 0 ? UINT32_C(1) << roles[i].role : 0;
    }
    return bits;
}

static uint32_t channels_of(uint32_t conf)
{
    static const struct {
        uint32_t bit;
        enum weir_channel channel;
    } channels[] = {{WEIR_CONF_CONTENT, WEIR_CHANNEL_CONTENT},
                    {WEIR_CONF_REASONING, WEIR_CHANNEL_REASONING},
                    {WEIR_CONF_REASONING, WEIR_CHANNEL_REASONING_CONTENT},
                    {WEIR_CONF_REFUSAL, WEIR_CHANNEL_REFUSAL},
                    {WEIR_CONF_TRANSCRIPT, WEIR_CHANNEL_TRANSCRIPT},
                    {WEIR_CONF_TOOL_CALLS, WEIR_CHANNEL_TOOLS}};
    uint32_t bits = 0;
    for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
        bits |= (conf & channels[i].bit) != 0 ? UINT32_C(1) << channels[i].channel : 0;
    }
    return bits;
}

static const struct weir_slice *texts_of(struct builder *b, const struct weir_conf_list *list);

static struct weir_plan plan_of(struct builder *b, enum weir_conf_mode mode, bool enforces,
                                const struct weir_conf_use *uses, size_t n)
{
    struct weir_plan_use *made = weir_arena_array(b->arena, n, sizeof *made);
    size_t n_made = 0;
    for (size_t i = 0; i < n; i++) {
        const struct weir_task_detector *d =
            weir_map_get(&b->env->tasks.detectors_by_id, uses[i].detector->id.s);
        /* One that could not be made was reported: this environment will not be used. */
        if (d == NULL || uses[i].detector->mode != mode) {
            continue;
        }
        struct weir_plan_use *use = &made[n_made++];
        *use = (struct weir_plan_use){.d = d, .threshold = uses[i].threshold};
        use->params = params_of(b, &uses[i]);
        warn_if_aimless(b, weir_builtin_of(d->detector), &uses[i]);
        if (weir_builtin_of(d->detector) != NULL && !weir_slice_eq_cstr(use->params, "{}")) {
            weir_names_check(b->problems,
                             &(struct weir_names_of){.kind = weir_builtin_of(d->detector)->kind,
                                                     .id = d->id,
                                                     .params = use->params,
                                                     .at = uses[i].at});
            use->d = variant_of(b, d, &uses[i]);
            use->params = WEIR_SLICE("{}");
        }
        use->roles = roles_of(uses[i].roles);
        use->channels = channels_of(uses[i].channels);
        use->models = texts_of(b, &uses[i].models);
        use->n_models = uses[i].models.n;
        use->is_remote = uses[i].detector->builtin.s.p == NULL;
        use->only_tells = enforces && uses[i].only_annotates;
        use->is_late =
            use->is_remote && !use->only_tells && !use->d->reads_along && !weir_path_is_whole(use);
        if (uses[i].allow.n != 0) {
            use->d = allowing_of(b, use->d, &uses[i]);
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
    case WEIR_CONF_MASK:
        return WEIR_POLICY_REDACT;
    case WEIR_CONF_ANNOTATE:
        break;
    }
    return WEIR_POLICY_ANNOTATE;
}

static void add_field(struct weir_guarded *g, struct weir_slice name, struct weir_slice value)
{
    g->fields[g->n_fields++] = (struct weir_http_field){name, value};
}

static struct weir_fleet_scope scope_of(struct builder *b, const struct weir_conf_route *conf)
{
    struct weir_slice *globs = weir_arena_array(b->arena, conf->models.n, sizeof *globs);
    for (size_t i = 0; i < conf->models.n; i++) {
        globs[i] = conf->models.items[i].s;
    }
    return (struct weir_fleet_scope){.globs = globs, .n = conf->models.n};
}

/* NULL: there is no key. */
static const struct weir_seal *seal_of(struct builder *b, const struct weir_conf_route *conf)
{
    if (b->env->conf->seal_key.n == 0) {
        return NULL;
    }
    struct weir_seal *seal = weir_arena_zalloc(b->arena, sizeof *seal);
    weir_seal_init(seal, b->env->conf->seal_key, conf->name.s);
    return seal;
}

/* ---- masking ---- */

static const struct weir_slice *texts_of(struct builder *b, const struct weir_conf_list *list)
{
    struct weir_slice *texts = weir_arena_array(b->arena, list->n, sizeof *texts);
    for (size_t i = 0; i < list->n; i++) {
        texts[i] = list->items[i].s;
    }
    return texts;
}

/* Keys of `keys_env` have no names of their own, only their places in a list. */
static void check_scope(struct builder *b, const struct weir_conf_route *conf)
{
    const struct weir_conf_auth *auth = &b->env->conf->auth;
    bool has_names = auth->is_on && auth->n_keys != 0 && auth->keys_env.s.n == 0;
    if (conf->mask.scope == WEIR_CONF_MASK_KEY && !has_names) {
        weir_conf_problems_add(b->problems, WEIR_CONF_ERROR, conf->name.at,
                               "route `%.*s` masks with `scope: key`, and callers have no keys "
                               "with names: write `auth.keys`, or `scope: route` or `request`",
                               (int)conf->name.s.n, conf->name.s.p);
    }
}

static const struct weir_policy_mask *mask_of(struct builder *b, const struct weir_conf_route *conf)
{
    static const enum weir_policy_action actions[] = {
        [WEIR_CONF_MASK_UNKNOWN_REDACT] = WEIR_POLICY_REDACT,
        [WEIR_CONF_MASK_UNKNOWN_BLOCK] = WEIR_POLICY_BLOCK,
        [WEIR_CONF_MASK_UNKNOWN_ANNOTATE] = WEIR_POLICY_ANNOTATE};
    const struct weir_conf_mask *m = &conf->mask;
    if (conf->on_detection != WEIR_CONF_MASK) {
        return NULL;
    }
    check_scope(b, conf);
    struct weir_policy_mask *made = weir_arena_zalloc(b->arena, sizeof *made);
    *made = (struct weir_policy_mask){.key = m->key,
                                      .scope = (enum weir_policy_scope)m->scope,
                                      .never = texts_of(b, &m->never_restore),
                                      .n_never = m->never_restore.n,
                                      .unknown_output = actions[m->unknown_output],
                                      .hosts = {texts_of(b, &m->restore_hosts), m->restore_hosts.n},
                                      .instructs = m->instruct,
                                      .foreign = weir_openai_count_foreign(conf->name.s)};
    return made;
}

/* ---- canary words ---- */

static const struct weir_task_detector *canary_of(struct builder *b,
                                                  const struct weir_conf_route *conf)
{
    struct weir_builtin *made = weir_arena_zalloc(b->arena, sizeof *made);
    struct weir_task_detector *d = weir_arena_alloc(b->arena, sizeof *d);
    struct weir_buf params = {0};
    struct weir_buf why = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &params);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("words"));
    weir_json_write_begin_array(&w);
    for (size_t i = 0; i < conf->canary.words.n; i++) {
        weir_json_write_string(&w, conf->canary.words.items[i].s);
    }
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
    if (weir_builtin_init(made, &weir_detect_canary, WEIR_SLICE("canary"),
                          weir_arena_take_buf(b->arena, &params), &why) != 0) {
        weir_conf_problems_add(b->problems, WEIR_CONF_ERROR, conf->name.at, "`canary`: %s",
                               weir_buf_cstr(&why));
    }
    weir_arena_defer(b->arena, dispose_builtin, made);
    weir_buf_dispose(&why);
    *d = (struct weir_task_detector){.id = WEIR_SLICE("canary"),
                                     .detector = &made->base,
                                     .chunker = &weir_chunk_whole,
                                     .reads_along = true,
                                     .held = weir_held_histogram(WEIR_SLICE("canary"))};
    return d;
}

/* The route's detector `canary` is the last of its output. */
static void add_canary(struct builder *b, const struct weir_conf_route *conf,
                       struct weir_plan *output)
{
    if (!conf->canary.is_on) {
        return;
    }
    struct weir_plan_use *uses = weir_arena_array(b->arena, output->n + 1, sizeof *uses);
    if (output->n != 0) {
        memcpy(uses, output->uses, output->n * sizeof *uses);
    }
    uses[output->n] = (struct weir_plan_use){.d = canary_of(b, conf), .params = WEIR_SLICE("{}")};
    *output = (struct weir_plan){.uses = uses, .n = output->n + 1};
}

/* `output_check: after`: the plan's late detectors are told apart. Those that look at the whole
 * hold as always. */
static void expose(struct builder *b, const struct weir_conf_route *conf, struct weir_plan *output)
{
    bool is_after = conf->output_check == WEIR_CONF_OUTPUT_AFTER;
    output->max_exposed_cp = is_after ? conf->max_exposed_chars : 0;
    weir_plan_split(output, b->arena);
    if (is_after && output->late == NULL && b->problems->n_errors == 0) {
        weir_conf_problems_add(b->problems, WEIR_CONF_ERROR, conf->name.at,
                               "route `%.*s` has `output_check: after`, and none of its output "
                               "detectors is a service that looks at chunks: no other lets text "
                               "leave before it has answered",
                               (int)conf->name.s.n, conf->name.s.p);
    }
}

/* `input_check: beside` where nothing could be asked beside anything. */
static void check_beside(struct builder *b, const struct weir_conf_route *conf,
                         const struct weir_plan *input)
{
    size_t n_remote = 0;
    for (size_t i = 0; i < input->n; i++) {
        n_remote += input->uses[i].is_remote;
    }
    if (conf->input_check == WEIR_CONF_INPUT_BESIDE && n_remote == 0 &&
        b->problems->n_errors == 0) {
        weir_conf_problems_add(b->problems, WEIR_CONF_ERROR, conf->name.at,
                               "route `%.*s` has `input_check: beside`, and none of its input "
                               "detectors is a service: built-in ones look before in any case",
                               (int)conf->name.s.n, conf->name.s.p);
    }
}

static void build(struct builder *b, const struct weir_conf_route *conf, struct weir_guarded *g)
{
    g->conf = conf;
    g->models = scope_of(b, conf);
    bool enforces = conf->on_detection != WEIR_CONF_ANNOTATE;
    g->input = plan_of(b, WEIR_CONF_ENFORCE, enforces, conf->input, conf->n_input);
    g->output = plan_of(b, WEIR_CONF_ENFORCE, enforces, conf->output, conf->n_output);
    g->shadow_input = plan_of(b, WEIR_CONF_SHADOW, false, conf->input, conf->n_input);
    g->shadow_output = plan_of(b, WEIR_CONF_SHADOW, false, conf->output, conf->n_output);
    weir_plan_split(&g->input, b->arena);
    add_canary(b, conf, &g->output);
    expose(b, conf, &g->output);
    check_beside(b, conf, &g->input);
    g->holes = weir_holes_of(conf, b->arena);
    g->policy = (struct weir_policy){
        .action = action_of(conf->on_detection),
        .block_as = (enum weir_policy_block_as)conf->block_as,
        .ends_completed = conf->block_ending == WEIR_CONF_ENDING_COMPLETED,
        .fallback = conf->fallback_message.s,
        .redact_with = conf->redact_with.s,
        .keeps_unknown = (conf->unguarded & WEIR_CONF_HOLE_UNKNOWN_MEMBERS) != 0,
        .checks_unknown = conf->unknown_members == WEIR_CONF_UNKNOWN_CHECK,
        .unguarded = holes_of(conf->unguarded),
        .input_roles = roles_of(conf->input_roles),
        .looks_at_all = conf->input_scope == WEIR_CONF_SCOPE_ALL,
        .asks_beside = conf->input_check == WEIR_CONF_INPUT_BESIDE,
        .blocks_history = conf->history_findings == WEIR_CONF_HISTORY_BLOCK,
        .seal = seal_of(b, conf),
        .mask = mask_of(b, conf)};
    weir_openai_count_for(&g->policy, conf->name.s);
    add_field(g, WEIR_SLICE("x-weir-route"), conf->name.s);
    add_field(g, WEIR_SLICE("x-weir-policy"),
              weir_slice_cstr(weir_conf_action_name(conf->on_detection)));
    add_field(g, WEIR_SLICE("x-weir-guarded"), weir_describe_guarded(g, b->arena));
    g->guards_question = weir_describe_question(g, b->arena);
}

void weir_guards_build(struct weir_env *env, struct weir_conf_problems *problems)
{
    struct builder b = {.env = env, .arena = &env->arena, .problems = problems};
    const struct weir_conf *conf = env->conf;
    struct weir_guarded *all = weir_arena_array(&env->arena, conf->n_routes, sizeof *all);
    for (size_t i = 0; i < conf->n_routes; i++) {
        build(&b, &conf->routes[i], &all[i]);
    }
    env->guarded = all;
    env->key_states = weir_auth_states(&conf->auth, &env->arena);
    env->route_tasks = env->tasks;
    env->route_tasks.compat = (struct weir_compat){0};
}
