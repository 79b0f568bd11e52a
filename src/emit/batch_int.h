#ifndef WEIR_EMIT_BATCH_INT_H
#define WEIR_EMIT_BATCH_INT_H

#include "base/buf.h"
#include "base/list.h"
#include "emit/argscan.h"
#include "emit/batch.h"
#include "emit/fence.h"
#include "emit/members.h"
#include "emit/sentence.h"
#include "wire/json.h"
#include "wire/json_edit.h"

/*
 * The engine from the inside. A chunk goes through these files in this order:
 *
 *   batch.c          an event or a tick comes in; timers; ends
 *   batch_read.c     what is in the chunk: known members, the choice's channel, tool fragments
 *   batch_route.c    what to do with it: forward, batch, gate
 *   batch_pack.c     the text of a choice that waits for a trigger
 *   batch_carry.c    what travels with it: envelope, usage, logprobs, extras
 *   batch_tool.c     tool calls put together from fragments
 *   batch_gate.c     tool calls that wait until they are whole
 *   batch_edit.c     a chunk's own bytes with something cut out or put in
 *   batch_compose.c  a merged chunk
 *   batch_out.c      on the way out: the queue while blocked, the counters
 */

/* Bounds on what is remembered about members nobody knows, so that nothing grows or is compared
 * without end. What is beyond them is forwarded as it is instead of being merged. */
enum {
    WEIR_BATCH__MEMBERS_MOST = 32,        /* unknown members of one object */
    WEIR_BATCH__STAMP_MOST_BYTES = 16384, /* of a top-level value that every chunk repeats */
    WEIR_BATCH__NAME_MOST_BYTES = 1024,   /* id, type and name of a tool call; a role */
    WEIR_BATCH__KEEP_MOST_BYTES = 16384,  /* a buffer that grew larger is given back when empty */
};

enum weir_batch__field {
    FIELD_ID,
    FIELD_OBJECT,
    FIELD_MODEL, /* up to here: chunks merge only if equal */
    FIELD_CREATED,
    FIELD_FINGERPRINT,
    FIELD_TIER,
    FIELD_USAGE, /* up to here: kept in an envelope, last non-null wins */
    FIELDS_KEPT,
    FIELD_CHOICES = FIELDS_KEPT,
    FIELD_OBFUSCATION,
    FIELDS,
    FIELD_OTHER = FIELDS,
};

/* The names under which the text came are part of the channel. */
enum weir_batch__channel {
    CHANNEL_NONE,
    CHANNEL_CONTENT,
    CHANNEL_REFUSAL,
    CHANNEL_REASONING,
    CHANNEL_REASONING_CONTENT,
    CHANNEL_REASONING_BOTH,
    CHANNEL_TEXT, /* choices[].text of /v1/completions */
    CHANNEL_TOOL,
};

/* One element of delta.tool_calls; nodes are NONE where absent, null or empty. */
struct weir_batch__frag {
    uint32_t index; /* or NONE */
    uint32_t entry;
    uint32_t function;
    uint32_t id;
    uint32_t type;
    uint32_t name;
    uint32_t args;
};

enum weir_batch__class {
    CLASS_OPAQUE,
    CLASS_ERROR,   /* opaque, with an error member */
    CLASS_USAGE,   /* no choices, with usage */
    CLASS_EMPTY,   /* no choices */
    CLASS_BARRIER, /* carries something nobody may reorder */
    CLASS_CHOICES,
};

/* A chunk while it is handled, and the choice of it at hand. Nodes are NONE where absent. */
struct weir_batch__input {
    const struct weir_event *ev;
    const struct weir_json *j;
    uint32_t top[FIELDS];
    uint32_t n_others; /* top-level members that are not null and not known */

    bool is_split; /* one of several choices: has no bytes of its own */
    bool is_last;  /* of them: keeps the usage */
    uint32_t choice;
    uint32_t index;
    uint32_t delta; /* an object, or NONE */
    uint32_t role;
    uint32_t content;
    uint32_t refusal;
    uint32_t reasoning;
    uint32_t reasoning_content;
    uint32_t text;
    uint32_t tool_calls;
    uint32_t logprobs;
    uint32_t n_extras; /* choice members that are not null and not known */
    uint32_t n_frags;  /* in the engine's frags */
    uint32_t n_cp;     /* of all text in it */
    bool is_finish;
    bool is_odd; /* carries what cannot be merged */
    bool has_tools;
    bool has_logprobs; /* with entries */
    bool strip_role;
    bool strip_tools;
    uint8_t n_channels;
    enum weir_batch__channel channel; /* of the text, if there is one */
    uint32_t payload;                 /* its string */
};

enum { WEIR_BATCH__LISTS = 6 }; /* content, refusal; tokens, token_logprobs, … of completions */

struct weir_batch__logprobs {
    bool is_object; /* else null */
    size_t n_bytes;
    struct {
        bool has_key;
        bool has_array;
        struct weir_buf elements;
    } lists[WEIR_BATCH__LISTS];
};

/* What a waiting text or tool call takes along. */
struct weir_batch__carry {
    struct weir_buf fields[FIELDS_KEPT]; /* as spelled; empty: absent */
    struct weir_members others;
    struct weir_members extras;
    struct weir_batch__logprobs *logprobs; /* NULL: no key */
    struct weir_batch__logprobs *spare;
    struct weir_buf sse_id;
    uint64_t identity; /* shadow: hash of id, object, model */
    bool has_role;
    bool has_obfuscation;
    bool is_shadow;
};

enum weir_batch__tool_state {
    TOOL_HELD,
    TOOL_OPEN,     /* its limit was reached: fragments pass as they come */
    TOOL_RELEASED, /* left whole; remembered for what may still come at its index */
};

/* Raw: as spelled inside the quotes. A shadow keeps lengths and hashes only. */
struct weir_batch__tool {
    struct weir_list link;
    uint32_t index;    /* under which it leaves */
    uint32_t up_index; /* under which it came */
    uint64_t seq;      /* of the chunk that touched it last */
    uint64_t seq_new;  /* of the chunk that began it */
    enum weir_batch__tool_state state;
    bool is_continuation; /* of a call that left */
    bool is_repeat;       /* of a call that left or is closed: came with its id */
    bool is_head_again;   /* left, and its id came again without arguments */
    bool is_retained;     /* left, and its arguments are still here */
    bool is_pending;      /* has something that has not left */
    bool has_id;
    bool has_name;
    bool is_id_sent; /* each leaves once */
    bool is_name_sent;
    bool is_type_sent;
    uint64_t id_hash;
    uint64_t name_hash;
    uint64_t args_hash;
    size_t n_args; /* bytes, unescaped */
    struct weir_buf id;
    struct weir_buf type;
    struct weir_buf name;
    struct weir_buf args;
    struct weir_members more;          /* members nobody knows */
    struct weir_members function_more; /* the same inside `function` */
    struct weir_argscan scan;
    uint64_t t_first;
};

struct weir_batch__tools {
    struct weir_list list; /* in the order they were first seen */
    size_t n;
    size_t n_bytes;
};

/* Text or tool fragments of one choice that wait for a trigger. */
struct weir_batch__pack {
    struct weir_list link; /* in the engine's list of open packs, oldest first */
    struct weir_batch__choice *choice;
    bool is_open;
    bool is_deferred;
    bool is_changed; /* must be composed even if there was only one input */
    enum weir_batch__channel channel;
    uint32_t n_inputs;
    uint64_t n_cp;
    uint64_t n_bytes; /* of the text, unescaped */
    uint64_t t_first;
    uint64_t t_last;
    struct weir_sentence sentence;
    struct weir_batch__carry carry;
    struct weir_buf text; /* as spelled inside the quotes: joins without being unescaped */
    struct weir_buf only; /* the bytes of the input while there is one */
    struct weir_batch__tools tools;
    size_t n_held; /* what the engine's sum has of it */
};

struct weir_batch__gate {
    struct weir_batch__tools tools;
    struct weir_batch__carry carry;
    size_t n_waiting;    /* calls in TOOL_HELD */
    size_t n_wait_bytes; /* of these */
    uint32_t n_joined;   /* chunks whose load the carry has */
    uint32_t last_index;
    uint32_t max_index;
    bool is_overrun; /* more calls than we keep track of: everything passes */
    size_t n_held;
};

struct weir_batch__choice {
    uint32_t index;
    uint32_t n_flushes;
    uint32_t firsts; /* a bit per channel that has shown text */
    uint32_t last_tool_index;
    bool is_finished;
    struct weir_buf role; /* as spelled, with quotes; empty: none seen */
    struct weir_fence fences[3];
    struct weir_batch__pack pack;
    struct weir_batch__gate *gate; /* NULL until a call comes */
};

struct weir_batch {
    struct weir_batch_options o;
    weir_batch_emit_fn emit;
    void *ctx;
    bool is_shadow;
    bool is_blocked;
    bool is_full;
    uint64_t now;   /* the latest time seen */
    uint64_t stamp; /* of what leaves now: a timer's deadline or `now` */
    uint64_t due;   /* no timer is due before this */
    uint64_t seq;   /* chunks so far */
    uint64_t blocked_since;
    uint64_t first_text_at;
    bool has_text;
    size_t n_buffered;
    size_t n_retained; /* arguments of calls that left, kept to know their repetition */

    struct weir_batch__choice **choices;
    size_t n_choices;
    size_t cap_choices;
    struct weir_batch__choice *last;
    struct weir_list open;      /* packs */
    struct weir_list queue;     /* what was sealed while blocked */
    struct weir_members stamps; /* unknown top-level members of the chunk before */

    struct weir_json_tape tape;
    struct weir_json_tape tape_again;
    struct weir_batch__frag *frags;
    size_t cap_frags;
    struct weir_json_edit edit;
    struct weir_buf key;
    struct weir_buf scratch;
    struct weir_buf edited;
    struct weir_buf composed;
    struct weir_buf entries; /* of a tool_calls being put together */
    uint32_t *used;          /* the indices in it */
    size_t n_used;
    size_t cap_used;
    struct weir_batch_stats stats;
};

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

/* batch_read.c */
enum weir_batch__class weir_batch__read_top(struct weir_batch *b, struct weir_batch__input *in);
bool weir_batch__read_choice(struct weir_batch *b, struct weir_batch__input *in, uint32_t choice);
bool weir_batch__read_frags(struct weir_batch *b, struct weir_batch__input *in);
struct weir_slice weir_batch__key(struct weir_batch *b, const struct weir_json *j, uint32_t k);
enum weir_batch__field weir_batch__field(struct weir_slice name);
bool weir_batch__is_choice_member(struct weir_slice name);
bool weir_batch__is_listed(const struct weir_batch_fields *fields, struct weir_slice name);
/* A string's text: in the source, or unescaped in the engine's scratch. */
struct weir_slice weir_batch__text(struct weir_batch *b, const struct weir_json *j, uint32_t at);

/* batch_route.c */
void weir_batch__on_chunk(struct weir_batch *b, const struct weir_event *ev);

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
/* `is_shared`: usage, logprobs and extras leave with another part of the chunk. */
void weir_batch__carry_join(struct weir_batch *b, struct weir_batch__carry *c,
                            const struct weir_batch__input *in, bool is_shared);
void weir_batch__carry_unload(struct weir_batch__carry *c); /* usage, logprobs, extras have left */
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
    uint64_t n_cp;
    uint64_t since; /* arrival of the oldest delta in it */
    bool is_flush;  /* of batched text */
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
