/*
 * What becomes of the places: told in the answer, replaced or taken out in the request.
 */
#include "base/utf8.h"
#include "task/asked_int.h"
#include "task/results.h"
#include "task/seen.h"

#define REMOVED WEIR_SLICE("[removed]")

struct weir_slice weir_asked__value(const struct weir_asked *a, const struct weir_asked_hit *hit)
{
    const struct weir_walk_item *item = weir_asked__item(a, hit);
    if (item->kind == WEIR_WALK_TEXT || item->kind == WEIR_WALK_IDENTIFIER ||
        item->kind == WEIR_WALK_ENCODED) {
        return item->text;
    }
    const struct weir_json *json = item->kind == WEIR_WALK_DOCUMENT ? item->document : a->o.json;
    return weir_json_type(json, hit->node) == WEIR_JSON_STRING
               ? weir_json_string(json, hit->node, a->o.arena)
               : weir_json_raw(json, hit->node);
}

/* ---- told ---- */

static void find_path(struct weir_asked_telling *t, const struct weir_asked_hit *hit)
{
    const struct weir_walk_item *item = weir_asked__item(t->a, hit);
    weir_buf_clear(&t->path);
    if (item->kind != WEIR_WALK_DOCUMENT) {
        weir_pointer_append(&t->outer, hit->node, &t->path);
        return;
    }
    if (!t->a->o.is_answer) {
        weir_pointer_append(&t->outer, item->node, &t->path);
    }
    if (t->inner.json != item->document) {
        t->inner = (struct weir_pointer){.json = item->document, .arena = t->a->o.arena};
    }
    weir_pointer_append(&t->inner, hit->node, &t->path);
}

/* Where findings are not told, a name that has one is not either: the object that has it stands for
 * all that is in the member. */
void weir_asked__write_path(struct weir_asked_telling *t, const struct weir_asked_hit *hit)
{
    const struct weir_walk_item *item = weir_asked__item(t->a, hit);
    bool is_inner = item->kind == WEIR_WALK_DOCUMENT;
    bool is_gone = t->item == hit->item
                       ? hit->node < t->gone_until
                       : t->is_outer && (is_inner ? item->node : hit->node) < t->gone_until;
    if (!is_gone) {
        find_path(t, hit);
    }
    if (!is_gone && hit->is_key && weir_policy_enforces(t->a->o.policy)) {
        const struct weir_json *json = is_inner ? item->document : t->a->o.json;
        t->item = hit->item;
        t->is_outer = !is_inner;
        t->gone_until = json->nodes[hit->node + 1].next;
        while (t->path.n != 0 && t->path.p[--t->path.n] != '/') {
        }
    }
    struct weir_slice path = weir_buf_slice(&t->path);
    if (t->skips_first && path.n != 0) {
        struct weir_slice rest = weir_slice_sub(path, 1, path.n);
        path = weir_slice_sub(rest, weir_slice_find(rest, '/'), rest.n);
    }
    weir_json_write_key(t->w, WEIR_SLICE("path"));
    weir_json_write_string(t->w, path);
}

struct weir_detection *weir_asked__told(const struct weir_asked *a,
                                        const struct weir_asked_place *place)
{
    struct weir_slice value = weir_asked__value(a, &a->hits[place->first]);
    struct weir_detection *told = weir_arena_array(a->o.arena, place->n, sizeof *told);
    bool is_terse = weir_policy_enforces(a->o.policy);
    size_t at_cp = 0;
    size_t at_byte = 0;
    for (size_t i = 0; i < place->n; i++) {
        struct weir_detection *d = &told[i];
        *d = *a->hits[place->first + i].d;
        struct weir_slice rest = weir_slice_sub(value, at_byte, value.n);
        at_byte += weir_utf8_byte_at(rest, d->start_cp - at_cp);
        at_cp = d->start_cp;
        rest = weir_slice_sub(value, at_byte, value.n);
        d->text = weir_slice_sub(rest, 0, weir_utf8_byte_at(rest, d->end_cp - d->start_cp));
        if (is_terse) {
            d->detection = weir_detection_name(d);
            d->detection_type = weir_detection_type_name(d);
            d->metadata = WEIR_SLICE("");
        }
    }
    return told;
}

void weir_asked__write_results(struct weir_asked_telling *t, const struct weir_detection *told,
                               size_t n)
{
    bool is_terse = weir_policy_enforces(t->a->o.policy);
    weir_json_write_key(t->w, WEIR_SLICE("results"));
    weir_json_write_begin_array(t->w);
    for (size_t i = 0; i < n; i++) {
        weir_results_write_one(t->w, is_terse ? WEIR_RESULTS_TERSE : WEIR_RESULTS_COMPLETION,
                               &told[i]);
    }
    weir_json_write_end_array(t->w);
}

static void write_place(struct weir_asked_telling *t, const struct weir_asked_place *place)
{
    const struct weir_asked_hit *hit = &t->a->hits[place->first];
    const struct weir_walk_item *item = weir_asked__item(t->a, hit);
    weir_json_write_begin_object(t->w);
    if (item->message != WEIR_WALK_NO_INDEX) {
        weir_json_write_key(t->w, WEIR_SLICE("message_index"));
        weir_json_write_u64(t->w, item->message);
    }
    if (item->part != WEIR_WALK_NO_INDEX) {
        weir_json_write_key(t->w, WEIR_SLICE("part_index"));
        weir_json_write_u64(t->w, item->part);
    }
    weir_asked__write_path(t, hit);
    weir_asked__write_results(t, weir_asked__told(t->a, place), place->n);
    weir_json_write_end_object(t->w);
}

static void visit_own(const struct weir_asked *a, weir_asked_visit_fn fn, void *ctx)
{
    for (size_t i = 0; i < a->n_places; i++) {
        const struct weir_detection *told = weir_asked__told(a, &a->places[i]);
        for (size_t k = 0; k < a->places[i].n; k++) {
            fn(ctx, weir_asked__item(a, &a->hits[a->places[i].first]), &told[k]);
        }
    }
}

void weir_asked_visit(const struct weir_asked *a, weir_asked_visit_fn fn, void *ctx)
{
    visit_own(a, fn, ctx);
    if (a->teller != NULL) {
        visit_own(a->teller, fn, ctx);
    }
}

struct noting {
    const struct weir_policy *policy;
    struct weir_seen_where where;
};

static void note_one(void *ctx, const struct weir_walk_item *item, const struct weir_detection *d)
{
    const struct noting *n = ctx;
    (void)item;
    weir_seen_findings(n->policy, &n->where, &d, 1);
}

void weir_asked_note(const struct weir_asked *a, const struct weir_policy *policy,
                     enum weir_policy_outcome outcome)
{
    struct noting n = {policy, {WEIR_POLICY_INPUT, "content", outcome}};
    visit_own(a, note_one, &n);
    weir_asked__note_chat(a, policy);
    if (a->teller != NULL) {
        weir_asked_note(a->teller, policy, WEIR_POLICY_ANNOTATED);
    }
}

static void write_own(struct weir_json_write *w, const struct weir_asked *a)
{
    struct weir_asked_telling t = {
        .w = w, .a = a, .outer = {.json = a->o.json, .arena = a->o.arena}};
    for (size_t i = 0; i < a->n_places; i++) {
        write_place(&t, &a->places[i]);
    }
    weir_asked__write_chat(w, a);
    weir_buf_dispose(&t.path);
}

void weir_asked_write(struct weir_json_write *w, const struct weir_asked *a)
{
    weir_json_write_begin_array(w);
    write_own(w, a);
    if (a->teller != NULL) {
        write_own(w, a->teller);
    }
    weir_json_write_end_array(w);
}

/* ---- replaced ---- */

struct weir_slice weir_asked__instead(const struct weir_asked *a,
                                      const struct weir_asked_place *place,
                                      struct weir_redact_span *spans)
{
    if (!weir_policy_rules_of(a->o.policy->action)->fills) {
        return REMOVED;
    }
    if (a->o.mask != NULL) {
        return weir_asked__masked(a, place);
    }
    const struct weir_detection **found = weir_arena_array(a->o.arena, place->n, sizeof(void *));
    const struct weir_detection *told = weir_asked__told(a, place);
    for (size_t i = 0; i < place->n; i++) {
        found[i] = &told[i];
    }
    struct weir_redact redact = {0};
    struct weir_buf out = {0};
    weir_redact_mapped(
        &redact, a->o.policy->redact_with,
        &(struct weir_redact_piece){.text = weir_asked__value(a, &a->hits[place->first]),
                                    .findings = found,
                                    .n_findings = place->n},
        spans, &out);
    struct weir_slice text = weir_arena_take_buf(a->o.arena, &out);
    return text;
}

/* The places of one item. */
struct run {
    const struct weir_walk_item *item;
    const struct weir_json *json; /* that their nodes are of */
    size_t first;
    size_t n;
};

static bool has_call_key(const struct weir_asked *a, const struct run *run)
{
    for (size_t i = run->first; i < run->first + run->n; i++) {
        if (a->hits[a->places[i].first].what == WEIR_TREE_CALL_KEY) {
            return true;
        }
    }
    return false;
}

/* Leaves are replaced, members with a finding in their name taken out with all that is in them. */
static void edit_leaves(struct weir_asked *a, const struct run *run, struct weir_json_edit *e)
{
    uint32_t gone_until = 0;
    for (size_t i = run->first; i < run->first + run->n; i++) {
        const struct weir_asked_hit *hit = &a->hits[a->places[i].first];
        if (hit->node < gone_until) {
            continue;
        }
        if (hit->what == WEIR_TREE_KEY) {
            weir_json_edit_remove(e, hit->node);
            gone_until = run->json->nodes[hit->node + 1].next;
        } else {
            weir_json_edit_replace_string(e, hit->node,
                                          weir_asked__instead(a, &a->places[i], NULL));
        }
    }
}

/* JSON inside of a string: changed as JSON, then put back as a string. */
static struct weir_slice edited_document(struct weir_asked *a, const struct run *run)
{
    if (has_call_key(a, run)) {
        return WEIR_SLICE("{}");
    }
    struct weir_json_edit e = {0};
    struct weir_buf out = {0};
    weir_json_edit_begin(&e, run->json);
    edit_leaves(a, run, &e);
    weir_json_edit_write(&e, &out);
    weir_json_edit_dispose(&e);
    struct weir_slice text = weir_arena_take_buf(a->o.arena, &out);
    return text;
}

static void edit_item(struct weir_asked *a, const struct run *run, struct weir_json_edit *e)
{
    const struct weir_walk_item *item = run->item;
    const struct weir_asked_place *place = &a->places[run->first];
    struct weir_slice text;
    switch (item->kind) {
    case WEIR_WALK_TEXT:
        text = weir_asked__instead(a, place, NULL);
        text = item == weir_asked__instructed(a) ? weir_asked__with_line(a, text) : text;
        weir_json_edit_replace_string(e, item->node, text);
        break;
    case WEIR_WALK_ENCODED:
        weir_json_edit_replace_string(
            e, item->node, weir_walk_encode(item, weir_asked__instead(a, place, NULL), a->o.arena));
        break;
    case WEIR_WALK_DOCUMENT:
        weir_json_edit_replace_string(e, item->node, edited_document(a, run));
        break;
    case WEIR_WALK_TREE:
        if (has_call_key(a, run)) {
            weir_json_edit_replace(e, item->node, WEIR_SLICE("{}"));
        } else {
            edit_leaves(a, run, e);
        }
        break;
    default: /* identifiers and what is refused never come here: weir_asked_fault */
        break;
    }
}

/* The places of the item that place `at` is of: from there on. */
static struct run run_at(const struct weir_asked *a, size_t at)
{
    const struct weir_asked_hit *hit = &a->hits[a->places[at].first];
    struct run run = {.item = weir_asked__item(a, hit), .first = at};
    run.json = run.item->kind == WEIR_WALK_DOCUMENT ? run.item->document : a->o.json;
    while (at < a->n_places && a->hits[a->places[at].first].item == hit->item) {
        run.n++;
        at++;
    }
    return run;
}

struct weir_slice weir_asked__edited(struct weir_asked *a, uint32_t item)
{
    size_t at = 0;
    while (at < a->n_places && a->hits[a->places[at].first].item != item) {
        at++;
    }
    if (at == a->n_places) {
        return a->o.walk->items[item].text;
    }
    struct run run = run_at(a, at);
    return run.item->kind == WEIR_WALK_DOCUMENT ? edited_document(a, &run)
                                                : weir_asked__instead(a, &a->places[at], NULL);
}

/* Is nothing found in that item? Otherwise the line goes in with what is replaced. */
static bool has_no_place(const struct weir_asked *a, const struct weir_walk_item *item)
{
    for (size_t i = 0; i < a->n_hits; i++) {
        if (weir_asked__item(a, &a->hits[i]) == item) {
            return false;
        }
    }
    return true;
}

static void instruct(struct weir_asked *a, struct weir_json_edit *e)
{
    const struct weir_walk_item *item = weir_asked__instructed(a);
    if (item != NULL && has_no_place(a, item)) {
        weir_json_edit_replace_string(e, item->node, weir_asked__with_line(a, item->text));
    }
}

void weir_asked_edit(struct weir_asked *a, struct weir_json_edit *e)
{
    instruct(a, e);
    if (a->outcome != WEIR_POLICY_REDACTED) {
        return;
    }
    for (size_t i = 0; i < a->n_places;) {
        struct run run = run_at(a, i);
        edit_item(a, &run, e);
        i += run.n;
    }
}
