/*
 * The gate: a tool call leaves when it is whole, not in fragments.
 *
 *                 closed and valid, and the first in line (closed mode)
 *   fragments ─► HELD ─────────────────────────────────────────────────► RELEASED
 *                 │  finish or [DONE]: all, as they are                    │ same index, more text:
 *                 │  too large or too old: this one and those before it    │ a continuation, HELD
 *                 └──────────────────────────────────────────────────► OPEN: fragments pass
 *
 * Calls leave in the order they were first seen, because some clients file them by position. What
 * is not valid JSON is never repaired. A call that comes again under its id, name and arguments is
 * dropped; so what has left is remembered, with arguments as long as they are within the budget.
 */
#include "base/mem.h"
#include "emit/batch_int.h"

#include <stdlib.h>

static struct weir_batch__gate *gate_of(struct weir_batch *b, struct weir_batch__choice *c)
{
    if (c->gate == NULL) {
        c->gate = weir_mem_zalloc(sizeof *c->gate);
        weir_list_init(&c->gate->tools.list);
        weir_batch__carry_init(&c->gate->carry, b->is_shadow);
    }
    return c->gate;
}

void weir_batch__gate_free(struct weir_batch__gate *g)
{
    if (g != NULL) {
        weir_batch__tools_clear(&g->tools);
        weir_batch__carry_dispose(&g->carry);
        free(g);
    }
}

static void settle(struct weir_batch *b, struct weir_batch__gate *g)
{
    size_t n = g->n_wait_bytes + weir_batch__carry_bytes(&g->carry);
    weir_batch__account(b, &g->n_held, g->n_waiting != 0 ? n : 0);
    uint64_t at;
    if (weir_batch__gate_deadline(b, g, &at)) {
        weir_batch__arm(b, at);
    }
}

static bool is_index_taken(const struct weir_batch__gate *g, uint32_t index)
{
    const struct weir_list *head = &g->tools.list;
    for (struct weir_list *link = head->next; link != head; link = link->next) {
        if (weir_batch__tool_at(link)->index == index) {
            return true;
        }
    }
    return false;
}

static struct weir_batch__tool *add_call(struct weir_batch *b, struct weir_batch__gate *g,
                                         uint32_t up_index)
{
    bool is_moved =
        b->o.tool_index_policy == WEIR_BATCH_INDEX_REPAIR && is_index_taken(g, up_index);
    struct weir_batch__tool *tool = weir_batch__tool_new(b, &g->tools, up_index);
    tool->index = is_moved ? g->max_index + 1 : up_index;
    g->max_index = tool->index > g->max_index ? tool->index : g->max_index;
    g->n_waiting++;
    return tool;
}

/* More text for a call that is closed: collected by itself, leaves without id and name. */
static struct weir_batch__tool *add_continuation(struct weir_batch *b, struct weir_batch__gate *g,
                                                 const struct weir_batch__tool *of, bool is_repeat)
{
    struct weir_batch__tool *tool = weir_batch__tool_new(b, &g->tools, of->up_index);
    tool->index = of->index;
    tool->is_continuation = true;
    tool->is_repeat = is_repeat;
    tool->has_id = of->has_id;
    tool->has_name = of->has_name;
    tool->id_hash = of->id_hash;
    tool->name_hash = of->name_hash;
    tool->is_id_sent = tool->is_name_sent = tool->is_type_sent = true;
    weir_batch__put(&tool->id, weir_buf_slice(&of->id));
    weir_batch__put(&tool->name, weir_buf_slice(&of->name));
    g->tools.n_bytes += weir_batch__tool_bytes(tool);
    g->n_waiting++;
    g->n_wait_bytes += weir_batch__tool_bytes(tool);
    return tool;
}

static bool is_space_only(struct weir_slice text)
{
    struct weir_argscan scan = {0};
    weir_argscan_feed(&scan, text);
    return scan.first == 0;
}

/* A fragment for a call that left. NULL: nothing to keep of it. */
static struct weir_batch__tool *after_release(struct weir_batch *b, struct weir_batch__gate *g,
                                              struct weir_batch__tool *tool,
                                              const struct weir_batch__input *in,
                                              const struct weir_batch__frag *frag)
{
    tool->is_head_again = tool->is_head_again || frag->id != WEIR_JSON_NONE;
    if (frag->args == WEIR_JSON_NONE) {
        return NULL;
    }
    if (is_space_only(weir_batch__text(b, in->j, frag->args))) {
        weir_batch__counts(b)->tool_trailing_space++;
        return NULL;
    }
    bool is_repeat = tool->is_head_again;
    tool->is_head_again = false;
    weir_batch__counts(b)->tool_post_close += !is_repeat;
    return add_continuation(b, g, tool, is_repeat);
}

static bool is_other_call(struct weir_batch *b, const struct weir_batch__tool *tool,
                          const struct weir_batch__input *in, const struct weir_batch__frag *frag)
{
    bool is_late_id = tool->state == TOOL_RELEASED && !tool->has_id && frag->id != WEIR_JSON_NONE;
    return is_late_id || weir_batch__tool_differs(b, tool, in, frag);
}

static struct weir_batch__tool *tool_for(struct weir_batch *b, struct weir_batch__gate *g,
                                         const struct weir_batch__input *in,
                                         const struct weir_batch__frag *frag)
{
    uint32_t up_index = weir_batch__frag_index(frag, &g->last_index);
    struct weir_batch__tool *tool = weir_batch__tool_find(&g->tools, up_index);
    if (tool == NULL || is_other_call(b, tool, in, frag)) {
        return add_call(b, g, up_index);
    }
    if (tool->state == TOOL_RELEASED) {
        return after_release(b, g, tool, in, frag);
    }
    bool is_named = frag->id != WEIR_JSON_NONE && frag->name != WEIR_JSON_NONE;
    if (tool->state == TOOL_HELD && is_named && weir_batch__tool_is_ready(tool)) {
        return add_continuation(b, g, tool, true);
    }
    return tool;
}

/* Does it have a name of some kind that the caller has not seen? */
static bool has_unsent(const struct weir_batch__tool *tool)
{
    return (tool->has_id && !tool->is_id_sent) || (tool->has_name && !tool->is_name_sent) ||
           (tool->has_type && !tool->is_type_sent) || tool->more.n != 0 ||
           tool->function_more.n != 0;
}

/* Takes a fragment in. False: the chunk cannot leave as it came. */
static bool add_frag(struct weir_batch *b, struct weir_batch__gate *g,
                     const struct weir_batch__input *in, const struct weir_batch__frag *frag)
{
    struct weir_batch__tool *tool = tool_for(b, g, in, frag);
    if (tool == NULL) {
        return false;
    }
    bool is_named =
        frag->id != WEIR_JSON_NONE || frag->name != WEIR_JSON_NONE || frag->type != WEIR_JSON_NONE;
    bool is_new = tool->seq_new == b->seq && !tool->is_continuation;
    bool is_plain = frag->index == tool->index && tool->seq != b->seq &&
                    (is_new || (tool->state == TOOL_OPEN && !is_named));
    size_t before = weir_batch__tool_bytes(tool);
    weir_batch__tool_append(b, &g->tools, tool, in, frag);
    tool->is_pending = tool->is_pending || has_unsent(tool) || frag->args != WEIR_JSON_NONE;
    if (tool->state == TOOL_HELD) {
        g->n_wait_bytes += weir_batch__tool_bytes(tool) - before;
        bool is_attempt = frag->args != WEIR_JSON_NONE && weir_argscan_is_container(&tool->scan) &&
                          !weir_argscan_is_closed(&tool->scan);
        weir_batch__counts(b)->tool_incomplete_attempts += is_attempt;
    }
    return is_plain;
}

/* How many of those that wait may leave, counted from the first. */
static size_t n_releasable(struct weir_batch__gate *g, uint64_t seq, bool *is_all_new)
{
    size_t n = 0;
    *is_all_new = true;
    for (struct weir_batch__tool *tool = weir_batch__first_held(g); tool != NULL;
         tool = weir_batch__held_after(g, &tool->link)) {
        if (!weir_batch__tool_is_ready(tool)) {
            break;
        }
        *is_all_new = *is_all_new && tool->seq_new == seq;
        n++;
    }
    return n;
}

static void release_ready(struct weir_batch *b, struct weir_batch__choice *c,
                          const struct weir_batch__input *in, bool is_plain)
{
    struct weir_batch__gate *g = c->gate;
    bool is_all_new;
    size_t n = n_releasable(g, b->seq, &is_all_new);
    if (b->o.tool_call_gate != WEIR_BATCH_GATE_CLOSED || n == 0) {
        return;
    }
    struct weir_slice whole = {0};
    if (is_plain && is_all_new && n == in->n_frags && g->n_joined == 1 && !b->is_shadow) {
        whole = weir_batch__bytes(b, c, in);
    }
    weir_batch__gate_leave(b, c, n, WEIR_BATCH_TOOL_COMPLETE, whole);
}

void weir_batch__gate_expire(struct weir_batch *b, struct weir_batch__choice *c)
{
    struct weir_batch__gate *g = c->gate;
    size_t n = 0;
    size_t i = 0;
    for (struct weir_batch__tool *tool = weir_batch__first_held(g); tool != NULL;
         tool = weir_batch__held_after(g, &tool->link)) {
        i++;
        bool is_large = tool->n_args > b->o.max_tool_args_bytes;
        bool is_old = b->stamp - tool->t_first >= b->o.max_tool_hold_ms;
        n = is_large || is_old ? i : n;
    }
    if (n != 0) {
        weir_batch__gate_leave(b, c, n, WEIR_BATCH_TOOL_LIMIT, (struct weir_slice){0});
    }
    settle(b, g);
}

/* Would this chunk begin more calls than we keep track of? */
static bool is_too_many(struct weir_batch *b, struct weir_batch__gate *g,
                        const struct weir_batch__input *in)
{
    size_t n = g->tools.n;
    uint32_t last = g->last_index;
    if (n + in->n_frags <= b->o.max_tool_calls) {
        return false;
    }
    for (uint32_t i = 0; i < in->n_frags; i++) {
        const struct weir_batch__frag *frag = &b->frags[i];
        uint32_t up_index = weir_batch__frag_index(frag, &last);
        const struct weir_batch__tool *tool = weir_batch__tool_find(&g->tools, up_index);
        n += tool == NULL || is_other_call(b, tool, in, frag);
    }
    return n > b->o.max_tool_calls;
}

void weir_batch__gate_open(struct weir_batch *b, struct weir_batch__choice *c)
{
    if (c->gate != NULL && c->gate->n_waiting != 0) {
        weir_batch__gate_leave(b, c, c->gate->n_waiting, WEIR_BATCH_TOOL_LIMIT,
                               (struct weir_slice){0});
        settle(b, c->gate);
    }
}

bool weir_batch__gate_takes(const struct weir_batch *b, const struct weir_batch__choice *c,
                            const struct weir_batch__input *in)
{
    return b->o.tool_call_gate != WEIR_BATCH_GATE_OFF && in->has_tools &&
           (c->gate == NULL || !c->gate->is_overrun);
}

bool weir_batch__gate_admit(struct weir_batch *b, struct weir_batch__choice *c,
                            const struct weir_batch__input *in)
{
    if (!weir_batch__gate_takes(b, c, in)) {
        return false;
    }
    struct weir_batch__gate *g = gate_of(b, c);
    if (is_too_many(b, g, in)) {
        g->is_overrun = true;
        weir_batch__gate_open(b, c);
    }
    return !g->is_overrun;
}

/* Adds a chunk's fragments; false: the chunk cannot leave as it came. */
static bool add_frags(struct weir_batch *b, struct weir_batch__choice *c,
                      const struct weir_batch__input *in, bool is_shared)
{
    struct weir_batch__gate *g = gate_of(b, c);
    bool is_plain = !is_shared;
    weir_batch__carry_join(b, &g->carry, in, is_shared);
    g->n_joined++;
    for (uint32_t i = 0; i < in->n_frags; i++) {
        is_plain = add_frag(b, g, in, &b->frags[i]) && is_plain;
    }
    weir_batch__gate_forward(b, c, in, is_plain);
    if (b->o.tool_gate_emit_head) {
        weir_batch__gate_heads(b, c);
    }
    return is_plain;
}

bool weir_batch__gate_add(struct weir_batch *b, struct weir_batch__choice *c,
                          const struct weir_batch__input *in, bool is_shared)
{
    bool is_plain = add_frags(b, c, in, is_shared);
    release_ready(b, c, in, is_plain);
    weir_batch__gate_expire(b, c);
    struct weir_batch__gate *g = c->gate;
    bool is_absorbed = g->n_waiting == 0 && g->n_joined != 0;
    if (is_absorbed) {
        weir_batch__carry_unload(&g->carry);
        g->n_joined = 0;
    }
    return !is_absorbed;
}

void weir_batch__gate_add_last(struct weir_batch *b, struct weir_batch__choice *c,
                               const struct weir_batch__input *in)
{
    (void)add_frags(b, c, in, true);
    weir_batch__gate_finish(b, c, WEIR_BATCH_FINISH);
    settle(b, c->gate);
}

/* Drops what is not valid, if that is the policy; true if something not valid stays. */
static bool weed(struct weir_batch *b, struct weir_batch__gate *g, bool is_drop)
{
    bool has_invalid = false;
    for (struct weir_batch__tool *tool = weir_batch__first_held(g), *next; tool != NULL;
         tool = next) {
        next = weir_batch__held_after(g, &tool->link);
        if (weir_argscan_is_valid(&tool->scan) || weir_batch__tool_is_blank(tool)) {
            continue;
        }
        if (is_drop) {
            weir_batch__counts(b)->tool_incomplete_dropped++;
            weir_batch__gate_forget(b, g, tool);
        } else {
            has_invalid = true;
        }
    }
    return has_invalid;
}

static void release_all(struct weir_batch *b, struct weir_batch__choice *c,
                        enum weir_batch_reason why, bool is_drop)
{
    struct weir_batch__gate *g = c->gate;
    bool has_invalid = weed(b, g, is_drop);
    weir_batch__gate_leave(b, c, g->n_waiting, has_invalid ? WEIR_BATCH_TOOL_INCOMPLETE : why,
                           (struct weir_slice){0});
    settle(b, g);
}

void weir_batch__gate_finish(struct weir_batch *b, struct weir_batch__choice *c,
                             enum weir_batch_reason why)
{
    if (c->gate != NULL && c->gate->n_waiting != 0) {
        release_all(b, c, why, b->o.on_incomplete == WEIR_BATCH_DROP);
    }
}

void weir_batch__gate_abort(struct weir_batch *b, struct weir_batch__choice *c,
                            enum weir_batch_reason why)
{
    struct weir_batch__gate *g = c->gate;
    if (g == NULL || g->n_waiting == 0) {
        return;
    }
    if (why != WEIR_BATCH_NO_REASON && b->o.tool_gate_on_abort == WEIR_BATCH_RELEASE) {
        release_all(b, c, why, false);
        return;
    }
    struct weir_batch_counts *counts = weir_batch__counts(b);
    uint64_t *count =
        why == WEIR_BATCH_NO_REASON ? &counts->tool_discarded : &counts->tool_abort_dropped;
    for (struct weir_batch__tool *tool = weir_batch__first_held(g), *next; tool != NULL;
         tool = next) {
        next = weir_batch__held_after(g, &tool->link);
        ++*count;
        weir_batch__gate_forget(b, g, tool);
    }
    weir_batch__carry_unload(&g->carry);
    settle(b, g);
}

bool weir_batch__gate_deadline(const struct weir_batch *b, const struct weir_batch__gate *g,
                               uint64_t *at_ms)
{
    if (g->n_waiting == 0) {
        return false;
    }
    const struct weir_batch__tool *oldest =
        weir_batch__held_after(g, (struct weir_list *)&g->tools.list);
    *at_ms = oldest->t_first + b->o.max_tool_hold_ms;
    return true;
}
