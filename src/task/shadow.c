#include "task/shadow.h"

#include "base/assert.h"
#include "base/mem.h"
#include "io/loop.h"
#include "talk/messages.h"
#include "talk/responses.h"
#include "task/asked_int.h"

#include <stdlib.h>

/* One text that was said. */
struct text {
    struct text *next;
    enum weir_policy_side side;
    enum weir_walk_role role; /* INPUT */
    uint64_t place;           /* OUTPUT: the choice or block, and … */
    uint64_t part;            /* … the tool call in it */
    const char *channel;
    struct weir_buf text;
};

/* One detector on its way over the texts of a side. */
struct run {
    struct weir_shadow *shadow;
    const struct weir_plan_use *use;
    enum weir_policy_side side;
    struct weir_plan plan; /* of this one */
    struct weir_scan *scan;
    struct weir_scan_group **groups; /* as the shadow's texts; NULL: not for this one */
    bool is_over;
};

struct weir_shadow {
    struct weir_list link; /* of the worker's */
    struct weir_shadows *all;
    struct weir_task_ctx task;
    struct weir_log_ctx log;
    struct weir_arena arena;
    struct weir_plan plans[WEIR_POLICY_SIDES];
    void *held;
    void (*let_go)(void *held);
    void (*on_end)(void *ctx);
    void *ctx;
    struct weir_seen seen;
    struct weir_policy policy; /* for the findings' way to `seen` */
    struct text *texts;        /* newest first */
    size_t n_texts;
    size_t n_bytes;
    bool is_full[WEIR_POLICY_SIDES]; /* there was more, which was left out */
    struct weir_json_tape tape;
    struct run *runs;
    size_t n_runs;
    size_t n_left;
    bool is_looking;
    struct weir_post post; /* begins, and later ends */
    struct weir_timer late;
};

/* ---- counting ---- */

static void count_skipped(const struct weir_plan *plan, const char *reason)
{
    static const struct weir_metric_def def = {
        .name = "weir_shadow_skipped_total",
        .help = "Requests of which a detector in shadow mode has not seen all: there was too much "
                "text, no room, it failed, or it was late.",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"detector", "reason"},
    };
    struct weir_metric_family *family = weir_metric_declare(&def);
    for (size_t i = 0; i < plan->n; i++) {
        weir_metric_add(weir_metric_counter(family, WEIR_METRIC_LABELS(plan->uses[i].d->id,
                                                                       weir_slice_cstr(reason))),
                        1);
    }
}

/* ---- beginning and end ---- */

void weir_shadows_init(struct weir_shadows *all, struct weir_loop *loop)
{
    *all = (struct weir_shadows){.loop = loop};
    weir_list_init(&all->all);
}

static void shadow_free(struct weir_shadow *s)
{
    weir_list_remove(&s->link);
    s->all->n_looking -= s->is_looking;
    weir_loop_unpost(&s->post);
    weir_loop_cancel(s->all->loop, &s->late);
    if (s->on_end != NULL) {
        s->on_end(s->ctx);
    }
    for (struct text *t = s->texts; t != NULL; t = t->next) {
        weir_buf_dispose(&t->text);
    }
    weir_json_tape_dispose(&s->tape);
    weir_arena_dispose(&s->arena); /* breaks off the scans */
    s->let_go(s->held);
    free(s);
}

void weir_shadows_dispose(struct weir_shadows *all)
{
    struct weir_list *link;
    while (all->loop != NULL && (link = weir_list_first(&all->all)) != NULL) {
        shadow_free(WEIR_LIST_ENTRY(link, struct weir_shadow, link));
    }
    WEIR_ASSERT(all->account.bytes == 0);
}

/* What goes out with its calls: the request's own is gone by then. */
static void copy_context(struct weir_shadow *s, const struct weir_call_context *from)
{
    struct weir_http_field *fields =
        weir_arena_array(&s->arena, from->n_passthrough, sizeof *fields);
    for (size_t i = 0; i < from->n_passthrough; i++) {
        fields[i].name = weir_arena_dup(&s->arena, from->passthrough[i].name);
        fields[i].value = weir_arena_dup(&s->arena, from->passthrough[i].value);
    }
    if (from->log != NULL) {
        s->log = *from->log;
        s->log.request_id = weir_arena_dup(&s->arena, s->log.request_id);
    }
    s->task.call = (struct weir_call_context){.log = &s->log,
                                              .account = &s->all->account,
                                              .passthrough = fields,
                                              .n_passthrough = from->n_passthrough,
                                              .caller = weir_arena_dup(&s->arena, from->caller)};
}

struct weir_shadow *weir_shadow_new(const struct weir_shadow_options *o)
{
    if (o->all->account.bytes > WEIR_SHADOWS_MAX_BYTES ||
        weir_account_room(&o->all->account) < WEIR_SHADOW_MAX_BYTES) {
        count_skipped(o->input, "full");
        count_skipped(o->output, "full");
        o->let_go(o->held);
        return NULL;
    }
    struct weir_shadow *s = weir_mem_zalloc(sizeof *s);
    s->all = o->all;
    s->arena.account = &o->all->account;
    s->task = *o->task;
    s->task.arena = &s->arena;
    s->task.trace = NULL;
    s->task.shadow = NULL;
    s->task.skips = (struct weir_skips){0};
    s->task.n_full_chunkers = 0;
    copy_context(s, &o->task->call);
    s->plans[WEIR_POLICY_INPUT] = *o->input;
    s->plans[WEIR_POLICY_OUTPUT] = *o->output;
    s->held = o->held;
    s->let_go = o->let_go;
    s->seen = (struct weir_seen){.arena = &s->arena, .route = o->route};
    s->policy.seen = &s->seen;
    weir_list_append(&o->all->all, &s->link);
    return s;
}

struct weir_seen *weir_shadow_seen(struct weir_shadow *s)
{
    return &s->seen;
}

struct weir_arena *weir_shadow_arena(struct weir_shadow *s)
{
    return &s->arena;
}

void weir_shadow_on_end(struct weir_shadow *s, void (*fn)(void *ctx), void *ctx)
{
    s->on_end = fn;
    s->ctx = ctx;
}

/* ---- texts ---- */

static bool has_room(struct weir_shadow *s, enum weir_policy_side side, size_t n)
{
    size_t max = side == WEIR_POLICY_INPUT ? WEIR_SHADOW_QUESTION_BYTES : WEIR_SHADOW_MAX_BYTES;
    s->is_full[side] = s->is_full[side] || s->n_bytes + n > max;
    return !s->is_full[side];
}

static struct text *add_text(struct weir_shadow *s, const struct text *like)
{
    struct text *t = weir_arena_alloc(&s->arena, sizeof *t);
    *t = *like;
    t->text.account = &s->all->account;
    t->next = s->texts;
    s->texts = t;
    s->n_texts++;
    return t;
}

/* JSON is looked at decoded; as it is written, and across the seams of parts, it is not. */
static bool is_wanted(const struct weir_asked_view *view)
{
    return view->kind != WEIR_ASKED_WRITTEN && view->kind != WEIR_ASKED_SEAM;
}

/* The last ones first: where there is no room for all, the turn is looked at. */
void weir_shadow_add_question(struct weir_shadow *s, const struct weir_asked *asked)
{
    enum { ENOUGH_TEXTS = 1024 }; /* each costs memory for every detector */
    if (s->plans[WEIR_POLICY_INPUT].n == 0) {
        return;
    }
    s->is_full[WEIR_POLICY_INPUT] = asked == NULL;
    for (size_t i = asked != NULL ? asked->n_views : 0; i-- > 0;) {
        const struct weir_asked_view *view = &asked->views[i];
        if (!is_wanted(view)) {
            continue;
        }
        s->is_full[WEIR_POLICY_INPUT] |= s->n_texts == ENOUGH_TEXTS;
        if (!has_room(s, WEIR_POLICY_INPUT, view->text.n)) {
            return;
        }
        struct text *t = add_text(s, &(struct text){.side = WEIR_POLICY_INPUT,
                                                    .role = asked->o.walk->items[view->item].role,
                                                    .channel = "content"});
        weir_buf_append(&t->text, view->text);
        s->n_bytes += view->text.n;
    }
}

/* More of an answer's text: `like` says where. `node` is a string. */
static void add_said(struct weir_shadow *s, const struct text *like, const struct weir_json *json,
                     uint32_t node)
{
    enum { ENOUGH_TEXTS = 2048 };
    struct text *t = s->texts;
    while (t != NULL && (t->side != WEIR_POLICY_OUTPUT || t->place != like->place ||
                         t->part != like->part || t->channel != like->channel)) {
        t = t->next;
    }
    s->is_full[WEIR_POLICY_OUTPUT] |= t == NULL && s->n_texts >= ENOUGH_TEXTS;
    if (!has_room(s, WEIR_POLICY_OUTPUT, weir_json_raw(json, node).n)) {
        return;
    }
    t = t != NULL ? t : add_text(s, like);
    size_t before = t->text.n;
    weir_json_string_append(json, node, &t->text);
    s->n_bytes += t->text.n - before;
}

/* Names and arguments of tool calls, each call a text of its own. */
static void add_calls(struct weir_shadow *s, uint64_t place, const struct weir_json *json,
                      uint32_t calls)
{
    static const char *const names[] = {"name", "arguments"};
    uint64_t n = 0;
    for (uint32_t at = weir_json_first(json, calls); at != WEIR_JSON_NONE;
         at = weir_json_after(json, calls, at), n++) {
        bool is_object = weir_json_type(json, at) == WEIR_JSON_OBJECT;
        uint32_t function =
            is_object ? weir_json_get_set(json, at, WEIR_SLICE("function")) : WEIR_JSON_NONE;
        uint64_t part = n;
        if (function == WEIR_JSON_NONE || weir_json_type(json, function) != WEIR_JSON_OBJECT) {
            continue;
        }
        uint32_t index = weir_json_get_set(json, at, WEIR_SLICE("index"));
        if (index != WEIR_JSON_NONE) {
            (void)weir_json_u64(json, index, &part);
        }
        for (size_t i = 0; i < 2; i++) {
            uint32_t node = weir_json_get_set(json, function, weir_slice_cstr(names[i]));
            if (node != WEIR_JSON_NONE && weir_json_type(json, node) == WEIR_JSON_STRING) {
                add_said(s,
                         &(struct text){.side = WEIR_POLICY_OUTPUT,
                                        .place = place,
                                        .part = 2 * part + i,
                                        .channel = weir_channel_name(WEIR_CHANNEL_TOOLS)},
                         json, node);
            }
        }
    }
}

static void add_choices(struct weir_shadow *s, const struct weir_dialect *dialect,
                        enum weir_talk_form form, const struct weir_json *json)
{
    uint32_t choices = weir_json_get_set(json, 0, WEIR_SLICE("choices"));
    struct weir_delta d;
    const char *why;
    if (choices == WEIR_JSON_NONE || weir_json_type(json, choices) != WEIR_JSON_ARRAY) {
        return;
    }
    for (uint32_t at = weir_json_first(json, choices); at != WEIR_JSON_NONE;
         at = weir_json_after(json, choices, at)) {
        if (weir_json_type(json, at) != WEIR_JSON_OBJECT ||
            dialect->read(json, at, form, &d, &why) != 0) {
            continue;
        }
        for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
            if (d.texts[i] != WEIR_JSON_NONE) {
                add_said(s,
                         &(struct text){.side = WEIR_POLICY_OUTPUT,
                                        .place = d.place,
                                        .channel = weir_channel_name((enum weir_channel)i)},
                         json, d.texts[i]);
            }
        }
        if (d.tool_calls != WEIR_JSON_NONE) {
            add_calls(s, d.place, json, d.tool_calls);
        }
    }
}

static void add_block_text(struct weir_shadow *s, uint64_t place, enum weir_messages_kind kind,
                           const struct weir_json *json, uint32_t node)
{
    enum weir_channel channel = kind == WEIR_MESSAGES_THINKING ? WEIR_CHANNEL_REASONING
                                : kind == WEIR_MESSAGES_TOOL   ? WEIR_CHANNEL_TOOLS
                                                               : WEIR_CHANNEL_CONTENT;
    bool is_said =
        kind == WEIR_MESSAGES_TEXT || kind == WEIR_MESSAGES_THINKING || kind == WEIR_MESSAGES_TOOL;
    if (is_said && node != WEIR_JSON_NONE && weir_json_type(json, node) == WEIR_JSON_STRING) {
        add_said(s,
                 &(struct text){.side = WEIR_POLICY_OUTPUT,
                                .place = place,
                                .channel = weir_channel_name(channel)},
                 json, node);
    }
}

static void add_blocks(struct weir_shadow *s, enum weir_talk_form form,
                       const struct weir_json *json)
{
    struct weir_messages_event e;
    const char *why;
    uint64_t n = 0;
    if (form == WEIR_TALK_EVENT) {
        bool is_read = weir_messages_read(json, &e, &why) == 0;
        if (is_read && (e.what == WEIR_MESSAGES_DELTA || e.what == WEIR_MESSAGES_BLOCK)) {
            add_block_text(s, e.index, e.kind, json, e.text);
        }
        return;
    }
    uint32_t content = weir_json_get_set(json, 0, WEIR_SLICE("content"));
    if (content == WEIR_JSON_NONE || weir_json_type(json, content) != WEIR_JSON_ARRAY) {
        return;
    }
    for (uint32_t at = weir_json_first(json, content); at != WEIR_JSON_NONE;
         at = weir_json_after(json, content, at), n++) {
        if (weir_json_type(json, at) == WEIR_JSON_OBJECT) {
            uint32_t node;
            enum weir_messages_kind kind = weir_messages_kind_of(json, at, &node);
            add_block_text(s, n, kind, json, node);
        }
    }
}

static void add_item_text(struct weir_shadow *s, const struct weir_responses_event *e,
                          const struct weir_json *json)
{
    static const enum weir_channel channels[] = {
        [WEIR_RESPONSES_TEXT] = WEIR_CHANNEL_CONTENT,
        [WEIR_RESPONSES_REFUSAL] = WEIR_CHANNEL_REFUSAL,
        [WEIR_RESPONSES_REASONING] = WEIR_CHANNEL_REASONING,
        [WEIR_RESPONSES_SUMMARY] = WEIR_CHANNEL_REASONING_CONTENT,
        [WEIR_RESPONSES_TRANSCRIPT] = WEIR_CHANNEL_TRANSCRIPT,
        [WEIR_RESPONSES_CALL] = WEIR_CHANNEL_TOOLS,
    };
    if (e->text != WEIR_JSON_NONE && weir_json_type(json, e->text) == WEIR_JSON_STRING) {
        add_said(s,
                 &(struct text){.side = WEIR_POLICY_OUTPUT,
                                .place = e->item,
                                .part = e->part,
                                .channel = weir_channel_name(channels[e->kind])},
                 json, e->text);
    }
}

/* The parts of a message, of reasoning or of its summary. */
static void add_parts(struct weir_shadow *s, const struct weir_json *json, uint32_t parts,
                      struct weir_responses_event e, bool is_summary)
{
    if (parts == WEIR_JSON_NONE || weir_json_type(json, parts) != WEIR_JSON_ARRAY) {
        return;
    }
    e.part = 0;
    for (uint32_t at = weir_json_first(json, parts); at != WEIR_JSON_NONE;
         at = weir_json_after(json, parts, at), e.part++) {
        e.text = WEIR_JSON_NONE;
        e.kind = weir_json_type(json, at) == WEIR_JSON_OBJECT
                     ? weir_responses_part_of(json, at, is_summary, &e.text)
                     : WEIR_RESPONSES_KINDS;
        if (e.kind != WEIR_RESPONSES_KINDS) {
            add_item_text(s, &e, json);
        }
    }
}

static void add_call(struct weir_shadow *s, const struct weir_json *json, uint32_t item,
                     struct weir_responses_event e)
{
    uint32_t type = weir_json_get_set(json, item, WEIR_SLICE("type"));
    bool has_type = type != WEIR_JSON_NONE && weir_json_type(json, type) == WEIR_JSON_STRING;
    struct weir_slice raw = has_type ? weir_json_raw(json, type) : WEIR_SLICE("\"\"");
    const char *events;
    const char *member = weir_responses_said_member(weir_slice_sub(raw, 1, raw.n - 1), &events);
    if (member != NULL) {
        e.kind = WEIR_RESPONSES_CALL;
        e.text = weir_json_get_set(json, item, weir_slice_cstr(member));
        add_item_text(s, &e, json);
    }
}

static void add_item(struct weir_shadow *s, const struct weir_json *json, uint32_t item,
                     uint64_t number)
{
    struct weir_responses_event e = {.item = number};
    add_parts(s, json, weir_json_get_set(json, item, WEIR_SLICE("content")), e, false);
    add_parts(s, json, weir_json_get_set(json, item, WEIR_SLICE("summary")), e, true);
    add_call(s, json, item, e);
}

static void add_items(struct weir_shadow *s, enum weir_talk_form form, const struct weir_json *json)
{
    struct weir_responses_event e;
    const char *why;
    if (form == WEIR_TALK_EVENT) {
        if (weir_responses_read(json, &e, &why) == 0 && e.what == WEIR_RESPONSES_DELTA) {
            add_item_text(s, &e, json);
        }
        return;
    }
    uint32_t output = weir_json_get_set(json, 0, WEIR_SLICE("output"));
    uint64_t n = 0;
    if (output == WEIR_JSON_NONE || weir_json_type(json, output) != WEIR_JSON_ARRAY) {
        return;
    }
    for (uint32_t at = weir_json_first(json, output); at != WEIR_JSON_NONE;
         at = weir_json_after(json, output, at), n++) {
        if (weir_json_type(json, at) == WEIR_JSON_OBJECT) {
            add_item(s, json, at, n);
        }
    }
}

/* False: it is not looked at. */
static bool read_said(struct weir_shadow *s, struct weir_slice said, struct weir_json *json)
{
    return s->plans[WEIR_POLICY_OUTPUT].n != 0 && !s->is_full[WEIR_POLICY_OUTPUT] &&
           weir_json_parse_reuse(json, said, NULL, &s->tape, NULL) == 0 &&
           weir_json_type(json, 0) == WEIR_JSON_OBJECT;
}

void weir_shadow__add_answer(struct weir_shadow *s, const struct weir_dialect *dialect,
                             enum weir_talk_form form, struct weir_slice said)
{
    struct weir_json json;
    if (read_said(s, said, &json)) {
        add_choices(s, dialect, form, &json);
    }
}

void weir_shadow__add_row(struct weir_shadow *s, enum weir_model_op op, enum weir_talk_form form,
                          struct weir_slice said)
{
    struct weir_json json;
    if (!read_said(s, said, &json)) {
        return;
    }
    if (op == WEIR_MODEL_RESPONSES) {
        add_items(s, form, &json);
    } else {
        add_blocks(s, form, &json);
    }
}

/* ---- looking ---- */

static void on_post_end(struct weir_post *post)
{
    shadow_free(WEIR_LIST_ENTRY(post, struct weir_shadow, post));
}

static void on_late(struct weir_timer *timer, void *ctx)
{
    struct weir_shadow *s = ctx;
    (void)timer;
    for (size_t i = 0; i < s->n_runs; i++) {
        if (!s->runs[i].is_over) {
            count_skipped(&s->runs[i].plan, "late");
        }
    }
    shadow_free(s);
}

/* Never from inside of what told us: that is freed with the shadow. */
static void end_if_done(struct weir_shadow *s)
{
    if (s->n_left == 0) {
        s->post.fn = on_post_end;
        weir_loop_post(s->all->loop, &s->post);
    }
}

static void take_found(struct run *r)
{
    struct weir_shadow *s = r->shadow;
    size_t i = 0;
    for (struct text *t = s->texts; t != NULL; t = t->next, i++) {
        const struct weir_scan_group *group = r->groups[i];
        struct weir_seen_where where = {r->side, t->channel, WEIR_POLICY_SHADOWED};
        if (group != NULL && group->n_found != 0) {
            weir_seen_findings(&s->policy, &where, group->found, group->n_found);
        }
    }
}

static void on_scanned(void *ctx, struct weir_scan *scan)
{
    struct run *r = ctx;
    r->is_over = true;
    if (weir_scan_fault(scan) != NULL) {
        count_skipped(&r->plan, "failed");
    } else {
        take_found(r);
    }
    r->shadow->n_left--;
    end_if_done(r->shadow);
}

static bool is_for(const struct run *r, const struct text *t)
{
    uint32_t roles = r->use->roles;
    bool is_heard = t->side == WEIR_POLICY_OUTPUT || roles == 0 || (roles >> t->role & 1) != 0;
    return t->side == r->side && is_heard && t->text.n != 0;
}

static void start_run(struct run *r)
{
    struct weir_shadow *s = r->shadow;
    size_t i = 0;
    r->scan = weir_scan_new(&s->task, on_scanned, r);
    r->groups = weir_arena_array(&s->arena, s->n_texts, sizeof(void *));
    weir_scan_share(r->scan);
    for (struct text *t = s->texts; t != NULL; t = t->next, i++) {
        r->groups[i] = NULL;
        if (is_for(r, t)) {
            r->groups[i] = weir_scan_add_group(r->scan, WEIR_RESULTS_NONE);
            weir_scan_add_text(r->groups[i], &r->plan, weir_buf_slice(&t->text));
        }
    }
    weir_scan_start(r->scan);
}

static void add_runs(struct weir_shadow *s, enum weir_policy_side side)
{
    const struct weir_plan *plan = &s->plans[side];
    for (size_t i = 0; i < plan->n; i++) {
        s->runs[s->n_runs++] = (struct run){.shadow = s,
                                            .use = &plan->uses[i],
                                            .side = side,
                                            .plan = {.uses = &plan->uses[i], .n = 1}};
    }
    if (s->is_full[side]) {
        count_skipped(plan, "long");
    }
}

static void on_post_begin(struct weir_post *post)
{
    struct weir_shadow *s = WEIR_LIST_ENTRY(post, struct weir_shadow, post);
    size_t max = s->plans[WEIR_POLICY_INPUT].n + s->plans[WEIR_POLICY_OUTPUT].n;
    if (s->all->n_looking == WEIR_SHADOWS_AT_ONCE) {
        count_skipped(&s->plans[WEIR_POLICY_INPUT], "full");
        count_skipped(&s->plans[WEIR_POLICY_OUTPUT], "full");
        shadow_free(s);
        return;
    }
    s->is_looking = true;
    s->all->n_looking++;
    weir_json_tape_dispose(&s->tape);
    s->runs = weir_arena_array(&s->arena, max, sizeof *s->runs);
    add_runs(s, WEIR_POLICY_INPUT);
    add_runs(s, WEIR_POLICY_OUTPUT);
    s->n_left = s->n_runs;
    s->late = (struct weir_timer){.fn = on_late, .ctx = s};
    weir_loop_after(s->all->loop, &s->late, WEIR_SHADOW_LATE_MS);
    for (size_t i = 0; i < s->n_runs; i++) {
        start_run(&s->runs[i]);
    }
    end_if_done(s);
}

void weir_shadow_end(struct weir_shadow *s)
{
    s->post.fn = on_post_begin;
    weir_loop_post(s->all->loop, &s->post);
}
