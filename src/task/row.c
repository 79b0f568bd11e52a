#include "task/row.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "talk/half.h"
#include "task/called.h"
#include "task/promise.h"
#include "task/row_exchange.h"
#include "task/row_rest.h"
#include "task/scan.h"
#include "task/scratch.h"
#include "task/seen.h"
#include "task/source.h"

#include <stdlib.h>

struct weir_row_place {
    struct weir_list link;
    struct weir_row *row;
    struct weir_row_place_options o;
    struct weir_guard *guard;
    size_t left_cp;            /* of its text, that may leave … */
    struct weir_buf kept;      /* … but waits for the rest of its event */
    size_t told_held;          /* what waits for detectors that only tell, as counted */
    struct weir_row_rest rest; /* annotate: of its last piece */
    uint16_t half;             /* see talk/half.h */
    bool is_over;              /* the guard has said its last */
    bool has_left;             /* it was closed, and only waits for those detectors */
};

/* The texts of a line, under judgement, with all that is made for that: a stream has any number of
 * such lines, so it does not live as long as the request. */
struct judged {
    struct weir_list link;
    struct weir_row *row;
    struct weir_arena arena;
    struct weir_task_ctx task; /* the request's, with this arena */
    uint64_t number;
    int tag;
    struct weir_scan *scan;
    bool is_whole;                 /* it is the whole conversation, and no line */
    struct weir_scan_group *group; /* of texts … */
    struct weir_called *called;    /* … or the call: these */
    struct weir_tools tools;
    size_t n_held; /* counts among what the row holds until the answer is there */
    bool is_done;
    bool only_tells; /* no line waits for it */
};

enum kind { LINE, TEXT, CLOSE, JUDGED, WAIT };

struct item {
    struct weir_list link;
    enum kind kind;
    struct weir_row_place *place; /* TEXT, CLOSE */
    struct judged *judged;        /* JUDGED */
    enum weir_row_rule rule;
    int tag;
    uint64_t number;
    size_t start_cp; /* TEXT */
    size_t end_cp;
    size_t n_text; /* its bytes */
    bool has_left; /* annotate: between events of one piece */
    size_t n_held;
    struct weir_task_spares *home; /* where it goes when it has left; NULL: nowhere */
    size_t from; /* of the bytes: the event or line, and all of them where they are its frame */
    size_t n;
    size_t n_bytes;
    char bytes[];
};

struct weir_row {
    struct weir_row_options o;
    struct weir_policy_teller telling; /* the route's, for detectors that only tell */
    struct weir_policy blocking;       /* the route's, as a place has it that blocks */
    struct weir_policy_mask blocking_mask;
    struct weir_list items;
    struct weir_list places;   /* that have not left, asides included */
    struct weir_list judging;  /* lines that have not left, and those of which findings are told */
    struct weir_list done;     /* to be swept … */
    struct weir_list answered; /* … and lines */
    struct weir_post sweep;    /* frees them: not from inside their own calls */
    size_t n_asked;            /* lines of which no answer is there yet */
    struct weir_buf text;
    struct weir_row_exchange exchange; /* where somebody looks at the conversation */
    bool is_shown;                     /* it was shown to them */
    size_t held_bytes;
    bool has_ended;
    bool is_over;
};

static bool is_annotating(const struct weir_row *row)
{
    return !weir_policy_enforces(row->o.policy);
}

/* ---- making ---- */

static void free_places(struct weir_list *places)
{
    struct weir_list *link;
    while ((link = weir_list_first(places)) != NULL) {
        struct weir_row_place *place = WEIR_LIST_ENTRY(link, struct weir_row_place, link);
        weir_list_remove(&place->link);
        weir_guard_free(place->guard);
        weir_row_rest_drop(&place->rest);
        weir_buf_dispose(&place->kept);
        free(place);
    }
}

static void free_item(struct weir_row *row, struct item *item)
{
    row->held_bytes -= item->n_held;
    weir_list_remove(&item->link);
    if (item->home != NULL) {
        weir_task_spares_give(item->home, item);
    } else {
        free(item);
    }
}

static void free_items(struct weir_row *row)
{
    struct weir_list *link;
    while ((link = weir_list_first(&row->items)) != NULL) {
        free_item(row, WEIR_LIST_ENTRY(link, struct item, link));
    }
}

/* What is under way there is cancelled. */
static void free_judged(struct judged *judged)
{
    weir_arena_dispose(&judged->arena);
    weir_tools_dispose(&judged->tools);
    free(judged);
}

static void free_all_judged(struct weir_list *list)
{
    struct weir_list *link;
    while ((link = weir_list_first(list)) != NULL) {
        weir_list_remove(link);
        free_judged(WEIR_LIST_ENTRY(link, struct judged, link));
    }
}

static void on_sweep(struct weir_post *post)
{
    struct weir_row *row = WEIR_LIST_ENTRY(post, struct weir_row, sweep);
    free_places(&row->done);
    free_all_judged(&row->answered);
    if (row->is_over) {
        free_places(&row->places);
        free_all_judged(&row->judging);
    }
}

struct weir_row *weir_row_new(const struct weir_row_options *options)
{
    struct weir_row *row = weir_mem_zalloc(sizeof *row);
    row->o = *options;
    weir_policy_teller_init(&row->telling, options->policy);
    row->blocking = *options->policy;
    row->blocking.action = is_annotating(row) ? WEIR_POLICY_ANNOTATE : WEIR_POLICY_BLOCK;
    if (options->policy->mask != NULL) {
        row->blocking_mask = *options->policy->mask;
        row->blocking_mask.unknown_output = WEIR_POLICY_BLOCK;
        row->blocking.mask = &row->blocking_mask;
    }
    row->sweep.fn = on_sweep;
    weir_row_exchange_init(&row->exchange, options->max_held_bytes, options->task->arena->account);
    weir_list_init(&row->items);
    weir_list_init(&row->places);
    weir_list_init(&row->judging);
    weir_list_init(&row->done);
    weir_list_init(&row->answered);
    return row;
}

void weir_row_free(struct weir_row *row)
{
    if (row == NULL) {
        return;
    }
    weir_loop_unpost(&row->sweep);
    free_items(row);
    free_places(&row->done);
    free_places(&row->places);
    free_all_judged(&row->answered);
    free_all_judged(&row->judging);
    weir_buf_dispose(&row->text);
    weir_row_exchange_dispose(&row->exchange);
    free(row);
}

size_t weir_row_held(const struct weir_row *row)
{
    return row->held_bytes;
}

enum weir_path_wait weir_row_waits(const struct weir_row *row)
{
    enum weir_path_wait most = row->n_asked == 0 ? WEIR_PATH_IDLE : WEIR_PATH_ON_DETECTOR;
    for (struct weir_list *at = row->places.next; at != &row->places; at = at->next) {
        const struct weir_row_place *place = WEIR_LIST_ENTRY(at, struct weir_row_place, link);
        enum weir_path_wait one = weir_guard_waits(place->guard);
        most = one > most ? one : most;
    }
    return most;
}

/* ---- ending ---- */

static void finish(struct weir_row *row)
{
    row->is_over = true;
    free_items(row);
    weir_loop_post(row->o.task->loop, &row->sweep);
}

static void fail(struct weir_row *row, const struct weir_fault *fault)
{
    if (!row->is_over) {
        const struct weir_fault *kept = weir_fault_keep(row->o.task->arena, fault);
        finish(row);
        row->o.ops->failed(row->o.ctx, kept);
    }
}

static void fail_limit(struct weir_row *row)
{
    struct weir_fault fault = weir_source_limit_fault(row->o.task->arena, row->o.max_held_bytes);
    fail(row, &fault);
}

static void fail_promise(struct weir_row_place *place, const char *what)
{
    struct weir_fault fault = weir_promise_broken(&(struct weir_promise){
        .task = place->row->o.task, .what = what, .choice = place->o.number});
    fail(place->row, &fault);
}

/* What waits for detectors that only tell: text, and places that are kept for them alone. */
static void count_told(struct weir_row_place *place)
{
    enum { PLACE_BYTES = 8192 }; /* what one costs with its guards, about */
    size_t now = weir_guard_told_bytes(place->guard) + (place->has_left ? PLACE_BYTES : 0);
    place->row->held_bytes += now;
    place->row->held_bytes -= place->told_held;
    place->told_held = now;
}

static void retire(struct weir_row_place *place)
{
    place->row->held_bytes -= place->told_held;
    place->told_held = 0;
    weir_list_remove(&place->link);
    weir_list_append(&place->row->done, &place->link);
    weir_loop_post(place->row->o.task->loop, &place->row->sweep);
}

/* ---- what came ---- */

enum { FRAMED_ROOM = 384 }; /* most events that say a token are shorter */

/* Without its place in the row. */
static struct item *new_item(struct weir_row *row, size_t n_bytes)
{
    struct weir_task_scratch *scratch = row->o.task->scratch;
    struct weir_task_spares *home = NULL;
    size_t n_room = n_bytes;
    if (n_bytes == 0) {
        home = &scratch->row_items;
    } else if (n_bytes <= FRAMED_ROOM) {
        home = &scratch->framed_items;
        n_room = FRAMED_ROOM;
    }
    size_t size = sizeof(struct item) + n_room;
    struct item *item = home != NULL ? weir_task_spares_take(home, size) : weir_mem_alloc(size);
    *item = (struct item){.n_held = size, .home = home};
    row->held_bytes += size;
    return item;
}

/* A frame is kept where the JSON lies in it as it is, and is else of no use. */
static struct item *add_item(struct weir_row *row, enum kind kind, struct weir_slice json,
                             struct weir_slice raw)
{
    bool is_framed = raw.n != 0 && json.p >= raw.p && json.p + json.n <= raw.p + raw.n;
    struct weir_slice bytes = is_framed ? raw : json;
    struct item *item = new_item(row, bytes.n);
    item->kind = kind;
    item->from = is_framed ? (size_t)(json.p - raw.p) : 0;
    item->n = json.n;
    item->n_bytes = bytes.n;
    if (bytes.n != 0) {
        memcpy(item->bytes, bytes.p, bytes.n);
    }
    weir_list_append(&row->items, &item->link);
    return item;
}

static struct weir_slice json_of(const struct item *item)
{
    return weir_slice_make(item->bytes + item->from, item->n);
}

static struct weir_slice raw_of(const struct item *item)
{
    bool is_framed = item->n_bytes != item->n;
    return is_framed ? weir_slice_make(item->bytes, item->n_bytes) : WEIR_SLICE("");
}

static void on_progress(void *ctx)
{
    struct weir_row_place *place = ctx;
    struct weir_row *row = place->row;
    if (!row->is_over) {
        row->o.ops->progress(row->o.ctx);
    }
}

static struct weir_row_place *new_place(struct weir_row *row,
                                        const struct weir_row_place_options *options)
{
    struct weir_row_place *place = weir_mem_zalloc(sizeof *place);
    place->row = row;
    place->o = *options;
    place->rest.arena.account = row->o.task->arena->account;
    place->guard = weir_guard_new(
        &(struct weir_guard_options){.task = row->o.task,
                                     .plan = row->o.plan,
                                     .policy = options->blocks ? &row->blocking : row->o.policy,
                                     .max_held_bytes = row->o.max_held_bytes,
                                     .choice = options->number,
                                     .keeps_json = options->keeps_json,
                                     .keeps_tokens = options->is_signed,
                                     .is_unary = row->o.is_unary,
                                     .exposes_nothing = options->keeps_json || options->is_aside,
                                     .on_progress = on_progress,
                                     .ctx = place});
    weir_list_append(&row->places, &place->link);
    return place;
}

struct weir_row_place *weir_row_open(struct weir_row *row,
                                     const struct weir_row_place_options *options)
{
    return new_place(row, options);
}

static int keep_said(struct weir_row *row, enum weir_channel channel, uint64_t number,
                     struct weir_slice text)
{
    bool is_kept = row->o.conversation != NULL && !row->is_shown;
    return is_kept ? weir_row_exchange_say(&row->exchange, channel, number, text) : 0;
}

static bool push(struct weir_row_place *place, struct weir_slice text)
{
    struct weir_row *row = place->row;
    int rc = keep_said(row, place->o.channel, place->o.number, text);
    rc = rc == 0 ? weir_guard_push(place->guard, place->o.channel, 0, text) : rc;
    if (rc == WEIR_ELIMIT) {
        fail_limit(row);
    } else if (rc != 0) {
        fail(row, &(struct weir_fault){.origin = WEIR_FAULT_CHAT_COMPLETION,
                                       .id = row->o.model_id,
                                       .err = WEIR_EPEER,
                                       .why = WEIR_SLICE("an event's text is not UTF-8")});
    }
    return rc == 0;
}

/* Text on its way, with the event that says it if that may leave as it came. */
static bool add_text(struct weir_row_place *place, struct weir_slice text, struct weir_slice json,
                     struct weir_slice raw)
{
    struct weir_row *row = place->row;
    size_t start_cp = weir_guard_length_cp(place->guard, place->o.channel);
    if (text.n != 0 && !push(place, text)) {
        return false;
    }
    count_told(place);
    if (place->o.is_aside || (text.n == 0 && json.n == 0)) {
        return true;
    }
    struct item *item = add_item(row, TEXT, json, raw);
    item->place = place;
    item->number = place->o.number;
    item->start_cp = start_cp;
    item->end_cp = weir_guard_length_cp(place->guard, place->o.channel);
    item->n_text = text.n;
    item->n_held += text.n;
    row->held_bytes += text.n;
    return true;
}

bool weir_row_say(struct weir_row *row, struct weir_row_place *place,
                  const struct weir_row_said *said)
{
    bool is_kept = said->is_all && is_annotating(row);
    if (row->is_over) {
        return false;
    }
    weir_buf_clear(&row->text);
    weir_json_string_append(said->json, said->at, &row->text);
    if (place->half != 0) {
        weir_half_join(said->json, said->at, &place->half, &row->text);
        is_kept = false; /* a character of it came in two events: it leaves in one */
    }
    if (weir_half_cut(said->json, said->at, &place->half, &row->text)) {
        is_kept = false;
    }
    return add_text(place, weir_buf_slice(&row->text), is_kept ? said->json->src : WEIR_SLICE(""),
                    said->raw);
}

bool weir_row_waits_for_half(const struct weir_row_place *place)
{
    return place->half != 0;
}

bool weir_row_say_text(struct weir_row *row, struct weir_row_place *place,
                       const struct weir_row_words *words)
{
    WEIR_ASSERT(place->half == 0);
    struct weir_slice json = is_annotating(row) ? words->json : WEIR_SLICE("");
    return !row->is_over && add_text(place, words->text, json, words->raw);
}

struct weir_slice weir_row_last(const struct weir_row *row)
{
    return weir_buf_slice(&row->text);
}

bool weir_row_add(struct weir_row *row, struct weir_row_place *place, struct weir_slice text)
{
    place->half = 0;
    return !row->is_over && add_text(place, text, WEIR_SLICE(""), WEIR_SLICE(""));
}

void weir_row_close(struct weir_row *row, struct weir_row_place *place)
{
    if (row->is_over) {
        return;
    }
    if (place->half != 0) {
        place->half = 0;
        if (!add_text(place, WEIR_HALF_ALONE, WEIR_SLICE(""), WEIR_SLICE(""))) {
            return;
        }
    }
    weir_guard_end(place->guard, &(struct weir_guard_ending){0});
    if (!place->o.is_aside) {
        add_item(row, CLOSE, WEIR_SLICE(""), WEIR_SLICE(""))->place = place;
    }
}

void weir_row_line(struct weir_row *row, const struct weir_row_line *line)
{
    if (!row->is_over) {
        struct item *item = add_item(row, LINE, line->json, line->raw);
        item->tag = line->tag;
        item->number = line->number;
    }
}

static void on_judged(void *ctx, struct weir_scan *scan)
{
    struct judged *judged = ctx;
    struct weir_row *row = judged->row;
    (void)scan;
    judged->is_done = true;
    row->n_asked--;
    if (!row->is_over) {
        row->o.ops->progress(row->o.ctx);
    }
}

static struct judged *new_judged(struct weir_row *row, const struct weir_row_line *line)
{
    struct judged *judged = weir_mem_zalloc(sizeof *judged);
    judged->row = row;
    judged->arena.account = row->o.task->arena->account;
    judged->task = *row->o.task;
    judged->task.arena = &judged->arena;
    judged->number = line->number;
    judged->tag = line->tag;
    return judged;
}

static void start(struct judged *judged)
{
    weir_list_append(&judged->row->judging, &judged->link);
    judged->row->n_asked++;
    judged->row->held_bytes += judged->n_held;
    weir_scan_start(judged->scan);
}

/* By the detectors of this plan. NULL: there is no text in it. */
static struct judged *start_judging(struct weir_row *row, const struct weir_row_judge *judge,
                                    const struct weir_plan *plan)
{
    struct judged *judged = new_judged(row, &judge->line);
    judged->only_tells = plan == row->o.plan->telling;
    for (size_t i = 0; i < judge->n_texts; i++) {
        if (judge->texts[i].n == 0) {
            continue;
        }
        if (judged->scan == NULL) {
            judged->scan = weir_scan_new(&judged->task, on_judged, judged);
            judged->group = weir_scan_add_group(judged->scan, WEIR_RESULTS_NONE);
        }
        judged->n_held += judge->texts[i].n;
        /* What is under judgement must not move. */
        weir_scan_add_text(judged->group, weir_plan_on(plan, WEIR_CHANNEL_TOOLS),
                           weir_arena_dup(&judged->arena, judge->texts[i]));
    }
    if (judged->scan == NULL) {
        free_judged(judged);
        return NULL;
    }
    start(judged);
    return judged;
}

/* It leaves when it is judged, or at once where nothing holds it back. */
static void add_judged(struct weir_row *row, const struct weir_row_line *line,
                       struct judged *judged, enum weir_row_rule rule)
{
    if (judged != NULL && !is_annotating(row)) {
        struct item *item = add_item(row, JUDGED, line->json, WEIR_SLICE(""));
        item->judged = judged;
        item->rule = rule;
        item->tag = line->tag;
        item->number = line->number;
    } else if (line->json.n != 0) {
        weir_row_line(row, line);
    }
}

void weir_row_judge(struct weir_row *row, const struct weir_row_judge *judge)
{
    const struct weir_plan *plan = row->o.plan;
    bool is_said = judge->rule == WEIR_ROW_BLOCKS || judge->rule == WEIR_ROW_DROPS;
    if (is_said && judge->n_texts != 0 &&
        keep_said(row, WEIR_CHANNEL_CONTENT, UINT64_MAX - judge->line.number, judge->texts[0])) {
        fail_limit(row);
    }
    if (!row->is_over && plan->telling != NULL) {
        (void)start_judging(row, judge, plan->telling);
    }
    struct judged *judged =
        row->is_over ? NULL : start_judging(row, judge, weir_plan_judging(plan));
    add_judged(row, &judge->line, judged, judge->rule);
}

static size_t text_bytes(const struct weir_tools *tools)
{
    size_t n = 0;
    for (size_t i = 0; i < tools->n; i++) {
        n += tools->items[i].name.n + tools->items[i].arguments.n;
    }
    return n;
}

/* The call as `plan` says. `tools` are those of the judged one, or those they were copied from. */
static void start_call(struct judged *judged, const struct weir_plan *plan,
                       const struct weir_policy *policy, const struct weir_tools *tools)
{
    struct weir_row *row = judged->row;
    judged->called = weir_called_new(
        &(struct weir_called_options){.arena = &judged->arena,
                                      .plan = weir_plan_on(plan, WEIR_CHANNEL_TOOLS),
                                      .policy = policy,
                                      .mask = policy->map,
                                      .choice = judged->number,
                                      .tools = tools});
    judged->scan = weir_scan_new(&judged->task, on_judged, judged);
    if (weir_called_add(judged->called, judged->scan)) {
        judged->n_held = text_bytes(tools);
        start(judged);
    } else { /* it says nothing at all */
        judged->is_done = true;
        weir_list_append(&row->judging, &judged->link);
    }
}

void weir_row_call(struct weir_row *row, const struct weir_row_line *line, struct weir_tools *tools)
{
    struct judged *judged = new_judged(row, line);
    judged->tools = *tools;
    *tools = (struct weir_tools){0};
    if (row->o.conversation != NULL && !row->is_over &&
        weir_row_exchange_call(&row->exchange, &judged->tools) != 0) {
        fail_limit(row);
    }
    if (row->is_over) {
        free_judged(judged);
        return;
    }
    if (row->o.plan->telling != NULL) {
        struct judged *told = new_judged(row, line);
        told->only_tells = true;
        start_call(told, row->o.plan->telling, &row->telling.policy, &judged->tools);
    }
    start_call(judged, weir_plan_judging(row->o.plan), row->o.policy, &judged->tools);
    add_judged(row, line, judged, WEIR_ROW_BLOCKS);
}

/* Those of `plan` who look at the whole conversation are asked about `messages`. */
static struct judged *start_whole(struct weir_row *row, const struct weir_plan *plan,
                                  struct weir_slice messages, struct weir_slice tools)
{
    struct weir_row_line none = {0};
    struct judged *judged = new_judged(row, &none);
    struct weir_detect_input input = {.messages = weir_arena_dup(&judged->arena, messages),
                                      .tools = tools};
    judged->is_whole = true;
    judged->only_tells = plan == row->o.conversation->telling;
    judged->n_held = messages.n;
    judged->scan = weir_scan_new(&judged->task, on_judged, judged);
    judged->group = weir_scan_add_group(judged->scan, WEIR_RESULTS_NONE);
    for (size_t i = 0; i < plan->n; i++) {
        weir_scan_add_whole(judged->group, &plan->uses[i], &input);
    }
    start(judged);
    return judged;
}

/* Returns the tools. */
static struct weir_slice write_conversation(struct weir_row *row, struct weir_buf *out)
{
    struct weir_buf history = {0};
    struct weir_slice tools = row->o.ops->history(row->o.ctx, &history);
    weir_buf_append_byte(out, '[');
    weir_buf_append(out, weir_buf_slice(&history));
    weir_buf_append(out, history.n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
    weir_row_exchange_write(&row->exchange, out);
    weir_buf_append_byte(out, ']');
    weir_buf_dispose(&history);
    return tools;
}

/* All of the answer is there: who looks at the whole conversation is shown it. */
static void show_exchange(struct weir_row *row)
{
    const struct weir_plan *plan = row->o.conversation;
    if (plan == NULL || row->is_shown || row->is_over) {
        return;
    }
    struct weir_buf messages = {0};
    struct weir_row_line none = {0};
    struct weir_slice tools = write_conversation(row, &messages);
    weir_row_exchange_dispose(&row->exchange);
    row->is_shown = true;
    if (plan->telling != NULL) {
        (void)start_whole(row, plan->telling, weir_buf_slice(&messages), tools);
    }
    if (weir_plan_judging(plan)->n != 0) {
        add_judged(row, &none,
                   start_whole(row, weir_plan_judging(plan), weir_buf_slice(&messages), tools),
                   WEIR_ROW_BLOCKS);
    }
    weir_buf_dispose(&messages);
}

void weir_row_wait(struct weir_row *row)
{
    show_exchange(row);
    if (!row->is_over) {
        add_item(row, WAIT, WEIR_SLICE(""), WEIR_SLICE(""));
    }
}

void weir_row_end(struct weir_row *row)
{
    show_exchange(row);
    row->has_ended = true;
}

/* ---- what leaves ---- */

static struct weir_row_found found_of(const struct weir_row_place *place,
                                      const struct weir_guard_piece *piece)
{
    return (struct weir_row_found){.number = place->o.number,
                                   .channel = piece->channel,
                                   .findings = piece->findings,
                                   .n_findings = piece->n_findings};
}

/* The guard's next piece. False: it has none yet, has said its last, or the row is over. */
static bool pop(struct weir_row_place *place, struct weir_guard_piece *piece)
{
    struct weir_row *row = place->row;
    if (place->is_over || row->is_over) {
        return false;
    }
    int rc = weir_guard_pop(place->guard, piece);
    if (rc == WEIR_EAGAIN) {
        return false;
    }
    if (rc != 0) {
        fail(row, weir_guard_fault(place->guard));
        return false;
    }
    bool is_text = piece->what == WEIR_GUARD_TEXT && piece->channel < WEIR_CHANNEL_TEXTS;
    if (is_text && !is_annotating(row) && !weir_guard_has_judged(place->guard, piece)) {
        fail_promise(place, weir_channel_name(piece->channel));
        return false;
    }
    place->is_over = piece->what != WEIR_GUARD_TEXT;
    return true;
}

static void block(struct weir_row_place *place, const struct weir_guard_piece *piece)
{
    struct weir_row *row = place->row;
    struct weir_row_found found = found_of(place, piece);
    finish(row);
    row->o.ops->blocked(row->o.ctx, &found);
}

static void send_line(struct weir_row *row, const struct item *item, bool is_touched)
{
    row->o.ops->line(row->o.ctx, &(struct weir_row_line){.tag = item->tag,
                                                         .number = item->number,
                                                         .json = json_of(item),
                                                         .raw = raw_of(item),
                                                         .is_touched = is_touched});
}

/* An event that says nothing, as it came. */
static void send_empty(struct weir_row *row, const struct item *item)
{
    row->o.ops->text(row->o.ctx,
                     &(struct weir_row_text){
                         .found = {.number = item->number, .channel = item->place->o.channel},
                         .json = json_of(item),
                         .raw = raw_of(item)});
}

/* An event whose end is not judged yet leaves as it came when it is: nothing was found up to there,
 * and it is not long. */
static bool is_kept(const struct item *item, const struct weir_guard_piece *piece, bool is_begun)
{
    enum { WHOLE_CP = 32 };
    return item->end_cp > piece->end_cp && piece->n_findings == 0 && is_begun &&
           json_of(item).n != 0 && item->end_cp - item->start_cp <= WHOLE_CP;
}

/* As much of the piece as lies in the item, as it came if that is all of it; else what it says
 * besides its text leaves with the last of that. What was found rides on the piece's last event.
 * Returns how many bytes that were. */
static size_t send_part(const struct item *item, const struct weir_guard_piece *piece,
                        struct weir_slice rest, size_t at_cp)
{
    struct weir_row_place *place = item->place;
    size_t end_cp = item->end_cp < piece->end_cp ? item->end_cp : piece->end_cp;
    bool is_begun = item->start_cp == at_cp || place->kept.n != 0; /* none of it has left */
    bool is_last = item->end_cp == end_cp;
    bool is_whole = is_begun && is_last;
    size_t n_whole = item->n_text - (is_whole ? place->kept.n : 0);
    size_t n = is_whole ? n_whole : weir_utf8_byte_at(rest, end_cp - at_cp);
    struct weir_slice part = weir_slice_sub(rest, 0, n);
    bool waits = is_kept(item, piece, is_begun);
    if (waits || place->kept.n != 0) {
        weir_buf_append(&place->kept, part);
    }
    if (!waits) {
        struct weir_row_text text = {.found = found_of(place, piece),
                                     .text =
                                         place->kept.n != 0 ? weir_buf_slice(&place->kept) : part,
                                     .json = is_last ? json_of(item) : WEIR_SLICE(""),
                                     .raw = is_whole ? raw_of(item) : WEIR_SLICE(""),
                                     .is_rest = is_last && !is_whole};
        text.found.n_findings = end_cp == piece->end_cp ? piece->n_findings : 0;
        place->row->o.ops->text(place->row->o.ctx, &text);
        weir_buf_clear(&place->kept);
    }
    return part.n;
}

/* Annotate: the piece event by event, with the lines that stand between them, up to something of
 * another place: the rest of the piece waits until that has left. */
static void emit_raw(struct weir_row_place *place, const struct weir_guard_piece *piece)
{
    struct weir_row *row = place->row;
    struct weir_slice rest = piece->text;
    size_t at_cp = piece->start_cp;
    bool is_mixed = false;
    struct weir_list *link = row->items.next;
    for (; link != &row->items && at_cp < piece->end_cp && !is_mixed; link = link->next) {
        struct item *item = WEIR_LIST_ENTRY(link, struct item, link);
        if (item->has_left) {
            continue;
        }
        if (item->kind != LINE && item->place != place) {
            is_mixed = true;
        } else if (item->kind == LINE) {
            send_line(row, item, false);
            item->has_left = true;
        } else if (item->kind == TEXT && item->start_cp == item->end_cp) {
            send_empty(row, item);
            item->has_left = true;
        } else if (item->kind == TEXT && item->end_cp > at_cp) {
            rest = weir_slice_sub(rest, send_part(item, piece, rest, at_cp), rest.n);
            at_cp = item->end_cp < piece->end_cp ? item->end_cp : piece->end_cp;
            item->has_left = at_cp == item->end_cp;
        }
    }
    WEIR_ASSERT(at_cp > piece->start_cp); /* the first item is one of this place's */
    place->left_cp = at_cp;
    if (at_cp < piece->end_cp) {
        weir_row_rest_keep(&place->rest, piece, rest, at_cp);
    } else {
        weir_row_rest_drop(&place->rest);
    }
}

static void emit(struct weir_row_place *place, const struct weir_guard_piece *piece)
{
    struct weir_row *row = place->row;
    if (is_annotating(row) && piece->start_cp != piece->end_cp) {
        emit_raw(place, piece);
        return;
    }
    place->left_cp = piece->end_cp;
    if (piece->text.n != 0 || piece->n_findings != 0) {
        struct weir_row_text text = {.found = found_of(place, piece),
                                     .text = piece->text,
                                     .is_changed = piece->is_changed,
                                     .start_cp = piece->start_cp,
                                     .end_cp = piece->end_cp,
                                     .stretches = piece->stretches,
                                     .n_stretches = piece->n_stretches};
        row->o.ops->text(row->o.ctx, &text);
    }
}

static void tell(struct weir_row_place *place, const struct weir_guard_piece *piece)
{
    if (piece->n_findings != 0) {
        struct weir_row_found found = found_of(place, piece);
        place->row->o.ops->found(place->row->o.ctx, &found);
    }
}

/* What is left of the piece that the guard said last, or the next one. */
static bool next_piece(struct weir_row_place *place, struct weir_guard_piece *piece)
{
    if (place->rest.is_kept && !place->row->is_over) {
        *piece = place->rest.piece;
        return true;
    }
    return pop(place, piece);
}

/* Lets go of the place's text up to there, or to its end. False: not yet. */
static bool let_go(struct weir_row_place *place, size_t until_cp)
{
    struct weir_guard_piece piece;
    while (place->left_cp < until_cp && !place->is_over && next_piece(place, &piece)) {
        switch (piece.what) {
        case WEIR_GUARD_TEXT:
            emit(place, &piece);
            break;
        case WEIR_GUARD_BLOCKED:
            block(place, &piece);
            return false;
        case WEIR_GUARD_CLEAR:
            break;
        }
    }
    return !place->row->is_over && (place->is_over || place->left_cp >= until_cp);
}

/* ---- judged lines ---- */

/* As it is told where the route enforces: named so that it does not tell what it hides. In the
 * line's arena. */
static const struct weir_detection *const *told_of(struct judged *judged)
{
    size_t n = judged->group->n_found;
    if (is_annotating(judged->row)) {
        return judged->group->found;
    }
    struct weir_detection *told = weir_arena_array(&judged->arena, n, sizeof *told);
    const struct weir_detection **list = weir_arena_array(&judged->arena, n, sizeof *list);
    for (size_t i = 0; i < n; i++) {
        told[i] = *judged->group->found[i];
        told[i].detection = weir_detection_name(judged->group->found[i]);
        told[i].detection_type = weir_detection_type_name(judged->group->found[i]);
        told[i].metadata = WEIR_SLICE("");
        list[i] = &told[i];
    }
    return list;
}

static struct weir_row_found judged_found(struct judged *judged)
{
    struct weir_row_found found = {.number = judged->number,
                                   .channel =
                                       judged->is_whole ? WEIR_CHANNEL_WHOLE : WEIR_CHANNEL_TOOLS,
                                   .tag = judged->tag,
                                   .only_told = judged->only_tells};
    if (judged->called != NULL) {
        found.findings = weir_called_found(judged->called)->items;
        found.n_findings = weir_called_found(judged->called)->n;
    } else {
        found.findings = told_of(judged);
        found.n_findings = judged->group->n_found;
    }
    return found;
}

/* Where the route masks, what lies in a token is no finding. */
static void drop_covered(const struct weir_mask *mask, struct weir_scan_group *group)
{
    size_t n = 0;
    for (size_t i = 0; i < group->n_found; i++) {
        if (!weir_mask_covers(mask, group->found[i]->text)) {
            group->found[n++] = group->found[i];
        }
    }
    group->n_found = n;
}

/* The answer is there: the line is freed when it has been dealt with, from outside of its own
 * calls. False: the row has failed. */
static bool is_answered(struct judged *judged)
{
    struct weir_row *row = judged->row;
    const struct weir_fault *fault = weir_scan_fault(judged->scan);
    weir_list_remove(&judged->link);
    weir_list_append(&row->answered, &judged->link);
    row->held_bytes -= judged->n_held;
    judged->n_held = 0;
    weir_loop_post(row->o.task->loop, &row->sweep);
    if (fault != NULL) {
        fail(row, fault);
    } else if (judged->called != NULL) {
        weir_called_collect(judged->called);
    } else if (row->o.policy->map != NULL) {
        drop_covered(row->o.policy->map, judged->group);
    }
    return fault == NULL;
}

static void note_seen(const struct judged *judged, const struct weir_row_found *found,
                      enum weir_policy_outcome action)
{
    struct weir_seen_where where = {
        .side = WEIR_POLICY_OUTPUT, .channel = weir_channel_name(found->channel), .action = action};
    weir_seen_findings(judged->row->o.policy, &where, found->findings, found->n_findings);
}

/* May a line with these findings not leave? */
static bool is_blocking(const struct judged *judged, enum weir_row_rule rule)
{
    if (judged->called != NULL) {
        return weir_called_blocks(judged->called);
    }
    const struct weir_policy *policy = judged->row->o.policy;
    struct weir_policy_hit hit = {.policy = policy, .can_replace = rule != WEIR_ROW_BLOCKS};
    return judged->group->n_found != 0 && rule != WEIR_ROW_SPARES &&
           weir_policy_rules_of(policy->action)->answer(&hit) == WEIR_POLICY_STOPPED;
}

/* The call with what was found in it replaced. False: it is not what was judged, and the row has
 * failed. */
static bool let_go_call(struct judged *judged, const struct item *item)
{
    struct weir_row *row = judged->row;
    bool is_good = weir_called_has_judged(judged->called, &judged->tools, WEIR_SLICE("")) &&
                   weir_called_replace(judged->called, &judged->tools);
    if (is_good) {
        struct weir_row_line line = {.tag = item->tag,
                                     .number = item->number,
                                     .json = json_of(item),
                                     .input = weir_buf_slice(&judged->tools.items[0].arguments),
                                     .tools = &judged->tools};
        row->o.ops->line(row->o.ctx, &line);
    } else {
        struct weir_fault fault = weir_promise_broken(&(struct weir_promise){
            .task = row->o.task, .what = "a tool call", .choice = judged->number});
        fail(row, &fault);
    }
    return is_good;
}

/* What leaves of a line that does not end the answer. False: the row has failed. */
static bool let_go_line(struct judged *judged, const struct item *item, bool is_found)
{
    if (judged->called != NULL) {
        return let_go_call(judged, item);
    }
    if (judged->is_whole) {
        return true;
    }
    if (!is_found || item->rule == WEIR_ROW_TOUCHES || item->rule == WEIR_ROW_SPARES) {
        send_line(judged->row, item, is_found);
    }
    return true;
}

/* False: its judgement has not come, or the row is over. */
static bool let_go_judged(struct weir_row *row, const struct item *item)
{
    struct judged *judged = item->judged;
    if (!judged->is_done || !is_answered(judged)) {
        return false;
    }
    struct weir_row_found found = judged_found(judged);
    bool is_found = found.n_findings != 0;
    bool is_blocked = is_blocking(judged, item->rule);
    if (is_found) {
        note_seen(judged, &found, is_blocked ? WEIR_POLICY_BLOCKED : WEIR_POLICY_REDACTED);
    }
    bool is_good = false;
    if (is_blocked) {
        finish(row);
        row->o.ops->blocked(row->o.ctx, &found);
    } else {
        if (is_found) {
            row->o.ops->found(row->o.ctx, &found);
        }
        is_good = let_go_line(judged, item, is_found);
    }
    return is_good;
}

static bool has_telling(const struct weir_row *row)
{
    return row->o.plan->telling != NULL ||
           (row->o.conversation != NULL && row->o.conversation->telling != NULL);
}

/* Lines that nothing waits for: true when none of them is under judgement any more. */
static bool tell_judged(struct weir_row *row)
{
    struct weir_list *link = row->judging.next;
    bool is_all = true;
    while (link != &row->judging && !row->is_over) {
        struct judged *judged = WEIR_LIST_ENTRY(link, struct judged, link);
        link = link->next;
        if (!judged->only_tells && !is_annotating(row)) {
            continue;
        }
        is_all = is_all && judged->is_done;
        if (judged->is_done && is_answered(judged)) {
            struct weir_row_found found = judged_found(judged);
            if (found.n_findings != 0) {
                note_seen(judged, &found, WEIR_POLICY_ANNOTATED);
                row->o.ops->found(row->o.ctx, &found);
            }
        }
    }
    return is_all;
}

/* What detectors that only tell have found in the place. */
static void drain_told(struct weir_row_place *place)
{
    struct weir_row *row = place->row;
    struct weir_guard_piece piece;
    int rc = WEIR_EAGAIN;
    while (!row->is_over && (rc = weir_guard_pop_told(place->guard, &piece)) == 0) {
        struct weir_row_found found = found_of(place, &piece);
        found.only_told = true;
        row->o.ops->found(row->o.ctx, &found);
    }
    if (!row->is_over && rc != WEIR_EAGAIN) {
        fail(row, weir_guard_fault(place->guard));
    }
    count_told(place);
}

/* True: nothing more is told of any place that has left. */
static bool drain_all_told(struct weir_row *row)
{
    struct weir_list *link = row->places.next;
    bool is_all = true;
    while (link != &row->places && !row->is_over) {
        struct weir_row_place *place = WEIR_LIST_ENTRY(link, struct weir_row_place, link);
        link = link->next;
        drain_told(place);
        bool is_told = weir_guard_is_told(place->guard);
        is_all = is_all && (is_told || !place->has_left);
        if (place->has_left && is_told && !row->is_over) {
            retire(place);
        }
    }
    return is_all;
}

/* What is found in asides, as it becomes known. True: nothing is under way there any more. */
static bool drain_asides(struct weir_row *row)
{
    struct weir_list *link = row->places.next;
    bool is_all = true;
    while (link != &row->places && !row->is_over) {
        struct weir_row_place *place = WEIR_LIST_ENTRY(link, struct weir_row_place, link);
        struct weir_guard_piece piece;
        link = link->next;
        if (!place->o.is_aside) {
            continue;
        }
        while (pop(place, &piece)) {
            tell(place, &piece);
        }
        is_all = is_all && place->is_over;
        if (place->is_over && !row->is_over) {
            retire(place);
        }
    }
    if (row->o.plan->telling != NULL && !row->is_over) {
        is_all = drain_all_told(row) && is_all;
    }
    if ((is_annotating(row) || has_telling(row)) && !row->is_over) {
        is_all = tell_judged(row) && is_all;
    }
    return is_all && !row->is_over;
}

static bool let_go_item(struct weir_row *row, const struct item *item)
{
    if (item->has_left) {
        return true;
    }
    switch (item->kind) {
    case LINE:
        send_line(row, item, false);
        return true;
    case TEXT:
        if (item->start_cp == item->end_cp) {
            send_empty(row, item);
            return true;
        }
        return let_go(item->place, item->end_cp);
    case CLOSE:
        if (!let_go(item->place, SIZE_MAX)) {
            return false;
        }
        item->place->has_left = true;
        if (weir_guard_is_told(item->place->guard)) {
            retire(item->place);
        } else {
            count_told(item->place);
        }
        return true;
    case JUDGED:
        return let_go_judged(row, item);
    case WAIT:
        return drain_asides(row);
    }
    return false;
}

/* What late detectors say of text that has left, while nothing else waits: it may end the answer.
 */
static void hear_late(struct weir_row *row)
{
    struct weir_list *link = weir_list_first(&row->places);
    while (link != NULL && link != &row->places && !row->is_over) {
        struct weir_row_place *place = WEIR_LIST_ENTRY(link, struct weir_row_place, link);
        link = link->next;
        if (!place->o.is_aside && !place->is_over) {
            (void)let_go(place, place->left_cp + 1);
        }
    }
}

void weir_row_drain(struct weir_row *row)
{
    struct weir_list *link;
    while (!row->is_over && (link = weir_list_first(&row->items)) != NULL) {
        struct item *item = WEIR_LIST_ENTRY(link, struct item, link);
        if (!let_go_item(row, item)) {
            break;
        }
        free_item(row, item);
    }
    if (!row->is_over && row->o.plan->late != NULL && weir_list_is_empty(&row->items)) {
        hear_late(row);
    }
    if (!row->is_over) {
        (void)drain_asides(row);
    }
    bool is_empty = weir_list_is_empty(&row->items) && weir_list_is_empty(&row->places) &&
                    weir_list_is_empty(&row->judging);
    if (!row->is_over && row->has_ended && is_empty) {
        row->is_over = true;
        row->o.ops->left(row->o.ctx);
    }
}
