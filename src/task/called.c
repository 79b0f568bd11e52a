#include "task/called.h"

#include "talk/restore.h"
#include "talk/walk.h"
#include "task/asked_int.h"

enum {
    MAX_NODES = 1 << 20, /* of one call's arguments; more is looked at as plain text */
    N_TEXTS = 2,         /* of a call: items come in pairs */
};
#define NO_ITEM UINT32_MAX

struct weir_called {
    struct weir_called_options o;
    struct weir_walk walk;
    struct weir_asked *asked;
    struct {
        uint64_t index;
        const char *member; /* that has the arguments */
    } * calls;
    uint32_t unknown; /* the item behind those of the calls; NO_ITEM: there is none */
    struct weir_called_found found;
    bool is_collected;
    bool has_media; /* members nobody knows make a `data:` URL when they are joined: none leaves */
    bool blocks;
};

/* ---- making ---- */

static struct weir_walk_item item_of(const struct weir_called *c, enum weir_walk_kind kind,
                                     struct weir_slice text)
{
    return (struct weir_walk_item){.kind = kind,
                                   .role = WEIR_WALK_ASSISTANT,
                                   .key = WEIR_JSON_NONE,
                                   .message = WEIR_WALK_NO_INDEX,
                                   .part = WEIR_WALK_NO_INDEX,
                                   .rule = WEIR_TREE_ARGUMENTS,
                                   .text = weir_arena_dup(c->o.arena, text)};
}

/* One document of all: an element for each event. */
static void add_unknown(struct weir_called *c)
{
    struct weir_buf list = {0};
    weir_buf_append_byte(&list, '[');
    weir_buf_append(&list, c->o.unknown);
    weir_buf_append_byte(&list, ']');
    struct weir_walk_item item = item_of(c, WEIR_WALK_TEXT, weir_buf_slice(&list));
    weir_buf_dispose(&list);
    item.rule = WEIR_TREE_ANY;
    weir_walk_open_document(&item, MAX_NODES, c->o.arena);
    if (item.kind == WEIR_WALK_DOCUMENT) { /* too much of it: none leaves */
        c->unknown = (uint32_t)c->walk.n;
        c->walk.items[c->walk.n++] = item;
    }
}

struct weir_called *weir_called_new(const struct weir_called_options *options)
{
    const struct weir_tools *tools = options->tools;
    struct weir_called *c = weir_arena_zalloc(options->arena, sizeof *c);
    c->o = *options;
    c->o.tools = NULL;
    c->calls = weir_arena_array(options->arena, tools->n, sizeof *c->calls);
    c->walk.items = weir_arena_array(options->arena, N_TEXTS * tools->n + 1, sizeof *c->walk.items);
    c->unknown = NO_ITEM;
    c->o.unknown = weir_arena_dup(options->arena, options->unknown);
    for (size_t i = 0; i < tools->n; i++) {
        const struct weir_tool *tool = &tools->items[i];
        c->calls[i].index = tool->index;
        c->calls[i].member = tool->is_custom ? "input" : "arguments";
        c->walk.items[c->walk.n++] = item_of(c, WEIR_WALK_IDENTIFIER, weir_buf_slice(&tool->name));
        struct weir_walk_item arguments =
            item_of(c, WEIR_WALK_TEXT, weir_buf_slice(&tool->arguments));
        weir_walk_open_document(&arguments, MAX_NODES, options->arena);
        c->walk.items[c->walk.n++] = arguments;
    }
    if (c->o.unknown.n != 0) {
        add_unknown(c);
    }
    c->asked = weir_asked_new(&(struct weir_asked_options){.arena = options->arena,
                                                           .walk = &c->walk,
                                                           .policy = options->policy,
                                                           .plan = options->plan,
                                                           .is_answer = true});
    if (c->unknown != NO_ITEM) {
        c->has_media = weir_called__join(c->asked, c->unknown);
    }
    return c;
}

bool weir_called_add(struct weir_called *c, struct weir_scan *scan)
{
    weir_asked__add(c->asked, scan);
    return weir_asked_n_texts(c->asked) != 0;
}

/* ---- what was found ---- */

static bool redacts(const struct weir_called *c)
{
    return c->o.policy != NULL && weir_policy_on_output(c->o.policy)->fills;
}

/* Values will stand where tokens are. */
static void move_spans(const struct weir_called *c, struct weir_slice text,
                       struct weir_redact_span *spans, size_t n)
{
    struct weir_restore restore;
    struct weir_buf out = {0};
    weir_restore_init(&restore, c->o.mask, &c->o.policy->mask->hosts, WEIR_RESTORE_TEXT);
    weir_restore_feed(&restore, text, &out);
    for (size_t i = 0; i < n; i++) {
        spans[i].start_cp = weir_restore_map(&restore, spans[i].start_cp);
        spans[i].end_cp = weir_restore_map(&restore, spans[i].end_cp);
    }
    weir_restore_dispose(&restore);
    weir_buf_dispose(&out);
}

/* Spans count in the text that the caller gets. */
static struct weir_detection *told_of(const struct weir_called *c,
                                      const struct weir_asked_place *place)
{
    struct weir_detection *told = weir_asked__told(c->asked, place);
    if ((!redacts(c) && c->o.mask == NULL) || c->blocks) {
        return told;
    }
    struct weir_redact_span *spans = weir_arena_array(c->o.arena, place->n, sizeof *spans);
    struct weir_slice text = weir_asked__value(c->asked, &c->asked->hits[place->first]);
    for (size_t i = 0; i < place->n; i++) {
        spans[i] = (struct weir_redact_span){told[i].start_cp, told[i].end_cp};
    }
    if (redacts(c)) {
        text = weir_asked__instead(c->asked, place, spans);
    }
    if (c->o.mask != NULL) {
        move_spans(c, text, spans, place->n);
    }
    for (size_t i = 0; i < place->n; i++) {
        told[i].start_cp = spans[i].start_cp;
        told[i].end_cp = spans[i].end_cp;
    }
    return told;
}

/* Which call it is, and what of it. */
static void write_call(struct weir_json_write *w, const struct weir_called *c, uint32_t item)
{
    uint64_t index = c->calls[item / N_TEXTS].index;
    const char *member = item % N_TEXTS == 0 ? "name" : c->calls[item / N_TEXTS].member;
    if (index != WEIR_TOOL_FUNCTION_CALL) {
        weir_json_write_key(w, WEIR_SLICE("tool_index"));
        weir_json_write_u64(w, index);
    }
    weir_json_write_key(w, WEIR_SLICE("member"));
    weir_json_write_string(w, weir_slice_cstr(member));
}

static void write_entry(struct weir_asked_telling *t, const struct weir_called *c,
                        const struct weir_asked_place *place, const struct weir_detection *told)
{
    const struct weir_asked_hit *hit = &c->asked->hits[place->first];
    struct weir_json_write *w = t->w;
    t->skips_first = hit->item == c->unknown;
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("choice_index"));
    weir_json_write_u64(w, c->o.choice);
    weir_json_write_key(w, WEIR_SLICE("channel"));
    weir_json_write_string(w, hit->item == c->unknown ? WEIR_SLICE("unknown_members")
                                                      : WEIR_SLICE("tool_calls"));
    if (hit->item != c->unknown) {
        write_call(w, c, hit->item);
    }
    if (weir_asked__item(c->asked, hit)->kind == WEIR_WALK_DOCUMENT) {
        weir_asked__write_path(t, hit);
    }
    weir_asked__write_results(t, told, place->n);
    weir_json_write_end_object(w);
}

/* All findings as they are told, each place an entry. */
static void tell(struct weir_called *c)
{
    const struct weir_asked *a = c->asked;
    const struct weir_detection **items = weir_arena_array(c->o.arena, a->n_hits, sizeof *items);
    struct weir_buf entries = {0};
    struct weir_json_write w;
    struct weir_asked_telling t = {.w = &w, .a = a};
    size_t n = 0;
    size_t n_unknown = 0;
    for (size_t i = 0; i < a->n_places; i++) {
        const struct weir_asked_place *place = &a->places[i];
        const struct weir_detection *told = told_of(c, place);
        for (size_t k = 0; k < place->n; k++) {
            items[n++] = &told[k];
        }
        n_unknown += a->hits[place->first].item == c->unknown ? place->n : 0;
        weir_buf_append(&entries, i != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        weir_json_write_init(&w, &entries);
        write_entry(&t, c, place, told);
    }
    weir_buf_dispose(&t.path);
    c->found = (struct weir_called_found){.items = items,
                                          .n = n,
                                          .n_unknown = n_unknown,
                                          .entries = weir_arena_take_buf(c->o.arena, &entries)};
}

/* Did a detector say something of a text without saying where? */
static bool has_placeless(const struct weir_asked *a)
{
    for (size_t i = 0; i < a->n_views; i++) {
        const struct weir_scan_group *group = a->views[i].group;
        for (size_t k = 0; k < group->n_found; k++) {
            if (!weir_redact_can(group->found[k])) {
                return true;
            }
        }
    }
    return false;
}

/* Is there something that can be neither replaced nor taken out? */
static bool has_fixed(const struct weir_called *c)
{
    for (size_t i = 0; i < c->asked->n_hits; i++) {
        const struct weir_asked_hit *hit = &c->asked->hits[i];
        bool is_taken_out = hit->item == c->unknown && hit->what == WEIR_TREE_KEY;
        if (hit->what != WEIR_TREE_TEXT && !is_taken_out) {
            return true;
        }
    }
    return false;
}

void weir_called_collect(struct weir_called *c)
{
    weir_asked__collect(c->asked);
    c->is_collected = true;
    if (c->o.mask != NULL && c->asked->n_hits != 0) {
        weir_asked__sift(c->asked, c->o.mask);
    }
    if (c->asked->n_hits != 0) {
        bool can_replace = !has_placeless(c->asked) && !has_fixed(c);
        c->blocks = weir_policy_touches_output(c->o.policy) &&
                    weir_policy_judge_answer(c->o.policy, can_replace) == WEIR_POLICY_STOPPED;
        tell(c);
    }
}

const struct weir_called_found *weir_called_found(const struct weir_called *c)
{
    return &c->found;
}

bool weir_called_blocks(const struct weir_called *c)
{
    return c->blocks;
}

/* ---- leaving ---- */

static bool is_same(const struct weir_called *c, const struct weir_tools *tools)
{
    size_t n_texts = c->walk.n - (c->unknown != NO_ITEM);
    for (size_t i = 0; i < tools->n && N_TEXTS * i < n_texts; i++) {
        const struct weir_walk_item *name = &c->walk.items[N_TEXTS * i];
        if (!weir_slice_eq(weir_buf_slice(&tools->items[i].name), name[0].text) ||
            !weir_slice_eq(weir_buf_slice(&tools->items[i].arguments), name[1].text)) {
            return false;
        }
    }
    return N_TEXTS * tools->n == n_texts;
}

bool weir_called_has_judged(const struct weir_called *c, const struct weir_tools *tools,
                            struct weir_slice unknown)
{
    if (!is_same(c, tools) || !weir_slice_eq(unknown, c->o.unknown) ||
        (weir_asked_n_texts(c->asked) != 0 && !c->is_collected)) {
        return false;
    }
    for (size_t i = 0; i < c->asked->n_views; i++) {
        const struct weir_asked_view *view = &c->asked->views[i];
        bool is_name = c->walk.items[view->item].kind == WEIR_WALK_IDENTIFIER;
        bool may_have = c->o.mask != NULL || redacts(c); /* in tokens, or told, or replaced */
        if (view->group == NULL || (view->group->n_found != 0 && (!may_have || is_name))) {
            return false;
        }
    }
    return true;
}

/* Still JSON, if it was. */
static bool is_whole(const struct weir_called *c, uint32_t item, struct weir_slice text)
{
    struct weir_walk_item now = {.text = text};
    if (c->walk.items[item].kind == WEIR_WALK_DOCUMENT) {
        weir_walk_open_document(&now, MAX_NODES, c->o.arena);
        return now.kind == WEIR_WALK_DOCUMENT;
    }
    return true;
}

static bool is_json(const struct weir_called *c, struct weir_slice text)
{
    struct weir_json json;
    return weir_json_parse(&json, text, NULL, c->o.arena, NULL) == 0;
}

/* A number or a string alone is JSON, too, and what stands in its place is a string then. */
static struct weir_slice keep_scalar(const struct weir_called *c, const struct weir_tool *tool,
                                     struct weir_slice text)
{
    struct weir_slice was = weir_buf_slice(&tool->arguments);
    if (tool->is_custom || weir_slice_eq(was, text) || !is_json(c, was) || is_json(c, text)) {
        return text;
    }
    struct weir_buf out = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    weir_json_write_string(&w, text);
    return weir_arena_take_buf(c->o.arena, &out);
}

bool weir_called_replace(struct weir_called *c, struct weir_tools *tools)
{
    for (size_t i = 0; i < tools->n && c->found.n != 0 && redacts(c); i++) {
        struct weir_buf *arguments = &tools->items[i].arguments;
        uint32_t item = (uint32_t)(N_TEXTS * i + 1);
        struct weir_slice text = weir_asked__edited(c->asked, item);
        if (c->walk.items[item].kind != WEIR_WALK_DOCUMENT) {
            text = keep_scalar(c, &tools->items[i], text);
        }
        if (!is_whole(c, item, text)) {
            return false;
        }
        tools->n_bytes -= arguments->n;
        tools->n_bytes += text.n;
        weir_buf_dispose(arguments);
        weir_buf_init(arguments, 0);
        weir_buf_append(arguments, text);
    }
    return true;
}

const struct weir_json *weir_called_unknown(struct weir_called *c)
{
    if (c->unknown == NO_ITEM || c->blocks || c->has_media) {
        return NULL;
    }
    struct weir_walk_item now = {.text = weir_asked__edited(c->asked, c->unknown)};
    weir_walk_open_document(&now, MAX_NODES, c->o.arena);
    return now.document;
}
