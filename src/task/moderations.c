#include "task/moderations.h"

#include "base/map.h"
#include "task/results.h"

/* ---- categories of one result ---- */

struct result {
    struct weir_map categories; /* name: struct category */
    struct weir_buf detections; /* commas between them */
    size_t n_found;
};

struct category {
    double score;
    bool is_found;
};

struct writing {
    const struct weir_moderations *m;
    struct weir_arena *arena;
    struct result *results;
};

static void add_category(struct writing *g, struct result *r, struct weir_slice name,
                         const double *score)
{
    struct category *c = weir_map_get(&r->categories, name);
    if (c == NULL) {
        c = weir_arena_zalloc(g->arena, sizeof *c);
        weir_map_put(&r->categories, name, c);
    }
    if (score != NULL) {
        c->score = !c->is_found || *score > c->score ? *score : c->score;
        c->is_found = true;
    }
}

static void add_known(struct writing *g, struct result *r)
{
    static const char *const names[] = {"harassment",
                                        "harassment/threatening",
                                        "hate",
                                        "hate/threatening",
                                        "illicit",
                                        "illicit/violent",
                                        "self-harm",
                                        "self-harm/instructions",
                                        "self-harm/intent",
                                        "sexual",
                                        "sexual/minors",
                                        "violence",
                                        "violence/graphic"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        add_category(g, r, weir_slice_cstr(names[i]), NULL);
    }
}

/* The finding as elsewhere, and which part it is in. */
static void add_detection(struct writing *g, struct result *r, const struct weir_walk_item *item,
                          const struct weir_detection *d)
{
    bool is_terse = weir_policy_enforces(g->m->policy);
    weir_results_append(&r->detections, is_terse ? WEIR_RESULTS_TERSE : WEIR_RESULTS_COMPLETION, d,
                        r->n_found != 0);
    if (item->part != WEIR_WALK_NO_INDEX) {
        r->detections.n--; /* the object goes on */
        weir_buf_printf(&r->detections, ",\"part_index\":%lu}", (unsigned long)item->part);
    }
}

static void take(void *ctx, const struct weir_walk_item *item, const struct weir_detection *d)
{
    struct writing *g = ctx;
    uint32_t at = g->m->has_parts ? 0 : item->message;
    if (at >= g->m->n_results) {
        return; /* in a member that is no input */
    }
    struct result *r = &g->results[at];
    const char *both = weir_arena_printf(g->arena, "%.*s/%.*s", (int)d->detection_type.n,
                                         d->detection_type.p, (int)d->detection.n, d->detection.p);
    add_category(g, r, d->detection_type, &d->score);
    add_category(g, r, weir_slice_cstr(both), &d->score);
    add_detection(g, r, item, d);
    r->n_found++;
}

/* ---- as JSON ---- */

enum what { FLAGS, SCORES, TYPES };

static void write_categories(struct weir_json_write *w, const struct result *r, enum what what)
{
    struct weir_map_entry *e;
    weir_json_write_begin_object(w);
    for (size_t i = 0; (e = weir_map_next(&r->categories, &i)) != NULL;) {
        const struct category *c = e->value;
        weir_json_write_key(w, e->key);
        if (what == FLAGS) {
            weir_json_write_bool(w, c->is_found);
        } else if (what == SCORES) {
            weir_json_write_f64(w, c->score);
        } else {
            weir_json_write_raw(w, c->is_found ? WEIR_SLICE("[\"text\"]") : WEIR_SLICE("[]"));
        }
    }
    weir_json_write_end_object(w);
}

static void write_result(struct weir_json_write *w, const struct result *r)
{
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("flagged"));
    weir_json_write_bool(w, r->n_found != 0);
    weir_json_write_key(w, WEIR_SLICE("categories"));
    write_categories(w, r, FLAGS);
    weir_json_write_key(w, WEIR_SLICE("category_scores"));
    write_categories(w, r, SCORES);
    weir_json_write_key(w, WEIR_SLICE("category_applied_input_types"));
    write_categories(w, r, TYPES);
    weir_json_write_key(w, WEIR_SLICE("detections"));
    weir_json_write_begin_array(w);
    if (r->n_found != 0) {
        weir_json_write_raw(w, weir_buf_slice(&r->detections));
    }
    weir_json_write_end_array(w);
    weir_json_write_end_object(w);
}

static void read_findings(struct writing *g)
{
    const struct weir_moderations *m = g->m;
    g->results = weir_arena_array(g->arena, m->n_results, sizeof *g->results);
    for (size_t i = 0; i < m->n_results; i++) {
        g->results[i] = (struct result){0};
        add_known(g, &g->results[i]);
    }
    weir_asked_visit(m->asked, take, g);
}

struct weir_slice weir_moderations_write(const struct weir_moderations *m, struct weir_arena *arena)
{
    struct writing g = {.m = m, .arena = arena};
    struct weir_buf out = {0};
    struct weir_json_write w;
    read_findings(&g);
    weir_json_write_init(&w, &out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("id"));
    weir_json_write_string(&w, m->id);
    weir_json_write_key(&w, WEIR_SLICE("model"));
    weir_json_write_string(&w, m->model);
    weir_json_write_key(&w, WEIR_SLICE("results"));
    weir_json_write_begin_array(&w);
    for (size_t i = 0; i < m->n_results; i++) {
        write_result(&w, &g.results[i]);
        weir_map_dispose(&g.results[i].categories);
        weir_buf_dispose(&g.results[i].detections);
    }
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
    return weir_arena_take_buf(arena, &out);
}
