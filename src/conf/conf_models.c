/*
 * `models:`: which provider serves which model, under which name, and who is asked when it fails.
 * Providers come before this section, so an entry holds pointers to them.
 */
#include "base/glob.h"
#include "conf/conf_sections.h"

enum { MAX_MODELS = 256, MAX_GLOB_BYTES = 256, MAX_TARGETS = 32 };

/* An entry while it is read, or a step of its `fallback`. */
struct entry {
    struct weir_conf_target targets[MAX_TARGETS];
    size_t n_targets;
    size_t n_replicas;
    struct weir_conf_text model;
    struct weir_conf_text deployment;
    const struct weir_conf_node *fallback;
};

static const char *name_of(const struct weir_conf_target *t)
{
    return t->provider != NULL ? t->provider->name.s.p : "default";
}

/* `*out` NULL: `openai:`. */
static bool find_provider(struct weir_conf_reader *r, const struct weir_conf_node *n,
                          const struct weir_conf_provider **out)
{
    struct weir_conf_near near;
    weir_conf__near(r, &near, n->text);
    *out = NULL;
    for (size_t i = 0; i < r->conf->n_providers; i++) {
        if (weir_slice_eq(r->conf->providers[i].name.s, n->text)) {
            *out = &r->conf->providers[i];
            return true;
        }
        weir_conf_near_offer(&near, r->conf->providers[i].name.s);
    }
    bool is_default = weir_slice_eq_cstr(n->text, "default");
    if (is_default && r->conf->openai.kind != WEIR_CONF_OPENAI_NONE) {
        return true;
    }
    weir_conf__error(r, n, "provider %s does not exist%s", weir_conf__name(r, n->text),
                     is_default ? ": it is the name of `openai:`, which is not there"
                                : weir_conf__hint(r, &near));
    return false;
}

static void add_target(struct weir_conf_reader *r, const struct weir_conf_node *n,
                       struct entry *entry, const char *key)
{
    const struct weir_conf_provider *provider;
    if (!weir_conf__want_text(r, n, key) || !find_provider(r, n, &provider)) {
        return;
    }
    for (size_t i = 0; i < entry->n_replicas; i++) {
        if (entry->targets[i].provider == provider) {
            weir_conf__error(r, n, "provider %s is there twice", weir_conf__name(r, n->text));
            return;
        }
    }
    if (entry->n_targets == MAX_TARGETS) {
        weir_conf__error(r, n, "more than %d providers for one model", MAX_TARGETS);
        return;
    }
    entry->targets[entry->n_targets++] =
        (struct weir_conf_target){.provider = provider, .at = weir_conf__pos(r, n)};
    entry->n_replicas = entry->n_targets;
}

static void on_provider(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    add_target(r, n, target, "provider");
}

static void on_providers(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct entry *entry = target;
    if (!weir_conf__want_list(r, n, "providers")) {
        return;
    }
    if (entry->n_targets != 0) {
        weir_conf__error(r, n, "`provider` and `providers` exclude each other");
        return;
    }
    for (size_t i = 0; i < n->n; i++) {
        add_target(r, n->items[i], entry, "providers");
    }
    if (n->n == 0) {
        weir_conf__error(r, n, "`providers` must name at least one");
    }
}

static void on_fallback(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    if (weir_conf__want_list(r, n, "fallback")) {
        ((struct entry *)target)->fallback = n;
    }
}

#define T struct entry
static const struct weir_conf_key entry_keys[] = {
    WEIR_CONF_KEY_CALL("provider", on_provider),
    WEIR_CONF_KEY_CALL("providers", on_providers),
    WEIR_CONF_KEY(T, model, TEXT),
    WEIR_CONF_KEY(T, deployment, TEXT),
    WEIR_CONF_KEY_CALL("fallback", on_fallback),
};
static const struct weir_conf_object entry_object = {WEIR_CONF_OBJECT(entry_keys)};

static const struct weir_conf_key step_keys[] = {
    WEIR_CONF_KEY_CALL("provider", on_provider, .is_required = true),
    WEIR_CONF_KEY(T, model, TEXT),
    WEIR_CONF_KEY(T, deployment, TEXT),
};
static const struct weir_conf_object step_object = {WEIR_CONF_OBJECT(step_keys)};
#undef T

static bool is_azure(const struct weir_conf_target *t)
{
    return t->provider != NULL && t->provider->kind == WEIR_CONF_PROVIDER_AZURE;
}

/* The name that the targets know the model by. */
static void name_targets(struct weir_conf_reader *r, const struct weir_conf_node *n,
                         struct entry *entry)
{
    bool has_deployment = entry->deployment.s.p != NULL;
    if (entry->model.s.p != NULL && has_deployment) {
        weir_conf__error(r, n, "`model` and `deployment` exclude each other");
    }
    for (size_t i = 0; i < entry->n_targets; i++) {
        struct weir_conf_target *t = &entry->targets[i];
        t->model = has_deployment ? entry->deployment : entry->model;
        if (has_deployment && !is_azure(t)) {
            weir_conf__error(r, n,
                             "`deployment` is Azure's word, and provider `%s` is of another kind: "
                             "write `model`",
                             name_of(t));
        }
    }
}

static void read_fallback(struct weir_conf_reader *r, struct entry *entry)
{
    const struct weir_conf_node *list = entry->fallback;
    for (size_t i = 0; list != NULL && i < list->n; i++) {
        const struct weir_conf_node *n = list->items[i];
        struct entry step = {0};
        if (!weir_conf__want_mapping(r, n, "fallback")) {
            continue;
        }
        weir_conf__decode(r, &step_object, n, &step);
        name_targets(r, n, &step);
        if (step.n_targets != 0 && entry->n_targets == MAX_TARGETS) {
            weir_conf__error(r, n, "more than %d providers for one model", MAX_TARGETS);
            return;
        }
        for (size_t k = 0; k < step.n_targets; k++) {
            entry->targets[entry->n_targets++] = step.targets[k];
        }
    }
}

static uint32_t dialects_of(const struct weir_conf_target *t)
{
    return t->provider != NULL ? t->provider->dialects : UINT32_MAX;
}

/* Callers' keys are for the server they meant; and who stands in must be able to. */
static void check_company(struct weir_conf_reader *r, const struct entry *entry)
{
    for (size_t i = 0; entry->n_targets > 1 && i < entry->n_targets; i++) {
        const struct weir_conf_target *t = &entry->targets[i];
        bool stands_in = i >= entry->n_replicas || entry->n_replicas > 1;
        struct weir_conf_node at = {.line = t->at.line};
        if (stands_in && t->provider != NULL && t->provider->pass_caller_key) {
            weir_conf__error(r, &at,
                             "provider `%s` has `pass_caller_key: true` and cannot stand in for "
                             "another: the caller's key was not meant for it",
                             name_of(t));
        }
        if ((dialects_of(t) & dialects_of(&entry->targets[0])) == 0) {
            weir_conf__error(r, &at, "provider `%s` serves nothing that `%s` serves", name_of(t),
                             name_of(&entry->targets[0]));
        }
    }
}

static void read_model(struct weir_conf_reader *r, const struct weir_conf_member *m,
                       struct weir_conf_model *out)
{
    struct entry entry = {0};
    out->glob = weir_conf__keep(r, m->key);
    if (m->key->text.n == 0 || m->key->text.n > MAX_GLOB_BYTES) {
        weir_conf__error(r, m->key, "the name of a model has 1 to %d bytes", MAX_GLOB_BYTES);
    }
    if (!weir_conf__want_mapping(r, m->value, "models")) {
        return;
    }
    weir_conf__decode(r, &entry_object, m->value, &entry);
    if (weir_conf__get(m->value, "provider") == NULL &&
        weir_conf__get(m->value, "providers") == NULL) {
        weir_conf__error(r, m->key, "model %s needs a `provider`",
                         weir_conf__name(r, m->key->text));
    }
    name_targets(r, m->value, &entry);
    read_fallback(r, &entry);
    check_company(r, &entry);
    struct weir_conf_target *kept = weir_arena_array(r->arena, entry.n_targets, sizeof *kept);
    memcpy(kept, entry.targets, entry.n_targets * sizeof *kept);
    out->targets = kept;
    out->n_targets = entry.n_targets;
    out->n_replicas = entry.n_replicas;
}

void weir_conf__models_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *conf)
{
    (void)conf;
    if (!weir_conf__want_mapping(r, n, "models")) {
        return;
    }
    if (n->n > MAX_MODELS) {
        weir_conf__error(r, n, "`models` has %zu entries, more than %d", n->n, MAX_MODELS);
        return;
    }
    struct weir_conf_model *all = weir_arena_array(r->arena, n->n, sizeof *all);
    for (size_t i = 0; i < n->n; i++) {
        read_model(r, &n->members[i], &all[i]);
    }
    r->conf->models = all;
    r->conf->n_models = n->n;
}

/* ---- across sections */

/* The longest match wins, so two that are as long must not match the same name. */
static void check_ties(struct weir_conf_reader *r)
{
    const struct weir_conf *conf = r->conf;
    for (size_t i = 0; i < conf->n_models; i++) {
        const struct weir_conf_text *a = &conf->models[i].glob;
        for (size_t k = 0; k < i; k++) {
            const struct weir_conf_text *b = &conf->models[k].glob;
            if (a->s.n == b->s.n && a->s.n <= MAX_GLOB_BYTES && weir_glob_overlaps(a->s, b->s)) {
                weir_conf_problems_add(r->problems, WEIR_CONF_ERROR, a->at,
                                       "%s and %s on line %d are equally long and match the same "
                                       "names: nothing says which is meant",
                                       weir_conf__name(r, a->s), weir_conf__name(r, b->s),
                                       b->at.line);
                return;
            }
        }
    }
}

static bool is_served(const struct weir_conf *conf, struct weir_slice name)
{
    bool is_found = conf->openai.kind != WEIR_CONF_OPENAI_NONE;
    for (size_t i = 0; i < conf->n_models && !is_found; i++) {
        is_found = weir_glob_overlaps(conf->models[i].glob.s, name);
    }
    return is_found;
}

static void check_route(struct weir_conf_reader *r, const struct weir_conf_route *route)
{
    for (size_t i = 0; i < route->models.n; i++) {
        const struct weir_conf_text *name = &route->models.items[i];
        if (name->s.n > MAX_GLOB_BYTES || is_served(r->conf, name->s)) {
            continue;
        }
        struct weir_conf_near near;
        weir_conf__near(r, &near, name->s);
        for (size_t k = 0; k < r->conf->n_models; k++) {
            weir_conf_near_offer(&near, r->conf->models[k].glob.s);
        }
        weir_conf_problems_add(r->problems, WEIR_CONF_ERROR, name->at,
                               "route %s names the model %s, which no entry of `models` serves%s",
                               weir_conf__name(r, route->name.s), weir_conf__name(r, name->s),
                               weir_conf__hint(r, &near));
    }
}

static void warn_unused(struct weir_conf_reader *r, const struct weir_conf_provider *p)
{
    const struct weir_conf *conf = r->conf;
    for (size_t i = 0; i < conf->n_models; i++) {
        for (size_t k = 0; k < conf->models[i].n_targets; k++) {
            if (conf->models[i].targets[k].provider == p) {
                return;
            }
        }
    }
    for (size_t i = 0; i < conf->n_detectors; i++) {
        if (conf->detectors[i].provider == p) {
            return;
        }
    }
    weir_conf_problems_add(r->problems, WEIR_CONF_WARNING, p->name.at,
                           "no entry of `models` uses provider %s", weir_conf__name(r, p->name.s));
}

/* With keys of our own there is no key of the caller's that could be passed on. */
static void check_caller_key(struct weir_conf_reader *r, const struct weir_conf_provider *p)
{
    if (p->pass_caller_key && r->conf->auth.is_on) {
        weir_conf_problems_add(r->problems, WEIR_CONF_ERROR, p->name.at,
                               "provider %s has `pass_caller_key: true`, but with `auth` the keys "
                               "that callers send are this gateway's own and go no further",
                               weir_conf__name(r, p->name.s));
    }
}

void weir_conf__check_models(struct weir_conf_reader *r)
{
    const struct weir_conf *conf = r->conf;
    check_ties(r);
    for (size_t i = 0; i < conf->n_providers; i++) {
        warn_unused(r, &conf->providers[i]);
        check_caller_key(r, &conf->providers[i]);
    }
    for (size_t i = 0; i < conf->n_routes; i++) {
        check_route(r, &conf->routes[i]);
    }
}
