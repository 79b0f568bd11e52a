/*
 * The way out of the gate: which calls leave, in which chunks, and what is remembered of them.
 */
#include "base/mem.h"
#include "emit/batch_int.h"

/* The first call that waits behind `link`, or NULL. */
struct weir_batch__tool *weir_batch__held_after(const struct weir_batch__gate *g,
                                                struct weir_list *link)
{
    for (link = link->next; link != &g->tools.list; link = link->next) {
        if (weir_batch__tool_at(link)->state == TOOL_HELD) {
            return weir_batch__tool_at(link);
        }
    }
    return NULL;
}

struct weir_batch__tool *weir_batch__first_held(struct weir_batch__gate *g)
{
    return g->n_waiting != 0 ? weir_batch__held_after(g, &g->tools.list) : NULL;
}

/* Every change of a waiting call goes through here, so that the sum of bytes stays right. */
static void set_state(struct weir_batch__gate *g, struct weir_batch__tool *tool,
                      enum weir_batch__tool_state state)
{
    if (tool->state == TOOL_HELD && state != TOOL_HELD) {
        g->n_waiting--;
        g->n_wait_bytes -= weir_batch__tool_bytes(tool);
    }
    tool->state = state;
}

void weir_batch__gate_forget(struct weir_batch *b, struct weir_batch__gate *g,
                             struct weir_batch__tool *tool)
{
    b->n_retained -= tool->is_retained ? tool->n_args : 0;
    set_state(g, tool, TOOL_RELEASED);
    weir_batch__tool_free(&g->tools, tool);
}

/* The entries collected leave as one chunk, or as `whole`, when they are that chunk as it came. */
static void emit_entries(struct weir_batch *b, struct weir_batch__choice *c,
                         enum weir_batch_reason why, struct weir_slice whole)
{
    struct weir_batch__gate *g = c->gate;
    struct weir_batch__out out = {
        .why = why,
        .data = whole,
        .sse_id = weir_buf_slice(&g->carry.sse_id),
        .is_guarded = g->carry.found.is_there,
        .since = b->stamp,
    };
    if (b->n_used == 0) {
        return;
    }
    if (whole.n == 0 && !b->is_shadow) {
        out.data = weir_batch__compose_tools(b, c, &g->carry, weir_buf_slice(&b->entries));
    }
    weir_batch__out(b, &out);
    weir_batch__empty(&b->entries);
    b->n_used = 0;
    weir_batch__carry_unload(&g->carry);
    g->n_joined = 0;
}

static bool is_used(const struct weir_batch *b, uint32_t index)
{
    for (size_t i = 0; i < b->n_used; i++) {
        if (b->used[i] == index) {
            return true;
        }
    }
    return false;
}

static void write_entry(struct weir_batch *b, struct weir_batch__gate *g,
                        struct weir_batch__tool *tool, bool is_head)
{
    size_t before = weir_batch__tool_bytes(tool);
    if (b->n_used == b->cap_used) {
        b->cap_used = b->cap_used == 0 ? 8 : b->cap_used * 2;
        b->used = weir_mem_realloc(b->used, b->cap_used * sizeof *b->used);
    }
    b->used[b->n_used++] = tool->index;
    if (!b->is_shadow) {
        weir_batch__put(&b->entries, b->n_used != 1 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        weir_batch__write_tool(&b->entries, tool, is_head);
    }
    tool->is_id_sent = tool->is_id_sent || tool->has_id;
    tool->is_name_sent = tool->is_name_sent || tool->has_name;
    tool->is_type_sent = tool->is_type_sent || tool->has_type;
    weir_members_clear(&tool->more);
    weir_members_clear(&tool->function_more);
    tool->is_pending = false;
    if (tool->state == TOOL_HELD) {
        g->n_wait_bytes -= before - weir_batch__tool_bytes(tool);
    }
}

bool weir_batch__tool_is_ready(const struct weir_batch__tool *tool)
{
    bool is_named = tool->is_continuation || (tool->has_id && tool->has_name);
    return is_named && weir_argscan_is_closed(&tool->scan) && weir_argscan_is_valid(&tool->scan) &&
           !weir_argscan_is_placeholder(&tool->scan);
}

/* A continuation that has brought nothing but white space. */
bool weir_batch__tool_is_blank(const struct weir_batch__tool *tool)
{
    return tool->is_continuation && tool->scan.first == 0;
}

/* Has the same call left already? */
static bool is_duplicate(struct weir_batch *b, const struct weir_batch__gate *g,
                         const struct weir_batch__tool *tool)
{
    const struct weir_list *head = &g->tools.list;
    for (struct weir_list *link = head->next; link != head; link = link->next) {
        const struct weir_batch__tool *other = weir_batch__tool_at(link);
        bool is_same = other != tool && other->is_retained &&
                       weir_batch__tool_is_id(b, tool, other) &&
                       (!tool->has_name || tool->name_hash == other->name_hash);
        if (is_same && weir_batch__tool_same_args(b, tool, other)) {
            return true;
        }
    }
    return false;
}

/* Drops a call that only repeats one that left, or brings nothing; true if it is gone. */
static bool drop_repeat(struct weir_batch *b, struct weir_batch__gate *g,
                        struct weir_batch__tool *tool)
{
    struct weir_batch_counts *counts = weir_batch__counts(b);
    bool is_call = !tool->is_continuation || tool->is_repeat;
    if (weir_batch__tool_is_blank(tool)) {
        counts->tool_trailing_space += tool->n_args != 0;
    } else if (is_call && tool->n_args != 0 && is_duplicate(b, g, tool)) {
        counts->tool_dup_dropped++;
    } else {
        counts->tool_post_close += tool->is_repeat;
        return false;
    }
    weir_batch__gate_forget(b, g, tool);
    return true;
}

static void tally(struct weir_batch *b, const struct weir_batch__tool *tool,
                  enum weir_batch_reason why)
{
    struct weir_batch_counts *counts = weir_batch__counts(b);
    bool is_valid = weir_argscan_is_valid(&tool->scan);
    if (why == WEIR_BATCH_TOOL_COMPLETE) {
        counts->tool_released++;
    } else if (why == WEIR_BATCH_TOOL_LIMIT) {
        counts->tool_limited++;
    } else if (is_valid) {
        counts->tool_finished++;
    } else {
        counts->tool_incomplete_released++;
    }
    weir_batch_histogram_add(&counts->tool_hold_ms, weir_batch_hold_bounds_ms,
                             b->stamp - tool->t_first);
}

/* It has left: remembered, with its arguments if it is whole and there is room. */
static void retire(struct weir_batch *b, struct weir_batch__gate *g, struct weir_batch__tool *tool,
                   enum weir_batch__tool_state state)
{
    if (state == TOOL_RELEASED && tool->is_continuation) {
        weir_batch__gate_forget(b, g, tool); /* the call itself is remembered already */
        return;
    }
    set_state(g, tool, state);
    bool has_room = b->n_retained + tool->n_args <= b->o.max_tool_args_bytes;
    tool->is_retained = state == TOOL_RELEASED && has_room;
    if (tool->is_retained) {
        b->n_retained += tool->n_args;
    } else {
        weir_buf_dispose(&tool->args);
    }
}

/* The first `n` calls that wait leave, in one chunk if no index is in it twice. */
void weir_batch__gate_leave(struct weir_batch *b, struct weir_batch__choice *c, size_t n,
                            enum weir_batch_reason why, struct weir_slice whole)
{
    struct weir_batch__gate *g = c->gate;
    bool is_limit = why == WEIR_BATCH_TOOL_LIMIT;
    for (struct weir_batch__tool *tool = weir_batch__first_held(g), *next; tool != NULL && n > 0;
         n--) {
        next = weir_batch__held_after(g, &tool->link);
        if (drop_repeat(b, g, tool)) {
            whole.n = 0;
        } else {
            if (is_used(b, tool->index)) {
                emit_entries(b, c, why, (struct weir_slice){0});
                whole.n = 0;
            }
            tally(b, tool, why);
            write_entry(b, g, tool, false);
            retire(b, g, tool,
                   is_limit && !weir_batch__tool_is_ready(tool) ? TOOL_OPEN : TOOL_RELEASED);
        }
        tool = next;
    }
    emit_entries(b, c, why, whole);
}

/* Fragments of calls that reached a limit. */
void weir_batch__gate_forward(struct weir_batch *b, struct weir_batch__choice *c,
                              const struct weir_batch__input *in, bool is_plain)
{
    struct weir_batch__gate *g = c->gate;
    const struct weir_list *head = &g->tools.list;
    for (struct weir_list *link = head->next; link != head; link = link->next) {
        struct weir_batch__tool *tool = weir_batch__tool_at(link);
        if (tool->state == TOOL_OPEN && tool->is_pending) {
            if (is_used(b, tool->index)) {
                emit_entries(b, c, WEIR_BATCH_TOOL_LIMIT, (struct weir_slice){0});
            }
            write_entry(b, g, tool, false);
            weir_buf_clear(&tool->args);
        }
    }
    bool is_whole_chunk = is_plain && b->n_used == in->n_frags && g->n_joined == 1;
    struct weir_slice whole = {0};
    if (is_whole_chunk && !b->is_shadow) {
        whole = weir_batch__bytes(b, c, in);
    }
    emit_entries(b, c, WEIR_BATCH_TOOL_LIMIT, whole);
}

/* Shows id and name of calls at once, in their order. */
void weir_batch__gate_heads(struct weir_batch *b, struct weir_batch__choice *c)
{
    struct weir_batch__gate *g = c->gate;
    struct weir_batch__tool *tool = weir_batch__first_held(g);
    for (; tool != NULL; tool = weir_batch__held_after(g, &tool->link)) {
        if (tool->is_continuation || tool->is_name_sent) {
            continue;
        }
        if (!tool->has_id || !tool->has_name) {
            return;
        }
        write_entry(b, g, tool, true);
        weir_batch__counts(b)->tool_heads++;
        emit_entries(b, c, WEIR_BATCH_TOOL_HEAD, (struct weir_slice){0});
    }
}
