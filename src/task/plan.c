#include "task/plan.h"

#include "base/err.h"
#include "base/glob.h"
#include "wire/json_write.h"

#include <stdlib.h>

static int fail(struct weir_plan_error *error, int status, const char *details)
{
    *error = (struct weir_plan_error){.status = status, .details = details};
    return WEIR_EINVAL;
}

/* A member of the parameters, to be sorted. */
struct member {
    struct weir_slice name;
    uint32_t value;
};

static int by_name(const void *a, const void *b)
{
    return weir_slice_cmp(((const struct member *)a)->name, ((const struct member *)b)->name);
}

static size_t collect_members(const struct weir_json *json, uint32_t params, struct member *out,
                              struct weir_arena *arena)
{
    size_t n = 0;
    uint32_t key = weir_json_first(json, params);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, params, key)) {
        struct weir_slice name = weir_json_string(json, key, arena);
        if (!weir_slice_eq(name, WEIR_SLICE("threshold"))) {
            out[n++] = (struct member){.name = name, .value = key + 1};
        }
    }
    return n;
}

bool weir_plan_has_type(const struct weir_plan *plan, enum weir_detect_type type)
{
    for (size_t i = 0; i < plan->n; i++) {
        if (plan->uses[i].d->detector->type == type) {
            return true;
        }
    }
    return false;
}

/* ---- routes ---- */

enum { N_CHANNELS = WEIR_CHANNEL_WHOLE + 1 };

static bool looks_at(const struct weir_plan_use *use, enum weir_channel channel)
{
    return use->channels == 0 || (use->channels >> channel & 1) != 0;
}

static void set_late(struct weir_plan *plan, struct weir_arena *arena)
{
    struct weir_plan *late = weir_arena_zalloc(arena, sizeof *late);
    struct weir_plan_use *uses = weir_arena_array(arena, plan->n, sizeof *uses);
    for (size_t i = 0; i < plan->n; i++) {
        if (plan->uses[i].is_late) {
            uses[late->n++] = plan->uses[i];
        }
    }
    late->uses = uses;
    late->max_exposed_cp = plan->max_exposed_cp;
    plan->late = late->n != 0 && plan->max_exposed_cp != 0 ? late : NULL;
}

static void split_late_and_channels(struct weir_plan *plan, struct weir_arena *arena)
{
    uint32_t channels = 0;
    set_late(plan, arena);
    for (size_t i = 0; i < plan->n; i++) {
        channels |= plan->uses[i].channels;
    }
    if (channels == 0) {
        return;
    }
    struct weir_plan *by_channel = weir_arena_array(arena, N_CHANNELS, sizeof *by_channel);
    for (size_t c = 0; c < N_CHANNELS; c++) {
        struct weir_plan_use *uses = weir_arena_array(arena, plan->n, sizeof *uses);
        by_channel[c] = (struct weir_plan){.uses = uses, .max_exposed_cp = plan->max_exposed_cp};
        for (size_t i = 0; i < plan->n; i++) {
            if (looks_at(&plan->uses[i], (enum weir_channel)c)) {
                uses[by_channel[c].n++] = plan->uses[i];
            }
        }
        set_late(&by_channel[c], arena);
    }
    plan->by_channel = by_channel;
}

/* Those that only tell, or the others. */
static const struct weir_plan *part_of(const struct weir_plan *plan, bool only_tells,
                                       struct weir_arena *arena)
{
    struct weir_plan *part = weir_arena_zalloc(arena, sizeof *part);
    struct weir_plan_use *uses = weir_arena_array(arena, plan->n, sizeof *uses);
    for (size_t i = 0; i < plan->n; i++) {
        if (plan->uses[i].only_tells == only_tells) {
            uses[part->n++] = plan->uses[i];
        }
    }
    part->uses = uses;
    part->max_exposed_cp = plan->max_exposed_cp;
    split_late_and_channels(part, arena);
    return part;
}

void weir_plan_split(struct weir_plan *plan, struct weir_arena *arena)
{
    bool has_telling = false;
    split_late_and_channels(plan, arena);
    for (size_t i = 0; i < plan->n; i++) {
        has_telling = has_telling || plan->uses[i].only_tells;
    }
    plan->telling = has_telling ? part_of(plan, true, arena) : NULL;
    plan->judging = has_telling ? part_of(plan, false, arena) : NULL;
}

void weir_plan_part(const struct weir_plan *plan, enum weir_detect_type type,
                    struct weir_arena *arena, struct weir_plan *of_type, struct weir_plan *others)
{
    struct weir_plan_use *with = weir_arena_array(arena, plan->n, sizeof *with);
    struct weir_plan_use *without = weir_arena_array(arena, plan->n, sizeof *without);
    *of_type = (struct weir_plan){.uses = with};
    *others = (struct weir_plan){.uses = without, .max_exposed_cp = plan->max_exposed_cp};
    for (size_t i = 0; i < plan->n; i++) {
        if (plan->uses[i].d->detector->type == type) {
            with[of_type->n++] = plan->uses[i];
        } else {
            without[others->n++] = plan->uses[i];
        }
    }
    weir_plan_split(of_type, arena);
    weir_plan_split(others, arena);
}

static bool is_for(const struct weir_plan_use *use, struct weir_slice model)
{
    bool is_named = use->n_models == 0;
    for (size_t i = 0; !is_named && i < use->n_models; i++) {
        is_named = weir_glob_match(use->models[i], model);
    }
    return is_named;
}

struct weir_plan weir_plan_for_model(const struct weir_plan *plan, struct weir_slice model,
                                     struct weir_arena *arena)
{
    size_t n_for = 0;
    for (size_t i = 0; i < plan->n; i++) {
        n_for += is_for(&plan->uses[i], model);
    }
    if (n_for == plan->n) {
        return *plan;
    }
    struct weir_plan_use *uses = weir_arena_array(arena, n_for, sizeof *uses);
    struct weir_plan made = {.uses = uses, .max_exposed_cp = plan->max_exposed_cp};
    for (size_t i = 0; i < plan->n; i++) {
        if (is_for(&plan->uses[i], model)) {
            uses[made.n++] = plan->uses[i];
        }
    }
    weir_plan_split(&made, arena);
    return made;
}

struct weir_slice weir_plan_params(const struct weir_json *json, uint32_t params,
                                   struct weir_arena *arena)
{
    if (weir_json_type(json, params) != WEIR_JSON_OBJECT || json->nodes[params].n == 0) {
        return WEIR_SLICE("{}");
    }
    struct member *members = weir_arena_array(arena, json->nodes[params].n, sizeof *members);
    size_t n = collect_members(json, params, members, arena);
    qsort(members, n, sizeof *members, by_name);
    struct weir_buf out = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    weir_json_write_begin_object(&w);
    for (size_t i = 0; i < n; i++) {
        weir_json_write_key(&w, members[i].name);
        weir_json_write_node(&w, json, members[i].value);
    }
    weir_json_write_end_object(&w);
    struct weir_slice text = weir_arena_take_buf(arena, &out);
    return text;
}

/* The words of the request itself come before the question whether its detectors exist. */
static int check_thresholds(struct weir_task_ctx *ctx, const struct weir_json *json,
                            uint32_t object, struct weir_plan_error *error)
{
    uint32_t key = weir_json_first(json, object);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, object, key)) {
        uint32_t at = weir_json_get_set(json, key + 1, WEIR_SLICE("threshold"));
        double number;
        if (at != WEIR_JSON_NONE && weir_json_f64(json, at, &number) != 0) {
            struct weir_slice id = weir_json_string(json, key, ctx->arena);
            return fail(error, 422,
                        weir_arena_printf(ctx->arena,
                                          "`threshold` parameter specified for model `%.*s` must "
                                          "be a number",
                                          (int)id.n, id.p));
        }
    }
    return 0;
}

static int read_use(struct weir_plan_use *use, struct weir_task_ctx *ctx,
                    const struct weir_json *json, uint32_t key, unsigned types,
                    struct weir_plan_error *error)
{
    struct weir_slice id = weir_json_string(json, key, ctx->arena);
    use->d = weir_map_get(&ctx->env->detectors_by_id, id);
    if (use->d == NULL) {
        const char *text =
            weir_arena_printf(ctx->arena, "detector `%.*s` not found", (int)id.n, id.p);
        return fail(error, 404, text);
    }
    if (use->d->is_shadow) {
        const char *text = weir_arena_printf(
            ctx->arena, "detector `%.*s` only watches routes (mode: shadow)", (int)id.n, id.p);
        return fail(error, 422, text);
    }
    if ((types & WEIR_PLAN_TYPE(use->d->detector->type)) == 0) {
        const char *text = weir_arena_printf(
            ctx->arena, "detector `%.*s` is not supported by this endpoint", (int)id.n, id.p);
        return fail(error, 422, text);
    }
    use->params = weir_plan_params(json, key + 1, ctx->arena);
    use->threshold = use->d->default_threshold;
    uint32_t threshold = weir_json_get_set(json, key + 1, WEIR_SLICE("threshold"));
    if (threshold != WEIR_JSON_NONE) {
        weir_json_f64(json, threshold, &use->threshold);
    }
    return 0;
}

int weir_plan_read(struct weir_plan *plan, struct weir_task_ctx *ctx, const struct weir_json *json,
                   uint32_t object, unsigned types, struct weir_plan_error *error)
{
    *plan = (struct weir_plan){0};
    if (object == WEIR_JSON_NONE || weir_json_type(json, object) != WEIR_JSON_OBJECT) {
        return 0;
    }
    if (check_thresholds(ctx, json, object, error) != 0) {
        return WEIR_EINVAL;
    }
    struct weir_plan_use *uses = weir_arena_array(ctx->arena, json->nodes[object].n, sizeof *uses);
    size_t n = 0;
    uint32_t key = weir_json_first(json, object);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, object, key)) {
        int rc = read_use(&uses[n++], ctx, json, key, types, error);
        if (rc != 0) {
            return rc;
        }
    }
    *plan = (struct weir_plan){.uses = uses, .n = n};
    return 0;
}

int weir_plan_check_chunked(const struct weir_plan *plan, struct weir_task_ctx *ctx,
                            struct weir_plan_error *error)
{
    for (size_t i = 0; ctx->env->compat.refuses_whole && i < plan->n; i++) {
        const struct weir_task_detector *d = plan->uses[i].d;
        if (d->chunker != NULL && d->chunker->is_whole_doc && !d->reads_along) {
            return fail(error, 422,
                        weir_arena_printf(ctx->arena,
                                          "detector `%.*s` uses chunker `whole_doc_chunker`, which "
                                          "is not supported by this endpoint",
                                          (int)d->id.n, d->id.p));
        }
    }
    return 0;
}
