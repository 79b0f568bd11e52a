#include "offline/detect_pick.h"

#include "base/err.h"
#include "conf/conf_load.h"
#include "conf/conf_near.h"
#include "detect/registry.h"

#include <string.h>

bool weir_detect_pick_add(struct weir_detect_pick *pick, const char *id)
{
    if (id[0] == '\0') {
        return false;
    }
    for (size_t i = 0; i < pick->n_ids; i++) {
        if (strcmp(pick->ids[i], id) == 0) {
            return true;
        }
    }
    if (pick->n_ids == WEIR_DETECT_PICK_MAX) {
        return false;
    }
    pick->ids[pick->n_ids++] = id;
    return true;
}

/* TLS files and the like are not looked at: no service is asked here. */
static int load(const struct weir_detect_pick *pick, struct weir_detect_picked *out,
                struct weir_buf *why)
{
    struct weir_conf_load_options options = {
        .path = pick->config_path, .env = weir_conf_env_process, .skip_files = true};
    struct weir_conf_problems problems = {0};
    int rc = weir_conf_load(&options, &out->conf, &problems);
    if (rc != 0) {
        weir_conf_problems_report(&problems, pick->config_path, why);
    }
    weir_conf_problems_dispose(&problems);
    return rc != 0 ? WEIR_EINVAL : 0;
}

static const struct weir_conf_detector *find(const struct weir_conf *conf, const char *id)
{
    for (size_t i = 0; i < conf->n_detectors; i++) {
        if (weir_slice_eq_cstr(conf->detectors[i].id.s, id)) {
            return &conf->detectors[i];
        }
    }
    return NULL;
}

static int refuse_unknown(const struct weir_conf *conf, const char *id, struct weir_buf *why)
{
    struct weir_conf_near near;
    weir_conf_near_init(&near, weir_slice_cstr(id));
    weir_buf_printf(why, "weir detect: there is no detector `%.60s` in the configuration", id);
    for (size_t i = 0; i < conf->n_detectors; i++) {
        if (conf->detectors[i].service == NULL) {
            weir_conf_near_offer(&near, conf->detectors[i].id.s);
        }
    }
    if (near.best.p != NULL) {
        weir_buf_printf(why, "; did you mean `%.*s`?", (int)near.best.n, near.best.p);
    }
    weir_buf_append_byte(why, '\n');
    return WEIR_EINVAL;
}

/* What keeps a detector from being run here; NULL: nothing. */
static const char *hindrance(const struct weir_conf_detector *d, struct weir_arena *arena)
{
    if (d->service != NULL) {
        return "is a service, and only built-in detectors are run here";
    }
    const struct weir_builtin_kind *kind = weir_detect_builtin_find(d->builtin.s);
    if (kind == NULL) {
        return "is of a kind that is not part of this version";
    }
    if (kind->needs != NULL && !weir_builtin_has_param(d->params, kind->needs)) {
        return weir_arena_printf(
            arena, "looks for nothing: its `params` in the configuration have no `%s`",
            kind->needs);
    }
    return NULL;
}

static int add(struct weir_detect_picked *out, const struct weir_conf_detector *d,
               struct weir_buf *why)
{
    struct weir_detect_picked_one *one = &out->list[out->n];
    struct weir_buf reason = {0};
    int rc = weir_detect_builtin_init(&one->detector, d->builtin.s, d->id.s, d->params, &reason);
    if (rc == 0) {
        out->n++;
        one->threshold = d->default_threshold;
        out->has_wholes = out->has_wholes || one->detector.kind->is_of_wholes;
    } else {
        weir_buf_printf(why, "weir detect: detector `%.*s`: %s\n", (int)d->id.s.n, d->id.s.p,
                        weir_buf_cstr(&reason));
    }
    weir_buf_dispose(&reason);
    return rc != 0 ? WEIR_EINVAL : 0;
}

static int add_named(struct weir_detect_picked *out, const char *id, struct weir_buf *why)
{
    const struct weir_conf_detector *d = find(out->conf, id);
    if (d == NULL) {
        return refuse_unknown(out->conf, id, why);
    }
    const char *what = hindrance(d, &out->arena);
    if (what != NULL) {
        weir_buf_printf(why, "weir detect: detector `%.60s` %s\n", id, what);
        return WEIR_EINVAL;
    }
    return add(out, d, why);
}

/* `links` without a list of what is allowed finds every address there is: only when named. */
static bool is_too_eager(const struct weir_conf_detector *d)
{
    return weir_slice_eq_cstr(d->builtin.s, "links") && !weir_builtin_has_param(d->params, "allow");
}

/* The built-in configuration is one for conversations. In files, words that offend and sentences
 * that look like an attack are mostly none; they are looked for when they are named. */
static bool is_for_talk(const struct weir_conf *conf, const struct weir_conf_detector *d)
{
    return conf->is_embedded && (weir_slice_eq_cstr(d->builtin.s, "keywords") ||
                                 weir_slice_eq_cstr(d->builtin.s, "prompt_injection"));
}

static int add_all(struct weir_detect_picked *out, struct weir_buf *why)
{
    for (size_t i = 0; i < out->conf->n_detectors; i++) {
        const struct weir_conf_detector *d = &out->conf->detectors[i];
        bool is_wanted =
            hindrance(d, &out->arena) == NULL && !is_too_eager(d) && !is_for_talk(out->conf, d);
        if (is_wanted && add(out, d, why) != 0) {
            return WEIR_EINVAL;
        }
    }
    if (out->n == 0) {
        weir_buf_printf(why, "weir detect: the configuration has no built-in detector that could "
                             "be run\n");
        return WEIR_EINVAL;
    }
    return 0;
}

int weir_detect_pick_make(const struct weir_detect_pick *pick, struct weir_detect_picked *out,
                          struct weir_buf *why)
{
    *out = (struct weir_detect_picked){0};
    if (load(pick, out, why) != 0) {
        return WEIR_EINVAL;
    }
    out->list = weir_arena_array(&out->arena, out->conf->n_detectors, sizeof *out->list);
    int rc = pick->n_ids == 0 ? add_all(out, why) : 0;
    for (size_t i = 0; i < pick->n_ids && rc == 0; i++) {
        rc = add_named(out, pick->ids[i], why);
    }
    return rc;
}

void weir_detect_picked_dispose(struct weir_detect_picked *picked)
{
    for (size_t i = 0; i < picked->n; i++) {
        weir_builtin_dispose(&picked->list[i].detector);
    }
    weir_conf_free(picked->conf);
    weir_arena_dispose(&picked->arena);
    *picked = (struct weir_detect_picked){0};
}
