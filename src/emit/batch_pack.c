/*
 * A pack is what one choice has waiting: text of one channel, or tool fragments where these are
 * batched. It opens with the first delta, takes further ones that fit, and leaves whole, by one of
 * these, the first that applies:
 *
 *   after a delta:  first, size, sentence, latency 0        (adapter)
 *                   first, max_partial, boundary, size      (business)
 *   by time:        latency, idle; first, where a guard is still cutting a delta of the model
 *   by need:        something comes that may not overtake it (the caller of flush says what)
 *
 * While the downstream is blocked the first two only mark it deferred. A delta that would take it
 * over max_batch_bytes does not fit: the pack leaves without it (size), blocked or not.
 */
#include "emit/batch_int.h"

static uint32_t channel_bit(enum weir_batch__channel channel)
{
    return UINT32_C(1) << channel;
}

static bool is_reasoning(enum weir_batch__channel channel)
{
    return channel >= CHANNEL_REASONING && channel <= CHANNEL_REASONING_BOTH;
}

static size_t fence_of(enum weir_batch__channel channel)
{
    return is_reasoning(channel) ? 2 : (channel == CHANNEL_REFUSAL ? 1 : 0);
}

static uint32_t latency_ms(const struct weir_batch *b, enum weir_batch__channel channel)
{
    bool has_own = is_reasoning(channel) && b->o.reasoning_max_latency_ms != WEIR_BATCH_INHERIT;
    return has_own ? b->o.reasoning_max_latency_ms : b->o.max_latency_ms;
}

/* How many code points make a batch: the first ones may be smaller (the ramp). */
static uint64_t threshold(const struct weir_batch *b, const struct weir_batch__choice *c,
                          enum weir_batch__channel channel)
{
    bool has_own = is_reasoning(channel) && b->o.reasoning_min_chars != WEIR_BATCH_INHERIT;
    uint64_t full = has_own ? b->o.reasoning_min_chars : b->o.min_chars_per_emit;
    if (b->o.ramp_factor < 2) {
        return full;
    }
    uint64_t step = b->o.ramp_initial_chars;
    for (uint32_t k = 0; k < c->n_flushes && step < full; k++) {
        step *= b->o.ramp_factor;
    }
    return step < full ? step : full;
}

static enum weir_batch_reason adapter_trigger(const struct weir_batch *b,
                                              const struct weir_batch__choice *c)
{
    const struct weir_batch__pack *p = &c->pack;
    if (p->n_cp >= threshold(b, c, p->channel) || p->n_bytes >= b->o.max_batch_bytes) {
        return WEIR_BATCH_SIZE;
    }
    if (b->o.flush_on_sentence && weir_sentence_is_end(&p->sentence)) {
        return WEIR_BATCH_SENTENCE;
    }
    return WEIR_BATCH_NO_REASON;
}

static bool is_boundary(const struct weir_batch *b, const struct weir_batch__choice *c)
{
    const struct weir_batch__pack *p = &c->pack;
    if (b->o.boundary == WEIR_BATCH_BOUNDARY_NONE || !weir_sentence_is_end(&p->sentence)) {
        return false;
    }
    return b->o.boundary == WEIR_BATCH_BOUNDARY_SENTENCE || weir_sentence_is_line(&p->sentence) ||
           !weir_fence_is_open(&c->fences[fence_of(p->channel)]);
}

static enum weir_batch_reason business_trigger(const struct weir_batch *b,
                                               const struct weir_batch__choice *c)
{
    const struct weir_batch__pack *p = &c->pack;
    if (b->o.max_partial_count != 0 && p->n_inputs >= b->o.max_partial_count) {
        return WEIR_BATCH_MAX_PARTIAL;
    }
    if (p->n_cp >= b->o.min_delta_chars && is_boundary(b, c)) {
        return WEIR_BATCH_BOUNDARY;
    }
    return p->n_bytes >= b->o.max_batch_bytes ? WEIR_BATCH_SIZE : WEIR_BATCH_NO_REASON;
}

static bool is_first(const struct weir_batch *b, const struct weir_batch__choice *c)
{
    return b->o.first_emit_immediate && c->pack.channel != CHANNEL_TOOL &&
           (c->firsts & channel_bit(c->pack.channel)) == 0;
}

/* As much has left as the model said: what a guard cut from one of its deltas waits for its time,
 * the first text of a channel only for the rest of its delta, which comes in the same moment. */
static enum weir_batch_reason spent_trigger(const struct weir_batch *b, struct weir_batch__pack *p,
                                            bool is_first_text)
{
    if (is_first_text && p->soon_at == 0) {
        p->soon_at = b->now + 1;
    }
    return p->n_bytes >= b->o.max_batch_bytes ? WEIR_BATCH_SIZE : WEIR_BATCH_NO_REASON;
}

static enum weir_batch_reason trigger(const struct weir_batch *b, struct weir_batch__choice *c,
                                      bool has_text)
{
    struct weir_batch__pack *p = &c->pack;
    bool is_first_text = has_text && is_first(b, c);
    enum weir_batch_reason why;
    if (p->is_deferred) {
        return WEIR_BATCH_NO_REASON;
    }
    if (weir_batch__is_spent(b, c)) {
        why = spent_trigger(b, p, is_first_text);
    } else if (is_first_text) {
        why = WEIR_BATCH_FIRST;
    } else {
        why = b->o.stage == WEIR_BATCH_ADAPTER ? adapter_trigger(b, c) : business_trigger(b, c);
    }
    bool is_late = b->now >= p->t_first + latency_ms(b, p->channel);
    return why == WEIR_BATCH_NO_REASON && is_late ? WEIR_BATCH_LATENCY : why;
}

/* A pause this long lets a pack leave; its time-out where none does. */
static uint64_t idle_ms(const struct weir_batch *b, const struct weir_batch__pack *p)
{
    uint32_t most_ms = latency_ms(b, p->channel);
    if (b->o.idle_flush_ms == WEIR_BATCH_IDLE_AUTO) {
        return weir_pace_pause_ms(&p->choice->pace, most_ms);
    }
    return b->o.idle_flush_ms != 0 ? b->o.idle_flush_ms : most_ms;
}

bool weir_batch__pack_deadline(const struct weir_batch *b, const struct weir_batch__pack *p,
                               uint64_t *at_ms, enum weir_batch_reason *why)
{
    if (!p->is_open || p->is_deferred) {
        return false;
    }
    *at_ms = p->t_first + latency_ms(b, p->channel);
    *why = WEIR_BATCH_LATENCY;
    if (p->t_last + idle_ms(b, p) < *at_ms) {
        *at_ms = p->t_last + idle_ms(b, p);
        *why = WEIR_BATCH_IDLE;
    }
    if (p->soon_at != 0 && p->soon_at < *at_ms) {
        *at_ms = p->soon_at;
        *why = WEIR_BATCH_FIRST;
    }
    return true;
}

static void begin(struct weir_batch *b, struct weir_batch__choice *c,
                  const struct weir_batch__input *in, enum weir_batch__channel channel)
{
    struct weir_batch__pack *p = &c->pack;
    uint64_t held_ms = b->o.hold_from == WEIR_BATCH_HOLD_FIRST_TEXT ? in->ev->held_ms : 0;
    p->choice = c;
    p->is_open = true;
    p->channel = channel;
    p->seq = b->seq;
    p->t_first = b->now - (held_ms < b->now ? held_ms : b->now);
    p->sentence = (struct weir_sentence){0};
    weir_list_append(&b->open, &p->link);
    b->n_open++;
}

/* Something joins it now. */
static void touch(struct weir_batch *b, struct weir_batch__choice *c)
{
    c->pack.t_last = b->now;
    weir_pace_note(&c->pace, b->now, latency_ms(b, c->pack.channel));
}

static void close_pack(struct weir_batch *b, struct weir_batch__pack *p)
{
    weir_list_remove(&p->link);
    b->n_open--;
    p->is_open = p->is_deferred = p->is_changed = false;
    p->n_inputs = 0;
    p->n_cp = p->n_bytes = p->soon_at = 0;
    weir_batch__empty(&p->text);
    weir_batch__empty(&p->only);
    weir_batch__tools_clear(&p->tools);
    weir_batch__carry_clear(&p->carry);
    weir_batch__account(b, &p->n_held, 0);
}

static void mark_shown(struct weir_batch__choice *c, enum weir_batch__channel channel)
{
    c->firsts |= channel_bit(channel);
}

void weir_batch__pack_flush(struct weir_batch *b, struct weir_batch__choice *c,
                            enum weir_batch_reason why)
{
    struct weir_batch__pack *p = &c->pack;
    if (!p->is_open) {
        return;
    }
    struct weir_batch__out out = {
        .why = why,
        .sse_id = weir_buf_slice(&p->carry.sse_id),
        .is_guarded = p->carry.found.is_there,
        .n_cp = p->channel != CHANNEL_TOOL ? p->n_cp : 0,
        .since = p->t_first,
        .is_flush = p->channel != CHANNEL_TOOL,
    };
    if (!b->is_shadow) {
        bool is_one = p->n_inputs == 1 && !p->is_changed;
        out.data = is_one ? weir_buf_slice(&p->only) : weir_batch__compose_pack(b, p);
    }
    if (out.n_cp != 0) {
        mark_shown(c, p->channel);
    }
    c->n_flushes += why != WEIR_BATCH_PASSTHROUGH;
    weir_batch__out(b, &out);
    close_pack(b, p);
}

void weir_batch__pack_flush_all(struct weir_batch *b, enum weir_batch_reason why)
{
    struct weir_list *link;
    while ((link = weir_list_first(&b->open)) != NULL) {
        weir_batch__pack_flush(b, WEIR_LIST_ENTRY(link, struct weir_batch__pack, link)->choice,
                               why);
    }
}

void weir_batch__pack_drop(struct weir_batch *b, struct weir_batch__choice *c)
{
    if (c->pack.is_open) {
        weir_batch__counts(b)->discarded_chars += c->pack.n_cp;
        close_pack(b, &c->pack);
    }
}

void weir_batch__pack_dispose(struct weir_batch__pack *p)
{
    weir_buf_dispose(&p->text);
    weir_buf_dispose(&p->only);
    weir_batch__tools_clear(&p->tools);
    weir_batch__carry_dispose(&p->carry);
}

static void account(struct weir_batch *b, struct weir_batch__pack *p)
{
    size_t n = p->text.n + p->only.n + p->tools.n_bytes + weir_batch__carry_bytes(&p->carry);
    weir_batch__account(b, &p->n_held, n);
}

/* After something was added. */
static void settle(struct weir_batch *b, struct weir_batch__choice *c, enum weir_batch_reason why)
{
    struct weir_batch__pack *p = &c->pack;
    uint64_t at;
    enum weir_batch_reason label;
    if (why != WEIR_BATCH_NO_REASON && !b->is_blocked) {
        weir_batch__pack_flush(b, c, why);
        return;
    }
    p->is_deferred = p->is_deferred || why != WEIR_BATCH_NO_REASON;
    account(b, p);
    if (weir_batch__pack_deadline(b, p, &at, &label)) {
        weir_batch__arm(b, at);
    }
}

/* Text that came: what triggers ask about. */
static void watch_text(struct weir_batch *b, struct weir_batch__choice *c, struct weir_slice text)
{
    struct weir_batch__pack *p = &c->pack;
    bool is_markdown = b->o.boundary == WEIR_BATCH_BOUNDARY_MARKDOWN;
    p->n_bytes += text.n;
    if (b->o.flush_on_sentence || b->o.boundary != WEIR_BATCH_BOUNDARY_NONE) {
        weir_sentence_feed(&p->sentence, text);
    }
    if (is_markdown) {
        weir_fence_feed(&c->fences[fence_of(p->channel)], text);
    }
}

static void keep_text(struct weir_batch *b, struct weir_batch__choice *c,
                      const struct weir_batch__input *in)
{
    struct weir_batch__pack *p = &c->pack;
    weir_batch__carry_join(b, &p->carry, in, false);
    if (b->is_shadow) {
        return;
    }
    weir_buf_clear(&p->only);
    if (p->n_inputs == 1) {
        weir_batch__put(&p->only, weir_batch__bytes(b, c, in));
    }
    if (in->payload != WEIR_JSON_NONE) {
        weir_batch__put(&p->text, weir_batch__inner(in->j, in->payload));
    }
}

/* Leaves at once, alone: its own bytes, nothing is kept. */
static void pass_alone(struct weir_batch *b, struct weir_batch__choice *c,
                       const struct weir_batch__input *in, enum weir_batch_reason why)
{
    struct weir_batch__pack *p = &c->pack;
    struct weir_batch__out out = {
        .why = why,
        .sse_id = in->ev->sse_id,
        .is_guarded = in->ev->is_guarded,
        .n_cp = p->n_cp,
        .since = p->t_first,
        .is_flush = true,
    };
    if (!b->is_shadow) {
        out.data = weir_batch__bytes(b, c, in);
        out.json = out.data.p == in->ev->data.p ? in->j : NULL;
    }
    if (p->n_cp != 0) {
        mark_shown(c, p->channel);
    }
    c->n_flushes++;
    weir_batch__out(b, &out);
    close_pack(b, p);
}

static void add_text(struct weir_batch *b, struct weir_batch__choice *c,
                     struct weir_batch__input *in, enum weir_batch__channel channel)
{
    struct weir_batch__pack *p = &c->pack;
    bool is_new = !p->is_open;
    bool has_text = in->payload != WEIR_JSON_NONE;
    if (is_new) {
        begin(b, c, in, channel);
    }
    p->n_inputs++;
    touch(b, c);
    if (has_text) {
        p->n_cp += in->j->nodes[in->payload].n;
        watch_text(b, c, weir_batch__text(b, in->j, in->payload));
    }
    enum weir_batch_reason why = trigger(b, c, has_text);
    if (is_new && why != WEIR_BATCH_NO_REASON && !b->is_blocked) {
        pass_alone(b, c, in, why);
        return;
    }
    keep_text(b, c, in);
    settle(b, c, why);
}

/* Room for one more fragment: an open pack with the call it belongs to, or space for a new one. */
static struct weir_batch__tool *tool_for(struct weir_batch *b, struct weir_batch__choice *c,
                                         const struct weir_batch__input *in,
                                         const struct weir_batch__frag *frag)
{
    struct weir_batch__pack *p = &c->pack;
    uint32_t index = weir_batch__frag_index(frag, &c->last_tool_index);
    struct weir_batch__tool *tool = p->is_open ? weir_batch__tool_find(&p->tools, index) : NULL;
    bool is_other = tool != NULL && weir_batch__tool_differs(b, tool, in, frag);
    bool is_full = tool == NULL && p->tools.n >= b->o.max_tool_calls;
    if (is_other || is_full) {
        p->is_changed = true; /* part of this chunk may be in it */
        weir_batch__pack_flush(b, c, is_other ? WEIR_BATCH_FIELD_CHANGE : WEIR_BATCH_SIZE);
        tool = NULL;
    }
    if (!p->is_open) {
        begin(b, c, in, CHANNEL_TOOL);
    }
    return tool != NULL ? tool : weir_batch__tool_new(b, &p->tools, index);
}

static void add_tools(struct weir_batch *b, struct weir_batch__choice *c,
                      struct weir_batch__input *in)
{
    struct weir_batch__pack *p = &c->pack;
    bool is_started = false;
    bool is_cut = false;
    for (uint32_t i = 0; i < in->n_frags; i++) {
        const struct weir_batch__frag *frag = &b->frags[i];
        struct weir_batch__tool *tool = tool_for(b, c, in, frag);
        if (p->n_inputs == 0 || !is_started) {
            is_cut = is_started;
            weir_batch__carry_join(b, &p->carry, in, is_started);
            p->n_inputs++;
            is_started = true;
        }
        p->is_changed = p->is_changed || is_cut || tool->seq == b->seq;
        size_t before = tool->n_args;
        weir_batch__tool_append(b, &p->tools, tool, in, frag);
        p->n_cp += frag->args != WEIR_JSON_NONE ? in->j->nodes[frag->args].n : 0;
        p->n_bytes += tool->n_args - before;
    }
    touch(b, c);
    weir_buf_clear(&p->only);
    if (p->n_inputs == 1 && !p->is_changed && !b->is_shadow) {
        weir_batch__put(&p->only, weir_batch__bytes(b, c, in));
    }
}

/* A string's bytes, exactly only where they matter: as spelled it is never shorter than its text.
 */
static size_t bytes_of(struct weir_batch *b, const struct weir_json *j, uint32_t at, size_t room)
{
    size_t n = at != WEIR_JSON_NONE ? weir_batch__inner(j, at).n : 0;
    return n > room ? weir_batch__text(b, j, at).n : n;
}

/* Would the batch be larger with this delta than a batch may be? */
static bool overflows(struct weir_batch *b, const struct weir_batch__pack *p,
                      const struct weir_batch__input *in)
{
    size_t room = b->o.max_batch_bytes > p->n_bytes ? b->o.max_batch_bytes - p->n_bytes : 0;
    if (p->channel != CHANNEL_TOOL) {
        return bytes_of(b, in->j, in->payload, room) > room;
    }
    for (uint32_t i = 0; in->has_tools && i < in->n_frags; i++) {
        size_t n = bytes_of(b, in->j, b->frags[i].args, room);
        if (n > room) {
            return true;
        }
        room -= n;
    }
    return false;
}

static enum weir_batch_reason conflict(struct weir_batch *b, const struct weir_batch__pack *p,
                                       const struct weir_batch__input *in,
                                       enum weir_batch__channel channel)
{
    if (p->channel != channel) {
        return WEIR_BATCH_CHANNEL_SWITCH;
    }
    enum weir_batch_reason why = weir_batch__carry_conflict(b, &p->carry, in);
    return why == WEIR_BATCH_NO_REASON && overflows(b, p, in) ? WEIR_BATCH_SIZE : why;
}

void weir_batch__pack_add(struct weir_batch *b, struct weir_batch__choice *c,
                          struct weir_batch__input *in, enum weir_batch__channel channel)
{
    if (c->pack.is_open) {
        enum weir_batch_reason why = conflict(b, &c->pack, in, channel);
        if (why != WEIR_BATCH_NO_REASON) {
            weir_batch__pack_flush(b, c, why);
        }
    }
    if (channel == CHANNEL_TOOL && in->has_tools) {
        add_tools(b, c, in);
        settle(b, c, trigger(b, c, false));
    } else if (channel == CHANNEL_TOOL && c->pack.is_open) {
        weir_batch__pack_absorb(b, c, in); /* nothing but logprobs */
    } else {
        add_text(b, c, in, channel == CHANNEL_TOOL ? CHANNEL_CONTENT : channel);
    }
}

void weir_batch__pack_fold(struct weir_batch *b, struct weir_batch__choice *c,
                           struct weir_batch__input *in)
{
    add_tools(b, c, in);
    weir_batch__pack_flush(b, c, WEIR_BATCH_PASSTHROUGH);
}

void weir_batch__pack_absorb(struct weir_batch *b, struct weir_batch__choice *c,
                             struct weir_batch__input *in)
{
    c->pack.n_inputs++;
    touch(b, c);
    keep_text(b, c, in);
    settle(b, c, trigger(b, c, false));
}

static void note_channel(struct weir_batch *b, struct weir_batch__choice *c,
                         enum weir_batch__channel channel, const struct weir_slice *text)
{
    if (text->n == 0) {
        return;
    }
    mark_shown(c, channel);
    if (b->o.boundary == WEIR_BATCH_BOUNDARY_MARKDOWN) {
        weir_fence_feed(&c->fences[fence_of(channel)], *text);
    }
}

void weir_batch__note_text(struct weir_batch *b, struct weir_batch__choice *c,
                           const struct weir_batch__input *in)
{
    if (in->n_cp == 0) {
        return;
    }
    const struct {
        enum weir_batch__channel channel;
        uint32_t at;
    } parts[] = {
        {CHANNEL_CONTENT, in->content},
        {CHANNEL_TEXT, in->text},
        {CHANNEL_REFUSAL, in->refusal},
        {CHANNEL_REASONING, in->reasoning},
        {CHANNEL_REASONING_CONTENT, in->reasoning_content},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        uint32_t at = parts[i].at;
        if (at != WEIR_JSON_NONE && weir_json_type(in->j, at) == WEIR_JSON_STRING) {
            struct weir_slice text = weir_batch__text(b, in->j, at);
            note_channel(b, c, parts[i].channel, &text);
        }
    }
}
