#include "talk/walk.h"

#include "base/err.h"
#include "talk/form.h"
#include "talk/walk_int.h"

/* Tables inside of tables: results of tools have parts, which may have parts of their own. */
enum { MAX_DOCUMENT_DEPTH = 512, MAX_TABLE_DEPTH = 16 };

/* Where the walk is. */
struct place {
    enum weir_walk_role role;
    bool is_turn;
    uint32_t holes;
    uint32_t message;
    uint32_t part;
    uint32_t object; /* that the member at hand is of */
    uint32_t depth;  /* of tables */
};

struct walking {
    struct weir_walk *walk;
    const struct weir_walk_dialect *dialect;
    const struct weir_json *json;
    const struct weir_walk_options *options;
    struct weir_arena *arena;
    size_t cap;
};

/* ---- items ---- */

static struct weir_walk_item item_at(const struct place *p, enum weir_walk_kind kind, uint32_t node)
{
    return (struct weir_walk_item){.kind = kind,
                                   .role = p->role,
                                   .is_turn = p->is_turn,
                                   .holes = p->holes,
                                   .node = node,
                                   .key = WEIR_JSON_NONE,
                                   .message = p->message,
                                   .part = p->part};
}

static void yield(struct walking *w, const struct weir_walk_item *item)
{
    struct weir_walk *walk = w->walk;
    if (walk->n == w->cap) { /* doubled: the arena keeps what was outgrown, at most as much again */
        w->cap = w->cap != 0 ? 2 * w->cap : 32;
        struct weir_walk_item *more = weir_arena_alloc(w->arena, w->cap * sizeof *more);
        if (walk->n != 0) {
            memcpy(more, walk->items, walk->n * sizeof *more);
        }
        walk->items = more;
    }
    walk->items[walk->n++] = *item;
}

static void yield_string(struct walking *w, const struct place *p, enum weir_walk_kind kind,
                         uint32_t node)
{
    struct weir_walk_item item = item_at(p, kind, node);
    item.text = weir_json_string(w->json, node, w->arena);
    yield(w, &item);
}

static void yield_tree(struct walking *w, const struct place *p, uint32_t node,
                       enum weir_tree_rule rule)
{
    struct weir_walk_item item = item_at(p, WEIR_WALK_TREE, node);
    item.rule = rule;
    yield(w, &item);
}

static void yield_wrong(struct walking *w, const struct place *p, uint32_t node, const char *why)
{
    struct weir_walk_item item = item_at(p, WEIR_WALK_WRONG, node);
    item.why = why;
    yield(w, &item);
}

/* What cannot be looked at passes where one of `media` is left open, or all that is around it. */
static void yield_media(struct walking *w, const struct place *p, uint32_t node, uint32_t media)
{
    struct weir_walk_item item = item_at(p, WEIR_WALK_MEDIA, node);
    item.media = media | p->holes;
    yield(w, &item);
}

/* The id of what the server keeps, or another string in its place. */
static void yield_state(struct walking *w, const struct place *p, uint32_t node, uint32_t media,
                        bool is_id)
{
    struct weir_walk_item item = item_at(p, is_id ? WEIR_WALK_CONTROL : WEIR_WALK_TEXT, node);
    item.media = media | p->holes;
    item.text = weir_json_string(w->json, node, w->arena);
    yield(w, &item);
}

void weir_walk_open_document(struct weir_walk_item *item, uint32_t max_nodes,
                             struct weir_arena *arena)
{
    struct weir_json_limits limits = {.max_depth = MAX_DOCUMENT_DEPTH, .max_nodes = max_nodes};
    struct weir_slice text = item->text;
    size_t at = 0;
    while (at < text.n && text.p[at] != '\0' && strchr(" \t\r\n", text.p[at]) != NULL) {
        at++;
    }
    bool may_be = at < text.n && (text.p[at] == '{' || text.p[at] == '[');
    struct weir_json *document = weir_arena_zalloc(arena, sizeof *document);
    if (may_be && weir_json_parse(document, text, &limits, arena, NULL) == 0) {
        item->kind = WEIR_WALK_DOCUMENT;
        item->document = document;
    } else {
        item->is_broken = true;
    }
}

/* A string that holds JSON, if it does. */
static void yield_document(struct walking *w, const struct place *p, uint32_t node,
                           enum weir_tree_rule rule)
{
    struct weir_walk_item item = item_at(p, WEIR_WALK_TEXT, node);
    item.text = weir_json_string(w->json, node, w->arena);
    item.rule = rule;
    weir_walk_open_document(&item, w->options->max_document_nodes, w->arena);
    item.is_part = item.is_broken && p->part != WEIR_WALK_NO_INDEX;
    yield(w, &item);
}

/* ---- forms ---- */

static bool is_string(const struct walking *w, uint32_t node)
{
    return weir_json_type(w->json, node) == WEIR_JSON_STRING;
}

/* May a member of this form have a value of this type? */
static bool takes(enum weir_walk_form form, enum weir_json_type type)
{
    bool is_array = type == WEIR_JSON_ARRAY;
    bool is_object = type == WEIR_JSON_OBJECT;
    switch (form) {
    case WEIR_WALK_FORM_NUMBER:
        return type == WEIR_JSON_NUMBER;
    case WEIR_WALK_FORM_BOOL:
        return type == WEIR_JSON_TRUE || type == WEIR_JSON_FALSE;
    case WEIR_WALK_FORM_WORDS:
    case WEIR_WALK_FORM_PARTS:
    case WEIR_WALK_FORM_TREES:
    case WEIR_WALK_FORM_OBJECTS:
    case WEIR_WALK_FORM_MESSAGES:
        return is_array;
    case WEIR_WALK_FORM_NUMBERS:
        return is_array || is_object;
    case WEIR_WALK_FORM_OBJECT:
    case WEIR_WALK_FORM_VARIABLES:
    case WEIR_WALK_FORM_HEADERS:
        return is_object;
    case WEIR_WALK_FORM_SCHEMA:
        return is_object || type == WEIR_JSON_STRING || type == WEIR_JSON_TRUE ||
               type == WEIR_JSON_FALSE;
    case WEIR_WALK_FORM_ARGUMENTS:
        return is_object || is_array || type == WEIR_JSON_STRING;
    case WEIR_WALK_FORM_PROMPT:
    case WEIR_WALK_FORM_NAMES:
        return is_array || type == WEIR_JSON_STRING;
    case WEIR_WALK_FORM_OURS:
    case WEIR_WALK_FORM_TREE:
    case WEIR_WALK_FORM_EMBEDS:
    case WEIR_WALK_FORM_REFUSED:
        return true;
    default:
        return type == WEIR_JSON_STRING;
    }
}

static const char *wanted_by(enum weir_walk_form form)
{
    switch (form) {
    case WEIR_WALK_FORM_NUMBER:
        return "must be a number";
    case WEIR_WALK_FORM_BOOL:
        return "must be true or false";
    case WEIR_WALK_FORM_WORDS:
    case WEIR_WALK_FORM_TREES:
    case WEIR_WALK_FORM_OBJECTS:
    case WEIR_WALK_FORM_MESSAGES:
        return "must be an array";
    case WEIR_WALK_FORM_NUMBERS:
    case WEIR_WALK_FORM_OBJECT:
    case WEIR_WALK_FORM_VARIABLES:
    case WEIR_WALK_FORM_HEADERS:
    case WEIR_WALK_FORM_SCHEMA:
        return "must be an object";
    case WEIR_WALK_FORM_PARTS:
    case WEIR_WALK_FORM_CONTENT:
    case WEIR_WALK_FORM_PROMPT:
    case WEIR_WALK_FORM_NAMES:
        return "must be a string or an array";
    default:
        return "must be a string";
    }
}

/* Bytes in base64, or a URL. */
static void read_encoded(struct walking *w, const struct place *p, const struct weir_walk_member *m,
                         uint32_t node)
{
    struct weir_walk_item item = item_at(p, WEIR_WALK_TEXT, node);
    struct weir_slice text = weir_json_string(w->json, node, w->arena);
    bool is_sealed = m->form == WEIR_WALK_FORM_SEALED;
    if (m->form == WEIR_WALK_FORM_SIGNATURE && weir_form_is_seal(text)) {
        item.kind = WEIR_WALK_CONTROL; /* ours: opened or refused before it is sent */
        yield(w, &item);
        return;
    }
    is_sealed = is_sealed || m->form == WEIR_WALK_FORM_SIGNATURE;
    item.kind = weir_walk__open(&item, text, m->form == WEIR_WALK_FORM_URL, w->arena);
    if (item.kind == WEIR_WALK_MEDIA && is_sealed) {
        item.kind = WEIR_WALK_SEALED;
    }
    if (item.kind == WEIR_WALK_TEXT || item.kind == WEIR_WALK_IDENTIFIER) {
        item.text = text;
    }
    if (item.kind == WEIR_WALK_REFUSED) {
        item.why = "is a data: URL that says it is text and cannot be read";
    }
    if (item.kind != WEIR_WALK_TEXT && item.kind != WEIR_WALK_ENCODED) {
        item.media = (is_sealed ? WEIR_HOLE_SEALED : m->holes) | p->holes;
    }
    yield(w, &item);
}

static bool is_all_numbers(const struct weir_json *j, uint32_t node)
{
    bool is_object = weir_json_type(j, node) == WEIR_JSON_OBJECT;
    uint32_t at = weir_json_first(j, node);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, node, at)) {
        struct weir_slice raw = weir_json_raw(j, at);
        for (size_t i = 1; is_object && i + 1 < raw.n; i++) {
            if (raw.p[i] < '0' || raw.p[i] > '9' || raw.n > 12) {
                return false;
            }
        }
        if (weir_json_type(j, at + is_object) != WEIR_JSON_NUMBER) {
            return false;
        }
    }
    return true;
}

/* Names and credentials, and nothing that could be said in them. */
static bool are_headers(const struct walking *w, uint32_t node)
{
    uint32_t at = weir_json_first(w->json, node);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(w->json, node, at)) {
        if (!is_string(w, at + 1) ||
            !weir_walk__is_header(weir_json_string(w->json, at, w->arena),
                                  weir_json_string(w->json, at + 1, w->arena))) {
            return false;
        }
    }
    return true;
}

static bool are_words(const struct walking *w, const struct weir_walk_member *m, uint32_t node)
{
    uint32_t at = weir_json_first(w->json, node);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(w->json, node, at)) {
        if (!is_string(w, at) || !weir_walk__fits(m, weir_json_string(w->json, at, w->arena))) {
            return false;
        }
    }
    return true;
}

static void read_names(struct walking *w, const struct place *p, uint32_t node)
{
    if (is_string(w, node)) {
        yield_string(w, p, WEIR_WALK_IDENTIFIER, node);
        return;
    }
    uint32_t at = weir_json_first(w->json, node);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(w->json, node, at)) {
        if (is_string(w, at)) {
            yield_string(w, p, WEIR_WALK_IDENTIFIER, at);
        } else {
            yield_wrong(w, p, at, "must be a string");
        }
    }
}

/* ---- prompts ---- */

static void read_prompt(struct walking *w, struct place p, uint32_t node)
{
    const struct weir_json *j = w->json;
    p.role = WEIR_WALK_USER;
    p.is_turn = true;
    p.message = 0;
    if (is_string(w, node)) {
        yield_string(w, &p, WEIR_WALK_TEXT, node);
        return;
    }
    if (j->nodes[node].n != 0 && is_all_numbers(j, node)) {
        yield_media(w, &p, node, WEIR_HOLE_TOKEN_IDS);
        return;
    }
    uint32_t at = weir_json_first(j, node);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, node, at), p.message++) {
        if (is_string(w, at)) {
            yield_string(w, &p, WEIR_WALK_TEXT, at);
        } else if (weir_json_type(j, at) == WEIR_JSON_ARRAY && is_all_numbers(j, at)) {
            yield_media(w, &p, at, WEIR_HOLE_TOKEN_IDS);
        } else {
            yield_wrong(w, &p, at, "must be a string or an array of tokens");
        }
    }
}

/* ---- objects and lists ---- */

static void read_object(struct walking *w, const struct place *p,
                        const struct weir_walk_object *table, uint32_t object);

static void read_objects(struct walking *w, const struct place *p, const struct weir_walk_member *m,
                         uint32_t node)
{
    uint32_t at = weir_json_first(w->json, node);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(w->json, node, at)) {
        if (weir_json_type(w->json, at) == WEIR_JSON_OBJECT) {
            read_object(w, p, m->object, at);
        } else if (weir_json_type(w->json, at) != WEIR_JSON_NULL) {
            yield_wrong(w, p, at, "must be an object");
        }
    }
}

static bool is_result(const struct place *p)
{
    return p->role == WEIR_WALK_TOOL || p->role == WEIR_WALK_FUNCTION;
}

/* What a message says, or a part of it. */
static void read_content(struct walking *w, const struct place *p, uint32_t node)
{
    if (is_result(p)) {
        yield_document(w, p, node, WEIR_TREE_ANY);
        return;
    }
    struct weir_walk_item item = item_at(p, WEIR_WALK_TEXT, node);
    item.text = weir_json_string(w->json, node, w->arena);
    item.is_part = p->part != WEIR_WALK_NO_INDEX;
    yield(w, &item);
}

static void read_parts(struct walking *w, struct place p, const struct weir_walk_member *m,
                       uint32_t node)
{
    bool is_inner = p.part != WEIR_WALK_NO_INDEX; /* a part's own parts are all of that part */
    p.part = is_inner ? p.part : 0;
    uint32_t at = weir_json_first(w->json, node);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(w->json, node, at), p.part += !is_inner) {
        if (is_string(w, at)) {
            read_content(w, &p, at);
        } else if (weir_json_type(w->json, at) == WEIR_JSON_OBJECT) {
            read_object(w, &p, m->object, at);
        } else if (weir_json_type(w->json, at) != WEIR_JSON_NULL) {
            yield_wrong(w, &p, at, "must be an object");
        }
    }
}

/* What a template that the server keeps is filled with. */
static void read_variables(struct walking *w, struct place p, const struct weir_walk_member *m,
                           uint32_t node)
{
    p.role = WEIR_WALK_USER;
    p.is_turn = true;
    uint32_t key = weir_json_first(w->json, node);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(w->json, node, key)) {
        yield_string(w, &p, WEIR_WALK_IDENTIFIER, key);
        w->walk->items[w->walk->n - 1].is_key = true;
        if (is_string(w, key + 1)) {
            yield_string(w, &p, WEIR_WALK_TEXT, key + 1);
        } else if (weir_json_type(w->json, key + 1) == WEIR_JSON_OBJECT) {
            read_object(w, &p, m->object, key + 1);
        } else {
            yield_tree(w, &p, key + 1, WEIR_TREE_ANY);
        }
    }
}

static void read_asked(struct walking *w, struct place p, uint32_t node)
{
    p.role = WEIR_WALK_USER;
    p.is_turn = true;
    yield_string(w, &p, WEIR_WALK_TEXT, node);
}

/* Text that the server has signed is refused where it would have to be replaced. What stands beside
 * a seal of ours is not sent: the seal has the original. */
static void read_signed(struct walking *w, const struct place *p, uint32_t node)
{
    uint32_t at = weir_json_get_set(w->json, p->object, WEIR_SLICE("signature"));
    bool is_signed = at != WEIR_JSON_NONE && is_string(w, at) && w->json->nodes[at].n != 0;
    bool is_ours = is_signed && weir_form_is_seal(weir_json_string(w->json, at, w->arena));
    enum weir_walk_kind kind = is_signed ? WEIR_WALK_IDENTIFIER : WEIR_WALK_TEXT;
    struct weir_walk_item item = item_at(p, is_ours ? WEIR_WALK_CONTROL : kind, node);
    item.text = weir_json_string(w->json, node, w->arena);
    item.why = is_signed ? "is signed by the model server" : NULL;
    yield(w, &item);
}

static void read_trees(struct walking *w, const struct place *p, uint32_t node)
{
    uint32_t at = weir_json_first(w->json, node);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(w->json, node, at)) {
        yield_tree(w, p, at, WEIR_TREE_ANY);
    }
}

/* ---- messages ---- */

struct conversation {
    uint8_t *roles; /* enum weir_walk_role */
    size_t n;
    uint32_t last;
};

static void read_roles(struct walking *w, uint32_t list, struct conversation *c)
{
    const struct weir_json *j = w->json;
    c->roles = weir_arena_alloc(w->arena, j->nodes[list].n);
    c->n = 0;
    uint32_t at = weir_json_first(j, list);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, list, at)) {
        bool is_object = weir_json_type(j, at) == WEIR_JSON_OBJECT;
        c->roles[c->n++] = (uint8_t)(is_object ? w->dialect->role_of(j, at) : WEIR_WALK_USER);
        c->last = at;
    }
}

static bool is_fallback(const struct walking *w, uint32_t object, const char *name)
{
    uint32_t at = weir_json_get_set(w->json, object, weir_slice_cstr(name));
    return at != WEIR_JSON_NONE && is_string(w, at) && w->options->fallback.n != 0 &&
           weir_json_string_eq(w->json, at, w->options->fallback);
}

/* Does the message say what this route says instead of a blocked answer, in its only part too? */
static bool says_fallback(const struct walking *w, uint32_t message)
{
    const struct weir_json *j = w->json;
    uint32_t parts = weir_json_get_set(j, message, WEIR_SLICE("content"));
    bool is_list = parts != WEIR_JSON_NONE && weir_json_type(j, parts) == WEIR_JSON_ARRAY;
    uint32_t part = is_list && j->nodes[parts].n == 1 ? weir_json_first(j, parts) : WEIR_JSON_NONE;
    if (part != WEIR_JSON_NONE && weir_json_type(j, part) == WEIR_JSON_OBJECT) {
        return is_fallback(w, part, "text") || is_fallback(w, part, "refusal");
    }
    return is_fallback(w, message, "content") || is_fallback(w, message, "refusal");
}

/*
 * The index of the turn's first message: the last one of the user, or the one behind the last of
 * the assistant if that is later. A message of the assistant at the very end is the beginning of
 * the answer that is asked for, unless it is what this route said instead of one.
 */
static size_t turn_start(const struct walking *w, const struct conversation *c)
{
    size_t start = 0;
    bool has_prefill = c->n != 0 && c->roles[c->n - 1] == WEIR_WALK_ASSISTANT;
    if (has_prefill && says_fallback(w, c->last)) {
        return c->n - 1;
    }
    for (size_t i = 0; i < c->n - has_prefill; i++) {
        if (c->roles[i] == WEIR_WALK_USER) {
            start = i;
        } else if (c->roles[i] == WEIR_WALK_ASSISTANT) {
            start = i + 1;
        }
    }
    return start;
}

static void read_messages(struct walking *w, struct place p, const struct weir_walk_member *m,
                          uint32_t list)
{
    struct conversation c = {0};
    read_roles(w, list, &c);
    size_t start = turn_start(w, &c);
    uint32_t holes = p.holes;
    p.message = 0;
    uint32_t at = weir_json_first(w->json, list);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(w->json, list, at), p.message++) {
        p.role = (enum weir_walk_role)c.roles[p.message];
        p.is_turn = p.message >= start;
        p.holes = p.is_turn ? holes : holes | WEIR_HOLE_HISTORY;
        if (weir_json_type(w->json, at) == WEIR_JSON_OBJECT) {
            read_object(w, &p, m->object, at);
        } else {
            yield_wrong(w, &p, at, "must be an object");
        }
    }
}

/* ---- members ---- */

static void read_control(struct walking *w, const struct place *p, const struct weir_walk_member *m,
                         uint32_t node)
{
    const struct weir_json *j = w->json;
    bool fits;
    switch (m->form) {
    case WEIR_WALK_FORM_NUMBER:
    case WEIR_WALK_FORM_BOOL:
        return; /* no text in it */
    case WEIR_WALK_FORM_WORDS:
        fits = are_words(w, m, node);
        break;
    case WEIR_WALK_FORM_NUMBERS:
        fits = is_all_numbers(j, node);
        break;
    case WEIR_WALK_FORM_HEADERS:
        fits = are_headers(w, node);
        break;
    case WEIR_WALK_FORM_OURS:
        fits = true;
        break;
    default:
        fits = weir_walk__fits(m, weir_json_string(j, node, w->arena));
        break;
    }
    if (m->form == WEIR_WALK_FORM_STATE) {
        yield_state(w, p, node, m->holes, fits);
    } else if (fits) {
        struct weir_walk_item item = item_at(p, WEIR_WALK_CONTROL, node);
        yield(w, &item);
    } else if (is_string(w, node)) {
        yield_string(w, p, WEIR_WALK_TEXT, node);
    } else {
        yield_tree(w, p, node, WEIR_TREE_ANY);
    }
}

static void read_refused(struct walking *w, const struct place *p, uint32_t node)
{
    struct weir_walk_item item = item_at(p, WEIR_WALK_REFUSED, node);
    item.why = "changes the prompt in a way that cannot be looked at";
    yield(w, &item);
}

static void read_json_text(struct walking *w, const struct place *p,
                           const struct weir_walk_member *m, uint32_t node)
{
    enum weir_tree_rule rule = m->form == WEIR_WALK_FORM_SCHEMA      ? WEIR_TREE_SCHEMA
                               : m->form == WEIR_WALK_FORM_ARGUMENTS ? WEIR_TREE_ARGUMENTS
                                                                     : WEIR_TREE_ANY;
    if (m->form != WEIR_WALK_FORM_TREE && is_string(w, node)) {
        yield_document(w, p, node, rule);
    } else {
        yield_tree(w, p, node, rule);
    }
}

/* size: one switch, every form has its line */
static void read_value(struct walking *w, struct place p, const struct weir_walk_member *m,
                       uint32_t node)
{
    bool is_control = m->form <= WEIR_WALK_FORM_OURS;
    bool is_media = m->form == WEIR_WALK_FORM_URL || m->form == WEIR_WALK_FORM_DATA ||
                    m->form == WEIR_WALK_FORM_EMBEDS || m->form == WEIR_WALK_FORM_SEALED ||
                    m->form == WEIR_WALK_FORM_STATE || m->form == WEIR_WALK_FORM_SIGNATURE;
    p.role = m->has_role ? m->role : p.role;
    p.holes |= is_media ? 0 : m->holes;
    if (is_control) {
        read_control(w, &p, m, node);
        return;
    }
    switch (m->form) {
    case WEIR_WALK_FORM_TEXT:
        yield_string(w, &p, WEIR_WALK_TEXT, node);
        break;
    case WEIR_WALK_FORM_ASKED:
        read_asked(w, p, node);
        break;
    case WEIR_WALK_FORM_SIGNED:
        read_signed(w, &p, node);
        break;
    case WEIR_WALK_FORM_VARIABLES:
        read_variables(w, p, m, node);
        break;
    case WEIR_WALK_FORM_CONTENT:
        read_content(w, &p, node);
        break;
    case WEIR_WALK_FORM_PARTS:
        read_parts(w, p, m, node);
        break;
    case WEIR_WALK_FORM_ARGUMENTS:
    case WEIR_WALK_FORM_SCHEMA:
    case WEIR_WALK_FORM_TREE:
        read_json_text(w, &p, m, node);
        break;
    case WEIR_WALK_FORM_TREES:
        read_trees(w, &p, node);
        break;
    case WEIR_WALK_FORM_PROMPT:
        read_prompt(w, p, node);
        break;
    case WEIR_WALK_FORM_NAME:
    case WEIR_WALK_FORM_NAMES:
        read_names(w, &p, node);
        break;
    case WEIR_WALK_FORM_URL:
    case WEIR_WALK_FORM_DATA:
    case WEIR_WALK_FORM_SEALED:
    case WEIR_WALK_FORM_SIGNATURE:
        read_encoded(w, &p, m, node);
        break;
    case WEIR_WALK_FORM_EMBEDS:
        yield_media(w, &p, node, m->holes);
        break;
    case WEIR_WALK_FORM_OBJECT:
        read_object(w, &p, m->object, node);
        break;
    case WEIR_WALK_FORM_OBJECTS:
        read_objects(w, &p, m, node);
        break;
    case WEIR_WALK_FORM_MESSAGES:
        read_messages(w, p, m, node);
        break;
    default:
        read_refused(w, &p, node);
        break;
    }
}

/* A member that no table knows: its name and all that is in it. */
static void read_unknown(struct walking *w, const struct place *p, uint32_t key)
{
    struct weir_walk_item item = item_at(p, WEIR_WALK_TREE, key + 1);
    item.key = key;
    item.holes |= WEIR_HOLE_UNKNOWN_MEMBERS;
    if (p->role == WEIR_WALK_NOBODY && (p->holes & WEIR_HOLE_DEFINITIONS) == 0) {
        item.role = WEIR_WALK_USER; /* it may be a prompt by another name */
    }
    yield(w, &item);
}

static void read_member(struct walking *w, const struct place *p,
                        const struct weir_walk_object *table, uint32_t key)
{
    const struct weir_walk_member *named = NULL;
    enum weir_json_type type = weir_json_type(w->json, key + 1);
    for (const struct weir_walk_member *m = table->members; m->name != NULL; m++) {
        if (!weir_json_string_eq(w->json, key, weir_slice_cstr(m->name))) {
            continue;
        }
        if (takes(m->form, type)) {
            read_value(w, *p, m, key + 1);
            return;
        }
        named = m;
    }
    if (named == NULL) {
        read_unknown(w, p, key);
    } else if (type != WEIR_JSON_NULL) {
        yield_wrong(w, p, key + 1, wanted_by(named->form));
    }
}

/* The table of the object's type; NULL: it has none of its own. */
static const struct weir_walk_variant *
variant_of(const struct walking *w, const struct weir_walk_object *table, uint32_t object)
{
    uint32_t type = table->variants != NULL ? weir_json_get_set(w->json, object, WEIR_SLICE("type"))
                                            : WEIR_JSON_NONE;
    if (type == WEIR_JSON_NONE || !is_string(w, type)) {
        return NULL;
    }
    const struct weir_walk_variant *v = table->variants;
    while (v->type != NULL && !weir_json_string_eq(w->json, type, weir_slice_cstr(v->type))) {
        v++;
    }
    return v->type != NULL ? v : NULL;
}

static void read_object(struct walking *w, const struct place *p,
                        const struct weir_walk_object *table, uint32_t object)
{
    struct place in = *p;
    const struct weir_walk_variant *v = variant_of(w, table, object);
    in.object = object;
    if (++in.depth > MAX_TABLE_DEPTH) {
        yield_wrong(w, p, object, "is nested too deep");
        return;
    }
    if (v != NULL) {
        table = v->object != NULL ? v->object : table;
        in.role = v->has_role ? v->role : in.role;
    }
    uint32_t key = weir_json_first(w->json, object);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(w->json, object, key)) {
        read_member(w, &in, table, key);
    }
}

void weir_walk_read(struct weir_walk *walk, const struct weir_walk_dialect *dialect,
                    const struct weir_json *json, const struct weir_walk_options *options,
                    struct weir_arena *arena)
{
    struct walking w = {
        .walk = walk, .dialect = dialect, .json = json, .options = options, .arena = arena};
    struct place top = {
        .role = WEIR_WALK_NOBODY, .message = WEIR_WALK_NO_INDEX, .part = WEIR_WALK_NO_INDEX};
    *walk = (struct weir_walk){.dialect = dialect};
    read_object(&w, &top, dialect->top, 0);
    for (size_t i = 0; dialect->is_one_turn && i < walk->n; i++) {
        walk->items[i].is_turn = true;
    }
}

/* ---- names ---- */

static const char *const hole_names[] = {
    "history",  "definitions",     "images", "audio",          "files",
    "logprobs", "unknown_members", "sealed", "server_history", "token_ids"};

enum { N_HOLES = sizeof hole_names / sizeof hole_names[0] };

const char *weir_walk_hole_name(uint32_t hole)
{
    for (size_t i = 0; i < N_HOLES; i++) {
        if (hole == UINT32_C(1) << i) {
            return hole_names[i];
        }
    }
    return NULL;
}

uint32_t weir_walk_hole_find(struct weir_slice name)
{
    for (size_t i = 0; i < N_HOLES; i++) {
        if (weir_slice_eq_cstr(name, hole_names[i])) {
            return UINT32_C(1) << i;
        }
    }
    return 0;
}

const char *weir_walk_role_name(enum weir_walk_role role)
{
    static const char *const names[WEIR_WALK_ROLES] = {"user",     "system",    "developer", "tool",
                                                       "function", "assistant", "nobody"};
    return names[role];
}
