/*
 * Findings of all views brought back to the strings of the request, and what they lead to.
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/utf8.h"
#include "task/asked_int.h"
#include "task/order.h"

#include <stdlib.h>

/* ---- hits ---- */

struct span {
    size_t start_cp;
    size_t end_cp;
};

/* Where findings are not told, what they are called must not tell them either. */
static struct weir_slice name_of(const struct weir_asked *a, const struct weir_detection *d)
{
    return weir_policy_enforces(a->o.policy) ? weir_detection_name(d) : d->detection;
}

static void add_hit(struct weir_asked *a, const struct weir_asked_hit *like, struct span span)
{
    struct weir_asked_hit hit = *like;
    struct weir_slice name = name_of(a, hit.d);
    bool is_moved =
        !hit.d->has_span || hit.d->start_cp != span.start_cp || hit.d->end_cp != span.end_cp;
    if (is_moved || name.p != hit.d->detection.p) {
        struct weir_detection *moved = weir_arena_alloc(a->o.arena, sizeof *moved);
        *moved = *hit.d;
        moved->detection = name;
        moved->has_span = true;
        moved->start_cp = span.start_cp;
        moved->end_cp = span.end_cp;
        hit.d = moved;
    }
    if (a->n_hits == a->cap_hits) {
        a->cap_hits = a->cap_hits != 0 ? a->cap_hits * 2 : 16;
        struct weir_asked_hit *more = weir_arena_alloc(a->o.arena, a->cap_hits * sizeof *more);
        if (a->n_hits != 0) {
            memcpy(more, a->hits, a->n_hits * sizeof *more);
        }
        a->hits = more;
    }
    a->hits[a->n_hits++] = hit;
}

static struct weir_asked_hit text_hit(const struct weir_asked *a, uint32_t item,
                                      const struct weir_detection *d)
{
    const struct weir_walk_item *of = &a->o.walk->items[item];
    return (struct weir_asked_hit){.item = item,
                                   .node = of->node,
                                   .what = of->kind == WEIR_WALK_IDENTIFIER ? WEIR_TREE_IDENTIFIER
                                                                            : WEIR_TREE_TEXT,
                                   .is_key = of->is_key,
                                   .d = d};
}

/* A finding without a place is all of the text. */
static void take_text(struct weir_asked *a, const struct weir_asked_view *view,
                      const struct weir_detection *d)
{
    struct weir_asked_hit hit = text_hit(a, view->item, d);
    struct span span = {d->start_cp, d->end_cp};
    if (!weir_redact_can(d)) {
        span = (struct span){0, weir_utf8_count(a->o.walk->items[view->item].text)};
    } else if (view->kind == WEIR_ASKED_UNESCAPED) {
        weir_unescape_span(view->unescape, &span.start_cp, &span.end_cp);
    }
    add_hit(a, &hit, span);
}

/* ---- seams ---- */

/* Only what lies in more than one part: the rest was seen in the parts themselves. */
static void take_seam(struct weir_asked *a, const struct weir_asked_view *view,
                      const struct weir_detection *d)
{
    bool is_whole = !weir_redact_can(d);
    size_t start = is_whole ? 0 : d->start_cp;
    size_t end = is_whole ? SIZE_MAX : d->end_cp;
    const struct weir_asked_piece *first = view->pieces;
    const struct weir_asked_piece *behind = view->pieces + view->n_pieces;
    while (first < behind && first->end_cp <= start) {
        first++;
    }
    if (first == behind || first->end_cp >= end) {
        return;
    }
    for (; first < behind && first->start_cp < end; first++) {
        struct weir_asked_hit hit = text_hit(a, first->item, d);
        hit.node = first->node != WEIR_JSON_NONE ? first->node : hit.node;
        size_t from = start > first->start_cp ? start : first->start_cp;
        size_t to = end < first->end_cp ? end : first->end_cp;
        struct span span = {from - first->start_cp + first->from_cp,
                            to - first->start_cp + first->from_cp};
        if (is_whole && first->node == WEIR_JSON_NONE) {
            span = (struct span){0, weir_utf8_count(a->o.walk->items[first->item].text)};
        }
        add_hit(a, &hit, span);
    }
}

/* ---- JSON ---- */

static struct weir_asked_hit tree_hit(const struct weir_asked_view *view,
                                      const struct weir_tree_place *place,
                                      const struct weir_detection *d)
{
    return (struct weir_asked_hit){.item = view->item,
                                   .node = place->node,
                                   .what = place->what,
                                   .is_key = place->is_key,
                                   .d = d};
}

/* A finding without a place is all of it, names too: identifiers can only be refused. */
static void take_whole_tree(struct weir_asked *a, const struct weir_asked_view *view,
                            const struct weir_detection *d)
{
    const struct weir_tree *t = view->tree;
    for (size_t i = 0; i < t->n; i++) {
        const struct weir_tree_place *place = &t->places[i];
        struct weir_asked_hit hit = tree_hit(view, place, d);
        add_hit(a, &hit, (struct span){0, place->end_cp - place->start_cp});
    }
}

/* The first place that ends behind there, in the lines. */
static size_t place_in_lines(const struct weir_tree *t, size_t cp)
{
    size_t from = 0;
    size_t to = t->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (t->places[middle].end_cp <= cp) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static void take_lines(struct weir_asked *a, const struct weir_asked_view *view,
                       const struct weir_detection *d)
{
    const struct weir_tree *t = view->tree;
    size_t i = place_in_lines(t, d->start_cp);
    for (; i < t->n && t->places[i].start_cp < d->end_cp; i++) {
        const struct weir_tree_place *place = &t->places[i];
        bool is_inside = d->start_cp >= place->start_cp && d->end_cp <= place->end_cp;
        if (place->is_key && !is_inside) {
            continue;
        }
        size_t from = d->start_cp > place->start_cp ? d->start_cp : place->start_cp;
        size_t to = d->end_cp < place->end_cp ? d->end_cp : place->end_cp;
        struct weir_asked_hit hit = tree_hit(view, place, d);
        if (t->json->nodes[place->node].type == WEIR_JSON_NUMBER) { /* a number goes whole */
            from = place->start_cp;
            to = place->end_cp;
        }
        add_hit(a, &hit, (struct span){from - place->start_cp, to - place->start_cp});
    }
}

/* The same for the text as written: bytes, and escapes. */
struct written {
    const struct weir_asked_view *view;
    size_t at_cp; /* a place of the text whose byte is known */
    size_t at_byte;
    struct weir_tree_cursor cursor;
};

/* Bytes of a string without its quotes; of a number all of it. */
static void inside_of(const struct weir_json_node *n, size_t *from, size_t *to)
{
    bool is_string = n->type == WEIR_JSON_STRING;
    *from = n->start + is_string;
    *to = n->end - is_string;
}

static size_t place_in_bytes(const struct weir_tree *t, size_t byte)
{
    size_t from = 0;
    size_t to = t->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        size_t start;
        size_t end;
        inside_of(&t->json->nodes[t->places[middle].node], &start, &end);
        if (end <= byte) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static void take_written(struct weir_asked *a, struct written *w, const struct weir_detection *d)
{
    const struct weir_tree *t = w->view->tree;
    struct weir_slice text = w->view->text;
    size_t base = t->json->nodes[t->first].start;
    if (d->start_cp < w->at_cp) { /* findings come by their starts; those without end with them */
        w->at_cp = 0;
        w->at_byte = 0;
    }
    struct weir_slice rest = weir_slice_sub(text, w->at_byte, text.n);
    w->at_byte += weir_utf8_byte_at(rest, d->start_cp - w->at_cp);
    w->at_cp = d->start_cp;
    rest = weir_slice_sub(text, w->at_byte, text.n);
    size_t from = base + w->at_byte;
    size_t to = from + weir_utf8_byte_at(rest, d->end_cp - d->start_cp);
    for (size_t i = place_in_bytes(t, from); i < t->n; i++) {
        const struct weir_tree_place *place = &t->places[i];
        size_t start;
        size_t end;
        inside_of(&t->json->nodes[place->node], &start, &end);
        if (start >= to) {
            break;
        }
        if (place->is_key && (from < start || to > end)) {
            continue;
        }
        struct weir_tree_span span = weir_tree_span_of(&w->cursor, t->json, place->node, from, to);
        struct weir_asked_hit hit = tree_hit(w->view, place, d);
        hit.is_cut = span.cut_before != 0 || span.cut_behind != 0;
        hit.sure_start_cp = span.start_cp + span.cut_before;
        hit.sure_end_cp = span.end_cp - span.cut_behind;
        if (span.end_cp > span.start_cp) {
            add_hit(a, &hit, (struct span){span.start_cp, span.end_cp});
        }
    }
}

/* ---- all of them ---- */

/* What lies in no string of its own, as `"admin": true`, counts for an answer's call as a whole. */
static void take_loose(struct weir_asked *a, const struct weir_asked_view *view,
                       const struct weir_detection *d)
{
    struct weir_asked_hit hit = {
        .item = view->item, .node = view->tree->root, .what = WEIR_TREE_CALL_KEY, .d = d};
    add_hit(a, &hit, (struct span){0, 0});
}

static void take_view(struct weir_asked *a, const struct weir_asked_view *view)
{
    struct written written = {.view = view};
    for (size_t i = 0; i < view->group->n_found; i++) {
        const struct weir_detection *d = view->group->found[i];
        bool is_tree = view->kind == WEIR_ASKED_LINES || view->kind == WEIR_ASKED_WRITTEN;
        size_t n_before = a->n_hits;
        if (is_tree && !weir_redact_can(d)) {
            take_whole_tree(a, view, d);
        } else if (view->kind == WEIR_ASKED_LINES) {
            take_lines(a, view, d);
        } else if (view->kind == WEIR_ASKED_WRITTEN) {
            take_written(a, &written, d);
        } else if (view->kind == WEIR_ASKED_SEAM) {
            take_seam(a, view, d);
        } else {
            take_text(a, view, d);
        }
        if (a->o.is_answer && is_tree && a->n_hits == n_before) {
            take_loose(a, view, d);
        }
    }
}

void weir_asked__take(struct weir_asked *a, const struct weir_asked_view *view,
                      const struct weir_detection *d)
{
    switch (view->kind) {
    case WEIR_ASKED_LINES:
        take_lines(a, view, d);
        break;
    case WEIR_ASKED_SEAM:
        take_seam(a, view, d);
        break;
    case WEIR_ASKED_OWN:
    case WEIR_ASKED_UNESCAPED:
        take_text(a, view, d);
        break;
    case WEIR_ASKED_WRITTEN:
        break;
    }
}

static int by_place(const void *x, const void *y)
{
    const struct weir_asked_hit *a = x;
    const struct weir_asked_hit *b = y;
    if (a->item != b->item) {
        return a->item < b->item ? -1 : 1;
    }
    if (a->node != b->node) {
        return a->node < b->node ? -1 : 1;
    }
    int c = (a->d->start_cp > b->d->start_cp) - (a->d->start_cp < b->d->start_cp);
    c = c != 0 ? c : (a->d->end_cp < b->d->end_cp) - (a->d->end_cp > b->d->end_cp);
    c = c != 0 ? c : weir_slice_cmp(a->d->detector_id, b->d->detector_id);
    return c != 0 ? c : weir_slice_cmp(a->d->detection, b->d->detection);
}

static bool is_same_kind(const struct weir_detection *a, const struct weir_detection *b)
{
    return weir_slice_eq(a->detector_id, b->detector_id) &&
           weir_slice_eq(a->detection, b->detection) &&
           weir_slice_eq(a->detection_type, b->detection_type);
}

/* Did another view see the same there, or more? The last few are those that begin where it does. */
static bool is_known(const struct weir_asked *a, const struct weir_asked_place *place,
                     const struct weir_asked_hit *hit)
{
    enum { BACK = 8 };
    size_t from = place->n > BACK ? place->n - BACK : 0;
    for (size_t i = from; i < place->n; i++) {
        const struct weir_detection *d = a->hits[place->first + i].d;
        if (is_same_kind(d, hit->d) && d->end_cp >= hit->d->end_cp) {
            return true;
        }
    }
    return false;
}

static bool is_same_place(const struct weir_asked_hit *a, const struct weir_asked_hit *b)
{
    return a->item == b->item && a->node == b->node;
}

/*
 * `x\njane@example.org` is found as written from the n of the escape on, and decoded without it:
 * one finding, of which the decoded one is right. It begins at most a character later.
 */
static bool is_artefact(const struct weir_asked *a, size_t at)
{
    enum { AHEAD = 8 };
    const struct weir_asked_hit *hit = &a->hits[at];
    size_t end = at + AHEAD < a->n_hits ? at + AHEAD : a->n_hits;
    for (size_t i = at > AHEAD ? at - AHEAD : 0; hit->is_cut && i < end; i++) {
        const struct weir_asked_hit *other = &a->hits[i];
        if (!other->is_cut && is_same_place(other, hit) && is_same_kind(other->d, hit->d) &&
            other->d->start_cp <= hit->sure_start_cp && other->d->end_cp >= hit->sure_end_cp &&
            hit->sure_start_cp < hit->sure_end_cp) {
            return true;
        }
    }
    return false;
}

/* Before anything is moved: neighbours are looked at. */
static void drop_artefacts(struct weir_asked *a)
{
    bool *is_gone = weir_arena_zalloc(a->o.arena, a->n_hits);
    size_t n = 0;
    for (size_t i = 0; i < a->n_hits; i++) {
        is_gone[i] = is_artefact(a, i);
    }
    for (size_t i = 0; i < a->n_hits; i++) {
        if (!is_gone[i]) {
            a->hits[n++] = a->hits[i];
        }
    }
    a->n_hits = n;
}

void weir_asked__make_places(struct weir_asked *a)
{
    a->n_places = 0;
    qsort(a->hits, a->n_hits, sizeof *a->hits, by_place);
    drop_artefacts(a);
    a->places = weir_arena_array(a->o.arena, a->n_hits, sizeof *a->places);
    size_t n = 0;
    for (size_t i = 0; i < a->n_hits; i++) {
        struct weir_asked_hit hit = a->hits[i];
        bool is_new = n == 0 || !is_same_place(&a->hits[n - 1], &hit);
        if (is_new) {
            a->places[a->n_places++] = (struct weir_asked_place){.first = n};
        }
        struct weir_asked_place *place = &a->places[a->n_places - 1];
        if (!is_known(a, place, &hit)) {
            a->hits[n++] = hit;
            place->n++;
        }
    }
    a->n_hits = n;
}

/* ---- what they lead to ---- */

/* A name that has a finding is not told: the object that has it is. */
static const struct weir_fault *refuse(struct weir_asked *a, const struct weir_asked_hit *hit)
{
    struct weir_arena *arena = a->o.arena;
    const struct weir_walk_item *item = weir_asked__item(a, hit);
    bool is_inner = item->kind == WEIR_WALK_DOCUMENT;
    struct weir_buf path = {0};
    weir_buf_append(&path, weir_pointer_of(a->o.json, is_inner ? item->node : hit->node, arena));
    if (is_inner) {
        weir_buf_append(&path, weir_pointer_of(item->document, hit->node, arena));
    }
    while (hit->is_key && path.n != 0 && path.p[--path.n] != '/') {
    }
    struct weir_fault *fault = weir_arena_zalloc(arena, sizeof *fault);
    const char *words = weir_arena_printf(
        arena, "`%.*s`: detector `%.*s` has found something in %s, which %s and cannot be replaced",
        (int)path.n, path.p, (int)hit->d->detector_id.n, hit->d->detector_id.p,
        hit->is_key ? "a name there" : "it",
        item->kind == WEIR_WALK_IDENTIFIER && item->why != NULL ? item->why : "is an identifier");
    weir_buf_dispose(&path);
    *fault = (struct weir_fault){.origin = WEIR_FAULT_REQUEST,
                                 .err = WEIR_EINVAL,
                                 .status = 422,
                                 .message = weir_slice_cstr(words)};
    return fault;
}

void weir_asked__judge(struct weir_asked *a)
{
    const struct weir_policy *policy = a->o.policy;
    const struct weir_asked_hit *identifier = NULL;
    bool is_asked = false;
    if (a->fault != NULL) { /* it cannot be masked */
        a->outcome = WEIR_POLICY_BLOCKED;
        return;
    }
    for (size_t i = 0; i < a->n_hits; i++) {
        const struct weir_asked_hit *hit = &a->hits[i];
        bool is_fixed = hit->what == WEIR_TREE_CONSTANT && a->o.mask == NULL;
        if (hit->what == WEIR_TREE_IDENTIFIER || is_fixed) {
            identifier = identifier == NULL ? hit : identifier;
        } else {
            is_asked = is_asked || weir_asked__is_turn(a, weir_asked__item(a, hit));
        }
    }
    if (a->n_hits == 0) {
        a->outcome = WEIR_POLICY_PASSED;
        return;
    }
    const struct weir_policy_rules *rules = weir_policy_on_input(policy);
    struct weir_policy_hit sum = {policy, .can_replace = identifier == NULL, .is_asked = is_asked};
    enum weir_policy_fate fate = rules->question(&sum);
    bool is_blocked = fate == WEIR_POLICY_STOPPED || fate == WEIR_POLICY_REFUSED;
    a->outcome = is_blocked ? WEIR_POLICY_BLOCKED : rules->outcome;
    if (fate == WEIR_POLICY_REFUSED) {
        WEIR_ASSERT(identifier != NULL);
        a->fault = refuse(a, identifier);
    }
}

void weir_asked__collect(struct weir_asked *a)
{
    for (size_t i = 0; i < a->n_views; i++) {
        take_view(a, &a->views[i]);
    }
    if (a->n_hits != 0) {
        weir_asked__make_places(a);
    }
    if (a->o.mask != NULL) {
        weir_asked__mask(a);
    }
}

size_t weir_asked_n_found(const struct weir_asked *a)
{
    size_t n_told = a->teller != NULL ? weir_asked_n_found(a->teller) : 0;
    return a->n_hits + weir_asked__n_chat_found(a) + n_told;
}

enum weir_policy_outcome weir_asked_outcome(const struct weir_asked *a)
{
    return a->teller != NULL ? weir_policy_stronger(a->outcome, a->teller->outcome) : a->outcome;
}

const struct weir_fault *weir_asked_fault(const struct weir_asked *a)
{
    return a->fault;
}
