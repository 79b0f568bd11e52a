/*
 * Routes: a name, the detectors of each side, and what to do with findings. Detectors come before
 * this section, so a route holds pointers to them.
 */
#include "conf/conf_sections.h"

enum {
    MAX_ROUTES = 256,
    MAX_MODELS = 256,
    MAX_NAME_BYTES = 64,
    MAX_MESSAGE_BYTES = 65536,
    MAX_ALLOWED = 256,
    EXPOSED_CHARS = 200,
    MAX_EXPOSED_CHARS = 100000,
};

static const char *const action_words[] = {"annotate", "block", "redact", "mask", NULL};
static const char *const history_words[] = {"off", "warn", "reject", "merge", NULL};
static const char *const unknown_words[] = {"drop", "pass", "check", NULL};
static const char *const block_words[] = {"message", "refusal", "error", NULL};
static const char *const ending_words[] = {"content_filter", "completed", NULL};
static const char *const role_words[] = {"user",     "system",    "developer", "tool",
                                         "function", "assistant", NULL};
static const char *const when_role_words[] = {"user",     "system",    "developer", "tool",
                                              "function", "assistant", "nobody",    NULL};
static const char *const channel_words[] = {"content",    "reasoning",  "refusal",
                                            "transcript", "tool_calls", NULL};
static const char *const scope_words[] = {"turn", "all", NULL};
static const char *const findings_words[] = {"remove", "block", NULL};
static const char *const input_check_words[] = {"before", "beside", NULL};
static const char *const output_check_words[] = {"before", "after", NULL};
static const char *const sealed_words[] = {"pass", "reject", NULL};
static const char *const hole_words[] = {
    "history",         "definitions", "images",         "audio",     "files", "logprobs",
    "unknown_members", "sealed",      "server_history", "token_ids", NULL};
static const char *const reserved_names[] = {"api", "v1", "health", "info", "metrics", "registry"};

const char *weir_conf_action_name(enum weir_conf_action action)
{
    return action_words[action];
}

const char *weir_conf_hole_name(uint32_t hole)
{
    for (size_t i = 0; hole_words[i] != NULL; i++) {
        if (hole == UINT32_C(1) << i) {
            return hole_words[i];
        }
    }
    return NULL;
}

static bool is_route_name(struct weir_slice s)
{
    if (s.n == 0 || s.n > MAX_NAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!is_alnum && (i == 0 || (c != '_' && c != '-'))) {
            return false;
        }
    }
    return true;
}

static void on_name(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_route *route = target;
    if (!weir_conf__want_text(r, n, "name")) {
        return;
    }
    route->name = weir_conf__keep(r, n);
    if (!is_route_name(n->text)) {
        weir_conf__error(r, n,
                         "%s is not a route name: lower-case letters, digits, then also `_` and "
                         "`-`, at most %d",
                         weir_conf__name(r, n->text), MAX_NAME_BYTES);
    }
    for (size_t i = 0; i < sizeof reserved_names / sizeof *reserved_names; i++) {
        if (weir_slice_eq_cstr(n->text, reserved_names[i])) {
            weir_conf__error(r, n, "route name `%s` is reserved", reserved_names[i]);
        }
    }
}

static const struct weir_conf_detector *find_detector(struct weir_conf_reader *r,
                                                      const struct weir_conf_node *key)
{
    const struct weir_conf_detector *d = weir_conf_detector(r->conf, key->text);
    if (d != NULL) {
        return d;
    }
    struct weir_conf_near near;
    weir_conf__near(r, &near, key->text);
    for (size_t i = 0; i < r->conf->n_detectors; i++) {
        weir_conf_near_offer(&near, r->conf->detectors[i].id.s);
    }
    weir_conf__error(r, key, "detector %s does not exist%s", weir_conf__name(r, key->text),
                     weir_conf__hint(r, &near));
    return NULL;
}

static void read_threshold(struct weir_conf_reader *r, const struct weir_conf_node *params,
                           double *out)
{
    const struct weir_conf_node *n = weir_conf__get(params, "threshold");
    double value;
    if (n == NULL || weir_conf__is_null(n) || n->is_broken) {
        return;
    }
    if (!weir_conf__as_number(n, &value) || value < 0 || value > 1) {
        weir_conf__error(r, n, "`threshold` must be a number from 0 to 1, not %s",
                         weir_conf__describe(r->scratch, n));
        return;
    }
    *out = value;
}

/* A list of roles or channels as bits. */
static uint32_t read_bits(struct weir_conf_reader *r, const struct weir_conf_node *n,
                          const char *key, const char *const *words)
{
    uint32_t roles = 0;
    if (!weir_conf__want_list(r, n, key)) {
        return 0;
    }
    for (size_t i = 0; i < n->n; i++) {
        int word = weir_conf__want_word(r, n->items[i], key, words);
        if (word >= 0) {
            roles |= UINT32_C(1) << word;
        }
    }
    if (n->n == 0) {
        weir_conf__error(r, n, "`%s` must name at least one %s", key,
                         words == channel_words ? "channel" : "role");
    }
    return roles;
}

static void on_when_roles(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_use *use = target;
    use->roles = read_bits(r, n, "roles", when_role_words);
}

static void on_when_channels(struct weir_conf_reader *r, const struct weir_conf_node *n,
                             void *target)
{
    struct weir_conf_use *use = target;
    use->channels = read_bits(r, n, "channels", channel_words);
    if (use->detector->type != WEIR_CONF_TEXT_CONTENTS) {
        weir_conf__error(r, n, "detector %s looks at the whole answer: it has no `channels`",
                         weir_conf__name(r, use->detector->id.s));
    }
}

static void on_when_models(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_use *use = target;
    use->models = weir_conf__want_texts(r, n, "models", MAX_MODELS);
    if (n->kind == WEIR_CONF_SEQUENCE && n->n == 0) {
        weir_conf__error(r, n, "`models` must name at least one model: left out, it means all");
    }
}

static const struct weir_conf_key when_keys[] = {WEIR_CONF_KEY_CALL("roles", on_when_roles),
                                                 WEIR_CONF_KEY_CALL("channels", on_when_channels),
                                                 WEIR_CONF_KEY_CALL("models", on_when_models)};
static const struct weir_conf_object when_object = {WEIR_CONF_OBJECT(when_keys)};

static void read_when(struct weir_conf_reader *r, const struct weir_conf_node *params,
                      struct weir_conf_use *use)
{
    const struct weir_conf_node *n = weir_conf__get(params, "when");
    if (n != NULL && !weir_conf__is_null(n) && weir_conf__want_mapping(r, n, "when")) {
        weir_conf__decode(r, &when_object, n, use);
    }
}

/* Keywords and links have an `allow` of their own. */
static bool has_own_allow(const struct weir_conf_detector *d)
{
    return weir_slice_eq_cstr(d->builtin.s, "keywords") ||
           weir_slice_eq_cstr(d->builtin.s, "links");
}

static void read_allow(struct weir_conf_reader *r, const struct weir_conf_node *params,
                       struct weir_conf_use *use)
{
    const struct weir_conf_node *n = weir_conf__get(params, "allow");
    if (n == NULL || weir_conf__is_null(n) || has_own_allow(use->detector)) {
        return;
    }
    use->allow = weir_conf__want_texts(r, n, "allow", MAX_ALLOWED);
    for (size_t i = 0; i < use->allow.n; i++) {
        bool is_all = true;
        struct weir_slice s = use->allow.items[i].s;
        for (size_t k = 0; k < s.n; k++) {
            is_all = is_all && s.p[k] == '*';
        }
        if (is_all) {
            weir_conf__error(r, n, "`allow` has %s, which allows everything",
                             weir_conf__name(r, s));
        }
    }
}

/* What it does is the route's business: of its own it may only annotate. Whether another word is
 * the route's is known when all of that was read (check_own_actions). */
static void read_own_action(struct weir_conf_reader *r, const struct weir_conf_node *params,
                            struct weir_conf_use *use)
{
    const struct weir_conf_node *n = weir_conf__get(params, "on_detection");
    if (n != NULL && !weir_conf__is_null(n)) {
        int word = weir_conf__want_word(r, n, "on_detection", action_words);
        use->only_annotates = word == WEIR_CONF_ANNOTATE;
    }
}

static struct weir_slice read_params(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                     const struct weir_conf_detector *d)
{
    static const char *const ours[] = {"threshold", "when", "on_detection", "allow", NULL};
    static const char *const fewer[] = {"threshold", "when", "on_detection", NULL};
    return weir_conf__json(r, n, has_own_allow(d) ? fewer : ours);
}

/* It judges what somebody wants a model to do: the words of users, and those that come with tools
 * and functions. */
static uint32_t default_roles(const struct weir_conf_detector *d)
{
    bool is_injection = weir_slice_eq_cstr(d->builtin.s, "prompt_injection");
    return is_injection ? WEIR_CONF_USER | WEIR_CONF_TOOL | WEIR_CONF_FUNCTION : 0;
}

static bool read_use(struct weir_conf_reader *r, const struct weir_conf_member *m,
                     struct weir_conf_use *use)
{
    *use = (struct weir_conf_use){.detector = find_detector(r, m->key),
                                  .at = weir_conf__pos(r, m->key),
                                  .params = WEIR_SLICE("{}")};
    if (use->detector == NULL) {
        return false;
    }
    use->threshold = use->detector->default_threshold;
    use->roles = default_roles(use->detector);
    if (weir_conf__is_null(m->value)) {
        return true;
    }
    if (m->value->kind != WEIR_CONF_MAPPING) {
        weir_conf__error(r, m->value, "parameters of detector %s must be a mapping, not %s",
                         weir_conf__name(r, m->key->text),
                         weir_conf__describe(r->scratch, m->value));
        return false;
    }
    read_threshold(r, m->value, &use->threshold);
    read_when(r, m->value, use);
    read_allow(r, m->value, use);
    read_own_action(r, m->value, use);
    use->params = read_params(r, m->value, use->detector);
    return true;
}

/* Which detectors can judge what a route sees: text of one message, or a finished answer. */
static void check_type(struct weir_conf_reader *r, const struct weir_conf_node *key,
                       enum weir_conf_detector_type type, bool is_input)
{
    bool fits = type == WEIR_CONF_TEXT_CONTENTS || type == WEIR_CONF_TEXT_CHAT ||
                (!is_input && type == WEIR_CONF_TEXT_GENERATION);
    if (!fits) {
        weir_conf__error(r, key, "detector %s is of a type that cannot be used for %s",
                         weir_conf__name(r, key->text), is_input ? "input" : "output");
    }
}

/* A question has roles, an answer channels. */
static void check_when(struct weir_conf_reader *r, const struct weir_conf_node *params,
                       bool is_input)
{
    const struct weir_conf_node *when =
        params->kind == WEIR_CONF_MAPPING ? weir_conf__get(params, "when") : NULL;
    const char *key = is_input ? "channels" : "roles";
    const struct weir_conf_node *at =
        when != NULL && when->kind == WEIR_CONF_MAPPING ? weir_conf__get(when, key) : NULL;
    if (at != NULL) {
        weir_conf__error(r, at, "`when.%s` is for detectors of `%s`", key,
                         is_input ? "output" : "input");
    }
}

static const struct weir_conf_use *
read_side(struct weir_conf_reader *r, const struct weir_conf_node *n, bool is_input, size_t *n_uses)
{
    if (!weir_conf__want_mapping(r, n, is_input ? "input" : "output")) {
        return NULL;
    }
    struct weir_conf_use *uses = weir_arena_array(r->arena, n->n, sizeof *uses);
    for (size_t i = 0; i < n->n; i++) {
        if (read_use(r, &n->members[i], &uses[*n_uses])) {
            check_type(r, n->members[i].key, uses[*n_uses].detector->type, is_input);
            check_when(r, n->members[i].value, is_input);
            *n_uses += 1;
        }
    }
    return uses;
}

static void on_input(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_route *route = target;
    route->input = read_side(r, n, true, &route->n_input);
}

static void on_output(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_route *route = target;
    route->output = read_side(r, n, false, &route->n_output);
}

static void on_input_roles(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_route *route = target;
    route->input_roles = read_bits(r, n, "input_roles", role_words);
}

/* A list, or `all`, which older files spell `true`. */
static void on_unguarded(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_route *route = target;
    bool is_true;
    if (n->kind == WEIR_CONF_SCALAR) {
        if (weir_slice_eq_cstr(n->text, "all")) {
            route->is_unguarded = true;
        } else if (weir_conf__as_bool(n, &is_true)) {
            route->is_unguarded = is_true;
        } else {
            weir_conf__error(r, n, "`unguarded` must be a list, or `all`, not %s",
                             weir_conf__describe(r->scratch, n));
        }
        return;
    }
    route->unguarded = 0;
    if (!weir_conf__want_list(r, n, "unguarded")) {
        return;
    }
    route->unguarded_paths = weir_conf__read_paths(r, n);
    for (size_t i = 0; i < n->n; i++) {
        if (weir_conf__is_path(n->items[i])) {
            continue;
        }
        int word = weir_conf__want_word(r, n->items[i], "unguarded", hole_words);
        if (word >= 0) {
            route->unguarded |= UINT32_C(1) << word;
        }
    }
}

/* `sealed: reject` takes it off the list. */
static void on_sealed(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_route *route = target;
    int word = weir_conf__want_word(r, n, "sealed", sealed_words);
    if (word == 1) {
        route->unguarded &= ~(uint32_t)WEIR_CONF_HOLE_SEALED;
    }
}

/* Every { must open one of three placeholders, so that a misspelt one is not sent to a caller. */
static void on_redact_with(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    static const char *const placeholders[] = {"{detection}", "{detection_type}", "{detector_id}"};
    struct weir_conf_route *route = target;
    struct weir_slice rest;
    if (!weir_conf__as_text(n, &rest)) {
        weir_conf__want_text(r, n, "redact_with");
        return;
    }
    route->redact_with = weir_conf__keep(r, n);
    for (size_t at; (at = weir_slice_find(rest, '{')) < rest.n;) {
        rest = weir_slice_sub(rest, at, rest.n);
        size_t end = weir_slice_find(rest, '}');
        struct weir_slice found = weir_slice_sub(rest, 0, end < rest.n ? end + 1 : rest.n);
        bool is_known = false;
        for (size_t i = 0; i < 3; i++) {
            is_known = is_known || weir_slice_eq_cstr(found, placeholders[i]);
        }
        if (!is_known) {
            weir_conf__error(r, n,
                             "`redact_with` has the unknown placeholder %s; known are "
                             "`{detection}`, `{detection_type}` and `{detector_id}`",
                             weir_conf__name(r, found));
            return;
        }
        rest = weir_slice_sub(rest, found.n, rest.n);
    }
}

static void on_fallback(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_route *route = target;
    if (!weir_conf__want_text(r, n, "fallback_message")) {
        return;
    }
    if (n->text.n > MAX_MESSAGE_BYTES) {
        weir_conf__error(r, n, "`fallback_message` is longer than %d bytes", MAX_MESSAGE_BYTES);
    }
    route->fallback_message = weir_conf__keep(r, n);
}

static void on_models(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_route *route = target;
    route->models = weir_conf__want_texts(r, n, "models", MAX_MODELS);
    if (n->kind == WEIR_CONF_SEQUENCE && n->n == 0) {
        weir_conf__error(r, n, "`models` must name at least one model: left out, it means all");
    }
}

static void on_max_tokens(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_route *route = target;
    weir_conf__read_max_tokens(r, n, &route->max_tokens);
}

static void on_mask(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_route *route = target;
    weir_conf__mask_section(r, n, &route->mask);
}

static void on_canary(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_route *route = target;
    weir_conf__canary_section(r, n, &route->canary);
}

#define T struct weir_conf_route
static const struct weir_conf_key route_keys[] = {
    WEIR_CONF_KEY_CALL("name", on_name, .is_required = true),
    WEIR_CONF_KEY_CALL("input", on_input),
    WEIR_CONF_KEY_CALL("output", on_output),
    WEIR_CONF_KEY(T, on_detection, ENUM, .words = action_words),
    WEIR_CONF_KEY_CALL("fallback_message", on_fallback),
    WEIR_CONF_KEY(T, block_as, ENUM, .words = block_words),
    WEIR_CONF_KEY(T, block_ending, ENUM, .words = ending_words),
    WEIR_CONF_KEY_CALL("redact_with", on_redact_with),
    WEIR_CONF_KEY_CALL("mask", on_mask),
    WEIR_CONF_KEY_CALL("canary", on_canary),
    WEIR_CONF_KEY_CALL("input_roles", on_input_roles),
    WEIR_CONF_KEY(T, input_scope, ENUM, .words = scope_words),
    WEIR_CONF_KEY(T, history_findings, ENUM, .words = findings_words),
    WEIR_CONF_KEY(T, input_check, ENUM, .words = input_check_words),
    WEIR_CONF_KEY(T, output_check, ENUM, .words = output_check_words),
    WEIR_CONF_KEY(T, max_exposed_chars, U32, .min = 1, .max = MAX_EXPOSED_CHARS),
    WEIR_CONF_KEY_CALL("unguarded", on_unguarded),
    WEIR_CONF_KEY_CALL("sealed", on_sealed),
    WEIR_CONF_KEY_CALL("models", on_models),
    WEIR_CONF_KEY(T, unknown_members, ENUM, .words = unknown_words),
    WEIR_CONF_KEY(T, history, ENUM, .words = history_words),
    WEIR_CONF_KEY_CALL("max_tokens", on_max_tokens),
    WEIR_CONF_KEY(T, streaming, OBJECT, .object = &weir_conf__stream_policy),
};
#undef T
static const struct weir_conf_object route_object = {WEIR_CONF_OBJECT(route_keys)};

/* Those that only watch guard nothing. */
static bool names_detectors(const struct weir_conf_reader *r, const struct weir_conf_node *n,
                            const char *side)
{
    const struct weir_conf_node *map = weir_conf__get(n, side);
    bool is_map = map != NULL && map->kind == WEIR_CONF_MAPPING;
    for (size_t i = 0; is_map && i < map->n; i++) {
        const struct weir_conf_detector *d =
            weir_map_get(&r->conf->detectors_by_id, map->members[i].key->text);
        if (d == NULL || d->mode != WEIR_CONF_SHADOW) {
            return true;
        }
    }
    return false;
}

static void warn_of_idle_key(struct weir_conf_reader *r, const struct weir_conf_node *n,
                             const char *key, const char *wanted)
{
    const struct weir_conf_node *at = weir_conf__get(n, key);
    if (at != NULL) {
        weir_conf__warn(r, at, "`%s` has no effect without `on_detection: %s`", key, wanted);
    }
}

static void warn_of_idle_keys(struct weir_conf_reader *r, const struct weir_conf_node *n,
                              const struct weir_conf_route *route)
{
    if (route->on_detection != WEIR_CONF_ANNOTATE) {
        warn_of_idle_key(r, n, "input_scope", "annotate");
    }
    if (route->on_detection != WEIR_CONF_BLOCK) {
        warn_of_idle_key(r, n, "history_findings", "block");
    }
}

/* A detector's own `on_detection` is `annotate`, or the route's. */
static void check_own_actions(struct weir_conf_reader *r, const struct weir_conf_node *n,
                              const struct weir_conf_route *route, const char *side)
{
    const struct weir_conf_node *map = weir_conf__get(n, side);
    bool is_map = map != NULL && map->kind == WEIR_CONF_MAPPING;
    for (size_t i = 0; is_map && i < map->n; i++) {
        const struct weir_conf_node *params = map->members[i].value;
        const struct weir_conf_node *own =
            params->kind == WEIR_CONF_MAPPING ? weir_conf__get(params, "on_detection") : NULL;
        bool is_word = own != NULL && own->kind == WEIR_CONF_SCALAR && !weir_conf__is_null(own);
        for (int word = WEIR_CONF_BLOCK; is_word && word <= WEIR_CONF_MASK; word++) {
            if (weir_slice_eq_cstr(own->text, action_words[word]) &&
                (enum weir_conf_action)word != route->on_detection) {
                weir_conf__error(
                    r, own,
                    "detector %s cannot `%s` on a route that has `on_detection: %s`: it may "
                    "`annotate`, or do what the route does",
                    weir_conf__name(r, map->members[i].key->text), action_words[word],
                    action_words[route->on_detection]);
            }
        }
    }
}

/* Is there one that does what the route does? */
static bool has_judge(const struct weir_conf_use *uses, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!uses[i].only_annotates && uses[i].detector->mode != WEIR_CONF_SHADOW) {
            return true;
        }
    }
    return false;
}

static void warn_of_idle_action(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                const struct weir_conf_route *route)
{
    bool is_any = has_judge(route->input, route->n_input) ||
                  has_judge(route->output, route->n_output) || route->canary.is_on;
    bool names_any = route->n_input + route->n_output != 0;
    if (route->on_detection != WEIR_CONF_ANNOTATE && names_any && !is_any) {
        weir_conf__warn(r, n,
                        "route %s has `on_detection: %s`, and each of its detectors annotates",
                        weir_conf__name(r, route->name.s), action_words[route->on_detection]);
    }
}

static void check_mask(struct weir_conf_reader *r, const struct weir_conf_node *n,
                       const struct weir_conf_route *route)
{
    const struct weir_conf_node *mask = weir_conf__get(n, "mask");
    if (route->on_detection != WEIR_CONF_MASK) {
        warn_of_idle_key(r, n, "mask", "mask");
        return;
    }
    if (mask == NULL) {
        weir_conf__error(r, n, "route %s masks and has no key: write `mask: {key_env: VARIABLE}`",
                         weir_conf__name(r, route->name.s));
    }
    if (!has_judge(route->input, route->n_input) || !has_judge(route->output, route->n_output)) {
        weir_conf__error(r, n,
                         "route %s masks and needs detectors for `input` and for `output` that do "
                         "not only annotate",
                         weir_conf__name(r, route->name.s));
    }
}

static void check_route(struct weir_conf_reader *r, const struct weir_conf_node *n,
                        const struct weir_conf_route *route)
{
    bool is_guarded =
        names_detectors(r, n, "input") || names_detectors(r, n, "output") || route->canary.is_on;
    if (!is_guarded && !route->is_unguarded) {
        weir_conf__error(r, n, "route %s has no detectors: name some, or write `unguarded: all`",
                         weir_conf__name(r, route->name.s));
    } else if (is_guarded && route->is_unguarded) {
        weir_conf__error(r, n, "route %s has detectors and says `unguarded: all`",
                         weir_conf__name(r, route->name.s));
    }
    warn_of_idle_keys(r, n, route);
    warn_of_idle_action(r, n, route);
    check_own_actions(r, n, route, "input");
    check_own_actions(r, n, route, "output");
    check_mask(r, n, route);
    weir_conf__check_timing(r, n, route);
    const struct weir_conf_node *redact_with = weir_conf__get(n, "redact_with");
    if (redact_with != NULL && route->on_detection != WEIR_CONF_REDACT &&
        route->on_detection != WEIR_CONF_MASK) {
        weir_conf__warn(r, redact_with,
                        "`redact_with` has no effect without "
                        "`on_detection: redact` or `mask`");
    }
    const struct weir_conf_node *fallback = weir_conf__get(n, "fallback_message");
    if (fallback != NULL && route->on_detection == WEIR_CONF_ANNOTATE) {
        weir_conf__warn(r, fallback,
                        "`fallback_message` has no effect with "
                        "`on_detection: annotate`");
    }
}

/* What stays open where a route does not say: the server's own sealed texts and history, and what
 * cannot be looked at, unless the route blocks. */
static uint32_t default_holes(const struct weir_conf_node *n)
{
    const struct weir_conf_node *action = weir_conf__get(n, "on_detection");
    bool blocks = action != NULL && action->kind == WEIR_CONF_SCALAR &&
                  weir_slice_eq_cstr(action->text, action_words[WEIR_CONF_BLOCK]);
    uint32_t media = WEIR_CONF_HOLE_IMAGES | WEIR_CONF_HOLE_AUDIO | WEIR_CONF_HOLE_FILES;
    return WEIR_CONF_HOLE_SEALED | WEIR_CONF_HOLE_SERVER_HISTORY | (blocks ? 0 : media);
}

static void read_route(struct weir_conf_reader *r, const struct weir_conf_node *n,
                       struct weir_conf_route *route)
{
    route->input_roles = WEIR_CONF_USER | WEIR_CONF_TOOL | WEIR_CONF_FUNCTION;
    route->redact_with.s = WEIR_SLICE("[{detection}]");
    route->max_exposed_chars = EXPOSED_CHARS;
    if (weir_conf__want_mapping(r, n, "routes")) {
        route->unguarded = default_holes(n);
        weir_conf__decode(r, &route_object, n, route);
        check_route(r, n, route);
        if (route->unknown_members == WEIR_CONF_UNKNOWN_PASS) {
            route->unguarded |= WEIR_CONF_HOLE_UNKNOWN_MEMBERS;
        }
    }
}

void weir_conf__routes_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *conf)
{
    (void)conf;
    if (!weir_conf__want_list(r, n, "routes")) {
        return;
    }
    if (n->n > MAX_ROUTES) {
        weir_conf__error(r, n, "`routes` has %zu entries, more than %d", n->n, MAX_ROUTES);
        return;
    }
    struct weir_conf_route *routes = weir_arena_array(r->arena, n->n, sizeof *routes);
    for (size_t i = 0; i < n->n; i++) {
        read_route(r, n->items[i], &routes[i]);
        const struct weir_conf_route *first = weir_conf_route(r->conf, routes[i].name.s);
        if (first != NULL && routes[i].name.s.n > 0) {
            weir_conf__error(r, n->items[i], "route %s is there twice, first on line %d",
                             weir_conf__name(r, routes[i].name.s), first->name.at.line);
        }
        r->conf->routes = routes;
        r->conf->n_routes = i + 1;
    }
}
