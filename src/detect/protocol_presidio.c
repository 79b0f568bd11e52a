/*
 * Presidio's analyzer: one text a request, places in code points.
 *
 *   POST /analyze {"text":"…","language":"en","entities":[…],"score_threshold":0.5}
 *   200 [{"entity_type":"EMAIL_ADDRESS","start":3,"end":9,"score":1.0,…},…]
 *   {"error":"…"}
 */
#include "detect/places.h"
#include "detect/protocol_int.h"

static struct weir_slice path(const struct weir_protocol_ask *ask)
{
    (void)ask;
    return WEIR_SLICE("/analyze");
}

static void write(const struct weir_protocol_ask *ask, struct weir_buf *out)
{
    const struct weir_protocol_options *o = ask->options;
    struct weir_protocol_body b;
    weir_protocol__begin(&b, ask, out);
    weir_protocol__key(&b, "text");
    weir_json_write_string(&b.w, ask->input->contents[0]);
    weir_protocol__string(&b, "language", o->language.n != 0 ? o->language : WEIR_SLICE("en"));
    if (o->n_entities != 0) {
        weir_protocol__key(&b, "entities");
        weir_json_write_begin_array(&b.w);
        for (size_t i = 0; i < o->n_entities; i++) {
            weir_json_write_string(&b.w, o->entities[i]);
        }
        weir_json_write_end_array(&b.w);
    }
    weir_protocol__key(&b, "score_threshold");
    weir_json_write_f64(&b.w, ask->input->threshold);
    weir_protocol__end(&b);
}

static int read_place(struct weir_protocol_lists *l, uint32_t entry, struct weir_places *places,
                      struct weir_detection *d)
{
    uint32_t start;
    uint32_t end;
    uint64_t from;
    uint64_t to;
    int rc = weir_protocol__need(l, entry, "start", WEIR_JSON_NUMBER, &start);
    rc = rc == 0 ? weir_protocol__need(l, entry, "end", WEIR_JSON_NUMBER, &end) : rc;
    if (rc != 0) {
        return rc;
    }
    size_t n_cp = weir_places_count(places);
    if (weir_json_u64(&l->json, start, &from) != 0 || weir_json_u64(&l->json, end, &to) != 0 ||
        from > to || to > n_cp) {
        return weir_protocol__bad(l, "`start` and `end` are no place in a text of %zu code points",
                                  n_cp);
    }
    d->has_span = true;
    d->start_cp = (size_t)from;
    d->end_cp = (size_t)to;
    d->text = weir_places_slice(places, d->start_cp, d->end_cp);
    return 0;
}

static int read_entity(struct weir_protocol_lists *l, uint32_t entry, struct weir_places *places)
{
    struct weir_detection d = {0};
    struct weir_protocol_score score = {0};
    uint32_t type;
    uint32_t at;
    int rc = weir_protocol__need(l, entry, "entity_type", WEIR_JSON_STRING, &type);
    rc = rc == 0 ? weir_protocol__need(l, entry, "score", WEIR_JSON_NUMBER, &at) : rc;
    rc = rc == 0 ? weir_protocol__score(l, at, "`score`", &score) : rc;
    rc = rc == 0 ? read_place(l, entry, places, &d) : rc;
    if (rc == 0) {
        d.detection = weir_json_string(&l->json, type, l->ask->arena);
        d.score = score.value;
        d.score_raw = score.raw;
        weir_protocol__add_span(l, &d);
    }
    return rc;
}

static int read_root(struct weir_protocol_lists *l)
{
    struct weir_places places = {.text = l->ask->input->contents[0]};
    int rc = 0;
    if (weir_json_type(&l->json, 0) != WEIR_JSON_ARRAY) {
        rc = weir_protocol__bad(l, "the answer is not a list");
    }
    uint32_t at = rc == 0 ? weir_json_first(&l->json, 0) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE && rc == 0; at = weir_json_after(&l->json, 0, at)) {
        rc = read_entity(l, at, &places);
    }
    weir_places_dispose(&places);
    weir_protocol__next(l);
    return rc;
}

const struct weir_protocol weir_protocol_presidio = {
    .name = "presidio",
    .types = 1u << WEIR_DETECT_CONTENTS,
    .max_texts = 1,
    .health = "/health",
    .finding_type = {"pii", 3},
    .path = path,
    .write = write,
    .lists = read_root,
    .error = weir_protocol__error,
};
