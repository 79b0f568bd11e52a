#include "task/seen.h"

#include "talk/form.h"

static struct weir_metric_family *findings;
static struct weir_metric_family *exposed;

void weir_seen_declare(void)
{
    static const struct weir_metric_def def = {
        .name = "weir_findings_total",
        .help = "Findings on routes, and what was done about them.",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"route", "side", "channel", "detector", "detection", "action"},
    };
    findings = weir_metric_declare(&def);
    static const uint64_t buckets[] = {1, 10, 50, 100, 200, 500, 1000, 5000, 20000};
    static const struct weir_metric_def exposed_def = {
        .name = "weir_exposed_characters",
        .help = "Characters that had left, from the beginning of a finding on, when it was found "
                "(`output_check: after`).",
        .type = WEIR_METRIC_HISTOGRAM,
        .buckets = buckets,
        .n_buckets = sizeof buckets / sizeof buckets[0],
        .labels = {"route"},
    };
    exposed = weir_metric_declare(&exposed_def);
}

/* ---- names ---- */

bool weir_seen_is_model_name(struct weir_slice s)
{
    return weir_form_is_id(s, WEIR_FORM_ID_MOST);
}

/* ---- findings ---- */

static struct weir_metric_counter counter_of(const struct weir_seen *seen,
                                             const struct weir_seen_kind *k)
{
    static const char *const sides[WEIR_POLICY_SIDES] = {"input", "output"};
    if (findings == NULL) {
        return (struct weir_metric_counter){0};
    }
    return weir_metric_counter(
        findings, WEIR_METRIC_LABELS(seen->route, weir_slice_cstr(sides[k->side]),
                                     weir_slice_cstr(k->channel), k->detector, k->detection,
                                     weir_slice_cstr(weir_policy_outcome_name(k->action))));
}

static bool is_alike(const struct weir_seen_kind *k, const struct weir_seen_where *where,
                     struct weir_slice detector, struct weir_slice detection)
{
    return k->side == where->side && k->action == where->action &&
           strcmp(k->channel, where->channel) == 0 && weir_slice_eq(k->detector, detector) &&
           weir_slice_eq(k->detection, detection);
}

static struct weir_seen_kind *add_kind(struct weir_seen *seen)
{
    if (seen->n_kinds == seen->cap_kinds) {
        size_t cap = seen->cap_kinds != 0 ? 2 * seen->cap_kinds : 2;
        struct weir_seen_kind *larger = weir_arena_array(seen->arena, cap, sizeof *larger);
        if (seen->n_kinds != 0) {
            memcpy(larger, seen->kinds, seen->n_kinds * sizeof *larger);
        }
        seen->kinds = larger;
        seen->cap_kinds = cap;
    }
    return &seen->kinds[seen->n_kinds++];
}

/* The last kind takes all that there is no room for: a request that finds hundreds of different
 * things must not make as many series. */
static struct weir_seen_kind *kind_of(struct weir_seen *seen, const struct weir_seen_where *where,
                                      struct weir_slice detector, struct weir_slice detection)
{
    for (size_t i = 0; i < seen->n_kinds; i++) {
        if (is_alike(&seen->kinds[i], where, detector, detection)) {
            return &seen->kinds[i];
        }
    }
    if (seen->n_kinds == WEIR_SEEN_MAX_KINDS) {
        return &seen->kinds[WEIR_SEEN_MAX_KINDS - 1];
    }
    bool is_last = seen->n_kinds == WEIR_SEEN_MAX_KINDS - 1;
    struct weir_seen_kind *k = add_kind(seen);
    *k = (struct weir_seen_kind){.side = where->side,
                                 .action = where->action,
                                 .channel = where->channel,
                                 .detector = WEIR_SLICE("other"),
                                 .detection = WEIR_SLICE("other")};
    if (!is_last) {
        k->detector = weir_arena_dup(seen->arena, detector);
        k->detection = weir_arena_dup(seen->arena, detection);
    }
    k->counter = counter_of(seen, k);
    return k;
}

void weir_seen_findings(const struct weir_policy *p, const struct weir_seen_where *where,
                        const struct weir_detection *const *found, size_t n)
{
    struct weir_seen *seen = p != NULL ? p->seen : NULL;
    for (size_t i = 0; seen != NULL && i < n; i++) {
        struct weir_slice name = weir_detection_name(found[i]);
        struct weir_seen_kind *k = kind_of(seen, where, found[i]->detector_id, name);
        k->n++;
        k->score = found[i]->score > k->score ? found[i]->score : k->score;
        if (findings != NULL) {
            weir_metric_add(k->counter, 1);
        }
        if (exposed != NULL && found[i]->exposed_cp != 0) {
            weir_metric_observe(weir_metric_histogram(exposed, WEIR_METRIC_LABELS(seen->route)),
                                found[i]->exposed_cp);
        }
        if (seen->watch != NULL) {
            seen->watch(seen->watch_ctx, where, found[i], name);
        }
    }
}

/* Is this the first kind of its detector on that side? Then `*n` is what all of them found. */
static bool sums_up(const struct weir_seen *seen, size_t at, uint64_t *n)
{
    const struct weir_seen_kind *k = &seen->kinds[at];
    *n = 0;
    for (size_t i = 0; i < seen->n_kinds; i++) {
        const struct weir_seen_kind *other = &seen->kinds[i];
        bool is_same = other->side == k->side && weir_slice_eq(other->detector, k->detector);
        if (is_same && i < at) {
            return false;
        }
        *n += is_same ? other->n : 0;
    }
    return true;
}

void weir_seen_write_detectors(const struct weir_seen *seen, enum weir_policy_side side,
                               struct weir_buf *out)
{
    for (size_t i = 0; i < seen->n_kinds; i++) {
        const struct weir_seen_kind *k = &seen->kinds[i];
        uint64_t n;
        if (k->side == side && sums_up(seen, i, &n)) {
            weir_buf_printf(out, "%s%.*s=%llu", out->n != 0 ? " " : "", (int)k->detector.n,
                            k->detector.p, (unsigned long long)n);
        }
    }
}

/* ---- outcomes ---- */

void weir_seen_note_outcome(struct weir_seen *seen, enum weir_policy_side side,
                            enum weir_policy_outcome outcome)
{
    seen->has_outcome[side] = true;
    seen->outcome[side] = outcome;
}

enum weir_policy_outcome weir_seen_action(const struct weir_seen *seen)
{
    return weir_policy_stronger(seen->outcome[WEIR_POLICY_INPUT],
                                seen->outcome[WEIR_POLICY_OUTPUT]);
}

/* ---- what it cost ---- */

static bool read_count(const struct weir_json *j, uint32_t usage, const char *name, uint64_t *n)
{
    uint32_t at = weir_json_get_set(j, usage, weir_slice_cstr(name));
    return at != WEIR_JSON_NONE && weir_json_u64(j, at, n) == 0;
}

void weir_seen_usage(const struct weir_policy *p, const struct weir_json *answer)
{
    bool is_watched = p != NULL && p->seen != NULL;
    uint32_t usage =
        is_watched ? weir_json_get_set(answer, 0, WEIR_SLICE("usage")) : WEIR_JSON_NONE;
    if (usage != WEIR_JSON_NONE) {
        weir_seen_usage_at(p, answer, usage);
    }
}

void weir_seen_usage_at(const struct weir_policy *p, const struct weir_json *json, uint32_t usage)
{
    struct weir_seen *seen = p != NULL ? p->seen : NULL;
    if (seen != NULL) {
        bool has_input = read_count(json, usage, "prompt_tokens", &seen->input_tokens) ||
                         read_count(json, usage, "input_tokens", &seen->input_tokens);
        bool has_output = read_count(json, usage, "completion_tokens", &seen->output_tokens) ||
                          read_count(json, usage, "output_tokens", &seen->output_tokens);
        seen->has_usage = seen->has_usage || has_input || has_output;
    }
}
