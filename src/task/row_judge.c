/* Lines of a row that are looked at before they leave, tool calls, and the whole conversation. */
#include "base/mem.h"
#include "task/promise.h"
#include "task/row_int.h"
#include "task/seen.h"

#include <stdlib.h>

/* ---- asking ---- */

static void free_judged(struct weir_row_judged *judged)
{
    weir_arena_dispose(&judged->arena);
    weir_tools_dispose(&judged->tools);
    free(judged);
}

void weir_row__free_judged(struct weir_list *list)
{
    struct weir_list *link;
    while ((link = weir_list_first(list)) != NULL) {
        weir_list_remove(link);
        free_judged(WEIR_LIST_ENTRY(link, struct weir_row_judged, link));
    }
}

static void on_judged(void *ctx, struct weir_scan *scan)
{
    struct weir_row_judged *judged = ctx;
    struct weir_row *row = judged->row;
    (void)scan;
    judged->is_done = true;
    row->n_asked--;
    if (!row->is_over) {
        row->o.ops->progress(row->o.ctx);
    }
}

static struct weir_row_judged *new_judged(struct weir_row *row, const struct weir_row_line *line)
{
    struct weir_row_judged *judged = weir_mem_zalloc(sizeof *judged);
    judged->row = row;
    judged->arena.account = row->o.task->arena->account;
    judged->task = *row->o.task;
    judged->task.arena = &judged->arena;
    judged->task.whole = row->o.task;
    judged->number = line->number;
    judged->tag = line->tag;
    return judged;
}

/* What it takes counts, and not what it says alone: a short line is as large as its judgement. */
static void start(struct weir_row_judged *judged)
{
    judged->n_held += sizeof *judged + judged->arena.total_bytes;
    weir_list_append(&judged->row->judging, &judged->link);
    judged->row->n_asked++;
    judged->row->held_bytes += judged->n_held;
    weir_scan_start(judged->scan);
}

/* By the detectors of this plan. NULL: there is no text in it. */
static struct weir_row_judged *start_judging(struct weir_row *row,
                                             const struct weir_row_judge *judge,
                                             const struct weir_plan *plan)
{
    struct weir_row_judged *judged = new_judged(row, &judge->line);
    judged->only_tells = plan == row->o.plan->telling;
    for (size_t i = 0; i < judge->n_texts; i++) {
        if (judge->texts[i].n == 0) {
            continue;
        }
        if (judged->scan == NULL) {
            judged->scan = weir_scan_new(&judged->task, on_judged, judged);
            judged->group = weir_scan_add_group(judged->scan, WEIR_RESULTS_NONE);
        }
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
                       struct weir_row_judged *judged, enum weir_row_rule rule)
{
    if (judged != NULL && !weir_row__is_annotating(row)) {
        struct weir_row_item *item =
            weir_row__add_item(row, WEIR_ROW_JUDGED, line->json, WEIR_SLICE(""));
        item->judged = judged;
        item->rule = rule;
        item->tag = line->tag;
        item->number = line->number;
    } else if (line->json.n != 0) {
        weir_row_line(row, line);
    }
}

/* Detectors of the conversation are shown JSON as it is written, and decoded if that differs. */
static void keep_judged(struct weir_row *row, const struct weir_row_judge *judge)
{
    struct weir_slice written = judge->n_texts != 0 ? judge->texts[0] : WEIR_SLICE("");
    bool has_escape = weir_slice_find(written, '\\') != written.n;
    size_t n = has_escape ? judge->n_texts : judge->n_texts != 0;
    for (size_t i = 0; i < n; i++) {
        if (weir_row__keep_said(row, WEIR_CHANNEL_CONTENT,
                                UINT64_MAX - 2 * judge->line.number - (i != 0), judge->texts[i])) {
            weir_row__fail_limit(row);
        }
    }
}

void weir_row_say_ending(struct weir_row *row, const struct weir_slice *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (weir_row__keep_said(row, WEIR_CHANNEL_CONTENT, UINT64_MAX / 2 - i, texts[i])) {
            weir_row__fail_limit(row);
        }
    }
}

void weir_row_judge(struct weir_row *row, const struct weir_row_judge *judge)
{
    const struct weir_plan *plan = row->o.plan;
    if (judge->rule == WEIR_ROW_BLOCKS || judge->rule == WEIR_ROW_DROPS) {
        keep_judged(row, judge);
    }
    if (!row->is_over && plan->telling != NULL) {
        (void)start_judging(row, judge, plan->telling);
    }
    struct weir_row_judged *judged =
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
static void start_call(struct weir_row_judged *judged, const struct weir_plan *plan,
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
    struct weir_row_judged *judged = new_judged(row, line);
    judged->tools = *tools;
    *tools = (struct weir_tools){0};
    if (row->o.conversation != NULL && !row->is_over &&
        weir_row_exchange_call(&row->exchange, &judged->tools) != 0) {
        weir_row__fail_limit(row);
    }
    if (row->is_over) {
        free_judged(judged);
        return;
    }
    if (row->o.plan->telling != NULL) {
        struct weir_row_judged *told = new_judged(row, line);
        told->only_tells = true;
        start_call(told, row->o.plan->telling, &row->telling.policy, &judged->tools);
    }
    start_call(judged, weir_plan_judging(row->o.plan), row->o.policy, &judged->tools);
    add_judged(row, line, judged, WEIR_ROW_BLOCKS);
}

/* Those of `plan` who look at the whole conversation are asked about `messages`. */
static struct weir_row_judged *start_whole(struct weir_row *row, const struct weir_plan *plan,
                                           struct weir_slice messages, struct weir_slice tools)
{
    struct weir_row_line none = {0};
    struct weir_row_judged *judged = new_judged(row, &none);
    struct weir_detect_input input = {.messages = weir_arena_dup(&judged->arena, messages),
                                      .tools = tools};
    judged->is_whole = true;
    judged->only_tells = plan == row->o.conversation->telling;
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
void weir_row__show_exchange(struct weir_row *row)
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

/* ---- what was answered ---- */

/* As it is told where the route enforces: named so that it does not tell what it hides. In the
 * line's arena. */
static const struct weir_detection *const *told_of(struct weir_row_judged *judged)
{
    size_t n = judged->group->n_found;
    if (weir_row__is_annotating(judged->row)) {
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

static struct weir_row_found judged_found(struct weir_row_judged *judged)
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
static bool is_answered(struct weir_row_judged *judged)
{
    struct weir_row *row = judged->row;
    const struct weir_fault *fault = weir_scan_fault(judged->scan);
    weir_list_remove(&judged->link);
    weir_list_append(&row->answered, &judged->link);
    row->held_bytes -= judged->n_held;
    judged->n_held = 0;
    weir_loop_post(row->o.task->loop, &row->sweep);
    if (fault != NULL) {
        weir_row__fail(row, fault);
    } else if (judged->called != NULL) {
        weir_called_collect(judged->called);
    } else if (row->o.policy->map != NULL) {
        drop_covered(row->o.policy->map, judged->group);
    }
    return fault == NULL;
}

static void note_seen(const struct weir_row_judged *judged, const struct weir_row_found *found,
                      enum weir_policy_outcome action)
{
    struct weir_seen_where where = {
        .side = WEIR_POLICY_OUTPUT, .channel = weir_channel_name(found->channel), .action = action};
    weir_seen_findings(judged->row->o.policy, &where, found->findings, found->n_findings);
}

/* May a line with these findings not leave? */
static bool is_blocking(const struct weir_row_judged *judged, enum weir_row_rule rule)
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
static bool let_go_call(struct weir_row_judged *judged, const struct weir_row_item *item)
{
    struct weir_row *row = judged->row;
    bool is_good = weir_called_has_judged(judged->called, &judged->tools, WEIR_SLICE("")) &&
                   weir_called_replace(judged->called, &judged->tools);
    if (is_good) {
        struct weir_row_line line = {.tag = item->tag,
                                     .number = item->number,
                                     .json = weir_row__json_of(item),
                                     .input = weir_buf_slice(&judged->tools.items[0].arguments),
                                     .tools = &judged->tools};
        row->o.ops->line(row->o.ctx, &line);
    } else {
        struct weir_fault fault = weir_promise_broken(&(struct weir_promise){
            .task = row->o.task, .what = "a tool call", .choice = judged->number});
        weir_row__fail(row, &fault);
    }
    return is_good;
}

/* What leaves of a line that does not end the answer. False: the row has failed. */
static bool let_go_line(struct weir_row_judged *judged, const struct weir_row_item *item,
                        bool is_found)
{
    if (judged->called != NULL) {
        return let_go_call(judged, item);
    }
    if (judged->is_whole) {
        return true;
    }
    if (!is_found || item->rule == WEIR_ROW_TOUCHES || item->rule == WEIR_ROW_SPARES) {
        weir_row__send_line(judged->row, item, is_found);
    }
    return true;
}

/* False: its judgement has not come, or the row is over. */
bool weir_row__let_go_judged(struct weir_row *row, const struct weir_row_item *item)
{
    struct weir_row_judged *judged = item->judged;
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
        weir_row__finish(row);
        row->o.ops->blocked(row->o.ctx, &found);
    } else {
        if (is_found) {
            row->o.ops->found(row->o.ctx, &found);
        }
        is_good = let_go_line(judged, item, is_found);
    }
    return is_good;
}

bool weir_row__has_telling(const struct weir_row *row)
{
    return row->o.plan->telling != NULL ||
           (row->o.conversation != NULL && row->o.conversation->telling != NULL);
}

/* Lines that nothing waits for: true when none of them is under judgement any more. */
bool weir_row__tell_judged(struct weir_row *row)
{
    struct weir_list *link = row->judging.next;
    bool is_all = true;
    while (link != &row->judging && !row->is_over) {
        struct weir_row_judged *judged = WEIR_LIST_ENTRY(link, struct weir_row_judged, link);
        link = link->next;
        if (!judged->only_tells && !weir_row__is_annotating(row)) {
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
