/*
 * Text Embeddings Inference, a classifier:
 *
 *   POST /predict {"inputs":[["a"],["b"]],"truncate":…}     a list in the list: a bare pair of
 *                                                           strings would be one text and its pair
 *   200 [[{"score":0.9,"label":"INJECTION"},…],…]           all labels of every text
 *   {"error":"…","error_type":"…"}                          413 too many, 422, 424, 429, 503
 */
#include "detect/protocol_int.h"

static struct weir_slice path(const struct weir_protocol_ask *ask)
{
    (void)ask;
    return WEIR_SLICE("/predict");
}

static void write(const struct weir_protocol_ask *ask, struct weir_buf *out)
{
    struct weir_protocol_body b;
    weir_protocol__begin(&b, ask, out);
    weir_protocol__key(&b, "inputs");
    weir_json_write_begin_array(&b.w);
    for (size_t i = 0; i < ask->input->n_contents; i++) {
        weir_json_write_begin_array(&b.w);
        weir_json_write_string(&b.w, ask->input->contents[i]);
        weir_json_write_end_array(&b.w);
    }
    weir_json_write_end_array(&b.w);
    weir_protocol__end(&b);
}

static int read_class(struct weir_protocol_lists *l, uint32_t entry)
{
    uint32_t label;
    uint32_t at;
    struct weir_protocol_score score;
    int rc = weir_protocol__need(l, entry, "label", WEIR_JSON_STRING, &label);
    rc = rc == 0 ? weir_protocol__need(l, entry, "score", WEIR_JSON_NUMBER, &at) : rc;
    rc = rc == 0 ? weir_protocol__score(l, at, "`score`", &score) : rc;
    if (rc == 0) {
        weir_protocol__add(l, weir_json_string(&l->json, label, l->ask->arena), &score);
    }
    return rc;
}

/* A text without any label is no verdict. */
static int read_text(struct weir_protocol_lists *l, uint32_t list)
{
    if (weir_json_type(&l->json, list) != WEIR_JSON_ARRAY || l->json.nodes[list].n == 0) {
        return weir_protocol__bad(l, "no list of labels");
    }
    int rc = 0;
    uint32_t at = weir_json_first(&l->json, list);
    for (; at != WEIR_JSON_NONE && rc == 0; at = weir_json_after(&l->json, list, at)) {
        rc = read_class(l, at);
    }
    return rc;
}

static int read_root(struct weir_protocol_lists *l)
{
    return weir_protocol__each(l, NULL, read_text);
}

const struct weir_protocol weir_protocol_tei = {
    .name = "tei",
    .types = 1u << WEIR_DETECT_CONTENTS,
    .max_texts = 32,
    .health = "/health",
    .finding_type = {"classification", 14},
    .path = path,
    .write = write,
    .lists = read_root,
    .error = weir_protocol__error,
};
