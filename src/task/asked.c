#include "base/utf8.h"
#include "task/asked_int.h"

/* Texts of one question; each costs memory for every detector. */
enum { MAX_TEXTS = 16384, SEAM_CP = 256 };

/* ---- what is not let in ---- */

static const char *name_of(const struct weir_asked_options *o, const struct weir_walk_item *item,
                           const char *why)
{
    struct weir_slice path = weir_pointer_of(o->json, item->node, o->arena);
    return weir_arena_printf(o->arena, "`%.*s` %s", (int)path.n, path.p, why);
}

/* What an operator would have to name in `unguarded`. */
static const char *media_name(const struct weir_walk_item *item)
{
    uint32_t own =
        item->media & (WEIR_HOLE_IMAGES | WEIR_HOLE_AUDIO | WEIR_HOLE_FILES | WEIR_HOLE_TOKEN_IDS |
                       WEIR_HOLE_SEALED | WEIR_HOLE_SERVER_HISTORY);
    return weir_walk_hole_name(own & (~own + 1));
}

int weir_asked_check(const struct weir_asked_options *o, const char **why)
{
    bool enforces = weir_policy_enforces(o->policy);
    size_t n_texts = 0;
    for (size_t i = 0; i < o->walk->n; i++) {
        const struct weir_walk_item *item = &o->walk->items[i];
        if (enforces && item->kind == WEIR_WALK_WRONG) {
            *why = name_of(o, item, item->why);
            return 400;
        }
        if (enforces && item->kind == WEIR_WALK_REFUSED) {
            *why = name_of(o, item, item->why);
            return 422;
        }
        if (item->media != 0 && (item->media & o->policy->unguarded) == 0) {
            *why = weir_arena_printf(o->arena,
                                     "%s: this route does not let in what it cannot look at (%s)",
                                     name_of(o, item, "cannot be looked at"), media_name(item));
            return 422;
        }
        n_texts += item->kind != WEIR_WALK_CONTROL;
    }
    if (n_texts > MAX_TEXTS) {
        *why =
            weir_arena_printf(o->arena, "the request has more than %d texts to look at", MAX_TEXTS);
        return 400;
    }
    return 0;
}

/* ---- views ---- */

static struct weir_asked_view *add_view(struct weir_asked *a, enum weir_asked_view_kind kind,
                                        size_t item, struct weir_slice text)
{
    if (a->n_views == a->cap_views) {
        a->cap_views = a->cap_views != 0 ? a->cap_views * 2 : 32;
        struct weir_asked_view *more = weir_arena_alloc(a->o.arena, a->cap_views * sizeof *more);
        if (a->n_views != 0) {
            memcpy(more, a->views, a->n_views * sizeof *more);
        }
        a->views = more;
    }
    struct weir_asked_view *view = &a->views[a->n_views++];
    *view = (struct weir_asked_view){.kind = kind, .item = (uint32_t)item, .text = text};
    return view;
}

void weir_asked__add_joined(struct weir_asked *a, struct weir_slice text,
                            const struct weir_asked_piece *pieces, size_t n)
{
    struct weir_asked_view *view = add_view(a, WEIR_ASKED_SEAM, pieces[0].item, text);
    view->pieces = pieces;
    view->n_pieces = n;
}

/* Is there nothing in it that could be written in two ways? */
static bool is_plain_string(const struct weir_tree *t)
{
    const struct weir_json_node *root = &t->json->nodes[t->root];
    bool is_key_plain = t->first == t->root || !t->json->nodes[t->first].is_escaped;
    return root->type != WEIR_JSON_OBJECT && root->type != WEIR_JSON_ARRAY && !root->is_escaped &&
           is_key_plain;
}

static void view_tree(struct weir_asked *a, size_t at, const struct weir_json *json, uint32_t root)
{
    const struct weir_walk_item *item = &a->o.walk->items[at];
    struct weir_tree *tree = weir_arena_zalloc(a->o.arena, sizeof *tree);
    weir_tree_read(tree, json, json == a->o.json ? item->key : WEIR_JSON_NONE, root, item->rule,
                   a->o.arena);
    if (tree->n == 0) {
        return;
    }
    add_view(a, WEIR_ASKED_LINES, at, tree->lines)->tree = tree;
    if (!is_plain_string(tree)) {
        add_view(a, WEIR_ASKED_WRITTEN, at, weir_tree_written(tree))->tree = tree;
    }
}

static void view_text(struct weir_asked *a, size_t at)
{
    const struct weir_walk_item *item = &a->o.walk->items[at];
    if (item->text.n != 0) {
        add_view(a, WEIR_ASKED_OWN, at, item->text);
    }
    if (item->kind == WEIR_WALK_TEXT && item->is_broken) {
        struct weir_unescape *u = weir_arena_zalloc(a->o.arena, sizeof *u);
        weir_unescape_read(u, item->text, a->o.arena);
        if (u->text.n != 0) {
            add_view(a, WEIR_ASKED_UNESCAPED, at, u->text)->unescape = u;
        }
    }
}

static bool is_looked_at(const struct weir_asked *a, const struct weir_walk_item *item)
{
    const struct weir_policy *policy = a->o.policy;
    if (a->o.is_answer) {
        return true;
    }
    if (item->kind == WEIR_WALK_CONTROL || item->kind == WEIR_WALK_SEALED ||
        item->kind == WEIR_WALK_MEDIA || (item->holes & policy->unguarded) != 0) {
        return false;
    }
    return weir_policy_enforces(policy) || policy->looks_at_all || weir_asked__is_turn(a, item);
}

static void view_item(struct weir_asked *a, size_t at)
{
    const struct weir_walk_item *item = &a->o.walk->items[at];
    if (!is_looked_at(a, item)) {
        return;
    }
    switch (item->kind) {
    case WEIR_WALK_DOCUMENT:
        view_tree(a, at, item->document, 0);
        break;
    case WEIR_WALK_TREE:
    case WEIR_WALK_WRONG: /* annotate: passes, and is told */
    case WEIR_WALK_REFUSED:
        view_tree(a, at, a->o.json, item->node);
        break;
    default:
        view_text(a, at);
        break;
    }
}

/* ---- seams ---- */

/*
 * Parts that follow each other, joined; and of the joined text what lies within 256 code points of
 * a seam:
 *
 *   parts    |------ a ------|-b-|------------ c ------------|
 *   seams                    |   |
 *   looked at         |------------------|
 *
 * Stretches that touch are one view, so that many short parts are looked at once and not once each.
 */
struct seams {
    struct weir_asked *a;
    struct weir_buf text;
    struct weir_asked_piece *pieces;
    size_t n;
    size_t cap;
    size_t end_cp; /* of the joined text so far */
};

static void add_piece(struct seams *s, size_t item, struct weir_slice text, size_t from_cp)
{
    if (s->n == s->cap) {
        s->cap = s->cap != 0 ? s->cap * 2 : 8;
        struct weir_asked_piece *more = weir_arena_alloc(s->a->o.arena, s->cap * sizeof *more);
        if (s->n != 0) {
            memcpy(more, s->pieces, s->n * sizeof *more);
        }
        s->pieces = more;
    }
    size_t n_cp = weir_utf8_count(text);
    s->pieces[s->n++] = (struct weir_asked_piece){.item = (uint32_t)item,
                                                  .node = WEIR_JSON_NONE,
                                                  .start_cp = s->end_cp,
                                                  .end_cp = s->end_cp + n_cp,
                                                  .from_cp = from_cp};
    weir_buf_append(&s->text, text);
    s->end_cp += n_cp;
}

/* The view so far, if it has a seam. */
static void end_seams(struct seams *s)
{
    if (s->n > 1) {
        struct weir_slice text = weir_arena_dup(s->a->o.arena, weir_buf_slice(&s->text));
        weir_asked__add_joined(s->a, text, s->pieces, s->n);
    }
    weir_buf_clear(&s->text);
    s->pieces = NULL;
    s->n = 0;
    s->cap = 0;
    s->end_cp = 0;
}

/* The next part. Of a long one only both ends are near a seam, and they are in two views. */
static void add_part(struct seams *s, size_t item)
{
    struct weir_slice text = s->a->o.walk->items[item].text;
    size_t head = weir_utf8_byte_at(text, SEAM_CP);
    size_t tail = weir_utf8_back(text, text.n, SEAM_CP);
    if (tail <= head) {
        add_piece(s, item, text, 0);
        return;
    }
    if (s->n != 0) {
        add_piece(s, item, weir_slice_sub(text, 0, head), 0);
        end_seams(s);
    }
    add_piece(s, item, weir_slice_sub(text, tail, text.n),
              weir_utf8_count(weir_slice_sub(text, 0, tail)));
}

static void view_seams(struct weir_asked *a)
{
    const struct weir_walk *walk = a->o.walk;
    struct seams s = {.a = a};
    uint32_t message = WEIR_WALK_NO_INDEX;
    for (size_t i = 0; i < walk->n; i++) {
        const struct weir_walk_item *item = &walk->items[i];
        bool is_part = item->kind == WEIR_WALK_TEXT && item->is_part && item->text.n != 0;
        bool is_end = item->message != message || item->kind == WEIR_WALK_DOCUMENT;
        if (is_end) {
            end_seams(&s);
            message = item->message;
        }
        if (is_part && is_looked_at(a, item)) {
            add_part(&s, i);
        }
    }
    end_seams(&s);
    weir_buf_dispose(&s.text);
}

static struct weir_asked *new_teller(const struct weir_asked_options *options)
{
    struct weir_policy_teller *policy = weir_arena_zalloc(options->arena, sizeof *policy);
    struct weir_asked_options o = *options;
    weir_policy_teller_init(policy, options->policy);
    o.policy = &policy->policy;
    o.plan = options->plan->telling;
    return weir_asked_new(&o);
}

struct weir_asked *weir_asked_new(const struct weir_asked_options *options)
{
    struct weir_asked *a = weir_arena_zalloc(options->arena, sizeof *a);
    a->o = *options;
    a->o.plan = weir_plan_judging(options->plan);
    a->teller = options->plan->telling != NULL ? new_teller(options) : NULL;
    for (size_t i = 0; i < options->walk->n; i++) {
        view_item(a, i);
    }
    view_seams(a);
    return a;
}

size_t weir_asked_n_texts(const struct weir_asked *a)
{
    return a->n_views + weir_asked__n_chat(a) +
           (a->teller != NULL ? weir_asked__n_chat(a->teller) : 0);
}

/* ---- asking ---- */

/* The detectors that look at what this role says. */
static const struct weir_plan *plan_for(struct weir_asked *a, enum weir_walk_role role)
{
    struct weir_plan *plan = &a->plans[role];
    if (a->o.is_answer) {
        return a->o.plan;
    }
    if (a->has_plan[role]) {
        return plan;
    }
    struct weir_plan_use *uses = weir_arena_array(a->o.arena, a->o.plan->n, sizeof *uses);
    size_t n = 0;
    for (size_t i = 0; i < a->o.plan->n; i++) {
        uint32_t roles = a->o.plan->uses[i].roles;
        if (roles == 0 || (roles >> role & 1) != 0) {
            uses[n++] = a->o.plan->uses[i];
        }
    }
    *plan = (struct weir_plan){.uses = uses, .n = n};
    a->has_plan[role] = true;
    return plan;
}

static void on_local(void *ctx, size_t n_found)
{
    struct weir_asked *a = ctx;
    weir_scan_local_fn fn = a->on_local;
    a->on_local = NULL;
    if (fn != NULL) {
        fn(a->local_ctx, n_found);
    }
}

static void on_scanned(void *ctx, struct weir_scan *scan)
{
    struct weir_asked *a = ctx;
    if (weir_scan_fault(scan) == NULL) {
        weir_asked__collect(a);
        weir_asked__judge(a);
        if (a->teller != NULL) {
            weir_asked__collect(a->teller);
            weir_asked__judge(a->teller);
        }
        if (weir_asked__start_chat(a)) { /* services all of them */
            on_local(a, a->n_hits);
            return;
        }
    }
    a->on_done(a->ctx, scan);
}

void weir_asked__add(struct weir_asked *a, struct weir_scan *scan)
{
    weir_scan_share(scan);
    for (size_t i = 0; i < a->n_views; i++) {
        struct weir_asked_view *view = &a->views[i];
        view->group = weir_scan_add_group(scan, WEIR_RESULTS_NONE);
        weir_scan_add_text(view->group, plan_for(a, a->o.walk->items[view->item].role), view->text);
    }
}

void weir_asked_on_local(struct weir_asked *a, weir_scan_local_fn fn, void *ctx)
{
    a->on_local = fn;
    a->local_ctx = ctx;
}

void weir_asked_start(struct weir_asked *a, struct weir_task_ctx *task, weir_scan_done_fn on_done,
                      void *ctx)
{
    a->on_done = on_done;
    a->ctx = ctx;
    a->task = task;
    a->scan = weir_scan_new(task, on_scanned, a);
    weir_asked__add(a, a->scan);
    if (a->teller != NULL) {
        weir_asked__add(a->teller, a->scan);
    }
    weir_scan_on_local(a->scan, on_local, a);
    weir_scan_start(a->scan);
}
