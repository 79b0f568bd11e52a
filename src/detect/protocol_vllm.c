/*
 * vLLM, a classifier:
 *
 *   POST /classify {"model":"m","input":["a","b"]}
 *   200 {"data":[{"index":0,"label":"INJECTION","probs":[0.1,0.9],"num_classes":2},…],…}
 *
 * The answer names the likeliest class only. The names of the others, in the order of the model's
 * classes, are the configured labels; without those only the likeliest can be a finding.
 */
#include "detect/protocol_int.h"

#include "base/err.h"

static struct weir_slice path(const struct weir_protocol_ask *ask)
{
    (void)ask;
    return WEIR_SLICE("/classify");
}

static void write(const struct weir_protocol_ask *ask, struct weir_buf *out)
{
    struct weir_protocol_body b;
    weir_protocol__begin(&b, ask, out);
    weir_protocol__string(&b, "model", ask->options->model);
    weir_protocol__texts(&b, "input");
    weir_protocol__end(&b);
}

/* All probabilities with their configured names. `best` is the likeliest class. */
static int read_probs(struct weir_protocol_lists *l, uint32_t probs, size_t *best,
                      struct weir_protocol_score *best_score)
{
    const struct weir_protocol_options *o = l->ask->options;
    size_t i = 0;
    uint32_t at = weir_json_first(&l->json, probs);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(&l->json, probs, at), i++) {
        struct weir_protocol_score score;
        if (weir_protocol__score(l, at, "an entry of `probs`", &score) != 0) {
            return WEIR_EPEER;
        }
        if (i == 0 || score.value > best_score->value) {
            *best = i;
            *best_score = score;
        }
        if (o->n_labels != 0) {
            weir_protocol__add(l, o->labels[i].name, &score);
        }
    }
    return 0;
}

/* The operator's list must be the model's. */
static int check_name(struct weir_protocol_lists *l, uint32_t label, size_t best)
{
    const struct weir_protocol_options *o = l->ask->options;
    if (weir_json_string_eq(&l->json, label, o->labels[best].name)) {
        return 0;
    }
    return weir_protocol__bad(l, "class %zu is not called `%.*s`, as `labels` has it", best,
                              (int)o->labels[best].name.n, o->labels[best].name.p);
}

static int read_text(struct weir_protocol_lists *l, uint32_t entry)
{
    const struct weir_protocol_options *o = l->ask->options;
    uint32_t probs;
    size_t best = 0;
    struct weir_protocol_score score = {0};
    int rc = weir_protocol__need(l, entry, "probs", WEIR_JSON_ARRAY, &probs);
    if (rc == 0 && l->json.nodes[probs].n == 0) {
        rc = weir_protocol__bad(l, "`probs` is empty");
    }
    if (rc == 0 && o->n_labels != 0) {
        rc = weir_protocol__need_n(l, probs, "`probs`", o->n_labels);
    }
    rc = rc == 0 ? read_probs(l, probs, &best, &score) : rc;
    uint32_t label =
        rc == 0 ? weir_json_get_set(&l->json, entry, WEIR_SLICE("label")) : WEIR_JSON_NONE;
    bool has_name = label != WEIR_JSON_NONE && weir_json_type(&l->json, label) == WEIR_JSON_STRING;
    if (rc == 0 && o->n_labels == 0 && !has_name) {
        rc = weir_protocol__bad(l, "`label` is missing, and `labels` are not configured");
    } else if (rc == 0 && o->n_labels == 0) {
        weir_protocol__add(l, weir_json_string(&l->json, label, l->ask->arena), &score);
    } else if (rc == 0 && has_name) {
        rc = check_name(l, label, best);
    }
    return rc;
}

static int read_entry(struct weir_protocol_lists *l, uint32_t entry)
{
    uint32_t index;
    uint64_t n;
    int rc = weir_protocol__need(l, entry, "index", WEIR_JSON_NUMBER, &index);
    if (rc == 0 && (weir_json_u64(&l->json, index, &n) != 0 || n != l->at)) {
        rc = weir_protocol__bad(l, "`index` is out of order");
    }
    return rc == 0 ? read_text(l, entry) : rc;
}

static int read_root(struct weir_protocol_lists *l)
{
    return weir_protocol__each(l, "data", read_entry);
}

const struct weir_protocol weir_protocol_vllm_classify = {
    .name = "vllm_classify",
    .types = 1u << WEIR_DETECT_CONTENTS,
    .max_texts = 32,
    .health = "/health",
    .finding_type = {"classification", 14},
    .path = path,
    .write = write,
    .lists = read_root,
    .error = weir_protocol__error,
};
