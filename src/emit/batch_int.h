#ifndef WEIR_EMIT_BATCH_INT_H
#define WEIR_EMIT_BATCH_INT_H

#include "emit/batch_types.h"

/*
 * The engine from the inside. A chunk goes through these files in this order:
 *
 *   batch.c          an event or a tick comes in; timers; ends
 *   batch_read.c     what is in the chunk: known members, the choice's channel, tool fragments
 *   batch_route.c    what to do with it: forward, batch, gate
 *   batch_pack.c     the text of a choice that waits for a trigger
 *   batch_carry.c    what travels with it: envelope, usage, logprobs, extras, findings
 *   batch_tool.c     tool calls put together from fragments
 *   batch_gate.c     tool calls that wait until they are whole
 *   batch_release.c  how these leave
 *   batch_edit.c     a chunk's own bytes with something cut out or put in
 *   batch_compose.c  a merged chunk
 *   batch_out.c      on the way out: the queue while blocked, the counters
 */

/* No ceiling on these buffers: their sizes follow from limits checked before. */
static inline void weir_batch__put(struct weir_buf *out, struct weir_slice s)
{
    (void)weir_buf_append(out, s);
}

/* Empty; given back if it grew large. */
static inline void weir_batch__empty(struct weir_buf *b)
{
    if (b->cap > WEIR_BATCH__KEEP_MOST_BYTES) {
        weir_buf_dispose(b);
    }
    weir_buf_clear(b);
}

static inline struct weir_batch_counts *weir_batch__counts(struct weir_batch *b)
{
    return b->is_shadow ? &b->stats.would : &b->stats.live;
}

static inline bool weir_batch__is_null(const struct weir_json *j, uint32_t at)
{
    return at == WEIR_JSON_NONE || weir_json_type(j, at) == WEIR_JSON_NULL;
}

/* A string's bytes as spelled, without the quotes. */
static inline struct weir_slice weir_batch__inner(const struct weir_json *j, uint32_t at)
{
    return weir_slice_sub(j->src, j->nodes[at].start + 1, j->nodes[at].end - 1);
}

/* Will as much have left as the model said, once this choice and the others that wait have flushed?
 * What a guard cut from one delta then leaves together. */
static inline bool weir_batch__is_spent(const struct weir_batch *b,
                                        const struct weir_batch__choice *c)
{
    return b->n_said != 0 && b->n_left + b->n_open + !c->pack.is_open >= b->n_said;
}

/* batch_read.c */
enum weir_batch__class weir_batch__read_top(struct weir_batch *b, struct weir_batch__input *in);
bool weir_batch__read_choice(struct weir_batch *b, struct weir_batch__input *in, uint32_t choice);
bool weir_batch__read_frags(struct weir_batch *b, struct weir_batch__input *in);
/* Is the member with key `k` one that the guard attached? */
static inline bool weir_batch__is_found(const struct weir_batch__input *in, uint32_t k)
{
    return in->found.is_there && (k + 1 == in->found.detections || k + 1 == in->found.warnings);
}
struct weir_slice weir_batch__key(struct weir_batch *b, const struct weir_json *j, uint32_t k);
enum weir_batch__field weir_batch__field(struct weir_slice name);
bool weir_batch__is_choice_member(struct weir_slice name);
bool weir_batch__is_listed(const struct weir_batch_fields *fields, struct weir_slice name);
/* A string's text: in the source, or unescaped in the engine's scratch. */
struct weir_slice weir_batch__text(struct weir_batch *b, const struct weir_json *j, uint32_t at);

/* batch_route.c */
void weir_batch__on_chunk(struct weir_batch *b, const struct weir_event *ev);
void weir_batch__on_block(struct weir_batch *b, uint32_t choice);

/* batch_pack.c */
void weir_batch__pack_add(struct weir_batch *b, struct weir_batch__choice *c,
                          struct weir_batch__input *in, enum weir_batch__channel channel);
void weir_batch__pack_absorb(struct weir_batch *b, struct weir_batch__choice *c,
                             struct weir_batch__input *in);
/* Forwards tool fragments with those of one index joined. */
void weir_batch__pack_fold(struct weir_batch *b, struct weir_batch__choice *c,
                           struct weir_batch__input *in);
void weir_batch__pack_flush(struct weir_batch *b, struct weir_batch__choice *c,
                            enum weir_batch_reason why);
void weir_batch__pack_flush_all(struct weir_batch *b, enum weir_batch_reason why);
void weir_batch__pack_drop(struct weir_batch *b, struct weir_batch__choice *c);
bool weir_batch__pack_deadline(const struct weir_batch *b, const struct weir_batch__pack *p,
                               uint64_t *at_ms, enum weir_batch_reason *why);
void weir_batch__pack_dispose(struct weir_batch__pack *p);
/* Text of a choice that passes by: what later decisions need to know of it. */
void weir_batch__note_text(struct weir_batch *b, struct weir_batch__choice *c,
                           const struct weir_batch__input *in);

/* batch_carry.c */
enum weir_batch_reason weir_batch__carry_conflict(struct weir_batch *b,
                                                  const struct weir_batch__carry *c,
                                                  const struct weir_batch__input *in);
/* The same of the guard's findings alone. */
enum weir_batch_reason weir_batch__found_conflict(const struct weir_batch *b,
                                                  const struct weir_batch__carry *c,
                                                  const struct weir_batch__input *in);
/* `is_shared`: all but the envelope leaves with another part of the chunk. */
void weir_batch__carry_join(struct weir_batch *b, struct weir_batch__carry *c,
                            const struct weir_batch__input *in, bool is_shared);
/* Usage, logprobs, extras and findings have left. */
void weir_batch__carry_unload(struct weir_batch__carry *c);
/* Sets whether it only counts. */
void weir_batch__carry_init(struct weir_batch__carry *c, bool is_shadow);
void weir_batch__carry_clear(struct weir_batch__carry *c);
void weir_batch__carry_dispose(struct weir_batch__carry *c);
size_t weir_batch__carry_bytes(const struct weir_batch__carry *c);
/* Which of the six arrays a member of `logprobs` is, or WEIR_BATCH__LISTS. */
size_t weir_batch__logprobs_list(struct weir_slice name);
struct weir_slice weir_batch__logprobs_name(size_t list);

/* batch_tool.c */
struct weir_batch__tool *weir_batch__tool_new(struct weir_batch *b, struct weir_batch__tools *t,
                                              uint32_t index);
void weir_batch__tool_free(struct weir_batch__tools *t, struct weir_batch__tool *tool);
void weir_batch__tools_clear(struct weir_batch__tools *t);
void weir_batch__tool_append(struct weir_batch *b, struct weir_batch__tools *t,
                             struct weir_batch__tool *tool, const struct weir_batch__input *in,
                             const struct weir_batch__frag *frag);
/* Newest call that came under `up_index`, or NULL. */
struct weir_batch__tool *weir_batch__tool_find(const struct weir_batch__tools *t,
                                               uint32_t up_index);
/* Does the fragment name another call than `tool`, by id or by name? */
bool weir_batch__tool_differs(struct weir_batch *b, const struct weir_batch__tool *tool,
                              const struct weir_batch__input *in,
                              const struct weir_batch__frag *frag);
bool weir_batch__tool_is_id(struct weir_batch *b, const struct weir_batch__tool *tool,
                            const struct weir_batch__tool *other);
/* Same arguments, after unescaping? */
bool weir_batch__tool_same_args(struct weir_batch *b, const struct weir_batch__tool *x,
                                const struct weir_batch__tool *y);
/* The fragment's index; absent means the last one used, which `*last` remembers. */
uint32_t weir_batch__frag_index(const struct weir_batch__frag *frag, uint32_t *last);

size_t weir_batch__tool_bytes(const struct weir_batch__tool *tool);

/* batch_gate.c */
/* Does the gate take this chunk's tool calls? Admit also opens it for good when there are more
 * calls than it can follow. */
bool weir_batch__gate_takes(const struct weir_batch *b, const struct weir_batch__choice *c,
                            const struct weir_batch__input *in);
bool weir_batch__gate_admit(struct weir_batch *b, struct weir_batch__choice *c,
                            const struct weir_batch__input *in);
/* What waits leaves as it is: tool calls are about to pass that the gate cannot take. */
void weir_batch__gate_open(struct weir_batch *b, struct weir_batch__choice *c);
/* `is_shared`: the rest of the chunk leaves by itself. False: nothing of it was kept or left. */
bool weir_batch__gate_add(struct weir_batch *b, struct weir_batch__choice *c,
                          const struct weir_batch__input *in, bool is_shared);
/* The fragments of a chunk that finishes the choice: all leave at once. */
void weir_batch__gate_add_last(struct weir_batch *b, struct weir_batch__choice *c,
                               const struct weir_batch__input *in);
/* The choice is complete: everything held leaves. */
void weir_batch__gate_finish(struct weir_batch *b, struct weir_batch__choice *c,
                             enum weir_batch_reason why);
/* The stream broke off, or (WEIR_BATCH_NO_REASON) must not be shown any more. */
void weir_batch__gate_abort(struct weir_batch *b, struct weir_batch__choice *c,
                            enum weir_batch_reason why);
bool weir_batch__gate_deadline(const struct weir_batch *b, const struct weir_batch__gate *g,
                               uint64_t *at_ms);
void weir_batch__gate_expire(struct weir_batch *b, struct weir_batch__choice *c);
void weir_batch__gate_free(struct weir_batch__gate *g);

/* batch_release.c */
static inline struct weir_batch__tool *weir_batch__tool_at(struct weir_list *link)
{
    return WEIR_LIST_ENTRY(link, struct weir_batch__tool, link);
}
/* The first call that waits, and the next behind a link; NULL: none. */
struct weir_batch__tool *weir_batch__first_held(struct weir_batch__gate *g);
struct weir_batch__tool *weir_batch__held_after(const struct weir_batch__gate *g,
                                                struct weir_list *link);
/* Named, closed, valid and more than a placeholder: may leave before the choice finishes. */
bool weir_batch__tool_is_ready(const struct weir_batch__tool *tool);
/* A continuation that has brought nothing but white space. */
bool weir_batch__tool_is_blank(const struct weir_batch__tool *tool);
void weir_batch__gate_forget(struct weir_batch *b, struct weir_batch__gate *g,
                             struct weir_batch__tool *tool);
/* The first `n` calls that wait leave, in one chunk if no index is in it twice; as `whole`, if that
 * is not empty and they are that chunk as it came. */
void weir_batch__gate_leave(struct weir_batch *b, struct weir_batch__choice *c, size_t n,
                            enum weir_batch_reason why, struct weir_slice whole);
/* Fragments of calls that reached a limit. */
void weir_batch__gate_forward(struct weir_batch *b, struct weir_batch__choice *c,
                              const struct weir_batch__input *in, bool is_plain);
/* Shows id and name of calls at once, in their order. */
void weir_batch__gate_heads(struct weir_batch *b, struct weir_batch__choice *c);

/* batch_edit.c: the choice at hand as bytes, whole or without its role or tool calls. */
struct weir_slice weir_batch__bytes(struct weir_batch *b, const struct weir_batch__choice *c,
                                    const struct weir_batch__input *in);
/* The whole chunk without the tool calls of those choices where the gate takes them. Several steps,
 * because a chunk may have several choices: start, one cut for each, end. */
void weir_batch__edit_start(struct weir_batch *b, const struct weir_batch__input *in);
void weir_batch__edit_cut_tools(struct weir_batch *b, const struct weir_batch__input *in);
struct weir_slice weir_batch__edit_end(struct weir_batch *b, const struct weir_batch__input *in);
/* The role's token for a chunk that has to carry one. */
struct weir_slice weir_batch__role(const struct weir_batch__choice *c);

/* batch_compose.c */
struct weir_slice weir_batch__compose_pack(struct weir_batch *b, const struct weir_batch__pack *p);

/* A chunk around `entries`, the elements of its tool_calls. */
struct weir_slice weir_batch__compose_tools(struct weir_batch *b,
                                            const struct weir_batch__choice *c,
                                            const struct weir_batch__carry *carry,
                                            struct weir_slice entries);
/* What of a call has not left yet; a head has no arguments. */
void weir_batch__write_tool(struct weir_buf *out, const struct weir_batch__tool *tool,
                            bool is_head);

/* batch_out.c */
struct weir_batch__out {
    enum weir_batch_reason why;
    struct weir_slice data;
    struct weir_slice sse_id;
    const struct weir_json *json;
    uint32_t choice; /* of a block */
    uint64_t n_cp;
    uint64_t since; /* arrival of the oldest delta in it */
    bool is_flush;  /* of batched text */
    bool is_guarded;
};
void weir_batch__out(struct weir_batch *b, const struct weir_batch__out *out);
void weir_batch__out_event(struct weir_batch *b, const struct weir_event *ev);
void weir_batch__out_untouched(struct weir_batch *b, const struct weir_event *ev);
void weir_batch__out_drain(struct weir_batch *b);
void weir_batch__out_discard(struct weir_batch *b);
/* Replaces what the sum of buffered bytes has of something. */
void weir_batch__account(struct weir_batch *b, size_t *part, size_t now_bytes);

/* batch.c: something waits until `at_ms`. */
static inline void weir_batch__arm(struct weir_batch *b, uint64_t at_ms)
{
    b->due = at_ms < b->due ? at_ms : b->due;
}

#endif
