/*
 * What is done with a chunk. The chunk as a whole is looked at first (the K rules), then each of
 * its choices (the P rules); the first rule that fits decides:
 *
 *   K1  no JSON, or no choices array       flush all, forward
 *   K2  no choices in it                   flush all, forward
 *   K3  unknown top-level members          flush all, forward; tool calls to the gate
 *   K4  several choices                    one by one
 *
 *   P1  no delta                           flush, forward
 *   P2  finish_reason                      flush, open the gate, forward
 *   P3  a role not seen before             flush, forward
 *   P4  the role again                     perhaps taken out
 *   P5  what nobody can merge              flush, forward
 *   P6  more than one channel              flush, forward
 *   P7  only tool calls                    gate, forward or batch
 *   P8  one text channel                   batch
 *   P9  nothing                            absorb
 */
#include "base/mem.h"
#include "emit/batch_int.h"

static void forward_chunk(struct weir_batch *b, const struct weir_batch__input *in,
                          struct weir_slice data)
{
    struct weir_batch__out out = {
        .why = WEIR_BATCH_PASSTHROUGH,
        .data = data,
        .sse_id = in->ev->sse_id,
        .json = data.p == in->ev->data.p ? in->j : NULL,
        .is_guarded = in->ev->is_guarded,
        .n_cp = in->all_cp,
        .since = b->now,
    };
    weir_batch__out(b, &out);
}

static void forward_all(struct weir_batch *b, const struct weir_batch__input *in,
                        enum weir_batch_reason why)
{
    weir_batch__pack_flush_all(b, why);
    forward_chunk(b, in, in->ev->data);
}

static void on_opaque(struct weir_batch *b, const struct weir_batch__input *in,
                      enum weir_batch_reason why)
{
    weir_batch__counts(b)->opaque_chunks++;
    forward_all(b, in, why);
}

/* A chunk that has choices but is not followed: it may carry more of calls that wait. */
static void on_unfollowed(struct weir_batch *b, const struct weir_batch__input *in)
{
    weir_batch__pack_flush_all(b, WEIR_BATCH_NONTEXT);
    for (size_t i = 0; i < b->n_choices; i++) {
        weir_batch__gate_open(b, b->choices[i]);
    }
    on_opaque(b, in, WEIR_BATCH_NONTEXT);
}

static struct weir_batch__choice *add_choice(struct weir_batch *b, uint32_t index)
{
    if (b->n_choices == b->o.max_choices) {
        return NULL;
    }
    if (b->n_choices == b->cap_choices) {
        b->cap_choices = b->cap_choices == 0 ? 2 : b->cap_choices * 2;
        b->choices = weir_mem_realloc(b->choices, b->cap_choices * sizeof(b->choices[0]));
    }
    struct weir_batch__choice *c = weir_mem_zalloc(sizeof *c);
    weir_batch__carry_init(&c->pack.carry, b->is_shadow);
    c->index = index;
    c->pack.choice = c;
    b->choices[b->n_choices++] = c;
    return c;
}

static struct weir_batch__choice *choice_for(struct weir_batch *b, uint32_t index)
{
    if (b->last != NULL && b->last->index == index) {
        return b->last;
    }
    for (size_t i = 0; i < b->n_choices; i++) {
        if (b->choices[i]->index == index) {
            return b->last = b->choices[i];
        }
    }
    struct weir_batch__choice *c = add_choice(b, index);
    b->last = c != NULL ? c : b->last;
    return c;
}

static void note_role(struct weir_batch__choice *c, const struct weir_batch__input *in)
{
    if (in->role == WEIR_JSON_NONE || weir_json_type(in->j, in->role) != WEIR_JSON_STRING) {
        return;
    }
    struct weir_slice role = weir_json_raw(in->j, in->role);
    weir_buf_clear(&c->role);
    if (role.n <= WEIR_BATCH__NAME_MOST_BYTES) {
        weir_batch__put(&c->role, role);
    }
}

static bool is_role_new(const struct weir_batch__choice *c, const struct weir_batch__input *in)
{
    return in->role != WEIR_JSON_NONE && weir_json_type(in->j, in->role) == WEIR_JSON_STRING &&
           !weir_slice_eq(weir_json_raw(in->j, in->role), weir_buf_slice(&c->role));
}

/* The choice at hand leaves as it came, but for what is to be stripped. */
static void forward(struct weir_batch *b, struct weir_batch__choice *c,
                    const struct weir_batch__input *in, enum weir_batch_reason why)
{
    struct weir_batch__out out = {
        .why = why,
        .sse_id = in->ev->sse_id,
        .is_guarded = in->ev->is_guarded,
        .n_cp = in->n_cp,
        .since = b->now,
    };
    weir_batch__note_text(b, c, in);
    if (!b->is_shadow) {
        out.data = weir_batch__bytes(b, c, in);
        out.json = out.data.p == in->ev->data.p ? in->j : NULL;
    }
    weir_batch__out(b, &out);
}

/* The same, its tool calls to the gate if that takes them. */
static void forward_split(struct weir_batch *b, struct weir_batch__choice *c,
                          struct weir_batch__input *in, enum weir_batch_reason why)
{
    in->strip_tools = weir_batch__gate_admit(b, c, in);
    if (in->has_odd_tools) {
        weir_batch__gate_open(b, c);
    }
    forward(b, c, in, why);
    if (in->strip_tools) {
        (void)weir_batch__gate_add(b, c, in, true);
    }
}

static void on_finish(struct weir_batch *b, struct weir_batch__choice *c,
                      struct weir_batch__input *in)
{
    weir_batch__pack_flush(b, c, WEIR_BATCH_FINISH);
    in->strip_tools = weir_batch__gate_admit(b, c, in);
    if (in->strip_tools) {
        weir_batch__gate_add_last(b, c, in);
    } else {
        weir_batch__gate_finish(b, c, WEIR_BATCH_FINISH);
    }
    note_role(c, in);
    forward(b, c, in, WEIR_BATCH_PASSTHROUGH);
    c->is_finished = true;
}

static bool has_repeated_index(const struct weir_batch *b, const struct weir_batch__choice *c,
                               const struct weir_batch__input *in)
{
    uint32_t last = c->last_tool_index;
    for (uint32_t i = 0; i < in->n_frags; i++) {
        uint32_t index = weir_batch__frag_index(&b->frags[i], &last);
        uint32_t again = index;
        for (uint32_t k = i + 1; k < in->n_frags; k++) {
            if (weir_batch__frag_index(&b->frags[k], &again) == index) {
                return true;
            }
        }
    }
    return false;
}

static void on_tools(struct weir_batch *b, struct weir_batch__choice *c,
                     struct weir_batch__input *in)
{
    if (weir_batch__gate_admit(b, c, in)) {
        weir_batch__pack_flush(b, c, WEIR_BATCH_TOOL_CALL);
        bool is_kept = weir_batch__gate_add(b, c, in, false);
        bool has_more = in->n_extras != 0 || !weir_batch__is_null(in->j, in->top[FIELD_USAGE]);
        if (!is_kept && has_more) {
            in->strip_tools = true;
            forward(b, c, in, WEIR_BATCH_PASSTHROUGH);
        }
        return;
    }
    if (!b->o.flush_on_tool_call) {
        weir_batch__pack_add(b, c, in, CHANNEL_TOOL);
        return;
    }
    weir_batch__pack_flush(b, c, WEIR_BATCH_TOOL_CALL);
    if (has_repeated_index(b, c, in)) {
        weir_batch__pack_fold(b, c, in);
        return;
    }
    for (uint32_t i = 0; i < in->n_frags; i++) {
        (void)weir_batch__frag_index(&b->frags[i], &c->last_tool_index);
    }
    forward(b, c, in, WEIR_BATCH_PASSTHROUGH);
}

/* A chunk without text joins whatever waits, unless it is of another answer or has findings of
 * another channel. */
static void flush_conflicting(struct weir_batch *b, struct weir_batch__choice *c,
                              const struct weir_batch__input *in)
{
    if (!c->pack.is_open) {
        return;
    }
    enum weir_batch_reason why = weir_batch__carry_conflict(b, &c->pack.carry, in);
    if (why != WEIR_BATCH_ENVELOPE) {
        why = weir_batch__found_conflict(b, &c->pack.carry, in);
    }
    if (why != WEIR_BATCH_NO_REASON) {
        weir_batch__pack_flush(b, c, why);
    }
}

static void on_nothing(struct weir_batch *b, struct weir_batch__choice *c,
                       struct weir_batch__input *in)
{
    if (in->n_extras != 0) {
        weir_batch__pack_flush(b, c, WEIR_BATCH_NONTEXT);
        forward(b, c, in, WEIR_BATCH_PASSTHROUGH);
        return;
    }
    flush_conflicting(b, c, in);
    bool has_usage =
        !weir_batch__is_null(in->j, in->top[FIELD_USAGE]) && (!in->is_split || in->is_last);
    if (c->pack.is_open) {
        weir_batch__pack_absorb(b, c, in);
    } else if (has_usage || weir_findings_has_results(in->j, &in->found)) {
        /* The last word on usage may come on such a chunk, or a finding: it is not nothing. */
        forward(b, c, in, WEIR_BATCH_PASSTHROUGH);
    } else {
        weir_batch__counts(b)->absorbed_empty++;
    }
}

/* Logprobs of a token that is only part of a character come with empty text. */
static enum weir_batch__channel empty_channel(const struct weir_batch__choice *c,
                                              const struct weir_batch__input *in)
{
    if (c->pack.is_open) {
        return c->pack.channel;
    }
    if (in->delta == WEIR_JSON_NONE) {
        return CHANNEL_TEXT;
    }
    if (in->content == WEIR_JSON_NONE && in->refusal != WEIR_JSON_NONE) {
        return CHANNEL_REFUSAL;
    }
    return CHANNEL_CONTENT;
}

/* May text that comes with the role be joined? A model that says all of it in one delta gets back
 * one, although the guard cut it. */
static bool may_role_wait(const struct weir_batch *b, const struct weir_batch__choice *c,
                          const struct weir_batch__input *in)
{
    return weir_batch__is_spent(b, c) && in->channel != CHANNEL_NONE && in->n_channels == 1 &&
           !in->is_odd && !in->has_tools;
}

static void on_delta(struct weir_batch *b, struct weir_batch__choice *c,
                     struct weir_batch__input *in)
{
    bool is_new = is_role_new(c, in);
    bool has_found_tools = in->has_tools && weir_findings_has_results(in->j, &in->found);
    if (is_new) {
        weir_batch__pack_flush(b, c, WEIR_BATCH_NONTEXT);
        note_role(c, in);
    }
    if (is_new && !may_role_wait(b, c, in)) {
        forward_split(b, c, in, WEIR_BATCH_ROLE);
        return;
    }
    in->strip_role = !is_new && in->role != WEIR_JSON_NONE &&
                     b->o.role_policy == WEIR_BATCH_ROLE_FIRST &&
                     weir_json_type(in->j, in->role) == WEIR_JSON_STRING;
    if (in->is_odd || in->n_channels > 1 || has_found_tools) {
        weir_batch__pack_flush(b, c, in->is_odd ? WEIR_BATCH_NONTEXT : WEIR_BATCH_CHANNEL_SWITCH);
        forward_split(b, c, in, WEIR_BATCH_PASSTHROUGH);
    } else if (in->has_tools) {
        on_tools(b, c, in);
    } else if (in->channel != CHANNEL_NONE) {
        weir_batch__pack_add(b, c, in, in->channel);
    } else if (in->has_logprobs) {
        weir_batch__pack_add(b, c, in, empty_channel(c, in));
    } else {
        on_nothing(b, c, in);
    }
}

/* Text that came, whatever will be done with it. */
static void note_arrival(struct weir_batch *b, const struct weir_batch__input *in)
{
    if (in->n_cp == 0) {
        return;
    }
    weir_batch_histogram_add(&b->stats.in_chars, weir_batch_chars_bounds, in->n_cp);
    if (!b->stats.has_text) {
        b->stats.has_text = true;
        b->stats.first_text_ms = b->now;
    }
}

static void on_choice(struct weir_batch *b, struct weir_batch__choice *c,
                      struct weir_batch__input *in)
{
    bool has_delta = in->delta != WEIR_JSON_NONE || !weir_batch__is_null(in->j, in->text);
    note_arrival(b, in);
    if (in->is_finish) {
        on_finish(b, c, in);
        return;
    }
    weir_batch__counts(b)->post_finish_deltas += c->is_finished && has_delta;
    if (!has_delta) {
        weir_batch__pack_flush(b, c, WEIR_BATCH_NONTEXT);
        forward(b, c, in, WEIR_BATCH_PASSTHROUGH);
        return;
    }
    on_delta(b, c, in);
}

/* Are all choices of the chunk ones that we can follow? */
static bool can_follow(struct weir_batch *b, struct weir_batch__input *in)
{
    uint32_t choices = in->top[FIELD_CHOICES];
    uint32_t end = in->j->nodes[choices].next;
    if (in->j->nodes[choices].n > b->o.max_choices) {
        return false;
    }
    for (uint32_t at = choices + 1; at < end; at = in->j->nodes[at].next) {
        if (!weir_batch__read_choice(b, in, at) || choice_for(b, in->index) == NULL) {
            return false;
        }
    }
    return true;
}

static void on_choices(struct weir_batch *b, struct weir_batch__input *in)
{
    uint32_t choices = in->top[FIELD_CHOICES];
    uint32_t end = in->j->nodes[choices].next;
    if (!can_follow(b, in)) {
        on_unfollowed(b, in);
        return;
    }
    in->is_split = in->j->nodes[choices].n > 1;
    if (!in->is_split) {
        on_choice(b, b->last, in); /* just read */
        return;
    }
    for (uint32_t at = choices + 1; at < end; at = in->j->nodes[at].next) {
        (void)weir_batch__read_choice(b, in, at);
        b->seq++;
        in->is_last = in->j->nodes[at].next == end;
        on_choice(b, choice_for(b, in->index), in);
    }
}

/* Steps through the choices of a barrier; each step needs the choice read again. */
typedef void (*barrier_step_fn)(struct weir_batch *b, struct weir_batch__choice *c,
                                struct weir_batch__input *in);

static void each_choice(struct weir_batch *b, struct weir_batch__input *in, barrier_step_fn step)
{
    uint32_t choices = in->top[FIELD_CHOICES];
    uint32_t end = in->j->nodes[choices].next;
    for (uint32_t at = choices + 1; at < end; at = in->j->nodes[at].next) {
        (void)weir_batch__read_choice(b, in, at);
        b->seq++;
        step(b, choice_for(b, in->index), in);
    }
}

static void barrier_admit(struct weir_batch *b, struct weir_batch__choice *c,
                          struct weir_batch__input *in)
{
    (void)weir_batch__gate_admit(b, c, in);
    if (in->has_odd_tools) {
        weir_batch__gate_open(b, c);
    }
    note_role(c, in);
    weir_batch__note_text(b, c, in);
    note_arrival(b, in);
    in->all_cp += in->n_cp;
}

static void barrier_finish(struct weir_batch *b, struct weir_batch__choice *c,
                           struct weir_batch__input *in)
{
    if (!in->is_finish) {
        return;
    }
    c->is_finished = true;
    if (weir_batch__gate_takes(b, c, in)) {
        weir_batch__gate_add_last(b, c, in);
    } else {
        weir_batch__gate_finish(b, c, WEIR_BATCH_FINISH);
    }
}

static void barrier_cut(struct weir_batch *b, struct weir_batch__choice *c,
                        struct weir_batch__input *in)
{
    if (weir_batch__gate_takes(b, c, in)) {
        weir_batch__edit_cut_tools(b, in);
    }
}

static void barrier_gate(struct weir_batch *b, struct weir_batch__choice *c,
                         struct weir_batch__input *in)
{
    if (!in->is_finish && weir_batch__gate_takes(b, c, in)) {
        (void)weir_batch__gate_add(b, c, in, true);
    }
}

static void on_barrier(struct weir_batch *b, struct weir_batch__input *in)
{
    if (!can_follow(b, in)) {
        on_unfollowed(b, in);
        return;
    }
    weir_batch__pack_flush_all(b, WEIR_BATCH_NONTEXT);
    each_choice(b, in, barrier_admit);
    each_choice(b, in, barrier_finish);
    if (in->j->nodes[in->top[FIELD_CHOICES]].n == 1) {
        in->strip_tools = weir_batch__gate_takes(b, b->last, in);
        forward_chunk(b, in, weir_batch__bytes(b, b->last, in));
    } else {
        weir_batch__edit_start(b, in);
        each_choice(b, in, barrier_cut);
        forward_chunk(b, in, weir_batch__edit_end(b, in));
    }
    each_choice(b, in, barrier_gate);
}

void weir_batch__on_block(struct weir_batch *b, uint32_t choice)
{
    for (size_t i = 0; i < b->n_choices; i++) {
        if (b->choices[i]->index == choice) {
            weir_batch__pack_flush(b, b->choices[i], WEIR_BATCH_FINISH);
        }
    }
}

void weir_batch__on_chunk(struct weir_batch *b, const struct weir_event *ev)
{
    struct weir_json parsed;
    struct weir_batch__input in;
    in.ev = ev;
    in.j = ev->json;
    in.is_split = in.is_last = false;
    in.all_cp = 0;
    in.found.is_there = false;
    b->seq++;
    if (in.j == NULL) {
        bool is_json =
            !ev->is_opaque && weir_json_parse_reuse(&parsed, ev->data, NULL, &b->tape, NULL) == 0;
        in.j = is_json ? &parsed : NULL;
    }
    if (in.j == NULL || ev->is_opaque) {
        weir_members_clear(&b->stamps);
        in.j = NULL;
        on_opaque(b, &in, WEIR_BATCH_NONTEXT);
        return;
    }
    switch (weir_batch__read_top(b, &in)) {
    case CLASS_OPAQUE:
        on_opaque(b, &in, WEIR_BATCH_NONTEXT);
        break;
    case CLASS_BROKEN:
        on_unfollowed(b, &in);
        break;
    case CLASS_ERROR:
        on_opaque(b, &in, WEIR_BATCH_ERROR);
        break;
    case CLASS_USAGE:
        forward_all(b, &in, WEIR_BATCH_USAGE);
        break;
    case CLASS_EMPTY:
        forward_all(b, &in, WEIR_BATCH_NONTEXT);
        break;
    case CLASS_BARRIER:
        on_barrier(b, &in);
        break;
    case CLASS_CHOICES:
        on_choices(b, &in);
        break;
    }
}
