/* The model servers of a configuration, made into one model. */
#include "model/fleet.h"

#include "base/assert.h"
#include "model/listing.h"
#include "model/openai.h"
#include "server/services_int.h"

/* Where somebody else can be asked nobody is waited for longer than this, unless it was written. */
enum { PATIENCE_MS = 20000 };

#define BIT(op) (UINT32_C(1) << (op))

static uint32_t ops_of(const struct weir_conf_provider *p)
{
    static const struct {
        enum weir_conf_dialect dialect;
        enum weir_model_op op;
    } table[] = {
        {WEIR_CONF_CHAT, WEIR_MODEL_CHAT},           {WEIR_CONF_COMPLETIONS, WEIR_MODEL_COMPLETION},
        {WEIR_CONF_MESSAGES, WEIR_MODEL_MESSAGES},   {WEIR_CONF_MESSAGES, WEIR_MODEL_COUNT},
        {WEIR_CONF_RESPONSES, WEIR_MODEL_RESPONSES}, {WEIR_CONF_RESPONSES, WEIR_MODEL_ITEM_COUNT},
        {WEIR_CONF_RESPONSES, WEIR_MODEL_STORED},    {WEIR_CONF_EMBEDDINGS, WEIR_MODEL_EMBEDDINGS},
        {WEIR_CONF_RERANK, WEIR_MODEL_RERANK},       {WEIR_CONF_SCORE, WEIR_MODEL_SCORE},
    };
    uint32_t ops = BIT(WEIR_MODEL_MODELS) | BIT(WEIR_MODEL_FORWARD);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if ((p->dialects & table[i].dialect) != 0) {
            ops |= BIT(table[i].op);
        }
    }
    return p->kind == WEIR_CONF_PROVIDER_OPENAI ? ops | BIT(WEIR_MODEL_TOKENIZE) : ops;
}

static enum weir_provider_kind kind_of(enum weir_conf_provider_kind kind)
{
    switch (kind) {
    case WEIR_CONF_PROVIDER_AZURE:
        return WEIR_PROVIDER_AZURE;
    case WEIR_CONF_PROVIDER_ANTHROPIC:
        return WEIR_PROVIDER_ANTHROPIC;
    case WEIR_CONF_PROVIDER_OPENAI:
        break;
    }
    return WEIR_PROVIDER_OPENAI;
}

static void copy_fields(struct weir_services *b, const struct weir_conf_provider *conf,
                        struct weir_provider *p)
{
    struct weir_http_field *fields = weir_arena_array(b->arena, conf->n_headers, sizeof *fields);
    for (size_t i = 0; i < conf->n_headers; i++) {
        fields[i] = (struct weir_http_field){conf->headers[i].name, conf->headers[i].value};
    }
    p->fields = fields;
    p->n_fields = conf->n_headers;
}

static atomic_uint *new_count(struct weir_services *b)
{
    atomic_uint *count = weir_arena_alloc(b->arena, sizeof *count);
    atomic_init(count, 0);
    return count;
}

static void dispose_listing(void *ctx)
{
    weir_listing_dispose(ctx);
}

static struct weir_listing *new_listing(struct weir_services *b)
{
    struct weir_listing *l = weir_arena_alloc(b->arena, sizeof *l);
    weir_listing_init(l);
    weir_arena_defer(b->arena, dispose_listing, l);
    return l;
}

/* Its path is the provider's own business (model/provider.h), not the target's. */
static const struct weir_target *target_of(struct weir_services *b,
                                           const struct weir_conf_provider *conf)
{
    struct weir_conf_service service = conf->service;
    service.path_prefix.s = WEIR_SLICE("");
    return weir_services__target(b, conf->name.s, &service, WEIR_TARGET_HTTP, WEIR_SERVICES_MODEL);
}

static void add_probe(struct weir_services *b, const struct weir_provider *p,
                      const struct weir_target *target)
{
    struct weir_probe_service *probe = weir_services__probe(b, target, &weir_probe_models);
    struct weir_model_way way =
        weir_provider_way(p, WEIR_MODEL_MODELS, WEIR_SLICE(""), NULL, b->arena);
    probe->path = way.path;
    probe->fields = way.fields;
    probe->n_fields = way.n_fields;
    probe->has_no_key = p->passes_caller_key;
}

static void build_provider(struct weir_services *b, const struct weir_conf_provider *conf,
                           struct weir_provider *p)
{
    const struct weir_target *target = target_of(b, conf);
    struct weir_model_openai *model = weir_arena_alloc(b->arena, sizeof *model);
    weir_model_openai_init(model, target);
    *p = (struct weir_provider){
        .name = conf->name.s,
        .kind = kind_of(conf->kind),
        .ops = ops_of(conf),
        .model = &model->base,
        .base_path = conf->service.path_prefix.s,
        .api_key = conf->api_key,
        .api_version = conf->api_version.s,
        .query = conf->query,
        .passes_caller_key = conf->pass_caller_key,
        .patience_ms =
            conf->has_first_byte_timeout ? conf->service.first_byte_timeout_ms : PATIENCE_MS,
        .n_running = new_count(b),
        .listing = conf->kind != WEIR_CONF_PROVIDER_AZURE ? new_listing(b) : NULL,
    };
    copy_fields(b, conf, p);
    add_probe(b, p, target);
}

static void build_usual(struct weir_services *b, const struct weir_model *usual,
                        struct weir_provider *p)
{
    *p = (struct weir_provider){
        .name = WEIR_SLICE("default"),
        .kind = WEIR_PROVIDER_USUAL,
        .ops = UINT32_MAX,
        .model = usual,
        .patience_ms = PATIENCE_MS,
        .n_running = new_count(b),
        .listing = new_listing(b),
    };
}

static struct weir_breaker *new_health(struct weir_services *b)
{
    struct weir_breaker *h = weir_arena_alloc(b->arena, sizeof *h);
    weir_breaker_init(h);
    return h;
}

/* `all` is as conf->providers, and then the one that `openai:` is. */
static void build_entry(struct weir_services *b, const struct weir_conf_model *conf,
                        const struct weir_provider *all, struct weir_fleet_entry *entry)
{
    struct weir_fleet_target *targets =
        weir_arena_array(b->arena, conf->n_targets, sizeof *targets);
    WEIR_ASSERT(conf->n_targets <= WEIR_FLEET_MAX_TARGETS);
    for (size_t i = 0; i < conf->n_targets; i++) {
        const struct weir_conf_target *t = &conf->targets[i];
        size_t at =
            t->provider != NULL ? (size_t)(t->provider - b->conf->providers) : b->conf->n_providers;
        targets[i] = (struct weir_fleet_target){
            .provider = &all[at],
            .model = t->model.s,
            .stands_in = i >= conf->n_replicas || conf->n_replicas > 1,
            .health = new_health(b),
        };
    }
    *entry = (struct weir_fleet_entry){.glob = conf->glob.s,
                                       .targets = targets,
                                       .n_targets = conf->n_targets,
                                       .n_replicas = conf->n_replicas};
}

static const struct weir_fleet_entry *entry_of_usual(struct weir_services *b,
                                                     const struct weir_provider *usual)
{
    struct weir_fleet_target *target = weir_arena_zalloc(b->arena, sizeof *target);
    struct weir_fleet_entry *entry = weir_arena_alloc(b->arena, sizeof *entry);
    target->provider = usual;
    target->health = new_health(b);
    *entry = (struct weir_fleet_entry){
        .glob = WEIR_SLICE("*"), .targets = target, .n_targets = 1, .n_replicas = 1};
    return entry;
}

const struct weir_model *weir_services__fleet(struct weir_services *b,
                                              const struct weir_model *usual)
{
    const struct weir_conf *conf = b->conf;
    size_t n = conf->n_providers;
    if (conf->n_models == 0) {
        return usual;
    }
    struct weir_provider *all = weir_arena_array(b->arena, n + 1, sizeof *all);
    struct weir_fleet_entry *entries = weir_arena_array(b->arena, conf->n_models, sizeof *entries);
    for (size_t i = 0; i < n; i++) {
        build_provider(b, &conf->providers[i], &all[i]);
    }
    if (usual != NULL) {
        build_usual(b, usual, &all[n]);
    }
    for (size_t i = 0; i < conf->n_models; i++) {
        build_entry(b, &conf->models[i], all, &entries[i]);
    }
    struct weir_fleet *fleet = weir_arena_zalloc(b->arena, sizeof *fleet);
    fleet->entries = entries;
    fleet->n_entries = conf->n_models;
    fleet->otherwise = usual != NULL ? entry_of_usual(b, &all[n]) : NULL;
    weir_fleet_init(fleet);
    b->env->tasks.fleet = fleet;
    return &fleet->base;
}
