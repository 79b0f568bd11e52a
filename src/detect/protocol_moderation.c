/*
 * OpenAI's moderation endpoint, and servers that speak it:
 *
 *   POST /v1/moderations {"model":"omni-moderation-latest","input":["a","b"]}
 *   200 {"results":[{"flagged":true,"categories":{…},"category_scores":{"hate":0.9,…}},…]}
 *
 * A category whose score reaches the threshold is a finding; `flagged` and `categories` are the
 * service's own thresholds and are not looked at. A score of null: this category does not apply.
 */
#include "detect/protocol_int.h"

static struct weir_slice path(const struct weir_protocol_ask *ask)
{
    (void)ask;
    return WEIR_SLICE("/v1/moderations");
}

static void write(const struct weir_protocol_ask *ask, struct weir_buf *out)
{
    struct weir_protocol_body b;
    weir_protocol__begin(&b, ask, out);
    weir_protocol__string(&b, "model", ask->options->model);
    weir_protocol__texts(&b, "input");
    weir_protocol__end(&b);
}

static int read_text(struct weir_protocol_lists *l, uint32_t result)
{
    uint32_t scores;
    int rc = weir_protocol__need(l, result, "category_scores", WEIR_JSON_OBJECT, &scores);
    if (rc == 0 && l->json.nodes[scores].n == 0) {
        rc = weir_protocol__bad(l, "`category_scores` is empty");
    }
    uint32_t key = rc == 0 ? weir_json_first(&l->json, scores) : WEIR_JSON_NONE;
    for (; key != WEIR_JSON_NONE && rc == 0; key = weir_json_after(&l->json, scores, key)) {
        struct weir_protocol_score score;
        if (weir_json_type(&l->json, key + 1) == WEIR_JSON_NULL) {
            continue;
        }
        rc = weir_protocol__score(l, key + 1, "a score of `category_scores`", &score);
        if (rc == 0) {
            weir_protocol__add(l, weir_json_string(&l->json, key, l->ask->arena), &score);
        }
    }
    return rc;
}

static int read_root(struct weir_protocol_lists *l)
{
    return weir_protocol__each(l, "results", read_text);
}

const struct weir_protocol weir_protocol_openai_moderation = {
    .name = "openai_moderation",
    .types = 1u << WEIR_DETECT_CONTENTS,
    .max_texts = 32,
    .health = "/v1/models",
    .finding_type = {"moderation", 10},
    .is_hosted = true,
    .path = path,
    .write = write,
    .lists = read_root,
    .error = weir_protocol__error,
};
